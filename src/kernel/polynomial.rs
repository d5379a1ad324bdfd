//! Kernels of the inner product: polynomial and linear.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use std::sync::Arc;

use pulp::Simd;

use super::shape::{Comparison, Separation, Shape};
use super::spec::KernelSpec;
use super::terms::Kernel;
use super::vector::{Function, map, scale};
use crate::error::{Result, in_range, not_negative, positive};

impl Kernel {
    /// `(scale x . y + offset)^degree`
    pub fn polynomial(degree: u32, scale: f64, offset: f64) -> Result<Self> {
        let degree = in_range("degree", degree, (1..=20).contains(&degree), "from 1 to 20")?;
        let scale = positive("scale", scale)?;
        let offset = not_negative("offset", offset)?;
        let spec = KernelSpec::Polynomial { degree, scale: Some(scale), offset };
        Ok(Self::of_shape(Arc::new(Polynomial { degree, scale, offset }), spec))
    }

    /// `x . y`
    #[must_use]
    pub fn linear() -> Self {
        Self::of_shape(Arc::new(Linear), KernelSpec::Linear {})
    }
}

#[derive(Clone, Copy, Debug)]
struct Polynomial {
    degree: u32,
    scale: f64,
    offset: f64,
}

impl Shape for Polynomial {
    fn comparison(&self) -> Comparison {
        Comparison::InnerProduct
    }

    fn apply(&self, values: &mut [f64]) {
        map(self, values);
    }

    fn separation(&self) -> Separation {
        if self.degree == 1 { Separation::Sum } else { Separation::None }
    }

    fn slopes(&self, values: &mut [f64]) {
        map(&Self { degree: self.degree - 1, ..*self }, values);
        scale(values, f64::from(self.degree) * self.scale);
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

#[derive(Clone, Copy, Debug)]
struct Linear;

impl Shape for Linear {
    fn comparison(&self) -> Comparison {
        Comparison::InnerProduct
    }

    fn apply(&self, _values: &mut [f64]) {}

    fn separation(&self) -> Separation {
        Separation::Sum
    }

    fn slopes(&self, values: &mut [f64]) {
        values.fill(1.0);
    }
}
