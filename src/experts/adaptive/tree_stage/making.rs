//! Making the trees: which are due, what they are fitted to, and a part of the work with each row.

use super::rival::Rival;
use super::{Combination, EXPERTS, GIVEN_UP, TreeStage};
use crate::experts::adaptive::log_trees::{LogTarget, LogTrees, STAGES};
use crate::experts::adaptive::nearest::{NEAREST, Nearest};
use crate::experts::adaptive::params::{Mechanism, TreeParams};
use crate::online::winsorizer::tamed_values;
use crate::trees::{Boosted, Boosting, Fitting, Gradual, Growing, Growth, Rows, Tree};

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

/// How many times as many rows the next boosted trees take where no more are stored: a fresh sample of them.
const WHEN_FULL: f64 = 2.0;

impl TreeStage {
    /// Trees of the forest that there should be by now, those grown again included: all of them at first, then again as many
    /// while the rows double, in groups.
    fn due(&self) -> u64 {
        self.due_in_groups(GROUPS)
    }

    pub(super) fn due_in_groups(&self, groups: u64) -> u64 {
        let TreeParams { first_rows, forest_trees, .. } = self.spec.params.trees;
        let Some(doublings) = (self.age / first_rows.max(1)).checked_ilog2() else { return 0 };
        let from = first_rows << doublings;
        let group = (from / groups).max(1);
        let rows = (self.age - from) / group * group;
        forest_trees * u64::from(1 + doublings) + rows * forest_trees / from
    }

    /// Does a row's part of the trees that are due, for targets with these deviations.
    pub(super) fn work(&mut self, deviations: &[f64], are_ordered: bool) {
        if let Some(rival) = Rival::decide(&mut self.rival) {
            let fitted = rival.fitted;
            match rival.better() {
                Some(trees) => self.boosted = Some(trees),
                None => self.logs_fitted = self.logs_fitted.max(fitted),
            }
        }
        if self.are_made() {
            // One of the three.
            if let Some(boosted) = Gradual::advance(&mut self.fitting) {
                let do_learn = self.boosted.as_ref().is_some_and(Boosted::learns) && !are_ordered;
                if do_learn && self.rows.numbers.len() == self.capacity {
                    self.rival = Some(Rival::new(boosted, self.fitted, self.age));
                } else {
                    (self.boosted, self.rival) = (Some(boosted), None);
                }
            } else if self.logs.are_fitted() {
                if let Some(before) = self.logs.advance() {
                    self.reset_weights(&before);
                }
            } else if let Some(trees) = Gradual::advance(&mut self.growing) {
                self.plant(trees);
            }
        } else if self.age >= self.spec.params.trees.first_rows.max(1) && self.is_fit_due() {
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
            let steps = Growth::new(rows, self.units(deviations), self.spec.params.trees.growing(), seeds);
            self.growing = Some(Gradual::new(steps, self.part()));
        }
    }

    /// Begins to fit boosted trees to these targets of the stored rows.
    fn fitting_to(&self, targets: Vec<f64>, units: Vec<f64>) -> Gradual<Fitting> {
        let (how, outputs) =
            (Boosting { logistic: self.are_labels(), ..self.spec.params.trees.boosting() }, units.len());
        let numbers = Fitting::numbers(&how, self.rows.numbers.len(), (self.features, outputs));
        let part = usize::try_from(numbers as u64 * UNTIL_FITTED / self.age).unwrap_or(LARGEST_PART);
        let steps = Fitting::new(self.copied(self.features, targets, outputs), units, how, self.age);
        Gradual::new(steps, part.clamp(PARTS.0, LARGEST_PART))
    }

    /// Begins to fit those on logarithms of the targets that are positive and skewed, if they are due and there are any: after
    /// each fit of those on the targets, unless it gave none that are better.
    fn fit_logs(&mut self) -> bool {
        if self.are_labels()
            || self.rival.is_some()
            || self.logs_fitted >= self.fitted
            || self.spec.params.without == Some(Mechanism::Logarithms)
        {
            return false;
        }
        self.logs_fitted = self.fitted;
        if self.are_logs_useless() {
            self.logs_fitted = GIVEN_UP;
            self.without_logs();
            return false;
        }
        let (p, n) = (self.outputs, self.rows.numbers.len());
        let tame = |column| tamed_values(column, 1, &self.spec.params.winsorizer);
        let target = |output: usize| {
            let targets: Vec<f64> = self.stored_targets().skip(output).step_by(p).collect();
            LogTarget::new(
                output,
                &targets,
                self.spec.params.trees.log_skewness,
                self.logs.have(output),
                tame,
            )
        };
        let mut found: Vec<LogTarget> = (0..p).filter_map(target).collect();
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
        for (own, column) in found.iter_mut().zip(&logarithms) {
            own.bounds =
                column.iter().fold([f64::MAX, -f64::MAX], |[low, high], y| [low.min(*y), high.max(*y)]);
        }
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
        self.age >= ROWS_TRIED * self.spec.params.trees.first_rows
            && (0..self.outputs).all(|c| weight(c) < LEAST_WEIGHT)
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
        if self.are_labels() || self.nearest_given_up || self.spec.params.without == Some(Mechanism::Nearest)
        {
            return;
        }
        let own = EXPERTS..EXPERTS + NEAREST;
        let before = self.nearest.take().is_some();
        let features = self.features;
        // The first trees tell the columns that matter; none has so few cuts that it is left out.
        let cuts =
            self.boosted.as_ref().map(|boosted| boosted.cuts(self.spec.params.trees.rounds[0], features));
        let total = cuts.as_ref().map_or(0, |cuts| cuts.iter().sum());
        let importance = |k: usize| match &cuts {
            Some(cuts) if total > 0 => ((1 + cuts[k] * features) as f64 / (1 + total) as f64).sqrt(),
            _ => 1.0,
        };
        let layout = (features, self.stored_width());
        self.nearest_given_up = before && self.have_no_weight(|_, _| own.clone());
        if !self.nearest_given_up {
            let most = self.spec.params.trees.nearest_columns;
            self.nearest = Nearest::new(&self.rows, layout, most, &self.spec.params.winsorizer, importance);
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
        let growth = if is_full { WHEN_FULL } else { self.spec.params.trees.boosted_growth };
        self.age as f64 >= growth * self.fitted as f64
    }

    /// Numbers that a row's part of a forest begun now reads.
    fn part(&self) -> usize {
        let part = usize::try_from(PARTS_OF_ALL / self.age.max(1)).unwrap_or(usize::MAX);
        part.clamp(PARTS.0, PARTS.1)
    }

    fn stored(&self) -> std::slice::ChunksExact<'_, f64> {
        self.rows.values.chunks_exact(self.stored_width())
    }

    fn stored_targets(&self) -> impl Iterator<Item = f64> {
        let width = self.row_width();
        self.stored().flat_map(move |row| &row[width..row.len() - 1]).copied()
    }

    fn units(&self, deviations: &[f64]) -> Vec<f64> {
        let unit = |deviation: &f64| if *deviation > 0.0 && !self.are_labels() { *deviation } else { 1.0 };
        deviations.iter().map(unit).collect()
    }

    /// Targets of the stored rows without outliers; labels have none.
    fn winsorized(&self, targets: Vec<f64>) -> Vec<f64> {
        if self.are_labels() {
            return targets;
        }
        tamed_values(targets, self.outputs, &self.spec.params.winsorizer)
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
            let place = usize::try_from(self.grown % self.spec.params.trees.forest_trees).unwrap_or(0);
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
