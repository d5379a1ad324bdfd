//! Experts to bytes and back.

use super::{Experts, ExpertsSpec, Member, Mixture};
use crate::error::{Error, Result};
use crate::model::{AsModel, Model as _};
use crate::persist::{Persist, Reader, Writer, parse};

pub(crate) const KIND: &str = "experts";

/// What the file of an expert is called inside that of all.
fn name(expert: usize) -> String {
    format!("expert.{expert}")
}

/// The model file has those of the experts in it.
impl<M: AsModel + Persist> Persist for Experts<M> {
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
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        let (from, spec) = Reader::open_as::<ExpertsSpec>(bytes, KIND)?;
        let mut experts: Self = spec.build().map_err(|e| Error::file(e.to_string()))?;
        for (e, expert) in experts.members.iter_mut().enumerate() {
            let (model, _) = M::from_bytes(from.bytes(&name(e))?)?;
            if model.spec_json()? != expert.model.spec_json()? {
                return Err(Error::file(format!("{} is not what the configuration says", name(e))));
            }
            expert.model = model;
        }
        let state = |expert: &Member<M>| {
            let model = expert.model.as_model();
            (model.n_seen(), model.n_features(), model.n_outputs())
        };
        let first = state(&experts.members[0]);
        if experts.members.iter().any(|expert| state(expert) != first) {
            return Err(Error::file("its experts have not learned the same rows"));
        }
        if let Some(outputs) = experts.n_outputs() {
            experts.mixtures = vec![Mixture::new(experts.spec, experts.members.len()); outputs];
            experts.prediction = vec![0.0; outputs];
            for (c, mixture) in experts.mixtures.iter_mut().enumerate() {
                mixture.read(c, &from)?;
            }
        }
        Ok((experts, from.extra().clone()))
    }
}
