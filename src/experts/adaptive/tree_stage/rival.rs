//! Boosted trees that are fitted to a sample of the rows, beside others that have learned more.

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};
use crate::trees::Boosted;

/// The part of the rows so far by which they are compared.
const COMPARED: f64 = 0.25;

const NAME: &str = "trees.rival";

/// Trees that take the place of those there are if their errors are smaller for a number of rows, before
/// each is learned.
///
/// Leaves of the trees there are may have learned many more rows than are stored: where targets depend on the
/// columns as before, they are better than trees fitted again, and worse where that has changed.
#[derive(Clone, Debug)]
pub(super) struct Rival {
    trees: Boosted,
    /// Rows of the stream when they were fitted.
    pub fitted: u64,
    /// Rows compared so far, and those by which they are compared.
    rows: f64,
    enough: f64,
    /// Squared errors in units of the targets: of the trees there are, and of these.
    errors: [f64; 2],
}

impl Rival {
    /// Trees fitted after the first of these numbers of rows, and ready after the second.
    pub fn new(trees: Boosted, fitted: u64, age: u64) -> Self {
        Self { trees, fitted, rows: 0.0, enough: (COMPARED * age as f64).ceil(), errors: [0.0; 2] }
    }

    /// Counts the errors for a row, unless it is in the first half, after which the leaves of both have followed
    /// what has changed; its trees learn the row as the others do.
    pub fn compare(
        &mut self,
        others: &Boosted,
        x: &[f64],
        (targets, units): (&[f64], &[f64]),
        weight: f64,
        learn: impl FnOnce(&mut Boosted),
    ) {
        let mut made = vec![0.0; targets.len()];
        self.rows += 1.0;
        let counts = 2.0 * self.rows > self.enough;
        for (trees, errors) in [others, &self.trees].into_iter().zip(&mut self.errors).filter(|_| counts) {
            trees.predict_into(x, &[usize::MAX], &mut made);
            for ((y, made), unit) in targets.iter().zip(&made).zip(units) {
                let sum = *errors + weight * ((y - made) / unit).powi(2);
                *errors = if sum.is_finite() { sum } else { *errors };
            }
        }
        learn(&mut self.trees);
    }

    /// Ends the comparison once there are enough rows.
    pub fn decide(rival: &mut Option<Self>) -> Option<Self> {
        rival.take_if(|own| own.rows >= own.enough)
    }

    /// Its trees if they are better.
    pub fn better(self) -> Option<Boosted> {
        (self.errors[1] < self.errors[0]).then_some(self.trees)
    }

    pub fn write(&self, out: &mut Writer) {
        out.counts(&format!("{NAME}.fitted"), &[self.fitted]);
        out.vector(NAME, &[self.rows, self.enough, self.errors[0], self.errors[1]]);
        self.trees.write(NAME, out);
    }

    /// What [`write`](Self::write) wrote, of rows with as many numbers and targets, if there was one.
    pub fn read(layout: (usize, usize), from: &Reader<'_>) -> Result<Option<Self>> {
        if !from.has(NAME) {
            return Ok(None);
        }
        let numbers = from.vector(NAME, 4)?;
        if numbers.iter().any(|number| *number < 0.0) {
            return Err(Error::file(format!("{NAME} has negative numbers")));
        }
        let [fitted] = from.counts(&format!("{NAME}.fitted"))?;
        let trees = Boosted::read(NAME, layout, from)?;
        Ok(Some(Self {
            trees,
            fitted,
            rows: numbers[0],
            enough: numbers[1],
            errors: [numbers[2], numbers[3]],
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOW: (f64, f64) = (0.5, 1.0);

    /// Trees that have learned this target.
    fn trees(target: f64) -> Boosted {
        let mut trees = Boosted::of_one_leaf(1.0);
        (0..100).for_each(|_| trees.learn(&[0.0], &[target], 1.0, HOW, &mut Vec::new()));
        trees
    }

    /// Trees that have learned the second of these targets, if they are better than those of the first on rows.
    fn compared([others, own]: [f64; 2], targets: &[f64]) -> Option<Boosted> {
        let mut rival = Some(Rival::new(trees(own), 1, 4 * targets.len() as u64));
        for target in targets {
            assert!(Rival::decide(&mut rival).is_none(), "before all rows are compared");
            let own = rival.as_mut().expect("it is there until it is decided");
            own.compare(&trees(others), &[0.0], (&[*target], &[2.0]), 1.0, |_| ());
        }
        let decided = Rival::decide(&mut rival).expect("there are enough rows");
        assert!(rival.is_none());
        decided.better()
    }

    #[test]
    fn those_with_smaller_errors_in_the_second_half_stay() {
        for targets in [[1.0; 8], [9.0, 9.0, 9.0, 9.0, 1.0, 1.0, 1.0, 1.0]] {
            assert_eq!(compared([1.0, 9.0], &targets), None);
            assert_eq!(compared([9.0, 1.0], &targets), Some(trees(1.0)));
        }
        // Another deviation, or rows that count for nothing.
        let mut rival = Rival::new(trees(9.0), 1, 4);
        rival.compare(&trees(1.0), &[0.0], (&[9.0], &[0.0]), 1.0, |_| ());
        rival.compare(&trees(1.0), &[0.0], (&[9.0], &[1.0]), 0.0, |_| ());
        assert_eq!(rival.better(), None);
    }

    #[test]
    fn a_file_has_it_as_it_is() {
        let mut rival = Rival::new(trees(3.0), 7, 8);
        let learn = |trees: &mut Boosted| trees.learn(&[0.0], &[1.0], 1.0, HOW, &mut Vec::new());
        rival.compare(&trees(1.0), &[0.0], (&[1.0], &[1.0]), 1.0, learn);
        let mut out = Writer::default();
        rival.write(&mut out);
        let bytes = out.finish("trees", serde_json::Value::Null, serde_json::Value::Null).unwrap();
        let from = Reader::open(&bytes).unwrap();
        let read = Rival::read((1, 1), &from).unwrap().expect("it is in the file");
        assert_eq!((read.fitted, read.rows, read.enough), (7, rival.rows, rival.enough));
        let bits = |own: &Rival| own.errors.map(f64::to_bits);
        assert_eq!(bits(&read), bits(&rival));
        assert_eq!(read.trees, rival.trees);
    }
}
