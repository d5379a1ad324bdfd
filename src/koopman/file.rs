//! Serialization of operators.

use ndarray::{Array2, Axis};

use super::dictionaries::Dictionaries;
use super::model::{Koopman, Tail};
use super::replay::Replay;
use super::spec::KoopmanSpec;
use crate::error::{Error, Result};
use crate::persist::{Persist, Reader, Writer, load, parse};

/// Kind of operators in model files.
pub(crate) const KIND: &str = "koopman";

impl Persist for Koopman {
    fn from_spec(spec: serde_json::Value) -> Result<Self> {
        parse::<KoopmanSpec>("model", spec)?.build()
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(&self.spec).map_err(|e| Error::file(e.to_string()))
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        self.write(&mut out);
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        load(bytes, KIND, |spec: KoopmanSpec, from| Self::from_reader(&spec, from))
    }
}

impl Koopman {
    /// Writes what was learned.
    pub(crate) fn write(&self, out: &mut Writer) {
        out.counts("koopman.counts", &[self.n_seen]);
        if let Some(Tail { states }) = &self.tail {
            let numbers: Vec<f64> = states.iter().copied().collect();
            out.matrix("trajectory.tail", states.nrows(), states.ncols(), &numbers);
        }
        if let Some(dictionaries) = &self.dictionaries {
            dictionaries.write(out);
            self.operator.learner().write(out);
            if let Some(replay) = &self.replay {
                replay.write(out);
            }
            if let Some(sums) = self.operator.sums() {
                sums.write(out);
            }
        }
    }

    /// Reads the output of [`write`](Self::write), for an operator with this specification.
    pub(crate) fn from_reader(spec: &KoopmanSpec, from: &Reader<'_>) -> Result<Self> {
        let mut model = spec.build()?;
        [model.n_seen] = from.counts("koopman.counts")?;
        if model.n_seen > 0 || from.has("learner.weights") {
            model.read(from)?;
        }
        if from.has("trajectory.tail") {
            let (rows, cols, numbers) = from.matrix("trajectory.tail")?;
            let states = Array2::from_shape_vec((rows, cols), numbers)
                .map_err(|_| Error::file("trajectory.tail has the wrong shape"))?;
            model.resume_trajectory(states.view()).map_err(|e| Error::file(e.to_string()))?;
        }
        Ok(model)
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        let control = self.spec.control.as_ref();
        let joint = control.map_or(self.spec.kernel.clone(), |control| control.joint(&self.spec.kernel));
        let mut dictionaries = Dictionaries::new(&self.spec.dictionaries, &self.spec.kernel, control, 1)?;
        dictionaries.read(from, &joint, &self.spec.kernel)?;
        self.operator.learner_mut().read(from)?;
        let (width, (stored, stored_next)) = (dictionaries.width(), dictionaries.sizes());
        let learner = self.operator.learner();
        if dictionaries.joint_width() != width + self.n_controls()
            || (learner.dim(), learner.n_outputs()) != (stored, width + stored_next)
        {
            return Err(Error::file("its dictionaries and its operator have different sizes"));
        }
        if let Some(sums) = self.operator.sums_mut() {
            sums.read(from, stored)?;
        }
        if let Some(replay) = &mut self.replay {
            replay.read(from, dictionaries.joint_width() + width)?;
        }
        self.dictionaries = Some(dictionaries);
        if let Some(pairs) = self.replay.as_ref().and_then(Replay::held) {
            let (x, next) = pairs.split_at(Axis(1), pairs.ncols() - width);
            self.check_pairs(x, next)?;
        }
        Ok(())
    }
}
