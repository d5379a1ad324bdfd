//! Quality of a model along its stream.

use serde::Serialize;

use super::{Calibration, ErrorSize};

/// Quality of a model by its predictions of rows before they were learned: over all rows, and over
/// recent rows (exponentially weighted, 0.999 per row). `None`: not available for this kind of
/// model or this few rows.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Diagnostics {
    /// Rows that were predicted and learned.
    pub rows: u64,
    /// Points stored.
    pub n_stored: usize,
    /// Root mean squared error of each output; for labels the share of mistakes.
    pub error: Option<Vec<f64>>,
    /// The same over recent rows.
    pub late_error: Option<Vec<f64>>,
    /// Error of the running mean of the targets; for labels that of the most frequent class.
    pub baseline_error: Option<Vec<f64>>,
    /// The same over recent rows.
    pub late_baseline_error: Option<Vec<f64>>,
    /// Share of the targets of each output inside their 90 % intervals; for labels in their 90 %
    /// sets.
    pub coverage: Option<Vec<f64>>,
    /// The same over recent rows.
    pub late_coverage: Option<Vec<f64>>,
    /// Share of rows with a novelty above one half when they came.
    pub novel: Option<f64>,
    /// The same over recent rows.
    pub late_novel: Option<f64>,
    /// Sum of the weights of the rows in the learner: smaller than the number of rows with
    /// forgetting.
    pub effective_rows: Option<f64>,
    /// Condition number of the coordinates; with stored points a lower bound on that of their Gram
    /// matrix.
    pub condition: Option<f64>,
    /// Whether recent errors were at any time twice the usual; for labels, ten percentage points
    /// more mistakes.
    pub error_rose: bool,
    /// Whether the baseline was at any time as good over recent rows.
    pub was_useless: bool,
    /// Indices of columns that have left the range of earlier rows, after which all were rescaled.
    pub moved_columns: Vec<usize>,
}

impl Diagnostics {
    /// The figures of a calibration.
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
