use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, Axis, s};

use super::*;
use crate::random::normal;
use crate::table::category;

fn rows(n: usize, d: usize, seed: u64) -> Array2<f64> {
    Array2::from_shape_fn((n, d), |(i, k)| normal(seed, (i * d + k) as u64))
}

/// A model of this specification that has learned two functions of the columns.
fn learned(spec: &str, x: ArrayView2<'_, f64>) -> AnyModel {
    let mut model = AnyModel::from_json(spec).unwrap();
    let target = |x: ArrayView1<'_, f64>, c: usize| {
        let sum: f64 = x.iter().enumerate().map(|(k, x)| (x + (k + c) as f64).sin()).sum();
        sum + x[0] * x[x.len() - 1]
    };
    let y = Array2::from_shape_fn((x.nrows(), 2), |(i, c)| target(x.row(i), c));
    model.learn(x, y.view()).unwrap();
    model
}

/// Shapley values by all sets of columns, of predictions (n, p, d).
fn by_all_sets(model: &AnyModel, x: ArrayView2<'_, f64>, background: ArrayView2<'_, f64>) -> Array3<f64> {
    let d = x.ncols();
    let factorial = |n: usize| (1..=n).map(|k| k as f64).product::<f64>();
    let outputs = model.n_outputs().unwrap();
    let mut values = Array3::zeros((x.nrows(), outputs, d));
    for i in 0..x.nrows() {
        let of_set: Vec<Array1<f64>> = (0..1_usize << d)
            .map(|set| {
                let mut mixed = background.to_owned();
                for k in (0..d).filter(|k| set >> k & 1 == 1) {
                    mixed.column_mut(k).fill(x[(i, k)]);
                }
                model.predict(mixed.view()).unwrap().mean_axis(Axis(0)).unwrap()
            })
            .collect();
        for (set, k) in (0..1_usize << d).flat_map(|set| (0..d).map(move |k| (set, k))) {
            if set >> k & 1 == 0 {
                let size = set.count_ones() as usize;
                let weight = factorial(size) * factorial(d - 1 - size) / factorial(d);
                let gain = (&of_set[set | 1 << k] - &of_set[set]) * weight;
                let mut to = values.slice_mut(s![i, .., k]);
                to += &gain;
            }
        }
    }
    values
}

const RIDGE: &str = r#"{"type": "ridge", "clip": false, "regularization": 0.1}"#;

fn largest(difference: Array3<f64>) -> f64 {
    difference.iter().fold(0.0, |most, value| value.abs().max(most))
}

#[test]
fn exact_values_are_those_of_all_sets() {
    let kernels = [
        r#"{"type": "gaussian", "bandwidth": 1.5}"#,
        r#"{"type": "manhattan_laplacian", "bandwidth": 4.0}"#,
        r#"{"type": "linear"}"#,
        r#"{"type": "polynomial", "degree": 1, "scale": 0.3, "offset": 0.7}"#,
        r#"{"type": "sum", "weights": [0.4, 1.6, 0.3], "kernels": [{"type": "gaussian", "bandwidth": 1.0},
            {"type": "manhattan_laplacian"}, {"type": "linear"}]}"#,
    ];
    let scaled = |metric: &str, kernel: &str| {
        format!(r#"{{"type": "mapped", "metric": {{"diagonal": {metric}}}, "kernel": {kernel}}}"#)
    };
    for d in [1, 2, 3, 6] {
        let (x, background) = (rows(40, d, 1), rows(5, d, 2));
        let metric = serde_json::to_string(&(0..d).map(|k| 0.5 + k as f64).collect::<Vec<_>>()).unwrap();
        for kernel in kernels.into_iter().flat_map(|kernel| [kernel.to_string(), scaled(&metric, kernel)]) {
            let spec = format!(
                r#"{{"kernel": {kernel}, "basis": {{"type": "ald", "tolerance": 1e-3}}, "learner": {RIDGE}}}"#
            );
            let model = learned(&spec, x.view());
            let asked = rows(9, d, 3);
            let spec = ExplainSpec { method: Method::Exact, ..ExplainSpec::default() };
            let found = explain(&model, asked.view(), Some(background.view()), spec).unwrap();
            let expected = by_all_sets(&model, asked.view(), background.view());
            assert!(largest(&found.values - &expected) < 1e-12, "{kernel} {d}");
            assert!(found.errors.is_none());
            let sums = found.values.sum_axis(Axis(2)) + &found.base_values;
            let predictions = model.predict(asked.view()).unwrap();
            assert!((sums - predictions).iter().all(|off| off.abs() < 1e-11), "{kernel} {d}");
        }
    }
}

#[test]
fn products_of_kernels_and_budgets_and_mixtures_are_exact_too() {
    let (x, background, asked) = (rows(60, 4, 4), rows(4, 4, 5), rows(5, 4, 6));
    let gaussian = r#"{"type": "gaussian", "bandwidth": 1.5}"#;
    let specs = [
        format!(
            r#"{{"kernel": {{"type": "product", "first": {gaussian}, "second": {{"type": "matern32", "bandwidth": 1.0}},
                "second_width": 1}}, "basis": {{"type": "ald"}}, "learner": {RIDGE}}}"#
        ),
        format!(
            r#"{{"kernel": {{"type": "product", "first": {gaussian}, "second": {{"type": "linear"}}, "second_width": 2}},
                "basis": {{"type": "all_points"}}, "learner": {RIDGE}}}"#
        ),
        format!(
            r#"{{"kernel": {{"type": "product", "first": {gaussian}, "second": {{"type": "sum", "weights": [1.0, 0.5],
                "kernels": [{{"type": "linear"}}, {{"type": "manhattan_laplacian"}}]}}}},
                "basis": {{"type": "all_points"}}, "learner": {RIDGE}}}"#
        ),
        format!(
            r#"{{"kernel": {gaussian}, "learner": {{"type": "budgeted_gradient", "removal": {{"project": 0.1}}}}}}"#
        ),
        format!(
            r#"{{"experts": [{{"kernel": {gaussian}, "learner": {RIDGE}}}, {{"kernel": {{"type": "gaussian", "bandwidth": 3.0}},
                "learner": {RIDGE}}}, {{"kernel": {{"type": "linear"}}, "learner": {RIDGE}}}]}}"#
        ),
    ];
    for spec in specs {
        let model = learned(&spec, x.view());
        let how = ExplainSpec { method: Method::Exact, ..ExplainSpec::default() };
        let found = explain(&model, asked.view(), Some(background.view()), how).unwrap();
        let expected = by_all_sets(&model, asked.view(), background.view());
        assert!(largest(&found.values - &expected) < 1e-12, "{spec}");
        let sums = found.values.sum_axis(Axis(2)) + &found.base_values;
        assert!((sums - model.predict(asked.view()).unwrap()).iter().all(|off| off.abs() < 1e-11), "{spec}");
    }
}

#[test]
fn sampled_values_are_within_their_errors_and_add_up() {
    let (x, background, asked) = (rows(80, 4, 7), rows(6, 4, 8), rows(8, 4, 9));
    let specs = [
        r#"{"kernel": {"type": "matern52"}, "basis": {"type": "ald"}}"#,
        r#"{"kernel": {"type": "polynomial", "degree": 3}, "basis": {"type": "ald"}}"#,
        r#"{"basis": {"type": "fourier", "size": 40}}"#,
        r#"{"kernel": {"type": "mapped", "metric": {"full": [[1.0, 0.5, 0.0, 0.0], [0.0, 0.2, 1.0, 0.4]]},
            "kernel": {"type": "gaussian"}}}"#,
    ];
    for spec in specs {
        let model = learned(spec, x.view());
        let how = ExplainSpec { n_permutations: 40, ..ExplainSpec::default() };
        let found = explain(&model, asked.view(), Some(background.view()), how).unwrap();
        let expected = by_all_sets(&model, asked.view(), background.view());
        let errors = found.errors.unwrap();
        let off = &found.values - &expected;
        assert!(off.iter().zip(&errors).all(|(off, error)| off.abs() < 6.0 * error + 1e-9), "{spec}");
        let squares: f64 = off.iter().zip(&errors).map(|(off, error)| (off / error.max(1e-12)).powi(2)).sum();
        assert!((0.3..2.0).contains(&(squares / off.len() as f64)), "{spec} {}", squares / off.len() as f64);
        let sums = found.values.sum_axis(Axis(2)) + &found.base_values;
        assert!((sums - model.predict(asked.view()).unwrap()).iter().all(|off| off.abs() < 1e-10), "{spec}");
        assert!(explain(&model, asked.view(), None, ExplainSpec { method: Method::Exact, ..how }).is_err());
    }
}

#[test]
fn columns_of_a_table_are_players() {
    let spec = r#"{"model": {"kernel": {"type": "gaussian"}, "learner": {"type": "ridge", "clip": false}},
        "columns": {"gaps": "fill", "named": [{"name": "a"}, {"name": "room", "kind": {"type": "category"}},
            {"name": "at", "kind": {"type": "time"}}, {"name": "b", "kind": {"type": "number", "logarithm": true}}]}}"#;
    let cell = |i: usize, k: usize| match k {
        1 => category(["hall", "attic", "cellar"][i % 3]),
        2 => 1e9 + 40_000.0 * i as f64,
        _ if (i + k).is_multiple_of(7) => f64::NAN,
        _ => normal(10, (4 * i + k) as u64),
    };
    let table = |n: usize, from: usize| Array2::from_shape_fn((n, 4), |(i, k)| cell(i + from, k));
    let x = table(200, 0);
    let y = Array2::from_shape_fn((200, 1), |(i, _)| {
        f64::from(u8::from(i % 3 == 0)) + 0.1 * normal(11, i as u64)
    });
    let mut model = AnyModel::from_json(spec).unwrap();
    model.learn(x.view(), y.view()).unwrap();
    let (asked, background) = (table(6, 300), table(5, 400));
    let found = explain(&model, asked.view(), Some(background.view()), ExplainSpec::default()).unwrap();
    assert!(found.errors.is_none());
    let expected = by_all_sets(&model, asked.view(), background.view());
    assert!(largest(&found.values - &expected) < 1e-12);
    // Stored points are a background too.
    let found = explain(&model, asked.view(), None, ExplainSpec::default()).unwrap();
    let sums = found.values.sum_axis(Axis(2)) + &found.base_values;
    assert!((sums - model.predict(asked.view()).unwrap()).iter().all(|off| off.abs() < 1e-10));
}

#[test]
fn experts_that_choose_themselves_are_sampled() {
    let x = rows(400, 3, 12);
    let model = learned(r#"{"adaptive": {"size": 20}}"#, x.view());
    let found = explain(&model, x.slice(s![..3, ..]), None, ExplainSpec::default()).unwrap();
    let sums = found.values.sum_axis(Axis(2)) + &found.base_values;
    let predictions = model.predict(x.slice(s![..3, ..])).unwrap();
    assert!((sums - predictions).iter().all(|off| off.abs() < 1e-9));
    assert!(found.errors.is_some());
}

#[test]
fn refusals_name_the_row_and_the_remedy() {
    let model = AnyModel::from_json("{}").unwrap();
    let x = rows(5, 2, 13);
    assert!(matches!(explain(&model, x.view(), None, ExplainSpec::default()), Err(Error::NothingLearned)));
    let model = learned(r#"{"basis": {"type": "fourier", "size": 10}}"#, x.view());
    let error = explain(&model, x.view(), None, ExplainSpec::default()).unwrap_err().to_string();
    assert!(error.contains("background"), "{error}");
    let model = learned("{}", x.view());
    let mut bad = x.clone();
    bad[(3, 1)] = f64::NAN;
    let error = explain(&model, bad.view(), None, ExplainSpec::default()).unwrap_err();
    assert_eq!(error.row(), Some(3));
    for odd in [0, 2, 5] {
        let how = ExplainSpec { n_permutations: odd, ..ExplainSpec::default() };
        assert!(explain(&model, x.view(), None, how).is_err());
    }
    assert!(Method::of_name("kernel").is_err());
}

#[test]
fn a_bad_background_is_refused_by_name() {
    let x = rows(60, 3, 5);
    let mut nan = x.clone();
    nan[(7, 1)] = f64::NAN;
    let narrow = x.slice(s![.., ..2]).to_owned();
    let others = [narrow, Array2::ones((4, 5)), Array2::from_elem((4, 3), 1e300)];
    for spec in
        ["{}", r#"{"experts": [{}, {}]}"#, r#"{"kernel": {"type": "matern32"}}"#, r#"{"columns": {}}"#]
    {
        let model = learned(spec, x.view());
        let explained = |background: &Array2<f64>| {
            explain(&model, x.slice(s![..1, ..]), Some(background.view()), ExplainSpec::default())
        };
        for background in &others {
            let message = explained(background).unwrap_err().to_string();
            assert!(message.contains("background"), "{spec}: {message}");
        }
        match explained(&nan) {
            // A table has features for what is missing.
            Ok(found) => {
                assert!(model.as_table().is_some() && found.values.iter().all(|value| value.is_finite()));
            }
            Err(error) => {
                assert!(matches!(error, Error::NotFinite { what: "background", row: 7, column: 1, .. }));
            }
        }
    }
}
