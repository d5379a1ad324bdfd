//! Logistic regression: fitted to a sample by Newton's method, with later rows learned by online Newton steps.
//!
//! From a first guess, online steps are far from the minimum for many rows, since the curvature at the guess is that of even
//! odds. From the minimum of a sample they stay near to that of all rows.

use faer::{Mat, MatRef};
use ndarray::{ArrayView1, ArrayView2};

use super::Loss;
use super::loss::proximal_shares;
use crate::error::{Error, Result};
use crate::interrupt;
use crate::linalg::{Lanes, SymmetricInverse, divided, loops, padded};
use crate::persist::{Reader, Writer};

/// Curvatures of the prior of a standardized column, the largest first: the sum of the curvatures of as many even odds is a
/// quarter of the rows.
const PRIORS: [f64; 7] = [100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1];

/// That of the intercept: almost none.
const OF_INTERCEPT: f64 = 1e-3;

/// Newton steps, at most, and the decrement below which the minimum is reached.
const STEPS: usize = 20;
const REACHED: f64 = 1e-6;

/// Halvings of a step, at most, that increases the loss.
const HALVINGS: usize = 10;

/// Logarithms of odds beyond these are as certain.
const FARTHEST: f64 = 700.0;

/// The logarithms of the odds of labels as linear functions of a row, each with an intercept.
#[derive(Clone, Debug)]
pub(crate) struct LogisticLine {
    /// One an output.
    labels: Vec<Label>,
}

/// Coefficients of a label, with the intercept last, and the inverse of the curvature of the losses and the prior.
#[derive(Clone, Debug)]
struct Label {
    weights: Lanes,
    inverse: SymmetricInverse,
}

/// Rows with a last column of ones, their weights, and memory.
struct Rows<'a> {
    z: Mat<f64>,
    weights: ArrayView1<'a, f64>,
    scaled: Mat<f64>,
    hessian: Mat<f64>,
}

/// A fit of one label with a prior.
#[derive(Clone)]
struct Fit {
    weights: Vec<f64>,
    /// Mean loss of rows that are left out, to first order.
    loss: f64,
    inverse: SymmetricInverse,
}

impl LogisticLine {
    /// Fits standardized rows `x` (n, d) with labels of 1 and -1 (n, outputs). All labels have the prior with the least
    /// leave-one-out loss. `None` if there is no finite minimum. O(n d^2) a step, about ten steps an output.
    pub fn fit(
        x: ArrayView2<'_, f64>,
        signs: ArrayView2<'_, f64>,
        weights: ArrayView1<'_, f64>,
    ) -> Result<Option<Self>> {
        let (n, d) = x.dim();
        let z = Mat::from_fn(n, d + 1, |i, k| if k < d { x[(i, k)] } else { 1.0 });
        let mut rows = Rows { z, weights, scaled: Mat::zeros(n, d + 1), hessian: Mat::zeros(d + 1, d + 1) };
        let mut best: Option<(f64, Vec<Fit>)> = None;
        let mut last: Vec<Vec<f64>> = vec![vec![0.0; d + 1]; signs.ncols()];
        for prior in PRIORS {
            let mut fits = Vec::with_capacity(signs.ncols());
            for (signs, from) in signs.columns().into_iter().zip(&last) {
                let Some(fit) = rows.fitted(signs, prior, from)? else { break };
                fits.push(fit);
            }
            let loss: f64 = fits.iter().map(|fit| fit.loss).sum();
            let is_better = loss.is_finite() && best.as_ref().is_none_or(|best| loss < best.0);
            if fits.len() < signs.ncols() || !is_better {
                break;
            }
            last = fits.iter().map(|fit| fit.weights.clone()).collect();
            best = Some((loss, fits));
        }
        let label = |fit: Fit| {
            let mut weights = Lanes::zeros(d + 1);
            weights[..=d].copy_from_slice(&fit.weights);
            Label { weights, inverse: fit.inverse }
        };
        Ok(best.map(|(_, fits)| Self { labels: fits.into_iter().map(label).collect() }))
    }

    /// The logarithm of the odds of a label for a row `z` with a 1 behind its columns, padded.
    pub fn odds(&self, label: usize, z: &[f64]) -> f64 {
        loops::dot(&self.labels[label].weights, z).clamp(-FARTHEST, FARTHEST)
    }

    /// The slopes of the logarithm of the odds of a label.
    pub fn slopes(&self, label: usize) -> &[f64] {
        let Label { weights, inverse } = &self.labels[label];
        &weights[..inverse.dim() - 1]
    }

    /// Learns the signs of such a row, with a positive weight: one Newton step a label. O(d^2) a label.
    pub fn learn(&mut self, z: &[f64], signs: &[f64], weight: f64, pz: &mut Lanes) {
        for (label, sign) in self.labels.iter_mut().zip(signs) {
            pz.resize(z.len());
            let quadratic = label.inverse.multiply(z, pz).max(0.0);
            let (margin, scale) = (sign * loops::dot(&label.weights, z), weight * quadratic);
            if !(margin.is_finite() && scale.is_finite()) {
                continue;
            }
            // An implicit step: one row of a large weight passes no minimum.
            let [right, wrong] = proximal_shares(margin, scale);
            loops::add_scaled(weight * sign * wrong, pz, &mut label.weights);
            label.inverse.add(1.0, weight * right * wrong, pz, quadratic);
        }
    }

    pub fn write(&self, name: &str, out: &mut Writer) {
        for (c, label) in self.labels.iter().enumerate() {
            let dim = label.inverse.dim();
            out.vector(&format!("{name}.{c}"), &label.weights[..dim]);
            out.lower(&format!("{name}.{c}.inverse"), dim, &label.inverse.matrix().to_row_major());
        }
    }

    /// What [`write`](Self::write) wrote, for rows of `d` columns.
    pub fn read(name: &str, (d, outputs): (usize, usize), from: &Reader<'_>) -> Result<Self> {
        let label = |c: usize| {
            let mut weights = Lanes::zeros(d + 1);
            weights[..=d].copy_from_slice(&from.vector(&format!("{name}.{c}"), d + 1)?);
            let inverse = format!("{name}.{c}.inverse");
            let (dim, entries) = from.lower(&inverse, true)?;
            let inverse = SymmetricInverse::from_row_major(&entries, dim)
                .filter(|read| dim == d + 1 && read.factor().is_some())
                .ok_or_else(|| Error::file(format!("{inverse} is none of these columns")))?;
            Ok(Label { weights, inverse })
        };
        Ok(Self { labels: (0..outputs).map(label).collect::<Result<_>>()? })
    }
}

impl Rows<'_> {
    /// The minimum with a prior, by damped Newton steps from these coefficients.
    fn fitted(&mut self, signs: ArrayView1<'_, f64>, prior: f64, from: &[f64]) -> Result<Option<Fit>> {
        let mut weights = from.to_vec();
        let mut odds = self.odds(&weights);
        let mut objective = self.objective(&odds, signs, &weights, prior);
        for _ in 0..STEPS {
            interrupt::check()?;
            let Some(inverse) = self.inverse(&odds, signs, prior) else { return Ok(None) };
            let gradient = self.gradient(&odds, signs, &weights, prior);
            let step = times(&inverse, &gradient);
            let decrement = step.iter().zip(&gradient).map(|(step, slope)| step * slope).sum::<f64>();
            let (mut share, mut is_found) = (1.0, false);
            for _ in 0..HALVINGS {
                let next: Vec<f64> =
                    weights.iter().zip(&step).map(|(from, step)| from - share * step).collect();
                let there = self.odds(&next);
                let value = self.objective(&there, signs, &next, prior);
                if value <= objective {
                    (weights, odds, objective, is_found) = (next, there, value, true);
                    break;
                }
                share *= 0.5;
            }
            // Without a better point, the next step would be the same.
            if !is_found || decrement.is_nan() || decrement <= REACHED {
                break;
            }
        }
        let Some(inverse) = self.inverse(&odds, signs, prior) else { return Ok(None) };
        let loss = self.left_out(&odds, signs, &inverse);
        Ok(weights.iter().all(|weight| weight.is_finite()).then_some(Fit { weights, loss, inverse }))
    }

    fn odds(&self, weights: &[f64]) -> Vec<f64> {
        let weights = MatRef::from_column_major_slice(weights, weights.len(), 1);
        (&self.z * weights).col(0).iter().copied().collect()
    }

    fn objective(&self, odds: &[f64], signs: ArrayView1<'_, f64>, weights: &[f64], prior: f64) -> f64 {
        let losses = odds.iter().zip(signs).zip(self.weights);
        let losses: f64 =
            losses.map(|((odds, sign), weight)| weight * Loss::Logistic.value(*odds, *sign)).sum();
        let of_prior = |(k, own): (usize, &f64)| 0.5 * prior_of(k, weights.len(), prior) * own * own;
        losses + weights.iter().enumerate().map(of_prior).sum::<f64>()
    }

    fn gradient(&self, odds: &[f64], signs: ArrayView1<'_, f64>, weights: &[f64], prior: f64) -> Vec<f64> {
        let slopes = odds.iter().zip(signs).zip(self.weights);
        let slopes: Vec<f64> =
            slopes.map(|((odds, sign), weight)| weight * Loss::Logistic.derivative(*odds, *sign)).collect();
        let slopes = MatRef::from_column_major_slice(&slopes, slopes.len(), 1);
        let of_rows = self.z.transpose() * slopes;
        let own = |(k, weight): (usize, &f64)| of_rows[(k, 0)] + prior_of(k, weights.len(), prior) * weight;
        weights.iter().enumerate().map(own).collect()
    }

    /// The inverse of the curvature.
    fn inverse(&mut self, odds: &[f64], signs: ArrayView1<'_, f64>, prior: f64) -> Option<SymmetricInverse> {
        let (n, m) = (self.z.nrows(), self.z.ncols());
        let root = |i: usize| (self.weights[i] * Loss::Logistic.curvature(odds[i], signs[i])).sqrt();
        let roots: Vec<f64> = (0..n).map(root).collect();
        for k in 0..m {
            for (i, root) in roots.iter().enumerate() {
                self.scaled[(i, k)] = root * self.z[(i, k)];
            }
        }
        let scaled = self.scaled.transpose();
        divided::lower_product(self.hessian.as_mut(), scaled, scaled);
        (0..m).for_each(|k| self.hessian[(k, k)] += prior_of(k, m, prior));
        SymmetricInverse::of(self.hessian.as_ref())
    }

    /// Mean loss of the rows, each without its own part in the minimum: one Newton step back from it.
    fn left_out(&self, odds: &[f64], signs: ArrayView1<'_, f64>, inverse: &SymmetricInverse) -> f64 {
        let m = self.z.ncols();
        let (mut z, mut pz) = (Lanes::zeros(m), Lanes::zeros(m));
        let (mut sum, mut total) = (0.0, 0.0);
        for (i, (odds, sign)) in odds.iter().zip(signs).enumerate() {
            z.iter_mut().zip(self.z.row(i).iter()).for_each(|(to, from)| *to = *from);
            let quadratic = self.weights[i] * inverse.multiply(&z, &mut pz);
            let left = (1.0 - Loss::Logistic.curvature(*odds, *sign) * quadratic).max(LEAST_LEFT);
            let without = odds + Loss::Logistic.derivative(*odds, *sign) * quadratic / left;
            sum += self.weights[i] * Loss::Logistic.value(without, *sign);
            total += self.weights[i];
        }
        sum / total
    }
}

/// Least share of a row's curvature that is not its own.
const LEAST_LEFT: f64 = 1e-3;

fn prior_of(k: usize, len: usize, prior: f64) -> f64 {
    if k + 1 < len { prior } else { OF_INTERCEPT }
}

fn times(inverse: &SymmetricInverse, v: &[f64]) -> Vec<f64> {
    let (mut from, mut to) = (Lanes::zeros(v.len()), Lanes::zeros(padded(v.len())));
    from[..v.len()].copy_from_slice(v);
    inverse.multiply(&from, &mut to);
    to[..v.len()].to_vec()
}

#[cfg(test)]
mod tests {
    use faer::linalg::solvers::{DenseSolveCore as _, Solve as _};
    use ndarray::{Array1, Array2};

    use super::*;
    use crate::random::{normal, uniform};

    /// Rows and labels of one output or two, and weights.
    fn drawn(n: usize, d: usize, outputs: usize) -> (Array2<f64>, Array2<f64>, Array1<f64>) {
        let x = Array2::from_shape_fn((n, d), |(i, k)| normal(3, (i * d + k) as u64));
        let signs = Array2::from_shape_fn((n, outputs), |(i, c)| {
            let odds = 2.0 * x[(i, c)] - x[(i, d - 1)] + normal(4, (i * outputs + c) as u64);
            if odds > 0.3 { 1.0 } else { -1.0 }
        });
        let weights = Array1::from_shape_fn(n, |i| 0.5 + uniform(5, i as u64));
        (x, signs, weights)
    }

    fn row(x: ArrayView1<'_, f64>) -> Lanes {
        let mut z = Lanes::zeros(x.len() + 1);
        z.iter_mut().zip(x).for_each(|(to, from)| *to = *from);
        z[x.len()] = 1.0;
        z
    }

    /// The minimum with a prior by undamped Newton steps, written out, and the curvature there.
    fn dense(x: &Array2<f64>, signs: &[f64], weights: &[f64], prior: f64) -> (Vec<f64>, Mat<f64>) {
        let (n, m) = (x.nrows(), x.ncols() + 1);
        let at = |i: usize, k: usize| if k + 1 < m { x[(i, k)] } else { 1.0 };
        let mut w = vec![0.0; m];
        let mut bend = Mat::<f64>::zeros(m, m);
        for _ in 0..50 {
            let mut slope = Mat::from_fn(m, 1, |k, _| w[k] * if k + 1 < m { prior } else { OF_INTERCEPT });
            bend = Mat::from_fn(m, m, |k, l| {
                if k != l {
                    0.0
                } else if k + 1 < m {
                    prior
                } else {
                    OF_INTERCEPT
                }
            });
            for i in 0..n {
                let odds: f64 = (0..m).map(|k| w[k] * at(i, k)).sum();
                let p = (1.0 + (-odds).exp()).recip();
                for k in 0..m {
                    slope[(k, 0)] += weights[i] * (p - 0.5 * (1.0 + signs[i])) * at(i, k);
                    for l in 0..m {
                        bend[(k, l)] += weights[i] * p * (1.0 - p) * at(i, k) * at(i, l);
                    }
                }
            }
            let step = bend.partial_piv_lu().solve(&slope);
            (0..m).for_each(|k| w[k] -= step[(k, 0)]);
        }
        (w, bend)
    }

    #[test]
    fn a_fit_is_the_minimum_of_the_prior_with_the_least_leave_one_out_loss() {
        let (x, signs, weights) = drawn(80, 3, 2);
        let line = LogisticLine::fit(x.view(), signs.view(), weights.view()).unwrap().unwrap();
        let weights = weights.to_vec();
        let loss = |odds: f64, sign: f64| (-sign * odds).exp().ln_1p();
        // Each row is left out in turn.
        let left_out = |prior: f64| -> f64 {
            let of = |c: usize, out: usize| {
                let signs = signs.column(c).to_vec();
                let without: Vec<f64> = (0..80).map(|i| if i == out { 0.0 } else { weights[i] }).collect();
                let (w, _) = dense(&x, &signs, &without, prior);
                let odds = row(x.row(out)).iter().zip(&w).map(|(z, w)| z * w).sum::<f64>();
                weights[out] * loss(odds, signs[out])
            };
            (0..2).flat_map(|c| (0..80).map(move |out| (c, out))).map(|(c, out)| of(c, out)).sum()
        };
        let losses: Vec<f64> = PRIORS.iter().map(|prior| left_out(*prior)).collect();
        let best = (0..PRIORS.len()).min_by(|a, b| losses[*a].total_cmp(&losses[*b])).unwrap();
        assert!(best > 0 && best + 1 < PRIORS.len(), "{losses:?}");
        for (c, label) in line.labels.iter().enumerate() {
            let (w, bend) = dense(&x, &signs.column(c).to_vec(), &weights, PRIORS[best]);
            for (found, w) in label.weights.iter().zip(&w) {
                assert!((found - w).abs() < 1e-5 * (1.0 + w.abs()), "{found} {w}");
            }
            let (found, inverse) = (label.inverse.matrix(), bend.partial_piv_lu().inverse());
            for k in 0..4 {
                for l in 0..4 {
                    assert!((found.get(k, l) - inverse[(k, l)]).abs() < 1e-4 * inverse[(k, k)]);
                }
            }
        }
    }

    #[test]
    fn later_rows_are_learned_almost_as_if_they_had_been_fitted_in_any_order() {
        let (x, signs, weights) = drawn(600, 4, 1);
        let part = |rows: &[usize]| {
            let axis = ndarray::Axis(0);
            (x.select(axis, rows), signs.select(axis, rows), weights.select(axis, rows))
        };
        let fitted = |rows: &[usize]| {
            let (x, signs, weights) = part(rows);
            LogisticLine::fit(x.view(), signs.view(), weights.view()).unwrap().unwrap()
        };
        let all: Vec<usize> = (0..600).collect();
        let loss = |line: &LogisticLine| {
            let of = |i: usize| Loss::Logistic.value(line.odds(0, &row(x.row(i))), signs[(i, 0)]);
            (0..600).map(of).sum::<f64>() / 600.0
        };
        let least = loss(&fitted(&all));
        for order in ["random", "rising", "labels"] {
            let mut later: Vec<usize> = (200..600).collect();
            match order {
                "rising" => later.sort_by(|a, b| x[(*a, 0)].total_cmp(&x[(*b, 0)])),
                "labels" => later.sort_by(|a, b| signs[(*a, 0)].total_cmp(&signs[(*b, 0)])),
                _ => {}
            }
            let mut line = fitted(&all[..200]);
            let before = loss(&line);
            let mut product = Lanes::default();
            for i in later {
                line.learn(&row(x.row(i)), &[signs[(i, 0)]], weights[i], &mut product);
            }
            let after = loss(&line);
            assert!(
                after < before && after < least + 0.3 * (before - least),
                "{order}: {least} {after} {before}"
            );
        }
    }

    #[test]
    fn labels_that_are_alike_or_separable_and_rows_of_large_weight_have_finite_lines() {
        let (x, signs, weights) = drawn(60, 3, 1);
        let sure = signs.mapv(|_| 1.0);
        let separable = Array2::from_shape_fn((60, 1), |(i, _)| x[(i, 0)].signum());
        for signs in [sure, separable, signs] {
            for unit in [1e-6, 1.0, 1e9] {
                let line = LogisticLine::fit(x.view(), signs.view(), (&weights * unit).view()).unwrap();
                let Some(mut line) = line else { continue };
                let z = row(x.row(0));
                line.learn(&z, &[-1.0], 1e12, &mut Lanes::default());
                assert!(line.odds(0, &z).is_finite() && line.odds(0, &z) < 0.0);
            }
        }
    }
}
