//! Outputs of a model for rows just before they are learned.

use std::ops::Range;

use ndarray::{ArrayViewMut, ArrayViewMut1, ArrayViewMut2, ArrayViewMut3, Axis, Dimension, s};

use super::{Calibration, Spread};
use crate::error::{Error, Result};

/// Requested outputs for rows just before each is learned: arrays to be filled.
#[derive(Debug, Default)]
pub struct Prequential<'a> {
    /// Predictions (n, p).
    pub predictions: Option<ArrayViewMut2<'a, f64>>,
    /// Standard deviations of the targets about their predictions (n, p). Undefined for models
    /// without a [posterior](crate::model::Uncertainty::knows_deviation).
    pub deviations: Option<ArrayViewMut2<'a, f64>>,
    /// Spreads: the scale of intervals (n, p).
    pub spreads: Option<ArrayViewMut2<'a, f64>>,
    /// Intervals of a coverage, lower and upper ends (n, p, 2).
    pub intervals: Option<(f64, ArrayViewMut3<'a, f64>)>,
    /// Probabilities of classes (n, classes), where targets are labels.
    pub probabilities: Option<ArrayViewMut2<'a, f64>>,
    /// Novelty of rows (n); left unchanged by models that are not a single stream.
    pub novelties: Option<ArrayViewMut1<'a, f64>>,
}

impl<'a> Prequential<'a> {
    /// Predictions only.
    #[must_use]
    pub fn predictions(predictions: Option<ArrayViewMut2<'a, f64>>) -> Self {
        Self { predictions, ..Self::default() }
    }

    /// Predictions and their spreads.
    pub(crate) fn with_spread(
        predictions: ArrayViewMut2<'a, f64>,
        spreads: ArrayViewMut2<'a, f64>,
        spread: Spread,
    ) -> Self {
        let prequential = Self::predictions(Some(predictions));
        match spread {
            Spread::Deviation => Self { deviations: Some(spreads), ..prequential },
            Spread::Interval => Self { spreads: Some(spreads), ..prequential },
        }
    }

    /// Whether deviations, spreads or intervals are requested.
    #[must_use]
    pub fn wants_spreads(&self) -> bool {
        self.deviations.is_some() || self.spreads.is_some() || self.intervals.is_some()
    }

    /// Whether a result depends on the novelty of rows, as spreads do.
    #[must_use]
    pub(crate) fn wants_novelty(&self) -> bool {
        self.novelties.is_some() || self.wants_spreads()
    }

    /// Whether anything is requested that depends on the learner: predictions, probabilities or spreads, not novelty.
    #[must_use]
    pub fn wants_outputs(&self) -> bool {
        self.predictions.is_some() || self.probabilities.is_some() || self.wants_spreads()
    }

    /// Whether the arrays have this number of rows and outputs; the number of classes is checked by
    /// the model.
    #[must_use]
    pub fn fits(&self, (n, p): (usize, usize)) -> bool {
        self.check_shapes((n, p)).is_ok()
    }

    /// Refuses arrays that do not [fit](Self::fits) and coverages that are none, before anything is learned.
    pub(crate) fn check(&self, shape: (usize, usize)) -> Result<()> {
        if let Some((coverage, _)) = &self.intervals {
            Calibration::check(*coverage)?;
        }
        self.check_shapes(shape)
    }

    fn check_shapes(&self, (n, p): (usize, usize)) -> Result<()> {
        let (predictions, deviations) = (&self.predictions, &self.deviations);
        for (what, all) in
            [("predictions", predictions), ("deviations", deviations), ("spreads", &self.spreads)]
        {
            if let Some(found) = all.as_ref().map(ArrayViewMut2::dim)
                && found != (n, p)
            {
                return Err(Error::Shape { what, found, needed: (n, p), why: "the shape of y" });
            }
        }
        if let Some((_, all)) = &self.intervals
            && all.dim() != (n, p, 2)
        {
            return Err(Error::InvalidParameter {
                name: "intervals",
                value: format!("{:?}", all.dim()),
                requirement: "an array of the shape of y, with two ends for each target",
            });
        }
        let rows = [
            ("probabilities", self.probabilities.as_ref().map(ArrayViewMut2::nrows)),
            ("novelties", self.novelties.as_ref().map(ArrayViewMut1::len)),
        ];
        for (right, right_rows) in rows {
            if let Some(right_rows) = right_rows
                && right_rows != n
            {
                return Err(Error::LengthMismatch { left: "X", left_rows: n, right, right_rows });
            }
        }
        Ok(())
    }

    /// The views of these rows.
    pub fn rows(&mut self, rows: Range<usize>) -> Prequential<'_> {
        let (part, places) = (s![rows.clone(), ..], s![rows.clone()]);
        Prequential {
            predictions: self.predictions.as_mut().map(|all| all.slice_mut(part)),
            deviations: self.deviations.as_mut().map(|all| all.slice_mut(part)),
            spreads: self.spreads.as_mut().map(|all| all.slice_mut(part)),
            intervals: self
                .intervals
                .as_mut()
                .map(|(coverage, all)| (*coverage, all.slice_mut(s![rows, .., ..]))),
            probabilities: self.probabilities.as_mut().map(|all| all.slice_mut(part)),
            novelties: self.novelties.as_mut().map(|all| all.slice_mut(places)),
        }
    }

    /// The views of consecutive blocks of `size` rows; the last may be shorter.
    pub(crate) fn blocks(self, n: usize, size: usize) -> Vec<Self> {
        let (mut left, mut blocks) = (self, Vec::new());
        for start in (0..n).step_by(size) {
            let (block, rest) = left.split_at(size.min(n - start));
            blocks.push(block);
            left = rest;
        }
        blocks
    }

    fn split_at(self, row: usize) -> (Self, Self) {
        fn split<D: Dimension>(
            all: Option<ArrayViewMut<'_, f64, D>>,
            row: usize,
        ) -> [Option<ArrayViewMut<'_, f64, D>>; 2] {
            match all {
                Some(all) => {
                    let (first, rest) = all.split_at(Axis(0), row);
                    [Some(first), Some(rest)]
                }
                None => [None, None],
            }
        }
        let coverage = self.intervals.as_ref().map(|(coverage, _)| *coverage);
        let [intervals, later_intervals] =
            split(self.intervals.map(|(_, all)| all), row).map(|all| coverage.zip(all));
        let [predictions, later_predictions] = split(self.predictions, row);
        let [deviations, later_deviations] = split(self.deviations, row);
        let [spreads, later_spreads] = split(self.spreads, row);
        let [probabilities, later_probabilities] = split(self.probabilities, row);
        let [novelties, later_novelties] = split(self.novelties, row);
        let first = Self { predictions, deviations, spreads, intervals, probabilities, novelties };
        let rest = Self {
            predictions: later_predictions,
            deviations: later_deviations,
            spreads: later_spreads,
            intervals: later_intervals,
            probabilities: later_probabilities,
            novelties: later_novelties,
        };
        (first, rest)
    }

    /// Fills in novelty, from the first row on.
    pub(crate) fn record_novelty(&mut self, novelty: impl Iterator<Item = f64>) {
        if let Some(novelties) = &mut self.novelties {
            novelties.iter_mut().zip(novelty).for_each(|(to, from)| *to = from);
        }
    }

    /// Fills in the quantities of output `c` of row `i`, of this novelty (NaN where it is unknown).
    pub(crate) fn record(
        &mut self,
        (i, c): (usize, usize),
        prediction: f64,
        spread: impl Fn(Spread) -> f64,
        novelty: f64,
        calibration: &Calibration,
    ) {
        if let Some(predictions) = &mut self.predictions {
            predictions[(i, c)] = prediction;
        }
        if let Some(deviations) = &mut self.deviations {
            deviations[(i, c)] = spread(Spread::Deviation);
        }
        let of_interval = || calibration.widened(c, prediction, spread(Spread::Interval), novelty);
        if let Some(spreads) = &mut self.spreads {
            spreads[(i, c)] = of_interval();
        }
        if let Some((coverage, intervals)) = &mut self.intervals {
            let (low, high) = calibration.interval(c, *coverage, prediction, of_interval());
            (intervals[(i, c, 0)], intervals[(i, c, 1)]) = (low, high);
        }
    }
}
