//! For labels, the last stage: odds are calibrated, and combined with those of logistic regression.
//!
//! What the mixture and the trees say is calibrated by how it went before, and combined linearly with the logarithm of the odds
//! by a line. A line is fitted to the sample of each refit from 32 rows on, with the regularization that has the least
//! leave-one-out loss, and learns each row by an online Newton step. Where labels depend on the columns linearly, kernel experts
//! need many times the rows. Where labels come in runs, which tell what the next one is and not what scores stand for, scores
//! stay as they are.

use std::sync::Arc;

use ndarray::{ArrayView1, ArrayView2, ArrayViewMut1, Axis};

use super::AdaptiveParams;
use super::buffer::Sample;
use super::preprocessing::{Columns, Preprocessing, Transform};
use super::selection::of_equal_weight;
use crate::error::{Error, Result};
use crate::learner::{LogOdds, LogisticLine, Recalibration, linear_of_odds, odds_of_linear, slope_of_linear};
use crate::linalg::{Lanes, padded, with_scratch};
use crate::online::label_runs::LabelRuns;
use crate::persist::{Reader, Writer};

/// Fewest rows that a line is fitted to.
const FEWEST: usize = 32;

/// Most products of the coefficients of a row, of all outputs: a row takes as many operations.
const MOST_PRODUCTS: usize = 1 << 17;

/// Most products of all rows of a sample: more rows are not fitted.
const MOST_OF_SAMPLE: usize = 1 << 28;

/// Terms of the logarithm of the odds: that without the line, and that of the line.
const TERMS: usize = 2;

/// The weights before the first row, as without the line, and confidence in them, in rows of even odds.
const FIRST: [f64; TERMS] = [1.0, 0.0];
const PRIOR: [f64; TERMS] = [32.0; TERMS];

/// Changes of the label before which scores stay as they are: rows of one label, and then of the other, change once, and what
/// is learned from them is what the label is.
const FEWEST_CHANGES: u64 = 3;

/// The weight of a past row falls by this factor each row.
const MEMORY: f64 = 0.9997;

/// A line, and how the columns are standardized.
#[derive(Clone, Debug)]
pub(super) struct Line {
    preprocessing: Arc<Preprocessing>,
    logistic: LogisticLine,
    /// Memory for a row.
    product: Lanes,
}

/// What makes odds of the scores of all experts.
#[derive(Clone, Debug)]
pub(super) struct OddsStage {
    /// One an output.
    calibrations: Vec<Recalibration>,
    /// One an output: weights of the terms.
    combined: Vec<LogOdds<TERMS>>,
    runs: LabelRuns,
    line: Option<Line>,
}

/// A standardized row, and the logarithm of the odds of each output by the line; none without a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Predicted {
    row: Lanes,
    odds: Vec<f64>,
}

impl Line {
    /// Fits the labels of a sample; `None` if its rows are too few, or so wide that a row would take long.
    pub fn fit(sample: &Sample, params: &AdaptiveParams) -> Result<Option<Self>> {
        let (n, d) = sample.x.dim();
        let products = (d + 1).saturating_mul(d + 1).saturating_mul(sample.y.ncols());
        if n < FEWEST || products > MOST_PRODUCTS {
            return Ok(None);
        }
        let rows: Vec<usize> = (0..n).rev().take((MOST_OF_SAMPLE / products).max(FEWEST)).collect();
        let preprocessing = of_equal_weight(Transform::Standard, sample, params)?;
        let x = preprocessing.apply(sample.x.select(Axis(0), &rows).view());
        let (y, weights) = (sample.y.select(Axis(0), &rows), sample.weights.select(Axis(0), &rows));
        let logistic = LogisticLine::fit(x.view(), y.view(), weights.view())?;
        Ok(logistic.map(|logistic| Self { preprocessing, logistic, product: Lanes::default() }))
    }

    /// Numbers of a standardized row.
    fn length(&self) -> usize {
        padded(self.preprocessing.width() + 1)
    }

    /// Standardizes a row into `out`, with a 1 behind it.
    fn standardize(&self, x: impl ExactSizeIterator<Item = f64>, out: &mut [f64]) {
        let (width, n) = (self.preprocessing.width(), x.len());
        with_scratch(|scratch| {
            let (scratch, _) = scratch.prepare(n);
            self.preprocessing.write(x, &mut scratch[..n], &mut out[..padded(width)]);
        });
        out[width] = 1.0;
        out[width + 1..].fill(0.0);
    }

    /// Learns rows that came after the sample.
    pub fn learn(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, weights: ArrayView1<'_, f64>) {
        let mut row = Lanes::default();
        for ((x, y), weight) in x.rows().into_iter().zip(y.rows()).zip(weights) {
            if *weight > 0.0 {
                row.resize(self.length());
                self.standardize(x.iter().copied(), &mut row);
                self.logistic.learn(&row, &y.to_vec(), *weight, &mut self.product);
            }
        }
    }
}

impl OddsStage {
    pub fn new(outputs: usize) -> Self {
        Self {
            calibrations: vec![Recalibration::new(); outputs],
            combined: vec![LogOdds::new(FIRST, PRIOR); outputs],
            runs: LabelRuns::new(outputs.max(2)),
            line: None,
        }
    }

    /// Puts a line that was fitted again in the place of the one there is.
    pub fn replace(&mut self, line: Line) {
        self.line = Some(line);
    }

    /// What the line predicts for a row, for an answer that is for the next row.
    pub fn predict(&self, x: impl ExactSizeIterator<Item = f64>, predicted: &mut Predicted) {
        let Some(line) = &self.line else { return };
        predicted.row.resize(line.length());
        line.standardize(x, &mut predicted.row);
        predicted.odds.clear();
        predicted.odds.extend((0..self.combined.len()).map(|c| line.logistic.odds(c, &predicted.row)));
    }

    /// The score of an output, given that of all experts.
    pub fn refined(&self, c: usize, without: f64, predicted: &Predicted) -> f64 {
        linear_of_odds(self.odds(c, odds_of_linear(without), predicted.odds.get(c).copied()))
    }

    fn is_left_out(&self) -> bool {
        self.runs.changes < FEWEST_CHANGES
    }

    fn odds(&self, c: usize, without: f64, of_line: Option<f64>) -> f64 {
        if self.is_left_out() {
            return without;
        }
        let calibrated = self.calibrations[c].apply(without);
        of_line.map_or(calibrated, |odds| self.combined[c].apply(&[calibrated, odds]))
    }

    /// Replaces the scores of a single row, the next one.
    pub fn refine_one(&self, x: &[f64], out: &mut [f64]) {
        with_scratch(|scratch| {
            let (row, _) = scratch.prepare(self.line.as_ref().map_or(0, Line::length));
            if let Some(line) = &self.line {
                line.standardize(x.iter().copied(), row);
            }
            for (c, made) in out.iter_mut().enumerate() {
                let of_line = self.line.as_ref().map(|line| line.logistic.odds(c, row));
                *made = linear_of_odds(self.odds(c, odds_of_linear(*made), of_line));
            }
        });
    }

    /// Turns the gradient of the score of an output by all experts at a row into that of this stage.
    pub fn turn_gradient(
        &self,
        x: &[f64],
        (c, without): (usize, f64),
        predicted: &Predicted,
        mut out: ArrayViewMut1<'_, f64>,
    ) {
        if self.is_left_out() {
            return;
        }
        let odds = odds_of_linear(without);
        let of_line = self.line.as_ref().zip(predicted.odds.get(c));
        let slope = slope_of_linear(self.odds(c, odds, of_line.map(|(_, odds)| *odds)));
        let [own, other] = if of_line.is_some() { self.combined[c].weights } else { FIRST };
        out *= slope * own * self.calibrations[c].slope(odds) / slope_of_linear(odds);
        if let Some((line, _)) = of_line {
            let seen: Vec<f64> = line.logistic.slopes(c).iter().map(|own| slope * other * own).collect();
            let out = out.as_slice_mut().unwrap_or(&mut []);
            line.preprocessing.add_gradient(x, &seen, Columns::Raw, out);
        }
    }

    /// Learns a row with a positive weight that comes after `rows` others, after it was predicted: its scores by all experts,
    /// if there were any.
    pub fn learn(
        &mut self,
        predicted: &Predicted,
        without: &[f64],
        signs: &[f64],
        (weight, rows): (f64, u64),
    ) {
        let stages = self.calibrations.iter_mut().zip(&mut self.combined);
        for (c, ((calibration, combined), (without, sign))) in
            stages.zip(without.iter().zip(signs)).enumerate()
        {
            if self.runs.are_long {
                break;
            }
            let calibrated = calibration.learn(odds_of_linear(*without), *sign, weight, rows as f64);
            if let Some(odds) = predicted.odds.get(c) {
                combined.learn(&[calibrated, *odds], *sign, weight, MEMORY, PRIOR);
            }
        }
        if let Some(line) = self.line.as_mut().filter(|_| !predicted.odds.is_empty()) {
            line.logistic.learn(&predicted.row, signs, weight, &mut line.product);
        }
        let class = match signs {
            [sign] => usize::from(*sign > 0.0),
            signs => signs.iter().position(|sign| *sign > 0.0).unwrap_or(0),
        };
        if self.runs.meet(class) {
            // What was learned was of one run.
            self.calibrations.fill(Recalibration::new());
            self.combined.fill(LogOdds::new(FIRST, PRIOR));
        }
    }

    pub fn write(&self, out: &mut Writer) {
        Recalibration::write(CALIBRATION, &self.calibrations, out);
        out.counts("odds.counts", &self.runs.counts);
        out.counts("odds.runs", &self.runs.numbers());
        if let Some(line) = &self.line {
            line.preprocessing.write_file("odds.line", out);
            line.logistic.write("odds.line.of", out);
            for (c, combined) in self.combined.iter().enumerate() {
                out.vector(&format!("odds.combined.{c}"), &combined.numbers());
            }
        }
    }

    /// What [`write`](Self::write) wrote; none in a former file.
    pub fn read((features, outputs): (usize, usize), from: &Reader<'_>) -> Result<Option<Self>> {
        if !from.has(CALIBRATION) {
            return Ok(None);
        }
        let mut new = Self::new(outputs);
        new.calibrations = Recalibration::read(CALIBRATION, outputs, from)?;
        let counts = from.all_counts("odds.counts")?;
        let runs = LabelRuns::of(counts, from.counts("odds.runs")?);
        let fits = |runs: &LabelRuns| runs.counts.len() == new.runs.counts.len();
        new.runs = runs.filter(fits).ok_or_else(|| Error::file("odds.runs are not those of its rows"))?;
        if from.has("odds.line.knots") {
            let preprocessing = Arc::new(Preprocessing::read_file("odds.line", features, from)?);
            let logistic = LogisticLine::read("odds.line.of", (preprocessing.width(), outputs), from)?;
            new.line = Some(Line { preprocessing, logistic, product: Lanes::default() });
            for (c, combined) in new.combined.iter_mut().enumerate() {
                let name = format!("odds.combined.{c}");
                combined.resume(&from.vector(&name, LogOdds::<TERMS>::NUMBERS)?);
                if !combined.is_sound() {
                    return Err(Error::file(format!("{name} is none of labels")));
                }
            }
        }
        Ok(Some(new))
    }
}

/// Its array in a model file.
const CALIBRATION: &str = "odds.calibration";

#[cfg(test)]
mod tests {
    use ndarray::{Array1, Array2, s};

    use super::*;
    use crate::experts::adaptive::{AdaptiveExperts, AdaptiveSpec};
    use crate::learner::Loss;
    use crate::model::{Introspection as _, Model as _};
    use crate::persist::Persist as _;
    use crate::random::normal;

    /// Rows of five columns, and labels by a noisy linear function of them.
    fn linear(n: usize) -> (Array2<f64>, Array2<f64>) {
        let x =
            Array2::from_shape_fn((n, 5), |(i, k)| [1.0, 1e3, 1e-3][k % 3] * normal(7, (i * 5 + k) as u64));
        let sign = |i: usize| {
            let z = x[(i, 0)] - x[(i, 1)] / 1e3 + 0.5 * x[(i, 2)] * 1e3 + 0.3 * normal(8, i as u64);
            if z > 0.0 { 1.0 } else { -1.0 }
        };
        let y = Array2::from_shape_fn((n, 1), |(i, _)| sign(i));
        (x, y)
    }

    fn experts() -> AdaptiveExperts {
        AdaptiveSpec { size: 30, loss: Loss::SquaredHinge, ..AdaptiveSpec::default() }.build().unwrap()
    }

    fn learned(x: &Array2<f64>, y: &Array2<f64>) -> (AdaptiveExperts, Array2<f64>) {
        let mut model = experts();
        let made = model.learn_and_predict(x.view(), y.view()).unwrap();
        (model, made)
    }

    #[test]
    fn linear_labels_are_told_by_the_line() {
        let (x, y) = linear(400);
        let (mut model, made) = learned(&x, &y);
        let loss = |made: &Array2<f64>| {
            let of = |i: usize| Loss::Logistic.value(odds_of_linear(made[(i, 0)]), y[(i, 0)]);
            (200..400).map(of).sum::<f64>() / 200.0
        };
        let with = loss(&made);
        model = {
            let mut spec = model.spec().clone();
            spec.params.without = Some(super::super::params::Mechanism::Linear);
            spec.build().unwrap()
        };
        let without = loss(&model.learn_and_predict(x.view(), y.view()).unwrap());
        assert!(with < 0.9 * without, "{with} {without}");
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let (x, y) = linear(150);
        let (model, _) = learned(&x, &y);
        // Some kernels have kinks at the rows that were learned.
        let between = |i: usize, k: usize| 0.5 * (x[(i, k)] + x[(i + 20, k)]);
        let rows = Array2::from_shape_fn((20, 5), |(i, k)| between(i, k));
        let gradient = model.gradient(rows.view()).unwrap();
        for k in 0..5 {
            let h = 1e-5 * [1.0, 1e3, 1e-3][k % 3];
            let moved = |by: f64| {
                let mut rows = rows.clone();
                rows.column_mut(k).mapv_inplace(|v| v + by);
                model.predict(rows.view()).unwrap()
            };
            let slopes = (moved(h) - moved(-h)) / (2.0 * h);
            for i in 0..20 {
                let off = (slopes[(i, 0)] - gradient[(i, 0, k)]).abs() * [1.0, 1e3, 1e-3][k % 3];
                assert!(off < 1e-4, "{i} {k}: {} {}", slopes[(i, 0)], gradient[(i, 0, k)]);
            }
        }
    }

    #[test]
    fn one_row_is_predicted_as_many_and_as_before_it_is_learned_from_a_file_too() {
        let (x, y) = linear(160);
        let (_, made) = learned(&x, &y);
        let mut model = experts();
        for i in 0..160 {
            if i > 0 {
                let mut one = [0.0];
                model.predict_one_into(&x.row(i).to_vec(), &mut one).unwrap();
                let many = model.predict(x.slice(s![i..=i, ..])).unwrap();
                for found in [one[0], many[(0, 0)]] {
                    assert!((found - made[(i, 0)]).abs() < 1e-9, "{i}: {found} {}", made[(i, 0)]);
                }
            }
            model.learn_one(&x.row(i).to_vec(), &[y[(i, 0)]]).unwrap();
            if [20, 40, 70, 130].contains(&i) {
                model =
                    AdaptiveExperts::from_bytes(&model.to_bytes(serde_json::Value::Null).unwrap()).unwrap().0;
            }
        }
    }

    #[test]
    fn the_stage_is_a_calibration_and_a_line_in_one_sum_of_log_odds() {
        let (x, y) = linear(200);
        let sample = Sample { x: x.clone(), y: y.clone(), weights: Array1::ones(200) };
        let line = Line::fit(&sample, &AdaptiveParams::default()).unwrap().unwrap();
        let mut stage = OddsStage::new(1);
        let (mut calibration, mut sum) = (Recalibration::new(), LogOdds::new(FIRST, PRIOR));
        let mut slow = line.clone();
        let mut predicted = Predicted::default();
        for (i, t) in (0..200).zip(0_u64..) {
            if i == 50 {
                stage.replace(line.clone());
            }
            let (x, sign) = (x.row(i).to_vec(), y[(i, 0)]);
            let score = (0.5 * normal(9, t) + 0.4 * sign).clamp(-1.0, 1.0);
            stage.predict(x.iter().copied(), &mut predicted);
            let mut z = Lanes::zeros(6);
            slow.standardize(x.iter().copied(), &mut z);
            let calibrated = calibration.apply(odds_of_linear(score));
            let terms = [calibrated, slow.logistic.odds(0, &z)];
            let by_stage = linear_of_odds(if i < 50 { calibrated } else { sum.apply(&terms) });
            let changes = (1..i).filter(|i| y[(*i, 0)].total_cmp(&y[(i - 1, 0)]).is_ne()).count();
            let expected = if changes < 3 { linear_of_odds(odds_of_linear(score)) } else { by_stage };
            assert_eq!(stage.refined(0, score, &predicted).to_bits(), expected.to_bits());
            stage.learn(&predicted, &[score], &[sign], (1.0, t));
            calibration.learn(odds_of_linear(score), sign, 1.0, t as f64);
            if i >= 50 {
                sum.learn(&terms, sign, 1.0, MEMORY, PRIOR);
                slow.logistic.learn(&z, &[sign], 1.0, &mut Lanes::default());
            }
        }
    }

    #[test]
    fn scores_stay_as_they_are_where_labels_come_in_runs() {
        let mut stage = OddsStage::new(1);
        for i in 0..600 {
            let sign = if i / 100 % 2 == 0 { 1.0 } else { -1.0 };
            stage.learn(&Predicted::default(), &[0.9 * sign], &[sign], (1.0, i));
        }
        for score in [-0.9, 0.1, 0.999] {
            assert!((stage.refined(0, score, &Predicted::default()) - score).abs() < 1e-12);
        }
    }
}
