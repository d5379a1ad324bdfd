//! The function: points, coefficients, and their updates.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};
use ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis};

use super::removal::{cheapest, draw, oldest};
use super::rule::StepRule;
use super::spec::{Limits, Removal};
use crate::basis::NestedFeatures;
use crate::error::{Error, Result};
use crate::kernel::{Kernel, PointSet};
use crate::linalg::{Coordinates, GrowingCholesky, Panel, loops, resolution, with_scratch, write_array};
use crate::threads::ask_each_block;

/// Rows per block of predictions.
const BLOCK: usize = 256;

/// `f = sum_i a_i k(s_i, .)`, with the scratch of a row, so that none allocates.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    kernel: Kernel,
    points: PointSet,
    /// `k(s_i, s_i)`
    own: Vec<f64>,
    /// (points, outputs)
    coefficients: Panel,
    /// Factor of the Gram matrix if points are projected, else empty.
    factor: GrowingCholesky,
    x: Vec<f64>,
    y: Vec<f64>,
    /// `k(x, x)`
    similarity: f64,
    /// `k(s_i, x)`
    k: Coordinates,
    /// Nested coordinates of `x` if points are projected, and the coefficients of its projection.
    z: Coordinates,
    projection: Coordinates,
    prediction: Vec<f64>,
    /// Coefficients of `x`, and those of its projection.
    steps: Vec<f64>,
    projected: Vec<f64>,
}

/// Data of a round besides its row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// Round, from 1.
    pub t: u64,
    /// Weight of the loss, positive.
    pub weight: f64,
    /// Points removed in earlier rounds.
    pub n_removed: u64,
}

/// Where a new point is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// Nowhere: it has no loss, or there is no room.
    Nowhere,
    /// Appended. `residual`: its squared distance to the span of the others, with a factor.
    New { residual: Option<f64> },
    /// In the place of another one.
    Of(usize),
    /// Projected onto the span of the others.
    Span,
}

/// Compares a row with stored points, and predicts it.
fn compare(
    kernel: &Kernel,
    points: &PointSet,
    coefficients: &Panel,
    x: &[f64],
    k: &mut Coordinates,
    out: &mut [f64],
) {
    let (values, scratch) = k.prepare(points.len());
    kernel.row(points, x, values, scratch);
    for (c, prediction) in out.iter_mut().enumerate() {
        *prediction = loops::dot(coefficients.col(c), k.in_lanes());
    }
}

impl Sum {
    pub fn new(kernel: Kernel, width: usize, outputs: usize) -> Self {
        Self {
            points: PointSet::seen_by(&kernel, width),
            kernel,
            own: Vec::new(),
            coefficients: Panel::zeros(0, outputs),
            factor: GrowingCholesky::default(),
            x: Vec::new(),
            y: Vec::new(),
            similarity: 0.0,
            k: Coordinates::default(),
            z: Coordinates::default(),
            projection: Coordinates::default(),
            prediction: vec![0.0; outputs],
            steps: vec![0.0; outputs],
            projected: vec![0.0; outputs],
        }
    }

    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    pub fn points(&self) -> &PointSet {
        &self.points
    }

    pub fn coefficients(&self) -> &Panel {
        &self.coefficients
    }

    pub fn factor(&self) -> &GrowingCholesky {
        &self.factor
    }

    pub fn prediction(&self) -> &[f64] {
        &self.prediction
    }

    /// Appends a point with its coefficients.
    pub fn push(&mut self, x: &[f64], coefficients: &[f64]) {
        self.own.push(self.kernel.diag(x));
        self.points.push(x);
        self.coefficients.push_row(coefficients.iter().copied());
    }

    /// Sets a factor read from a file, which must have the size of the dictionary.
    pub fn set_factor(&mut self, factor: GrowingCholesky) {
        self.factor = factor;
    }

    /// Compares a row with the stored points and predicts it.
    pub fn meet(&mut self, x: impl Iterator<Item = f64>, y: impl Iterator<Item = f64>) {
        self.x.clear();
        self.x.extend(x);
        self.y.clear();
        self.y.extend(y);
        self.similarity = self.kernel.diag(&self.x);
        compare(&self.kernel, &self.points, &self.coefficients, &self.x, &mut self.k, &mut self.prediction);
    }

    /// Predicts a row that is not learned.
    pub fn predict_one(&self, x: &[f64], out: &mut [f64]) {
        with_scratch(|k| compare(&self.kernel, &self.points, &self.coefficients, x, k, out));
    }

    /// Learns the current row; returns how many points were removed. On an error nothing has
    /// changed.
    pub fn round(&mut self, round: Round, rule: &StepRule, limits: Limits) -> Result<u64> {
        if !self.prediction.iter().all(|f| f.abs() < 1e150) {
            return Err(Error::Diverged { row: 0 });
        }
        let Round { t, weight, .. } = round;
        let keep = rule.steps(t, weight, self.similarity, &self.y, &self.prediction, &mut self.steps)?;
        let place = self.place(round, rule, limits, keep)?;
        self.coefficients.scale(keep);
        match place {
            Place::Nowhere => return Ok(0),
            Place::New { residual } => {
                // Projection first, without the new point.
                self.add_projected();
                if let Some(residual) = residual {
                    self.factor.append(self.z.as_slice(), residual, self.similarity);
                }
                self.own.push(self.similarity);
                self.points.push(&self.x);
                self.coefficients.push_row(self.steps.iter().copied());
            }
            Place::Span => self.add_projected(),
            Place::Of(i) => {
                if limits.removal == Removal::Unbiased {
                    let m = self.points.len() as f64;
                    self.coefficients.scale(if m > 1.0 { m / (m - 1.0) } else { 1.0 });
                }
                self.own[i] = self.similarity;
                self.points.replace(i, &self.x);
                for (c, step) in self.steps.iter().enumerate() {
                    self.coefficients.set(i, c, *step);
                }
            }
        }
        if let Some(limit) = rule.limit() {
            for c in 0..self.coefficients.cols() {
                self.coefficients.col_mut(c).iter_mut().for_each(|a| *a = a.clamp(-limit, limit));
            }
        }
        Ok(u64::from(matches!(place, Place::Of(_))))
    }

    /// Decides where the current row is stored. Changes scratch only.
    fn place(&mut self, round: Round, rule: &StepRule, limits: Limits, keep: f64) -> Result<Place> {
        self.projected.fill(0.0);
        let teaches = self.steps.iter().any(|step| *step != 0.0);
        // The function cannot change at a point of norm zero.
        if self.similarity <= 0.0 || !(teaches || rule.learns_margins()) {
            return Ok(Place::Nowhere);
        }
        let m = self.points.len();
        let full = limits.budget.is_some_and(|most| m >= most);
        Ok(match limits.removal {
            Removal::Project(tolerance) => self.place_by_projection(round.weight, rule, tolerance, full),
            _ if !full => Place::New { residual: None },
            Removal::None => Place::Nowhere,
            Removal::Random | Removal::Unbiased => Place::Of(draw(limits.seed, round.n_removed, m)),
            Removal::Oldest => Place::Of(oldest(round.n_removed, m)),
            Removal::Cheapest => {
                let (own, k, coefficients) = (&self.own, self.k.as_slice(), &self.coefficients);
                let squared = |i| (0..coefficients.cols()).map(|c| coefficients.get(i, c).powi(2)).sum();
                let i = cheapest(own, k, self.similarity, squared);
                // Compensation of the removed point by the new one.
                let share = keep * k[i] / self.similarity;
                for (c, step) in self.steps.iter_mut().enumerate() {
                    *step += share * coefficients.get(i, c);
                }
                if !self.steps.iter().all(|step| step.abs() < 1e90) {
                    return Err(Error::Diverged { row: 0 });
                }
                Place::Of(i)
            }
        })
    }

    fn place_by_projection(&mut self, weight: f64, rule: &StepRule, tolerance: f64, full: bool) -> Place {
        let teaches = self.steps.iter().any(|step| *step != 0.0);
        let small = |y: f64, f: f64| y * f > 0.0 && y * f < 1.0;
        let margins =
            rule.learns_margins() && self.y.iter().zip(&self.prediction).any(|(y, f)| small(*y, *f));
        if !(teaches || margins) {
            return Place::Nowhere;
        }
        self.z.set(self.k.as_slice().iter().copied());
        self.factor.solve(self.z.in_lanes_mut());
        let within = self.z.squared_norm();
        let residual = (self.similarity - within).max(0.0);
        let share = residual / self.similarity;
        let place = match teaches {
            false => Place::Nowhere,
            true if !full && share.sqrt() > tolerance && share > resolution(self.points.len()) => {
                Place::New { residual: Some(residual) }
            }
            true => Place::Span,
        };
        if place == Place::Span {
            self.projected.copy_from_slice(&self.steps);
        }
        if margins && within > 0.0 {
            // Orabona, Keshet and Caputo, 2009, Figure 3: only if the gain exceeds the loss of the
            // projection.
            let lost = share.sqrt() / tolerance;
            for ((step, &y), &f) in self.projected.iter_mut().zip(&self.y).zip(&self.prediction) {
                let loss = 1.0 - y * f;
                if small(y, f) && loss >= lost {
                    let within = y * y * within;
                    *step = y * (loss / within).min(2.0 * (loss - lost) / within).min(weight);
                }
            }
        }
        let moved = self.projected.iter().any(|step| *step != 0.0);
        if moved {
            self.projection.set(self.z.as_slice().iter().copied());
            self.factor.solve_transposed(self.projection.in_lanes_mut());
        }
        match place {
            Place::Nowhere if moved => Place::Span,
            place => place,
        }
    }

    /// Adds the projection of the current row, times its coefficients.
    fn add_projected(&mut self) {
        for (c, &step) in self.projected.iter().enumerate() {
            if step != 0.0 {
                loops::add_scaled(step, self.projection.in_lanes(), self.coefficients.col_mut(c));
            }
        }
    }

    /// Similarities of rows to the stored points, by matrix products (n, m).
    pub fn similarities(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let mut out = Array2::zeros((x.nrows(), self.points.len()));
        let blocks = x.axis_chunks_iter(Axis(0), BLOCK).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK));
        ask_each_block(blocks, |(rows, out)| {
            let k = self.kernel.similarities_of_rows(&self.points, rows);
            write_array(k.as_faer(), out);
        })?;
        Ok(out)
    }

    /// The share of each row that the stored points do not explain (n).
    pub fn novelty(&self, x: ArrayView2<'_, f64>) -> Array1<f64> {
        let mut features = NestedFeatures::new(self.kernel.clone(), self.points.width());
        let mut z = Coordinates::default();
        for i in 0..self.points.len() {
            let projection = features.project(self.points.point(i), &mut z);
            // A repeated point adds nothing.
            if projection.relative_residual() > resolution(features.dim()) {
                features.append(self.points.point(i), &mut z, &projection);
            }
        }
        let novelty = |row: ArrayView1<'_, f64>| features.project(&row.to_vec(), &mut z).relative_residual();
        x.rows().into_iter().map(novelty).collect()
    }

    /// Predictions of rows, by matrix products (n, p).
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let outputs = self.coefficients.cols();
        let mut out = Array2::zeros((x.nrows(), outputs));
        let blocks = x.axis_chunks_iter(Axis(0), BLOCK).zip(out.axis_chunks_iter_mut(Axis(0), BLOCK));
        ask_each_block(blocks, |(rows, out)| {
            let mut predictions = Mat::<f64>::zeros(rows.nrows(), outputs);
            let k = self.kernel.similarities_of_rows(&self.points, rows);
            let a = self.coefficients.as_faer();
            matmul(predictions.as_mut(), Accum::Replace, k.as_faer(), a, 1.0, Par::Seq);
            write_array(predictions.as_ref(), out);
        })?;
        Ok(out)
    }
}
