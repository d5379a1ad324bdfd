//! The stored points, laid out for comparing one row with all of them.

use std::borrow::Cow;

use super::{Comparison, Part};
use crate::linalg::{LANES, Panel, loops};

/// Below this share of the squared norms, a squared distance taken from an inner product has lost
/// two digits or more and is computed again from the points.
const CANCELLATION: f64 = 1e-2;

/// A growing set of points of one width, stored feature by feature.
#[derive(Clone, Debug)]
pub struct PointSet {
    /// One row a point, one column a feature.
    panel: Panel,
    squared_norms: Vec<f64>,
}

impl PointSet {
    /// An empty set of points with `width` features.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self { panel: Panel::zeros(0, width), squared_norms: Vec::new() }
    }

    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.panel.rows()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Number of features.
    #[must_use]
    pub fn width(&self) -> usize {
        self.panel.cols()
    }

    /// The points, one a row.
    #[must_use]
    pub fn panel(&self) -> &Panel {
        &self.panel
    }

    /// Appends a point.
    pub fn push(&mut self, point: &[f64]) {
        debug_assert_eq!(point.len(), self.width());
        self.panel.push_row(point.iter().copied());
        self.squared_norms.push(point.iter().map(|v| v * v).sum());
    }

    /// Puts a point in the place of the one there.
    ///
    /// # Panics
    ///
    /// If there is no such place.
    pub fn replace(&mut self, place: usize, point: &[f64]) {
        debug_assert_eq!(point.len(), self.width());
        for (feature, &value) in point.iter().enumerate() {
            self.panel.set(place, feature, value);
        }
        self.squared_norms[place] = point.iter().map(|v| v * v).sum();
    }

    /// Forgets all but the first `len` points.
    pub fn truncate(&mut self, len: usize) {
        self.panel.truncate(len, self.width());
        self.squared_norms.truncate(len);
    }

    /// Compares `x` with every point by its columns from `start` on, as many as `x` has, into `out`, as
    /// long as there are points or padded.
    pub(super) fn compare(&self, comparison: Comparison, start: usize, x: &[f64], out: &mut [f64]) {
        let stride = self.panel.stride();
        let data = &self.panel.data()[start * stride..(start + x.len()) * stride];
        let compare = |data: &[f64], out: &mut [f64]| match comparison {
            Comparison::SquaredDistance => loops::squared_distances(data, stride, x, out),
            Comparison::InnerProduct => loops::multiply_narrow(data, stride, x, out),
        };
        let (whole, rest) = out.split_at_mut(out.len() / LANES * LANES);
        if !whole.is_empty() {
            compare(data, whole);
        }
        if !rest.is_empty() {
            let mut last = [0.0; LANES];
            compare(data.get(whole.len()..).unwrap_or(&[]), &mut last);
            rest.copy_from_slice(&last[..rest.len()]);
        }
    }

    /// Squared norms of the points by a part of their columns.
    pub(super) fn squared_norms(&self, part: Part) -> Cow<'_, [f64]> {
        if part.width == self.width() {
            return Cow::Borrowed(&self.squared_norms);
        }
        let mut norms = vec![0.0; self.len()];
        for column in part.start..part.start + part.width {
            norms.iter_mut().zip(self.panel.col(column)).for_each(|(norm, v)| *norm += v * v);
        }
        Cow::Owned(norms)
    }

    /// Turns inner products of `x` with every point, by a part of their columns, into squared
    /// distances; `own` are the [`squared_norms`](Self::squared_norms) of that part.
    pub(super) fn products_to_distances(
        &self,
        part: Part,
        x: &[f64],
        squared_norm: f64,
        own: &[f64],
        values: &mut [f64],
    ) {
        if loops::products_to_distances(own, squared_norm, CANCELLATION, values) {
            return;
        }
        for (j, (value, own)) in values.iter_mut().zip(own).enumerate() {
            if *value < CANCELLATION * (squared_norm + own) {
                *value = (0..x.len()).map(|k| (x[k] - self.panel.get(j, part.start + k)).powi(2)).sum();
            }
        }
    }
}
