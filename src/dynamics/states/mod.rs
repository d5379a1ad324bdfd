//! States as the operator takes them: on its scale, with their delays, and without outliers.

pub mod constant_inputs;
pub mod delay_embedding;
pub mod pair_outliers;
pub mod spikes;
pub mod units;
