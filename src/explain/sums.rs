//! Models as sums of similarities, for evaluation elsewhere.

use ndarray::Array2;

use super::{at, of_stream, squares};
use crate::any::AnyModel;
use crate::kernel::KernelSpec;
use crate::learner::{AsLearner as _, LearnerSpec, Prediction};
use crate::stream::AnyStream;

/// A model that predicts `clamp(constant + sum_i coefficient_i k(point_i, x))`, an output at a time.
#[derive(Clone, Debug)]
pub struct KernelSum {
    /// The kernel, defaults filled in.
    pub kernel: KernelSpec,
    /// Stored points (m, d).
    pub points: Array2<f64>,
    /// Coefficients (m, p).
    pub coefficients: Array2<f64>,
    /// What is added (p).
    pub constants: Vec<f64>,
    /// Range that predictions are kept in (p), infinite where they are not.
    pub limits: Vec<[f64; 2]>,
    /// Share of the prediction in that of the whole (p).
    pub weights: Vec<f64>,
}

/// The model of features as a weighted sum of [`KernelSum`]s; `None` if it is none: features without points, shares that
/// depend on the row, predictions that are shrunk.
#[must_use]
pub fn kernel_sums(model: &AnyModel) -> Option<Vec<KernelSum>> {
    match model {
        AnyModel::Table(table) => kernel_sums(table.model()),
        AnyModel::Experts(experts) => {
            let shares = model.mixture()?;
            let models = experts.models().enumerate();
            let counting = models.filter(|(e, _)| shares.column(*e).iter().any(|share| *share > 0.0));
            counting.map(|(e, model)| one_sum(model, shares.column(e).to_vec())).collect()
        }
        // Their columns are on scales of their own.
        AnyModel::Targets(_) => None,
        model => Some(vec![one_sum(model, vec![1.0; model.n_outputs()?])?]),
    }
}

fn one_sum(model: &AnyModel, weights: Vec<f64>) -> Option<KernelSum> {
    match model {
        AnyModel::Stream(stream) => {
            let (kernel, points, coefficients, constants) = of_stream(stream)?;
            let limits = limits(stream, &constants)?;
            let coefficients = coefficients.to_array();
            let points = points.panel().to_array();
            Some(KernelSum {
                kernel: kernel.spec().clone(),
                points,
                coefficients,
                constants,
                limits,
                weights,
            })
        }
        AnyModel::Budgeted(model) => {
            let (kernel, points, coefficients) = model.sum_of_similarities()?;
            let outputs = coefficients.cols();
            Some(KernelSum {
                kernel: kernel.spec().clone(),
                points: points.panel().to_array(),
                coefficients: coefficients.to_array(),
                constants: vec![0.0; outputs],
                limits: vec![[f64::NEG_INFINITY, f64::INFINITY]; outputs],
                weights,
            })
        }
        _ => None,
    }
}

/// The range of each output: where predictions stay while the linear part grows. `None` if they are shrunk.
fn limits(stream: &AnyStream, constants: &[f64]) -> Option<Vec<[f64; 2]>> {
    if matches!(stream.learner().spec(), LearnerSpec::Ridge(spec) if spec.prediction == Prediction::Awv) {
        return None;
    }
    let learner = stream.learner().as_learner();
    let slopes = learner.slopes();
    let mut found = vec![[f64::NEG_INFINITY, f64::INFINITY]; constants.len()];
    for (c, found) in found.iter_mut().enumerate() {
        let squares = squares(&slopes, c);
        if squares <= 0.0 {
            continue;
        }
        // A step that changes the output by this much, if nothing clips it.
        let moved = |by: f64| (at(learner, &slopes, c, by / squares), constants[c] + by);
        for (side, sign) in [-1.0, 1.0].into_iter().enumerate() {
            let (value, linear) = moved(sign * 1e9 * (1.0 + constants[c].abs()));
            if (value - linear).abs() > 1e-6 * linear.abs() {
                found[side] = value;
            }
        }
    }
    Some(found)
}
