//! Inputs that have not varied yet.
//!
//! Nothing is known of the effect of such an input. A bounded kernel would take its first other value for one that is
//! unlike all so far, and forecast no state in particular; so the operator is asked with the known value.

use ndarray::{Array, ArrayView, ArrayView1, Axis, CowArray, Dimension, RemoveAxis, s};

use crate::koopman::Koopman;

/// Differences up to this share of an input's size are rounding.
const ROUNDING: f64 = 1e-9;

/// An input minus its reference; differences that are rounding are none.
pub fn relative(value: f64, reference: f64) -> f64 {
    let difference = value - reference;
    if difference.abs() <= ROUNDING * reference.abs() { 0.0 } else { difference }
}

/// The value of each input that is the same in all stored states.
pub fn constants(operator: &Koopman) -> Vec<Option<f64>> {
    let count = operator.n_controls();
    let stored = if count == 0 { return Vec::new() } else { operator.dictionary() };
    if stored.nrows() == 0 {
        return vec![None; count];
    }
    let inputs = stored.slice(s![.., stored.ncols() - count..]);
    let constant = |column: ArrayView1<'_, f64>| {
        column.iter().all(|value| relative(*value, column[0]) == 0.0).then_some(column[0])
    };
    inputs.columns().into_iter().map(constant).collect()
}

/// Inputs, along the last axis, with those that are constant in all stored states at their values there.
pub fn held<'a, D: Dimension + RemoveAxis>(
    operator: &Koopman,
    inputs: ArrayView<'a, f64, D>,
) -> CowArray<'a, f64, D> {
    let last = Axis(inputs.ndim() - 1);
    let constants = constants(operator);
    if inputs.len_of(last) != constants.len() || constants.iter().all(Option::is_none) {
        return inputs.into();
    }
    let mut out: Array<f64, D> = inputs.to_owned();
    for (mut values, constant) in out.axis_iter_mut(last).zip(constants) {
        if let Some(constant) = constant {
            // Values that are refused stay.
            values.mapv_inplace(|value| if value.is_finite() { constant } else { value });
        }
    }
    out.into()
}
