//! Many similarities at once: of one row, or a block of rows, to all points of a set.

use faer::linalg::matmul::matmul;
use faer::prelude::ReborrowMut;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use ndarray::ArrayView2;

use super::product::Product;
use super::{Comparison, Form, Kernel, Part, PointSet};
use crate::linalg::{Scratch, padded};

/// Rows with more features than this are compared with the points by matrix products (measured: see
/// `benches/kernel.rs`).
pub(super) const WIDE: usize = 24;

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

    /// Similarities of every row (b, d) to every point of `set` (m, b). O(b m d).
    ///
    /// # Panics
    ///
    /// If the rows have another width than the points.
    #[must_use]
    pub fn similarities_of_rows(&self, set: &PointSet, rows: ArrayView2<'_, f64>) -> Mat<f64> {
        assert_eq!(rows.ncols(), set.width(), "points and rows have the same width");
        let mut out = Mat::zeros(set.len(), rows.nrows());
        self.block(set, &Block::gather(rows), out.as_mut());
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

    /// Similarities of every row of `x` (b, d) to every point of `set`, into `out` (m, b).
    ///
    /// Narrow rows are compared one by one: the same to the bit as [`row`](Self::row). Wide ones are
    /// compared by one matrix product, and again directly where it would cancel: the same up to
    /// 1e-12 of the largest similarity.
    pub(crate) fn block(&self, set: &PointSet, x: &Block, out: MatMut<'_, f64>) {
        self.block_on(set, Part { start: 0, width: x.width }, x, out);
    }

    /// [`block`](Self::block) by a part of the columns of both.
    pub(super) fn block_on(&self, set: &PointSet, part: Part, x: &Block, mut out: MatMut<'_, f64>) {
        if set.is_empty() {
            return;
        }
        let mut scratch = Scratch::default();
        if part.width <= WIDE {
            for (i, column) in columns_of(out).enumerate() {
                self.row_on(set, part, x.row_on(i, part), column, &mut scratch);
            }
            return;
        }
        matmul(
            out.rb_mut(),
            Accum::Replace,
            set.panel().as_faer().subcols(part.start, part.width),
            x.columns().subrows(part.start, part.width),
            1.0,
            Par::Seq,
        );
        let own = set.squared_norms(part);
        let mut products = vec![0.0; set.len()];
        for (i, column) in columns_of(out.rb_mut()).enumerate() {
            products.copy_from_slice(column);
            let compare = |comparison, to: &mut [f64]| {
                to.copy_from_slice(&products);
                if comparison == Comparison::SquaredDistance {
                    set.products_to_distances(part, x.row_on(i, part), x.squared_norm_on(i, part), &own, to);
                }
            };
            self.sum_of_terms(column, &mut scratch, compare, |_, to, _| to.fill(0.0));
        }
        for term in &self.terms {
            let Form::Product(kernels) = &term.form else { continue };
            let mut values = Mat::zeros(out.nrows(), out.ncols());
            kernels.block(set, part, x, values.as_mut());
            for (column, values) in out.rb_mut().col_iter_mut().zip(values.col_iter()) {
                column.iter_mut().zip(values.iter()).for_each(|(total, v)| *total += term.weight * v);
            }
        }
    }
}

/// The columns of a matrix that is stored by columns.
fn columns_of(matrix: MatMut<'_, f64>) -> impl Iterator<Item = &mut [f64]> {
    matrix.col_iter_mut().map(|column| match column.try_as_col_major_mut() {
        Some(column) => column.as_slice_mut(),
        None => unreachable!("blocks are stored by columns"),
    })
}

/// Multiplies by a weight, which is mostly 1.
fn scale(values: &mut [f64], weight: f64) {
    if weight.to_bits() != 1.0_f64.to_bits() {
        for v in values {
            *v *= weight;
        }
    }
}

/// Rows gathered for a block operation: contiguous, with their squared norms.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    entries: Vec<f64>,
    squared_norms: Vec<f64>,
    width: usize,
}

impl Block {
    pub(crate) fn gather(rows: ArrayView2<'_, f64>) -> Self {
        let entries = rows.as_slice().map_or_else(|| rows.iter().copied().collect(), <[f64]>::to_vec);
        let width = rows.ncols();
        let squared_norms = (0..rows.nrows())
            .map(|i| entries[i * width..(i + 1) * width].iter().map(|v| v * v).sum())
            .collect();
        Self { entries, squared_norms, width }
    }

    pub(crate) fn len(&self) -> usize {
        self.squared_norms.len()
    }

    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.width..(i + 1) * self.width]
    }

    fn row_on(&self, i: usize, part: Part) -> &[f64] {
        &self.row(i)[part.start..part.start + part.width]
    }

    fn squared_norm_on(&self, i: usize, part: Part) -> f64 {
        if part.width == self.width {
            return self.squared_norms[i];
        }
        self.row_on(i, part).iter().map(|v| v * v).sum()
    }

    fn columns(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.entries, self.width, self.len())
    }
}
