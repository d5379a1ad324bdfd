//! Streams learned in several places, as one.

use super::Stream;
use crate::basis::{AsBasis, Basis, MergeBasis};
use crate::error::{Error, Result};
use crate::learner::{AsLearner, Learner as _, MergeLearner, Part};
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
        self.learner.check_merge(&other.learner)?;
        if order == PartOrder::Any {
            other.learner.check_any_order()?;
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
                learner: &part.learner,
                lift: lift.as_ref(),
                remembered: part.remembered_in(basis.as_basis()),
            })
            .collect();
        let learner = L::sum(&learners, basis.as_basis().dim())?;
        let forgetting =
            like.learner.as_learner().covariance().map_or(1.0, |covariance| covariance.forgetting);
        let mut errors = like.errors.clone();
        for part in later {
            errors.follow(&part.errors, forgetting);
        }
        Ok(Self {
            errors,
            n_seen: parts.iter().map(|part| part.n_seen).sum(),
            n_outputs: like.n_outputs,
            heavy: parts.iter().any(|part| part.heavy),
            prediction: like.prediction.clone(),
            ..Self::new(basis, learner)
        })
    }

    fn freeze_dictionary(&mut self) -> Result<()> {
        if self.n_outputs.is_none() {
            return Err(Error::NothingLearned);
        }
        let mut learner = self.learner.clone();
        learner.forget()?;
        self.basis.freeze()?;
        self.learner = learner;
        self.errors = Errors::new(self.n_outputs.unwrap_or(0));
        (self.n_seen, self.heavy) = (0, false);
        Ok(())
    }
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// Coordinates in another basis of the rows that the learner remembers, if it does.
    fn remembered_in(&self, basis: &(impl Basis + ?Sized)) -> Option<Panel> {
        let rows = self.learner.as_learner().memory()?.points();
        let mut z = Panel::default();
        if rows.nrows() > 0 {
            basis.features_block(rows.view(), &mut z);
        }
        Some(z)
    }
}
