//! The regressors of irithyll on a stream of rows, for benchmarks/peers/tables.py.
//!
//!     irithyll-stream FILE ROWS COLUMNS LEARNER [NUMBER]...
//!
//! FILE holds ROWS rows of COLUMNS features and a target, doubles in the byte order of this machine.
//! Each row is predicted, then learned.
//! Predictions go to FILE.out, seconds of processor time of the loop to the standard output.

use std::env;
use std::error::Error;
use std::fs;

use cpu_time::ProcessTime;
use irithyll::learners::rls::{LocallyWeightedRegression, StreamingPolynomialRegression};
use irithyll::{StreamingLearner, krls, linear, mondrian, rls, sgbt, streaming_kan};

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // counts, given as numbers
fn learner(name: &str, numbers: &[f64], columns: usize) -> Option<Box<dyn StreamingLearner>> {
    Some(match (name, numbers) {
        ("krls", &[gamma, tolerance, most]) => Box::new(krls(gamma, most as usize, tolerance)),
        ("local", &[rows, bandwidth]) => Box::new(LocallyWeightedRegression::new(rows as usize, bandwidth)),
        ("linear", &[rate]) => Box::new(linear(rate)),
        ("rls", &[forgetting]) => Box::new(rls(forgetting)),
        ("polynomial", &[degree, forgetting]) => {
            Box::new(StreamingPolynomialRegression::new(degree as usize, forgetting))
        }
        ("mondrian", &[trees]) => Box::new(mondrian(trees as usize)),
        ("sgbt", &[steps, rate]) => Box::new(sgbt(steps as usize, rate)),
        ("kan", &[hidden, rate]) => Box::new(streaming_kan(&[columns, hidden as usize, 1], rate)),
        _ => return None,
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [path, rows, columns, name, numbers @ ..] = arguments.as_slice() else {
        return Err("usage: irithyll-stream FILE ROWS COLUMNS LEARNER [NUMBER]...".into());
    };
    let (rows, columns): (usize, usize) = (rows.parse()?, columns.parse()?);
    let numbers = numbers.iter().map(|number| number.parse()).collect::<Result<Vec<f64>, _>>()?;
    let mut model = learner(name, &numbers, columns)
        .ok_or_else(|| format!("no learner {name} with {} numbers", numbers.len()))?;

    let bytes = fs::read(path)?;
    let data: Vec<f64> = bytes.as_chunks().0.iter().map(|&eight| f64::from_ne_bytes(eight)).collect();
    let start = ProcessTime::now();
    let predictions: Vec<f64> = data
        .chunks_exact(columns + 1)
        .take(rows)
        .map(|row| {
            let (features, target) = row.split_at(columns);
            let prediction = model.predict(features);
            model.train(features, target[0]);
            prediction
        })
        .collect();
    println!("{:.9}", start.elapsed().as_secs_f64());
    let written: Vec<u8> = predictions.iter().flat_map(|value| value.to_ne_bytes()).collect();
    fs::write(format!("{path}.out"), written)?;
    Ok(())
}
