//! Nested features: the coordinates `z = L^{-1} k(x)` of a point in a growing dictionary.

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, Axis};

use crate::error::{Error, Result};
use crate::kernel::{Kernel, KernelSpec, PointSet};
use crate::linalg::{
    Coordinates, GrowingCholesky, Panel, Scratch, loops, own_coordinate, padded, with_scratch,
};
use crate::persist::{Reader, Writer};
use crate::random;
use crate::validate::check_row;

/// A dictionary of points and the Cholesky factor of its Gram matrix with a [nugget](crate::linalg::nugget()) on the
/// diagonal, `K + D = L L'`.
///
/// A point's coordinates are `z = L^{-1} k(x)`. Their inner products are the kernel of the points'
/// projections on the dictionary's span (the Nystrom features of Li and Liao, 2023, section 4.2, up
/// to a rotation). Appending a point changes no coordinates: the new coordinate of older points is
/// zero. There is no SVD and no change of basis; appending costs `m` numbers instead of the papers'
/// `O(m^3)`.
#[derive(Clone, Debug)]
pub struct NestedFeatures {
    kernel: Kernel,
    points: PointSet,
    factor: GrowingCholesky,
    /// Addition to each point's similarity to itself: 0, or the noise of the point.
    noise: f64,
}

/// Largest difference between entries of the Gram matrix and of its factor's product, as a share of
/// them: far above rounding.
const UNLIKE: f64 = 1e-6;

/// Seed of the signs by which a factor is checked.
const SIGNS: u64 = 0x7369_676e;

/// Position of a point relative to a dictionary.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Projection {
    /// `k(x, x)`
    pub similarity: f64,
    /// Squared distance to the dictionary's span in the feature space: `k(x, x) - |z|^2`, not
    /// negative.
    pub residual: f64,
}

/// Largest share of `k(x, x)` by which rounding may make the squared norm of coordinates exceed it.
const ROUNDING: f64 = 1e-9;

impl Projection {
    /// The position of a row from its similarity to itself and the squared norm of its coordinates.
    #[must_use]
    pub fn of(similarity: f64, squared_norm: f64) -> Self {
        Self { similarity, residual: (similarity - squared_norm).max(0.0) }
    }

    /// Refuses coordinates `z` whose squared norm exceeds `k(x, x)` by more than rounding, which is
    /// impossible for a positive definite kernel: see [`nugget`](crate::linalg::nugget()). The row
    /// is the first of its call.
    pub(crate) fn check_bound(&self, z: impl Iterator<Item = f64>) -> Result<()> {
        let is_bounded = self.residual > 0.0
            || z.map(|value| value * value).sum::<f64>() <= (1.0 + ROUNDING) * self.similarity;
        if is_bounded { Ok(()) } else { Err(Error::Unbounded { row: 0 }) }
    }

    /// The residual as a share of `k(x, x)`, between 0 and 1.
    #[must_use]
    pub fn relative_residual(&self) -> f64 {
        if self.similarity > 0.0 { self.residual / self.similarity } else { 0.0 }
    }

    /// Novelty of the point: the share of it that the dictionary does not explain, at most 1.
    #[must_use]
    pub fn novelty(&self) -> f64 {
        self.relative_residual().min(1.0)
    }
}

impl NestedFeatures {
    /// An empty dictionary of points with `width` features.
    #[must_use]
    pub fn new(kernel: Kernel, width: usize) -> Self {
        let points = PointSet::seen_by(&kernel, width);
        Self { points, kernel, factor: GrowingCholesky::default(), noise: 0.0 }
    }

    /// A dictionary from its points and its factor; `None` if they do not agree.
    #[must_use]
    pub fn from_parts(kernel: Kernel, points: PointSet, factor: GrowingCholesky) -> Option<Self> {
        (points.len() == factor.dim()).then_some(Self { kernel, points, factor, noise: 0.0 })
    }

    /// The same for points with noise: the factor is that of the Gram matrix plus `noise` on its
    /// diagonal, so a repeated point is not fully explained either.
    pub(crate) fn with_noise(self, noise: f64) -> Self {
        Self { noise, ..self }
    }

    /// Squared norm of a stored point's coordinates.
    pub(crate) fn similarity(&self, x: &[f64]) -> f64 {
        self.kernel.diag(x) + self.noise
    }

    /// Reserves memory for this many points.
    pub(crate) fn expect(&mut self, most: usize) {
        self.factor.expect(most);
    }

    /// Number of points, and of coordinates.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.points.len()
    }

    /// The kernel.
    #[must_use]
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The stored points.
    #[must_use]
    pub fn points(&self) -> &PointSet {
        &self.points
    }

    /// The factor of the Gram matrix.
    #[must_use]
    pub fn factor(&self) -> &GrowingCholesky {
        &self.factor
    }

    /// Coordinates of `x`, into `z`. O(m d + m^2).
    pub fn project(&self, x: &[f64], z: &mut Coordinates) -> Projection {
        let (values, scratch) = z.prepare(self.dim());
        self.kernel.row(&self.points, x, values, scratch);
        self.factor.solve(values);
        let similarity = self.similarity(x);
        Projection::of(similarity, z.squared_norm())
    }

    /// Makes `x` a point of the dictionary, given its [`project`](Self::project)ion, whose similarity
    /// must be positive; its own new coordinate is appended to `z`. O(m + d), amortised.
    pub fn append(&mut self, x: &[f64], z: &mut Coordinates, projection: &Projection) {
        let own = self.factor.append(z.as_slice(), projection.residual, projection.similarity);
        self.points.push(x);
        z.push(own);
    }

    /// The coordinate that a row would add as the next point.
    #[must_use]
    pub fn own_coordinate(&self, projection: &Projection) -> f64 {
        own_coordinate(self.dim(), projection.residual, projection.similarity)
    }

    /// Appends the points that `longer` has in addition, if it began as a copy of this dictionary.
    /// O(m) each, instead of O(m^2) for new coordinates.
    pub(crate) fn follow(&mut self, longer: &Self) {
        (self.dim()..longer.dim()).for_each(|i| self.points.push(longer.points.point(i)));
        self.factor.follow(&longer.factor);
    }

    /// The value of the latest coordinate at points whose earlier coordinates are known, `(x,
    /// before)`: one number each, into `out`. O(d + m) each.
    pub(crate) fn newest_coordinate(
        &self,
        rows: &mut dyn Iterator<Item = (&[f64], &[f64])>,
        out: &mut Vec<f64>,
    ) {
        let Some(last) = self.dim().checked_sub(1) else { return };
        let point = self.points.point(last);
        let row: Vec<f64> = (0..last).map(|j| self.factor.factor().get(last, j)).collect();
        let pivot = self.factor.factor().get(last, last);
        out.clear();
        out.extend(rows.map(|(x, before)| {
            let known: f64 = row.iter().zip(before).map(|(a, b)| a * b).sum();
            (self.kernel.eval(point, x) - known) / pivot
        }));
    }

    /// Coordinates of a block of rows, into `z` (b, dim), with each one's projection. O(b m (d + m)), by
    /// matrix products.
    pub(crate) fn project_block(&self, rows: &PointSet, z: &mut Panel) -> Vec<Projection> {
        self.solve_rows(rows, z);
        let projection = |(i, within): (usize, f64)| Projection::of(self.similarity(rows.point(i)), within);
        z.squared_norms_of_rows().into_iter().enumerate().map(projection).collect()
    }

    /// Coordinates of rows (b, dim). O(b m (d + m)), by matrix products.
    pub(crate) fn coordinates(&self, rows: ArrayView2<'_, f64>) -> Panel {
        let mut z = Panel::default();
        self.solve_rows(&PointSet::gather(rows), &mut z);
        z
    }

    fn solve_rows(&self, rows: &PointSet, z: &mut Panel) {
        if rows.len() == 1 {
            // The solve for many rows takes four times as long as that for one.
            return with_scratch(|row| {
                self.project(rows.point(0), row);
                z.reshape(1, self.dim());
                z.set_row(0, row.as_slice());
            });
        }
        self.kernel.block(rows, &self.points, z);
        self.factor.solve_block(z.as_faer_mut().transpose_mut());
    }

    /// From weights on coordinates to coefficients on points: `L^{-T} w`, a column each. O(m^2).
    pub(crate) fn coefficients(&self, weights: &Panel) -> Panel {
        let mut out = weights.clone();
        (0..out.cols()).for_each(|c| self.factor.solve_transposed(out.col_mut(c)));
        out
    }

    /// Gradients with respect to rows `x` (n, d) of the functions that have these weights on coordinates, one a
    /// column (n, columns, d). O(n m d + m^2).
    pub(crate) fn gradient(&self, x: ArrayView2<'_, f64>, weights: &Panel) -> Array3<f64> {
        let coefficients = self.coefficients(weights);
        let mut out = Array3::zeros((x.nrows(), weights.cols(), x.ncols()));
        let mut gradient = vec![0.0; x.ncols()];
        for (x, mut out) in x.rows().into_iter().zip(out.outer_iter_mut()) {
            let x = x.to_vec();
            for (c, mut out) in out.axis_iter_mut(Axis(0)).enumerate() {
                gradient.fill(0.0);
                let a = &coefficients.col(c)[..self.dim()];
                self.kernel.add_gradient(&self.points, &x, a, &mut gradient);
                out.iter_mut().zip(&gradient).for_each(|(to, from)| *to = *from);
            }
        }
        out
    }

    /// Gradients with respect to rows `x` (n, d) of the squared norms of their coordinates (n, d). O(n (m d + m^2)), by
    /// matrix products.
    pub(crate) fn squared_norm_gradient(&self, x: ArrayView2<'_, f64>) -> Array2<f64> {
        // d|z|^2 = 2 (K^{-1} k)' dk for |z|^2 = k'K^{-1}k.
        let mut coefficients = self.coordinates(x);
        self.factor.solve_transposed_block(coefficients.as_faer_mut().transpose_mut());
        let mut out = Array2::zeros(x.raw_dim());
        let mut gradient = vec![0.0; x.ncols()];
        for (i, (x, mut out)) in x.rows().into_iter().zip(out.rows_mut()).enumerate() {
            let a: Vec<f64> = coefficients.row(i).map(|a| 2.0 * a).collect();
            gradient.fill(0.0);
            self.kernel.add_gradient(&self.points, &x.to_vec(), &a, &mut gradient);
            out.assign(&ArrayView1::from(&gradient));
        }
        out
    }

    /// Writes the points and the factor as `name.points` and `name.factor`.
    pub(crate) fn write(&self, out: &mut Writer, name: &str) {
        let (m, width) = (self.dim(), self.points.width());
        out.matrix(&format!("{name}.points"), m, width, &self.points.panel().to_row_major());
        out.lower(&format!("{name}.factor"), m, &self.factor.factor().to_row_major());
    }

    /// Reads the output of [`write`](Self::write) for points with this noise. The kernel is
    /// resolved for the width found.
    pub(crate) fn read(from: &Reader<'_>, name: &str, kernel: &KernelSpec, noise: f64) -> Result<Self> {
        let (m, width, points) = from.matrix(&format!("{name}.points"))?;
        let (dim, factor) = from.lower(&format!("{name}.factor"), false)?;
        // Left out of a compact file, which is larger for the learner's matrix of this size.
        let is_left_out = dim == 0 && m > 0 && m.saturating_mul(m) <= from.length();
        if width == 0 || dim != m && !is_left_out {
            return Err(Error::file(format!("the sizes of {name}.points and {name}.factor do not fit")));
        }
        let factor = GrowingCholesky::from_row_major(&factor, dim)
            .ok_or_else(|| Error::file(format!("{name}.factor is not a Cholesky factor")))?;
        let kernel = kernel.resolve(width)?;
        let mut set = PointSet::seen_by(&kernel, width);
        points.chunks_exact(width).for_each(|point| set.push(point));
        for (i, point) in points.chunks_exact(width).enumerate() {
            check_row(&kernel, "a stored point", i, point)?;
        }
        let mut features = Self { kernel, points: set, factor, noise };
        if is_left_out {
            features.factorize(&points);
        }
        if features.is_factored() {
            Ok(features)
        } else {
            Err(Error::file(format!("{name}.factor is not that of {name}.points")))
        }
    }

    /// Computes the factor again, as the points were appended. O(m^3).
    fn factorize(&mut self, points: &[f64]) {
        let (width, mut z) = (self.points.width(), Coordinates::default());
        self.truncate(0);
        for point in points.chunks_exact(width) {
            let projection = self.project(point, &mut z);
            self.append(point, &mut z, &projection);
        }
    }

    /// Whether the factor is that of the points' Gram matrix: compares the diagonals, and the
    /// products with a vector of random signs. O(m (d + m)).
    fn is_factored(&self) -> bool {
        let m = self.dim();
        let sign = |i: usize| if random::uniform(SIGNS, i as u64) < 0.5 { -1.0 } else { 1.0 };
        let mut signs: Vec<f64> = (0..m).map(sign).collect();
        signs.resize(padded(m), 0.0);
        let squared_norms = self.factor.factor().squared_norms_of_rows();
        let (mut row, mut scratch) = (vec![0.0; padded(m)], Scratch::default());
        let made = self.factor.times_own_transpose(&signs);
        let (mut gap, mut size) = (0.0, 0.0);
        for i in 0..m {
            let point = self.points.point(i);
            let similarity = self.similarity(point);
            if (squared_norms[i] - similarity).abs() > UNLIKE * similarity {
                return false;
            }
            self.kernel.row(&self.points, point, &mut row, &mut scratch);
            let right = loops::dot(&row, &signs) + self.noise * signs[i];
            gap += (right - made[i]).powi(2);
            size += similarity * similarity;
        }
        gap <= (UNLIKE * UNLIKE) * m as f64 * size
    }

    /// Drops all but the first `dim` points.
    pub fn truncate(&mut self, dim: usize) {
        self.points.truncate(dim);
        self.factor.truncate(dim);
    }
}
