//! What experts say of rows before they learn them, and what is made of it.

use ndarray::{Array2, s};

use super::mixture::Mixture;
use crate::uncertainty::{Calibration, Prequential, Spread};

/// What a model said of rows before it learned them (n, outputs each).
#[derive(Clone, Default)]
pub(super) struct Answers {
    made: Array2<f64>,
    deviations: Array2<f64>,
    spreads: Array2<f64>,
}

impl Answers {
    /// Room for so many rows and outputs.
    pub fn zeros(shape: (usize, usize)) -> Self {
        let zeros = || Array2::zeros(shape);
        Self { made: zeros(), deviations: zeros(), spreads: zeros() }
    }

    /// Whether there is room for so many rows and outputs.
    pub fn fits(&self, (n, outputs): (usize, usize)) -> bool {
        self.made.nrows() >= n && self.made.ncols() == outputs
    }

    /// Where the answers for `n` rows go.
    pub fn told(&mut self, n: usize) -> Prequential<'_> {
        Prequential {
            predictions: Some(self.made.slice_mut(s![..n, ..])),
            deviations: Some(self.deviations.slice_mut(s![..n, ..])),
            spreads: Some(self.spreads.slice_mut(s![..n, ..])),
            intervals: None,
            probabilities: None,
        }
    }

    /// Takes over rows of other answers, to these places.
    pub fn put(&mut self, from: &Self, places: &[usize]) {
        let pairs = [
            (&mut self.made, &from.made),
            (&mut self.deviations, &from.deviations),
            (&mut self.spreads, &from.spreads),
        ];
        for (to, from) in pairs {
            put_rows(to, from, places);
        }
    }
}

/// Puts rows at these places.
pub(super) fn put_rows(to: &mut Array2<f64>, from: &Array2<f64>, places: &[usize]) {
    from.rows().into_iter().zip(places).for_each(|(row, i)| to.row_mut(*i).assign(&row));
}

/// One row and output: what each model answers. Kept so that no row allocates.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    made: Vec<f64>,
    deviations: Vec<f64>,
    spreads: Vec<f64>,
}

impl Round {
    /// Mixes the answers for a place, row and output, tells of it, and learns from what came, or a target nearer to what
    /// was made of them; returns that and the target. Intervals are for what came.
    pub fn learn<'a>(
        &mut self,
        place: (usize, usize),
        answers: impl Iterator<Item = &'a Answers>,
        (came, limited, weight): (f64, impl FnOnce(f64) -> f64, f64),
        (mixture, calibration): (&mut Mixture, &mut Calibration),
        told: &mut Prequential<'_>,
    ) -> (f64, f64) {
        let Self { made, deviations, spreads } = self;
        for values in [&mut *made, deviations, spreads] {
            values.clear();
        }
        for answers in answers {
            made.push(answers.made[place]);
            deviations.push(answers.deviations[place]);
            spreads.push(answers.spreads[place]);
        }
        let mixed = mixture.mixed(made);
        let deviation = mixture.deviation(made, mixed, deviations);
        let spread = mixture.deviation(made, mixed, spreads);
        let target = limited(mixed);
        mixture.learn(made, target, weight);
        let spread_of = |which| if which == Spread::Deviation { deviation } else { spread };
        told.tell(place, mixed, spread_of, calibration);
        if weight > 0.0 {
            calibration.meet_limited(place.1, mixed, (came, target), spread);
        }
        (mixed, target)
    }
}
