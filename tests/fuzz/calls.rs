//! Random calls on random models, beside the same model that is given one row at a time.

use kernelstream::dynamics::{Dynamics, DynamicsSpec};
use kernelstream::{AnyModel, Persist as _};
use ndarray::{Array1, Array2, s};
use serde_json::{Value, json};

use crate::choices::{Choices, record};
use crate::files::look_at_candidates;
use crate::specs;

/// Rows, targets and weights of a call.
struct Rows {
    x: Array2<f64>,
    y: Array2<f64>,
    weights: Option<Array1<f64>>,
}

impl Rows {
    fn draw(n: usize, width: usize, outputs: usize, extreme: bool, choices: &mut Choices<'_>) -> Self {
        let scale = if extreme { *choices.pick(&[1.0, 0.0, 1e3, 1e-12, 1e20]) } else { 1.0 };
        let labels = choices.once_in(2);
        let mut x = Array2::from_shape_simple_fn((n, width), || scale * choices.symmetric());
        if n > 1 && choices.once_in(3) {
            let first = x.row(0).to_owned();
            x.row_mut(n - 1).assign(&first);
        }
        let size = if extreme { *choices.pick(&[1.0, 1.0, 3.0, 1e10, 1e45]) } else { 1.0 };
        let y = Array2::from_shape_simple_fn((n, outputs), || {
            let value = choices.symmetric();
            if labels { value.signum() } else { size * value }
        });
        let weights = choices.once_in(3).then(|| {
            let most = if extreme { *choices.pick(&[1.0, 200.0, 1e8, 1e20, 1e49]) } else { 1.0 };
            let mut weigh =
                || if choices.once_in(4) { 0.0 } else { most * (1.0 + choices.symmetric()) / 2.0 };
            Array1::from_shape_simple_fn(n, &mut weigh)
        });
        Self { x, y, weights }
    }

    fn learned_by(&self, model: &mut AnyModel) -> kernelstream::Result<()> {
        let weights = self.weights.as_ref().map(|weights| weights.view());
        model.learn_while(self.x.view(), self.y.view(), weights, None, &mut |_| true).map(|_| ())
    }

    fn learned_one_by_one(&self, model: &mut AnyModel) -> kernelstream::Result<()> {
        (0..self.x.nrows()).try_for_each(|i| {
            let rows = s![i..=i, ..];
            let weights = self.weights.as_ref().map(|weights| weights.slice(s![i..=i]));
            let (x, y) = (self.x.slice(rows), self.y.slice(rows));
            model.learn_while(x, y, weights, None, &mut |_| true).map(|_| ())
        })
    }
}

fn saved(model: &AnyModel) -> Vec<u8> {
    model.to_bytes(serde_json::Value::Null).expect("a model that learned by itself can be saved")
}

/// Gives a model what it must refuse.
fn refuses(model: &mut AnyModel, rows: &Rows, choices: &mut Choices<'_>) {
    let mut bad = Rows { x: rows.x.clone(), y: rows.y.clone(), weights: None };
    let last = bad.x.nrows() - 1;
    match choices.below(5) {
        0 => bad.x[(last, 0)] = f64::NAN,
        1 => bad.y[(last, 0)] = f64::INFINITY,
        2 => bad.x = Array2::zeros((last + 1, bad.x.ncols() + 1)),
        3 => bad.y = Array2::zeros((last, bad.y.ncols())),
        _ => bad.weights = Some(Array1::from_elem(last + 1, -1.0)),
    }
    let knows_width = model.n_features().is_some();
    let outcome = bad.learned_by(model);
    assert!(outcome.is_err() || bad.x.ncols() > rows.x.ncols() && !knows_width, "a bad row was learned");
}

/// Some calls on a model.
pub fn call(choices: &mut Choices<'_>) {
    choices.ordinary = choices.once_in(2);
    let extreme = !choices.ordinary;
    let spec = specs::sound(choices);
    record(&spec);
    let adaptive = spec.get("adaptive").is_some();
    let Ok(mut model) = AnyModel::from_json(&spec.to_string()) else { return };
    let (width, outputs) = (1 + choices.below(4), 1 + choices.below(2));
    let mut slow = model.clone();
    for _ in 0..2 + choices.below(8) {
        let n = 1 + choices.below(60);
        let rows = Rows::draw(n, width, outputs, extreme, choices);
        let weights = rows.weights.as_ref().map(|weights| weights.iter().fold(0.0_f64, |a, b| a.max(*b)));
        record(&format!("{n} rows, y up to {:e}, weights up to {weights:?}", rows.y[(0, 0)]));
        let before = saved(&model);
        if choices.once_in(4) && model.n_features().is_some() {
            refuses(&mut model, &rows, choices);
            assert!(saved(&model) == before, "a refused row changed the model");
        }
        if choices.once_in(2) || model.n_seen() == 0 {
            (model, _) = AnyModel::from_bytes(&before).unwrap_or_else(|error| panic!("not loaded: {error}"));
            assert!(saved(&model) == before, "a loaded model differs from the saved one");
        }
        let alone = slow.clone();
        let one_by_one = rows.learned_one_by_one(&mut slow);
        match rows.learned_by(&mut model) {
            Err(error) => {
                assert!(saved(&model) == before, "an error changed the model: {error}");
                assert!(extreme || adaptive || one_by_one.is_err(), "refused as a block only: {error}");
                slow = alone;
            }
            Ok(()) if one_by_one.is_err() => {
                assert!(extreme || adaptive, "refused one by one only: {:?}", one_by_one.err());
                slow = model.clone();
            }
            Ok(()) => {}
        }
        let bytes = saved(&model);
        let again = AnyModel::from_bytes(&bytes);
        let (again, _) = again.unwrap_or_else(|error| panic!("not loaded after a call: {error}"));
        assert!(saved(&again) == bytes, "a loaded model differs from the saved one");
        let Ok(predictions) = model.predict(rows.x.view()) else { continue };
        assert!(predictions.iter().all(|value| value.is_finite()), "a prediction is no number");
        // Which experts begin may depend on rounding.
        if !extreme && !adaptive {
            let other = slow.predict(rows.x.view()).expect("it has learned the same rows");
            let far = (&predictions - &other).iter().fold(0.0_f64, |most, gap| most.max(gap.abs()));
            let size = other.iter().fold(1.0_f64, |most, value| most.max(value.abs()));
            assert!(far <= 1e-4 * size, "{far:e} from the rows one by one: {spec}");
        }
    }
    AnyModel::from_bytes(&saved(&model)).unwrap_or_else(|error| panic!("not loaded: {error}"));
}

/// States of a kind that learning has to take: noise, constants, a sensor that sticks, a period, numbers of all sizes.
fn states(n: usize, width: usize, kind: usize, start: usize, choices: &mut Choices<'_>) -> Array2<f64> {
    let stuck = choices.symmetric();
    Array2::from_shape_fn((n, width), |(i, c)| match kind {
        0 => choices.symmetric(),
        1 => 300.0,
        2 if i > n / 2 => stuck,
        3 => ((start + i) % 4) as f64 + c as f64,
        4 => *choices.pick(&[0.0, 1e-160, 1.0, -1.0]),
        5 => 1e12 * choices.symmetric(),
        _ => choices.symmetric() + (start + i) as f64,
    })
}

/// Some calls on an operator with delays and forecasts, saved and loaded after each, and one that must be refused before.
pub fn follow(choices: &mut Choices<'_>) {
    let ridge = json!({"type": "ridge", "regularization": 0.01, "forgetting": *choices.pick(&[1.0, 0.99])});
    let gradient = json!({"type": "gradient", "loss": "half_squared", "step": 0.3, "schedule": "constant"});
    let (count, forecasts) = (choices.below(3), choices.once_in(2));
    let horizons = if forecasts { json!([1, 1 + choices.below(3) + 1]) } else { json!([]) };
    let candidates = forecasts && choices.once_in(2);
    let period = if forecasts && choices.once_in(2) { json!(4) } else { Value::Null };
    let inputs = if choices.once_in(3) { 1 + choices.below(2) } else { 0 };
    let mut spec = json!({
        "choice": {"bandwidth": choices.once_in(2), "regularization": false, "tolerance": choices.once_in(2)},
        "candidates": candidates,
        "delays": {"count": count, "step": 1},
        "horizons": horizons,
        "operator": {
            "dictionaries": {"shared": {"type": "ald", "tolerance": 1e-3, "max_size": 12}},
            "kernel": {"bandwidth": null, "type": "gaussian"},
            "learner": if choices.once_in(4) { gradient } else { ridge },
            "replay": null
        },
        "period": period,
        "standardize": choices.below(4) > 0,
        "warm_up": *choices.pick(&[0, 16, 2048])
    });
    if inputs > 0 {
        let kernel = json!({"bandwidth": null, "type": "gaussian"});
        spec["operator"]["control"] = json!({"width": inputs, "kernel": kernel});
    }
    record(&spec);
    let Ok(spec) = serde_json::from_value::<DynamicsSpec>(spec) else { return };
    let Ok(mut model) = spec.build() else { return };
    let (width, kind) = (1 + choices.below(3), choices.below(7));
    let saved = |model: &Dynamics| model.to_bytes(Value::Null);
    let mut start = 0;
    for round in 0..2 + choices.below(6) {
        let before = saved(&model).unwrap_or_else(|error| panic!("cannot be saved: {error}"));
        (model, _) = Dynamics::from_bytes(&before).unwrap_or_else(|error| panic!("not loaded: {error}"));
        assert!(
            saved(&model).is_ok_and(|bytes| bytes == before),
            "a loaded model differs from the saved one"
        );
        let n = 1 + choices.below(40);
        let (kind, continued) =
            (if choices.once_in(4) { choices.below(7) } else { kind }, round > 0 && choices.once_in(2));
        let x = states(n, width + inputs, kind, start, choices);
        let alone = x.slice(s![.., ..width]).to_owned();
        start += n;
        let (pairs, mut bad) = (count == 0 && choices.once_in(3), x.clone());
        bad[(n - 1, choices.below(width))] = *choices.pick(&[f64::NAN, f64::INFINITY, f64::NEG_INFINITY]);
        let learn = |model: &mut Dynamics, x: &Array2<f64>| {
            if pairs {
                model.learn(x.view(), alone.mapv(|value| 0.9 * value).view())
            } else {
                model.follow(x.view(), 1, continued)
            }
        };
        let refused = learn(&mut model, &bad);
        assert!(refused.is_err(), "a bad state was learned");
        assert!(saved(&model).is_ok_and(|bytes| bytes == before), "a refused state changed the model");
        if learn(&mut model, &x).is_err() {
            // Beyond what numbers can resolve.
            assert!(saved(&model).is_ok_and(|bytes| bytes == before), "an error changed the model");
            continue;
        }
        if choices.once_in(6) {
            let learned = saved(&model).unwrap_or_else(|error| panic!("cannot be saved: {error}"));
            if model.flush().is_err() {
                assert!(saved(&model).is_ok_and(|bytes| bytes == learned), "an error changed the model");
            }
        }
        look_at_candidates(&model, &alone);
        if let Ok(rows) = model.forecast_rows(alone.view(), 1)
            && let (Ok(made), Ok(ends)) =
                (model.forecasts(rows.view()), model.forecast_intervals(rows.view(), 0.5))
        {
            assert!(made.iter().all(|value| value.is_finite()), "a forecast is no number");
            assert!(ends.iter().all(|value| !value.is_nan()), "an end of an interval is no number");
        }
    }
    let last = saved(&model).unwrap_or_else(|error| panic!("cannot be saved: {error}"));
    assert!(Dynamics::from_bytes(&last).is_ok(), "not loaded at the end");
}
