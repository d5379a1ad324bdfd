//! The models there are, chosen when the program runs, and their files.

use std::ops::{Deref, DerefMut};

use crate::budget::{self, BudgetSpec, Budgeted};
use crate::error::{Error, Result};
use crate::experts::{self, Experts};
use crate::kernel::KernelSpec;
use crate::learner::LearnerSpec;
use crate::model::{AsModel, Model};
use crate::persist::{Persist, Reader, parse};
use crate::stream::{self, AnyStream};

/// A model of any kind.
///
/// What it can do is in [`Model`] and [`Persist`]. Its specification has a `kernel`, a `basis` and a
/// `learner`, or a `kernel` and a budgeted `learner`, which chooses the stored points itself, or a list of
/// such as `experts`, and their `mixture`.
///
/// ```
/// use kernelstream::{AnyModel, Result};
///
/// # fn main() -> Result<()> {
/// let ridge = r#"{"basis": {"type": "ald", "tolerance": 1e-3}, "learner": {"type": "ridge"}}"#;
/// let kogd = r#"{"learner": {"type": "budgeted_gradient", "removal": {"project": 0.1}}}"#;
/// for spec in [ridge, kogd] {
///     let mut model = AnyModel::from_json(spec)?;
///     for t in 0..2000 {
///         let x = [f64::from(t * 37 % 100) / 50.0 - 1.0];
///         model.learn_one(&x, &[x[0]])?;
///     }
///     assert!((model.predict_one(&[0.5])?[0] - 0.5).abs() < 0.1);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub enum AnyModel {
    /// A basis and a learner.
    Stream(Box<AnyStream>),
    /// A sum over stored points that can leave.
    Budgeted(Box<Budgeted>),
    /// A mixture of models.
    Experts(Box<Experts<AnyModel>>),
}

impl AnyModel {
    /// A model that has seen nothing yet, from its specification in JSON.
    pub fn from_json(json: &str) -> Result<Self> {
        Self::from_spec(serde_json::from_str(json).map_err(|e| broken(e.to_string()))?)
    }
}

impl Deref for AnyModel {
    type Target = dyn Model;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Stream(model) => &**model,
            Self::Budgeted(model) => &**model,
            Self::Experts(model) => &**model,
        }
    }
}

impl DerefMut for AnyModel {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Stream(model) => &mut **model,
            Self::Budgeted(model) => &mut **model,
            Self::Experts(model) => &mut **model,
        }
    }
}

impl AsModel for AnyModel {
    type Target = dyn Model;

    fn as_model(&self) -> &Self::Target {
        &**self
    }

    fn as_model_mut(&mut self) -> &mut Self::Target {
        &mut **self
    }
}

impl std::fmt::Debug for AnyModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let spec = self.spec_json().map_err(|_| std::fmt::Error)?;
        write!(f, "Model({spec}, n_seen: {}, n_stored: {})", self.n_seen(), self.n_stored())
    }
}

impl Persist for AnyModel {
    fn from_spec(mut spec: serde_json::Value) -> Result<Self> {
        if spec.get("experts").is_some() {
            return Ok(Self::Experts(Box::new(Experts::from_spec(spec)?)));
        }
        let kind = spec.pointer("/learner/type").and_then(serde_json::Value::as_str);
        if !kind.is_some_and(BudgetSpec::is_kind) {
            return Ok(Self::Stream(Box::new(AnyStream::from_spec(spec)?)));
        }
        let basis = spec.as_object_mut().and_then(|spec| spec.remove("basis"));
        if basis.is_some_and(|basis| !basis.is_null()) {
            return Err(broken(
                "a budgeted learner chooses the stored points itself: leave the basis out".into(),
            ));
        }
        Ok(Self::Budgeted(Box::new(Budgeted::from_spec(spec)?)))
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        match self {
            Self::Stream(model) => model.spec_json(),
            Self::Budgeted(model) => model.spec_json(),
            Self::Experts(model) => model.spec_json(),
        }
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        match self {
            Self::Stream(model) => model.to_bytes(extra),
            Self::Budgeted(model) => model.to_bytes(extra),
            Self::Experts(model) => model.to_bytes(extra),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        Ok(match Reader::open(bytes)?.kind() {
            stream::KIND => {
                let (model, extra) = AnyStream::from_bytes(bytes)?;
                (Self::Stream(Box::new(model)), extra)
            }
            budget::KIND => {
                let (model, extra) = Budgeted::from_bytes(bytes)?;
                (Self::Budgeted(Box::new(model)), extra)
            }
            experts::KIND => {
                let (model, extra) = Experts::from_bytes(bytes)?;
                (Self::Experts(Box::new(model)), extra)
            }
            other => return Err(Error::file(format!("it holds a model of another kind, {other:?}"))),
        })
    }
}

fn broken(reason: String) -> Error {
    Error::Specification { part: "model", reason }
}

/// Refuses a specification of a learner, budgeted or not, that has a bad parameter.
pub fn check_learner(json: &str) -> Result<()> {
    let broken = |e: serde_json::Error| Error::Specification { part: "learner", reason: e.to_string() };
    let spec: serde_json::Value = serde_json::from_str(json).map_err(broken)?;
    if spec["type"].as_str().is_some_and(BudgetSpec::is_kind) {
        Budgeted::new(KernelSpec::default(), parse("learner", spec)?).map(|_| ())
    } else {
        parse::<LearnerSpec>("learner", spec)?.build().map(|_| ())
    }
}
