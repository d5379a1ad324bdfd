//! Arrays for outputs that do not fit, and calls that end at once.

use kernelstream::uncertainty::Prequential;
use kernelstream::{AnyModel, Persist as _};
use ndarray::{Array1, Array2, Array3};

const SPECS: [&str; 6] = [
    "{}",
    r#"{"columns": {}}"#,
    r#"{"adaptive": {}}"#,
    r#"{"experts": [{}, {}]}"#,
    r#"{"learner": {"type": "budgeted_gradient"}}"#,
    r#"{"labels": {"classes": ["a", "b"]}}"#,
];

fn rows() -> (Array2<f64>, Array2<f64>) {
    let x = Array2::from_shape_fn((50, 2), |(i, k)| ((i + 1) as f64 * [0.618, 0.414][k]).fract());
    (x, Array2::from_shape_fn((50, 1), |(i, _)| (i % 2) as f64))
}

#[test]
fn arrays_that_do_not_fit_are_refused_and_nothing_is_learned() {
    let (x, y) = rows();
    for (spec, trained) in SPECS.into_iter().flat_map(|spec| [(spec, false), (spec, true)]) {
        let mut model = AnyModel::from_json(spec).unwrap();
        if trained {
            model.learn(x.view(), y.view()).unwrap();
        }
        let before = model.to_bytes(serde_json::Value::Null).unwrap();
        let refuses = |what: &str, learn: &dyn Fn(&mut AnyModel) -> kernelstream::Result<()>| {
            let mut model = model.clone();
            let message = learn(&mut model).unwrap_err().to_string();
            let labels = spec.contains("labels") && what == "coverage";
            assert!(message.contains(what) || labels, "{spec}: {message}");
            assert!(model.to_bytes(serde_json::Value::Null).unwrap() == before, "{spec}: {what}");
        };
        for shape in [(3, 1), (50, 4), (60, 1), (50, 0)] {
            refuses("predictions", &|model| {
                let mut made = Array2::zeros(shape);
                model.learn_while(x.view(), y.view(), None, Some(made.view_mut()), &mut |_| true).map(|_| ())
            });
        }
        for len in [0, 3] {
            refuses("predictions", &|model| {
                model.predict_and_learn_one(&[0.1, 0.2], &[1.0], &mut vec![0.0; len])
            });
        }
        for coverage in [2.0, 0.0, f64::NAN] {
            refuses("coverage", &|model| {
                let mut ends = Array3::zeros((50, 1, 2));
                let asked =
                    Prequential { intervals: Some((coverage, ends.view_mut())), ..Default::default() };
                model.learn_prequential(x.view(), y.view(), None, asked, &mut |_| true).map(|_| ())
            });
        }
        refuses("novelties", &|model| {
            let mut novelties = Array1::zeros(49);
            let asked = Prequential { novelties: Some(novelties.view_mut()), ..Default::default() };
            model.learn_prequential(x.view(), y.view(), None, asked, &mut |_| true).map(|_| ())
        });
    }
}

#[test]
fn intervals_have_two_ends() {
    let (x, y) = rows();
    let mut model = AnyModel::from_json("{}").unwrap();
    let mut ends = Array3::zeros((50, 1, 3));
    let asked = Prequential { intervals: Some((0.9, ends.view_mut())), ..Default::default() };
    let error = model.learn_prequential(x.view(), y.view(), None, asked, &mut |_| true).unwrap_err();
    assert!(error.to_string().starts_with("intervals"), "{error}");
    assert_eq!((model.n_seen(), model.n_outputs()), (0, None));
}

#[test]
fn a_call_that_ends_at_once_fixes_no_widths() {
    let (x, y) = rows();
    for spec in SPECS {
        let mut model = AnyModel::from_json(spec).unwrap();
        assert_eq!(model.learn_while(x.view(), y.view(), None, None, &mut |_| false).unwrap(), 0);
        assert_eq!((model.n_features(), model.n_outputs()), (None, None), "{spec}");
        // Nor does it change what is learned afterwards, of rows of another width.
        model.learn_one(&[1.0], &[1.0]).unwrap();
        assert_eq!((model.n_features(), model.n_seen()), (Some(1), 1), "{spec}");
    }
}
