//! All learners.

use std::ops::{Deref, DerefMut};

use super::{
    AsLearner, GaussNewton, Gradient, Interpolation, LearnerFile, LearnerSpec, OnlineNewton, Ridge, Staged,
};
use crate::error::{Error, Result};

/// A learner that specifications and model files have: [`AnyLearner`], or the type of one of its variants. A
/// [`Stream`](crate::stream::Stream) of it and of a [`KnownBasis`](crate::basis::KnownBasis) can be saved, and becomes an
/// [`AnyModel`](crate::any::AnyModel).
#[diagnostic::on_unimplemented(
    message = "the learner `{Self}` is not in the format of model files",
    label = "not an `AnyLearner`, nor the type of one of its variants",
    note = "a stream with a learner of your own learns and predicts, but cannot be saved: save its weights yourself, \
            and learn the rows again"
)]
pub trait KnownLearner: AsLearner<Target: LearnerFile> + Into<AnyLearner> {
    /// Its specification.
    fn to_spec(&self) -> LearnerSpec;

    /// The learner as this type; `None` if it is of another one.
    fn from_any(learner: AnyLearner) -> Option<Self>;
}

/// The conversions of the type of one variant.
macro_rules! known {
    ($variant:ident, $learner:ty, $spec:expr) => {
        impl From<$learner> for AnyLearner {
            fn from(learner: $learner) -> Self {
                Self::$variant(Box::new(learner))
            }
        }

        impl KnownLearner for $learner {
            fn to_spec(&self) -> LearnerSpec {
                $spec(self)
            }

            fn from_any(learner: AnyLearner) -> Option<Self> {
                if let AnyLearner::$variant(learner) = learner { Some(*learner) } else { None }
            }
        }
    };
}

known!(Ridge, Ridge, |learner: &Ridge| LearnerSpec::Ridge(learner.spec().clone()));
known!(Gradient, Gradient, |learner: &Gradient| LearnerSpec::Gradient(learner.spec().clone()));
known!(OnlineNewton, OnlineNewton, |learner: &OnlineNewton| {
    LearnerSpec::OnlineNewton(learner.spec().clone())
});
known!(GaussNewton, GaussNewton, |learner: &GaussNewton| LearnerSpec::GaussNewton(learner.spec().clone()));
known!(Interpolation, Interpolation, |learner: &Interpolation| {
    LearnerSpec::Interpolation(learner.spec().clone())
});
known!(Staged, Staged<AnyLearner>, |staged: &Staged<AnyLearner>| LearnerSpec::Staged {
    first: Box::new(staged.first.spec()),
    then: Box::new(staged.then.spec()),
});

impl KnownLearner for AnyLearner {
    fn to_spec(&self) -> LearnerSpec {
        self.spec()
    }

    fn from_any(learner: AnyLearner) -> Option<Self> {
        Some(learner)
    }
}

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
            Self::Ridge(learner) => learner.to_spec(),
            Self::Gradient(learner) => learner.to_spec(),
            Self::OnlineNewton(learner) => learner.to_spec(),
            Self::GaussNewton(learner) => learner.to_spec(),
            Self::Interpolation(learner) => learner.to_spec(),
            Self::Staged(learner) => learner.to_spec(),
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
