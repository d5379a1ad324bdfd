//! Tables that Python wrote predict what they did there; `fixtures/make_tables.py` wrote them.

use std::path::Path;

use kernelstream::{AnyModel, Persist as _};
use ndarray::Array2;
use serde_json::Value;

fn array(value: &Value) -> Array2<f64> {
    let cells = |row: &Value| -> Vec<f64> {
        let number = |cell: &Value| cell.as_f64().unwrap_or(f64::NAN);
        row.as_array().map_or_else(|| vec![number(row)], |row| row.iter().map(number).collect())
    };
    let rows: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(cells).collect();
    Array2::from_shape_vec((rows.len(), rows[0].len()), rows.concat()).unwrap()
}

fn assert_close(name: &str, prequential: &Array2<f64>, expected: &Value) {
    let gap = (prequential - &array(expected)).mapv(f64::abs).iter().copied().fold(0.0, f64::max);
    assert!(gap < 1e-12, "{name}: {gap}");
}

#[test]
fn python_and_rust_predict_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tables");
    let text = std::fs::read_to_string(folder.join("python.json")).unwrap();
    let expected: serde_json::Map<String, Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(expected.len(), 8);
    for (name, expected) in &expected {
        let (model, _) = AnyModel::load(&folder.join(format!("python_{name}.model"))).unwrap();
        let rows = array(&expected["rows"]);
        let prequential = model.predict(rows.view()).unwrap();
        let one = model.predict_one(&rows.row(0).to_vec()).unwrap()[0];
        assert!((one - prequential[(0, 0)]).abs() < 1e-12, "{name}");
        let table = model.as_table().unwrap();
        let Some(labels) = table.labels() else {
            assert_close(name, &prequential, &expected["predict"]);
            continue;
        };
        let said: Vec<_> =
            prequential.iter().map(|code| serde_json::to_value(labels.label(*code)).unwrap()).collect();
        assert_eq!(Value::from(said), expected["predict"], "{name}");
        assert_close(name, &table.probabilities(rows.view()).unwrap(), &expected["predict_proba"]);
    }
}
