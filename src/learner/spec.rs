//! Specifications of learners, for model files, the command line and Python.

use serde::{Deserialize, Serialize};

use super::{GaussNewtonSpec, GradientSpec, InterpolationSpec, Loss, OnlineNewtonSpec, RidgeSpec};

/// A learner and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum LearnerSpec {
    /// See [`Ridge`](super::Ridge).
    Ridge(RidgeSpec),
    /// See [`Gradient`](super::Gradient).
    Gradient(GradientSpec),
    /// See [`OnlineNewton`](super::OnlineNewton).
    OnlineNewton(OnlineNewtonSpec),
    /// See [`GaussNewton`](super::GaussNewton).
    GaussNewton(GaussNewtonSpec),
    /// See [`Interpolation`](super::Interpolation).
    Interpolation(InterpolationSpec),
    /// See [`Staged`](super::Staged).
    Staged {
        /// Learner until the basis replaces its coordinates.
        first: Box<LearnerSpec>,
        /// Learner after that.
        then: Box<LearnerSpec>,
    },
}

impl Default for LearnerSpec {
    fn default() -> Self {
        Self::Ridge(RidgeSpec::default())
    }
}

impl LearnerSpec {
    /// Its loss (of the second learner, if there are two).
    #[must_use]
    pub fn loss(&self) -> Loss {
        match self {
            Self::Ridge(_) | Self::Interpolation(_) => Loss::Squared,
            Self::Gradient(spec) => spec.loss,
            Self::OnlineNewton(spec) => spec.loss,
            Self::GaussNewton(spec) => spec.loss,
            Self::Staged { then, .. } => then.loss(),
        }
    }
}
