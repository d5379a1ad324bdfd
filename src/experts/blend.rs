//! Combined results of several models, given the mixture of each output.

use ndarray::{Array, Array2, Axis, RemoveAxis, s};

use super::Mixture;
use crate::error::Result;
use crate::threads::ask_each_block;

/// Whether a result depends on this model.
fn counts(mixtures: &[Mixture], model: usize) -> bool {
    mixtures.iter().any(|mixture| mixture.weights()[model] > 0.0)
}

/// Indices of the models with weight.
fn counting<'a, T: ?Sized + 'a>(
    mixtures: &[Mixture],
    models: impl Iterator<Item = &'a T>,
) -> impl Iterator<Item = (usize, &'a T)> {
    models.enumerate().filter(|(e, _)| counts(mixtures, *e))
}

/// Adds to `out` the weighted mean of the models' results for rows, one thread a model: outputs are the second axis.
pub(super) fn mix<'a, T: ?Sized + Sync + 'a, D: RemoveAxis>(
    mixtures: &[Mixture],
    models: impl Iterator<Item = &'a T>,
    mut out: Array<f64, D>,
    answer: impl Fn(&T) -> Result<Array<f64, D>> + Sync + Send,
) -> Result<Array<f64, D>> {
    let mut each: Vec<_> = counting(mixtures, models).map(|(e, model)| (e, model, None)).collect();
    ask_each_block(each.iter_mut(), |(_, model, made)| *made = Some(answer(model)))?;
    for (e, _, made) in each {
        let Some(made) = made.transpose()? else { continue };
        for (c, mixture) in mixtures.iter().enumerate() {
            out.index_axis_mut(Axis(1), c).scaled_add(mixture.weights()[e], &made.index_axis(Axis(1), c));
        }
    }
    Ok(out)
}

/// Predictions of the models for rows, side by side (n, models x outputs).
pub(super) fn side_by_side<'a, T: ?Sized + 'a>(
    models: impl ExactSizeIterator<Item = &'a T>,
    (n, outputs): (usize, usize),
    predict: impl Fn(&T) -> Result<Array2<f64>>,
) -> Result<Array2<f64>> {
    let mut out = Array2::zeros((n, models.len() * outputs));
    for (e, model) in models.enumerate() {
        out.slice_mut(s![.., e * outputs..(e + 1) * outputs]).assign(&predict(model)?);
    }
    Ok(out)
}

/// Points padded with zeros to one width, set after set, without empty ones.
pub(super) fn stacked(sets: impl Iterator<Item = Array2<f64>>, width: usize) -> Array2<f64> {
    let sets: Vec<_> = sets.filter(|points| !points.is_empty()).collect();
    let mut out = Array2::zeros((sets.iter().map(Array2::nrows).sum(), width));
    let mut first = 0;
    for points in sets {
        out.slice_mut(s![first..first + points.nrows(), ..points.ncols()]).assign(&points);
        first += points.nrows();
    }
    out
}

/// All weights (outputs, models).
pub(super) fn weights(mixtures: &[Mixture], shape: (usize, usize)) -> Array2<f64> {
    Array2::from_shape_fn(shape, |(c, e)| mixtures[c].weights()[e])
}
