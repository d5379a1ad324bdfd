//! Files of version 1 in which columns and labels stand beside the model, in what was Python's own.

use serde::Deserialize;
use serde_json::Value;

use super::warm_up::WarmUp;
use super::{
    ClassWeights, Column, ColumnKind, ColumnsSpec, Encoder, Gaps, Label, Labels, LabelsSpec, Link, Table,
};
use crate::error::{Error, Result};
use crate::model::{AsModel, Model as _};
use ndarray::{ArrayView1, ArrayView2};

#[derive(Deserialize)]
struct Classes {
    values: Vec<Label>,
}

/// What was written of the estimator of labels, whichever other one was around it.
#[derive(Deserialize)]
struct Classifier {
    classes: Classes,
    class_count: Vec<u64>,
    params: Parameters,
}

#[derive(Deserialize)]
struct Parameters {
    #[serde(default)]
    class_weight: Option<ClassWeight>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum ClassWeight {
    Balanced(String),
    Each(Vec<(Label, f64)>),
}

impl Classifier {
    fn labels(self, link: Option<Link>) -> Result<Labels> {
        let weights = match self.params.class_weight {
            None => ClassWeights::Equal,
            Some(ClassWeight::Balanced(word)) if word == "balanced" => ClassWeights::Balanced,
            Some(ClassWeight::Balanced(_)) => return Err(broken()),
            Some(ClassWeight::Each(pairs)) => {
                // 1 and 1.0 are one label.
                let same = |a: &Label, b: &Label| a.order(b) == Some(std::cmp::Ordering::Equal);
                let of = |class: &Label| pairs.iter().find(|(label, _)| same(label, class));
                let classes = self.classes.values.iter();
                ClassWeights::Each(classes.map(|class| of(class).map_or(1.0, |pair| pair.1)).collect())
            }
        };
        let spec = LabelsSpec { classes: self.classes.values.clone(), weights, link };
        let mut labels = Labels::new(spec)?;
        if labels.classes() != self.classes.values {
            return Err(broken());
        }
        labels.set_counts(self.class_count);
        Ok(labels)
    }
}

/// Means and deviations; none of columns that are taken as they are.
#[derive(Deserialize)]
struct Scales {
    #[serde(default)]
    mean: Vec<f64>,
    #[serde(default)]
    deviation: Vec<f64>,
    #[serde(default)]
    n_seen: usize,
}

#[derive(Deserialize)]
struct ScalerParameters {
    n_warm_up: usize,
    logarithm: bool,
}

#[derive(Deserialize)]
struct Scaler {
    params: ScalerParameters,
    #[serde(flatten)]
    scales: Scales,
}

/// What was written of columns without names.
#[derive(Deserialize)]
struct Scaled {
    scaler: Scaler,
    rows: Vec<Vec<f64>>,
    targets: Vec<Value>,
    weights: Option<Vec<f64>>,
}

/// What was written of columns with names.
#[derive(Deserialize)]
struct Named {
    features: Vec<String>,
    scale: bool,
    #[serde(flatten)]
    scales: Scales,
}

fn broken() -> Error {
    Error::file("what it says of its columns and labels is broken")
}

fn read<T: serde::de::DeserializeOwned>(value: &Value) -> Result<T> {
    T::deserialize(value)
        .map_err(|error| Error::file(format!("what it says of its columns and labels is broken ({error})")))
}

/// The table that a model was part of, if the file says so beside it. `link` is that of its loss.
pub(crate) fn wrap<M: AsModel>(
    model: M,
    fresh: impl FnOnce() -> Result<M>,
    extra: &Value,
    link: Option<Link>,
) -> Result<std::result::Result<Table<M>, M>> {
    if extra.get("estimator").is_none() {
        return Ok(Err(model));
    }
    let inner = ["model", "regressor", "classifier"].iter().find_map(|role| extra.get(role));
    let state = inner.unwrap_or(extra);
    let labels = match state.get("classes") {
        Some(_) => Some(read::<Classifier>(state)?.labels(link)?),
        None => None,
    };
    if inner.is_none() && labels.is_none() {
        return Ok(Err(model));
    }
    let mut table = Table { model, encoder: None, labels, warm_up: None, settled: false };
    if extra.get("scaler").is_some() {
        table.take_scaled(read(extra)?, fresh)?;
    } else if extra.get("features").is_some() {
        table.take_named(read(extra)?)?;
    }
    table.check_parts()?;
    Ok(Ok(table))
}

impl<M: AsModel> Table<M> {
    fn take_scaled(&mut self, scaled: Scaled, fresh: impl FnOnce() -> Result<M>) -> Result<()> {
        let ScalerParameters { n_warm_up, logarithm } = scaled.scaler.params;
        let each = ColumnKind::Number { scale: true, logarithm };
        let spec = ColumnsSpec { each, warm_up: n_warm_up, ..ColumnsSpec::default() };
        self.take_columns(spec, &scaled.scaler.scales)?;
        if scaled.scaler.scales.n_seen >= n_warm_up {
            return if scaled.rows.is_empty() { Ok(()) } else { Err(broken()) };
        }
        let weights = scaled.weights.unwrap_or_else(|| vec![1.0; scaled.rows.len()]);
        let n_seen = self.model.as_model().n_seen();
        let lengths = [scaled.rows.len(), scaled.targets.len(), weights.len()];
        if lengths.iter().any(|length| *length as u64 != n_seen) || lengths[0] >= n_warm_up {
            return Err(broken());
        }
        let mut warm_up = WarmUp::new(fresh()?);
        for ((x, target), weight) in scaled.rows.iter().zip(&scaled.targets).zip(weights) {
            let y = self.targets(target)?;
            let (x, y) = (row(x), row(&y));
            warm_up.keep(x, y, Some(ArrayView1::from(&[weight])));
        }
        if !warm_up.is_whole() {
            return Err(broken());
        }
        self.warm_up = Some(warm_up);
        Ok(())
    }

    fn targets(&self, target: &Value) -> Result<Vec<f64>> {
        match &self.labels {
            Some(labels) => Ok(vec![labels.code(&read(target)?).ok_or_else(broken)?]),
            None if target.is_array() => read(target),
            None => Ok(vec![read(target)?]),
        }
    }

    fn take_named(&mut self, named: Named) -> Result<()> {
        let kind = ColumnKind::Number { scale: named.scale, logarithm: false };
        let columns = named.features.into_iter().map(|name| Column { name, kind: kind.clone() }).collect();
        // Their warm-up was the first batch.
        let warm_up = named.scales.n_seen.max(1);
        let spec = ColumnsSpec { named: columns, warm_up, gaps: Gaps::Error, ..ColumnsSpec::default() };
        self.take_columns(spec, &named.scales)
    }

    fn take_columns(&mut self, spec: ColumnsSpec, scales: &Scales) -> Result<()> {
        let mut encoder = Encoder::new(spec).map_err(|error| Error::file(error.to_string()))?;
        let width = self.model.as_model().n_features().ok_or_else(broken)?;
        let or = |values: &[f64], usual: f64| match values {
            [] => vec![usual; width],
            values => values.to_vec(),
        };
        let (mean, deviation) = (or(&scales.mean, 0.0), or(&scales.deviation, 1.0));
        if mean.len() != width || deviation.len() != width {
            return Err(broken());
        }
        let both = mean.into_iter().zip(deviation).map(|(mean, deviation)| [mean, deviation]);
        encoder.take_scales(both).ok_or_else(broken)?;
        self.encoder = Some(encoder);
        Ok(())
    }
}

fn row(values: &[f64]) -> ArrayView2<'_, f64> {
    crate::validate::one_row(values)
}
