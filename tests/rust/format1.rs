//! Model files that version 0.1.0 wrote are read; `fixtures/make_format1.py` says how they were made.

use std::collections::BTreeMap;
use std::path::Path;

use kernelstream::control::Controller;
use kernelstream::koopman::Koopman;
use kernelstream::persist::{Reader, Writer};
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

/// Files of version 1 hold factors and inverses whole, later ones what is on and below the diagonal.
#[test]
fn a_triangle_is_read_as_the_matrix_that_it_is_of() {
    let whole = [2.0, 3.0, 5.0, 3.0, 7.0, 11.0, 5.0, 11.0, 13.0];
    let mut file = Writer::default();
    file.lower("half", 3, &whole);
    file.matrix("whole", 3, 3, &whole);
    file.lower("one", 1, &whole[..1]);
    file.lower("none", 0, &[]);
    file.vector("no triangle", &whole[..5]);
    let bytes = file.finish("test", serde_json::Value::Null, serde_json::Value::Null).unwrap();
    let file = Reader::open(&bytes).unwrap();
    assert_eq!(file.matrix("half").unwrap(), (1, 6, vec![2.0, 3.0, 7.0, 5.0, 11.0, 13.0]));
    assert_eq!(file.lower("half", true).unwrap(), (3, whole.to_vec()));
    assert_eq!(file.lower("half", false).unwrap(), (3, vec![2.0, 0.0, 0.0, 3.0, 7.0, 0.0, 5.0, 11.0, 13.0]));
    assert_eq!(file.lower("whole", true).unwrap(), (3, whole.to_vec()));
    assert_eq!(file.lower("one", true).unwrap(), (1, vec![2.0]));
    assert_eq!(file.lower("none", true).unwrap(), (0, Vec::new()));
    assert!(file.lower("no triangle", true).unwrap_err().to_string().contains("no triangle"));
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
