//! The loops that run once a row, written for the vector instructions that the processor has (chosen
//! at run time by `pulp`).
//!
//! All slices are padded with zeros to a multiple of [`LANES`], which every vector width divides;
//! matrices are stored by columns. Sums are taken in the order of the lanes, so results repeat on
//! one kind of processor, and differ by rounding between kinds.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use pulp::Simd;

/// Vectors and columns are padded with zeros to a multiple of this many numbers.
pub const LANES: usize = 8;

/// `n` rounded up to whole groups of [`LANES`].
#[must_use]
pub const fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}

/// Declares functions that are compiled once for each instruction set and chosen at run time. The
/// name in brackets stands for the instruction set in the body.
macro_rules! vectorized {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident[$simd:ident]($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block)*) => {
        $(
            $(#[$meta])*
            #[inline]
            $vis fn $name<'a>($($arg: $ty),*) -> $ret {
                struct Op<'a> {
                    $($arg: $ty,)*
                    life: std::marker::PhantomData<&'a ()>,
                }
                impl<'a> pulp::WithSimd for Op<'a> {
                    type Output = $ret;
                    #[inline(always)]
                    fn with_simd<S: Simd>(self, $simd: S) -> $ret {
                        let Self { $($arg,)* life: _ } = self;
                        $body
                    }
                }
                pulp::Arch::new().dispatch(Op { $($arg,)* life: std::marker::PhantomData::<&'a ()> })
            }
        )*
    };
}

/// The vectors of a padded slice.
#[inline(always)]
fn whole<S: Simd>(_: S, x: &[f64]) -> &[S::f64s] {
    S::as_simd_f64s(x).0
}

/// The vectors of a padded slice.
#[inline(always)]
fn whole_mut<S: Simd>(_: S, x: &mut [f64]) -> &mut [S::f64s] {
    S::as_mut_simd_f64s(x).0
}

/// Rows `from..to` of columns `j..j + 4`.
#[inline(always)]
fn four_columns<S: Simd>(
    s: S,
    a: &[f64],
    stride: usize,
    j: usize,
    from: usize,
    to: usize,
) -> [&[S::f64s]; 4] {
    [0, 1, 2, 3].map(|k| {
        let start = (j + k) * stride;
        whole(s, &a[start + from..start + to])
    })
}

/// What a number of a column adds to its row's sum, given the number of `x` for the column.
trait Summand {
    fn add<S: Simd>(s: S, a: S::f64s, x: S::f64s, sum: S::f64s) -> S::f64s;
}

struct Product;

impl Summand for Product {
    #[inline(always)]
    fn add<S: Simd>(s: S, a: S::f64s, x: S::f64s, sum: S::f64s) -> S::f64s {
        s.mul_add_e_f64s(a, x, sum)
    }
}

struct SquaredDifference;

impl Summand for SquaredDifference {
    #[inline(always)]
    fn add<S: Simd>(s: S, a: S::f64s, x: S::f64s, sum: S::f64s) -> S::f64s {
        let d = s.sub_f64s(x, a);
        s.mul_add_e_f64s(d, d, sum)
    }
}

struct AbsoluteDifference;

impl Summand for AbsoluteDifference {
    #[inline(always)]
    fn add<S: Simd>(s: S, a: S::f64s, x: S::f64s, sum: S::f64s) -> S::f64s {
        s.add_f64s(sum, s.abs_f64s(s.sub_f64s(x, a)))
    }
}

/// The square at the beginning of `a`, its rows for columns.
#[inline(always)]
fn turned(a: &[f64], stride: usize) -> [[f64; LANES]; LANES] {
    let mut square = [[0.0; LANES]; LANES];
    for (k, column) in a.chunks(stride).take(LANES).enumerate() {
        let Some(column) = column.first_chunk::<LANES>() else { break };
        for i in 0..LANES {
            square[i][k] = column[i];
        }
    }
    square
}

/// Sums over the columns of `a` for each of `out.len()` rows, added to `out` if `ADD`: always from the first
/// column to the last, whichever rows stand beside. Sums stay in registers while the columns go by.
#[inline(always)]
fn sum_columns<T: Summand, S: Simd, const ADD: bool>(
    s: S,
    a: &[f64],
    stride: usize,
    x: &[f64],
    out: &mut [f64],
) {
    let at = sum_groups::<T, S, ADD, 8>(s, a, stride, x, out, 0);
    let at = sum_groups::<T, S, ADD, 6>(s, a, stride, x, out, at);
    let at = sum_groups::<T, S, ADD, 2>(s, a, stride, x, out, at);
    sum_groups::<T, S, ADD, 1>(s, a, stride, x, out, at);
}

/// Whole groups of `N` vectors of rows, from row `at` on. Returns where it stopped.
#[inline(always)]
fn sum_groups<T: Summand, S: Simd, const ADD: bool, const N: usize>(
    s: S,
    a: &[f64],
    stride: usize,
    x: &[f64],
    out: &mut [f64],
    mut at: usize,
) -> usize {
    let group = N * S::F64_LANES;
    while at + group <= out.len() {
        let mut sums = [s.splat_f64s(0.0); N];
        for (j, x) in x.iter().enumerate() {
            let start = j * stride + at;
            let Some(a) = whole(s, &a[start..start + group]).first_chunk::<N>() else { break };
            let x = s.splat_f64s(*x);
            for (sum, a) in sums.iter_mut().zip(a) {
                *sum = T::add(s, *a, x, *sum);
            }
        }
        for (out, sum) in whole_mut(s, &mut out[at..at + group]).iter_mut().zip(sums) {
            *out = if ADD { s.add_f64s(*out, sum) } else { sum };
        }
        at += group;
    }
    at
}

vectorized! {
    /// `x . y`, of any length, without padding.
    pub(crate) fn dot[s](x: &'a [f64], y: &'a [f64]) -> f64 {
        // Two sums hide the latency of the addition; more do not pay at these lengths.
        let (mut even, mut odd) = (s.splat_f64s(0.0), s.splat_f64s(0.0));
        let ((x, x_rest), (y, y_rest)) = (S::as_simd_f64s(x), S::as_simd_f64s(y));
        let (x, x_last) = x.as_chunks::<2>();
        let (y, y_last) = y.as_chunks::<2>();
        for (x, y) in x.iter().zip(y) {
            even = s.mul_add_e_f64s(x[0], y[0], even);
            odd = s.mul_add_e_f64s(x[1], y[1], odd);
        }
        for (x, y) in x_last.iter().zip(y_last) {
            even = s.mul_add_e_f64s(*x, *y, even);
        }
        let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
        s.reduce_sum_f64s(s.add_f64s(even, odd)) + rest
    }

    /// `|x - y|^2`, of any length, as [`dot`].
    pub(crate) fn squared_distance[s](x: &'a [f64], y: &'a [f64]) -> f64 {
        let mut sum = s.splat_f64s(0.0);
        let ((x, x_rest), (y, y_rest)) = (S::as_simd_f64s(x), S::as_simd_f64s(y));
        for (x, y) in x.iter().zip(y) {
            let difference = s.sub_f64s(*x, *y);
            sum = s.mul_add_e_f64s(difference, difference, sum);
        }
        let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| (x - y) * (x - y)).sum();
        s.reduce_sum_f64s(sum) + rest
    }

    /// `c_1 (x - p_1) + c_2 (x - p_2) + ...`
    pub(crate) fn sum_of_differences[s](c: &'a [f64], x: f64, p: &'a [f64]) -> f64 {
        let (x, mut sum) = (s.splat_f64s(x), s.splat_f64s(0.0));
        for (c, p) in whole(s, c).iter().zip(whole(s, p)) {
            sum = s.mul_add_e_f64s(*c, s.sub_f64s(x, *p), sum);
        }
        s.reduce_sum_f64s(sum)
    }

    /// The sum of `c_j` with the signs of `x - p_j`; 0 where these are equal.
    pub(crate) fn sum_of_signs[s](c: &'a [f64], x: f64, p: &'a [f64]) -> f64 {
        let (x, zero) = (s.splat_f64s(x), s.splat_f64s(0.0));
        let mut sum = zero;
        for (c, p) in whole(s, c).iter().zip(whole(s, p)) {
            let above = s.select_f64s(s.less_than_f64s(*p, x), *c, zero);
            let below = s.select_f64s(s.less_than_f64s(x, *p), *c, zero);
            sum = s.add_f64s(sum, s.sub_f64s(above, below));
        }
        s.reduce_sum_f64s(sum)
    }

    /// `y += c x`
    pub(crate) fn add_scaled[s](c: f64, x: &'a [f64], y: &'a mut [f64]) -> () {
        let c = s.splat_f64s(c);
        for (y, x) in whole_mut(s, y).iter_mut().zip(whole(s, x)) {
            *y = s.mul_add_e_f64s(c, *x, *y);
        }
    }

    /// `y = A x`, with the columns of `A` `stride` apart and as many as `x` is long.
    pub(crate) fn multiply[s](a: &'a [f64], stride: usize, x: &'a [f64], y: &'a mut [f64]) -> () {
        y.fill(0.0);
        let n = y.len();
        let mut j = 0;
        while j + 4 <= x.len() {
            let [a0, a1, a2, a3] = four_columns(s, a, stride, j, 0, n);
            let [x0, x1, x2, x3] = [x[j], x[j + 1], x[j + 2], x[j + 3]].map(|x| s.splat_f64s(x));
            for ((((y, a0), a1), a2), a3) in whole_mut(s, y).iter_mut().zip(a0).zip(a1).zip(a2).zip(a3) {
                let first = s.mul_add_e_f64s(*a1, x1, s.mul_add_e_f64s(*a0, x0, *y));
                let second = s.mul_add_e_f64s(*a3, x3, s.mul_f64s(*a2, x2));
                *y = s.add_f64s(first, second);
            }
            j += 4;
        }
        while j < x.len() {
            let column = whole(s, &a[j * stride..j * stride + n]);
            let xj = s.splat_f64s(x[j]);
            for (y, a) in whole_mut(s, y).iter_mut().zip(column) {
                *y = s.mul_add_e_f64s(*a, xj, *y);
            }
            j += 1;
        }
    }

    /// `y = A x` for a symmetric `A` of which the squares on the diagonal and what is below them are read:
    /// each number once, for its own row and for its column's.
    pub(crate) fn multiply_symmetric[s](a: &'a [f64], stride: usize, x: &'a [f64], y: &'a mut [f64]) -> () {
        y.fill(0.0);
        let n = y.len();
        for j in (0..n).step_by(LANES) {
            let (head, below) = y[j..].split_at_mut(LANES);
            let (own, others) = x[j..n].split_at(LANES);
            let mut sums = [0.0; LANES];
            for half in [0, 4] {
                let square = four_columns(s, a, stride, j + half, j, j + LANES);
                let columns = four_columns(s, a, stride, j + half, j + LANES, n);
                let [x0, x1, x2, x3] = [0, 1, 2, 3].map(|k| s.splat_f64s(own[half + k]));
                let add = |y: S::f64s, [a0, a1, a2, a3]: [S::f64s; 4]| {
                    let first = s.mul_add_e_f64s(a1, x1, s.mul_add_e_f64s(a0, x0, y));
                    let second = s.mul_add_e_f64s(a3, x3, s.mul_f64s(a2, x2));
                    s.add_f64s(first, second)
                };
                for (i, y) in whole_mut(s, head).iter_mut().enumerate() {
                    *y = add(*y, square.map(|column| column[i]));
                }
                let mut along = [s.splat_f64s(0.0); 4];
                let [c0, c1, c2, c3] = columns;
                for (((((y, x), a0), a1), a2), a3) in
                    whole_mut(s, below).iter_mut().zip(whole(s, others)).zip(c0).zip(c1).zip(c2).zip(c3)
                {
                    let a = [*a0, *a1, *a2, *a3];
                    *y = add(*y, a);
                    for (along, a) in along.iter_mut().zip(a) {
                        *along = s.mul_add_e_f64s(a, *x, *along);
                    }
                }
                for (sum, along) in sums[half..].iter_mut().zip(along) {
                    *sum = s.reduce_sum_f64s(along);
                }
            }
            head.iter_mut().zip(sums).for_each(|(y, sum)| *y += sum);
        }
    }

    /// `y = A x` as in [`multiply`], with the columns of `A` read by pieces: for few columns.
    pub(crate) fn multiply_narrow[s](a: &'a [f64], stride: usize, x: &'a [f64], y: &'a mut [f64]) -> () {
        sum_columns::<Product, S, false>(s, a, stride, x, y);
    }

    /// `y += A x` as in [`multiply_narrow`].
    pub(crate) fn add_product[s](a: &'a [f64], stride: usize, x: &'a [f64], y: &'a mut [f64]) -> () {
        sum_columns::<Product, S, true>(s, a, stride, x, y);
    }

    /// `out_j = |x - p_j|^2` for points stored by columns of features.
    pub(crate) fn squared_distances[s](p: &'a [f64], stride: usize, x: &'a [f64], out: &'a mut [f64]) -> () {
        sum_columns::<SquaredDifference, S, false>(s, p, stride, x, out);
    }

    /// `out_j = |x_1 - p_j1| + |x_2 - p_j2| + ...` for points stored by columns of features.
    pub(crate) fn manhattan_distances[s](p: &'a [f64], stride: usize, x: &'a [f64], out: &'a mut [f64]) -> () {
        sum_columns::<AbsoluteDifference, S, false>(s, p, stride, x, out);
    }

    /// From inner products to squared distances, `v = |x|^2 + |p|^2 - 2 v`. Returns whether all are at
    /// least `share` of the squared norms: where one is less, the difference has lost its digits.
    pub(crate) fn products_to_distances[s](norms: &'a [f64], norm: f64, share: f64, v: &'a mut [f64]) -> bool {
        let (all, own_norms) = (v, norms);
        let (v, v_rest) = S::as_mut_simd_f64s(all);
        let (norms, norms_rest) = S::as_simd_f64s(own_norms);
        let (own, share_of, minus_two) = (s.splat_f64s(norm), s.splat_f64s(-share), s.splat_f64s(-2.0));
        let mut least = s.splat_f64s(0.0);
        for (v, norm) in v.iter_mut().zip(norms) {
            let total = s.add_f64s(*norm, own);
            *v = s.mul_add_e_f64s(minus_two, *v, total);
            least = s.min_f64s(least, s.mul_add_e_f64s(share_of, total, *v));
        }
        let mut sound = s.reduce_min_f64s(least) >= 0.0;
        for (v, other) in v_rest.iter_mut().zip(norms_rest) {
            let total = norm + other;
            *v = total - 2.0 * *v;
            sound &= *v >= share * total;
        }
        sound
    }

    /// Adds the squares of each column of `A` to `out`, as long as a column.
    pub(crate) fn add_squares_of_columns[s](a: &'a [f64], stride: usize, out: &'a mut [f64]) -> () {
        let n = out.len();
        for column in a.chunks_exact(stride.max(1)) {
            for (sum, a) in whole_mut(s, out).iter_mut().zip(whole(s, &column[..n])) {
                *sum = s.mul_add_e_f64s(*a, *a, *sum);
            }
        }
    }

    /// Multiplies each column of `A` by `c`, number by number.
    pub(crate) fn scale_rows[s](a: &'a mut [f64], stride: usize, c: &'a [f64]) -> () {
        for column in a.chunks_exact_mut(stride.max(1)) {
            for (a, c) in whole_mut(s, &mut column[..c.len()]).iter_mut().zip(whole(s, c)) {
                *a = s.mul_f64s(*a, *c);
            }
        }
    }

    /// Writes what is below the diagonal of the leading `n` by `n` of `A` above it too, in the squares on
    /// the diagonal.
    pub(crate) fn mirror_squares[_s](a: &'a mut [f64], stride: usize, n: usize) -> () {
        for left in (0..n).step_by(LANES) {
            let columns = &mut a[left * stride..(left + LANES) * stride];
            for k in 0..LANES {
                for i in 0..k {
                    columns[k * stride + left + i] = columns[i * stride + left + k];
                }
            }
        }
    }

    /// Writes what is below the squares on the diagonal above them too: square by square, each of which is
    /// turned while it is in registers.
    pub(crate) fn mirror_below[_s](a: &'a mut [f64], stride: usize, n: usize) -> () {
        for left in (0..n).step_by(LANES) {
            let (columns, right) = a[left * stride..].split_at_mut(LANES * stride);
            for (top, rows) in (left + LANES..n).step_by(LANES).zip(right.chunks_mut(LANES * stride)) {
                let square = turned(&columns[top..], stride);
                for (row, turned) in rows.chunks_mut(stride).zip(&square) {
                    row[left..left + LANES].copy_from_slice(turned);
                }
            }
        }
    }

    /// `B = A'`, each with padded numbers of rows and of columns; those of `A` are `stride` apart, those
    /// of `B` next to each other.
    pub(crate) fn transpose[_s](a: &'a [f64], stride: usize, b: &'a mut [f64]) -> () {
        if stride == 0 || b.is_empty() {
            return;
        }
        let cols = a.len() / stride;
        for (left, columns) in (0..cols).step_by(LANES).zip(a.chunks_exact(LANES * stride)) {
            for (top, to) in (0..stride).step_by(LANES).zip(b.chunks_exact_mut(LANES * cols)) {
                let square = turned(&columns[top..], stride);
                for (to, turned) in to.chunks_exact_mut(cols).zip(&square) {
                    to[left..left + LANES].copy_from_slice(turned);
                }
            }
        }
    }

    /// `A = c A - u u'` for the leading square of `A`, as large as `u` is long: the squares on the diagonal
    /// and what is below them. A term is the product of the same two numbers on both sides of the
    /// diagonal, so a symmetric `A` stays symmetric to the last bit.
    pub(crate) fn scale_and_subtract_outer[s](a: &'a mut [f64], stride: usize, c: f64, u: &'a [f64]) -> () {
        // Without forgetting: one product fused with the sum.
        let plain = c.to_bits() == 1.0_f64.to_bits();
        let c = s.splat_f64s(c);
        // Four columns for one read of u.
        for ((j, a), v) in (0..).step_by(4).zip(a.chunks_exact_mut(4 * stride.max(1))).zip(u.as_chunks::<4>().0) {
            let rows = j - j % LANES..u.len();
            let (a0, a) = a.split_at_mut(stride);
            let (a1, a) = a.split_at_mut(stride);
            let (a2, a3) = a.split_at_mut(stride);
            let [a0, a1, a2, a3] = [a0, a1, a2, a3].map(|a| whole_mut(s, &mut a[rows.clone()]));
            let [v0, v1, v2, v3] = v.map(|v| s.splat_f64s(-v));
            let columns = whole(s, &u[rows]).iter().zip(a0).zip(a1).zip(a2).zip(a3);
            if plain {
                for ((((u, a0), a1), a2), a3) in columns {
                    *a0 = s.mul_add_e_f64s(v0, *u, *a0);
                    *a1 = s.mul_add_e_f64s(v1, *u, *a1);
                    *a2 = s.mul_add_e_f64s(v2, *u, *a2);
                    *a3 = s.mul_add_e_f64s(v3, *u, *a3);
                }
            } else {
                for ((((u, a0), a1), a2), a3) in columns {
                    *a0 = s.mul_add_e_f64s(c, *a0, s.mul_f64s(v0, *u));
                    *a1 = s.mul_add_e_f64s(c, *a1, s.mul_f64s(v1, *u));
                    *a2 = s.mul_add_e_f64s(c, *a2, s.mul_f64s(v2, *u));
                    *a3 = s.mul_add_e_f64s(c, *a3, s.mul_f64s(v3, *u));
                }
            }
        }
    }

    /// Column `j` of the lower triangle of `A` less `c A_ji` times column `i`, for all columns `j` after
    /// `i` of the leading `n`.
    pub(crate) fn eliminate_below[s](a: &'a mut [f64], stride: usize, i: usize, n: usize, c: f64) -> () {
        let (before, after) = a.split_at_mut((i + 1) * stride);
        let pivot = &before[i * stride..];
        for (column, j) in after.chunks_exact_mut(stride).zip(i + 1..n) {
            let from = j - j % LANES;
            let v = s.splat_f64s(-c * pivot[j]);
            for (a, u) in whole_mut(s, &mut column[from..]).iter_mut().zip(whole(s, &pivot[from..])) {
                *a = s.mul_add_e_f64s(v, *u, *a);
            }
        }
    }

    /// `b = L^{-1} b` by columns, eight at a time: one read of `L`. `L` is lower triangular with
    /// zeros above; `inverse_diagonal` is padded with zeros.
    pub(crate) fn solve_lower[s](l: &'a [f64], stride: usize, inverse_diagonal: &'a [f64], b: &'a mut [f64]) -> () {
        let n = b.len();
        for j in (0..n).step_by(LANES) {
            let (head, below) = b[j..].split_at_mut(LANES);
            // Each unknown of the head in all lanes: none is taken to memory and back before the next is known.
            let mut minus = [s.splat_f64s(0.0); LANES];
            for k in 0..LANES {
                let mut left = s.splat_f64s(head[k]);
                for (i, z) in minus[..k].iter().enumerate() {
                    left = s.mul_add_e_f64s(*z, s.splat_f64s(l[(j + i) * stride + j + k]), left);
                }
                minus[k] = s.mul_f64s(left, s.splat_f64s(-inverse_diagonal[j + k]));
            }
            for (head, z) in head.iter_mut().zip(minus) {
                s.partial_store_f64s(std::slice::from_mut(head), s.neg_f64s(z));
            }
            let j = j + LANES;
            let [l0, l1, l2, l3] = four_columns(s, l, stride, j - LANES, j, n);
            let [l4, l5, l6, l7] = four_columns(s, l, stride, j - LANES / 2, j, n);
            let add = |b: S::f64s, l: [S::f64s; 4], z: [S::f64s; 4]| {
                let first = s.mul_add_e_f64s(l[1], z[1], s.mul_add_e_f64s(l[0], z[0], b));
                let second = s.mul_add_e_f64s(l[3], z[3], s.mul_f64s(l[2], z[2]));
                s.add_f64s(first, second)
            };
            let [z0, z1, z2, z3, z4, z5, z6, z7] = minus;
            for ((((((((b, l0), l1), l2), l3), l4), l5), l6), l7) in
                whole_mut(s, below).iter_mut().zip(l0).zip(l1).zip(l2).zip(l3).zip(l4).zip(l5).zip(l6).zip(l7)
            {
                *b = add(add(*b, [*l0, *l1, *l2, *l3], [z0, z1, z2, z3]), [*l4, *l5, *l6, *l7], [z4, z5, z6, z7]);
            }
        }
    }
}
