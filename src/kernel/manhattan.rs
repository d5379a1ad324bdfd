//! The Laplacian kernel of the Manhattan distance, and rougher ones.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use std::sync::Arc;

use pulp::Simd;

use super::shape::{Comparison, Separation, Shape};
use super::spec::KernelSpec;
use super::terms::Kernel;
use super::vector::{Function, exp, map, scale};
use crate::error::{Result, in_range, positive};

impl Kernel {
    /// `exp(-(|x_1 - y_1| + |x_2 - y_2| + ...) / bandwidth)`: the Laplacian kernel of the Manhattan distance, a
    /// product of one-dimensional kernels. Like a tree, and unlike kernels of the Euclidean distance, it sees
    /// each column by itself. No matrix product helps here: O(d) a pair of points.
    pub fn manhattan_laplacian(bandwidth: f64) -> Result<Self> {
        Self::manhattan(bandwidth, 1.0)
    }

    /// `exp(-((|x_1 - y_1| + |x_2 - y_2| + ...) / bandwidth)^exponent)`, `exponent` above 0 and at most 1: positive
    /// definite, since a power of a distance that can be embedded is one (Schoenberg, 1938). The smaller the exponent, the
    /// rougher the functions, and the more points they need.
    pub fn manhattan(bandwidth: f64, exponent: f64) -> Result<Self> {
        let bandwidth = positive("bandwidth", bandwidth)?;
        let exponent =
            in_range("exponent", exponent, exponent > 0.0 && exponent <= 1.0, "above 0, at most 1")?;
        let shape = Manhattan { rate: bandwidth.recip(), power: Power::of(exponent) };
        let spec = KernelSpec::ManhattanLaplacian { bandwidth: Some(bandwidth), exponent };
        Ok(Self::of_shape(Arc::new(shape), spec))
    }
}

#[derive(Clone, Copy, Debug)]
struct Manhattan {
    rate: f64,
    power: Power,
}

/// An exponent: those that roots give are computed by vectors.
#[derive(Clone, Copy, Debug)]
enum Power {
    One,
    ThreeQuarters,
    Half,
    Other(f64),
}

impl Power {
    fn of(exponent: f64) -> Self {
        match exponent {
            1.0 => Self::One,
            0.75 => Self::ThreeQuarters,
            0.5 => Self::Half,
            other => Self::Other(other),
        }
    }

    fn exponent(self) -> f64 {
        match self {
            Self::One => 1.0,
            Self::ThreeQuarters => 0.75,
            Self::Half => 0.5,
            Self::Other(exponent) => exponent,
        }
    }
}

impl Manhattan {
    /// Minus the distances in units of the bandwidth, to the power, in place.
    fn arguments(&self, values: &mut [f64]) {
        match self.power {
            Power::Other(exponent) => {
                for value in values {
                    *value = -(self.rate * *value).powf(exponent);
                }
            }
            _ => map(&Arguments(*self), values),
        }
    }
}

impl Shape for Manhattan {
    fn comparison(&self) -> Comparison {
        Comparison::ManhattanDistance
    }

    fn apply(&self, values: &mut [f64]) {
        if let Power::Other(_) = self.power {
            self.arguments(values);
            map(&Exponential, values);
        } else {
            map(self, values);
        }
    }

    fn slopes(&self, values: &mut [f64]) {
        if let Power::One = self.power {
            map(self, values);
            scale(values, -self.rate);
            return;
        }
        let (exponent, distances) = (self.power.exponent(), values.to_vec());
        self.arguments(values);
        for (value, distance) in values.iter_mut().zip(distances) {
            let argument = *value;
            *value = if distance > 0.0 { exponent * argument / distance * argument.exp() } else { 0.0 };
        }
    }

    fn separation(&self) -> Separation {
        match self.power {
            Power::One => Separation::Product,
            _ => Separation::None,
        }
    }

    fn diag(&self) -> Option<f64> {
        Some(1.0)
    }
}

impl Manhattan {
    /// See [`arguments`](Self::arguments), of exponents that roots give.
    #[inline(always)]
    fn argument<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        let v = s.mul_f64s(s.splat_f64s(self.rate), v);
        s.neg_f64s(match self.power {
            Power::ThreeQuarters => {
                let root = s.sqrt_f64s(v);
                s.mul_f64s(root, s.sqrt_f64s(root))
            }
            Power::Half => s.sqrt_f64s(v),
            Power::One | Power::Other(_) => v,
        })
    }
}

impl Function for Manhattan {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        exp(s, self.argument(s, v))
    }
}

struct Arguments(Manhattan);

impl Function for Arguments {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        self.0.argument(s, v)
    }
}

struct Exponential;

impl Function for Exponential {
    #[inline(always)]
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
        exp(s, v)
    }
}
