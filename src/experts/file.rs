//! Serialization of experts.

use super::{Experts, ExpertsSpec, Member, Mixture};
use crate::error::{Error, Result};
use crate::experts::Expert;
use crate::learner::Loss;
use crate::model::Model as _;
use crate::persist::{Persist, Reader, Writer, load, load_inside, parse};
use crate::uncertainty::Calibration;

pub(crate) const KIND: &str = "experts";

/// Name of the file of an expert inside that of all.
fn name(expert: usize) -> String {
    format!("expert.{expert}")
}

/// The model file contains those of the experts.
impl<M: Expert + Persist> Persist for Experts<M> {
    fn from_spec(spec: serde_json::Value) -> Result<Self> {
        parse::<ExpertsSpec>("model", spec)?.build()
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        let experts = self.members.iter().map(|expert| expert.model.spec_json()).collect::<Result<_>>()?;
        let spec = ExpertsSpec { experts, mixture: self.spec };
        serde_json::to_value(spec).map_err(|e| Error::file(e.to_string()))
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        for (e, expert) in self.members.iter().enumerate() {
            out.bytes(&name(e), expert.model.to_bytes(serde_json::Value::Null)?);
        }
        if self.n_outputs().is_some() {
            for (c, mixture) in self.mixtures.iter().enumerate() {
                mixture.write(c, &mut out);
            }
            self.calibration.write(&mut out);
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        load(bytes, KIND, |spec: ExpertsSpec, from| {
            let mut experts: Self = spec.build()?;
            experts.read(from)?;
            Ok(experts)
        })
    }
}

impl<M: Expert + Persist> Experts<M> {
    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        for (e, expert) in self.members.iter_mut().enumerate() {
            expert.model = load_inside(from, &name(e), &expert.model)?;
        }
        self.members = Member::of(std::mem::take(&mut self.members).into_iter().map(|expert| expert.model));
        let state = |expert: &Member<M>| {
            let model = &expert.model;
            (model.n_seen(), model.n_features(), model.n_outputs())
        };
        let first = state(&self.members[0]);
        if self.members.iter().any(|expert| state(expert) != first) {
            return Err(Error::file("its experts have not learned the same rows"));
        }
        if let Some(outputs) = self.n_outputs() {
            self.mixtures = (0..outputs).map(|c| self.read_mixture(c, from)).collect::<Result<_>>()?;
            self.calibration = Calibration::read(outputs, from)?;
        }
        Ok(())
    }

    fn read_mixture(&self, output: usize, from: &Reader<'_>) -> Result<Mixture> {
        let mut mixture = Mixture::new(self.spec, Loss::Squared, self.members.len());
        mixture.read(output, from)?;
        Ok(mixture)
    }
}
