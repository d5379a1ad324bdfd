//! The error type of the crate; every message names a remedy.

use thiserror::Error;

/// What can go wrong. Each message names the cause (row, column, parameter) and a remedy.
///
/// An operation that returns an error leaves the model as it was before the call.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range.
    #[error("{name} must be {requirement}, got {value}")]
    InvalidParameter {
        /// The parameter's name as users write it.
        name: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        requirement: &'static str,
    },

    /// A query for the gradient of a prediction without one.
    #[error(
        "the predictions of this model have no gradient here: those of a kernel on stored points do, with the \
         bases ald and all_points, and mixtures of such"
    )]
    NoGradient,

    /// A query for the deviation of a model without one.
    #[error(
        "this model does not know how sure its predictions are: the ridge learner does, Gauss-Newton with the squared \
         loss, and experts made of such; intervals (predict_interval) there are of every regressor"
    )]
    NoDeviation,

    /// A query for the novelty of rows in a model without stored points.
    #[error(
        "this model stores no points that rows could be new beside: ald, all_points, first_points and kors do, and \
         budgeted learners"
    )]
    NoNovelty,

    /// A configuration could not be read.
    #[error("the {part} specification could not be understood: {}", in_words(reason))]
    Specification {
        /// Which part: kernel, basis, learner or model.
        part: &'static str,
        /// Why.
        reason: String,
    },

    /// NaN or infinity in the data.
    #[error("{what} contains {value} at row {row}, column {column}: {}", remedy_for(*value))]
    NotFinite {
        /// `X`, `y` or another name of the array.
        what: &'static str,
        /// Row of the offending entry.
        row: usize,
        /// Column of the offending entry.
        column: usize,
        /// `NaN`, `inf` or `-inf`.
        value: f64,
    },

    /// A finite value so large that its square or its similarity would overflow.
    #[error(
        "{what} at row {row} is too large (magnitude {magnitude:.3e}{}): correct it, or leave the row out; if other \
         rows are as large, rescale the columns (scale=True)",
        in_column(*column)
    )]
    TooLarge {
        /// `X`, `y` or another name of the array.
        what: &'static str,
        /// Row of the offending entry.
        row: usize,
        /// Column of the largest entry; `None` if no single one is too large.
        column: Option<usize>,
        /// Size of the offending value, or of the similarity it leads to.
        magnitude: f64,
    },

    /// A weight of a row that is negative, not a number or infinite.
    #[error("the weight of row {row} is {value}: weights must be zero or positive numbers (up to 1e50)")]
    Weight {
        /// The row.
        row: usize,
        /// Its weight.
        value: f64,
    },

    /// An invalid cell of a table.
    #[error("X at row {row}, column {column} {reason}")]
    Cell {
        /// The row.
        row: usize,
        /// The column's name in quotes, or its number.
        column: String,
        /// The fault of the cell, and the remedy.
        reason: String,
    },

    /// A target that is not the code of a class.
    #[error("y at row {row} is {code}, where codes of {classes} classes are whole numbers from 0 on")]
    NoClass {
        /// The row.
        row: usize,
        /// The target.
        code: f64,
        /// Number of classes.
        classes: usize,
    },

    /// Rows that were learned cannot be learned again on another scale of the columns.
    #[error(
        "the rows of earlier calls cannot be learned on the scale of {rows} rows: {source} (counted from the \
         first row of all)"
    )]
    WarmUp {
        /// Rows of the scale.
        rows: usize,
        /// Why.
        source: Box<Error>,
    },

    /// A row has another number of columns than the rows before it.
    #[error("{what} has {found} columns, but the model was started on {expected}")]
    WrongWidth {
        /// `X` or `y`.
        what: &'static str,
        /// Columns of the model.
        expected: usize,
        /// Columns given.
        found: usize,
    },

    /// Two arrays of the same rows have different numbers of rows.
    #[error("{left} has {left_rows} rows but {right} has {right_rows}: they must go in pairs")]
    LengthMismatch {
        /// Name of the first array.
        left: &'static str,
        /// Its rows.
        left_rows: usize,
        /// Name of the second array.
        right: &'static str,
        /// Its rows.
        right_rows: usize,
    },

    /// A matrix of another shape than expected.
    #[error("{what} has shape {found:?}, but must have {needed:?}: {why}")]
    Shape {
        /// Name of the matrix.
        what: &'static str,
        /// Its rows and columns.
        found: (usize, usize),
        /// The expected rows and columns.
        needed: (usize, usize),
        /// The reason.
        why: &'static str,
    },

    /// An array without columns.
    #[error("{what} has no columns: at least one is needed")]
    NoColumns {
        /// `X` or `y`.
        what: &'static str,
    },

    /// A query of a model without rows.
    #[error("the model has not seen a row yet: learn at least one first")]
    NothingLearned,

    /// The weights would have grown without bound.
    #[error(
        "the weights diverge at row {row}: use a smaller step, a norm ball (radius), or the ridge learner"
    )]
    Diverged {
        /// Row at which the step was refused.
        row: usize,
    },

    /// Models that cannot be merged.
    #[error("what was learned cannot be added up: {reason}")]
    Merge {
        /// The reason, and which models can be merged.
        reason: String,
    },

    /// Eigenvalues or eigenfunctions that cannot be computed.
    #[error("this spectrum cannot be computed: {reason}")]
    Spectrum {
        /// Why.
        reason: String,
    },

    /// A query of an operator without inputs, where it depends on inputs.
    #[error(
        "an operator with inputs has no spectrum of its own, nor powers: it is another operator at each \
         input; forecast under given inputs instead"
    )]
    Inputs,

    /// A forecast that overflows.
    #[error(
        "the forecast {steps} steps ahead overflows, since the operator has an eigenvalue outside the \
         unit circle: clip the spectrum, truncate the rank, or forecast fewer steps"
    )]
    ForecastOverflow {
        /// Its number of steps.
        steps: usize,
    },

    /// A second-order learner has lost all digits to rounding.
    #[error(
        "row {row} leads to numbers that double precision cannot resolve: standardize raw columns (scale=True), \
         raise the regularization, forget less, or bring targets, bounds and kernel weights to comparable scales"
    )]
    Unstable {
        /// Row at which the update was refused.
        row: usize,
    },

    /// The coordinates of a row are longer than its similarity to itself allows.
    #[error(
        "the coordinates of row {row} are longer than the kernel allows: the stored points were altered, or the kernel \
         is not positive definite on these rows; load an undamaged model file, or take a kernel that is"
    )]
    Unbounded {
        /// The row.
        row: usize,
    },

    /// A target larger than the learner's loss accepts.
    #[error("the target in row {row} is {value}, but the loss takes labels, from {least} to {most}", least = -most)]
    Target {
        /// The row.
        row: usize,
        /// Its target.
        value: f64,
        /// The largest absolute target.
        most: f64,
    },

    /// A specification that needs more memory at once than [`memory::MOST`](crate::memory::MOST).
    #[error(
        "{what} would take {gib:.1} GiB of memory, and a specification may ask for {most} GiB: choose a \
         smaller size, or fewer columns"
    )]
    Memory {
        /// Purpose of the memory.
        what: &'static str,
        /// Its size, in units of 2^30 bytes.
        gib: f64,
        /// The limit.
        most: u64,
    },

    /// A model that cannot be saved, since its file could not be loaded.
    #[error(
        "the model has learned numbers beyond double precision ({array}) and cannot be saved: load the latest \
         file, and bring targets and sample weights to comparable scales"
    )]
    Overflow {
        /// The array of the model file that holds them.
        array: String,
    },

    /// Forecasts where pairs alone were learned.
    #[error(
        "forecasts are mixed along trajectories, and only pairs of states were learned: learn a trajectory first"
    )]
    NoForecasts,

    /// A trajectory to be continued where there is none.
    #[error("there is no trajectory to continue: the previous call did not learn one")]
    NoTrajectory,

    /// Pairs of states where each is to be known with earlier ones.
    #[error(
        "pairs of states do not say what came before them, which n_delays needs: give the trajectories that they are \
         from, as one array (n_times, n_features) or a list of such"
    )]
    PairsWithoutPast,

    /// Fewer states than one with its delays.
    #[error(
        "{found} consecutive states were given, but with these delays {needed} are needed: a state and those before it, \
         in the order of time"
    )]
    ShortPast {
        /// States for one forecast.
        needed: usize,
        /// States given.
        found: usize,
    },

    /// Inputs that end before the longest horizon.
    #[error(
        "inputs have {found} rows, but {needed} are needed: one for each of {states} states, and for those after the last up \
         to the longest horizon"
    )]
    ShortInputs {
        /// States with a forecast.
        states: usize,
        /// Rows for these forecasts.
        needed: usize,
        /// Rows given.
        found: usize,
    },

    /// The call was interrupted.
    #[error("the call was interrupted")]
    Interrupted,

    /// A model that another thread was using when the process was forked.
    #[error(
        "another thread was using this model when this process was forked, so its lock is never released here: \
         load the model from a file, or start processes with the start method spawn"
    )]
    Forked,

    /// A call that would wait for its own thread.
    #[error(
        "this thread is in the middle of a call that changes this model, as when its progress is reported: call \
         again when that has returned"
    )]
    Nested,

    /// A model file that cannot be used.
    #[error("not a usable model file: {reason}")]
    ModelFile {
        /// The fault.
        reason: String,
    },

    /// The operating system refused to read or write a file.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The message of the system.
        source: std::io::Error,
    },
}

/// The remedy for a number that is not finite: NaN is a gap, infinity the result of a division or overflow.
pub(crate) fn remedy_for(value: f64) -> &'static str {
    if value.is_nan() {
        "remove the row, or fill the gap before learning"
    } else {
        "correct it, or leave the row out"
    }
}

fn in_column(column: Option<usize>) -> String {
    column.map_or_else(String::new, |column| format!(" in column {column}"))
}

/// The column of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column<'a> {
    /// For an array: counted from 0.
    Number(usize),
    /// For a table.
    Name(&'a str),
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// The row of a borrowed error, shared or to be changed: one list of the variants that have one.
macro_rules! row_of {
    ($error:expr) => {
        match $error {
            Error::NotFinite { row, .. }
            | Error::TooLarge { row, .. }
            | Error::Weight { row, .. }
            | Error::Cell { row, .. }
            | Error::NoClass { row, .. }
            | Error::Target { row, .. }
            | Error::Diverged { row }
            | Error::Unbounded { row }
            | Error::Unstable { row } => Some(row),
            _ => None,
        }
    };
}

impl Error {
    pub(crate) fn file(reason: impl Into<String>) -> Self {
        Self::ModelFile { reason: reason.into() }
    }

    pub(crate) fn merge(reason: impl Into<String>) -> Self {
        Self::Merge { reason: reason.into() }
    }

    /// This error as the fault of a model file.
    pub(crate) fn in_file(self) -> Self {
        match self {
            Self::ModelFile { .. } | Self::Io { .. } => self,
            other => Self::file(other.to_string()),
        }
    }

    /// The same error, with rows counted from `offset` rows before.
    #[must_use]
    pub fn shifted(mut self, offset: usize) -> Self {
        if let Some(row) = self.row_mut() {
            *row += offset;
        }
        self
    }

    /// The row of the error, counted from the first of the call.
    #[must_use]
    pub fn row(&self) -> Option<usize> {
        row_of!(self).copied()
    }

    /// The array of the error.
    #[must_use]
    pub fn array(&self) -> Option<&'static str> {
        match self {
            Self::NotFinite { what, .. }
            | Self::TooLarge { what, .. }
            | Self::WrongWidth { what, .. }
            | Self::Shape { what, .. }
            | Self::NoColumns { what } => Some(what),
            Self::Cell { .. } => Some("X"),
            Self::NoClass { .. } | Self::Target { .. } => Some("y"),
            Self::Weight { .. } => Some("sample_weight"),
            _ => None,
        }
    }

    /// The number or name of the column of the error.
    #[must_use]
    pub fn column(&self) -> Option<Column<'_>> {
        match self {
            Self::NotFinite { column, .. } | Self::TooLarge { column: Some(column), .. } => {
                Some(Column::Number(*column))
            }
            Self::Cell { column, .. } => Some(column.parse().map_or_else(
                |_| {
                    Column::Name(
                        column.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(column),
                    )
                },
                Column::Number,
            )),
            _ => None,
        }
    }

    /// What is wrong with the entry, without its place; `None` where the message does not begin with the place.
    #[must_use]
    pub fn reason(&self) -> Option<String> {
        let (array, row) = (self.array()?, self.row()?);
        let text = self.to_string();
        let rest = text.strip_prefix(&format!("{array} at row {row}"))?;
        let rest = match self {
            Self::Cell { column, .. } => rest.strip_prefix(&format!(", column {column}"))?,
            _ => rest,
        };
        Some(rest.trim_start().to_owned())
    }

    /// Its row.
    pub(crate) fn row_mut(&mut self) -> Option<&mut usize> {
        row_of!(self)
    }
}

/// Parameters lie between its reciprocal and this, so that products of a few of them with data below
/// their own limit are numbers.
const EXTREME: f64 = 1e50;

/// `value` if it is a positive number, else an error.
pub(crate) fn positive(name: &'static str, value: f64) -> Result<f64> {
    let ok = (EXTREME.recip()..=EXTREME).contains(&value);
    in_range(name, value, ok, "a positive number (1e-50 to 1e50)")
}

/// `value` if it is zero or a positive number, else an error.
pub(crate) fn not_negative(name: &'static str, value: f64) -> Result<f64> {
    let ok = value == 0.0 || (EXTREME.recip()..=EXTREME).contains(&value);
    in_range(name, value, ok, "zero or a positive number (1e-50 to 1e50)")
}

/// What is wrong with a specification, without names of Rust's types.
fn in_words(reason: &str) -> String {
    let counts = ["usize", "u64", "u32", "u8"].map(|name| (name, "a whole number from 0 up"));
    let others = [("i64", "a whole number"), ("f64", "a number"), ("a sequence", "a list")];
    let reason = without_type_names(reason)
        .replace("type: sequence", "type: list")
        .replace("type: map", "type: object")
        .replace("expected string or map", "expected a name, or an object such as {\"name\": ...}")
        .replace("map with a single key", "an object with a single name")
        .replace(
            "data did not match any variant of untagged enum Label",
            "labels are whole numbers, texts or booleans",
        )
        .replace("expected variant identifier", "expected a name")
        .replace("unit variant, expected newtype variant", "a name alone, expected an object with its value")
        .replace("expected unit", "expected a name alone");
    counts.into_iter().chain(others).fold(reason, |text, (name, words)| {
        text.replace(&format!("expected {name}"), &format!("expected {words}"))
    })
}

/// The reason with what a value has to be instead of the name of its type.
fn without_type_names(reason: &str) -> String {
    let kinds = [
        ("internally tagged enum ", r#"an object with its "type", such as {"type": ...}"#),
        ("struct variant ", r#"an object of named values, such as {"name": ...}"#),
        ("struct ", r#"an object of named values, such as {"name": ...}"#),
        ("enum ", r#"a name, or an object such as {"name": ...}"#),
    ];
    kinds.into_iter().fold(reason.to_owned(), |text, (kind, words)| {
        let Some((before, name)) = text.split_once(&format!("expected {kind}")) else { return text };
        let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let rest = name.trim_start_matches(is_of_name);
        // The number of values in a list that stands for the object.
        let rest = rest.strip_prefix(" with ").map_or(rest, |count| {
            count
                .trim_start_matches(|c: char| c.is_ascii_digit())
                .trim_start_matches(" elements")
                .trim_start_matches(" element")
        });
        format!("{before}expected {words}{rest}")
    })
}

/// `value` if `ok`, else an error with the requirement.
pub(crate) fn in_range<T: std::fmt::Debug>(
    name: &'static str,
    value: T,
    ok: bool,
    requirement: &'static str,
) -> Result<T> {
    if ok {
        Ok(value)
    } else {
        Err(Error::InvalidParameter { name, value: format!("{value:?}"), requirement })
    }
}
