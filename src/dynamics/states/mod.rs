//! States as the operator takes them: on its scale, with their delays, and without outliers.
//!
//! A pair passes `pair_outliers` and `units`; a row of a trajectory with horizons `spikes` before; a trajectory
//! `delay_embedding`. Queries under inputs hold the `constant_inputs` at their values.

pub mod constant_inputs;
pub mod delay_embedding;
pub mod pair_outliers;
pub mod spikes;
pub mod units;
