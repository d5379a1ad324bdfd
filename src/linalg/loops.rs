//! The loops that run once a row: plain Rust over groups of [`LANES`] numbers, compiled for the
//! vector instructions that the processor has (chosen at run time by `pulp`).
//!
//! All slices are padded with zeros to a multiple of [`LANES`]; matrices are stored by columns.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use super::panel::LANES;

type Lane = [f64; LANES];

#[inline(always)]
fn lanes(x: &[f64]) -> &[Lane] {
    x.as_chunks().0
}

#[inline(always)]
fn lanes_mut(x: &mut [f64]) -> &mut [Lane] {
    x.as_chunks_mut().0
}

#[inline(always)]
fn sum(lane: Lane) -> f64 {
    ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]))
}

/// Declares functions that are compiled once for each instruction set and chosen at run time.
macro_rules! vectorized {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty $body:block)*) => {
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
                    fn with_simd<S: pulp::Simd>(self, _: S) -> $ret {
                        let Self { $($arg,)* life: _ } = self;
                        $body
                    }
                }
                pulp::Arch::new().dispatch(Op { $($arg,)* life: std::marker::PhantomData::<&'a ()> })
            }
        )*
    };
}

vectorized! {
    /// `x . y`
    pub(crate) fn dot(x: &'a [f64], y: &'a [f64]) -> f64 {
        let mut total = [0.0; LANES];
        for (a, b) in lanes(x).iter().zip(lanes(y)) {
            for k in 0..LANES {
                total[k] += a[k] * b[k];
            }
        }
        sum(total)
    }

    /// `y += c x`
    pub(crate) fn add_scaled(c: f64, x: &'a [f64], y: &'a mut [f64]) -> () {
        for (b, a) in lanes_mut(y).iter_mut().zip(lanes(x)) {
            for k in 0..LANES {
                b[k] += c * a[k];
            }
        }
    }

    /// `y = A x`, with the columns of `A` `stride` apart and as many as `x` is long.
    pub(crate) fn multiply(a: &'a [f64], stride: usize, x: &'a [f64], y: &'a mut [f64]) -> () {
        y.fill(0.0);
        let n = y.len();
        let mut j = 0;
        while j + 4 <= x.len() {
            let [a0, a1, a2, a3] = four_columns(a, stride, j, 0, n);
            let (x0, x1, x2, x3) = (x[j], x[j + 1], x[j + 2], x[j + 3]);
            for ((((y, a0), a1), a2), a3) in lanes_mut(y).iter_mut().zip(a0).zip(a1).zip(a2).zip(a3) {
                for k in 0..LANES {
                    y[k] += (a0[k] * x0 + a1[k] * x1) + (a2[k] * x2 + a3[k] * x3);
                }
            }
            j += 4;
        }
        while j < x.len() {
            let column = lanes(&a[j * stride..j * stride + n]);
            for (y, a) in lanes_mut(y).iter_mut().zip(column) {
                for k in 0..LANES {
                    y[k] += a[k] * x[j];
                }
            }
            j += 1;
        }
    }

    /// `out_j = |x - s_j|^2` for points stored by columns of features.
    pub(crate) fn squared_distances(s: &'a [f64], stride: usize, x: &'a [f64], out: &'a mut [f64]) -> () {
        out.fill(0.0);
        let n = out.len();
        let mut j = 0;
        while j + 4 <= x.len() {
            let [s0, s1, s2, s3] = four_columns(s, stride, j, 0, n);
            let (x0, x1, x2, x3) = (x[j], x[j + 1], x[j + 2], x[j + 3]);
            for ((((out, s0), s1), s2), s3) in lanes_mut(out).iter_mut().zip(s0).zip(s1).zip(s2).zip(s3) {
                for k in 0..LANES {
                    let (d0, d1, d2, d3) = (x0 - s0[k], x1 - s1[k], x2 - s2[k], x3 - s3[k]);
                    out[k] += (d0 * d0 + d1 * d1) + (d2 * d2 + d3 * d3);
                }
            }
            j += 4;
        }
        while j < x.len() {
            let column = lanes(&s[j * stride..j * stride + n]);
            for (out, s) in lanes_mut(out).iter_mut().zip(column) {
                for k in 0..LANES {
                    let d = x[j] - s[k];
                    out[k] += d * d;
                }
            }
            j += 1;
        }
    }

    /// `A = c A - u u'` for the leading square of `A`, as large as `u` is long. Each term is one
    /// product of two numbers, so a symmetric `A` stays symmetric to the last bit.
    pub(crate) fn scale_and_subtract_outer(a: &'a mut [f64], stride: usize, c: f64, u: &'a [f64]) -> () {
        let n = u.len();
        if n == 0 {
            return;
        }
        for (column, &v) in a.chunks_exact_mut(stride).zip(u) {
            for (a, u) in lanes_mut(&mut column[..n]).iter_mut().zip(lanes(u)) {
                for k in 0..LANES {
                    a[k] = c * a[k] - v * u[k];
                }
            }
        }
    }

    /// `b = L^{-1} b` by columns, eight at a time: one read of `L`. `L` is lower triangular with
    /// zeros above; `inverse_diagonal` is padded with zeros.
    pub(crate) fn solve_lower(l: &'a [f64], stride: usize, inverse_diagonal: &'a [f64], b: &'a mut [f64]) -> () {
        let n = b.len();
        let mut j = 0;
        while j < n {
            let mut head: Lane = [0.0; LANES];
            head.copy_from_slice(&b[j..j + LANES]);
            let mut z: Lane = [0.0; LANES];
            for k in 0..LANES {
                z[k] = head[k] * inverse_diagonal[j + k];
                let start = (j + k) * stride + j;
                let column = &l[start..start + LANES];
                for i in 0..LANES {
                    head[i] -= column[i] * z[k];
                }
            }
            b[j..j + LANES].copy_from_slice(&z);
            let below = j + LANES;
            for half in [0, 4] {
                let [l0, l1, l2, l3] = four_columns(l, stride, j + half, below, n);
                let (z0, z1, z2, z3) = (z[half], z[half + 1], z[half + 2], z[half + 3]);
                for ((((b, l0), l1), l2), l3) in
                    lanes_mut(&mut b[below..]).iter_mut().zip(l0).zip(l1).zip(l2).zip(l3)
                {
                    for k in 0..LANES {
                        b[k] -= (l0[k] * z0 + l1[k] * z1) + (l2[k] * z2 + l3[k] * z3);
                    }
                }
            }
            j += LANES;
        }
    }
}

/// Rows `from..to` of columns `j..j + 4`.
#[inline(always)]
fn four_columns(a: &[f64], stride: usize, j: usize, from: usize, to: usize) -> [&[Lane]; 4] {
    [0, 1, 2, 3].map(|k| {
        let start = (j + k) * stride;
        lanes(&a[start + from..start + to])
    })
}
