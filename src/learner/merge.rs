//! Merging of learners that are sums over rows.

use faer::Mat;

use super::{Addend, AnyLearner, Learner as _, Ridge};
use crate::error::{Error, Result};
use crate::linalg::Panel;
use crate::validate::check_alike;

/// One of several learners to be merged.
#[derive(Clone, Debug)]
pub struct Part<'a, L> {
    /// The learner.
    pub learner: &'a L,
    /// Map from its coordinates to the joint ones (joint, own), unless they are equal.
    pub lift: Option<&'a Mat<f64>>,
    /// Joint coordinates (rows, joint) of the rows that it
    /// [remembers](super::LearnerMemory::memory), if any.
    pub remembered: Option<Panel>,
}

/// A learner that is determined by sums over rows.
pub trait MergeLearner: Sized {
    /// Refuses a learner of another specification, and any that is not determined by sums.
    fn check_merge(&self, other: &Self) -> Result<()>;

    /// Refuses a learner with forgetting, for which the order of the parts matters.
    fn check_any_order(&self) -> Result<()>;

    /// A learner in `dim` coordinates that has learned the rows of all `parts`, which are
    /// [compatible](Self::check_merge) and have learned rows. With
    /// [forgetting](Self::check_any_order), the parts are in order of time.
    fn sum(parts: &[Part<'_, Self>], dim: usize) -> Result<Self>;

    /// Forgets all rows; coordinates and outputs stay.
    fn forget(&mut self) -> Result<()>;
}

impl MergeLearner for Ridge {
    fn check_merge(&self, other: &Self) -> Result<()> {
        check_alike("learner", self.spec(), other.spec())?;
        self.check_adds()
    }

    fn check_any_order(&self) -> Result<()> {
        Ridge::check_any_order(self)
    }

    fn sum(parts: &[Part<'_, Self>], dim: usize) -> Result<Self> {
        let Some(first) = parts.first() else { return Err(Error::NothingLearned) };
        let addends = parts.iter().map(|part| {
            let lift = part.lift.map(Mat::as_ref);
            part.learner.addend_with_rows(lift, part.remembered.as_ref())
        });
        Addend::sum(&addends.collect::<Vec<_>>(), dim, first.learner.n_outputs())
    }

    fn forget(&mut self) -> Result<()> {
        self.check_adds()?;
        *self = self.without_rows();
        Ok(())
    }
}

impl MergeLearner for AnyLearner {
    fn check_merge(&self, other: &Self) -> Result<()> {
        check_alike("learner", &self.spec(), &other.spec())?;
        self.ridge()?.check_adds()
    }

    fn check_any_order(&self) -> Result<()> {
        self.ridge()?.check_any_order()
    }

    fn sum(parts: &[Part<'_, Self>], dim: usize) -> Result<Self> {
        let ridges = parts.iter().map(|part| {
            let Part { learner, lift, remembered } = part.clone();
            Ok(Part { learner: learner.ridge()?, lift, remembered })
        });
        let sum = Ridge::sum(&ridges.collect::<Result<Vec<_>>>()?, dim)?;
        Ok(Self::Ridge(Box::new(sum)))
    }

    fn forget(&mut self) -> Result<()> {
        self.ridge()?;
        if let Self::Ridge(learner) = self { learner.forget() } else { Ok(()) }
    }
}

impl AnyLearner {
    /// The learner, if it is determined by sums.
    fn ridge(&self) -> Result<&Ridge> {
        let how = match self {
            Self::Ridge(learner) => return Ok(learner),
            Self::Gradient(_) => "gradient descent",
            Self::OnlineNewton(_) => "the online Newton step",
            Self::GaussNewton(_) => "online Gauss-Newton",
            Self::Interpolation(_) => "interpolation of rows",
            Self::Staged(_) => "a learner in stages",
        };
        Err(Error::merge(format!("{how} depends on the order of its rows; the ridge learner adds up")))
    }
}
