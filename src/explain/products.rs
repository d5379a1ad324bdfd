//! Exact Shapley values of sums of products.
//!
//! Of `f(x) = sum_i a_i prod_j k_j(x_j, p_ij)` the value of a set `S` of columns against a background row `b` is
//! `v(S) = sum_i a_i prod_{j in S} A_ij prod_{j not in S} C_ij`, with the factors `A` at `x` and `C` at `b`. The weight of a
//! set in Shapley's formula is the integral of `t^|S| (1 - t)^(d - 1 - |S|)` over `t` from 0 to 1, so that
//!
//! ```text
//! phi_j = sum_i a_i (A_ij - C_ij) int_0^1 prod_{l != j} (C_il + t (A_il - C_il)) dt,
//! ```
//!
//! a polynomial of degree `d - 1` in `t`, which `ceil(d / 2)` nodes of Gauss and Legendre integrate exactly: `O(m d^2)` for
//! a row and a background row instead of `2^d`. Products without a factor are those before it times those after it,
//! which need no division.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use std::ops::Range;

use ndarray::{ArrayView2, ArrayViewMut3, Axis};
use pulp::{Arch, Simd, WithSimd};

use super::quadrature::gauss_legendre;
use crate::error::Result;
use crate::kernel::{Factor, Kernel, PointSet, SeparateProduct};
use crate::linalg::{LANES, Panel, padded};
use crate::threads::ask_each_block;

/// Points whose factors are computed together: few enough for those of a background to stay in the
/// cache.
const POINTS: usize = 512;

/// Rows that a thread explains at once.
const ROWS: usize = 4;

/// A function of rows: the sum of `coefficients` (m, p) times the similarities to some points.
pub(super) struct ProductSum<'a> {
    points: &'a PointSet,
    coefficients: Panel,
    products: Vec<SeparateProduct>,
}

impl<'a> ProductSum<'a> {
    /// The sum of similarities by a kernel; `None` if this is no sum of products of functions of the players' columns.
    pub fn of(
        kernel: &Kernel,
        points: &'a PointSet,
        coefficients: Panel,
        players: &[Range<usize>],
    ) -> Option<Self> {
        let mut group_of = vec![0; points.width()];
        for (player, columns) in players.iter().enumerate() {
            group_of[columns.clone()].fill(player);
        }
        let products = kernel.separated(&group_of)?;
        Some(Self { points, coefficients, products })
    }

    /// Adds Shapley values of rows `x` (n, d) against the mean over `background` (b, d), each multiplied by its output's
    /// `weights`, to `values` (n, p, players).
    pub fn add_values(
        &self,
        x: ArrayView2<'_, f64>,
        background: ArrayView2<'_, f64>,
        weights: &[f64],
        mut values: ArrayViewMut3<'_, f64>,
    ) -> Result<()> {
        let end = padded(self.points.len());
        for product in &self.products {
            let rule = gauss_legendre(product.factors.len().div_ceil(2));
            for start in (0..end).step_by(POINTS) {
                let rows = start..end.min(start + POINTS);
                let mut table = Table::new(product.factors.len(), rows.len());
                let background: Vec<Vec<f64>> = background
                    .rows()
                    .into_iter()
                    .map(|row| {
                        table.fill(&product.factors, self.points, &row.to_vec(), rows.clone());
                        table.factors.clone()
                    })
                    .collect();
                let part = Part { sum: self, product, rule: &rule, rows, background: &background, weights };
                let blocks =
                    x.axis_chunks_iter(Axis(0), ROWS).zip(values.axis_chunks_iter_mut(Axis(0), ROWS));
                ask_each_block(blocks, |(x, values)| part.add_values(x, values))?;
            }
        }
        Ok(())
    }
}

/// Factors of some points at one row, in groups of [`LANES`] points: those of the first players, then of the next.
struct Table {
    factors: Vec<f64>,
    column: Vec<f64>,
    scratch: Vec<f64>,
}

impl Table {
    fn new(players: usize, points: usize) -> Self {
        Self { factors: vec![0.0; players * points], column: vec![0.0; points], scratch: vec![0.0; points] }
    }

    fn fill(&mut self, factors: &[(usize, Factor)], points: &PointSet, x: &[f64], rows: Range<usize>) {
        for (place, (_, factor)) in factors.iter().enumerate() {
            factor.compare(points, x, rows.clone(), &mut self.column, &mut self.scratch);
            let groups = self.factors.chunks_exact_mut(factors.len() * LANES);
            for (group, column) in groups.zip(self.column.chunks_exact(LANES)) {
                group[place * LANES..][..LANES].copy_from_slice(column);
            }
        }
    }
}

/// What is explained at once: one product, at some of the points.
struct Part<'a> {
    sum: &'a ProductSum<'a>,
    product: &'a SeparateProduct,
    rule: &'a [[f64; 2]],
    rows: Range<usize>,
    background: &'a [Vec<f64>],
    weights: &'a [f64],
}

impl Part<'_> {
    fn add_values(&self, x: ArrayView2<'_, f64>, mut values: ArrayViewMut3<'_, f64>) {
        let factors = &self.product.factors;
        let mut table = Table::new(factors.len(), self.rows.len());
        let mut gains = vec![0.0; factors.len() * self.rows.len()];
        let mut scratch = vec![0.0; 4 * factors.len() * LANES];
        for (x, mut values) in x.rows().into_iter().zip(values.outer_iter_mut()) {
            table.fill(factors, self.sum.points, &x.to_vec(), self.rows.clone());
            gains.fill(0.0);
            for before in self.background {
                let (after, rule) = (table.factors.as_slice(), self.rule);
                let (gains, scratch) = (gains.as_mut_slice(), scratch.as_mut_slice());
                Arch::new().dispatch(Against { players: factors.len(), before, after, rule, gains, scratch });
            }
            let share = self.product.weight / self.background.len() as f64;
            for (c, mut values) in values.outer_iter_mut().enumerate() {
                let coefficients = &self.sum.coefficients.col(c)[self.rows.clone()];
                for (place, (player, _)) in factors.iter().enumerate() {
                    let groups = gains
                        .chunks_exact(factors.len() * LANES)
                        .map(|group| &group[place * LANES..][..LANES]);
                    let pairs = groups.flatten().zip(coefficients);
                    let sum: f64 = pairs.map(|(gain, coefficient)| gain * coefficient).sum();
                    values[*player] += self.weights[c] * share * sum;
                }
            }
        }
    }
}

/// Adds the contribution of each player for each point, against one background row.
struct Against<'a> {
    players: usize,
    before: &'a [f64],
    after: &'a [f64],
    rule: &'a [[f64; 2]],
    gains: &'a mut [f64],
    scratch: &'a mut [f64],
}

impl WithSimd for Against<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, s: S) {
        let Self { players, before, after, rule, gains, scratch } = self;
        let (before, after) = (S::as_simd_f64s(before).0, S::as_simd_f64s(after).0);
        let (gains, scratch) = (S::as_mut_simd_f64s(gains).0, S::as_mut_simd_f64s(scratch).0);
        // Vectors of a group of points and a player.
        let each = scratch.len() / (4 * players);
        let (risen, rest) = scratch.split_at_mut(players);
        let (behind, rest) = rest.split_at_mut(players);
        let (mixed, rest) = rest.split_at_mut(players);
        let total = &mut rest[..players];
        for first in (0..before.len()).step_by(players * each) {
            for part in 0..each {
                let place = |player: usize| first + player * each + part;
                for player in 0..players {
                    risen[player] = s.sub_f64s(after[place(player)], before[place(player)]);
                    total[player] = s.splat_f64s(0.0);
                }
                for [t, weight] in rule {
                    let t = s.splat_f64s(*t);
                    let mut product = s.splat_f64s(1.0);
                    for player in (0..players).rev() {
                        behind[player] = product;
                        let value = s.mul_add_e_f64s(t, risen[player], before[place(player)]);
                        mixed[player] = value;
                        product = s.mul_f64s(product, value);
                    }
                    let mut product = s.splat_f64s(*weight);
                    for player in 0..players {
                        total[player] = s.mul_add_e_f64s(product, behind[player], total[player]);
                        product = s.mul_f64s(product, mixed[player]);
                    }
                }
                for player in 0..players {
                    let to = &mut gains[place(player)];
                    *to = s.mul_add_e_f64s(risen[player], total[player], *to);
                }
            }
        }
    }
}
