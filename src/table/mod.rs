//! Tables: models of raw columns and labels.
//!
//! A [`Table`] is a model of raw rows. Their columns are numbers to standardize, categories,
//! booleans and times, possibly with gaps ([`ColumnKind`]); their targets are numbers, or the codes
//! of classes ([`Labels`]). The encoding into features and signs is learned, saved and used with
//! the model, so that a model file is complete.

mod category;
mod columns;
mod file;
mod filling;
mod judged;
mod labels;
mod merge;
mod middle;
mod model;
mod sample;
mod spec;
mod time;
mod winsorizing;

use ndarray::{Array1, Array2, ArrayView2, Axis, concatenate};

pub use category::category;
pub use columns::{Column, ColumnKind, ColumnsSpec, Encoder, Gaps};
pub(crate) use file::KIND;
pub use labels::{ClassWeights, Label, Labels, LabelsSpec, Link};
pub use spec::TableSpec;
pub use time::TimePart;

use crate::error::{Error, Result};
use crate::model::{Evidence, InnerModel, Model as _};
use crate::online::warm_up::WarmUp;
use crate::online::winsorizer::{Limits, WinsorizerParams};
use crate::uncertainty::Calibration;
use sample::Sample;

/// Rows encoded at once.
const BLOCK: usize = 1024;

/// What is chosen at each refit of the warm-up, and the model as it was given.
#[derive(Clone)]
struct Choice<M> {
    by: Evidence,
    given: M,
}

/// A model on raw rows.
///
/// Scales, categories and means are those of the first rows, the warm-up: a scale that changed with
/// each row would put stored points on other scales than new ones. During the warm-up, each row is
/// learned on the scale of the rows before it; at rows 2, 4, 8, ... and at the last row of the
/// warm-up the scale is set again, and the rows so far, which are kept until then, are learned
/// again on it. The result does not depend on how a stream is split into calls, and no prediction
/// uses a later row.
///
/// After the warm-up the scale stays while it fits. For rows in an order (sorted by a column, or
/// with one that rises with the rows, such as a time) a sample of at most about 2,500 rows is kept,
/// and compared with the scale when the rows are 2, 4, 8, ... times the warm-up. If a column has
/// [left its scale](Table::moved_columns), all scales are set by the sample, and the model learns
/// it again; what was learned from other rows is lost. [`ColumnsSpec::rescale`] switches this off,
/// and so does freezing the dictionary.
///
/// Targets of classes are codes (n, 1), see [`Labels`], and so are predictions.
///
/// Where numbers are standardized and a squared loss of numbers is minimized, outlying targets are
/// winsorized: one beyond 5 standard deviations of the targets and 30 of the errors is learned as if
/// it were 5 standard deviations of the errors from its prediction, but for the fourth and later of
/// such in a row, which are a new level. In the warm-up, a single target (or one in 400)
/// beyond 30 standard deviations of the others is learned as the nearest of these.
/// [`Table::n_limited`] counts the rows. Tables whose dictionary is frozen learn targets as they
/// are, so that merging is exact.
///
/// ```
/// use kernelstream::table::{Label, category};
/// use kernelstream::{AnyModel, Result};
///
/// # fn main() -> Result<()> {
/// let spec = r#"{
///     "model": {"learner": {"type": "gauss_newton"}},
///     "columns": {"named": [{"name": "watts"}, {"name": "room", "kind": {"type": "category"}}]},
///     "labels": {"classes": ["day", "night"]}}"#;
/// let mut model = AnyModel::from_json(spec)?;
/// for t in 0..600 {
///     let (room, bright) = (["hall", "attic"][t % 2], t % 3 != 0);
///     let watts = if bright == (t % 2 == 0) { 50.0 } else { 2000.0 };
///     model.learn_one(&[watts, category(room)], &[if bright { 0.0 } else { 1.0 }])?;
/// }
/// let code = model.predict_one(&[60.0, category("attic")])?[0];
/// let labels = model.as_table().and_then(|table| table.labels());
/// assert_eq!(labels.and_then(|labels| labels.label(code)), Some(&Label::Text("night".into())));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Table<M> {
    model: M,
    encoder: Option<Encoder>,
    labels: Option<Labels>,
    /// What the first rows choose of the model; `None`: nothing.
    choice: Option<Choice<M>>,
    /// `None` after the warm-up, or if no warm-up is needed.
    warm_up: Option<WarmUp<M>>,
    /// After the warm-up; `None` if the scale stays.
    sample: Option<Sample<M>>,
    /// Whether the warm-up was ended early.
    settled: bool,
    /// Limits of the targets, known from the 8th row on; `None`: targets are learned as they are.
    limits: Option<Limits>,
}

impl<M: InnerModel> Table<M> {
    /// A table without rows, around a model that has learned nothing.
    pub fn new(model: M, encoder: Option<Encoder>, labels: Option<Labels>) -> Result<Self> {
        if model.n_seen() > 0 {
            return Err(Error::InvalidParameter {
                name: "model",
                value: "one that has learned".into(),
                requirement: "a model that has not seen a row yet",
            });
        }
        let learns = encoder.as_ref().is_some_and(Encoder::learns);
        let warm_up = learns.then(|| WarmUp::new(model.clone()));
        let winsorizes = labels.is_none()
            && encoder.as_ref().is_some_and(Encoder::standardizes)
            && model.is_spoiled_by_outliers();
        let limits = winsorizes.then(|| Limits::new(WinsorizerParams::default()));
        Ok(Self { model, encoder, labels, choice: None, warm_up, sample: None, settled: false, limits })
    }

    /// This table, whose first rows choose the regularization of its ridge regression, and the
    /// bandwidth of its kernel if asked, by the evidence: at each refit of the warm-up, from 8 rows
    /// on, with the features and signs of the rows so far, see
    /// [`AnyStream::chosen`](crate::stream::AnyStream::chosen). An error without an encoder, or for
    /// other models.
    pub fn with_evidence(mut self, evidence: Evidence) -> Result<Self> {
        let part = "evidence";
        if self.encoder.is_none() {
            let reason = "it chooses in the warm-up, which rows without columns lack: add columns";
            return Err(Error::Specification { part, reason: reason.into() });
        }
        let none = Array2::zeros((0, 1));
        self.model.chosen(evidence, none.view(), none.view(), Array1::zeros(0).view())?;
        self.choice = Some(Choice { by: evidence, given: self.model.clone() });
        self.warm_up.get_or_insert_with(|| WarmUp::new(self.model.clone()));
        Ok(self)
    }

    /// What the first rows choose.
    #[must_use]
    pub fn evidence(&self) -> Option<Evidence> {
        self.choice.as_ref().map(|choice| choice.by)
    }

    /// Whether the first rows determine something that later ones are learned with.
    fn has_warm_up(&self) -> bool {
        self.choice.is_some() || self.encoder.as_ref().is_some_and(Encoder::learns)
    }

    /// The inner model, whose rows are features and whose targets are signs.
    #[must_use]
    pub fn model(&self) -> &M {
        &self.model
    }

    /// The encoder of columns; `None` if rows are features already.
    #[must_use]
    pub fn encoder(&self) -> Option<&Encoder> {
        self.encoder.as_ref()
    }

    /// The classes; `None` if targets are numbers.
    #[must_use]
    pub fn labels(&self) -> Option<&Labels> {
        self.labels.as_ref()
    }

    /// Whether scales and categories may still change.
    #[must_use]
    pub fn is_warming_up(&self) -> bool {
        self.warm_up.is_some()
    }

    /// Rows so far whose target was winsorized.
    #[must_use]
    pub fn n_limited(&self) -> u64 {
        self.limits.as_ref().map_or(0, |limits| limits.limited)
    }

    /// Outputs and targets, as they came, of the latest that were winsorized since the model was
    /// loaded, each once, the latest last.
    #[must_use]
    pub fn latest_limited(&self) -> Vec<(usize, f64)> {
        self.limits.as_ref().map_or_else(Vec::new, |limits| limits.latest.clone())
    }

    /// Indices of the columns that had left the scale or categories of the rows before at a
    /// comparison. In a column that rises with the rows, such as a row number, a model on one scale
    /// always extrapolates.
    #[must_use]
    pub fn moved_columns(&self) -> Vec<usize> {
        self.sample.as_ref().map_or_else(Vec::new, |sample| sample.moved.iter().copied().collect())
    }

    /// Indices of the columns of categories in which at least two rows (n, cells) have a value, but none
    /// that is known: they may be written in another way than in the rows that were learned.
    pub fn unknown_categories(&self, x: ArrayView2<'_, f64>) -> Result<Vec<usize>> {
        self.check_asked(x)?;
        Ok(self.encoder.as_ref().map_or_else(Vec::new, |encoder| encoder.unknown_categories(x)))
    }

    /// Features of rows (n, cells), as the inner model gets them (n, features).
    pub fn features(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        self.check_asked(x)?;
        Ok(self.encoder.as_ref().map_or_else(|| x.to_owned(), |encoder| encoder.encode(x)))
    }

    /// Outputs of the classes for rows (n, cells): of two classes one, above 0 for the second; of
    /// more one each, of which the largest decides. For numbers, the predictions.
    pub fn outputs(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        self.check_asked(x)?;
        let mut outputs = self.ask(x, |rows| self.model.predict(rows))?;
        if let Some(labels) = &self.labels {
            outputs.rows_mut().into_iter().for_each(|row| labels.calibrate(row));
        }
        Ok(outputs)
    }

    /// The probabilities of the classes, for rows (n, cells), in the order of the classes.
    pub fn probabilities(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        self.known_labels()?.probabilities(self.outputs(x)?.view())
    }

    fn known_labels(&self) -> Result<&Labels> {
        self.labels.as_ref().ok_or_else(|| Error::Specification {
            part: "labels",
            reason: "targets are numbers, which have no probabilities".into(),
        })
    }

    /// Prediction sets of the classes for rows (n, cells), with this coverage between 0 and 1 (n,
    /// classes): the classes whose odds against the likeliest other exceed a threshold learned from
    /// past rows. The likeliest is in every set, so the coverage is at least the accuracy.
    pub fn sets(&self, x: ArrayView2<'_, f64>, coverage: f64) -> Result<Array2<bool>> {
        Calibration::check(coverage)?;
        let labels = self.labels.as_ref().ok_or_else(|| Error::Specification {
            part: "labels",
            reason: "targets are numbers, for which there are intervals instead of sets".into(),
        })?;
        Ok(labels.sets(self.outputs(x)?.view(), coverage))
    }

    fn check_asked(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        if self.n_outputs().is_none() {
            return Err(Error::NothingLearned);
        }
        self.encoder.as_ref().map_or(Ok(()), |encoder| encoder.check(x))
    }

    /// Queries of validated rows.
    fn ask(
        &self,
        x: ArrayView2<'_, f64>,
        answer: impl Fn(ArrayView2<'_, f64>) -> Result<Array2<f64>>,
    ) -> Result<Array2<f64>> {
        let Some(encoder) = &self.encoder else { return answer(x) };
        // Many blocks of the model's own at once, for its threads.
        let parts = x.axis_chunks_iter(Axis(0), 16 * BLOCK).enumerate().map(|(i, rows)| {
            answer(encoder.encode(rows).view())
                .map_err(|error| encoder.of_cell(rows, error).shifted(16 * BLOCK * i))
        });
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
        match &views[..] {
            [] => answer(Array2::zeros((0, encoder.width())).view()),
            _ => Ok(concatenate(Axis(0), &views).unwrap_or_else(|_| unreachable!("all as wide"))),
        }
    }
}
