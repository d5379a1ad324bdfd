//! Numbers of the adaptive experts, in structs with defaults.
//!
//! They are for experiments, from Rust or as the field `params` of the specification in JSON, and are stored with a model
//! only where they differ from the defaults. `benchmarks/experts/ablation.py` halves and doubles each of them.

use serde::{Deserialize, Serialize};

use crate::online::drift::DriftParams;
use crate::online::winsorizer::WinsorizerParams;

/// Numbers of [`AdaptiveExperts`](super::AdaptiveExperts), by subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdaptiveParams {
    /// Transforms of columns.
    pub preprocessing: PreprocessingParams,
    /// Selection of settings by held-out kernel ridge regression.
    pub selection: SelectionParams,
    /// Candidates for a metric.
    pub metrics: MetricParams,
    /// When experts are refitted, and which.
    pub refits: RefitParams,
    /// What an expert is.
    pub members: MemberParams,
    /// Rows that come in an order.
    pub order: OrderParams,
    /// Detection of drift.
    pub drift: DriftParams,
    /// Outliers of targets and columns.
    pub winsorizer: WinsorizerParams,
    /// Trees beside the kernel experts.
    pub trees: TreeParams,
    /// A mechanism that is left out, to measure what it is worth.
    pub without: Option<Mechanism>,
}

/// What [`AdaptiveExperts`](super::AdaptiveExperts) can be without, one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Mechanism {
    /// The forest on the residuals of the kernel experts.
    Forest,
    /// Boosted trees on the targets.
    Boosting,
    /// Boosted trees on logarithms.
    Logarithms,
    /// Regression on the nearest rows.
    Nearest,
    /// Metrics that are learned: columns count alike.
    Metrics,
    /// Experts with cells.
    Cells,
    /// Experts that forget, but for the running mean.
    Forgetting,
    /// For labels, the exact expert of the first rows.
    Exact,
    /// The linear expert, and for labels logistic regression.
    Linear,
}

/// Transforms of single columns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PreprocessingParams {
    /// Deviations at which standardized columns are clipped, and values in a mean that may have moved.
    pub clip: f64,
    /// Most steps of the quantile function that normal scores are interpolated on.
    pub score_steps: usize,
    /// Fewest values in each step: between two close values the slope would be steep, and with it all gradients.
    pub score_values: usize,
    /// A value is out of range if it lies beyond the range seen by more than this share of it.
    pub range_margin: f64,
}

impl Default for PreprocessingParams {
    fn default() -> Self {
        Self { clip: 5.0, score_steps: 200, score_values: 8, range_margin: 0.1 }
    }
}

/// Successive halving: all settings are fitted on few rows, the best few on more. Pairs of numbers are for regression and
/// for labels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectionParams {
    /// Rows fitted in the first rung, for each point of an expert.
    pub first_rows: [usize; 2],
    /// Rows fitted in the second rung, for each point of an expert.
    pub second_rows: [usize; 2],
    /// Most held-out rows, in the first rung and in the second.
    pub held_out_rows: [usize; 2],
    /// One row of the sample in this number is held out.
    pub held_out_part: usize,
    /// Settings in the second rung.
    pub second_settings: [usize; 2],
    /// Bandwidths of the first rung, in units of the typical distance of rows, rising; experts that are added without selection
    /// have the first two.
    pub bandwidths: [f64; 3],
    /// Regularizations of the first rung, rising. Experts that are added without selection have the first, the exact one
    /// has the second.
    pub regularizations: [f64; 3],
    /// Factors of the best bandwidth in the second rung.
    pub second_bandwidths: [f64; 3],
    /// Factors of the best regularization in the second rung, one for each bandwidth.
    pub second_regularizations: [f64; 3],
    /// Exponent of the rough kernel of the exact expert.
    pub exact_exponent: f64,
}

impl Default for SelectionParams {
    fn default() -> Self {
        Self {
            first_rows: [1, 1],
            second_rows: [2, 3],
            held_out_rows: [600, 1200],
            held_out_part: 4,
            second_settings: [4, 5],
            bandwidths: [0.5, 1.0, 2.0],
            regularizations: [0.01, 0.1, 1.0],
            second_bandwidths: [1.0, 1.0, 1.6],
            second_regularizations: [1.0, 0.3, 1.0],
            exact_exponent: 0.75,
        }
    }
}

/// Candidates for a metric, from average gradient outer products.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricParams {
    /// Points of the smooth function whose gradients are taken, for each point of an expert. Where there are more columns than
    /// directions it is fitted to as many rows and one more for each.
    pub smooth_points: usize,
    /// Its regularization.
    pub smooth_regularization: f64,
    /// Fewest rows for gradients of experts' predictions, and for detecting irrelevant columns.
    pub min_rows: usize,
    /// Rounds of learning it where there are no experts yet.
    pub rounds: usize,
    /// Gradients that are taken, in numbers: rows times columns.
    pub gradient_numbers: usize,
    /// Most rows at which gradients are taken.
    pub max_gradient_rows: usize,
    /// Rows up to which the plain metric is a candidate for regression, too.
    pub plain_rows: usize,
    /// Columns above which irrelevant ones are looked for.
    pub irrelevant_columns: usize,
    /// Rounds that leave less weight to irrelevant columns each.
    pub irrelevant_rounds: usize,
    /// Rounds where there are more columns than directions.
    pub wide_rounds: usize,
    /// Factor of the held-out error of metrics with many free numbers: these fit few rows by chance.
    pub penalty: f64,
    /// Share of columns with an effect of their own, above which none is left out.
    pub max_relevant_share: f64,
    /// Most directions of a metric that combines columns.
    pub max_directions: usize,
    /// Most groups of rows with near values in the analysis of variance of a column.
    pub groups: usize,
    /// Fewest rows of a group.
    pub group_rows: usize,
    /// Standard deviations above chance from which on a column has an effect.
    pub effect_deviations: f64,
}

impl Default for MetricParams {
    fn default() -> Self {
        Self {
            smooth_points: 3,
            smooth_regularization: 0.1,
            min_rows: 300,
            rounds: 2,
            gradient_numbers: 32_000,
            max_gradient_rows: 1_000,
            plain_rows: 400,
            irrelevant_columns: 12,
            irrelevant_rounds: 4,
            wide_rounds: 5,
            penalty: 1.2,
            max_relevant_share: 2.0 / 3.0,
            max_directions: 64,
            groups: 16,
            group_rows: 40,
            effect_deviations: 3.0,
        }
    }
}

/// When experts are refitted, which are added and which are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RefitParams {
    /// Rows since the last change with which the first refit comes.
    pub first_rows: u64,
    /// How many times as many rows the next refit takes, and the rows so far over the fewest rows between refits where a mean
    /// moves or a monotone column, as time is, is out of range; half as many where another column is out of range.
    pub growth: u64,
    /// Fewest rows between refits that are not scheduled.
    pub min_rows: u64,
    /// Latest rows that the sample for a refit holds. The reservoir of all has twice as many, so that rows of one kind are not
    /// too few in it where they all came early.
    pub sample_rows: usize,
    /// Rows from which experts with cells are added, and the leading transform alone is tried.
    pub cell_rows: u64,
    /// Fewest rows of a small cell at a refit; a large one has four times as many. Smooth functions gain by large cells, rough
    /// ones by small, which take less than half the time.
    pub small_cell_rows: u64,
    /// Most small cells; four times as many as large ones.
    pub max_small_cells: u64,
    /// Settings of experts with small cells, for regression and for labels; those with large cells have the best one.
    pub small_cell_settings: [usize; 2],
    /// Points of a small cell, in sixths of those of a large one.
    pub small_cell_sixths: usize,
    /// Forgetting of the experts that forget; the last two are added where others are no longer right.
    pub forgetting: [f64; 5],
    /// Points of a steady expert over those of each that forgets.
    pub forgetting_points: [usize; 5],
    /// Settings of the latest block that are added under drift.
    pub recent_settings: usize,
    /// Share of the weight that experts with short memory need for drift to be assumed.
    pub drifting_share: f64,
    /// Points of an exact expert for each of another.
    pub exact_points: usize,
    /// Refits that an expert with forgetting survives under drift if it has weight.
    pub drifting_refits: u64,
    /// A mixture weight below this is none.
    pub min_weight: f64,
    /// The same in the mixture of lasting experts, beside experts of the latest rows.
    pub min_lasting_weight: f64,
}

impl Default for RefitParams {
    fn default() -> Self {
        Self {
            first_rows: 12,
            sample_rows: 2048,
            growth: 3,
            min_rows: 512,
            cell_rows: 1024,
            small_cell_rows: 128,
            max_small_cells: 64,
            small_cell_settings: [3, 4],
            small_cell_sixths: 4,
            forgetting: [0.998, 0.99, 0.97, 0.95, 0.9],
            forgetting_points: [3, 4, 6, 6, 6],
            recent_settings: 2,
            drifting_share: 0.5,
            exact_points: 5,
            drifting_refits: 4,
            min_weight: 1e-3,
            min_lasting_weight: 0.05,
        }
    }
}

impl RefitParams {
    /// Number of rows above `rows` at which the next scheduled refit is due.
    pub(super) fn next_after(&self, rows: u64) -> u64 {
        let mut next = self.first_rows;
        while next <= rows {
            next = next.saturating_mul(self.growth.max(2));
        }
        next
    }
}

/// What an expert is. Pairs of numbers are for regression and for labels.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemberParams {
    /// Tolerance of approximate linear dependency: the unexplained share of a point that is not stored.
    pub tolerance: f64,
    /// Factor of the regularization of experts with cells.
    pub cell_regularization: [f64; 2],
    /// Prior variance of what the stored points leave unexplained, in units of the kernel's.
    pub residual_variance: [f64; 2],
    /// Forgetting below which an expert has short memory; slower ones may skip blocks.
    pub short_memory: f64,
    /// Forgetting of the constant expert, the running-mean baseline.
    pub constant_forgetting: f64,
    /// Confidence of the constant expert.
    pub constant_confidence: f64,
    /// Blocks without weight after which an expert is dropped, or skips blocks.
    pub idle_blocks: u64,
    /// One block in this number is learned by an expert that skips blocks.
    pub skipping_period: u64,
    /// Targets of the exact expert: least squares shrinks predictions, and a label has to be beyond the margin.
    pub exact_target: f64,
    /// Distance to that up to which a row is not stored by the exact expert.
    pub exact_tolerance: f64,
    /// Rounds of Lloyd's algorithm for the cells.
    pub cell_rounds: usize,
}

impl Default for MemberParams {
    fn default() -> Self {
        Self {
            tolerance: 1e-5,
            cell_regularization: [0.2, 0.5],
            residual_variance: [2.0, 1.0],
            short_memory: 0.995,
            constant_forgetting: 0.6,
            constant_confidence: 0.05,
            idle_blocks: 2,
            skipping_period: 4,
            exact_target: 1.5,
            exact_tolerance: 0.45,
            cell_rounds: 10,
        }
    }
}

/// Distinction of rows in an order from drift.
///
/// Measured by `benchmarks/drift/orders.py`: on cpusmall, 3,000 rows, the held-out error after rows sorted by the target is 1.03
/// of that after the random order (69 without this), after a slow rotation 0.96 (51), after blocks of 1,000 rows 0.98 (47).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OrderParams {
    /// Rows of either half of the latest block that are compared with twice as many of all time. Fewer find shorter runs.
    pub latest: usize,
    /// Difference of the means of a column or target, in deviations, below which nothing is compared: it saves the
    /// predictions where rows come in no order.
    pub difference: f64,
    /// Kolmogorov-Smirnov distance of the predictions for both above which the rows may come in an order.
    pub distance: f64,
    /// Rows come in an order if the mixture for any row has less than this share of the loss of that for the next row.
    pub loss_ratio: f64,
    /// Weight of the constant expert above which rows come in an order, if those that forget have less: targets that are
    /// near to the latest ones. In a random order it is below this but for some blocks.
    pub constant_weight: f64,
    /// Standard errors of independent targets above which the autocorrelation of those of the latest block shows an order.
    pub autocorrelation: f64,
    /// Variance of a label before a block, as a share of that in it, below which larger errors in the block are no change:
    /// nearly no row of it was known.
    pub variance: f64,
    /// Blocks for which rows are still taken to come in an order after one that did: labels in blocks change within others.
    /// After a change and twice as many blocks, unless rows came in an order in between, the rows before it are forgotten.
    pub blocks_kept: u64,
    /// Rows continue the order if the squared distance of their mean to that of the latest rows is below this share of that
    /// to the mean of all rows.
    pub continuation: f64,
    /// Movement of a mean since the last refit, in deviations of its sample, that causes a refit.
    pub movement: f64,
}

impl Default for OrderParams {
    fn default() -> Self {
        Self {
            latest: 64,
            difference: 0.6,
            distance: 0.3,
            loss_ratio: 0.8,
            constant_weight: 0.05,
            autocorrelation: 4.0,
            variance: 0.1,
            blocks_kept: 4,
            continuation: 0.5,
            movement: 0.5,
        }
    }
}

/// Trees beside the kernel experts: a forest on their residuals, and boosted trees on the targets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TreeParams {
    /// Rows since the last change at which the first trees are grown.
    pub first_rows: u64,
    /// Most rows that trees are fitted to; fewer wide ones.
    pub max_rows: usize,
    /// Trees of the forest.
    pub forest_trees: u64,
    /// Columns tried for each of its nodes, at most.
    pub tried_columns: usize,
    /// Fewest rows of a node that is cut.
    pub min_rows: usize,
    /// Rows with the mean of the node above that each node has besides its own, and rows of mean 0 of each boosted leaf.
    pub shrinkage: f64,
    /// Fewest rows of the nodes by which the three experts of the forest predict.
    pub node_rows: [f64; 3],
    /// Boosted trees of the three experts, for one output; fewer for several.
    pub rounds: [usize; 3],
    /// Fewest rows for each of them.
    pub rows_of_round: usize,
    /// How many times as many rows the next boosted trees take.
    pub boosted_growth: f64,
    /// Levels of a boosted tree.
    pub depth: usize,
    /// Share of the fitted values of each tree that is added.
    pub rate: f64,
    /// Share of the residual of a further row, over the weight of the rows of a leaf, that is added to its value.
    pub pace: f64,
    /// Quantiles of a column at which it may be cut.
    pub quantiles: usize,
    /// How many of them are tried for a tree.
    pub tried_quantiles: usize,
    /// Columns tried for a boosted tree, at most.
    pub boosted_columns: usize,
    /// Share of the rows that a boosted tree is fitted to.
    pub row_share: f64,
    /// Least skewness of positive targets with boosted trees on their logarithms, too.
    pub log_skewness: f64,
    /// Columns up to which there are experts on the nearest rows.
    pub nearest_columns: usize,
}

impl Default for TreeParams {
    fn default() -> Self {
        Self {
            first_rows: 256,
            max_rows: 1 << 16,
            forest_trees: 25,
            tried_columns: 32,
            min_rows: 5,
            shrinkage: 3.0,
            node_rows: [64.0, 8.0, 1.0],
            rounds: [100, 300, 1000],
            rows_of_round: 4,
            boosted_growth: 1.5,
            depth: 6,
            rate: 0.1,
            pace: 0.1,
            quantiles: 250,
            tried_quantiles: 64,
            boosted_columns: 32,
            row_share: 0.9,
            log_skewness: 0.5,
            nearest_columns: 10,
        }
    }
}

impl AdaptiveParams {
    /// Whether all numbers are the defaults.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
