//! Large matrix products divided among threads, with the bits of one thread.
//!
//! Only what is independent is divided: columns of a product, right-hand sides of a solve. Each
//! number remains the same sum in the same order, since `faer` divides sums by their length alone,
//! but for products with a single column: each part has more.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place};
use faer::prelude::ReborrowMut as _;
use faer::{Accum, MatMut, MatRef, Par};

use super::loops::LANES;
use crate::threads::{for_each_part, idle};

/// Fewest multiplications of a part: some 300 microseconds, of which waking a thread takes up to 100.
const LEAST: usize = if cfg!(test) { 1 << 12 } else { 1 << 23 };

/// Consecutive parts of `0..n` of about equal work, so many that each is worth a thread. They begin at multiples of
/// `unit`, and the last is no shorter; `of_last` is the work of the last columns, of which it takes the number.
pub(super) fn parts(
    n: usize,
    unit: usize,
    work: usize,
    of_last: impl Fn(usize) -> usize,
) -> Vec<Range<usize>> {
    let most = (work / LEAST).min(n / unit);
    let count = if most > 1 { most.min(idle()) } else { 1 };
    let cut = |k: usize| {
        let before = |column: &usize| of_last(n - column) * count >= of_last(n) * (count - k);
        if k == count { n } else { (0..n).step_by(unit).take_while(before).last().unwrap_or(0) }
    };
    (0..count).map(|k| cut(k)..cut(k + 1)).filter(|part| !part.is_empty()).collect()
}

/// Columns of the same length.
pub(super) fn equal(columns: usize) -> usize {
    columns
}

/// Columns of a lower triangle, of which the first are the longest.
fn triangle(columns: usize) -> usize {
    columns * columns
}

/// Calls `act` with each of these ranges of columns of a matrix.
pub(super) fn for_columns(
    mut matrix: MatMut<'_, f64>,
    parts: Vec<Range<usize>>,
    act: impl Fn(Range<usize>, MatMut<'_, f64>) + Sync,
) {
    if parts.len() == 1 {
        return act(0..matrix.ncols(), matrix);
    }
    let mut columns = Vec::with_capacity(parts.len());
    for part in parts {
        let (first, rest) = matrix.split_at_col_mut(part.len());
        columns.push((part, first));
        matrix = rest;
    }
    for_each_part(columns.into_iter(), |(part, columns)| act(part, columns));
}

/// `to = a b`, or `to += a b`.
pub(crate) fn product(to: MatMut<'_, f64>, add: Accum, a: MatRef<'_, f64>, b: MatRef<'_, f64>, factor: f64) {
    let (n, work) = (to.ncols(), to.nrows() * to.ncols() * a.ncols());
    for_columns(to, parts(n, LANES, work, equal), |part, to| {
        matmul(to, add, a, b.subcols(part.start, part.len()), factor, Par::Seq);
    });
}

/// Parts of `n` right-hand sides.
fn parts_of_solve(lower: MatRef<'_, f64>, n: usize) -> Vec<Range<usize>> {
    parts(n, LANES, lower.ncols() * lower.ncols() / 2 * n, equal)
}

/// `B = L^{-1} B`, of a lower triangular matrix.
pub(super) fn solve_lower(lower: MatRef<'_, f64>, b: MatMut<'_, f64>) {
    let parts = parts_of_solve(lower, b.ncols());
    for_columns(b, parts, |_, b| solve_lower_triangular_in_place(lower, b, Par::Seq));
}

/// `B = L^{-1} B`, of a lower triangular matrix with ones on its diagonal.
pub(crate) fn solve_unit_lower(lower: MatRef<'_, f64>, b: MatMut<'_, f64>) {
    let parts = parts_of_solve(lower, b.ncols());
    for_columns(b, parts, |_, b| solve_unit_lower_triangular_in_place(lower, b, Par::Seq));
}

/// `to = a b'`, on and below the diagonal.
pub(crate) fn lower_product(to: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    use BlockStructure::{Rectangular, TriangularLower};
    triangular_matmul(
        to,
        TriangularLower,
        Accum::Replace,
        a,
        Rectangular,
        b.transpose(),
        Rectangular,
        1.0,
        Par::Seq,
    );
}

/// `to -= u u'`, on and below the diagonal.
pub(super) fn subtract_own_product(to: MatMut<'_, f64>, u: MatRef<'_, f64>) {
    let n = to.ncols();
    for_columns(to, parts(n, LANES, n * n / 2 * u.ncols(), triangle), |part, mut to| {
        let (top, below) = to.rb_mut().subrows_mut(part.start, n - part.start).split_at_row_mut(part.len());
        let (own, others) = u.subrows(part.start, n - part.start).split_at_row(part.len());
        triangular_matmul(
            top,
            BlockStructure::TriangularLower,
            Accum::Add,
            own,
            BlockStructure::Rectangular,
            own.transpose(),
            BlockStructure::Rectangular,
            -1.0,
            Par::Seq,
        );
        matmul(below, Accum::Add, others, own.transpose(), -1.0, Par::Seq);
    });
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use faer::Mat;

    use super::*;
    use crate::linalg::{GrowingCholesky, Panel, SymmetricInverse};
    use crate::random::normal;
    #[cfg(feature = "threads")]
    use crate::threads::set_num_threads;

    fn drawn(seed: u64, rows: usize, cols: usize) -> Mat<f64> {
        Mat::from_fn(rows, cols, |i, j| normal(seed, (i * cols + j) as u64))
    }

    fn bits(matrix: MatRef<'_, f64>) -> Vec<u64> {
        matrix.col_iter().flat_map(|column| column.iter().map(|value| value.to_bits())).collect()
    }

    /// All that is divided, of `m` coordinates and blocks of `b` rows.
    fn results(m: usize, b: usize) -> Vec<Vec<u64>> {
        let (left, right) = (drawn(1, b, m), drawn(2, b, m));
        let mut lower =
            Mat::from_fn(m, m, |i, j| if i > j { normal(3, (i * m + j) as u64) / m as f64 } else { 0.0 });
        (0..m).for_each(|i| lower[(i, i)] = 1.0 + i as f64 / m as f64);
        let rows: Vec<f64> = (0..m * m).map(|k| lower[(k / m, k % m)]).collect();
        let factor = GrowingCholesky::from_row_major(&rows, m).unwrap();
        let mut solved = left.clone();
        factor.solve_block(solved.as_mut().transpose_mut());
        let mut unit = right.transpose().to_owned();
        let mut ones = lower.clone();
        (0..m).for_each(|i| ones[(i, i)] = 1.0);
        solve_unit_lower(ones.as_ref(), unit.as_mut());
        let mut whole = drawn(4, m, m);
        product(whole.as_mut(), Accum::Add, left.transpose(), right.as_ref(), 0.5);
        let curvature = &lower * lower.transpose();
        let mut inverse = SymmetricInverse::of(curvature.as_ref()).unwrap();
        let (mut products, mut square) = (Panel::default(), Panel::default());
        inverse.multiply_rows(left.as_ref(), &mut products, &mut square);
        inverse.subtract_products((right.transpose() * faer::Scale(1e-3)).as_ref());
        // And they are what they are called.
        let plain = &left * inverse_of(&curvature);
        let close = |a: MatRef<'_, f64>, b: MatRef<'_, f64>| (a - b).norm_max() < 1e-9 * (1.0 + b.norm_max());
        assert!(close(products.as_faer(), plain.as_ref()));
        assert!(close((&lower * solved.transpose()).as_ref(), left.transpose()));
        assert!(close((&ones * &unit).as_ref(), right.transpose()));
        let taken = inverse_of(&curvature) - right.transpose() * &right * faer::Scale(1e-6);
        assert!(close(inverse.matrix().as_faer(), taken.as_ref()));
        let expected = drawn(4, m, m) + left.transpose() * &right * faer::Scale(0.5);
        assert!(close(whole.as_ref(), expected.as_ref()));
        let inverse = inverse.matrix();
        [solved.as_ref(), unit.as_ref(), whole.as_ref(), products.as_faer(), inverse.as_faer()]
            .map(bits)
            .into()
    }

    fn inverse_of(matrix: &Mat<f64>) -> Mat<f64> {
        use faer::linalg::solvers::DenseSolveCore as _;
        matrix.partial_piv_lu().inverse()
    }

    #[test]
    #[cfg(feature = "threads")]
    fn any_number_of_threads_gives_the_same_bits() {
        let sizes = [(1, 1), (5, 3), (64, 8), (65, 48), (129, 9), (130, 17), (200, 51), (333, 40), (577, 96)];
        for (m, b) in sizes {
            set_num_threads(NonZeroUsize::new(1));
            let one = results(m, b);
            for threads in [2, 3, 7] {
                set_num_threads(NonZeroUsize::new(threads));
                assert!(one == results(m, b), "{m} coordinates, {b} rows, {threads} threads");
            }
        }
        set_num_threads(None);
    }

    #[test]
    fn parts_are_all_columns_once() {
        for n in [0, 1, 7, 8, 64, 65, 1000] {
            for of_last in [equal, triangle] {
                let parts = parts(n, LANES, usize::MAX, of_last);
                let all: Vec<usize> = parts.iter().cloned().flatten().collect();
                assert_eq!(all, (0..n).collect::<Vec<usize>>());
                assert!(parts.iter().all(|part| part.start.is_multiple_of(LANES)));
                assert!(n < LANES || parts.iter().all(|part| part.len() >= LANES), "{n} columns");
            }
        }
    }
}
