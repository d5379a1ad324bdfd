//! Specifications of kernels, for model files, the command line and Python.

use serde::{Deserialize, Serialize};

use super::metric::Metric;

/// A kernel and its parameters, where `None` stands for a default that depends on the data's width:
/// bandwidth `sqrt(d)` and scale `1 / d`, right for features of unit variance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum KernelSpec {
    /// See [`Kernel::gaussian`](super::Kernel::gaussian).
    Gaussian {
        /// Length scale, positive.
        bandwidth: Option<f64>,
    },
    /// See [`Kernel::laplacian`](super::Kernel::laplacian).
    Laplacian {
        /// Length scale, positive.
        bandwidth: Option<f64>,
    },
    /// See [`Kernel::manhattan_laplacian`](super::Kernel::manhattan_laplacian). The default bandwidth is `d`.
    ManhattanLaplacian {
        /// Length scale, positive.
        bandwidth: Option<f64>,
        /// Power of the distance, above 0 and at most 1. See [`Kernel::manhattan`](super::Kernel::manhattan).
        #[serde(default = "one", skip_serializing_if = "is_one")]
        exponent: f64,
    },
    /// See [`Kernel::matern32`](super::Kernel::matern32).
    Matern32 {
        /// Length scale, positive.
        bandwidth: Option<f64>,
    },
    /// See [`Kernel::matern52`](super::Kernel::matern52).
    Matern52 {
        /// Length scale, positive.
        bandwidth: Option<f64>,
    },
    /// See [`Kernel::polynomial`](super::Kernel::polynomial).
    Polynomial {
        /// From 1 to 20.
        #[serde(default = "cubic")]
        degree: u32,
        /// Factor of the inner product, positive.
        scale: Option<f64>,
        /// Added to it, zero or positive.
        #[serde(default = "one")]
        offset: f64,
    },
    /// See [`Kernel::linear`](super::Kernel::linear).
    Linear {},
    /// See [`Kernel::weighted_sum`](super::Kernel::weighted_sum).
    Sum {
        /// Zero or positive, one for each kernel.
        weights: Vec<f64>,
        /// The terms.
        kernels: Vec<KernelSpec>,
    },
    /// See [`Kernel::mapped`](super::Kernel::mapped).
    Mapped {
        /// The map.
        metric: Metric,
        /// The kernel of mapped points.
        kernel: Box<KernelSpec>,
    },
    /// See [`Kernel::product`](super::Kernel::product).
    Product {
        /// Applies to the columns that the second does not use, or to all.
        first: Box<KernelSpec>,
        /// Applies to the last columns, or to all.
        second: Box<KernelSpec>,
        /// Number of these columns; `None`: both use all columns.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        second_width: Option<usize>,
    },
}

fn cubic() -> u32 {
    3
}

fn one() -> f64 {
    1.0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls it with")]
fn is_one(value: &f64) -> bool {
    value.to_bits() == 1.0_f64.to_bits()
}

impl Default for KernelSpec {
    fn default() -> Self {
        Self::Gaussian { bandwidth: None }
    }
}

impl KernelSpec {
    /// This kernel with a bandwidth of `factor` times the default for points with `width` features;
    /// `None` if it has no single bandwidth.
    pub(crate) fn with_bandwidth_of(&self, width: usize, factor: f64) -> Option<Self> {
        let scaled = Some(factor * self.default_bandwidth(width));
        let mut kernel = self.clone();
        match &mut kernel {
            Self::Gaussian { bandwidth }
            | Self::Laplacian { bandwidth }
            | Self::ManhattanLaplacian { bandwidth, .. }
            | Self::Matern32 { bandwidth }
            | Self::Matern52 { bandwidth } => *bandwidth = scaled,
            Self::Polynomial { .. }
            | Self::Linear {}
            | Self::Sum { .. }
            | Self::Mapped { .. }
            | Self::Product { .. } => return None,
        }
        Some(kernel)
    }

    /// The bandwidth for points with `width` features where none is given.
    pub(super) fn default_bandwidth(&self, width: usize) -> f64 {
        let d = width.max(1) as f64;
        if matches!(self, Self::ManhattanLaplacian { .. }) { d } else { d.sqrt() }
    }

    /// The parts of a sum, or the kernel itself with weight 1.
    pub(super) fn into_terms(self) -> Vec<(f64, Self)> {
        match self {
            Self::Sum { weights, kernels } => weights.into_iter().zip(kernels).collect(),
            other => vec![(1.0, other)],
        }
    }
}
