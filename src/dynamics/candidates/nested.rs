//! Averaged least squares of nested models.
//!
//! A row updates the triangular factor of all rows so far by Givens rotations without square roots
//! (W. Gentleman, "Basic procedures for large, sparse or weighted linear least squares problems",
//! 1974): sums of products would lose half of the digits, which forecasts of a noiseless record
//! need. With the factor `D^(1/2) R`, `R` of unit diagonal and target column `t`, the k-th feature
//! reduces the sum of squares by `D_k t_k^2`, which gives the residuals of the models with the
//! first k features, k = 1, 2, ... Models are weighted by `exp(-AICc / 2)` (K. Burnham, D.
//! Anderson, "Model selection and multimodel inference", 2002). Since the first k rows of `R` are
//! those of the k-th model, one back substitution gives the averaged coefficients.

use super::numbers::{Numbers, Pass};

/// Features whose unexplained share of their sum of squares is below this are left out.
const NEW: f64 = 1e-29;

/// Residuals below this share of the sum of squares are rounding.
const ROUNDING: f64 = 1e-28;

/// Features whose unexplained share of their sum of squares is below this are damped.
const CLOSE: f64 = 1e-14;

/// Triangular factor of rows of features followed by a target.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    /// Number of features.
    size: usize,
    /// Upper triangle by rows, target last; the weights `D` on the diagonal.
    factor: Vec<f64>,
    pub count: usize,
}

/// Updates the factor by a row with this weight; overwrites the row.
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
        // Negligible.
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

    /// Number of features.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Learns features followed by the target, with this weight; overwrites them.
    pub fn add(&mut self, row: &mut [f64], weight: f64) {
        rotate(&mut self.factor, row, weight);
        self.count += 1;
    }

    /// Row of the factor with this index, from the diagonal on.
    fn row(&self, i: usize) -> &[f64] {
        let (at, len) = (i * (2 * self.size + 3 - i) / 2, self.size + 1 - i);
        &self.factor[at..at + len]
    }

    /// The factor of the same rows with all features in this order.
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

    /// Sums of squares of each column, target last.
    fn squares(&self) -> Vec<f64> {
        let mut squares = vec![0.0; self.size + 1];
        for i in 0..=self.size {
            let row = self.row(i);
            squares[i] += row[0];
            squares[i + 1..].iter_mut().zip(&row[1..]).for_each(|(sum, r)| *sum += row[0] * r * r);
        }
        squares
    }

    /// Whether features are so nearly dependent that coefficients lose digits.
    pub fn is_close(&self) -> bool {
        let squares = self.squares();
        (0..self.size).any(|i| self.row(i)[0] < CLOSE * squares[i])
    }

    /// The factor with a ridge of this share of the sum of squares of each feature except the
    /// first.
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

    /// Averaged coefficients of the features for an effective number `n` of samples, and the least
    /// `AICc`.
    pub fn solve(&self, n: f64) -> Option<Solution> {
        let squares = self.squares();
        let size = self.size;
        if self.count == 0 || n < 4.0 {
            return None;
        }
        let floor = ROUNDING * squares[size] + f64::MIN_POSITIVE;
        // Backwards, so that small residuals are not differences of large numbers.
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

/// Averaged coefficients, one for each feature; least `AICc`, and the sum of weights relative to
/// it.
#[derive(Clone, Debug, Default)]
pub struct Solution {
    pub coefficients: Vec<f64>,
    score: f64,
    mass: f64,
}

impl Solution {
    /// The solution in the original order of the features.
    pub fn restored(self, order: &[usize]) -> Self {
        let mut coefficients = vec![0.0; self.coefficients.len()];
        order.iter().zip(&self.coefficients).for_each(|(to, value)| coefficients[*to] = *value);
        Self { coefficients, ..self }
    }

    /// Average of two solutions for the same target, by their weights.
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

impl Numbers for Sums {
    fn pass(&mut self, pass: &mut dyn Pass) {
        pass.count(&mut self.size);
        pass.count(&mut self.count);
        pass.list(&mut self.factor);
    }
}

impl Sums {
    /// Whether the factor of a model file has this many features.
    pub fn is_sound(&self) -> bool {
        if self.size >= 10_000 {
            return false;
        }
        let triangle = if self.size > 0 { (self.size + 1) * (self.size + 2) / 2 } else { 0 };
        self.factor.len() == triangle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Powers of a number near 1, which are nearly equal, and their sum as the target.
    fn powers(rows: usize, size: usize) -> Sums {
        let mut sums = Sums::new(size);
        for t in 0..rows {
            let x = 1.0 + 0.1 * (t as f64 * 0.7).sin();
            let mut row: Vec<f64> = (0..size).map(|power| x.powi(power as i32)).collect();
            row.push(row.iter().sum());
            sums.add(&mut row, 1.0);
        }
        sums
    }

    #[test]
    fn features_that_are_nearly_dependent_keep_their_digits() {
        // Sums of products would leave no digits: the square of the condition number exceeds 1e16.
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
            sums.add(&mut [1.0, x, x * (1.0 + 1e-15 * f64::from(t % 3)), 2.0 * x], 1.0);
        }
        let found = sums.damped(1e-20).solve(40.0).expect("rows");
        assert!((found.coefficients[1] + found.coefficients[2] - 2.0).abs() < 1e-6, "{found:?}");
        assert!(found.coefficients.iter().all(|value| value.abs() < 1e3), "{found:?}");
    }
}
