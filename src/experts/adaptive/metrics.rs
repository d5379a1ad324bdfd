//! Candidate metrics.
//!
//! Most are the average gradient outer product of two predictions: that of the previous experts,
//! which have learned more rows than selection uses, and that of a smooth function of the sample,
//! in case the former are poor. With many irrelevant columns a smooth function does not find the
//! relevant ones, or not in one round: further candidates use the main effects of columns, and
//! functions that are refitted with the metric of the previous round.

use ndarray::{Array2, Axis};

use super::AdaptiveSpec;
use super::agop::{Agop, Gradients, agop_seen, kinds, learned, of_diagonal, smooth_agop};
use super::buffer::{Sample, spread};
use super::main_effects::shares_alone;
use super::params::{Mechanism, MetricParams};
use super::preprocessing::{Column, Transform, transformed};
use crate::error::Result;
use crate::kernel::Metric;

/// Kind of metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Identity: a kind of its own where rows suffice to learn others.
    Plain,
    /// Diagonal.
    Diagonal,
    /// Full.
    Full,
}

/// A candidate.
pub(super) struct Candidate {
    pub metric: Metric,
    pub kind: Kind,
    /// Penalty: factor on its held-out error.
    pub penalty: f64,
}

impl Candidate {
    fn new(full: bool, agop: &Agop, params: &MetricParams) -> Self {
        let kind = if full { Kind::Full } else { Kind::Diagonal };
        Self { metric: learned(full, agop, params), kind, penalty: 1.0 }
    }
}

/// Data for the metrics of a sample.
pub(super) struct Metrics<'a> {
    gradients: Option<&'a Gradients>,
    params: &'a MetricParams,
    /// Rows above which only the leading transform is tried.
    leading_rows: u64,
    /// The sample, with standardized targets, and its number of rows.
    rows: (Array2<f64>, Array2<f64>),
    n: usize,
    /// Points of a cell.
    size: usize,
    /// Whether targets are signs of labels.
    labels: bool,
    /// Metric of main effects.
    alone: Option<Metric>,
    /// Whether none is learned.
    without: bool,
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
            without: spec.params.without == Some(Mechanism::Metrics),
        }
    }

    /// Metrics of transformed columns.
    pub fn of(&self, transform: Transform, columns: &[Column]) -> Result<Vec<Candidate>> {
        let width = columns.len();
        if self.without {
            let metric = Metric::Diagonal(vec![1.0; width]);
            return Ok(vec![Candidate { metric, kind: Kind::Diagonal, penalty: 1.0 }]);
        }
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
        all.extend(others.map(|(metric, kind)| Candidate { metric, kind, penalty: 1.0 }));
        for candidate in
            all.iter_mut().filter(|candidate| candidate.kind == Kind::Full && width > max_directions)
        {
            candidate.penalty = penalty;
        }
        Ok(all)
    }

    /// Metrics of a smooth function of transformed columns, refitted after each round.
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

    /// The same for many columns: directions are those of the function with the diagonal metric.
    fn of_many_columns(&self, columns: &[Column]) -> Result<Vec<Candidate>> {
        let MetricParams { rounds, wide_rounds, smooth_points, .. } = *self.params;
        let x = transformed(columns, self.rows.0.view());
        let some = spread(self.n.min((smooth_points + 1) * self.size), self.n);
        let some = [&x, &self.rows.1].map(|all| all.select(Axis(0), &some));
        let few = self.agop((&some[0], &some[1]), false, Agop::none(x.ncols()), rounds)?;
        let many = self.agop((&some[0], &some[1]), false, few.clone(), wide_rounds.saturating_sub(rounds))?;
        let all = [(false, &few), (false, &many), (true, &many)];
        let all = all.map(|(full, agop)| Candidate::new(full, agop, self.params));
        Ok(all.into_iter().chain(self.sharper((&x, &self.rows.1), many)?).collect())
    }

    /// AGOP of such a function after this many further rounds.
    fn agop(&self, rows: Rows<'_>, full: bool, agop: Agop, rounds: usize) -> Result<Agop> {
        smooth_agop(rows, self.params.smooth_points * self.size, full, agop, rounds, self.params)
    }

    /// Directions when many columns may be irrelevant, starting from main effects.
    fn sharper(&self, rows: Rows<'_>, agop: Agop) -> Result<Option<Candidate>> {
        let MetricParams { irrelevant_columns, irrelevant_rounds, penalty, .. } = *self.params;
        if rows.0.ncols() <= irrelevant_columns || self.n <= self.params.min_rows {
            return Ok(None);
        }
        let left = smooth_agop(rows, self.size, false, agop, irrelevant_rounds, self.params)?;
        let directions = smooth_agop(rows, self.size, true, left, 1, self.params)?;
        Ok(Some(Candidate { penalty, ..Candidate::new(true, &directions, self.params) }))
    }
}

/// Transformed rows, and their targets.
type Rows<'a> = (&'a Array2<f64>, &'a Array2<f64>);

/// Metric of main effects, if many columns have none.
fn of_columns_alone((x, y): &(Array2<f64>, Array2<f64>), params: &MetricParams) -> Option<Metric> {
    let (n, d) = x.dim();
    if n <= params.min_rows || d <= params.irrelevant_columns {
        return None;
    }
    let shares = shares_alone(x, y, params);
    let found = shares.iter().filter(|share| **share > 0.0).count();
    (found > 0 && found as f64 <= params.max_relevant_share * d as f64).then(|| of_diagonal(&shares))
}
