//! Dynamics from raw states.
//!
//! A [`Koopman`] takes states as they are, with a kernel whose length scale is in their units. A
//! [`Dynamics`] wraps one: it centres and scales states, selects the bandwidth and the
//! regularization by the first of them, appends delays for partially observed systems, and returns
//! forecasts in the user's units. Everything is learned, saved and used together with the operator.
//!
//! Folders hold parts that do not depend on [`Dynamics`]; the files beside them are its methods, and call these. In the order in
//! which they are read:
//!
//! | files | contents |
//! |---|---|
//! | `spec`, `params` | the specification, and its numbers |
//! | `states/` | states as the operator takes them: scale, delays, outliers, constant inputs |
//! | `learning` | pairs, and the warm-up, which calls `selection/` |
//! | `selection/` | scale, bandwidth, regularization and way of forecasting by the first pairs |
//! | `trajectory` | states in order: without horizons as pairs for `learning`, with horizons one by one in `joint_forecasts` |
//! | `queries`, `reencoding`, `bounds` | queries of the operator; forecasts over several steps; forecasts that leave the states learned |
//! | `judging` | which forecasts are compared with their targets |
//! | `joint_forecasts`, `joint/` | forecasts of all components together: a row of a trajectory, and its queries |
//! | `spike_replacement` | outliers in these rows |
//! | `component_forecasts`, `candidates/` | forecasts of single components, one of whose candidates is the mixture of `joint/` |
//! | `driven` | rows and forecasts with inputs, in the place of `joint_forecasts` |
//! | `file`, `merge` | the model in a file, and models in one |

mod bounds;
mod candidates;
mod component_forecasts;
mod driven;
mod file;
mod joint;
mod joint_forecasts;
mod judging;
mod learning;
mod merge;
mod params;
mod queries;
mod reencoding;
mod selection;
mod spec;
mod spike_replacement;
mod states;
mod trajectory;

use ndarray::{Array2, ArrayView2};

pub use candidates::{CANDIDATES, find_periods};
pub use joint::FORECASTS;
pub use params::{DynamicsParams, ModeParams, OperatorSelectionParams, RestParams, SpikeParams};
pub use reencoding::Reencoding;
pub use spec::{ChoiceSpec, DelaysSpec, DynamicsSpec};
pub use states::units::Units;

use crate::error::{Error, Result, in_range};
use crate::koopman::{Koopman, KoopmanSpec};
use crate::online::warm_up::WarmUp;
use crate::persist::check_params;
use candidates::Candidates;
use component_forecasts::check_calendar;
use driven::Driven;
use joint::JointForecaster;
use spike_replacement::Unconfirmed;
use states::pair_outliers::PairOutliers;
use states::spikes::Spikes;

/// The Koopman operator of a system, from raw states.
///
/// The first pairs are a warm-up: scale and [selected parameters](ChoiceSpec) are determined by the
/// pairs so far at the 2nd, 4th, 8th, ... of them and at the last, and these pairs, which are
/// stored until then, are relearned. Afterwards they are fixed. So the operator can be queried
/// after every pair, the result does not depend on how the stream is split into calls, and queries
/// change nothing.
///
/// ```
/// use kernelstream::dynamics::DynamicsSpec;
/// use ndarray::{Array2, s};
///
/// # fn main() -> kernelstream::Result<()> {
/// // A temperature in Kelvin, seen alone: it oscillates, so that its next value depends on two.
/// let x = Array2::from_shape_fn((600, 1), |(t, _)| 280.0 + 5.0 * (t as f64 * 0.3).sin());
/// let mut spec = DynamicsSpec::automatic();
/// spec.delays.count = 1;
/// let mut model = spec.build()?;
/// model.follow(x.slice(s![..500, ..]), 1, false)?;
///
/// let windows = model.embed(x.slice(s![498..500, ..]))?;
/// let ahead = model.forecast(windows.view(), &[10], Default::default())?;
/// assert!((ahead[[0, 0, 0]] - x[[509, 0]]).abs() < 0.5);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Dynamics {
    spec: DynamicsSpec,
    operator: Koopman,
    units: Units,
    reencoding: Reencoding,
    /// `None` after the warm-up, or if it has nothing to determine.
    warm_up: Option<WarmUp<()>>,
    /// Pairs with outlying states, which are left out where states are scaled, except by a forecaster.
    outliers: Option<PairOutliers>,
    /// Isolated outliers, which a forecaster replaces.
    spikes: Spikes,
    /// The model from before rows with outliers that may be a new level.
    unconfirmed: Option<Box<Unconfirmed>>,
    /// Rows between the trajectory so far and the next one. Not saved.
    missing: usize,
    /// End of the trajectory of the latest call, if it was one, in the user's units.
    tail: Option<Array2<f64>>,
    /// Mixtures of forecasts, if there are horizons.
    forecaster: Option<JointForecaster>,
    /// Instead of these, with inputs.
    driven: Option<Driven>,
    /// Forecasts of single components, from the first state on.
    candidates: Option<Candidates>,
}

/// States from one to another at most, by delays or by a lag.
const MOST_STATES: usize = 1_000_000_000;

impl Dynamics {
    /// Initial state, with all parameters validated.
    pub fn new(spec: DynamicsSpec) -> Result<Self> {
        in_range("delay", spec.delays.step, spec.delays.step > 0, "at least 1")?;
        in_range("n_delays", spec.delays.count, spec.delays.count <= 10_000, "at most 10,000")?;
        let span = spec.delays.span();
        in_range(
            "delay",
            spec.delays.step,
            span <= MOST_STATES,
            "at most 1,000,000,000 states in all delays",
        )?;
        in_range("warm_up", spec.warm_up, spec.warm_up >= 2, "at least 2")?;
        check_calendar(&spec.calendar)?;
        check_params(&spec.params)?;
        let operator = spec.operator.build()?;
        let warm_up = spec.learns_first().then(|| WarmUp::new(()));
        let outliers = (spec.standardize && spec.horizons.is_empty()).then(PairOutliers::new);
        let forecaster = spec.forecaster(&operator)?;
        // In the form that the operator serializes, so that it survives a file.
        let spec = DynamicsSpec { operator: operator.spec().clone(), ..spec };
        Ok(Self {
            operator,
            units: Units::default(),
            reencoding: Reencoding::default(),
            warm_up,
            outliers,
            spikes: Spikes::default(),
            unconfirmed: None,
            missing: 0,
            tail: None,
            forecaster,
            driven: spec.driven(),
            candidates: None,
            spec,
        })
    }

    /// Its specification.
    #[must_use]
    pub fn spec(&self) -> &DynamicsSpec {
        &self.spec
    }

    /// The operator of states on the scale of [`units`](Self::units), each followed by its delays.
    #[must_use]
    pub fn operator(&self) -> &Koopman {
        &self.operator
    }

    /// The map of states to their scale.
    #[must_use]
    pub fn units(&self) -> &Units {
        &self.units
    }

    /// Whether scale and parameters may still change.
    #[must_use]
    pub fn is_warming_up(&self) -> bool {
        self.warm_up.is_some()
    }

    /// Number of components; `None` before the first pair.
    #[must_use]
    pub fn n_features(&self) -> Option<usize> {
        let learned = self.operator.n_features().map(|width| width / self.spec.delays.blocks());
        learned.or_else(|| self.candidates.as_ref().map(Candidates::width))
    }

    /// Number of pairs so far that were left out because one of their states is an outlier: far from
    /// all others and from the other state of the pair. With horizons, number of states of which a
    /// component, far beyond all values before it, was replaced by the last.
    #[must_use]
    pub fn n_left_out(&self) -> u64 {
        self.n_pairs_left_out().saturating_add(self.spikes.count())
    }

    fn n_pairs_left_out(&self) -> u64 {
        self.outliers.as_ref().map_or(0, PairOutliers::count)
    }

    /// Component and value of the first outlying state since this was called, or since the model was
    /// built or read, if there is one.
    pub fn take_first_outlier(&mut self) -> Option<(usize, f64)> {
        // Those that may be a new level are not outliers yet.
        let replaced = if self.unconfirmed.is_some() { None } else { self.spikes.take_first() };
        self.outliers.as_mut().and_then(PairOutliers::take_first).or(replaced)
    }

    /// Number of pairs received, with those left out.
    #[must_use]
    pub fn n_seen(&self) -> u64 {
        self.operator.n_seen().saturating_add(self.n_pairs_left_out())
    }

    /// Whether learning may fail on validated rows.
    #[must_use]
    pub fn can_refuse(&self) -> bool {
        !self.is_plain() || self.operator.can_diverge()
    }

    /// Whether it is only an operator.
    fn is_plain(&self) -> bool {
        !self.spec.learns_first() && self.spec.delays.count == 0 && self.spec.horizons.is_empty()
    }

    /// The stored states, each followed by its delays and inputs, in the user's units.
    #[must_use]
    pub fn dictionary(&self) -> Array2<f64> {
        self.units.given(self.operator.dictionary())
    }

    /// The stored next states, without delays, in the user's units.
    #[must_use]
    pub fn dictionary_next(&self) -> Array2<f64> {
        self.units.given(self.current(self.operator.dictionary_next()))
    }

    /// Columns of the state alone, without delays.
    fn current(&self, states: Array2<f64>) -> Array2<f64> {
        let width = states.ncols() / self.spec.delays.blocks();
        states.slice_move(ndarray::s![.., ..width])
    }

    /// Refuses pairs where earlier states are needed.
    fn check_takes_pairs(&self) -> Result<()> {
        if self.spec.delays.count == 0 { Ok(()) } else { Err(Error::PairsWithoutPast) }
    }

    /// Refuses invalid pairs, naming the row. Changes nothing.
    pub fn check_pairs(&self, x: ArrayView2<'_, f64>, next: ArrayView2<'_, f64>) -> Result<()> {
        self.check_takes_pairs()?;
        // In the user's units: a column that was constant so far has no scale yet, on which an
        // infinity or NaN could be found.
        self.operator.check_pairs(x, next)?;
        if self.is_plain() || self.warm_up.is_some() {
            // On any scale that they may get.
            return Ok(());
        }
        let units = self.units.after(x, next);
        self.operator.check_pairs(units.scaled(x).view(), units.scaled(next).view())
    }
}

impl std::fmt::Debug for Dynamics {
    /// Its sizes, not its arrays.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Dynamics")
            .field("n_features", &self.n_features())
            .field("horizons", &self.spec.horizons)
            .field("operator", &self.operator)
            .finish_non_exhaustive()
    }
}

impl From<Koopman> for Dynamics {
    /// Wraps an operator without scaling.
    fn from(operator: Koopman) -> Self {
        let tail = operator.trajectory_end().map(|states| states.to_owned());
        let spec = DynamicsSpec::from(operator.spec().clone());
        Self {
            spec,
            operator,
            units: Units::default(),
            reencoding: Reencoding::default(),
            warm_up: None,
            outliers: None,
            spikes: Spikes::default(),
            unconfirmed: None,
            missing: 0,
            tail,
            forecaster: None,
            driven: None,
            candidates: None,
        }
    }
}

impl From<KoopmanSpec> for DynamicsSpec {
    /// Unwraps an operator without scaling.
    fn from(operator: KoopmanSpec) -> Self {
        Self { operator, ..Self::default() }
    }
}

impl DynamicsSpec {
    /// Initial state, with all parameters validated.
    pub fn build(&self) -> Result<Dynamics> {
        Dynamics::new(self.clone())
    }
}
