//! Serialization of tables.

use ndarray::{ArrayView1, ArrayView2};

use super::sample::Sample;
use super::{Choice, Encoder, Labels, Table, TableSpec};
use crate::error::{Error, Result};
use crate::model::{InnerModel, Model as _};
use crate::online::winsorizer::{Limits, WinsorizerParams};
use crate::persist::{Persist, Reader, Writer, load, load_inside, parse};
use crate::validate::{check_targets, check_weights};

pub(crate) const KIND: &str = "table";

impl TableSpec {
    /// A table without rows, with validated parameters.
    pub fn build<M: InnerModel + Persist>(self) -> Result<Table<M>> {
        if self.model.get("model").is_some() {
            return Err(Error::Specification { part: "model", reason: "a table inside a table".into() });
        }
        let encoder = self.columns.map(Encoder::new).transpose()?;
        let labels = self.labels.map(Labels::new).transpose()?;
        let table = Table::new(M::from_spec(self.model)?, encoder, labels)?;
        match self.evidence {
            Some(evidence) => table.with_evidence(evidence),
            None => Ok(table),
        }
    }
}

/// The file of the inner model is an array of the table's file.
impl<M: InnerModel + Persist> Persist for Table<M> {
    fn from_spec(spec: serde_json::Value) -> Result<Self> {
        parse::<TableSpec>("model", spec)?.build()
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        let spec = TableSpec {
            model: self.choice.as_ref().map_or(&self.model, |choice| &choice.given).spec_json()?,
            columns: self.encoder.as_ref().map(|encoder| encoder.spec().clone()),
            labels: self.labels.as_ref().map(|labels| labels.spec().clone()),
            evidence: self.evidence(),
        };
        serde_json::to_value(spec).map_err(|e| Error::file(e.to_string()))
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        out.bytes("model", self.model.to_bytes(serde_json::Value::Null)?);
        if let Some(labels) = &self.labels {
            labels.write(&mut out);
        }
        if let Some(encoder) = self.encoder.as_ref().filter(|encoder| encoder.n_cells().is_some()) {
            encoder.write(&mut out);
            if let Some(warm_up) = &self.warm_up {
                warm_up.write(&mut out);
            }
            if let Some(sample) = &self.sample {
                sample.write(&mut out);
            }
            if self.settled {
                out.counts("columns.settled", &[1]);
            }
            if let Some(limits) = self.limits.as_ref().filter(|limits| limits.are_used()) {
                limits.write(&mut out);
            }
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        load(bytes, KIND, |spec: TableSpec, from| {
            let labels = spec.labels.clone();
            let mut table: Self = spec.build()?;
            if table.labels.as_ref().map(Labels::spec) != labels.as_ref() {
                return Err(Error::file("its classes are not sorted"));
            }
            table.model = match &table.choice {
                Some(choice) => choice.read(from)?,
                None => load_inside(from, "model", &table.model)?,
            };
            if let Some(labels) = &mut table.labels {
                labels.read(from)?;
            }
            if table.model.n_outputs().is_some() {
                if let Some(encoder) = &mut table.encoder {
                    encoder.read(from)?;
                }
                table.read_warm_up(from)?;
                table.read_limits(from)?;
            }
            table.check_parts()?;
            Ok(table)
        })
    }
}

impl<M: InnerModel + Persist> Choice<M> {
    /// The model of a table's file, which is the one given but for what is chosen.
    fn read(&self, from: &Reader<'_>) -> Result<M> {
        let (model, _) = M::from_bytes(from.bytes("model")?)?;
        let (mut found, given) = (model.spec_json()?, self.given.spec_json()?);
        let chosen = ["/learner/regularization", "/kernel/bandwidth"];
        for number in &chosen[..if self.by.bandwidth { 2 } else { 1 }] {
            if let (Some(found), Some(given)) = (found.pointer_mut(number), given.pointer(number)) {
                *found = given.clone();
            }
        }
        if found != given {
            return Err(Error::file("model is not what the configuration says"));
        }
        Ok(model)
    }
}

impl<M: InnerModel> Table<M> {
    fn read_warm_up(&mut self, from: &Reader<'_>) -> Result<()> {
        self.settled = from.has("columns.settled") && from.counts("columns.settled")? != [0];
        if self.settled {
            self.warm_up = None;
        }
        let model = &self.model;
        let (n_seen, outputs) = (model.n_seen(), model.n_outputs());
        if let (Some(encoder), Some(warm_up)) = (&self.encoder, &self.warm_up)
            && let (Some(cells), Some(outputs)) = (encoder.n_cells(), outputs)
            && from.has("sample.counted")
        {
            let targets = if self.labels.is_some() { 1 } else { outputs };
            let sample = Sample::read(warm_up.fresh.clone(), from, (cells, targets), encoder.spec().warm_up)?;
            (self.sample, self.warm_up) = (Some(sample), None);
        }
        let (Some(encoder), Some(warm_up)) = (&self.encoder, &mut self.warm_up) else { return Ok(()) };
        let (n, cells) = (usize::try_from(n_seen), encoder.n_cells());
        match (n, cells) {
            (Ok(n), Some(cells)) if from.has("warm_up.x") => warm_up.read(from, n, cells)?,
            _ => self.warm_up = None,
        }
        match &self.warm_up {
            Some(warm_up) if warm_up.n_counted() >= encoder.spec().warm_up => {
                Err(Error::file("its warm-up has more rows than it says"))
            }
            _ => Ok(()),
        }
    }

    fn read_limits(&mut self, from: &Reader<'_>) -> Result<()> {
        if let (Some(limits), Some(outputs)) = (&mut self.limits, self.model.n_outputs()) {
            *limits = Limits::read(outputs, WinsorizerParams::default(), from)?;
        }
        Ok(())
    }

    /// Refuses a table whose parts do not agree.
    pub(super) fn check_parts(&self) -> Result<()> {
        let model = &self.model;
        if let Some(labels) = &self.labels {
            let counts = labels.counts();
            if counts.len() != labels.classes().len()
                || counts.iter().map(|count| u128::from(*count)).sum::<u128>() != u128::from(self.n_seen())
            {
                return Err(Error::file("the counts of its classes do not sum up to its rows"));
            }
        }
        let Some(outputs) = model.n_outputs() else { return Ok(()) };
        if self.labels.as_ref().is_some_and(|labels| labels.n_outputs() != outputs) {
            return Err(Error::file("it has another number of outputs than its classes need"));
        }
        if let Some(encoder) = &self.encoder
            && model.n_features() != Some(encoder.width())
        {
            return Err(Error::file("its columns make another number of features than its model has"));
        }
        if let (Some(encoder), None) = (&self.encoder, &self.warm_up)
            && !self.settled
            && self.has_warm_up()
            && model.n_seen() < encoder.spec().warm_up as u64
        {
            return Err(Error::file("the rows of its warm-up are missing"));
        }
        let Some(encoder) = &self.encoder else { return Ok(()) };
        let check = |x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>, weights: ArrayView1<'_, f64>| {
            let sound = encoder.check(x).and_then(|()| check_weights(x, Some(weights)));
            let checked = sound.and_then(|()| match &self.labels {
                Some(labels) => labels.check(y),
                None => check_targets(Some(outputs), y),
            });
            checked.map_err(|error| Error::file(format!("the rows that it keeps are broken: {error}")))
        };
        if let Some(warm_up) = &self.warm_up {
            let (x, y, weights) = warm_up.rows();
            check(x, y, weights)?;
        }
        if let Some(sample) = &self.sample {
            let rows = sample.ordered(true);
            check(rows.x.view(), rows.y.view(), rows.weights.view())?;
        }
        Ok(())
    }
}
