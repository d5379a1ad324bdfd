//! The inverse of a symmetric matrix that grows and receives low-rank additions.

use std::ops::Range;

use faer::linalg::matmul;
use faer::linalg::solvers::{DenseSolveCore as _, Llt, Solve as _};
use faer::prelude::ReborrowMut as _;
use faer::{Accum, Mat, MatMut, MatRef, Par, Side};

use super::divided;
use super::lanes::Lanes;
use super::loops::{self, LANES, padded};
use super::panel::Panel;

/// Columns of the inverse that meet a block of rows at once.
const SQUARE: usize = 64;

/// `P = A^{-1}` for a positive definite `A` that grows by coordinates and by `c v v'`.
///
/// Terms subtracted from `P` are products `u_i u_j` of one vector with itself, so `P` stays
/// symmetric to the last bit. (With `c p_i p_j` the skew part grows without bound under
/// forgetting.) One vector costs two passes over the lower triangle of `P`: one to read, one to write.
#[derive(Clone, Debug, Default)]
pub struct SymmetricInverse {
    /// On and below the diagonal, and in the squares of `LANES` on it. What is above them is not looked at.
    matrix: Panel,
    /// `sqrt(c) P v` of the latest update; kept here so that no row allocates.
    root: Lanes,
}

impl SymmetricInverse {
    /// Largest `weight v'Pv` of a row that can be learned.
    pub const LARGEST: f64 = 1e200;

    /// What a row may take from the trace of `P`, in units of its prior: more only by rounding, where it has made `P`
    /// indefinite. Forgetting lifts `P` above its prior by less than a factor of ten.
    const MOST_TAKEN: f64 = 1e3;

    /// Number of coordinates.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.matrix.rows()
    }

    /// Says how many coordinates there will be at most: storage need grow no further.
    pub(crate) fn expect(&mut self, most: usize) {
        self.matrix.expect_square(most);
    }

    /// A copy of the inverse itself.
    #[must_use]
    pub fn matrix(&self) -> Panel {
        let mut copy = self.matrix.clone();
        copy.mirror_below();
        copy
    }

    /// Column `i` of the inverse, into `out`, which holds `padded(dim)` numbers.
    pub(crate) fn column(&self, i: usize, out: &mut [f64]) {
        let above = i - i % LANES;
        let (before, from) = out.split_at_mut(above);
        before.iter_mut().zip(self.matrix.row(i)).for_each(|(to, value)| *to = value);
        from.copy_from_slice(&self.matrix.col(i)[above..]);
    }

    /// `Z P` for a block of rows `Z` (b, dim), into `out`, by matrix products. Each number below the diagonal is read
    /// for its own row and for its column's; `square` is scratch of one thread.
    pub(crate) fn multiply_rows(&self, z: MatRef<'_, f64>, out: &mut Panel, square: &mut Panel) {
        let (m, b) = (self.dim(), z.nrows());
        out.reshape(b, m);
        let work = divided::work(b, m, m);
        if divided::count(m, SQUARE, work) == 1 {
            return self.multiply_part(z, 0..m, out.as_faer_mut(), square);
        }
        divided::for_columns(out.as_faer_mut(), SQUARE, work, divided::equal, |part, out| {
            self.multiply_part(z, part, out, &mut Panel::default());
        });
    }

    /// Some columns of `Z P`.
    fn multiply_part(
        &self,
        z: MatRef<'_, f64>,
        part: Range<usize>,
        mut out: MatMut<'_, f64>,
        square: &mut Panel,
    ) {
        let m = self.dim();
        let p = self.matrix.as_faer();
        for left in (0..part.end).step_by(SQUARE) {
            let right = m.min(left + SQUARE);
            let width = right - left;
            let add = if left == 0 { Accum::Replace } else { Accum::Add };
            let (own, others) = z.subcols(left, m - left).split_at_col(width);
            if left >= part.start {
                square.reshape(width, width);
                for j in 0..width {
                    let own = left + j - j % LANES..padded(right);
                    square.col_mut(j)[j - j % LANES..].copy_from_slice(&self.matrix.col(left + j)[own]);
                }
                square.mirror_below();
                let mut to = out.rb_mut().subcols_mut(left - part.start, width);
                matmul::matmul(to.rb_mut(), add, own, square.as_faer(), 1.0, Par::Seq);
                let below = p.submatrix(right, left, m - right, width);
                matmul::matmul(to, Accum::Add, others, below, 1.0, Par::Seq);
            }
            // The rows below the square are columns, too.
            let first = right.max(part.start);
            if first < part.end {
                let below = p.submatrix(first, left, part.end - first, width);
                let to = out.rb_mut().subcols_mut(first - part.start, part.end - first);
                matmul::matmul(to, add, own, below.transpose(), 1.0, Par::Seq);
            }
        }
    }

    /// The inverse with these entries (row after row), if they are finite and symmetric to the last bit.
    #[must_use]
    pub fn from_row_major(entries: &[f64], dim: usize) -> Option<Self> {
        let sound = entries.len() == dim * dim
            && entries.iter().all(|v| v.is_finite())
            && (0..dim)
                .all(|i| (0..i).all(|j| entries[i * dim + j].to_bits() == entries[j * dim + i].to_bits()));
        sound.then(|| Self { matrix: Panel::from_row_major(entries, dim, dim), root: Lanes::zeros(dim) })
    }

    /// `A` itself, on and below its diagonal; `None` if rounding has made `P` indefinite. O(m^3).
    #[must_use]
    pub fn curvature(&self) -> Option<Mat<f64>> {
        self.factor().map(|factor| factor.inverse())
    }

    /// The Cholesky factor of `P`; `None` if rounding has made `P` indefinite. O(m^3).
    pub(crate) fn factor(&self) -> Option<Llt<f64>> {
        self.matrix.as_faer().llt(Side::Lower).ok()
    }

    /// The inverse of a matrix, of which what is above the diagonal is not looked at; `None` if it is not
    /// positive definite to rounding. O(m^3).
    #[must_use]
    pub fn of(curvature: MatRef<'_, f64>) -> Option<Self> {
        curvature.llt(Side::Lower).ok().map(|factor| Self::from_lower(factor.inverse().as_ref()))
    }

    /// The inverse that has these entries on and below its diagonal.
    fn from_lower(inverse: MatRef<'_, f64>) -> Self {
        let dim = inverse.nrows();
        let mut matrix = Panel::zeros(dim, dim);
        matrix.as_faer_mut().copy_from_triangular_lower(inverse);
        matrix.mirror_squares();
        Self { matrix, root: Lanes::zeros(dim) }
    }

    /// Appends coordinates whose part of `A` is `diagonal` times the identity, until there are `dim`.
    pub fn grow(&mut self, dim: usize, diagonal: f64) {
        for i in self.dim()..dim {
            self.append_zero_coordinate();
            self.matrix.set(i, i, diagonal.recip());
        }
    }

    /// Appends a coordinate that has `row` with the others in `A`, and `corner` with itself, which is at
    /// least `least` beyond what the others explain of it. Into `gain` (as long as `padded` of the new
    /// number) goes what a unit of the new coordinate takes from the others, `[P row; -1]`; returns the
    /// corner less what they explain.
    pub fn append(&mut self, row: &[f64], corner: f64, least: f64, gain: &mut [f64]) -> f64 {
        let m = self.dim();
        let mut padded_row = Lanes::zeros(m);
        padded_row[..row.len()].copy_from_slice(row);
        let known = padded(m);
        let explained = self.multiply(&padded_row, &mut gain[..known]);
        gain[known..].fill(0.0);
        // Less than that only by rounding.
        let pivot = (corner - explained).max(least);
        self.append_zero_coordinate();
        gain[m] = -1.0;
        let root = pivot.sqrt().recip();
        for (u, p) in self.root.iter_mut().zip(&*gain) {
            *u = root * p;
        }
        for j in 0..=m {
            let (own, rows) = (self.root[j], j - j % LANES..);
            loops::add_scaled(own, &self.root[rows.clone()], &mut self.matrix.col_mut(j)[rows]);
        }
        pivot
    }

    fn append_zero_coordinate(&mut self) {
        let m = self.dim();
        self.matrix.grow_cols(m + 1);
        self.matrix.grow_rows(m + 1);
        self.root.resize(m + 1);
    }

    /// `pv = P v`; returns `v' P v`. Both hold `padded(dim)` numbers.
    pub fn multiply(&self, v: &[f64], pv: &mut [f64]) -> f64 {
        debug_assert_eq!(v.len(), padded(self.dim()));
        debug_assert_eq!(pv.len(), padded(self.dim()));
        loops::multiply_symmetric(self.matrix.data(), self.matrix.stride(), v, pv);
        loops::dot(v, pv)
    }

    /// `A <- keep A + weight v v'`, given `pv = P v` and `quadratic = v' P v` from
    /// [`multiply`](Self::multiply). `keep` is in (0, 1], `weight` is not negative.
    ///
    /// Returns the factor by which `pv` is to be multiplied to be the new `P v`.
    pub fn add(&mut self, keep: f64, weight: f64, pv: &[f64], quadratic: f64) -> f64 {
        // Below zero only by rounding.
        let total = keep + weight * quadratic.max(0.0);
        // P' = (P - weight / total * pv pv') / keep
        let root = (weight / (total * keep)).sqrt();
        for (u, p) in self.root.iter_mut().zip(pv) {
            *u = root * p;
        }
        self.scale_and_subtract(keep.recip());
        total.recip()
    }

    /// `P <- c P - root root'`
    fn scale_and_subtract(&mut self, c: f64) {
        let stride = self.matrix.stride();
        loops::scale_and_subtract_outer(self.matrix.data_mut(), stride, c, &self.root);
    }

    /// [`multiply`](Self::multiply) for a row that may have more coordinates than there are: those to
    /// come count with `diagonal` in `A` (with 0, for which they would be infinite, they are left
    /// out). `v` and `pv` hold `padded` numbers of the row's length.
    pub fn leverage(&self, diagonal: f64, v: &[f64], pv: &mut [f64]) -> f64 {
        let known = padded(self.dim());
        loops::multiply_symmetric(self.matrix.data(), self.matrix.stride(), v, &mut pv[..known]);
        pv[known..].fill(0.0);
        if diagonal > 0.0 {
            for (to, from) in pv.iter_mut().zip(v).skip(self.dim()) {
                *to = from / diagonal;
            }
        }
        loops::dot(v, pv)
    }

    /// One round: `A <- keep A + weight v v'` for a row `v` of `len` coordinates, of which some may be
    /// new and enter `A` with `diagonal` beforehand. `pv` comes from [`leverage`](Self::leverage) and goes as
    /// the gain, the new `P v`.
    ///
    /// A new coordinate that the row has is not first given its prior, `1 / diagonal`, and then
    /// corrected: that would cancel all digits where `diagonal` is small. Both steps are one,
    /// ```text
    /// P' = [P - c d Pz z'P / D,  -c l Pz / D;  ., (1 + c z'Pz) / D],   D = d (1 + c z'Pz) + c l^2
    /// ```
    /// for `v = [z, l]`, `c = weight`, `d = diagonal` (and `keep = 1`), which holds for `d = 0` too:
    /// then the row is met exactly, as in the KRLS of Engel, Mannor and Meir (2004).
    ///
    /// False, with nothing changed, where rounding has made `P` indefinite in the direction of `v`, takes more from
    /// `P` than it has, or its numbers are beyond all bounds.
    #[must_use]
    pub fn learn(
        &mut self,
        keep: f64,
        weight: f64,
        diagonal: f64,
        v: &[f64],
        len: usize,
        pv: &mut [f64],
    ) -> bool {
        let looked = loops::dot(v, pv);
        if !(-1e-6..Self::LARGEST).contains(&(weight * looked / keep)) {
            return false;
        }
        let share = weight / (keep * (keep + weight * looked.max(0.0)));
        if !Self::can_lose(share * loops::dot(pv, pv), len, diagonal) {
            return false;
        }
        let Some(new) = (self.dim()..len).rev().find(|&k| v[k] != 0.0) else {
            // Without a prior, coordinates that no row had yet would have an infinite variance.
            if diagonal > 0.0 {
                self.grow(len, diagonal);
            }
            let gain = self.add(keep, weight, pv, looked);
            for p in pv {
                *p *= gain;
            }
            return true;
        };
        // Others that are new at the same time have a prior of their own, if a faint one.
        let others = if diagonal > 0.0 { diagonal } else { f64::EPSILON };
        for k in self.dim()..new {
            pv[k] = v[k] / others;
        }
        pv[new..].fill(0.0);
        let quadratic = weight * loops::dot(v, pv).max(0.0) / keep;
        let (diagonal, last) = (keep * diagonal, v[new]);
        let total = diagonal * (1.0 + quadratic) + weight * last * last;
        // A near-zero coordinate without a prior is not identifiable.
        if (1.0 + quadratic) / total >= Self::LARGEST {
            return false;
        }
        self.grow(new, others);
        let root = (weight * diagonal / total).sqrt() / keep;
        for (u, p) in self.root.iter_mut().zip(&*pv) {
            *u = root * p;
        }
        self.scale_and_subtract(keep.recip());
        self.append_zero_coordinate();
        for (i, p) in pv[..new].iter_mut().enumerate() {
            let value = -weight * last * (*p / keep) / total;
            self.matrix.set(i, new, value);
            self.matrix.set(new, i, value);
            *p *= diagonal / (keep * total);
        }
        self.matrix.set(new, new, (1.0 + quadratic) / total);
        pv[new] = last / total;
        self.grow(len, keep * others);
        true
    }

    /// Whether this much can be taken from the trace of an inverse of `dim` coordinates with priors of `1 / diagonal`.
    pub(crate) fn can_lose(trace: f64, dim: usize, diagonal: f64) -> bool {
        trace <= Self::MOST_TAKEN * (dim as f64 / diagonal).min(Self::LARGEST)
    }

    /// `P <- P - U U'` for a block of columns `U` (dim, b), by matrix products: what learning a block of
    /// rows comes to.
    pub fn subtract_products(&mut self, u: MatRef<'_, f64>) {
        divided::subtract_own_product(self.matrix.as_faer_mut(), u);
        self.matrix.mirror_squares();
    }

    /// Forgets coordinates beyond the first `dim`, of which no row was learned.
    pub(crate) fn truncate(&mut self, dim: usize) {
        if dim < self.dim() {
            self.matrix.truncate(dim, dim);
            self.root.resize(dim);
        }
    }

    /// Follows coordinates that become `map` (new, old) times themselves: `A - diagonal I`, a sum of
    /// their products, becomes `map (A - diagonal I) map'`. Returns the matrix that weights are to be
    /// multiplied by to stay the minimum of the quadratic function whose curvature is `A`.
    ///
    /// `None`, with nothing changed, if `P` or what it would become has no Cholesky factor to rounding.
    /// O(m^3).
    pub fn map(&mut self, map: MatRef<'_, f64>, diagonal: f64) -> Option<Mat<f64>> {
        let new = map.nrows();
        // A map'
        let mut right = map.transpose().to_owned();
        let known = self.factor()?;
        known.solve_in_place(right.as_mut());
        let mut curvature = Mat::<f64>::identity(new, new);
        curvature *= faer::Scale(diagonal);
        matmul::matmul(curvature.as_mut(), Accum::Add, map, map.transpose(), -diagonal, Par::Seq);
        matmul::matmul(curvature.as_mut(), Accum::Add, map, right.as_ref(), 1.0, Par::Seq);
        let factor = curvature.llt(Side::Lower).ok()?;
        *self = Self::from_lower(factor.inverse().as_ref());
        let mut back = right.transpose().to_owned();
        factor.solve_in_place(back.as_mut());
        Some(back)
    }

    /// Gives one coordinate its prior, independent of the others.
    pub(crate) fn reset_coordinate(&mut self, i: usize, diagonal: f64) {
        for j in 0..self.dim() {
            self.matrix.set(i, j, 0.0);
            self.matrix.set(j, i, 0.0);
        }
        self.matrix.set(i, i, diagonal.recip());
    }

    /// Back to `A = diagonal I`, with as many coordinates as now.
    pub fn reset(&mut self, diagonal: f64) {
        self.matrix.clear();
        for i in 0..self.dim() {
            self.matrix.set(i, i, diagonal.recip());
        }
    }
}
