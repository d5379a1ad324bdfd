//! Dynamics learned in several places, as one.

use super::Dynamics;
use crate::error::{Error, Result};
use crate::koopman::Koopman;
use crate::model::{Merge, PartOrder};
use crate::validate::check_alike;

impl Merge for Dynamics {
    /// All parts must have their states on the same scale and the same kernel: those of one of whose copies each has
    /// gone on with trajectories of its own.
    fn join(&mut self, others: &[&Self], order: PartOrder) -> Result<()> {
        others.iter().try_for_each(|other| check_alike("operator", &self.spec, &other.spec))?;
        self.check_adds()?;
        let known = std::iter::once(&*self).chain(others.iter().copied());
        let parts: Vec<&Self> = known.filter(|part| part.n_features().is_some()).collect();
        let Some(first) = parts.first().copied() else { return Ok(()) };
        if parts.len() == 1 {
            *self = first.clone();
            return Ok(());
        }
        let alike = |part: &&Self| {
            !part.is_warming_up()
                && part.units == first.units
                && part.operator.spec() == first.operator.spec()
        };
        if !parts.iter().all(alike) {
            return Err(Error::merge(
                "the parts have scaled their states, or chosen their kernel, each by rows of its own; let one learn \
                 a sample and freeze its dictionary, which settles both, and give each part a copy of it, or state \
                 kernel and scale yourself (standardize=False)",
            ));
        }
        let mut operator = first.operator.clone();
        operator.join(&parts[1..].iter().map(|part| &part.operator).collect::<Vec<&Koopman>>(), order)?;
        *self = Self { operator, tail: None, ..first.clone() };
        Ok(())
    }

    /// Scale and choice are settled with it, by the pairs so far if the warm-up is not over.
    fn freeze_dictionary(&mut self) -> Result<()> {
        self.check_adds()?;
        let mut frozen = self.clone();
        frozen.settle()?;
        frozen.operator.freeze_dictionary()?;
        frozen.tail = None;
        *self = frozen;
        Ok(())
    }
}

impl Dynamics {
    /// Refuses what is no sum over rows.
    fn check_adds(&self) -> Result<()> {
        if self.forecaster.is_none() {
            return Ok(());
        }
        Err(Error::merge("weights of forecasts depend on the order of the states; leave out horizons"))
    }
}
