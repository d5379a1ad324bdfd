//! The metrics that come into a race.
//!
//! Most are those of the average gradient outer product of two predictions: that of the generation before, which has
//! learned more rows than a race could, and that of a smooth function of the sample, in case the former began badly.
//! Among many columns that say nothing a smooth function finds none of those that do, or not in one round: other
//! metrics are of what columns tell by themselves, and of functions learned again after what the one before found.

use faer::Mat;
use ndarray::{Array2, Axis};

use super::agop::{DIRECTIONS, Gradients, agop_seen, kinds, learned, no_agop, smooth_agop};
use super::buffer::{Sample, spread};
use super::lens::{Column, Transform, transformed};
use super::marginal::shares_alone;
use crate::error::Result;
use crate::kernel::Metric;
use crate::learner::Loss;

/// Points of the function that gradients are learned from, for each point of a cell: it learns all rows. A metric gains
/// by many rows more than anything else does.
const SMOOTH_POINTS: usize = 3;

/// Rounds of it where there is no generation before.
const ROUNDS: usize = 2;

/// Rows from which on, beside the gradients of predictions, the transform that most of these use is enough for it.
const MANY_ROWS: usize = 1000;

/// Rows of which gradients say so little that columns are compared as they are, too. Of labels they are, however many
/// rows there are: a metric gains more with the few that a race learns than with all that members do.
const FEW_ROWS: usize = 400;

/// More columns than these may be many that say nothing, which more rows than these can tell.
const SOME_COLUMNS: usize = 12;
const SOME_ROWS: usize = 300;

/// Of so many: rounds, with as many points as a cell has, each of which leaves less to the columns that say nothing. In
/// one more, directions are looked for after what the first have left.
const SHARPER_ROUNDS: usize = 4;

/// Of wide rows: as many for each point of a cell, which is as good as more, and rounds. Few rounds stay a choice, for
/// columns that each say a little.
const WIDE_ROWS: usize = 4;
const WIDE_ROUNDS: usize = 5;

/// How many times larger the errors of directions are taken to be that are looked for after columns have been left out:
/// so many numbers fit any few rows.
const HANDICAP: f64 = 1.2;

/// The share of the columns that tell something by themselves from which on none is left out.
const MOST_COLUMNS: f64 = 2.0 / 3.0;

/// How a metric compares columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// As they are, which is a kind of its own where there are rows enough to learn others from.
    Plain,
    /// Each after a factor.
    Diagonal,
    /// Together.
    Full,
}

/// One that comes into a race.
pub(super) struct Candidate {
    pub metric: Metric,
    pub kind: Kind,
    /// How many times larger its error is taken to be.
    pub handicap: f64,
}

impl Candidate {
    fn new(full: bool, agop: &Mat<f64>) -> Self {
        let kind = if full { Kind::Full } else { Kind::Diagonal };
        Self { metric: learned(full, agop), kind, handicap: 1.0 }
    }
}

/// What the metrics of a sample are learned from.
pub(super) struct Metrics<'a> {
    gradients: Option<&'a Gradients>,
    /// The sample, with standardized targets, and how many rows it has.
    rows: (Array2<f64>, Array2<f64>),
    n: usize,
    /// Points of a cell.
    size: usize,
    /// Whether targets are signs of labels.
    labels: bool,
    /// The metric of what columns tell by themselves.
    alone: Option<Metric>,
}

impl<'a> Metrics<'a> {
    /// For members that minimize a loss, with so many points in a cell.
    pub fn new(sample: &Sample, gradients: Option<&'a Gradients>, size: usize, loss: Loss) -> Self {
        let n = sample.x.nrows();
        let rows = sample.standardized(&spread(n, n));
        let alone = of_columns_alone(&rows);
        Self { gradients, rows, n, size, labels: loss.is_margin(), alone }
    }

    /// Those of transformed columns.
    pub fn of(&self, transform: Transform, columns: &[Column]) -> Result<Vec<Candidate>> {
        let width = columns.len();
        let leading = self.gradients.and_then(|gradients| gradients.leading).filter(|_| self.n > MANY_ROWS);
        let mut all = match self.gradients {
            _ if width > DIRECTIONS => self.of_many_columns(columns)?,
            None => self.of_smooth(columns, ROUNDS)?,
            Some(_) if leading.is_none_or(|leading| leading == transform) => self.of_smooth(columns, 1)?,
            Some(_) => Vec::new(),
        };
        if let Some(gradients) = self.gradients {
            let agop = agop_seen(gradients, columns);
            all.extend(kinds(width).map(|full| Candidate::new(full, &agop)));
        }
        let plain = match self.n {
            ..=FEW_ROWS => Some(Kind::Diagonal),
            _ => self.labels.then_some(Kind::Plain),
        };
        let plain = plain.map(|kind| (Metric::Diagonal(vec![1.0; width]), kind));
        let others = self.alone.clone().map(|metric| (metric, Kind::Diagonal)).into_iter().chain(plain);
        all.extend(others.map(|(metric, kind)| Candidate { metric, kind, handicap: 1.0 }));
        for candidate in all.iter_mut().filter(|candidate| candidate.kind == Kind::Full && width > DIRECTIONS)
        {
            candidate.handicap = HANDICAP;
        }
        Ok(all)
    }

    /// Those of a smooth function of transformed columns, learned again after each round.
    fn of_smooth(&self, columns: &[Column], n_rounds: usize) -> Result<Vec<Candidate>> {
        let x = transformed(columns, self.rows.0.view());
        let rows = (&x, &self.rows.1);
        let plain = self.agop(rows, false, no_agop(&x), 1)?;
        let again = |full| Ok(Candidate::new(full, &self.agop(rows, full, plain.clone(), n_rounds - 1)?));
        let mut all = kinds(columns.len()).map(again).collect::<Result<Vec<_>>>()?;
        all.extend(self.sharper(rows, plain)?);
        Ok(all)
    }

    /// The same of many columns: directions are those of the function that is learned after the factors of columns.
    fn of_many_columns(&self, columns: &[Column]) -> Result<Vec<Candidate>> {
        let x = transformed(columns, self.rows.0.view());
        let some = spread(self.n.min(WIDE_ROWS * self.size), self.n);
        let some = [&x, &self.rows.1].map(|all| all.select(Axis(0), &some));
        let few = self.agop((&some[0], &some[1]), false, no_agop(&x), ROUNDS)?;
        let many = self.agop((&some[0], &some[1]), false, few.clone(), WIDE_ROUNDS - ROUNDS)?;
        let all = [(false, &few), (false, &many), (true, &many)];
        let all = all.map(|(full, agop)| Candidate::new(full, agop));
        Ok(all.into_iter().chain(self.sharper((&x, &self.rows.1), many)?).collect())
    }

    /// The AGOP of such a function after as many more rounds.
    fn agop(&self, rows: Rows<'_>, full: bool, agop: Mat<f64>, rounds: usize) -> Result<Mat<f64>> {
        smooth_agop(rows, SMOOTH_POINTS * self.size, full, agop, rounds)
    }

    /// Directions among columns that may be many that say nothing, from what is known of these.
    fn sharper(&self, rows: Rows<'_>, agop: Mat<f64>) -> Result<Option<Candidate>> {
        if rows.0.ncols() <= SOME_COLUMNS || self.n <= SOME_ROWS {
            return Ok(None);
        }
        let left = smooth_agop(rows, self.size, false, agop, SHARPER_ROUNDS)?;
        let directions = smooth_agop(rows, self.size, true, left, 1)?;
        Ok(Some(Candidate { handicap: HANDICAP, ..Candidate::new(true, &directions) }))
    }
}

/// Transformed rows, and their targets.
type Rows<'a> = (&'a Array2<f64>, &'a Array2<f64>);

/// The metric of what columns tell by themselves, if many tell nothing.
fn of_columns_alone((x, y): &(Array2<f64>, Array2<f64>)) -> Option<Metric> {
    let (n, d) = x.dim();
    if n <= SOME_ROWS || d <= SOME_COLUMNS {
        return None;
    }
    let shares = shares_alone(x, y);
    let told = shares.iter().filter(|share| **share > 0.0).count();
    let agop = || Mat::from_fn(d, d, |i, j| if i == j { shares[i] } else { 0.0 });
    (told > 0 && told as f64 <= MOST_COLUMNS * d as f64).then(|| learned(false, &agop()))
}
