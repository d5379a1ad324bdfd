//! Mean and mean absolute deviation of the targets.

use ndarray::ArrayView1;

use super::buffer::Sample;
use crate::learner::Loss;

/// Weighted statistics of the targets of each output so far.
#[derive(Clone, Debug)]
pub(super) struct TargetStatistics {
    pub means: Vec<f64>,
    pub absolute_deviations: Vec<f64>,
    /// Sum of the weights.
    pub weight: f64,
}

impl TargetStatistics {
    /// Before the first row.
    pub fn new(outputs: usize, loss: Loss) -> Self {
        // The mean of signs is a probability: Laplace's rule of succession.
        let weight = if loss.is_margin() { 2.0 } else { 0.0 };
        Self { means: vec![0.0; outputs], absolute_deviations: vec![0.0; outputs], weight }
    }

    pub fn outputs(&self) -> usize {
        self.means.len()
    }

    /// Adds the targets of a row.
    pub fn add(&mut self, y: ArrayView1<'_, f64>, weight: f64) {
        self.weight += weight;
        let share = weight / self.weight;
        for ((mean, deviation), y) in self.means.iter_mut().zip(&mut self.absolute_deviations).zip(y) {
            *mean += share * (y - *mean);
            *deviation += share * ((y - *mean).abs() - *deviation);
        }
    }

    /// Replaces them by those of a sample: a single outlier among the first rows would distort those so far.
    pub fn replace_by(&mut self, sample: &Sample) {
        self.weight = sample.weights.sum();
        for (c, y) in sample.y.columns().into_iter().enumerate() {
            let mean = y.dot(&sample.weights) / self.weight;
            self.means[c] = mean;
            self.absolute_deviations[c] = y.mapv(|y| (y - mean).abs()).dot(&sample.weights) / self.weight;
        }
    }

    /// Standard deviation of the targets of an output, if Gaussian; infinite before two differ.
    pub fn deviation(&self, c: usize) -> f64 {
        let deviation = self.absolute_deviations[c];
        if deviation > 0.0 { deviation * (std::f64::consts::PI / 2.0).sqrt() } else { f64::INFINITY }
    }
}
