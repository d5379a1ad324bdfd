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
