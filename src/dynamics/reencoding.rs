//! Forecasts that begin again, every few steps, from the state forecast.
//!
//! Powers of the operator are the conditional expectation, but an estimate on few functions is not exact, and its error
//! grows with every power. Where the system has no noise, the expected state is the state itself, and a forecast may
//! begin again from it: its coordinates are then those of a state, which the propagated ones no longer are. With noise
//! the expected state is no state of the system, and powers are right.
//!
//! M. Fathi, C. Gehring, J. Pilault, D. Kanaa, P.-L. Bacon, R. Goroshin, "Course correcting Koopman representations", 2024.

use ndarray::{Array2, Array3, ArrayView2, Axis, s};

use super::Dynamics;
use crate::error::{Error, Result, in_range};
use crate::interrupt::check;
use crate::koopman::{Koopman, Truncation, finite};
use crate::persist::{Reader, Writer};

/// After how many steps a forecast of states begins again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reencoding {
    /// Steps by powers of the operator; 1: each step is one of the operator from the state forecast before it; 0: all
    /// steps are by powers.
    pub every: usize,
    /// Whether a step of the operator is as long as a delay. The delays of a forecast state are then earlier states and
    /// forecasts; otherwise they are forecast with it.
    pub is_one_delay: bool,
}

/// States (steps, n, d with delays) and, for each step and row, whether an earlier one from which the forecast began
/// again was refused.
pub(super) type Reencoded = (Array3<f64>, Array2<bool>);

impl Reencoding {
    /// Forecasts from rows `x` (n, d with delays) on the scale of the operator; `is_refused`, for states of this step and
    /// the first rows they come from, which of them are no states to begin again from.
    pub(super) fn forecast(
        self,
        operator: &Koopman,
        blocks: usize,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
        is_refused: impl Fn(ArrayView2<'_, f64>, usize) -> Vec<bool>,
    ) -> Result<Reencoded> {
        for &n in steps {
            in_range("n_steps", n, n > 0, "at least 1")?;
        }
        if operator.n_controls() > 0 {
            return Err(Error::Inputs);
        }
        let last = steps.iter().copied().max().unwrap_or(0);
        let mut places: Vec<usize> = (0..steps.len()).collect();
        places.sort_by_key(|place| steps[*place]);
        let mut places = &places[..];
        let mut out = Array3::zeros((steps.len(), x.nrows(), x.ncols()));
        let mut refused = Array2::from_elem((steps.len(), x.nrows()), false);
        let (mut from, mut at, mut lost) = (x.to_owned(), 0, vec![false; x.nrows()]);
        while at < last {
            check()?;
            let part = if self.every == 0 { last } else { self.every.min(last - at) };
            let ends = at + part < last;
            let (due, later) = places.split_at(places.partition_point(|place| steps[*place] <= at + part));
            places = later;
            let of_delays = if self.is_one_delay { part.min(blocks) } else { 1 };
            let latest = if ends { part + 1 - of_delays..part + 1 } else { 0..0 };
            let mut asked: Vec<usize> = due.iter().map(|place| steps[*place] - at).chain(latest).collect();
            asked.sort_unstable();
            asked.dedup();
            let ahead = operator.forecast_unbounded(from.view(), &asked, truncation)?;
            for place in due {
                if let Ok(made) = asked.binary_search(&(steps[*place] - at)) {
                    out.index_axis_mut(Axis(0), *place).assign(&ahead.index_axis(Axis(0), made));
                    refused.row_mut(*place).iter_mut().zip(&lost).for_each(|(to, lost)| *to = *lost);
                }
            }
            at += part;
            if ends {
                from = self.begun(&from, &ahead, blocks, part);
                let wrong = is_refused(from.view(), at);
                let all_sound = operator.check_joint("X", from.view()).is_ok();
                for (i, mut row) in from.rows_mut().into_iter().enumerate() {
                    let is_sound = || operator.check_joint("X", row.view().insert_axis(Axis(0))).is_ok();
                    lost[i] |= wrong[i] || !all_sound && !is_sound();
                    if lost[i] {
                        row.fill(0.0);
                    }
                }
            }
        }
        Ok((out, refused))
    }

    /// The states with delays after a part of this many steps, of which the last `ahead` (steps, n, d) are known.
    fn begun(self, from: &Array2<f64>, ahead: &Array3<f64>, blocks: usize, part: usize) -> Array2<f64> {
        let (known, width) = (ahead.dim().0, from.ncols() / blocks);
        let latest = ahead.index_axis(Axis(0), known - 1);
        let mut out = latest.to_owned();
        if self.is_one_delay {
            for block in 1..blocks {
                let mut to = out.slice_mut(s![.., block * width..(block + 1) * width]);
                if block < part {
                    to.assign(&ahead.slice(s![known - 1 - block, .., ..width]));
                } else {
                    let earlier = block - part;
                    to.assign(&from.slice(s![.., earlier * width..(earlier + 1) * width]));
                }
            }
        }
        out
    }

    pub(super) fn write(self, out: &mut Writer) {
        out.counts("reencoding", &[self.every as u64, u64::from(self.is_one_delay)]);
    }

    /// Reads what [`write`](Self::write) wrote; powers from files without it.
    pub(super) fn read(from: &Reader<'_>) -> Result<Self> {
        if !from.has("reencoding") {
            return Ok(Self::default());
        }
        let [every, is_one_delay] = from.counts("reencoding")?;
        let every = usize::try_from(every).ok().filter(|every| *every <= LONGEST);
        match (every, is_one_delay) {
            (Some(every), 0 | 1) => Ok(Self { every, is_one_delay: is_one_delay == 1 }),
            _ => Err(Error::file("reencoding is no number of steps")),
        }
    }
}

/// Most steps by powers that are selected.
const LONGEST: usize = 1 << 20;

impl Dynamics {
    /// How [`forecast`](Self::forecast) makes several steps: selected by held-out forecasts of the first pairs, if
    /// these were stored and follow each other in trajectories; by powers otherwise.
    #[must_use]
    pub fn reencoding(&self) -> Reencoding {
        self.reencoding
    }

    /// [`forecast_and_judge`](Self::forecast_and_judge) in this way, not in the one selected. Where a state is not finite,
    /// the forecast is an error.
    pub fn forecast_by(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
        by: Reencoding,
    ) -> Result<(Array3<f64>, bool)> {
        if by.every == 0 || steps.iter().all(|n| *n <= by.every) {
            return self.forecast_by_powers(x, steps, truncation);
        }
        let scaled = self.units.scaled(x);
        let blocks = self.spec.delays.blocks();
        let kept = |states: ArrayView2<'_, f64>, _: usize| vec![false; states.nrows()];
        let (ahead, lost) = by.forecast(&self.operator, blocks, scaled.view(), steps, truncation, kept)?;
        if let Some(((n, _), _)) = lost.indexed_iter().find(|(_, lost)| **lost) {
            return Err(Error::ForecastOverflow { steps: steps[n] });
        }
        let ahead = finite(ahead, steps)?;
        let beyond = self.spec.choice.bandwidth
            && self.beyond(scaled.view(), &ahead, steps).iter().any(|beyond| *beyond);
        Ok((self.states(ahead), beyond))
    }

    /// [`forecast`](Self::forecast) in the way selected, but by powers from the step on at which one of its states is further from the
    /// states learned than any expectation of them, and whether there is such a one.
    pub fn forecast_and_judge(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
    ) -> Result<(Array3<f64>, bool)> {
        let by = self.reencoding;
        let is_whole = truncation == Truncation::default();
        if by.every == 0 || !is_whole || steps.iter().all(|n| *n <= by.every) {
            return self.forecast_by_powers(x, steps, truncation);
        }
        let scaled = self.units.scaled(x);
        let is_beyond = |states: ArrayView2<'_, f64>, step: usize| {
            let states = states.to_owned().insert_axis(Axis(0));
            self.beyond(scaled.view(), &states, &[step]).iter().copied().collect()
        };
        let blocks = self.spec.delays.blocks();
        let (ahead, mut lost) =
            by.forecast(&self.operator, blocks, scaled.view(), steps, truncation, is_beyond)?;
        lost.zip_mut_with(&self.beyond(scaled.view(), &ahead, steps), |lost, beyond| *lost |= beyond);
        for ((n, row), lost) in lost.indexed_iter_mut() {
            *lost |= ahead.slice(s![n, row, ..]).iter().any(|value| !value.is_finite());
        }
        // A forecast does not return to states that came from others.
        for mut lost in lost.columns_mut() {
            let first = steps.iter().zip(&lost).filter(|(_, lost)| **lost).map(|(n, _)| *n).min();
            lost.iter_mut().zip(steps).for_each(|(lost, n)| *lost = first.is_some_and(|first| *n >= first));
        }
        let mut out = self.states(ahead);
        let any = lost.iter().any(|lost| *lost);
        let rows: Vec<usize> =
            (0..x.nrows()).filter(|row| lost.column(*row).iter().any(|lost| *lost)).collect();
        if any {
            let (powers, _) = self.forecast_by_powers(x.select(Axis(0), &rows).view(), steps, truncation)?;
            for (i, row) in rows.iter().enumerate() {
                for n in (0..steps.len()).filter(|n| lost[(*n, *row)]) {
                    out.slice_mut(s![n, *row, ..]).assign(&powers.slice(s![n, i, ..]));
                }
            }
        }
        Ok((out, any))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Array3, ArrayView2, Axis, s};

    use super::Reencoding;
    use crate::dynamics::{Dynamics, DynamicsSpec};
    use crate::error::{Error, Result};
    use crate::koopman::Truncation;
    use crate::persist::Persist as _;
    use crate::random::normal;

    /// Trajectories of a van der Pol oscillator in steps of 1/4, each by Runge and Kutta, with noise of this size between
    /// them.
    fn trajectories(count: usize, rows: usize, noise: f64, seed: u64) -> Vec<Array2<f64>> {
        let field = |[x, v]: [f64; 2]| [v, (1.0 - x * x) * v - x];
        let moved = |[x, v]: [f64; 2], [dx, dv]: [f64; 2], by: f64| [x + by * dx, v + by * dv];
        let step = 0.025;
        let one = |k: usize| {
            let draw = |i: usize| normal(seed, (k * (2 * rows + 2) + i) as u64);
            let mut state = [draw(0), draw(1)];
            let mut out = Array2::zeros((rows, 2));
            for (i, mut row) in out.rows_mut().into_iter().enumerate() {
                (row[0], row[1]) = (state[0], state[1]);
                for _ in 0..10 {
                    let a = field(state);
                    let b = field(moved(state, a, 0.5 * step));
                    let c = field(moved(state, b, 0.5 * step));
                    let d = field(moved(state, c, step));
                    for (slope, weight) in [(a, 1.0), (b, 2.0), (c, 2.0), (d, 1.0)] {
                        state = moved(state, slope, weight * step / 6.0);
                    }
                }
                state = [state[0] + noise * draw(2 * i + 2), state[1] + noise * draw(2 * i + 3)];
            }
            out
        };
        (0..count).map(one).collect()
    }

    fn learned(spec: &DynamicsSpec, all: &[Array2<f64>]) -> Result<Dynamics> {
        let mut model = spec.build()?;
        all.iter().try_for_each(|states| model.follow(states.view(), 1, false))?;
        model.flush()?;
        Ok(model)
    }

    const POWERS: Reencoding = Reencoding { every: 0, is_one_delay: false };

    /// Root mean square error of a forecast of 24 steps from the first of the states that suffice.
    fn error(model: &Dynamics, by: Option<Reencoding>, all: &[Array2<f64>]) -> Result<f64> {
        let span = model.spec().delays.span();
        let mut sum = 0.0;
        for states in all {
            let x = model.embed(states.slice(s![..=span, ..]))?;
            let made = match by {
                Some(by) => model.forecast_by(x.view(), &[24], Truncation::default(), by)?.0,
                None => model.forecast(x.view(), &[24], Truncation::default())?,
            };
            let gap = &made.slice(s![0, 0, ..]) - &states.row(span + 24);
            sum += gap.mapv(|value| value * value).sum();
        }
        Ok((sum / all.len() as f64).sqrt())
    }

    #[test]
    fn forecasts_begin_again_without_noise_and_are_powers_with_it() -> Result<()> {
        let (clean, others) = (trajectories(20, 60, 0.0, 1), trajectories(20, 30, 0.0, 2));
        let model = learned(&DynamicsSpec::automatic(), &clean)?;
        assert!((1..=4).contains(&model.reencoding().every), "{:?}", model.reencoding());
        let [own, powers] = [None, Some(POWERS)].map(|by| error(&model, by, &others));
        let (own, powers) = (own?, powers?);
        assert!(own < 0.02 * powers && own < 0.01, "{own} {powers}");
        let noisy = learned(&DynamicsSpec::automatic(), &trajectories(20, 60, 0.3, 1))?;
        assert_eq!(noisy.reencoding().every, 0);
        // Pairs that do not follow each other determine no forecast of several steps.
        let mut pairs = DynamicsSpec::automatic().build()?;
        let rows = |from: usize| -> Array2<f64> {
            let parts: Vec<ArrayView2<'_, f64>> =
                clean.iter().map(|states| states.slice(s![from..from + 59; 2, ..])).collect();
            ndarray::concatenate(Axis(0), &parts).unwrap_or_default()
        };
        pairs.learn(rows(0).view(), rows(1).view())?;
        pairs.flush()?;
        assert_eq!(pairs.reencoding(), Reencoding::default());
        Ok(())
    }

    #[test]
    fn forecasts_are_those_of_a_loop() -> Result<()> {
        let all = trajectories(8, 60, 0.0, 1);
        for delays in [0, 2] {
            let mut spec = DynamicsSpec::automatic();
            spec.delays.count = delays;
            let model = learned(&spec, &all)?;
            for every in [1, 2, 3] {
                let by = Reencoding { every, is_one_delay: true };
                let mut states: Vec<Array2<f64>> =
                    all.iter().map(|states| states.slice(s![..=delays, ..]).to_owned()).collect();
                let mut slow: Vec<Array2<f64>> = Vec::new();
                while slow.len() < 10 {
                    // The states so far, and those after each of the next steps.
                    let x: Vec<Array2<f64>> = states
                        .iter()
                        .map(|states| model.embed(states.slice(s![states.nrows() - delays - 1.., ..])))
                        .collect::<Result<_>>()?;
                    let x: Vec<ArrayView2<'_, f64>> = x.iter().map(|x| x.view()).collect();
                    let x = ndarray::concatenate(Axis(0), &x).unwrap_or_default();
                    let steps: Vec<usize> = (1..=every).collect();
                    let ahead: Array3<f64> =
                        model.forecast_by(x.view(), &steps, Truncation::default(), POWERS)?.0;
                    for made in ahead.outer_iter() {
                        slow.push(made.to_owned());
                        for (states, row) in states.iter_mut().zip(made.rows()) {
                            *states = ndarray::concatenate![Axis(0), *states, row.insert_axis(Axis(0))];
                        }
                    }
                }
                let x = all.iter().map(|states| model.embed(states.slice(s![..=delays, ..])));
                let x: Vec<Array2<f64>> = x.collect::<Result<_>>()?;
                let x: Vec<ArrayView2<'_, f64>> = x.iter().map(|x| x.view()).collect();
                let x = ndarray::concatenate(Axis(0), &x).unwrap_or_default();
                let made = model.forecast_by(x.view(), &[7, 10, 1, 7], Truncation::default(), by)?.0;
                for (i, n) in [7, 10, 1, 7].into_iter().enumerate() {
                    let gap = (&made.index_axis(Axis(0), i) - &slow[n - 1]).mapv(f64::abs);
                    let most = gap.iter().copied().fold(0.0, f64::max);
                    assert!(most < 1e-6, "{delays} {every} {n}: {most}");
                }
            }
        }
        Ok(())
    }

    #[test]
    fn files_and_calls_change_no_forecast() -> Result<()> {
        let all = trajectories(12, 60, 0.0, 1);
        let model = learned(&DynamicsSpec::automatic(), &all)?;
        let (other, _) = Dynamics::from_bytes(&model.to_bytes(serde_json::Value::Null)?)?;
        assert!(model.reencoding().every > 0);
        assert_eq!(model.reencoding(), other.reencoding());
        let ask = |model: &Dynamics| model.forecast(all[0].view(), &[3, 30], Truncation::default());
        assert_eq!(ask(&model)?, ask(&other)?);
        let mut pieces = DynamicsSpec::automatic().build()?;
        for states in &all {
            pieces.follow(states.slice(s![..17, ..]), 1, false)?;
            pieces.follow(states.slice(s![17.., ..]), 1, true)?;
        }
        pieces.flush()?;
        assert_eq!(model.reencoding(), pieces.reencoding());
        assert_eq!(ask(&model)?, ask(&pieces)?);
        Ok(())
    }

    #[test]
    fn forecasts_that_leave_the_states_learned_are_powers_or_an_error() -> Result<()> {
        let all = trajectories(12, 60, 0.0, 1);
        let mut model = learned(&DynamicsSpec::automatic(), &all)?;
        let far = Array2::from_elem((1, 2), 1e3);
        let steps = [2, 40];
        model.reencoding = Reencoding { every: 1, is_one_delay: false };
        let (made, _) = model.forecast_and_judge(far.view(), &steps, Truncation::default())?;
        assert!(made.iter().all(|value| value.is_finite()));
        // A map that doubles the state: no forecast is near the states learned for long.
        let growing = Array2::from_shape_fn((12, 1), |(t, _)| (t as f64).exp2());
        let mut doubling = DynamicsSpec::default();
        doubling.operator.kernel =
            crate::kernel::KernelSpec::Polynomial { degree: 2, scale: None, offset: 1.0 };
        let mut model = learned(&doubling, &[growing])?;
        model.reencoding = Reencoding { every: 1, is_one_delay: false };
        let steps = [3, 30, 20];
        let near = Array2::from_elem((1, 1), 3.0);
        let (made, left) = model.forecast_and_judge(near.view(), &steps, Truncation::default())?;
        let (powers, _) = model.forecast_by_powers(near.view(), &steps, Truncation::default())?;
        assert!(left);
        assert_eq!(made.slice(s![1.., .., ..]), powers.slice(s![1.., .., ..]));
        let last = Array2::from_elem((1, 1), 1e6);
        let by = Reencoding { every: 1, is_one_delay: false };
        let made = model.forecast_by(last.view(), &[100_000], Truncation::default(), by);
        assert!(matches!(made, Err(Error::ForecastOverflow { .. })), "{made:?}");
        assert!(model.forecast_by(last.view(), &[0, 3], Truncation::default(), by).is_err());
        Ok(())
    }
}
