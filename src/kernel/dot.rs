//! Kernels of the inner product: linear and polynomial.

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
    degree: i32,
}

impl Polynomial {
    pub(super) fn new(degree: i32, scale: f64, offset: f64) -> Self {
        Self { scale, offset, degree }
    }
}

impl Shape for Polynomial {
    fn comparison(&self) -> Comparison {
        Comparison::InnerProduct
    }

    fn apply(&self, values: &mut [f64]) {
        for v in values {
            *v = (self.scale * *v + self.offset).powi(self.degree);
        }
    }
}
