//! The Taylor expansion of the Gaussian kernel.

use super::fixed::{Fixed, Functions};
use crate::error::{Error, Result, in_range};
use crate::kernel::{Kernel, KernelSpec};

/// The first functions of the Gaussian kernel's expansion,
/// `g_k(x) = prod_i x_i^{k_i} / (sigma^{k_i} sqrt(k_i!)) exp(-|x|^2 / (2 sigma^2))` for all `|k| <= degree`
/// (Jezequel, Gaillard and Rudi, 2019, section 3.1).
///
/// Their products sum to the kernel, up to terms of `(|x| |y| / sigma^2)^{degree + 1} / (degree +
/// 1)!`: accurate for few features of size about `sigma`. There is one coordinate for each multiset
/// of at most `degree` features, `binomial(degree + d, d)` in all, where the paper's flattened
/// outer products have one for each sequence, `d^degree` and more, with the same inner products.
pub type Taylor = Fixed<Monomials>;

/// The functions of [`Taylor`].
#[derive(Clone, Debug)]
pub struct Monomials {
    pub(super) degree: usize,
    /// `1 / (2 sigma^2)`
    rate: f64,
    /// For each function after the first: the function that it is a multiple of, and the feature
    /// and factor.
    steps: Vec<(usize, usize, f64)>,
    begun: bool,
}

impl Taylor {
    /// Most functions.
    pub const MOST: usize = 20_000;

    /// All functions up to a degree from 0 to 20, of a Gaussian kernel.
    pub fn new(kernel: impl Into<KernelSpec>, degree: usize) -> Result<Self> {
        let kernel = kernel.into();
        let degree = in_range("degree", degree, degree <= 20, "from 0 to 20")?;
        bandwidth(kernel.resolve(0)?.spec())?;
        Ok(Self::of(kernel, Monomials { degree, rate: 0.0, steps: Vec::new(), begun: false }))
    }
}

fn bandwidth(kernel: &KernelSpec) -> Result<f64> {
    match kernel {
        KernelSpec::Gaussian { bandwidth: Some(bandwidth) } => Ok(*bandwidth),
        _ => Err(Error::Specification {
            part: "basis",
            reason: "taylor is the expansion of the Gaussian kernel alone".into(),
        }),
    }
}

impl Functions for Monomials {
    fn begin(&mut self, width: usize, kernel: &Kernel) -> Result<()> {
        let sigma = bandwidth(kernel.spec())?;
        // binomial(degree + d, degree), each partial product being a binomial itself.
        let count = (1..=self.degree).try_fold(1_usize, |count, k| {
            count.checked_mul(width + k).map(|count| count / k).filter(|count| *count <= Taylor::MOST)
        });
        if count.is_none() {
            return Err(Error::Specification {
                part: "basis",
                reason: format!(
                    "taylor of degree {} has more than {} functions of {width} features; take a smaller \
                     degree, or another basis",
                    self.degree,
                    Taylor::MOST
                ),
            });
        }
        self.rate = 0.5 / (sigma * sigma);
        self.steps.clear();
        // Functions of the degree before, each with its last feature and the multiplicity of that.
        let mut before = vec![(0, 0, 0)];
        for _ in 0..self.degree {
            let mut here = Vec::new();
            for &(from, last, times) in &before {
                for feature in last..width {
                    let times = if feature == last { times + 1 } else { 1 };
                    self.steps.push((from, feature, (sigma * f64::from(times).sqrt()).recip()));
                    here.push((self.steps.len(), feature, times));
                }
            }
            before = here;
        }
        self.begun = true;
        Ok(())
    }

    fn count(&self) -> usize {
        if self.begun { 1 + self.steps.len() } else { 0 }
    }

    fn evaluate(&self, x: &[f64], values: &mut [f64]) {
        values[0] = (-self.rate * x.iter().map(|v| v * v).sum::<f64>()).exp();
        for (i, &(from, feature, factor)) in self.steps.iter().enumerate() {
            values[i + 1] = values[from] * x[feature] * factor;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_sum_to_the_kernel() -> Result<()> {
        let kernel = Kernel::gaussian(0.9)?;
        let points = [[0.3, -0.7, 0.2], [0.8, 0.1, -0.4], [0.0, 0.5, 0.9]];
        for (degree, bound) in [(0, 1.0), (4, 2e-2), (12, 1e-6), (20, 1e-12)] {
            let mut functions = Monomials { degree, rate: 0.0, steps: Vec::new(), begun: false };
            functions.begin(3, &kernel)?;
            let values: Vec<Vec<f64>> = points
                .iter()
                .map(|x| {
                    let mut values = vec![0.0; functions.count()];
                    functions.evaluate(x, &mut values);
                    values
                })
                .collect();
            for (x, zx) in points.iter().zip(&values) {
                for (y, zy) in points.iter().zip(&values) {
                    let product: f64 = zx.iter().zip(zy).map(|(a, b)| a * b).sum();
                    assert!((product - kernel.eval(x, y)).abs() < bound);
                }
            }
        }
        Ok(())
    }
}
