//! Detection of a lasting rise of a number.

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Parameters of a [`RiseDetector`].
struct RiseParams {
    /// Checks before the usual value is estimated.
    min_checks: u64,
    /// Memory of the usual value, in checks.
    memory: f64,
    /// Deviations above the mean that count as a rise.
    deviations: f64,
}

const PARAMS: RiseParams = RiseParams { min_checks: 8, memory: 40.0, deviations: 6.0 };

/// Detects a lasting rise of a number that is checked periodically.
///
/// A rise is reported if two consecutive checks are above the mean so far by six standard
/// deviations, and by a minimum.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RiseDetector {
    looks: u64,
    mean: f64,
    variance: f64,
    /// Whether the latest check was above the limit.
    high: bool,
    risen: bool,
}

impl RiseDetector {
    /// Whether a rise was ever detected.
    pub fn has_risen(&self) -> bool {
        self.risen
    }

    /// Checks the number; rises smaller than `least` are ignored.
    pub fn look(&mut self, value: f64, least: f64) {
        let gap = value - self.mean;
        let too_much = gap > least.max(PARAMS.deviations * self.variance.sqrt());
        if self.looks >= PARAMS.min_checks && too_much && !self.risen {
            // Values above the limit do not enter the usual value.
            (self.risen, self.high) = (self.high, true);
            return;
        }
        self.high = false;
        self.looks += 1;
        let share = (self.looks as f64).recip().max(PARAMS.memory.recip());
        self.mean += share * gap;
        self.variance += share * ((1.0 - share) * gap * gap - self.variance);
    }

    pub fn write(&self, name: &str, out: &mut Writer) {
        let flags = u64::from(self.high) + 2 * u64::from(self.risen);
        out.counts(&format!("{name}.looks"), &[self.looks, flags]);
        out.vector(&format!("{name}.usual"), &[self.mean, self.variance]);
    }

    /// Reads what [`write`](Self::write) wrote.
    pub fn read(name: &str, from: &Reader<'_>) -> Result<Self> {
        let [looks, flags] = from.counts(&format!("{name}.looks"))?;
        let usual = from.vector(&format!("{name}.usual"), 2)?;
        if flags > 3 || usual[1] < 0.0 {
            return Err(Error::file(format!("{name}.looks and {name}.usual are of no watch")));
        }
        Ok(Self { looks, mean: usual[0], variance: usual[1], high: flags & 1 != 0, risen: flags & 2 != 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::normal;

    #[test]
    fn noise_is_usual_and_a_step_is_not() {
        let mut watch = RiseDetector::default();
        (0..20_000).for_each(|t| watch.look(normal(1, t), 0.0));
        assert!(!watch.has_risen());
        watch.look(8.0, 0.0);
        watch.look(0.0, 0.0);
        watch.look(8.0, 0.0);
        assert!(!watch.has_risen(), "once is chance");
        watch.look(8.0, 0.0);
        assert!(watch.has_risen());
    }

    #[test]
    fn small_rises_and_slow_ones_are_nothing() {
        let (mut small, mut slow) = (RiseDetector::default(), RiseDetector::default());
        for t in 0..400 {
            small.look(if t < 200 { 0.0 } else { 0.5 }, 0.7);
            slow.look(f64::from(t) / 50.0, 0.7);
        }
        assert!(!small.has_risen());
        assert!(!slow.has_risen(), "{slow:?}");
    }
}
