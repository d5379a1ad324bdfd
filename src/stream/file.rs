//! Models to bytes and back.

use super::{AnyStream, ModelSpec};
use crate::error::{Error, Result};
use crate::persist::{Persist, Reader, Writer, parse};

pub(crate) const KIND: &str = "stream";

impl AnyStream {
    /// How this model is written down.
    #[must_use]
    pub fn spec(&self) -> ModelSpec {
        ModelSpec {
            kernel: self.basis.kernel().clone(),
            basis: self.basis.spec(),
            learner: self.learner.spec(),
        }
    }
}

impl Persist for AnyStream {
    fn from_spec(spec: serde_json::Value) -> Result<Self> {
        parse::<ModelSpec>("model", spec)?.build()
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(self.spec()).map_err(|e| Error::file(e.to_string()))
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        out.counts("stream.counts", &[self.n_seen]);
        if self.n_outputs.is_some() {
            self.basis.write(&mut out);
            self.learner.write(&mut out);
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        let (from, spec) = Reader::open_as::<ModelSpec>(bytes, KIND)?;
        let mut model = spec.build().map_err(|e| Error::file(e.to_string()))?;
        // The first files have another count, of no use any more.
        let counts = from.all_counts("stream.counts")?;
        let ([n_seen] | [n_seen, _]) = counts[..] else {
            return Err(Error::file("stream.counts has the wrong length"));
        };
        model.n_seen = n_seen;
        if model.n_seen > 0 || from.has("learner.weights") {
            model.basis.read(&from)?;
            model.learner.read(&from)?;
            if model.basis.dim() != model.learner.dim() {
                return Err(Error::file("its basis and its learner have different sizes"));
            }
            let outputs = model.learner.n_outputs();
            if outputs == 0 {
                return Err(Error::file("it has no outputs"));
            }
            model.n_outputs = Some(outputs);
            model.prediction = vec![0.0; outputs];
        }
        Ok((model, from.extra().clone()))
    }
}
