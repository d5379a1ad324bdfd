//! A stream that changes halfway: forgetting lets the learner follow.
//!
//! `cargo run --release --example drift`

use kernelstream::basis::Nested;
use kernelstream::kernel::Kernel;
use kernelstream::learner::{Ridge, RidgeSpec};
use kernelstream::stream::Stream;
use kernelstream::{Introspection as _, Model as _, Result};

fn main() -> Result<()> {
    let learner = |forgetting: f64| Ridge::new(RidgeSpec { forgetting, ..RidgeSpec::default() });
    let basis = || Nested::ald(Kernel::gaussian(0.3)?, 1e-3);
    let mut keeps = Stream::new(basis()?, learner(1.0)?);
    let mut forgets = Stream::new(basis()?, learner(0.99)?);

    println!("{:>6}  {:>12}  {:>12}", "row", "keeps all", "forgets");
    let mut errors = [0.0; 2];
    for row in 1_u32..=8000 {
        // A point that wanders over [-1, 1], and a target that turns around at row 4,000.
        let x = [(f64::from(row) * 0.618_034).fract() * 2.0 - 1.0];
        let y = [(3.0 * x[0]).sin() * if row <= 4000 { 1.0 } else { -1.0 }];
        for (model, error) in [&mut keeps, &mut forgets].into_iter().zip(&mut errors) {
            // Before the first row nothing is known.
            let prediction = if row > 1 { model.predict_one(&x)?[0] } else { 0.0 };
            *error += (prediction - y[0]).powi(2);
            model.learn_one(&x, &y)?;
        }
        if row % 1000 == 0 {
            let [a, b] = errors.map(|error: f64| (error / 1000.0).sqrt());
            println!("{row:>6}  {a:>12.5}  {b:>12.5}");
            errors = [0.0; 2];
        }
    }
    println!("root mean squared error of each thousand rows; {} points stored", forgets.n_stored());
    Ok(())
}
