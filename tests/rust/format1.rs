//! Model files that version 0.1.0 wrote are read; `fixtures/make_format1.py` says how they were made.

use std::collections::BTreeMap;
use std::path::Path;

use kernelstream::control::Controller;
use kernelstream::koopman::Koopman;
use kernelstream::{AnyModel, Persist as _, persist};
use ndarray::Array2;

#[test]
fn files_of_format_1_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format1");
    let mut kinds = BTreeMap::<String, usize>::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "model") {
            continue;
        }
        let kind = persist::kind_of(&path).unwrap();
        let name = path.display();
        let (n_seen, extra) = match kind.as_str() {
            "koopman" => {
                let (operator, extra) = Koopman::load(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
                (operator.n_seen(), extra)
            }
            "control" => {
                let (controller, extra) = Controller::load(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
                (controller.model().n_seen(), extra)
            }
            _ => {
                let (model, extra) = AnyModel::load(&path).unwrap_or_else(|e| panic!("{name}: {e}"));
                let rows = Array2::from_elem((2, model.n_features().unwrap()), 0.1);
                assert!(model.predict(rows.view()).unwrap().iter().all(|value| value.is_finite()), "{name}");
                (model.n_seen(), extra)
            }
        };
        assert!((48..=50).contains(&n_seen), "{name}: {n_seen} rows");
        assert!(extra["estimator"].is_string(), "{name}");
        *kinds.entry(kind).or_default() += 1;
    }
    assert!(
        ["stream", "budget", "experts", "koopman", "control"].iter().all(|kind| kinds[*kind] >= 2),
        "{kinds:?}"
    );
}

#[test]
fn columns_and_labels_that_stood_beside_the_model_are_the_models_own() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/format1");
    let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    let array = |value: &serde_json::Value| -> Array2<f64> {
        let rows: Vec<Vec<f64>> = match serde_json::from_value(value.clone()) {
            Ok(rows) => rows,
            Err(_) => value.as_array().unwrap().iter().map(|y| vec![y.as_f64().unwrap()]).collect(),
        };
        let shape = (rows.len(), rows[0].len());
        Array2::from_shape_vec(shape, rows.concat()).unwrap()
    };
    let asked = array(&expected["data"]["ASK"]);
    let mut tables = 0;
    for (name, about) in expected["models"].as_object().unwrap() {
        if !(name.contains("table") || name.contains("scaled") && !name.contains("controller")) {
            continue;
        }
        let (model, _) = AnyModel::load(&folder.join(format!("{name}.model"))).unwrap();
        let table = model.as_table().unwrap();
        let said = model.predict(asked.view()).unwrap();
        tables += 1;
        let Some(labels) = table.labels() else {
            let gap = (&said - &array(&about["saved"]["predict"])).mapv(f64::abs).sum();
            assert!(gap < 1e-11, "{name}: {gap}");
            continue;
        };
        let told: Vec<_> =
            said.iter().map(|code| serde_json::to_value(labels.label(*code)).unwrap()).collect();
        assert_eq!(about["saved"]["predict"], serde_json::Value::from(told), "{name}");
        let shares = table.probabilities(asked.view()).unwrap();
        let gap = (&shares - &array(&about["saved"]["predict_proba"])).mapv(f64::abs).sum();
        assert!(gap < 1e-11, "{name}: {gap}");
    }
    assert!(tables >= 8);
}
