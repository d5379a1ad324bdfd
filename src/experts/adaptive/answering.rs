//! Queries in the current state: outputs of the experts, weighted by mixture weight and confidence.

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, s};

use super::first_rows::FirstRows;
use super::odds_stage::{OddsStage, Predicted as OfLine};
use super::preprocessing::Columns;
use super::state::State;
use super::tree_stage::{Predicted, TreeStage};
use crate::error::Result;
use crate::experts::answers::{Answers, Mixed, Round};
use crate::experts::blend::mix;
use crate::linalg::with_scratch;
use crate::model::shares_of;
use crate::uncertainty::{Prequential, Spread};

/// Rows per block, for which the outputs of all experts are stored.
const AT_ONCE: usize = 8192;

/// The prediction of an output by all experts; of labels, as calibrated odds.
pub(super) fn in_odds(stage: Option<&OddsStage>, c: usize, mixed: Mixed, of_line: &OfLine) -> Mixed {
    stage.map_or(mixed, |odds| mixed.moved(odds.refined(c, mixed.made, of_line)))
}

impl State {
    /// Predictions for rows (n, outputs).
    pub fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let mut out = Array2::zeros((x.nrows(), self.outputs()));
        self.answer(x, None, Prequential::predictions(Some(out.view_mut())))?;
        Ok(out)
    }

    /// Predictions for rows, and their spreads (n, outputs each).
    pub fn predict_with_spread(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Spread,
    ) -> Result<(Array2<f64>, Array2<f64>)> {
        let shape = (x.nrows(), self.outputs());
        let (mut out, mut spreads) = (Array2::zeros(shape), Array2::zeros(shape));
        let prequential = Prequential::with_spread(out.view_mut(), spreads.view_mut(), spread);
        self.answer(x, Some(spread), prequential)?;
        Ok((out, spreads))
    }

    /// Novelty of rows (n).
    pub fn novelty(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        let mut out = Array1::zeros(x.nrows());
        self.answer(x, None, Prequential { novelties: Some(out.view_mut()), ..Prequential::default() })?;
        Ok(out)
    }

    /// Outputs the requested predictions, spreads and novelty; the latter is weighted by the
    /// experts' shares in the prediction, over all outputs.
    fn answer(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Option<Spread>,
        mut prequential: Prequential<'_>,
    ) -> Result<()> {
        let any = self.answers_any_of(x);
        for start in (0..x.nrows()).step_by(AT_ONCE) {
            let rows = start..x.nrows().min(start + AT_ONCE);
            let (x, mut prequential) = (x.slice(s![rows.clone(), ..]), prequential.rows(rows));
            if self.mixtures.is_empty() {
                self.answer_by_first_rows(x, &mut prequential);
            } else {
                self.answer_by_experts(x, spread, any, &mut prequential)?;
            }
        }
        Ok(())
    }

    /// The same before there are experts.
    fn answer_by_first_rows(&self, x: ArrayView2<'_, f64>, prequential: &mut Prequential<'_>) {
        let first = self.first_rows();
        for (i, c) in self.places(x) {
            let (made, _) = self.of_first(first.as_ref(), x.row(i), c);
            prequential.record((i, c), made, |_| self.targets.deviation(c), f64::NAN, &self.calibration);
        }
        prequential.record_novelty(std::iter::repeat_n(1.0, x.nrows()));
    }

    /// The same by the mixture of the experts for `any` row, or that for the next row, with trees.
    fn answer_by_experts(
        &self,
        x: ArrayView2<'_, f64>,
        spread: Option<Spread>,
        any: bool,
        prequential: &mut Prequential<'_>,
    ) -> Result<()> {
        let answers = self.ask(x, spread, any)?;
        let (mixtures, calibration) = self.answering(any);
        let (mut round, mut said) = (Round::default(), Predicted::default());
        let mut of_line = OfLine::default();
        let (mut mixed, mut of_kernels) = (Vec::new(), Vec::new());
        let mut novelties = vec![0.0; x.nrows()];
        for (i, novelty) in novelties.iter_mut().enumerate() {
            let row = x.row(i);
            mixed.clear();
            mixed.extend(mixtures.iter().enumerate().map(|(c, m)| round.mix((i, c), answers.iter(), m)));
            *novelty = mixed.iter().map(|mixed| mixed.novelty / mixtures.len() as f64).sum();
            let out_of_range = self.members.last().map_or(0.0, |member| member.out_of_range(row));
            *novelty = novelty.max(out_of_range);
            if let Some(trees) = self.answering_trees(any) {
                of_kernels.clear();
                of_kernels.extend(mixed.iter().map(|mixed| mixed.made));
                trees.predict(row.iter().copied(), &of_kernels, &mut said);
                let refine = |(c, mixed): (usize, &mut Mixed)| *mixed = trees.refined(c, *mixed, &said);
                mixed.iter_mut().enumerate().for_each(refine);
            }
            if let (Some(odds), false) = (&self.odds, any) {
                odds.predict(row.iter().copied(), &mut of_line);
            }
            let refine =
                |(c, mixed): (usize, &mut Mixed)| *mixed = in_odds(self.odds.as_ref(), c, *mixed, &of_line);
            mixed.iter_mut().enumerate().for_each(refine);
            for (c, mixed) in mixed.iter().enumerate() {
                let by_columns = match spread {
                    Some(Spread::Interval) if !any => self.column_spreads.factor(c, row.iter().copied()),
                    _ => 1.0,
                };
                let mixed = mixed.scaled(by_columns).as_novel(out_of_range);
                mixed.record((i, c), calibration, prequential);
            }
        }
        prequential.record_novelty(novelties.into_iter());
        Ok(())
    }

    /// A linear function of the first few rows, before the first refit; `None` if the mean is as good.
    pub fn first_rows(&self) -> Option<FirstRows> {
        if self.met >= self.spec.params.refits.first_rows || !self.members.is_empty() {
            return None;
        }
        let is_margin = self.spec.loss.is_margin();
        FirstRows::of(&if is_margin {
            self.buffer.sample()
        } else {
            self.buffer.tame_sample(&self.spec.params)
        })
    }

    /// The prediction of that, or the mean, and whether it has a slope.
    pub fn of_first(&self, first: Option<&FirstRows>, x: ArrayView1<'_, f64>, c: usize) -> (f64, bool) {
        let Some(first) = first else { return (self.targets.means[c], false) };
        let (made, has_slope) = first.predict(x, c);
        if self.spec.loss.is_margin() {
            (made.clamp(-1.0, 1.0), has_slope && made.abs() < 1.0)
        } else {
            (made, has_slope)
        }
    }

    /// The trees, where the query is for the next row.
    fn answering_trees(&self, any: bool) -> Option<&TreeStage> {
        (self.trees.counts() && !any).then_some(&self.trees)
    }

    /// Number of rows and outputs.
    fn places(&self, x: ArrayView2<'_, f64>) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (n, outputs) = (x.nrows(), self.outputs());
        (0..n).flat_map(move |i| (0..outputs).map(move |c| (i, c)))
    }

    /// Outputs of each expert for rows; those of an expert without weight have confidence 0.
    fn ask(&self, x: ArrayView2<'_, f64>, spread: Option<Spread>, any: bool) -> Result<Vec<Answers>> {
        let shape = (x.nrows(), self.outputs());
        let answer = |e: usize| {
            if self.counts(e, any) {
                self.members[e].answer(x, self.outputs(), spread)
            } else {
                Ok(Answers::of_none(shape))
            }
        };
        (0..self.members.len()).map(answer).collect()
    }

    /// Predictions for rows by the mixture for the next row and by that for any row.
    pub fn predict_by_both(&self, x: ArrayView2<'_, f64>) -> Result<[Array2<f64>; 2]> {
        let absent = Answers::of_none((x.nrows(), self.outputs()));
        let answer = |e: usize| {
            let counts = self.is_weighed(e, f64::MIN_POSITIVE) && !self.members[e].rests();
            if counts { self.members[e].answer(x, self.outputs(), None) } else { Ok(absent.clone()) }
        };
        let next = (0..self.members.len()).map(answer).collect::<Result<Vec<_>>>()?;
        let mut round = Round::default();
        let mut out = [(); 2].map(|()| Array2::zeros((x.nrows(), self.outputs())));
        for (i, c) in self.places(x) {
            out[0][(i, c)] = round.mix((i, c), next.iter(), &self.mixtures[c]).made;
            let lasting = next.iter().zip(&self.members);
            let lasting = lasting.map(|(made, member)| if member.lasts { made } else { &absent });
            out[1][(i, c)] = round.mix((i, c), lasting, &self.lasting[c]).made;
        }
        Ok(out)
    }

    /// Whether a result depends on this expert.
    fn counts(&self, member: usize, any: bool) -> bool {
        let answering = self.answering(any).0.iter();
        let eligible = !any || self.members[member].lasts;
        eligible && !self.members[member].rests() && answering.map(|m| m.weights()[member]).any(|w| w > 0.0)
    }

    /// Whether the prediction of the next row depends on this expert.
    fn counts_next(&self, member: usize) -> bool {
        !self.members[member].rests() && (0..self.outputs()).any(|c| self.weight(member, c) > 0.0)
    }

    /// Prediction of one row, the next of the stream.
    pub fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        let (k, p) = (self.members.len(), self.outputs());
        if k == 0 {
            let first = self.first_rows();
            for (c, out) in out.iter_mut().enumerate() {
                (*out, _) = self.of_first(first.as_ref(), x.into(), c);
            }
            return Ok(());
        }
        with_scratch(|scratch| {
            let (scratch, _) = scratch.prepare(k * (p + 2));
            let (made, scratch) = scratch.split_at_mut(k * p);
            let (sure, scratch) = scratch.split_at_mut(k);
            let shares = &mut scratch[..k];
            for (e, made) in made.chunks_exact_mut(p).enumerate() {
                sure[e] = if self.counts_next(e) { self.members[e].predict_one_into(x, made)? } else { 0.0 };
            }
            for (c, (out, mixture)) in out.iter_mut().zip(&self.mixtures).enumerate() {
                mixture.share_out(sure, shares);
                let counting = shares.iter().enumerate().filter(|(_, share)| **share > 0.0);
                *out = counting.map(|(e, share)| share * made[e * p + c]).sum();
            }
            Ok(())
        })?;
        if self.trees.counts() {
            with_scratch(|scratch| self.trees.refine_one(x, out, scratch.prepare(self.trees.length()).0));
        }
        if let Some(odds) = &self.odds {
            odds.refine_one(x, out);
        }
        Ok(())
    }

    /// Gradients of the predictions (n, outputs, d). Trees are constant almost everywhere; experts that add a tree to the
    /// prediction of the kernel experts have its gradient, and those on the nearest rows have one where these stay the same.
    pub fn gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        let any = self.answers_any_of(x);
        let (mut out, made) = self.gradient_and_prediction_of_kernels(x, any, Columns::Raw)?;
        let (mut said, mut of_line) = (Predicted::default(), OfLine::default());
        for (i, mut out) in out.outer_iter_mut().enumerate() {
            let (row, mut made) = (x.row(i).to_vec(), made.row(i).to_vec());
            if let Some(trees) = self.answering_trees(any) {
                trees.predict(row.iter().copied(), &made, &mut said);
                for (c, mut out) in out.outer_iter_mut().enumerate() {
                    out *= trees.slope(c, &said);
                }
                trees.add_gradient(&said, out.view_mut());
                trees.combine(&said, &mut made);
            }
            if let Some(odds) = &self.odds {
                if !any {
                    odds.predict(row.iter().copied(), &mut of_line);
                }
                for (place, out) in made.iter().copied().enumerate().zip(out.outer_iter_mut()) {
                    odds.turn_gradient(&row, place, &of_line, out);
                }
            }
        }
        Ok(out)
    }

    /// Shares of the columns in the predictions of the kernel experts for rows (d): mean squared slopes times variances.
    ///
    /// Slopes and variances are those after each column's transform: where values are dense, as at the extremes of a sine,
    /// normal scores are steep, so that squared slopes along the column itself would be those of a few rows. The variances
    /// are those of the expert with most weight, and differ little between experts: each transform makes them 1 in its sample.
    pub fn importances_at(&self, x: ArrayView2<'_, f64>) -> Result<Array1<f64>> {
        let any = self.answers_any_of(x);
        let (mixtures, _) = self.answering(any);
        let weight = |member: usize| mixtures.iter().map(|mixture| mixture.weights()[member]).sum::<f64>();
        let leading = (0..self.members.len()).max_by(|a, b| weight(*a).total_cmp(&weight(*b)));
        let (gradient, _) = self.gradient_and_prediction_of_kernels(x, any, Columns::Transformed)?;
        Ok(match leading {
            Some(e) => shares_of(&gradient, self.members[e].preprocessing().transformed(x).view()),
            None => shares_of(&gradient, x),
        })
    }

    /// Gradients of the mixture of the kernel experts (n, outputs, d), theirs and of their shares through the confidences,
    /// and the predictions (n, outputs). With respect to columns as they came, or transformed; raw ones before the first refit.
    fn gradient_and_prediction_of_kernels(
        &self,
        x: ArrayView2<'_, f64>,
        any: bool,
        columns: Columns,
    ) -> Result<(Array3<f64>, Array2<f64>)> {
        let mut out = Array3::zeros((x.nrows(), self.outputs(), x.ncols()));
        let mut predictions = Array2::zeros((x.nrows(), self.outputs()));
        if self.mixtures.is_empty() {
            let first = self.first_rows();
            for (i, c) in self.places(x) {
                let (made, has_slope) = self.of_first(first.as_ref(), x.row(i), c);
                predictions[(i, c)] = made;
                if let (Some(first), true) = (&first, has_slope) {
                    out.slice_mut(s![i, c, ..]).assign(&first.slopes(c));
                }
            }
            return Ok((out, predictions));
        }
        let answers = self.ask(x, None, any)?;
        let (mut round, mut parts) = (Round::default(), Vec::new());
        for (i, c) in self.places(x) {
            let mixed = round.mix((i, c), answers.iter(), &self.answering(any).0[c]).made;
            predictions[(i, c)] = mixed;
            parts
                .push(round.parts().map(|(made, share)| (share, share * (made - mixed))).collect::<Vec<_>>());
        }
        for e in (0..self.members.len()).filter(|e| self.counts(*e, any)) {
            let slopes = self.members[e].gradient(x, self.outputs(), columns)?;
            let of_sure = self.members[e].gradient_of_sure(x, answers[e].sure(), columns)?;
            for ((i, c), parts) in self.places(x).zip(&parts) {
                let mut out = out.slice_mut(s![i, c, ..]);
                out.scaled_add(parts[e].0, &slopes.slice(s![i, c, ..]));
                out.scaled_add(parts[e].1, &of_sure.slice(s![i, 0, ..]));
            }
        }
        Ok((out, predictions))
    }

    /// Gradients of the experts' predictions with constant shares, for learning a metric, at a
    /// hundredth of the time.
    pub fn slopes(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        let out = Array3::zeros((x.nrows(), self.outputs(), x.ncols()));
        mix(self.answering(self.answers_any_row()).0, self.members.iter(), out, |member| {
            member.gradient(x, self.outputs(), Columns::Raw)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experts::adaptive::{AdaptiveExperts, AdaptiveSpec};
    use crate::learner::Loss;
    use crate::model::{Introspection as _, Model as _, Uncertainty as _};
    use crate::random::normal;

    /// Experts that have learned 700 rows of two columns, and query rows, some of them distant.
    fn learned(outputs: usize) -> (AdaptiveExperts, Array2<f64>) {
        let x = Array2::from_shape_fn((700, 2), |(i, k)| normal(3, (2 * i + k) as u64));
        let target = |x: &[f64], c: usize| (2.0 * x[0]).sin() + (c as f64 + 1.0) * x[1] * x[1];
        let y = Array2::from_shape_fn((700, outputs), |(i, c)| {
            target(&x.row(i).to_vec(), c) + 0.1 * normal(4, (i * outputs + c) as u64)
        });
        let mut model = AdaptiveSpec { size: 20, ..AdaptiveSpec::default() }.build().unwrap();
        model.learn(x.view(), y.view()).unwrap();
        (model, 1.5 * x.slice(s![..60, ..]).to_owned())
    }

    /// The same for two signs.
    fn learned_signs() -> (AdaptiveExperts, Array2<f64>) {
        let x = Array2::from_shape_fn((700, 2), |(i, k)| normal(3, (2 * i + k) as u64));
        let y = Array2::from_shape_fn((700, 2), |(i, c)| {
            let score = (2.0 * x[(i, 0)]).sin() + x[(i, 1)] * if c == 0 { 1.0 } else { x[(i, 1)] };
            (score + 0.3 * normal(4, (2 * i + c) as u64)).signum()
        });
        let spec = AdaptiveSpec { size: 20, loss: Loss::SquaredHinge, ..AdaptiveSpec::default() };
        let mut model = spec.build().unwrap();
        model.learn(x.view(), y.view()).unwrap();
        (model, 1.5 * x.slice(s![..60, ..]).to_owned())
    }

    #[test]
    fn members_count_by_their_weights_and_by_how_sure_they_are() {
        for outputs in [1, 3] {
            let (mut model, x) = learned(outputs);
            let state = model.state.as_mut().unwrap();
            assert!(state.trees.counts());
            state.trees.forget_before(u64::MAX);
            let state = model.known().unwrap();
            let (made, one) =
                (model.predict(x.view()).unwrap(), model.predict_one(&x.row(0).to_vec()).unwrap());
            let (again, deviations) = model.predict_with_spread(x.view(), Spread::Deviation).unwrap();
            let said: Vec<_> = state
                .members
                .iter()
                .map(|member| member.answer(x.view(), outputs, Some(Spread::Deviation)).unwrap())
                .collect();
            let mut unlike = 0;
            for (i, c) in (0..60).flat_map(|i| (0..outputs).map(move |c| (i, c))) {
                let share = |e: usize| state.weight(e, c) * said[e].sure()[i];
                let (mut total, mut mean, mut square, mut plain) = (0.0, 0.0, 0.0, 0.0);
                for (e, member) in state.members.iter().enumerate() {
                    let own = member.predict(x.slice(s![i..=i, ..]), outputs).unwrap()[(0, c)];
                    total += share(e);
                    mean += share(e) * own;
                    plain += state.weight(e, c) * own;
                    square += share(e) * (own * own + said[e].deviation((i, c)).powi(2));
                }
                let deviation = (square / total - (mean / total).powi(2)).sqrt();
                assert!((made[(i, c)] - mean / total).abs() < 1e-9, "{} {}", made[(i, c)], mean / total);
                assert!((again[(i, c)] - made[(i, c)]).abs() < 1e-9);
                assert!((deviations[(i, c)] - deviation).abs() < 1e-6 * deviation);
                assert!(i > 0 || (one[c] - mean / total).abs() < 1e-9);
                unlike += usize::from((plain - mean / total).abs() > 1e-3);
            }
            assert!(unlike > 10, "{unlike}");
        }
    }

    #[test]
    fn what_is_learned_is_predicted_first_as_ever() {
        for loss in [Loss::Squared, Loss::SquaredHinge] {
            let (_, x) = learned(1);
            let y = x.map_axis(ndarray::Axis(1), |x| (x[0] + x[1]).signum()).insert_axis(ndarray::Axis(1));
            let spec = AdaptiveSpec { size: 20, loss, ..AdaptiveSpec::default() };
            let mut model = spec.build().unwrap();
            model.learn(x.view(), y.view()).unwrap();
            let expected = model.predict(x.slice(s![..1, ..])).unwrap();
            let made = model.learn_and_predict(x.slice(s![..1, ..]), y.slice(s![..1, ..])).unwrap();
            assert!((made[(0, 0)] - expected[(0, 0)]).abs() < 1e-9, "{made} {expected}");
        }
    }

    #[test]
    fn who_rests_is_not_asked_and_looks_in() {
        let (n, block) = (2300, 256);
        let x = Array2::from_shape_fn((n, 2), |(i, k)| normal(5, (2 * i + k) as u64));
        let y = x.map_axis(ndarray::Axis(1), |x| (2.0 * x[0]).sin() + x[1]).insert_axis(ndarray::Axis(1));
        let mut model = AdaptiveSpec { size: 20, ..AdaptiveSpec::default() }.build().unwrap();
        let (mut resting, mut learned) = (Vec::new(), Vec::new());
        for start in (0..n).step_by(block) {
            let rows = s![start..n.min(start + block), ..];
            let expected = model.predict(x.slice(s![start..=start, ..])).ok();
            let made = model.learn_and_predict(x.slice(rows), y.slice(rows)).unwrap();
            if let Some(expected) = expected {
                assert!((made[(0, 0)] - expected[(0, 0)]).abs() < 1e-9);
            }
            let members = &model.known().unwrap().members;
            let slow: Vec<_> =
                members.iter().filter(|member| (0.995..1.0).contains(&member.forgetting())).collect();
            resting.push(slow.iter().any(|member| member.rests()));
            learned.push(slow.iter().map(|member| member.n_seen()).max());
            assert!(members.iter().all(|member| !member.rests() || member.forgetting() >= 0.995));
        }
        // After some blocks without weight, it learns one block in four.
        let last = resting.len() - 1;
        assert!(resting[last] && resting[last - 1] && learned[last] == learned[last - 1], "{resting:?}");
    }

    #[test]
    fn gradients_have_in_them_how_the_shares_change() {
        differences_agree(learned(2), 1e-2);
        // Signs, whose experts are combined in log odds.
        differences_agree(learned_signs(), 0.0);
    }

    /// Gradients are those of differences; those with constant shares are off by more than this.
    fn differences_agree((model, x): (AdaptiveExperts, Array2<f64>), by_shares: f64) {
        assert!(model.known().unwrap().trees.counts());
        let gradient = model.gradient(x.view()).unwrap();
        let plain = model.known().unwrap().slopes(x.view()).unwrap();
        let (mut off, mut without) = (Vec::new(), Vec::new());
        for (i, k) in (0..60).flat_map(|i| [(i, 0), (i, 1)]) {
            let moved = |by: f64| {
                let mut row = x.row(i).to_vec();
                row[k] += by;
                model.predict_one(&row).unwrap()
            };
            let (up, down) = (moved(1e-6), moved(-1e-6));
            for c in 0..2 {
                let slope = (up[c] - down[c]) / 2e-6;
                off.push((gradient[(i, c, k)] - slope).abs());
                without.push((plain[(i, c, k)] - slope).abs());
            }
        }
        // A kernel may have a kink, and a row be at the boundary of a cell or of the range of a
        // column.
        for each in [&mut off, &mut without] {
            each.sort_by(f64::total_cmp);
        }
        assert!(off[200] < 1e-5 && without[200] > by_shares, "{} {}", off[200], without[200]);
    }
}
