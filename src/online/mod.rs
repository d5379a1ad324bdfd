//! Statistics of a stream, one type an idea: each takes a number at a time and needs constant memory.
//!
//! How large recent errors are ([`error_scale`], [`forecast_scale`], [`scale_bias`]), how far a share of them goes
//! ([`quantiles`]), whether they have changed ([`drift`], [`rise`]), what an outlier is ([`winsorizer`]), sums over all
//! and over recent rows ([`tally`]), bounded samples of rows ([`reservoir`]), weights of experts ([`mixture`]), and the first rows of a stream, of whose units
//! nothing is known yet ([`warm_up`]).

pub(crate) mod drift;
pub(crate) mod error_scale;
pub(crate) mod forecast_scale;
pub(crate) mod mixture;
pub(crate) mod quantiles;
pub(crate) mod reservoir;
pub(crate) mod rise;
pub(crate) mod scale_bias;
pub(crate) mod tally;
pub(crate) mod warm_up;
pub(crate) mod warm_up_pairs;
pub(crate) mod winsorizer;
