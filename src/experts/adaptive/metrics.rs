//! The metrics that come into a race.
//!
//! Most are those of the average gradient outer product of two predictions: that of the generation before, which has
//! learned more rows than a race could, and that of a smooth function of the sample, in case the former began badly.
//! Among many columns that say nothing a smooth function finds none of those that do, or not in one round: other
//! metrics are of what columns tell by themselves, and of functions learned again after what the one before found.

use ndarray::{Array2, Axis};

use super::AdaptiveSpec;
use super::agop::{Agop, Gradients, agop_seen, kinds, learned, of_diagonal, smooth_agop};
use super::buffer::{Sample, spread};
use super::lens::{Column, Transform, transformed};
use super::marginal::shares_alone;
use super::params::MetricParams;
use crate::error::Result;
use crate::kernel::Metric;

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
    fn new(full: bool, agop: &Agop, params: &MetricParams) -> Self {
        let kind = if full { Kind::Full } else { Kind::Diagonal };
        Self { metric: learned(full, agop, params), kind, handicap: 1.0 }
    }
}

/// What the metrics of a sample are learned from.
pub(super) struct Metrics<'a> {
    gradients: Option<&'a Gradients>,
    params: &'a MetricParams,
    /// Rows above which the leading transform alone is tried.
    leading_rows: u64,
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
    /// For members of this specification.
    pub fn new(sample: &Sample, gradients: Option<&'a Gradients>, spec: &'a AdaptiveSpec) -> Self {
        let params = &spec.params.metrics;
        let n = sample.x.nrows();
        let rows = sample.standardized(&spread(n, n));
        let alone = of_columns_alone(&rows, params);
        Self {
            gradients,
            params,
            leading_rows: spec.params.refits.cell_rows,
            rows,
            n,
            size: spec.size,
            labels: spec.loss.is_margin(),
            alone,
        }
    }

    /// Those of transformed columns.
    pub fn of(&self, transform: Transform, columns: &[Column]) -> Result<Vec<Candidate>> {
        let width = columns.len();
        let MetricParams { plain_rows, max_directions, penalty, rounds, .. } = *self.params;
        let leading = self
            .gradients
            .and_then(|gradients| gradients.leading)
            .filter(|_| self.n as u64 > self.leading_rows);
        let mut all = match self.gradients {
            _ if width > max_directions => self.of_many_columns(columns)?,
            None => self.of_smooth(columns, rounds)?,
            Some(_) if leading.is_none_or(|leading| leading == transform) => self.of_smooth(columns, 1)?,
            Some(_) => Vec::new(),
        };
        if let Some(gradients) = self.gradients {
            let agop = agop_seen(gradients, columns);
            all.extend(kinds(width).map(|full| Candidate::new(full, &agop, self.params)));
        }
        let plain =
            if self.n <= plain_rows { Some(Kind::Diagonal) } else { self.labels.then_some(Kind::Plain) };
        let plain = plain.map(|kind| (Metric::Diagonal(vec![1.0; width]), kind));
        let others = self.alone.clone().map(|metric| (metric, Kind::Diagonal)).into_iter().chain(plain);
        all.extend(others.map(|(metric, kind)| Candidate { metric, kind, handicap: 1.0 }));
        for candidate in
            all.iter_mut().filter(|candidate| candidate.kind == Kind::Full && width > max_directions)
        {
            candidate.handicap = penalty;
        }
        Ok(all)
    }

    /// Those of a smooth function of transformed columns, learned again after each round.
    fn of_smooth(&self, columns: &[Column], n_rounds: usize) -> Result<Vec<Candidate>> {
        let x = transformed(columns, self.rows.0.view());
        let rows = (&x, &self.rows.1);
        let plain = self.agop(rows, false, Agop::none(x.ncols()), 1)?;
        let again = |full| {
            Ok(Candidate::new(full, &self.agop(rows, full, plain.clone(), n_rounds - 1)?, self.params))
        };
        let mut all = kinds(columns.len()).map(again).collect::<Result<Vec<_>>>()?;
        all.extend(self.sharper(rows, plain)?);
        Ok(all)
    }

    /// The same of many columns: directions are those of the function that is learned after the factors of columns.
    fn of_many_columns(&self, columns: &[Column]) -> Result<Vec<Candidate>> {
        let MetricParams { rounds, wide_rows, wide_rounds, .. } = *self.params;
        let x = transformed(columns, self.rows.0.view());
        let some = spread(self.n.min(wide_rows * self.size), self.n);
        let some = [&x, &self.rows.1].map(|all| all.select(Axis(0), &some));
        let few = self.agop((&some[0], &some[1]), false, Agop::none(x.ncols()), rounds)?;
        let many = self.agop((&some[0], &some[1]), false, few.clone(), wide_rounds.saturating_sub(rounds))?;
        let all = [(false, &few), (false, &many), (true, &many)];
        let all = all.map(|(full, agop)| Candidate::new(full, agop, self.params));
        Ok(all.into_iter().chain(self.sharper((&x, &self.rows.1), many)?).collect())
    }

    /// The AGOP of such a function after as many more rounds.
    fn agop(&self, rows: Rows<'_>, full: bool, agop: Agop, rounds: usize) -> Result<Agop> {
        smooth_agop(rows, self.params.smooth_points * self.size, full, agop, rounds, self.params)
    }

    /// Directions among columns that may be many that say nothing, from what is known of these.
    fn sharper(&self, rows: Rows<'_>, agop: Agop) -> Result<Option<Candidate>> {
        let MetricParams { irrelevant_columns, irrelevant_rounds, penalty, .. } = *self.params;
        if rows.0.ncols() <= irrelevant_columns || self.n <= self.params.min_rows {
            return Ok(None);
        }
        let left = smooth_agop(rows, self.size, false, agop, irrelevant_rounds, self.params)?;
        let directions = smooth_agop(rows, self.size, true, left, 1, self.params)?;
        Ok(Some(Candidate { handicap: penalty, ..Candidate::new(true, &directions, self.params) }))
    }
}

/// Transformed rows, and their targets.
type Rows<'a> = (&'a Array2<f64>, &'a Array2<f64>);

/// The metric of what columns tell by themselves, if many tell nothing.
fn of_columns_alone((x, y): &(Array2<f64>, Array2<f64>), params: &MetricParams) -> Option<Metric> {
    let (n, d) = x.dim();
    if n <= params.min_rows || d <= params.irrelevant_columns {
        return None;
    }
    let shares = shares_alone(x, y, params);
    let told = shares.iter().filter(|share| **share > 0.0).count();
    (told > 0 && told as f64 <= params.max_relevant_share * d as f64).then(|| of_diagonal(&shares))
}
