//! A basis of one's own: four methods, and it works with every learner. All else has defaults.
//!
//! `cargo run --example own_basis`

use kernelstream::basis::{Basis, BasisBlocks, BasisGrowth, BasisPoints};
use kernelstream::learner::{Ridge, RidgeSpec};
use kernelstream::linalg::Coordinates;
use kernelstream::stream::Stream;
use kernelstream::{Model as _, Result};

/// Hat functions on [0, 1], `nodes` for each feature: 1 at a node, falling to 0 at the nodes beside it. What
/// is linear in them is a sum of piecewise linear functions of single features.
#[derive(Clone)]
struct Hats {
    nodes: usize,
    width: Option<usize>,
}

impl Basis for Hats {
    /// All coordinates are there once the number of features is known.
    fn dim(&self) -> usize {
        self.width.map_or(0, |width| width * self.nodes)
    }

    fn width(&self) -> Option<usize> {
        self.width
    }

    fn begin(&mut self, width: usize) -> Result<()> {
        self.width = Some(width);
        Ok(())
    }

    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64 {
        let last = (self.nodes - 1) as f64;
        let hats = |value: &f64| {
            let at = value * last;
            (0..self.nodes).map(move |node| (1.0 - (at - node as f64).abs()).max(0.0))
        };
        z.set(x.iter().flat_map(hats));
        // No row becomes a coordinate.
        0.0
    }
}

impl BasisBlocks for Hats {}

impl BasisGrowth for Hats {}

impl BasisPoints for Hats {}

fn main() -> Result<()> {
    let basis = Hats { nodes: 12, width: None };
    let mut model = Stream::new(basis, Ridge::new(RidgeSpec::default())?);
    let function = |x: &[f64; 2]| (6.0 * x[0]).sin() + (x[1] - 0.3).abs();
    for row in 0_u32..3000 {
        let x = [(f64::from(row) * 0.618_034).fract(), (f64::from(row) * 0.414_214).fract()];
        model.learn_one(&x, &[function(&x)])?;
    }
    let mut worst = 0.0_f64;
    for row in 0_u32..100 {
        let x = [f64::from(row) / 99.0, (f64::from(row) * 0.37).fract()];
        worst = worst.max((model.predict_one(&x)?[0] - function(&x)).abs());
    }
    println!("largest error on held-out points: {worst:.4}");
    assert!(worst < 0.1);

    // A bad row is refused and named, and changes nothing: the stream sees to that.
    let refused = model.learn_one(&[f64::NAN, 0.0], &[1.0]);
    println!("{}", refused.expect_err("not a number"));
    assert_eq!(model.n_seen(), 3000);
    Ok(())
}
