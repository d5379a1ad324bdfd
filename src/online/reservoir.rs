//! Bounded samples of rows: of all that came, each with the same probability, or of the latest.

use crate::random::below;

/// Some rows of one width, in no order, and the number of each in the stream.
///
/// Rows are offered one after the other, all by [`sample`](Self::sample) or all by [`follow`](Self::follow).
#[derive(Clone, Debug, Default)]
pub(crate) struct Rows {
    pub values: Vec<f64>,
    pub numbers: Vec<u64>,
}

impl Rows {
    /// Offers row `number` to a reservoir to which `offered` rows were before: it holds each with the same probability
    /// (algorithm R of J. S. Vitter, "Random sampling with a reservoir", 1985). What is drawn depends on the number only.
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

    /// Takes row `number` in place of the oldest of the latest rows, if there are as many as it holds.
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
