//! What a stream of rows asks of a model, whatever is inside it.

use std::path::Path;

use ndarray::{Array2, ArrayView1, ArrayView2, ArrayViewMut2};

use crate::basis::Basis;
use crate::budget::{self, BudgetSpec, Budgeted, BudgetedSpec};
use crate::error::{Error, Result};
use crate::experts::{self, Experts, ExpertsSpec};
use crate::kernel::KernelSpec;
use crate::learner::{Learner, LearnerSpec};
use crate::persist::{Reader, read_file, write_file};
use crate::stream::{self, AnyStream, ModelSpec, Stream};

/// A model that learns rows `x` with targets `y`: a [`Stream`], a [`Budgeted`] learner, or [`Experts`]
/// made of such.
///
/// The methods are those of the models themselves, with their guarantees: all rows are checked before the
/// first is learned, on an error nothing has changed, and any way of cutting a stream into calls gives the
/// same model.
///
/// ```
/// use kernelstream::model;
///
/// # fn main() -> kernelstream::Result<()> {
/// let ridge = r#"{"basis": {"type": "ald", "tolerance": 1e-3}, "learner": {"type": "ridge"}}"#;
/// let kogd = r#"{"learner": {"type": "budgeted_gradient", "removal": {"project": 0.1}}}"#;
/// for spec in [ridge, kogd] {
///     let mut model = model::from_json(spec)?;
///     for t in 0..2000 {
///         let x = [f64::from(t * 37 % 100) / 50.0 - 1.0];
///         model.learn_one(&x, &[x[0]])?;
///     }
///     assert!((model.predict_one(&[0.5])?[0] - 0.5).abs() < 0.1);
/// }
/// # Ok(())
/// # }
/// ```
pub trait Model: Send + Sync {
    /// Refuses what cannot be learned, naming the row: what learning asks first.
    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()>;

    /// Whether a row that passed [`check`](Self::check) with these weights may still be refused.
    fn can_refuse(&self, weights: Option<ArrayView1<'_, f64>>) -> bool;

    /// Learns rows `x` (n, d) with targets `y` (n, p), whose losses count `weights` (n) times; `None` is
    /// once. Before each row `go_on` is told how many are done, and ends the call by returning false.
    /// Returns how many rows were learned. Predictions made before learning go to `predictions` (n, p).
    fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        predictions: Option<ArrayViewMut2<'_, f64>>,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize>;

    /// Learns one row.
    fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()>;

    /// Predictions for rows `x` (n, d), as the model stands (n, p).
    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>>;

    /// The prediction for one row. Uses scratch of the model, hence `&mut`.
    fn predict_one(&mut self, x: &[f64]) -> Result<&[f64]>;

    /// What the prediction is linear in, for rows `x` (n, m): coordinates, or similarities to the stored
    /// points.
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>>;

    /// The stored points, one a row (m, d).
    fn dictionary(&self) -> Array2<f64>;

    /// Rows learned so far.
    fn n_seen(&self) -> u64;

    /// Points stored.
    fn n_stored(&self) -> usize;

    /// See [`Basis::condition`].
    fn condition(&self) -> Option<f64> {
        None
    }

    /// Weights of the models that this one is a mixture of (outputs, models); `None` for one that is not, and
    /// before the first row.
    fn mixture(&self) -> Option<Array2<f64>> {
        None
    }

    /// Features of a row; `None` before the first.
    fn n_features(&self) -> Option<usize>;

    /// Outputs; `None` before the first row.
    fn n_outputs(&self) -> Option<usize>;

    /// How this model is written down, as JSON.
    fn spec_json(&self) -> Result<serde_json::Value>;

    /// The model as the bytes of a model file (see [`crate::persist`]). `extra` is any JSON of the
    /// caller's, handed back on loading.
    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>>;

    /// A copy behind a pointer.
    fn boxed(&self) -> Box<dyn Model>;

    /// Learns rows.
    fn learn(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<()> {
        self.learn_while(x, y, None, None, &mut |_| true).map(|_| ())
    }

    /// Learns rows, and returns each one's prediction made before it was learned (n, p).
    fn learn_and_predict(&mut self, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let mut predictions = Array2::zeros(y.raw_dim());
        self.learn_while(x, y, None, Some(predictions.view_mut()), &mut |_| true)?;
        Ok(predictions)
    }

    /// Writes the model to a file, in one step: there is never half a file under this name.
    fn save(&self, path: &Path, extra: serde_json::Value) -> Result<()> {
        write_file(path, &self.to_bytes(extra)?)
    }
}

impl Clone for Box<dyn Model> {
    fn clone(&self) -> Self {
        self.boxed()
    }
}

impl std::fmt::Debug for dyn Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spec = self.spec_json().map_err(|_| std::fmt::Error)?;
        write!(f, "Model({spec}, n_seen: {}, n_stored: {})", self.n_seen(), self.n_stored())
    }
}

/// The methods of a model are there under the names of the trait.
macro_rules! forward {
    () => {
        fn check(
            &self,
            x: ArrayView2<'_, f64>,
            y: ArrayView2<'_, f64>,
            weights: Option<ArrayView1<'_, f64>>,
        ) -> Result<()> {
            self.check(x, y, weights)
        }
        fn learn_while(
            &mut self,
            x: ArrayView2<'_, f64>,
            y: ArrayView2<'_, f64>,
            weights: Option<ArrayView1<'_, f64>>,
            predictions: Option<ArrayViewMut2<'_, f64>>,
            go_on: &mut dyn FnMut(usize) -> bool,
        ) -> Result<usize> {
            self.learn_while(x, y, weights, predictions, go_on)
        }
        fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
            self.learn_one(x, y)
        }
        fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
            self.predict(x)
        }
        fn predict_one(&mut self, x: &[f64]) -> Result<&[f64]> {
            self.predict_one(x)
        }
        fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
            self.transform(x)
        }
        fn dictionary(&self) -> Array2<f64> {
            self.dictionary()
        }
        fn n_seen(&self) -> u64 {
            self.n_seen()
        }
        fn n_stored(&self) -> usize {
            self.n_stored()
        }
        fn n_features(&self) -> Option<usize> {
            self.n_features()
        }
        fn n_outputs(&self) -> Option<usize> {
            self.n_outputs()
        }
        fn spec_json(&self) -> Result<serde_json::Value> {
            serde_json::to_value(self.spec()).map_err(|e| Error::file(e.to_string()))
        }
        fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
            self.to_bytes(extra)
        }
    };
}

impl<B: Basis + Clone + 'static, L: Learner + Clone + 'static> Model for Stream<B, L> {
    forward!();

    fn condition(&self) -> Option<f64> {
        self.basis().condition()
    }

    fn can_refuse(&self, weights: Option<ArrayView1<'_, f64>>) -> bool {
        self.n_outputs().is_none() || self.can_fail(weights)
    }

    fn boxed(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }
}

impl Model for Budgeted {
    forward!();

    fn can_refuse(&self, _weights: Option<ArrayView1<'_, f64>>) -> bool {
        true
    }

    fn boxed(&self) -> Box<dyn Model> {
        Box::new(self.clone())
    }
}

/// A model that has seen nothing yet, from its specification in JSON: `kernel`, `basis` and `learner`,
/// or `kernel` and a budgeted `learner`, which chooses the stored points itself, or a list of such as
/// `experts`, and their `mixture`.
pub fn from_json(json: &str) -> Result<Box<dyn Model>> {
    from_value(serde_json::from_str(json).map_err(|e| broken(e.to_string()))?)
}

fn broken(reason: String) -> Error {
    Error::Specification { part: "model", reason }
}

/// [`from_json`], of what has been read.
pub(crate) fn from_value(mut spec: serde_json::Value) -> Result<Box<dyn Model>> {
    if spec.get("experts").is_some() {
        let spec: ExpertsSpec = serde_json::from_value(spec).map_err(|e| broken(e.to_string()))?;
        return Ok(Box::new(spec.build()?));
    }
    let kind = spec.pointer("/learner/type").and_then(serde_json::Value::as_str);
    if !kind.is_some_and(BudgetSpec::is_kind) {
        let spec: ModelSpec = serde_json::from_value(spec).map_err(|e| broken(e.to_string()))?;
        return Ok(Box::new(spec.build()?));
    }
    let basis = spec.as_object_mut().and_then(|spec| spec.remove("basis"));
    if basis.is_some_and(|basis| !basis.is_null()) {
        return Err(broken(
            "a budgeted learner chooses the stored points itself: leave the basis out".into(),
        ));
    }
    let spec: BudgetedSpec = serde_json::from_value(spec).map_err(|e| broken(e.to_string()))?;
    Ok(Box::new(spec.build()?))
}

/// Refuses a specification of a learner, budgeted or not, that has a bad parameter.
pub fn check_learner(json: &str) -> Result<()> {
    let broken = |e: serde_json::Error| Error::Specification { part: "learner", reason: e.to_string() };
    let spec: serde_json::Value = serde_json::from_str(json).map_err(broken)?;
    if spec["type"].as_str().is_some_and(BudgetSpec::is_kind) {
        let spec: BudgetSpec = serde_json::from_value(spec).map_err(broken)?;
        Budgeted::new(KernelSpec::default(), spec).map(|_| ())
    } else {
        serde_json::from_value::<LearnerSpec>(spec).map_err(broken)?.build().map(|_| ())
    }
}

/// A model of any kind from the bytes of a model file, with the caller's JSON. The model goes on
/// as the saved one would have, to the last bit.
pub fn from_bytes(bytes: &[u8]) -> Result<(Box<dyn Model>, serde_json::Value)> {
    match Reader::open(bytes)?.kind() {
        budget::KIND => Budgeted::from_bytes(bytes).map(|(model, extra)| (model.boxed(), extra)),
        experts::KIND => Experts::from_bytes(bytes).map(|(model, extra)| (model.boxed(), extra)),
        stream::KIND => AnyStream::from_bytes(bytes).map(|(model, extra)| (model.boxed(), extra)),
        other => Err(Error::file(format!("it holds a model of another kind, {other:?}"))),
    }
}

/// Reads a model of any kind from a file.
pub fn load(path: &Path) -> Result<(Box<dyn Model>, serde_json::Value)> {
    from_bytes(&read_file(path)?)
}
