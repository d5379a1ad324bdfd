//! The Laplacian kernel of the Manhattan distance.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use std::sync::Arc;

use pulp::Simd;

use super::shape::{Comparison, Shape};
use super::spec::KernelSpec;
use super::terms::Kernel;
use super::vector::{Function, exp, map, scale};
use crate::error::{Result, positive};

impl Kernel {
    /// `exp(-(|x_1 - y_1| + |x_2 - y_2| + ...) / bandwidth)`: the Laplacian kernel of the Manhattan distance, a
    /// product of one-dimensional kernels. Like a tree, and unlike kernels of the Euclidean distance, it sees
    /// each column by itself. No matrix product helps here: O(d) a pair of points.
    pub fn manhattan_laplacian(bandwidth: f64) -> Result<Self> {
        let bandwidth = positive("bandwidth", bandwidth)?;
        let shape = Manhattan { rate: -bandwidth.recip() };
        Ok(Self::of_shape(Arc::new(shape), KernelSpec::ManhattanLaplacian { bandwidth: Some(bandwidth) }))
    }
}

#[derive(Clone, Copy, Debug)]
struct Manhattan {
    rate: f64,
}

impl Shape for Manhattan {
    fn comparison(&self) -> Comparison {
        Comparison::ManhattanDistance
    }

    fn apply(&self, values: &mut [f64]) {
        map(self, values);
    }

    fn slopes(&self, values: &mut [f64]) {
        map(self, values);
        scale(values, self.rate);
    }

    fn diag(&self) -> Option<f64> {
        Some(1.0)
    }
}

impl Function for Manhattan {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        exp(s, s.mul_f64s(s.splat_f64s(self.rate), v))
    }
}
