//! Experts: the same in any chunking and on any number of threads, whole after errors, and as good as the
//! best of them.

use kernelstream::experts::{Experts, ExpertsSpec, MixtureSpec};
use kernelstream::uncertainty::Spread;
use kernelstream::{AnyModel, Introspection as _, Model as _, Persist, Uncertainty as _};
use ndarray::{Array1, Array2, Axis, concatenate, s};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

fn rows(n: usize, seed: u64) -> (Array2<f64>, Array2<f64>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let x = Array2::from_shape_simple_fn((n, 3), || rng.random_range(-1.0_f64..1.0));
    let y = x.map_axis(Axis(1), |row| (3.0 * row[0]).sin() + row[1] * row[2]);
    let noisy = y.mapv(|v| v + rng.random_range(-0.1..0.1)).insert_axis(Axis(1));
    (x, concatenate![Axis(1), noisy, y.mapv(|v| 100.0 * v * v).insert_axis(Axis(1))])
}

/// Ridge at some bandwidths and regularizations.
fn grid() -> Vec<serde_json::Value> {
    let mut experts = Vec::new();
    for bandwidth in [0.2, 0.5, 1.0, 3.0] {
        for regularization in [1e-3, 1.0] {
            experts.push(json!({
                "kernel": {"type": "gaussian", "bandwidth": bandwidth},
                "basis": {"type": "ald", "tolerance": 1e-3, "max_size": 40},
                "learner": {"type": "ridge", "regularization": regularization},
            }));
        }
    }
    experts
}

fn ridges(mixture: MixtureSpec) -> Experts<AnyModel> {
    ExpertsSpec { experts: grid(), mixture }.build().expect("sound parameters")
}

/// A learner whose step makes errors grow if it is above 1.
fn gradient(step: f64) -> serde_json::Value {
    json!({
        "basis": {"type": "fourier", "size": 20},
        "learner": {"type": "gradient", "step": step, "schedule": "constant"},
    })
}

/// Among them experts that may refuse a row.
fn mixed(step: f64) -> Experts<AnyModel> {
    let mut experts = grid();
    experts.insert(
        1,
        json!({"learner": {"type": "budgeted_gradient", "step": 0.1, "budget": 30, "removal": "oldest"}}),
    );
    experts.push(gradient(step));
    ExpertsSpec { experts, mixture: MixtureSpec::default() }.build().expect("sound parameters")
}

const MIXTURES: [MixtureSpec; 2] = [MixtureSpec::Polynomial, MixtureSpec::FixedShare];

fn bytes(model: &impl Persist) -> Vec<u8> {
    model.to_bytes(serde_json::Value::Null).expect("a model fits a file")
}

#[test]
#[cfg(feature = "threads")]
fn any_number_of_threads_gives_the_same_bits() {
    use kernelstream::threads::set_num_threads;
    use std::num::NonZeroUsize;

    let (x, y) = rows(1500, 1);
    for mixture in MIXTURES {
        let results = [1, 2, 3].map(|threads| {
            set_num_threads(NonZeroUsize::new(threads));
            let mut model = ridges(mixture);
            let predictions = model.learn_and_predict(x.view(), y.view()).expect("sound rows");
            let later = model.predict(x.view()).expect("sound rows");
            (predictions.mapv(f64::to_bits), later.mapv(f64::to_bits), bytes(&model))
        });
        set_num_threads(None);
        assert!(results[0] == results[1] && results[0] == results[2]);
    }
}

#[test]
fn any_chunking_gives_the_same_model() {
    let (x, y) = rows(1200, 2);
    let weights = Array1::from_shape_fn(1200, |i| [1.0, 0.0, 2.5][i % 3]);
    for mixture in MIXTURES {
        for weights in [None, Some(weights.view())] {
            let mut whole = ridges(mixture);
            let mut predictions = Array2::zeros(y.raw_dim());
            whole
                .learn_while(x.view(), y.view(), weights, Some(predictions.view_mut()), &mut |_| true)
                .expect("sound rows");
            for size in [1, 7, 100, 257] {
                let mut parts = ridges(mixture);
                for start in (0..1200).step_by(size) {
                    let rows = start..(start + size).min(1200);
                    let mut made = Array2::zeros((rows.len(), 2));
                    let part = s![rows.clone(), ..];
                    let weights = weights.map(|weights| weights.slice_move(s![rows.clone()]));
                    parts
                        .learn_while(
                            x.slice(part),
                            y.slice(part),
                            weights,
                            Some(made.view_mut()),
                            &mut |_| true,
                        )
                        .expect("sound rows");
                    let gap = (&made - &predictions.slice(part)).mapv(f64::abs);
                    assert!(gap.iter().all(|gap| *gap < 1e-9), "{mixture:?}, chunks of {size}, from {start}");
                }
                let gap = parts.mixture().expect("begun") - whole.mixture().expect("begun");
                assert!(gap.iter().all(|gap| gap.abs() < 1e-10), "{mixture:?}, chunks of {size}");
            }
        }
    }
}

/// Learners of all kinds, side by side on each of some bases.
fn on_each_basis() -> Vec<serde_json::Value> {
    let learners = [
        json!({"type": "ridge", "regularization": 1e-3}),
        json!({"type": "ridge", "regularization": 1.0, "center": true}),
        json!({"type": "ridge", "regularization": 1e-12}),
        json!({"type": "ridge", "forgetting": 0.99}),
        json!({"type": "gradient", "step": 0.1}),
        json!({"type": "online_newton"}),
        json!({"type": "gauss_newton", "loss": "squared", "memory": 50}),
    ];
    let bases = [
        json!({"type": "ald", "tolerance": 1e-3}),
        json!({"type": "ald", "tolerance": 1e-3, "max_size": 40}),
        json!({"type": "ald", "tolerance": 1e-3, "max_size": 40, "loss_driven": true}),
        json!({"type": "all_points", "max_size": 60}),
        json!({"type": "first_points", "size": 30}),
        json!({"type": "first_points", "size": 30, "rank": 20}),
        json!({"type": "kors", "max_size": 50}),
        json!({"type": "taylor", "degree": 2}),
        json!({"type": "fourier", "size": 30}),
        json!({"type": "sketched"}),
    ];
    let each = |basis: serde_json::Value| {
        let expert =
            move |learner| json!({"kernel": {"type": "gaussian"}, "basis": basis, "learner": learner});
        learners.clone().map(expert)
    };
    let usable = |spec: &serde_json::Value| AnyModel::from_json(&spec.to_string()).is_ok();
    bases.into_iter().flat_map(each).filter(usable).collect()
}

#[test]
fn experts_that_share_a_basis_are_what_each_is_alone() {
    let (x, y) = rows(700, 8);
    let weights = Array1::from_shape_fn(700, |i| [1.0, 0.0, 2.5, 1.0, 1.0][i / 20 % 5]);
    // No more at once than experts learn in one part.
    let parts = [0, 1, 2, 9, 40, 41, 42, 43, 44, 45, 300, 420, 670, 700];
    // Where not all learners take rows together that bring coordinates, none does: the same to rounding.
    let alike = |spec: &serde_json::Value| {
        spec["learner"]["type"] == "ridge" && spec["learner"]["regularization"] != 1e-12
    };
    for (specs, exact) in
        [(on_each_basis().into_iter().filter(alike).collect::<Vec<_>>(), true), (on_each_basis(), false)]
    {
        assert!(specs.len() >= if exact { 30 } else { 60 }, "{}", specs.len());
        for weights in [None, Some(weights.view())] {
            let mut alone: Vec<AnyModel> = specs
                .iter()
                .map(|spec| AnyModel::from_json(&spec.to_string()).expect("sound parameters"))
                .collect();
            let mut together: Experts<AnyModel> =
                ExpertsSpec { experts: specs.clone(), mixture: MixtureSpec::default() }
                    .build()
                    .expect("sound parameters");
            for (n, ends) in parts.windows(2).enumerate() {
                // Half-way they come from a file.
                if n == parts.len() / 2 {
                    together = Experts::from_bytes(&bytes(&together)).expect("a sound file").0;
                }
                let (rows, range) = (s![ends[0]..ends[1], ..], s![ends[0]..ends[1]]);
                let weights = weights.map(|weights| weights.slice_move(range));
                let (x, y) = (x.slice(rows), y.slice(rows));
                together.learn_while(x, y, weights, None, &mut |_| true).expect("sound rows");
                for model in &mut alone {
                    model.learn_while(x, y, weights, None, &mut |_| true).expect("sound rows");
                }
            }
            let made = together.transform(x.view()).expect("sound rows");
            for (e, (model, alone)) in together.models().zip(&alone).enumerate() {
                assert_eq!((model.n_seen(), model.n_stored()), (alone.n_seen(), alone.n_stored()));
                let (made, expected) =
                    (made.slice(s![.., 2 * e..2 * e + 2]), alone.predict(x.view()).expect("sound rows"));
                if exact {
                    assert!(made == expected, "{}", specs[e]);
                }
                let off = (&made - &expected).mapv(f64::abs).fold(0.0, |most: f64, gap| most.max(*gap));
                assert!(off < 1e-6, "{off} by {}", specs[e]);
            }
            let mixture = together.mixture().expect("begun");
            let weighted = |i: usize, c: usize| -> f64 {
                (0..specs.len()).map(|e| mixture[(c, e)] * made[(i, 2 * e + c)]).sum()
            };
            let predicted = together.predict(x.view()).expect("sound rows");
            let (again, deviations) =
                together.predict_with_spread(x.view(), Spread::Interval).expect("sound rows");
            assert!(again == predicted && deviations.iter().all(|deviation| *deviation > 0.0));
            for i in (0..700).step_by(70) {
                let one = together.predict_one(&x.row(i).to_vec()).expect("a sound row");
                for c in 0..2 {
                    let expected = weighted(i, c);
                    let close = |made: f64| (made - expected).abs() < 1e-7 * (1.0 + expected.abs());
                    assert!(close(predicted[(i, c)]) && close(one[c]), "{one:?} of {expected}");
                }
            }
        }
    }
}

#[test]
fn one_row_is_as_many() {
    let (x, y) = rows(300, 3);
    let (mut many, mut single) = (mixed(0.1), mixed(0.1));
    many.learn(x.view(), y.view()).expect("sound rows");
    for (x, y) in x.outer_iter().zip(y.outer_iter()) {
        single.learn_one(&x.to_vec(), &y.to_vec()).expect("a sound row");
    }
    assert_eq!(many.n_seen(), single.n_seen());
    let later = many.predict(x.view()).expect("sound rows");
    for (x, later) in x.outer_iter().zip(later.outer_iter()) {
        let one = single.predict_one(&x.to_vec()).expect("a sound row");
        assert!(one.iter().zip(later).all(|(one, many)| (one - many).abs() < 1e-9 * (1.0 + many.abs())));
    }
}

#[test]
fn bad_rows_change_nothing_and_are_named() {
    let (x, mut y) = rows(600, 4);
    y[(320, 1)] = f64::NAN;
    for mut model in [ridges(MixtureSpec::default()), mixed(0.1)] {
        for learned in [0, 50] {
            let rows = s![..learned, ..];
            model.learn(x.slice(rows), y.slice(rows)).expect("sound rows");
            let before = bytes(&model);
            let error = model.learn(x.view(), y.view()).expect_err("not a number").to_string();
            assert!(error.contains("row 320"), "{error}");
            assert!(bytes(&model) == before);
        }
    }
}

#[test]
fn a_row_refused_by_one_expert_changes_none_and_is_named() {
    let (x, y) = rows(900, 4);
    let step = 1.5;
    let mut alone = AnyModel::from_json(&gradient(step).to_string()).expect("sound parameters");
    let named = alone.learn(x.view(), y.view()).expect_err("it diverges").to_string();
    for learned in [0, 70] {
        let (mut model, mut other) = (mixed(step), mixed(step));
        let rows = s![..learned, ..];
        model.learn(x.slice(rows), y.slice(rows)).expect("sound rows");
        other.learn(x.slice(rows), y.slice(rows)).expect("sound rows");
        let before = bytes(&model);
        let error = model.learn(x.view(), y.view()).expect_err("it diverges").to_string();
        assert!(learned > 0 || error == named, "{error}");
        assert!(bytes(&model) == before);
        let few = s![..100, ..];
        model.learn(x.slice(few), y.slice(few)).expect("not so soon");
        other.learn(x.slice(few), y.slice(few)).expect("not so soon");
        assert!(bytes(&model) == bytes(&other), "it continues as if nothing had been");
        let refused = x.outer_iter().zip(y.outer_iter()).find_map(|(x, y)| {
            let before = bytes(&model);
            let learned = model.learn_one(&x.to_vec(), &y.to_vec());
            learned.is_err().then_some(before)
        });
        assert!(refused.expect("one row at a time too") == bytes(&model));
    }
}

#[test]
fn a_call_that_was_ended_continues_to_the_bit() {
    let (x, y) = rows(700, 5);
    let mut whole = ridges(MixtureSpec::default());
    whole.learn(x.view(), y.view()).expect("sound rows");
    for (stop, expected) in [(0, 0), (1, 256), (256, 256), (300, 512), (699, 700)] {
        let mut model = ridges(MixtureSpec::default());
        let done = model.learn_while(x.view(), y.view(), None, None, &mut |i| i < stop).expect("sound rows");
        assert_eq!(done, expected);
        assert!(model.models().all(|expert| expert.n_seen() == done as u64));
        model.learn(x.slice(s![done.., ..]), y.slice(s![done.., ..])).expect("sound rows");
        assert!(bytes(&model) == bytes(&whole));
    }
}

#[test]
fn a_saved_model_continues_to_the_bit() {
    let (x, y) = rows(800, 6);
    let first = s![..400, ..];
    for mut model in [ridges(MIXTURES[0]), ridges(MIXTURES[1]), mixed(0.1)] {
        for _ in 0..2 {
            let (mut back, _) = Experts::<AnyModel>::from_bytes(&bytes(&model)).expect("a sound file");
            assert!(bytes(&back) == bytes(&model));
            let made = back.learn_and_predict(x.view(), y.view()).expect("sound rows");
            let mut on = model.clone();
            assert!(on.learn_and_predict(x.view(), y.view()).expect("sound rows") == made);
            assert!(bytes(&back) == bytes(&on));
            model.learn(x.slice(first), y.slice(first)).expect("sound rows");
        }
    }
}

#[test]
fn specifications_that_make_no_sense_are_refused() {
    for spec in [
        json!({"experts": []}),
        json!({"experts": [{}], "mixture": "guess"}),
        json!({"experts": [{}], "kernel": {"type": "gaussian"}}),
        json!({"experts": [{"learner": {"type": "ridge", "regularization": -1.0}}]}),
        json!({"experts": 3}),
    ] {
        assert!(AnyModel::from_json(&spec.to_string()).is_err(), "{spec}");
    }
    let mut learned = AnyModel::from_json("{}").expect("the default");
    learned.learn_one(&[0.0], &[1.0]).expect("a sound row");
    assert!(Experts::new(vec![learned], MixtureSpec::default()).is_err());
}

#[test]
fn other_units_of_the_targets_give_the_same_weights() {
    let (x, y) = rows(1000, 7);
    for mixture in MIXTURES {
        let [mut plain, mut scaled] = [ridges(mixture), ridges(mixture)];
        // A power of two changes no digit.
        let made = plain.learn_and_predict(x.view(), y.view()).expect("sound rows");
        let large = scaled.learn_and_predict(x.view(), (&y * 1024.0).view()).expect("sound rows");
        assert!(made * 1024.0 == large);
        assert_eq!(plain.mixture(), scaled.mixture());
    }
}

#[test]
fn the_usual_experts_are_those_of_python() {
    let model = AnyModel::experts(4).expect("sound parameters");
    let spec = model.spec_json().expect("a specification");
    let experts = spec["experts"].as_array().expect("a list");
    let pairs: Vec<_> =
        experts.iter().map(|e| [&e["kernel"]["bandwidth"], &e["learner"]["regularization"]]).collect();
    assert_eq!(pairs.len(), 20);
    assert_eq!(pairs[0], [0.5, 1e-4]);
    assert_eq!(pairs[1], [0.5, 1e-3]);
    assert_eq!(pairs[19], [8.0, 1e-1]);
    assert!(experts.iter().all(|e| e["basis"]["tolerance"] == 1e-4 && e["basis"]["max_size"] == 150));
}
