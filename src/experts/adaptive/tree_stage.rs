//! Trees beside the mixture of the kernel experts: on its residuals, and on the targets.
//!
//! The prediction of the kernel experts is one expert of a second mixture; the others are trees. A forest splits on the columns
//! and on that prediction, and adds the mean residual of the node of a row: nodes of at least 64, 8 and 1 rows are three
//! experts. Boosted trees are fitted to the targets: the first 100, 300 and 1,000 of them are three more. Nodes of the forest
//! learn each row; a few trees after others are grown again, each once while the number of rows doubles, and boosted trees are
//! fitted again when the rows are half as many more. Others join them: boosted trees on logarithms (`log_trees.rs`), and
//! regression on the nearest rows (`nearest.rs`). All are fitted to a copy of a bounded reservoir of rows with their
//! prequential predictions, a part of the work each row.
//!
//! For labels the forest learns the signs themselves, boosting takes Newton steps on the logarithmic loss, and the logarithms of
//! the odds of all experts are combined linearly, by online Newton steps.

use ndarray::ArrayViewMut2;

use super::log_trees::{LogTarget, LogTrees, STAGES};
use super::nearest::{NEAREST, Nearest};
use super::params::{Mechanism, TreeParams};
use super::{AdaptiveSpec, Effort};
use crate::error::{Error, Result};
use crate::experts::answers::Mixed;
use crate::experts::{Mixture, MixtureSpec};
use crate::learner::{LogOdds, Loss, linear_of_odds, odds_of_linear, slope_of_linear};
use crate::online::mixture::Said;
use crate::online::reservoir::Rows as Reservoir;
use crate::online::winsorizer::{WinsorizerParams, tamed_values};
use crate::persist::{Reader, Writer};
use crate::trees::{Boosted, Boosting, Fitting, Gradual, Growing, Growth, Rows, Tree};

/// Bounds of the memory: numbers of the reservoir, 16 MB, and the fewest rows with which trees are grown. The trees take at
/// most three times as much, and twice as much while some are made.
const MAX_NUMBERS: usize = 1 << 21;
const MIN_ROWS: usize = 1024;

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

/// Parts of a doubling of the rows in which the trees of the forest are grown again.
const GROUPS: u64 = 5;

/// Numbers that a part of the work reads: some milliseconds in the first rows, which are few, and half a millisecond from
/// 16,384 rows on. Boosted trees come after an eighth of the rows so far, or later if that takes parts of two milliseconds.
const PARTS: (usize, usize) = (1 << 17, 1 << 20);
const PARTS_OF_ALL: u64 = 1 << 31;
const LARGEST_PART: usize = 1 << 21;
const UNTIL_FITTED: u64 = 8;

/// Experts on logarithms, and those on the nearest rows, are given up if no target gives them this weight after this
/// many times the rows of the first trees.
const ROWS_TRIED: u64 = 16;
const LEAST_WEIGHT: f64 = 0.02;
const GIVEN_UP: u64 = u64::MAX;

/// How many times as many rows the next boosted trees take where no more are stored: a fresh sample of them.
const WHEN_FULL: f64 = 2.0;

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
    params: TreeParams,
    without: Option<Mechanism>,
    winsorizer: WinsorizerParams,
    mixture: MixtureSpec,
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
    /// Rows when they were fitted, those being fitted included.
    fitted: u64,
    fitting: Option<Gradual<Fitting>>,
    /// Those on logarithms, and rows when it was last decided which targets have them; `GIVEN_UP` if none is to have them.
    pub(super) logs: LogTrees,
    logs_fitted: u64,
    /// Those on the nearest rows, unless given up.
    pub(super) nearest: Option<Nearest>,
    nearest_given_up: bool,
    are_labels: bool,
    /// One an output.
    combined: Vec<Combination>,
}

/// A row, the predictions of the kernel experts, and those of all experts for it (outputs, experts).
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Predicted(Vec<f64>);

impl TreeStage {
    pub fn new(features: usize, outputs: usize, spec: &AdaptiveSpec) -> Self {
        let params = spec.params.trees;
        // Numbers of a row, and of about eight nodes.
        let width = features + 8 * (outputs + 1);
        let capacity = (MAX_NUMBERS / width).min(params.max_rows);
        let worth = spec.effort == Effort::High && capacity >= MIN_ROWS.min(params.max_rows);
        Self {
            params,
            without: spec.params.without,
            winsorizer: spec.params.winsorizer,
            mixture: spec.mixture,
            features,
            outputs,
            capacity: if worth { capacity } else { 0 },
            rows: Reservoir::default(),
            age: 0,
            forest: Vec::new(),
            grown: 0,
            growing: None,
            boosted: None,
            fitted: 0,
            fitting: None,
            logs: LogTrees::default(),
            logs_fitted: 0,
            nearest: None,
            nearest_given_up: false,
            are_labels: spec.loss.is_margin(),
            combined: Vec::new(),
        }
    }

    /// Whether there are trees.
    pub fn is_grown(&self) -> bool {
        !self.combined.is_empty()
    }

    /// Whether some are being made.
    pub fn are_made(&self) -> bool {
        self.fitting.is_some() || self.logs.are_fitted() || self.growing.is_some()
    }

    fn row_width(&self) -> usize {
        self.features + self.outputs
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
            made.fill(if self.are_labels { odds_of_linear(*kernels) } else { *kernels });
        }
        if !self.is_grown() {
            return;
        }
        let levels = &mut values[..LEVELS * p];
        levels.fill(0.0);
        let is_out = |mechanism| self.without == Some(mechanism);
        for tree in self.forest.iter().filter(|_| !is_out(Mechanism::Forest)) {
            tree.add_means(row, &self.params.node_rows, self.params.shrinkage, mean, levels);
        }
        for (level, values) in levels.chunks_exact(p).enumerate() {
            for (c, value) in values.iter().enumerate() {
                let mean = value / self.forest.len() as f64;
                let made = &mut made[c * experts + 1 + level];
                *made = if self.are_labels { odds_of_linear(mean) } else { *made + mean };
            }
        }
        if let Some(boosted) = self.boosted.as_ref().filter(|_| !is_out(Mechanism::Boosting)) {
            let stages = &mut values[..STAGES * p];
            boosted.predict_into(&row[..self.features], &self.params.rounds, stages);
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
            &self.params.rounds,
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

    /// The predictions of the experts for the first output of a row, given those of the kernel experts.
    #[cfg(test)]
    pub fn made_of(&self, x: &[f64], kernels: &[f64]) -> Vec<f64> {
        let mut predicted = Predicted::default();
        self.predict(x.iter().copied(), kernels, &mut predicted);
        self.made(&predicted.0, 0).to_vec()
    }

    /// The prediction of all experts for an output, given that of the kernel experts.
    pub fn refined(&self, output: usize, mixed: Mixed, predicted: &Predicted) -> Mixed {
        match self.combined.get(output) {
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
        for (c, (out, combined)) in out.iter_mut().zip(&self.combined).enumerate() {
            *out = match combined {
                Combination::Mean(mixture) => mixture.mixed(self.made(predicted, c)),
                Combination::Odds(odds) => linear_of_odds(odds.apply(&self.terms(predicted, c))),
            };
        }
    }

    /// Learns row `number` of the stream, with a positive weight, after it was predicted, for targets with these deviations.
    pub fn learn(
        &mut self,
        number: u64,
        predicted: &Predicted,
        (targets, deviations): (&[f64], &[f64]),
        weight: f64,
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
        let row = &predicted.0[..width];
        let left: Vec<f64> = targets.iter().zip(&row[features..]).map(|pair| self.left(pair)).collect();
        for tree in &mut self.forest {
            tree.learn(row, &left, weight);
        }
        let numbers = row.iter().chain(targets).copied().chain(std::iter::once(weight));
        let place = self.rows.sample(self.age, self.capacity, number, numbers, self.stored_width());
        if let (Some(nearest), Some(place)) = (&mut self.nearest, place) {
            nearest.put(place, &row[..features]);
        }
        self.age += 1;
        self.work(deviations);
    }

    /// What the forest learns of a target, given the prediction of the kernel experts: their error, or a label itself.
    fn left(&self, (target, made): (&f64, &f64)) -> f64 {
        if self.are_labels { *target } else { target - made }
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
            (self.nearest, self.nearest_given_up) = (None, false);
            (self.boosted, self.forest, self.combined) = (None, Vec::new(), Vec::new());
        }
    }

    /// The experts of an output combined before the first row. For labels the kernel experts count as much as all trees.
    fn combination(&self, output: usize) -> Combination {
        if !self.are_labels {
            return Combination::Mean(Mixture::new(self.mixture, Loss::Squared, self.experts_of(output)));
        }
        let mut weights = [0.0; TERMS];
        weights[0] = 0.5;
        weights[1..EXPERTS].fill(0.5 / (EXPERTS - 1) as f64);
        Combination::Odds(Box::new(LogOdds::new(weights, PRIOR)))
    }

    /// Trees of the forest that there should be by now, those grown again included: all of them at first, then again as many
    /// while the rows double, in groups.
    fn due(&self) -> u64 {
        self.due_in_groups(GROUPS)
    }

    fn due_in_groups(&self, groups: u64) -> u64 {
        let TreeParams { first_rows, forest_trees, .. } = self.params;
        let Some(doublings) = (self.age / first_rows.max(1)).checked_ilog2() else { return 0 };
        let from = first_rows << doublings;
        let group = (from / groups).max(1);
        let rows = (self.age - from) / group * group;
        forest_trees * u64::from(1 + doublings) + rows * forest_trees / from
    }

    /// Does a row's part of the trees that are due, for targets with these deviations.
    fn work(&mut self, deviations: &[f64]) {
        if self.are_made() {
            // One of the three.
            if let Some(boosted) = Gradual::advance(&mut self.fitting) {
                self.boosted = Some(boosted);
            } else if self.logs.are_fitted() {
                if let Some(before) = self.logs.advance() {
                    self.reset_weights(&before);
                }
            } else if let Some(trees) = Gradual::advance(&mut self.growing) {
                self.plant(trees);
            }
        } else if self.age >= self.params.first_rows.max(1) && self.is_fit_due() {
            let (units, targets) = (self.units(deviations), self.winsorized(self.stored_targets().collect()));
            self.fitting = Some(self.fitting_to(targets, units));
            self.fitted = self.age;
            self.find_nearest();
        } else if !self.fit_logs() && self.grown < self.due() {
            let targets = self.winsorized(self.stored_targets().collect());
            let made = self.stored().flat_map(|row| &row[self.features..self.row_width()]);
            // The first residual is the target itself.
            let left = self.winsorized(targets.iter().zip(made).map(|pair| self.left(pair)).collect());
            let rows = self.copied(self.row_width(), left, self.outputs);
            let seeds = (self.grown..self.due()).collect();
            let steps = Growth::new(rows, self.units(deviations), self.params.growing(), seeds);
            self.growing = Some(Gradual::new(steps, self.part()));
        }
    }

    /// Begins to fit boosted trees to these targets of the stored rows.
    fn fitting_to(&self, targets: Vec<f64>, units: Vec<f64>) -> Gradual<Fitting> {
        let (how, outputs) = (Boosting { logistic: self.are_labels, ..self.params.boosting() }, units.len());
        let numbers = Fitting::numbers(&how, self.rows.numbers.len(), (self.features, outputs));
        let part = usize::try_from(numbers as u64 * UNTIL_FITTED / self.age).unwrap_or(LARGEST_PART);
        let steps = Fitting::new(self.copied(self.features, targets, outputs), units, how, self.age);
        Gradual::new(steps, part.clamp(PARTS.0, LARGEST_PART))
    }

    /// Begins to fit those on logarithms of the targets that are positive and skewed, if they are due and there are any.
    fn fit_logs(&mut self) -> bool {
        if self.are_labels || self.logs_fitted >= self.fitted || self.without == Some(Mechanism::Logarithms) {
            return false;
        }
        self.logs_fitted = self.fitted;
        if self.are_logs_useless() {
            self.logs_fitted = GIVEN_UP;
            self.without_logs();
            return false;
        }
        let (p, n) = (self.outputs, self.rows.numbers.len());
        let tame = |column| tamed_values(column, 1, &self.winsorizer);
        let target = |output: usize| {
            let targets: Vec<f64> = self.stored_targets().skip(output).step_by(p).collect();
            LogTarget::new(output, &targets, self.params.log_skewness, self.logs.have(output), tame)
        };
        let found: Vec<LogTarget> = (0..p).filter_map(target).collect();
        if found.is_empty() {
            self.without_logs();
            return false;
        }
        let logarithms: Vec<Vec<f64>> = found
            .iter()
            .map(|own| {
                let targets = self.stored_targets().skip(own.output).step_by(p);
                tame(targets.map(|y| own.logarithm(y)).collect())
            })
            .collect();
        let targets = (0..n).flat_map(|i| logarithms.iter().map(move |column| column[i])).collect();
        let fitting = self.fitting_to(targets, vec![1.0; found.len()]);
        self.logs.fit(found, fitting);
        true
    }

    /// Whether experts on logarithms have been there for long, and no target gives them weight.
    fn are_logs_useless(&self) -> bool {
        self.logs.are_there() && self.have_no_weight(|own, c| own.first_on_logs()..own.experts_of(c))
    }

    /// Whether these experts of each output have had little weight for long.
    fn have_no_weight(&self, experts: impl Fn(&Self, usize) -> std::ops::Range<usize>) -> bool {
        let weight = |c: usize| match self.combined.get(c) {
            Some(Combination::Mean(mixture)) => mixture.weights()[experts(self, c)].iter().sum(),
            _ => 0.0,
        };
        self.age >= ROWS_TRIED * self.params.first_rows && (0..self.outputs).all(|c| weight(c) < LEAST_WEIGHT)
    }

    fn without_logs(&mut self) {
        let first = self.first_on_logs();
        self.logs = LogTrees::default();
        self.retain(|expert| expert < first);
    }

    /// Keeps these experts in the mixtures of all outputs.
    fn retain(&mut self, is_kept: impl Fn(usize) -> bool) {
        for combined in &mut self.combined {
            if let Combination::Mean(mixture) = combined {
                let kept: Vec<usize> =
                    (0..mixture.weights().len()).filter(|expert| is_kept(*expert)).collect();
                mixture.retain(&kept);
            }
        }
    }

    /// Finds the nearest rows with other scales of the columns, if they are few.
    fn find_nearest(&mut self) {
        if self.are_labels || self.nearest_given_up || self.without == Some(Mechanism::Nearest) {
            return;
        }
        let own = EXPERTS..EXPERTS + NEAREST;
        let before = self.nearest.take().is_some();
        let features = self.features;
        // The first trees tell the columns that matter; none has so few cuts that it is left out.
        let cuts = self.boosted.as_ref().map(|boosted| boosted.cuts(self.params.rounds[0], features));
        let total = cuts.as_ref().map_or(0, |cuts| cuts.iter().sum());
        let importance = |k: usize| match &cuts {
            Some(cuts) if total > 0 => ((1 + cuts[k] * features) as f64 / (1 + total) as f64).sqrt(),
            _ => 1.0,
        };
        let layout = (features, self.stored_width());
        self.nearest_given_up = before && self.have_no_weight(|_, _| own.clone());
        if !self.nearest_given_up {
            let most = self.params.nearest_columns;
            self.nearest = Nearest::new(&self.rows, layout, most, &self.winsorizer, importance);
        }
        if before && self.nearest.is_none() {
            self.retain(|expert| !own.contains(&expert));
        } else if self.nearest.is_some() && !before {
            for c in 0..self.combined.len() {
                self.combined[c] = self.combination(c);
            }
        }
    }

    /// Begins with equal weights of the experts where those on logarithms have come or gone.
    fn reset_weights(&mut self, before: &LogTrees) {
        for c in 0..self.combined.len() {
            if before.have(c) != self.logs.have(c) {
                self.combined[c] = self.combination(c);
            }
        }
    }

    /// Whether boosted trees are to be fitted again.
    fn is_fit_due(&self) -> bool {
        let is_full = self.fitted >= self.capacity as u64;
        let growth = if is_full { WHEN_FULL } else { self.params.boosted_growth };
        self.age as f64 >= growth * self.fitted as f64
    }

    /// Numbers that a row's part of a forest begun now reads.
    fn part(&self) -> usize {
        let part = usize::try_from(PARTS_OF_ALL / self.age.max(1)).unwrap_or(usize::MAX);
        part.clamp(PARTS.0, PARTS.1)
    }

    /// Numbers of a stored row.
    fn stored_width(&self) -> usize {
        self.row_width() + self.outputs + 1
    }

    fn stored(&self) -> std::slice::ChunksExact<'_, f64> {
        self.rows.values.chunks_exact(self.stored_width())
    }

    fn stored_targets(&self) -> impl Iterator<Item = f64> {
        let width = self.row_width();
        self.stored().flat_map(move |row| &row[width..row.len() - 1]).copied()
    }

    fn units(&self, deviations: &[f64]) -> Vec<f64> {
        let unit = |deviation: &f64| if *deviation > 0.0 && !self.are_labels { *deviation } else { 1.0 };
        deviations.iter().map(unit).collect()
    }

    /// Targets of the stored rows without outliers; labels have none.
    fn winsorized(&self, targets: Vec<f64>) -> Vec<f64> {
        if self.are_labels {
            return targets;
        }
        tamed_values(targets, self.outputs, &self.winsorizer)
    }

    /// The first numbers of the stored rows, with these targets.
    fn copied(&self, features: usize, targets: Vec<f64>, outputs: usize) -> Rows {
        let width = self.stored_width();
        let weights = self.stored().map(|row| row[width - 1]).collect();
        Rows::new((features, outputs), |i| &self.rows.values[i * width..], targets, weights)
    }

    /// Puts trees in the place of the oldest.
    fn plant(&mut self, trees: Vec<Tree>) {
        for tree in trees {
            let place = usize::try_from(self.grown % self.params.forest_trees).unwrap_or(0);
            if place < self.forest.len() {
                self.forest[place] = tree;
            } else {
                self.forest.push(tree);
            }
            self.grown += 1;
        }
        if self.combined.is_empty() {
            self.combined = (0..self.outputs).map(|c| self.combination(c)).collect();
        }
    }
}

impl TreeParams {
    fn growing(&self) -> Growing {
        let Self { tried_columns, shrinkage, min_rows, .. } = *self;
        Growing { tried_columns, shrinkage, min_rows }
    }

    fn boosting(&self) -> Boosting {
        Boosting {
            rounds: self.rounds[STAGES - 1],
            rows_of_round: self.rows_of_round,
            depth: self.depth.min(10),
            rate: self.rate,
            shrinkage: self.shrinkage,
            quantiles: self.quantiles,
            tried_quantiles: self.tried_quantiles,
            tried_columns: self.boosted_columns,
            row_share: self.row_share,
            logistic: false,
        }
    }
}

impl TreeStage {
    pub fn write(&self, out: &mut Writer) {
        if self.capacity == 0 {
            return;
        }
        out.counts("trees.counts", &[self.age, self.grown, self.fitted, self.forest.len() as u64]);
        out.counts("trees.numbers", &self.rows.numbers);
        let width = self.stored_width();
        out.matrix("trees.rows", self.rows.numbers.len(), width, &self.rows.values);
        for (t, tree) in self.forest.iter().enumerate() {
            tree.write(&format!("trees.forest.{t}"), out);
        }
        if let Some(boosted) = &self.boosted {
            boosted.write("trees.boosted", out);
        }
        // Trees in the making are finished, and come when they would have come.
        if let Some(fitting) = &self.fitting {
            let (boosted, rows) = fitting.rest();
            out.counts("trees.fitting", &[rows]);
            boosted.write("trees.fitting", out);
        }
        if let Some(nearest) = &self.nearest {
            nearest.write(out);
        } else if self.nearest_given_up {
            out.counts("trees.nearest.given_up", &[1]);
        }
        if self.logs_fitted > 0 {
            out.counts("trees.logs.fitted", &[self.logs_fitted]);
        }
        self.logs.write(out);
        if let Some(growing) = &self.growing {
            let (trees, rows) = growing.rest();
            out.counts("trees.growing", &[rows, trees.len() as u64]);
            for (t, tree) in trees.iter().enumerate() {
                tree.write(&format!("trees.growing.{t}"), out);
            }
        }
        for (c, combined) in self.combined.iter().enumerate() {
            let numbers = match combined {
                Combination::Mean(mixture) => mixture.numbers(),
                Combination::Odds(odds) => odds.numbers(),
            };
            out.vector(&format!("trees.mixture.{c}"), &numbers);
        }
    }

    /// What [`write`](Self::write) wrote, for a stream of `met` rows that count.
    pub fn read(
        (features, outputs): (usize, usize),
        met: u64,
        spec: &AdaptiveSpec,
        from: &Reader<'_>,
    ) -> Result<Self> {
        let mut new = Self::new(features, outputs, spec);
        if new.capacity == 0 {
            return Ok(new);
        }
        let [age, grown, fitted, trees] = from.counts("trees.counts")?;
        (new.age, new.grown, new.fitted) = (age, grown, fitted);
        new.rows.numbers = from.all_counts("trees.numbers")?;
        let (n, width) = (new.rows.numbers.len(), new.stored_width());
        new.rows.values = from.matrix_of("trees.rows", n, width)?;
        let forest = spec.params.trees.forest_trees.min(grown);
        let sound = age <= met
            && age.min(new.capacity as u64) == n as u64
            && fitted <= age
            && grown <= new.due_in_groups(u64::MAX)
            && trees == forest
            && new.rows.numbers.iter().all(|number| *number < met)
            && new.rows.values.chunks_exact(width).all(|row| row[width - 1] >= 0.0);
        if !sound {
            return Err(Error::file("trees.counts are not those of its rows"));
        }
        for t in 0..trees {
            new.forest.push(Tree::read(&format!("trees.forest.{t}"), (new.row_width(), outputs), from)?);
        }
        let making = |name: &str| Error::file(format!("{name} are none that are made after its rows"));
        if from.has("trees.fitting") {
            let [rows] = from.counts("trees.fitting")?;
            if rows == 0 || fitted == 0 {
                return Err(making("trees.fitting"));
            }
            let boosted = Boosted::read("trees.fitting", (features, outputs), from)?;
            new.fitting = Some(Gradual::Made(boosted, rows));
        } else if from.has("trees.growing") {
            let [rows, trees] = from.counts("trees.growing")?;
            let most = new.due_in_groups(u64::MAX);
            let is_due = (spec.params.trees.forest_trees..=most).contains(&grown.saturating_add(trees));
            if rows == 0 || !(1..=most).contains(&trees) || !is_due {
                return Err(making("trees.growing"));
            }
            let read = |t| Tree::read(&format!("trees.growing.{t}"), (new.row_width(), outputs), from);
            new.growing = Some(Gradual::Made((0..trees).map(read).collect::<Result<_>>()?, rows));
        }
        let is_grown = grown >= spec.params.trees.forest_trees;
        if is_grown || fitted > 0 && new.fitting.is_none() {
            new.boosted = Some(Boosted::read("trees.boosted", (features, outputs), from)?);
        }
        new.nearest_given_up = from.has("trees.nearest.given_up");
        if new.nearest_given_up {
            let [_] = from.counts("trees.nearest.given_up")?;
        } else if from.has("trees.nearest") {
            new.nearest = Some(Nearest::read(features, &new.rows, width, from)?);
        }
        if new.are_labels && (new.nearest_given_up || new.nearest.is_some()) {
            return Err(Error::file("trees.nearest are none of labels"));
        }
        if from.has("trees.logs.fitted") {
            [new.logs_fitted] = from.counts("trees.logs.fitted")?;
            new.logs = LogTrees::read((features, outputs), from)?;
            let are_due = !new.are_labels
                && new.boosted.is_some()
                && (new.logs_fitted == GIVEN_UP || (1..=fitted).contains(&new.logs_fitted));
            if !are_due || new.logs.are_fitted() && (new.fitting.is_some() || new.growing.is_some()) {
                return Err(making("trees.logs"));
            }
        }
        if new.boosted.is_none() && new.growing.is_some() {
            return Err(Error::file("trees.counts have a forest without boosted trees"));
        }
        if is_grown {
            for c in 0..outputs {
                let mut combined = new.combination(c);
                let name = format!("trees.mixture.{c}");
                match &mut combined {
                    Combination::Mean(mixture) => {
                        mixture.resume(&from.vector(&name, mixture.numbers().len())?)?;
                    }
                    Combination::Odds(odds) => {
                        odds.resume(&from.vector(&name, LogOdds::<TERMS>::NUMBERS)?);
                        if !odds.is_sound() {
                            return Err(Error::file(format!("{name} is none of labels")));
                        }
                    }
                }
                new.combined.push(combined);
            }
        }
        Ok(new)
    }
}
