//! How a model fares.

use serde::Serialize;

use super::{Calibration, ErrorSize};

/// How a model fares, by its predictions of rows before they were learned: over all rows, and of late, with weights that
/// fall by a thousandth a row. `None` is what a model of its kind, or one of so few rows, does not know.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Diagnostics {
    /// Rows that were predicted and learned.
    pub rows: u64,
    /// Points stored.
    pub n_stored: usize,
    /// Root mean squared error of each output; of labels the share of wrong ones.
    pub error: Option<Vec<f64>>,
    /// The same of late.
    pub late_error: Option<Vec<f64>>,
    /// Error of the mean of the targets before; of labels that of the commonest class.
    pub baseline_error: Option<Vec<f64>>,
    /// The same of late.
    pub late_baseline_error: Option<Vec<f64>>,
    /// Share of the targets of each output inside their 90 % intervals; of labels in their 90 % sets.
    pub coverage: Option<Vec<f64>>,
    /// The same of late.
    pub late_coverage: Option<Vec<f64>>,
    /// Share of the rows that the points stored by then explained less than half of.
    pub novel: Option<f64>,
    /// The same of late.
    pub late_novel: Option<f64>,
    /// Weights of the rows that the learner remembers, added up: with forgetting that of the latest.
    pub effective_rows: Option<f64>,
    /// Condition number of what coordinates are made by; of stored points that of their Gram matrix, estimated from below.
    pub condition: Option<f64>,
    /// Whether errors have once been twice of what they were, and stayed so; of labels, a tenth more of the rows.
    pub error_rose: bool,
    /// Whether the baseline has once been as good of late.
    pub was_useless: bool,
    /// Places of columns that have left the range of the rows before, so that all were rescaled.
    pub moved_columns: Vec<usize>,
}

impl Diagnostics {
    /// What a calibration says.
    pub(crate) fn of(calibration: &Calibration) -> Self {
        let record = calibration.record();
        let of = |sizes: &Option<Vec<ErrorSize>>, part: fn(&ErrorSize) -> f64| {
            sizes.as_ref().map(|sizes| sizes.iter().map(part).collect())
        };
        let (all, late) = (record.all(), record.late());
        let (coverage, late_coverage) = calibration.coverage().map(|[all, late]| (all, late)).unzip();
        Self {
            rows: record.rows(),
            error: of(&all, |size| size.model),
            late_error: of(&late, |size| size.model),
            baseline_error: of(&all, |size| size.mean),
            late_baseline_error: of(&late, |size| size.mean),
            coverage,
            late_coverage,
            error_rose: record.has_risen(),
            was_useless: record.was_useless(),
            ..Self::default()
        }
    }
}
