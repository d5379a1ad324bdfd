//! Tables: columns and labels learned with the model, however a stream is cut, interrupted or refused.

use std::cell::Cell;
use std::rc::Rc;

use kernelstream::interrupt::watched;
use kernelstream::table::category;
use kernelstream::{AnyModel, Error, Persist as _};
use ndarray::{Array2, ArrayView2, s};
use serde_json::{Value, json};

const ROWS: usize = 300;
const DAY: f64 = 86_400.0;

/// Watts with gaps, a room, a switch, and a time; the last column of the warm-up is constant.
fn rows() -> Array2<f64> {
    Array2::from_shape_fn((ROWS, 5), |(i, j)| match j {
        0 if i % 7 == 3 => f64::NAN,
        0 => 1e4 * (i as f64 * 0.618).fract(),
        1 if i % 11 == 5 => f64::NAN,
        1 => category(["hall", "attic", "cellar"][i / 3 % if i < 150 { 2 } else { 3 }]),
        2 => f64::from(u8::from(i % 5 < 2)),
        3 => 1.7e9 + 3600.0 * i as f64,
        _ => {
            if i < 120 {
                5.0
            } else {
                (i % 3) as f64
            }
        }
    })
}

fn targets(x: ArrayView2<'_, f64>) -> Array2<f64> {
    let y = |row: usize| {
        (x[(row, 3)] / DAY * 6.0).sin() + x[(row, 2)] + if x[(row, 0)] > 5e3 { 0.5 } else { 0.0 }
    };
    Array2::from_shape_fn((x.nrows(), 1), |(row, _)| y(row))
}

fn spec() -> Value {
    json!({
        "model": {"learner": {"type": "ridge"}},
        "columns": {"warm_up": 100, "gaps": "fill", "named": [
            {"name": "watts"},
            {"name": "room", "kind": {"type": "category"}},
            {"name": "on", "kind": {"type": "boolean"}},
            {"name": "when", "kind": {"type": "time", "parts": ["day", "elapsed"]}},
            {"name": "late"},
        ]}
    })
}

/// The same rows, distinguished into three classes, each as heavy as any other.
fn labelled() -> (Value, Array2<f64>, Array2<f64>) {
    let mut labelled = spec();
    labelled["model"]["learner"]["type"] = "gauss_newton".into();
    labelled["labels"] = json!({"classes": ["a", "b", "c"], "weights": "balanced"});
    let x = rows();
    let codes = targets(x.view()).mapv(|y| {
        if y < 0.0 {
            0.0
        } else if y < 1.0 {
            1.0
        } else {
            2.0
        }
    });
    (labelled, x, codes)
}

fn both() -> [(Value, Array2<f64>, Array2<f64>); 2] {
    let x = rows();
    let y = targets(x.view());
    [(spec(), x, y), labelled()]
}

fn model(spec: &Value) -> AnyModel {
    AnyModel::from_json(&spec.to_string()).unwrap()
}

fn outputs(model: &AnyModel, x: ArrayView2<'_, f64>) -> Array2<f64> {
    model.as_table().unwrap().outputs(x).unwrap()
}

fn assert_same(a: &AnyModel, b: &AnyModel, x: ArrayView2<'_, f64>) {
    assert_eq!((a.n_seen(), a.n_stored()), (b.n_seen(), b.n_stored()));
    let gap = (outputs(a, x) - outputs(b, x)).mapv(f64::abs).iter().copied().fold(0.0, f64::max);
    assert!(gap < 1e-9, "{gap}");
    let counts = |model: &AnyModel| model.as_table()?.labels().map(|labels| labels.counts().to_vec());
    assert_eq!(counts(a), counts(b));
}

#[test]
fn a_young_table_without_anything_to_warm_up_is_read_back() {
    let spec = json!({"model": {}, "columns": {"each": {"type": "boolean"}}}).to_string();
    let mut model = AnyModel::from_json(&spec).unwrap();
    let x = Array2::from_shape_fn((40, 2), |(i, j)| f64::from(u8::from(i % (j + 2) == 0)));
    model.learn(x.view(), x.slice(s![.., ..1])).unwrap();
    let read = AnyModel::from_bytes(&model.to_bytes(Value::Null).unwrap()).unwrap().0;
    assert_eq!(read.predict(x.view()).unwrap(), model.predict(x.view()).unwrap());
}

#[test]
fn any_cutting_gives_one_model_also_by_way_of_files() {
    for (spec, x, y) in both() {
        let mut whole = model(&spec);
        let said = whole.learn_and_predict(x.view(), y.view()).unwrap();
        for cuts in
            [vec![1, 2, 3, 64, 99, 100, 101, 125], vec![50, 119, 121], (1..ROWS).step_by(17).collect()]
        {
            let (mut parts, mut start) = (model(&spec), 0);
            for stop in cuts.into_iter().chain([ROWS]) {
                let rows = s![start..stop, ..];
                let prequential = parts.learn_and_predict(x.slice(rows), y.slice(rows)).unwrap();
                let gap = (&prequential - &said.slice(rows)).mapv(f64::abs).sum();
                assert!(gap < 1e-8, "rows {start} to {stop}: {gap}");
                parts = AnyModel::from_bytes(&parts.to_bytes(Value::Null).unwrap()).unwrap().0;
                start = stop;
            }
            assert_same(&whole, &parts, x.view());
        }
    }
}

#[test]
fn a_call_that_was_ended_continues_to_the_bit() {
    for (spec, x, y) in both() {
        let mut whole = model(&spec);
        whole.learn(x.view(), y.view()).unwrap();
        for stop in [0, 1, 2, 17, 63, 64, 65, 99, 100, 119, 120, 121, 200] {
            let mut parts = model(&spec);
            let should_continue = &mut |row: usize| row < stop;
            let done = parts.learn_while(x.view(), y.view(), None, None, should_continue).unwrap();
            assert!((stop == 0) == (done == 0) && parts.n_seen() == done as u64);
            let rest = s![done.., ..];
            parts.learn(x.slice(rest), y.slice(rest)).unwrap();
            assert!(parts.to_bytes(Value::Null).unwrap() == whole.to_bytes(Value::Null).unwrap());
        }
    }
}

#[test]
fn an_error_changes_nothing() {
    for (spec, x, y) in both() {
        for learned in [0, 1, 60, 110, 200] {
            let mut model = model(&spec);
            if learned > 0 {
                model.learn(x.slice(s![..learned, ..]), y.slice(s![..learned, ..])).unwrap();
            }
            let before = model.to_bytes(Value::Null).unwrap();
            for (column, wrong) in [(0, 1e300), (0, f64::INFINITY), (1, 0.5), (2, 0.3), (3, 1e60)] {
                let mut bad = x.clone();
                bad[(290, column)] = wrong;
                let error = model.learn(bad.view(), y.view()).unwrap_err().to_string();
                assert!(error.contains("row 290, column \""), "{error}");
                assert!(model.learn_one(&bad.row(290).to_vec(), &[0.0]).is_err());
            }
            let mut bad = y.clone();
            bad[(280, 0)] = f64::NAN;
            let error = model.learn(x.view(), bad.view()).unwrap_err().to_string();
            assert!(error.contains("row 280"), "{error}");
            assert_eq!(model.to_bytes(Value::Null).unwrap(), before);
        }
    }
}

#[test]
fn features_are_what_the_columns_say() {
    let x = rows();
    let mut model = model(&spec());
    model.learn(x.slice(s![..110, ..]), targets(x.view()).slice(s![..110, ..])).unwrap();
    let features = model.as_table().unwrap().features(x.view()).unwrap();
    let known = |rows: usize, column: usize| -> Vec<f64> {
        x.slice(s![..rows, column]).iter().copied().filter(|cell| !cell.is_nan()).collect()
    };
    let scale = |column: usize| {
        let cells = known(100, column);
        let mean = cells.iter().sum::<f64>() / cells.len() as f64;
        let variance = cells.iter().map(|cell| (cell - mean).powi(2)).sum::<f64>() / cells.len() as f64;
        (mean, variance.sqrt())
    };
    let ((watts, spread), (middle, span)) = (scale(0), scale(3));
    let all = known(110, 0);
    let filled = all.iter().sum::<f64>() / all.len() as f64;
    let mut rooms = [category("hall"), category("attic")];
    rooms.sort_by(f64::total_cmp);
    for (x, features) in x.rows().into_iter().zip(features.rows()) {
        let gap = x[0].is_nan();
        let hour = std::f64::consts::TAU * (x[3] % DAY) / DAY;
        let other = !x[1].is_nan() && !rooms.contains(&x[1]);
        let flag = |yes: bool| f64::from(u8::from(yes));
        let expected = [
            (if gap { filled } else { x[0] } - watts) / spread,
            flag(gap),
            flag(x[1].to_bits() == rooms[0].to_bits()),
            flag(x[1].to_bits() == rooms[1].to_bits()),
            flag(other),
            2.0 * x[2] - 1.0,
            hour.sin(),
            hour.cos(),
            (x[3] - middle) / span,
            (x[4] - 5.0).signum() * flag((x[4] - 5.0).abs() > 0.5),
        ];
        for (prequential, expected) in features.iter().zip(expected) {
            assert!((prequential - expected).abs() < 1e-9, "{features} for {x}");
        }
    }
}

/// The features of rows whose cells are these, in a table of one column of numbers with gaps.
fn features_of_numbers(cells: &[f64]) -> Vec<f64> {
    let mut model = model(&json!({
        "model": {"learner": {"type": "ridge"}},
        "columns": {"warm_up": 4, "gaps": "fill", "named": [{"name": "a"}]},
    }));
    let x = Array2::from_shape_vec((cells.len(), 1), cells.to_vec()).unwrap();
    model.learn(x.view(), Array2::zeros(x.raw_dim()).view()).unwrap();
    model.as_table().unwrap().features(x.view()).unwrap().column(0).to_vec()
}

#[test]
fn a_column_that_begins_with_gaps_is_scaled_when_it_first_varies() {
    let gap = f64::NAN;
    let features = features_of_numbers(&[gap, gap, gap, gap, gap, 700.0, 700.0, 900.0, gap, 1100.0]);
    // The first number is the mean, the first other one a deviation away; gaps
    // get the mean of all.
    assert_eq!(features[5..8], [0.0, 0.0, 1.0]);
    assert_eq!(features[9..], [2.0]);
    assert!((features[0] - 0.75).abs() < 1e-12 && (features[8] - 0.75).abs() < 1e-12, "{features:?}");
}

#[test]
fn an_outlier_does_not_decide_what_fills_gaps() {
    let mut cells: Vec<f64> = (0..400).map(|i| f64::from(i % 4)).collect();
    cells.extend([1e15, f64::NAN]);
    let filled = *features_of_numbers(&cells).last().unwrap();
    // As far as a value can be that is none.
    assert!((0.0..1e4 / 400.0).contains(&filled), "{filled}");
}

#[test]
fn learning_a_warm_up_again_can_be_broken_off() {
    for (spec, x, y) in both() {
        let mut model = model(&spec);
        let (first, rest) = (s![..60, ..], s![60.., ..]);
        model.learn(x.slice(first), y.slice(first)).unwrap();
        let before = model.to_bytes(Value::Null).unwrap();
        let looks = Rc::new(Cell::new(0));
        let count = Rc::clone(&looks);
        let whole = move || {
            count.set(count.get() + 1);
            true
        };
        watched(whole, || model.clone().learn(x.slice(rest), y.slice(rest))).unwrap();
        let looks = looks.get();
        assert!(looks > 2, "{looks}");
        for looks in [0, 1, looks - 1] {
            let mut left = looks;
            let should_continue = move || {
                left -= 1;
                left >= 0
            };
            let broken = watched(should_continue, || model.learn(x.slice(rest), y.slice(rest)));
            assert!(matches!(broken, Err(Error::Interrupted)));
            assert_eq!(model.to_bytes(Value::Null).unwrap(), before);
        }
    }
}

#[test]
fn one_row_is_answered_as_many_are() {
    for (spec, x, y) in both() {
        let mut model = model(&spec);
        assert!(model.predict(x.view()).is_err() && model.predict_one(&x.row(0).to_vec()).is_err());
        for (x, y) in x.rows().into_iter().zip(y.rows()) {
            model.learn_one(&x.to_vec(), &y.to_vec()).unwrap();
        }
        let all = model.predict(x.view()).unwrap();
        for (x, prequential) in x.rows().into_iter().zip(all.rows()) {
            assert!((model.predict_one(&x.to_vec()).unwrap()[0] - prequential[0]).abs() < 1e-9);
        }
    }
}

#[test]
fn what_cannot_be_a_table_is_refused() {
    let column = |kind: Value| json!({"name": "a", "kind": kind});
    for (columns, complaint) in [
        (json!({"warm_up": 0}), "warm_up"),
        (json!({"named": [column(json!({"type": "category", "max_size": 0}))]}), "max_size"),
        (json!({"named": [column(json!({"type": "time", "parts": []}))]}), "part"),
        (
            json!({"named": [column(json!({"type": "number"})), column(json!({"type": "boolean"}))]}),
            "two columns",
        ),
        (json!({"named": [column(json!({"type": "sound"}))]}), "sound"),
    ] {
        let spec = json!({"model": {}, "columns": columns}).to_string();
        let error = AnyModel::from_json(&spec).unwrap_err().to_string();
        assert!(error.contains(complaint), "{error}");
    }
    let nested = json!({"model": {"model": {}}}).to_string();
    assert!(AnyModel::from_json(&nested).unwrap_err().to_string().contains("inside a table"));
}
