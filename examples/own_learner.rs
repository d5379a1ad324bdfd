//! A learner of one's own: six methods, and it works on every basis.
//!
//! `cargo run --example own_learner`

use kernelstream::basis::Nested;
use kernelstream::kernel::Kernel;
use kernelstream::learner::{Learner, LearnerBlocks, LearnerLimits, LearnerMemory, LearnerUncertainty};
use kernelstream::linalg::{Coordinates, Panel};
use kernelstream::stream::Stream;
use kernelstream::{Introspection as _, Model as _, Result};

/// Gradient descent on the squared error with a step of its own for each weight,
/// `step / sqrt(sum of squared slopes)` (Duchi, Hazan and Singer, "Adaptive subgradient methods for online
/// learning and stochastic optimization", 2011).
#[derive(Clone)]
struct AdaGrad {
    step: f64,
    weights: Panel,
    /// Sums of squared slopes.
    squares: Panel,
}

impl AdaGrad {
    fn new(step: f64) -> Self {
        Self { step, weights: Panel::default(), squares: Panel::default() }
    }
}

impl Learner for AdaGrad {
    fn weights(&self) -> &Panel {
        &self.weights
    }

    fn begin(&mut self, n_outputs: usize) {
        self.weights.grow_cols(n_outputs);
        self.squares.grow_cols(n_outputs);
    }

    /// The basis appended coordinates: everything learned so far has zeros there.
    fn grow(&mut self, dim: usize) {
        self.weights.grow_rows(dim);
        self.squares.grow_rows(dim);
    }

    fn shrink(&mut self, dim: usize) {
        self.weights.truncate(dim, self.weights.cols());
        self.squares.truncate(dim, self.squares.cols());
    }

    fn predict(&self, z: &Coordinates, _residual: f64, out: &mut [f64]) {
        for (output, prediction) in out.iter_mut().enumerate() {
            *prediction = self.weights.col(output).iter().zip(z.as_slice()).map(|(w, z)| w * z).sum();
        }
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()> {
        self.predict(z, 0.0, prediction);
        for (output, (prediction, y)) in prediction.iter().zip(y).enumerate() {
            for (i, z) in z.as_slice().iter().enumerate() {
                let slope = 2.0 * weight * (prediction - y) * z;
                let sum = self.squares.get(i, output) + slope * slope;
                if sum > 0.0 {
                    self.squares.set(i, output, sum);
                    let moved = self.weights.get(i, output) - self.step * slope / sum.sqrt();
                    self.weights.set(i, output, moved);
                }
            }
        }
        Ok(())
    }
}

impl LearnerLimits for AdaGrad {}

impl LearnerBlocks for AdaGrad {}

impl LearnerMemory for AdaGrad {}

impl LearnerUncertainty for AdaGrad {}

fn main() -> Result<()> {
    let basis = Nested::ald(Kernel::gaussian(0.3)?, 1e-2)?;
    let mut model = Stream::new(basis, AdaGrad::new(0.5));
    let mut errors = [0.0; 4];
    for row in 0_u32..4000 {
        let x = [(f64::from(row) * 0.618_034).fract() * 2.0 - 1.0];
        let y = [(3.0 * x[0]).sin()];
        if row > 0 {
            errors[row as usize / 1000] += (model.predict_one(&x)?[0] - y[0]).powi(2) / 1000.0;
        }
        model.learn_one(&x, &y)?;
    }
    println!("prequential mean squared error of each thousand rows: {errors:.5?}");
    println!("{} points stored", model.n_stored());
    assert!(errors[3] < 1e-2 && errors[3] < errors[0]);
    Ok(())
}
