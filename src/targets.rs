//! Several targets, with gaps.
//!
//! The targets of one model share its coordinates and, with a second-order learner, its covariance,
//! in which each row counts once. A row that lacks a target must count for the others only: from
//! the first such row on, each target has a model of its own ([`TargetModels`]), a copy of the
//! shared one.

use ndarray::{
    Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayViewMut2, ArrayViewMut3, Axis, CowArray, Ix2,
    concatenate, s,
};
use serde_json::Value;

use crate::error::{Error, Result};
use crate::model::{InnerModel, Introspection, Merge, Model, PartOrder, Uncertainty, sizes};
use crate::persist::{Persist, Reader, Writer, load, load_inside};
use crate::uncertainty::{Calibration, Diagnostics, Prequential, Spread};
use crate::validate::{check_finite, check_lengths, check_weights, check_width, one_row};

pub(crate) const KIND: &str = "targets";
/// Number of targets, in a specification that is otherwise that of one model.
pub(crate) const COUNT: &str = "targets";

/// Rows that a model learns before the next model learns them.
const PART: usize = 256;

/// Most targets: each has a model of its own.
const MOST: u64 = 1 << 12;

/// One model per target, which learns the rows whose target is known (the others are NaN).
///
/// With learners whose outputs are independent (least squares, and gradients of a loss) the result
/// is that of models of one target, each of which learned the rows that have it. Other learners and
/// mixtures of experts are copied with their common past; in a copy, missing values of other
/// targets are replaced by the copy's own predictions, without effect. Memory and time are those of
/// as many models as there are targets, and a row that lacks a target is learned by itself in
/// copies with all outputs.
#[derive(Clone)]
pub struct TargetModels<M> {
    models: Vec<M>,
    n_seen: u64,
}

/// The first row with a weight that lacks some of its targets but not all.
pub(crate) fn first_partial(y: ArrayView2<'_, f64>, weights: Option<ArrayView1<'_, f64>>) -> Option<usize> {
    y.rows().into_iter().enumerate().position(|(i, row)| {
        let missing = row.iter().filter(|value| value.is_nan()).count();
        missing > 0 && missing < row.len() && weights.is_none_or(|weights| weights[i] > 0.0)
    })
}

/// Targets with 0 for missing ones in rows that have others. Refuses rows without targets.
pub(crate) fn filled<'a>(
    y: ArrayView2<'a, f64>,
    weights: Option<ArrayView1<'_, f64>>,
) -> Result<CowArray<'a, f64, Ix2>> {
    if !y.iter().any(|value| value.is_nan()) {
        return Ok(y.into());
    }
    for (row, targets) in y.rows().into_iter().enumerate() {
        if weights.is_none_or(|weights| weights[row] > 0.0) && targets.iter().all(|value| value.is_nan()) {
            return Err(Error::NotFinite { what: "y", row, column: 0, value: f64::NAN });
        }
    }
    Ok(y.mapv(|value| if value.is_nan() { 0.0 } else { value }).into())
}

impl<M: InnerModel> TargetModels<M> {
    /// Copies of a model of all targets, or of an untrained one, for this many targets.
    pub fn of(model: &M, n_targets: usize) -> Self {
        Self { models: vec![model.clone(); n_targets], n_seen: model.n_seen() }
    }

    /// The models, one per target.
    #[must_use]
    pub fn models(&self) -> &[M] {
        &self.models
    }

    /// Output of its model that is target `c`: a model with a common past has all outputs.
    #[must_use]
    pub fn output(&self, c: usize) -> usize {
        if self.n_outputs_of(c) > 1 { c } else { 0 }
    }

    fn n_outputs_of(&self, c: usize) -> usize {
        self.models[c].n_outputs().unwrap_or(1)
    }

    /// Targets for model `c`, when missing ones do not count.
    fn targets_of<'a>(&self, c: usize, y: ArrayView2<'a, f64>) -> ArrayView2<'a, f64> {
        if self.n_outputs_of(c) > 1 { y } else { y.slice_move(s![.., c..=c]) }
    }

    /// The column of each target from the answers of its model (n, p).
    fn columns(&self, n: usize, answer: impl Fn(&M) -> Result<Array2<f64>>) -> Result<Array2<f64>> {
        let mut out = Array2::zeros((n, self.models.len()));
        for (c, model) in self.models.iter().enumerate() {
            if model.n_outputs().is_some() {
                out.column_mut(c).assign(&answer(model)?.column(self.output(c)));
            }
        }
        Ok(out)
    }

    /// Mean over the models of their answers.
    fn mean(&self, n: usize, answer: impl Fn(&M) -> Result<Array1<f64>>) -> Result<Array1<f64>> {
        let mut out = Array1::zeros(n);
        for model in &self.models {
            out += &answer(model)?;
        }
        Ok(out / self.models.len() as f64)
    }

    fn begun(&self) -> Result<()> {
        self.n_outputs().map(|_| ()).ok_or(Error::NothingLearned)
    }

    /// Each model learns some rows.
    fn learn_part(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
    ) -> Result<()> {
        for c in 0..self.models.len() {
            let known: Array1<f64> = (0..x.nrows())
                .map(|i| if y[(i, c)].is_nan() { 0.0 } else { weights.map_or(1.0, |weights| weights[i]) })
                .collect();
            let mut own = Answers::like(&prequential, (x.nrows(), self.n_outputs_of(c)));
            if known.iter().any(|weight| *weight > 0.0) {
                self.learn_target(c, x, y, &known, &mut own)?;
            } else {
                // A long gap is not kept in a warm-up.
                own.ask(&self.models[c], x)?;
            }
            own.record(&mut prequential, c, self.output(c), self.models.len());
        }
        Ok(())
    }

    /// Model `c` learns the rows with a weight.
    fn learn_target(
        &mut self,
        c: usize,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: &Array1<f64>,
        own: &mut Answers,
    ) -> Result<()> {
        let targets = self.targets_of(c, y);
        let mut filled = targets.mapv(|value| if value.is_nan() { 0.0 } else { value });
        let lacks = |i: usize| weights[i] > 0.0 && targets.row(i).iter().any(|value| value.is_nan());
        let model = &mut self.models[c];
        let mut start = 0;
        while start < x.nrows() {
            let mut end = start + 1;
            if lacks(start) {
                let made = model.predict_one(x.row(start).to_vec().as_slice())?;
                let row = filled.row_mut(start).into_iter().zip(targets.row(start)).zip(made);
                row.filter(|((_, given), _)| given.is_nan()).for_each(|((to, _), made)| *to = made);
            } else {
                while end < x.nrows() && !lacks(end) {
                    end += 1;
                }
            }
            let rows = s![start..end, ..];
            let mut part = own.prequential();
            let part = part.rows(start..end);
            let weights = weights.slice(s![start..end]);
            model
                .learn_prequential(x.slice(rows), filled.slice(rows), Some(weights), part, &mut |_| true)
                .map_err(|error| error.shifted(start))?;
            start = end;
        }
        Ok(())
    }
}

/// Prequential answers of one of the models.
struct Answers {
    predictions: Option<Array2<f64>>,
    deviations: Option<Array2<f64>>,
    spreads: Option<Array2<f64>>,
    intervals: Option<(f64, Array3<f64>)>,
    novelties: Option<Array1<f64>>,
}

impl Answers {
    fn like(prequential: &Prequential<'_>, (n, outputs): (usize, usize)) -> Self {
        let infinite = |_: &ArrayViewMut2<'_, f64>| Array2::from_elem((n, outputs), f64::INFINITY);
        let line = |(_, _, end): (usize, usize, usize)| [f64::NEG_INFINITY, f64::INFINITY][end];
        let both = |coverage| (coverage, Array3::from_shape_fn((n, outputs, 2), line));
        Self {
            predictions: prequential.predictions.as_ref().map(|_| Array2::zeros((n, outputs))),
            deviations: prequential.deviations.as_ref().map(infinite),
            spreads: prequential.spreads.as_ref().map(infinite),
            intervals: prequential.intervals.as_ref().map(|(coverage, _)| both(*coverage)),
            novelties: prequential.novelties.as_ref().map(|_| Array1::ones(n)),
        }
    }

    fn prequential(&mut self) -> Prequential<'_> {
        Prequential {
            predictions: self.predictions.as_mut().map(|all| all.view_mut()),
            deviations: self.deviations.as_mut().map(|all| all.view_mut()),
            spreads: self.spreads.as_mut().map(|all| all.view_mut()),
            intervals: self.intervals.as_mut().map(|(coverage, all)| (*coverage, all.view_mut())),
            probabilities: None,
            novelties: self.novelties.as_mut().map(|all| all.view_mut()),
        }
    }

    /// Answers of a model that learns none of the rows.
    fn ask<M: InnerModel>(&mut self, model: &M, x: ArrayView2<'_, f64>) -> Result<()> {
        if model.n_outputs().is_none() {
            return Ok(());
        }
        if let Some((coverage, intervals)) = &mut self.intervals {
            intervals.assign(&model.interval(x, *coverage)?);
        }
        if let Some(predictions) = &mut self.predictions {
            predictions.assign(&model.predict(x)?);
        }
        for (spreads, spread) in
            [(&mut self.deviations, Spread::Deviation), (&mut self.spreads, Spread::Interval)]
        {
            if let Some(spreads) = spreads {
                spreads.assign(&model.predict_with_spread(x, spread)?.1);
            }
        }
        if let Some(novelties) = &mut self.novelties {
            novelties.assign(&model.novelty(x)?);
        }
        Ok(())
    }

    /// Passes on the answers about one target.
    fn record(self, prequential: &mut Prequential<'_>, c: usize, output: usize, n_targets: usize) {
        let pass = |to: &mut Option<ArrayViewMut2<'_, f64>>, from: Option<Array2<f64>>| {
            if let (Some(to), Some(from)) = (to, from) {
                to.column_mut(c).assign(&from.column(output));
            }
        };
        pass(&mut prequential.predictions, self.predictions);
        pass(&mut prequential.deviations, self.deviations);
        pass(&mut prequential.spreads, self.spreads);
        if let (Some((_, to)), Some((_, from))) = (&mut prequential.intervals, self.intervals) {
            pass_ends(to, &from, c, output);
        }
        if let (Some(to), Some(from)) = (&mut prequential.novelties, self.novelties) {
            let before = if c == 0 { 0.0 } else { 1.0 };
            to.zip_mut_with(&from, |to, from| *to = before * *to + from / n_targets as f64);
        }
    }
}

fn pass_ends(to: &mut ArrayViewMut3<'_, f64>, from: &Array3<f64>, c: usize, output: usize) {
    to.index_axis_mut(Axis(1), c).assign(&from.index_axis(Axis(1), output));
}

impl<M: InnerModel> Model for TargetModels<M> {
    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        check_lengths(x, "y", y)?;
        check_weights(x, weights)?;
        check_width("y", Some(self.models.len()), y.ncols())?;
        let filled = filled(y, weights)?;
        check_finite("y", filled.view())?;
        self.models
            .iter()
            .enumerate()
            .try_for_each(|(c, model)| model.check(x, self.targets_of(c, filled.view()), weights))
    }

    fn can_refuse(&self, weights: Option<ArrayView1<'_, f64>>) -> bool {
        self.models.iter().any(|model| model.can_refuse(weights))
    }

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
        let before = self.can_refuse(weights).then(|| self.clone());
        let mut done = 0;
        while done < x.nrows() && should_continue(done) {
            let end = x.nrows().min(done + PART);
            let (rows, part) = (s![done..end, ..], prequential.rows(done..end));
            let weights = weights.map(|weights| weights.slice_move(s![done..end]));
            if let Err(error) = self.learn_part(x.slice(rows), y.slice(rows), weights, part) {
                if let Some(before) = before {
                    *self = before;
                }
                return Err(error.shifted(done));
            }
            self.n_seen += (end - done) as u64;
            done = end;
        }
        Ok(done)
    }

    fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        self.learn_while(one_row(x), one_row(y), None, None, &mut |_| true).map(|_| ())
    }

    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        self.begun()?;
        self.columns(x.nrows(), |model| model.predict(x))
    }

    fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        self.begun()?;
        check_width("out", Some(self.models.len()), out.len())?;
        for (c, model) in self.models.iter().enumerate() {
            out[c] = match model.n_outputs() {
                Some(_) => model.predict_one(x)?[self.output(c)],
                None => 0.0,
            };
        }
        Ok(())
    }

    fn n_seen(&self) -> u64 {
        self.n_seen
    }

    fn n_features(&self) -> Option<usize> {
        self.models.iter().find_map(Model::n_features)
    }

    fn n_outputs(&self) -> Option<usize> {
        let begun = self.models.iter().any(|model| model.n_outputs().is_some());
        begun.then_some(self.models.len())
    }
}

impl<M: InnerModel> InnerModel for TargetModels<M> {}

impl<M: InnerModel> std::fmt::Debug for TargetModels<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        sizes("TargetModels", self, f)
    }
}

impl<M: InnerModel> Uncertainty for TargetModels<M> {
    fn predict_with_spread(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Spread,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        let made = self.predict(x)?;
        let mut spreads = self.columns(x.nrows(), |model| Ok(model.predict_with_spread(x, spread)?.1))?;
        for (c, model) in self.models.iter().enumerate() {
            if model.n_outputs().is_none() {
                spreads.column_mut(c).fill(f64::INFINITY);
            }
        }
        Ok((made, spreads))
    }

    fn knows_deviation(&self) -> bool {
        self.models.iter().all(Uncertainty::knows_deviation)
    }

    fn noise(&self) -> Option<Array1<f64>> {
        let own = |(c, model): (usize, &M)| Some(model.noise()?[self.output(c)]);
        self.models.iter().enumerate().map(own).collect()
    }

    fn interval(&self, x: ArrayView2<'_, f64>, coverage: f64) -> Result<Array3<f64>> {
        Calibration::check(coverage)?;
        self.begun()?;
        let line = |(_, _, end): (usize, usize, usize)| [f64::NEG_INFINITY, f64::INFINITY][end];
        let mut out = Array3::from_shape_fn((x.nrows(), self.models.len(), 2), line);
        for (c, model) in self.models.iter().enumerate() {
            if model.n_outputs().is_some() {
                pass_ends(&mut out.view_mut(), &model.interval(x, coverage)?, c, self.output(c));
            }
        }
        Ok(out)
    }
}

impl<M: InnerModel> Introspection for TargetModels<M> {
    fn quality(&self) -> Diagnostics {
        let all: Vec<_> = self.models.iter().map(Introspection::quality).collect();
        let each = |part: fn(&Diagnostics) -> &Option<Vec<f64>>| {
            let own = all.iter().enumerate().map(|(c, one)| Some(part(one).as_ref()?[self.output(c)]));
            own.collect::<Option<Vec<f64>>>()
        };
        let mean = |part: fn(&Diagnostics) -> Option<f64>| {
            let known = all.iter().map(part).collect::<Option<Vec<f64>>>()?;
            Some(known.iter().sum::<f64>() / known.len() as f64)
        };
        let mut moved: Vec<usize> = all.iter().flat_map(|one| one.moved_columns.clone()).collect();
        moved.sort_unstable();
        moved.dedup();
        Diagnostics {
            rows: all.iter().map(|one| one.rows).max().unwrap_or(0),
            n_stored: self.n_stored(),
            error: each(|one| &one.error),
            late_error: each(|one| &one.late_error),
            baseline_error: each(|one| &one.baseline_error),
            late_baseline_error: each(|one| &one.late_baseline_error),
            coverage: each(|one| &one.coverage),
            late_coverage: each(|one| &one.late_coverage),
            novel: mean(|one| one.novel),
            late_novel: mean(|one| one.late_novel),
            effective_rows: all.iter().filter_map(|one| one.effective_rows).reduce(f64::max),
            condition: None,
            error_rose: all.iter().any(|one| one.error_rose),
            was_useless: all.iter().any(|one| one.was_useless),
            moved_columns: moved,
        }
    }

    fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        self.begun()?;
        self.mean(x.nrows(), |model| match model.n_outputs() {
            Some(_) => model.novelty(x),
            None => Ok(Array1::ones(x.nrows())),
        })
    }

    fn gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        self.begun()?;
        let mut out = Array3::zeros((x.nrows(), self.models.len(), x.ncols()));
        for (c, model) in self.models.iter().enumerate() {
            if model.n_outputs().is_some() {
                let own = model.gradient(x)?;
                out.index_axis_mut(Axis(1), c).assign(&own.index_axis(Axis(1), self.output(c)));
            }
        }
        Ok(out)
    }

    /// The mean over the models.
    fn importances(&self) -> Result<Array1<f64>> {
        self.begun()?;
        let width = self.n_features().ok_or(Error::NothingLearned)?;
        self.mean(width, |model| match model.n_outputs() {
            Some(_) => model.importances(),
            None => Ok(Array1::zeros(width)),
        })
    }

    /// The values of all models, side by side.
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        self.begun()?;
        let begun = self.models.iter().filter(|model| model.n_outputs().is_some());
        let parts = begun.map(|model| model.transform(x)).collect::<Result<Vec<_>>>()?;
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        Ok(concatenate(Axis(1), &views).unwrap_or_else(|_| unreachable!("as many rows")))
    }

    /// The stored points of all models, one model after the other.
    fn dictionary(&self) -> Array2<f64> {
        let parts = self.models.iter().map(Introspection::dictionary);
        let parts: Vec<_> = parts.filter(|part| part.nrows() > 0).collect();
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        match &views[..] {
            [] => Array2::zeros((0, self.n_features().unwrap_or(0))),
            _ => concatenate(Axis(0), &views).unwrap_or_else(|_| unreachable!("all as wide")),
        }
    }

    fn n_stored(&self) -> usize {
        self.models.iter().map(Introspection::n_stored).sum()
    }

    fn condition(&self) -> Option<f64> {
        self.models.iter().filter_map(Introspection::condition).reduce(f64::max)
    }

    fn mixture(&self) -> Option<Array2<f64>> {
        let mut rows = Vec::with_capacity(self.models.len());
        for (c, model) in self.models.iter().enumerate() {
            rows.push(model.mixture()?.slice_move(s![self.output(c)..=self.output(c), ..]));
        }
        let views: Vec<_> = rows.iter().map(|row| row.view()).collect();
        concatenate(Axis(0), &views).ok()
    }
}

/// The model file contains those of the targets.
impl<M: InnerModel + Persist> Persist for TargetModels<M> {
    fn from_spec(mut spec: Value) -> Result<Self> {
        let count = spec.as_object_mut().and_then(|spec| spec.remove(COUNT));
        let count = count.and_then(|count| count.as_u64()).filter(|count| (2..=MOST).contains(count));
        let broken = |reason: &str| Error::Specification { part: COUNT, reason: reason.into() };
        let count = count.ok_or_else(|| broken(&format!("a number from 2 to {MOST} is needed")))?;
        if spec.get("labels").is_some_and(|labels| !labels.is_null()) {
            return Err(broken("labels are one target"));
        }
        Ok(Self::of(&M::from_spec(spec)?, usize::try_from(count).unwrap_or(0)))
    }

    fn spec_json(&self) -> Result<Value> {
        let mut spec = self.models[0].spec_json()?;
        spec[COUNT] = self.models.len().into();
        Ok(spec)
    }

    fn to_bytes(&self, extra: Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        for (c, model) in self.models.iter().enumerate() {
            out.bytes(&name(c), model.to_bytes(Value::Null)?);
        }
        out.counts("n_seen", &[self.n_seen]);
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, Value)> {
        load(bytes, KIND, |spec: Value, from| {
            let mut targets = Self::from_spec(spec)?;
            targets.read(from)?;
            Ok(targets)
        })
    }
}

/// Name of a target's model file inside that of all.
fn name(c: usize) -> String {
    format!("target.{c}")
}

impl<M: InnerModel + Persist> TargetModels<M> {
    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        let count = self.models.len();
        for (c, model) in self.models.iter_mut().enumerate() {
            *model = load_inside(from, &name(c), model)?;
            let broken = |what: &str| Err(Error::file(what));
            if model.n_outputs().is_some_and(|outputs| outputs != 1 && outputs != count) {
                return broken("the model of a target has another number of outputs");
            }
        }
        let widths: Vec<_> = self.models.iter().filter_map(Model::n_features).collect();
        if widths.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(Error::file("the models of its targets have rows of different widths"));
        }
        let [n_seen] = from.counts("n_seen")?;
        if self.models.iter().any(|model| model.n_seen() > n_seen) {
            return Err(Error::file("the model of a target has more rows than there are"));
        }
        self.n_seen = n_seen;
        Ok(())
    }
}

/// Merges the models of each target.
impl<M: InnerModel + Merge> Merge for TargetModels<M> {
    fn has_begun(&self) -> bool {
        self.n_outputs().is_some()
    }

    fn check_merge(&self, other: &Self, order: PartOrder) -> Result<()> {
        if self.models.len() != other.models.len() {
            return Err(Error::merge("the models have different numbers of targets"));
        }
        let pairs = self.models.iter().zip(&other.models);
        pairs.into_iter().try_for_each(|(own, other)| match (own.has_begun(), other.has_begun()) {
            (true, true) => own.check_merge(other, order),
            _ => Ok(()),
        })
    }

    fn sum(parts: &[&Self], order: PartOrder) -> Result<Self> {
        let [first, rest @ ..] = parts else { return Err(Error::NothingLearned) };
        let mut merged = (*first).clone();
        for (c, model) in merged.models.iter_mut().enumerate() {
            model.join(&rest.iter().map(|other| &other.models[c]).collect::<Vec<_>>(), order)?;
        }
        merged.n_seen += rest.iter().map(|other| other.n_seen).sum::<u64>();
        Ok(merged)
    }

    fn freeze_dictionary(&mut self) -> Result<()> {
        let mut frozen = self.clone();
        frozen.models.iter_mut().try_for_each(Merge::freeze_dictionary)?;
        frozen.n_seen = 0;
        *self = frozen;
        Ok(())
    }
}
