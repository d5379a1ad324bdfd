//! Merging of streams learned in several places.

use super::Stream;
use super::head::Head;
use crate::basis::{AsBasis, Basis as _, MergeBasis, StreamBasis};
use crate::error::{Error, Result};
use crate::learner::{AsLearner, LearnerMemory as _, LearnerUncertainty as _, MergeLearner, Part};
use crate::linalg::Panel;
use crate::model::{Merge, PartOrder};
use crate::uncertainty::Errors;
use crate::validate::check_width;

impl<B: AsBasis + MergeBasis, L: AsLearner + MergeLearner> Merge for Stream<B, L> {
    fn has_begun(&self) -> bool {
        self.n_outputs.is_some()
    }

    fn check_merge(&self, other: &Self, order: PartOrder) -> Result<()> {
        self.basis.check_merge(&other.basis)?;
        self.head.learner.check_merge(&other.head.learner)?;
        if order == PartOrder::Any {
            other.head.learner.check_any_order()?;
        }
        other.n_outputs.map_or(Ok(()), |found| check_width("y of a part", self.n_outputs, found))
    }

    fn sum(parts: &[&Self], _order: PartOrder) -> Result<Self> {
        let [like, later @ ..] = parts else { return Err(Error::NothingLearned) };
        let (basis, lifts) = B::joint(&parts.iter().map(|part| &part.basis).collect::<Vec<_>>())?;
        let learners: Vec<_> = parts
            .iter()
            .zip(&lifts)
            .map(|(part, lift)| Part {
                learner: &part.head.learner,
                lift: lift.as_ref(),
                remembered: part.remembered_in(basis.as_basis()),
            })
            .collect();
        let learner = L::sum(&learners, basis.as_basis().dim())?;
        let forgetting =
            like.head.learner.as_learner().covariance().map_or(1.0, |covariance| covariance.forgetting);
        let mut errors = like.head.errors.clone();
        for part in later {
            errors.follow(&part.head.errors, forgetting);
        }
        let mut joint = Self::new(basis, learner);
        joint.resume(like.n_outputs.unwrap_or(0), errors);
        joint.n_seen = parts.iter().map(|part| part.n_seen).sum();
        joint.head.heavy = parts.iter().any(|part| part.head.heavy);
        Ok(joint)
    }

    fn freeze_dictionary(&mut self) -> Result<()> {
        let outputs = self.n_outputs.ok_or(Error::NothingLearned)?;
        let mut learner = self.head.learner.clone();
        learner.forget()?;
        self.basis.freeze()?;
        (self.head, self.n_seen) = (Head::new(learner), 0);
        self.resume(outputs, Errors::new(outputs));
        Ok(())
    }
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// Coordinates in another basis of the rows that the learner remembers, if any.
    fn remembered_in(&self, basis: &(impl StreamBasis + ?Sized)) -> Option<Panel> {
        let rows = self.head.learner.as_learner().memory()?.points();
        let mut z = Panel::default();
        if rows.nrows() > 0 {
            basis.features_block(rows.view(), &mut z);
        }
        Some(z)
    }
}
