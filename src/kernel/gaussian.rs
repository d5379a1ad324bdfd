//! The Gaussian kernel.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use std::sync::Arc;

use pulp::Simd;

use super::shape::{Comparison, Separation, Shape, SpectralDensity};
use super::spec::KernelSpec;
use super::terms::Kernel;
use super::vector::{Function, exp, map, scale};
use crate::error::{Result, positive};

impl Kernel {
    /// `exp(-|x - y|^2 / (2 bandwidth^2))`
    pub fn gaussian(bandwidth: f64) -> Result<Self> {
        let bandwidth = positive("bandwidth", bandwidth)?;
        let shape = Gaussian { bandwidth, rate: -0.5 / (bandwidth * bandwidth) };
        Ok(Self::of_shape(Arc::new(shape), KernelSpec::Gaussian { bandwidth: Some(bandwidth) }))
    }
}

#[derive(Clone, Copy, Debug)]
struct Gaussian {
    bandwidth: f64,
    rate: f64,
}

impl Shape for Gaussian {
    fn comparison(&self) -> Comparison {
        Comparison::SquaredDistance
    }

    fn apply(&self, values: &mut [f64]) {
        map(self, values);
    }

    fn slopes(&self, values: &mut [f64]) {
        map(self, values);
        scale(values, self.rate);
    }

    fn separation(&self) -> Separation {
        Separation::Product
    }

    fn diag(&self) -> Option<f64> {
        Some(1.0)
    }

    fn spectral_density(&self) -> Option<SpectralDensity> {
        Some(SpectralDensity { scale: self.bandwidth.recip(), freedom: None })
    }
}

impl Function for Gaussian {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        exp(s, s.mul_f64s(s.splat_f64s(self.rate), v))
    }
}
