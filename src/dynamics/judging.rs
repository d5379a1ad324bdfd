//! Which forecasts are judged: stored until their target is known, and compared with it.

/// Forecasts from a row: (horizons, components).
pub type Ahead = Vec<Vec<f64>>;

/// Number of forecasts judged per horizon: overlapping ones are dependent.
pub const JUDGED: usize = 10;

/// Steps of forecasts under inputs, per row.
const STEPS: usize = 5;

/// Golden section, whose multiples are most evenly distributed modulo 1.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// Mean distance of judged states.
pub fn stride(steps: usize) -> usize {
    (steps / JUDGED).max(1)
}

/// The same under inputs, where each of these forecasts is of as many steps.
pub fn stride_under(steps: usize) -> usize {
    steps.div_ceil(STEPS).max(1)
}

/// Whether a forecast from the state with this number is judged. At equal distances only a few phases of an oscillation
/// would be.
pub fn is_due(stride: usize, count: u64) -> bool {
    (count as f64 * GOLDEN).fract() * (stride as f64) < 1.0
}
