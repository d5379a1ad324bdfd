//! Learners as they are written down: in a model file, on a command line, in Python.

use serde::{Deserialize, Serialize};

use super::{
    AnyLearner, GaussNewton, GaussNewtonSpec, Gradient, GradientSpec, Interpolation, InterpolationSpec, Loss,
    OnlineNewton, OnlineNewtonSpec, Ridge, RidgeSpec, Staged,
};
use crate::error::{Error, Result};

/// A learner and its parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LearnerSpec {
    /// See [`Ridge`].
    Ridge(RidgeSpec),
    /// See [`Gradient`].
    Gradient(GradientSpec),
    /// See [`OnlineNewton`].
    OnlineNewton(OnlineNewtonSpec),
    /// See [`GaussNewton`].
    GaussNewton(GaussNewtonSpec),
    /// See [`Interpolation`].
    Interpolation(InterpolationSpec),
    /// See [`Staged`].
    Staged {
        /// Until the basis replaces its coordinates.
        first: Box<LearnerSpec>,
        /// From then on.
        then: Box<LearnerSpec>,
    },
}

impl Default for LearnerSpec {
    fn default() -> Self {
        Self::Ridge(RidgeSpec::default())
    }
}

impl LearnerSpec {
    /// What it minimizes, in the end.
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

    /// The learner, before its first row: parameters checked.
    pub fn build(&self) -> Result<AnyLearner> {
        Ok(match self {
            Self::Ridge(spec) => AnyLearner::Ridge(Box::new(Ridge::new(spec.clone())?)),
            Self::Gradient(spec) => AnyLearner::Gradient(Box::new(Gradient::new(spec.clone())?)),
            Self::OnlineNewton(spec) => AnyLearner::OnlineNewton(Box::new(OnlineNewton::new(spec.clone())?)),
            Self::GaussNewton(spec) => AnyLearner::GaussNewton(Box::new(GaussNewton::new(spec.clone())?)),
            Self::Interpolation(spec) => {
                AnyLearner::Interpolation(Box::new(Interpolation::new(spec.clone())?))
            }
            Self::Staged { first, then } => {
                if [first, then].iter().any(|stage| matches!(***stage, Self::Staged { .. })) {
                    return Err(Error::Specification {
                        part: "learner",
                        reason: "a stage cannot consist of stages".into(),
                    });
                }
                AnyLearner::Staged(Box::new(Staged::new(first.build()?, then.build()?)))
            }
        })
    }
}
