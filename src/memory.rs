//! What a specification may ask for at once.
//!
//! What is learned grows with the data, and so does its memory. A few parameters ask for memory before the
//! first row is learned: random frequencies, a sketch, the curvature of this many functions. How much a machine
//! has cannot be known everywhere, so the limit is a plain number.

use crate::error::{Error, Result};

/// Most memory that one part of a model may ask for by its specification alone, in units of 2^30 bytes.
pub const MOST: u64 = 4;

/// Refuses `rows` by `cols` numbers that take more than [`MOST`], naming what they are for.
pub(crate) fn affordable(what: &'static str, rows: usize, cols: usize) -> Result<()> {
    let gib = rows as f64 * cols as f64 * 8.0 / f64::from(1 << 30);
    if gib <= MOST as f64 { Ok(()) } else { Err(Error::Memory { what, gib, most: MOST }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_takes_more_is_refused_by_name_and_size() {
        assert!(affordable("a table", 1 << 13, 1 << 16).is_ok());
        let error = affordable("a table", 1 << 13, (1 << 16) + 1).unwrap_err().to_string();
        assert!(error.starts_with("a table would take 4.0 GiB"), "{error}");
        assert!(affordable("a table", usize::MAX, usize::MAX).is_err());
    }
}
