//! Serializable specification of dynamics.

use serde::{Deserialize, Serialize};

use super::DynamicsParams;
use crate::error::Result;
use crate::koopman::KoopmanSpec;
use crate::persist::parse_text;

/// A system and all that is learned about its states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DynamicsSpec {
    /// The operator; its kernel and regularization are used unless they are selected.
    pub operator: KoopmanSpec,
    /// Whether states are centred and scaled.
    pub standardize: bool,
    /// Parameters that are selected by the first pairs.
    pub choice: ChoiceSpec,
    /// Earlier states appended to each.
    pub delays: DelaysSpec,
    /// Horizons in steps, from 1, each with a mixture of forecasts
    /// ([`Dynamics::forecasts`](super::Dynamics::forecasts)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub horizons: Vec<usize>,
    /// Whether single components are also forecast by [other kinds](super::CANDIDATES).
    pub candidates: bool,
    /// States in a period, from 2: the state one period before is a further forecast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<usize>,
    /// Periods of the calendar of the states, in states, rising, such as 12 of months: at most four, from 2, that are
    /// [found](super::Dynamics::periods) in fewer states than others. They may become known
    /// [later](super::Dynamics::expect_periods).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calendar: Vec<usize>,
    /// Pairs in the warm-up, from 2; for wide states fewer, see [`DynamicsSpec::last_turn`].
    pub warm_up: usize,
    /// Parameters for experiments; not stored if they are the defaults.
    #[serde(skip_serializing_if = "DynamicsParams::is_default")]
    pub params: DynamicsParams,
}

/// Parameters selected by the first pairs: by the held-out error of one-step forecasts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChoiceSpec {
    /// Bandwidth of a Gaussian kernel of states, instead of the operator's kernel.
    pub bandwidth: bool,
    /// Regularization of least squares.
    pub regularization: bool,
    /// Tolerance of approximate linear dependence, the operator's or a smaller one: where forecasts
    /// are very accurate, the unexplained part of states would dominate the error.
    pub tolerance: bool,
}

/// Earlier states appended to each, for partially observed systems.
///
/// F. Takens, "Detecting strange attractors in turbulence", 1981; as Hankel matrices H. Arbabi, I. Mezic, "Ergodic theory,
/// dynamic mode decomposition, and computation of spectral properties of the Koopman operator", 2017.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DelaysSpec {
    /// Their number.
    pub count: usize,
    /// Steps between them, from 1.
    pub step: usize,
    /// Whether [fewer](super::OperatorSelectionParams::delays) may be selected, with the bandwidth. States are then
    /// compared by these alone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fewer: bool,
}

impl Default for DelaysSpec {
    fn default() -> Self {
        Self { count: 0, step: 1, fewer: false }
    }
}

impl DelaysSpec {
    /// States in a window.
    pub(super) fn blocks(&self) -> usize {
        self.count + 1
    }

    /// Steps from the earliest to the latest.
    #[must_use]
    pub fn span(&self) -> usize {
        self.count.saturating_mul(self.step)
    }
}

impl Default for DynamicsSpec {
    /// The default operator, without scaling.
    fn default() -> Self {
        Self {
            operator: KoopmanSpec::default(),
            standardize: false,
            choice: ChoiceSpec::default(),
            delays: DelaysSpec::default(),
            horizons: Vec::new(),
            candidates: false,
            period: None,
            calendar: Vec::new(),
            warm_up: 2048,
            params: DynamicsParams::default(),
        }
    }
}

/// Most numbers stored in a warm-up, unless it has at most [`FEWEST`] pairs.
const MOST_NUMBERS: usize = 1 << 23;
const FEWEST: usize = 64;

impl DynamicsSpec {
    /// All selections enabled.
    #[must_use]
    pub fn automatic() -> Self {
        let choice = ChoiceSpec { bandwidth: true, regularization: true, tolerance: true };
        Self { standardize: true, choice, ..Self::default() }
    }

    /// Parses JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        parse_text("model", json)
    }

    /// Whether a warm-up is needed.
    pub(super) fn learns_first(&self) -> bool {
        self.standardize || self.choice.bandwidth || self.choice.regularization
    }

    /// Number of pairs at which the warm-up ends.
    #[must_use]
    pub fn last_turn(&self, numbers: usize) -> usize {
        self.warm_up.min((MOST_NUMBERS / numbers.max(1)).max(FEWEST))
    }
}
