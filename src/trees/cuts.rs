//! Columns as histogram bins between quantiles.

/// Rows of which each number is the count of thresholds below it.
#[derive(Clone, Debug)]
pub(super) struct Binned {
    /// One column after the other.
    bins: Vec<u8>,
    rows: usize,
    /// Rising thresholds of each column: a number is above one if it is larger.
    pub thresholds: Vec<Vec<f64>>,
}

impl Binned {
    pub fn new(rows: usize) -> Self {
        Self { bins: Vec::new(), rows, thresholds: Vec::new() }
    }

    /// Adds a column, with at most `most` thresholds, fewer than 256.
    pub fn add(&mut self, column: &[f64], most: usize) {
        let thresholds = thresholds(column, most.min(255));
        let bin = |value: &f64| thresholds.partition_point(|threshold| threshold < value);
        self.bins.extend(column.iter().map(|value| u8::try_from(bin(value)).unwrap_or(u8::MAX)));
        self.thresholds.push(thresholds);
    }

    /// The bins of a column.
    pub fn column(&self, k: usize) -> &[u8] {
        &self.bins[k * self.rows..(k + 1) * self.rows]
    }
}

/// Thresholds half way between values that quantiles are at, and the next larger values.
fn thresholds(column: &[f64], most: usize) -> Vec<f64> {
    let mut sorted = column.to_vec();
    sorted.sort_by(f64::total_cmp);
    let between = |low: f64, high: f64| {
        let middle = 0.5 * low + 0.5 * high;
        if middle < high { middle.max(low) } else { low }
    };
    let mut different = sorted.clone();
    different.dedup();
    if different.len() <= most + 1 {
        return different.windows(2).map(|pair| between(pair[0], pair[1])).collect();
    }
    let n = sorted.len();
    let mut found: Vec<f64> = Vec::with_capacity(most);
    for i in 1..=most {
        let low = sorted[(i * n / (most + 1)).saturating_sub(1)];
        let above = sorted.partition_point(|value| *value <= low);
        if above < n {
            found.push(between(low, sorted[above]));
        }
    }
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_count_the_thresholds_below() {
        let functions: [fn(i32) -> f64; 3] = [|i| f64::from(i % 7), |i| f64::from(i * i), |_| 4.0];
        let columns = functions.map(|value| (0..1000).map(value).collect::<Vec<_>>());
        let mut binned = Binned::new(1000);
        for column in &columns {
            binned.add(column, 250);
        }
        assert_eq!(binned.thresholds.iter().map(Vec::len).collect::<Vec<_>>(), [6, 250, 0]);
        for k in 0..3 {
            let mut counts = vec![0; 256];
            for (i, bin) in binned.column(k).iter().enumerate() {
                let below = binned.thresholds[k].iter().filter(|t| **t < columns[k][i]).count();
                assert_eq!(usize::from(*bin), below);
                counts[below] += 1;
            }
            assert!(counts.iter().max() <= Some(&[143, 5, 1000][k]), "{counts:?}");
        }
    }

    #[test]
    fn thresholds_lie_between_values_however_large_or_close() {
        let next = 1.0_f64.next_up();
        for pair in [[-f64::MAX, f64::MAX], [1.0, next], [0.0, f64::MIN_POSITIVE], [-0.0, 5e-324]] {
            let found = thresholds(&pair, 10);
            assert!(found.len() == 1 && pair[0] <= found[0] && found[0] < pair[1], "{found:?}");
        }
    }
}
