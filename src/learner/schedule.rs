//! Step sizes.

use serde::{Deserialize, Serialize};

use crate::error::{Result, not_negative, positive};

/// Step of a gradient learner as a function of the round `t = 1, 2, ...`
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Schedule {
    /// `step`
    Constant,
    /// `step / sqrt(t)`
    InverseSqrt,
    /// `step / (1 + (t - 1) / half_life)^exponent`
    Power {
        /// Rounds after which the step starts to decrease, positive.
        half_life: f64,
        /// Exponent of the decrease, zero or positive.
        exponent: f64,
    },
    /// `radius / sqrt(1 + sum of squared gradient norms)`, with this round's: the step of AOGD-ALD
    /// (Li and Liao, 2023, section 3.1), without a parameter.
    #[default]
    Adaptive,
}

impl Schedule {
    /// The schedule with its parameters checked.
    pub fn checked(self) -> Result<Self> {
        if let Self::Power { half_life, exponent } = self {
            positive("half_life", half_life)?;
            not_negative("exponent", exponent)?;
        }
        Ok(self)
    }

    /// The step of round `t` (from 1). `sum` is the sum of squared gradient norms, with this
    /// round's.
    #[must_use]
    pub fn at(self, t: u64, step: f64, radius: f64, sum: f64) -> f64 {
        match self {
            Self::Constant => step,
            Self::InverseSqrt => step / (t as f64).sqrt(),
            Self::Power { half_life, exponent } => {
                step / (1.0 + (t.saturating_sub(1)) as f64 / half_life).powf(exponent)
            }
            Self::Adaptive => radius / (1.0 + sum).sqrt(),
        }
    }
}
