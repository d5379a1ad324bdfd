//! Targets that are numbers, of which outliers are winsorized.

use ndarray::{Array2, ArrayView1, ArrayView2, s};

use super::Table;
use crate::error::Result;
use crate::interrupt::unwatched;
use crate::linalg::with_scratch;
use crate::model::{CompleteModel, InnerModel};
use crate::online::winsorizer::Limits;
use crate::uncertainty::Prequential;

/// What became of the rows of a call.
pub(super) struct Learned {
    /// Number of rows.
    pub rows: usize,
    /// Targets of all rows as they were learned, if one was winsorized.
    pub winsorized: Option<Array2<f64>>,
}

impl<M: InnerModel> Table<M> {
    /// Whether no target of a row has to be checked.
    pub(super) fn are_ordinary(&self, y: &[f64]) -> bool {
        self.limits.as_ref().is_none_or(|limits| limits.are_ordinary(y))
    }

    /// Learns features and targets, in blocks that end at targets that have to be checked, each of
    /// which is a block of its own.
    pub(super) fn learn_numbers(
        &mut self,
        features: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Learned> {
        let Some(limits) = self.limits.as_mut().filter(|limits| limits.are_known()) else {
            let model = &mut self.model;
            let rows = model.learn_prequential(features, y, weights, prequential, should_continue)?;
            return Ok(Learned { rows, winsorized: None });
        };
        // Limits count rows, whatever their weights: these may have any unit.
        let counted = weights.map(|weights| weights.mapv(|weight| f64::from(weight > 0.0)));
        let counted = counted.as_ref().map(|counted| counted.view());
        let splits = limits.first_extraordinary(y, counted).is_some() && y.nrows() > 1;
        let before = (splits && self.model.can_refuse(weights)).then(|| (self.model.clone(), limits.clone()));
        let mut own = prequential.predictions.is_none().then(|| Array2::zeros(y.dim()));
        let (mut done, mut winsorized) = (0, None::<Array2<f64>>);
        while done < y.nrows() {
            let rest = y.slice(s![done.., ..]);
            let rest_counted = counted.map(|counted| counted.slice_move(s![done..]));
            let first = limits.first_extraordinary(rest, rest_counted);
            let end = done + first.map_or(rest.nrows(), |first| first.max(1));
            let rows = s![done..end, ..];
            let x = features.slice(rows);
            let model = &mut self.model;
            let (mut made, mut target) = (None, None);
            if first == Some(0) {
                made = match model.n_outputs() {
                    Some(_) => Some(unwatched(|| model.predict(x))?),
                    None => None,
                };
                let followed = limits.followed(made.as_ref().map(|made| made.row(0)), y.row(done));
                target = Some(Array2::from_shape_vec((1, followed.len()), followed))
                    .and_then(std::result::Result::ok)
                    .filter(|followed| *followed != y.slice(rows));
            }
            let mut part = prequential.rows(done..end);
            if let Some(own) = &mut own {
                part.predictions = Some(own.slice_mut(rows));
            }
            let learned = {
                let target = target.as_ref().map_or(y.slice(rows), |target| target.view());
                let weights = weights.map(|weights| weights.slice_move(s![done..end]));
                let start = done;
                model
                    .learn_prequential(x, target, weights, part, &mut |row| should_continue(start + row))
                    .map_err(|error| error.shifted(start))
            };
            let learned = match learned {
                Ok(learned) => learned,
                Err(error) => {
                    if let Some(before) = before {
                        (self.model, *limits) = before;
                    }
                    return Err(error);
                }
            };
            if let Some(target) = target.filter(|_| learned > 0) {
                winsorized.get_or_insert_with(|| y.to_owned()).slice_mut(rows).assign(&target);
            }
            let seen = own.as_ref().map(|own| own.view());
            let seen = seen.or_else(|| prequential.predictions.as_ref().map(|all| all.view()));
            for row in done..done + learned {
                let weight = counted.map_or(1.0, |counted| counted[row]);
                let as_learned = winsorized.as_ref().map_or(y.row(row), |all| all.row(row));
                let made = made.as_ref().map(|made| made.row(0));
                if let Some(made) = made.or_else(|| seen.as_ref().map(|seen| seen.row(row))) {
                    limits.meet_followed(made, (y.row(row), as_learned), weight);
                }
            }
            done += learned;
            if done < end {
                break;
            }
        }
        Ok(Learned { rows: done, winsorized })
    }
}

/// Learns one row whose targets need not be checked.
pub(super) fn learn_one<M: CompleteModel + ?Sized>(
    model: &mut M,
    limits: Option<&mut Limits>,
    x: &[f64],
    y: &[f64],
) -> Result<()> {
    let Some(limits) = limits.filter(|limits| limits.are_known()) else { return model.learn_one(x, y) };
    with_scratch(|scratch| {
        let (made, _) = scratch.prepare(y.len());
        let made = &mut made[..y.len()];
        model.predict_and_learn_one(x, y, made)?;
        let targets = ArrayView1::from(y);
        limits.meet_followed(ArrayView1::from(&*made), (targets, targets), 1.0);
        Ok(())
    })
}
