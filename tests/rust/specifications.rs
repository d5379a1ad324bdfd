//! Specifications in JSON that are refused, and why.

use kernelstream::any::check_learner;
use kernelstream::dynamics::DynamicsSpec;
use kernelstream::koopman::KoopmanSpec;
use kernelstream::stream::ModelSpec;
use kernelstream::{AnyModel, Error};

/// The message, which has no name of a type of Rust.
fn message<T>(read: Result<T, Error>, spec: &str) -> String {
    let message = read.err().unwrap_or_else(|| panic!("{spec} is read")).to_string();
    let is_type = |word: &str| word.ends_with("Spec") || word.contains("Spec:") || word.ends_with("Params");
    assert!(!message.split([' ', ',']).any(is_type), "{message}");
    message
}

#[test]
fn values_are_given_with_their_names_not_as_lists() {
    for (spec, expected) in [
        (r#"[{"type": "gaussian"}]"#, "invalid type: list"),
        ("[]", ""),
        (r#"{"adaptive": []}"#, "adaptive: invalid type: list, expected values with their names"),
        (r#"{"adaptive": [1]}"#, "adaptive"),
        (r#"{"model": {"adaptive": {}}, "columns": ["fill"]}"#, "columns"),
        (r#"{"columns": {"named": [["a"]]}}"#, "columns.named[0]"),
        (r#"{"learner": ["ridge", 0.1]}"#, "learner"),
        (r#"{"basis": ["ald", 0.1]}"#, "basis"),
        (r#"{"kernel": ["gaussian", 0.1]}"#, "kernel"),
        (r#"{"learner": {"type": "gradient", "schedule": {"power": [1.0, 2.0]}}}"#, "learner"),
        (r#"{"experts": [["gaussian"]]}"#, ""),
        (r#"{"adaptive": "a"}"#, "adaptive: invalid type: string \"a\", expected an object of named values"),
        (r#"{"kernel": 3}"#, "kernel"),
        (r#"{"kernel": {"type": "gaussian", "bandwidth": []}}"#, "kernel"),
    ] {
        let message = message(AnyModel::from_json(spec), spec);
        assert!(
            message.contains(expected) && !message.contains("struct") && !message.contains("sequence"),
            "{message}"
        );
    }
    for spec in [r#"{"operator": []}"#, r#"{"choice": [true]}"#, r#"{"delays": [1, 2]}"#, "[]"] {
        message(DynamicsSpec::from_json(spec), spec);
    }
    for spec in
        ["[]", r#"{"learner": []}"#, r#"{"dictionaries": {"separate": [0.1]}}"#, r#"{"control": [1]}"#]
    {
        message(KoopmanSpec::from_json(spec), spec);
    }
    for spec in ["[]", r#"["ridge"]"#] {
        message(check_learner(spec), spec);
    }
    assert!(AnyModel::from_json(r#"{"adaptive": {}}"#).is_ok());
    assert!(AnyModel::from_json(r#"{"kernel": {"type": "gaussian", "bandwidth": null}}"#).is_ok());
}

#[test]
fn fields_that_do_not_exist_are_refused_everywhere() {
    for spec in [
        r#"{"kernel": {"type": "gaussian", "nonsense": 1}}"#,
        r#"{"basis": {"type": "ald", "nonsense": 1}}"#,
        r#"{"basis": {"type": "kors", "nonsense": 1}}"#,
        r#"{"basis": {"type": "fourier", "nonsense": 1}}"#,
        r#"{"basis": {"type": "sketched", "nonsense": 1}}"#,
        r#"{"learner": {"type": "ridge", "nonsense": 1}}"#,
        r#"{"learner": {"type": "gradient", "schedule": {"power": {"half_life": 1, "exponent": 1, "nonsense": 1}}}}"#,
        r#"{"learner": {"type": "staged", "first": {"type": "gradient"}, "then": {"type": "gradient"}, "nonsense": 1}}"#,
        r#"{"learner": {"type": "budgeted_gradient", "nonsense": 1}}"#,
        r#"{"learner": {"type": "budgeted_perceptron", "nonsense": 1}}"#,
        r#"{"learner": {"type": "ridge"}, "nonsense": 1}"#,
        r#"{"experts": [{}], "nonsense": 1}"#,
        r#"{"experts": [{"nonsense": 1}]}"#,
        r#"{"adaptive": {"nonsense": 1}}"#,
        r#"{"adaptive": {}, "nonsense": 1}"#,
        r#"{"adaptive": {"params": {"refits": {"nonsense": 1}}}}"#,
        r#"{"columns": {"nonsense": 1}}"#,
        r#"{"columns": {"named": [{"name": "a", "nonsense": 1}]}}"#,
        r#"{"columns": {"named": [{"name": "a", "kind": {"type": "category", "nonsense": 1}}]}}"#,
        r#"{"labels": {"classes": ["a", "b"], "nonsense": 1}}"#,
        r#"{"columns": {}, "evidence": {"nonsense": true}}"#,
        r#"{"targets": 2, "nonsense": 1}"#,
    ] {
        let message = message(AnyModel::from_json(spec), spec);
        assert!(message.contains("unknown field `nonsense`"), "{spec}: {message}");
    }
    for spec in [
        r#"{"nonsense": 1}"#,
        r#"{"rank": {"type": "reduced", "rank": 2, "nonsense": 1}}"#,
        r#"{"dictionaries": {"shared": {"type": "ald", "nonsense": 1}}}"#,
        r#"{"dictionaries": {"separate": {"type": "hilbert_schmidt", "budget": 0.1, "nonsense": 1}}}"#,
        r#"{"replay": {"nonsense": 1}}"#,
        r#"{"control": {"width": 1, "nonsense": 1}}"#,
    ] {
        let message = message(KoopmanSpec::from_json(spec), spec);
        assert!(message.contains("nonsense"), "{spec}: {message}");
    }
    for part in ["choice", "delays", "params", "operator"] {
        let spec = format!(r#"{{"{part}": {{"nonsense": 1}}}}"#);
        assert!(message(DynamicsSpec::from_json(&spec), &spec).contains("nonsense"));
    }
    assert!(ModelSpec::from_json(r#"{"nonsense": 1}"#).is_err());
}
