//! Least squares for each horizon separately, which starts when its first outcome is known.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};

use crate::error::{Error, Result};
use crate::learner::{Learner as _, LearnerFile as _, Ridge, RidgeSpec};
use crate::linalg::{Coordinates, from_array, to_array};
use crate::persist::{Reader, Writer, load};

const KIND: &str = "linear";

/// From features of a state (p) to the state one horizon later (d). O(p² + p d) for each.
#[derive(Clone, Debug)]
pub struct Regression {
    ridges: Vec<Ridge>,
}

impl Regression {
    pub fn new(horizons: usize, spec: &RidgeSpec) -> Result<Self> {
        let ridges = (0..horizons).map(|_| Ridge::new(spec.clone())).collect::<Result<_>>()?;
        Ok(Self { ridges })
    }

    /// Learns the state one horizon after a state with these features.
    pub fn learn(&mut self, horizon: usize, features: &Coordinates, came: &[f64]) -> Result<()> {
        learn(&mut self.ridges[horizon], features, came)
    }

    /// Forecast from states with these features (n, p): (n, d). `None` if untrained, or for other
    /// features.
    pub fn expected(&self, horizon: usize, features: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
        let ridge = &self.ridges[horizon];
        expected(ridge, features, 0..ridge.n_outputs())
    }

    pub fn write(&self, name: &str, out: &mut Writer) -> Result<()> {
        for (k, ridge) in self.ridges.iter().enumerate() {
            let mut own = Writer::default();
            ridge.write(&mut own);
            let own = own.finish(KIND, serde_json::Value::Null, serde_json::Value::Null)?;
            out.bytes(&format!("{name}.{k}"), own);
        }
        Ok(())
    }

    /// Reads what [`write`](Self::write) wrote, for this number of features and components.
    pub fn read(&mut self, name: &str, (features, width): (usize, usize), from: &Reader<'_>) -> Result<()> {
        for (k, ridge) in self.ridges.iter_mut().enumerate() {
            let bytes = from.bytes(&format!("{name}.{k}"))?;
            load(bytes, KIND, |_: serde_json::Value, from| ridge.read(from))?;
            if ridge.dim() > 0 && (ridge.dim(), ridge.n_outputs()) != (features, width) {
                return Err(Error::file("the arrays of its forecasts do not fit each other"));
            }
        }
        Ok(())
    }
}

/// One round of the learner.
pub fn learn(ridge: &mut Ridge, features: &Coordinates, came: &[f64]) -> Result<()> {
    ridge.grow_outputs(came.len());
    ridge.grow(features.len());
    ridge.learn(features, came, 1.0, &mut vec![0.0; came.len()])
}

/// Its prediction from features (n, p), the first of which it has learned, for these outputs.
pub fn expected(ridge: &Ridge, features: ArrayView2<'_, f64>, outputs: Range<usize>) -> Option<Array2<f64>> {
    let weights = ridge.weights().as_faer();
    if weights.nrows() == 0 || weights.nrows() > features.ncols() {
        return None;
    }
    let features = from_array(features.slice_move(s![.., ..weights.nrows()]));
    Some(to_array((&features * weights.subcols(outputs.start, outputs.len())).as_ref()))
}
