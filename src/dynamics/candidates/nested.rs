//! Least squares of nested models, averaged.
//!
//! A row is taken by Givens rotations of the triangular factor of all rows so far, without square roots (W. Gentleman, "Basic
//! procedures for large, sparse or weighted linear least squares problems", 1974): sums of products would lose half of the
//! digits, which forecasts of a record without noise need. With the factor `D^(1/2) R`, `R` of unit diagonal and `t` the target's
//! column of it, the k-th feature takes `D_k t_k^2` from the sum of squares, so that the residuals of all models with the first
//! k features, k = 1, 2, ..., are there. Models are weighted by `exp(-AICc / 2)` (K. Burnham, D. Anderson, "Model selection
//! and multimodel inference", 2002), and since the first k rows of `R` are those of the k-th model, one back
//! substitution gives the averaged coefficients.

use super::state::{Pass, State};

/// A feature of whose sum of squares less than this share is new is left out.
const NEW: f64 = 1e-29;

/// Residuals below this share of the sum of squares are rounding.
const ROUNDING: f64 = 1e-28;

/// Features of whose sum of squares less than this share is new are damped.
const CLOSE: f64 = 1e-14;

/// The triangular factor of rows of features and a target, which is the last of them.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Features.
    size: usize,
    /// Upper triangle by rows, the target last: on the diagonal the weights `D`.
    factor: Vec<f64>,
    pub count: usize,
}

/// Takes a row with this weight into the factor; the row is used up.
fn rotate(factor: &mut [f64], row: &mut [f64], mut weight: f64) {
    let (len, mut at) = (row.len(), 0);
    for i in 0..len {
        let (own, rest) = row[i..].split_at_mut(1);
        let value = own[0];
        let (pivot, others) = factor[at..at + len - i].split_at_mut(1);
        at += len - i;
        if value == 0.0 {
            continue;
        }
        let before = pivot[0];
        let sum = before + weight * value * value;
        // Too small to count.
        if sum == 0.0 {
            continue;
        }
        let (cosine, sine) = (before / sum, weight * value / sum);
        pivot[0] = sum;
        weight *= cosine;
        for (r, x) in others.iter_mut().zip(rest) {
            let old = *x;
            *x = old - value * *r;
            *r = cosine * *r + sine * old;
        }
        if weight == 0.0 {
            break;
        }
    }
}

impl Sums {
    pub fn new(size: usize) -> Self {
        Self { size, factor: vec![0.0; (size + 1) * (size + 2) / 2], count: 0 }
    }

    /// Features.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Takes features with the target behind them, which are used up.
    pub fn add(&mut self, row: &mut [f64]) {
        rotate(&mut self.factor, row, 1.0);
        self.count += 1;
    }

    /// The factor's row with this number, from the diagonal on.
    fn row(&self, i: usize) -> &[f64] {
        let (at, len) = (i * (2 * self.size + 3 - i) / 2, self.size + 1 - i);
        &self.factor[at..at + len]
    }

    /// The same with features in this order, which are all.
    pub fn reordered(&self, order: &[usize]) -> Self {
        let mut out = Self { count: self.count, ..Self::new(self.size) };
        let mut row = vec![0.0; self.size + 1];
        for i in 0..=self.size {
            let own = self.row(i);
            let at = |column: usize| match column.cmp(&i) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => 1.0,
                std::cmp::Ordering::Greater => own[column - i],
            };
            row.iter_mut().zip(order.iter().chain([&self.size])).for_each(|(to, from)| *to = at(*from));
            rotate(&mut out.factor, &mut row, own[0]);
        }
        out
    }

    /// Sums of squares of each column, the target's last.
    fn squares(&self) -> Vec<f64> {
        let mut squares = vec![0.0; self.size + 1];
        for i in 0..=self.size {
            let row = self.row(i);
            squares[i] += row[0];
            squares[i + 1..].iter_mut().zip(&row[1..]).for_each(|(sum, r)| *sum += row[0] * r * r);
        }
        squares
    }

    /// Whether features are so close to being dependent that digits of coefficients are lost.
    pub fn is_close(&self) -> bool {
        let squares = self.squares();
        (0..self.size).any(|i| self.row(i)[0] < CLOSE * squares[i])
    }

    /// The same with a ridge of this share of the sum of squares of each feature but the first.
    pub fn damped(&self, share: f64) -> Self {
        let squares = self.squares();
        let mut out = self.clone();
        let mut row = vec![0.0; self.size + 1];
        for i in 1..self.size {
            row.fill(0.0);
            row[i] = 1.0;
            rotate(&mut out.factor, &mut row, share * squares[i]);
        }
        out
    }

    /// Averaged coefficients of the features, `n` samples that count; and the least `AICc`.
    pub fn solve(&self, n: f64) -> Option<Solution> {
        let squares = self.squares();
        let size = self.size;
        if self.count == 0 || n < 4.0 {
            return None;
        }
        let floor = ROUNDING * squares[size] + f64::MIN_POSITIVE;
        // From the last on, so that small residuals are no differences of large numbers.
        let takes = |i: usize| {
            let row = self.row(i);
            if row[0] > NEW * squares[i] { row[0] * row[size - i] * row[size - i] } else { 0.0 }
        };
        let mut left = vec![self.row(size)[0]; size + 1];
        for i in (0..size).rev() {
            left[i] = left[i + 1] + takes(i);
        }
        let mut scores = Vec::with_capacity(size);
        let mut used = 0.0;
        for i in 0..size {
            // One more for the variance.
            if used + 2.0 >= n - 2.0 {
                break;
            }
            used += f64::from(u8::from(self.row(i)[0] > NEW * squares[i]));
            let k = used + 1.0;
            let penalty = 2.0 * k + 2.0 * k * (k + 1.0) / (n - k - 1.0);
            scores.push(n * (left[i + 1].max(floor) / self.count as f64).ln() + penalty);
        }
        let best = scores.iter().copied().fold(f64::INFINITY, f64::min);
        if !best.is_finite() {
            return None;
        }
        let weights: Vec<f64> = scores.iter().map(|score| (0.5 * (best - score)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let (mut tail, mut found) = (0.0, vec![0.0; size]);
        for i in (0..scores.len()).rev() {
            tail += weights[i] / sum;
            let row = self.row(i);
            if row[0] > NEW * squares[i] {
                let inner: f64 = row[1..].iter().zip(&found[i + 1..]).map(|(r, found)| r * found).sum();
                found[i] = tail * row[size - i] - inner;
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
    /// That of features of which these were in this order.
    pub fn restored(self, order: &[usize]) -> Self {
        let mut coefficients = vec![0.0; self.coefficients.len()];
        order.iter().zip(&self.coefficients).for_each(|(to, value)| coefficients[*to] = *value);
        Self { coefficients, ..self }
    }

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
        pass.list(&mut self.factor);
    }
}

impl Sums {
    /// Whether what was read has the factor of this many features.
    pub fn is_sound(&self) -> bool {
        let triangle = if self.size > 0 { (self.size + 1) * (self.size + 2) / 2 } else { 0 };
        self.size < 10_000 && self.factor.len() == triangle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Powers of a number near 1, which are nearly the same, with the target that their sum is.
    fn powers(rows: usize, size: usize) -> Sums {
        let mut sums = Sums::new(size);
        for t in 0..rows {
            let x = 1.0 + 0.1 * (t as f64 * 0.7).sin();
            let mut row: Vec<f64> = (0..size).map(|power| x.powi(power as i32)).collect();
            row.push(row.iter().sum());
            sums.add(&mut row);
        }
        sums
    }

    #[test]
    fn features_that_are_nearly_dependent_keep_their_digits() {
        // Sums of products would leave none: the square of the condition number is beyond 1e16.
        let sums = powers(200, 7);
        let found = sums.solve(200.0).expect("there are rows enough");
        assert!(found.coefficients.iter().all(|value| (value - 1.0).abs() < 1e-4), "{found:?}");
        assert!(sums.is_close() && !powers(200, 3).is_close());
    }

    #[test]
    fn the_order_of_features_changes_no_least_squares() {
        let sums = powers(50, 4);
        let order = [2, 0, 3, 1];
        let other = sums.reordered(&order).solve(50.0).expect("rows").restored(&order);
        let found = sums.solve(50.0).expect("rows");
        for (one, other) in found.coefficients.iter().zip(&other.coefficients) {
            assert!((one - other).abs() < 1e-8, "{found:?} {other}");
        }
    }

    #[test]
    fn a_ridge_bounds_coefficients_where_nothing_tells_features_apart() {
        let mut sums = Sums::new(3);
        for t in 0..40 {
            let x = (f64::from(t) * 0.9).cos();
            sums.add(&mut [1.0, x, x * (1.0 + 1e-15 * f64::from(t % 3)), 2.0 * x]);
        }
        let found = sums.damped(1e-20).solve(40.0).expect("rows");
        assert!((found.coefficients[1] + found.coefficients[2] - 2.0).abs() < 1e-6, "{found:?}");
        assert!(found.coefficients.iter().all(|value| value.abs() < 1e3), "{found:?}");
    }
}
