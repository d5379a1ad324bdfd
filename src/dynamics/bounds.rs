//! Forecasts over several steps that leave the states learned.
//!
//! Similarities are bounded, so no expectation of a function of them grows, and no eigenvalue of the
//! true operator is outside the unit circle. Estimates from a short record, or from one that leaves
//! its first states as a ramp does, have some that are, and their powers grow without bound.

use ndarray::{Array2, Array3, ArrayView1, ArrayView2, Axis, s};

use super::Dynamics;
use crate::error::{Error, Result};
use crate::kernel::KernelSpec;
use crate::koopman::{Truncation, finite};

impl Dynamics {
    /// Results (steps, n, p) of `ask` for rows on the operator's scale, and whether the state forecast for any of them
    /// is [beyond](Self::beyond) those learned. Where the bandwidth was selected, these have no eigenvalue outside the
    /// unit circle. `of_states`: the results are states.
    pub(super) fn within(
        &self,
        x: ArrayView2<'_, f64>,
        steps: &[usize],
        truncation: Truncation,
        of_states: bool,
        ask: impl Fn(ArrayView2<'_, f64>, &[usize], Truncation) -> Result<Array3<f64>>,
    ) -> Result<(Array3<f64>, bool)> {
        let mut out = ask(x, steps, truncation)?;
        let is_judged = self.spec.choice.bandwidth && self.operator.n_controls() == 0;
        if !is_judged || steps.iter().all(|n| *n == 1) {
            return Ok((finite(out, steps)?, false));
        }
        let beyond = if of_states {
            self.beyond(x, &out, steps)
        } else {
            self.beyond(x, &self.operator.forecast_unbounded(x, steps, truncation)?, steps)
        };
        let any = beyond.iter().any(|one| *one);
        if any && self.is_bounded() && !truncation.clip {
            let some = |axis: Axis| -> Vec<usize> {
                let lanes = beyond.axis_iter(axis).enumerate();
                lanes.filter(|(_, lane)| lane.iter().any(|one| *one)).map(|(i, _)| i).collect()
            };
            let (late, rows) = (some(Axis(0)), some(Axis(1)));
            let late_steps: Vec<usize> = late.iter().map(|i| steps[*i]).collect();
            let clipped = Truncation { clip: true, ..truncation };
            match ask(x.select(Axis(0), &rows).view(), &late_steps, clipped) {
                Ok(inside) => {
                    for (i, n) in late.iter().enumerate() {
                        for (j, row) in rows.iter().enumerate().filter(|(_, row)| beyond[(*n, **row)]) {
                            out.slice_mut(s![*n, *row, ..]).assign(&inside.slice(s![i, j, ..]));
                        }
                    }
                }
                Err(Error::Interrupted) => return Err(Error::Interrupted),
                // A spectrum that cannot be computed.
                Err(_) => {}
            }
        }
        Ok((finite(out, steps)?, any))
    }

    /// Whether the kernel of states is bounded, or the sum of such a one and an affine kernel, which extrapolates no
    /// better; the other that is selected is linear.
    fn is_bounded(&self) -> bool {
        matches!(self.operator.spec().kernel, KernelSpec::Gaussian { .. } | KernelSpec::Sum { .. })
    }

    /// For each of `steps` and each row of `x`, whether the forecast of the state (steps, n, d with delays), on the
    /// operator's scale, is further from the states learned than any expectation of them: with a Gaussian kernel, twice
    /// as far from their middle as the outermost of them; with a linear one, twice as far as the steps of a line
    /// through the record lead.
    pub(super) fn beyond(
        &self,
        x: ArrayView2<'_, f64>,
        states: &Array3<f64>,
        steps: &[usize],
    ) -> Array2<bool> {
        let (count, rows, all) = states.dim();
        let width = all / self.spec.delays.blocks();
        let (middle, radius, pairs) = if self.is_bounded() {
            let (middle, radius) = ball(self.operator.dictionary().slice(s![.., ..width]));
            (middle, radius, None)
        } else {
            // States of a line have deviations of 1, and are at most the square root of 3 from their mean; the units are
            // those of the first rows, of which a long line is further away, as the rows of the forecast show.
            (vec![0.0; width], (3.0 * width as f64).sqrt(), Some(self.operator.n_seen().max(1) as f64))
        };
        Array2::from_shape_fn((count, rows), |(i, row)| {
            let line = pairs.map_or(1.0, |pairs| 1.0 + 2.0 * steps[i] as f64 / pairs);
            let far = distance(states.slice(s![i, row, ..width]), &middle);
            let radius = match pairs {
                Some(_) => radius.max(distance(x.slice(s![row, ..width]), &middle)),
                None => radius,
            };
            steps[i] > 1 && radius > 0.0 && (far > 2.0 * radius * line || far.is_nan())
        })
    }
}

/// The middle of states (n, d), and the largest distance of one of them from it.
fn ball(states: ArrayView2<'_, f64>) -> (Vec<f64>, f64) {
    let middle: Vec<f64> = states
        .columns()
        .into_iter()
        .map(|column| {
            let ends = column.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(*value), high.max(*value))
            });
            0.5 * (ends.0 + ends.1)
        })
        .collect();
    let radius = states.rows().into_iter().map(|row| distance(row, &middle)).fold(0.0, f64::max);
    (middle, radius)
}

fn distance(state: ArrayView1<'_, f64>, from: &[f64]) -> f64 {
    state.iter().zip(from).map(|(value, middle)| (value - middle).powi(2)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use crate::dynamics::{Dynamics, DynamicsSpec};
    use crate::error::Result;
    use crate::koopman::Truncation;

    /// A model of the first states with everything selected.
    fn learned(record: &Array2<f64>, rows: usize) -> Result<Dynamics> {
        let mut model = DynamicsSpec::automatic().build()?;
        model.follow(record.slice(s![..rows, ..]), 1, false)?;
        model.flush()?;
        Ok(model)
    }

    #[test]
    fn forecasts_of_a_selected_kernel_stay_near_the_states_learned() -> Result<()> {
        let record = Array2::from_shape_fn((20, 1), |(t, _)| (t as f64).powi(2));
        let model = learned(&record, 20)?;
        let last = record.slice(s![19.., ..]);
        let scaled = model.units().scaled(last);
        let powers = model.operator().forecast(scaled.view(), &[1, 60], Truncation::default())?;
        assert!(powers[[1, 0, 0]].abs() > 1e3, "{powers}");
        let (made, beyond) = model.forecast_and_judge(last, &[1, 60], Truncation::default())?;
        assert!(beyond && made[[1, 0, 0]].abs() < 2000.0, "{made}");
        // One step is that of the operator.
        let one = model.units().given(powers);
        assert_eq!(made[[0, 0, 0]].to_bits(), one[[0, 0, 0]].to_bits());
        assert!(!model.forecast_and_judge(last, &[1], Truncation::default())?.1);
        let clipped = Truncation { clip: true, ..Truncation::default() };
        assert_eq!(model.forecast(last, &[60], clipped)?[[0, 0, 0]].to_bits(), made[[1, 0, 0]].to_bits());
        Ok(())
    }

    #[test]
    fn lines_are_continued_by_a_linear_map() -> Result<()> {
        for rows in [20, 60, 300] {
            let record = Array2::from_shape_fn((rows + 60, 1), |(t, _)| 7.0 - 3.0 * t as f64);
            let model = learned(&record, rows)?;
            let last = record.slice(s![rows - 1..rows, ..]);
            let (made, beyond) = model.forecast_and_judge(last, &[60], Truncation::default())?;
            assert!(!beyond && (made[[0, 0, 0]] - record[[rows + 59, 0]]).abs() < 1e-5, "{rows}: {made}");
        }
        Ok(())
    }
}
