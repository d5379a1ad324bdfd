//! Experts that choose themselves: transforms, kernels, metrics, bandwidths and regularizations are found in the
//! stream, and anew when it has grown or changed.
//!
//! A bounded buffer of rows is kept. When the rows since the last change have become 12, 36, 108, 324, ...,
//! a race on it finds the settings that predict best, and a new generation of members begins with
//! the best few: some with one dictionary, some with several that share the space, three that forget. They learn
//! the buffer, then the stream beside the generation before, whose members leave as the mixture stops believing them.
//! Where errors rise or columns leave their ranges, a generation begins at once, of the latest rows.

mod buffer;
mod drift;
mod file;
mod generation;
mod lens;
mod member;
mod race;
mod spec;
#[cfg(test)]
mod tests;

use ndarray::{Array1, Array2, Array3, ArrayView1, ArrayView2, ArrayViewMut2, Axis, s};

pub(crate) use file::KIND;
pub use member::MemberReport;
pub use spec::AdaptiveSpec;

use super::mixture::Mixture;
use crate::error::{Error, Result};
use crate::linalg::with_scratch;
use crate::model::Model;
use crate::threads::for_each_block;
use crate::validate::{check_finite, check_lengths, check_targets, check_weights, check_width, one_row};
use buffer::Buffer;
use drift::Drift;
use member::Member;

/// Experts that choose themselves.
///
/// Raw rows of any units are taken; nothing has to be set. Each row is predicted before it is learned, and any way of
/// cutting a stream into calls gives the same model. Between generations a row costs what the members cost, some
/// `8 m^2` operations for each of five with `m` points in a cell; a generation costs about as much as 5,000 rows do.
/// Memory is that of two generations: at 300 points a cell and 20 columns at most some 160 MB.
///
/// Within a generation the mixture's regret to each member is bounded as [`MixtureSpec`](super::MixtureSpec) says;
/// a new generation begins it anew, so that over the stream the bounds add up.
///
/// ```
/// use kernelstream::experts::adaptive::AdaptiveSpec;
/// use kernelstream::model::Model as _;
/// use ndarray::{Array2, s};
///
/// # fn main() -> kernelstream::Result<()> {
/// // Of three columns in different units the last says nothing.
/// let x = Array2::from_shape_fn((1500, 3), |(i, k)| (i as f64 * [0.618, 0.414, 0.732][k]).fract() * [1.0, 1e6, 3.0][k]);
/// let y = x.map_axis(ndarray::Axis(1), |x| (6.0 * x[0]).sin() + x[1] / 1e6).insert_axis(ndarray::Axis(1));
/// let mut model = AdaptiveSpec::default().build()?;
/// let predictions = model.learn_and_predict(x.view(), y.view())?;
/// let late = s![1100.., ..];
/// assert!((&predictions - &y).slice(late).iter().all(|error| error.abs() < 0.2));
/// assert!(model.importances()?[2] < 0.05);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct AdaptiveExperts {
    spec: AdaptiveSpec,
    n_seen: u64,
    /// `None` before the first row.
    state: Option<State>,
}

/// What rows change.
#[derive(Clone, Debug)]
struct State {
    buffer: Buffer,
    /// Mean and mean absolute deviation of the targets, and the sum of their weights.
    mean: Vec<f64>,
    deviation: Vec<f64>,
    total: f64,
    members: Vec<Member>,
    /// One an output.
    mixtures: Vec<Mixture>,
    drift: Drift,
    /// Generations so far, and the row at which the latest began.
    generations: u64,
    began: u64,
}

impl AdaptiveExperts {
    pub(super) fn new(spec: AdaptiveSpec) -> Self {
        Self { spec, n_seen: 0, state: None }
    }

    /// Its parameters.
    #[must_use]
    pub fn spec(&self) -> &AdaptiveSpec {
        &self.spec
    }

    /// What its members are, in the order of the mixture's weights.
    #[must_use]
    pub fn members(&self) -> Vec<MemberReport> {
        self.state.iter().flat_map(|state| &state.members).map(Member::report).collect()
    }

    /// How many generations there have been.
    #[must_use]
    pub fn n_generations(&self) -> u64 {
        self.state.as_ref().map_or(0, |state| state.generations)
    }

    fn known(&self) -> Result<&State> {
        self.state.as_ref().ok_or(Error::NothingLearned)
    }

    fn check_x(&self, x: ArrayView2<'_, f64>) -> Result<()> {
        check_width("X", self.n_features(), x.ncols())?;
        check_finite("X", x)
    }
}

impl State {
    fn new(features: usize, outputs: usize) -> Self {
        Self {
            buffer: Buffer::new(features, outputs),
            mean: vec![0.0; outputs],
            deviation: vec![0.0; outputs],
            total: 0.0,
            members: Vec::new(),
            mixtures: Vec::new(),
            drift: Drift::default(),
            generations: 0,
            began: 0,
        }
    }

    fn outputs(&self) -> usize {
        self.mean.len()
    }

    /// Learns rows that have been checked, all of one block.
    fn learn_part(
        &mut self,
        first: u64,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut predictions: Option<ArrayViewMut2<'_, f64>>,
    ) {
        let made = learn(&mut self.members, &mut self.mixtures, x, y, weights);
        let mut row = vec![0.0; self.members.len()];
        for (i, (x, y)) in x.rows().into_iter().zip(y.rows()).enumerate() {
            let weight = weights.map_or(1.0, |weights| weights[i]);
            let mut error = 0.0;
            for (c, target) in y.iter().enumerate() {
                row.iter_mut().zip(&made).for_each(|(to, made)| *to = made[(i, c)]);
                let mixed = match self.mixtures.get_mut(c) {
                    Some(mixture) => mixture.learn(&row, *target, weight),
                    None => self.mean[c],
                };
                if let Some(predictions) = &mut predictions {
                    predictions[(i, c)] = mixed;
                }
                if self.deviation[c] > 0.0 {
                    error += (mixed - target).abs() / self.deviation[c] / self.outputs() as f64;
                }
            }
            // Of rows that do not count nothing is learned.
            if weight > 0.0 {
                self.drift.add(error, self.members.last().is_some_and(|member| member.is_beyond(x)));
                self.meet(y, weight);
            }
            self.buffer.add(first + i as u64, x, y, weight);
        }
    }

    /// Mean and deviation of the targets with one more.
    fn meet(&mut self, y: ArrayView1<'_, f64>, weight: f64) {
        self.total += weight;
        let share = weight / self.total;
        for ((mean, deviation), y) in self.mean.iter_mut().zip(&mut self.deviation).zip(y) {
            *mean += share * (y - *mean);
            *deviation += share * ((y - *mean).abs() - *deviation);
        }
    }

    /// Gradients of the predictions (n, outputs, d).
    fn gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        let mut out = Array3::zeros((x.nrows(), self.outputs(), x.ncols()));
        for (e, member) in self.members.iter().enumerate().filter(|(e, _)| self.counts(*e)) {
            let gradient = member.gradient(x, self.outputs())?;
            for c in 0..self.outputs() {
                let from = gradient.index_axis(Axis(1), c);
                out.index_axis_mut(Axis(1), c).scaled_add(self.weight(e, c), &from);
            }
        }
        Ok(out)
    }

    /// The share of a member in the prediction of an output.
    fn weight(&self, member: usize, output: usize) -> f64 {
        self.mixtures[output].weights()[member]
    }

    /// Whether a prediction depends on this member at all.
    fn counts(&self, member: usize) -> bool {
        (0..self.outputs()).any(|c| self.weight(member, c) > 0.0)
    }
}

/// Members that learn rows side by side: what each predicted before. One that fails leaves.
fn learn(
    members: &mut Vec<Member>,
    mixtures: &mut [Mixture],
    x: ArrayView2<'_, f64>,
    y: ArrayView2<'_, f64>,
    weights: Option<ArrayView1<'_, f64>>,
) -> Vec<Array2<f64>> {
    let mut made: Vec<Array2<f64>> = members.iter().map(|_| Array2::zeros(y.raw_dim())).collect();
    let mut sound = vec![true; members.len()];
    for_each_block(members.iter_mut().zip(&mut made).zip(&mut sound), |((member, made), sound)| {
        *sound = member.learn(x, y, weights, made.view_mut()).is_ok();
    });
    if sound.contains(&false) {
        let kept: Vec<usize> = (0..sound.len()).filter(|j| sound[*j]).collect();
        let mut number = 0..sound.len();
        members.retain(|_| number.next().is_some_and(|j| sound[j]));
        made = kept.iter().map(|j| std::mem::take(&mut made[*j])).collect();
        for mixture in mixtures {
            mixture.retain(&kept);
        }
    }
    made
}

impl Model for AdaptiveExperts {
    fn check(
        &self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        check_lengths(x, "y", y)?;
        check_weights(x, weights)?;
        self.check_x(x)?;
        check_targets(self.n_outputs(), y)
    }

    /// A member that refuses a row leaves; the others go on.
    fn can_refuse(&self, _weights: Option<ArrayView1<'_, f64>>) -> bool {
        false
    }

    fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut predictions: Option<ArrayViewMut2<'_, f64>>,
        go_on: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check(x, y, weights)?;
        let mut done = 0;
        while done < x.nrows() && go_on(done) {
            let state = self.state.get_or_insert_with(|| State::new(x.ncols(), y.ncols()));
            let end = x.nrows().min(done + state.rows_to_turn(self.n_seen));
            let rows = s![done..end, ..];
            let part = predictions.as_mut().map(|all| all.slice_mut(rows));
            let weights = weights.map(|weights| weights.slice_move(s![done..end]));
            state.learn_part(self.n_seen, x.slice(rows), y.slice(rows), weights, part);
            self.n_seen += (end - done) as u64;
            state.turn(self.n_seen, &self.spec);
            done = end;
        }
        Ok(done)
    }

    fn learn_one(&mut self, x: &[f64], y: &[f64]) -> Result<()> {
        self.learn_while(one_row(x), one_row(y), None, None, &mut |_| true).map(|_| ())
    }

    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let state = self.known()?;
        self.check_x(x)?;
        let mut out = Array2::zeros((x.nrows(), state.outputs()));
        if state.members.is_empty() {
            out.rows_mut().into_iter().for_each(|mut row| row.assign(&ArrayView1::from(&state.mean)));
        }
        for (e, member) in state.members.iter().enumerate().filter(|(e, _)| state.counts(*e)) {
            let made = member.predict(x, state.outputs())?;
            for (c, mut out) in out.columns_mut().into_iter().enumerate() {
                out.scaled_add(state.weight(e, c), &made.column(c));
            }
        }
        Ok(out)
    }

    fn predict_one_into(&self, x: &[f64], out: &mut [f64]) -> Result<()> {
        let state = self.known()?;
        check_width("out", Some(state.outputs()), out.len())?;
        self.check_x(one_row(x))?;
        if state.members.is_empty() {
            out.copy_from_slice(&state.mean);
            return Ok(());
        }
        with_scratch(|scratch| {
            out.fill(0.0);
            let (made, _) = scratch.prepare(out.len());
            let made = &mut made[..out.len()];
            for (e, member) in state.members.iter().enumerate().filter(|(e, _)| state.counts(*e)) {
                member.predict_one_into(x, made)?;
                out.iter_mut()
                    .zip(&*made)
                    .enumerate()
                    .for_each(|(c, (to, made))| *to += state.weight(e, c) * made);
            }
            Ok(())
        })
    }

    fn gradient(&self, x: ArrayView2<'_, f64>) -> Result<Array3<f64>> {
        let state = self.known()?;
        self.check_x(x)?;
        state.gradient(x)
    }

    /// At rows of the buffer, spread over it.
    fn importances(&self) -> Result<Array1<f64>> {
        let x = self.known()?.buffer.sample().x;
        let count = x.nrows().min(500);
        let rows: Vec<usize> = (0..count).map(|i| i * x.nrows() / count).collect();
        self.importances_at(x.select(Axis(0), &rows).view())
    }

    /// The predictions of the members, one beside the other (n, members x outputs).
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        let state = self.known()?;
        self.check_x(x)?;
        let outputs = state.outputs();
        let mut out = Array2::zeros((x.nrows(), state.members.len() * outputs));
        for (e, member) in state.members.iter().enumerate() {
            out.slice_mut(s![.., e * outputs..(e + 1) * outputs]).assign(&member.predict(x, outputs)?);
        }
        Ok(out)
    }

    /// The stored points of all members, one after the other, as these compare them: transformed and mapped.
    fn dictionary(&self) -> Array2<f64> {
        let mut out = Array2::zeros((self.n_stored(), self.n_features().unwrap_or(0)));
        let mut first = 0;
        let dictionaries = self.state.iter().flat_map(|state| &state.members).flat_map(Member::dictionaries);
        for points in dictionaries.filter(|points| !points.is_empty()) {
            out.slice_mut(s![first..first + points.nrows(), ..]).assign(&points);
            first += points.nrows();
        }
        out
    }

    fn n_seen(&self) -> u64 {
        self.n_seen
    }

    fn n_stored(&self) -> usize {
        self.state.iter().flat_map(|state| &state.members).map(Member::n_stored).sum()
    }

    fn mixture(&self) -> Option<Array2<f64>> {
        let state = self.state.as_ref()?;
        let shape = (state.outputs(), state.members.len());
        Some(Array2::from_shape_fn(shape, |(c, e)| state.weight(e, c)))
    }

    fn n_features(&self) -> Option<usize> {
        self.state.as_ref().map(|state| state.buffer.n_features())
    }

    fn n_outputs(&self) -> Option<usize> {
        self.state.as_ref().map(State::outputs)
    }
}
