//! A service in a pipe: rows come in, predictions go out, and every row is learned after its prediction.
//!
//! ```text
//! sensors | cargo run --release --example service -- load.model load
//! ```
//!
//! reads a JSON object a line, such as `{"watts": 410.0, "room": "attic", "load": 0.3}`, and answers each with a
//! line: the prediction of `load` as it was before the row was learned, `null` before the first row, or
//! `{"error": ...}`. A row without `load` is only answered. The columns are those of the first row; what is missing
//! or `null` in a later one is a gap. The model is saved every minute and at the end, in one step, so that whenever
//! the service is stopped there is a whole file; if there is one when it begins, it continues from there. Python reads
//! the file with `kernelstream.load`.

use std::io::{BufRead as _, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kernelstream::table::{ColumnKind, category};
use kernelstream::{AnyModel, Error, Persist as _};
use serde_json::{Map, Value, json};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const INTERVAL: Duration = Duration::from_secs(60);

/// A model, and the column it predicts.
struct Service {
    model: Option<AnyModel>,
    target: String,
}

impl Service {
    /// The prediction for a row, which is learned then if it has a target.
    fn answer(&mut self, line: &str) -> Outcome<Option<f64>> {
        let row: Map<String, Value> = serde_json::from_str(line)?;
        if self.model.is_none() {
            self.model = Some(begin(&row, &self.target)?);
        }
        let Some(model) = &mut self.model else { return Ok(None) };
        let cells = cells(model, &row)?;
        let predicted = match model.predict_one(&cells) {
            Ok(outputs) => Some(outputs[0]),
            Err(Error::NothingLearned) => None,
            Err(error) => return Err(error.into()),
        };
        match row.get(&self.target) {
            None | Some(Value::Null) => {}
            Some(Value::Number(target)) => model.learn_one(&cells, &[target.as_f64().unwrap_or(f64::NAN)])?,
            Some(other) => return Err(format!("{} is {other}, which is not a number", self.target).into()),
        }
        Ok(predicted)
    }
}

/// A model that has learned nothing, of the columns of this row.
fn begin(row: &Map<String, Value>, target: &str) -> Outcome<AnyModel> {
    let column = |(name, value): (&String, &Value)| {
        let kind = match value {
            Value::String(_) => "category",
            Value::Bool(_) => "boolean",
            _ => "number",
        };
        json!({"name": name, "kind": {"type": kind}})
    };
    let columns: Vec<_> = row.iter().filter(|(name, _)| *name != target).map(column).collect();
    if columns.is_empty() {
        return Err("the first row has to name the columns".into());
    }
    Ok(AnyModel::from_json(&json!({"columns": {"named": columns, "gaps": "fill"}}).to_string())?)
}

/// The cells of a row in the order of the model's columns; a gap is NaN.
fn cells(model: &AnyModel, row: &Map<String, Value>) -> Outcome<Vec<f64>> {
    let encoder = model.as_table().and_then(|table| table.encoder()).ok_or("the model has no columns")?;
    let cell = |column: &kernelstream::table::Column| match (&column.kind, row.get(&column.name)) {
        (_, None | Some(Value::Null)) => Ok(f64::NAN),
        (ColumnKind::Category { .. }, Some(Value::String(text))) => Ok(category(text)),
        (ColumnKind::Boolean {}, Some(Value::Bool(value))) => Ok(f64::from(u8::from(*value))),
        (ColumnKind::Number { .. }, Some(Value::Number(number))) => Ok(number.as_f64().unwrap_or(f64::NAN)),
        (kind, Some(other)) => Err(format!("{} is {other}, and the column is {kind:?}", column.name).into()),
    };
    encoder.spec().named.iter().map(cell).collect()
}

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let (Some(path), Some(target), None) = (arguments.next(), arguments.next(), arguments.next()) else {
        return Err("usage: service MODEL TARGET".into());
    };
    let path = PathBuf::from(path);
    let model = if path.exists() { Some(AnyModel::load(&path)?.0) } else { None };
    let mut service = Service { model, target };
    let (mut output, mut saved) = (std::io::stdout().lock(), Instant::now());
    for line in std::io::stdin().lock().lines() {
        let answer = match service.answer(&line?) {
            Ok(predicted) => json!(predicted),
            Err(error) => json!({"error": error.to_string()}),
        };
        writeln!(output, "{answer}")?;
        output.flush()?;
        if let Some(model) = service.model.as_ref().filter(|_| saved.elapsed() > INTERVAL) {
            model.save(&path, Value::Null)?;
            saved = Instant::now();
        }
    }
    service.model.map_or(Ok(()), |model| Ok(model.save(&path, Value::Null)?))
}
