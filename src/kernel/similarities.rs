//! Many similarities at once: of one row, or a block of rows, to all points of a set.

use ndarray::ArrayView2;

use super::product::Product;
use super::{Comparison, Form, Kernel, Part, PointSet};
use crate::linalg::{Panel, Scratch, padded};

impl Kernel {
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
        self.row_on(set, Part { start: 0, width: x.len() }, x, out, scratch);
    }

    /// [`row`](Self::row) by a part of the columns of `set`; `x` has these columns only.
    pub(super) fn row_on(
        &self,
        set: &PointSet,
        part: Part,
        x: &[f64],
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let computed = out.len().min(padded(set.len()));
        self.sum_of_terms(
            &mut out[..computed],
            scratch,
            |comparison, to| set.compare(comparison, part.start, x, to),
            |kernels, to, scratch| kernels.row(set, part, x, to, scratch),
        );
        out[set.len()..].fill(0.0);
    }

    /// The sum of the terms, into `out`, given the comparisons and the products that they ask for.
    fn sum_of_terms(
        &self,
        out: &mut [f64],
        scratch: &mut Scratch,
        compare: impl Fn(Comparison, &mut [f64]),
        of_product: impl Fn(&Product, &mut [f64], &mut Scratch),
    ) {
        if let [term] = self.terms.as_slice() {
            match &term.form {
                Form::Shape(shape) => {
                    compare(shape.comparison(), out);
                    shape.apply(out);
                }
                Form::Product(kernels) => of_product(kernels, out, scratch),
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
        for comparison in [Comparison::SquaredDistance, Comparison::InnerProduct] {
            if !self.compares(comparison) {
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
            let Form::Product(kernels) = &term.form else { continue };
            let mut values = std::mem::take(&mut scratch.second);
            of_product(kernels, &mut values, scratch);
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
        out.reshape(rows.len(), points.len());
        let columns = points.len() * out.stride();
        let part = Part { start: 0, width: rows.width() };
        self.block_on(rows, points, part, &mut out.data_mut()[..columns], &mut Scratch::default());
        out.clear_padding();
    }

    /// [`block`](Self::block) by a part of the columns of both, into columns that are padded.
    pub(super) fn block_on(
        &self,
        rows: &PointSet,
        points: &PointSet,
        part: Part,
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        self.sum_of_terms(
            out,
            scratch,
            |comparison, to| rows.compare_with(comparison, part, points, to),
            |kernels, to, scratch| kernels.block(rows, points, part, to, scratch),
        );
    }
}

/// Multiplies by a weight, which is mostly 1.
fn scale(values: &mut [f64], weight: f64) {
    if weight.to_bits() != 1.0_f64.to_bits() {
        for v in values {
            *v *= weight;
        }
    }
}
