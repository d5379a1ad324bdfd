//! Learning of rows: each is predicted, the prediction is recorded, and then its targets update the state.

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::answering::in_odds;
use super::first_rows::FirstRows;
use super::member::Member;
use super::odds_stage::Predicted as OfLine;
use super::preprocessing::Views;
use super::state::State;
use super::tree_stage::Predicted;
use crate::experts::answers::{Answers, Round};
use crate::interrupt::unwatched;
use crate::threads::for_each_block;
use crate::uncertainty::Prequential;

/// Fewest rows that experts learn on several threads.
const ROWS_OF_THREADS: usize = 4;

/// Rows that are learned in one step, and the predictions of the experts before.
struct Step<'a> {
    x: ArrayView2<'a, f64>,
    /// Targets as they came.
    raw: ArrayView2<'a, f64>,
    /// Targets as the experts learn them: winsorized if it is a single row that has to be checked.
    y: ArrayView2<'a, f64>,
    weights: Option<ArrayView1<'a, f64>>,
    /// Predictions of each expert.
    made: Vec<Answers>,
    /// The same for an expert that has none.
    absent: Answers,
}

impl Step<'_> {
    fn weight(&self, row: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[row])
    }
}

/// Memory for one row, which the next one reuses.
#[derive(Default)]
struct RowMemory {
    round: Round,
    /// Predictions of the mixture of kernel experts, one for each output.
    of_kernels: Vec<f64>,
    /// Those of the trees beside them.
    of_trees: Predicted,
    /// What logistic regression predicts, and the predictions of each output without it.
    of_line: OfLine,
    without_line: Vec<f64>,
    /// Winsorized targets.
    targets: Vec<f64>,
}

impl State {
    /// How many of these rows can be learned at once: up to the first whose target has to be
    /// checked, or that row.
    pub fn rows_at_once(&self, y: ArrayView2<'_, f64>, weights: Option<ArrayView1<'_, f64>>) -> usize {
        self.limits.first_extraordinary(y, weights).map_or(y.nrows(), |first| first.max(1))
    }

    /// Learns validated rows of one block, as many as [`rows_at_once`](Self::rows_at_once).
    pub fn learn_part(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
    ) {
        let (raw, winsorized) = (y, self.winsorized(x, y, weights));
        let y = winsorized.as_ref().map_or(y, |winsorized| winsorized.view());
        let made = self.learn_by_experts(x, y, weights);
        let step = Step { x, raw, y, weights, made, absent: Answers::of_none(y.dim()) };
        let mut memory = RowMemory::default();
        for i in 0..x.nrows() {
            self.predict_row(&step, i, &mut memory);
            let error = self.judge_row(&step, i, &mut memory, &mut prequential);
            // Rows of weight 0 are not learned.
            if step.weight(i) > 0.0 {
                self.learn_row(&step, i, error, &memory);
            }
        }
    }

    /// Targets of rows to be learned at once, winsorized if it is a row that has to be checked.
    fn winsorized(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Option<Array2<f64>> {
        if y.nrows() != 1 || self.limits.first_extraordinary(y, weights).is_none() {
            return None;
        }
        let made = unwatched(|| self.predict(x)).ok()?;
        let limited =
            Array2::from_shape_fn(y.raw_dim(), |(i, c)| self.limits.limited(c, made[(i, c)], y[(i, c)]));
        let changed = limited != y;
        self.limits.note(y.row(0), limited.row(0));
        changed.then_some(limited)
    }

    /// Each expert learns the rows; returns their predictions before. One that fails is dropped.
    fn learn_by_experts(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Vec<Answers> {
        let views = Views::of(self.members.iter().map(Member::preprocessing), x);
        let made = learn(&mut self.members, &views, y, weights);
        if made.iter().any(Option::is_none) {
            self.keep(&made.iter().map(Option::is_some).collect::<Vec<_>>());
        }
        made.into_iter().flatten().collect()
    }

    /// Predictions of a row by the mixture of kernel experts, or the means before there is one, and by the trees beside it.
    fn predict_row(&self, step: &Step<'_>, i: usize, memory: &mut RowMemory) {
        let RowMemory { round, of_kernels, of_trees, of_line, .. } = memory;
        of_kernels.clear();
        of_kernels.extend((0..self.outputs()).map(|c| match self.mixtures.get(c) {
            Some(mixture) => round.mix((i, c), step.made.iter(), mixture).made,
            None => self.targets.means[c],
        }));
        self.trees.predict(step.x.row(i).iter().copied(), of_kernels, of_trees);
        if let Some(odds) = &self.odds {
            odds.predict(step.x.row(i).iter().copied(), of_line);
        }
    }

    /// Compares the predictions of a row with its targets, which update mixtures, intervals and the winsorizer; returns the
    /// mean error over the outputs, in deviations.
    fn judge_row(
        &mut self,
        step: &Step<'_>,
        i: usize,
        memory: &mut RowMemory,
        prequential: &mut Prequential<'_>,
    ) -> f64 {
        let (x, weight) = (step.x.row(i), step.weight(i));
        let novelty = self.members.last().map_or(0.0, |member| member.out_of_range(x));
        let first_rows = self.first_rows();
        let mut error = 0.0;
        memory.targets.clear();
        memory.without_line.clear();
        for c in 0..self.outputs() {
            let (mixed, limited) = if self.mixtures.is_empty() {
                self.judge_first_rows(step, (i, c), first_rows.as_ref(), prequential)
            } else {
                self.judge_mixture(step, (i, c), novelty, memory, prequential)
            };
            memory.targets.push(limited);
            let deviation = self.targets.absolute_deviations[c];
            if deviation > 0.0 {
                error += self.spec.loss.error(mixed, limited) / deviation / self.outputs() as f64;
            }
            if weight > 0.0 {
                self.limits.meet(c, step.y[(i, c)], step.raw[(i, c)] - mixed, weight);
            }
        }
        error
    }

    /// Records the prediction of a row by the mixtures, which learn its target; returns the prediction and the winsorized
    /// target.
    fn judge_mixture(
        &mut self,
        step: &Step<'_>,
        (i, c): (usize, usize),
        novelty: f64,
        memory: &mut RowMemory,
        prequential: &mut Prequential<'_>,
    ) -> (f64, f64) {
        let (x, raw, weight) = (step.x.row(i), step.raw[(i, c)], step.weight(i));
        let RowMemory { round, of_trees, of_line, without_line, .. } = memory;
        let by_columns = self.column_spreads.factor(c, x.iter().copied());
        let mut spread = f64::INFINITY;
        let refined = |mixed| {
            let refined = self.trees.refined(c, mixed, of_trees);
            without_line.push(refined.made);
            let refined = in_odds(self.odds.as_ref(), c, refined, of_line);
            spread = refined.spread();
            refined.scaled(by_columns).as_novel(novelty)
        };
        let limited = |mixed: f64| self.limits.limited(c, mixed, step.y[(i, c)]);
        let state = (&mut self.mixtures[c], &mut self.calibration);
        let (mixed, limited) = round.learn_refined(
            (i, c),
            step.made.iter(),
            refined,
            (raw, limited, weight),
            state,
            prequential,
        );
        if weight > 0.0 {
            let unit = spread * self.calibration.factor(c, mixed);
            self.column_spreads.meet(c, x.iter().copied(), (raw - mixed) / unit);
        }
        // Losses in ordered rows are no evidence for random rows.
        if self.ordered == 0 {
            let lasting = step.made.iter().zip(&self.members);
            let lasting = lasting.map(|(made, member)| if member.lasts { made } else { &step.absent });
            let state = (&mut self.lasting[c], &mut self.lasting_calibration);
            let target = (raw, |_| limited, weight);
            round.learn((i, c), lasting, target, state, &mut Prequential::default());
        }
        (mixed, limited)
    }

    /// Records the prediction of a row before there are experts: of a linear function of the first rows, or their mean, by
    /// which errors are judged; returns the mean and the winsorized target.
    fn judge_first_rows(
        &mut self,
        step: &Step<'_>,
        (i, c): (usize, usize),
        first_rows: Option<&FirstRows>,
        prequential: &mut Prequential<'_>,
    ) -> (f64, f64) {
        let spread = self.targets.deviation(c);
        let (made, _) = self.of_first(first_rows, step.x.row(i), c);
        prequential.record((i, c), made, |_| spread, f64::NAN, &self.calibration);
        let mean = self.targets.means[c];
        let target = self.limits.limited(c, mean, step.y[(i, c)]);
        if step.weight(i) > 0.0 {
            self.calibration.meet(c, mean, (step.raw[(i, c)], target), spread);
        }
        (mean, target)
    }

    /// Learns a row beside the experts: statistics, buffer and trees. `error`: that of its prediction, in deviations.
    fn learn_row(&mut self, step: &Step<'_>, i: usize, error: f64, memory: &RowMemory) {
        let (x, y, raw, weight) = (step.x.row(i), step.y.row(i), step.raw.row(i), step.weight(i));
        self.drift.add(error);
        if let Some(member) = self.members.last() {
            self.drift.add_beyond(member.beyond(x, self.spec.params.preprocessing.range_margin));
        }
        self.targets.add(y, weight);
        self.movement.add(x, raw);
        self.buffer.add(self.met, x, raw, weight);
        if let Some(preparation) = &mut self.preparation {
            preparation.add(x, y, weight);
        }
        if let Some(odds) = &mut self.odds {
            odds.learn(&memory.of_line, &memory.without_line, &memory.targets, (weight, self.met));
        }
        let targets = (&memory.targets[..], &self.targets.absolute_deviations[..]);
        self.trees.learn(self.met, &memory.of_trees, targets, weight, self.ordered > 0);
        self.met += 1;
        let is_first = self.met <= self.spec.params.refits.first_rows && self.members.is_empty();
        if is_first && !self.spec.loss.is_margin() {
            self.targets.replace_by(&self.buffer.tame_sample(&self.spec.params));
        }
    }
}

/// Learns rows, given their views, side by side; returns the earlier outputs of each expert, `None`
/// for one that fails.
fn learn(
    members: &mut [Member],
    views: &Views,
    y: ArrayView2<'_, f64>,
    weights: Option<ArrayView1<'_, f64>>,
) -> Vec<Option<Answers>> {
    let mut made: Vec<Option<_>> = members.iter().map(|_| None).collect();
    let learn = |(member, made): (&mut Member, &mut Option<Answers>)| {
        *made = member.learn(views, y, weights).ok();
    };
    let each = members.iter_mut().zip(&mut made);
    // A few rows are learned before other threads are awake.
    if y.nrows() < ROWS_OF_THREADS {
        each.for_each(learn);
    } else {
        for_each_block(each, learn);
    }
    made
}
