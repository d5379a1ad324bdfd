//! The Matern kernels of orders 1/2 (the Laplacian kernel), 3/2 and 5/2.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use std::sync::Arc;

use pulp::Simd;

use super::shape::{Comparison, Shape, SpectralDensity};
use super::spec::KernelSpec;
use super::terms::Kernel;
use super::vector::{Function, exp, map};
use crate::error::{Result, positive};

impl Kernel {
    /// `exp(-|x - y| / bandwidth)` with the Euclidean distance: the Matern kernel of order 1/2.
    pub fn laplacian(bandwidth: f64) -> Result<Self> {
        let shape = Matern::<1>::new(bandwidth)?;
        Ok(Self::of_shape(Arc::new(shape), KernelSpec::Laplacian { bandwidth: Some(bandwidth) }))
    }

    /// `(1 + r) exp(-r)` with `r = sqrt(3) |x - y| / bandwidth`
    pub fn matern32(bandwidth: f64) -> Result<Self> {
        let shape = Matern::<3>::new(bandwidth)?;
        Ok(Self::of_shape(Arc::new(shape), KernelSpec::Matern32 { bandwidth: Some(bandwidth) }))
    }

    /// `(1 + r + r^2 / 3) exp(-r)` with `r = sqrt(5) |x - y| / bandwidth`
    pub fn matern52(bandwidth: f64) -> Result<Self> {
        let shape = Matern::<5>::new(bandwidth)?;
        Ok(Self::of_shape(Arc::new(shape), KernelSpec::Matern52 { bandwidth: Some(bandwidth) }))
    }
}

/// The Matern kernel of order `TWICE / 2`, a polynomial of `r` times `exp(-r)`.
#[derive(Clone, Copy, Debug)]
struct Matern<const TWICE: u64> {
    bandwidth: f64,
    /// `-r` of two points at distance 1.
    rate: f64,
}

impl<const TWICE: u64> Matern<TWICE> {
    fn new(bandwidth: f64) -> Result<Self> {
        let bandwidth = positive("bandwidth", bandwidth)?;
        Ok(Self { bandwidth, rate: -(TWICE as f64).sqrt() / bandwidth })
    }
}

impl<const TWICE: u64> Shape for Matern<TWICE> {
    fn comparison(&self) -> Comparison {
        Comparison::SquaredDistance
    }

    fn apply(&self, values: &mut [f64]) {
        map(self, values);
    }

    fn slopes(&self, values: &mut [f64]) {
        map(&Slope(*self), values);
    }

    fn diag(&self) -> Option<f64> {
        Some(1.0)
    }

    fn spectral_density(&self) -> Option<SpectralDensity> {
        Some(SpectralDensity { scale: self.bandwidth.recip(), freedom: Some(TWICE) })
    }
}

impl<const TWICE: u64> Function for Matern<TWICE> {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        let one = s.splat_f64s(1.0);
        let minus_r = s.mul_f64s(s.splat_f64s(self.rate), s.sqrt_f64s(v));
        let decay = exp(s, minus_r);
        match TWICE {
            1 => decay,
            3 => s.mul_f64s(s.sub_f64s(one, minus_r), decay),
            _ => {
                let third = s.mul_add_e_f64s(minus_r, s.splat_f64s(-1.0 / 3.0), one);
                s.mul_f64s(s.sub_f64s(one, s.mul_f64s(minus_r, third)), decay)
            }
        }
    }
}

/// The derivative of a Matern kernel with respect to the squared distance.
struct Slope<const TWICE: u64>(Matern<TWICE>);

impl<const TWICE: u64> Function for Slope<TWICE> {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        let zero = s.splat_f64s(0.0);
        let half = s.splat_f64s(0.5 * self.0.rate * self.0.rate);
        let minus_r = s.mul_f64s(s.splat_f64s(self.0.rate), s.sqrt_f64s(v));
        let decay = s.mul_f64s(half, exp(s, minus_r));
        match TWICE {
            1 => s.select_f64s(s.less_than_f64s(zero, v), s.div_f64s(decay, minus_r), zero),
            3 => s.neg_f64s(decay),
            _ => {
                s.mul_f64s(s.mul_f64s(s.sub_f64s(minus_r, s.splat_f64s(1.0)), decay), s.splat_f64s(1.0 / 3.0))
            }
        }
    }
}
