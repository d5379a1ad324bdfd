//! Specifications of models: sound ones, and sound ones altered.

use kernelstream::AnyModel;
use kernelstream::koopman::KoopmanSpec;
use serde_json::{Value, json};

use crate::alter::alter_json;
use crate::choices::Choices;
use crate::files::{use_model, use_operator};

/// A positive parameter.
fn positive(choices: &mut Choices<'_>) -> f64 {
    let all = [1.0, 0.1, 0.5, 2.0, 1e-8, 1e6, 1e-50, 1e50];
    *choices.pick(if choices.ordinary { &all[..4] } else { &all })
}

fn kernel(choices: &mut Choices<'_>) -> Value {
    let bandwidth = positive(choices).clamp(0.1, 10.0);
    match choices.below(9) {
        5 => {
            json!({"type": "manhattan_laplacian", "bandwidth": bandwidth, "exponent": *choices.pick(&[1.0, 0.75, 0.3])})
        }
        0 => json!({"type": "laplacian", "bandwidth": bandwidth}),
        1 => json!({"type": "matern52", "bandwidth": bandwidth}),
        2 => json!({"type": "polynomial", "degree": 1 + choices.below(3), "scale": 0.5, "offset": 1.0}),
        3 => json!({"type": "linear"}),
        4 => json!({"type": "sum", "weights": [0.5, positive(choices)], "kernels": [
            {"type": "gaussian", "bandwidth": bandwidth}, {"type": "matern32", "bandwidth": null}]}),
        _ => json!({"type": "gaussian", "bandwidth": bandwidth}),
    }
}

fn basis(choices: &mut Choices<'_>) -> Value {
    let (size, seed) = (1 + choices.below(25), choices.below(100));
    let loss_driven = choices.once_in(3);
    match choices.below(10) {
        7 => {
            json!({"type": "noisy_points", "noise": positive(choices), "max_size": 30, "loss_driven": loss_driven})
        }
        0 => json!({"type": "all_points", "max_size": 30, "loss_driven": loss_driven}),
        1 => json!({"type": "first_points", "size": size, "loss_driven": loss_driven}),
        2 => json!({"type": "first_points", "size": size, "rank": 1 + choices.below(size)}),
        3 => json!({"type": "kors", "regularization": positive(choices), "oversampling": 2.0, "max_size": 30,
            "random_state": seed}),
        4 => json!({"type": "taylor", "degree": choices.below(4)}),
        5 => json!({"type": "fourier", "size": size, "normalized": choices.once_in(2), "random_state": seed}),
        6 => json!({"type": "sketched", "size": size, "period": 1 + choices.below(9), "max_size": 40,
            "random_state": seed}),
        _ => json!({"type": "ald", "tolerance": *choices.pick(&[1e-3, 0.0, 0.1]), "max_size": 30,
            "loss_driven": loss_driven}),
    }
}

fn loss(choices: &mut Choices<'_>) -> Value {
    json!(choices.pick(&["squared", "half_squared", "squared_hinge", "logistic", "hinge", "absolute"]))
}

fn learner(choices: &mut Choices<'_>) -> Value {
    let (center, clip, seed) = (choices.once_in(2), choices.once_in(2), choices.below(100));
    let some =
        |choices: &mut Choices<'_>| if choices.once_in(2) { json!(positive(choices)) } else { Value::Null };
    match choices.below(6) {
        0 => {
            json!({"type": "ridge", "regularization": if choices.ordinary { 0.1 } else { 0.0 }, "center": center,
            "clip": clip})
        }
        1 => json!({"type": "ridge", "regularization": positive(choices), "center": center, "clip": clip,
            "history": choices.pick(&["none", "reservoir", "exact"]), "reservoir": 1 + choices.below(9),
            "prediction": choices.pick(&["ridge", "awv"]), "random_state": seed}),
        2 => json!({"type": "ridge", "regularization": positive(choices), "center": center, "clip": clip,
            "forgetting": *choices.pick(&[0.99, 0.5, 0.05])}),
        3 => {
            json!({"type": "gradient", "loss": loss(choices), "step": some(choices), "radius": some(choices),
            "schedule": choices.pick(&["adaptive", "constant", "inverse_sqrt"]), "averaging": center})
        }
        4 => json!({"type": "gauss_newton", "loss": loss(choices), "regularization": positive(choices),
            "center": center, "forgetting": *choices.pick(&[1.0, 0.9, 0.05])}),
        _ => json!({"type": "online_newton", "loss": loss(choices), "regularization": positive(choices),
            "bound": some(choices), "clip": clip, "curvature": some(choices),
            "growth": choices.pick(&["carry", "restart", "carry_unprojected"]),
            // A share of the curvature lets steps grow from row to row.
            "sketch": if choices.ordinary { 1.0 } else { 0.5 },
            "random_state": seed}),
    }
}

fn budgeted(choices: &mut Choices<'_>) -> Value {
    let (budget, seed) = (1 + choices.below(12), choices.below(100));
    let removal = match choices.below(5) {
        0 => json!({"project": *choices.pick(&[0.2, 0.0])}),
        1 => json!("random"),
        2 => json!("unbiased"),
        3 => json!("cheapest"),
        _ => json!("oldest"),
    };
    match choices.below(3) {
        0 => {
            json!({"type": "budgeted_perceptron", "budget": budget, "removal": removal, "random_state": seed})
        }
        1 => json!({"type": "budgeted_passive_aggressive", "budget": budget, "removal": removal,
            "aggressiveness": positive(choices), "random_state": seed}),
        _ => json!({"type": "budgeted_gradient", "budget": budget, "removal": removal, "loss": loss(choices),
            "step": positive(choices), "schedule": choices.pick(&["constant", "inverse_sqrt"]),
            "regularization": 0.01, "random_state": seed}),
    }
}

/// The specification of a model of any kind; some parameters do not go together.
pub fn sound(choices: &mut Choices<'_>) -> Value {
    match choices.below(11) {
        10 => json!({"adaptive": {"size": 4}}),
        0 => json!({"experts": [sound(choices), sound(choices)],
            "mixture": choices.pick(&["polynomial", "fixed_share"])}),
        1 | 2 => json!({"kernel": kernel(choices), "learner": budgeted(choices)}),
        4 => json!({"kernel": kernel(choices),
            "basis": {"type": "noisy_points", "noise": positive(choices), "max_size": 70, "loss_driven": choices.once_in(2)},
            "learner": {"type": "interpolation", "center": choices.once_in(2), "tolerance": *choices.pick(&[0.0, 0.1])}}),
        3 => json!({"kernel": kernel(choices), "basis": basis(choices),
            "learner": {"type": "staged", "first": learner(choices), "then": learner(choices)}}),
        _ => json!({"kernel": kernel(choices), "basis": basis(choices), "learner": learner(choices)}),
    }
}

fn operator(choices: &mut Choices<'_>) -> Value {
    let admission = json!({"type": "hilbert_schmidt", "budget": 0.1, "power": 0.5, "max_size": 20});
    let dictionaries = match choices.below(3) {
        0 => json!({"separate": admission}),
        1 => json!({"paired": admission}),
        _ => json!({"shared": {"type": "ald", "tolerance": 1e-2, "max_size": 20}}),
    };
    let step = json!({"type": "gradient", "loss": "half_squared", "step": 0.3, "schedule": "constant"});
    let ridge = json!({"type": "ridge", "regularization": positive(choices)});
    json!({"kernel": kernel(choices), "dictionaries": dictionaries,
        "learner": if choices.once_in(2) { step } else { ridge },
        "replay": if choices.once_in(3) { json!({"size": 1 + choices.below(9), "passes": 2}) } else { Value::Null }})
}

/// A specification with one to three values altered: a model that works, or an error.
pub fn build_and_use(choices: &mut Choices<'_>) -> bool {
    let is_operator = choices.once_in(4);
    let mut spec = if is_operator { operator(choices) } else { sound(choices) };
    for _ in 0..=choices.below(3) {
        alter_json(&mut spec, choices);
    }
    if is_operator {
        KoopmanSpec::from_json(&spec.to_string()).and_then(|spec| spec.build()).map(use_operator).is_ok()
    } else {
        AnyModel::from_json(&spec.to_string()).map(use_model).is_ok()
    }
}
