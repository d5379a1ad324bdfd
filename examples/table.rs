//! A live table: rows with a category, a time and gaps, learned, saved, and gone on with.
//!
//! `cargo run --example table -- FOLDER` writes `rust_regressor.model` and `rust_classifier.model`, which
//! Python reads with `kernelstream.load`, and `rust.json`, what they predict.

use std::path::PathBuf;

use kernelstream::table::category;
use kernelstream::{AnyModel, Persist as _, Result};
use serde_json::{Value, json};

const ROOMS: [&str; 3] = ["hall", "attic", "café"];

/// The cells of an hour: watts, a gap now and then; a room; the seconds since 1970.
fn row(hour: u32) -> [f64; 3] {
    let watts = if hour % 7 == 3 { f64::NAN } else { 1e4 * (f64::from(hour) * 0.618).fract() };
    let room = ROOMS[hour as usize / 3 % if hour < 90 { 2 } else { 3 }];
    [watts, category(room), 1_772_323_200.0 + 3600.0 * f64::from(hour)]
}

fn target(hour: u32) -> f64 {
    (f64::from(hour) / 4.0).sin() + f64::from(hour / 3 % 2)
}

fn main() -> Result<()> {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let columns = json!({"warm_up": 40, "gaps": "fill", "named": [
        {"name": "watts", "kind": {"type": "number", "logarithm": true}},
        {"name": "room", "kind": {"type": "category", "max_size": 10}},
        {"name": "when", "kind": {"type": "time"}},
    ]});
    let regressor = json!({"model": {"learner": {"type": "ridge"}}, "columns": columns});
    let classifier = json!({
        "model": {"learner": {"type": "gauss_newton"}},
        "columns": columns,
        "labels": {"classes": ["low", "middle", "high"], "weights": "balanced"}
    });
    let mut prequential = serde_json::Map::new();
    for (name, spec) in [("regressor", regressor), ("classifier", classifier)] {
        let mut model = AnyModel::from_json(&spec.to_string())?;
        let classes = model.as_table().and_then(|table| table.labels()).cloned();
        for hour in 0..90 {
            let y = target(hour);
            let y = match &classes {
                None => y,
                // Classes are sorted: high, low, middle.
                Some(_) => [1.0, 2.0, 0.0][usize::from(y > 0.0) + usize::from(y > 1.0)],
            };
            model.learn_one(&row(hour), &[y])?;
        }
        let path = folder.join(format!("rust_{name}.model"));
        model.save(&path, Value::Null)?;
        let (model, _) = AnyModel::load(&path)?;
        let mut predictions = Vec::new();
        for hour in 90..102 {
            let said = model.predict_one(&row(hour))?[0];
            predictions.push(match &classes {
                None => json!(said),
                Some(labels) => json!(labels.label(said)),
            });
        }
        prequential.insert(name.into(), predictions.into());
        println!("{name}: {} rows, {} points, {}", model.n_seen(), model.n_stored(), path.display());
    }
    let text = serde_json::to_string_pretty(&prequential).unwrap_or_default() + "\n";
    kernelstream::persist::write_file(&folder.join("rust.json"), text.as_bytes())
}
