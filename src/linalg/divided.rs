//! Large matrix products divided among threads, with the bits of one thread.
//!
//! Only what is independent is divided: columns of a product, right-hand sides of a solve. Each
//! number remains the same sum in the same order, since products are computed by tiles whose sums
//! are divided by their length alone. That does not hold for products with one column, nor in some
//! builds of up to 64 columns: parts have more.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{BlockStructure, matmul as triangular_matmul};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_unit_lower_triangular_in_place};
use faer::prelude::ReborrowMut as _;
use faer::{Accum, MatMut, MatRef, Par};

use super::loops::LANES;
use crate::threads::{for_each_part, idle};

/// Fewest multiplications of a part: about 300 microseconds, of which waking a thread takes up to 100.
const LEAST: usize = 1 << 23;

/// Fewest right-hand sides of a part: each part reads the whole factor.
const SIDES: usize = 24;

/// Fewest columns of a part of a product.
const COLUMNS: usize = 72;

/// A product of three sizes.
pub(super) fn work(a: usize, b: usize, c: usize) -> usize {
    a.saturating_mul(b).saturating_mul(c)
}

/// How many parts `n` columns are divided into, of this number of multiplications: each is worth a thread, and has at
/// least `unit` columns.
pub(super) fn count(n: usize, unit: usize, work: usize) -> usize {
    #[cfg(test)]
    if let Some(count) = tests::PARTS.get() {
        return count.min(n / unit).max(1);
    }
    let most = (work / LEAST).min(n / unit);
    if most > 1 { most.min(idle()) } else { 1 }
}

/// Consecutive parts of `0..n` of about equal work. They begin at multiples of `unit`, and the last is no shorter;
/// `of_last` is the work of the last columns, of which it takes the number.
fn cuts(n: usize, unit: usize, count: usize, of_last: impl Fn(usize) -> usize) -> Vec<Range<usize>> {
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

/// Calls `act` with ranges of columns of a matrix, on a thread each, or with all of them.
pub(super) fn for_columns(
    mut matrix: MatMut<'_, f64>,
    unit: usize,
    work: usize,
    of_last: impl Fn(usize) -> usize,
    act: impl Fn(Range<usize>, MatMut<'_, f64>) + Sync,
) {
    let n = matrix.ncols();
    let count = count(n, unit, work);
    if count == 1 {
        return act(0..n, matrix);
    }
    let mut parts = Vec::with_capacity(count);
    for part in cuts(n, unit, count, of_last) {
        let (columns, rest) = matrix.split_at_col_mut(part.len());
        parts.push((part, columns));
        matrix = rest;
    }
    for_each_part(parts.into_iter(), |(part, columns)| act(part, columns));
}

/// `to = a b`, or `to += a b`.
pub(crate) fn product(to: MatMut<'_, f64>, add: Accum, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let work = work(a.nrows(), a.ncols(), b.ncols());
    for_columns(to, COLUMNS, work, equal, |part, to| {
        matmul(to, add, a, b.subcols(part.start, part.len()), 1.0, Par::Seq);
    });
}

/// `B = L^{-1} B`, of a lower triangular matrix.
pub(super) fn solve_lower(lower: MatRef<'_, f64>, b: MatMut<'_, f64>) {
    let work = work(lower.nrows(), lower.ncols(), b.ncols()) / 2;
    for_columns(b, SIDES, work, equal, |_, b| solve_lower_triangular_in_place(lower, b, Par::Seq));
}

/// `B = L^{-1} B`, of a lower triangular matrix with ones on its diagonal.
pub(crate) fn solve_unit_lower(lower: MatRef<'_, f64>, b: MatMut<'_, f64>) {
    let work = work(lower.nrows(), lower.ncols(), b.ncols()) / 2;
    for_columns(b, SIDES, work, equal, |_, b| solve_unit_lower_triangular_in_place(lower, b, Par::Seq));
}

/// `to = a b'`, on and below the diagonal; what is above it is not changed.
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
    for_columns(to, LANES, work(n, n, u.ncols()) / 2, triangle, |part, mut to| {
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
    use std::cell::Cell;

    use faer::Mat;

    use super::*;
    use crate::linalg::{GrowingCholesky, Panel, SymmetricInverse};
    use crate::random::normal;

    thread_local! {
        /// A number of parts, whatever the work and the threads.
        pub(super) static PARTS: Cell<Option<usize>> = const { Cell::new(None) };
    }

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
        product(whole.as_mut(), Accum::Add, left.transpose(), right.as_ref());
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
        let expected = drawn(4, m, m) + left.transpose() * &right;
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
    fn any_number_of_parts_gives_the_same_bits() {
        let sizes =
            [(1, 1), (5, 3), (64, 8), (65, 48), (129, 25), (130, 50), (200, 51), (333, 40), (577, 96)];
        for (m, b) in sizes {
            PARTS.set(Some(1));
            let one = results(m, b);
            for parts in [2, 3, 7] {
                PARTS.set(Some(parts));
                assert!(one == results(m, b), "{m} coordinates, {b} rows, {parts} parts");
            }
        }
        PARTS.set(None);
    }

    #[test]
    fn cuts_give_all_columns_once() {
        for n in [1, 7, 8, 64, 65, 1000] {
            for count in 1..=(n / LANES).clamp(1, 64) {
                for of_last in [equal, triangle] {
                    let parts = cuts(n, LANES, count, of_last);
                    let all: Vec<usize> = parts.iter().cloned().flatten().collect();
                    assert_eq!(all, (0..n).collect::<Vec<usize>>());
                    assert!(parts.iter().all(|part| part.start.is_multiple_of(LANES)));
                    assert!(n < LANES || parts.iter().all(|part| part.len() >= LANES), "{n}, {count}");
                }
            }
        }
    }
}
