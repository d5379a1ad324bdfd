//! Online statistics with constant memory.
//!
//! Size of recent errors ([`error_scale`], [`forecast_scale`], [`rescaling`], [`scale_bias`]), their quantiles
//! ([`quantiles`]), changes ([`drift`], [`rise`]), outliers ([`winsorizer`]), sums over all and
//! over recent rows ([`tally`]), bounded samples of rows ([`reservoir`]), weights of experts
//! ([`mixture`]), labels in runs ([`label_runs`]), and the first rows of a stream, before its scale is known ([`warm_up`]).

pub(crate) mod drift;
mod error_scale;
pub(crate) mod forecast_scale;
pub(crate) mod label_runs;
pub(crate) mod mixture;
pub(crate) mod quantiles;
pub(crate) mod rescaling;
pub(crate) mod reservoir;
pub(crate) mod rise;
pub(crate) mod scale_bias;
pub(crate) mod tally;
pub(crate) mod warm_up;
pub(crate) mod winsorizer;
