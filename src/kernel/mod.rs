//! Similarities between points: kernels, one row against a set or a block against a set.
//!
//! Every kernel here is a non-negative weighted sum of *shapes*, and every shape is a function of
//! one comparison of two points: their squared distance or their inner product. The comparisons
//! are made once (one matrix product for a block) and each shape is applied to them. A term of the
//! sum may also be the product of two kernels that see different columns of a point.
//!
//! A new kernel is one file beside `gaussian.rs`, with its parameters checked, its function, its value at a
//! point and itself, and its spectral density if it has one; a variant of [`KernelSpec`]; and the line in
//! [`resolve`](KernelSpec::resolve) that fills in its defaults.

mod gaussian;
mod gradient;
mod manhattan;
mod matern;
mod metric;
mod points;
mod polynomial;
mod separation;
mod shape;
mod similarities;
mod spec;
mod terms;
#[cfg(test)]
mod tests;
mod vector;

pub(crate) use metric::Map;
pub use metric::Metric;
pub use points::PointSet;
pub(crate) use separation::{Factor, SeparateProduct};
pub(crate) use shape::LARGEST;
pub(crate) use shape::SpectralDensity;
pub use spec::KernelSpec;
pub use terms::Kernel;

use crate::error::{Error, Result, in_range};

/// Most kernels in a sum: each is computed for every pair of points.
const MOST_SUMMED: usize = 256;

impl KernelSpec {
    /// The kernel for points with `width` features: parameters checked, defaults filled in. 0: before that is known.
    pub fn resolve(&self, width: usize) -> Result<Kernel> {
        let d = width.max(1) as f64;
        let length = |bandwidth: &Option<f64>| bandwidth.unwrap_or_else(|| self.default_bandwidth(width));
        match self {
            Self::Gaussian { bandwidth } => Kernel::gaussian(length(bandwidth)),
            Self::Laplacian { bandwidth } => Kernel::laplacian(length(bandwidth)),
            Self::ManhattanLaplacian { bandwidth, exponent } => {
                Kernel::manhattan(length(bandwidth), *exponent)
            }
            Self::Matern32 { bandwidth } => Kernel::matern32(length(bandwidth)),
            Self::Matern52 { bandwidth } => Kernel::matern52(length(bandwidth)),
            Self::Polynomial { degree, scale, offset } => {
                Kernel::polynomial(*degree, scale.unwrap_or(d.recip()), *offset)
            }
            Self::Linear {} => Ok(Kernel::linear()),
            Self::Sum { weights, kernels } => {
                let (found, needed) = (weights.len(), kernels.len());
                in_range("weights", found, found == needed, "as many as there are kernels in the sum")?;
                in_range("kernels", needed, needed <= MOST_SUMMED, "at most 256 in a sum")?;
                let parts = kernels.iter().map(|kernel| kernel.resolve(width));
                let parts = parts.collect::<Result<Vec<_>>>()?;
                Kernel::weighted_sum(weights.iter().copied().zip(parts).collect())
            }
            Self::Mapped { metric, kernel } => {
                let inner = metric.mapped_width();
                let known = metric.width() == Some(width) || width == 0;
                let (expected, found) = (width, metric.width().unwrap_or(0));
                if !known {
                    return Err(Error::WrongWidth { what: "metric", expected, found });
                }
                kernel.resolve(inner)?.mapped(metric.clone())
            }
            Self::Product { first, second, second_width: None } => {
                Ok(first.resolve(width)?.multiplied(second.resolve(width)?))
            }
            Self::Product { first, second, second_width: Some(second_width) } => {
                let first_width = width.saturating_sub(*second_width);
                let found = first_width + second_width;
                if found != width && width > 0 {
                    return Err(Error::WrongWidth { what: "second of a product", expected: width, found });
                }
                let (first, second) = (first.resolve(first_width)?, second.resolve(*second_width)?);
                Ok(Kernel::product(first, first_width, second, *second_width))
            }
        }
    }

    /// Whether the similarity of a point to itself may be so large that learners which otherwise never fail
    /// may fail by rounding. Depends neither on the width nor on a bandwidth.
    pub(crate) fn is_steep(&self) -> bool {
        self.resolve(0).is_ok_and(|kernel| kernel.bound() > 10.0)
    }
}
