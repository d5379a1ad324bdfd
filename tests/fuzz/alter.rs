//! Model files taken apart, altered, and put together again with their checksum put right.

use std::collections::HashMap;

use kernelstream::persist::Reader;
use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde_json::{Value, json};

use crate::choices::Choices;

/// Numbers that somebody forgot about.
const NUMBERS: [f64; 14] =
    [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 1e-300, 5e-324, 1e50, -1e100, 1e200, 1e300, f64::NAN];
const COUNTS: [u64; 10] = [0, 1, 2, 7, 31, 1000, 1 << 20, 1 << 32, 1 << 53, u64::MAX];
const SIZES: [usize; 6] = [0, 1, 3, 100, 1 << 20, 1 << 40];

/// Names that specifications know, one in the place of another.
const WORDS: [&str; 24] = [
    "gaussian",
    "linear",
    "matern32",
    "ald",
    "all_points",
    "first_points",
    "kors",
    "taylor",
    "fourier",
    "sketched",
    "ridge",
    "gradient",
    "gauss_newton",
    "online_newton",
    "awv",
    "reservoir",
    "exact",
    "restart",
    "logistic",
    "hinge",
    "squared",
    "oldest",
    "constant",
    "fixed_share",
];

#[derive(Clone)]
enum Content {
    Numbers { rows: usize, cols: usize, values: Vec<f64> },
    Counts(Vec<u64>),
    Bytes(Vec<u8>),
}

impl Content {
    fn encoded(&self) -> (Dtype, Vec<usize>, Vec<u8>) {
        match self {
            Self::Numbers { rows, cols, values } => (
                Dtype::F64,
                vec![*rows, *cols],
                values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            ),
            Self::Counts(values) => (
                Dtype::U64,
                vec![values.len()],
                values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            ),
            Self::Bytes(bytes) => (Dtype::U8, vec![bytes.len()], bytes.clone()),
        }
    }
}

/// A model file in its parts.
#[derive(Clone)]
pub struct ModelFile {
    pub kind: String,
    spec: Value,
    extra: Value,
    arrays: Vec<(String, Content)>,
}

impl ModelFile {
    /// Takes a model file apart; `None` if it is none.
    pub fn open(bytes: &[u8]) -> Option<Self> {
        let from = Reader::open(bytes).ok()?;
        let tensors = SafeTensors::deserialize(bytes).ok()?;
        let mut arrays: Vec<_> =
            tensors.iter().map(|(name, view)| (name.to_owned(), content(&view))).collect();
        arrays.sort_by(|a, b| a.0.cmp(&b.0));
        Some(Self {
            kind: from.kind().to_owned(),
            spec: from.spec().clone(),
            extra: from.extra().clone(),
            arrays,
        })
    }

    /// The file, written without the library, its checksum put right; empty if there is none such.
    pub fn close(&self) -> Vec<u8> {
        let mut arrays: Vec<_> =
            self.arrays.iter().map(|(name, content)| (name, content.encoded())).collect();
        arrays.sort_by_key(|(name, _)| *name);
        let mut text = format!("{}\n{}\n{}\n", self.kind, self.spec, self.extra).into_bytes();
        for (name, (dtype, shape, bytes)) in &arrays {
            text.extend(format!("{name} {dtype:?} {shape:?}\n").bytes());
            text.extend(bytes);
        }
        let fnv = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let checksum = format!("{:016x}", text.iter().fold(0xcbf2_9ce4_8422_2325, fnv));
        let (kind, spec, extra) = (&self.kind, &self.spec, &self.extra);
        let header = json!({"version": 1, "kind": kind, "spec": spec, "extra": extra, "checksum": checksum})
            .to_string();
        let view = |(dtype, shape, bytes)| TensorView::new(dtype, shape, bytes).ok();
        let views: Option<Vec<_>> = arrays
            .iter()
            .map(|(name, (dtype, shape, bytes))| {
                Some((*name, view((*dtype, shape.clone(), bytes.as_slice()))?))
            })
            .collect();
        let metadata = Some(HashMap::from([("kernelstream".to_owned(), header)]));
        views.and_then(|views| serialize(views, metadata).ok()).unwrap_or_default()
    }

    /// A file of one expert.
    pub fn experts(spec: Value, expert: Vec<u8>) -> Self {
        let arrays = vec![("expert.0".to_owned(), Content::Bytes(expert))];
        Self { kind: "experts".to_owned(), spec, extra: Value::Null, arrays }
    }

    /// How many numbers its arrays hold, about.
    pub fn numbers(&self) -> usize {
        let len = |content: &Content| match content {
            Content::Numbers { values, .. } => values.len(),
            Content::Counts(values) => values.len(),
            Content::Bytes(bytes) => bytes.len() / 8,
        };
        self.arrays.iter().map(|(_, content)| len(content)).sum()
    }

    pub fn names(&self) -> Vec<String> {
        self.arrays.iter().map(|(name, _)| name.clone()).collect()
    }

    /// Sets a value of the specification, which must be there.
    pub fn set(&mut self, pointer: &str, value: Value) {
        *self.spec.pointer_mut(pointer).expect("a value of the specification") = value;
    }

    fn content_mut(&mut self, name: &str) -> &mut Content {
        &mut self.arrays.iter_mut().find(|(each, _)| each == name).expect("an array of the file").1
    }

    pub fn set_matrix(&mut self, name: &str, rows: usize, cols: usize, values: &[f64]) {
        *self.content_mut(name) = Content::Numbers { rows, cols, values: values.to_vec() };
    }

    pub fn set_counts(&mut self, name: &str, values: &[u64]) {
        *self.content_mut(name) = Content::Counts(values.to_vec());
    }

    pub fn remove(&mut self, name: &str) {
        self.arrays.retain(|(each, _)| each != name);
    }

    pub fn rename(&mut self, name: &str, other: &str) {
        for (each, _) in &mut self.arrays {
            if each == name {
                other.clone_into(each);
            }
        }
    }

    /// Changes one thing.
    pub fn alter(&mut self, choices: &mut Choices<'_>) {
        let inner = self.arrays.iter().position(|(_, content)| matches!(content, Content::Bytes(_)));
        if inner.is_some() && choices.once_in(2) {
            self.alter_inner(choices);
        } else if choices.once_in(8) {
            // The first files have columns and labels there.
            alter_json(&mut self.extra, choices);
        } else if self.arrays.is_empty() || choices.once_in(3) {
            alter_json(&mut self.spec, choices);
        } else {
            self.alter_arrays(choices);
        }
    }

    /// Changes the file of an expert, or puts one file into itself.
    fn alter_inner(&mut self, choices: &mut Choices<'_>) {
        let whole = choices.once_in(8).then(|| self.close());
        let (n, first) = (self.arrays.len(), choices.below(self.arrays.len()));
        for i in (first..n).chain(0..first) {
            if let Content::Bytes(bytes) = &mut self.arrays[i].1 {
                if let Some(whole) = whole {
                    *bytes = whole;
                } else if let Some(mut file) = Self::open(bytes) {
                    file.alter(choices);
                    *bytes = file.close();
                } else {
                    alter_numbers(bytes, choices);
                }
                return;
            }
        }
    }

    fn alter_arrays(&mut self, choices: &mut Choices<'_>) {
        let (i, j) = (choices.below(self.arrays.len()), choices.below(self.arrays.len()));
        match choices.below(8) {
            0 => drop(self.arrays.remove(i)),
            1 => self.arrays[i].0.push('x'),
            2 => self.arrays[i].1 = self.arrays[j].1.clone(),
            3 => {
                let (a, b) = (self.arrays[i].1.clone(), self.arrays[j].1.clone());
                (self.arrays[i].1, self.arrays[j].1) = (b, a);
            }
            _ => alter_content(&mut self.arrays[i].1, choices),
        }
    }
}

fn content(view: &TensorView<'_>) -> Content {
    let (shape, data) = (view.shape(), view.data());
    let width = data.len() / shape.iter().product::<usize>().max(1);
    // Little-endian, of whatever width.
    let whole = |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |whole, byte| whole << 8 | u64::from(*byte));
    let values = data.chunks_exact(width.max(1));
    let number = |bytes: &[u8]| match (view.dtype(), bytes) {
        (Dtype::I8, [byte]) => f64::from(byte.cast_signed()),
        (Dtype::I16, bytes) => f64::from(i16::from_le_bytes(bytes.try_into().unwrap())),
        (Dtype::F32, bytes) => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
        (_, bytes) => f64::from_bits(whole(bytes)),
    };
    match (view.dtype(), shape) {
        (Dtype::U8, _) => Content::Bytes(data.to_vec()),
        (_, [rows, cols]) => {
            Content::Numbers { rows: *rows, cols: *cols, values: values.map(number).collect() }
        }
        _ => Content::Counts(values.map(whole).collect()),
    }
}

fn alter_content(content: &mut Content, choices: &mut Choices<'_>) {
    match content {
        Content::Numbers { rows, cols, values } => match choices.below(6) {
            0..3 if !values.is_empty() => {
                let i = choices.below(values.len());
                values[i] = *choices.pick(&NUMBERS);
            }
            3 if !values.is_empty() => {
                let factor = *choices.pick(&NUMBERS);
                for value in values {
                    *value *= factor;
                }
            }
            4 if !values.is_empty() => std::mem::swap(rows, cols),
            _ => {
                (*rows, *cols) = if choices.once_in(3) {
                    (0, *choices.pick(&SIZES))
                } else {
                    let cols = (*cols).min(1000);
                    ((*rows + choices.below(3)).saturating_sub(1), cols + choices.below(2))
                };
                values.resize(*rows * *cols, 0.5);
            }
        },
        Content::Counts(values) => match choices.below(4) {
            0 => values.push(*choices.pick(&COUNTS)),
            1 => drop(values.pop()),
            _ => values.iter_mut().for_each(|value| *value = *choices.pick(&COUNTS)),
        },
        Content::Bytes(bytes) => bytes.truncate(choices.below(bytes.len())),
    }
}

/// Changes numbers that are written one after the other: counts, lengths of lists, flags and values.
fn alter_numbers(bytes: &mut Vec<u8>, choices: &mut Choices<'_>) {
    let mut values: Vec<f64> =
        bytes.as_chunks::<8>().0.iter().map(|number| f64::from_le_bytes(*number)).collect();
    // Counts and lengths decide more than values do, which are many.
    let whole = |value: f64| value.fract() == 0.0;
    let counts: Vec<usize> = (0..values.len()).filter(|i| whole(values[*i])).collect();
    let at = if counts.is_empty() || choices.once_in(3) {
        choices.below(values.len())
    } else {
        *choices.pick(&counts)
    };
    match choices.below(8) {
        _ if values.is_empty() => values.push(1.0),
        0 => values.truncate(at),
        1 => values.insert(at, *choices.pick(&NUMBERS)),
        2 => drop(values.remove(at)),
        3 => values[at] = *choices.pick(&COUNTS) as f64,
        4 => values[at] += *choices.pick(&[1.0, -1.0, 0.5]),
        5 => values[at] = *choices.pick(&[f64::INFINITY, f64::NEG_INFINITY, f64::MAX]),
        _ => values[at] = *choices.pick(&NUMBERS),
    }
    *bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
}

/// Changes one value somewhere in a document.
pub fn alter_json(value: &mut Value, choices: &mut Choices<'_>) {
    let inside = match value {
        Value::Array(list) if !list.is_empty() => choices.below(list.len()),
        Value::Object(map) if !map.is_empty() => choices.below(map.len()),
        _ => return replace(value, choices),
    };
    let here = choices.once_in(8);
    match value {
        Value::Array(list) if here => list.push(list[inside].clone()),
        Value::Array(list) => alter_json(&mut list[inside], choices),
        Value::Object(map) if here => {
            let name = map.keys().nth(inside).cloned().unwrap_or_default();
            let old = map.remove(&name);
            if choices.once_in(2) {
                map.insert(format!("{name}x"), old.unwrap_or_default());
            }
        }
        Value::Object(map) => {
            if let Some(value) = map.values_mut().nth(inside) {
                alter_json(value, choices);
            }
        }
        _ => {}
    }
}

fn replace(value: &mut Value, choices: &mut Choices<'_>) {
    *value = match choices.below(10) {
        0 => Value::Null,
        1 => json!(*choices.pick(&WORDS)),
        2 => Value::Bool(choices.once_in(2)),
        3..6 => json!(*choices.pick(&COUNTS)),
        6 => json!([value.clone()]),
        7 => json!({"experts": [value.clone()]}),
        _ => json!(*choices.pick(&NUMBERS)),
    };
}
