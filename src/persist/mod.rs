//! The model file: a safetensors container with the configuration as JSON in its metadata.
//!
//! One format for every model. Arrays are little-endian float64 (or uint64 for counts), row-major, or of
//! a smaller type that represents all of their numbers exactly, so any safetensors reader can open a
//! model; of Cholesky factors and symmetric inverses the lower triangle, as one row. The metadata's one
//! key, `kernelstream`, holds `{"version": 1, "kind": ..., "spec": ..., "extra": ..., "checksum": ...}`.
//! The checksum, FNV-1a of 64 bits over kind, spec, extra and arrays, detects damage that leaves a file
//! readable.

mod compact;
#[cfg(feature = "files")]
mod files;
mod numbers;
mod params;

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use safetensors::tensor::{Dtype, TensorView};
use safetensors::{SafeTensors, serialize};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

pub use compact::compact;
#[cfg(feature = "files")]
pub use files::{kind_of, read_file, write_file};
pub(crate) use params::check_params;

/// Version of the format that this crate writes, and the newest it reads.
///
pub const FORMAT_VERSION: u32 = 1;

const KEY: &str = "kernelstream";

/// Largest count in a file; counts grow by one a row and do not reach it.
const MOST_COUNTED: u64 = 1 << 53;

/// Most columns of an array without entries, whose length does not determine them.
const MOST_EMPTY: usize = 1 << 20;

/// Columns of a [`table`](Writer::table), by the index of their group: the rest of the array's name.
const GROUPS: [&str; 3] = ["", ".single", ".whole"];

/// The groups of the columns.
const TYPES: &str = "types";

/// A model that can be saved.
pub trait Persist: Sized {
    /// An untrained model from its specification, with validated parameters.
    fn from_spec(spec: serde_json::Value) -> Result<Self>;

    /// The specification, as for [`from_spec`](Self::from_spec).
    fn spec_json(&self) -> Result<serde_json::Value>;

    /// The bytes of a model file. `extra` is any JSON of the caller, returned on loading, and part
    /// of the checksum. Python stores the note of a model in it, as the object `note`: for example
    /// the offset in a stream of the rows learned.
    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>>;

    /// [`to_bytes`](Self::to_bytes), made [`compact`](compact()). A result that this release could not read is replaced by
    /// the whole file.
    fn to_compact_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let whole = self.to_bytes(extra)?;
        let small = compact(&whole)?;
        Ok(if Self::from_bytes(&small).is_ok() { small } else { whole })
    }

    /// Reads the bytes of a model file, with the caller's JSON. The model continues as the saved
    /// one would have, to the bit.
    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)>;

    /// Writes the model to a file atomically.
    #[cfg(feature = "files")]
    fn save(&self, path: &std::path::Path, extra: serde_json::Value) -> Result<()> {
        write_file(path, &self.to_bytes(extra)?)
    }

    /// Writes a [compact](Self::to_compact_bytes) file atomically.
    #[cfg(feature = "files")]
    fn save_compact(&self, path: &std::path::Path, extra: serde_json::Value) -> Result<()> {
        write_file(path, &self.to_compact_bytes(extra)?)
    }

    /// Reads a model from a file.
    #[cfg(feature = "files")]
    fn load(path: &std::path::Path) -> Result<(Self, serde_json::Value)> {
        Self::from_bytes(&read_file(path)?)
    }
}

/// Parses a specification in JSON; errors name the part.
pub(crate) fn parse<T: DeserializeOwned + Serialize>(
    part: &'static str,
    spec: serde_json::Value,
) -> Result<T> {
    let parsed: T = serde_path_to_error::deserialize(&spec).map_err(|e| {
        let place = e.path().iter().next().map(|_| format!("{}: ", e.path()));
        let reason = format!("{}{}", place.unwrap_or_default(), e.inner());
        Error::Specification { part, reason }
    })?;
    let read = serde_json::to_value(&parsed).map_err(|e| Error::file(e.to_string()))?;
    match list_for_object(&spec, &read) {
        Some(place) => {
            let place = if place.is_empty() { place } else { format!("{}: ", place.trim_start_matches('.')) };
            let reason = format!(
                r#"{place}invalid type: list, expected values with their names, such as {{"name": ...}}"#
            );
            Err(Error::Specification { part, reason })
        }
        None => Ok(parsed),
    }
}

/// The place of the first list that was read as an object: serde takes the values of a list in the order of the fields.
fn list_for_object(given: &serde_json::Value, read: &serde_json::Value) -> Option<String> {
    use serde_json::Value::{Array, Object};
    match (given, read) {
        (Array(_), Object(_)) => Some(String::new()),
        (Object(given), Object(read)) => given.iter().find_map(|(name, given)| {
            list_for_object(given, read.get(name)?).map(|place| format!(".{name}{place}"))
        }),
        (Array(given), Array(read)) => {
            given.iter().zip(read).enumerate().find_map(|(i, (given, read))| {
                list_for_object(given, read).map(|place| format!("[{i}]{place}"))
            })
        }
        _ => None,
    }
}

/// [`parse`] of text.
pub(crate) fn parse_text<T: DeserializeOwned + Serialize>(part: &'static str, json: &str) -> Result<T> {
    let broken = |e: serde_json::Error| Error::Specification { part, reason: e.to_string() };
    parse(part, serde_json::from_str(json).map_err(broken)?)
}

/// Reads a file of this kind, with the caller's JSON: `read` gets the specification and the arrays.
/// Any fault is an [`Error::ModelFile`], also an array that is not read: it may be another array
/// that was renamed.
pub(crate) fn load<S: DeserializeOwned, M>(
    bytes: &[u8],
    kind: &str,
    read: impl FnOnce(S, &Reader<'_>) -> Result<M>,
) -> Result<(M, serde_json::Value)> {
    let (from, spec) = Reader::open_as(bytes, kind)?;
    let model = read(spec, &from).map_err(Error::in_file)?;
    from.check_all_read()?;
    Ok((model, from.header.extra))
}

/// Reads a file inside the file of another model if its specification is that of `expected`. This
/// is checked first, so that the depth of nested files is that of the specification.
pub(crate) fn load_inside<M: Persist>(from: &Reader<'_>, name: &str, expected: &M) -> Result<M> {
    let file = from.bytes(name)?;
    let spec = Reader::open(file)?.header.spec;
    if M::from_spec(spec)?.spec_json()? != expected.spec_json()? {
        return Err(Error::file(format!("{name} is not what the configuration says")));
    }
    Ok(M::from_bytes(file)?.0)
}

#[derive(Serialize, Deserialize)]
struct Header {
    version: u32,
    kind: String,
    spec: serde_json::Value,
    extra: serde_json::Value,
    checksum: String,
}

/// Whether JSON in a file of this length is within the memory allowed for files: about 50 bytes for
/// each value, and 1,600 for each object, with its copies and Python's.
fn is_affordable(json: &str, length: usize) -> bool {
    let of_byte = |byte: &u8| match byte {
        b'{' => 1600,
        b',' | b'[' => 50,
        _ => 1,
    };
    json.as_bytes().iter().map(of_byte).sum::<usize>() <= 80_000_000 + 8 * length
}

/// FNV-1a, 64 bits: one changed byte always changes it.
struct Checksum(u64);

impl Checksum {
    /// Checksum of a header; its arrays follow in the order of their names.
    fn new(kind: &str, spec: &serde_json::Value, extra: &serde_json::Value) -> Self {
        let mut sum = Self(0xcbf2_9ce4_8422_2325);
        sum.add(format!("{kind}\n{spec}\n{extra}\n").as_bytes());
        sum
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn add_array(&mut self, name: &str, dtype: Dtype, shape: &[usize], bytes: &[u8]) {
        self.add(format!("{name} {dtype:?} {shape:?}\n").as_bytes());
        self.add(bytes);
    }

    fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

struct Entry {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Collects the arrays of a model.
#[derive(Default)]
pub struct Writer {
    entries: Vec<Entry>,
    /// Name of the first array with a number that is not finite, which is refused.
    overflow: Option<String>,
}

impl std::fmt::Debug for Writer {
    /// The names of the arrays so far.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<_> = self.entries.iter().map(|entry| &entry.name).collect();
        f.debug_struct("Writer").field("arrays", &names).finish_non_exhaustive()
    }
}

impl Writer {
    /// An array of numbers (rows, cols), row-major.
    pub fn matrix(&mut self, name: &str, rows: usize, cols: usize, values: &[f64]) {
        debug_assert_eq!(values.len(), rows * cols);
        if self.overflow.is_none() && values.iter().any(|v| !v.is_finite()) {
            self.overflow = Some(name.to_owned());
        }
        self.entries.push(Entry {
            name: name.to_owned(),
            dtype: numbers::dtype_of(values),
            shape: vec![rows, cols],
            bytes: numbers::encode(values, numbers::dtype_of(values)),
        });
    }

    /// A [`matrix`](Self::matrix) whose columns differ in kind: those of small integers and those that are exact in
    /// single precision are arrays of their own.
    pub fn table(&mut self, name: &str, rows: usize, cols: usize, values: &[f64]) {
        debug_assert_eq!(values.len(), rows * cols);
        let groups: Vec<usize> = (0..cols)
            .map(|k| {
                let column: Vec<f64> = values.iter().skip(k).step_by(cols).copied().collect();
                numbers::group_of(&column)
            })
            .collect();
        if groups.iter().all(|group| *group == 0) {
            return self.matrix(name, rows, cols, values);
        }
        self.counts(
            &format!("{name}.{TYPES}"),
            &groups.iter().map(|group| *group as u64).collect::<Vec<_>>(),
        );
        for (g, suffix) in GROUPS.iter().enumerate() {
            let count = groups.iter().filter(|group| **group == g).count();
            if count > 0 {
                let own = values.iter().zip(groups.iter().cycle());
                let own: Vec<f64> = own.filter(|(_, group)| **group == g).map(|(value, _)| *value).collect();
                self.matrix(&format!("{name}{suffix}"), rows, count, &own);
            }
        }
    }

    /// A square matrix, given whole, of which only the lower triangle is stored.
    pub fn lower(&mut self, name: &str, dim: usize, values: &[f64]) {
        let rows = (0..dim).flat_map(|i| &values[i * dim..=i * dim + i]);
        self.vector(name, &rows.copied().collect::<Vec<_>>());
    }

    /// The same with gaps (NaN), whose positions are a separate array.
    pub fn matrix_with_gaps(&mut self, (name, gaps): (&str, &str), rows: usize, cols: usize, values: &[f64]) {
        let places = values.iter().enumerate().filter(|(_, value)| value.is_nan());
        self.counts(gaps, &places.map(|(place, _)| place as u64).collect::<Vec<_>>());
        let filled: Vec<f64> = values.iter().map(|value| if value.is_nan() { 0.0 } else { *value }).collect();
        self.matrix(name, rows, cols, &filled);
    }

    /// A list of numbers.
    pub fn vector(&mut self, name: &str, values: &[f64]) {
        self.matrix(name, 1, values.len(), values);
    }

    /// A list of counts.
    pub fn counts(&mut self, name: &str, values: &[u64]) {
        let (dtype, bytes) = numbers::encode_counts(values, MOST_COUNTED);
        self.entries.push(Entry { name: name.to_owned(), dtype, shape: vec![values.len()], bytes });
    }

    /// Bytes of any kind.
    pub fn bytes(&mut self, name: &str, bytes: Vec<u8>) {
        self.entries.push(Entry { name: name.to_owned(), dtype: Dtype::U8, shape: vec![bytes.len()], bytes });
    }

    /// The whole file. `extra` is any JSON of the caller. A model with numbers that are not finite
    /// is refused, so that it does not replace a valid file.
    pub fn finish(
        mut self,
        kind: &str,
        spec: serde_json::Value,
        extra: serde_json::Value,
    ) -> Result<Vec<u8>> {
        if let Some(array) = self.overflow {
            return Err(Error::Overflow { array });
        }
        self.entries.sort_by(|a, b| a.name.cmp(&b.name));
        debug_assert!(self.entries.is_sorted_by(|a, b| a.name < b.name), "two arrays of one name");
        let mut sum = Checksum::new(kind, &spec, &extra);
        for entry in &self.entries {
            sum.add_array(&entry.name, entry.dtype, &entry.shape, &entry.bytes);
        }
        let (kind, checksum) = (kind.to_owned(), sum.text());
        let header = Header { version: FORMAT_VERSION, kind, spec, extra, checksum };
        let header = serde_json::to_string(&header).map_err(|e| Error::file(e.to_string()))?;
        let length = header.len() + self.entries.iter().map(|entry| entry.bytes.len()).sum::<usize>();
        if !is_affordable(&header, length) {
            return Err(Error::file("what is to be saved beside the model is too long"));
        }
        let mut tensors = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let view = TensorView::new(entry.dtype, entry.shape.clone(), &entry.bytes)
                .map_err(|e| Error::file(e.to_string()))?;
            tensors.push((entry.name.as_str(), view));
        }
        serialize(tensors, Some(HashMap::from([(KEY.to_owned(), header)])))
            .map_err(|e| Error::file(e.to_string()))
    }
}

/// Reader of a model file; arrays are checked as they are read.
pub struct Reader<'a> {
    tensors: SafeTensors<'a>,
    header: Header,
    /// Arrays that were read.
    read: RefCell<HashSet<String>>,
    /// Bytes of the file.
    length: usize,
}

impl std::fmt::Debug for Reader<'_> {
    /// The kind of the model and the names of its arrays.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut names: Vec<_> = self.tensors.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        f.debug_struct("Reader").field("kind", &self.kind()).field("arrays", &names).finish_non_exhaustive()
    }
}

impl<'a> Reader<'a> {
    /// Opens the bytes of a model file.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| damaged(&e))?;
        let header = metadata
            .metadata()
            .as_ref()
            .and_then(|map| map.get(KEY))
            .ok_or_else(|| Error::file("a safetensors file, but not one of kernelstream"))?;
        if !is_affordable(header, bytes.len()) {
            return Err(Error::file("its configuration would take far more memory than the file"));
        }
        // The version is read first, so that the error for a newer file is right whatever else it
        // contains.
        let broken = |e: serde_json::Error| Error::file(format!("its configuration is broken ({e})"));
        let Version { version } = serde_json::from_str(header).map_err(broken)?;
        if version == 0 || version > FORMAT_VERSION {
            return Err(Error::file(format!(
                "it is of format version {version}; this release reads versions up to {FORMAT_VERSION}: \
                 upgrade kernelstream"
            )));
        }
        let header: Header = serde_json::from_str(header).map_err(broken)?;
        let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(&e))?;
        let mut arrays: Vec<_> = tensors.iter().collect();
        arrays.sort_by_key(|(name, _)| *name);
        let mut sum = Checksum::new(&header.kind, &header.spec, &header.extra);
        for (name, view) in arrays {
            sum.add_array(name, view.dtype(), view.shape(), view.data());
        }
        if sum.text() != header.checksum {
            return Err(Error::file("it is damaged: its checksum does not fit its content"));
        }
        Ok(Self { tensors, header, read: RefCell::default(), length: bytes.len() })
    }

    /// [`open`](Self::open) for a model of this kind, with its specification.
    pub fn open_as<T: DeserializeOwned>(bytes: &'a [u8], kind: &str) -> Result<(Self, T)> {
        let from = Self::open(bytes)?;
        if from.kind() != kind {
            return Err(Error::file(format!("it holds a model of another kind, {:?}", from.kind())));
        }
        let spec = T::deserialize(from.spec())
            .map_err(|e| Error::file(format!("its configuration is broken ({e})")))?;
        Ok((from, spec))
    }

    /// Kind of the model.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.header.kind
    }

    /// The specification.
    #[must_use]
    pub fn spec(&self) -> &serde_json::Value {
        &self.header.spec
    }

    /// The caller's JSON.
    #[must_use]
    pub fn extra(&self) -> &serde_json::Value {
        &self.header.extra
    }

    /// Bytes of the file, which bound the memory that may be taken for what is not in it.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Whether this array exists.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.tensors.tensor(name).is_ok()
    }

    /// Refuses a file with an array that was not read.
    fn check_all_read(&self) -> Result<()> {
        let read = self.read.borrow();
        match self.tensors.iter().find(|(name, _)| !read.contains(*name)) {
            Some((name, _)) => {
                Err(Error::file(format!("it holds an array {name:?} that is not of the model")))
            }
            None => Ok(()),
        }
    }

    fn raw(&self, name: &str, dtypes: &[Dtype], dims: usize) -> Result<TensorView<'a>> {
        self.read.borrow_mut().insert(name.to_owned());
        let view = self.tensors.tensor(name).map_err(|_| Error::file(format!("{name} is missing")))?;
        if !dtypes.contains(&view.dtype()) || view.shape().len() != dims {
            return Err(Error::file(format!("{name} has the wrong type or shape")));
        }
        Ok(view)
    }

    /// An array of finite numbers: rows, columns, and the entries in row-major order.
    pub fn matrix(&self, name: &str) -> Result<(usize, usize, Vec<f64>)> {
        let view = self.raw(name, &numbers::NUMBERS, 2)?;
        if view.data().is_empty() && view.shape().iter().any(|n| *n > MOST_EMPTY) {
            return Err(Error::file(format!("{name} is empty, but said to be large")));
        }
        let values = numbers::decode(view.data(), view.dtype());
        if values.iter().any(|v| !v.is_finite()) {
            return Err(Error::file(format!("{name} holds a number that is not finite")));
        }
        Ok((view.shape()[0], view.shape()[1], values))
    }

    /// Whether this array of numbers exists and is empty.
    #[must_use]
    pub(crate) fn is_empty(&self, name: &str) -> bool {
        self.raw(name, &numbers::NUMBERS, 2).is_ok_and(|view| view.data().is_empty())
    }

    /// An array of finite numbers of this shape.
    pub fn matrix_of(&self, name: &str, rows: usize, cols: usize) -> Result<Vec<f64>> {
        match self.matrix(name)? {
            (r, c, values) if (r, c) == (rows, cols) => Ok(values),
            (r, c, _) => Err(Error::file(format!("{name} is {r} by {c}, where {rows} by {cols} is needed"))),
        }
    }

    /// Reads the output of [`Writer::table`], of this shape.
    pub fn table(&self, name: &str, rows: usize, cols: usize) -> Result<Vec<f64>> {
        let types = format!("{name}.{TYPES}");
        if !self.has(&types) {
            return self.matrix_of(name, rows, cols);
        }
        let groups = self.all_counts(&types)?;
        if groups.len() != cols || groups.iter().any(|group| *group >= GROUPS.len() as u64) {
            return Err(Error::file(format!("{types} are not those of {cols} columns")));
        }
        // All are read before the whole is allocated, so that memory is bounded by the length of the file.
        let mut parts = Vec::new();
        for (g, suffix) in GROUPS.iter().enumerate() {
            let places: Vec<usize> = (0..cols).filter(|k| groups[*k] == g as u64).collect();
            if !places.is_empty() {
                let own = self.matrix_of(&format!("{name}{suffix}"), rows, places.len())?;
                parts.push((places, own));
            }
        }
        let mut values = vec![0.0; rows * cols];
        for (places, own) in parts {
            for (to, from) in values.chunks_exact_mut(cols).zip(own.chunks_exact(places.len())) {
                places.iter().zip(from).for_each(|(place, value)| to[*place] = *value);
            }
        }
        Ok(values)
    }

    /// Reads the output of [`Writer::matrix_with_gaps`], of this shape.
    pub fn matrix_with_gaps(&self, (name, gaps): (&str, &str), rows: usize, cols: usize) -> Result<Vec<f64>> {
        let mut values = self.matrix_of(name, rows, cols)?;
        for gap in self.all_counts(gaps)? {
            let place = usize::try_from(gap).ok().and_then(|gap| values.get_mut(gap));
            *place.ok_or_else(|| Error::file(format!("{gaps} names a cell that is not there")))? = f64::NAN;
        }
        Ok(values)
    }

    /// Reads the output of [`Writer::lower`]: the size of the matrix and all of its entries,
    /// row-major. The upper triangle is the transpose of the lower one if the matrix is symmetric,
    /// else zero.
    pub fn lower(&self, name: &str, symmetric: bool) -> Result<(usize, Vec<f64>)> {
        let (rows, cols, values) = self.matrix(name)?;
        let dim = ((8 * cols + 1).isqrt() - 1) / 2;
        if rows != 1 || dim * (dim + 1) / 2 != cols {
            return Err(Error::file(format!("{name} is {rows} by {cols}, which is no triangle")));
        }
        let mut whole = vec![0.0; dim * dim];
        let mut rest = values.as_slice();
        for i in 0..dim {
            let (row, later) = rest.split_at(i + 1);
            rest = later;
            whole[i * dim..=i * dim + i].copy_from_slice(row);
            if symmetric {
                row.iter().enumerate().for_each(|(j, value)| whole[j * dim + i] = *value);
            }
        }
        Ok((dim, whole))
    }

    /// A list of `len` finite numbers.
    pub fn vector(&self, name: &str, len: usize) -> Result<Vec<f64>> {
        self.matrix_of(name, 1, len)
    }

    /// Reads the output of [`Writer::bytes`].
    pub fn bytes(&self, name: &str) -> Result<&'a [u8]> {
        self.raw(name, &[Dtype::U8], 1).map(|view| view.data())
    }

    /// A list of `N` counts.
    pub fn counts<const N: usize>(&self, name: &str) -> Result<[u64; N]> {
        self.all_counts(name)?.try_into().map_err(|_| Error::file(format!("{name} has the wrong length")))
    }

    /// A list of counts, of any length.
    pub fn all_counts(&self, name: &str) -> Result<Vec<u64>> {
        let view = self.raw(name, &numbers::COUNTS, 1)?;
        let values = numbers::decode_counts(view.data(), view.dtype())
            .ok_or_else(|| Error::file(format!("{name} holds a count below zero")))?;
        if values.iter().any(|count| *count > MOST_COUNTED) {
            return Err(Error::file(format!("{name} holds a count that is too large")));
        }
        Ok(values)
    }
}

fn damaged(error: &safetensors::SafeTensorError) -> Error {
    Error::file(format!("it is truncated, damaged or of another format ({error:?})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_without_one_of_its_parts_is_refused_before_it_is_allocated() {
        let n = 1 << 20;
        let mut groups = vec![1; n];
        groups[0] = 0;
        let mut file = Writer::default();
        file.counts("rows.types", &groups);
        file.matrix("rows", n, 1, &vec![1.0; n]);
        let bytes = file.finish("test", serde_json::Value::Null, serde_json::Value::Null).unwrap();
        assert!(bytes.len() < 3 << 20);
        // 8 TiB.
        let error = Reader::open(&bytes).unwrap().table("rows", n, n).unwrap_err().to_string();
        assert!(error.contains("rows.single is missing"), "{error}");
    }

    #[test]
    fn a_triangle_is_read_as_the_matrix_that_it_is_of() {
        let whole = [2.0, 3.0, 5.0, 3.0, 7.0, 11.0, 5.0, 11.0, 13.0];
        let mut file = Writer::default();
        file.lower("half", 3, &whole);
        file.matrix("whole", 3, 3, &whole);
        file.lower("one", 1, &whole[..1]);
        file.lower("none", 0, &[]);
        file.vector("no triangle", &whole[..5]);
        let bytes = file.finish("test", serde_json::Value::Null, serde_json::Value::Null).unwrap();
        let file = Reader::open(&bytes).unwrap();
        assert_eq!(file.matrix("half").unwrap(), (1, 6, vec![2.0, 3.0, 7.0, 5.0, 11.0, 13.0]));
        assert_eq!(file.lower("half", true).unwrap(), (3, whole.to_vec()));
        assert_eq!(
            file.lower("half", false).unwrap(),
            (3, vec![2.0, 0.0, 0.0, 3.0, 7.0, 0.0, 5.0, 11.0, 13.0])
        );
        assert!(file.lower("whole", true).unwrap_err().to_string().contains("no triangle"));
        assert_eq!(file.lower("one", true).unwrap(), (1, vec![2.0]));
        assert_eq!(file.lower("none", true).unwrap(), (0, Vec::new()));
        assert!(file.lower("no triangle", true).unwrap_err().to_string().contains("no triangle"));
    }
}
