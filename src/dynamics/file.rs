//! Serialization of dynamics.

use ndarray::Array2;
use serde_json::Value;

use super::candidates::{Candidates, WIDEST};
use super::driven::Driven;
use super::selection::{is_chosen, may_be_selected, tolerance_of};
use super::states::pair_outliers::PairOutliers;
use super::states::spikes::Spikes;
use super::{Dynamics, DynamicsSpec, Reencoding, Units};
use crate::error::{Error, Result};
use crate::kernel::KernelSpec;
use crate::koopman::{self, Koopman, KoopmanSpec};
use crate::learner::LearnerSpec;
use crate::online::warm_up::WarmUp;
use crate::persist::{Persist, Reader, Writer, load, parse};

const KIND: &str = "dynamics";

/// The file is that of the operator if there is nothing else, and that of an operator can be read.
impl Persist for Dynamics {
    fn from_spec(spec: Value) -> Result<Self> {
        parse::<DynamicsSpec>("model", spec)?.build()
    }

    fn spec_json(&self) -> Result<Value> {
        serde_json::to_value(&self.spec).map_err(|e| Error::file(e.to_string()))
    }

    fn to_bytes(&self, extra: Value) -> Result<Vec<u8>> {
        if self.is_plain() {
            let mut operator = self.operator.clone();
            if let Some(tail) = &self.tail {
                operator.resume_trajectory(tail.view())?;
            }
            return operator.to_bytes(extra);
        }
        let mut out = Writer::default();
        out.bytes("operator", self.operator.to_bytes(Value::Null)?);
        self.units.write(&mut out);
        if self.reencoding != Reencoding::default() {
            self.reencoding.write(&mut out);
        }
        if let Some(warm_up) = &self.warm_up {
            warm_up.write(&mut out);
        }
        if let Some(outliers) = &self.outliers {
            outliers.write(&mut out);
        }
        self.spikes.write(&mut out);
        self.write_unconfirmed(&mut out)?;
        if let Some(tail) = &self.tail {
            let numbers: Vec<f64> = tail.iter().copied().collect();
            out.matrix("dynamics.tail", tail.nrows(), tail.ncols(), &numbers);
        }
        if let Some(forecaster) = &self.forecaster {
            forecaster.write(&mut out)?;
        }
        if let Some(driven) = &self.driven {
            driven.write(&mut out)?;
        }
        if let Some(candidates) = &self.candidates {
            let numbers = candidates.numbers();
            out.counts("candidates.width", &[candidates.width() as u64]);
            if !candidates.references().is_empty() {
                out.vector("candidates.references", candidates.references());
            }
            out.bytes("candidates.numbers", numbers.iter().flat_map(|value| value.to_le_bytes()).collect());
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, Value)> {
        if Reader::open(bytes)?.kind() == koopman::KIND {
            return Koopman::from_bytes(bytes).map(|(operator, extra)| (operator.into(), extra));
        }
        load(bytes, KIND, |spec: DynamicsSpec, from| Self::read(&spec, from))
    }
}

impl Dynamics {
    fn read(spec: &DynamicsSpec, from: &Reader<'_>) -> Result<Self> {
        let mut model = spec.build()?;
        model.operator = Koopman::from_bytes(from.bytes("operator")?)?.0;
        if !spec.allows(model.operator.spec())? {
            return Err(Error::file("operator is not what the configuration says"));
        }
        model.units = Units::read(from)?;
        model.reencoding = Reencoding::read(from)?;
        let width = model.operator.n_features();
        let whole = width.is_none_or(|width| width % spec.delays.blocks() == 0);
        if !whole || !model.units.suits(width) {
            return Err(Error::file("the states of its operator have another width than their scale"));
        }
        if model.outliers.is_some() {
            model.outliers = Some(PairOutliers::read(width.unwrap_or(0) / spec.delays.blocks(), from)?);
        }
        model.spikes = Spikes::read(width.map(|width| width / spec.delays.blocks()), from)?;
        model.warm_up = from.has("warm_up.x").then(|| model.read_warm_up(from)).transpose()?;
        if let Some(forecaster) = &mut model.forecaster {
            let examples = model.warm_up.is_some();
            forecaster.read(from, &model.operator, spec.delays.blocks(), examples)?;
        }
        if model.driven.is_some() {
            model.driven = Some(Driven::read(from, &model.operator)?);
        }
        if from.has("candidates.width") {
            model.candidates = Some(model.read_candidates(from)?);
        }
        if from.has("dynamics.tail") {
            let (rows, cols, numbers) = from.matrix("dynamics.tail")?;
            let states = Array2::from_shape_vec((rows, cols), numbers);
            let states = states.map_err(|_| Error::file("dynamics.tail has the wrong shape"))?;
            model.resume_trajectory(states.view())?;
        }
        model.read_unconfirmed(from)?;
        Ok(model)
    }

    fn read_candidates(&self, from: &Reader<'_>) -> Result<Candidates> {
        let wrong = || Error::file("candidates.numbers are not those of its forecasts");
        let [width] = from.counts("candidates.width")?;
        let width = usize::try_from(width).ok().filter(|width| (1..=WIDEST).contains(width));
        let mut candidates = self.new_candidates(width.ok_or_else(wrong)?, 1).ok_or_else(wrong)?;
        let (numbers, rest) = from.bytes("candidates.numbers")?.as_chunks::<8>();
        let numbers: Vec<f64> = numbers.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
        let fits = self
            .operator
            .n_features()
            .is_none_or(|all| all == candidates.width() * self.spec.delays.blocks());
        let references = if from.has("candidates.references") {
            from.matrix("candidates.references")?.2
        } else {
            vec![0.0; self.operator.n_controls()]
        };
        (rest.is_empty() && fits && candidates.resume(&numbers, references, &self.spec.horizons))
            .then_some(candidates)
            .ok_or_else(wrong)
    }

    fn read_warm_up(&self, from: &Reader<'_>) -> Result<WarmUp<()>> {
        let wrong = || Error::file("warm_up.x and warm_up.y are not the pairs that its operator has learned");
        let n = usize::try_from(self.n_seen()).map_err(|_| wrong())?;
        let width = self.operator.n_features().unwrap_or(0);
        let mut warm_up = WarmUp::new(());
        warm_up.read(from, n, if n == 0 { 0 } else { width + self.operator.n_controls() })?;
        let (x, next, _) = warm_up.rows();
        let fits = next.ncols() == width || n == 0;
        let counted = warm_up.n_counted() == n && x.iter().all(|value| value.is_finite());
        // With the last of its turns it ends.
        let continues = n < self.spec.last_turn(x.ncols() + next.ncols()).max(1);
        if fits && counted && continues && self.spec.learns_first() { Ok(warm_up) } else { Err(wrong()) }
    }
}

impl DynamicsSpec {
    /// Whether the operator can have resulted from these parameters.
    fn allows(&self, made: &KoopmanSpec) -> Result<bool> {
        let mut expected = Koopman::new(self.operator.clone())?.spec().clone();
        if self.choice.bandwidth && may_be_selected(&made.kernel) {
            expected.kernel = made.kernel.clone();
        }
        if let (Some(own), Some(its)) = (&mut expected.control, &made.control)
            && is_chosen(&own.kernel)
            && matches!(its.kernel, KernelSpec::Gaussian { .. } | KernelSpec::Product { .. })
        {
            own.kernel = its.kernel.clone();
        }
        if let (true, LearnerSpec::Ridge(own), LearnerSpec::Ridge(its)) =
            (self.choice.regularization, &mut expected.learner, &made.learner)
        {
            own.regularization = its.regularization;
        }
        let mut its = made.dictionaries.clone();
        if let (true, Some(own), Some(its)) =
            (self.choice.tolerance, tolerance_of(&mut expected.dictionaries), tolerance_of(&mut its))
        {
            *own = own.min(*its);
        }
        Ok(expected == *made)
    }
}
