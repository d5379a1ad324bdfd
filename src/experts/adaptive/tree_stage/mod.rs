//! Trees beside the mixture of the kernel experts: on its residuals, and on the targets.
//!
//! The prediction of the kernel experts is one expert of a second mixture; the others are trees. A forest splits on the columns
//! and on that prediction, and adds the mean residual of the node of a row: nodes of at least 64, 8 and 1 rows are three
//! experts. Boosted trees are fitted to the targets: the first 100, 300 and 1,000 of them are three more. Nodes of the forest
//! and, for numbers, leaves of boosted trees learn each row; a few trees after others are grown again, each once while the
//! number of rows doubles, and boosted trees are fitted again when the rows are half as many more. Others join them: boosted
//! trees on logarithms (`log_trees.rs`), and regression on the nearest rows (`nearest.rs`). All are fitted to a copy of a
//! bounded reservoir of rows with their prequential predictions, a part of the work each row.
//!
//! This file has predictions and learning of a row, `making` what is made beside and when, `rival` boosted trees that are
//! compared with those there are, `file` all of it in a model file.
//!
//! For labels the forest learns the signs themselves, boosting takes Newton steps on the logarithmic loss, and the logarithms of
//! the odds of all experts are combined linearly, by online Newton steps.

mod file;
mod making;
mod rival;

use std::sync::Arc;

use ndarray::ArrayViewMut2;
use rival::Rival;

use super::log_trees::{LogTrees, STAGES};
use super::nearest::{NEAREST, Nearest};
use super::params::Mechanism;
use super::{AdaptiveSpec, Effort};
use crate::experts::Mixture;
use crate::experts::answers::Mixed;
use crate::learner::{LogOdds, Loss, linear_of_odds, odds_of_linear, slope_of_linear};
use crate::online::mixture::Said;
use crate::online::reservoir::Rows as Reservoir;
use crate::trees::{Boosted, Fitting, Gradual, Growth, Tree};

/// Bounds of the memory: numbers of the reservoir, 64 MB, and the fewest rows with which trees are grown. The trees take at
/// most three times as much, and twice as much while some are made or compared. With a quarter of it, 6,636 of the 20,000 rows of w7a,
/// which has 300 columns, mistakes are 8 % more.
const MAX_NUMBERS: usize = 1 << 23;
const MIN_ROWS: usize = 4096;

/// Numbers of the reservoir in former files.
const FORMER_NUMBERS: usize = 1 << 21;

/// Experts of the forest, and of the boosted trees.
const LEVELS: usize = 3;

/// The kernel experts, then these, then those on the nearest rows and those on logarithms where there are any.
const EXPERTS: usize = 1 + LEVELS + STAGES;

/// Terms of the logarithm of the odds of a label: that of each expert, 1, and by how much that of the kernel experts is beyond
/// `SURE` on either side.
const TERMS: usize = EXPERTS + 3;
const SURE: f64 = 2.0;

/// The weight of a past row falls by this factor each row.
const MEMORY: f64 = 0.9997;

/// Confidence in the first weights, in rows of even odds.
const PRIOR: [f64; TERMS] = [16.0; TERMS];

/// Rows that the trees predict beside the kernel experts before they count: nothing is known of their weights before, and where
/// columns are many and rows are few, trees are no better than the mean.
const ROWS_ON_TRIAL: u64 = 32;

/// Rows at which experts on logarithms were decided on, where none are to come again.
const GIVEN_UP: u64 = u64::MAX;

/// How the experts are combined for an output.
#[derive(Clone, Debug)]
enum Combination {
    /// For numbers: a mean of their predictions.
    Mean(Mixture),
    /// For labels: a linear function of the logarithms of their odds.
    Odds(Box<LogOdds<TERMS>>),
}

/// The trees, and the mixture of them and the kernel experts.
#[derive(Clone, Debug)]
pub(super) struct TreeStage {
    spec: Arc<AdaptiveSpec>,
    features: usize,
    outputs: usize,
    /// Rows that the reservoir holds at most; 0 where there are no trees.
    capacity: usize,
    /// Columns, predictions of the kernel experts, targets and weight of each row.
    rows: Reservoir,
    /// Rows since the last change.
    age: u64,
    forest: Vec<Tree>,
    /// Trees grown since the last change, and those being grown.
    grown: u64,
    growing: Option<Gradual<Growth>>,
    boosted: Option<Boosted>,
    /// Those that were fitted after them, if it is not known yet which are better.
    rival: Option<Rival>,
    /// Memory for the leaves of a row.
    path: Vec<usize>,
    /// Rows when they were fitted, those being fitted included.
    fitted: u64,
    fitting: Option<Gradual<Fitting>>,
    /// Those on logarithms, and rows when it was last decided which targets have them; `GIVEN_UP` if none is to have them.
    pub(super) logs: LogTrees,
    logs_fitted: u64,
    /// Those on the nearest rows, unless given up.
    pub(super) nearest: Option<Nearest>,
    nearest_given_up: bool,
    /// One an output.
    combined: Vec<Combination>,
    /// Rows that they were learned from, at most [`ROWS_ON_TRIAL`].
    tried: u64,
}

/// A row, the predictions of the kernel experts, and those of all experts for it (outputs, experts).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Predicted(Vec<f64>);

/// Rows that the reservoir holds within this many numbers: those of a row, and of about eight nodes.
fn rows_within(numbers: usize, (features, outputs): (usize, usize)) -> usize {
    numbers / (features + 8 * (outputs + 1))
}

impl TreeStage {
    pub fn new(features: usize, outputs: usize, spec: &Arc<AdaptiveSpec>) -> Self {
        let params = spec.params.trees;
        let capacity = rows_within(MAX_NUMBERS, (features, outputs)).min(params.max_rows);
        let worth = spec.effort == Effort::High && capacity >= MIN_ROWS.min(params.max_rows);
        Self {
            spec: Arc::clone(spec),
            features,
            outputs,
            capacity: if worth { capacity } else { 0 },
            rows: Reservoir::default(),
            age: 0,
            forest: Vec::new(),
            grown: 0,
            growing: None,
            boosted: None,
            rival: None,
            path: Vec::new(),
            fitted: 0,
            fitting: None,
            logs: LogTrees::default(),
            logs_fitted: 0,
            nearest: None,
            nearest_given_up: false,
            combined: Vec::new(),
            tried: 0,
        }
    }

    fn are_labels(&self) -> bool {
        self.spec.loss.is_margin()
    }

    /// Whether there are trees.
    pub fn is_grown(&self) -> bool {
        !self.combined.is_empty()
    }

    /// Whether there are trees of which it is known how good they are.
    pub fn counts(&self) -> bool {
        self.is_grown() && self.tried == ROWS_ON_TRIAL
    }

    /// Whether some are being made.
    pub fn are_made(&self) -> bool {
        self.fitting.is_some() || self.logs.are_fitted() || self.growing.is_some()
    }

    fn row_width(&self) -> usize {
        self.features + self.outputs
    }

    /// Numbers of a stored row.
    fn stored_width(&self) -> usize {
        self.row_width() + self.outputs + 1
    }

    /// Numbers of [`predict_into`](Self::predict_into): row, predictions, and memory.
    pub fn length(&self) -> usize {
        self.row_width() + (self.experts() + 1 + LEVELS.max(STAGES)) * self.outputs
    }

    /// Experts for which there are places for each output.
    fn experts(&self) -> usize {
        self.first_on_logs() + if self.logs.are_there() { STAGES } else { 0 }
    }

    /// Experts of an output.
    fn experts_of(&self, output: usize) -> usize {
        self.first_on_logs() + if self.logs.have(output) { STAGES } else { 0 }
    }

    /// The first of those on logarithms.
    fn first_on_logs(&self) -> usize {
        EXPERTS + if self.nearest.is_some() { NEAREST } else { 0 }
    }

    /// Predicts a row by all experts, given the predictions of the kernel experts.
    pub fn predict(&self, x: impl Iterator<Item = f64>, made: &[f64], predicted: &mut Predicted) {
        predicted.0.resize(self.length(), 0.0);
        self.predict_into(x, made, &mut predicted.0);
    }

    fn predict_into(&self, x: impl Iterator<Item = f64>, kernels: &[f64], predicted: &mut [f64]) {
        let (p, experts) = (self.outputs, self.experts());
        let (row, rest) = predicted.split_at_mut(self.row_width());
        let (made, rest) = rest.split_at_mut(experts * p);
        let (mean, values) = rest.split_at_mut(p);
        row.iter_mut().zip(x.chain(kernels.iter().copied())).for_each(|(to, from)| *to = from);
        for (made, kernels) in made.chunks_exact_mut(experts).zip(kernels) {
            made.fill(if self.are_labels() { odds_of_linear(*kernels) } else { *kernels });
        }
        if !self.is_grown() {
            return;
        }
        let levels = &mut values[..LEVELS * p];
        levels.fill(0.0);
        let is_out = |mechanism| self.spec.params.without == Some(mechanism);
        for tree in self.forest.iter().filter(|_| !is_out(Mechanism::Forest)) {
            tree.add_means(
                row,
                &self.spec.params.trees.node_rows,
                self.spec.params.trees.shrinkage,
                mean,
                levels,
            );
        }
        for (level, values) in levels.chunks_exact(p).enumerate() {
            for (c, value) in values.iter().enumerate() {
                let mean = value / self.forest.len() as f64;
                let made = &mut made[c * experts + 1 + level];
                *made = if self.are_labels() { odds_of_linear(mean) } else { *made + mean };
            }
        }
        if let Some(boosted) = self.boosted.as_ref().filter(|_| !is_out(Mechanism::Boosting)) {
            let stages = &mut values[..STAGES * p];
            boosted.predict_into(&row[..self.features], &self.spec.params.trees.rounds, stages);
            for (stage, values) in stages.chunks_exact(p).enumerate() {
                for (c, value) in values.iter().enumerate() {
                    made[c * experts + 1 + LEVELS + stage] = *value;
                }
            }
        }
        if let Some(nearest) = &self.nearest {
            let layout = (self.stored_width(), self.row_width(), p);
            let say = |c: usize, own: usize, value| made[c * experts + EXPERTS + own] = value;
            nearest.predict(&row[..self.features], &self.rows, layout, say);
        }
        let first = self.first_on_logs();
        let say = |c: usize, stage: usize, value| made[c * experts + first + stage] = value;
        self.logs.predict_into(
            &row[..self.features],
            &self.spec.params.trees.rounds,
            &mut values[..self.logs.length()],
            say,
        );
    }

    /// The terms of the logarithm of the odds of an output.
    fn terms(&self, predicted: &[f64], output: usize) -> [f64; TERMS] {
        let mut terms = [1.0; TERMS];
        let made = self.made(predicted, output);
        terms[..EXPERTS].copy_from_slice(&made[..EXPERTS]);
        terms[EXPERTS + 1] = (made[0] - SURE).max(0.0);
        terms[EXPERTS + 2] = (made[0] + SURE).min(0.0);
        terms
    }

    /// The predictions of the experts for an output.
    fn made<'a>(&self, predicted: &'a [f64], output: usize) -> &'a [f64] {
        &predicted[self.row_width() + output * self.experts()..][..self.experts_of(output)]
    }

    /// Whether trees are compared with those there are.
    #[cfg(test)]
    pub fn has_rival(&self) -> bool {
        self.rival.is_some()
    }

    /// Rows that the reservoir holds at most.
    #[cfg(test)]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The predictions of the experts for the first output of a row, given those of the kernel experts.
    #[cfg(test)]
    pub fn made_of(&self, x: &[f64], kernels: &[f64]) -> Vec<f64> {
        let mut predicted = Predicted::default();
        self.predict(x.iter().copied(), kernels, &mut predicted);
        self.made(&predicted.0, 0).to_vec()
    }

    /// The prediction of all experts for an output, given that of the kernel experts.
    pub fn refined(&self, output: usize, mixed: Mixed, predicted: &Predicted) -> Mixed {
        match self.combined.get(output).filter(|_| self.counts()) {
            Some(Combination::Mean(mixture)) => {
                mixed.refined(self.made(&predicted.0, output), mixture.weights())
            }
            Some(Combination::Odds(odds)) => {
                mixed.moved(linear_of_odds(odds.apply(&self.terms(&predicted.0, output))))
            }
            None => mixed,
        }
    }

    /// The derivative of the prediction of an output with respect to that of the kernel experts.
    pub fn slope(&self, output: usize, predicted: &Predicted) -> f64 {
        match &self.combined[output] {
            Combination::Mean(mixture) => mixture.weights()[..=LEVELS].iter().sum(),
            Combination::Odds(odds) => {
                let terms = self.terms(&predicted.0, output);
                let beyond =
                    [terms[EXPERTS + 1] > 0.0, terms[EXPERTS + 2] < 0.0].map(|is| f64::from(u8::from(is)));
                let weight = odds.weights[0]
                    + beyond[0] * odds.weights[EXPERTS + 1]
                    + beyond[1] * odds.weights[EXPERTS + 2];
                weight * slope_of_linear(odds.apply(&terms)) / slope_of_linear(terms[0])
            }
        }
    }

    /// Adds the gradients of the experts on the nearest rows to those (outputs, features) of a prediction.
    pub fn add_gradient(&self, predicted: &Predicted, out: ArrayViewMut2<'_, f64>) {
        let Some(nearest) = &self.nearest else { return };
        let weight = |c: usize, own: usize| match &self.combined[c] {
            Combination::Mean(mixture) => mixture.weights()[EXPERTS + own],
            Combination::Odds(_) => 0.0,
        };
        let layout = (self.stored_width(), self.row_width());
        nearest.add_gradient(&predicted.0[..self.features], &self.rows, layout, weight, out);
    }

    /// Replaces the predictions of the kernel experts by those of all experts, with memory of [`length`](Self::length).
    pub fn refine_one(&self, x: &[f64], out: &mut [f64], predicted: &mut [f64]) {
        self.predict_into(x.iter().copied(), out, predicted);
        self.combine_into(predicted, out);
    }

    /// Replaces the predictions of the kernel experts for a row by those of all experts, given these.
    pub fn combine(&self, predicted: &Predicted, out: &mut [f64]) {
        self.combine_into(&predicted.0, out);
    }

    fn combine_into(&self, predicted: &[f64], out: &mut [f64]) {
        for (c, (out, combined)) in out.iter_mut().zip(&self.combined).enumerate() {
            *out = match combined {
                Combination::Mean(mixture) => mixture.mixed(self.made(predicted, c)),
                Combination::Odds(odds) => linear_of_odds(odds.apply(&self.terms(predicted, c))),
            };
        }
    }

    /// Learns row `number` of the stream, with a positive weight, after it was predicted, for targets with these deviations.
    /// Leaves of boosted trees learn none of the rows that come in an order: those have leaves in common with all others,
    /// which would be moved to the latest part of the order.
    pub fn learn(
        &mut self,
        number: u64,
        predicted: &Predicted,
        (targets, deviations): (&[f64], &[f64]),
        weight: f64,
        are_ordered: bool,
    ) {
        if self.capacity == 0 {
            return;
        }
        let (width, features) = (self.row_width(), self.features);
        for (c, target) in targets.iter().enumerate().take(self.combined.len()) {
            let made = self.made(&predicted.0, c);
            let terms = self.terms(&predicted.0, c);
            match &mut self.combined[c] {
                Combination::Mean(mixture) => {
                    let mixed = mixture.mixed(made);
                    mixture.learn_from(Said { made, sure: &[] }, mixed, *target, weight);
                }
                Combination::Odds(odds) => odds.learn(&terms, *target, weight, MEMORY, PRIOR),
            }
            self.logs.learn(c, &made[self.first_on_logs()..], *target, weight);
        }
        if self.is_grown() {
            self.tried = ROWS_ON_TRIAL.min(self.tried + 1);
        }
        let row = &predicted.0[..width];
        let left: Vec<f64> = targets.iter().zip(&row[features..]).map(|pair| self.left(pair)).collect();
        for tree in &mut self.forest {
            tree.learn(row, &left, weight);
        }
        let (x, how, path) = (
            &row[..features],
            (self.spec.params.trees.pace, self.spec.params.trees.shrinkage),
            &mut self.path,
        );
        let mut learn = |trees: &mut Boosted| {
            if !are_ordered {
                trees.learn(x, targets, weight, how, path);
            }
        };
        if let Some(boosted) = &mut self.boosted {
            if let Some(rival) = &mut self.rival {
                rival.compare(boosted, x, (targets, deviations), weight, &mut learn);
            }
            learn(boosted);
        }
        if !are_ordered {
            self.logs.learn_row(x, targets, weight, how, &mut self.path);
        }
        let numbers = row.iter().chain(targets).copied().chain(std::iter::once(weight));
        let place = self.rows.sample(self.age, self.capacity, number, numbers, self.stored_width());
        if let (Some(nearest), Some(place)) = (&mut self.nearest, place) {
            nearest.put(place, &row[..features]);
        }
        self.age += 1;
        self.work(deviations, are_ordered);
    }

    /// What the forest learns of a target, given the prediction of the kernel experts: their error, or a label itself.
    fn left(&self, (target, made): (&f64, &f64)) -> f64 {
        if self.are_labels() { *target } else { target - made }
    }

    /// Forgets all rows but those from `number` on.
    pub fn forget_before(&mut self, number: u64) {
        let width = self.stored_width();
        let old = std::mem::take(&mut self.rows);
        let kept =
            || old.numbers.iter().zip(old.values.chunks_exact(width)).filter(|(own, _)| **own >= number);
        self.rows.numbers = kept().map(|(own, _)| *own).collect();
        self.rows.values = kept().flat_map(|(_, row)| row).copied().collect();
        if self.rows.numbers.len() < old.numbers.len() {
            self.age = self.rows.numbers.len() as u64;
            (self.grown, self.fitted, self.logs_fitted) = (0, 0, 0);
            (self.growing, self.fitting, self.logs) = (None, None, LogTrees::default());
            self.rival = None;
            (self.nearest, self.nearest_given_up) = (None, false);
            (self.boosted, self.forest, self.combined) = (None, Vec::new(), Vec::new());
            self.tried = 0;
        }
    }

    /// The experts of an output combined before the first row. For labels the kernel experts count as much as all trees.
    fn combination(&self, output: usize) -> Combination {
        if !self.are_labels() {
            return Combination::Mean(Mixture::new(
                self.spec.mixture,
                Loss::Squared,
                self.experts_of(output),
            ));
        }
        let mut weights = [0.0; TERMS];
        weights[0] = 0.5;
        weights[1..EXPERTS].fill(0.5 / (EXPERTS - 1) as f64);
        Combination::Odds(Box::new(LogOdds::new(weights, PRIOR)))
    }
}
