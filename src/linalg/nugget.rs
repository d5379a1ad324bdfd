//! The nugget: keeps a growing Cholesky factor bounded in floating point.
//!
//! A Cholesky factorization in floating point gives `L L' = K + E`, where `E` is of rounding size, symmetric, and of
//! either sign. Rows in order (a ramp, a clock, a trajectory, a sorted table) make the Gram matrix `K` singular to
//! rounding although every pivot is far above it: then `K + E` has tiny eigenvalues of either sign, and coordinates
//! `z = L^{-1} k`, whose squared norm is `k' (K + E)^{-1} k`, have no bound. A floor under small pivots does not help,
//! since no single pivot is to blame.
//!
//! So the factor is that of `K + D`, where `D` is diagonal with `nugget(i) k(x_i, x_i)`. As `D + E` is positive
//! semidefinite,
//!
//! ```text
//! z'z = k' (K + D + E)^{-1} k <= k' K^+ k <= k(x, x)
//! ```
//!
//! for every row `x`, every order of the rows, every tolerance and every positive definite kernel. A point's own
//! coordinate is the entry on the diagonal itself, as if the kernel were `k` plus the nugget for a row and itself. Ridge
//! regression in these coordinates is kernel ridge regression with the regularization `lambda + nugget`: off by
//! `nugget / lambda`, relatively.

use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Mat, MatRef, Par, Side};

/// The nugget of the first points, as a share of `k(x, x)`: a thousand times the rounding of the factor of a thousand
/// points. At 1e-14 coordinates of 2,000 points on a line were unbounded; what it changes grows with it.
const SMALLEST: f64 = 2e-14;

/// The nugget grows with the number of points as the rounding of their factor does.
const EACH_POINT: f64 = 1e-15;

/// How many nuggets a row has to add to what the stored points span before it is a point of its own. Even a stored row
/// adds one when it comes again, one that `n` points explain together at most `n`.
const DISTINCT: f64 = 10.0;

/// No row is distinguished by less, however few points there are: a few points may explain a row by large coefficients of
/// opposite signs, which multiply the nugget.
const FINEST: f64 = 1e-12;

/// What is added to the diagonal of the Gram matrix for the point number `index`, as a share of `k(x, x)`.
#[must_use]
pub fn nugget(index: usize) -> f64 {
    (EACH_POINT * index as f64).max(SMALLEST)
}

/// The least share of itself that a row must add to the span of `stored` points to be distinguished from rounding. A
/// tolerance below it means it.
#[must_use]
pub fn resolution(stored: usize) -> f64 {
    (DISTINCT * nugget(stored)).max(FINEST)
}

/// The entry on the diagonal of the factor for the point number `index`, which is the point's own coordinate:
/// `residual` is its squared distance to the span of the points before it, `similarity` is `k(x, x)`.
#[must_use]
pub fn own_coordinate(index: usize, residual: f64, similarity: f64) -> f64 {
    (residual.max(0.0) + nugget(index) * similarity).sqrt()
}

/// Coordinates of functions that the nugget alone has made: of this share of their squared norm, or more.
const MADE: f64 = 0.5;

/// An orthonormal basis (m, r) of the directions of coordinates that belong to functions of the kernel; `None` if all of
/// them do. `factor` (m, m) is the lower factor of the Gram matrix of the stored points, with its nuggets.
///
/// A function `z(x)'v = k(x)'c` with `c = L^{-T} v` has the squared norm `c'Kc = |v|^2 - c'Dc`. Where more points are
/// stored than a kernel of finite rank has functions, or than rounding distinguishes, some directions have no norm
/// left: their functions are zero at every row, and what a model says of them is rounding. They are the eigenvectors
/// of `L^{-1} D L^{-T}` with values near 1. O(m^3)
#[must_use]
pub fn spanned(factor: MatRef<'_, f64>) -> Option<Mat<f64>> {
    let m = factor.nrows();
    let mut made = Mat::zeros(m, m);
    for i in 0..m {
        made[(i, i)] = nugget(i).sqrt() * factor.row(i).subcols(0, i + 1).norm_l2();
    }
    solve_lower_triangular_in_place(factor, made.as_mut(), Par::Seq);
    if !(MADE..f64::INFINITY).contains(&made.squared_norm_l2()) {
        return None;
    }
    let products = &made * made.transpose();
    let eigen = products.self_adjoint_eigen(Side::Lower).ok()?;
    let values = eigen.S().column_vector();
    // By rising value.
    let kept = (0..m).take_while(|i| values[*i] < MADE).count();
    (kept < m).then(|| eigen.U().subcols(0, kept).to_owned())
}
