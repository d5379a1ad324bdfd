//! Dynamics as they are written down: in a model file, in Python.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::koopman::KoopmanSpec;
use crate::persist::parse_text;

/// A system and all that is learned of its states.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DynamicsSpec {
    /// The operator; its kernel and regularization are those that nothing else is chosen for.
    pub operator: KoopmanSpec,
    /// Whether states are centred and scaled.
    pub standardize: bool,
    /// What is chosen by the first pairs.
    pub choice: ChoiceSpec,
    /// Earlier states that are appended to each.
    pub delays: DelaysSpec,
    /// Steps ahead, from 1, each of which gets a mixture of forecasts ([`Dynamics::forecasts`](super::Dynamics::forecasts)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub horizons: Vec<usize>,
    /// Whether single components are forecast by [other kinds](super::CANDIDATES) too.
    pub candidates: bool,
    /// States in a period, from 2: what was there at the same phase of the last one is one more forecast.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub period: Option<usize>,
    /// Pairs by which scale and choice are made, from 2; of wide states fewer, see
    /// [`DynamicsSpec::last_turn`].
    pub warm_up: usize,
}

/// What is chosen by the first pairs: by the error of forecasts of held-out ones, a step ahead.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChoiceSpec {
    /// The bandwidth of a Gaussian kernel of states, in place of the operator's kernel.
    pub bandwidth: bool,
    /// The regularization of least squares.
    pub regularization: bool,
    /// The tolerance of states admitted by approximate linear dependence, the operator's or a smaller one: where
    /// forecasts are good to many digits, what stored states do not explain would be the larger error.
    pub tolerance: bool,
}

/// Earlier states that are appended to each: what a system seen in part does next may depend on them.
///
/// F. Takens, "Detecting strange attractors in turbulence", 1981; as Hankel matrices H. Arbabi, I. Mezic, "Ergodic theory,
/// dynamic mode decomposition, and computation of spectral properties of the Koopman operator", 2017.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DelaysSpec {
    /// How many.
    pub count: usize,
    /// Steps of the trajectory from one to the next, from 1.
    pub step: usize,
}

impl Default for DelaysSpec {
    fn default() -> Self {
        Self { count: 0, step: 1 }
    }
}

impl DelaysSpec {
    /// States that make one with its delays.
    pub(super) fn blocks(&self) -> usize {
        self.count + 1
    }

    /// Steps from the earliest of them to the latest.
    #[must_use]
    pub fn span(&self) -> usize {
        self.count.saturating_mul(self.step)
    }
}

impl Default for DynamicsSpec {
    /// The default operator, on states as they are.
    fn default() -> Self {
        Self {
            operator: KoopmanSpec::default(),
            standardize: false,
            choice: ChoiceSpec::default(),
            delays: DelaysSpec::default(),
            horizons: Vec::new(),
            candidates: false,
            period: None,
            warm_up: 2048,
        }
    }
}

/// Numbers that a warm-up keeps at most, unless it has no more than [`FEWEST`] pairs.
const MOST_NUMBERS: usize = 1 << 23;
const FEWEST: usize = 64;

impl DynamicsSpec {
    /// Everything learned from the stream.
    #[must_use]
    pub fn automatic() -> Self {
        let choice = ChoiceSpec { bandwidth: true, regularization: true, tolerance: true };
        Self { standardize: true, choice, ..Self::default() }
    }

    /// The specification in this JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        parse_text("model", json)
    }

    /// Whether there is anything to learn in a warm-up.
    pub(super) fn learns_first(&self) -> bool {
        self.standardize || self.choice.bandwidth || self.choice.regularization
    }

    /// The pair of this many numbers with which the warm-up ends.
    #[must_use]
    pub fn last_turn(&self, numbers: usize) -> usize {
        self.warm_up.min((MOST_NUMBERS / numbers.max(1)).max(FEWEST))
    }
}
