//! Kernels of the distance alone: Gaussian, Laplacian and Matern.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use pulp::Simd;

use super::vector::{Function, exp, map};
use super::{Comparison, Shape};

/// `exp(-|x - y|^2 / (2 bandwidth^2))`
#[derive(Clone, Copy, Debug)]
pub struct Gaussian {
    rate: f64,
}

impl Gaussian {
    pub(super) fn new(bandwidth: f64) -> Self {
        Self { rate: -0.5 / (bandwidth * bandwidth) }
    }
}

impl Shape for Gaussian {
    fn comparison(&self) -> Comparison {
        Comparison::SquaredDistance
    }

    fn apply(&self, values: &mut [f64]) {
        map(self, values);
    }
}

impl Function for Gaussian {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        exp(s, s.mul_f64s(s.splat_f64s(self.rate), v))
    }
}

/// `exp(-|x - y| / bandwidth)`, with the Euclidean distance
#[derive(Clone, Copy, Debug)]
pub struct Laplacian {
    rate: f64,
}

impl Laplacian {
    pub(super) fn new(bandwidth: f64) -> Self {
        Self { rate: -bandwidth.recip() }
    }
}

impl Shape for Laplacian {
    fn comparison(&self) -> Comparison {
        Comparison::SquaredDistance
    }

    fn apply(&self, values: &mut [f64]) {
        map(self, values);
    }
}

impl Function for Laplacian {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        exp(s, s.mul_f64s(s.splat_f64s(self.rate), s.sqrt_f64s(v)))
    }
}

/// `(1 + r) exp(-r)` with `r = sqrt(3) |x - y| / bandwidth`
#[derive(Clone, Copy, Debug)]
pub struct Matern32 {
    rate: f64,
}

impl Matern32 {
    pub(super) fn new(bandwidth: f64) -> Self {
        Self { rate: -3_f64.sqrt() / bandwidth }
    }
}

impl Shape for Matern32 {
    fn comparison(&self) -> Comparison {
        Comparison::SquaredDistance
    }

    fn apply(&self, values: &mut [f64]) {
        map(self, values);
    }
}

impl Function for Matern32 {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        let minus_r = s.mul_f64s(s.splat_f64s(self.rate), s.sqrt_f64s(v));
        s.mul_f64s(s.sub_f64s(s.splat_f64s(1.0), minus_r), exp(s, minus_r))
    }
}

/// `(1 + r + r^2 / 3) exp(-r)` with `r = sqrt(5) |x - y| / bandwidth`
#[derive(Clone, Copy, Debug)]
pub struct Matern52 {
    rate: f64,
}

impl Matern52 {
    pub(super) fn new(bandwidth: f64) -> Self {
        Self { rate: -5_f64.sqrt() / bandwidth }
    }
}

impl Shape for Matern52 {
    fn comparison(&self) -> Comparison {
        Comparison::SquaredDistance
    }

    fn apply(&self, values: &mut [f64]) {
        map(self, values);
    }
}

impl Function for Matern52 {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        let one = s.splat_f64s(1.0);
        let minus_r = s.mul_f64s(s.splat_f64s(self.rate), s.sqrt_f64s(v));
        let third = s.mul_add_e_f64s(minus_r, s.splat_f64s(-1.0 / 3.0), one);
        let factor = s.sub_f64s(one, s.mul_f64s(minus_r, third));
        s.mul_f64s(factor, exp(s, minus_r))
    }
}
