//! What rows must be for every model.

use ndarray::{ArrayView1, ArrayView2};

use crate::error::{Error, Result};
use crate::kernel::{Kernel, LARGEST};

/// One row as a matrix of one row.
pub(crate) fn one_row(values: &[f64]) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((1, values.len()), values).unwrap_or_else(|_| unreachable!("one row fits"))
}

/// Refuses a width other than the known one, and none at all.
pub(crate) fn check_width(what: &'static str, known: Option<usize>, found: usize) -> Result<()> {
    match known {
        Some(expected) if expected != found => Err(Error::WrongWidth { what, expected, found }),
        None if found == 0 => Err(Error::NoColumns { what }),
        _ => Ok(()),
    }
}

/// Refuses to merge models that are not written down alike in this part.
pub(crate) fn check_alike<S: PartialEq + serde::Serialize>(part: &str, own: &S, other: &S) -> Result<()> {
    if own == other {
        return Ok(());
    }
    let written = |spec: &S| serde_json::to_string(spec).unwrap_or_default();
    Err(Error::merge(format!(
        "the {part} is {} here and {} there; models that are merged have the same specification",
        written(own),
        written(other)
    )))
}

/// Refuses `X` and an array that goes with it, if they have different numbers of rows.
pub(crate) fn check_lengths(
    x: ArrayView2<'_, f64>,
    right: &'static str,
    y: ArrayView2<'_, f64>,
) -> Result<()> {
    let (left_rows, right_rows) = (x.nrows(), y.nrows());
    if left_rows == right_rows {
        Ok(())
    } else {
        Err(Error::LengthMismatch { left: "X", left_rows, right, right_rows })
    }
}

/// Refuses targets that are not finite or too large, naming the first, and another number of them than the
/// known one.
pub(crate) fn check_targets(known: Option<usize>, y: ArrayView2<'_, f64>) -> Result<()> {
    check_width("y", known, y.ncols())?;
    check_finite("y", y)
}

/// Refuses targets beyond the largest that a loss takes, naming the first.
pub(crate) fn check_labels(y: ArrayView2<'_, f64>, most: f64) -> Result<()> {
    match y.indexed_iter().find(|(_, value)| value.abs() > most) {
        Some(((row, _), &value)) => Err(Error::Target { row, value, most }),
        None => Ok(()),
    }
}

/// Refuses weights of rows that are not one a row, finite and zero or more.
pub(crate) fn check_weights(x: ArrayView2<'_, f64>, weights: Option<ArrayView1<'_, f64>>) -> Result<()> {
    let Some(weights) = weights else { return Ok(()) };
    let (left_rows, right_rows) = (x.nrows(), weights.len());
    if left_rows != right_rows {
        return Err(Error::LengthMismatch { left: "X", left_rows, right: "weights", right_rows });
    }
    match weights.iter().position(|weight| !(0.0..=LARGEST).contains(weight)) {
        Some(row) => Err(Error::Weight { row, value: weights[row] }),
        None => Ok(()),
    }
}

/// Refuses numbers that are not finite or too large, naming the first.
pub(crate) fn check_finite(what: &'static str, rows: ArrayView2<'_, f64>) -> Result<()> {
    for ((row, column), &value) in rows.indexed_iter() {
        if !value.is_finite() {
            return Err(Error::NotFinite { what, row, column, value });
        }
        if value.abs() > LARGEST {
            return Err(Error::TooLarge { what, row, column: Some(column), magnitude: value.abs() });
        }
    }
    Ok(())
}

/// Refuses rows that are not finite or too large to compare, naming the first.
pub(crate) fn check_rows(kernel: &Kernel, what: &'static str, rows: ArrayView2<'_, f64>) -> Result<()> {
    let mut gathered = Vec::new();
    for (i, row) in rows.rows().into_iter().enumerate() {
        if let Some(row) = row.as_slice() {
            check_row(kernel, what, i, row)?;
        } else {
            gathered.clear();
            gathered.extend(row);
            check_row(kernel, what, i, &gathered)?;
        }
    }
    Ok(())
}

/// Refuses a row whose numbers are not finite or whose similarity to itself would overflow.
pub(crate) fn check_row(kernel: &Kernel, what: &'static str, index: usize, row: &[f64]) -> Result<()> {
    let squared_norm: f64 = row.iter().map(|v| v * v).sum();
    let similarity = kernel.diag(row);
    if squared_norm <= LARGEST && similarity.abs() <= LARGEST {
        return Ok(());
    }
    if let Some((column, &value)) = row.iter().enumerate().find(|(_, v)| !v.is_finite()) {
        return Err(Error::NotFinite { what, row: index, column, value });
    }
    let largest = (0..row.len()).max_by(|&i, &j| row[i].abs().total_cmp(&row[j].abs()));
    // A similarity may overflow though no entry is too large.
    let column = largest.filter(|_| squared_norm > LARGEST);
    let magnitude =
        column.map_or_else(|| squared_norm.sqrt().max(similarity.abs()), |column| row[column].abs());
    Err(Error::TooLarge { what, row: index, column, magnitude })
}
