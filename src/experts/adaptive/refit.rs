//! Refits: their preparation, which experts stay beside the new ones, and the weights of these.

use std::ops::Range;
use std::sync::Arc;

use ndarray::{Array2, Array3, ArrayView2, Axis};

use super::agop::{Gradients, gradient_rows};
use super::buffer::Sample;
use super::first_rows::{FEWEST, WORTH};
use super::member::Member;
use super::order::{Movement, differ};
use super::preparation::{Preparation, lead};
use super::preprocessing::Transform;
use super::state::{Pending, State};
use super::training::{Prepared, Task, unless_interrupted};
use crate::error::{Error, Result};
use crate::experts::Mixture;
use crate::experts::answers::{Answers, Round};
use crate::uncertainty::{Calibration, Prequential};

impl State {
    /// Mixtures with equal weights of all experts.
    pub(super) fn new_mixtures(&self, outputs: usize) -> Vec<Mixture> {
        vec![Mixture::new(self.spec.mixture, self.spec.loss, self.members.len()); outputs]
    }

    /// Refits, and records the refit as pending until it is complete.
    pub(super) fn begin(&mut self, kind: Pending) -> Result<()> {
        self.pending = Some(kind);
        self.refit()?;
        self.pending = None;
        Ok(())
    }

    /// Selects settings and replaces experts. Repeating it after an interrupt has the same result, since everything
    /// before the training of experts is idempotent.
    fn refit(&mut self) -> Result<()> {
        let params = &self.spec.params.refits;
        let prepared = self.preparation.take();
        self.drift.with_other_ranges();
        let drifts = self.ordered == 0 && self.drifts();
        if drifts {
            let first = self.met.saturating_sub(params.sample_rows as u64);
            self.buffer.forget_before(first);
            self.trees.forget_before(first);
        }
        let sample = self.sample();
        if !self.spec.loss.is_margin() && !self.limits.are_known() {
            self.limits.restart(sample.y.view(), sample.weights.view());
            self.targets.replace_by(&sample);
        }
        self.movement = Movement::of(&sample, self.spec.params.preprocessing.clip);
        let is_as_foreseen = self.pending == Some(Pending::Scheduled) && !drifts && !self.answers_any_row();
        let prepared = prepared.filter(|_| is_as_foreseen);
        let age = self.buffer.age();
        let prepared = if let Some(prepared) = prepared.and_then(|prepared| prepared.finished(age)) {
            prepared
        } else {
            let gradients = unless_interrupted(self.gradients(&sample))?;
            self.task(sample, gradients, (drifts, age)).prepare()?
        };
        self.adopt(prepared, drifts);
        Ok(())
    }

    /// Rows until the preparation of the refit that is `due` begins, ends or has to be waited for, or until that refit.
    pub(super) fn rows_to_preparation(&self, due: u64) -> u64 {
        let age = self.buffer.age();
        let Some(preparation) = &self.preparation else {
            let begin = due - lead(due, self.buffer.width(), &self.spec.params);
            return if begin > age { begin - age } else { due - age };
        };
        preparation.rows_left(age)
    }

    /// Continues a preparation, after a row or, before the next, after an interrupt.
    pub(super) fn follow_preparation(&mut self, is_after_row: bool, more: usize) -> Result<()> {
        let age = self.buffer.age();
        if let Some(mut preparation) = self.preparation.take() {
            let outcome = preparation
                .take_gradients(age, |x| self.slopes_in_deviations(x))
                .and_then(|()| preparation.follow(age, is_after_row, more));
            self.preparation = Some(preparation);
            outcome?;
        }
        Ok(())
    }

    /// Begins to prepare the next scheduled refit, if that is due: not while the relation drifts or rows come in an order.
    pub(super) fn prepare_next(&mut self) {
        let age = self.buffer.age();
        let due = self.spec.params.refits.next_after(age);
        let ahead = lead(due, self.buffer.width(), &self.spec.params);
        let is_due = ahead > 0 && age + ahead == due && self.preparation.is_none();
        let may_be = || !self.members.is_empty() && !self.answers_any_row() && !self.drifts();
        if is_due && self.is_far(due) && may_be() {
            let sample = self.sample();
            let gradients = self.rows_of_gradients(&sample).map(|x| {
                let slopes = Array3::zeros((x.nrows(), self.outputs(), x.ncols()));
                Gradients { x, slopes, leading: self.leading() }
            });
            self.preparation = Some(Preparation::new(self.task(sample, gradients, (false, due))));
        }
    }

    /// The sample for a refit.
    pub(super) fn sample(&self) -> Sample {
        if self.spec.loss.is_margin() {
            self.buffer.sample()
        } else {
            self.buffer.tame_sample(&self.spec.params)
        }
    }

    /// What the experts of a refit after `age` rows are made of.
    pub(super) fn task(
        &self,
        sample: Sample,
        gradients: Option<Gradients>,
        (drifts, age): (bool, u64),
    ) -> Task {
        let latest = usize::try_from(self.block()).unwrap_or(usize::MAX);
        Task {
            sample,
            gradients,
            drifts,
            age,
            latest,
            number: self.n_refits + 1,
            spec: Arc::clone(&self.spec),
        }
    }

    /// Replaces experts by new ones.
    fn adopt(&mut self, prepared: Prepared, drifts: bool) {
        let whole = self.buffer.is_whole();
        let Prepared { members, sample, in_order, has_exact, line } = prepared;
        if let (Some(odds), Some(line)) = (&mut self.odds, line) {
            odds.replace(line);
        }
        let (mut new, mut shuffled, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for each in members {
            new.push(each.member);
            shuffled.push(each.shuffled);
            made.push(each.in_order);
        }
        for member in new.iter_mut().filter(|member| member.forgetting() >= 1.0) {
            // The exact expert stores rows that are mistaken: where labels come in runs, those of the latest run.
            member.lasts = whole && !member.is_exact();
        }
        (self.n_refits, self.began, self.follows) = (self.n_refits + 1, self.met, drifts);
        if new.is_empty() {
            return;
        }
        self.keep(&self.stay_beside_new(drifts, has_exact));
        let first = self.members.len();
        self.members.extend(new);
        self.mixtures = self.new_mixtures(self.outputs());
        self.lasting = self.new_mixtures(self.outputs());
        if let Some(sample) = &in_order {
            self.weigh_next(first, &made, sample);
        }
        if whole {
            self.lasting_calibration = Calibration::by_prediction(self.outputs());
            let state = (&mut self.lasting[..], &mut self.lasting_calibration);
            weigh(first, &shuffled, &sample, state, |_| true);
        }
    }

    /// Which experts stay beside those of the present refit: recent ones with weight, and lasting ones with weight in the
    /// mixture for any row.
    fn stay_beside_new(&self, drifts: bool, has_new_exact: bool) -> Vec<bool> {
        let (params, whole) = (&self.spec.params.refits, self.buffer.is_whole());
        let last_whole = self.members.iter().filter(|member| member.lasts).map(|m| m.refit).max();
        let of_lasting: Vec<f64> = (self.lasting.iter())
            .map(|mixture| {
                let weights = mixture.weights().iter().zip(&self.members);
                weights.filter(|(_, member)| member.lasts).map(|(weight, _)| weight).sum()
            })
            .collect();
        let stays = |(e, member): (usize, &Member)| {
            let refits = if drifts && member.forgetting() < 1.0 { params.drifting_refits } else { 1 };
            let replaced = member.is_exact() && has_new_exact;
            let recent = member.refit + refits >= self.n_refits
                && (0..self.outputs()).any(|c| self.weight(e, c) > params.min_weight);
            // Experts trained on the latest rows alone do not replace lasting ones.
            let share =
                |c: usize| if whole { params.min_weight } else { params.min_lasting_weight * of_lasting[c] };
            let lasts = member.lasts
                && (!whole || Some(member.refit) == last_whole)
                // Experts that learned ordered rows are replaced by those of a shuffled sample.
                && (!whole || self.ordered == 0)
                && (0..self.outputs()).any(|c| self.lasting[c].weights()[e] > share(c));
            !replaced && (recent || lasts)
        };
        self.members.iter().enumerate().map(stays).collect()
    }

    /// Weights of the new experts (from index `first` on) from their prequential predictions of a sample in its order. A mean
    /// of all of them would be worse than most, and few rows are to come until the next refit.
    fn weigh_next(&mut self, first: usize, made: &[Option<Answers>], sample: &Sample) {
        let later = later_rows(sample);
        let rows = later.len();
        // The next rows of an order are elsewhere: what was best for those before tells little.
        let halves = [later.clone(), 0..later.start].map(|half| sample.selected(&half.collect::<Vec<_>>()));
        // The largest of many standard errors grows with the root of their logarithm.
        let columns = (sample.x.ncols() + sample.y.ncols()) as f64;
        let errors = (BY_CHANCE * BY_CHANCE + 2.0 * columns.ln()).sqrt();
        let chance = errors * (2.0 / later.start.max(1) as f64).sqrt();
        if differ(&halves[0], &halves[1], chance) {
            return;
        }
        let is_known: Vec<bool> = (0..self.outputs())
            .map(|c| {
                if self.spec.loss.is_margin() {
                    // A label that barely occurs shows nothing.
                    let of_label = later_rows(sample).filter(|i| sample.y[(*i, c)] > 0.0).count();
                    of_label.min(rows - of_label) >= FEWEST
                } else {
                    rows as u64 >= self.spec.params.refits.first_rows || self.one_leads(c, made, sample)
                }
            })
            .collect();
        let calibration = &mut Calibration::by_prediction(self.outputs());
        weigh(first, made, sample, (&mut self.mixtures, calibration), |c| is_known[c]);
    }

    /// Whether the squared error of the best of these experts is so far below that of their mean that it is not by chance,
    /// in the few rows of the first refit: of experts that know as little, the mean is best.
    fn one_leads(&self, c: usize, made: &[Option<Answers>], sample: &Sample) -> bool {
        let all: Vec<&Answers> = made.iter().flatten().collect();
        let equal = Mixture::new(self.spec.mixture, self.spec.loss, all.len());
        let mut round = Round::default();
        let (mut of_mean, mut of_each) = (0.0, vec![0.0; all.len()]);
        for i in later_rows(sample) {
            let error = |made: f64| sample.weights[i] * (made - sample.y[(i, c)]).powi(2);
            of_mean += error(round.mix((i, c), all.iter().copied(), &equal).made);
            round.parts().zip(&mut of_each).for_each(|((made, _), sum)| *sum += error(made));
        }
        of_each.into_iter().fold(f64::INFINITY, f64::min) <= WORTH * of_mean
    }

    /// Gradients of the predictions at rows of a sample; an error if the sample is small.
    fn gradients(&self, sample: &Sample) -> Result<Gradients> {
        let x = self.rows_of_gradients(sample).ok_or(Error::NothingLearned)?;
        let slopes = self.slopes_in_deviations(x.view())?;
        Ok(Gradients { x, slopes, leading: self.leading() })
    }

    /// The rows of a sample at which gradients are taken; none if the sample is small.
    pub(super) fn rows_of_gradients(&self, sample: &Sample) -> Option<Array2<f64>> {
        let (n, d) = sample.x.dim();
        let is_large = !self.members.is_empty() && n >= self.spec.params.metrics.min_rows;
        is_large.then(|| sample.x.select(Axis(0), &gradient_rows(n, d, &self.spec.params.metrics)))
    }

    /// Gradients of the predictions at these rows, in deviations of the targets.
    pub(super) fn slopes_in_deviations(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        let mut slopes = self.slopes(x)?;
        for (c, deviation) in
            self.targets.absolute_deviations.iter().enumerate().filter(|(_, deviation)| **deviation > 0.0)
        {
            slopes.index_axis_mut(Axis(1), c).mapv_inplace(|slope| slope / deviation);
        }
        Ok(slopes)
    }

    /// The leading transform. Not for labels, where one transform alone makes 5 % more mistakes (ijcnn1).
    pub(super) fn leading(&self) -> Option<Transform> {
        (!self.spec.loss.is_margin()).then(|| self.leading_transform())
    }

    /// The transform of the experts with most of the weight.
    fn leading_transform(&self) -> Transform {
        let of_scores = self.members.iter().enumerate().filter(|(_, member)| member.is_of_scores());
        let share = |(e, _)| (0..self.outputs()).map(|c| self.weight(e, c)).sum::<f64>();
        let most = of_scores.map(share).sum::<f64>() > 0.5 * self.outputs() as f64;
        if most { Transform::Scores } else { Transform::Standard }
    }
}

/// Standard errors of the difference of the means of two halves of a sample, beyond which its rows come in an order.
const BY_CHANCE: f64 = 3.0;

/// Updates mixtures by the prequential predictions of new experts (from index `first` on) in the second half of a sample.
/// Those before them, which have learned its rows, are not weighed.
fn weigh(
    first: usize,
    made: &[Option<Answers>],
    sample: &Sample,
    (mixtures, calibration): (&mut [Mixture], &mut Calibration),
    is_weighed: impl Fn(usize) -> bool,
) {
    let absent = Answers::of_none(sample.y.dim());
    let mut round = Round::default();
    for ((i, c), target) in sample.y.indexed_iter().skip(later_rows(sample).start * sample.y.ncols()) {
        if is_weighed(c) {
            let before = std::iter::repeat_n(&absent, first);
            let answers = before.chain(made.iter().map(|made| made.as_ref().unwrap_or(&absent)));
            let target = (*target, |_| *target, sample.weights[i]);
            round.learn(
                (i, c),
                answers,
                target,
                (&mut mixtures[c], calibration),
                &mut Prequential::default(),
            );
        }
    }
}

/// The second half of a sample.
fn later_rows(sample: &Sample) -> Range<usize> {
    sample.y.nrows() / 2..sample.y.nrows()
}
