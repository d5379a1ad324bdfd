//! Kernels of the distance alone: Gaussian, Laplacian and Matern.

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
        for v in values {
            *v = (self.rate * *v).exp();
        }
    }
}

/// `exp(-|x - y| / bandwidth)`, with the Euclidean distance
#[derive(Clone, Copy, Debug)]
pub struct Laplacian {
    rate: f64,
}

impl Laplacian {
    pub(super) fn new(bandwidth: f64) -> Self {
        Self { rate: bandwidth.recip() }
    }
}

impl Shape for Laplacian {
    fn comparison(&self) -> Comparison {
        Comparison::SquaredDistance
    }

    fn apply(&self, values: &mut [f64]) {
        for v in values {
            *v = (-self.rate * v.sqrt()).exp();
        }
    }
}

/// `(1 + r) exp(-r)` with `r = sqrt(3) |x - y| / bandwidth`
#[derive(Clone, Copy, Debug)]
pub struct Matern32 {
    rate: f64,
}

impl Matern32 {
    pub(super) fn new(bandwidth: f64) -> Self {
        Self { rate: 3_f64.sqrt() / bandwidth }
    }
}

impl Shape for Matern32 {
    fn comparison(&self) -> Comparison {
        Comparison::SquaredDistance
    }

    fn apply(&self, values: &mut [f64]) {
        for v in values {
            let r = self.rate * v.sqrt();
            *v = (1.0 + r) * (-r).exp();
        }
    }
}

/// `(1 + r + r^2 / 3) exp(-r)` with `r = sqrt(5) |x - y| / bandwidth`
#[derive(Clone, Copy, Debug)]
pub struct Matern52 {
    rate: f64,
}

impl Matern52 {
    pub(super) fn new(bandwidth: f64) -> Self {
        Self { rate: 5_f64.sqrt() / bandwidth }
    }
}

impl Shape for Matern52 {
    fn comparison(&self) -> Comparison {
        Comparison::SquaredDistance
    }

    fn apply(&self, values: &mut [f64]) {
        for v in values {
            let r = self.rate * v.sqrt();
            *v = (1.0 + r * (1.0 + r / 3.0)) * (-r).exp();
        }
    }
}
