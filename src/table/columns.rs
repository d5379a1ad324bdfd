//! Columns: from the cells of a raw row to features.

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, s};
use serde::{Deserialize, Serialize};

use super::category::{Categories, is_category};
use super::filling::Filling;
use super::time::TimePart;
use crate::error::{Error, Result, remedy_for};
use crate::kernel::LARGEST;
use crate::persist::{Reader, Writer};
use crate::scale::{Scale, flag, number};
use crate::validate::check_width;

/// Type of a column. A cell is one float64; NaN is a gap.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum ColumnKind {
    /// Numbers.
    Number {
        /// Whether they are standardized by mean and deviation of the warm-up.
        #[serde(default = "yes")]
        scale: bool,
        /// Whether `sign(x) ln(1 + |x|)` is applied first: for counts, prices and other columns
        /// with long tails.
        #[serde(default)]
        logarithm: bool,
    },
    /// Categories, numbered by [`category`](super::category): a feature for each one of the
    /// warm-up, and one for all others; for models that do not scale by themselves
    /// ([`ColumnsSpec::rescale`]), four for others, up to 64 if rows come category by category. None if at least 40 cells
    /// of the warm-up are known and less than a tenth of them equal another one, as names of rows.
    Category {
        /// Number of features that more categories than this share, at least 1.
        #[serde(default = "most_categories")]
        max_size: usize,
    },
    /// 0 or 1, encoded as -1 and 1.
    Boolean {},
    /// Times in seconds.
    Time {
        /// Which features are computed from them.
        #[serde(default = "usual_parts")]
        parts: Vec<TimePart>,
        /// Time zone of the seconds, by its IANA name; empty: UTC. Callers convert.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        zone: String,
    },
}

impl Default for ColumnKind {
    fn default() -> Self {
        Self::Number { scale: true, logarithm: false }
    }
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_yes(value: &bool) -> bool {
    *value
}

fn most_categories() -> usize {
    128
}

fn usual_parts() -> Vec<TimePart> {
    vec![TimePart::Day, TimePart::Week, TimePart::Year, TimePart::Trend]
}

/// A column and its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Type.
    #[serde(default)]
    pub kind: ColumnKind,
}

/// How features with gaps are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gaps {
    /// Rows with gaps are refused.
    #[default]
    Error,
    /// In numbers, a gap becomes the mean of the rows before, or of the warm-up where the model
    /// scales by itself ([`ColumnsSpec::rescale`]), and an indicator feature is added if the
    /// warm-up had gaps, or, where the model does not scale by itself, more than 5 % of later rows;
    /// the features of other types are all 0.
    Fill,
}

/// Specification of the columns of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ColumnsSpec {
    /// The columns, in the order of a row's cells; if empty, as many as in the first row, without
    /// names.
    pub named: Vec<Column>,
    /// Type of columns without names.
    pub each: ColumnKind,
    /// Rows from which scales, categories and means are learned, at least 1.
    pub warm_up: usize,
    /// How gaps are treated.
    pub gaps: Gaps,
    /// Whether scales and fillings follow the rows after the warm-up: columns that have left its scale
    /// are rescaled, with the model (see [`Table`](super::Table)), and gaps are filled with the mean
    /// of all rows before. Experts follow the rows by themselves.
    #[serde(skip_serializing_if = "is_yes")]
    pub rescale: bool,
}

impl Default for ColumnsSpec {
    fn default() -> Self {
        Self {
            named: Vec::new(),
            each: ColumnKind::default(),
            warm_up: 500,
            gaps: Gaps::Error,
            rescale: true,
        }
    }
}

/// Encoder of one column, learned in the warm-up.
#[derive(Clone, Debug, PartialEq)]
enum Coder {
    Number {
        scale: Scale,
        indicator: bool,
        filling: Option<Filling>,
    },
    Category(Categories),
    Boolean,
    Time {
        elapsed: Scale,
        /// Whether rows do not come in the order of these times, so that they have a trend.
        dated: bool,
    },
}

impl Coder {
    /// Learns from the cells of the warm-up so far.
    fn of(kind: &ColumnKind, spec: &ColumnsSpec, cells: &[f64]) -> Self {
        match kind {
            ColumnKind::Number { scale, logarithm } => {
                let known: Vec<f64> = numbers(cells).map(|cell| straightened(cell, *logarithm)).collect();
                let full = Scale::of(&known);
                let filling =
                    (spec.gaps == Gaps::Fill).then(|| Filling::new(known.len(), full.mean(), spec.rescale));
                let scale = if *scale { full } else { Scale::NONE };
                Self::Number { scale, indicator: known.len() < cells.len(), filling }
            }
            // Models that scale by themselves learn categories again.
            ColumnKind::Category { max_size } => {
                Self::Category(Categories::of(cells, *max_size, !spec.rescale))
            }
            ColumnKind::Boolean {} => Self::Boolean,
            ColumnKind::Time { parts, .. } => {
                let known: Vec<f64> = numbers(cells).collect();
                let elapsed = Scale::of(&known);
                let dated = parts.contains(&TimePart::Trend) && !elapsed.is_constant() && !in_order(&known);
                Self::Time { elapsed, dated }
            }
        }
    }

    fn width(&self, kind: &ColumnKind) -> usize {
        match (self, kind) {
            (Self::Number { indicator, .. }, _) => 1 + usize::from(*indicator),
            (Self::Category(categories), _) => categories.width(),
            (Self::Boolean, _) => 1,
            (Self::Time { dated, .. }, ColumnKind::Time { parts, .. }) => {
                parts.iter().map(|part| part.width(*dated)).sum()
            }
            (Self::Time { .. }, _) => 0,
        }
    }

    fn scale(&self) -> Option<&Scale> {
        match self {
            Self::Number { scale, .. } | Self::Time { elapsed: scale, .. } => Some(scale),
            Self::Category(_) | Self::Boolean => None,
        }
    }

    /// Whether learning a row may change the encoding of the next one.
    fn changes(&self) -> bool {
        let filling = matches!(self, Self::Number { filling: Some(filling), .. } if filling.changes());
        let grows = matches!(self, Self::Category(categories) if categories.grows());
        filling || grows || self.scale().is_some_and(Scale::is_constant)
    }

    /// Sets the scale of a constant column at its first different cell, and the feature of a category
    /// that is not known.
    fn meet(&mut self, kind: &ColumnKind, cell: f64) {
        match self {
            Self::Number { scale, filling, .. } => {
                let value = straightened_as(kind, cell);
                if scaled(kind) && filling.as_ref().is_some_and(Filling::is_empty) {
                    *scale = Scale::of(&[value]);
                }
                scale.meet(value);
            }
            Self::Time { elapsed, .. } => elapsed.meet(cell),
            Self::Category(categories) => categories.meet(cell),
            Self::Boolean => {}
        }
    }

    /// Whether [`meet`](Self::meet) would set something by this cell.
    fn is_set_by(&self, kind: &ColumnKind, cell: f64) -> bool {
        let first = match self {
            Self::Number { filling: Some(filling), .. } => scaled(kind) && filling.is_empty(),
            Self::Category(categories) => categories.is_met_by(cell),
            _ => false,
        };
        first || self.scale().is_some_and(|scale| scale.is_set_by(straightened_as(kind, cell)))
    }

    /// Whether cells have left the scale: the mean of the numbers, clipped at [`LIMIT`] deviations,
    /// is off by more than [`SHIFT`], their mean square exceeds [`SPREAD`], or more than [`NEW`] of
    /// the categories are new, or the first gaps are as many.
    fn is_left_by(&self, kind: &ColumnKind, cells: ArrayView1<'_, f64>) -> bool {
        let elapses = matches!(kind, ColumnKind::Time { parts, .. } if parts.contains(&TimePart::Elapsed));
        match self {
            // Where there were no gaps, the indicator of the column is missing.
            Self::Number { filling: Some(_), indicator: false, .. } if share_of_gaps(cells) > NEW => true,
            Self::Number { scale, .. } if scaled(kind) => {
                has_left(scale, cells.iter().map(|cell| straightened_as(kind, *cell)))
            }
            Self::Time { elapsed, dated } if elapses || *dated => has_left(elapsed, cells.iter().copied()),
            Self::Category(categories) => {
                let new = cells.iter().filter(|cell| !cell.is_nan() && categories.is_new(**cell)).count();
                new as f64 > NEW * cells.len() as f64
            }
            _ => false,
        }
    }

    /// Whether at least two of these cells are categories, none of which is known.
    fn knows_none_of(&self, cells: ArrayView1<'_, f64>) -> bool {
        let Self::Category(categories) = self else { return false };
        let known = || cells.iter().filter(|cell| !cell.is_nan());
        known().nth(1).is_some() && known().all(|cell| categories.is_unknown(*cell))
    }

    /// Updates the mean that fills gaps by a cell that was learned.
    fn count(&mut self, kind: &ColumnKind, cell: f64) {
        if let Self::Number { scale, filling: Some(filling), .. } = self {
            let value = straightened_as(kind, cell);
            filling.count(if scaled(kind) { scale.limited(value, filling.mean()) } else { value });
        }
    }

    /// Writes the features of a validated cell.
    fn encode(&self, kind: &ColumnKind, cell: f64, out: &mut [f64]) {
        match self {
            Self::Number { scale, indicator, filling } => {
                let value = if cell.is_nan() {
                    filling.as_ref().map_or(0.0, Filling::mean)
                } else {
                    straightened_as(kind, cell)
                };
                out[0] = scale.apply(value);
                if *indicator {
                    out[1] = number(cell.is_nan());
                }
            }
            Self::Category(categories) => categories.encode(cell, out),
            Self::Boolean => out[0] = if cell.is_nan() { 0.0 } else { 2.0 * cell - 1.0 },
            Self::Time { elapsed, dated } => {
                let ColumnKind::Time { parts, .. } = kind else { return };
                let mut rest = out;
                for part in parts {
                    let (own, others) = rest.split_at_mut(part.width(*dated));
                    part.encode(cell, elapsed, own);
                    rest = others;
                }
            }
        }
    }

    /// State for a file.
    fn state(&self) -> Vec<f64> {
        match self {
            Self::Number { scale, indicator, filling } => {
                let mut state = scale.parts().to_vec();
                state.push(number(*indicator));
                state.extend(filling.iter().flat_map(Filling::parts));
                state
            }
            Self::Category(categories) => categories.state(),
            Self::Boolean => Vec::new(),
            Self::Time { elapsed, dated } => {
                let mut state = elapsed.parts().to_vec();
                state.extend(dated.then(|| number(true)));
                state
            }
        }
    }

    /// Reads the [`state`](Self::state) of a column of this type.
    fn from_state(kind: &ColumnKind, spec: &ColumnsSpec, state: &[f64]) -> Option<Self> {
        match (kind, state) {
            (ColumnKind::Number { .. }, &[mean, deviation, constant, indicator, ref filling @ ..]) => {
                let scale = Scale::from_parts([mean, deviation, constant])?;
                let filling = match (spec.gaps, filling) {
                    (Gaps::Error, []) => None,
                    (Gaps::Fill, &[count, mean]) => Some(Filling::from_parts([count, mean], spec.rescale)?),
                    _ => return None,
                };
                Some(Self::Number { scale, indicator: flag(indicator)?, filling })
            }
            (ColumnKind::Category { max_size }, state) => {
                Categories::from_state(state, *max_size).map(Self::Category)
            }
            (ColumnKind::Boolean {}, []) => Some(Self::Boolean),
            (ColumnKind::Time { parts, .. }, &[mean, deviation, constant, ref dated @ ..]) => {
                let elapsed = Scale::from_parts([mean, deviation, constant])?;
                let dated = match *dated {
                    [] => false,
                    [dated] if parts.contains(&TimePart::Trend) => flag(dated)?,
                    _ => return None,
                };
                Some(Self::Time { elapsed, dated })
            }
            _ => None,
        }
    }
}

/// Change of mean and mean square, in units of the scale, at which the scale is set again. The mean
/// of 500 rows in random order is off by .05; numbers are clipped, so that neither heavy tails nor
/// a rare category of 0 and 1 count as a change.
const SHIFT: f64 = 0.5;
const SPREAD: f64 = 2.0;
const LIMIT: f64 = 3.0;

/// Fewest times of which the order is judged, and the share of steps forward, and of steps back, above which there is none.
const MIN_TIMES: usize = 8;
const EITHER_WAY: f64 = 0.1;

/// Whether rows come in the order of these times, from first to last or from last to first, or are too few to tell.
fn in_order(times: &[f64]) -> bool {
    let steps = |are: fn(f64, f64) -> bool| times.windows(2).filter(|pair| are(pair[0], pair[1])).count();
    let fewer = steps(|now, then| then > now).min(steps(|now, then| then < now));
    times.len() < MIN_TIMES || (fewer as f64) < EITHER_WAY * times.len() as f64
}

/// Share of new categories, or of the first gaps, at which the columns are learned again.
const NEW: f64 = 0.05;

fn share_of_gaps(cells: ArrayView1<'_, f64>) -> f64 {
    cells.iter().filter(|cell| cell.is_nan()).count() as f64 / cells.len().max(1) as f64
}

fn has_left(scale: &Scale, values: impl Iterator<Item = f64>) -> bool {
    let (mut n, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values.filter(|value| !value.is_nan()) {
        let scaled = scale.apply(value).clamp(-LIMIT, LIMIT);
        (n, sum, squares) = (n + 1.0, sum + scaled, squares + scaled * scaled);
    }
    n > 0.0 && (sum.abs() > SHIFT * n || squares > SPREAD * n)
}

fn numbers(cells: &[f64]) -> impl Iterator<Item = f64> {
    cells.iter().copied().filter(|cell| !cell.is_nan())
}

/// The number that a cell of a number column stands for.
fn straightened_as(kind: &ColumnKind, cell: f64) -> f64 {
    straightened(cell, matches!(kind, ColumnKind::Number { logarithm: true, .. }))
}

fn scaled(kind: &ColumnKind) -> bool {
    matches!(kind, ColumnKind::Number { scale: true, .. })
}

fn straightened(value: f64, logarithm: bool) -> f64 {
    if logarithm { value.signum() * value.abs().ln_1p() } else { value }
}

fn kind_of(spec: &ColumnsSpec, column: usize) -> &ColumnKind {
    spec.named.get(column).map_or(&spec.each, |column| &column.kind)
}

/// Computes features from the cells of raw rows.
#[derive(Clone, Debug)]
pub struct Encoder {
    spec: ColumnsSpec,
    /// None before the first row.
    coders: Vec<Coder>,
    width: usize,
}

impl Encoder {
    /// Without rows; validates the parameters.
    pub fn new(spec: ColumnsSpec) -> Result<Self> {
        let broken = |reason: String| Error::Specification { part: "columns", reason };
        if spec.warm_up == 0 {
            return Err(broken("warm_up must be at least 1".into()));
        }
        for kind in spec.named.iter().map(|column| &column.kind).chain([&spec.each]) {
            match kind {
                ColumnKind::Category { max_size: 0 } => {
                    return Err(broken("max_size must be at least 1".into()));
                }
                ColumnKind::Time { parts, .. } if parts.is_empty() => {
                    return Err(broken("a column of times needs at least one part".into()));
                }
                _ => {}
            }
        }
        let mut names: Vec<String> = spec.named.iter().map(|column| column.name.clone()).collect();
        names.sort_unstable();
        if let Some((name, _)) = names.iter().zip(&names[names.len().min(1)..]).find(|(a, b)| a == b) {
            return Err(broken(format!("there are two columns {name:?}")));
        }
        Ok(Self { spec, coders: Vec::new(), width: 0 })
    }

    /// The specification.
    #[must_use]
    pub fn spec(&self) -> &ColumnsSpec {
        &self.spec
    }

    /// Cells of a row; `None` before the first.
    #[must_use]
    pub fn n_cells(&self) -> Option<usize> {
        (!self.coders.is_empty()).then_some(self.coders.len())
    }

    /// Features of a row; 0 before the first.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// What is subtracted from each column, and the divisor; 0 and 1 for columns that are not
    /// standardized.
    #[must_use]
    pub fn scales(&self) -> Vec<[f64; 2]> {
        let parts = |coder: &Coder| match coder {
            Coder::Number { scale, .. } | Coder::Time { elapsed: scale, dated: true } => scale.parts(),
            _ => Scale::NONE.parts(),
        };
        self.coders.iter().map(parts).map(|[mean, deviation, _]| [mean, deviation]).collect()
    }

    /// Columns of categories in which at least two rows (n, cells) have a value, but none that is known.
    pub(super) fn unknown_categories(&self, x: ArrayView2<'_, f64>) -> Vec<usize> {
        let columns = self.coders.iter().zip(x.columns()).enumerate();
        columns.filter(|(_, (coder, cells))| coder.knows_none_of(*cells)).map(|(place, _)| place).collect()
    }

    /// Whether a warm-up is needed.
    pub(super) fn learns(&self) -> bool {
        let learns = |kind: &ColumnKind| match kind {
            ColumnKind::Number { scale, .. } => *scale || self.spec.gaps == Gaps::Fill,
            ColumnKind::Category { .. } => true,
            ColumnKind::Boolean {} => false,
            ColumnKind::Time { parts, .. } => parts.iter().any(|part| part.is_scaled()),
        };
        if self.spec.named.is_empty() {
            learns(&self.spec.each)
        } else {
            self.spec.named.iter().any(|column| learns(&column.kind))
        }
    }

    /// Whether numbers are standardized.
    pub(super) fn standardizes(&self) -> bool {
        let mut kinds = self.spec.named.iter().map(|column| &column.kind).chain([&self.spec.each]);
        self.learns() && kinds.any(|kind| matches!(kind, ColumnKind::Number { scale: true, .. }))
    }

    /// Whether another encoder has the same features for every row.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.coders == other.coders
    }

    fn kind(&self, column: usize) -> &ColumnKind {
        kind_of(&self.spec, column)
    }

    /// Learns scales and categories from the rows of the warm-up so far.
    pub(super) fn fit(&mut self, rows: ArrayView2<'_, f64>) {
        let coder = |column: usize| Coder::of(self.kind(column), &self.spec, &rows.column(column).to_vec());
        self.coders = (0..rows.ncols()).map(coder).collect();
        self.width = self.count_width();
    }

    /// Columns whose cells in a sample have left the scale or the categories of the warm-up.
    pub(super) fn left_by(&self, rows: ArrayView2<'_, f64>) -> Vec<usize> {
        let left = |column: &usize| self.coders[*column].is_left_by(self.kind(*column), rows.column(*column));
        (0..self.coders.len()).filter(left).collect()
    }

    /// Index of the first feature of each column; for a number this is the number itself.
    #[must_use]
    pub fn first_features(&self) -> Vec<usize> {
        let widths = self.coders.iter().enumerate().map(|(column, coder)| coder.width(self.kind(column)));
        widths
            .scan(0, |next, width| {
                let first = *next;
                *next += width;
                Some(first)
            })
            .collect()
    }

    /// Derivative of the first feature of each column with respect to its cell, at validated rows
    /// (n, cells); `None` if a column is not of numbers.
    pub(super) fn slopes(&self, rows: ArrayView2<'_, f64>) -> Option<Array2<f64>> {
        let mut slopes = rows.to_owned();
        for (column, mut cells) in slopes.columns_mut().into_iter().enumerate() {
            let (Coder::Number { scale, .. }, ColumnKind::Number { logarithm, .. }) =
                (&self.coders[column], self.kind(column))
            else {
                return None;
            };
            let [_, deviation, _] = scale.parts();
            cells.mapv_inplace(|cell| {
                let inner = if *logarithm { (1.0 + cell.abs()).recip() } else { 1.0 };
                if cell.is_nan() { 0.0 } else { inner / deviation }
            });
        }
        Some(slopes)
    }

    /// Sums over the features of each column.
    pub(super) fn sum_features(&self, features: ArrayView1<'_, f64>) -> Array1<f64> {
        let firsts = self.first_features();
        let ends = firsts.iter().skip(1).copied().chain([self.width]);
        firsts.iter().zip(ends).map(|(first, end)| features.slice(s![*first..end]).sum()).collect()
    }

    fn count_width(&self) -> usize {
        self.coders.iter().enumerate().map(|(column, coder)| coder.width(self.kind(column))).sum()
    }

    /// Whether learning a row may change the encoding of the next one, after the warm-up: a column
    /// has been constant so far, a filling follows the rows, or features of categories are left.
    pub(super) fn changes(&self) -> bool {
        self.coders.iter().any(Coder::changes)
    }

    /// Refuses rows (n, cells) with cells that are invalid for their type, naming the first.
    pub(super) fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()> {
        let known = if self.spec.named.is_empty() { self.n_cells() } else { Some(self.spec.named.len()) };
        check_width("X", known, rows.ncols())?;
        for (i, row) in rows.rows().into_iter().enumerate() {
            for (j, cell) in row.iter().enumerate() {
                self.check_cell(i, j, *cell)?;
            }
        }
        Ok(())
    }

    fn check_cell(&self, row: usize, column: usize, cell: f64) -> Result<()> {
        let refused = |reason: String| Err(self.cell_error(row, column, reason));
        if cell.is_nan() && self.spec.gaps == Gaps::Fill {
            return Ok(());
        }
        if !cell.is_finite() {
            if self.spec.named.is_empty() {
                return Err(Error::NotFinite { what: "X", row, column, value: cell });
            }
            // A gap is NaN, and is an error here only where gaps are not filled.
            let remedy = match self.spec.gaps {
                Gaps::Fill => "correct it, make it NaN to have it filled, or leave the row out",
                Gaps::Error => remedy_for(cell),
            };
            return refused(format!("is {cell}: {remedy}"));
        }
        if cell.abs() > LARGEST {
            return refused(format!("is too large ({cell:.3e}): correct it, or leave the row out"));
        }
        match self.kind(column) {
            ColumnKind::Boolean {} if flag(cell).is_none() => {
                refused(format!("is {cell}, where a boolean is 0 or 1"))
            }
            ColumnKind::Category { .. } if !is_category(cell) => {
                refused(format!("is {cell}, which is not the number of a category"))
            }
            _ => Ok(()),
        }
    }

    fn cell_error(&self, row: usize, column: usize, reason: String) -> Error {
        let name = self.spec.named.get(column).map(|column| format!("{:?}", column.name));
        Error::Cell { row, column: name.unwrap_or_else(|| column.to_string()), reason }
    }

    /// The error of a model about features of rows, as one about the cell that has them.
    pub(super) fn of_cell(&self, rows: ArrayView2<'_, f64>, error: Error) -> Error {
        let Error::TooLarge { what: "X", row, column: Some(feature), magnitude } = error else {
            return error;
        };
        let column = self.first_features().partition_point(|first| *first <= feature).saturating_sub(1);
        let Some(&cell) = rows.get((row, column)) else { return error };
        let scaled = matches!(self.kind(column), ColumnKind::Number { scale: true, .. });
        let far = if scaled {
            format!(", {magnitude:.0e} standard deviations from the mean of the rows before")
        } else {
            String::new()
        };
        let reason = format!("is too large ({cell:.3e}{far}): correct it, or leave the row out");
        self.cell_error(row, column, reason)
    }

    /// Features of validated rows (n, cells), (n, features).
    pub(super) fn encode(&self, rows: ArrayView2<'_, f64>) -> Array2<f64> {
        let mut out = Array2::zeros((rows.nrows(), self.width));
        for (row, mut out) in rows.rows().into_iter().zip(out.rows_mut()) {
            if let Some(out) = out.as_slice_mut() {
                self.encode_row(row, out);
            }
        }
        out
    }

    /// Features of one row.
    pub(super) fn encode_row(&self, row: ArrayView1<'_, f64>, out: &mut [f64]) {
        let mut rest = out;
        for (column, (coder, cell)) in self.coders.iter().zip(row).enumerate() {
            let kind = self.kind(column);
            let (own, others) = rest.split_at_mut(coder.width(kind));
            coder.encode(kind, *cell, own);
            rest = others;
        }
    }

    /// Sets the scale of columns that were constant and vary in this row, and the features of
    /// categories that first come in it. Rows before it have zero there on any scale.
    pub(super) fn meet(&mut self, row: ArrayView1<'_, f64>) {
        self.each_known(row, Coder::meet);
    }

    /// Whether [`meet`](Self::meet) would set something by this row.
    pub(super) fn is_set_by(&self, row: ArrayView1<'_, f64>) -> bool {
        let mut cells = self.coders.iter().zip(row).enumerate().filter(|(_, (_, cell))| !cell.is_nan());
        cells.any(|(column, (coder, cell))| coder.is_set_by(self.kind(column), *cell))
    }

    /// Updates the means that fill gaps by a row that was learned.
    pub(super) fn count(&mut self, row: ArrayView1<'_, f64>) {
        self.each_known(row, Coder::count);
    }

    fn each_known(&mut self, row: ArrayView1<'_, f64>, act: impl Fn(&mut Coder, &ColumnKind, f64)) {
        for (column, (coder, cell)) in self.coders.iter_mut().zip(row).enumerate() {
            if !cell.is_nan() {
                act(coder, kind_of(&self.spec, column), *cell);
            }
        }
    }

    /// Features of rows that are learned in order: each is encoded by the state after the rows
    /// before it. Rows of weight 0 change nothing.
    pub(super) fn encode_in_turn(
        &mut self,
        rows: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Array2<f64> {
        if !self.changes() {
            return self.encode(rows);
        }
        let mut out = Array2::zeros((rows.nrows(), self.width));
        for (i, (row, mut out)) in rows.rows().into_iter().zip(out.rows_mut()).enumerate() {
            let counts = weights.is_none_or(|weights| weights[i] > 0.0);
            if counts {
                self.meet(row);
            }
            if let Some(out) = out.as_slice_mut() {
                self.encode_row(row, out);
            }
            if counts {
                self.count(row);
            }
        }
        out
    }

    pub(super) fn write(&self, out: &mut Writer) {
        let states: Vec<Vec<f64>> = self.coders.iter().map(Coder::state).collect();
        let lengths: Vec<u64> = states.iter().map(|state| state.len() as u64).collect();
        out.counts("columns.lengths", &lengths);
        out.vector("columns.state", &states.concat());
    }

    pub(super) fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        let broken = || Error::file("its columns are not what the configuration says");
        let lengths = from.all_counts("columns.lengths")?;
        let (_, _, state) = from.matrix("columns.state")?;
        let mut rest = state.as_slice();
        let mut coders = Vec::with_capacity(lengths.len());
        for (column, length) in lengths.iter().enumerate() {
            let length = usize::try_from(*length).map_err(|_| broken())?;
            let (own, others) = rest.split_at_checked(length).ok_or_else(broken)?;
            coders.push(Coder::from_state(self.kind(column), &self.spec, own).ok_or_else(broken)?);
            rest = others;
        }
        self.take(coders).filter(|()| rest.is_empty()).ok_or_else(broken)
    }

    fn take(&mut self, coders: Vec<Coder>) -> Option<()> {
        if coders.is_empty() || (!self.spec.named.is_empty() && self.spec.named.len() != coders.len()) {
            return None;
        }
        self.coders = coders;
        self.width = self.count_width();
        Some(())
    }
}
