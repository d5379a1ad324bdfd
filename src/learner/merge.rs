//! Learners that are made of sums over rows, which add.

use faer::Mat;

use super::{Addend, AnyLearner, Learner as _, Ridge};
use crate::error::{Error, Result};
use crate::linalg::Panel;
use crate::validate::check_alike;

/// A learner among several that are to be one.
#[derive(Clone, Debug)]
pub struct Part<'a, L> {
    /// The learner.
    pub learner: &'a L,
    /// From its coordinates to the joint ones (joint, own), unless they are the same.
    pub lift: Option<&'a Mat<f64>>,
    /// The joint coordinates (rows, joint) of the rows that it [remembers](super::LearnerMemory::memory), if it does.
    pub remembered: Option<Panel>,
}

/// A learner that knows its rows by sums over them.
pub trait MergeLearner: Sized {
    /// Refuses a learner of another specification, and any that is not made of sums.
    fn check_merge(&self, other: &Self) -> Result<()>;

    /// Refuses a learner whose rows count by their age, so that the order of the parts matters.
    fn check_any_order(&self) -> Result<()>;

    /// A learner in `dim` coordinates that has learned the rows of all `parts`, which are
    /// [alike](Self::check_merge) and have begun. If it [forgets](Self::check_any_order), the rows of each came after
    /// those of the parts before it.
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
    /// The learner, if it is made of sums.
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
