//! All learners.

use std::ops::{Deref, DerefMut};

use super::{
    AsLearner, GaussNewton, Gradient, Interpolation, LearnerFile, LearnerSpec, OnlineNewton, Ridge, Staged,
};
use crate::error::{Error, Result};

/// A learner selected at run time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyLearner {
    /// Ridge regression.
    Ridge(Box<Ridge>),
    /// Online gradient descent.
    Gradient(Box<Gradient>),
    /// Online Newton step.
    OnlineNewton(Box<OnlineNewton>),
    /// Online Gauss-Newton.
    GaussNewton(Box<GaussNewton>),
    /// Interpolation: each row is fitted exactly by the coordinate that it adds.
    Interpolation(Box<Interpolation>),
    /// One learner until the basis replaces its coordinates, another one after that.
    Staged(Box<Staged<AnyLearner>>),
}

impl AnyLearner {
    /// The specification.
    #[must_use]
    pub fn spec(&self) -> LearnerSpec {
        match self {
            Self::Ridge(learner) => LearnerSpec::Ridge(learner.spec().clone()),
            Self::Gradient(learner) => LearnerSpec::Gradient(learner.spec().clone()),
            Self::OnlineNewton(learner) => LearnerSpec::OnlineNewton(learner.spec().clone()),
            Self::GaussNewton(learner) => LearnerSpec::GaussNewton(learner.spec().clone()),
            Self::Interpolation(learner) => LearnerSpec::Interpolation(learner.spec().clone()),
            Self::Staged(staged) => LearnerSpec::Staged {
                first: Box::new(staged.first.spec()),
                then: Box::new(staged.then.spec()),
            },
        }
    }
}

impl LearnerSpec {
    /// The learner before its first row, with validated parameters.
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

impl Deref for AnyLearner {
    type Target = dyn LearnerFile;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Ridge(learner) => &**learner,
            Self::Gradient(learner) => &**learner,
            Self::OnlineNewton(learner) => &**learner,
            Self::GaussNewton(learner) => &**learner,
            Self::Interpolation(learner) => &**learner,
            Self::Staged(learner) => &**learner,
        }
    }
}

impl DerefMut for AnyLearner {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Ridge(learner) => &mut **learner,
            Self::Gradient(learner) => &mut **learner,
            Self::OnlineNewton(learner) => &mut **learner,
            Self::GaussNewton(learner) => &mut **learner,
            Self::Interpolation(learner) => &mut **learner,
            Self::Staged(learner) => &mut **learner,
        }
    }
}

impl AsLearner for AnyLearner {
    type Target = dyn LearnerFile;

    fn as_learner(&self) -> &Self::Target {
        &**self
    }

    fn as_learner_mut(&mut self) -> &mut Self::Target {
        &mut **self
    }
}
