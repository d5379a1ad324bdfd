//! Similarities between points: kernels, one row against a set or a block against a set.
//!
//! Every kernel here is a non-negative weighted sum of *shapes*, and every shape is a function of
//! one comparison of two points: their squared distance or their inner product. The comparisons
//! are made once (one matrix product for a block) and each shape is applied to them. A term of the
//! sum may also be the product of two kernels that see different columns of a point.
//!
//! A new kernel is one file with a [`Shape`] and one line in [`KernelSpec`].

mod dot;
mod points;
mod product;
mod radial;
mod similarities;
mod spec;
#[cfg(test)]
mod tests;
mod vector;

use std::sync::Arc;

pub use dot::{Linear, Polynomial};
pub use points::PointSet;
use product::Product;
pub use radial::{Gaussian, Laplacian, Matern32, Matern52};
pub use spec::KernelSpec;

use crate::error::{Result, not_negative, positive};

/// Similarities are kept below this, so that no sum of products of them can overflow.
pub(crate) const LARGEST: f64 = 1e50;

/// What a shape is a function of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `|x - y|^2`
    SquaredDistance,
    /// `x . y`
    InnerProduct,
}

/// A positive definite function of one comparison of two points.
pub trait Shape: std::fmt::Debug + Send + Sync {
    /// What it is a function of.
    fn comparison(&self) -> Comparison;

    /// Turns comparisons into similarities, in place.
    fn apply(&self, values: &mut [f64]);
}

#[derive(Clone, Debug)]
struct Term {
    weight: f64,
    form: Form,
    /// The similarity of a point to itself, if it is the same for all.
    own: Option<f64>,
}

#[derive(Clone, Debug)]
enum Form {
    Shape(Arc<dyn Shape>),
    Product(Arc<Product>),
}

impl Term {
    /// The shape, if it is one of this comparison.
    fn shape_of(&self, comparison: Comparison) -> Option<&dyn Shape> {
        match &self.form {
            Form::Shape(shape) if shape.comparison() == comparison => Some(shape.as_ref()),
            _ => None,
        }
    }
}

/// Some neighbouring columns of a point.
#[derive(Clone, Copy, Debug)]
struct Part {
    start: usize,
    width: usize,
}

/// A kernel ready to use: parameters checked, defaults resolved.
///
/// ```
/// use kernelstream::kernel::Kernel;
/// # fn main() -> kernelstream::Result<()> {
/// let kernel = Kernel::gaussian(0.4)?.times(0.4)?.plus(Kernel::gaussian(0.7)?.times(0.6)?);
/// assert!((kernel.between(&[1.0, 2.0], &[1.0, 2.0]) - 1.0).abs() < 1e-15);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Kernel {
    terms: Vec<Term>,
    spec: KernelSpec,
}

impl Kernel {
    /// `exp(-|x - y|^2 / (2 bandwidth^2))`
    pub fn gaussian(bandwidth: f64) -> Result<Self> {
        KernelSpec::Gaussian { bandwidth: Some(bandwidth) }.resolve(1)
    }

    /// `exp(-|x - y| / bandwidth)` with the Euclidean distance: the Matern kernel of order 1/2.
    pub fn laplacian(bandwidth: f64) -> Result<Self> {
        KernelSpec::Laplacian { bandwidth: Some(bandwidth) }.resolve(1)
    }

    /// `(1 + r) exp(-r)` with `r = sqrt(3) |x - y| / bandwidth`
    pub fn matern32(bandwidth: f64) -> Result<Self> {
        KernelSpec::Matern32 { bandwidth: Some(bandwidth) }.resolve(1)
    }

    /// `(1 + r + r^2 / 3) exp(-r)` with `r = sqrt(5) |x - y| / bandwidth`
    pub fn matern52(bandwidth: f64) -> Result<Self> {
        KernelSpec::Matern52 { bandwidth: Some(bandwidth) }.resolve(1)
    }

    /// `(scale x . y + offset)^degree`
    pub fn polynomial(degree: u32, scale: f64, offset: f64) -> Result<Self> {
        KernelSpec::Polynomial { degree, scale: Some(scale), offset }.resolve(1)
    }

    /// `x . y`
    #[must_use]
    pub fn linear() -> Self {
        Self::single(Arc::new(Linear), KernelSpec::Linear {})
    }

    /// `first(x_1, y_1) second(x_2, y_2)`, where the second kernel sees the last `second_width` columns
    /// of a point and the first one those before them, `first_width`.
    #[must_use]
    pub fn product(first: Self, first_width: usize, second: Self, second_width: usize) -> Self {
        let spec = KernelSpec::Product {
            first: Box::new(first.spec.clone()),
            second: Box::new(second.spec.clone()),
            second_width,
        };
        let form = Form::Product(Arc::new(Product { first, second, split: first_width }));
        Self { terms: vec![Term { weight: 1.0, form, own: None }], spec }
    }

    fn single(shape: Arc<dyn Shape>, spec: KernelSpec) -> Self {
        let own = (shape.comparison() == Comparison::SquaredDistance).then(|| {
            let mut value = [0.0];
            shape.apply(&mut value);
            value[0]
        });
        Self { terms: vec![Term { weight: 1.0, form: Form::Shape(shape), own }], spec }
    }

    /// This kernel multiplied by a non-negative weight.
    pub fn times(self, weight: f64) -> Result<Self> {
        Self::weighted_sum(vec![(weight, self)])
    }

    /// The sum of two kernels.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let (weights, kernels) = [self.spec, other.spec].into_iter().flat_map(KernelSpec::into_terms).unzip();
        Self {
            terms: self.terms.into_iter().chain(other.terms).collect(),
            spec: KernelSpec::Sum { weights, kernels },
        }
    }

    /// The sum of kernels, each multiplied by a non-negative weight; at least one is positive.
    pub fn weighted_sum(parts: Vec<(f64, Self)>) -> Result<Self> {
        let heaviest = parts.iter().fold(0.0_f64, |most, (weight, _)| most.max(*weight));
        positive("weights (the largest of a sum of kernels)", heaviest)?;
        let mut terms = Vec::new();
        let mut weights = Vec::new();
        let mut kernels = Vec::new();
        for (weight, kernel) in parts {
            not_negative("weights", weight)?;
            terms.extend(kernel.terms.into_iter().map(|term| Term { weight: weight * term.weight, ..term }));
            for (inner, spec) in kernel.spec.into_terms() {
                weights.push(weight * inner);
                kernels.push(spec);
            }
        }
        Ok(Self { terms, spec: KernelSpec::Sum { weights, kernels } })
    }

    /// How this kernel is written down.
    #[must_use]
    pub fn spec(&self) -> &KernelSpec {
        &self.spec
    }

    /// The similarity of two points of the same width.
    #[must_use]
    pub fn between(&self, x: &[f64], y: &[f64]) -> f64 {
        let product: f64 = x.iter().zip(y).map(|(a, b)| a * b).sum();
        let distance: f64 = x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum();
        self.of(distance, product, |kernels| kernels.between(x, y))
    }

    /// The similarity of a point to itself. O(d), or O(1) where it is the same for all points.
    #[must_use]
    pub fn own(&self, x: &[f64]) -> f64 {
        if let [Term { weight, own: Some(own), .. }] = self.terms.as_slice() {
            return weight * own;
        }
        self.of(0.0, x.iter().map(|v| v * v).sum(), |kernels| kernels.own(x))
    }

    fn of(&self, distance: f64, product: f64, of_product: impl Fn(&Product) -> f64) -> f64 {
        let of_term = |term: &Term| match &term.form {
            Form::Shape(shape) => {
                let mut value = [match shape.comparison() {
                    Comparison::SquaredDistance => distance,
                    Comparison::InnerProduct => product,
                }];
                shape.apply(&mut value);
                value[0]
            }
            Form::Product(kernels) => of_product(kernels),
        };
        self.terms.iter().map(|term| term.weight * of_term(term)).sum()
    }

    fn compares(&self, comparison: Comparison) -> bool {
        self.terms.iter().any(|term| term.shape_of(comparison).is_some())
    }
}
