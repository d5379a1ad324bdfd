//! Merging of tables learned in several places.

use super::{ClassWeights, Link, Table};
use crate::error::{Error, Result};
use crate::model::{InnerModel, Merge, Model as _, PartOrder};
use crate::validate::check_alike;

impl<M: InnerModel + Merge> Merge for Table<M> {
    fn has_begun(&self) -> bool {
        self.n_outputs().is_some()
    }

    fn check_merge(&self, other: &Self, order: PartOrder) -> Result<()> {
        let columns = |table: &Self| table.encoder.as_ref().map(|encoder| encoder.spec().clone());
        let labels = |table: &Self| table.labels.as_ref().map(|labels| labels.spec().clone());
        check_alike("specification of the columns", &columns(self), &columns(other))?;
        check_alike("specification of the labels", &labels(self), &labels(other))?;
        self.check_labels_add()?;
        self.model.check_merge(&other.model, order)
    }

    /// The sums of a table are in features, so all parts must have their columns on the same scale:
    /// that of one table, whose copies each learned further rows.
    fn sum(parts: &[&Self], order: PartOrder) -> Result<Self> {
        let [first, rest @ ..] = parts else { return Err(Error::NothingLearned) };
        parts.iter().try_for_each(|part| first.check_scale(part))?;
        let mut merged = Self { settled: true, sample: None, ..(*first).clone() };
        if let Some(limits) = &mut merged.limits {
            limits.forget();
            limits.limited = parts.iter().map(|part| part.n_limited()).sum();
        }
        merged.model.join(&rest.iter().map(|other| &other.model).collect::<Vec<_>>(), order)?;
        if let Some(labels) = &mut merged.labels {
            rest.iter().filter_map(|part| part.labels.as_ref()).for_each(|other| labels.add_counts(other));
            labels.settle();
        }
        Ok(merged)
    }

    /// Fixes the scale of the columns too, by the rows so far if the warm-up is not over.
    fn freeze_dictionary(&mut self) -> Result<()> {
        self.check_labels_add()?;
        if self.n_outputs().is_none() {
            return Err(Error::NothingLearned);
        }
        let mut frozen = self.clone();
        frozen.settle()?;
        frozen.model.freeze_dictionary()?;
        if let Some(limits) = &mut frozen.limits {
            limits.forget();
            limits.limited = 0;
        }
        if let Some(labels) = &mut frozen.labels {
            labels.reset();
        }
        *self = frozen;
        Ok(())
    }
}

impl<M: InnerModel> Table<M> {
    /// Refuses class weights and probabilities that depend on the order of the rows.
    fn check_labels_add(&self) -> Result<()> {
        match &self.labels {
            Some(labels)
                if labels.spec().weights == ClassWeights::Balanced && labels.spec().link.is_none() =>
            {
                Err(Error::merge(
                    "balanced weights of classes depend on the rows before; give each class a weight of its own",
                ))
            }
            Some(labels) if labels.spec().link == Some(Link::CalibratedLogistic) => Err(Error::merge(
                "steps on the logistic loss, and how their log-odds are calibrated, depend on the order of the rows; a \
                 single model of ridge adds up, and so do its classes",
            )),
            Some(labels) if labels.spec().link == Some(Link::Calibrated) => Err(Error::merge(
                "how probabilities are calibrated depends on the rows before; choose another link",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a table with other features.
    fn check_scale(&self, other: &Self) -> Result<()> {
        let why = if self.is_warming_up() || other.is_warming_up() {
            "the columns of a part are still in their warm-up"
        } else if self
            .encoder
            .as_ref()
            .is_some_and(|own| !other.encoder.as_ref().is_some_and(|it| own.is_like(it)))
        {
            "the columns of the parts are on different scales"
        } else {
            return Ok(());
        };
        let how = "let one table learn a sample and freeze its dictionary, which settles the scale, and give each \
                   part a copy of it (gaps that are filled have a mean that goes on: leave such rows out)";
        Err(Error::merge(format!("{why}; {how}")))
    }
}
