//! Weights, one a coordinate and output.

use crate::error::Result;
use crate::linalg::{Coordinates, Panel, loops};
use crate::persist::{Reader, Writer};

/// `out = W' z`
pub(crate) fn apply(weights: &Panel, z: &Coordinates, out: &mut [f64]) {
    for (c, out) in out.iter_mut().enumerate() {
        *out = loops::dot(weights.col(c), z.in_lanes());
    }
}

/// Whether predictions of raw weights are too large to continue with: far from overflow, and farther from
/// sense.
pub(super) fn beyond_bounds(predictions: &[f64]) -> bool {
    !predictions.iter().all(|v| v.abs() < 1e150)
}

/// Writes weights under a name.
pub(super) fn write_panel(out: &mut Writer, name: &str, panel: &Panel) {
    out.matrix(name, panel.rows(), panel.cols(), &panel.to_row_major());
}

/// Reads weights written by [`write_panel`].
pub(super) fn read_panel(from: &Reader<'_>, name: &str) -> Result<Panel> {
    let (rows, cols, entries) = from.matrix(name)?;
    Ok(Panel::from_row_major(&entries, rows, cols))
}
