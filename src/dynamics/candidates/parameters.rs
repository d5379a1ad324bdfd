//! The numbers that candidates are tuned by.

/// Measured on the records of `benchmarks/forecasts.py`; a cell is a record and a horizon.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameters {
    /// Recent rows kept: periods are looked for in them, and sums are made again of them. A third is the longest season.
    pub kept: usize,
    /// Growth of the number of rows, as a factor, between two searches for periods.
    pub growth: f64,
    /// Share of the rows whose profile has to explain the rest, and least share of variance that it explains.
    pub first: f64,
    pub explained: f64,
    /// Largest order of an autoregression, and that as a share of the rows so far.
    pub order: usize,
    pub order_share: f64,
    /// Rows added, as a share, between two solutions of least squares.
    pub refit: f64,
    /// Recent values among the features of direct least squares.
    pub recent: usize,
    /// Horizons for each of which direct least squares learn from every row; of more they learn from fewer.
    pub horizons: usize,
    /// Most components of a state that are features of each other.
    pub others: usize,
    /// Ratio of largest to least value from which logarithms are candidates too.
    pub spread: f64,
    /// A loss that is larger by a factor r leaves a weight of `r^(-n / sharpness)` after n losses.
    pub sharpness: f64,
    /// Most losses that count, of forecasts that do not overlap; and losses more that the first ones count for.
    pub losses: f64,
    pub trust: f64,
    /// Rows over which losses are averaged, for each that counts.
    pub memory: f64,
    /// Errors that quantiles are of; how many their size is averaged over, and by which share of that more for each row of the
    /// horizon.
    pub errors: usize,
    pub size: f64,
    pub size_growth: f64,
    /// Step of the tracked level of an interval.
    pub step: f64,
}

impl Parameters {
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
        others: 8,
        spread: 1.5,
        sharpness: 8.0,
        losses: 60.0,
        trust: 8.0,
        memory: 1.0,
        errors: 200,
        size: 6.0,
        size_growth: 0.05,
        step: 0.04,
    };
}

/// Rows of a season at most, found or given.
pub const LONGEST: usize = 100_000;

/// Forecasts of overlapping times tell nearly the same: the number that counts, of `n` over this many rows.
pub fn independent(n: f64, rows: usize) -> f64 {
    n / (1.0 + 0.5 * (rows as f64 - 1.0))
}
