//! State that rows change: experts side by side, mixtures of their predictions, and which mixture answers.

use std::cell::LazyCell;
use std::sync::Arc;

use ndarray::ArrayView2;

use super::AdaptiveSpec;
use super::buffer::{Buffer, Sample};
use super::member::Member;
use super::odds_stage::OddsStage;
use super::order::{Movement, continues, have_other_means, rise_or_fall};
use super::preparation::Preparation;
use super::target_statistics::TargetStatistics;
use super::tree_stage::TreeStage;
use crate::experts::Mixture;
use crate::online::drift::Drift;
use crate::online::winsorizer::Limits;
use crate::uncertainty::{Calibration, ColumnSpreads};

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
    /// That of the model, shared with it.
    pub spec: Arc<AdaptiveSpec>,
    pub buffer: Buffer,
    pub targets: TargetStatistics,
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
    /// For labels, what makes odds of both; none from a former file.
    pub odds: Option<OddsStage>,
    pub drift: Drift,
    pub limits: Limits,
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
    pub fn new(features: usize, outputs: usize, spec: &Arc<AdaptiveSpec>) -> Self {
        Self {
            spec: Arc::clone(spec),
            buffer: Buffer::new(features, outputs, spec.params.refits.sample_rows),
            targets: TargetStatistics::new(outputs, spec.loss),
            members: Vec::new(),
            mixtures: Vec::new(),
            calibration: Calibration::by_prediction(outputs),
            column_spreads: spec.column_spreads(features, outputs),
            lasting: Vec::new(),
            lasting_calibration: Calibration::by_prediction(outputs),
            ordered: 0,
            movement: Movement::default(),
            odds: spec.loss.is_margin().then(|| OddsStage::new(outputs)),
            trees: TreeStage::new(features, outputs, spec),
            drift: Drift::new(features, spec.params.drift),
            limits: Limits::new(spec.params.winsorizer),
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
        self.targets.outputs()
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
        self.are_in_order(&LazyCell::new(|| self.latest_and_history()))
    }

    /// The same, given the latest rows and a sample of all. Targets that come in runs may also be numbers whose level wanders:
    /// in an order, means of columns differ from earlier ones, or columns or targets rise or fall.
    fn are_in_order<F: FnOnce() -> (Sample, Sample)>(&self, rows: &LazyCell<(Sample, Sample), F>) -> bool {
        let are_sorted = || {
            let (latest, history) = &**rows;
            rise_or_fall(latest.y.view())
                || rise_or_fall(latest.x.view())
                || have_other_means(latest.x.view(), history.x.view())
        };
        let may_be = self.ordered > 0 && self.has_lasting() || self.latest_targets_lead();
        may_be && (self.spec.loss.is_margin() || are_sorted())
    }

    fn latest_and_history(&self) -> (Sample, Sample) {
        self.buffer.latest_and_history(self.spec.params.order.latest, ROWS_OF_MEAN)
    }

    /// Whether there is a mixture for any row.
    pub fn has_lasting(&self) -> bool {
        self.members.iter().any(|member| member.lasts)
    }

    /// Whether a mean of the latest targets predicts the next one better than functions of the columns, as it does not in a
    /// random order, and than those that forget, which do better where the relation drifts. In the first rows they may not
    /// yet, so that targets must also be near to the ones before them.
    pub fn latest_targets_lead(&self) -> bool {
        let leads = |c: usize| {
            let weight = |of: &dyn Fn(&Member) -> bool| -> f64 {
                let members = self.members.iter().enumerate().filter(|(_, member)| of(member));
                members.map(|(e, _)| self.weight(e, c)).sum()
            };
            let constant = weight(&|member| member.is_constant());
            constant > self.spec.params.order.constant_weight
                && constant > weight(&|member| member.forgetting() < 1.0 && !member.is_constant())
        };
        self.has_lasting()
            && (0..self.outputs()).any(leads)
            && self.buffer.targets_come_in_runs(
                self.block(),
                self.spec.params.order.autocorrelation,
                self.spec.loss.is_margin(),
            )
    }

    /// Whether the answers for these rows are for any row: rows come in an order, and these do not continue it, being nearer
    /// to the latest rows on average than to those of all time; or most are out of the range of the rows since an
    /// apparent change, of which experts of all rows know more.
    pub fn answers_any_of(&self, x: ArrayView2<'_, f64>) -> bool {
        let rows = LazyCell::new(|| self.latest_and_history());
        if !self.are_in_order(&rows) {
            let margin = self.spec.params.preprocessing.range_margin;
            return !self.buffer.is_whole() && self.has_lasting() && self.buffer.are_out_of_range(x, margin);
        }
        let (latest, history) = &*rows;
        !continues(x, latest.x.view(), history.x.view(), self.spec.params.order.continuation)
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
