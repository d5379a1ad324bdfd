//! Experts: models with different settings that learn the same rows, and one prediction from
//! theirs.
//!
//! No bandwidth and no regularization is right for every stream. A mixture (see [`MixtureSpec`]) of
//! a grid of them, or of models of any kind, weights them by their errors along the stream: it soon
//! predicts about as well as the best of them in hindsight, and often better.

pub mod adaptive;
mod answers;
mod blend;
mod file;
mod spec;
mod undo_log;

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, s};

pub use crate::online::mixture::MixtureSpec;
pub(crate) use crate::online::mixture::mean_of;
use adaptive::AdaptiveExperts;
pub(crate) use file::KIND;
pub use spec::ExpertsSpec;

use crate::basis::AsBasis;
use crate::budget::Budgeted;
use crate::error::{Error, Result};
use crate::learner::{AsLearner, Loss};
use crate::linalg::with_scratch;
use crate::model::{CompleteModel, InnerModel, Introspection, Model, Uncertainty, sizes};
use crate::stream::{AnyStream, Heads, Stream};
use crate::threads::try_for_each_block;
use crate::uncertainty::{Calibration, Diagnostics, Prequential, Spread};
use crate::validate::check_width;
use answers::{Answers, Round};
use blend::{mix, side_by_side, stacked, weights};
use undo_log::UndoLog;

/// A mixture of predictions that a [`Loss`] judges.
pub(crate) type Mixture = crate::online::mixture::Mixture<Loss>;

/// Rows that every expert learns before the mixture is updated: enough to amortize the cost of
/// threads, few enough for the predictions of all experts to stay small.
const PART: usize = 256;

/// Rows per block of predictions, whose outputs from all experts are stored.
const AT_ONCE: usize = 8192;

/// Fewest rows that are worth the cost of threads, and of sharing a basis.
const HAND_OVER: usize = 8;

/// Models that learn the same rows side by side, and their weights in one prediction, for each
/// output.
///
/// Each row is predicted before it is learned. The experts are independent, so a call of many rows
/// runs on several threads (see [`threads`](crate::threads)), with bit-identical results for any
/// number of them. Time and memory of a row are the sums of those of the experts.
///
/// ```
/// use kernelstream::AnyModel;
/// use ndarray::Array2;
///
/// # fn main() -> kernelstream::Result<()> {
/// let spec = r#"{"experts": [
///     {"kernel": {"type": "gaussian", "bandwidth": 0.1}},
///     {"kernel": {"type": "gaussian", "bandwidth": 1.0}},
///     {"kernel": {"type": "gaussian", "bandwidth": 10.0}}]}"#;
/// let mut model = AnyModel::from_json(spec)?;
/// let x = Array2::from_shape_fn((2000, 1), |(i, _)| (i as f64 * 0.618).fract() * 6.0);
/// let y = x.mapv(f64::sin);
/// model.learn(x.view(), y.view())?;
/// assert!((model.predict_one(&[2.0])?[0] - 2.0_f64.sin()).abs() < 1e-2);
/// assert!((model.mixture().map_or(0.0, |weights| weights.sum()) - 1.0).abs() < 1e-12);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Experts<M> {
    members: Vec<Member<M>>,
    spec: MixtureSpec,
    /// One for each output; empty before the first row.
    mixtures: Vec<Mixture>,
    calibration: Calibration,
    undo_log: UndoLog<M>,
    /// Scratch for one row and output.
    round: Round,
}

/// A model, and its outputs for the rows of a block before it learned them.
#[derive(Clone)]
struct Member<M> {
    model: M,
    answers: Answers,
    /// Index of the first expert with the same basis, possibly itself.
    basis_of: usize,
}

/// A model among [`Experts`], of which a stream can share its basis with others. For a model of your own,
/// `impl Expert for YourModel {}`.
pub trait Expert: InnerModel {
    /// The stream, if it is one: streams with the same basis share coordinates.
    fn as_stream(&self) -> Option<&AnyStream> {
        None
    }

    /// [`as_stream`](Self::as_stream), to learn.
    fn as_stream_mut(&mut self) -> Option<&mut AnyStream> {
        None
    }
}

impl<B: AsBasis, L: AsLearner> Expert for Stream<B, L> {}

impl Expert for Budgeted {}

impl Expert for AdaptiveExperts {}

impl<M: Expert> Expert for Experts<M> {}

impl<M: Expert> InnerModel for Experts<M> {}

impl InnerModel for Budgeted {}

/// Fills in the answers of a model with a basis of its own.
fn answer_alone<M: CompleteModel + ?Sized>(
    model: &M,
    x: ArrayView2<'_, f64>,
    prequential: Prequential<'_>,
) -> Result<()> {
    let wants_spreads = prequential.wants_spreads();
    for (asked, spread) in
        [(prequential.deviations, Spread::Deviation), (prequential.spreads, Spread::Interval)]
    {
        if let Some(mut spreads) = asked {
            spreads.assign(&model.predict_with_spread(x, spread)?.1);
        }
    }
    if let Some(mut predictions) = prequential.predictions {
        predictions.assign(&model.predict(x)?);
    }
    if let Some(mut novelties) = prequential.novelties {
        match model.novelty(x) {
            Ok(known) => novelties.assign(&known),
            // Intervals do without.
            Err(Error::NoNovelty) if wants_spreads => novelties.fill(f64::NAN),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

impl<M: Expert> Member<M> {
    /// Experts from these models.
    fn of(models: impl Iterator<Item = M>) -> Vec<Self> {
        let mut members: Vec<Self> = Vec::new();
        for model in models {
            let like = |member: &Self| {
                member
                    .model
                    .as_stream()
                    .zip(model.as_stream())
                    .is_some_and(|(one, other)| one.shares_basis(other))
            };
            let basis_of = members.iter().position(like).unwrap_or(members.len());
            members.push(Self { model, answers: Answers::default(), basis_of });
        }
        members
    }

    /// A single expert learns without allocation.
    fn learn(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        self.make_room(y.dim());
        let prequential = self.answers.prequential(x.nrows());
        self.model.learn_prequential(x, y, weights, prequential, &mut |_| true).map(|_| ())
    }

    fn make_room(&mut self, shape: (usize, usize)) {
        if !self.answers.fits(shape) {
            self.answers = Answers::zeros(shape);
        }
    }

    /// Experts that share a basis learn rows.
    fn learn_together(
        members: &mut [&mut Self],
        (x, y): (ArrayView2<'_, f64>, ArrayView2<'_, f64>),
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        if let [member] = members {
            return member.learn(x, y, weights);
        }
        let mut heads = Heads::new();
        for member in members {
            member.make_room(y.dim());
            if let Some(stream) = member.model.as_stream_mut() {
                heads.push(stream, member.answers.prequential(x.nrows()));
            }
        }
        heads.learn((x, y), weights)
    }
}

/// Experts, grouped by the basis that they share.
fn by_basis<T>(members: impl Iterator<Item = T>, basis_of: impl Fn(&T) -> usize) -> Vec<Vec<T>> {
    let mut groups: Vec<(usize, Vec<T>)> = Vec::new();
    for member in members {
        let basis = basis_of(&member);
        match groups.iter_mut().find(|group| group.0 == basis) {
            Some(group) => group.1.push(member),
            None => groups.push((basis, vec![member])),
        }
    }
    groups.into_iter().map(|group| group.1).collect()
}

impl<M: Expert> Experts<M> {
    /// Untrained models, at least one, and the aggregation rule.
    pub fn new(models: Vec<M>, mixture: MixtureSpec) -> Result<Self> {
        if models.is_empty() {
            return Err(Error::InvalidParameter {
                name: "experts",
                value: "none".into(),
                requirement: "at least one model",
            });
        }
        if models.iter().any(|model| model.n_seen() > 0) {
            return Err(Error::InvalidParameter {
                name: "experts",
                value: "one that has learned".into(),
                requirement: "models that have not seen a row yet",
            });
        }
        Ok(Self {
            members: Member::of(models.into_iter()),
            spec: mixture,
            mixtures: Vec::new(),
            calibration: Calibration::default(),
            undo_log: UndoLog::new(),
            round: Round::default(),
        })
    }

    /// The experts.
    #[must_use]
    pub fn models(&self) -> impl ExactSizeIterator<Item = &M> {
        self.members.iter().map(|expert| &expert.model)
    }

    /// Whether predictions depend on this expert.
    fn counts(&self, e: usize) -> bool {
        self.mixtures.iter().any(|mixture| mixture.weights()[e] > 0.0)
    }

    /// Indices of the experts with weight and this basis.
    fn counting_with(&self, basis: usize) -> impl Iterator<Item = (usize, &Member<M>)> {
        let members = self.members.iter().enumerate();
        members.filter(move |(e, member)| member.basis_of == basis && self.counts(*e))
    }

    /// Outputs the requested predictions, spreads and novelty in the current state.
    fn answer(&self, x: ArrayView2<'_, f64>, mut prequential: Prequential<'_>) -> Result<()> {
        let mut round = Round::default();
        for start in (0..x.nrows()).step_by(AT_ONCE) {
            let rows = start..x.nrows().min(start + AT_ONCE);
            let (x, mut prequential) = (x.slice(s![rows.clone(), ..]), prequential.rows(rows));
            let mut answers = vec![Answers::zeros((x.nrows(), self.mixtures.len())); self.members.len()];
            let members = self.members.iter().zip(&mut answers).enumerate();
            let counting = members.filter(|(e, _)| self.counts(*e)).map(|(_, member)| member);
            for group in by_basis(counting, |(member, _)| member.basis_of) {
                let mut heads = Heads::new();
                for (member, answers) in group {
                    let prequential = answers.prequential_like(x.nrows(), &prequential);
                    match member.model.as_stream() {
                        Some(stream) => heads.push(stream, prequential),
                        None => answer_alone(&member.model, x, prequential)?,
                    }
                }
                heads.answer(x)?;
            }
            round.record(&answers, &self.mixtures, &self.calibration, &mut prequential);
        }
        Ok(())
    }

    /// Learns validated rows, at most one block. On an error some experts have learned them and
    /// some have not.
    fn learn_part(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
    ) -> Result<()> {
        if self.n_outputs().is_none() {
            self.mixtures = vec![Mixture::new(self.spec, Loss::Squared, self.members.len()); y.ncols()];
            self.calibration = Calibration::by_prediction(y.ncols());
        }
        if x.nrows() < HAND_OVER {
            self.members.iter_mut().try_for_each(|member| member.learn(x, y, weights))?;
        } else if self.members.iter().enumerate().all(|(e, member)| member.basis_of == e) {
            try_for_each_block(self.members.iter_mut(), |member| member.learn(x, y, weights))?;
        } else {
            let mut groups = by_basis(self.members.iter_mut(), |member| member.basis_of);
            let learn = |group: &mut Vec<_>| Member::learn_together(group, (x, y), weights);
            try_for_each_block(groups.iter_mut(), learn)?;
        }
        for (i, y) in y.rows().into_iter().enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[i]);
            for (c, (mixture, target)) in self.mixtures.iter_mut().zip(y).enumerate() {
                let answers = self.members.iter().map(|expert| &expert.answers);
                let state = (mixture, &mut self.calibration);
                self.round.learn((i, c), answers, (*target, |_| *target, weight), state, &mut prequential);
            }
        }
        Ok(())
    }

    /// A validated row, which an expert may still refuse.
    fn learn_single(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        if !should_continue(0) {
            return Ok(0);
        }
        self.open_undo_log();
        match self.learn_part(x, y, weights, prequential) {
            Ok(()) => {
                self.note(x, y, weights);
                Ok(1)
            }
            Err(error) => {
                self.take_back();
                Err(error)
            }
        }
    }
}

impl<M: Expert> std::fmt::Debug for Experts<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        sizes("Experts", self, f)
    }
}

impl std::fmt::Debug for AdaptiveExperts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        sizes("AdaptiveExperts", self, f)
    }
}

impl<M: Expert> Model for Experts<M> {
    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        self.models().try_for_each(|model| model.check(x, y, weights))
    }

    fn can_refuse(&self, weights: Option<ArrayView1<'_, f64>>) -> bool {
        self.models().any(|model| model.can_refuse(weights))
    }

    /// The experts learn 256 rows at a time, before which `should_continue` is called. If an expert can
    /// refuse a row, a call of several rows begins with a copy of all experts, and calls of one row
    /// make one periodically.
    fn learn_prequential(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check(x, y, weights)?;
        prequential.check(y.dim())?;
        if x.nrows() == 1 && self.can_refuse(weights) {
            return self.learn_single(x, y, weights, prequential, should_continue);
        }
        self.undo_log = UndoLog::new();
        let before = self.can_refuse(weights).then(|| self.clone());
        let mut done = 0;
        while done < x.nrows() && should_continue(done) {
            let end = x.nrows().min(done + PART);
            let rows = s![done..end, ..];
            let part = prequential.rows(done..end);
            let weights = weights.map(|weights| weights.slice_move(s![done..end]));
            if let Err(error) = self.learn_part(x.slice(rows), y.slice(rows), weights, part) {
                if let Some(before) = before {
                    *self = before;
                }
                return Err(error.shifted(done));
            }
            done = end;
        }
        Ok(done)
    }

    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let outputs = self.n_outputs().ok_or(Error::NothingLearned)?;
        let mut out = Array2::zeros((x.nrows(), outputs));
        self.answer(x, Prequential::predictions(Some(out.view_mut())))?;
        Ok(out)
    }

    fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        let outputs = self.n_outputs().ok_or(Error::NothingLearned)?;
        check_width("out", Some(outputs), out.len())?;
        with_scratch(|scratch| {
            let (made, _) = scratch.prepare(self.members.len() * outputs);
            out.fill(0.0);
            for basis in 0..self.members.len() {
                let sharing = || self.counting_with(basis);
                let made = &mut made[..sharing().count() * outputs];
                if let Some((_, member)) = sharing().find(|(_, member)| member.model.as_stream().is_none()) {
                    member.model.predict_one_into(x, made)?;
                } else {
                    let streams = sharing().filter_map(|(_, member)| member.model.as_stream());
                    AnyStream::predict_one_together(streams, x, made)?;
                }
                for ((e, _), made) in sharing().zip(made.chunks_exact(outputs)) {
                    for ((to, from), mixture) in out.iter_mut().zip(made).zip(&self.mixtures) {
                        *to += mixture.weights()[e] * from;
                    }
                }
            }
            Ok(())
        })
    }

    fn n_seen(&self) -> u64 {
        self.members[0].model.n_seen()
    }

    fn n_features(&self) -> Option<usize> {
        self.members[0].model.n_features()
    }

    fn n_outputs(&self) -> Option<usize> {
        self.members[0].model.n_outputs()
    }
}

impl<M: Expert> Uncertainty for Experts<M> {
    fn predict_with_spread(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Spread,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        let shape = (x.nrows(), self.n_outputs().ok_or(Error::NothingLearned)?);
        let (mut out, mut spreads) = (Array2::zeros(shape), Array2::zeros(shape));
        self.answer(x, Prequential::with_spread(out.view_mut(), spreads.view_mut(), spread))?;
        Ok((out, spreads))
    }

    fn knows_deviation(&self) -> bool {
        self.models().all(Uncertainty::knows_deviation)
    }

    fn calibration(&self) -> Option<&Calibration> {
        Some(&self.calibration)
    }
}

impl<M: Expert> Introspection for Experts<M> {
    fn quality(&self) -> Diagnostics {
        Diagnostics { n_stored: self.n_stored(), ..Diagnostics::of(&self.calibration) }
    }

    /// Novelty with respect to the experts with weight.
    fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        self.n_outputs().ok_or(Error::NothingLearned)?;
        let mut out = Array1::zeros(x.nrows());
        self.answer(x, Prequential { novelties: Some(out.view_mut()), ..Prequential::default() })?;
        Ok(out)
    }

    fn gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        let outputs = self.n_outputs().ok_or(Error::NothingLearned)?;
        let out = Array3::zeros((x.nrows(), outputs, x.ncols()));
        mix(&self.mixtures, self.models(), out, |model| model.gradient(x))
    }

    /// Predictions of the experts, side by side (n, experts x outputs): the prediction is linear in
    /// them.
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let outputs = self.n_outputs().ok_or(Error::NothingLearned)?;
        side_by_side(self.models(), (x.nrows(), outputs), |model| model.predict(x))
    }

    /// Stored points of all experts, expert by expert.
    fn dictionary(&self) -> Array2<f64> {
        stacked(self.models().map(Introspection::dictionary), self.n_features().unwrap_or(0))
    }

    fn n_stored(&self) -> usize {
        self.models().map(Introspection::n_stored).sum()
    }

    fn mixture(&self) -> Option<Array2<f64>> {
        self.n_outputs().map(|outputs| weights(&self.mixtures, (outputs, self.members.len())))
    }
}
