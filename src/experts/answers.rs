//! What experts say of rows before they learn them, and what is made of it.

use ndarray::{Array1, Array2, s};

use super::Mixture;
use crate::online::mixture::Said;
use crate::uncertainty::{Calibration, Prequential, Spread};

/// What a model said of rows before it learned them (n, outputs each).
#[derive(Clone, Default)]
pub(super) struct Answers {
    made: Array2<f64>,
    deviations: Array2<f64>,
    spreads: Array2<f64>,
    /// How new each row is to it, where it tells (n).
    novelties: Array1<f64>,
    /// How sure it is of each prediction, from 0 to 1 (n); empty where it does not say.
    sure: Array1<f64>,
}

impl Answers {
    /// Room for so many rows and outputs.
    pub fn zeros(shape: (usize, usize)) -> Self {
        let zeros = || Array2::zeros(shape);
        let novelties = Array1::zeros(shape.0);
        Self { made: zeros(), deviations: zeros(), spreads: zeros(), novelties, sure: Array1::default(0) }
    }

    /// Those of a model that is not sure of anything.
    pub fn of_none(shape: (usize, usize)) -> Self {
        Self::zeros(shape).being_sure(|_| 0.0)
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
            novelties: Some(self.novelties.slice_mut(s![..n])),
        }
    }

    /// [`told`](Self::told) without spreads that are not asked for.
    pub fn told_of(&mut self, n: usize, spread: Option<Spread>) -> Prequential<'_> {
        let told = self.told(n);
        Prequential {
            deviations: told.deviations.filter(|_| spread == Some(Spread::Deviation)),
            spreads: told.spreads.filter(|_| spread == Some(Spread::Interval)),
            ..told
        }
    }

    /// Where the answers for `n` rows go of which this is asked, and what it is made of.
    pub fn told_like(&mut self, n: usize, asked: &Prequential<'_>) -> Prequential<'_> {
        let told = self.told(n);
        Prequential {
            predictions: told.predictions.filter(|_| !asked.asks_nothing()),
            deviations: told.deviations.filter(|_| asked.deviations.is_some()),
            spreads: told.spreads.filter(|_| asked.spreads.is_some()),
            novelties: told.novelties.filter(|_| asked.novelties.is_some()),
            ..told
        }
    }

    /// Says how sure the model is of each prediction, by how new the row is to it.
    pub fn being_sure(self, sure: impl Fn(f64) -> f64) -> Self {
        Self { sure: self.novelties.mapv(sure), ..self }
    }

    /// The predictions.
    pub fn into_made(self) -> Array2<f64> {
        self.made
    }

    /// How sure the model is of each.
    pub fn sure(&self) -> &Array1<f64> {
        &self.sure
    }

    /// The standard deviation of a prediction.
    #[cfg(test)]
    pub fn deviation(&self, place: (usize, usize)) -> f64 {
        self.deviations[place]
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
        from.novelties.iter().zip(places).for_each(|(novelty, i)| self.novelties[*i] = *novelty);
    }
}

/// Puts rows at these places.
fn put_rows(to: &mut Array2<f64>, from: &Array2<f64>, places: &[usize]) {
    from.rows().into_iter().zip(places).for_each(|(row, i)| to.row_mut(*i).assign(&row));
}

/// One row and output: what each model answers. Kept so that no row allocates.
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
    /// Mixes the answers for a place, row and output.
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
        let mean = |of: &[f64]| shares.iter().zip(of).map(|(share, value)| share * value).sum();
        let mixed = mean(made);
        Mixed {
            made: mixed,
            novelty: mean(novelties),
            deviation: deviation_of(shares, made, mixed, deviations),
            spread: deviation_of(shares, made, mixed, spreads),
        }
    }

    /// [`mix`](Self::mix)es the answers for all rows and outputs, and tells of it: predictions, their spreads, and how new
    /// rows are, to the models by their shares, over all outputs.
    pub fn tell(
        &mut self,
        answers: &[Answers],
        mixtures: &[Mixture],
        calibration: &Calibration,
        told: &mut Prequential<'_>,
    ) {
        let n = answers.first().map_or(0, |answers| answers.made.nrows());
        let mut novelties = vec![0.0; n];
        for (i, novelty) in novelties.iter_mut().enumerate() {
            for (c, mixture) in mixtures.iter().enumerate() {
                let mixed = self.mix((i, c), answers.iter(), mixture);
                mixed.tell((i, c), calibration, told);
                *novelty += mixed.novelty / mixtures.len() as f64;
            }
        }
        told.tell_novelty(novelties.into_iter());
    }

    /// [`mix`](Self::mix), tells of it, and learns from what came, or a target nearer to what was made of them; returns
    /// that and the target. Intervals are for what came.
    pub fn learn<'a>(
        &mut self,
        place: (usize, usize),
        answers: impl Iterator<Item = &'a Answers>,
        (came, limited, weight): (f64, impl FnOnce(f64) -> f64, f64),
        (mixture, calibration): (&mut Mixture, &mut Calibration),
        told: &mut Prequential<'_>,
    ) -> (f64, f64) {
        let mixed = self.mix(place, answers, mixture);
        let target = limited(mixed.made);
        mixture.learn_from(Said { made: &self.made, sure: &self.sure }, mixed.made, target, weight);
        mixed.tell(place, calibration, told);
        if weight > 0.0 {
            calibration.meet(place.1, mixed.made, (came, target), mixed.spread);
        }
        (mixed.made, target)
    }

    /// What the models mixed last predicted, each with its share.
    pub fn parts(&self) -> impl Iterator<Item = (f64, f64)> {
        self.made.iter().copied().zip(self.shares.iter().copied())
    }
}

/// What is made of the answers for one place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mixed {
    pub made: f64,
    pub novelty: f64,
    deviation: f64,
    spread: f64,
}

impl Mixed {
    /// Tells of it.
    pub fn tell(&self, place: (usize, usize), calibration: &Calibration, told: &mut Prequential<'_>) {
        let spread = |which| if which == Spread::Deviation { self.deviation } else { self.spread };
        told.tell(place, self.made, spread, calibration);
    }
}

/// Standard deviation of a target about the prediction `mixed`, made of what models that have these shares predicted, and
/// their own deviations: within them, and between them.
fn deviation_of(shares: &[f64], made: &[f64], mixed: f64, deviations: &[f64]) -> f64 {
    let models = shares.iter().zip(made.iter().zip(deviations)).filter(|(share, _)| **share > 0.0);
    let variance = |(share, (made, within)): (&f64, (&f64, &f64))| {
        share * (within * within + (made - mixed) * (made - mixed))
    };
    models.map(variance).sum::<f64>().sqrt()
}
