//! Least squares of nested models, averaged.
//!
//! From one Cholesky factor `L` of the sums of products come the residuals of all models with the first k features, k = 1,
//! 2, ...: with `L y = b` the k-th feature takes `y_k^2` from the sum of squares. Models are weighted by
//! `exp(-AICc / 2)` (K. Burnham, D. Anderson, "Model selection and multimodel inference", 2002), and since the first k
//! rows of the inverse of `L^T` are those of the k-th model, one back substitution gives the averaged coefficients.

use super::state::{Pass, State};

/// A feature of which less than this share is new is left out.
const NEW: f64 = 1e-10;

/// Residuals below this share of the sum of squares are rounding.
const ROUNDING: f64 = 1e-13;

/// Sums of products of features and a target, which is the last of them.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Features.
    size: usize,
    /// Lower triangle by rows, the target last.
    products: Vec<f64>,
    pub count: usize,
}

impl Sums {
    pub fn new(size: usize) -> Self {
        Self { size, products: vec![0.0; (size + 1) * (size + 2) / 2], count: 0 }
    }

    /// Features.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Takes features with the target behind them.
    pub fn add(&mut self, row: &[f64]) {
        let mut at = 0;
        for (i, value) in row.iter().enumerate() {
            let products = &mut self.products[at..=at + i];
            products.iter_mut().zip(row).for_each(|(sum, other)| *sum += value * other);
            at += i + 1;
        }
        self.count += 1;
    }

    fn product(&self, i: usize, j: usize) -> f64 {
        let (low, high) = (i.min(j), i.max(j));
        self.products[high * (high + 1) / 2 + low]
    }

    /// Averaged coefficients of the features in this order, `n` samples that count; and the least `AICc`.
    pub fn solve(&self, order: &[usize], n: f64) -> Option<Solution> {
        let size = order.len();
        let total = self.product(self.size, self.size);
        if self.count == 0 || n < 4.0 {
            return None;
        }
        let mut factor = vec![0.0; size * size];
        let (mut solved, mut left) = (vec![0.0; size], total);
        let floor = ROUNDING * total + f64::MIN_POSITIVE;
        let score = |left: f64, k: f64| {
            let penalty = 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0);
            n * (left.max(floor) / self.count as f64).ln() + penalty
        };
        let mut scores = Vec::with_capacity(size);
        let mut used = 0.0;
        for i in 0..size {
            // One more for the variance.
            if used + 2.0 >= n - 2.0 {
                break;
            }
            for j in 0..=i {
                let (rows, row) = factor.split_at_mut(i * size);
                let done = if j < i { &rows[j * size..j * size + j] } else { &[] };
                let inner: f64 = if j < i {
                    done.iter().zip(&row[..j]).map(|(a, b)| a * b).sum()
                } else {
                    row[..i].iter().map(|a| a * a).sum()
                };
                let value = self.product(order[i], order[j]) - inner;
                row[j] = if j < i {
                    let pivot = rows[j * size + j];
                    if pivot > 0.0 { value / pivot } else { 0.0 }
                } else if value > NEW * self.product(order[i], order[i]) {
                    value.sqrt()
                } else {
                    0.0
                };
            }
            let row = &factor[i * size..=i * size + i];
            if row[i] > 0.0 {
                let inner: f64 = row[..i].iter().zip(&solved[..i]).map(|(a, b)| a * b).sum();
                solved[i] = (self.product(self.size, order[i]) - inner) / row[i];
                left -= solved[i] * solved[i];
                used += 1.0;
            }
            scores.push(score(left, used + 1.0));
        }
        let best = scores.iter().copied().fold(f64::INFINITY, f64::min);
        if !best.is_finite() {
            return None;
        }
        let weights: Vec<f64> = scores.iter().map(|score| (0.5 * (best - score)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let mut tail = 0.0;
        let len = scores.len();
        for i in (0..len).rev() {
            tail += weights[i] / sum;
            solved[i] *= tail;
        }
        let mut found = vec![0.0; self.size];
        for i in (0..len).rev() {
            let pivot = factor[i * size + i];
            if pivot == 0.0 {
                continue;
            }
            let value = solved[i] / pivot;
            found[order[i]] = value;
            for j in 0..i {
                solved[j] -= factor[i * size + j] * value;
            }
        }
        Some(Solution { coefficients: found, score: best, mass: sum })
    }
}

/// Averaged coefficients, one for each feature; the least `AICc`, and the sum of weights relative to it.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    pub coefficients: Vec<f64>,
    score: f64,
    mass: f64,
}

impl Solution {
    /// The average of two of the same target, by their weights.
    pub fn average(self, other: Self) -> Self {
        let best = self.score.min(other.score);
        let weight = |one: &Self| one.mass * (0.5 * (best - one.score)).exp();
        let (own, its) = (weight(&self), weight(&other));
        let share = own / (own + its);
        let pairs = self.coefficients.iter().zip(&other.coefficients);
        let coefficients = pairs.map(|(a, b)| share * a + (1.0 - share) * b).collect();
        Self { coefficients, score: best, mass: own + its }
    }
}

impl State for Sums {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.count(&mut self.size);
        pass.count(&mut self.count);
        pass.list(&mut self.products);
    }
}

impl Sums {
    /// Whether what was read has the sums of so many features.
    pub fn is_sound(&self) -> bool {
        let triangle = if self.size > 0 { (self.size + 1) * (self.size + 2) / 2 } else { 0 };
        self.size < 10_000 && self.products.len() == triangle
    }
}
