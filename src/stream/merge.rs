//! Streams learned in several places, as one.

use super::Stream;
use crate::basis::{AsBasis, Basis as _, Lift, MergeBasis};
use crate::error::{Error, Result};
use crate::learner::{AsLearner, MergeLearner};
use crate::model::Merge;
use crate::validate::check_width;

impl<B: AsBasis + MergeBasis, L: AsLearner + MergeLearner> Merge for Stream<B, L> {
    fn merge(&mut self, others: &[&Self]) -> Result<()> {
        let known = std::iter::once(&*self).chain(others.iter().copied());
        let parts: Vec<&Self> = known.filter(|part| part.n_outputs.is_some()).collect();
        let like = parts.first().copied().unwrap_or(self);
        for other in std::iter::once(&*self).chain(others.iter().copied()) {
            like.basis.check_merge(&other.basis)?;
            like.learner.check_merge(&other.learner)?;
            if let Some(outputs) = other.n_outputs {
                check_width("y of a part", like.n_outputs, outputs)?;
            }
        }
        match parts[..] {
            [] => return Ok(()),
            [one] => {
                *self = one.clone();
                return Ok(());
            }
            _ => {}
        }
        let (basis, lifts) = B::joint(&parts.iter().map(|part| &part.basis).collect::<Vec<_>>())?;
        let learners: Vec<_> =
            parts.iter().map(|part| &part.learner).zip(lifts.iter().map(Lift::as_ref)).collect();
        let learner = L::sum(&learners, basis.as_basis().dim())?;
        let merged = Self {
            n_seen: parts.iter().map(|part| part.n_seen).sum(),
            n_outputs: like.n_outputs,
            heavy: parts.iter().any(|part| part.heavy),
            prediction: like.prediction.clone(),
            ..Self::new(basis, learner)
        };
        *self = merged;
        Ok(())
    }

    fn freeze_dictionary(&mut self) -> Result<()> {
        if self.n_outputs.is_none() {
            return Err(Error::NothingLearned);
        }
        let mut learner = self.learner.clone();
        learner.forget()?;
        self.basis.freeze()?;
        self.learner = learner;
        (self.n_seen, self.heavy) = (0, false);
        Ok(())
    }
}
