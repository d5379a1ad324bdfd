//! Tables as they are written down.

use serde::{Deserialize, Serialize};

use super::{ColumnsSpec, LabelsSpec};

/// A model, and what it needs to know of the table whose rows it learns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// The model, as [`AnyModel`](crate::any::AnyModel) reads it.
    pub model: serde_json::Value,
    /// The columns; `None`: the model gets rows as they are.
    #[serde(default)]
    pub columns: Option<ColumnsSpec>,
    /// The classes; `None`: targets are numbers.
    #[serde(default)]
    pub labels: Option<LabelsSpec>,
}
