//! The line of least squares through the latest rows without their season: what a short record can tell of a trend.

/// Most rows that it is fitted to, and fewest.
const ROWS: usize = 512;
const FEWEST: usize = 4;

/// A line, with seasons about it.
pub struct Line<'a> {
    /// Row number in the middle of its rows, and the value there.
    middle: f64,
    mean: f64,
    slope: f64,
    seasons: &'a [Vec<f64>],
}

impl<'a> Line<'a> {
    /// Through these values, of rows from number `first` on; the phases of the seasons' means are those of row numbers.
    pub fn new(first: usize, values: &[f64], seasons: &'a [Vec<f64>]) -> Option<Self> {
        let dropped = values.len().saturating_sub(ROWS);
        let (first, values) = (first + dropped, &values[dropped..]);
        if values.len() < FEWEST {
            return None;
        }
        let left = values.iter().enumerate().map(|(t, value)| value - of_seasons(seasons, first + t));
        let (mean, slope) = line_of(left);
        Some(Self { middle: first as f64 + (values.len() as f64 - 1.0) / 2.0, mean, slope, seasons })
    }

    /// Its value at a row.
    pub fn at(&self, row: usize) -> f64 {
        self.mean + self.slope * (row as f64 - self.middle) + of_seasons(self.seasons, row)
    }
}

/// Mean and slope of the line of least squares through values at equal distances.
pub fn line_of(values: impl ExactSizeIterator<Item = f64>) -> (f64, f64) {
    let n = values.len() as f64;
    let middle = (n - 1.0) / 2.0;
    let (mut sum, mut product) = (0.0, 0.0);
    for (t, value) in values.enumerate() {
        sum += value;
        product += (t as f64 - middle) * value;
    }
    let square = n * (n * n - 1.0) / 12.0;
    (sum / n, product / square.max(1.0))
}

fn of_seasons(seasons: &[Vec<f64>], row: usize) -> f64 {
    seasons.iter().map(|season| season[row % season.len()]).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_seasons_is_continued() {
        let seasons = [vec![1.0, -2.0, 1.0], vec![0.5, 0.5, -1.0, 0.0]];
        let value = |row: usize| 1e3 - 0.7 * row as f64 + of_seasons(&seasons, row);
        for (first, n) in [(0, 4), (5, 9), (100, 2000)] {
            let values: Vec<f64> = (first..first + n).map(value).collect();
            let line = Line::new(first, &values, &seasons).expect("there are enough rows");
            for row in [first + n, first + n + 50] {
                assert!((line.at(row) - value(row)).abs() < 1e-8);
            }
        }
        assert!(Line::new(0, &[1.0, 2.0, 3.0], &[]).is_none());
    }

    #[test]
    fn it_is_that_of_the_normal_equations() {
        let values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0];
        let line = Line::new(10, &values, &[]).expect("there are enough rows");
        let left = |t: usize| values[t] - line.at(10 + t);
        let sums = (0..7).fold([0.0, 0.0], |[sum, product], t| [sum + left(t), product + left(t) * t as f64]);
        assert!(sums.iter().all(|sum| sum.abs() < 1e-12));
    }
}
