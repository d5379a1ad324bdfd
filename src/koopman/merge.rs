//! Merging of operators learned in several places.

use faer::Mat;

use super::dictionaries::Dictionaries;
use super::model::Koopman;
use super::operator::Operator;
use super::sums::BlockedSums;
use crate::basis::Lift;
use crate::error::{Error, Result};
use crate::learner::Addend;
use crate::model::{Merge, PartOrder};
use crate::validate::{check_alike, check_width};

/// An operator by least squares is `sum z z'` and `sum z s'` over its pairs, of the coordinates `z`
/// of `x` and `s` of `x+`, which the maps to the joint dictionaries transform. No pair spans two
/// parts, and a trajectory is not continued across a merge.
impl Merge for Koopman {
    fn has_begun(&self) -> bool {
        self.dictionaries.is_some()
    }

    fn check_merge(&self, other: &Self, order: PartOrder) -> Result<()> {
        check_alike("operator", &self.spec, &other.spec)?;
        if let Some(found) = other.n_features() {
            check_width("X of a part", self.n_features(), found)?;
        }
        if other.n_pending() > 0 {
            return Err(Error::merge("pairs wait in a replay buffer; flush it first"));
        }
        let learner = self.operator.least_squares()?;
        if order == PartOrder::Any { learner.check_any_order() } else { Ok(()) }
    }

    fn sum(parts: &[&Self], _order: PartOrder) -> Result<Self> {
        let [like, ..] = parts else { return Err(Error::NothingLearned) };
        let known: Vec<&Dictionaries> = parts.iter().filter_map(|part| part.dictionaries.as_ref()).collect();
        let (dictionaries, lifts) = Dictionaries::joint(&known)?;
        let outputs: Vec<Lift> =
            lifts.iter().map(|(_, next)| with_states(next, dictionaries.width())).collect();
        let addends = parts.iter().zip(&lifts).zip(&outputs).map(|((part, (inputs, _)), outputs)| {
            let ridge = part.operator.least_squares()?;
            Ok(ridge.addend(inputs.as_ref().map(Mat::as_ref), outputs.as_ref().map(Mat::as_ref)))
        });
        let (stored, stored_next) = dictionaries.sizes();
        let n_outputs = dictionaries.width() + stored_next;
        let ridge = Addend::sum(&addends.collect::<Result<Vec<_>>>()?, stored, n_outputs)?;
        let mut sums = like.operator.sums().map(BlockedSums::emptied);
        for (part, (lift, _)) in parts.iter().zip(&lifts) {
            if let (Some(sums), Some(own)) = (&mut sums, part.operator.sums()) {
                sums.append(own, lift.as_ref().map(Mat::as_ref), part.n_seen);
            }
        }
        let mut merged = like.unlearned()?;
        merged.operator = Operator::of(ridge, sums);
        merged.dictionaries = Some(dictionaries);
        merged.n_seen = parts.iter().map(|part| part.n_seen).sum();
        Ok(merged)
    }

    fn freeze_dictionary(&mut self) -> Result<()> {
        if self.n_pending() > 0 {
            return Err(Error::merge("pairs wait in the replay buffer; flush it first"));
        }
        let sums = self.operator.sums().map(BlockedSums::emptied);
        let operator = Operator::of(self.operator.least_squares()?.without_rows(), sums);
        let mut dictionaries = self.dictionaries.clone().ok_or(Error::NothingLearned)?;
        dictionaries.freeze()?;
        let mut frozen = self.unlearned()?;
        (frozen.operator, frozen.dictionaries) = (operator, Some(dictionaries));
        *self = frozen;
        Ok(())
    }
}

/// Map from a part's outputs, the state and its coordinates, to the joint ones.
fn with_states(lift: &Lift, width: usize) -> Lift {
    let lift = lift.as_ref()?;
    let (new, old) = (width + lift.nrows(), width + lift.ncols());
    Some(Mat::from_fn(new, old, |i, j| match (i.checked_sub(width), j.checked_sub(width)) {
        (Some(i), Some(j)) => lift[(i, j)],
        _ => f64::from(u8::from(i == j)),
    }))
}
