//! Outputs of the experts for rows before they are learned, and their mixture.

use ndarray::{Array1, Array2, s};

use super::Mixture;
use crate::online::mixture::Said;
use crate::uncertainty::{Calibration, Prequential, Spread};

/// Predictions of a model for rows before they were learned (n, outputs each).
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    made: Array2<f64>,
    deviations: Array2<f64>,
    spreads: Array2<f64>,
    /// Novelty of each row (n); NaN if it is not available.
    novelties: Array1<f64>,
    /// Confidence of each prediction, from 0 to 1 (n); empty if not available.
    sure: Array1<f64>,
}

impl Answers {
    /// Allocates this number of rows and outputs.
    pub fn zeros(shape: (usize, usize)) -> Self {
        let zeros = || Array2::zeros(shape);
        let novelties = Array1::from_elem(shape.0, f64::NAN);
        Self { made: zeros(), deviations: zeros(), spreads: zeros(), novelties, sure: Array1::default(0) }
    }

    /// For a model without confidences.
    pub fn of_none(shape: (usize, usize)) -> Self {
        Self::zeros(shape).being_sure(|_| 0.0).of_any_row()
    }

    /// Whether this number of rows and outputs fits.
    pub fn fits(&self, (n, outputs): (usize, usize)) -> bool {
        self.made.nrows() >= n && self.made.ncols() == outputs
    }

    /// Views for the outputs of `n` rows.
    pub fn prequential(&mut self, n: usize) -> Prequential<'_> {
        Prequential {
            predictions: Some(self.made.slice_mut(s![..n, ..])),
            deviations: Some(self.deviations.slice_mut(s![..n, ..])),
            spreads: Some(self.spreads.slice_mut(s![..n, ..])),
            intervals: None,
            probabilities: None,
            novelties: Some(self.novelties.slice_mut(s![..n])),
        }
    }

    /// [`prequential`](Self::prequential) without spreads that are not requested.
    pub fn prequential_of(&mut self, n: usize, spread: Option<Spread>) -> Prequential<'_> {
        let prequential = self.prequential(n);
        Prequential {
            deviations: prequential.deviations.filter(|_| spread == Some(Spread::Deviation)),
            spreads: prequential.spreads.filter(|_| spread == Some(Spread::Interval)),
            ..prequential
        }
    }

    /// Views for the requested outputs of `n` rows.
    pub fn prequential_like(&mut self, n: usize, asked: &Prequential<'_>) -> Prequential<'_> {
        let prequential = self.prequential(n);
        Prequential {
            predictions: prequential.predictions.filter(|_| asked.wants_outputs()),
            deviations: prequential.deviations.filter(|_| asked.deviations.is_some()),
            spreads: prequential.spreads.filter(|_| asked.spreads.is_some()),
            novelties: prequential.novelties.filter(|_| asked.wants_novelty()),
            ..prequential
        }
    }

    /// Without novelty: the predictions do not depend on the row.
    pub fn of_any_row(mut self) -> Self {
        self.novelties.fill(f64::NAN);
        self
    }

    /// Computes the confidence of each prediction from the novelty of the row.
    pub fn being_sure(self, sure: impl Fn(f64) -> f64) -> Self {
        Self { sure: self.novelties.mapv(sure), ..self }
    }

    /// The predictions.
    pub fn into_made(self) -> Array2<f64> {
        self.made
    }

    /// Confidences.
    pub fn sure(&self) -> &Array1<f64> {
        &self.sure
    }

    /// Standard deviation of a prediction.
    #[cfg(test)]
    pub fn deviation(&self, place: (usize, usize)) -> f64 {
        self.deviations[place]
    }

    /// [`put`](Self::put), and how sure the model was.
    pub fn put_all(&mut self, from: &Self, places: &[usize]) {
        self.put(from, places);
        if self.sure.is_empty() {
            self.sure = Array1::zeros(self.made.nrows());
        }
        from.sure.iter().zip(places).for_each(|(sure, i)| self.sure[*i] = *sure);
    }

    /// Copies rows of other answers to these places.
    pub fn put(&mut self, from: &Self, places: &[usize]) {
        let pairs = [
            (&mut self.made, &from.made),
            (&mut self.deviations, &from.deviations),
            (&mut self.spreads, &from.spreads),
        ];
        for (to, from) in pairs {
            put_rows(to, from, places);
        }
        from.novelties.iter().zip(places).for_each(|(novelty, i)| self.novelties[*i] = *novelty);
    }
}

/// Scatters rows to these places.
fn put_rows(to: &mut Array2<f64>, from: &Array2<f64>, places: &[usize]) {
    from.rows().into_iter().zip(places).for_each(|(row, i)| to.row_mut(*i).assign(&row));
}

/// Scratch for one row and output: the outputs of each model, kept so that no row allocates.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    made: Vec<f64>,
    deviations: Vec<f64>,
    spreads: Vec<f64>,
    novelties: Vec<f64>,
    sure: Vec<f64>,
    shares: Vec<f64>,
}

impl Round {
    /// Mixes the predictions for one row and output.
    pub fn mix<'a>(
        &mut self,
        place: (usize, usize),
        answers: impl Iterator<Item = &'a Answers>,
        mixture: &Mixture,
    ) -> Mixed {
        let Self { made, deviations, spreads, novelties, sure, shares } = self;
        for values in [&mut *made, deviations, spreads, novelties, sure] {
            values.clear();
        }
        for answers in answers {
            made.push(answers.made[place]);
            deviations.push(answers.deviations[place]);
            spreads.push(answers.spreads[place]);
            novelties.push(answers.novelties[place.0]);
            sure.extend(answers.sure.get(place.0));
        }
        shares.resize(made.len(), 0.0);
        mixture.share_out(sure, shares);
        let mixed = shares.iter().zip(&*made).map(|(share, value)| share * value).sum();
        Mixed {
            made: mixed,
            novelty: novelty_of(shares, novelties),
            deviation: deviation_of(shares, made, mixed, deviations),
            spread: deviation_of(shares, made, mixed, spreads),
        }
    }

    /// [`mix`](Self::mix)es all rows and outputs, and outputs predictions, spreads and novelty, the
    /// latter weighted by the models' shares over all outputs.
    pub fn record(
        &mut self,
        answers: &[Answers],
        mixtures: &[Mixture],
        calibration: &Calibration,
        prequential: &mut Prequential<'_>,
    ) {
        let n = answers.first().map_or(0, |answers| answers.made.nrows());
        let mut novelties = vec![0.0; n];
        for (i, novelty) in novelties.iter_mut().enumerate() {
            for (c, mixture) in mixtures.iter().enumerate() {
                let mixed = self.mix((i, c), answers.iter(), mixture);
                mixed.record((i, c), calibration, prequential);
                *novelty += mixed.novelty / mixtures.len() as f64;
            }
        }
        prequential.record_novelty(novelties.into_iter());
    }

    /// [`mix`](Self::mix)es, outputs, and learns the target or its winsorized value; returns the
    /// mixture and that value. Intervals refer to the target.
    pub fn learn<'a>(
        &mut self,
        place: (usize, usize),
        answers: impl Iterator<Item = &'a Answers>,
        target: (f64, impl FnOnce(f64) -> f64, f64),
        state: (&mut Mixture, &mut Calibration),
        prequential: &mut Prequential<'_>,
    ) -> (f64, f64) {
        self.learn_refined(place, answers, |mixed| mixed, target, state, prequential)
    }

    /// [`learn`](Self::learn) with a correction of the mixture.
    pub fn learn_refined<'a>(
        &mut self,
        place: (usize, usize),
        answers: impl Iterator<Item = &'a Answers>,
        refined: impl FnOnce(Mixed) -> Mixed,
        (came, limited, weight): (f64, impl FnOnce(f64) -> f64, f64),
        (mixture, calibration): (&mut Mixture, &mut Calibration),
        prequential: &mut Prequential<'_>,
    ) -> (f64, f64) {
        let mixed = self.mix(place, answers, mixture);
        let better = refined(mixed);
        let target = limited(better.made);
        mixture.learn_from(Said { made: &self.made, sure: &self.sure }, mixed.made, target, weight);
        better.record(place, calibration, prequential);
        if weight > 0.0 {
            calibration.meet_novelty(place.1, better.novelty);
            calibration.meet(place.1, better.made, (came, target), better.spread);
        }
        (better.made, target)
    }

    /// Predictions of the models mixed last, each with its share.
    pub fn parts(&self) -> impl Iterator<Item = (f64, f64)> {
        self.made.iter().copied().zip(self.shares.iter().copied())
    }
}

/// The mixture for one row and output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixed {
    pub made: f64,
    pub novelty: f64,
    deviation: f64,
    spread: f64,
}

impl Mixed {
    /// The mean of predictions with these weights, of which it is one. The variance between them is added.
    pub fn refined(self, made: &[f64], weights: &[f64]) -> Self {
        let mixed = weights.iter().zip(made).map(|(weight, made)| weight * made).sum();
        let between = |within: f64| {
            let far = weights.iter().zip(made).map(|(weight, made)| weight * (made - mixed) * (made - mixed));
            (within * within + far.sum::<f64>()).sqrt()
        };
        Self { made: mixed, deviation: between(self.deviation), spread: between(self.spread), ..self }
    }

    /// The scale of its interval.
    pub fn spread(&self) -> f64 {
        self.spread
    }

    /// The same with that scale multiplied by a factor.
    pub fn scaled(self, factor: f64) -> Self {
        Self { spread: factor * self.spread, ..self }
    }

    /// The same, if the row is at least as novel as this.
    pub fn as_novel(self, least: f64) -> Self {
        Self { novelty: self.novelty.max(least), ..self }
    }

    /// Another prediction instead.
    pub fn moved(self, made: f64) -> Self {
        Self { made, ..self }
    }

    /// Outputs it.
    pub fn record(
        &self,
        place: (usize, usize),
        calibration: &Calibration,
        prequential: &mut Prequential<'_>,
    ) {
        let spread = |which| if which == Spread::Deviation { self.deviation } else { self.spread };
        prequential.record(place, self.made, spread, self.novelty, calibration);
    }
}

/// How new a row is to a prediction to which models contribute these shares; those are left out to which no row is new
/// (NaN).
fn novelty_of(weights: &[f64], novelties: &[f64]) -> f64 {
    let each = || weights.iter().zip(novelties).filter(|(_, novelty)| !novelty.is_nan());
    let total: f64 = each().map(|(weight, _)| weight).sum();
    if total > 1e-9 {
        each().map(|(weight, novelty)| weight * novelty).sum::<f64>() / total
    } else {
        each().map(|(_, novelty)| novelty).sum::<f64>() / each().count().max(1) as f64
    }
}

/// Standard deviation of a target about the mixture of these predictions with these shares: the
/// variance within the models, and between them.
fn deviation_of(shares: &[f64], made: &[f64], mixed: f64, deviations: &[f64]) -> f64 {
    let models = shares.iter().zip(made.iter().zip(deviations)).filter(|(share, _)| **share > 0.0);
    let variance = |(share, (made, within)): (&f64, (&f64, &f64))| {
        share * (within * within + (made - mixed) * (made - mixed))
    };
    models.map(variance).sum::<f64>().sqrt()
}
