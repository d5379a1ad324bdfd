//! Labels that come in runs: the next one is usually that of the row before.

/// Changes of class expected of rows in a random order, more than which tell that labels come in runs.
const FEWEST_CHANGES: f64 = 20.0;

/// The share of them below which labels come in runs: electricity prices, which rise for hours, have a third, blocks of 100
/// labels a fiftieth.
const SHARE_OF_CHANGES: f64 = 0.1;

/// How often each class came, and how often another one than before.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LabelRuns {
    pub counts: Vec<u64>,
    /// Rows of another class than the one before, and the class of the latest.
    pub changes: u64,
    pub latest: Option<usize>,
    /// Whether labels come in long runs.
    pub are_long: bool,
}

impl LabelRuns {
    pub fn new(classes: usize) -> Self {
        Self { counts: vec![0; classes], changes: 0, latest: None, are_long: false }
    }

    /// A row of a class. Returns whether runs are found to be long by it.
    pub fn meet(&mut self, class: usize) -> bool {
        self.changes += u64::from(self.latest.is_some_and(|latest| latest != class));
        self.latest = Some(class);
        self.counts[class] += 1;
        let are_long = self.change_rarely();
        let before = std::mem::replace(&mut self.are_long, are_long);
        are_long && !before
    }

    /// Whether labels change far less often than in a random order.
    fn change_rarely(&self) -> bool {
        let rows = self.counts.iter().sum::<u64>() as f64;
        let alike: f64 = self.counts.iter().map(|count| (*count as f64 / rows.max(1.0)).powi(2)).sum();
        let expected = rows * (1.0 - alike);
        expected > FEWEST_CHANGES && (self.changes as f64) < SHARE_OF_CHANGES * expected
    }

    /// Adds rows that came after these.
    pub fn follow(&mut self, later: &Self) {
        self.counts.iter_mut().zip(&later.counts).for_each(|(own, other)| *own += other);
        (self.changes, self.latest) = (self.changes + later.changes, later.latest);
    }

    /// Changes, the latest class and whether runs are long, as numbers.
    pub fn numbers(&self) -> [u64; 3] {
        [self.changes, self.latest.map_or(0, |latest| latest as u64 + 1), u64::from(self.are_long)]
    }

    /// Those with these counts and [`numbers`](Self::numbers); `None` if they are of no rows.
    pub fn of(counts: Vec<u64>, [changes, latest, are_long]: [u64; 3]) -> Option<Self> {
        let rows: u128 = counts.iter().map(|count| u128::from(*count)).sum();
        let latest = usize::try_from(latest).unwrap_or(usize::MAX);
        let is_sound = u128::from(changes) <= rows && latest <= counts.len() && are_long <= 1;
        is_sound.then(|| Self { counts, changes, latest: latest.checked_sub(1), are_long: are_long == 1 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_labels_are_runs_and_a_random_order_is_none() {
        let long = |class: &dyn Fn(usize) -> usize| {
            let mut runs = LabelRuns::new(2);
            let found = (0..1000).filter(|row| runs.meet(class(*row))).count();
            let again = LabelRuns::of(runs.counts.clone(), runs.numbers());
            assert_eq!(again.as_ref(), Some(&runs));
            (runs.are_long, found)
        };
        assert_eq!(long(&|row| row / 100 % 2), (true, 1));
        assert_eq!(long(&|row| row % 2), (false, 0));
        assert_eq!(long(&|_| 1), (false, 0));
        assert_eq!(LabelRuns::of(vec![3, 2], [6, 0, 0]), None);
        assert_eq!(LabelRuns::of(vec![3, 2], [1, 3, 0]), None);
    }
}
