//! The service of `examples/service.rs`, run as a program.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kernelstream::{AnyModel, Persist as _};
use serde_json::{Value, json};

/// Cargo builds the examples before it runs the tests, beside the folder of the tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let built = tests.ancestors().nth(2).unwrap().join("examples").join("service");
    let built = built.with_extension(std::env::consts::EXE_EXTENSION);
    assert!(built.exists(), "of a single test, cargo builds no examples: cargo build --example service");
    built
}

/// What the service answers to these lines.
fn answers(model: &Path, lines: &[String]) -> Vec<Value> {
    let mut service = Command::new(program())
        .args([model.as_os_str(), "load".as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = service.stdin.take().unwrap();
    let text = lines.join("\n");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()).unwrap());
    let output = service.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn row(hour: u32) -> String {
    let (watts, attic) = (f64::from(hour * 37 % 100), hour.is_multiple_of(2));
    let room = if attic { "attic" } else { "hall" };
    let load = (watts / 30.0).sin() + f64::from(u8::from(attic));
    json!({"watts": watts, "room": room, "load": load}).to_string()
}

#[test]
fn the_service_answers_each_line_learns_and_continues_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.model");
    let rows: Vec<_> = (0..600).map(row).collect();
    let whole = answers(&folder.path().join("whole.model"), &rows);
    assert_eq!(whole.len(), rows.len());
    assert_eq!(whole[0], Value::Null, "there is nothing to say yet");

    let mut parts = answers(&path, &rows[..300]);
    parts.extend(answers(&path, &rows[300..]));
    assert_eq!(parts, whole, "a restart changes nothing");

    let asked =
        [r#"{"watts": 50, "room": "attic"}"#, r#"{"watts": "much"}"#, r#"{"watts""#].map(String::from);
    let said = answers(&path, &asked);
    let expected = (50.0_f64 / 30.0).sin() + 1.0;
    assert!((said[0].as_f64().unwrap() - expected).abs() < 0.05, "{} {expected}", said[0]);
    assert!(said[1]["error"].as_str().unwrap().contains("watts"), "{}", said[1]);
    assert!(said[2]["error"].is_string());
    let (model, _) = AnyModel::load(&path).unwrap();
    assert_eq!(model.n_seen(), 600, "what has no target, or is wrong, is not learned");
}
