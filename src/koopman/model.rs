//! The operator and its learning.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use faer::Mat;
use ndarray::{Array2, ArrayView1, ArrayView2, s};

use super::dictionaries::Dictionaries;
use super::operator::Operator;
use super::replay::Replay;
use super::singular::Singular;
use super::spec::{DictionariesSpec, KoopmanSpec};
use super::spectrum::Spectrum;
use super::sums::Weights;
use crate::basis::NestedFeatures;
use crate::error::{Error, Result, in_range};
use crate::interrupt::check;
use crate::linalg::{BLOCK, Panel, to_array};
use crate::validate::{check_lengths, check_rows, check_weights, check_width, one_row};

/// The last states of a trajectory (with their inputs), as many as are needed to continue it.
#[derive(Clone, Debug)]
pub(super) struct Tail {
    pub states: ndarray::Array2<f64>,
}

/// Learns the Koopman operator from pairs `(x, x+)` in one pass, in memory that depends on the
/// number of stored states alone.
///
/// Two ways to learn, chosen by the specification:
///
/// - **recursive least squares** ([`Ridge`](crate::learner::Ridge)) on one dictionary over both
///   states of every pair: equals batch kernel EDMD on the stored states, no step to choose,
///   `O(m^2)` a pair;
/// - **sparse stochastic gradient** ([`Gradient`](crate::learner::Gradient), Hou et al.), with one
///   dictionary, or two that are filled by the exact test of [`HilbertSchmidt`](super::HilbertSchmidt).
///
/// With `z(x)` the coordinates of a state, the learner's weights predict the coordinates of the
/// next one, and the next state itself as further outputs, so that forecasts need no stored data.
/// The result does not depend on how a stream is split into calls.
///
/// On one ordered trajectory a gradient learner with a constant step is biased towards the latest
/// pairs, and averaging does not correct that: shuffle by a replay buffer and average, or use least
/// squares.
///
/// ```
/// use kernelstream::basis::BasisSpec;
/// use kernelstream::kernel::KernelSpec;
/// use kernelstream::koopman::{DictionariesSpec, KoopmanSpec, Truncation};
/// use kernelstream::learner::{LearnerSpec, RidgeSpec};
/// use ndarray::{Array2, s};
///
/// # fn main() -> kernelstream::Result<()> {
/// // x+ = 0.8 x on an interval: the eigenvalues are the powers of 0.8
/// let x = Array2::from_shape_fn((400, 1), |(i, _)| (i as f64 * 0.618).fract() * 2.0 - 1.0);
/// let mut model = KoopmanSpec {
///     kernel: KernelSpec::Gaussian { bandwidth: Some(1.0) },
///     dictionaries: DictionariesSpec::Shared(BasisSpec::ald(1e-6)),
///     learner: LearnerSpec::Ridge(RidgeSpec { regularization: 1e-6, ..RidgeSpec::default() }),
///     ..KoopmanSpec::default()
/// }
/// .build()?;
/// model.learn(x.view(), (&x * 0.8).view())?;
///
/// let spectrum = model.spectrum()?;
/// assert!((spectrum.values()[0].re - 1.0).abs() < 0.01);
/// assert!((spectrum.values()[1].re - 0.8).abs() < 0.01);
/// let ahead = model.forecast(x.slice(s![..1, ..]), &[3], Truncation::default())?;
/// assert!((ahead[[0, 0, 0]] - 0.512 * x[[0, 0]]).abs() < 0.01);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Koopman {
    pub(super) spec: KoopmanSpec,
    pub(super) operator: Operator,
    /// `None` until the width is known.
    pub(super) dictionaries: Option<Dictionaries>,
    pub(super) replay: Option<Replay>,
    pub(super) n_seen: u64,
    /// End of the trajectory of the latest call, if it was one.
    pub(super) tail: Option<Tail>,
    /// Scratch: the current pairs, one after the other.
    pairs: Vec<f64>,
    pub(super) derived: Derived,
}

/// Cache of quantities derived from the operator.
#[derive(Clone, Debug, Default)]
pub(super) struct Derived {
    pub matrix: OnceLock<Arc<Mat<f64>>>,
    pub spectrum: OnceLock<Arc<Spectrum>>,
    pub singular: OnceLock<Arc<Singular>>,
    /// Weights of limited rank.
    pub reduced: OnceLock<Panel>,
    /// Coordinates (next, stored) of the stored states in the dictionary of next states, for a system with
    /// inputs.
    pub between: OnceLock<Arc<Mat<f64>>>,
}

/// The value of a cell, made if there is none: not within the cell, for which threads that make it might wait.
pub(super) fn kept<T>(cell: &OnceLock<T>, make: impl FnOnce() -> Result<T>) -> Result<&T> {
    if let Some(known) = cell.get() {
        return Ok(known);
    }
    let new = make()?;
    Ok(cell.get_or_init(|| new))
}

/// Heaviest pair: rounding makes learners fail on heavier ones that otherwise never do.
const HEAVIEST: f64 = 100.0;

impl std::fmt::Debug for Koopman {
    /// Its sizes, not its arrays.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Koopman")
            .field("n_seen", &self.n_seen())
            .field("n_features", &self.n_features())
            .field("n_controls", &self.n_controls())
            .field("n_stored", &self.n_stored())
            .finish_non_exhaustive()
    }
}

impl Koopman {
    /// Initial state, with all parameters validated.
    pub fn new(spec: KoopmanSpec) -> Result<Self> {
        if let Some(control) = &spec.control {
            control.check()?;
        }
        // Builds the dictionaries once to check them.
        Dictionaries::new(&spec.dictionaries, &spec.kernel, spec.control.as_ref(), 1)?;
        let operator = Operator::new(&spec.learner, spec.blocks())?;
        spec.check_rank(!operator.descends())?;
        if spec.control.is_some() || spec.replay.is_some() {
            let n_blocks = spec.n_blocks;
            in_range("n_blocks", n_blocks, n_blocks == 0, "0 with control inputs or a replay buffer")?;
        }
        if !matches!(spec.dictionaries, DictionariesSpec::Shared(_)) && !operator.descends() {
            return Err(Error::InvalidParameter {
                name: "learner",
                value: format!("{:?}", spec.learner),
                requirement: "gradient where pairs are admitted by the loss of a gradient step",
            });
        }
        let replay = spec.replay.clone().map(Replay::new).transpose()?;
        let spec = KoopmanSpec { learner: operator.spec(), ..spec };
        Ok(Self {
            spec,
            operator,
            dictionaries: None,
            replay,
            n_seen: 0,
            tail: None,
            pairs: Vec::new(),
            derived: Derived::default(),
        })
    }

    /// The specification of this operator.
    #[must_use]
    pub fn spec(&self) -> &KoopmanSpec {
        &self.spec
    }

    /// Pairs so far, including those in the replay buffer.
    #[must_use]
    pub fn n_seen(&self) -> u64 {
        self.n_seen
    }

    /// Pairs in the replay buffer.
    #[must_use]
    pub fn n_pending(&self) -> usize {
        self.replay.as_ref().map_or(0, Replay::len)
    }

    /// Features of a state; `None` before the first pair.
    #[must_use]
    pub fn n_features(&self) -> Option<usize> {
        self.dictionaries.as_ref().map(Dictionaries::width)
    }

    /// Numbers of an input; 0 for an autonomous system.
    #[must_use]
    pub fn n_controls(&self) -> usize {
        self.spec.control.as_ref().map_or(0, |control| control.width)
    }

    /// An untrained operator with this specification.
    pub(super) fn unlearned(&self) -> Result<Self> {
        Self::new(self.spec.clone())
    }

    /// Numbers of a pair: a state, its input, and the next state.
    fn pair_width(&self) -> Option<usize> {
        self.n_features().map(|width| 2 * width + self.n_controls())
    }

    /// Numbers of stored states and of stored next states; equal if the dictionary is shared.
    #[must_use]
    pub fn n_stored(&self) -> (usize, usize) {
        self.dictionaries.as_ref().map_or((0, 0), Dictionaries::sizes)
    }

    /// The stored states, one per row, each followed by its input.
    #[must_use]
    pub fn dictionary(&self) -> Array2<f64> {
        self.points(Dictionaries::dictionary)
    }

    /// The stored next states, one per row: those of the conditional mean embedding.
    #[must_use]
    pub fn dictionary_next(&self) -> Array2<f64> {
        self.points(Dictionaries::dictionary_next)
    }

    /// Largest similarity of each stored state to another, relative to its similarity to itself; 0
    /// if all others are orthogonal. O(m^2 d).
    pub fn likeness(&self) -> Result<Vec<f64>> {
        let Some(dictionaries) = &self.dictionaries else { return Ok(Vec::new()) };
        let features = dictionaries.dictionary();
        let (kernel, points) = (features.kernel(), features.points());
        let own: Vec<f64> = (0..points.len()).map(|i| kernel.diag(points.point(i)).abs().sqrt()).collect();
        let mut row = vec![0.0; points.len()];
        (0..points.len())
            .map(|i| {
                check()?;
                kernel.similarities(points, points.point(i), &mut row);
                let alike = |j: usize| row[j].abs() / (own[i] * own[j]);
                Ok((0..row.len()).filter(|j| *j != i).map(alike).fold(0.0, f64::max))
            })
            .collect()
    }

    fn points(&self, of: fn(&Dictionaries) -> &NestedFeatures) -> Array2<f64> {
        let points = |dictionaries| of(dictionaries).points().panel().to_array();
        self.dictionaries.as_ref().map_or_else(|| Array2::zeros((0, 0)), points)
    }

    /// The operator `C` in coordinates (next, stored): `E[s(x+) | x] = C z(x)`.
    pub fn coordinates(&self) -> Result<Array2<f64>> {
        let Some(dictionaries) = &self.dictionaries else { return Ok(Array2::zeros((0, 0))) };
        Ok(to_array(self.coordinate_weights(dictionaries)?.transpose()))
    }

    /// Learns pairs: row `i` of `next` (n, d) is the state that followed row `i` of `x` (n, d).
    ///
    /// With [inputs](super::ControlSpec) of `k` numbers, a row of `x` (n, d + k) is a state followed by the
    /// input that acted on it. So it is in all that is computed for rows `x`.
    ///
    /// All rows are checked before the first is learned. On an error the model is as before.
    pub fn learn(&mut self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Result<()> {
        self.learn_while(x, next, |_| true).map(|_| ())
    }

    /// [`learn`](Self::learn) with a callback: before each block of pairs `should_continue` gets the number
    /// of pairs done, and returns whether to continue; a later call with the other pairs then gives
    /// the same model as one call, to the bit. Returns how many pairs were learned.
    pub fn learn_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        should_continue: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.learn_weighted_while(x, next, None, should_continue)
    }

    /// [`learn_while`](Self::learn_while) of pairs that count as often as their weights say, above 0 and at
    /// most 100: for pairs of a biased sample. For least squares without a replay buffer.
    pub fn learn_weighted_while(
        &mut self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
        weights: Option<ArrayView1<'_, f64>>,
        mut should_continue: impl FnMut(usize) -> bool,
    ) -> Result<usize> {
        self.check_pairs(x, next)?;
        self.check_weights(x, weights)?;
        if x.nrows() == 0 {
            return Ok(0);
        }
        self.tail = None;
        let pair = |i, pairs: &mut Vec<f64>| {
            pairs.extend(x.row(i));
            pairs.extend(next.row(i));
        };
        let weights = weights.map(|weights| weights.to_vec());
        let width = x.ncols() - self.n_controls();
        let learned = self.take_in(x.nrows(), width, pair, weights.as_deref(), &mut should_continue)?;
        self.tail = None;
        Ok(learned)
    }

    /// Learns `n` validated pairs of states of this width, which `pair` appends to a list on
    /// request; like [`learn_while`](Self::learn_while).
    pub(super) fn take_in(
        &mut self,
        n: usize,
        width: usize,
        pair: impl Fn(usize, &mut Vec<f64>),
        weights: Weights<'_>,
        should_continue: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        let before = self.snapshot(n);
        self.begin(width)?;
        let mut pairs = std::mem::take(&mut self.pairs);
        let mut done = 0;
        // Pairs left by an interrupt come first.
        let mut result = self.drain(&mut || should_continue(0));
        while done < n && matches!(result, Ok(true)) && should_continue(done) {
            let at_once = if self.replay.is_some() { 1 } else { self.block_size() };
            let end = n.min(done + at_once);
            pairs.clear();
            (done..end).for_each(|i| pair(i, &mut pairs));
            let weights = weights.map(|all| &all[done..end]);
            result = self
                .receive(&pairs, weights, &mut || should_continue(end))
                .map_err(|error| error.shifted(done));
            done = end;
        }
        self.pairs = pairs;
        result.inspect_err(|_| self.restore(before))?;
        Ok(done)
    }

    /// Learns one pair, with validation.
    pub fn learn_one(&mut self, x: &[f64], next: &[f64]) -> Result<()> {
        self.learn(one_row(x), one_row(next))
    }

    /// Learns the pairs in the replay buffer.
    pub fn flush(&mut self) -> Result<()> {
        self.flush_while(|| true).map(|_| ())
    }

    /// [`flush`](Self::flush) that stops between blocks of pairs when `should_continue` returns false;
    /// returns whether it is complete. If not, the next learning call continues it, with the same
    /// result.
    pub fn flush_while(&mut self, mut should_continue: impl FnMut() -> bool) -> Result<bool> {
        let before = self.snapshot(usize::MAX / 2);
        self.derived = Derived::default();
        if let Some(replay) = &mut self.replay {
            replay.open();
        }
        self.drain(&mut should_continue).inspect_err(|_| self.restore(before))
    }

    /// Whether an interrupted replay buffer is still being emptied.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.replay.as_ref().is_some_and(Replay::is_open)
    }

    /// How many pairs to process at once: a block, if blocks are faster.
    fn block_size(&self) -> usize {
        let large = self.n_stored().0 >= self.operator.blocks_from();
        // Also for many points: rounds of a longer block take longer, since each has as many targets as points.
        if large && self.operator.learns_blocks() { BLOCK } else { 1 }
    }

    /// Processes consecutive pairs `x, x+`, or a single one with a replay buffer; returns whether
    /// all pairs that the buffer released have been learned.
    fn receive(
        &mut self,
        pairs: &[f64],
        weights: Weights<'_>,
        should_continue: &mut dyn FnMut() -> bool,
    ) -> Result<bool> {
        if let Some(replay) = &mut self.replay {
            replay.push(pairs);
            self.n_seen += 1;
            return self.drain(should_continue);
        }
        self.learn_pairs(pairs, weights)?;
        self.n_seen += (pairs.len() / self.pair_width().unwrap_or(1)) as u64;
        Ok(true)
    }

    /// Learns the pairs that the replay buffer releases, if any; returns whether that is complete.
    fn drain(&mut self, should_continue: &mut dyn FnMut() -> bool) -> Result<bool> {
        let Some(mut replay) = self.replay.take() else { return Ok(true) };
        let mut result = Ok(true);
        while matches!(result, Ok(true)) && replay.is_open() {
            if !should_continue() {
                result = Ok(false);
            } else if replay.shuffle(self.block_size()) {
                let learned = self.learn_pairs(replay.shuffled(), None).map_err(|error| match error {
                    // With shuffled pairs, an error names the pair that filled the buffer.
                    Error::Diverged { .. } => Error::Diverged { row: 0 },
                    other => other,
                });
                result = learned.map(|()| true);
            }
        }
        self.replay = Some(replay);
        result
    }

    /// Fixes the width at the first pair; from here on the operator changes.
    fn begin(&mut self, width: usize) -> Result<()> {
        if self.dictionaries.is_none() {
            let KoopmanSpec { kernel, dictionaries, control, .. } = &self.spec;
            self.dictionaries = Some(Dictionaries::new(dictionaries, kernel, control.as_ref(), width)?);
            self.operator.grow(0, width);
        }
        self.derived = Derived::default();
        Ok(())
    }

    /// Rounds with consecutive pairs `x, x+`.
    fn learn_pairs(&mut self, pairs: &[f64], weights: Weights<'_>) -> Result<()> {
        match &mut self.dictionaries {
            Some(dictionaries) => dictionaries.learn(&mut self.operator, pairs, weights),
            None => Ok(()),
        }
    }

    /// State for the rollback of a call of `n` pairs. A single round rolls itself back, and least
    /// squares cannot fail on validated pairs unless their similarities are unbounded.
    fn snapshot(&self, n: usize) -> Option<Self> {
        let several = n > 1 || self.dictionaries.is_none();
        let rounds = match &self.replay {
            Some(replay) => replay.fills_with(n) || self.dictionaries.is_none(),
            None => several,
        };
        (rounds && self.can_diverge()).then(|| self.clone())
    }

    fn restore(&mut self, before: Option<Self>) {
        if let Some(before) = before {
            *self = before;
        }
    }

    /// Whether learning can fail on pairs that pass [`check_pairs`](Self::check_pairs).
    #[must_use]
    pub fn can_diverge(&self) -> bool {
        let control = self.spec.control.as_ref();
        let steep = self.spec.kernel.is_steep() || control.is_some_and(|control| control.kernel.is_steep());
        self.operator.can_diverge() || steep
    }

    /// Refuses invalid pairs, naming the row. Changes nothing.
    pub fn check_pairs(&self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Result<()> {
        check_lengths(x, "X_next", next)?;
        self.check_joint("X", x)?;
        self.check_states("X_next", next, Some(x.ncols() - self.n_controls()))
    }

    /// Refuses weights of pairs that are not all positive, or that this learner cannot use.
    pub fn check_weights(&self, x: ArrayView2<'_, f64>, weights: Option<ArrayView1<'_, f64>>) -> Result<()> {
        let Some(given) = weights else { return Ok(()) };
        check_weights(x, weights)?;
        let refuse =
            |value: String, requirement| Error::InvalidParameter { name: "weights", value, requirement };
        if self.operator.descends() || self.replay.is_some() {
            let requirement = "None for gradient descent and with a replay buffer; take ridge";
            return Err(refuse("given".to_owned(), requirement));
        }
        match given.iter().position(|weight| !(0.0 < *weight && *weight <= HEAVIEST)) {
            Some(row) => Err(refuse(
                format!("{} at row {row}", given[row]),
                "above 0 and at most 100; leave out pairs of weight 0, and divide by a common factor",
            )),
            None => Ok(()),
        }
    }

    /// Refuses rows that are not states of this width, if it is known.
    pub(super) fn check_states(
        &self,
        what: &'static str,
        rows: ArrayView2<'_, f64>,
        width: Option<usize>,
    ) -> Result<()> {
        check_width(what, width, rows.ncols())?;
        let kernel = match &self.dictionaries {
            Some(dictionaries) => Cow::Borrowed(dictionaries.dictionary_next().kernel()),
            None => Cow::Owned(self.spec.kernel.resolve(rows.ncols())?),
        };
        check_rows(&kernel, what, rows)
    }

    /// Refuses rows that are not states followed by inputs.
    pub(crate) fn check_joint(&self, what: &'static str, rows: ArrayView2<'_, f64>) -> Result<()> {
        let Some(control) = &self.spec.control else {
            return self.check_states(what, rows, self.n_features());
        };
        let expected = match self.n_features() {
            Some(width) => Some(width + control.width),
            // At least one column belongs to the state.
            None => (rows.ncols() <= control.width).then_some(1 + control.width),
        };
        check_width(what, expected, rows.ncols())?;
        let width = rows.ncols() - control.width;
        self.check_states(what, rows.slice(s![.., ..width]), self.n_features())?;
        check_rows(&control.kernel.resolve(control.width)?, "inputs", rows.slice(s![.., width..]))?;
        match &self.dictionaries {
            Some(dictionaries) => check_rows(dictionaries.dictionary().kernel(), what, rows),
            None => check_rows(&control.joint(&self.spec.kernel).resolve(rows.ncols())?, what, rows),
        }
    }

    /// The dictionaries, after validating rows `x` against them.
    pub(super) fn ready(&self, what: &'static str, x: ArrayView2<'_, f64>) -> Result<&Dictionaries> {
        let dictionaries = self.dictionaries.as_ref().ok_or(Error::NothingLearned)?;
        self.check_joint(what, x)?;
        Ok(dictionaries)
    }
}

impl KoopmanSpec {
    /// Initial state, with all parameters validated.
    pub fn build(&self) -> Result<Koopman> {
        Koopman::new(self.clone())
    }
}
