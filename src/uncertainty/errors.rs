//! Error statistics of a single model.

use std::ops::Range;

use super::{Calibration, Diagnostics, Evidence, Noise, Prequential, Spread};
use crate::error::Result;
use crate::online::tally::Tally;
use crate::persist::{Reader, Writer};

/// Novelty above which predictions depend more on the prior than on rows there.
const NOVEL: f64 = 0.5;

/// The [`Noise`] of a model's targets, and the [`Calibration`] of the resulting deviations.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors {
    noise: Noise,
    calibration: Calibration,
    evidence: Evidence,
    /// Novel rows.
    novel: Tally,
    /// Scratch: squares of scores, by output.
    scores: Vec<Vec<f64>>,
}

/// Rows that were predicted and then learned.
#[derive(Clone, Copy)]
pub(crate) struct LearnedRows<'a> {
    /// Predictions and targets; those of consecutive rows are `stride` numbers apart.
    pub predictions: &'a [f64],
    pub y: &'a [f64],
    pub stride: usize,
    /// Variance of the prediction of each row in units of the noise.
    pub leverages: &'a [f64],
    /// Novelty of each row before it was learned; NaN where it is unknown.
    pub novelties: &'a [f64],
    /// `None`: 1.
    pub weights: Option<&'a [f64]>,
    /// Factor on the weight of earlier rows at each row.
    pub forgetting: f64,
}

impl<'a> LearnedRows<'a> {
    fn len(&self) -> usize {
        self.leverages.len()
    }

    /// Predictions and targets of one row.
    fn row(&self, i: usize, outputs: usize) -> (&'a [f64], &'a [f64]) {
        let numbers = i * self.stride..i * self.stride + outputs;
        (&self.predictions[numbers.clone()], &self.y[numbers])
    }
}

impl Errors {
    /// Initial state for `n` outputs.
    pub fn new(outputs: usize) -> Self {
        Self::of(Noise::new(outputs), Calibration::by_prediction(outputs), Tally::default())
    }

    fn of(noise: Noise, calibration: Calibration, novel: Tally) -> Self {
        let scores = vec![Vec::new(); calibration.outputs()];
        let evidence = Evidence::new(calibration.outputs());
        Self { noise, calibration, evidence, novel, scores }
    }

    /// Standard deviation of the noise.
    pub fn noise(&self, c: usize) -> f64 {
        self.noise.deviation(c)
    }

    /// Spread of the errors of predictions with this leverage; infinite before there is an
    /// estimate.
    pub fn spread(&self, c: usize, leverage: f64, spread: Spread) -> f64 {
        self.noise.deviation(c) * spread.at(leverage)
    }

    /// Sums for the marginal likelihood of the targets.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// Outputs the requested quantities of row `i`.
    pub fn record(
        &self,
        i: usize,
        predictions: &[f64],
        (leverage, novelty): (f64, f64),
        prequential: &mut Prequential<'_>,
    ) {
        if !prequential.wants_outputs() {
            return;
        }
        for (c, made) in predictions.iter().enumerate() {
            let spread = |spread| self.spread(c, leverage, spread);
            prequential.record((i, c), *made, spread, novelty, &self.calibration);
        }
    }

    /// Outputs the requested quantities of rows before they are learned, and records their errors.
    pub fn meet(&mut self, rows: &LearnedRows<'_>, prequential: &mut Prequential<'_>) {
        let by_row = prequential.wants_spreads();
        for i in 0..if prequential.wants_outputs() { rows.len() } else { 0 } {
            let row = (rows.leverages[i], rows.novelties[i]);
            self.record(i, rows.row(i, self.scores.len()).0, row, prequential);
            if by_row {
                self.take_down(rows, i..i + 1);
            }
        }
        if !by_row {
            self.take_down(rows, 0..rows.len());
        }
    }

    fn take_down(&mut self, rows: &LearnedRows<'_>, range: Range<usize>) {
        let Self { noise, calibration, evidence, scores, novel } = self;
        let outputs = scores.len();
        scores.iter_mut().for_each(Vec::clear);
        for i in range.clone() {
            let ((made, y), leverage) = (rows.row(i, outputs), rows.leverages[i]);
            let factor = Spread::Interval.squared_at(leverage);
            for (c, scores) in scores.iter_mut().enumerate() {
                let spread = factor * noise.variance(c);
                if spread < f64::INFINITY {
                    scores.push(calibration.corrected_score((c, made[c], y[c]), spread));
                }
                calibration.meet_novelty(c, rows.novelties[i]);
            }
            let weight = rows.weights.map_or(1.0, |weights| weights[i]);
            noise.meet((made, y), leverage, weight, rows.forgetting);
            evidence.meet((made, y), leverage, weight);
            novel.add(f64::from(u8::from(rows.novelties[i] > NOVEL)));
        }
        let at = |i: usize, c: usize| {
            let place = (range.start + i) * rows.stride + c;
            (rows.predictions[place], rows.y[place])
        };
        calibration.meet_block(range.len(), at, scores);
    }

    /// Diagnostics; with stored points also the number of novel rows.
    pub fn diagnostics(&self, stores: bool) -> Diagnostics {
        let rows = self.noise.rows();
        let novel = (stores && rows > 0).then(|| self.novel.means(rows));
        Diagnostics {
            novel: novel.map(|share| share.all),
            late_novel: novel.map(|share| share.late),
            effective_rows: (rows > 0).then(|| self.noise.count()),
            ..Diagnostics::of(&self.calibration)
        }
    }

    /// Adds statistics of other rows, each of which multiplies the weight of earlier ones by this
    /// factor.
    pub fn follow(&mut self, later: &Self, forgetting: f64) {
        let keep = forgetting.powf(later.noise.rows() as f64);
        self.noise.follow(&later.noise, keep);
        self.calibration.follow(&later.calibration, keep);
        self.evidence.follow(&later.evidence);
        self.novel.follow(later.novel, later.noise.rows());
    }

    pub fn write(&self, out: &mut Writer) {
        self.noise.write(out);
        self.calibration.write(out);
        self.evidence.write(out);
        if self.noise.rows() > 0 {
            out.vector("errors.novel", &[self.novel.all, self.novel.late]);
        }
    }

    /// Reads what [`write`](Self::write) wrote.
    pub fn read(outputs: usize, from: &Reader<'_>) -> Result<Self> {
        let (noise, mut novel) = (Noise::read(outputs, from)?, Tally::default());
        if noise.rows() > 0 {
            let numbers = from.vector("errors.novel", 2)?;
            novel = Tally { all: numbers[0], late: numbers[1] };
        }
        let evidence = Evidence::read(outputs, from)?;
        Ok(Self { evidence, ..Self::of(noise, Calibration::read(outputs, from)?, novel) })
    }
}
