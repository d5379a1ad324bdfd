//! Specifications of tables.

use serde::{Deserialize, Serialize};

use super::{ColumnsSpec, LabelsSpec};
use crate::model::Evidence;

/// A model with the encoders of its columns and labels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableSpec {
    /// Specification of the model, as for [`AnyModel`](crate::any::AnyModel).
    pub model: serde_json::Value,
    /// The columns; `None`: rows are features.
    #[serde(default)]
    pub columns: Option<ColumnsSpec>,
    /// The classes; `None`: targets are numbers.
    #[serde(default)]
    pub labels: Option<LabelsSpec>,
    /// What the first rows choose of the model, see [`Table::with_evidence`](super::Table::with_evidence).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}
