//! Merging of dynamics learned in several places.

use super::Dynamics;
use super::states::pair_outliers::PairOutliers;
use crate::error::{Error, Result};
use crate::model::{Merge, PartOrder};
use crate::validate::check_alike;

impl Merge for Dynamics {
    fn has_begun(&self) -> bool {
        self.n_features().is_some()
    }

    fn check_merge(&self, other: &Self, _order: PartOrder) -> Result<()> {
        check_alike("operator", &self.spec, &other.spec)?;
        self.check_adds()
    }

    /// All parts must have the same scale and kernel: copies of one model, each of which has
    /// learned trajectories of its own.
    fn sum(parts: &[&Self], order: PartOrder) -> Result<Self> {
        let [first, rest @ ..] = parts else { return Err(Error::NothingLearned) };
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
        let mut merged = Self { tail: None, ..(*first).clone() };
        merged.operator.join(&rest.iter().map(|part| &part.operator).collect::<Vec<_>>(), order)?;
        if let Some(outliers) = &mut merged.outliers {
            rest.iter().filter_map(|part| part.outliers.as_ref()).for_each(|part| outliers.add_count(part));
        }
        Ok(merged)
    }

    /// Also fixes scale and parameters, by the pairs so far if the warm-up is not over.
    fn freeze_dictionary(&mut self) -> Result<()> {
        self.check_adds()?;
        let mut frozen = self.clone();
        frozen.settle()?;
        frozen.operator.freeze_dictionary()?;
        frozen.tail = None;
        frozen.outliers.iter_mut().for_each(PairOutliers::forget_count);
        *self = frozen;
        Ok(())
    }
}

impl Dynamics {
    /// Refuses components that are not sums over rows.
    fn check_adds(&self) -> Result<()> {
        if self.spec.horizons.is_empty() {
            return Ok(());
        }
        Err(Error::merge("weights of forecasts depend on the order of the states; leave out horizons"))
    }
}
