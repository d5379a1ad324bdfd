//! Parameters of the selection of an operator and of the modes of states, in structs with defaults.
//!
//! They are for experiments, from Rust or as the field `params` of the specification in JSON, and
//! are stored with a model only where they differ from the defaults.

use serde::{Deserialize, Serialize};

/// Parameters of [`Dynamics`](super::Dynamics), by subject.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DynamicsParams {
    /// Most rows used by the selection, and by the modes.
    pub max_rows: usize,
    /// Rows that determine an unknown of a linear map, or a mode.
    pub rows_per_unknown: usize,
    /// Selection of scale, bandwidth and regularization.
    pub selection: OperatorSelectionParams,
    /// Records that come to rest.
    pub rest: RestParams,
    /// Modes of states.
    pub modes: ModeParams,
    /// Isolated outliers of the states of a forecaster.
    pub spikes: SpikeParams,
}

impl Default for DynamicsParams {
    fn default() -> Self {
        Self {
            max_rows: 400,
            rows_per_unknown: 8,
            selection: OperatorSelectionParams::default(),
            rest: RestParams::default(),
            modes: ModeParams::default(),
            spikes: SpikeParams::default(),
        }
    }
}

/// Selection of scale, bandwidth and regularization by held-out kernel ridge regression.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OperatorSelectionParams {
    /// Bandwidths, in units of the median distance of two states, rising.
    pub bandwidths: [f64; 5],
    /// Bandwidths of inputs, in units of their deviations, besides 1, rising.
    pub input_bandwidths: [f64; 3],
    /// Regularizations, rising.
    pub regularizations: [f64; 7],
    /// Fewest pairs.
    pub min_pairs: usize,
    /// Pairs below which a linear kernel is a candidate.
    pub few_pairs: usize,
    /// Blocks of the pairs, every other one held out.
    pub blocks: usize,
    /// Number of Gaussian test functions.
    pub test_functions: usize,
    /// Their width, in units of the median distance.
    pub test_width: f64,
    /// Relative difference within which errors count as equal.
    pub equal: f64,
    /// Difference of errors, as a share of the variance, within which scales count as equal.
    pub equal_share: f64,
    /// Fewer delays by which states may be compared, rising.
    pub delays: [usize; 3],
    /// Fewer delays are selected if their squared errors are less than this multiple of those with all delays.
    pub fewer_delays: f64,
    /// A linear kernel is selected if its error is at most this multiple of the best other.
    pub linear: f64,
    /// Errors below this share of the variance are rounding.
    pub exact: f64,
    /// Regularization of a linear map that the rows determine, and of sums with an affine kernel.
    pub linear_regularization: f64,
    /// Regularization for the whole stream relative to that selected: more rows need less.
    pub stream_regularization: f64,
    /// Weights of the affine kernel in its sum with a Gaussian one, rising.
    pub affine_weights: [f64; 2],
    /// Bandwidths in this sum, in units of the median distance of two states, rising.
    pub sum_bandwidths: [f64; 2],
    /// Tolerance of this sum, of which the affine kernel is the largest part.
    pub sum_tolerance: f64,
    /// Steps over which kernels with affine functions are compared with the Gaussian one.
    pub horizons: [usize; 3],
    /// Squared errors of a Gaussian kernel, as shares of those of persistence, below which no affine kernel, and no
    /// sum, is a candidate.
    pub resolved: [f64; 2],
    /// An affine kernel, and a sum, is selected if its squared errors are less than this multiple of those of the
    /// Gaussian kernel.
    pub clearly: [f64; 2],
    /// Standard errors of the mean over blocks beyond which a difference is not chance.
    pub beyond_chance: f64,
    /// Most groups of held-out pairs by whose correlations a nonlinear system under noise is recognized.
    pub correlation_groups: usize,
    /// Steps by powers between the states from which forecasts may begin again, rising.
    pub reencodings: [usize; 5],
    /// Steps over which these are compared.
    pub reencoded_horizons: [usize; 3],
    /// Most pairs learned and held out for it.
    pub reencoded_pairs: usize,
    /// Most held-out rows from which each is forecast.
    pub reencoded_rows: usize,
    /// Forecasts begin again if the mean of their squared errors over the horizons is less than this multiple of that of
    /// powers, and none is above the second multiple.
    pub reencoded: [f64; 2],
    /// Squared errors, as shares of those of persistence, above which all are equally wrong.
    pub lost: f64,
}

impl Default for OperatorSelectionParams {
    fn default() -> Self {
        Self {
            bandwidths: [0.25, 0.5, 1.0, 2.0, 4.0],
            input_bandwidths: [4.0, 16.0, 64.0],
            regularizations: [1e-8, 1e-6, 1e-4, 1e-2, 1e-1, 1.0, 10.0],
            min_pairs: 8,
            few_pairs: 32,
            blocks: 8,
            test_functions: 40,
            test_width: 0.5,
            equal: 0.01,
            equal_share: 5e-3,
            delays: [0, 1, 2],
            fewer_delays: 0.25,
            linear: 1.05,
            exact: 1e-12,
            linear_regularization: 1e-10,
            stream_regularization: 0.1,
            affine_weights: [10.0, 100.0],
            sum_bandwidths: [1.0, 2.0],
            sum_tolerance: 1e-11,
            horizons: [1, 8, 50],
            resolved: [1e-6, 1e-4],
            clearly: [0.25, 0.04],
            beyond_chance: 3.0,
            correlation_groups: 32,
            reencodings: [1, 2, 4, 8, 16],
            reencoded_horizons: [4, 16, 50],
            reencoded_pairs: 800,
            reencoded_rows: 48,
            reencoded: [0.5, 1.5],
            lost: 4.0,
        }
    }
}

/// Records that come to rest: which of their rows still show the dynamics.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RestParams {
    /// Mean squared step in the last quarter of a record, as a share of that in the first, below
    /// which it comes to rest.
    pub step_ratio: f64,
    /// Median distance of two states, in units of the root mean squared one, below which a record
    /// comes to rest: it is 0.67 for Gaussian states, 0.5 for two ends of a well.
    pub distance_ratio: f64,
    /// States closer to a kept one than this share of the root mean squared distance are left out.
    pub distinct: f64,
}

impl Default for RestParams {
    fn default() -> Self {
        Self { step_ratio: 0.04, distance_ratio: 0.1, distinct: 0.01 }
    }
}

/// Modes of wide states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModeParams {
    /// States with at most this many components have no modes.
    pub min_components: usize,
    /// Most modes.
    pub max_modes: usize,
    /// Share of the variance that fewer modes must explain.
    pub variance_share: f64,
}

impl Default for ModeParams {
    fn default() -> Self {
        Self { min_components: 16, max_modes: 30, variance_share: 0.99 }
    }
}

/// Isolated outliers of the states of a forecaster, which are replaced.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpikeParams {
    /// Distance of an outlier from the range of all values before it, in units of this range.
    pub ranges: f64,
    /// Distance of an outlier from the value before it, in units of the mean size of a change.
    pub steps: f64,
    /// Changes from one value to the next before which no value is an outlier.
    pub min_changes: usize,
    /// Most outliers in a run: with the next it is a new level, or a burst.
    pub max_run: usize,
    /// Values between two outliers that end a run.
    pub quiet: usize,
    /// Besides three, one run of outliers in this many rows is replaced.
    pub rare: usize,
}

impl Default for SpikeParams {
    fn default() -> Self {
        Self { ranges: 5.0, steps: 40.0, min_changes: 32, max_run: 3, quiet: 8, rare: 400 }
    }
}

impl DynamicsParams {
    /// Whether all are the defaults.
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use crate::dynamics::{Dynamics, DynamicsSpec};
    use crate::error::Result;

    #[test]
    fn parameters_are_near_their_defaults_and_stored_where_they_differ() -> Result<()> {
        let stored = |json: &str| -> Result<Option<serde_json::Value>> {
            let model = Dynamics::new(DynamicsSpec::from_json(json)?)?;
            let spec = serde_json::to_value(model.spec()).unwrap();
            Ok(spec.pointer("/params/modes/max_modes").cloned())
        };
        assert_eq!(stored("{}")?, None);
        assert_eq!(stored(r#"{"params": {"modes": {"max_modes": 60}}}"#)?, Some(60.into()));
        for wrong in ["121", "7", "-30", "null", "\"30\""] {
            assert!(stored(&format!(r#"{{"params": {{"modes": {{"max_modes": {wrong}}}}}}}"#)).is_err());
        }
        assert!(stored(r#"{"params": {"modes": {"most": 30}}}"#).is_err());
        Ok(())
    }
}
