//! Budgeted learners: the properties they all keep, and a few exact facts about each.

use kernelstream::any::check_learner;
use kernelstream::budget::{
    BudgetSpec, Budgeted, BudgetedGradientSpec, BudgetedPassiveAggressiveSpec, BudgetedPerceptronSpec,
    BudgetedSpec, Removal, presets,
};
use kernelstream::kernel::KernelSpec;
use kernelstream::learner::{Loss, Schedule};
use kernelstream::{AnyModel, Error, Introspection as _, Model as _, Persist as _, Result};
use ndarray::{Array1, Array2, ArrayView2, s};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const BUDGET: usize = 12;

fn gaussian(bandwidth: f64) -> KernelSpec {
    KernelSpec::Gaussian { bandwidth: Some(bandwidth) }
}

/// Labels of a curved region with a tenth of them wrong; `outputs` columns with a region each.
fn data(seed: u64, rows: usize, outputs: usize) -> (Array2<f64>, Array2<f64>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let x = Array2::from_shape_simple_fn((rows, 3), || rng.random_range(-1.0_f64..1.0));
    let y = Array2::from_shape_fn((rows, outputs), |(i, c)| {
        let row = x.row(i);
        let inside = (row[0] * 2.0 + c as f64).sin() + row[1] * row[2] > 0.2 * c as f64;
        if inside == rng.random_bool(0.9) { 1.0 } else { -1.0 }
    });
    (x, y)
}

fn every_learner() -> Vec<BudgetSpec> {
    let removals = [
        Removal::None,
        Removal::Random,
        Removal::Unbiased,
        Removal::Oldest,
        Removal::Cheapest,
        Removal::Project(0.3),
    ];
    let mut all = Vec::new();
    for removal in removals {
        let budget = Some(BUDGET);
        all.push(BudgetSpec::BudgetedPerceptron(BudgetedPerceptronSpec {
            budget,
            removal,
            ..BudgetedPerceptronSpec::default()
        }));
        let aggressiveness = 0.4;
        all.push(BudgetSpec::BudgetedPassiveAggressive(BudgetedPassiveAggressiveSpec {
            budget,
            removal,
            aggressiveness,
            ..BudgetedPassiveAggressiveSpec::default()
        }));
        for (loss, schedule) in [(Loss::Hinge, Schedule::Constant), (Loss::Squared, Schedule::InverseSqrt)] {
            all.push(BudgetSpec::BudgetedGradient(BudgetedGradientSpec {
                budget,
                removal,
                loss,
                schedule,
                step: 0.1,
                regularization: 0.01,
                max_coefficient: Some(5.0),
                ..BudgetedGradientSpec::default()
            }));
        }
    }
    all.push(BudgetSpec::BudgetedPerceptron(BudgetedPerceptronSpec {
        removal: Removal::Project(0.3),
        margin: true,
        ..BudgetedPerceptronSpec::default()
    }));
    all
}

fn new(learner: BudgetSpec) -> Budgeted {
    BudgetedSpec { kernel: gaussian(0.8), learner }.build().unwrap()
}

fn bytes(model: &Budgeted) -> Vec<u8> {
    model.to_bytes(serde_json::Value::Null).unwrap()
}

/// `sum_i a_i k(s_i, x)` by its definition.
fn by_hand(model: &Budgeted, x: ArrayView2<'_, f64>) -> Array2<f64> {
    let (points, a) = (model.dictionary(), model.coefficients());
    let kernel = gaussian(0.8).resolve(3).unwrap();
    Array2::from_shape_fn((x.nrows(), a.ncols()), |(i, c)| {
        let x = x.row(i).to_vec();
        (0..a.nrows()).map(|j| a[(j, c)] * kernel.eval(&points.row(j).to_vec(), &x)).sum()
    })
}

#[test]
fn a_stream_may_be_cut_anywhere_and_saved_anywhere() {
    for outputs in [1, 3] {
        let (x, y) = data(1, 300, outputs);
        for learner in every_learner() {
            let mut whole = new(learner.clone());
            let predictions = whole.learn_and_predict(x.view(), y.view()).unwrap();
            let mut single = new(learner.clone());
            let mut chunked = new(learner.clone());
            for i in 0..300 {
                let x = x.row(i).to_vec();
                if i > 0 {
                    let prediction = single.predict_one(&x).unwrap();
                    assert!(
                        prediction.iter().zip(predictions.row(i)).all(|(a, b)| a.to_bits() == b.to_bits())
                    );
                }
                single.learn_one(&x, &y.row(i).to_vec()).unwrap();
            }
            for cut in [0..7, 7..7, 7..200, 200..300] {
                chunked.learn(x.slice(s![cut.clone(), ..]), y.slice(s![cut, ..])).unwrap();
                let (again, extra) =
                    Budgeted::from_bytes(&chunked.to_bytes("beside".into()).unwrap()).unwrap();
                assert_eq!(extra, "beside");
                chunked = again;
            }
            assert!(bytes(&whole) == bytes(&single), "{learner:?}");
            assert!(bytes(&whole) == bytes(&chunked), "{learner:?}");
            assert_eq!(whole.n_seen(), 300);
            assert_eq!((whole.n_features(), whole.n_outputs()), (Some(3), Some(outputs)));

            let batch = whole.predict(x.view()).unwrap();
            let truth = by_hand(&whole, x.view());
            let most = truth.iter().fold(1.0_f64, |most, f| most.max(f.abs()));
            assert!((&batch - &truth).iter().all(|e| e.abs() < 1e-11 * most), "{learner:?}");
        }
    }
}

#[test]
fn a_row_of_weight_zero_is_predicted_and_no_more() {
    let (x, y) = data(9, 200, 2);
    for learner in every_learner() {
        let (mut some, mut all) = (new(learner.clone()), new(learner.clone()));
        let weights = Array1::from_shape_fn(200, |i| f64::from(i % 3 != 0));
        let mut predictions = Array2::zeros((200, 2));
        let done = all.learn_while(
            x.view(),
            y.view(),
            Some(weights.view()),
            Some(predictions.view_mut()),
            &mut |_| true,
        );
        assert_eq!(done.unwrap(), 200);
        for i in 0..200 {
            let x = x.row(i).to_vec();
            if i > 1 {
                let prediction = some.predict_one(&x).unwrap();
                assert!(prediction.iter().zip(predictions.row(i)).all(|(a, b)| a.to_bits() == b.to_bits()));
            }
            if i % 3 != 0 {
                some.learn_one(&x, &y.row(i).to_vec()).unwrap();
            }
        }
        assert_eq!(some.coefficients(), all.coefficients());
        assert_eq!((some.n_seen(), all.n_seen()), (133, 200));
        let wrong = Array1::from_elem(200, -1.0);
        assert!(all.learn_while(x.view(), y.view(), Some(wrong.view()), None, &mut |_| true).is_err());
    }
}

/// Weights scale the slope of a loss, the coefficient of a mistake, and the bound of a passive-aggressive
/// step.
#[test]
fn weights_scale_what_a_row_adds() {
    for (json, weight, expected) in [
        (r#"{"type": "budgeted_perceptron"}"#, 2.5, 2.5),
        (r#"{"type": "budgeted_passive_aggressive", "aggressiveness": 0.1}"#, 3.0, 0.3),
        (r#"{"type": "budgeted_passive_aggressive", "aggressiveness": 0.1}"#, 30.0, 1.0),
        (r#"{"type": "budgeted_gradient", "loss": "hinge", "step": 0.2}"#, 2.0, 0.4),
    ] {
        let json = format!(r#"{{"learner": {json}}}"#);
        let mut model = BudgetedSpec::from_json(&json).unwrap().build().unwrap();
        let (x, y) = (Array2::from_elem((1, 2), 0.5), Array2::from_elem((1, 1), 1.0));
        let weights = Array1::from_elem(1, weight);
        model.learn_while(x.view(), y.view(), Some(weights.view()), None, &mut |_| true).unwrap();
        assert!((model.coefficients()[(0, 0)] - expected).abs() < 1e-15, "{json}");
    }
}

#[test]
fn predictions_are_linear_in_the_similarities() {
    let (x, y) = data(10, 100, 2);
    for learner in every_learner() {
        let mut model = new(learner);
        assert!(matches!(model.transform(x.view()), Err(Error::NothingLearned)));
        model.learn(x.view(), y.view()).unwrap();
        let predictions = model.transform(x.view()).unwrap().dot(&model.coefficients());
        let most = predictions.iter().fold(1.0_f64, |most, f| most.max(f.abs()));
        let error = &predictions - &model.predict(x.view()).unwrap();
        assert!(error.iter().all(|e| e.abs() < 1e-12 * most));
    }
}

/// `AnyModel` takes both kinds of model and does what the model itself does.
#[test]
fn a_budgeted_learner_is_a_model_like_any_other() {
    let (x, y) = data(11, 100, 1);
    let json = r#"{"kernel": {"type": "gaussian", "bandwidth": 0.8}, "basis": null,
        "learner": {"type": "budgeted_perceptron", "budget": 10, "removal": "random", "random_state": 5}}"#;
    let mut model = AnyModel::from_json(json).unwrap();
    let mut own = presets::rbp(gaussian(0.8), 10, 5).build().unwrap();
    let predictions = model.learn_and_predict(x.view(), y.view()).unwrap();
    assert_eq!(predictions, own.learn_and_predict(x.view(), y.view()).unwrap());
    assert_eq!(model.n_stored(), 10);
    let (again, _) = AnyModel::from_bytes(&bytes(&own)).unwrap();
    assert_eq!(again.to_bytes(serde_json::Value::Null).unwrap(), bytes(&own));
    assert_eq!(again.predict(x.view()).unwrap(), model.clone().predict(x.view()).unwrap());

    let ridge = AnyModel::from_json(r#"{"basis": {"type": "ald", "tolerance": 0.01}}"#).unwrap();
    let saved = ridge.to_bytes(serde_json::Value::Null).unwrap();
    assert!(format!("{:?}", AnyModel::from_bytes(&saved).unwrap().0).contains("ridge"));
    let both = r#"{"basis": {"type": "ald", "tolerance": 0.01}, "learner": {"type": "budgeted_perceptron"}}"#;
    assert!(AnyModel::from_json(both).unwrap_err().to_string().contains("leave the basis out"));
    for (learner, sound) in [
        (r#"{"type": "ridge"}"#, true),
        (r#"{"type": "budgeted_perceptron", "budget": 3, "removal": "random"}"#, true),
        (r#"{"type": "ridge", "regularization": -1.0}"#, false),
        (r#"{"type": "budgeted_perceptron", "budget": 0}"#, false),
        (r#"{"type": "other"}"#, false),
        ("{}", false),
        ("3", false),
    ] {
        assert_eq!(check_learner(learner).is_ok(), sound, "{learner}");
    }
}

#[test]
fn the_budget_is_kept_and_used() {
    let (x, y) = data(2, 400, 1);
    for learner in every_learner() {
        let mut model = new(learner.clone());
        for rows in [0..100, 100..400] {
            model.learn(x.slice(s![rows.clone(), ..]), y.slice(s![rows, ..])).unwrap();
            assert!(
                matches!(&learner, BudgetSpec::BudgetedPerceptron(spec) if spec.margin)
                    || model.n_stored() == BUDGET
            );
        }
        let removes = !matches!(
            &learner,
            BudgetSpec::BudgetedPerceptron(BudgetedPerceptronSpec {
                removal: Removal::None | Removal::Project(_),
                ..
            }) | BudgetSpec::BudgetedPassiveAggressive(BudgetedPassiveAggressiveSpec {
                removal: Removal::None | Removal::Project(_),
                ..
            }) | BudgetSpec::BudgetedGradient(BudgetedGradientSpec {
                removal: Removal::None | Removal::Project(_),
                ..
            })
        );
        assert_eq!(model.n_removed() > 0, removes, "{learner:?}");
        if let BudgetSpec::BudgetedGradient(spec) = &learner {
            let limit = spec.max_coefficient.unwrap() * spec.step;
            assert!(model.coefficients().iter().all(|a| a.abs() <= limit));
        }
    }
}

#[test]
fn the_oldest_point_leaves_first() {
    let (x, y) = data(3, 50, 1);
    let mut model = presets::kogd(gaussian(0.8), Loss::Squared, 0.1, 0.0, Some(7)).build().unwrap();
    model.learn(x.view(), y.view()).unwrap();
    // Every row has a slope, so the last seven are stored: row i in place i % 7.
    for i in 43..50 {
        assert_eq!(model.dictionary().row(i % 7), x.row(i));
    }
    let mut all = presets::kogd(gaussian(0.8), Loss::Squared, 0.1, 0.0, None).build().unwrap();
    all.learn(x.view(), y.view()).unwrap();
    assert_eq!(all.dictionary(), x);
}

#[test]
fn seeds_repeat_and_differ() {
    let (x, y) = data(4, 300, 1);
    let learned = |seed| {
        let mut model = presets::rbp(gaussian(0.8), 10, seed).build().unwrap();
        model.learn(x.view(), y.view()).unwrap();
        model.dictionary()
    };
    assert_eq!(learned(0), learned(0));
    assert_ne!(learned(0), learned(1));
}

/// After a passive-aggressive round that had to remove a point, the new point has the margin it would
/// have had with no removal: what left is made good there.
#[test]
fn the_cheapest_removal_does_not_touch_the_new_point() {
    let (x, y) = data(5, 200, 2);
    let mut model = presets::bpas(gaussian(0.8), 9, 0.3).build().unwrap();
    for i in 0..200 {
        let (xi, yi) = (x.row(i).to_vec(), y.row(i).to_vec());
        let before = if i == 0 { vec![0.0; 2] } else { model.predict_one(&xi).unwrap() };
        let removed = model.n_removed();
        model.learn_one(&xi, &yi).unwrap();
        let after = model.predict_one(&xi).unwrap();
        for c in 0..2 {
            let expected = before[c] + yi[c] * (1.0 - yi[c] * before[c]).clamp(0.0, 0.3);
            assert!((after[c] - expected).abs() < 1e-12, "row {i}, removed {}", model.n_removed() - removed);
        }
    }
    assert!(model.n_removed() > 50);
}

/// Once a row has its margin, the same row teaches nothing more, whatever rounding left of the margin.
#[test]
fn passive_aggressive_learning_rests_on_repeated_rows() {
    let (x, y) = data(12, 300, 1);
    let mut model = presets::bpas(gaussian(0.8), 15, 10.0).build().unwrap();
    for i in 0..300 {
        let (x, y) = (x.row(i).to_vec(), y.row(i).to_vec());
        model.learn_one(&x, &y).unwrap();
        let before = (model.dictionary(), model.coefficients());
        for _ in 0..3 {
            model.learn_one(&x, &y).unwrap();
        }
        assert_eq!((model.dictionary(), model.coefficients()), before);
    }
}

/// A projection that loses nothing gives the perceptron that stores every mistake.
#[test]
fn without_loss_a_projectron_is_a_perceptron() {
    let mut rng = StdRng::seed_from_u64(6);
    let linear = KernelSpec::Linear {};
    let x = Array2::from_shape_simple_fn((500, 4), || rng.random_range(-1.0_f64..1.0));
    let y =
        Array2::from_shape_fn((500, 1), |(i, _)| if x.row(i).sum() + x[(i, 0)] > 0.1 { 1.0 } else { -1.0 });
    let mut projectron = presets::projectron(linear.clone(), 0.0, None, false).build().unwrap();
    let learner = BudgetSpec::BudgetedPerceptron(BudgetedPerceptronSpec::default());
    let mut perceptron = BudgetedSpec { kernel: linear, learner }.build().unwrap();
    let (a, b) = (
        projectron.learn_and_predict(x.view(), y.view()).unwrap(),
        perceptron.learn_and_predict(x.view(), y.view()).unwrap(),
    );
    assert!((&a - &b).iter().all(|e| e.abs() < 1e-10));
    assert_eq!(projectron.n_stored(), 4);
    assert!(perceptron.n_stored() > 10);
}

#[test]
fn bad_rows_change_nothing_and_are_named() {
    let (x, y) = data(7, 60, 2);
    for learner in every_learner() {
        for learned in [0, 40] {
            let mut model = new(learner.clone());
            model.learn(x.slice(s![..learned, ..]), y.slice(s![..learned, ..])).unwrap();
            let before = bytes(&model);
            let mut bad = x.clone();
            bad[(50, 1)] = f64::NAN;
            let result = model.learn(bad.view(), y.view());
            assert!(matches!(result, Err(Error::NotFinite { what: "X", row: 50, column: 1, .. })));
            let mut wild = y.clone();
            wild[(51, 0)] = f64::INFINITY;
            let result = model.learn(x.view(), wild.view());
            assert!(matches!(result, Err(Error::NotFinite { what: "y", row: 51, column: 0, .. })));
            assert!(model.learn(x.view(), y.slice(s![..59, ..])).is_err());
            assert!(model.learn_one(&[], &[1.0, 1.0]).is_err());
            assert!(model.learn_one(&[1.0, 2.0, 3.0], &[]).is_err());
            if learned > 0 {
                assert!(model.learn_one(&[1.0, 2.0], &[1.0, 1.0]).is_err());
                assert!(model.predict(x.slice(s![.., ..2])).is_err());
                assert!(model.predict_one(&[f64::NAN; 3]).is_err());
            } else {
                assert!(matches!(model.predict(x.view()), Err(Error::NothingLearned)));
                assert!(matches!(model.predict_one(&[0.0; 3]), Err(Error::NothingLearned)));
            }
            assert!(bytes(&model) == before);
        }
    }
}

#[test]
fn a_step_that_diverges_is_refused_and_undone() {
    let (x, _) = data(8, 400, 1);
    let y = Array2::from_elem((400, 1), 1e40);
    let spec = BudgetedGradientSpec { step: 50.0, ..BudgetedGradientSpec::default() };
    let mut model = new(BudgetSpec::BudgetedGradient(spec));
    model.learn(x.slice(s![..3, ..]), y.slice(s![..3, ..])).unwrap();
    let before = bytes(&model);
    let Err(Error::Diverged { row }) = model.learn(x.slice(s![3.., ..]), y.slice(s![3.., ..])) else {
        panic!("it should diverge");
    };
    assert!(bytes(&model) == before);
    // All rows before the one named can be learned.
    model.learn(x.slice(s![3..3 + row, ..]), y.slice(s![3..3 + row, ..])).unwrap();
    let last = x.row(3 + row).to_vec();
    let before = bytes(&model);
    assert!(model.learn_one(&last, &[1e40]).is_err());
    assert!(bytes(&model) == before);
}

#[test]
fn points_that_are_nothing_to_the_kernel_are_passed_over() {
    for learner in every_learner() {
        let mut model = BudgetedSpec { kernel: KernelSpec::Linear {}, learner }.build().unwrap();
        model.learn_one(&[0.0, 0.0], &[1.0]).unwrap();
        assert_eq!((model.n_seen(), model.n_stored()), (1, 0));
        assert!(bytes(&Budgeted::from_bytes(&bytes(&model)).unwrap().0) == bytes(&model));
        model.learn_one(&[1e-20, 1e20], &[-1.0]).unwrap();
        assert!(model.predict_one(&[1.0, 1.0]).unwrap()[0].is_finite());
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let refused = |json: &str| -> Result<Budgeted> { BudgetedSpec::from_json(json)?.build() };
    assert!(refused(r#"{"learner": {"type": "budgeted_perceptron"}}"#).is_ok());
    for learner in [
        r#"{"type": "budgeted_perceptron", "budget": 0, "removal": "random"}"#,
        r#"{"type": "budgeted_perceptron", "budget": null, "removal": "random"}"#,
        r#"{"type": "budgeted_perceptron", "budget": null, "removal": "cheapest"}"#,
        r#"{"type": "budgeted_perceptron", "removal": {"project": 1.0}}"#,
        r#"{"type": "budgeted_perceptron", "removal": {"project": -0.1}}"#,
        r#"{"type": "budgeted_perceptron", "removal": {"project": 0.0}, "margin": true}"#,
        r#"{"type": "budgeted_perceptron", "budget": 5, "removal": "oldest", "margin": true}"#,
        r#"{"type": "budgeted_perceptron", "budgit": 5}"#,
        r#"{"type": "budgeted_passive_aggressive", "aggressiveness": 0.0}"#,
        r#"{"type": "budgeted_gradient", "step": 0.0}"#,
        r#"{"type": "budgeted_gradient", "schedule": "adaptive"}"#,
        r#"{"type": "budgeted_gradient", "regularization": -1.0}"#,
        r#"{"type": "budgeted_gradient", "max_coefficient": 0.0}"#,
        r#"{"type": "budgeted_gradient", "loss": {"huber": 0.0}}"#,
        r#"{"type": "nothing"}"#,
    ] {
        let json = format!(r#"{{"learner": {learner}}}"#);
        assert!(refused(&json).is_err(), "{learner}");
    }
    assert!(refused(r#"{"kernel": {"type": "gaussian", "bandwidth": -1.0}}"#).is_err());
}
