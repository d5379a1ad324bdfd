//! The stored points, in a layout for comparing one row with all of them.

use std::borrow::Cow;
use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, Par};
use ndarray::ArrayView2;

use super::shape::Comparison;
use super::terms::{Kernel, Mapped};
use crate::linalg::{LANES, Panel, loops, padded};

/// Points with more features than this are compared by matrix products (measured: see
/// `benches/kernel.rs`).
pub(super) const WIDE: usize = 12;

/// Below this share of the squared norms, a squared distance taken from an inner product has lost
/// two digits or more and is computed again from the points.
const CANCELLATION: f64 = 1e-2;

/// A range of columns of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Columns {
    pub start: usize,
    pub width: usize,
}

impl Columns {
    /// These columns of a point.
    pub fn of(self, point: &[f64]) -> &[f64] {
        &point[self.start..self.start + self.width]
    }
}

/// A growing set of points of one width, stored feature by feature.
#[derive(Clone, Debug, Default)]
pub struct PointSet {
    /// One row a point, one column a feature.
    panel: Panel,
    /// The same, point by point.
    entries: Vec<f64>,
    squared_norms: Vec<f64>,
    /// The points after the maps of kernels that map some of their columns first.
    mapped: Vec<MappedSet>,
}

/// Points after a map of some of their columns, and the kernel whose map it is.
#[derive(Clone, Debug)]
struct MappedSet {
    by: Arc<Mapped>,
    columns: Columns,
    points: PointSet,
}

impl PointSet {
    /// An empty set of points with `width` features.
    #[must_use]
    pub fn new(width: usize) -> Self {
        Self {
            panel: Panel::zeros(0, width),
            entries: Vec::new(),
            squared_norms: Vec::new(),
            mapped: Vec::new(),
        }
    }

    /// An empty set of points with `width` features, which are mapped as this kernel maps them when they
    /// enter, not each time they are compared.
    #[must_use]
    pub fn seen_by(kernel: &Kernel, width: usize) -> Self {
        let mut set = Self::new(width);
        kernel.for_each_map(Columns { start: 0, width }, &mut |by, columns| {
            let points = Self::seen_by(&by.kernel, by.map.width());
            set.mapped.push(MappedSet { by: Arc::clone(by), columns, points });
        });
        set
    }

    /// The points after the map of some of their columns.
    pub(super) fn mapped(&self, by: &Arc<Mapped>, columns: Columns) -> Cow<'_, Self> {
        let known = |set: &&MappedSet| Arc::ptr_eq(&set.by, by) && set.columns == columns;
        if let Some(set) = self.mapped.iter().find(known) {
            return Cow::Borrowed(&set.points);
        }
        let mut set = Self::seen_by(&by.kernel, by.map.width());
        let mut to = Vec::new();
        for i in 0..self.len() {
            by.map.apply(self.point_on(i, columns), &mut to);
            set.push(&to);
        }
        Cow::Owned(set)
    }

    /// The rows of an array as points.
    pub(crate) fn gather(rows: ArrayView2<'_, f64>) -> Self {
        let mut set = Self::default();
        set.replace_all(rows);
        set
    }

    /// Replaces the points by the rows of an array.
    pub(crate) fn replace_all(&mut self, rows: ArrayView2<'_, f64>) {
        let Self { panel, entries, squared_norms, mapped } = self;
        entries.clear();
        match rows.as_slice() {
            Some(rows) => entries.extend_from_slice(rows),
            None => entries.extend(&rows),
        }
        panel.copy_from(rows);
        squared_norms.clear();
        squared_norms
            .extend((0..rows.nrows()).map(|i| squared_norm(&entries[i * rows.ncols()..][..rows.ncols()])));
        for MappedSet { by, columns, points } in mapped {
            points.truncate(0);
            entries.chunks_exact(rows.ncols()).for_each(|point| points.push(&by.map.of(columns.of(point))));
        }
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

    /// The points, one per row.
    #[must_use]
    pub fn panel(&self) -> &Panel {
        &self.panel
    }

    /// Appends a point.
    pub fn push(&mut self, point: &[f64]) {
        debug_assert_eq!(point.len(), self.width());
        self.panel.push_row(point.iter().copied());
        self.entries.extend_from_slice(point);
        self.squared_norms.push(squared_norm(point));
        for set in &mut self.mapped {
            set.points.push(&set.by.map.of(set.columns.of(point)));
        }
    }

    /// Point `i`.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    pub fn point(&self, i: usize) -> &[f64] {
        &self.entries[i * self.width()..(i + 1) * self.width()]
    }

    pub(super) fn point_on(&self, i: usize, columns: Columns) -> &[f64] {
        columns.of(self.point(i))
    }

    /// Replaces a point.
    ///
    /// # Panics
    ///
    /// If there is no such place.
    pub fn replace(&mut self, place: usize, point: &[f64]) {
        debug_assert_eq!(point.len(), self.width());
        for (feature, &value) in point.iter().enumerate() {
            self.panel.set(place, feature, value);
        }
        self.entries[place * point.len()..(place + 1) * point.len()].copy_from_slice(point);
        self.squared_norms[place] = squared_norm(point);
        for set in &mut self.mapped {
            set.points.replace(place, &set.by.map.of(set.columns.of(point)));
        }
    }

    /// Drops all but the first `len` points.
    pub fn truncate(&mut self, len: usize) {
        self.panel.truncate(len, self.width());
        self.entries.truncate(len * self.width());
        self.squared_norms.truncate(len);
        self.mapped.iter_mut().for_each(|set| set.points.truncate(len));
    }

    /// Compares `x` with every point by its columns from `start` on, as many as `x` has, into `out`, as
    /// long as there are points or padded.
    pub(super) fn compare(&self, comparison: Comparison, start: usize, x: &[f64], out: &mut [f64]) {
        let stride = self.panel.stride();
        let data = &self.panel.data()[start * stride..(start + x.len()) * stride];
        let compare = |data: &[f64], out: &mut [f64]| match comparison {
            Comparison::SquaredDistance => loops::squared_distances(data, stride, x, out),
            Comparison::ManhattanDistance => loops::manhattan_distances(data, stride, x, out),
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

    /// The point that is nearest to `x`, the first of several; 0 where there is none. `distances` is scratch, as long as
    /// there are points, padded.
    pub(crate) fn nearest(&self, x: &[f64], distances: &mut [f64]) -> usize {
        self.compare(Comparison::SquaredDistance, 0, x, distances);
        let all = distances[..self.len()].iter().enumerate();
        all.min_by(|a, b| a.1.total_cmp(b.1)).map_or(0, |(point, _)| point)
    }

    /// Squared norms of the points by some of their columns.
    fn squared_norms(&self, columns: Columns) -> Cow<'_, [f64]> {
        if columns.width == self.width() {
            return Cow::Borrowed(&self.squared_norms);
        }
        let mut norms = vec![0.0; self.len()];
        for k in columns.start..columns.start + columns.width {
            norms.iter_mut().zip(self.panel.col(k)).for_each(|(norm, v)| *norm += v * v);
        }
        Cow::Owned(norms)
    }

    /// Compares every point with each of `others`, by some of their columns: one column of `out` each,
    /// as long as [`compare`](Self::compare) wants it padded.
    ///
    /// By matrix products where there are more than `WIDE` columns and these help, and again directly where
    /// that would cancel.
    pub(super) fn compare_with(
        &self,
        comparison: Comparison,
        columns: Columns,
        others: &Self,
        out: &mut [f64],
    ) {
        if self.is_empty() || others.is_empty() {
            return;
        }
        let stride = padded(self.len());
        let each = out.chunks_exact_mut(stride).enumerate();
        if columns.width <= WIDE || comparison == Comparison::ManhattanDistance {
            each.for_each(|(j, to)| self.compare(comparison, columns.start, others.point_on(j, columns), to));
            return;
        }
        let to = MatMut::from_column_major_slice_mut(out, stride, others.len());
        let (own, other) = (self.panel.as_faer(), others.panel.as_faer());
        matmul(
            to.subrows_mut(0, self.len()),
            Accum::Replace,
            own.subcols(columns.start, columns.width),
            other.subcols(columns.start, columns.width).transpose(),
            1.0,
            Par::Seq,
        );
        if comparison == Comparison::SquaredDistance {
            let (own, other) = (self.squared_norms(columns), others.squared_norms(columns));
            for ((j, to), norm) in out.chunks_exact_mut(stride).enumerate().zip(&*other) {
                self.products_to_distances(
                    columns,
                    others.point_on(j, columns),
                    *norm,
                    &own,
                    &mut to[..own.len()],
                );
            }
        }
    }

    /// Turns inner products of `x` with every point, by some of their columns, into squared
    /// distances; `own` are the [`squared_norms`](Self::squared_norms) of these columns.
    fn products_to_distances(
        &self,
        columns: Columns,
        x: &[f64],
        squared_norm: f64,
        own: &[f64],
        values: &mut [f64],
    ) {
        if loops::products_to_distances(own, squared_norm, CANCELLATION, values) {
            return;
        }
        let is_lost = |value: f64, own: f64| value < CANCELLATION * (squared_norm + own);
        for (group, (values, own)) in values.chunks_mut(LANES).zip(own.chunks(LANES)).enumerate() {
            // Most groups have none: evaluated without branches, by vector instructions.
            if !values.iter().zip(own).fold(false, |any, (value, own)| any | is_lost(*value, *own)) {
                continue;
            }
            for (j, (value, own)) in values.iter_mut().zip(own).enumerate() {
                if is_lost(*value, *own) {
                    *value = loops::squared_distance(x, self.point_on(group * LANES + j, columns));
                }
            }
        }
    }
}

fn squared_norm(point: &[f64]) -> f64 {
    point.iter().map(|v| v * v).sum()
}
