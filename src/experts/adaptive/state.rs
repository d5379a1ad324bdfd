//! State that rows change: experts that learn side by side, and mixtures of their earlier
//! predictions.

use std::sync::Arc;

use ndarray::{Array2, ArrayView1, ArrayView2};

use super::AdaptiveSpec;
use super::buffer::{Buffer, Sample};
use super::member::Member;
use super::order::{Movement, continues};
use super::params::AdaptiveParams;
use super::preparation::Preparation;
use super::preprocessing::Views;
use super::tree_stage::{Predicted, TreeStage};
use crate::experts::answers::{Answers, Round};
use crate::experts::{Mixture, MixtureSpec};
use crate::interrupt::unwatched;
use crate::learner::Loss;
use crate::online::drift::Drift;
use crate::online::winsorizer::Limits;
use crate::threads::for_each_block;
use crate::uncertainty::{Calibration, ColumnSpreads, Prequential};

/// Fewest rows that experts learn on several threads.
const ROWS_OF_THREADS: usize = 4;

/// Most rows of all time whose mean queries are compared with.
const ROWS_OF_MEAN: usize = 1024;

/// An interrupted refit, which is repeated before the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    /// Due by the number of rows, after which the block may have to be checked.
    Scheduled,
    /// Caused by the check of a block.
    OfBlock,
}

/// State that rows change.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub params: Arc<AdaptiveParams>,
    pub buffer: Buffer,
    /// Mean and mean absolute deviation of the targets, and the sum of their weights.
    pub mean: Vec<f64>,
    pub deviation: Vec<f64>,
    pub total: f64,
    pub members: Vec<Member>,
    /// For the next row, one for each output.
    pub mixtures: Vec<Mixture>,
    pub calibration: Calibration,
    pub column_spreads: ColumnSpreads,
    /// For any row: of the lasting experts only.
    pub lasting: Vec<Mixture>,
    pub lasting_calibration: Calibration,
    /// Blocks for which rows are still taken to come in an order; 0 if they come in none.
    pub ordered: u64,
    pub movement: Movement,
    /// Trees on what the mixture of the next row leaves over.
    pub trees: TreeStage,
    pub drift: Drift,
    pub limits: Limits,
    /// Loss of the experts.
    pub loss: Loss,
    /// Aggregation rule.
    pub mixture: MixtureSpec,
    /// Rows so far with positive weight.
    pub met: u64,
    /// Number of refits, and the row of the latest.
    pub n_refits: u64,
    pub began: u64,
    /// Whether drift was assumed at that time.
    pub follows: bool,
    /// Row at which the latest change was detected; 0 if there was none.
    pub changed: u64,
    /// The interrupted refit.
    pub pending: Option<Pending>,
    /// The next scheduled one, while it is prepared.
    pub preparation: Option<Preparation>,
}

impl State {
    pub fn new(features: usize, outputs: usize, spec: &AdaptiveSpec) -> Self {
        let loss = spec.loss;
        // The mean of signs is a probability: Laplace's rule of succession.
        let total = if loss.is_margin() { 2.0 } else { 0.0 };
        Self {
            params: Arc::new(spec.params.clone()),
            buffer: Buffer::new(features, outputs, spec.params.refits.sample_rows),
            mean: vec![0.0; outputs],
            deviation: vec![0.0; outputs],
            total,
            members: Vec::new(),
            mixtures: Vec::new(),
            calibration: Calibration::by_prediction(outputs),
            column_spreads: spec.column_spreads(features, outputs),
            lasting: Vec::new(),
            lasting_calibration: Calibration::by_prediction(outputs),
            ordered: 0,
            movement: Movement::default(),
            trees: TreeStage::new(features, outputs, spec),
            drift: Drift::new(features, spec.params.drift),
            limits: Limits::new(spec.params.winsorizer),
            loss,
            mixture: spec.mixture,
            met: 0,
            n_refits: 0,
            began: 0,
            follows: false,
            changed: 0,
            pending: None,
            preparation: None,
        }
    }

    pub fn outputs(&self) -> usize {
        self.mean.len()
    }

    /// How many of these rows can be learned at once: up to the first whose target has to be
    /// checked, or that row.
    pub fn rows_at_once(&self, y: ArrayView2<'_, f64>, weights: Option<ArrayView1<'_, f64>>) -> usize {
        self.limits.first_extraordinary(y, weights).map_or(y.nrows(), |first| first.max(1))
    }

    /// Targets of rows to be learned at once, winsorized if it is a row that has to be checked.
    pub fn limited(
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

    /// Learns validated rows of one block.
    pub fn learn_part(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
    ) {
        let (raw, limited) = (y, self.limited(x, y, weights));
        let y = limited.as_ref().map_or(y, |limited| limited.view());
        let views = Views::of(self.members.iter().map(Member::preprocessing), x);
        let made = learn(&mut self.members, &views, y, weights);
        if made.iter().any(Option::is_none) {
            self.keep(&made.iter().map(Option::is_some).collect::<Vec<_>>());
        }
        let made: Vec<_> = made.into_iter().flatten().collect();
        let mut round = Round::default();
        let absent = Answers::of_none(y.dim());
        let (mut said, mut of_kernels) = (Predicted::default(), Vec::new());
        let mut targets = Vec::new();
        for (i, (x, y)) in x.rows().into_iter().zip(y.rows()).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[i]);
            let mut error = 0.0;
            of_kernels.clear();
            of_kernels.extend((0..self.outputs()).map(|c| match self.mixtures.get(c) {
                Some(mixture) => round.mix((i, c), made.iter(), mixture).made,
                None => self.mean[c],
            }));
            self.trees.predict(x.iter().copied(), &of_kernels, &mut said);
            targets.clear();
            let novelty = self.members.last().map_or(0.0, |member| member.out_of_range(x));
            let first = self.first_rows();
            for (c, target) in y.iter().enumerate() {
                let spread = self.spread(c);
                let limited = |mixed: f64| self.limits.limited(c, mixed, *target);
                let (mixed, limited) = if let Some(mixture) = self.mixtures.get_mut(c) {
                    let state = (mixture, &mut self.calibration);
                    let by_columns = self.column_spreads.factor(c, x.iter().copied());
                    let mut spread = f64::INFINITY;
                    let refined = |mixed| {
                        let refined = self.trees.refined(c, mixed, &said);
                        spread = refined.spread();
                        refined.scaled(by_columns).as_novel(novelty)
                    };
                    let target = (raw[(i, c)], limited, weight);
                    let next =
                        round.learn_refined((i, c), made.iter(), refined, target, state, &mut prequential);
                    if weight > 0.0 {
                        let unit = spread * self.calibration.factor(c, next.0);
                        self.column_spreads.meet(c, x.iter().copied(), (raw[(i, c)] - next.0) / unit);
                    }
                    // Losses in ordered rows are no evidence for random rows.
                    if self.ordered == 0 {
                        let lasting = made.iter().zip(&self.members);
                        let lasting = lasting.map(|(made, member)| if member.lasts { made } else { &absent });
                        let state = (&mut self.lasting[c], &mut self.lasting_calibration);
                        let target = (raw[(i, c)], |_| next.1, weight);
                        round.learn((i, c), lasting, target, state, &mut Prequential::default());
                    }
                    next
                } else {
                    let (made, _) = self.of_first(first.as_ref(), x, c);
                    prequential.record((i, c), made, |_| spread, f64::NAN, &self.calibration);
                    let mean = self.mean[c];
                    let target = limited(mean);
                    if weight > 0.0 {
                        self.calibration.meet(c, mean, (raw[(i, c)], target), spread);
                    }
                    (mean, target)
                };
                targets.push(limited);
                if self.deviation[c] > 0.0 {
                    error += self.loss.error(mixed, limited) / self.deviation[c] / self.outputs() as f64;
                }
                if weight > 0.0 {
                    self.limits.meet(c, *target, raw[(i, c)] - mixed, weight);
                }
            }
            // Rows of weight 0 are not learned.
            if weight > 0.0 {
                self.drift.add(error);
                if let Some(member) = self.members.last() {
                    self.drift.add_beyond(member.beyond(x, self.params.preprocessing.range_margin));
                }
                self.meet(y, weight);
                self.movement.add(x, raw.row(i));
                self.buffer.add(self.met, x, raw.row(i), weight);
                if let Some(preparation) = &mut self.preparation {
                    preparation.add(x, y, weight);
                }
                let targets = (&targets[..], &self.deviation[..]);
                self.trees.learn(self.met, &said, targets, weight, self.ordered > 0);
                self.met += 1;
                if self.met <= self.params.refits.first_rows
                    && self.members.is_empty()
                    && !self.loss.is_margin()
                {
                    self.know(&self.buffer.tame_sample(&Arc::clone(&self.params)));
                }
            }
        }
    }

    /// Standard deviation of the targets, if Gaussian; infinite before two differ.
    pub fn spread(&self, c: usize) -> f64 {
        let deviation = self.deviation[c];
        if deviation > 0.0 { deviation * (std::f64::consts::PI / 2.0).sqrt() } else { f64::INFINITY }
    }

    /// Mean and deviation of the targets with one more.
    pub fn meet(&mut self, y: ArrayView1<'_, f64>, weight: f64) {
        self.total += weight;
        let share = weight / self.total;
        for ((mean, deviation), y) in self.mean.iter_mut().zip(&mut self.deviation).zip(y) {
            *mean += share * (y - *mean);
            *deviation += share * ((y - *mean).abs() - *deviation);
        }
    }

    /// Sets mean and deviation of the targets from a sample, for the prediction of the first rows,
    /// which a single outlier would distort.
    pub fn know(&mut self, sample: &Sample) {
        self.total = sample.weights.sum();
        for (c, y) in sample.y.columns().into_iter().enumerate() {
            self.mean[c] = y.dot(&sample.weights) / self.total;
            self.deviation[c] = y.mapv(|y| (y - self.mean[c]).abs()).dot(&sample.weights) / self.total;
        }
    }

    /// Continues with a subset of the experts.
    pub fn keep(&mut self, kept: &[bool]) {
        let mut flags = kept.iter();
        self.members.retain(|_| flags.next().is_some_and(|kept| *kept));
        if self.members.is_empty() {
            self.mixtures.clear();
            self.lasting.clear();
        }
        let numbers: Vec<usize> = (0..kept.len()).filter(|e| kept[*e]).collect();
        self.mixtures.iter_mut().chain(&mut self.lasting).for_each(|mixture| mixture.retain(&numbers));
    }

    /// The mixture for any row, or that for the next row, and its calibration.
    pub fn answering(&self, any_row: bool) -> (&[Mixture], &Calibration) {
        if any_row { (&self.lasting, &self.lasting_calibration) } else { (&self.mixtures, &self.calibration) }
    }

    /// Whether the mixture for any row is in use: rows come in an order.
    pub fn answers_any_row(&self) -> bool {
        self.ordered > 0 && self.has_lasting() || self.latest_targets_lead()
    }

    /// Whether there is a mixture for any row.
    pub fn has_lasting(&self) -> bool {
        self.members.iter().any(|member| member.lasts)
    }

    /// Whether a mean of the latest targets predicts the next one so well that rows come in an order: in a random order
    /// functions of the columns predict it better and, where the relation drifts, those that forget. In the first rows they
    /// may not yet, so that targets must also be near to the ones before them.
    pub fn latest_targets_lead(&self) -> bool {
        let leads = |c: usize| {
            let weight = |of: &dyn Fn(&Member) -> bool| -> f64 {
                let members = self.members.iter().enumerate().filter(|(_, member)| of(member));
                members.map(|(e, _)| self.weight(e, c)).sum()
            };
            let constant = weight(&|member| member.is_constant());
            constant > self.params.order.constant_weight
                && constant > weight(&|member| member.forgetting() < 1.0 && !member.is_constant())
        };
        self.has_lasting()
            && (0..self.outputs()).any(leads)
            && self.buffer.targets_come_in_runs(
                self.block(),
                self.params.order.autocorrelation,
                self.loss.is_margin(),
            )
    }

    /// Whether the answers for these rows are for any row: rows come in an order, and these do not continue it, being nearer
    /// to the latest rows on average than to those of all time; or most are out of the range of the rows since an
    /// apparent change, of which experts of all rows know more.
    pub fn answers_any_of(&self, x: ArrayView2<'_, f64>) -> bool {
        if !self.answers_any_row() {
            let margin = self.params.preprocessing.range_margin;
            return !self.buffer.is_whole() && self.has_lasting() && self.buffer.are_out_of_range(x, margin);
        }
        let params = &self.params.order;
        let (latest, history) = self.buffer.latest_and_history(params.latest, ROWS_OF_MEAN);
        !continues(x, latest.x.view(), history.x.view(), params.continuation)
    }

    /// Whether an expert has at least this weight in either mixture.
    pub fn is_weighed(&self, member: usize, share: f64) -> bool {
        let lasts = self.members[member].lasts;
        (0..self.outputs())
            .any(|c| self.weight(member, c) >= share || lasts && self.lasting[c].weights()[member] >= share)
    }

    /// Share of an expert in the prediction of an output.
    pub fn weight(&self, member: usize, output: usize) -> f64 {
        self.mixtures[output].weights()[member]
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
