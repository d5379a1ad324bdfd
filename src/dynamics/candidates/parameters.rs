//! Parameters of candidates.

/// Measured on the records of `benchmarks/forecasts.py`; a cell is a record and a horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CandidateParams {
    /// Recent rows kept for the detection of periods and for refits. A third is the longest season.
    pub kept: usize,
    /// Factor by which the number of rows grows between two detections of periods.
    pub growth: f64,
    /// Share of the rows whose seasonal profile has to explain the others, and least share of
    /// variance that it explains.
    pub first: f64,
    pub explained: f64,
    /// Largest order of an autoregression, and largest order as a share of the rows so far.
    pub order: usize,
    pub order_share: f64,
    /// Share by which the rows grow between two solutions of least squares.
    pub refit: f64,
    /// Recent values among the features of direct least squares.
    pub recent: usize,
    /// Number of horizons for which direct least squares learns from every row; with more it learns
    /// from fewer rows.
    pub horizons: usize,
    /// Ratio of largest to smallest value from which logarithms are candidates too.
    pub spread: f64,
    /// A loss that is larger by a factor r leaves a weight of `r^(-n / sharpness)` after n losses.
    pub sharpness: f64,
    /// Most losses that count, of forecasts that do not overlap.
    pub losses: f64,
    /// Losses, of forecasts that do not overlap, that the relative losses at a shorter horizon count
    /// as.
    pub prior: f64,
    /// Rows over which losses are averaged, for each that counts.
    pub memory: f64,
    /// Number of errors for quantiles; number over which their scale is averaged, and its relative
    /// increase per row of the horizon.
    pub errors: usize,
    pub size: f64,
    pub size_growth: f64,
    /// Step of the tracked level of an interval.
    pub step: f64,
}

impl CandidateParams {
    pub const DEFAULT: Self = Self {
        kept: 2048,
        growth: 1.3,
        first: 0.55,
        explained: 0.08,
        order: 32,
        order_share: 0.2,
        refit: 0.04,
        recent: 6,
        horizons: 8,
        spread: 1.5,
        sharpness: 8.0,
        losses: 60.0,
        prior: 12.0,
        memory: 1.0,
        errors: 200,
        size: 6.0,
        size_growth: 0.05,
        step: 0.06,
    };
}

/// Longest season in rows, detected or given.
pub const LONGEST: usize = 100_000;

/// Effective number of `n` forecasts over this many rows: errors of overlapping forecasts are
/// dependent.
pub fn independent(n: f64, rows: usize) -> f64 {
    n / (1.0 + 0.5 * (rows as f64 - 1.0))
}
