//! Classes: labels as codes, as signs of outputs, as weights of rows, and back.

use std::cmp::Ordering;

use ndarray::{Array1, Array2, ArrayView1, ArrayView2, ArrayViewMut1, ArrayViewMut2};
use serde::{Deserialize, Serialize};

use super::judged::Judged;
use super::middle::Middle;
use crate::error::{Error, Result, positive};
use crate::learner::{Loss, Recalibration, odds_of_linear};
use crate::online::label_runs::LabelRuns;
use crate::persist::{Reader, Writer};
use crate::uncertainty::Diagnostics;
use crate::validate::check_width;

/// Their array in a model file.
const CALIBRATION: &str = "labels.calibration";

/// Least logarithm of the odds, with equal weights of both classes, of the usual row of the commoner class.
const LEAST_OF_USUAL: f64 = 0.2;

/// A label as people write it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Label {
    /// Yes or no.
    Boolean(bool),
    /// A whole number.
    Integer(i64),
    /// Any number that is finite.
    Float(f64),
    /// Text.
    Text(String),
}

impl Label {
    /// The order of classes: numbers by size, text by its characters. `None` for labels of different kinds,
    /// and for what is no number.
    #[expect(clippy::cast_precision_loss, reason = "labels that agree to 53 bits are equal")]
    pub(super) fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Boolean(a), Self::Boolean(b)) => Some(a.cmp(b)),
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(b)),
            (Self::Text(a), Self::Text(b)) => Some(a.cmp(b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(b),
            (Self::Integer(a), Self::Float(b)) => (*a as f64).partial_cmp(b),
            (Self::Float(a), Self::Integer(b)) => a.partial_cmp(&(*b as f64)),
            _ => None,
        }
    }
}

/// How many times a row counts, by its class.
///
/// Where outputs become [probabilities](Link), rows are learned as they come, and the weights move the logarithms of the odds:
/// by `ln(w_1 / w_0)` of two classes, which is where weighted rows would take them. The decision moves and the ranking stays,
/// and the order of the rows, on which counts so far depend, has no effect on what is learned. With other losses the loss of
/// each row is multiplied.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassWeights {
    /// Once.
    #[default]
    Equal,
    /// `n_seen / (n_classes count)`, of the rows so far, this one included, and those of its class among
    /// them, each as one row whatever its weight: all classes count alike.
    Balanced,
    /// One positive number for each class, in their order.
    Each(Vec<f64>),
}

/// What an output of a class of probability `p` is, where the loss is least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    /// The logarithm of its odds.
    Logistic,
    /// That logarithm or thereabouts: the one output is a calibrated function of the other, learned from the
    /// predictions made of the rows before.
    CalibratedLogistic,
    /// `2 p - 1`.
    Linear,
    /// `2 p - 1` or thereabouts: what the logarithm of the odds is, given that, is learned from the predictions made
    /// of the rows before.
    Calibrated,
}

impl Link {
    /// That of a loss (T. Zhang, "Statistical behavior and consistency of classification methods based on
    /// convex risk minimization", Annals of Statistics, 2004); `None` for one whose best output says
    /// nothing but the likelier class.
    #[must_use]
    pub fn of(loss: Loss) -> Option<Self> {
        match loss {
            Loss::Logistic => Some(Self::Logistic),
            Loss::Squared | Loss::HalfSquared | Loss::SquaredHinge => Some(Self::Linear),
            Loss::Absolute | Loss::Huber(_) | Loss::Hinge => None,
        }
    }

    /// Probability of an output, calibrated if possible.
    fn probability(self, output: f64) -> f64 {
        match self {
            Self::Logistic | Self::CalibratedLogistic | Self::Calibrated => (1.0 + (-output).exp()).recip(),
            Self::Linear => 0.5 + 0.5 * output.clamp(-1.0, 1.0),
        }
    }
}

/// Classes as they are written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LabelsSpec {
    /// The labels, each once: all of text, all booleans, or all numbers.
    pub classes: Vec<Label>,
    /// How their rows count.
    #[serde(default)]
    pub weights: ClassWeights,
    /// How outputs become probabilities; `None`: they do not.
    #[serde(default)]
    pub link: Option<Link>,
}

/// The classes of a stream, sorted, and how often each came.
///
/// Rows come with the code of their class, its place among the sorted labels. Two classes (or one) are one
/// output, whose sign decides; more are one output each, of which the largest decides (one against the
/// rest).
#[derive(Clone, Debug)]
pub struct Labels {
    spec: LabelsSpec,
    /// How often each class came, and in which runs.
    runs: LabelRuns,
    /// One an output, if they are calibrated.
    calibrations: Vec<Recalibration>,
    /// Sum of the weights of rows that have one, and the number of these rows: calibrations count a row by its weight as a
    /// multiple of the mean.
    weighed: [f64; 2],
    /// Where the scores of either class lie, if they are two whose weights move odds.
    middle: Middle,
    /// Whether outputs are no longer calibrated: parts of a stream are learned apart and merged.
    settled: bool,
    /// How it went.
    judged: Judged,
}

impl Labels {
    /// Classes of which no row has come.
    pub fn new(mut spec: LabelsSpec) -> Result<Self> {
        let broken = |reason: &str| Error::Specification { part: "labels", reason: reason.into() };
        if spec.classes.is_empty() {
            return Err(broken("at least one class is needed"));
        }
        if spec.classes.iter().any(|label| label.order(label).is_none()) {
            return Err(broken("a label is not a number"));
        }
        // Each is compared with the first, so that a kind that has no order beside the others is found.
        if spec.classes.iter().any(|label| label.order(&spec.classes[0]).is_none()) {
            return Err(broken("labels must all be text, all be booleans, or all be numbers"));
        }
        let sorted = spec.classes.is_sorted_by(|a, b| a.order(b) == Some(Ordering::Less));
        if !sorted {
            if matches!(spec.weights, ClassWeights::Each(_)) {
                return Err(broken("classes that have weights must be sorted, and each given once"));
            }
            spec.classes.sort_by(|a, b| a.order(b).unwrap_or(Ordering::Equal));
            spec.classes.dedup_by(|a, b| a.order(b) == Some(Ordering::Equal));
        }
        if let ClassWeights::Each(weights) = &spec.weights {
            if weights.len() != spec.classes.len() {
                return Err(broken("there must be one weight for each class"));
            }
            weights.iter().try_for_each(|weight| positive("class weight", *weight).map(|_| ()))?;
        }
        let runs = LabelRuns::new(spec.classes.len());
        let mut labels = Self {
            spec,
            runs,
            calibrations: Vec::new(),
            weighed: [0.0; 2],
            middle: Middle::default(),
            settled: false,
            judged: Judged::new(),
        };
        labels.reset();
        Ok(labels)
    }

    /// How they are written down.
    #[must_use]
    pub fn spec(&self) -> &LabelsSpec {
        &self.spec
    }

    /// The labels, sorted.
    #[must_use]
    pub fn classes(&self) -> &[Label] {
        &self.spec.classes
    }

    /// Rows of each class learned so far.
    #[must_use]
    pub fn counts(&self) -> &[u64] {
        &self.runs.counts
    }

    /// The code of a label; `None` if no class has it.
    #[must_use]
    pub fn code(&self, label: &Label) -> Option<f64> {
        let found = self.spec.classes.iter().position(|class| class.order(label) == Some(Ordering::Equal));
        found.map(as_code)
    }

    /// The label of a code, as predictions give it; `None` if it is none.
    #[must_use]
    pub fn label(&self, code: f64) -> Option<&Label> {
        self.place(code).map(|place| &self.spec.classes[place])
    }

    /// Number of outputs that tell the classes apart.
    #[must_use]
    pub fn n_outputs(&self) -> usize {
        if self.spec.classes.len() > 2 { self.spec.classes.len() } else { 1 }
    }

    /// Whether the outputs of the model are scores that have to be calibrated.
    pub(crate) fn are_calibrated(&self) -> bool {
        matches!(self.spec.link, Some(Link::Calibrated | Link::CalibratedLogistic)) || self.move_odds()
    }

    /// Whether the weights of classes move the odds; otherwise they multiply the losses, if they differ.
    fn move_odds(&self) -> bool {
        self.spec.link.is_some() && !self.are_alike()
    }

    /// Whether the weights of all classes are the same.
    fn are_alike(&self) -> bool {
        match &self.spec.weights {
            ClassWeights::Equal => true,
            ClassWeights::Balanced => false,
            ClassWeights::Each(each) => each.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits()),
        }
    }

    /// Makes outputs of the scores of a row: the same, unless they are calibrated.
    pub(crate) fn calibrate(&self, mut scores: ArrayViewMut1<'_, f64>) {
        if self.are_calibrated() {
            if self.has_middle()
                && let Some(usual) = self.middle.mean(self.commonest())
            {
                // With few rows of one class their scores may be those of the other: the usual row of
                // the commoner class is not decided for the rarer one.
                let sign = if self.commonest() == 1 { 1.0 } else { -1.0 };
                let moved = sign * (LEAST_OF_USUAL - sign * self.balanced_odds(usual)).max(0.0);
                scores[0] = self.balanced_odds(self.odds(scores[0])) + moved + self.beside_balanced();
                return;
            }
            for (score, calibration) in scores.iter_mut().zip(&self.calibrations) {
                let odds = self.odds(*score);
                *score = if self.settled { odds } else { calibration.apply(odds) };
            }
            self.weigh(scores);
        }
    }

    /// Whether odds are calibrated from the middle between the scores of two classes, because weights
    /// move them: scores of a squared loss do not resolve probabilities below a hundredth, so that the
    /// weights of a rarer class would move those of all rows beyond even odds.
    fn has_middle(&self) -> bool {
        self.runs.counts.len() == 2 && self.move_odds() && !self.are_odds() && !self.settled
    }

    /// That middle; `None` where odds are not calibrated from it, or not calibrated.
    fn middle(&self) -> Option<f64> {
        self.middle.at().filter(|_| self.has_middle() && !self.runs.are_long)
    }

    /// The logarithm of the odds, where rows of both classes count alike, by that of a score.
    fn balanced_odds(&self, odds: f64) -> f64 {
        match self.middle() {
            Some(middle) => self.calibrations[0].apply(odds - middle),
            None => self.calibrations[0].apply(odds) + self.log_rows(0) - self.log_rows(1),
        }
    }

    fn log_rows(&self, class: usize) -> f64 {
        as_f64(self.runs.counts[class].max(1)).ln()
    }

    /// By how much the weights of two classes move odds beyond what makes their rows count alike.
    fn beside_balanced(&self) -> f64 {
        self.log_weight(1) + self.log_rows(1) - self.log_weight(0) - self.log_rows(0)
    }

    /// The logarithm of the odds that a score stands for by itself.
    fn odds(&self, score: f64) -> f64 {
        if self.are_odds() { score } else { odds_of_linear(score) }
    }

    /// Whether scores are logarithms of odds.
    fn are_odds(&self) -> bool {
        matches!(self.spec.link, Some(Link::Logistic | Link::CalibratedLogistic))
    }

    /// Whether labels come in long runs: then the model predicts the next row by the latest ones, and what its scores stand
    /// for in general is not learned from that.
    pub(super) fn come_in_runs(&self) -> bool {
        self.runs.are_long
    }

    /// Moves the logarithms of the odds of a row by the weights of the classes.
    fn weigh(&self, mut odds: ArrayViewMut1<'_, f64>) {
        if self.are_alike() || self.runs.counts.len() < 2 {
            return;
        }
        if odds.len() == 1 {
            odds[0] += self.log_weight(1) - self.log_weight(0);
            return;
        }
        let share = |(c, odds): (usize, &f64)| self.log_weight(c) - ln_1p_exp(-odds);
        let shares: Vec<f64> = odds.iter().enumerate().map(share).collect();
        for (c, odds) in odds.iter_mut().enumerate() {
            let others =
                || shares.iter().enumerate().filter(|(other, _)| *other != c).map(|(_, share)| *share);
            let largest = others().fold(f64::NEG_INFINITY, f64::max);
            *odds = shares[c] - largest - others().map(|share| (share - largest).exp()).sum::<f64>().ln();
        }
    }

    /// Makes outputs of the scores of rows of these codes, which are learned, and learns from each how to make those of
    /// the next, unless they stand for the odds that are meant.
    pub(super) fn follow(
        &mut self,
        mut scores: ArrayViewMut2<'_, f64>,
        (codes, signs): (ArrayView2<'_, f64>, ArrayView2<'_, f64>),
        weights: Option<ArrayView1<'_, f64>>,
        are_odds: bool,
    ) {
        let mut odds = Vec::new();
        for (i, (mut scores, signs)) in scores.rows_mut().into_iter().zip(signs.rows()).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[i]);
            odds.clear();
            let is_learned = !are_odds || self.has_middle();
            if self.are_calibrated() && is_learned && !self.settled && !self.runs.are_long {
                odds.extend(scores.iter().map(|score| self.odds(*score)));
            }
            self.calibrate(scores.view_mut());
            let middle = self.middle();
            let rows = self.weighed[1];
            let share_of_usual = self.weigh_row(weight);
            for ((odds, sign), calibration) in odds.iter().zip(signs).zip(&mut self.calibrations) {
                if let Some(middle) = middle {
                    // Both classes have the weight of the rarer one.
                    let rarest =
                        self.runs.counts.iter().copied().filter(|count| *count > 0).min().unwrap_or(1);
                    let share = as_f64(rarest) / as_f64(self.runs.counts[usize::from(*sign > 0.0)].max(1));
                    calibration.learn(*odds - middle, *sign, share_of_usual * share.min(1.0), rows);
                } else {
                    calibration.learn(*odds, *sign, share_of_usual, rows);
                }
            }
            if let ([odds], true) = (&odds[..], weight > 0.0 && self.has_middle()) {
                let known = self.middle.at().is_some();
                self.middle.meet(usize::from(signs[0] > 0.0), *odds);
                if !known && self.middle().is_some() {
                    // From here on odds are those from the middle.
                    self.calibrations.fill(Recalibration::new());
                }
            }
            let Some(right) = self.place(codes[(i, 0)]) else { continue };
            if weight > 0.0 {
                let decided = self.chosen(scores.view());
                self.judged.meet((scores.view(), self.unit()), (decided, self.commonest(), right));
            }
            if self.runs.meet(right) {
                // What was learned was of one run.
                self.calibrations.fill(Recalibration::new());
            }
        }
    }

    /// Counts the weight of a row: that weight as a multiple of the mean so far.
    fn weigh_row(&mut self, weight: f64) -> f64 {
        if weight <= 0.0 {
            return 0.0;
        }
        let [sum, rows] = &mut self.weighed;
        (*sum, *rows) = ((*sum + weight).min(f64::MAX), *rows + 1.0);
        weight / (*sum / *rows)
    }

    /// How outputs become probabilities.
    fn link(&self) -> Option<Link> {
        if self.are_calibrated() { Some(Link::Calibrated) } else { self.spec.link }
    }

    /// What makes outputs logarithms of odds, thereabouts.
    fn unit(&self) -> f64 {
        match self.link() {
            Some(Link::Logistic | Link::CalibratedLogistic | Link::Calibrated) => 1.0,
            // The slope of the logarithm of the odds of `(1 + output) / 2` at even odds.
            Some(Link::Linear) | None => 2.0,
        }
    }

    /// Sets of classes for outputs (n, outputs) that hold the right one of this share of the rows (n, classes).
    pub(super) fn sets(&self, outputs: ArrayView2<'_, f64>, coverage: f64) -> Array2<bool> {
        let reach = self.judged.reach(coverage);
        Array2::from_shape_fn((outputs.nrows(), self.spec.classes.len()), |(row, place)| {
            let alone = self.spec.classes.len() == 1;
            alone || Judged::holds(outputs.row(row), self.unit(), place, reach)
        })
    }

    /// How it went, beside what the model inside knows of itself.
    pub(super) fn diagnostics(&self, inside: Diagnostics) -> Diagnostics {
        self.judged.diagnostics(inside)
    }

    /// The code that outputs decide for; the first one where they are equal.
    #[must_use]
    pub fn choose(&self, outputs: ArrayView1<'_, f64>) -> f64 {
        as_code(self.chosen(outputs))
    }

    fn chosen(&self, outputs: ArrayView1<'_, f64>) -> usize {
        if self.n_outputs() == 1 {
            return usize::from(
                self.spec.classes.len() == 2 && outputs.first().is_some_and(|output| *output > 0.0),
            );
        }
        let mut best = 0;
        for (place, output) in outputs.iter().enumerate() {
            if *output > outputs[best] {
                best = place;
            }
        }
        best
    }

    /// The probabilities of the classes, from outputs (n, outputs) to (n, classes).
    pub fn probabilities(&self, outputs: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let link = self.link().ok_or_else(|| Error::Specification {
            part: "labels",
            reason: "the loss does not determine probabilities: use the logistic one, the squared hinge or \
                     the squared one"
                .into(),
        })?;
        check_width("outputs", Some(self.n_outputs()), outputs.ncols())?;
        let mut shares = Array2::ones((outputs.nrows(), self.spec.classes.len()));
        for (outputs, mut shares) in outputs.rows().into_iter().zip(shares.rows_mut()) {
            match self.spec.classes.len() {
                1 => {}
                2 => {
                    shares[1] = link.probability(outputs[0]);
                    // Not the rest to 1: what is improbable keeps its digits.
                    shares[0] = link.probability(-outputs[0]);
                }
                classes => {
                    shares.zip_mut_with(&outputs, |share, output| *share = link.probability(*output));
                    let total = shares.sum();
                    if total > 0.0 {
                        shares /= total;
                    } else {
                        shares.fill(1.0 / usize_as_f64(classes));
                    }
                }
            }
        }
        Ok(shares)
    }

    pub(super) fn set_counts(&mut self, counts: Vec<u64>) {
        self.runs.counts = counts;
    }

    /// The class that came most often; the first where several did.
    fn commonest(&self) -> usize {
        let most = self.runs.counts.iter().max();
        self.runs.counts.iter().position(|count| Some(count) == most).unwrap_or(0)
    }

    /// Writes what rows have changed.
    pub(super) fn write(&self, out: &mut Writer) {
        out.counts("labels.counts", &self.runs.counts);
        let [changes, latest, are_long] = self.runs.numbers();
        out.counts("labels.runs", &[changes, latest, are_long, u64::from(self.settled)]);
        if self.are_calibrated() {
            Recalibration::write(CALIBRATION, &self.calibrations, out);
            out.vector("labels.weighed", &self.weighed);
        }
        if self.has_middle() {
            self.middle.write(out);
        }
        self.judged.write(out);
    }

    /// What [`write`](Self::write) wrote.
    pub(super) fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.set_counts(from.all_counts("labels.counts")?);
        let [changes, latest, are_long, settled] = from.counts("labels.runs")?;
        let rows: u128 = self.runs.counts.iter().map(|count| u128::from(*count)).sum();
        let read =
            LabelRuns::of(self.runs.counts.clone(), [changes, latest, are_long]).filter(|_| settled <= 1);
        self.runs = read.ok_or_else(|| Error::file("labels.runs are not those of its rows"))?;
        self.settled = settled == 1;
        self.judged = Judged::read(from)?;
        if self.are_calibrated() {
            self.calibrations = Recalibration::read(CALIBRATION, self.n_outputs(), from)?;
            self.middle = Middle::read(from)?;
            // Former files do not have it.
            self.weighed = [rows as f64; 2];
            if from.has("labels.weighed") {
                let [sum, counted] = from.vector("labels.weighed", 2)?[..] else {
                    return Err(Error::file("labels.weighed are two numbers"));
                };
                if !(sum >= 0.0 && (0.0..=rows as f64).contains(&counted) && (sum > 0.0) == (counted > 0.0)) {
                    return Err(Error::file("labels.weighed are not those of its rows"));
                }
                self.weighed = [sum, counted];
            }
        }
        Ok(())
    }

    /// Refuses targets (n, 1) that are no codes, naming the row.
    pub(super) fn check(&self, codes: ArrayView2<'_, f64>) -> Result<()> {
        if codes.ncols() != 1 {
            return Err(Error::WrongWidth { what: "y", expected: 1, found: codes.ncols() });
        }
        match codes.iter().position(|code| self.place(*code).is_none()) {
            Some(row) => Err(Error::NoClass { row, code: codes[(row, 0)], classes: self.spec.classes.len() }),
            None => Ok(()),
        }
    }

    /// What the outputs are to be for rows of these codes, that have been checked: 1 for the class (of two:
    /// for the second) and -1 for any other.
    pub(super) fn signs(&self, codes: ArrayView2<'_, f64>) -> Array2<f64> {
        let first = usize::from(self.n_outputs() == 1);
        Array2::from_shape_fn((codes.nrows(), self.n_outputs()), |(row, output)| {
            if self.place(codes[(row, 0)]) == Some(first + output) { 1.0 } else { -1.0 }
        })
    }

    /// The same of one row.
    pub(super) fn signs_of(&self, code: f64, signs: &mut [f64]) {
        signs.fill(-1.0);
        let first = usize::from(self.n_outputs() == 1);
        let sign = self.place(code).and_then(|place| place.checked_sub(first)).and_then(|i| signs.get_mut(i));
        if let Some(sign) = sign {
            *sign = 1.0;
        }
    }

    /// Weights of the rows of these codes that other codes were decided for, times those of their classes.
    pub(super) fn cost(
        &self,
        decided: ArrayView2<'_, f64>,
        codes: ArrayView2<'_, f64>,
        weights: ArrayView1<'_, f64>,
    ) -> f64 {
        let differ = |decided: f64, code: f64| decided.to_bits() != code.to_bits();
        let rows = decided.iter().zip(codes).zip(weights);
        let wrong = rows.filter(|((decided, code), _)| differ(**decided, **code));
        let each = wrong.map(|((_, code), weight)| {
            weight * self.place(*code).map_or(1.0, |place| self.log_weight(place).exp())
        });
        each.sum()
    }

    /// The logarithm of the weight of a class, up to a constant that is the same for all.
    fn log_weight(&self, place: usize) -> f64 {
        match &self.spec.weights {
            ClassWeights::Equal => 0.0,
            ClassWeights::Each(each) => each[place].ln(),
            // One of which no row has come counts as the commonest: nothing is known of it.
            ClassWeights::Balanced => {
                let most = self.runs.counts.iter().copied().max().unwrap_or(0).max(1);
                -as_f64(if self.runs.counts[place] > 0 { self.runs.counts[place] } else { most }).ln()
            }
        }
    }

    /// Whether the losses of rows count alike, whatever their class.
    pub(super) fn are_equal(&self) -> bool {
        self.are_alike() || self.move_odds()
    }

    /// No longer calibrates outputs, which depends on the order of the rows, where tables can be merged.
    pub(super) fn settle(&mut self) {
        self.settled = self.spec.link != Some(Link::CalibratedLogistic);
    }

    /// Whether outputs are calibrated functions of logarithms of odds that were learned, and nothing else.
    pub(crate) fn follow_odds(&self) -> bool {
        self.spec.link == Some(Link::CalibratedLogistic) && self.are_alike()
    }

    /// What makes outputs of the scores `x` of the model: `a x + b + c max(x - 2, 0) + d min(x + 2, 0)` with these `a`, `b`,
    /// `c`, `d` of each output. `None`: the scores are the outputs. An error where outputs are other functions: scores
    /// of a squared loss that are calibrated, and weights of several classes.
    pub fn pieces(&self) -> Result<Option<Vec<[f64; 4]>>> {
        if !self.are_calibrated() {
            return Ok(None);
        }
        let several = self.n_outputs() > 1 && !self.are_alike();
        if several || !self.are_odds() {
            return Err(Error::Specification {
                part: "labels",
                reason: "outputs are no piecewise linear functions of what the model predicts: choose the logistic loss, \
                         and no weights for more than two classes"
                    .into(),
            });
        }
        let moved = if self.n_outputs() == 1 && self.runs.counts.len() == 2 {
            self.log_weight(1) - self.log_weight(0)
        } else {
            0.0
        };
        let pieces = self.calibrations.iter().map(|calibration| {
            let [scale, offset, above, below] =
                if self.settled { [1.0, 0.0, 0.0, 0.0] } else { calibration.weights() };
            [scale, offset + moved, above, below]
        });
        Ok(Some(pieces.collect()))
    }

    /// How many times the rows of these codes count, beside their own weights; `None` is once.
    pub(super) fn weights(
        &self,
        codes: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Option<Array1<f64>> {
        let own = |row: usize| weights.map_or(1.0, |weights| weights[row]);
        let places = codes.iter().map(|code| self.place(*code).unwrap_or(0)).enumerate();
        if self.are_equal() {
            return weights.map(|weights| weights.to_owned());
        }
        match &self.spec.weights {
            ClassWeights::Equal => None,
            ClassWeights::Each(each) => Some(places.map(|(row, place)| own(row) * each[place]).collect()),
            ClassWeights::Balanced => {
                let (mut counts, classes) = (self.runs.counts.clone(), self.runs.counts.len());
                let mut seen: u64 = counts.iter().sum();
                let balanced = |(row, place): (usize, usize)| {
                    counts[place] += 1;
                    seen += 1;
                    own(row) * as_f64(seen) / (usize_as_f64(classes) * as_f64(counts[place]))
                };
                Some(places.map(balanced).collect())
            }
        }
    }

    /// The largest number by which a class may multiply the weight of one of the next `rows` rows.
    pub(super) fn largest_weight(&self, rows: usize) -> f64 {
        match &self.spec.weights {
            _ if self.are_equal() => 1.0,
            ClassWeights::Equal => 1.0,
            ClassWeights::Each(each) => each.iter().copied().fold(0.0, f64::max),
            ClassWeights::Balanced => {
                let rarest = self.runs.counts.iter().copied().min().unwrap_or(0) + 1;
                let seen = self.runs.counts.iter().sum::<u64>() + rows as u64;
                as_f64(seen) / (usize_as_f64(self.runs.counts.len()) * as_f64(rarest))
            }
        }
    }

    /// Counts the rows that others have counted, and adds how it went with them.
    pub(super) fn add_counts(&mut self, others: &Self) {
        self.runs.follow(&others.runs);
        self.judged.follow(&others.judged);
    }

    /// Forgets how often each class came, and how outputs are calibrated.
    pub(super) fn reset(&mut self) {
        self.runs = LabelRuns::new(self.spec.classes.len());
        self.middle = Middle::default();
        self.weighed = [0.0; 2];
        self.judged = Judged::new();
        let calibrated = if self.are_calibrated() { self.n_outputs() } else { 0 };
        self.calibrations = vec![Recalibration::new(); calibrated];
    }

    /// Takes counts of classes, and how it went, from before the model learned some rows again.
    pub(super) fn keep_record(&mut self, before: Self) {
        (self.runs, self.judged) = (before.runs, before.judged);
    }

    /// The codes that outputs decide for, a row each.
    pub(super) fn decide(&self, outputs: ArrayView2<'_, f64>, mut codes: ArrayViewMut2<'_, f64>) {
        for (outputs, code) in outputs.rows().into_iter().zip(&mut codes) {
            *code = self.choose(outputs);
        }
    }

    fn place(&self, code: f64) -> Option<usize> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "compared with the code")]
        let place = code as usize;
        (place < self.spec.classes.len() && usize_as_f64(place).to_bits() == code.to_bits()).then_some(place)
    }
}

/// `ln(1 + exp(x))`
fn ln_1p_exp(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

fn as_code(place: usize) -> f64 {
    usize_as_f64(place)
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

fn usize_as_f64(count: usize) -> f64 {
    as_f64(count as u64)
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn labels(classes: serde_json::Value, weights: ClassWeights) -> Result<Labels> {
        let classes = serde_json::from_value(classes).unwrap();
        Labels::new(LabelsSpec { classes, weights, link: Some(Link::Linear) })
    }

    #[test]
    fn labels_are_sorted_and_of_one_kind() {
        let sorted = labels(serde_json::json!(["b", "é", "a", "b"]), ClassWeights::Equal).unwrap();
        assert_eq!(serde_json::to_string(sorted.classes()).unwrap(), r#"["a","b","é"]"#);
        assert_eq!(sorted.code(&Label::Text("é".into())), Some(2.0));
        let numbers = labels(serde_json::json!([2, 1.5, -3]), ClassWeights::Equal).unwrap();
        assert_eq!(serde_json::to_string(numbers.classes()).unwrap(), "[-3,1.5,2]");
        assert_eq!(numbers.code(&Label::Float(2.0)), Some(2.0));
        assert_eq!(numbers.code(&Label::Boolean(true)), None);
        for wrong in [serde_json::json!([]), serde_json::json!([true, 1]), serde_json::json!(["a", 1])] {
            assert!(labels(wrong, ClassWeights::Equal).is_err());
        }
    }

    #[test]
    fn balanced_weights_are_those_of_the_counts_so_far() {
        // A loss without probabilities.
        let classes = [0, 1, 2].map(Label::Integer).to_vec();
        let spec = LabelsSpec { classes, weights: ClassWeights::Balanced, link: None };
        let mut balanced = Labels::new(spec).unwrap();
        balanced.set_counts(vec![3, 0, 1]);
        let codes = array![[0.0], [1.0], [1.0], [0.0], [1.0], [2.0]];
        let weights = balanced.weights(codes.view(), None).unwrap();
        let (mut counts, mut seen) = ([3.0, 0.0, 1.0], 4.0);
        for (class, weight) in [0, 1, 1, 0, 1, 2].into_iter().zip(&weights) {
            counts[class] += 1.0;
            seen += 1.0;
            assert!((weight - seen / (3.0 * counts[class])).abs() < 1e-15);
            assert!(*weight <= balanced.largest_weight(codes.len()));
        }
        let own = array![2.0, 2.0, 2.0, 2.0, 2.0, 2.0];
        assert_eq!(balanced.weights(codes.view(), Some(own.view())).unwrap(), &weights * 2.0);
    }

    #[test]
    fn what_is_no_code_is_refused_by_its_row() {
        let two = labels(serde_json::json!(["a", "b"]), ClassWeights::Equal).unwrap();
        for wrong in [-1.0, 2.0, 0.5, f64::NAN, f64::INFINITY] {
            let error = two.check(array![[1.0], [wrong]].view()).unwrap_err().to_string();
            assert!(error.contains("row 1"), "{error}");
        }
        assert_eq!(two.signs(array![[1.0], [0.0]].view()), array![[1.0], [-1.0]]);
    }
}
