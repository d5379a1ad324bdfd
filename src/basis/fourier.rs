//! Random Fourier features.

use serde::{Deserialize, Serialize};

use super::fixed::{Fixed, Functions};
use crate::error::{Error, Result, in_range};
use crate::kernel::{Kernel, KernelSpec, SpectralDensity};
use crate::linalg::{Panel, loops, padded};
use crate::memory::affordable;
use crate::persist::{Reader, Writer};
use crate::random;

/// Most frequencies (one per feature) that are drawn again when a model is loaded (67 MB). More of
/// them are stored in the file, so that no small file needs much memory.
const DRAWN_AGAIN: usize = 1 << 23;

/// Parameters of [`Fourier`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FourierSpec {
    /// Frequencies `D`, from 1 to 100,000; each has a sine and a cosine.
    pub size: usize,
    /// Whether coordinates are divided by `sqrt(D)`, so that their products are the kernel on average.
    pub normalized: bool,
    /// Seed of the frequencies.
    pub random_state: u64,
}

impl Default for FourierSpec {
    fn default() -> Self {
        Self { size: 200, normalized: true, random_state: 0 }
    }
}

/// Random Fourier features, `[sin w_1'x, cos w_1'x, sin w_2'x, ...] / sqrt(D)`, with frequencies `w` drawn
/// from the kernel's spectral density (Rahimi and Recht, 2007; FOGD of Lu, Hoi, Wang, Zhao and Liu, 2016).
///
/// This density is normal for the Gaussian kernel and Student's for the Matern kernels (Cauchy's
/// for the Laplacian), with scale `1 / bandwidth`. Published code of FOGD omits the division by
/// `sqrt(D)`, so its steps are `D` times as long, like those of `normalized: false`.
pub type Fourier = Fixed<Waves>;

/// The functions of [`Fourier`].
#[derive(Clone, Debug)]
pub struct Waves {
    pub(super) spec: FourierSpec,
    /// One row a frequency, one column a feature.
    frequencies: Panel,
}

impl Fourier {
    /// Functions for one of the Gaussian, Laplacian and Matern kernels.
    pub fn new(kernel: impl Into<KernelSpec>, spec: FourierSpec) -> Result<Self> {
        let kernel = kernel.into();
        in_range("size", spec.size, (1..=100_000).contains(&spec.size), "from 1 to 100,000")?;
        density(&kernel.resolve(0)?)?;
        Ok(Self::of(kernel, Waves { spec, frequencies: Panel::default() }))
    }
}

/// The kernel's spectral density.
fn density(kernel: &Kernel) -> Result<SpectralDensity> {
    kernel.spectral_density().ok_or_else(|| Error::Specification {
        part: "basis",
        reason: "fourier needs a Gaussian, Laplacian or Matern kernel".into(),
    })
}

impl Functions for Waves {
    fn begin(&mut self, width: usize, kernel: &Kernel) -> Result<()> {
        affordable("the frequencies", self.spec.size, width)?;
        let SpectralDensity { scale, freedom } = density(kernel)?;
        let per_row = width as u64 + freedom.unwrap_or(0);
        let draw = |i: usize, k: u64| random::normal(self.spec.random_state, i as u64 * per_row + k);
        let mut frequencies = Panel::zeros(self.spec.size, width);
        for i in 0..self.spec.size {
            let stretch = freedom.map_or(1.0, |freedom| {
                let squares: f64 = (0..freedom).map(|k| draw(i, width as u64 + k).powi(2)).sum();
                // Frequencies so large that the squares underflow are useless.
                (freedom as f64 / squares.max(f64::MIN_POSITIVE)).sqrt().min(1e12)
            });
            for j in 0..width {
                frequencies.set(i, j, scale * stretch * draw(i, j as u64));
            }
        }
        self.frequencies = frequencies;
        Ok(())
    }

    fn write(&self, out: &mut Writer) {
        let (rows, cols) = (self.frequencies.rows(), self.frequencies.cols());
        if rows * cols > DRAWN_AGAIN {
            out.matrix("basis.frequencies", rows, cols, &self.frequencies.to_row_major());
        }
    }

    fn read(&mut self, width: usize, kernel: &Kernel, from: &Reader<'_>) -> Result<()> {
        let size = self.spec.size;
        if size * width <= DRAWN_AGAIN {
            return self.begin(width, kernel);
        }
        let frequencies = from.matrix_of("basis.frequencies", size, width)?;
        self.frequencies = Panel::from_row_major(&frequencies, size, width);
        Ok(())
    }

    fn count(&self) -> usize {
        2 * self.frequencies.rows()
    }

    fn evaluate(&self, x: &[f64], values: &mut [f64]) {
        let n = self.frequencies.rows();
        let scale = if self.spec.normalized { (n as f64).sqrt().recip() } else { 1.0 };
        // Eight angles at a time, without allocation.
        let mut angles = [0.0; 8];
        let stride = self.frequencies.stride();
        debug_assert_eq!(stride, padded(n));
        for first in (0..n).step_by(8) {
            angles.fill(0.0);
            for (j, v) in x.iter().enumerate() {
                let at = j * stride + first;
                loops::add_scaled(*v, &self.frequencies.data()[at..at + 8], &mut angles);
            }
            for (angle, pair) in angles.iter().zip(values[2 * first..].chunks_exact_mut(2)) {
                let (sine, cosine) = angle.sin_cos();
                (pair[0], pair[1]) = (scale * sine, scale * cosine);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_come_near_the_kernel() -> Result<()> {
        let kernels =
            [Kernel::gaussian(0.9)?, Kernel::laplacian(1.3)?, Kernel::matern32(1.1)?, Kernel::matern52(0.8)?];
        let points = [[0.3, -0.7, 0.2], [0.8, 0.1, -0.4], [0.0, 0.5, 0.9]];
        for kernel in kernels {
            let spec = FourierSpec { size: 20_001, random_state: 5, ..FourierSpec::default() };
            let mut functions = Waves { spec, frequencies: Panel::default() };
            functions.begin(3, &kernel)?;
            let at = |x: &[f64]| {
                let mut values = vec![0.0; functions.count()];
                functions.evaluate(x, &mut values);
                values
            };
            for x in &points {
                for y in &points {
                    let product: f64 = at(x).iter().zip(at(y)).map(|(a, b)| a * b).sum();
                    // Five standard deviations of a mean of 20,001 cosines.
                    assert!((product - kernel.eval(x, y)).abs() < 0.025, "{:?}", kernel.spec());
                }
            }
        }
        Ok(())
    }
}
