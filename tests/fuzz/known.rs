//! Files and parameters that once crashed, hung or were accepted: each is refused, and says why.

use kernelstream::control::{Controller, ControllerSpec};
use kernelstream::dynamics::Dynamics;
use kernelstream::koopman::Koopman;
use kernelstream::{AnyModel, Persist as _};
use ndarray::{Array2, array, s};
use serde_json::{Value, json};

use crate::alter::ModelFile;
use crate::choices::Choices;
use crate::files::corpus;

fn fixture(name: &str) -> ModelFile {
    let (_, file) = corpus().into_iter().find(|(each, _)| each == name).expect("a fixture");
    file
}

/// Why a file is no model.
fn refusal(bytes: &[u8]) -> String {
    let error = match ModelFile::open(bytes).expect("a file whose checksum is right").kind.as_str() {
        "koopman" => Koopman::from_bytes(bytes).err(),
        "control" => Controller::from_bytes(bytes).err(),
        "dynamics" => Dynamics::from_bytes(bytes).err(),
        _ => AnyModel::from_bytes(bytes).err(),
    };
    error.expect("it is refused").to_string()
}

fn refused_because(file: &ModelFile, reason: &str) {
    let text = refusal(&file.close());
    assert!(text.starts_with("not a usable model file: ") && text.contains(reason), "{text}");
}

fn model(spec: &Value) -> kernelstream::Result<AnyModel> {
    AnyModel::from_json(&spec.to_string())
}

fn learned(spec: &Value, n: usize, width: usize) -> kernelstream::Result<AnyModel> {
    let mut model = model(spec)?;
    let x = Array2::from_shape_fn((n, width), |(i, j)| ((i + 1) as f64 * (j + 2) as f64 * 0.618).fract());
    model.learn(x.view(), x.column(0).to_owned().insert_axis(ndarray::Axis(1)).view())?;
    Ok(model)
}

#[test]
fn files_in_files_end_where_the_configuration_does() {
    let mut file = fixture("regressor_experts");
    for _ in 0..2000 {
        let inner = file.close();
        if inner.len() > 1 << 20 {
            break;
        }
        file = ModelFile::experts(json!({"experts": [{}]}), inner);
    }
    refused_because(&file, "expert.0 is not what the configuration says");
}

#[test]
fn a_small_file_cannot_ask_for_much_memory() {
    let mut file = fixture("regressor_basis_fourier");
    file.set("/basis/size", json!(100_000));
    file.set_counts("basis.width", &[1_000_000]);
    refused_because(&file, "basis.frequencies is missing");
    let mut file = fixture("regressor_basis_sketched_still_filling");
    file.set("/basis/sketch_size", json!(1_u64 << 53));
    refused_because(&file, "GiB of memory");
    let mut file = fixture("regressor_learner_ridge_forgetting");
    file.set_matrix("learner.weights", 0, 1 << 40, &[]);
    refused_because(&file, "learner.weights is empty, but said to be large");
}

#[test]
fn many_models_in_few_bytes_are_refused_before_they_are_made() {
    let many = |expert: Value, n: usize| json!({"experts": vec![expert; n]});
    let nested = many(many(many(json!({}), 20), 20), 20);
    let specs = [
        many(json!({}), 100_000),
        nested.clone(),
        many(json!({"model": nested}), 2),
        many(json!({"adaptive": {}}), 50),
        json!({"model": many(json!({}), 1001), "columns": null}),
    ];
    for spec in specs {
        let memory = allocation_counter::measure(|| {
            let text = model(&spec).unwrap_err().to_string();
            assert!(text.contains("at most 1,000 models"), "{text}");
        });
        let length = spec.to_string().len() as u64;
        assert!(memory.bytes_max <= 10 * length + 100_000_000, "{} of {length} bytes", memory.bytes_max);
    }
    assert!(model(&many(json!({}), 1000)).is_ok());
}

#[test]
fn numbers_that_no_learner_has_are_refused() {
    let mut file = fixture("regressor_learner_newton");
    file.set_matrix("learner.scalars", 1, 1, &[-1.0]);
    refused_because(&file, "a largest target below zero");
    let mut file = fixture("regressor_learner_ridge_awv");
    file.set("/learner/center", json!(false));
    file.set_matrix("learner.ones", 20, 0, &[]);
    file.set_matrix("learner.scalars", 1, 2, &[100.0, 50.0]);
    refused_because(&file, "an intercept that the learner does not have");
    let mut file = fixture("regressor_learner_ridge_reservoir");
    file.set_matrix("learner.past.x", 10, 7, &[0.5; 70]);
    refused_because(&file, "have another width");
    let mut file = fixture("regressor_learner_ridge_forgetting");
    file.set_matrix("basis.factor", 1, 1, &[1.0]);
    refused_because(&file, "do not fit");
}

#[test]
fn more_points_than_there_may_be_are_refused() {
    for (name, size) in [
        ("regressor_basis_first_points", "/basis/max_size"),
        ("regressor_basis_first_points_rank_still_filling", "/basis/size"),
        ("regressor_basis_sketched_still_filling", "/basis/size"),
        ("regressor_basis_ald", "/basis/max_size"),
        ("koopman_inputs", "/dictionaries/shared/max_size"),
        ("koopman_separate", "/dictionaries/separate/max_size"),
    ] {
        let mut file = fixture(name);
        file.set(size, json!(5));
        refused_because(&file, "");
    }
}

#[test]
fn a_renamed_or_missing_array_is_found_on_loading() {
    // Without the array that counts the others, these have another length than expected.
    let reasons = ["is missing", "are missing", "not of the model", "wrong length", "is needed"];
    let is_named = |text: &str| reasons.iter().any(|reason| text.contains(reason));
    for (name, file) in corpus() {
        for array in file.names() {
            let (mut without, mut renamed) = (file.clone(), file.clone());
            without.remove(&array);
            renamed.rename(&array, "other");
            let text = refusal(&renamed.close());
            assert!(is_named(&text), "{name}, {array}: {text}");
            // All that may be left out are the state that a trajectory was in, policies, as a whole, the profiles of
            // errors and usual novelty, which then begin again, the modes of states, which then have no forecast, the
            // operator's readouts, which are computed again, the pairs of a warm-up, which has then ended, scales of the
            // nearest rows, which are found again before the experts are combined, the runs of targets beyond
            // their limits, which then begin again, the values that constant inputs had, how many gradients are taken,
            // which are then all, whether trees on logarithms were fitted, which then begin again, the weights of leaves,
            // which then learn no further rows, the bounds of their logarithms, the range of states without outliers, which is then found again,
            // the weights of rows of classes, which are then 1, what makes odds of scores, which is then that of former files,
            // the line beside it, which comes again with the next refit, and how forecasts of several steps are made, which is then by powers.
            let optional = [
                "recent.",
                "policy.",
                "kept.",
                "calibration.profile",
                "calibration.novelty",
                "columns.",
                "dynamics.tail",
                "candidates.references",
                "modes",
                "forecaster.readouts",
                "warm_up.x",
                "limits.runs",
                "labels.middle",
                "labels.weighed",
                "reencoding",
                "trees.nearest",
                "trees.logs.fitted",
                "trees.tried",
                "odds.calibration",
                "odds.line.knots",
                "preparation.gradients.x",
                "preparation.gradients.taken",
                "trees.boosted.weights",
                "trees.fitting.weights",
                "trees.logs.boosted.weights",
                "trees.logs.fitting.weights",
                "trees.logs.bounds",
                "trees.logs.fitting.bounds",
                "spikes.",
            ]
            .iter()
            .any(|group| array.starts_with(group));
            assert!(optional || is_named(&refusal(&without.close())), "{name}, {array}");
        }
    }
}

#[test]
fn gradients_that_are_taken_are_some_of_those_that_are_due() {
    let file = fixture("adaptive_taking_gradients");
    for rows in [300, 301, 1 << 40] {
        let mut other = file.clone();
        other.set_counts("preparation.gradients.taken", &[rows]);
        refused_because(&other, "preparation.gradients.taken are more rows than there are");
    }
    let mut without = file.clone();
    without.remove("preparation.gradients.x");
    refused_because(&without, "preparation.gradients.x is missing");
}

#[test]
fn work_without_end_is_refused() {
    let mut file = fixture("dynamics_delays");
    file.set("/delays/step", json!(1_u64 << 60));
    refused_because(&file, "delay must be at most 1,000,000,000 states");
    let mut file = fixture("koopman_ridge_replay");
    file.set("/replay/passes", json!(1_u64 << 40));
    refused_because(&file, "passes must be from 1 to 1000");
    let endless = ControllerSpec { sweeps: 1 << 40, ..ControllerSpec::new(vec![vec![0.0]]) };
    assert!(endless.build().unwrap_err().to_string().contains("sweeps must be from 1 to 1,000,000"));
    let deep = "{\"experts\":[".repeat(2000) + &"]}".repeat(2000);
    assert!(AnyModel::from_json(&deep).unwrap_err().to_string().contains("recursion limit"));
}

#[test]
fn parameters_that_ask_for_too_much_memory_are_refused_with_the_amount() {
    let sketched = json!({"basis": {"type": "sketched", "sketch_size": 1_000_000_000_000_000_u64}});
    let text = model(&sketched).unwrap_err().to_string();
    assert!(text.starts_with("the sketch would take ") && text.contains("GiB"), "{text}");
    let fourier = json!({"basis": {"type": "fourier", "size": 100_000}, "learner": {"type": "gradient"}});
    let text = learned(&fourier, 3, 10_000).unwrap_err().to_string();
    assert!(text.starts_with("the frequencies would take 7.5 GiB"), "{text}");
    let ridge = json!({"basis": {"type": "fourier", "size": 100_000}, "learner": {"type": "ridge"}});
    let text = learned(&ridge, 3, 2).unwrap_err().to_string();
    assert!(text.starts_with("the curvature of all coordinates would take 298.0 GiB"), "{text}");
}

#[test]
fn many_frequencies_are_in_the_file_and_few_are_drawn_again() {
    let fourier = json!({"basis": {"type": "fourier", "size": 900}, "learner": {"type": "gradient"}});
    for (width, most) in [(100, 100_000), (10_000, 73_000_000)] {
        let before = learned(&fourier, 1, width).unwrap();
        let bytes = before.to_bytes(Value::Null).unwrap();
        assert!(bytes.len() < most && (width == 100 || bytes.len() > 72_000_000), "{}", bytes.len());
        let (after, _) = AnyModel::from_bytes(&bytes).unwrap();
        let x = Array2::from_elem((1, width), 0.01);
        assert_eq!(before.predict(x.view()).unwrap(), after.predict(x.view()).unwrap());
    }
}

#[test]
fn labels_alone_have_log_odds() {
    let spec =
        |center: bool| json!({"learner": {"type": "gauss_newton", "loss": "logistic", "center": center}});
    let (x, y) = (array![[0.1], [0.2]], array![[1.0], [3.0]]);
    let mut centered = model(&spec(true)).unwrap();
    let text = centered.learn(x.view(), y.view()).unwrap_err().to_string();
    assert_eq!(text, "the target in row 1 is 3, but the loss takes labels, from -1 to 1");
    assert_eq!(centered.n_seen(), 0);
    // Without odds to centre by, a target scales the margin.
    let mut plain = model(&spec(false)).unwrap();
    plain.learn(x.view(), y.view()).unwrap();
    assert!(plain.predict(x.view()).unwrap().iter().all(|value| value.is_finite()));
}

#[test]
fn no_number_of_labels_of_one_class_makes_odds_infinite() {
    for forgetting in [1.0, 0.05] {
        let learner =
            json!({"type": "gauss_newton", "loss": "logistic", "center": true, "forgetting": forgetting});
        let mut model = model(&json!({"learner": learner})).unwrap();
        let (x, y) = (array![[0.1], [0.2], [0.3]], array![[1.0], [1.0], [1.0]]);
        for weight in [1.0, 1e15, 1e18, 1e20, 1e40] {
            let weights = ndarray::arr1(&[weight; 3]);
            // Beyond what numbers resolve such rows are refused.
            let learned = model.learn_while(x.view(), y.view(), Some(weights.view()), None, &mut |_| true);
            assert!(weight > 1e15 || learned.is_ok(), "{learned:?}");
            let bytes = model.to_bytes(Value::Null).unwrap();
            assert!(AnyModel::from_bytes(&bytes).is_ok(), "not loaded after weights of {weight}");
            let odds = model.predict(x.view()).unwrap();
            assert!(odds.iter().all(|odds| (0.0..200.0).contains(odds)), "{odds}");
        }
    }
}

#[test]
fn a_heavy_row_of_an_earlier_call_is_remembered() {
    let spec = json!({"learner": {"type": "ridge"}});
    let mut model = learned(&spec, 5, 2).unwrap();
    assert!(!model.can_refuse(None));
    let (x, y, weight) = (array![[0.3, 0.4]], array![[1.0]], ndarray::arr1(&[1e20]));
    model.learn_while(x.view(), y.view(), Some(weight.view()), None, &mut |_| true).unwrap();
    assert!(model.can_refuse(None));
    let (again, _) = AnyModel::from_bytes(&model.to_bytes(Value::Null).unwrap()).unwrap();
    assert!(again.can_refuse(None));
}

#[test]
fn a_refused_single_row_leaves_a_model_that_forgets_as_it_was() {
    let mut refused = 0;
    for seed in 0..60 {
        let choices = &mut Choices::from_seed(seed);
        let basis = json!({"type": "first_points", "size": 6});
        let learner = json!({"type": "ridge", "regularization": 1.0, "forgetting": 0.05});
        let spec = json!({"basis": basis, "kernel": {"type": "linear"}, "learner": learner});
        let mut model = AnyModel::from_json(&spec.to_string()).unwrap();
        for row in 0..120 {
            let x = array![[choices.symmetric(), choices.symmetric(), choices.symmetric()]];
            let weight = if row % 30 < 8 { *choices.pick(&[0.0, 1e8, 1e20, 1e49]) } else { 1.0 };
            let weight = ndarray::arr1(&[weight * (1.0 + choices.symmetric()) / 2.0]);
            let before = model.to_bytes(Value::Null).unwrap();
            let y = array![[*choices.pick(&[1.0, 1e10, 1e45])]];
            if model.learn_while(x.view(), y.view(), Some(weight.view()), None, &mut |_| true).is_err() {
                assert!(model.to_bytes(Value::Null).unwrap() == before, "an error changed the model");
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "no row was refused");
}

#[test]
fn rows_of_one_label_do_not_depend_on_the_cut() {
    // The constant that predicts the only label so far is at the kink of the hinge, to rounding.
    for seed in 0..40 {
        let choices = &mut Choices::from_seed(seed);
        let basis = json!({"type": "first_points", "size": 20});
        let learner =
            json!({"type": "gauss_newton", "loss": "squared_hinge", "center": true, "regularization": 0.5});
        let spec =
            json!({"basis": basis, "kernel": {"type": "gaussian", "bandwidth": 1.0}, "learner": learner});
        let mut whole = AnyModel::from_json(&spec.to_string()).unwrap();
        let x = Array2::from_shape_simple_fn((60, 2), || choices.symmetric());
        let y =
            Array2::from_shape_fn((60, 1), |(i, _)| if i < 40 { -1.0 } else { choices.symmetric().signum() });
        let mut single = whole.clone();
        for rows in [0..25, 25..60] {
            let (x, y) = (x.slice(s![rows.clone(), ..]), y.slice(s![rows.clone(), ..]));
            whole.learn_while(x, y, None, None, &mut |_| true).unwrap();
            for (x, y) in x.rows().into_iter().zip(y.rows()) {
                single.learn_one(&x.to_vec(), &y.to_vec()).unwrap();
            }
            let (one, other) = (whole.predict(x).unwrap(), single.predict(x).unwrap());
            let far = (&one - &other).iter().fold(0.0_f64, |most, gap| most.max(gap.abs()));
            assert!(far < 1e-8, "seed {seed}: {far:e}");
        }
    }
}

#[test]
fn a_model_beyond_double_precision_is_not_saved() {
    let mut out = kernelstream::persist::Writer::default();
    out.vector("learner.mean", &[1.0, f64::NAN]);
    let text = out.finish("stream", json!({}), json!({})).unwrap_err().to_string();
    assert!(text.contains("learner.mean") && text.contains("cannot be saved"), "{text}");
}
