//! Serialization of streams.

use super::schedule::Schedule;
use super::{AnyStream, ModelSpec};
use crate::error::{Error, Result};
use crate::persist::{Persist, Reader, Writer, load, parse};
use crate::uncertainty::Errors;

pub(crate) const KIND: &str = "stream";

impl AnyStream {
    /// The specification of this model.
    #[must_use]
    pub fn spec(&self) -> ModelSpec {
        ModelSpec {
            kernel: self.basis.kernel().clone(),
            basis: self.basis.spec(),
            learner: self.head.learner.spec(),
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
        out.counts("stream.counts", &[self.n_seen, self.schedule.rows_since_growth()]);
        if self.head.heavy {
            out.counts("stream.heavy", &[1]);
        }
        if self.n_outputs.is_some() {
            self.basis.write(&mut out);
            self.head.learner.write(&mut out);
            self.head.errors.write(&mut out);
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        load(bytes, KIND, |spec: ModelSpec, from| {
            let mut model = spec.build()?;
            model.read(from)?;
            Ok(model)
        })
    }
}

impl AnyStream {
    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        let counts = from.all_counts("stream.counts")?;
        let ([n_seen] | [n_seen, _]) = counts[..] else {
            return Err(Error::file("stream.counts has the wrong length"));
        };
        self.n_seen = n_seen;
        if n_seen == 0 && !from.has("learner.weights") {
            return Ok(());
        }
        self.basis.read(from)?;
        self.head.learner.read(from)?;
        let (outputs, width) = (self.head.learner.n_outputs(), self.basis.width());
        if self.basis.dim() != self.head.learner.dim() {
            return Err(Error::file("its basis and its learner have different sizes"));
        }
        if outputs == 0 {
            return Err(Error::file("it has no outputs"));
        }
        if let Some(memory) = self.head.learner.memory()
            && memory.rows().any(|(x, _)| Some(x.len()) != width)
        {
            return Err(Error::file("the rows that its learner remembers have another width"));
        }
        self.head.heavy = from.has("stream.heavy") && from.counts("stream.heavy")? != [0];
        // Files without it are assumed to have grown evenly.
        let even = || n_seen / self.basis.dim().max(1) as u64;
        self.schedule = Schedule::of(counts.get(1).copied().unwrap_or_else(even));
        self.resume(outputs, Errors::read(outputs, from)?);
        Ok(())
    }
}
