//! Smaller model files, whose predictions differ by rounding to single precision.

use faer::{Mat, Side};
use safetensors::tensor::Dtype;

use super::{Entry, GROUPS, Reader, TYPES, Writer, numbers};
use crate::error::Result;

/// Kinds of files of which arrays are rounded, those inside of them included.
const KINDS: [&str; 5] = ["adaptive", "experts", "stream", "table", "targets"];

/// Magnitudes that single precision represents to 7 digits; zero is exact too.
const LEAST: f64 = 1e-30;
const MOST: f64 = 1e30;

/// Largest rounding error of a column of stored rows, in its standard deviations: a time in seconds stays in double
/// precision.
const MOST_OFF: f64 = 1e-6;

/// Levels of files in files: a table of targets of tables of experts of models of cells has fewer.
const MOST_NESTED: usize = 8;

/// Relative rounding error of single precision.
const ROUNDING: f64 = 6e-8;

/// Largest ratio of the squared diagonal entries of a factor that is left out: the one computed again has the same
/// coordinates to 1e-10.
const MOST_CONDITION: f64 = 1e6;

/// A smaller model file of the same model. Sums of trees, stored rows and inverse curvatures are in single precision, and
/// Cholesky factors of dictionaries are left out, where this changes predictions by no more than rounding; the factors are
/// computed again on loading. Files of other kinds of models are returned as they are.
pub fn compact(bytes: &[u8]) -> Result<Vec<u8>> {
    compact_within(bytes, MOST_NESTED)
}

/// The same of a file that has at most this many levels of files inside of it which are made smaller.
fn compact_within(bytes: &[u8], levels: usize) -> Result<Vec<u8>> {
    let from = Reader::open(bytes)?;
    if !KINDS.contains(&from.kind()) {
        return Ok(bytes.to_owned());
    }
    let inside = |bytes: &[u8]| compact_within(bytes, levels.checked_sub(1)?).ok();
    let mut out = Writer::default();
    let mut names: Vec<&str> = from.tensors.iter().map(|(name, _)| name).collect();
    names.sort_unstable();
    for name in names {
        if let Some(whole) = table_of(name) {
            // Once, though it may have several arrays.
            if out.entries.iter().all(|entry| table_of(&entry.name) != Some(whole)) {
                table(whole, &from, &mut out)?;
            }
        } else if name == "learner.inverse" {
            inverse(name, &from, &mut out)?;
        } else if name == "basis.factor" {
            factor(name, &from, &mut out)?;
        } else if is_sum(name) {
            rounded(name, &from, &mut out)?;
        } else if name.starts_with("trees.") && name.contains(".rounding.") {
            let (tree, part) = name.split_once(".rounding.").unwrap_or_default();
            let is_exact = !is_single(&from.matrix(&format!("{tree}.{part}"))?.2);
            out.bytes(name, if is_exact { from.bytes(name)?.to_owned() } else { Vec::new() });
        } else {
            let view = from.tensors.tensor(name).map_err(|e| super::damaged(&e))?;
            let inner = (view.dtype() == Dtype::U8).then(|| inside(view.data())).flatten();
            out.entries.push(Entry {
                name: name.to_owned(),
                dtype: view.dtype(),
                shape: inner.as_ref().map_or_else(|| view.shape().to_vec(), |inner| vec![inner.len()]),
                bytes: inner.unwrap_or_else(|| view.data().to_owned()),
            });
        }
    }
    out.finish(from.kind(), from.spec().clone(), from.extra().clone())
}

/// The name of a table of rows that are stored to be learned again, by that of one of its arrays.
fn table_of(name: &str) -> Option<&str> {
    let whole = name.split_once(".rows").map(|(before, _)| &name[..before.len() + ".rows".len()])?;
    (whole == "trees.rows" || whole.starts_with("buffer.")).then_some(whole)
}

/// Numbers that are averaged, or added up.
fn is_sum(name: &str) -> bool {
    let is_of_a_tree = ["trees.forest.", "trees.growing."].iter().any(|group| name.starts_with(group));
    match name.rsplit_once('.') {
        Some((tree, "sums" | "weights")) => is_of_a_tree && !tree.ends_with("rounding"),
        Some((_, "leaves")) => name.starts_with("trees."),
        _ => false,
    }
}

/// Whether numbers lose no more than their last digits in single precision, and are not exact there.
fn is_single(values: &[f64]) -> bool {
    let is_within = |value: &f64| *value == 0.0 || (LEAST..MOST).contains(&value.abs());
    numbers::dtype_of(values) == Dtype::F64 && !values.is_empty() && values.iter().all(is_within)
}

fn push(name: &str, (rows, cols): (usize, usize), values: &[f64], out: &mut Writer) {
    let dtype = if is_single(values) { Dtype::F32 } else { numbers::dtype_of(values) };
    let bytes = numbers::encode(values, dtype);
    out.entries.push(Entry { name: name.to_owned(), dtype, shape: vec![rows, cols], bytes });
}

fn rounded(name: &str, from: &Reader<'_>, out: &mut Writer) -> Result<()> {
    let (rows, cols, values) = from.matrix(name)?;
    push(name, (rows, cols), &values, out);
    Ok(())
}

/// Each column in single precision whose rounding is small against its deviation.
fn table(name: &str, from: &Reader<'_>, out: &mut Writer) -> Result<()> {
    let types = format!("{name}.{TYPES}");
    let cols = if from.has(&types) { from.all_counts(&types)?.len() } else { from.matrix(name)?.1 };
    let groups = GROUPS.iter().map(|suffix| format!("{name}{suffix}")).filter(|name| from.has(name));
    let rows = groups.map(|name| Ok(from.matrix(&name)?.0)).next().transpose()?.unwrap_or(0);
    let mut values = from.table(name, rows, cols)?;
    for k in 0..cols {
        let column: Vec<f64> = values.iter().skip(k).step_by(cols).copied().collect();
        let mean = column.iter().sum::<f64>() / rows as f64;
        let variance = column.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / rows as f64;
        let most = column.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
        if is_single(&column) && most * ROUNDING <= MOST_OFF * variance.sqrt() {
            let single = numbers::decode(&numbers::encode(&column, Dtype::F32), Dtype::F32);
            values.iter_mut().skip(k).step_by(cols).zip(single).for_each(|(to, from)| *to = from);
        }
    }
    out.table(name, rows, cols, &values);
    Ok(())
}

/// The lower triangle of a symmetric matrix, rounded if it is positive definite after it.
fn inverse(name: &str, from: &Reader<'_>, out: &mut Writer) -> Result<()> {
    let (rows, cols, values) = from.matrix(name)?;
    let single = numbers::decode(&numbers::encode(&values, Dtype::F32), Dtype::F32);
    let dim = ((8 * cols + 1).isqrt() - 1) / 2;
    let at = |i: usize, j: usize| single[i.max(j) * (i.max(j) + 1) / 2 + i.min(j)];
    let is_triangle = rows == 1 && dim * (dim + 1) / 2 == cols;
    if is_triangle && Mat::from_fn(dim, dim, at).llt(Side::Lower).is_ok() {
        push(name, (rows, cols), &values, out);
    } else {
        out.matrix(name, rows, cols, &values);
    }
    Ok(())
}

/// The factor, or nothing if it is well conditioned and smaller than the rest of the file.
fn factor(name: &str, from: &Reader<'_>, out: &mut Writer) -> Result<()> {
    let (rows, cols, values) = from.matrix(name)?;
    let dim = ((8 * cols + 1).isqrt() - 1) / 2;
    let diagonal = (0..dim).filter_map(|i| values.get(i * (i + 3) / 2));
    let (least, most) =
        diagonal.fold((f64::INFINITY, 0.0_f64), |(least, most), d| (least.min(*d), most.max(*d)));
    let is_smaller = from.has("learner.inverse") && from.matrix("learner.inverse")?.1 == cols;
    if is_smaller && most * most <= MOST_CONDITION * least * least {
        out.matrix(name, 1, 0, &[]);
    } else {
        out.matrix(name, rows, cols, &values);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::any::AnyModel;
    use crate::persist::Persist as _;
    use crate::random::normal;

    fn file(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut out = Writer::default();
        write(&mut out);
        out.finish("stream", Value::Null, json!({"note": 7})).unwrap()
    }

    fn dtype(bytes: &[u8], name: &str) -> Dtype {
        Reader::open(bytes).unwrap().tensors.tensor(name).unwrap().dtype()
    }

    #[test]
    fn columns_whose_rounding_matters_stay_in_double_precision() {
        // Numbers of deviation 1, seconds since 1970 within an hour, ones, and a number with one value.
        let row = |i: u64| [normal(1, i), 1.7e9 + 3600.0 * normal(2, i), 1.0, 0.1];
        let rows: Vec<f64> = (0..100).flat_map(row).collect();
        let bytes = compact(&file(|out| out.table("trees.rows", 100, 4, &rows))).unwrap();
        let again = Reader::open(&bytes).unwrap().table("trees.rows", 100, 4).unwrap();
        for (row, again) in rows.chunks(4).zip(again.chunks(4)) {
            assert!(row[0].to_bits() != again[0].to_bits() && (row[0] - again[0]).abs() < 1e-6);
            assert_eq!(row[1..], again[1..]);
        }
        assert_eq!(
            (dtype(&bytes, "trees.rows"), dtype(&bytes, "trees.rows.single")),
            (Dtype::F64, Dtype::F32)
        );
        assert_eq!(Reader::open(&bytes).unwrap().extra()["note"], 7);
    }

    #[test]
    fn numbers_out_of_the_range_of_single_precision_and_indefinite_matrices_stay() {
        for (values, expected) in
            [([0.1, 0.0], Dtype::F32), ([0.1, 1e-31], Dtype::F64), ([0.1, 1e31], Dtype::F64)]
        {
            let bytes = compact(&file(|out| out.vector("trees.boosted.leaves", &values))).unwrap();
            assert_eq!(dtype(&bytes, "trees.boosted.leaves"), expected);
        }
        for (last, expected) in [(1.2, Dtype::F32), (1.0 + 1e-12, Dtype::F64)] {
            let bytes =
                compact(&file(|out| out.lower("learner.inverse", 2, &[1.0, 0.0, 1.0, last]))).unwrap();
            assert_eq!(dtype(&bytes, "learner.inverse"), expected);
        }
    }

    fn learned(spec: &Value, rows: u64, labels: bool) -> AnyModel {
        let mut model = AnyModel::from_json(&spec.to_string()).unwrap();
        learn(&mut model, 0..rows, labels);
        model
    }

    fn x(i: u64) -> Vec<f64> {
        (0..3).map(|k| normal(3 + k, i)).collect()
    }

    fn learn(model: &mut AnyModel, rows: std::ops::Range<u64>, labels: bool) {
        for i in rows {
            let x = x(i);
            let y = (2.0 * x[0]).sin() + x[1] * x[2] + 0.3 * normal(9, i);
            model.learn_one(&x, &[if labels { y.signum() } else { 100.0 + y }]).unwrap();
        }
    }

    /// Largest difference of predictions of rows that were not learned.
    fn gap(one: &AnyModel, other: &AnyModel) -> f64 {
        let rows = ndarray::Array2::from_shape_fn((500, 3), |(i, k)| x(100_000 + i as u64)[k]);
        let difference = one.predict(rows.view()).unwrap() - other.predict(rows.view()).unwrap();
        difference.iter().fold(0.0, |most: f64, gap| most.max(gap.abs()))
    }

    #[test]
    fn a_compact_model_predicts_alike_and_learns_on() {
        let trees = json!({"forest_trees": 7, "min_rows": 20, "rounds": [25, 75, 250], "depth": 2});
        let adaptive = json!({"adaptive": {"size": 40, "params": {"trees": trees}}});
        let labels = json!({"adaptive": {"size": 40, "loss": "squared_hinge", "params": {"trees": trees}}});
        let ridge = json!({"basis": {"type": "ald", "max_size": 60}, "learner": {"type": "ridge"}});
        for (spec, are_labels, share) in [(adaptive, false, 0.75), (labels, true, 0.75), (ridge, false, 0.4)]
        {
            let mut model = learned(&spec, 2000, are_labels);
            let (whole, small) =
                (model.to_bytes(Value::Null).unwrap(), model.to_compact_bytes(Value::Null).unwrap());
            assert!((small.len() as f64) < share * whole.len() as f64, "{} of {}", small.len(), whole.len());
            let (mut again, _) = AnyModel::from_bytes(&small).unwrap();
            assert!(gap(&model, &again) < 1e-6, "{}", gap(&model, &again));
            // Nothing is left to be rounded.
            assert!(again.to_compact_bytes(Value::Null).unwrap().len() <= small.len());
            for model in [&mut model, &mut again] {
                learn(model, 2000..2500, are_labels);
            }
            assert!(gap(&model, &again) < 1e-4, "{} after further rows", gap(&model, &again));
        }
    }

    #[test]
    fn a_factor_is_left_out_only_where_the_file_is_large_enough() {
        let ridge = json!({"basis": {"type": "ald", "max_size": 60}, "learner": {"type": "ridge"}});
        let bytes = learned(&ridge, 500, false).to_compact_bytes(Value::Null).unwrap();
        let from = Reader::open(&bytes).unwrap();
        assert!(from.is_empty("basis.factor") && AnyModel::from_bytes(&bytes).is_ok());
        let mut out = Writer::default();
        for (name, _) in from.tensors.iter().filter(|(name, _)| *name != "basis.points") {
            let view = from.tensors.tensor(name).unwrap();
            let (shape, bytes) = (view.shape().to_vec(), view.data().to_vec());
            out.entries.push(Entry { name: name.to_owned(), dtype: view.dtype(), shape, bytes });
        }
        let points: Vec<f64> = (0..300_000).map(|i| f64::from(i % 100)).collect();
        out.matrix("basis.points", 100_000, 3, &points);
        let bytes = out.finish("stream", from.spec().clone(), from.extra().clone()).unwrap();
        let text = AnyModel::from_bytes(&bytes).map(|_| ()).unwrap_err().to_string();
        assert!(text.contains("the sizes of basis.points and basis.factor do not fit"), "{text}");
    }
}
