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
    /// depend on `number` only. Returns its place if it is kept.
    pub fn sample(
        &mut self,
        offered: u64,
        capacity: usize,
        number: u64,
        row: impl Iterator<Item = f64>,
        width: usize,
    ) -> Option<usize> {
        let kept = self.numbers.len();
        let place = if kept < capacity { kept as u64 } else { below(0, number, offered + 1) };
        let place = usize::try_from(place).ok().filter(|place| *place < capacity)?;
        self.put(place, number, row, width);
        Some(place)
    }

    /// Replaces the oldest row by row `number` if the sample is full.
    pub fn follow(&mut self, capacity: usize, number: u64, row: impl Iterator<Item = f64>, width: usize) {
        let kept = self.numbers.len();
        let place = if kept < capacity { kept } else { self.oldest() };
        self.put(place, number, row, width);
    }

    /// Place of the row with the smallest number, where the others are in order from the next place
    /// on, and from the first after the last.
    fn oldest(&self) -> usize {
        let first = self.numbers.first().copied().unwrap_or(0);
        let begins_again = self.numbers.partition_point(|number| *number >= first);
        if begins_again < self.numbers.len() { begins_again } else { 0 }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_row_is_replaced_from_any_row_number_on() {
        for skipped in [0, 1, 7, 100] {
            let mut rows = Rows::default();
            for number in (0..5).chain(5 + skipped..16 + skipped) {
                rows.follow(4, number, std::iter::once(number as f64), 1);
                let mut kept = rows.numbers.clone();
                kept.sort_unstable();
                assert!(
                    kept.len() < 4 || kept[1..] == [number - 2, number - 1, number] || number < 8 + skipped
                );
                assert!(
                    rows.values
                        .iter()
                        .zip(&rows.numbers)
                        .all(|(value, number)| value.to_bits() == (*number as f64).to_bits())
                );
            }
        }
    }
}
