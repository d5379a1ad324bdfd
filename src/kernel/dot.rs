//! Kernels of the inner product: linear and polynomial.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use pulp::Simd;

use super::vector::{Function, map};
use super::{Comparison, Shape};

/// `x . y`
#[derive(Clone, Copy, Debug)]
pub struct Linear;

impl Shape for Linear {
    fn comparison(&self) -> Comparison {
        Comparison::InnerProduct
    }

    fn apply(&self, _values: &mut [f64]) {}
}

/// `(scale x . y + offset)^degree`
#[derive(Clone, Copy, Debug)]
pub struct Polynomial {
    scale: f64,
    offset: f64,
    degree: u32,
}

impl Polynomial {
    pub(super) fn new(degree: u32, scale: f64, offset: f64) -> Self {
        Self { scale, offset, degree }
    }
}

impl Shape for Polynomial {
    fn comparison(&self) -> Comparison {
        Comparison::InnerProduct
    }

    fn apply(&self, values: &mut [f64]) {
        map(self, values);
    }
}

impl Function for Polynomial {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        let mut square = s.mul_add_e_f64s(v, s.splat_f64s(self.scale), s.splat_f64s(self.offset));
        let mut power = s.splat_f64s(1.0);
        let mut degree = self.degree;
        loop {
            if degree % 2 == 1 {
                power = s.mul_f64s(power, square);
            }
            degree /= 2;
            if degree == 0 {
                return power;
            }
            square = s.mul_f64s(square, square);
        }
    }
}
