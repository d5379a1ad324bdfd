//! What is told of rows before they are learned.

use std::ops::Range;

use ndarray::{ArrayViewMut2, ArrayViewMut3, s};

use super::{Calibration, Spread};

/// What is known of rows just before each is learned, for those who ask: arrays to be filled in.
#[derive(Debug, Default)]
pub struct Prequential<'a> {
    /// Predictions (n, p).
    pub predictions: Option<ArrayViewMut2<'a, f64>>,
    /// Standard deviations of the targets about their predictions (n, p). Of no meaning for models that do not
    /// [know](crate::model::Model::knows_deviation) them.
    pub deviations: Option<ArrayViewMut2<'a, f64>>,
    /// What intervals are in proportion to (n, p).
    pub spreads: Option<ArrayViewMut2<'a, f64>>,
    /// Intervals of a coverage, lower and upper ends (n, p, 2).
    pub intervals: Option<(f64, ArrayViewMut3<'a, f64>)>,
    /// Probabilities of classes (n, classes), where targets are labels.
    pub probabilities: Option<ArrayViewMut2<'a, f64>>,
}

impl<'a> Prequential<'a> {
    /// Predictions and no more.
    #[must_use]
    pub fn predictions(predictions: Option<ArrayViewMut2<'a, f64>>) -> Self {
        Self { predictions, ..Self::default() }
    }

    /// Whether more than predictions is asked for.
    #[must_use]
    pub fn wants_spreads(&self) -> bool {
        self.deviations.is_some() || self.spreads.is_some() || self.intervals.is_some()
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn asks_nothing(&self) -> bool {
        self.predictions.is_none() && self.probabilities.is_none() && !self.wants_spreads()
    }

    /// Whether the arrays are for as many rows and outputs; of how many classes, the model has to say.
    #[must_use]
    pub fn fits(&self, (n, p): (usize, usize)) -> bool {
        self.predictions.as_ref().is_none_or(|all| all.dim() == (n, p))
            && self.deviations.as_ref().is_none_or(|all| all.dim() == (n, p))
            && self.spreads.as_ref().is_none_or(|all| all.dim() == (n, p))
            && self.intervals.as_ref().is_none_or(|(_, all)| all.dim() == (n, p, 2))
            && self.probabilities.as_ref().is_none_or(|all| all.nrows() == n)
    }

    /// The part that is about these rows.
    pub fn rows(&mut self, rows: Range<usize>) -> Prequential<'_> {
        let part = s![rows.clone(), ..];
        Prequential {
            predictions: self.predictions.as_mut().map(|all| all.slice_mut(part)),
            deviations: self.deviations.as_mut().map(|all| all.slice_mut(part)),
            spreads: self.spreads.as_mut().map(|all| all.slice_mut(part)),
            intervals: self
                .intervals
                .as_mut()
                .map(|(coverage, all)| (*coverage, all.slice_mut(s![rows, .., ..]))),
            probabilities: self.probabilities.as_mut().map(|all| all.slice_mut(part)),
        }
    }

    /// Fills in what is known of output `c` of row `i`.
    pub(crate) fn tell(
        &mut self,
        (i, c): (usize, usize),
        prediction: f64,
        spread: impl Fn(Spread) -> f64,
        calibration: &Calibration,
    ) {
        if let Some(predictions) = &mut self.predictions {
            predictions[(i, c)] = prediction;
        }
        if let Some(deviations) = &mut self.deviations {
            deviations[(i, c)] = spread(Spread::Deviation);
        }
        if let Some(spreads) = &mut self.spreads {
            spreads[(i, c)] = spread(Spread::Interval);
        }
        if let Some((coverage, intervals)) = &mut self.intervals {
            let (low, high) = calibration.interval(c, *coverage, prediction, spread(Spread::Interval));
            (intervals[(i, c, 0)], intervals[(i, c, 1)]) = (low, high);
        }
    }
}
