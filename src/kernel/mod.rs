//! Similarities between points: kernels, one row against a set or a block against a set.
//!
//! Every kernel here is a non-negative weighted sum of *shapes*, and every shape is a function of
//! one comparison of two points: their squared distance or their inner product. The comparisons
//! are made once (one matrix product for a block) and each shape is applied to them. A term of the
//! sum may also be the product of two kernels that see different columns of a point.
//!
//! A new kernel is one file with a [`Shape`] and one line in [`KernelSpec`].

mod dot;
mod points;
mod product;
mod radial;
mod spec;
mod vector;

use std::sync::Arc;

use faer::linalg::matmul::matmul;
use faer::prelude::ReborrowMut;
use faer::{Accum, Mat, MatMut, MatRef, Par};
use ndarray::ArrayView2;

pub use dot::{Linear, Polynomial};
pub use points::PointSet;
use product::Product;
pub use radial::{Gaussian, Laplacian, Matern32, Matern52};
pub use spec::KernelSpec;

use crate::error::{Result, not_negative, positive};
use crate::linalg::{Scratch, padded};

/// Similarities are kept below this, so that no sum of products of them can overflow.
pub(crate) const LARGEST: f64 = 1e50;

/// Rows with more features than this are compared with the points by matrix products (measured: see
/// `benches/kernel.rs`).
const WIDE: usize = 24;

/// What a shape is a function of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `|x - y|^2`
    SquaredDistance,
    /// `x . y`
    InnerProduct,
}

/// A positive definite function of one comparison of two points.
pub trait Shape: std::fmt::Debug + Send + Sync {
    /// What it is a function of.
    fn comparison(&self) -> Comparison;

    /// Turns comparisons into similarities, in place.
    fn apply(&self, values: &mut [f64]);
}

#[derive(Clone, Debug)]
struct Term {
    weight: f64,
    form: Form,
    /// The similarity of a point to itself, if it is the same for all.
    own: Option<f64>,
}

#[derive(Clone, Debug)]
enum Form {
    Shape(Arc<dyn Shape>),
    Product(Arc<Product>),
}

impl Term {
    /// The shape, if it is one of this comparison.
    fn shape_of(&self, comparison: Comparison) -> Option<&dyn Shape> {
        match &self.form {
            Form::Shape(shape) if shape.comparison() == comparison => Some(shape.as_ref()),
            _ => None,
        }
    }
}

/// Some neighbouring columns of a point.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    width: usize,
}

/// A kernel ready to use: parameters checked, defaults resolved.
///
/// ```
/// use kernelstream::kernel::Kernel;
/// # fn main() -> kernelstream::Result<()> {
/// let kernel = Kernel::gaussian(0.4)?.times(0.4)?.plus(Kernel::gaussian(0.7)?.times(0.6)?);
/// assert!((kernel.between(&[1.0, 2.0], &[1.0, 2.0]) - 1.0).abs() < 1e-15);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Kernel {
    terms: Vec<Term>,
    spec: KernelSpec,
}

impl Kernel {
    /// `exp(-|x - y|^2 / (2 bandwidth^2))`
    pub fn gaussian(bandwidth: f64) -> Result<Self> {
        KernelSpec::Gaussian { bandwidth: Some(bandwidth) }.resolve(1)
    }

    /// `exp(-|x - y| / bandwidth)` with the Euclidean distance: the Matern kernel of order 1/2.
    pub fn laplacian(bandwidth: f64) -> Result<Self> {
        KernelSpec::Laplacian { bandwidth: Some(bandwidth) }.resolve(1)
    }

    /// `(1 + r) exp(-r)` with `r = sqrt(3) |x - y| / bandwidth`
    pub fn matern32(bandwidth: f64) -> Result<Self> {
        KernelSpec::Matern32 { bandwidth: Some(bandwidth) }.resolve(1)
    }

    /// `(1 + r + r^2 / 3) exp(-r)` with `r = sqrt(5) |x - y| / bandwidth`
    pub fn matern52(bandwidth: f64) -> Result<Self> {
        KernelSpec::Matern52 { bandwidth: Some(bandwidth) }.resolve(1)
    }

    /// `(scale x . y + offset)^degree`
    pub fn polynomial(degree: u32, scale: f64, offset: f64) -> Result<Self> {
        KernelSpec::Polynomial { degree, scale: Some(scale), offset }.resolve(1)
    }

    /// `x . y`
    #[must_use]
    pub fn linear() -> Self {
        Self::single(Arc::new(Linear), KernelSpec::Linear {})
    }

    /// `first(x_1, y_1) second(x_2, y_2)`, where the second kernel sees the last `second_width` columns
    /// of a point and the first one those before them, `first_width`.
    #[must_use]
    pub fn product(first: Self, first_width: usize, second: Self, second_width: usize) -> Self {
        let spec = KernelSpec::Product {
            first: Box::new(first.spec.clone()),
            second: Box::new(second.spec.clone()),
            second_width,
        };
        let form = Form::Product(Arc::new(Product { first, second, split: first_width }));
        Self { terms: vec![Term { weight: 1.0, form, own: None }], spec }
    }

    fn single(shape: Arc<dyn Shape>, spec: KernelSpec) -> Self {
        let own = (shape.comparison() == Comparison::SquaredDistance).then(|| {
            let mut value = [0.0];
            shape.apply(&mut value);
            value[0]
        });
        Self { terms: vec![Term { weight: 1.0, form: Form::Shape(shape), own }], spec }
    }

    /// This kernel multiplied by a non-negative weight.
    pub fn times(self, weight: f64) -> Result<Self> {
        Self::weighted_sum(vec![(weight, self)])
    }

    /// The sum of two kernels.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let (weights, kernels) = [self.spec, other.spec].into_iter().flat_map(KernelSpec::into_terms).unzip();
        Self {
            terms: self.terms.into_iter().chain(other.terms).collect(),
            spec: KernelSpec::Sum { weights, kernels },
        }
    }

    /// The sum of kernels, each multiplied by a non-negative weight; at least one is positive.
    pub fn weighted_sum(parts: Vec<(f64, Self)>) -> Result<Self> {
        let heaviest = parts.iter().fold(0.0_f64, |most, (weight, _)| most.max(*weight));
        positive("weights (the largest of a sum of kernels)", heaviest)?;
        let mut terms = Vec::new();
        let mut weights = Vec::new();
        let mut kernels = Vec::new();
        for (weight, kernel) in parts {
            not_negative("weights", weight)?;
            terms.extend(kernel.terms.into_iter().map(|term| Term { weight: weight * term.weight, ..term }));
            for (inner, spec) in kernel.spec.into_terms() {
                weights.push(weight * inner);
                kernels.push(spec);
            }
        }
        Ok(Self { terms, spec: KernelSpec::Sum { weights, kernels } })
    }

    /// How this kernel is written down.
    #[must_use]
    pub fn spec(&self) -> &KernelSpec {
        &self.spec
    }

    /// The similarity of two points of the same width.
    #[must_use]
    pub fn between(&self, x: &[f64], y: &[f64]) -> f64 {
        let product: f64 = x.iter().zip(y).map(|(a, b)| a * b).sum();
        let distance: f64 = x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum();
        self.of(distance, product, |kernels| kernels.between(x, y))
    }

    /// The similarity of a point to itself. O(d), or O(1) where it is the same for all points.
    #[must_use]
    pub fn own(&self, x: &[f64]) -> f64 {
        if let [Term { weight, own: Some(own), .. }] = self.terms.as_slice() {
            return weight * own;
        }
        self.of(0.0, x.iter().map(|v| v * v).sum(), |kernels| kernels.own(x))
    }

    fn of(&self, distance: f64, product: f64, of_product: impl Fn(&Product) -> f64) -> f64 {
        let of_term = |term: &Term| match &term.form {
            Form::Shape(shape) => {
                let mut value = [match shape.comparison() {
                    Comparison::SquaredDistance => distance,
                    Comparison::InnerProduct => product,
                }];
                shape.apply(&mut value);
                value[0]
            }
            Form::Product(kernels) => of_product(kernels),
        };
        self.terms.iter().map(|term| term.weight * of_term(term)).sum()
    }

    fn compares(&self, comparison: Comparison) -> bool {
        self.terms.iter().any(|term| term.shape_of(comparison).is_some())
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
    fn row_on(&self, set: &PointSet, part: Part, x: &[f64], out: &mut [f64], scratch: &mut Scratch) {
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
    fn block_on(&self, set: &PointSet, part: Part, x: &Block, mut out: MatMut<'_, f64>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::Array2;
    use proptest::prelude::*;

    fn kernels() -> Vec<Kernel> {
        vec![
            Kernel::gaussian(1.3).unwrap(),
            Kernel::laplacian(0.9).unwrap(),
            Kernel::matern32(1.1).unwrap(),
            Kernel::matern52(0.7).unwrap(),
            Kernel::polynomial(3, 0.5, 1.0).unwrap(),
            Kernel::linear(),
            Kernel::gaussian(0.4)
                .unwrap()
                .times(0.4)
                .unwrap()
                .plus(Kernel::linear().times(0.6).unwrap())
                .plus(Kernel::matern32(2.0).unwrap()),
        ]
    }

    /// A product by itself and one in a sum, for points whose last `last` columns are seen by the second.
    fn products(d: usize, last: usize) -> Vec<Kernel> {
        let product = || {
            let first = Kernel::matern32(1.1).unwrap().plus(Kernel::linear());
            Kernel::product(first, d - last, Kernel::gaussian(1.3).unwrap(), last)
        };
        let sum = product().times(0.3).unwrap().plus(Kernel::gaussian(0.4).unwrap());
        vec![product(), product().times(0.5).unwrap(), sum]
    }

    /// The textbook formula of each kernel above, written out.
    fn textbook(which: usize, x: &[f64], y: &[f64]) -> f64 {
        let r2: f64 = x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum();
        let dot: f64 = x.iter().zip(y).map(|(a, b)| a * b).sum();
        let matern32 = |s: f64| {
            let r = 3_f64.sqrt() * r2.sqrt() / s;
            (1.0 + r) * (-r).exp()
        };
        match which {
            0 => (-r2 / (2.0 * 1.3 * 1.3)).exp(),
            1 => (-r2.sqrt() / 0.9).exp(),
            2 => matern32(1.1),
            3 => {
                let r = 5_f64.sqrt() * r2.sqrt() / 0.7;
                (1.0 + r + r * r / 3.0) * (-r).exp()
            }
            4 => (0.5 * dot + 1.0).powi(3),
            5 => dot,
            _ => 0.4 * (-r2 / (2.0 * 0.16)).exp() + 0.6 * dot + matern32(2.0),
        }
    }

    proptest! {
        #[test]
        fn row_block_pair_and_textbook_agree(
            m in 1_usize..20, b in 1_usize..12, d in 1_usize..7,
            offset in prop_oneof![Just(0.0), Just(1e4)],
            seed in prop::collection::vec(-1.0_f64..1.0, 300),
        ) {
            let at = |i: usize, k: usize| offset + seed[(i * 7 + k * 13) % 300];
            let points: Vec<Vec<f64>> = (0..m).map(|i| (0..d).map(|k| at(i, k)).collect()).collect();
            let x = Array2::from_shape_fn((b, d), |(i, k)| at(i + 31, k));
            let mut set = PointSet::new(d);
            for p in &points {
                set.push(p);
            }
            for (which, kernel) in kernels().iter().enumerate() {
                let mut out = faer::Mat::zeros(m, b);
                kernel.block(&set, &Block::gather(x.view()), out.as_mut());
                for i in 0..b {
                    let xi = x.row(i).to_vec();
                    let mut row = vec![0.0; crate::linalg::padded(m)];
                    kernel.row(&set, &xi, &mut row, &mut Scratch::default());
                    for j in 0..m {
                        let truth = textbook(which, &xi, &points[j]);
                        let scale = truth.abs().max(1.0);
                        prop_assert!((row[j] - truth).abs() < 1e-12 * scale, "row {which}");
                        prop_assert!((out[(j, i)] - truth).abs() < 1e-11 * scale, "block {which}");
                        prop_assert!((kernel.between(&xi, &points[j]) - truth).abs() < 1e-12 * scale);
                    }
                    prop_assert!(row[m..].iter().all(|&v| v == 0.0));
                    let own = kernel.between(&xi, &xi);
                    prop_assert!((kernel.own(&xi) - own).abs() <= 1e-12 * own.abs().max(1.0));
                }
            }
        }

        #[test]
        fn products_are_products_of_what_each_sees(
            m in 1_usize..20, b in 1_usize..12, d in 2_usize..7,
            seed in prop::collection::vec(-1.0_f64..1.0, 300),
        ) {
            let at = |i: usize, k: usize| seed[(i * 7 + k * 13) % 300];
            let points: Vec<Vec<f64>> = (0..m).map(|i| (0..d).map(|k| at(i, k)).collect()).collect();
            let x = Array2::from_shape_fn((b, d), |(i, k)| at(i + 31, k));
            let mut set = PointSet::new(d);
            for p in &points {
                set.push(p);
            }
            let last = 1 + d % (d - 1);
            for (which, kernel) in products(d, last).iter().enumerate() {
                let respelled = kernel.spec().resolve(d).unwrap();
                let mut out = faer::Mat::zeros(m, b);
                kernel.block(&set, &Block::gather(x.view()), out.as_mut());
                let mut scratch = Scratch::default();
                for i in 0..b {
                    let xi = x.row(i).to_vec();
                    let mut row = vec![0.0; crate::linalg::padded(m)];
                    kernel.row(&set, &xi, &mut row, &mut scratch);
                    for j in 0..m {
                        let (split, y) = (d - last, &points[j]);
                        let first = textbook(2, &xi[..split], &y[..split]) + textbook(5, &xi[..split], &y[..split]);
                        let product = first * textbook(0, &xi[split..], &y[split..]);
                        let r2: f64 = xi.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum();
                        let truth = match which {
                            0 => product,
                            1 => 0.5 * product,
                            _ => 0.3 * product + (-r2 / 0.32).exp(),
                        };
                        prop_assert!((row[j] - truth).abs() < 1e-12 * truth.abs().max(1.0), "row {which}");
                        prop_assert!((out[(j, i)] - truth).abs() < 1e-11, "block {which}");
                        prop_assert!((kernel.between(&xi, y) - truth).abs() < 1e-12);
                        prop_assert!((respelled.between(&xi, y) - truth).abs() < 1e-12);
                    }
                    prop_assert!(row[m..].iter().all(|&v| v == 0.0));
                    prop_assert!((kernel.own(&xi) - kernel.between(&xi, &xi)).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn a_block_equals_its_rows(
            m in 1_usize..70, b in 1_usize..6, d in prop_oneof![1_usize..12, Just(WIDE), WIDE + 1..130],
            offset in prop_oneof![Just(0.0), Just(30.0)],
            nearness in prop_oneof![Just(1.0), Just(1e-3), Just(0.0)],
            seed in prop::collection::vec(-1.0_f64..1.0, 700),
        ) {
            let at = |i: usize, k: usize| offset + seed[(i * 131 + k * 17) % 700];
            let mut set = PointSet::new(d);
            for i in 0..m {
                set.push(&(0..d).map(|k| at(i, k)).collect::<Vec<_>>());
            }
            // Some rows are near a point, or one: there a matrix product would cancel.
            let x = Array2::from_shape_fn((b, d), |(i, k)| at(i, k) + nearness * seed[i * d + k]);
            let wholes = if d > 1 { products(d, 1) } else { vec![] };
            for (which, kernel) in kernels().iter().chain(&wholes).enumerate() {
                let block = kernel.similarities_of_rows(&set, x.view());
                let mut row = vec![f64::NAN; m];
                for i in 0..b {
                    let xi = x.row(i).to_vec();
                    kernel.similarities(&set, &xi, &mut row);
                    let largest = kernel.own(&xi).abs().max(1.0);
                    for j in 0..m {
                        let (one, other) = (row[j], block[(j, i)]);
                        let point: Vec<f64> = (0..d).map(|k| at(j, k)).collect();
                        let pair = kernel.between(&xi, &point);
                        prop_assert!((one - pair).abs() <= 1e-12 * largest, "{which} {one} {pair}");
                        if d <= WIDE {
                            prop_assert_eq!(one.to_bits(), other.to_bits(), "narrow, {}", which);
                        } else {
                            prop_assert!((one - other).abs() <= 1e-12 * largest, "{which} {one} {other}");
                        }
                    }
                }
            }
        }

        #[test]
        fn gram_matrices_are_positive_semidefinite(
            seed in prop::collection::vec(-2.0_f64..2.0, 36),
        ) {
            for kernel in kernels().into_iter().chain(products(3, 1)) {
                let gram = faer::Mat::from_fn(12, 12, |i, j| {
                    kernel.between(&seed[3 * i..3 * i + 3], &seed[3 * j..3 * j + 3])
                });
                let values = gram.self_adjoint_eigenvalues(faer::Side::Lower).unwrap();
                let largest = values[values.len() - 1].max(1.0);
                prop_assert!(values[0] > -1e-12 * largest, "{kernel:?}: {}", values[0]);
            }
        }
    }

    #[test]
    fn bad_parameters_are_refused_by_name() {
        for (kernel, name) in [
            (Kernel::gaussian(0.0), "bandwidth"),
            (Kernel::matern52(f64::NAN), "bandwidth"),
            (Kernel::laplacian(-1.0), "bandwidth"),
            (Kernel::polynomial(0, 1.0, 0.0), "degree"),
            (Kernel::polynomial(2, 1.0, -1.0), "offset"),
            (Kernel::linear().times(-1.0), "weights"),
            (Kernel::weighted_sum(vec![]), "weights"),
        ] {
            let message = kernel.unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
        }
    }
}
