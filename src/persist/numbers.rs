//! Numbers in the smallest type that represents all of an array exactly: what is read back has the same bits.

use safetensors::tensor::Dtype;

/// Types of arrays of numbers, and of counts. Bytes of any kind are `U8`, which is neither.
pub(super) const NUMBERS: [Dtype; 4] = [Dtype::I8, Dtype::I16, Dtype::F32, Dtype::F64];
pub(super) const COUNTS: [Dtype; 4] = [Dtype::I8, Dtype::U16, Dtype::U32, Dtype::U64];

#[expect(clippy::cast_possible_truncation, reason = "compared with the number itself")]
fn is_i8(value: f64) -> bool {
    f64::from(value as i8).to_bits() == value.to_bits()
}

#[expect(clippy::cast_possible_truncation, reason = "compared with the number itself")]
fn is_i16(value: f64) -> bool {
    f64::from(value as i16).to_bits() == value.to_bits()
}

#[expect(clippy::cast_possible_truncation, reason = "compared with the number itself")]
fn is_f32(value: f64) -> bool {
    f64::from(value as f32).to_bits() == value.to_bits()
}

/// The smallest type of these numbers.
pub(super) fn dtype_of(values: &[f64]) -> Dtype {
    let all = |is: fn(f64) -> bool| !values.is_empty() && values.iter().all(|value| is(*value));
    if all(is_i8) {
        Dtype::I8
    } else if all(is_i16) {
        Dtype::I16
    } else if all(is_f32) {
        Dtype::F32
    } else {
        Dtype::F64
    }
}

/// The group of a column of a table: 2 for small integers, 1 for numbers in single precision, 0 for others.
pub(super) fn group_of(column: &[f64]) -> usize {
    match dtype_of(column) {
        Dtype::I8 | Dtype::I16 => 2,
        Dtype::F32 => 1,
        _ => 0,
    }
}

/// Little-endian bytes of numbers in one of [`NUMBERS`], rounded where it is less precise.
#[expect(clippy::cast_possible_truncation, reason = "to the type that the caller has chosen")]
pub(super) fn encode(values: &[f64], dtype: Dtype) -> Vec<u8> {
    match dtype {
        Dtype::I8 => values.iter().flat_map(|value| (*value as i8).to_le_bytes()).collect(),
        Dtype::I16 => values.iter().flat_map(|value| (*value as i16).to_le_bytes()).collect(),
        Dtype::F32 => values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect(),
        _ => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
    }
}

/// The numbers that [`encode`] wrote.
pub(super) fn decode(bytes: &[u8], dtype: Dtype) -> Vec<f64> {
    match dtype {
        Dtype::I8 => bytes.iter().map(|byte| f64::from(byte.cast_signed())).collect(),
        Dtype::I16 => bytes.as_chunks().0.iter().map(|b| f64::from(i16::from_le_bytes(*b))).collect(),
        Dtype::F32 => bytes.as_chunks().0.iter().map(|b| f64::from(f32::from_le_bytes(*b))).collect(),
        _ => bytes.as_chunks().0.iter().map(|b| f64::from_le_bytes(*b)).collect(),
    }
}

/// Counts, at most `most`, as little-endian bytes of the smallest type, and that type.
#[expect(clippy::cast_possible_truncation, reason = "the largest fits")]
pub(super) fn encode_counts(values: &[u64], most: u64) -> (Dtype, Vec<u8>) {
    let values = values.iter().map(|value| *value.min(&most));
    match values.clone().max() {
        Some(0..=0x7f) => (Dtype::I8, values.map(|value| value as u8).collect()),
        Some(0..=0xffff) => (Dtype::U16, values.flat_map(|value| (value as u16).to_le_bytes()).collect()),
        Some(0..=0xffff_ffff) => {
            (Dtype::U32, values.flat_map(|value| (value as u32).to_le_bytes()).collect())
        }
        _ => (Dtype::U64, values.flat_map(u64::to_le_bytes).collect()),
    }
}

/// The counts that [`encode_counts`] wrote; `None` if one is negative.
pub(super) fn decode_counts(bytes: &[u8], dtype: Dtype) -> Option<Vec<u64>> {
    let counts = match dtype {
        Dtype::I8 if bytes.iter().any(|byte| *byte > 0x7f) => return None,
        Dtype::I8 => bytes.iter().map(|byte| u64::from(*byte)).collect(),
        Dtype::U16 => bytes.as_chunks().0.iter().map(|b| u64::from(u16::from_le_bytes(*b))).collect(),
        Dtype::U32 => bytes.as_chunks().0.iter().map(|b| u64::from(u32::from_le_bytes(*b))).collect(),
        _ => bytes.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect(),
    };
    Some(counts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::persist::{Reader, Writer};
    use serde_json::Value;

    fn bits(values: &[f64]) -> Vec<u64> {
        values.iter().map(|value| value.to_bits()).collect()
    }

    #[test]
    fn numbers_have_the_smallest_type_that_is_exact() {
        let single = f64::from(0.1_f32);
        for (values, dtype) in [
            (vec![-128.0, 0.0, 127.0], Dtype::I8),
            (vec![128.0, -32768.0], Dtype::I16),
            (vec![0.0, -0.0], Dtype::F32),
            (vec![32768.0, single, f64::from(f32::MAX)], Dtype::F32),
            (vec![1.0, 0.1], Dtype::F64),
            (vec![1e39, -1e-50, f64::MAX], Dtype::F64),
            (Vec::new(), Dtype::F64),
        ] {
            assert_eq!(dtype_of(&values), dtype, "{values:?}");
            assert_eq!(bits(&decode(&encode(&values, dtype), dtype)), bits(&values));
        }
        for (values, dtype) in [
            (vec![0, 127], Dtype::I8),
            (vec![128, 65_535], Dtype::U16),
            (vec![65_536], Dtype::U32),
            (vec![1 << 32], Dtype::U64),
            (vec![], Dtype::U64),
        ] {
            let (found, bytes) = encode_counts(&values, 1 << 53);
            assert_eq!((found, decode_counts(&bytes, found)), (dtype, Some(values)));
        }
        assert_eq!(decode_counts(&[1, 0x80], Dtype::I8), None);
    }

    #[test]
    fn a_table_is_read_with_the_same_bits() {
        let columns: [fn(i32) -> f64; 4] = [
            |i| 0.1 * f64::from(i),
            |_| 1.0,
            |i| f64::from(0.1_f32) * f64::from(i % 2),
            |i| -0.3 / f64::from(i + 1),
        ];
        for chosen in [vec![], vec![0], vec![1], vec![0, 1, 2, 3], vec![1, 2, 1], vec![3, 2], vec![3, 1, 0]] {
            for rows in [0, 1, 7] {
                let values: Vec<f64> =
                    (0..rows).flat_map(|i| chosen.iter().map(move |k: &usize| columns[*k](i))).collect();
                let (n, cols) = (usize::try_from(rows).unwrap(), chosen.len());
                let mut out = Writer::default();
                out.table("rows", n, cols, &values);
                let bytes = out.finish("table", Value::Null, Value::Null).unwrap();
                let from = Reader::open(&bytes).unwrap();
                assert_eq!(bits(&from.table("rows", n, cols).unwrap()), bits(&values));
                assert!(from.check_all_read().is_ok());
                assert!(
                    from.table("rows", n, cols + 1).is_err()
                        && from.table("rows", n + 1, cols.max(1)).is_err()
                );
            }
        }
        for types in [[0, 3], [1, 1], [2, 2]] {
            let mut out = Writer::default();
            out.counts("rows.types", &types);
            out.matrix("rows", 1, 2, &[0.1, 0.2]);
            let bytes = out.finish("table", Value::Null, Value::Null).unwrap();
            assert!(Reader::open(&bytes).unwrap().table("rows", 1, 2).is_err());
        }
    }
}
