//! Bounded samples of rows: uniform over the stream, or the latest.

use crate::random::below;

/// Rows of one width, unordered, each with its number in the stream.
///
/// All rows are offered by [`sample`](Self::sample), or all by [`follow`](Self::follow).
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub values: Vec<f64>,
    pub numbers: Vec<u64>,
}

impl Rows {
    /// Offers row `number` after `offered` others: each is kept with the same probability
    /// (algorithm R of J. S. Vitter, "Random sampling with a reservoir", 1985). Random numbers
    /// depend on `number` only.
    pub fn sample(
        &mut self,
        offered: u64,
        capacity: usize,
        number: u64,
        row: impl Iterator<Item = f64>,
        width: usize,
    ) {
        let kept = self.numbers.len();
        let place = if kept < capacity { kept as u64 } else { below(0, number, offered + 1) };
        if let Ok(place) = usize::try_from(place)
            && place < capacity
        {
            self.put(place, number, row, width);
        }
    }

    /// Replaces the oldest row by row `number` if the sample is full.
    pub fn follow(
        &mut self,
        offered: u64,
        capacity: usize,
        number: u64,
        row: impl Iterator<Item = f64>,
        width: usize,
    ) {
        let place = usize::try_from(offered % capacity as u64).unwrap_or(0).min(self.numbers.len());
        self.put(place, number, row, width);
    }

    fn put(&mut self, place: usize, number: u64, row: impl Iterator<Item = f64>, width: usize) {
        if place == self.numbers.len() {
            self.values.extend(row);
            self.numbers.push(number);
        } else {
            let to = &mut self.values[place * width..(place + 1) * width];
            to.iter_mut().zip(row).for_each(|(to, from)| *to = from);
            self.numbers[place] = number;
        }
    }
}
