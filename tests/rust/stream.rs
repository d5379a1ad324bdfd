//! The learners against plain dense versions written here, and the properties every stream keeps.

use kernelstream::basis::{Basis, BasisBlocks, BasisGrowth, BasisPoints, BasisSpec, KorsSpec, Nested};
use kernelstream::kernel::{Kernel, KernelSpec};
use kernelstream::learner::{
    GaussNewtonSpec, GradientSpec, Growth, History, Learner, LearnerBlocks, LearnerLimits, LearnerMemory,
    LearnerSpec, LearnerUncertainty, Loss, OnlineNewtonSpec, Prediction, Ridge, RidgeSpec, Schedule,
};
use kernelstream::linalg::{Coordinates, Panel};
use kernelstream::stream::{AnyStream, ModelSpec, Stream, presets};
use kernelstream::{Error, Introspection as _, Model as _, Persist as _, Result};
use ndarray::{Array1, Array2, Axis, concatenate, s};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn gaussian(bandwidth: f64) -> KernelSpec {
    KernelSpec::Gaussian { bandwidth: Some(bandwidth) }
}

/// A noisy smooth function of two or more features, `outputs` targets.
fn data(seed: u64, rows: usize, width: usize, outputs: usize) -> (Array2<f64>, Array2<f64>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let x = Array2::from_shape_simple_fn((rows, width), || rng.random_range(-1.0_f64..1.0));
    let y = Array2::from_shape_fn((rows, outputs), |(i, c)| {
        let row = x.row(i);
        (row.sum() * (c + 1) as f64).sin() + 0.1 * ((i * 37 % 11) as f64 - 5.0) / 5.0 + 0.3
    });
    (x, y)
}

fn learners() -> Vec<LearnerSpec> {
    let ridge = RidgeSpec::default();
    let gradient = GradientSpec { schedule: Schedule::Adaptive, ..GradientSpec::default() };
    let newton = OnlineNewtonSpec::default();
    vec![
        LearnerSpec::Ridge(ridge.clone()),
        LearnerSpec::Ridge(RidgeSpec { forgetting: 0.97, ..ridge.clone() }),
        LearnerSpec::Ridge(RidgeSpec { prediction: Prediction::Awv, ..ridge.clone() }),
        LearnerSpec::Ridge(RidgeSpec { regularization: 0.0, ..ridge }),
        LearnerSpec::Gradient(gradient.clone()),
        LearnerSpec::Gradient(GradientSpec {
            schedule: Schedule::Constant,
            regularization: 1e-2,
            averaging: true,
            ..gradient.clone()
        }),
        LearnerSpec::Gradient(GradientSpec {
            loss: Loss::Huber(0.5),
            schedule: Schedule::Power { half_life: 10.0, exponent: 0.6 },
            radius: Some(1.5),
            ..gradient.clone()
        }),
        LearnerSpec::Gradient(GradientSpec {
            loss: Loss::Absolute,
            schedule: Schedule::InverseSqrt,
            ..gradient
        }),
        LearnerSpec::OnlineNewton(newton.clone()),
        LearnerSpec::OnlineNewton(OnlineNewtonSpec {
            sketch: 0.4,
            growth: Growth::CarryUnprojected,
            ..newton.clone()
        }),
        LearnerSpec::OnlineNewton(OnlineNewtonSpec { growth: Growth::Restart, bound: Some(0.6), ..newton }),
        LearnerSpec::Ridge(RidgeSpec { history: History::Exact, ..RidgeSpec::default() }),
        LearnerSpec::Ridge(RidgeSpec { history: History::Reservoir, reservoir: 15, ..RidgeSpec::default() }),
    ]
}

fn bases() -> [BasisSpec; 4] {
    [
        BasisSpec::Ald { tolerance: 1e-3, max_size: None, loss_driven: false },
        BasisSpec::Ald { tolerance: 1e-2, max_size: Some(7), loss_driven: false },
        BasisSpec::FirstPoints { size: 12, loss_driven: false, rank: None },
        BasisSpec::Kors(KorsSpec { regularization: 0.5, random_state: 3, ..KorsSpec::default() }),
    ]
}

fn every_model() -> impl Iterator<Item = ModelSpec> {
    bases().into_iter().flat_map(|basis| {
        learners().into_iter().map(move |learner| ModelSpec {
            kernel: gaussian(0.8),
            basis: basis.clone(),
            learner,
        })
    })
}

fn bytes(model: &AnyStream) -> Vec<u8> {
    model.to_bytes(serde_json::Value::Null).unwrap()
}

/// Largest difference between what two models would say at these rows, and between their sizes.
fn difference(a: &AnyStream, b: &AnyStream, x: &Array2<f64>) -> f64 {
    assert_eq!(a.n_seen(), b.n_seen());
    assert_eq!(a.dictionary(), b.dictionary());
    let (a, b) = (a.predict(x.view()).unwrap(), b.predict(x.view()).unwrap());
    (&a - &b).iter().fold(0.0, |most, v| v.abs().max(most))
}

#[test]
fn any_cutting_of_a_stream_gives_the_same_model() {
    let (x, y) = data(1, 300, 3, 2);
    for spec in every_model() {
        let mut whole = spec.build().unwrap();
        let together = whole.learn_and_predict(x.view(), y.view()).unwrap();
        let mut one_by_one = None;
        for cut in [1, 7, 100] {
            let mut parts = spec.build().unwrap();
            let mut predictions = Vec::new();
            for (x, y) in x.axis_chunks_iter(Axis(0), cut).zip(y.axis_chunks_iter(Axis(0), cut)) {
                predictions.push(parts.learn_and_predict(x, y).unwrap());
            }
            let views: Vec<_> = predictions.iter().map(|part| part.view()).collect();
            let apart = &concatenate(Axis(0), &views).unwrap() - &together;
            assert!(apart.iter().all(|v| v.abs() < 1e-10), "{spec:?}");
            assert!(difference(&parts, &whole, &x) < 1e-10, "{spec:?}");
            one_by_one.get_or_insert(parts);
        }
        let mut singly = spec.build().unwrap();
        for (x, y) in x.rows().into_iter().zip(y.rows()) {
            singly.learn_one(x.as_slice().unwrap(), y.as_slice().unwrap()).unwrap();
        }
        assert_eq!(one_by_one.map(|model| bytes(&model)), Some(bytes(&singly)), "{spec:?}");
    }
}

/// Learners of labels, which rows on the right side leave as they are.
fn learners_of_labels() -> Vec<LearnerSpec> {
    let losses = [Loss::SquaredHinge, Loss::Logistic];
    let curved = losses.map(|loss| LearnerSpec::GaussNewton(GaussNewtonSpec { loss, ..Default::default() }));
    let gradient = GradientSpec { loss: Loss::Hinge, schedule: Schedule::InverseSqrt, ..Default::default() };
    let newton = OnlineNewtonSpec { loss: Loss::Hinge, clip: false, ..Default::default() };
    curved.into_iter().chain([LearnerSpec::Gradient(gradient), LearnerSpec::OnlineNewton(newton)]).collect()
}

/// Learns rows at once and one by one, with the same result; how many points are stored.
fn blocks_learn_as_rows_do(
    spec: &ModelSpec,
    x: &Array2<f64>,
    y: &Array2<f64>,
    weights: &Array1<f64>,
) -> usize {
    let (mut rows, mut blocks) = (spec.build().unwrap(), spec.build().unwrap());
    let (mut by_row, mut by_block) = (Array2::zeros(y.dim()), Array2::zeros(y.dim()));
    let prequential = Some(by_block.view_mut());
    blocks.learn_while(x.view(), y.view(), Some(weights.view()), prequential, &mut |_| true).unwrap();
    for i in 0..x.nrows() {
        let row = s![i..=i, ..];
        let prequential = Some(by_row.slice_mut(row));
        let weight = Some(weights.slice(s![i..=i]));
        rows.learn_while(x.slice(row), y.slice(row), weight, prequential, &mut |_| true).unwrap();
    }
    let far = difference(&rows, &blocks, x);
    let prequential = (&by_row - &by_block).iter().fold(0.0_f64, |most, v| v.abs().max(most));
    assert!(far < 1e-9 && prequential < 1e-9, "{spec:?}: {far} {prequential}");
    blocks.n_stored()
}

#[test]
fn points_that_enter_by_blocks_are_those_that_enter_singly() {
    let (x, y) = data(19, 700, 4, 2);
    let weights = Array1::from_shape_fn(700, |i| [1.0, 0.5, 2.0, 0.0][(i / 80) % 4]);
    for max_size in [None, Some(400)] {
        let basis = BasisSpec::Ald { tolerance: 1e-4, max_size, loss_driven: false };
        let learner = LearnerSpec::Ridge(RidgeSpec { center: true, ..RidgeSpec::default() });
        let spec = ModelSpec { kernel: gaussian(0.5), basis, learner };
        let stored = blocks_learn_as_rows_do(&spec, &x, &y, &weights);
        assert!(stored > 350, "{stored}");
    }
}

#[test]
fn rows_without_weight_begin_no_block() {
    // So many columns are compared by matrix products.
    let (x, y) = data(17, 90, 20, 1);
    for every in [1, 2, 45] {
        let weights = Array1::from_shape_fn(90, |i| f64::from(u8::from(i % every != 0)));
        let basis = BasisSpec::Ald { tolerance: 1e-3, max_size: None, loss_driven: false };
        let spec = ModelSpec { kernel: gaussian(3.0), basis, learner: LearnerSpec::default() };
        let (mut whole, mut kept) = (spec.build().unwrap(), spec.build().unwrap());
        whole.learn_while(x.view(), y.view(), Some(weights.view()), None, &mut |_| true).unwrap();
        let rows = x.rows().into_iter().zip(y.rows()).enumerate();
        for (_, (x, y)) in rows.filter(|(i, _)| i % every != 0) {
            kept.learn_one(x.as_slice().unwrap(), y.as_slice().unwrap()).unwrap();
        }
        assert_eq!(whole.n_seen(), 90);
        assert_eq!(whole.n_stored(), kept.n_stored());
        if every > 1 {
            assert_eq!(whole.dictionary(), kept.dictionary());
            let apart = whole.predict(x.view()).unwrap() - kept.predict(x.view()).unwrap();
            assert!(apart.iter().all(|v| v.abs() < 1e-10), "{every}");
        }
    }
}

#[test]
fn blocks_of_rows_give_the_model_of_single_rows() {
    let (x, y) = data(12, 800, 3, 2);
    let labels = y.mapv(f64::signum);
    let weights = Array1::from_shape_fn(800, |i| [1.0, 0.5, 2.0, 1.0, 1.0, 0.0][(i * 7 / 64) % 6]);
    let bases = |loss_driven| {
        [
            BasisSpec::Ald { tolerance: 1e-3, max_size: None, loss_driven },
            BasisSpec::FirstPoints { size: 60, loss_driven, rank: None },
        ]
    };
    let cells = learners().into_iter().map(|learner| (learner, &y, false));
    let cells = cells.chain(learners_of_labels().into_iter().map(|learner| (learner, &labels, true)));
    for (learner, y, loss_driven) in cells {
        for basis in bases(loss_driven) {
            let spec = ModelSpec { kernel: gaussian(0.5), basis, learner: learner.clone() };
            let stored = blocks_learn_as_rows_do(&spec, &x, y, &weights);
            assert!(stored >= 40, "{stored}");
        }
    }
}

#[test]
fn a_prediction_before_learning_is_the_one_that_learning_reports() {
    let (x, y) = data(2, 200, 3, 2);
    for spec in every_model() {
        let mut model = spec.build().unwrap();
        model.learn(x.slice(s![..150, ..]), y.slice(s![..150, ..])).unwrap();
        for i in 150..200 {
            let (row, target) = (x.slice(s![i..=i, ..]), y.slice(s![i..=i, ..]));
            let before = model.predict(row).unwrap();
            let one = Array1::from(model.predict_one(row.row(0).as_slice().unwrap()).unwrap());
            let stored = model.n_stored();
            let prequential = model.learn_and_predict(row, target).unwrap();
            let remembers =
                matches!(&spec.learner, LearnerSpec::Ridge(ridge) if ridge.history != History::None);
            let drawn = matches!(spec.basis, BasisSpec::Kors(_));
            if (remembers || drawn) && model.n_stored() > stored {
                // What past rows say about a new coordinate is known only once it is there, and whether
                // there is one once the row is drawn.
                continue;
            }
            for c in 0..2 {
                let (a, b, t) = (before[(0, c)], one[c], prequential[(0, c)]);
                assert!((a - t).abs() < 1e-9 && (b - t).abs() < 1e-9, "{spec:?}: {a} {b} {t}");
            }
        }
    }
}

#[test]
fn a_saved_model_continues_to_the_last_bit() {
    let (x, y) = data(3, 200, 2, 2);
    for spec in every_model() {
        let mut model = spec.build().unwrap();
        model.learn(x.slice(s![..120, ..]), y.slice(s![..120, ..])).unwrap();
        let (mut again, _) = AnyStream::from_bytes(&bytes(&model)).unwrap();
        assert_eq!(bytes(&again), bytes(&model), "{spec:?}");
        model.learn(x.slice(s![120.., ..]), y.slice(s![120.., ..])).unwrap();
        again.learn(x.slice(s![120.., ..]), y.slice(s![120.., ..])).unwrap();
        assert_eq!(bytes(&again), bytes(&model), "{spec:?}");

        let fresh = spec.build().unwrap();
        let (fresh_again, _) = AnyStream::from_bytes(&bytes(&fresh)).unwrap();
        assert_eq!(bytes(&fresh_again), bytes(&fresh));
    }
}

#[test]
fn a_bad_row_is_named_and_changes_nothing() {
    let (x, y) = data(4, 60, 3, 1);
    for spec in every_model() {
        for started in [false, true] {
            let mut model = spec.build().unwrap();
            if started {
                model.learn(x.view(), y.view()).unwrap();
            }
            let before = bytes(&model);
            for (value, word) in
                [(f64::NAN, "NaN"), (f64::INFINITY, "inf"), (f64::NEG_INFINITY, "-inf"), (1e200, "too large")]
            {
                let mut bad = x.clone();
                bad[(41, 2)] = value;
                let message = model.learn(bad.view(), y.view()).unwrap_err().to_string();
                assert!(message.contains("row 41") && message.contains(word), "{message}");
                let mut bad = y.clone();
                bad[(17, 0)] = value;
                let message = model.learn(x.view(), bad.view()).unwrap_err().to_string();
                assert!(message.contains("row 17") && message.contains(word), "{message}");
            }
            assert!(matches!(
                model.learn(x.view(), y.slice(s![..59, ..])),
                Err(Error::LengthMismatch { left_rows: 60, right_rows: 59, .. })
            ));
            if started {
                let narrow = x.slice(s![.., ..2]);
                assert!(matches!(
                    model.learn(narrow, y.view()),
                    Err(Error::WrongWidth { expected: 3, found: 2, .. })
                ));
                assert!(model.predict(narrow).is_err());
                assert!(model.learn_one(&[1.0, 2.0], &[0.0]).is_err());
                assert!(model.learn_one(&[1.0, 2.0, 3.0], &[0.0, 1.0]).is_err());
            } else {
                assert!(matches!(model.predict(x.view()), Err(Error::NothingLearned)));
                assert!(matches!(
                    model.learn(Array2::zeros((3, 0)).view(), Array2::zeros((3, 1)).view()),
                    Err(Error::NoColumns { what: "X" })
                ));
            }
            assert_eq!(bytes(&model), before, "{spec:?}");
        }
    }
}

#[test]
fn divergence_is_refused_and_the_call_undone() {
    let spec = ModelSpec {
        kernel: gaussian(1.0),
        learner: LearnerSpec::Gradient(GradientSpec {
            schedule: Schedule::Constant,
            step: Some(30.0),
            ..GradientSpec::default()
        }),
        ..ModelSpec::default()
    };
    let (x, y) = data(5, 2000, 2, 1);
    let mut model = spec.build().unwrap();
    model.learn(x.slice(s![..5, ..]), y.slice(s![..5, ..])).unwrap();
    let before = bytes(&model);
    let error = model.learn(x.slice(s![5.., ..]), y.slice(s![5.., ..])).unwrap_err();
    assert!(matches!(error, Error::Diverged { row } if row > 5), "{error}");
    assert_eq!(bytes(&model), before);
    // One row at a time as well, until one is refused.
    let mut refused = 0;
    for (x, y) in x.rows().into_iter().zip(y.rows()) {
        let before = bytes(&model);
        if model.learn_one(x.as_slice().unwrap(), y.as_slice().unwrap()).is_err() {
            assert_eq!(bytes(&model), before);
            refused += 1;
        }
    }
    assert!(refused > 0);
    let mut fresh = spec.build().unwrap();
    let before = bytes(&fresh);
    assert!(fresh.learn(x.view(), y.view()).is_err());
    assert_eq!(bytes(&fresh), before);
}

#[test]
fn weights_too_large_for_ridge_are_refused_and_the_call_undone() {
    let basis = BasisSpec::Ald { tolerance: 1e-4, max_size: Some(60), loss_driven: false };
    let (x, y) = data(6, 600, 3, 1);
    let weights = Array1::from_shape_fn(600, |i| if i % 3 == 0 { 1e50 } else { 0.0 });
    let mut refused = 0;
    for regularization in [1e-2, 1e-4, 1e-7] {
        let learner = LearnerSpec::Ridge(RidgeSpec { regularization, ..RidgeSpec::default() });
        let mut model = ModelSpec { kernel: gaussian(3.0), basis: basis.clone(), learner }.build().unwrap();
        model.learn(x.view(), y.view()).unwrap();
        let before = bytes(&model);
        if let Err(error) = model.learn_while(x.view(), y.view(), Some(weights.view()), None, &mut |_| true) {
            assert!(matches!(error, Error::Unstable { row } if row > 0), "{error}");
            assert_eq!(bytes(&model), before);
            refused += 1;
        }
    }
    assert!(refused > 0);
}

#[test]
fn rows_too_large_for_ridge_are_refused_and_the_call_undone() {
    let (mut x, y) = data(7, 900, 3, 1);
    let mut refused = 0;
    for scale in [1e2, 1e5, 1e8] {
        x.slice_mut(s![300.., ..]).mapv_inplace(|v| v * scale);
        for kernel in [KernelSpec::Linear {}, KernelSpec::Polynomial { degree: 3, scale: None, offset: 1.0 }]
        {
            let learner = LearnerSpec::Ridge(RidgeSpec { regularization: 1e-4, ..RidgeSpec::default() });
            let mut model = ModelSpec { kernel, learner, ..ModelSpec::default() }.build().unwrap();
            model.learn(x.slice(s![..300, ..]), y.slice(s![..300, ..])).unwrap();
            let before = bytes(&model);
            if model.learn(x.slice(s![300.., ..]), y.slice(s![300.., ..])).is_err() {
                assert_eq!(bytes(&model), before);
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

#[test]
fn no_rows_is_no_change() {
    for spec in every_model() {
        let mut model = spec.build().unwrap();
        let before = bytes(&model);
        model.learn(Array2::zeros((0, 3)).view(), Array2::zeros((0, 1)).view()).unwrap();
        assert_eq!(bytes(&model), before);
    }
}

#[test]
fn repeated_and_zero_rows_are_ordinary() {
    for kernel in [gaussian(1.0), KernelSpec::Linear {}, KernelSpec::Laplacian { bandwidth: None }] {
        for learner in learners() {
            let spec = ModelSpec {
                kernel: kernel.clone(),
                basis: BasisSpec::AllPoints { max_size: None, loss_driven: false },
                learner,
            };
            let mut model = spec.build().unwrap();
            let x = Array2::from_shape_fn((50, 2), |(i, _)| (i % 2) as f64);
            let y = Array2::from_shape_fn((50, 1), |(i, _)| (i % 2) as f64);
            let predictions = model.learn_and_predict(x.view(), y.view()).unwrap();
            assert!(predictions.iter().all(|v| v.is_finite()), "{spec:?}");
            assert!(model.n_stored() <= 2);
        }
    }
}

/// Kernel ridge regression solved from scratch in each round, and the Kernel-AWV prediction beside it, through
/// the Cholesky factor of `K + lambda I`.
fn oracle(kernel: &Kernel, lambda: f64, x: &Array2<f64>, y: &Array2<f64>) -> Vec<(f64, f64)> {
    let n = x.nrows();
    let row = |i: usize| x.row(i).to_vec();
    let mut l = Array2::<f64>::zeros((n, n));
    let mut r = vec![0.0; n];
    let mut out = Vec::new();
    for i in 0..n {
        for j in 0..=i {
            let mut value = kernel.eval(&row(i), &row(j));
            if i == j {
                value += lambda;
            }
            for k in 0..j {
                value -= l[(i, k)] * l[(j, k)];
            }
            l[(i, j)] = if i == j { value.sqrt() } else { value / l[(j, j)] };
        }
        r[i] = (y[(i, 0)] - (0..i).map(|k| l[(i, k)] * r[k]).sum::<f64>()) / l[(i, i)];
        // y_t - f_t = L_tt r_t, and Kernel-AWV predicts (lambda / L_tt^2) f_t.
        let ridge = y[(i, 0)] - l[(i, i)] * r[i];
        out.push((ridge, lambda / l[(i, i)].powi(2) * ridge));
    }
    out
}

#[test]
fn on_all_points_ridge_and_awv_equal_the_cholesky_oracle() {
    let (x, y) = data(6, 300, 4, 1);
    for (spec, lambda) in [(gaussian(0.5), 0.1), (KernelSpec::Matern32 { bandwidth: Some(2.0) }, 1.0)] {
        let truth = oracle(&spec.resolve(4).unwrap(), lambda, &x, &y);
        let ridge = presets::kernel_ridge(spec.clone(), lambda)
            .build()
            .unwrap()
            .learn_and_predict(x.view(), y.view())
            .unwrap();
        let awv =
            presets::kernel_awv(spec, lambda).build().unwrap().learn_and_predict(x.view(), y.view()).unwrap();
        for (i, (f, g)) in truth.iter().enumerate() {
            assert!((ridge[(i, 0)] - f).abs() < 1e-8, "ridge at row {i}: {} and {f}", ridge[(i, 0)]);
            assert!((awv[(i, 0)] - g).abs() < 1e-8, "AWV at row {i}: {} and {g}", awv[(i, 0)]);
        }
    }
}

#[test]
fn krls_is_the_limit_of_ridge() {
    let (x, y) = data(7, 400, 2, 1);
    let predictions = |lambda: f64| {
        let learner =
            RidgeSpec { regularization: lambda, center: false, clip: false, ..RidgeSpec::default() };
        let spec = ModelSpec {
            kernel: gaussian(1.0),
            basis: BasisSpec::Ald { tolerance: 1e-2, max_size: None, loss_driven: false },
            learner: LearnerSpec::Ridge(learner),
        };
        spec.build().unwrap().learn_and_predict(x.view(), y.view()).unwrap()
    };
    let limit = predictions(0.0);
    let gap = |lambda: f64| (&predictions(lambda) - &limit).iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    let (far, near) = (gap(1e-5), gap(1e-7));
    assert!(near < 1e-3, "{near}");
    assert!((far / near - 100.0).abs() < 20.0, "the difference is proportional to lambda: {far} {near}");
}

#[test]
fn ridge_adapts_to_drift_when_it_forgets() -> Result<()> {
    let (x, mut y) = data(8, 4000, 2, 1);
    // The target turns around halfway.
    y.slice_mut(s![2000.., ..]).mapv_inplace(|v| -v);
    let error = |forgetting: f64| -> Result<f64> {
        let spec = ModelSpec {
            kernel: gaussian(1.0),
            learner: LearnerSpec::Ridge(RidgeSpec { forgetting, ..RidgeSpec::default() }),
            ..ModelSpec::default()
        };
        let predictions = spec.build()?.learn_and_predict(x.view(), y.view())?;
        let late = (&predictions - &y).slice(s![2500.., ..]).mapv(|e| e * e);
        Ok(late.sum() / late.len() as f64)
    };
    let (keeps, forgets) = (error(1.0)?, error(0.99)?);
    assert!(forgets < 0.1 * keeps, "forgetting {forgets}, keeping {keeps}");
    Ok(())
}

#[test]
fn forgetting_does_not_wind_up_where_no_data_come() {
    let spec = ModelSpec {
        kernel: gaussian(0.5),
        learner: LearnerSpec::Ridge(RidgeSpec { forgetting: 0.9, ..RidgeSpec::default() }),
        ..ModelSpec::default()
    };
    let mut model = spec.build().unwrap();
    let (x, y) = data(9, 200, 2, 1);
    model.learn(x.view(), y.view()).unwrap();
    // Then 20,000 rows at one place: plain forgetting would divide P by 0.9 each time.
    let (x, y) = (Array2::from_elem((20_000, 2), 0.1), Array2::from_elem((20_000, 1), 0.5));
    model.learn(x.view(), y.view()).unwrap();
    let (x, y) = data(10, 200, 2, 1);
    let predictions = model.learn_and_predict(x.view(), y.view()).unwrap();
    assert!(predictions.iter().all(|v| v.abs() < 2.0));
    let inverse = model.to_bytes(serde_json::Value::Null).unwrap();
    let reader = kernelstream::persist::Reader::open(&inverse).unwrap();
    let (_, _, entries) = reader.matrix("learner.inverse").unwrap();
    let largest = entries.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    assert!(largest < 1e5, "largest entry of P: {largest}");
}

#[test]
fn several_outputs_are_several_models_where_the_learner_is_linear_in_them() {
    let (x, y) = data(11, 250, 3, 3);
    for learner in learners() {
        let linear = match &learner {
            LearnerSpec::Ridge(_) => true,
            LearnerSpec::Gradient(g) => g.schedule == Schedule::Constant && g.radius.is_none(),
            _ => false,
        };
        if !linear {
            continue;
        }
        let spec = ModelSpec { kernel: gaussian(0.9), learner, ..ModelSpec::default() };
        let together = spec.build().unwrap().learn_and_predict(x.view(), y.view()).unwrap();
        for c in 0..3 {
            let alone = spec.build().unwrap().learn_and_predict(x.view(), y.slice(s![.., c..=c])).unwrap();
            let gap = (&alone - &together.slice(s![.., c..=c])).mapv(f64::abs);
            assert!(gap.iter().all(|v| *v < 1e-12), "{spec:?}");
        }
    }
}

#[test]
fn coefficients_on_the_stored_points_make_the_same_function() -> Result<()> {
    let (x, y) = data(14, 200, 2, 2);
    let learner = Ridge::new(RidgeSpec { center: false, clip: false, ..RidgeSpec::default() })?;
    let mut model = Stream::new(Nested::ald(gaussian(0.8), 1e-3)?, learner);
    model.learn(x.view(), y.view())?;
    let (stored, a) = (model.dictionary(), model.coefficients());
    let kernel = gaussian(0.8).resolve(2)?;
    let predictions = model.predict(x.view())?;
    for (x, f) in x.rows().into_iter().zip(predictions.rows()) {
        for c in 0..2 {
            let sum: f64 = stored
                .rows()
                .into_iter()
                .zip(a.column(c))
                .map(|(s, a)| a * kernel.eval(&s.to_vec(), &x.to_vec()))
                .sum();
            assert!((sum - f[c]).abs() < 1e-8, "{sum} and {}", f[c]);
        }
    }
    Ok(())
}

#[test]
fn models_cross_threads() {
    fn check<T: Send + Sync>() {}
    check::<AnyStream>();
    check::<Kernel>();
    check::<Error>();
}

#[test]
fn half_a_file_and_other_files_are_refused() {
    let (x, y) = data(12, 40, 2, 1);
    let mut model = ModelSpec::default().build().unwrap();
    model.learn(x.view(), y.view()).unwrap();
    let whole = bytes(&model);
    for cut in [0, 1, 7, 8, 20, whole.len() / 2, whole.len() - 1] {
        assert!(matches!(AnyStream::from_bytes(&whole[..cut]), Err(Error::ModelFile { .. })), "{cut}");
    }
}

#[test]
#[cfg(feature = "files")]
fn a_file_is_written_whole_and_errors_are_the_systems() {
    let (x, y) = data(12, 40, 2, 1);
    let mut model = ModelSpec::default().build().unwrap();
    model.learn(x.view(), y.view()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    model.save(&path, serde_json::json!({"note": "mine"})).unwrap();
    let (again, extra) = AnyStream::load(&path).unwrap();
    assert_eq!(bytes(&again), bytes(&model));
    assert_eq!(extra["note"], "mine");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    assert!(matches!(AnyStream::load(&folder.path().join("none")), Err(Error::Io { .. })));
    assert!(model.save(&folder.path().join("no/such/folder"), serde_json::Value::Null).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn flipped_bytes_never_panic(at in 0_usize..20_000, bit in 0_u8..8) {
        let (x, y) = data(13, 30, 2, 1);
        let mut model = ModelSpec::default().build().unwrap();
        model.learn(x.view(), y.view()).unwrap();
        let mut damaged = bytes(&model);
        let at = at % damaged.len();
        damaged[at] ^= 1 << bit;
        // An error or a model; if a model, one that can be used.
        if let Ok((mut model, _)) = AnyStream::from_bytes(&damaged) {
            let _ = model.learn(x.view(), y.view());
            let _ = model.predict(x.view());
        }
    }

    #[test]
    fn the_dictionary_explains_every_point(
        seed in 0_u64..1000, tolerance in 1e-4_f64..0.3, width in 1_usize..4,
    ) {
        let (x, y) = data(seed, 150, width, 1);
        let basis = BasisSpec::Ald { tolerance, max_size: None, loss_driven: false };
        let spec = ModelSpec { kernel: gaussian(0.7), basis, ..ModelSpec::default() };
        let mut model = spec.build().unwrap();
        model.learn(x.view(), y.view()).unwrap();
        let z = model.transform(x.view()).unwrap();
        for row in z.rows() {
            let residual = 1.0 - row.dot(&row);
            prop_assert!((-1e-12..=tolerance + 1e-12).contains(&residual), "{residual}");
        }
        // Inner products of coordinates are the kernel of the projections: exact on stored points.
        let stored = model.dictionary();
        let z = model.transform(stored.view()).unwrap();
        let gram = z.dot(&z.t());
        let kernel = gaussian(0.7).resolve(width).unwrap();
        for i in 0..stored.nrows() {
            for j in 0..stored.nrows() {
                let truth = kernel.eval(&stored.row(i).to_vec(), &stored.row(j).to_vec());
                prop_assert!((gram[(i, j)] - truth).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn random_cuts_give_the_same_state(seed in 0_u64..1000, cuts in prop::collection::vec(0_usize..120, 0..6)) {
        let (x, y) = data(seed, 120, 2, 1);
        let spec = ModelSpec { kernel: gaussian(0.6), ..ModelSpec::default() };
        let mut whole = spec.build().unwrap();
        whole.learn(x.view(), y.view()).unwrap();
        let mut cuts = cuts;
        cuts.extend([0, 120]);
        cuts.sort_unstable();
        let mut parts = spec.build().unwrap();
        for pair in cuts.windows(2) {
            parts.learn(x.slice(s![pair[0]..pair[1], ..]), y.slice(s![pair[0]..pair[1], ..])).unwrap();
        }
        prop_assert!(difference(&whole, &parts, &x) < 1e-10);
    }
}

/// A basis with no more than it takes to grow.
#[derive(Clone)]
struct PlainBasis(Nested);

impl Basis for PlainBasis {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn width(&self) -> Option<usize> {
        self.0.width()
    }

    fn begin(&mut self, width: usize) -> Result<()> {
        self.0.begin(width)
    }

    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64 {
        self.0.features(x, z)
    }

    fn project(&mut self, x: &[f64], z: &mut Coordinates) -> f64 {
        self.0.project(x, z)
    }

    fn insert(&mut self, x: &[f64], z: &mut Coordinates) {
        self.0.insert(x, z);
    }

    fn rollback(&mut self, dim: usize) {
        self.0.rollback(dim);
    }
}

impl BasisBlocks for PlainBasis {}

impl BasisGrowth for PlainBasis {}

impl BasisPoints for PlainBasis {}

/// A learner with no more than it takes, which refuses targets above 100.
#[derive(Clone)]
struct PlainLearner(Ridge);

impl Learner for PlainLearner {
    fn weights(&self) -> &Panel {
        self.0.weights()
    }

    fn begin(&mut self, n_outputs: usize) {
        self.0.begin(n_outputs);
    }

    fn grow(&mut self, dim: usize) {
        self.0.grow(dim);
    }

    fn shrink(&mut self, dim: usize) {
        self.0.shrink(dim);
    }

    fn predict(&self, z: &Coordinates, residual: f64, out: &mut [f64]) {
        self.0.predict(z, residual, out);
    }

    fn learn(&mut self, z: &Coordinates, y: &[f64], weight: f64, prediction: &mut [f64]) -> Result<()> {
        if y.iter().any(|value| *value > 100.0) {
            return Err(Error::Unstable { row: 0 });
        }
        self.0.learn(z, y, weight, prediction)
    }
}

impl LearnerLimits for PlainLearner {}

impl LearnerBlocks for PlainLearner {}

impl LearnerMemory for PlainLearner {}

impl LearnerUncertainty for PlainLearner {}

#[test]
fn an_own_basis_and_learner_need_no_more_than_the_required_methods() {
    let basis = || Nested::ald(Kernel::gaussian(0.5).unwrap(), 1e-3).unwrap();
    let ridge = || Ridge::new(RidgeSpec::default()).unwrap();
    let mut plain = Stream::new(PlainBasis(basis()), PlainLearner(ridge()));
    let mut full = Stream::new(basis(), ridge());
    let x = Array2::from_shape_fn((600, 2), |(i, j)| (i as f64 * [0.618, 0.414][j]).fract());
    let y = x.map_axis(Axis(1), |row| (5.0 * row[0]).sin() + row[1]).insert_axis(Axis(1));
    let found = plain.learn_and_predict(x.view(), y.view()).unwrap();
    let expected = full.learn_and_predict(x.view(), y.view()).unwrap();
    assert!((&found - &expected).iter().all(|gap| gap.abs() < 1e-8));
    assert_eq!(plain.basis().dim(), full.n_stored());
    let (found, expected) = (plain.predict(x.view()).unwrap(), full.predict(x.view()).unwrap());
    assert!((&found - &expected).iter().all(|gap| gap.abs() < 1e-8));

    // A row refused after others that would have grown the basis: all of them are undone, by default too.
    let far = &x + 3.0;
    let mut wrong = y.clone();
    wrong[(400, 0)] = 101.0;
    let error = plain.learn(far.view(), wrong.view()).unwrap_err();
    assert!(matches!(error, Error::Unstable { row: 400 }), "{error}");
    assert!(matches!(plain.learn_one(&[9.0, 9.0], &[101.0]), Err(Error::Unstable { .. })));
    let bad = Array2::from_elem((1, 2), f64::NAN);
    assert!(matches!(plain.learn(bad.view(), y.slice(s![..1, ..])), Err(Error::NotFinite { row: 0, .. })));
    assert_eq!(plain.n_seen(), 600);
    assert_eq!(plain.predict(x.view()).unwrap(), found);
}
