//! Altered model files: each loads into a model that works, or is refused.

use std::collections::BTreeMap;
use std::path::Path;

use kernelstream::control::{Controller, ControllerSpec};
use kernelstream::dynamics::{Dynamics, DynamicsSpec};
use kernelstream::koopman::{Koopman, KoopmanSpec, Truncation};
use kernelstream::persist::Reader;
use kernelstream::{AnyModel, Persist as _, Result};
use ndarray::{Array2, Array3, ArrayView2, s};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::alter::ModelFile;
use crate::choices::Choices;

/// Rows wider than this say no more.
const WIDEST: usize = 1000;

/// A model and what it is specified by.
#[derive(Deserialize)]
struct Entry {
    kind: String,
    spec: Value,
}

/// Files of models that have learned 50 rows, one for each of `corpus.json`, and those in `tests/fixtures`, in the
/// order of their names.
pub fn corpus() -> Vec<(String, ModelFile)> {
    let entries: BTreeMap<String, Entry> =
        serde_json::from_str(include_str!("corpus.json")).expect("models and their specifications");
    let mut files: Vec<_> = entries
        .into_iter()
        .map(|(name, entry)| {
            let bytes = learned(&name, entry).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name, ModelFile::open(&bytes).expect("a model file"))
        })
        .collect();
    // The package itself, or that of the targets of cargo-fuzz inside it.
    let mut places =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|root| root.join("tests/fixtures"));
    let fixtures = places.find(|folder| folder.is_dir()).expect("the model files of the tests");
    let folders = ["tables", "adaptive"].map(|folder| std::fs::read_dir(fixtures.join(folder)).unwrap());
    let paths = folders.into_iter().flatten().map(|entry| entry.unwrap().path());
    files.extend(paths.filter(|path| path.extension().is_some_and(|extension| extension == "model")).map(
        |path| {
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            (name, ModelFile::open(&std::fs::read(&path).unwrap()).expect("a model file"))
        },
    ));
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

/// The file of a model that has learned 50 rows.
fn learned(name: &str, entry: Entry) -> Result<Vec<u8>> {
    // Equidistributed rows in [-1, 1], the same on every machine.
    let roots = [2.0_f64, 3.0, 5.0, 7.0].map(f64::sqrt);
    let drift = if name.contains("moved") { 1.0 } else { 0.0 };
    let x = Array2::from_shape_fn((50, 4), |(i, j)| {
        2.0 * ((i + 1) as f64 * roots[j]).fract() - 1.0 + drift * (i * usize::from(j == 0)) as f64
    });
    let y = Array2::from_shape_fn((50, 2), |(i, j)| {
        if name.starts_with("classifier") {
            (x[[i, 0]] * x[[i, 1]]).signum()
        } else if name.ends_with("classes") {
            (i % 2) as f64
        } else {
            x[[i, j]] * x[[i, 2]] + 0.7
        }
    });
    let next = x.slice(s![.., 1..3]);
    match entry.kind.as_str() {
        "koopman" => {
            let mut operator = specified::<KoopmanSpec>(entry.spec).build()?;
            if name.contains("trajectory") {
                operator.follow(next, 1, false)?;
            } else {
                operator.learn(x.slice(s![.., ..2 + operator.n_controls()]), next)?;
            }
            operator.to_bytes(Value::Null)
        }
        "dynamics" => {
            let mut dynamics = specified::<DynamicsSpec>(entry.spec).build()?;
            dynamics.follow(x.slice(s![.., 1..3 + dynamics.operator().n_controls()]), 1, false)?;
            dynamics.to_bytes(Value::Null)
        }
        "control" => {
            let mut controller = specified::<ControllerSpec>(entry.spec).build()?;
            controller.learn(x.slice(s![.., ..3]), next)?;
            let costs = Array2::from_elem((controller.states().nrows(), controller.actions().nrows()), 0.5);
            controller.improve(costs.view(), None)?;
            controller.keep(0.5)?;
            controller.to_bytes(Value::Null)
        }
        _ => {
            let mut model = AnyModel::from_json(&entry.spec.to_string())?;
            let outputs = if name.contains("two_targets") { 2 } else { 1 };
            model.learn(x.slice(s![.., ..3]), y.slice(s![.., ..outputs]))?;
            model.to_bytes(Value::Null)
        }
    }
}

fn specified<T: DeserializeOwned>(spec: Value) -> T {
    serde_json::from_value(spec).expect("a specification")
}

/// One of the files with one to three things altered, or damaged without its checksum put right.
pub fn altered(corpus: &[(String, ModelFile)], choices: &mut Choices<'_>) -> (String, Vec<u8>) {
    let mut picked = choices.pick(corpus);
    // A large file takes as long as twenty others, and most of it is alike.
    if picked.1.numbers() > 5_000 && !choices.once_in(8) {
        picked = choices.pick(corpus);
    }
    let (name, file) = picked;
    let mut file = file.clone();
    for _ in 0..=choices.below(3) {
        file.alter(choices);
    }
    let mut bytes = file.close();
    let at = choices.below(bytes.len());
    match choices.below(20) {
        0 => bytes.truncate(at),
        1 if !bytes.is_empty() => bytes[at] ^= 1 << choices.below(8),
        _ => {}
    }
    (format!("{name} as {}", file.kind), bytes)
}

/// Loads a file and uses what it holds, whatever that is; whether there was something.
pub fn load_and_use(bytes: &[u8]) -> bool {
    let kind = Reader::open(bytes).map_or_else(|_| String::new(), |from| from.kind().to_owned());
    let loads = |own: &[&str]| kind.is_empty() || own.contains(&kind.as_str());
    let models = ["stream", "budget", "experts", "adaptive", "table"];
    let mut errors = Vec::new();
    // What is of another kind is refused by its name, which takes as long as to read it.
    if loads(&models) || bytes.len().is_multiple_of(16) {
        errors.push(AnyModel::from_bytes(bytes).map(|(model, _)| use_model(model)).err());
    }
    if loads(&["koopman"]) || bytes.len().is_multiple_of(16) {
        errors.push(Koopman::from_bytes(bytes).map(|(operator, _)| use_operator(operator)).err());
    }
    if loads(&["control"]) || bytes.len().is_multiple_of(16) {
        errors.push(Controller::from_bytes(bytes).map(|(controller, _)| use_controller(controller)).err());
    }
    if loads(&["dynamics", "koopman"]) || bytes.len().is_multiple_of(16) {
        errors.push(Dynamics::from_bytes(bytes).map(|(dynamics, _)| use_dynamics(dynamics)).err());
    }
    for error in errors.iter().flatten() {
        assert!(matches!(error, kernelstream::Error::ModelFile { .. }), "{error:?}");
    }
    errors.iter().any(Option::is_none)
}

fn rows(n: usize, width: usize) -> Array2<f64> {
    Array2::from_shape_fn((n, width), |(i, j)| (((3 * i + 7 * j) % 11) as f64 - 5.0) / 6.0)
}

/// Saved and loaded it is the same, to the bit.
fn round_trip<M>(model: &M, save: impl Fn(&M) -> Result<Vec<u8>>, load: impl Fn(&[u8]) -> Result<M>) {
    // Numbers of an altered file may be so large that those learned from them overflow.
    let Ok(bytes) = save(model) else { return };
    let again = load(&bytes).unwrap_or_else(|error| panic!("a file of our own is refused: {error}"));
    assert!(save(&again).is_ok_and(|saved| saved == bytes), "a loaded model differs from the saved one");
}

pub fn use_model(mut model: AnyModel) {
    let null = serde_json::Value::Null;
    let save = |model: &AnyModel| model.to_bytes(null.clone());
    let load = |bytes: &[u8]| AnyModel::from_bytes(bytes).map(|(model, _)| model);
    round_trip(&model, save, load);
    let (width, outputs) = (model.n_features().unwrap_or(3), model.n_outputs().unwrap_or(1));
    let (x, y) = (rows(5, width.min(WIDEST)), rows(5, outputs.min(WIDEST)).mapv(f64::signum));
    let rows = |from: usize, to: usize| (x.slice(s![from..to, ..]), y.slice(s![from..to, ..]));
    if let Ok(made) = model.predict(x.view()) {
        assert!(made.iter().all(|value| value.is_finite()), "a loaded model predicts what is no number");
    }
    let _ = model.transform(x.view());
    let _ = model.predict_one(&x.row(0).to_vec());
    let _ = model.dictionary();
    let learned = model
        .learn(rows(0, 4).0, rows(0, 4).1)
        .and_then(|()| model.learn_one(&x.row(4).to_vec(), &y.row(4).to_vec()));
    if learned.is_ok() {
        assert!(model.predict(x.view()).is_ok());
        round_trip(&model, save, load);
    }
}

pub fn use_operator(mut operator: Koopman) {
    let null = serde_json::Value::Null;
    let save = |operator: &Koopman| operator.to_bytes(null.clone());
    let load = |bytes: &[u8]| Koopman::from_bytes(bytes).map(|(operator, _)| operator);
    round_trip(&operator, save, load);
    let (width, inputs) = (operator.n_features().unwrap_or(2).min(WIDEST), operator.n_controls());
    let (x, next) = (rows(4, width + inputs.min(WIDEST)), rows(4, width));
    let look = |operator: &Koopman| {
        if inputs > 0 {
            let acting = Array3::from_elem((1, 2, inputs.min(WIDEST)), 0.5);
            let _ = operator.forecast_under(next.view(), acting.view(), &[1, 2]);
        } else {
            let _ = operator.forecast(next.view(), &[1, 3], Truncation::default());
            let _ = operator.spectrum();
            if let Ok(moments) = operator.moments(1) {
                let means = moments.now.iter().chain(&moments.across).chain(&moments.later);
                assert!(means.into_iter().all(|mean| mean.norm().is_finite()), "a moment is no number");
            }
            if let Ok(values) = operator.singular_values() {
                assert!(values.iter().all(|value| value.is_finite()), "a singular value is no number");
                let functions = operator.singular_functions(x.view(), values.len(), false);
                assert!(functions.is_err() || functions.is_ok_and(|all| all.iter().all(|f| f.is_finite())));
            }
            if let Ok(risk) = operator.risk(x.view(), next.view()) {
                assert!(!risk.is_nan(), "a risk is no number");
            }
        }
    };
    look(&operator);
    let three = |rows: &Array2<f64>| rows.slice(s![..3, ..]).to_owned();
    if operator.learn(three(&x).view(), three(&next).view()).and_then(|()| operator.flush()).is_ok() {
        look(&operator);
        round_trip(&operator, save, load);
    }
}

/// Forecasts from states in an order, and what goes with them; those that are answered are numbers, or infinite ends.
fn look_at(dynamics: &Dynamics, states: &Array2<f64>) {
    let _ = dynamics.latest();
    let _ = dynamics.forecast_weights();
    let _ = dynamics.forecast_deviations();
    look_at_candidates(dynamics, states);
    let Ok(rows) = dynamics.forecast_rows(states.view(), 1) else { return };
    let _ = dynamics.forecasts(rows.view());
    if let Ok(ends) = dynamics.forecast_intervals(rows.view(), 0.9) {
        assert!(ends.iter().all(|end| !end.is_nan()), "an end of an interval is no number");
    }
}

/// The same of forecasts by candidates.
pub fn look_at_candidates(dynamics: &Dynamics, states: &Array2<f64>) {
    let _ = dynamics.periods();
    let _ = dynamics.ahead_deviations();
    if let Ok(weights) = dynamics.ahead_weights(1) {
        let is_share = |weight: &f64| (0.0..1.0 + 1e-9).contains(weight);
        assert!(weights.iter().all(is_share), "a weight is no share: {weights}");
    }
    let longest = dynamics.spec().horizons.iter().max().copied().unwrap_or(1).min(100);
    let inputs = rows(states.nrows() + longest, dynamics.operator().n_controls().max(1));
    let under = (dynamics.operator().n_controls() > 0).then(|| inputs.view());
    for from in [None, Some(states.view())] {
        if let Ok(made) = dynamics.ahead(from, under, 1, 0) {
            assert!(made.iter().all(|value| value.is_finite()), "a forecast by candidates is no number");
        }
        for coverage in [0.1, 0.5, 0.9, 0.999] {
            if let Ok(ends) = dynamics.ahead_intervals(from, under, 1, 0, coverage) {
                assert!(ends.iter().all(|end| !end.is_nan()), "an end of an interval is no number");
            }
        }
    }
}

pub fn use_dynamics(mut dynamics: Dynamics) {
    let null = serde_json::Value::Null;
    let save = |dynamics: &Dynamics| dynamics.to_bytes(null.clone());
    let load = |bytes: &[u8]| Dynamics::from_bytes(bytes).map(|(dynamics, _)| dynamics);
    round_trip(&dynamics, save, load);
    let width = dynamics.latest().map_or(2, |tail| tail.ncols()).min(WIDEST);
    let states = rows(8, width);
    let driven = rows(8, width + dynamics.operator().n_controls().min(WIDEST));
    look_at(&dynamics, &states);
    for continued in [true, false] {
        if dynamics.follow(driven.view(), 1, continued).is_ok() {
            look_at(&dynamics, &states);
            round_trip(&dynamics, save, load);
        }
    }
}

fn use_controller(mut controller: Controller) {
    let null = serde_json::Value::Null;
    let save = |controller: &Controller| controller.to_bytes(null.clone());
    let load = |bytes: &[u8]| Controller::from_bytes(bytes).map(|(controller, _)| controller);
    round_trip(&controller, save, load);
    let actions = controller.actions().nrows();
    let costs = |states: ArrayView2<'_, f64>| Array2::from_elem((states.nrows(), actions), 0.5);
    let look = |controller: &Controller| {
        for policy in [controller.policy(), controller.kept().map(|(policy, _)| policy)].into_iter().flatten()
        {
            let x = rows(3, policy.n_features().min(WIDEST));
            let _ = policy.greedy(x.view(), costs(x.view()).view());
        }
    };
    look(&controller);
    let width = controller.model().n_features().unwrap_or(2).min(WIDEST);
    let inputs = controller.model().n_controls().min(WIDEST);
    if controller.learn(rows(3, width + inputs).view(), rows(3, width).view()).is_ok() {
        let _ = controller.improve(costs(controller.states().view()).view(), None);
        look(&controller);
        round_trip(&controller, save, load);
    }
}
