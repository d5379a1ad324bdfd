//! Bounds of parameters for experiments.

use serde::Serialize;
use serde_json::Value;

use crate::error::{Error, Result};

/// Largest factor between a parameter and its default: enough for experiments, and without
/// excessive memory or divisions by 0.
const MAX_FACTOR: f64 = 4.0;

/// Refuses parameters that are far from their defaults.
pub(crate) fn check_params<P: Default + PartialEq + Serialize>(params: &P) -> Result<()> {
    let json = |params: &P| serde_json::to_value(params).map_err(|e| Error::file(e.to_string()));
    let defaults = P::default();
    if *params == defaults { Ok(()) } else { check_near("params", &json(params)?, &json(&defaults)?) }
}

fn check_near(name: &str, value: &Value, default: &Value) -> Result<()> {
    match (value, default) {
        (Value::Object(values), Value::Object(defaults)) => {
            let pairs = values.iter().zip(defaults.values());
            pairs.into_iter().try_for_each(|((name, value), default)| check_near(name, value, default))
        }
        (Value::Array(values), Value::Array(defaults)) => {
            values.iter().zip(defaults).try_for_each(|(value, default)| check_near(name, value, default))
        }
        // A choice among names, none by default.
        (_, Value::Null) => Ok(()),
        _ => match (value.as_f64(), default.as_f64()) {
            (Some(value), Some(default))
                if (default / MAX_FACTOR..=default * MAX_FACTOR).contains(&value) =>
            {
                Ok(())
            }
            _ => Err(Error::InvalidParameter {
                name: "params",
                value: format!("{name}: {value}"),
                requirement: "numbers between a quarter of the default and four times it",
            }),
        },
    }
}
