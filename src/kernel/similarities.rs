//! Many similarities at once: of one row, or a block of rows, to all points of a set.

use std::sync::Arc;

use ndarray::ArrayView2;

use super::points::{Columns, PointSet};
use super::shape::{Comparison, Shape};
use super::terms::{Form, Kernel, Mapped, Product};
use super::vector::scale;
use crate::linalg::{LANES, Panel, Scratch, padded};

impl Kernel {
    /// Calls `act` with each map that comes before this kernel compares points, and the columns it takes.
    pub(super) fn for_each_map(&self, columns: Columns, act: &mut impl FnMut(&Arc<Mapped>, Columns)) {
        for term in &self.terms {
            match &term.form {
                Form::Shape(_) => {}
                Form::Mapped(mapped) => act(mapped, columns),
                Form::Product(kernels) => {
                    let (first, second) = kernels.split(columns);
                    kernels.first.for_each_map(first, act);
                    kernels.second.for_each_map(second, act);
                }
            }
        }
    }

    /// Similarities of `x` to every point of `set`, into `out`, as long as there are points. O(m d).
    ///
    /// # Panics
    ///
    /// If `out` is too short, or `x` has another width than the points.
    pub fn similarities(&self, set: &PointSet, x: &[f64], out: &mut [f64]) {
        assert_eq!(x.len(), set.width(), "points and rows have the same width");
        self.row(set, x, &mut out[..set.len()], &mut Scratch::default());
    }

    /// Similarities of every row (b, d) to every point of `set`: (b, m). O(b m d).
    ///
    /// # Panics
    ///
    /// If the rows have another width than the points.
    #[must_use]
    pub fn similarities_of_rows(&self, set: &PointSet, rows: ArrayView2<'_, f64>) -> Panel {
        assert_eq!(rows.ncols(), set.width(), "points and rows have the same width");
        let mut out = Panel::default();
        self.block(&PointSet::gather(rows), set, &mut out);
        out
    }

    /// Similarities of `x` to every point of `set`, into the first `set.len()` numbers of `out`,
    /// zeros after them. O(m d). Faster where `out` is padded.
    pub(crate) fn row(&self, set: &PointSet, x: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        self.row_on(set, Columns { start: 0, width: x.len() }, x, out, scratch);
    }

    /// [`row`](Self::row) by some of the columns of `set`; `x` has these columns only.
    fn row_on(&self, set: &PointSet, columns: Columns, x: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let computed = out.len().min(padded(set.len()));
        self.sum_of_terms(
            &mut out[..computed],
            scratch,
            |comparison, to| set.compare(comparison, columns.start, x, to),
            |form, to, scratch| match form {
                Form::Shape(_) => {}
                Form::Product(kernels) => kernels.row(set, columns, x, to, scratch),
                Form::Mapped(mapped) => {
                    let (x_mapped, inner) = scratch.nested();
                    mapped.map.apply(x, x_mapped);
                    let (seen, columns) = (set.mapped(mapped, columns), mapped.columns());
                    mapped.kernel.row_on(&seen, columns, x_mapped, to, inner);
                }
            },
        );
        out[set.len()..].fill(0.0);
    }

    /// The sum of the terms, into `out`, given the comparisons and the values of other kernels that they
    /// ask for.
    fn sum_of_terms(
        &self,
        out: &mut [f64],
        scratch: &mut Scratch,
        compare: impl Fn(Comparison, &mut [f64]),
        of_kernels: impl Fn(&Form, &mut [f64], &mut Scratch),
    ) {
        if let [term] = self.terms.as_slice() {
            match &term.form {
                Form::Shape(shape) => {
                    compare(shape.comparison(), out);
                    shape.apply(out);
                }
                form => of_kernels(form, out, scratch),
            }
            scale(out, term.weight);
            return;
        }
        let add = |weight: f64, values: &[f64], out: &mut [f64]| {
            out.iter_mut().zip(values).for_each(|(total, value)| *total += weight * value);
        };
        scratch.first.resize(out.len(), 0.0);
        scratch.second.resize(out.len(), 0.0);
        out.fill(0.0);
        for comparison in Comparison::ALL {
            if self.terms.iter().all(|term| term.shape_of(comparison).is_none()) {
                continue;
            }
            compare(comparison, &mut scratch.first);
            for term in &self.terms {
                let Some(shape) = term.shape_of(comparison) else { continue };
                scratch.second.copy_from_slice(&scratch.first);
                shape.apply(&mut scratch.second);
                add(term.weight, &scratch.second, out);
            }
        }
        for term in &self.terms {
            if matches!(term.form, Form::Shape(_)) {
                continue;
            }
            let mut values = std::mem::take(&mut scratch.second);
            of_kernels(&term.form, &mut values, scratch);
            add(term.weight, &values, out);
            scratch.second = values;
        }
    }

    /// Similarities of every row (b, d) to every point (m, d), into `out` (b, m).
    ///
    /// Narrow rows are compared directly: the same to the bit as [`row`](Self::row). Wide ones are
    /// compared by one matrix product, and again directly where it would cancel: the same up to
    /// 1e-12 of the largest similarity.
    pub(crate) fn block(&self, rows: &PointSet, points: &PointSet, out: &mut Panel) {
        let (columns, to) = room(rows, points, out);
        self.block_on(rows, points, columns, to, &mut Scratch::default());
        out.clear_padding();
    }

    /// How rows (b, d) and points (m, d) compare, into `out` (b, m), if this kernel is a function of nothing else: others of
    /// the same family are functions [of the same](Self::of_comparisons).
    pub(crate) fn compare_block(&self, rows: &PointSet, points: &PointSet, out: &mut Panel) -> bool {
        let Some((shape, _)) = self.one_shape() else { return false };
        let (columns, to) = room(rows, points, out);
        rows.compare_with(shape.comparison(), columns, points, to);
        true
    }

    /// [`block`](Self::block), given what [`compare_block`](Self::compare_block) wrote; of a square one only what is on and
    /// below the diagonal, if the rest is not asked for.
    pub(crate) fn of_comparisons(&self, comparisons: &Panel, lower: bool, out: &mut Panel) {
        let Some((shape, weight)) = self.one_shape() else { return };
        out.reshape(comparisons.rows(), comparisons.cols());
        for j in 0..comparisons.cols() {
            let from = if lower { j - j % LANES } else { 0 };
            let values = &mut out.col_mut(j)[from..];
            values.copy_from_slice(&comparisons.col(j)[from..]);
            shape.apply(values);
            scale(values, weight);
        }
        out.clear_padding();
    }

    /// The shape that this kernel is, times its weight, if it is one.
    fn one_shape(&self) -> Option<(&dyn Shape, f64)> {
        let [term] = self.terms.as_slice() else { return None };
        let Form::Shape(shape) = &term.form else { return None };
        Some((shape.as_ref(), term.weight))
    }

    /// [`block`](Self::block) by some of the columns of both, into columns that are padded.
    fn block_on(
        &self,
        rows: &PointSet,
        points: &PointSet,
        columns: Columns,
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        self.sum_of_terms(
            out,
            scratch,
            |comparison, to| rows.compare_with(comparison, columns, points, to),
            |form, to, scratch| match form {
                Form::Shape(_) => {}
                Form::Product(kernels) => kernels.block(rows, points, columns, to, scratch),
                Form::Mapped(mapped) => {
                    let (rows, points) = (rows.mapped(mapped, columns), points.mapped(mapped, columns));
                    mapped.kernel.block_on(&rows, &points, mapped.columns(), to, scratch.nested().1);
                }
            },
        );
    }
}

impl Mapped {
    /// All columns of a point that is mapped.
    pub(super) fn columns(&self) -> Columns {
        Columns { start: 0, width: self.map.width() }
    }
}

impl Product {
    /// The columns that the first kernel sees, and the second.
    pub(super) fn split(&self, columns: Columns) -> (Columns, Columns) {
        let Columns { start, width } = columns;
        let Some(split) = self.split.map(|split| split.min(width)) else { return (columns, columns) };
        (Columns { start, width: split }, Columns { start: start + split, width: width - split })
    }

    /// As [`Kernel::row_on`].
    fn row(&self, set: &PointSet, columns: Columns, x: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let (first, second) = self.split(columns);
        let (other, inner) = scratch.nested();
        let (x_first, x_second) = self.parts(x);
        self.first.row_on(set, first, x_first, out, inner);
        other.resize(padded(set.len()), 0.0);
        self.second.row_on(set, second, x_second, other, inner);
        multiply(out, other);
    }

    /// As [`Kernel::block_on`].
    fn block(
        &self,
        rows: &PointSet,
        points: &PointSet,
        columns: Columns,
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let (first, second) = self.split(columns);
        let (other, inner) = scratch.nested();
        self.first.block_on(rows, points, first, out, inner);
        other.resize(out.len(), 0.0);
        self.second.block_on(rows, points, second, other, inner);
        multiply(out, other);
    }
}

/// All columns of rows, and room in `out` for a number for each row and point, in columns that are padded.
fn room<'a>(rows: &PointSet, points: &PointSet, out: &'a mut Panel) -> (Columns, &'a mut [f64]) {
    out.reshape(rows.len(), points.len());
    let computed = points.len() * out.stride();
    (Columns { start: 0, width: rows.width() }, &mut out.data_mut()[..computed])
}

fn multiply(values: &mut [f64], factors: &[f64]) {
    values.iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
}
