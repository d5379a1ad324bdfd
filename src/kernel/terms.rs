//! Kernels as sums of terms: shapes, and products of two kernels on different columns.

use std::sync::Arc;

use super::metric::{Map, Metric};
use super::shape::{Comparison, Shape, SpectralDensity};
use super::spec::KernelSpec;
use crate::error::{Result, not_negative, positive};

/// A kernel with validated parameters, and with defaults filled in.
///
/// ```
/// use kernelstream::kernel::Kernel;
/// # fn main() -> kernelstream::Result<()> {
/// let kernel = Kernel::gaussian(0.4)?.times(0.4)?.plus(Kernel::gaussian(0.7)?.times(0.6)?);
/// assert!((kernel.eval(&[1.0, 2.0], &[1.0, 2.0]) - 1.0).abs() < 1e-15);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(super) terms: Vec<Term>,
    spec: KernelSpec,
}

#[derive(Clone, Debug)]
pub(super) struct Term {
    pub weight: f64,
    pub form: Form,
}

#[derive(Clone, Debug)]
pub(super) enum Form {
    Shape(Arc<dyn Shape>),
    Product(Arc<Product>),
    Mapped(Arc<Mapped>),
}

/// `kernel(Ax, Ay)`
#[derive(Clone, Debug)]
pub(super) struct Mapped {
    pub kernel: Kernel,
    pub map: Map,
}

/// `first(x_1, y_1) second(x_2, y_2)` for points `x = (x_1, x_2)`, `y = (y_1, y_2)`, or `first(x, y) second(x, y)`.
///
/// A positive definite kernel if both are: its features are the products of theirs. With states for the
/// first and inputs for the second it is the kernel of a dynamical system with inputs.
#[derive(Clone, Debug)]
pub(super) struct Product {
    pub first: Kernel,
    pub second: Kernel,
    /// Number of columns of the first one; `None`: both use all.
    pub split: Option<usize>,
}

impl Product {
    /// Preprocessed points of each of the two.
    pub fn parts<'a>(&self, x: &'a [f64]) -> (&'a [f64], &'a [f64]) {
        self.split.map_or((x, x), |split| x.split_at(split.min(x.len())))
    }
}

impl Term {
    /// The shape, if it is one of this comparison.
    pub fn shape_of(&self, comparison: Comparison) -> Option<&dyn Shape> {
        match &self.form {
            Form::Shape(shape) if shape.comparison() == comparison => Some(shape.as_ref()),
            _ => None,
        }
    }

    /// Upper bound of the similarity of a point to itself.
    fn bound(&self) -> f64 {
        self.weight
            * match &self.form {
                Form::Shape(shape) => shape.diag().unwrap_or(f64::INFINITY),
                Form::Product(kernels) => kernels.first.bound() * kernels.second.bound(),
                Form::Mapped(mapped) => mapped.kernel.bound(),
            }
    }

    /// The similarity of a point to itself, if it is the same for all points.
    fn constant_diag(&self) -> Option<f64> {
        match &self.form {
            Form::Shape(shape) => shape.diag().map(|diag| self.weight * diag),
            Form::Product(_) => None,
            Form::Mapped(mapped) => mapped.kernel.constant_diag().map(|diag| self.weight * diag),
        }
    }
}

impl Kernel {
    pub(super) fn of_shape(shape: Arc<dyn Shape>, spec: KernelSpec) -> Self {
        Self { terms: vec![Term { weight: 1.0, form: Form::Shape(shape) }], spec }
    }

    /// `first(x_1, y_1) second(x_2, y_2)`, where the second kernel sees the last `second_width` columns
    /// of a point and the first one those before them, `first_width`.
    #[must_use]
    pub fn product(first: Self, first_width: usize, second: Self, second_width: usize) -> Self {
        let spec = KernelSpec::Product {
            first: Box::new(first.spec.clone()),
            second: Box::new(second.spec.clone()),
            second_width: Some(second_width),
        };
        let form = Form::Product(Arc::new(Product { first, second, split: Some(first_width) }));
        Self { terms: vec![Term { weight: 1.0, form }], spec }
    }

    /// The product of two kernels, `k(x, y) l(x, y)`, both of which see all columns.
    #[must_use]
    pub fn multiplied(self, other: Self) -> Self {
        let spec = KernelSpec::Product {
            first: Box::new(self.spec.clone()),
            second: Box::new(other.spec.clone()),
            second_width: None,
        };
        let form = Form::Product(Arc::new(Product { first: self, second: other, split: None }));
        Self { terms: vec![Term { weight: 1.0, form }], spec }
    }

    /// `kernel(Ax, Ay)`: this kernel of points after a linear map of their columns.
    pub fn mapped(self, metric: Metric) -> Result<Self> {
        let map = Map::new(&metric)?;
        let spec = KernelSpec::Mapped { metric, kernel: Box::new(self.spec.clone()) };
        let form = Form::Mapped(Arc::new(Mapped { kernel: self, map }));
        Ok(Self { terms: vec![Term { weight: 1.0, form }], spec })
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

    /// Its specification.
    #[must_use]
    pub fn spec(&self) -> &KernelSpec {
        &self.spec
    }

    /// The similarity of two points of the same width, `k(x, y)`.
    #[must_use]
    pub fn eval(&self, x: &[f64], y: &[f64]) -> f64 {
        let of_form = |form: &Form| match form {
            Form::Shape(shape) => shape.at(shape.comparison().of(x, y)),
            Form::Product(kernels) => {
                let (x, y) = (kernels.parts(x), kernels.parts(y));
                kernels.first.eval(x.0, y.0) * kernels.second.eval(x.1, y.1)
            }
            Form::Mapped(mapped) => mapped.kernel.eval(&mapped.map.of(x), &mapped.map.of(y)),
        };
        self.terms.iter().map(|term| term.weight * of_form(&term.form)).sum()
    }

    /// The similarity of a point to itself, `k(x, x)`. O(d), or O(1) where it is the same for all points.
    #[must_use]
    pub fn diag(&self, x: &[f64]) -> f64 {
        if let Some(diag) = self.constant_diag() {
            return diag;
        }
        let of_form = |form: &Form| match form {
            Form::Shape(shape) => shape.at(shape.comparison().of(x, x)),
            Form::Product(kernels) => {
                let (first, second) = kernels.parts(x);
                kernels.first.diag(first) * kernels.second.diag(second)
            }
            Form::Mapped(mapped) => mapped.kernel.diag(&mapped.map.of(x)),
        };
        self.terms.iter().map(|term| term.weight * of_form(&term.form)).sum()
    }

    /// The similarity of a point to itself, if it is the same for all points: of a single term.
    pub(crate) fn constant_diag(&self) -> Option<f64> {
        if let [term] = self.terms.as_slice() { term.constant_diag() } else { None }
    }

    /// Upper bound of the similarity of a point to itself; infinity if there is none.
    pub(super) fn bound(&self) -> f64 {
        self.terms.iter().filter(|term| term.weight > 0.0).map(Term::bound).sum()
    }

    /// Density of the frequencies of random Fourier features; `None` for a sum, a product,
    /// and a kernel that has no such density.
    pub(crate) fn spectral_density(&self) -> Option<SpectralDensity> {
        match (&self.spec, self.terms.as_slice()) {
            (KernelSpec::Sum { .. }, _) => None,
            (_, [Term { form: Form::Shape(shape), .. }]) => shape.spectral_density(),
            _ => None,
        }
    }
}

impl From<Kernel> for KernelSpec {
    fn from(kernel: Kernel) -> Self {
        kernel.spec
    }
}
