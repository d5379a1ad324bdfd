//! Half-widths: quantiles of scores at several levels.

use std::sync::LazyLock;

use super::rescaling::{FARTHEST, Rescaling};
use super::tally::Tally;
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Quantile levels.
const COVERAGES: [f64; LEVELS] =
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999];

/// Quantiles of absolute Gaussian errors, in deviations: the initial half-widths.
const GAUSSIAN: [f64; LEVELS] = [
    0.1257, 0.2533, 0.3853, 0.5244, 0.6745, 0.8416, 1.0364, 1.2816, 1.6449, 1.9600, 2.2414, 2.5758, 2.8070,
    3.2905,
];

/// Step of the log half-width per row: Gaussian errors correct a wrong half-width within about 50
/// rows, or up to 300 at the outer levels.
const STEPS: [f64; LEVELS] = [
    0.2011, 0.1022, 0.0701, 0.0548, 0.0467, 0.0424, 0.0414, 0.0445, 0.0589, 0.0873, 0.0985, 0.1342, 0.1639,
    0.2850,
];

const LEVELS: usize = 14;

/// The same for Gaussian numbers, in deviations.
const GEOMETRIC_MEAN: f64 = 0.5298;

/// The score of a row that is inside every interval and changes no half-width.
pub(crate) const WITHIN: f64 = -1.0;

/// Index of the coverage that is counted.
const NINETY: usize = 8;

/// Factors on the square of a half-width after an error outside, and after one inside.
static FACTORS: LazyLock<[[f64; LEVELS]; 2]> = LazyLock::new(|| factors(1.0));

/// The same for errors that are known late, when several dependent ones arrive before the first
/// takes effect.
static LATE_FACTORS: LazyLock<[[f64; LEVELS]; 2]> = LazyLock::new(|| factors(0.5));

fn factors(share: f64) -> [[f64; LEVELS]; 2] {
    let factor = |beyond: f64| {
        let step = |level: usize| share * STEPS[level] * (COVERAGES[level] - 1.0 + beyond);
        std::array::from_fn(|level| (2.0 * step(level)).exp())
    };
    [factor(1.0), factor(0.0)]
}

/// Range of log places in which the half-width equals the place; it contains the squares of
/// Gaussian errors. Outside, half-widths grow exponentially with the place: about a hundred errors
/// outside make it infinite, whatever their size, so that coverage is bounded without a bound on
/// the errors.
const ORDINARY: [f64; 2] = [-5.0, 3.5];

/// Largest absolute log place: a half-width is infinite from 5.8 on, and nearly zero from -7.3 on.
const FURTHEST_PLACE: f64 = 9.0;

/// Squares of units are between this and its reciprocal.
const LARGEST_UNIT: f64 = 1e140;

/// Half-widths: quantiles of scores at 14 levels from 0.1 to 0.999, for each output.
///
/// Each level has a place, which every row moves: up if the score was outside the half-width
/// issued, down if not, in proportion to the frequency that either should have. This is adaptive
/// conformal inference (Gibbs and Candes, 2021) on the logarithm of the quantile (Angelopoulos,
/// Candes and Tibshirani, 2023). The half-widths issued are the places after weighted isotonic
/// regression, since a larger coverage must not have a smaller half-width; places stay out of order
/// until later rows move them. So over `n` rows the share of scores inside differs from the
/// coverage by at most `d / (n step)`, where `d` is the total change of the log place, at most
/// about 7, for any stream (order: Ding, Gibbs and Tibshirani, "Calibrated multi-level quantile
/// forecasting", 2025; saturation: conformal integral control, Angelopoulos, Candes and Tibshirani,
/// 2023). Steps are chosen such that the distance of two levels out of order decreases with every
/// row. A row costs a few nanoseconds for each output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    /// Squares of places in units, by level and output: most rows need no root or logarithm.
    places: Vec<[f64; LEVELS]>,
    /// Squares of the units of places, one for each output.
    units: Vec<f64>,
    /// Scores of each output outside the 90 % half-width issued.
    beyond: Vec<Tally>,
    /// Scores recorded.
    rows: u64,
}

/// Squares of the half-widths of an output at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reaches([f64; LEVELS]);

impl Reaches {
    /// The state as numbers.
    pub const NUMBERS: usize = LEVELS;

    pub fn numbers(&self) -> &[f64] {
        &self.0
    }

    /// Half-widths multiplied by a factor.
    pub fn times(self, factor: f64) -> Self {
        Self(self.0.map(|square| {
            if square < FARTHEST {
                (square * factor * factor).clamp(FARTHEST.recip(), FARTHEST)
            } else {
                square
            }
        }))
    }

    /// Inverse of [`numbers`](Self::numbers); `None` if they are invalid.
    pub fn of_numbers(numbers: &[f64]) -> Option<Self> {
        let squares = <[f64; LEVELS]>::try_from(numbers).ok()?;
        let sound = squares.iter().all(|square| (FARTHEST.recip()..=FARTHEST).contains(square));
        (sound && squares.is_sorted()).then_some(Self(squares))
    }
}

/// Whether this is a valid square of a place, which learning maintains and reading checks.
fn is_place(square: f64) -> bool {
    (0.5 * square.ln()).abs() <= 1.001 * FURTHEST_PLACE
}

/// Whether this is a valid square of a unit.
fn is_unit(square: f64) -> bool {
    (LARGEST_UNIT.recip()..=LARGEST_UNIT).contains(&square)
}

/// Squares of the half-widths issued for places, in the same units: monotone.
#[inline]
fn issued(places: &[f64; LEVELS]) -> [f64; LEVELS] {
    let [low, high] = *ORDINARY_SQUARES;
    let ordered = (1..LEVELS).all(|level| places[level - 1] <= places[level]);
    if ordered && places[0] >= low && places[LEVELS - 1] <= high { *places } else { in_order(places) }
}

/// The squares of [`ORDINARY`].
static ORDINARY_SQUARES: LazyLock<[f64; 2]> = LazyLock::new(|| ORDINARY.map(|place| (2.0 * place).exp()));

/// [`issued`] by the pool adjacent violators algorithm, with weights inverse to the steps, for
/// which the combined step is the gradient of one function.
#[cold]
fn in_order(places: &[f64; LEVELS]) -> [f64; LEVELS] {
    let mut pools = [(0.0_f64, 0.0, 0); LEVELS];
    let mut n = 0;
    for (place, step) in places.iter().zip(STEPS) {
        pools[n] = (*place, step.recip(), 1);
        n += 1;
        while n > 1 && pools[n - 2].0 > pools[n - 1].0 {
            // Means of log places. Most rows have one pair or two out of order.
            let ((a, of_a, levels), (b, of_b, more)) = (pools[n - 2], pools[n - 1]);
            pools[n - 2] = (a * (b / a).powf(of_b / (of_a + of_b)), of_a + of_b, levels + more);
            n -= 1;
        }
    }
    let (mut out, mut level) = ([0.0; LEVELS], 0);
    for (place, _, levels) in &pools[..n] {
        out[level..level + levels].fill(reach_at(*place));
        level += levels;
    }
    out
}

/// The square of the half-width at a place, given its square: equal if [`ORDINARY`].
fn reach_at(square: f64) -> f64 {
    let [least, most] = *ORDINARY_SQUARES;
    if (least..=most).contains(&square) {
        return square;
    }
    let place = 0.5 * square.ln();
    let [low, high] = ORDINARY;
    let further = |distance: f64| 0.5 * (2.0 * distance).exp_m1();
    let reach = place.clamp(low, high) + further((place - high).max(0.0)) - further((low - place).max(0.0));
    (2.0 * reach).exp().clamp(FARTHEST.recip(), FARTHEST)
}

/// Log half-widths are approximately linear in this function of the level: exactly for exponential
/// and Weibull scores.
fn position(coverage: f64) -> f64 {
    (-(-coverage).ln_1p()).ln()
}

impl Levels {
    /// Initial state for `n` outputs: Gaussian quantiles.
    pub fn new(outputs: usize) -> Self {
        Self {
            places: vec![GAUSSIAN.map(|reach| reach * reach); outputs],
            units: vec![1.0; outputs],
            beyond: vec![Tally::default(); outputs],
            rows: 0,
        }
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.places.len()
    }

    /// Quantile of the scores of an output at this level; infinite where scores were outside all
    /// half-widths too often.
    pub fn reach(&self, output: usize, coverage: f64) -> f64 {
        let known = issued(&self.places[output]);
        let reach = |level: usize| {
            if known[level] < FARTHEST { 0.5 * known[level].ln() } else { f64::INFINITY }
        };
        let unit = self.units[output].sqrt();
        let next = COVERAGES.iter().position(|level| *level >= coverage).unwrap_or(LEVELS - 1);
        if next == 0 {
            return unit * reach(0).exp() * coverage / COVERAGES[0];
        }
        let [from, to] = [next - 1, next].map(|level| position(COVERAGES[level]));
        let share = (position(coverage) - from) / (to - from);
        let (low, high) = (reach(next - 1), reach(next));
        let between = if low < high && high < f64::INFINITY { low + share * (high - low) } else { high };
        unit * between.exp()
    }

    /// Shares of the scores inside the 90 % half-width issued, over all and over recent rows, one
    /// for each output; `None` before the first.
    pub fn coverage(&self) -> Option<[Vec<f64>; 2]> {
        let shares = |of: fn(Tally) -> f64| -> Vec<f64> {
            self.beyond.iter().map(|beyond| (1.0 - of(beyond.means(self.rows))).clamp(0.0, 1.0)).collect()
        };
        (self.rows > 0).then(|| [shares(|beyond| beyond.all), shares(|beyond| beyond.late)])
    }

    /// Number of scores of an output outside the 90 % half-width issued.
    pub fn beyond(&self, output: usize) -> f64 {
        self.beyond[output].all
    }

    /// Adds to that number, if intervals other than the latest were issued.
    pub fn recount(&mut self, output: usize, more: f64) {
        self.beyond[output].all += more;
        self.beyond[output].late += more;
    }

    /// Records squares of scores of an output, in order, or [`WITHIN`].
    pub fn meet(&mut self, output: usize, scores: &[f64]) {
        let [up, down] = *FACTORS;
        let unit = self.units[output].recip();
        // Copies, so that they stay in registers.
        let (mut places, mut beyond) = (self.places[output], self.beyond[output]);
        for score in scores {
            if *score < 0.0 {
                beyond.add(0.0);
                continue;
            }
            let score = (score * unit).clamp(FARTHEST.recip(), FARTHEST);
            let issued = issued(&places);
            beyond.add(f64::from(u8::from(score > issued[NINETY])));
            for level in 0..LEVELS {
                places[level] *= if score > issued[level] { up[level] } else { down[level] };
            }
        }
        (self.places[output], self.beyond[output]) = (places, beyond);
        self.bound(output);
        if output == 0 {
            self.rows += scores.len() as u64;
        }
    }

    /// Limits places to the valid range, which only late scores can exceed.
    fn bound(&mut self, output: usize) {
        let furthest = (2.0 * FURTHEST_PLACE).exp();
        for place in &mut self.places[output] {
            *place = place.clamp(furthest.recip(), furthest);
        }
    }

    /// The current half-widths of an output.
    pub fn issued(&self, output: usize) -> Reaches {
        let unit = self.units[output];
        Reaches(issued(&self.places[output]).map(|square| {
            if square < FARTHEST { (square * unit).clamp(FARTHEST.recip(), FARTHEST) } else { square }
        }))
    }

    /// Records the square of a score that is known late, after the half-widths have changed. It is
    /// compared with those that were issued for it; otherwise overlapping forecasts, whose errors
    /// are dependent, would be counted repeatedly, and coverage would be too small.
    pub fn meet_issued(&mut self, output: usize, score: f64, Reaches(issued): &Reaches) {
        let [up, down] = &*LATE_FACTORS;
        let score = score.clamp(FARTHEST.recip(), FARTHEST);
        self.beyond[output].add(f64::from(u8::from(score > issued[NINETY])));
        for (level, place) in self.places[output].iter_mut().enumerate() {
            *place *= if score > issued[level] { up[level] } else { down[level] };
        }
        self.bound(output);
        if output == 0 {
            self.rows += 1;
        }
    }

    /// Restarts from Gaussian quantiles in units of the geometric mean of the scores.
    pub fn begin_again(&mut self, output: usize) {
        self.places[output] = GAUSSIAN.map(|reach| (reach / GEOMETRIC_MEAN).powi(2));
    }

    /// Multiplies the squares of all half-widths of an output by a factor: a change of unit, in
    /// which places do not move.
    pub fn scale(&mut self, output: usize, factor: f64) {
        let unit = &mut self.units[output];
        *unit = (*unit * factor).clamp(LARGEST_UNIT.recip(), LARGEST_UNIT);
    }

    /// Weight of later rows among all, if they multiply the weight of earlier ones by this factor.
    pub fn share(&self, later: &Self, keep: f64) -> f64 {
        if later.rows == 0 { 0.0 } else { later.rows as f64 / (keep * self.rows as f64 + later.rows as f64) }
    }

    /// Adds statistics of later rows: the weighted mean of log half-widths.
    pub fn follow(&mut self, later: &Self, keep: f64) {
        if later.rows == 0 {
            return;
        }
        let share = self.share(later, keep);
        let mean = |(own, later): (&mut f64, &f64)| *own *= (later / *own).powf(share);
        self.places.iter_mut().flatten().zip(later.places.iter().flatten()).for_each(mean);
        self.units.iter_mut().zip(&later.units).for_each(mean);
        (0..self.outputs()).for_each(|output| self.bound(output));
        self.beyond.iter_mut().zip(&later.beyond).for_each(|(own, more)| own.follow(*more, later.rows));
        self.rows += later.rows;
    }

    /// Writes the state, with the sizes of recent errors, one for each output, if these are
    /// tracked.
    pub fn write(&self, name: &str, sizes: &[Rescaling], out: &mut Writer) {
        if self.rows > 0 {
            let squares = self.places.iter().zip(&self.units);
            let squares: Vec<f64> = squares
                .flat_map(|(places, unit)| places.iter().chain(std::iter::once(unit)).copied())
                .collect();
            out.matrix(&format!("{name}.squares"), self.places.len(), LEVELS + 1, &squares);
            let mut beyond = Vec::new();
            for (c, tally) in self.beyond.iter().enumerate() {
                beyond.extend([tally.all, tally.late]);
                beyond.extend(sizes.get(c).into_iter().flat_map(Rescaling::numbers));
            }
            let name_of = if sizes.is_empty() { "beyond" } else { "sizes" };
            let (rows, cols) = (self.beyond.len(), beyond.len() / self.beyond.len());
            out.matrix(&format!("{name}.{name_of}"), rows, cols, &beyond);
            out.counts(&format!("{name}.rows"), &[self.rows]);
        }
    }

    /// Reads what [`write`](Self::write) wrote; the initial state if it is absent, as in older
    /// files.
    pub fn read(name: &str, outputs: usize, from: &Reader<'_>) -> Result<(Self, Vec<Rescaling>)> {
        let (mut levels, mut sizes) = (Self::new(outputs), vec![Rescaling::default(); outputs]);
        if !from.has(&format!("{name}.squares")) {
            return Ok((levels, sizes));
        }
        let squares = from.matrix_of(&format!("{name}.squares"), outputs, LEVELS + 1)?;
        let beyond = if from.has(&format!("{name}.sizes")) {
            let numbers = from.matrix_of(&format!("{name}.sizes"), outputs, 2 + Rescaling::NUMBERS)?;
            let rows = numbers.chunks_exact(2 + Rescaling::NUMBERS);
            let read: Option<Vec<Rescaling>> =
                rows.clone().map(|row| Rescaling::of_numbers(&row[2..])).collect();
            sizes = read.ok_or_else(|| Error::file(format!("{name}.sizes are no sizes of errors")))?;
            rows.flat_map(|row| [row[0], row[1]]).collect()
        } else {
            from.matrix_of(&format!("{name}.beyond"), outputs, 2)?
        };
        let sound = |row: &[f64]| row[..LEVELS].iter().copied().all(is_place) && is_unit(row[LEVELS]);
        if !squares.chunks_exact(LEVELS + 1).all(sound) || beyond.iter().any(|b| *b < 0.0) {
            return Err(Error::file(format!("{name}.squares are no squares of reaches")));
        }
        for (output, row) in squares.chunks_exact(LEVELS + 1).enumerate() {
            levels.places[output].copy_from_slice(&row[..LEVELS]);
            levels.units[output] = row[LEVELS];
        }
        levels.beyond = beyond.chunks_exact(2).map(|n| Tally { all: n[0], late: n[1] }).collect();
        [levels.rows] = from.counts(&format!("{name}.rows"))?;
        Ok((levels, sizes))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;
    use crate::random::normal;

    #[test]
    fn coverage_holds_where_targets_are_known_late() {
        // Errors of overlapping forecasts: sums over the steps ahead.
        const LATE: u64 = 20;
        let error = |t: u64| (t..t + LATE).map(|step| normal(9, step)).sum::<f64>();
        for coverage in [0.5, 0.9, 0.99] {
            let mut levels = Levels::new(1);
            let mut given = VecDeque::new();
            let mut inside = 0.0;
            for t in 0..20_000 {
                inside += f64::from(error(t).abs() <= 4.0 * levels.reach(0, coverage)) / 20_000.0;
                given.push_back(levels.issued(0));
                if t >= LATE {
                    let reaches = given.pop_front().unwrap();
                    levels.meet_issued(0, (error(t - LATE) / 4.0).powi(2), &reaches);
                }
            }
            assert!((inside - coverage).abs() < 0.01, "{inside} at {coverage}");
        }
    }
}
