//! Experts on the logarithms of targets.
//!
//! Prices, amounts, counts and durations are often positive and skewed: their size changes by
//! factors, and least squares on the raw targets follows the few large ones. The exponential of an
//! expert's prediction estimates the median; a factor, the least squares scale of the exponentials
//! on the sample that the expert was trained on, makes it an estimate of the mean (compare N. Duan,
//! "Smearing estimate: a nonparametric retransformation method", Journal of the American
//! Statistical Association, 1983).

use ndarray::{Array2, ArrayView1, ArrayView2, Zip};

use super::buffer::Sample;
use super::params::MemberParams;
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Logarithms of the targets of an expert, one pair of numbers for each output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LogTargets {
    /// Smaller targets are learned as this, positive.
    floors: Vec<f64>,
    /// Factor from the exponential of a prediction to the prediction of the target, positive.
    factors: Vec<f64>,
}

impl LogTargets {
    /// For a sample whose targets are all positive, with the deviation of their logarithms above
    /// [`MemberParams::log_deviation`] and more skewed than these; otherwise `None`.
    pub fn of(sample: &Sample, params: &MemberParams) -> Option<Self> {
        let mut floors = Vec::with_capacity(sample.y.ncols());
        for y in sample.y.columns() {
            let floor = y.iter().copied().fold(f64::INFINITY, f64::min);
            if floor <= 0.0 || !floor.is_finite() {
                return None;
            }
            let (_, skewness) = shape(y, sample.weights.view());
            let (deviation, of_logs) = shape(y.mapv(f64::ln).view(), sample.weights.view());
            if deviation.is_nan() || deviation < params.log_deviation || of_logs.abs() >= skewness {
                return None;
            }
            floors.push(floor);
        }
        let factors = vec![1.0; floors.len()];
        Some(Self { floors, factors })
    }

    /// Logarithms of targets (n, outputs).
    pub fn logarithms(&self, y: &mut Array2<f64>) {
        for (mut y, floor) in y.columns_mut().into_iter().zip(&self.floors) {
            y.mapv_inplace(|y| y.max(*floor).ln());
        }
    }

    /// The prediction of a target from that of its logarithm.
    pub fn prediction(&self, c: usize, logarithm: f64) -> f64 {
        self.factors[c] * logarithm.exp()
    }

    /// Replaces predictions of logarithms (n, outputs) by those of targets, and their deviations by
    /// the corresponding ones.
    pub fn predictions<'a>(
        &self,
        made: &mut Array2<f64>,
        deviations: impl IntoIterator<Item = &'a mut Array2<f64>>,
    ) {
        for (mut made, c) in made.columns_mut().into_iter().zip(0..) {
            made.mapv_inplace(|made| self.prediction(c, made));
        }
        for deviations in deviations {
            // An error of more than a factor of e is as large as the prediction.
            Zip::from(deviations).and(&*made).for_each(|deviation, made| *deviation = deviation.min(1.0) * made);
        }
    }

    /// Sets the factors by predictions of the targets of a sample with factors of 1, from row
    /// `first` on.
    pub fn calibrate(&mut self, made: ArrayView2<'_, f64>, sample: &Sample, first: usize) {
        for (c, factor) in self.factors.iter_mut().enumerate() {
            let (mut products, mut squares) = (0.0, 0.0);
            for i in first..made.nrows() {
                let (made, weight) = (made[(i, c)], sample.weights[i]);
                products += weight * made * sample.y[(i, c)];
                squares += weight * made * made;
            }
            let scale = products / squares;
            // A larger correction than this is that of an expert which predicts nothing.
            if scale.is_finite() {
                *factor = scale.clamp(0.5, 2.0);
            }
        }
    }

    pub fn write(&self, name: &str, out: &mut Writer) {
        out.vector(&format!("{name}.log_targets"), &[&self.floors[..], &self.factors].concat());
    }

    /// Reads what [`write`](Self::write) wrote for this number of outputs; `None` if it is absent.
    pub fn read(name: &str, outputs: usize, from: &Reader<'_>) -> Result<Option<Self>> {
        let name = format!("{name}.log_targets");
        if !from.has(&name) {
            return Ok(None);
        }
        let mut floors = from.vector(&name, 2 * outputs)?;
        let factors = floors.split_off(outputs);
        let sound = floors.iter().all(|floor| *floor > 0.0) && factors.iter().all(|f| (0.5..=2.0).contains(f));
        if sound { Ok(Some(Self { floors, factors })) } else { Err(Error::file(format!("{name} are none"))) }
    }
}

/// Standard deviation and skewness of weighted values; NaN for constant ones.
fn shape(values: ArrayView1<'_, f64>, weights: ArrayView1<'_, f64>) -> (f64, f64) {
    let total = weights.sum();
    let mean = values.dot(&weights) / total;
    let moment = |power: i32| {
        values.iter().zip(weights).map(|(value, weight)| weight * (value - mean).powi(power)).sum::<f64>() / total
    };
    let deviation = moment(2).sqrt();
    (deviation, moment(3) / deviation.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array1, array};

    fn sample(y: Vec<f64>) -> Sample {
        let n = y.len();
        Sample {
            x: Array2::zeros((n, 1)),
            y: Array2::from_shape_vec((n, 1), y).unwrap(),
            weights: Array1::ones(n),
        }
    }

    #[test]
    fn positive_skewed_targets_have_logarithms() {
        let params = MemberParams::default();
        let spread = |factor: f64| (0..100).map(|i| (factor * (f64::from(i) * 0.618).fract()).exp()).collect();
        assert!(LogTargets::of(&sample(spread(4.0)), &params).is_some());
        // Nearly constant, symmetric, with a zero, constant.
        assert!(LogTargets::of(&sample(spread(0.1)), &params).is_none());
        let symmetric = (0..100).map(|i| 1.0 + (f64::from(i) * 0.618).fract()).collect();
        assert!(LogTargets::of(&sample(symmetric), &params).is_none());
        let mut with_zero: Vec<f64> = spread(4.0);
        with_zero[3] = 0.0;
        assert!(LogTargets::of(&sample(with_zero), &params).is_none());
        assert!(LogTargets::of(&sample(vec![2.0; 10]), &params).is_none());
    }

    #[test]
    fn factors_make_means_of_medians() {
        let y: Vec<f64> = (0..1000).map(|i| (2.0 * (f64::from(i) * 0.618).fract()).exp()).collect();
        let sample = sample(y.clone());
        let mut targets = LogTargets::of(&sample, &MemberParams::default()).unwrap();
        let mut logs = sample.y.clone();
        targets.logarithms(&mut logs);
        assert!((logs[(7, 0)] - y[7].ln()).abs() < 1e-15);
        // A constant prediction of the mean logarithm.
        let mut made = Array2::from_elem((1000, 1), logs.mean().unwrap());
        let mut deviations = array![[0.1]].broadcast((1000, 1)).unwrap().to_owned();
        targets.predictions(&mut made, [&mut deviations]);
        targets.calibrate(made.view(), &sample, 0);
        let mean = y.iter().sum::<f64>() / 1000.0;
        assert!((targets.prediction(0, logs.mean().unwrap()) - mean).abs() < 1e-9 * mean);
        assert!((deviations[(0, 0)] - 0.1 * made[(0, 0)]).abs() < 1e-12);
    }
}
