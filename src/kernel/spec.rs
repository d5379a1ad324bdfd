//! Kernels as they are written down: in a model file, on a command line, in Python.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Gaussian, Kernel, Laplacian, Linear, Matern32, Matern52, Polynomial};
use crate::error::{Result, in_range, not_negative, positive};

/// A kernel and its parameters, where `None` stands for a default that depends on the data's width:
/// bandwidth `sqrt(d)` and scale `1 / d`, right for features of unit variance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum KernelSpec {
    /// See [`Kernel::gaussian`].
    Gaussian {
        /// Length scale, positive.
        bandwidth: Option<f64>,
    },
    /// See [`Kernel::laplacian`].
    Laplacian {
        /// Length scale, positive.
        bandwidth: Option<f64>,
    },
    /// See [`Kernel::matern32`].
    Matern32 {
        /// Length scale, positive.
        bandwidth: Option<f64>,
    },
    /// See [`Kernel::matern52`].
    Matern52 {
        /// Length scale, positive.
        bandwidth: Option<f64>,
    },
    /// See [`Kernel::polynomial`].
    Polynomial {
        /// From 1 to 20.
        degree: u32,
        /// Factor of the inner product, positive.
        scale: Option<f64>,
        /// Added to it, zero or positive.
        offset: f64,
    },
    /// See [`Kernel::linear`].
    Linear {},
    /// See [`Kernel::weighted_sum`].
    Sum {
        /// Zero or positive, one for each kernel.
        weights: Vec<f64>,
        /// What is summed.
        kernels: Vec<KernelSpec>,
    },
    /// See [`Kernel::product`].
    Product {
        /// Of the columns that the second does not see.
        first: Box<KernelSpec>,
        /// Of the last columns.
        second: Box<KernelSpec>,
        /// How many these are.
        second_width: usize,
    },
}

impl Default for KernelSpec {
    fn default() -> Self {
        Self::Gaussian { bandwidth: None }
    }
}

impl From<Kernel> for KernelSpec {
    fn from(kernel: Kernel) -> Self {
        kernel.spec
    }
}

impl KernelSpec {
    /// The kernel for points with `width` features: parameters checked, defaults filled in.
    pub fn resolve(&self, width: usize) -> Result<Kernel> {
        let d = width.max(1) as f64;
        let length = |bandwidth: &Option<f64>| {
            let value = bandwidth.unwrap_or_else(|| d.sqrt());
            positive("bandwidth", value)
        };
        let single = |shape: Arc<dyn super::Shape>, spec| Ok(Kernel::single(shape, spec));
        match self {
            Self::Gaussian { bandwidth } => {
                let b = length(bandwidth)?;
                single(Arc::new(Gaussian::new(b)), Self::Gaussian { bandwidth: Some(b) })
            }
            Self::Laplacian { bandwidth } => {
                let b = length(bandwidth)?;
                single(Arc::new(Laplacian::new(b)), Self::Laplacian { bandwidth: Some(b) })
            }
            Self::Matern32 { bandwidth } => {
                let b = length(bandwidth)?;
                single(Arc::new(Matern32::new(b)), Self::Matern32 { bandwidth: Some(b) })
            }
            Self::Matern52 { bandwidth } => {
                let b = length(bandwidth)?;
                single(Arc::new(Matern52::new(b)), Self::Matern52 { bandwidth: Some(b) })
            }
            Self::Polynomial { degree, scale, offset } => {
                let degree = in_range("degree", *degree, (1..=20).contains(degree), "from 1 to 20")?;
                let scale = positive("scale", scale.unwrap_or(d.recip()))?;
                let offset = not_negative("offset", *offset)?;
                single(
                    Arc::new(Polynomial::new(degree, scale, offset)),
                    Self::Polynomial { degree, scale: Some(scale), offset },
                )
            }
            Self::Linear {} => single(Arc::new(Linear), Self::Linear {}),
            Self::Sum { weights, kernels } => {
                in_range(
                    "weights",
                    weights.len(),
                    weights.len() == kernels.len(),
                    "as many as there are kernels in the sum",
                )?;
                let parts = kernels.iter().map(|kernel| kernel.resolve(width));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                Kernel::weighted_sum(weights.iter().copied().zip(parts).collect())
            }
            Self::Product { first, second, second_width } => {
                let first_width = width.saturating_sub(*second_width);
                let (first, second) = (first.resolve(first_width)?, second.resolve(*second_width)?);
                Ok(Kernel::product(first, first_width, second, *second_width))
            }
        }
    }

    /// Whether points may be so similar to themselves that they bring out the rounding of learners that
    /// otherwise never fail.
    pub(crate) fn is_steep(&self) -> bool {
        self.bound() > 10.0
    }

    /// The most that a point can be similar to itself; infinity where there is no bound.
    fn bound(&self) -> f64 {
        match self {
            Self::Gaussian { .. }
            | Self::Laplacian { .. }
            | Self::Matern32 { .. }
            | Self::Matern52 { .. } => 1.0,
            Self::Polynomial { .. } | Self::Linear {} => f64::INFINITY,
            Self::Sum { weights, kernels } => {
                let terms = weights.iter().zip(kernels).filter(|(weight, _)| **weight > 0.0);
                terms.map(|(weight, kernel)| weight * kernel.bound()).sum()
            }
            Self::Product { first, second, .. } => first.bound() * second.bound(),
        }
    }

    /// The parts of a sum, or the kernel itself with weight 1.
    pub(super) fn into_terms(self) -> Vec<(f64, Self)> {
        match self {
            Self::Sum { weights, kernels } => weights.into_iter().zip(kernels).collect(),
            other => vec![(1.0, other)],
        }
    }
}
