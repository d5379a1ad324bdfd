//! Least squares over each horizon by itself, each as far as what came is known.

use std::ops::Range;

use ndarray::{Array2, ArrayView2, s};

use crate::error::{Error, Result};
use crate::learner::{Learner as _, LearnerFile as _, Ridge, RidgeSpec};
use crate::linalg::{Coordinates, from_array, to_array};
use crate::persist::{Reader, Writer, load};

const KIND: &str = "linear";

/// From features of a state (p) to what comes over each horizon (d). O(p² + p d) for each.
#[derive(Clone, Debug)]
pub(super) struct Regression {
    ridges: Vec<Ridge>,
}

impl Regression {
    pub fn new(horizons: usize, spec: &RidgeSpec) -> Result<Self> {
        let ridges = (0..horizons).map(|_| Ridge::new(spec.clone())).collect::<Result<_>>()?;
        Ok(Self { ridges })
    }

    /// What came over this horizon after a state with these features.
    pub fn learn(&mut self, horizon: usize, features: &Coordinates, came: &[f64]) -> Result<()> {
        learn(&mut self.ridges[horizon], features, came)
    }

    /// What is expected over this horizon after states with these features (n, p): (n, d). `None` before anything
    /// came, or if features are others.
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

    /// Reads what [`write`](Self::write) wrote, of so many features and numbers of a state.
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

/// One round of a learner of what came.
pub(super) fn learn(ridge: &mut Ridge, features: &Coordinates, came: &[f64]) -> Result<()> {
    ridge.grow_outputs(came.len());
    ridge.grow(features.len());
    ridge.learn(features, came, 1.0, &mut vec![0.0; came.len()])
}

/// What it expects from features (n, p), the first of which it knows, in these of its outputs.
pub(super) fn expected(
    ridge: &Ridge,
    features: ArrayView2<'_, f64>,
    outputs: Range<usize>,
) -> Option<Array2<f64>> {
    let weights = ridge.weights().as_faer();
    if weights.nrows() == 0 || weights.nrows() > features.ncols() {
        return None;
    }
    let features = from_array(features.slice_move(s![.., ..weights.nrows()]));
    Some(to_array((&features * weights.subcols(outputs.start, outputs.len())).as_ref()))
}
