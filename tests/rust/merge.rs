//! Models learned in parts and merged, against least squares on all rows written out here.

use faer::Mat;
use faer::prelude::Solve as _;
use kernelstream::basis::{BasisSpec, FourierSpec};
use kernelstream::kernel::KernelSpec;
use kernelstream::koopman::{ControlSpec, DictionariesSpec, Koopman, KoopmanSpec, Truncation};
use kernelstream::learner::{
    GaussNewtonSpec, GradientSpec, History, LearnerSpec, Memory, OnlineNewtonSpec, RidgeSpec,
};
use kernelstream::stream::{AnyStream, ModelSpec};
use kernelstream::{AnyModel, Introspection as _, Merge as _, Model as _, Persist as _, Result};
use ndarray::{Array2, ArrayView2, Axis, s};
use proptest::prelude::*;
use serde_json::json;

const LAMBDA: f64 = 1e-2;

/// Noisy functions of two features, all different.
fn data(rows: usize, outputs: usize) -> (Array2<f64>, Array2<f64>) {
    let golden = |i: usize, k: usize| ((i + 1) as f64 * [0.618_034, 0.754_878, 0.569_840][k]).fract();
    let x = Array2::from_shape_fn((rows, 2), |(i, k)| 2.0 * golden(i, k) - 1.0);
    let y = Array2::from_shape_fn((rows, outputs), |(i, c)| {
        (2.0 * x[(i, 0)] + (c as f64) * x[(i, 1)]).sin() + 0.2 * golden(i, 2) + 1.0
    });
    (x, y)
}

fn stream(basis: BasisSpec, ridge: RidgeSpec) -> AnyStream {
    let kernel = KernelSpec::Gaussian { bandwidth: Some(0.8) };
    ModelSpec { kernel, basis, learner: LearnerSpec::Ridge(ridge) }.build().unwrap()
}

fn ridge() -> RidgeSpec {
    RidgeSpec { regularization: LAMBDA, ..RidgeSpec::default() }
}

/// Predictions of clipped ridge regression with an intercept, which has no penalty, on coordinates, by one dense system.
fn dense(z: &Array2<f64>, y: &Array2<f64>) -> Array2<f64> {
    let (n, m) = z.dim();
    let (mean, middle) = (y.mean_axis(Axis(0)).unwrap(), z.mean_axis(Axis(0)).unwrap());
    let z = Mat::from_fn(n, m, |i, j| z[(i, j)] - middle[j]);
    let curvature = z.transpose() * &z + Mat::<f64>::identity(m, m) * faer::Scale(LAMBDA);
    let targets = Mat::from_fn(n, y.ncols(), |i, c| y[(i, c)] - mean[c]);
    let weights = curvature.llt(faer::Side::Lower).unwrap().solve(z.transpose() * targets);
    let made = z * weights;
    Array2::from_shape_fn(y.raw_dim(), |(i, c)| {
        let column = y.column(c);
        let (low, high) =
            (column.fold(f64::INFINITY, |a, b| a.min(*b)), column.fold(-9e9_f64, |a, b| a.max(*b)));
        (mean[c] + made[(i, c)]).clamp(low, high)
    })
}

fn far(a: ArrayView2<'_, f64>, b: ArrayView2<'_, f64>) -> f64 {
    assert_eq!(a.dim(), b.dim());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// A copy of a model for each part, which learns the rows between two cuts.
fn parts(model: &AnyStream, x: &Array2<f64>, y: &Array2<f64>, cuts: &[usize]) -> Vec<AnyStream> {
    let learned = |cut: &[usize]| {
        let (mut part, rows) = (model.clone(), s![cut[0]..cut[1], ..]);
        part.learn(x.slice(rows), y.slice(rows)).unwrap();
        part
    };
    cuts.windows(2).map(learned).collect()
}

fn merged(parts: &[AnyStream]) -> AnyStream {
    let mut model = parts[0].clone();
    model.merge(&parts[1..].iter().collect::<Vec<_>>()).unwrap();
    model
}

#[test]
fn parts_on_one_dictionary_are_one_least_squares() -> Result<()> {
    let (x, y) = data(300, 2);
    let bases = [
        BasisSpec::ald(1e-3),
        BasisSpec::all_points(),
        BasisSpec::FirstPoints { size: 20, loss_driven: false, rank: None },
        BasisSpec::Fourier(FourierSpec { size: 20, ..FourierSpec::default() }),
        BasisSpec::Taylor { degree: 3 },
    ];
    for basis in bases {
        let mut model = stream(basis, ridge());
        model.learn(x.slice(s![..60, ..]), y.slice(s![..60, ..]))?;
        model.freeze_dictionary()?;
        assert_eq!(model.n_seen(), 0);
        let reference = dense(&model.transform(x.view())?, &y);
        let single: Vec<usize> = (0..=300).collect();
        for cuts in [&[0, 300][..], &[0, 100, 100, 101, 300], &single] {
            let model = merged(&parts(&model, &x, &y, cuts));
            assert_eq!(model.n_seen(), 300);
            assert!(far(model.predict(x.view())?.view(), reference.view()) < 1e-9);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn who_merges_whom_does_not_matter(
        cuts in prop::collection::vec(0_usize..200, 3),
        tolerance in prop::sample::select(vec![1e-1, 1e-3]),
    ) {
        let (x, y) = data(200, 1);
        let mut cuts = [vec![0, 200], cuts].concat();
        cuts.sort_unstable();
        let parts = parts(&stream(BasisSpec::ald(tolerance), ridge()), &x, &y, &cuts);
        let reversed: Vec<_> = parts.iter().rev().cloned().collect();
        let (one, other) = (merged(&parts), merged(&reversed));
        prop_assert_eq!(one.dictionary(), other.dictionary());
        let made = [one, other].map(|model| model.predict(x.view()).unwrap());
        prop_assert!(far(made[0].view(), made[1].view()) < 1e-9);
    }
}

#[test]
fn in_which_order_does_not_matter_where_the_joint_dictionary_is_the_same() -> Result<()> {
    let (x, y) = data(90, 1);
    // All points, so that whoever merges whom stores them all.
    let model = stream(BasisSpec::ald(0.0), ridge());
    let parts = parts(&model, &x, &y, &[0, 4, 7, 9]);
    let left = merged(&[merged(&parts[..2]), parts[2].clone()]);
    let right = merged(&[parts[0].clone(), merged(&parts[1..])]);
    assert_eq!(left.dictionary(), right.dictionary());
    assert!(far(left.predict(x.view())?.view(), right.predict(x.view())?.view()) < 1e-9);
    Ok(())
}

#[test]
fn parts_with_dictionaries_of_their_own_predict_nearly_as_one() -> Result<()> {
    let (x, y) = data(2000, 1);
    let model = stream(BasisSpec::ald(1e-4), ridge());
    let mut one = model.clone();
    one.learn(x.view(), y.view())?;
    let several = merged(&parts(&model, &x, &y, &[0, 500, 1000, 1500, 2000]));
    let error = |model: &AnyStream| (model.predict(x.view()).unwrap() - &y).mapv(|e| e * e).sum();
    assert!(error(&several) < 1.02 * error(&one));
    // It continues where they stopped, and its file is that of any model.
    let (mut several, _) = AnyStream::from_bytes(&several.to_bytes(serde_json::Value::Null)?)?;
    several.learn(x.view(), y.view())?;
    assert_eq!(several.n_seen(), 4000);
    Ok(())
}

#[test]
fn what_has_learned_nothing_counts_for_nothing() -> Result<()> {
    let (x, y) = data(100, 1);
    let empty = stream(BasisSpec::ald(1e-3), ridge());
    let mut model = empty.clone();
    model.learn(x.view(), y.view())?;
    let before = model.to_bytes(serde_json::Value::Null)?;
    model.merge(&[&empty, &empty])?;
    assert_eq!(model.to_bytes(serde_json::Value::Null)?, before);
    let mut into = empty.clone();
    into.merge(&[&empty, &model])?;
    assert_eq!(into.to_bytes(serde_json::Value::Null)?, before);
    Ok(())
}

#[test]
fn a_frozen_dictionary_stays_frozen_in_its_file() -> Result<()> {
    let (x, y) = data(300, 1);
    let mut model = stream(BasisSpec::ald(1e-3), ridge());
    model.learn(x.slice(s![..20, ..]), y.slice(s![..20, ..]))?;
    model.freeze_dictionary()?;
    let (mut loaded, _) = AnyStream::from_bytes(&model.to_bytes(serde_json::Value::Null)?)?;
    loaded.learn(x.view(), y.view())?;
    assert_eq!(loaded.dictionary(), model.dictionary());
    assert!(loaded.merge(&[&stream(BasisSpec::ald(1e-3), ridge())]).is_ok());
    let mut free = stream(BasisSpec::ald(1e-3), ridge());
    free.learn(x.view(), y.view())?;
    assert!(loaded.merge(&[&free]).unwrap_err().to_string().contains("frozen"));
    Ok(())
}

#[test]
fn a_frozen_copy_adds_to_its_original_which_stays_free() -> Result<()> {
    let (x, y) = data(300, 1);
    let mut model = stream(BasisSpec::ald(1e-3), ridge());
    model.learn(x.slice(s![..100, ..]), y.slice(s![..100, ..]))?;
    let mut copy = model.clone();
    copy.freeze_dictionary()?;
    copy.learn(x.slice(s![100.., ..]), y.slice(s![100.., ..]))?;
    let stored = model.n_stored();
    model.merge(&[&copy])?;
    assert_eq!((model.n_seen(), model.n_stored()), (300, stored));
    let far = &x.slice(s![..1, ..]) + 9.0;
    model.learn(far.view(), y.slice(s![..1, ..]))?;
    assert_eq!(model.n_stored(), stored + 1);
    Ok(())
}

#[test]
fn what_does_not_add_says_what_does() -> Result<()> {
    let (x, y) = data(30, 1);
    let learner = |spec: LearnerSpec| json!({"learner": spec});
    let ridge = |spec| learner(LearnerSpec::Ridge(spec));
    let cases = [
        (learner(LearnerSpec::Gradient(GradientSpec::default())), "ridge"),
        (learner(LearnerSpec::OnlineNewton(OnlineNewtonSpec::default())), "ridge"),
        (learner(LearnerSpec::GaussNewton(GaussNewtonSpec::default())), "ridge"),
        (ridge(RidgeSpec { forgetting: 0.9, ..RidgeSpec::default() }), "forgetting"),
        (ridge(RidgeSpec { regularization: 0.0, ..RidgeSpec::default() }), "regularization"),
        (json!({"basis": {"type": "kors"}}), "ald"),
        (json!({"basis": {"type": "first_points", "size": 9, "rank": 3}}), "ald"),
        (json!({"learner": {"type": "budgeted_gradient"}}), "ridge"),
        (json!({"experts": [{}, {}]}), "ridge"),
        (json!({"columns": {}}), "scale"),
        (
            json!({"labels": {"classes": [0, 1], "link": "calibrated"}, "model": {"learner": {"type": "ridge"}}}),
            "calibrated",
        ),
        (
            json!({
                "labels": {"classes": [0, 1], "link": "calibrated_logistic"},
                "model": {"learner": {"type": "ridge"}},
            }),
            "calibrated",
        ),
    ];
    for (spec, named) in cases {
        let mut model = AnyModel::from_spec(spec.clone())?;
        let targets =
            if spec.get("labels").is_some() { y.mapv(|y| f64::from(u8::from(y > 1.0))) } else { y.clone() };
        model.learn(x.view(), targets.view())?;
        let before = model.to_bytes(serde_json::Value::Null)?;
        let error = model.merge(&[&model.clone()]).unwrap_err().to_string();
        assert!(error.contains(named), "{spec}: {error}");
        assert_eq!(model.to_bytes(serde_json::Value::Null)?, before);
    }
    let (mut model, other) =
        (AnyModel::from_json("{}")?, AnyModel::from_json(r#"{"basis": {"type": "ald", "tolerance": 0.1}}"#)?);
    assert!(model.merge(&[&other]).unwrap_err().to_string().contains("same specification"));
    Ok(())
}

#[test]
fn tables_that_began_as_copies_add_up() -> Result<()> {
    let (x, y) = data(400, 1);
    let x = x * 100.0 + 7.0;
    let spec = json!({"columns": {}, "labels": {"classes": [0, 1]}, "model": {"learner": {"type": "ridge"}}});
    let codes = y.mapv(|y| f64::from(u8::from(y > 1.0)));
    let mut model = AnyModel::from_spec(spec)?;
    model.learn(x.slice(s![..100, ..]), codes.slice(s![..100, ..]))?;
    model.freeze_dictionary()?;
    let learned = |rows: std::ops::Range<usize>| -> Result<AnyModel> {
        let (mut part, rows) = (model.clone(), s![rows, ..]);
        part.learn(x.slice(rows), codes.slice(rows))?;
        Ok(part)
    };
    let (whole, mut half) = (learned(0..400)?, learned(0..150)?);
    half.merge(&[&learned(150..400)?, &learned(0..0)?])?;
    let outputs = |model: &AnyModel| model.as_table().map(|table| table.outputs(x.view()).unwrap()).unwrap();
    assert!(far(outputs(&half).view(), outputs(&whole).view()) < 1e-9);
    let counts = |model: &AnyModel| model.as_table().unwrap().labels().unwrap().counts().to_vec();
    assert_eq!(counts(&half), counts(&whole));
    let (loaded, _) = AnyModel::from_bytes(&half.to_bytes(serde_json::Value::Null)?)?;
    assert_eq!(loaded.predict(x.view())?, half.predict(x.view())?);
    Ok(())
}

/// Pairs of a turning and shrinking state, and what acts on it.
fn pairs(n: usize, inputs: bool) -> (Array2<f64>, Array2<f64>) {
    let (x, u) = data(n, 1);
    let next = Array2::from_shape_fn((n, 2), |(i, k)| {
        let turned = if k == 0 { x[(i, 0)] - 0.4 * x[(i, 1)] } else { 0.4 * x[(i, 0)] + x[(i, 1)] };
        0.8 * turned + if inputs { 0.1 * u[(i, 0)] } else { 0.0 }
    });
    let x = if inputs { ndarray::concatenate![Axis(1), x, u] } else { x };
    (x, next)
}

#[test]
fn operators_add_up() -> Result<()> {
    for control in [None, Some(ControlSpec { width: 1, kernel: KernelSpec::default() })] {
        let (x, next) = pairs(300, control.is_some());
        let dictionaries = DictionariesSpec::Shared(BasisSpec::ald(1e-3));
        let spec = KoopmanSpec { dictionaries, control: control.clone(), ..KoopmanSpec::default() };
        let learned = |model: &Koopman, rows: std::ops::Range<usize>| -> Result<Koopman> {
            let (mut part, rows) = (model.clone(), s![rows, ..]);
            part.learn(x.slice(rows), next.slice(rows))?;
            Ok(part)
        };
        let mut frozen = learned(&spec.build()?, 0..100)?;
        frozen.freeze_dictionary()?;
        let whole = learned(&frozen, 0..300)?;
        let mut half = learned(&frozen, 0..1)?;
        half.merge(&[&learned(&frozen, 1..200)?, &learned(&frozen, 200..300)?, &spec.build()?])?;
        assert_eq!((half.n_seen(), half.n_stored()), (300, whole.n_stored()));
        assert!(far(half.coordinates().unwrap().view(), whole.coordinates().unwrap().view()) < 1e-9);

        // Dictionaries of their own.
        let one = learned(&spec.build()?, 0..300)?;
        let mut several = learned(&spec.build()?, 0..150)?;
        several.merge(&[&learned(&spec.build()?, 150..300)?])?;
        let ahead = |model: &Koopman| {
            let (states, inputs) = x.view().split_at(Axis(1), 2);
            let made = match &control {
                None => model.forecast(states, &[1], Truncation::default()),
                Some(_) => model.forecast_under(states, inputs.insert_axis(Axis(1)), &[1]),
            };
            made.unwrap().index_axis_move(Axis(0), 0)
        };
        assert!(far(ahead(&one).view(), ahead(&several).view()) < 2e-2);
        if control.is_none() {
            let value = |model: &Koopman| model.spectrum().unwrap().values()[1];
            assert!((value(&half) - value(&whole)).norm() < 1e-8);
            assert!((value(&several) - value(&one)).norm() < 1e-2);
        }
    }
    Ok(())
}

#[test]
fn rows_that_are_remembered_are_all_there_is_to_know() -> Result<()> {
    let (x, y) = data(240, 2);
    let cuts = [0, 80, 150, 240];
    let remembering = |history, reservoir| RidgeSpec { history, reservoir, ..ridge() };
    // Whatever the parts stored, the rows are in the joint coordinates to the last.
    for spec in [remembering(History::Exact, 500), remembering(History::Reservoir, 500)] {
        let model = merged(&parts(&stream(BasisSpec::ald(1e-2), spec), &x, &y, &cuts));
        let reference = dense(&model.transform(x.view())?, &y);
        assert!(far(model.predict(x.view())?.view(), reference.view()) < 1e-8);
    }
    // Forgotten rows are approximated better than by parts without a memory.
    let (x, y) = data(1200, 2);
    let error = |spec| -> Result<f64> {
        let model = merged(&parts(&stream(BasisSpec::ald(1e-3), spec), &x, &y, &[0, 400, 750, 1200]));
        let reference = dense(&model.transform(x.view())?, &y);
        Ok((model.predict(x.view())? - reference).mapv(|value| value * value).sum())
    };
    let (some, none) = (error(remembering(History::Reservoir, 100))?, error(ridge())?);
    assert!(some < 0.5 * none, "{some} {none}");
    Ok(())
}

#[test]
fn what_is_remembered_of_parts_is_a_sample_of_all_rows() {
    let (x, y) = data(600, 1);
    let spec = RidgeSpec { history: History::Reservoir, reservoir: 40, ..ridge() };
    let model = stream(BasisSpec::ald(1e-2), spec);
    let mut of_the_small = 0;
    for start in 0..10 {
        // A part of 100 rows beside one of 500: it has a sixth of the sample, not half.
        let shifted = |a: &Array2<f64>| {
            ndarray::concatenate![Axis(0), a.slice(s![60 * start.., ..]), a.slice(s![..60 * start, ..])]
        };
        let (x, y) = (shifted(&x), shifted(&y));
        let mut learned = parts(&model, &x, &y, &[0, 100, 600]);
        let one = merged(&learned);
        learned.reverse();
        let other = merged(&learned);
        let rows = |model: &AnyStream| model.learner().memory().map(Memory::points).unwrap();
        assert_eq!(rows(&one), rows(&other));
        assert_eq!(rows(&one).nrows(), 40);
        let small = x.slice(s![..100, ..]);
        of_the_small +=
            rows(&one).rows().into_iter().filter(|row| small.rows().into_iter().any(|it| it == row)).count();
    }
    assert!((40..95).contains(&of_the_small), "{of_the_small} of 400, where 67 are expected");
}
