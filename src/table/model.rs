//! Learning raw rows.

use std::borrow::Cow;

use ndarray::{
    Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayViewMut1, Axis, CowArray, Ix2, concatenate, s,
};

use super::sample::Sample;
use super::winsorizing::{self, Learned};
use super::{BLOCK, Encoder, Labels, Table};
use crate::error::{Error, Result};
use crate::interrupt;
use crate::linalg::with_scratch;
use crate::model::{InnerModel, Introspection, Model, Uncertainty, sizes};
use crate::online::warm_up::WarmUp;
use crate::random;
use crate::uncertainty::{Calibration, Diagnostics, Prequential, Spread};
use crate::validate::{check_lengths, check_targets, check_weights, check_width, one_row};

impl<M: InnerModel> Table<M> {
    /// Outputs of one row: those of the classes, or the predictions if targets are numbers. `out`
    /// has a place for each output of the inner model.
    pub fn outputs_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        with_features(self.encoder.as_ref(), x, |features| self.model.predict_one_into(features, out))?;
        if let Some(labels) = &self.labels {
            labels.calibrate(ArrayViewMut1::from(out));
        }
        Ok(())
    }

    /// Whether a row can be encoded before the rows before it are learned: the warm-up is over.
    fn is_settled(&self) -> bool {
        self.warm_up.is_none() && self.encoder.as_ref().is_none_or(|encoder| encoder.n_cells().is_some())
    }

    /// Number of rows of the next part of a call of `n` rows.
    fn part_len(&self, n: usize, weights: Option<ArrayView1<'_, f64>>) -> usize {
        match (&self.encoder, &self.warm_up) {
            (Some(encoder), Some(warm_up)) => warm_up.rows_to_turn(encoder.spec().warm_up, n, weights),
            // Parts end at the same rows of the stream for all calls.
            (Some(encoder), None) => {
                let block = n.min(BLOCK - usize::try_from(self.n_seen() % BLOCK as u64).unwrap_or(0));
                let warm_up = encoder.spec().warm_up;
                self.sample.as_ref().map_or(block, |sample| sample.rows_to_turn(warm_up, block, weights))
            }
            (None, _) => n,
        }
    }

    /// Whether the next `n` rows may reach a comparison of columns with their scale.
    fn compares_within(&self, n: usize) -> bool {
        let warm_up = self.encoder.as_ref().map_or(0, |encoder| encoder.spec().warm_up);
        self.sample.as_ref().is_some_and(|sample| sample.turns_within(warm_up, n))
    }

    /// A copy for the rollback of a call of `n` rows that may fail after some were learned.
    fn snapshot(&self, n: usize, weights: Option<ArrayView1<'_, f64>>) -> Option<Self> {
        // A part is rolled back by the model itself.
        let several = self.part_len(n, weights) < n;
        let turns = self.warm_up.as_ref().zip(self.encoder.as_ref()).is_some_and(|(warm_up, encoder)| {
            warm_up.len() == 0 || warm_up.n_counted() + n >= warm_up.turn(encoder.spec().warm_up)
        });
        let first = self.encoder.as_ref().is_some_and(|encoder| encoder.n_cells().is_none());
        let refits = self.compares_within(n);
        (first || turns || refits || several && self.can_refuse(weights)).then(|| self.clone())
    }

    /// Learns the validated rows of one part.
    fn learn_part(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Learned> {
        let before = self.encoder.as_ref().filter(|encoder| encoder.changes()).cloned();
        let features = match &mut self.encoder {
            Some(encoder) => CowArray::from(encoder.encode_in_turn(x, weights)),
            None => CowArray::from(x),
        };
        let mut learned = self.learn_features(features, y, weights, prequential, should_continue);
        if let Some(encoder) = &self.encoder {
            learned = learned.map_err(|error| encoder.of_cell(x, error));
        }
        // Rows that were not learned do not determine columns.
        if let Some(mut encoder) = before
            && !matches!(&learned, Ok(learned) if learned.rows == x.nrows())
        {
            let rows = learned.as_ref().map_or(0, |learned| learned.rows);
            encoder.encode_in_turn(
                x.slice(s![..rows, ..]),
                weights.map(|weights| weights.slice_move(s![..rows])),
            );
            self.encoder = Some(encoder);
        }
        learned
    }

    fn learn_features(
        &mut self,
        features: CowArray<'_, f64, Ix2>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<Learned> {
        let Some(labels) = &mut self.labels else {
            return self.learn_numbers(features.view(), y, weights, prequential, should_continue);
        };
        let model = &mut self.model;
        let (signs, weights) = (labels.signs(y), labels.weights(y, weights));
        let weights = weights.as_ref().map(|weights| weights.view());
        let mut outputs = Array2::zeros(signs.raw_dim());
        let views = Some(outputs.view_mut());
        let learned = model.learn_while(features.view(), signs.view(), weights, views, should_continue)?;
        labels.follow(
            outputs.slice_mut(s![..learned, ..]),
            (y, signs.view()),
            weights,
            self.model.gives_odds(),
        );
        if let Some(predictions) = prequential.predictions {
            labels.decide(outputs.view(), predictions);
        }
        if let Some(mut probabilities) = prequential.probabilities {
            probabilities.assign(&labels.probabilities(outputs.view())?);
        }
        Ok(Learned { rows: learned, winsorized: None })
    }

    /// Keeps learned rows of the warm-up, and learns all of them again when this is due. The first
    /// `earlier` of all are from previous calls.
    fn keep(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        earlier: usize,
    ) -> Result<()> {
        if let Some(encoder) = &self.encoder
            && let Some(sample) = &mut self.sample
            && sample.keep(x, y, weights, encoder.spec().warm_up)
        {
            return self.refit();
        }
        let (Some(mut warm_up), Some(encoder)) = (self.warm_up.take(), &mut self.encoder) else {
            return Ok(());
        };
        let last = encoder.spec().warm_up;
        let turn = warm_up.turn(last);
        warm_up.keep(x, y, weights);
        if warm_up.n_counted() == turn {
            encoder.fit(warm_up.counted_cells().view());
            let before = self.labels.clone();
            if let Some(labels) = &mut self.labels {
                labels.reset();
            }
            let (x, y, weights) = warm_up.rows();
            let in_runs = before.filter(Labels::come_in_runs);
            let order = in_runs.is_some().then(|| random::permutation(x.nrows(), turn as u64));
            let learned = match &order {
                Some(order) => {
                    let of = |rows: ArrayView2<'_, f64>| rows.select(Axis(0), order);
                    let weights = weights.select(Axis(0), order);
                    self.begin_again(&warm_up.fresh, of(x).view(), of(y).view(), weights.view())
                }
                None => self.begin_again(&warm_up.fresh, x, y, weights),
            };
            learned.map_err(|mut error| match error.row_mut() {
                Some(row) => {
                    *row = order.as_ref().map_or(*row, |order| order[*row]);
                    if *row < earlier {
                        return Error::WarmUp { rows: turn, source: Box::new(error) };
                    }
                    *row -= earlier;
                    error
                }
                None => error,
            })?;
            if let (Some(labels), Some(before)) = (&mut self.labels, in_runs) {
                labels.keep_record(before);
            }
        }
        if warm_up.n_counted() < last {
            self.warm_up = Some(warm_up);
        } else if self.encoder.as_ref().is_some_and(|encoder| encoder.spec().rescale) {
            self.sample = Some(Sample::of(&warm_up));
        }
        Ok(())
    }

    /// Sets scales and categories by the sample, and learns it again, if a column has left its
    /// scale; learns it again in random order if labels come in long runs.
    fn refit(&mut self) -> Result<()> {
        let n_seen = self.n_seen();
        let in_runs = self.labels.as_ref().is_some_and(Labels::come_in_runs);
        let (Some(encoder), Some(sample)) = (&mut self.encoder, &mut self.sample) else { return Ok(()) };
        let compares = sample.compares(encoder.spec().warm_up);
        if !compares && !in_runs {
            return Ok(());
        }
        let mut rows = sample.ordered(!in_runs);
        let moved = if compares { encoder.left_by(rows.x.view()) } else { Vec::new() };
        if moved.is_empty() && !in_runs {
            return Ok(());
        }
        let seed = sample.n_counted();
        let before = (moved.is_empty()).then(|| (self.model.clone(), self.labels.clone(), sample.refitted));
        if !moved.is_empty() {
            sample.moved.extend(moved);
            encoder.fit(rows.x.view());
        }
        sample.refitted = Some([n_seen, rows.x.nrows() as u64]);
        let (fresh, limits) = (sample.fresh.clone(), self.limits.clone());
        if in_runs {
            rows = rows.shuffled(seed);
        }
        // A model of the sample must be better than the model of all rows, on rows that neither has
        // learned.
        let split = if before.is_some() { rows.x.nrows() - rows.x.nrows() / 4 } else { rows.x.nrows() };
        let (first, rest) = (s![..split, ..], s![split.., ..]);
        let (x, y, weights) = (rows.x.slice(rest), rows.y.slice(rest), rows.weights.slice(s![split..]));
        let own = if split < rows.x.nrows() { Some(self.predict(x)?) } else { None };
        let labels = self.labels.clone();
        self.labels.iter_mut().for_each(Labels::reset);
        let weights_of_first = rows.weights.slice(s![..split]);
        self.begin_again(&fresh, rows.x.slice(first), rows.y.slice(first), weights_of_first)?;
        if let (Some(limits), Some(before)) = (&mut self.limits, limits) {
            (limits.limited, limits.latest) = (before.limited, before.latest);
        }
        if let (Some(own), Some(labels), Some(before)) = (own, &labels, before) {
            let candidate = self.predict(x)?;
            if labels.cost(candidate.view(), y, weights) >= labels.cost(own.view(), y, weights) {
                (self.model, self.labels) = (before.0, before.1);
                if let Some(sample) = &mut self.sample {
                    sample.refitted = before.2;
                }
                return Ok(());
            }
            self.learn_again(x, y, weights)?;
        }
        if let (Some(labels), Some(before)) = (&mut self.labels, labels) {
            labels.keep_record(before);
        }
        Ok(())
    }

    /// Ends the warm-up with the rows so far, and learns these again on their scale.
    pub(super) fn settle(&mut self) -> Result<()> {
        self.settled = true;
        self.sample = None;
        self.labels.iter_mut().for_each(Labels::settle);
        let (Some(warm_up), Some(encoder)) = (self.warm_up.take(), &mut self.encoder) else { return Ok(()) };
        let (x, y, weights) = warm_up.rows();
        encoder.fit(warm_up.counted_cells().view());
        if let Some(labels) = &mut self.labels {
            labels.reset();
        }
        self.begin_again(&warm_up.fresh, x, y, weights)
    }

    /// Replaces the model by an untrained one, whose parameters these rows choose if they are to,
    /// and learns them.
    fn begin_again(
        &mut self,
        fresh: &M,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: ArrayView1<'_, f64>,
    ) -> Result<()> {
        let Some(encoder) = &self.encoder else { return Ok(()) };
        let features = encoder.encode(x);
        let settled = self.settled;
        let tame = match &mut self.limits {
            Some(limits) => {
                (limits.limited, limits.latest) = (0, Vec::new());
                limits.forget();
                if settled { CowArray::from(y) } else { CowArray::from(limits.restart_tamed(y, weights)) }
            }
            None => CowArray::from(y),
        };
        let y = tame.view();
        self.model = match &self.choice {
            Some(choice) => {
                let signs = self.labels.as_ref().map(|labels| labels.signs(y));
                let targets = signs.as_ref().map_or(y, |signs| signs.view());
                fresh.chosen(choice.by, features.view(), targets, weights)?
            }
            None => fresh.clone(),
        };
        self.learn_all(features, y, weights)
    }

    fn learn_again(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: ArrayView1<'_, f64>,
    ) -> Result<()> {
        let Some(encoder) = &self.encoder else { return Ok(()) };
        self.learn_all(encoder.encode(x), y, weights)
    }

    /// Learns rows that the encoder has counted before.
    fn learn_all(
        &mut self,
        features: Array2<f64>,
        y: ArrayView2<'_, f64>,
        weights: ArrayView1<'_, f64>,
    ) -> Result<()> {
        let rows = features.nrows();
        let learned =
            self.learn_features(features.into(), y, Some(weights), Prequential::default(), &mut |_| {
                interrupt::check().is_ok()
            })?;
        if learned.rows < rows { Err(Error::Interrupted) } else { Ok(()) }
    }

    fn check_y(&self, y: ArrayView2<'_, f64>) -> Result<()> {
        match &self.labels {
            Some(labels) => labels.check(y),
            None => check_targets(self.model.n_outputs(), y),
        }
    }

    /// Queries of the model at the features that these rows will have when they are learned. A call
    /// of several parts computes features twice, since features of all rows would need too much
    /// memory, and a later part may be refused.
    fn check_features(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        let size = if self.encoder.is_some() { BLOCK } else { x.nrows().max(1) };
        let mut encoder = self.encoder.as_ref().map(|encoder| {
            if encoder.changes() { Cow::Owned(encoder.clone()) } else { Cow::Borrowed(encoder) }
        });
        let own = weights;
        let weights = self
            .labels
            .as_ref()
            .map_or(weights.map(Into::into), |labels| labels.weights(y, weights).map(CowArray::from));
        for (i, (x, y)) in
            x.axis_chunks_iter(Axis(0), size).zip(y.axis_chunks_iter(Axis(0), size)).enumerate()
        {
            let start = i * size;
            let weights = weights.as_ref().map(|weights| weights.slice(s![start..start + x.nrows()]));
            let signs = self.labels.as_ref().map(|labels| labels.signs(y));
            let targets = signs.as_ref().map_or(y, |signs| signs.view());
            let encoded = encoder.as_mut().map(|encoder| match encoder {
                Cow::Owned(encoder) => {
                    encoder.encode_in_turn(x, own.map(|own| own.slice_move(s![start..start + x.nrows()])))
                }
                Cow::Borrowed(encoder) => encoder.encode(x),
            });
            let features = encoded.as_ref().map_or(x, |features| features.view());
            let checked = self.model.check(features, targets, weights);
            let located = |error| match &self.encoder {
                Some(encoder) => encoder.of_cell(x, error),
                None => error,
            };
            checked.map_err(|error| located(error).shifted(start))?;
        }
        Ok(())
    }
}

/// Calls `then` with the features of a row, or the row itself without an encoder.
fn with_features<T>(
    encoder: Option<&Encoder>,
    x: &[f64],
    then: impl FnOnce(&[f64]) -> Result<T>,
) -> Result<T> {
    let Some(encoder) = encoder else { return then(x) };
    if encoder.n_cells().is_none() {
        return Err(Error::NothingLearned);
    }
    encoder.check(one_row(x))?;
    with_scratch(|scratch| {
        let (features, _) = scratch.prepare(encoder.width());
        let features = &mut features[..encoder.width()];
        encoder.encode_row(ArrayView1::from(x), features);
        then(features).map_err(|error| encoder.of_cell(one_row(x), error))
    })
}

impl<M: InnerModel> Model for Table<M> {
    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        check_lengths(x, "y", y)?;
        check_weights(x, weights)?;
        if let Some(encoder) = &self.encoder {
            encoder.check(x)?;
        }
        self.check_y(y)?;
        if self.is_settled() { self.check_features(x, y, weights) } else { Ok(()) }
    }

    fn can_refuse(&self, weights: Option<ArrayView1<'_, f64>>) -> bool {
        if !self.is_settled() {
            return true;
        }
        let Some(labels) = &self.labels else { return self.model.can_refuse(weights) };
        let rows = weights.map_or(BLOCK, |weights| weights.len());
        let own = weights.map_or(1.0, |weights| weights.iter().copied().fold(0.0, f64::max));
        let largest = [own * labels.largest_weight(rows)];
        self.model.can_refuse(Some(ArrayView1::from(&largest)))
    }

    /// In the warm-up, rows are learned up to the next refit, then all rows again. A call that is
    /// [interrupted](crate::interrupt) during a refit has learned nothing.
    fn learn_prequential(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check(x, y, weights)?;
        prequential.check(y.dim())?;
        if self.labels.is_some() && prequential.wants_spreads() {
            return Err(Error::NoDeviation);
        }
        if let Some(probabilities) = &prequential.probabilities {
            // Refused before anything is learned, if targets are numbers or the loss has no
            // probabilities.
            let labels = self.known_labels()?;
            let classes = labels.probabilities(Array2::zeros((0, labels.n_outputs())).view())?.ncols();
            check_width("probabilities", Some(classes), probabilities.ncols())?;
        }
        // A call that ends at once has learned no columns either.
        if x.nrows() == 0 || !should_continue(0) {
            return Ok(0);
        }
        let mut should_continue = |row| row == 0 || should_continue(row);
        let before = self.snapshot(x.nrows(), weights);
        if let Some(encoder) = self.encoder.as_mut().filter(|encoder| encoder.n_cells().is_none()) {
            let first = weights.and_then(|all| all.iter().position(|weight| *weight > 0.0)).unwrap_or(0);
            encoder.fit(x.slice(s![first..=first, ..]));
        }
        let earlier = self.warm_up.as_ref().map_or(0, WarmUp::len);
        let mut done = 0;
        while done < x.nrows() {
            let rest = weights.map(|weights| weights.slice_move(s![done..]));
            let part = self.part_len(x.nrows() - done, rest);
            let rows = s![done..done + part, ..];
            let (x, y) = (x.slice(rows), y.slice(rows));
            let weights = weights.map(|weights| weights.slice_move(s![done..done + part]));
            let prequential = prequential.rows(done..done + part);
            let kept = self
                .learn_part(x, y, weights, prequential, &mut |row| should_continue(done + row))
                .map_err(|error| error.shifted(done))
                .and_then(|learned| {
                    let Learned { rows: learned, winsorized } = learned;
                    let (rows, weights) =
                        (s![..learned, ..], weights.map(|all| all.slice_move(s![..learned])));
                    // A warm-up winsorizes its rows again.
                    let y = winsorized.as_ref().filter(|_| self.warm_up.is_none()).map_or(y, |y| y.view());
                    self.keep(x.slice(rows), y.slice(rows), weights, earlier).map(|()| learned)
                });
            match kept {
                Ok(learned) => {
                    done += learned;
                    if learned < part {
                        break;
                    }
                }
                Err(error) => {
                    if let Some(before) = before {
                        *self = before;
                    }
                    return Err(error);
                }
            }
        }
        Ok(done)
    }

    fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        let row = ArrayView1::from(x);
        let sets = self.encoder.as_ref().is_some_and(|encoder| encoder.is_set_by(row));
        let plain = self.labels.as_ref().is_none_or(Labels::are_equal) && self.are_ordinary(y);
        if !self.is_settled() || sets || !plain || self.compares_within(1) {
            return self.learn_while(one_row(x), one_row(y), None, None, &mut |_| true).map(|_| ());
        }
        with_features(self.encoder.as_ref(), x, |features| {
            let model = &mut self.model;
            let Some(labels) = &mut self.labels else {
                return winsorizing::learn_one(model, self.limits.as_mut(), features, y);
            };
            labels.check(one_row(y))?;
            with_scratch(|scratch| {
                let p = labels.n_outputs();
                let (both, _) = scratch.prepare(2 * p);
                let (signs, outputs) = both[..2 * p].split_at_mut(p);
                labels.signs_of(y[0], signs);
                model.predict_and_learn_one(features, signs, outputs)?;
                let outputs = ArrayViewMut1::from(outputs).insert_axis(Axis(0));
                labels.follow(outputs, (one_row(y), one_row(signs)), None, model.gives_odds());
                Ok(())
            })
        })?;
        if let Some(encoder) = &mut self.encoder {
            encoder.count(row);
            if let Some(sample) = &mut self.sample {
                sample.keep(one_row(x), one_row(y), None, encoder.spec().warm_up);
            }
        }
        Ok(())
    }

    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let outputs = self.outputs(x)?;
        Ok(match &self.labels {
            None => outputs,
            Some(labels) => {
                let mut codes = Array2::zeros((x.nrows(), 1));
                labels.decide(outputs.view(), codes.view_mut());
                codes
            }
        })
    }

    fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        let Some(labels) = &self.labels else { return self.outputs_one_into(x, out) };
        check_width("out", Some(1), out.len())?;
        with_scratch(|scratch| {
            let (outputs, _) = scratch.prepare(labels.n_outputs());
            let outputs = &mut outputs[..labels.n_outputs()];
            self.outputs_one_into(x, outputs)?;
            out[0] = labels.choose(ArrayView1::from(&*outputs));
            Ok(())
        })
    }

    fn n_seen(&self) -> u64 {
        let refitted = self.sample.as_ref().and_then(|sample| sample.refitted);
        // Rows that the model did not learn again.
        self.model.n_seen().saturating_add(refitted.map_or(0, |[seen, learned]| seen - learned))
    }

    /// Cells of a row; `None` before the first.
    fn n_features(&self) -> Option<usize> {
        self.encoder.as_ref().map_or_else(|| self.model.n_features(), Encoder::n_cells)
    }

    fn n_outputs(&self) -> Option<usize> {
        let outputs = self.model.n_outputs()?;
        Some(if self.labels.is_some() { 1 } else { outputs })
    }
}

impl<M: InnerModel> InnerModel for Table<M> {}

impl<M: InnerModel> std::fmt::Debug for Table<M> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        sizes("Table", self, f)
    }
}

impl<M: InnerModel> Uncertainty for Table<M> {
    fn predict_with_spread(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Spread,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        self.check_asked(x)?;
        if self.labels.is_some() {
            return Err(Error::NoDeviation);
        }
        let both = self.ask(x, |rows| {
            let (predictions, spreads) = self.model.predict_with_spread(rows, spread)?;
            let both = concatenate(Axis(1), &[predictions.view(), spreads.view()]);
            Ok(both.unwrap_or_else(|_| unreachable!("as many rows")))
        })?;
        let (predictions, spreads) = both.view().split_at(Axis(1), both.ncols() / 2);
        Ok((predictions.to_owned(), spreads.to_owned()))
    }

    fn knows_deviation(&self) -> bool {
        self.labels.is_none() && self.model.knows_deviation()
    }

    fn noise(&self) -> Option<Array1<f64>> {
        self.model.noise().filter(|_| self.labels.is_none())
    }

    fn calibration(&self) -> Option<&Calibration> {
        self.model.calibration().filter(|_| self.labels.is_none())
    }
}

impl<M: InnerModel> Introspection for Table<M> {
    fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        self.check_asked(x)?;
        let column = self.ask(x, |rows| Ok(self.model.novelty(rows)?.insert_axis(Axis(1))))?;
        Ok(column.index_axis_move(Axis(1), 0))
    }

    fn quality(&self) -> Diagnostics {
        let moved_columns = self.moved_columns();
        let inside = Diagnostics { moved_columns, ..self.model.quality() };
        match &self.labels {
            Some(labels) => labels.diagnostics(inside),
            None => inside,
        }
    }

    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        self.check_asked(x)?;
        self.ask(x, |rows| self.model.transform(rows))
    }

    /// With respect to cells; categories, booleans and times have no derivative.
    fn gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        self.check_asked(x)?;
        let Some(encoder) = &self.encoder else { return self.model.gradient(x) };
        let slopes = encoder.slopes(x).ok_or(Error::NoGradient)?;
        let features = self.model.gradient(encoder.encode(x).view())?;
        Ok(features.select(Axis(2), &encoder.first_features()) * &slopes.insert_axis(Axis(1)))
    }

    /// The importances of the inner model, summed over the features of each column: they do not
    /// depend on its scale.
    fn importances(&self) -> Result<Array1<f64>> {
        let inside = self.model.importances()?;
        Ok(self
            .encoder
            .as_ref()
            .map_or_else(|| inside.clone(), |encoder| encoder.sum_features(inside.view())))
    }

    /// The stored points, as features.
    fn dictionary(&self) -> Array2<f64> {
        self.model.dictionary()
    }

    fn n_stored(&self) -> usize {
        self.model.n_stored()
    }

    fn condition(&self) -> Option<f64> {
        self.model.condition()
    }

    fn mixture(&self) -> Option<Array2<f64>> {
        self.model.mixture()
    }
}
