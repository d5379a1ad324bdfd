//! Reaches: how far scores go, level by level.

use std::sync::LazyLock;

use super::error_scale::Size;
use super::tally::Tally;
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Coverages that are followed.
const COVERAGES: [f64; LEVELS] =
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995, 0.999];

/// How many deviations as many Gaussian errors stay within: where the levels begin.
const GAUSSIAN: [f64; LEVELS] = [
    0.1257, 0.2533, 0.3853, 0.5244, 0.6745, 0.8416, 1.0364, 1.2816, 1.6449, 1.9600, 2.2414, 2.5758, 2.8070,
    3.2905,
];

/// How far one error moves the logarithm of a reach: so that Gaussian errors correct a wrong reach within some 50 rows,
/// up to 300 of the levels that few errors are beyond.
const STEPS: [f64; LEVELS] = [
    0.2011, 0.1022, 0.0701, 0.0548, 0.0467, 0.0424, 0.0414, 0.0445, 0.0589, 0.0873, 0.0985, 0.1342, 0.1639,
    0.2850,
];

const LEVELS: usize = 14;

/// That of Gaussian numbers, in deviations.
const GEOMETRIC_MEAN: f64 = 0.5298;

/// The score of a row that is within all reaches and moves none.
pub(crate) const WITHIN: f64 = -1.0;

/// The place of the coverage that is counted.
const NINETY: usize = 8;

/// What the square of a reach is multiplied by after an error that was beyond it, and after one that was not.
static FACTORS: LazyLock<[[f64; LEVELS]; 2]> = LazyLock::new(|| factors(1.0));

/// The same of errors that are known late: several that say nearly the same come before the first of them tells.
static LATE_FACTORS: LazyLock<[[f64; LEVELS]; 2]> = LazyLock::new(|| factors(0.5));

fn factors(share: f64) -> [[f64; LEVELS]; 2] {
    let factor = |beyond: f64| {
        let step = |level: usize| share * STEPS[level] * (COVERAGES[level] - 1.0 + beyond);
        std::array::from_fn(|level| (2.0 * step(level)).exp())
    };
    [factor(1.0), factor(0.0)]
}

/// Squares of scores are within this, and one part of it: far beyond all that is of use, so that reaches find back.
pub(crate) const FARTHEST: f64 = 1e43;

/// How far scores go: the reach of each of fourteen coverages, from 0.1 to 0.999, for each output.
///
/// After every row each reach goes up if the score was beyond it, and down by little if not, in proportion to how often
/// either should be: adaptive conformal inference (Gibbs and Candes, 2021) on the quantile itself (Angelopoulos, Candes
/// and Tibshirani, 2023), in the logarithm. With scores, and a first reach, within a factor of `b` of each other the
/// share of scores within the reach of a level in `n` rows is the coverage up to `(ln(b) + step) / (n step)`, whatever
/// the stream. A row costs some nanoseconds for each output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    /// Squares of reaches, one for each level and output: so no row takes a root or a logarithm.
    squares: Vec<[f64; LEVELS]>,
    /// Scores of each output beyond their 90 % reach.
    beyond: Vec<Tally>,
    /// Scores met.
    rows: u64,
}

/// The squares of the reaches of an output at some time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reaches([f64; LEVELS]);

impl Reaches {
    /// Numbers that they are made of.
    pub const NUMBERS: usize = LEVELS;

    pub fn numbers(&self) -> &[f64] {
        &self.0
    }

    /// Those that go so many times as far.
    pub fn times(self, factor: f64) -> Self {
        Self(self.0.map(|square| (square * factor * factor).clamp(FARTHEST.recip(), FARTHEST)))
    }

    /// Those of [`numbers`](Self::numbers); `None` of others.
    pub fn of_numbers(numbers: &[f64]) -> Option<Self> {
        let squares = <[f64; LEVELS]>::try_from(numbers).ok()?;
        squares.iter().copied().all(is_square).then_some(Self(squares))
    }
}

/// Whether it may be the square of a reach.
fn is_square(value: f64) -> bool {
    const MOST: f64 = 10.0 * FARTHEST;
    (MOST.recip()..=MOST).contains(&value)
}

/// What the logarithm of reaches is about linear in, between levels: exactly so for exponential and Weibull scores.
fn position(coverage: f64) -> f64 {
    (-(-coverage).ln_1p()).ln()
}

impl Levels {
    /// Those of Gaussian scores, for as many outputs.
    pub fn new(outputs: usize) -> Self {
        Self {
            squares: vec![GAUSSIAN.map(|reach| reach * reach); outputs],
            beyond: vec![Tally::default(); outputs],
            rows: 0,
        }
    }

    /// How many outputs there are.
    pub fn outputs(&self) -> usize {
        self.squares.len()
    }

    /// How far this share of the scores of an output, above 0 and below 1, goes.
    pub fn reach(&self, output: usize, coverage: f64) -> f64 {
        // A larger coverage does not reach less far. Put in order, and not as far as the furthest before it: where all
        // scores are much alike the levels are close together, and one of fourteen is always too far.
        let mut known = self.squares[output];
        known.sort_unstable_by(f64::total_cmp);
        let known = known.map(|square| 0.5 * square.ln());
        let next = COVERAGES.iter().position(|level| *level >= coverage).unwrap_or(LEVELS - 1);
        if next == 0 {
            return known[0].exp() * coverage / COVERAGES[0];
        }
        let [from, to] = [next - 1, next].map(|level| position(COVERAGES[level]));
        let share = (position(coverage) - from) / (to - from);
        (known[next - 1] + share * (known[next] - known[next - 1])).exp()
    }

    /// Shares of the scores within their 90 % reach, of all and of late, one an output; `None` before there are any.
    pub fn coverage(&self) -> Option<[Vec<f64>; 2]> {
        let shares = |of: fn(Tally) -> f64| -> Vec<f64> {
            self.beyond.iter().map(|beyond| (1.0 - of(beyond.means(self.rows))).clamp(0.0, 1.0)).collect()
        };
        (self.rows > 0).then(|| [shares(|beyond| beyond.all), shares(|beyond| beyond.late)])
    }

    /// Takes down squares of scores of an output, in their order, or [`WITHIN`].
    pub fn meet(&mut self, output: usize, scores: &[f64]) {
        let [up, down] = *FACTORS;
        // Copies, so that they stay in registers.
        let (mut squares, mut beyond) = (self.squares[output], self.beyond[output]);
        for score in scores {
            if *score < 0.0 {
                beyond.add(0.0);
                continue;
            }
            let score = score.clamp(FARTHEST.recip(), FARTHEST);
            beyond.add(f64::from(u8::from(score > squares[NINETY])));
            for level in 0..LEVELS {
                squares[level] *= if score > squares[level] { up[level] } else { down[level] };
            }
        }
        (self.squares[output], self.beyond[output]) = (squares, beyond);
        if output == 0 {
            self.rows += scores.len() as u64;
        }
    }

    /// The reaches of an output as they are now.
    pub fn issued(&self, output: usize) -> Reaches {
        Reaches(self.squares[output])
    }

    /// Takes down the square of a score that is known so late that reaches have moved since these were given out. What
    /// these would have covered counts: otherwise errors that are known meanwhile, which are much the same where
    /// forecasts overlap, would be believed twice, and fewer be inside than should.
    pub fn meet_issued(&mut self, output: usize, score: f64, Reaches(issued): &Reaches) {
        let [up, down] = &*LATE_FACTORS;
        let score = score.clamp(FARTHEST.recip(), FARTHEST);
        self.beyond[output].add(f64::from(u8::from(score > issued[NINETY])));
        for (level, square) in self.squares[output].iter_mut().enumerate() {
            let factor = if score > issued[level] { up[level] } else { down[level] };
            *square = (*square * factor).clamp(FARTHEST.recip(), FARTHEST);
        }
        if output == 0 {
            self.rows += 1;
        }
    }

    /// Goes on with the reaches of Gaussian scores in units of their geometric mean.
    pub fn begin_again(&mut self, output: usize) {
        self.squares[output] = GAUSSIAN.map(|reach| (reach / GEOMETRIC_MEAN).powi(2));
    }

    /// Moves all reaches of an output: their squares are multiplied by this.
    pub fn scale(&mut self, output: usize, factor: f64) {
        for square in &mut self.squares[output] {
            *square = (*square * factor).clamp(FARTHEST.recip(), FARTHEST);
        }
    }

    /// The weight of later rows among all, if these leave so much of the weight of those before.
    pub fn share(&self, later: &Self, keep: f64) -> f64 {
        if later.rows == 0 { 0.0 } else { later.rows as f64 / (keep * self.rows as f64 + later.rows as f64) }
    }

    /// Adds what is known of later rows, which leave so much of the weight of those before: the mean of the logarithms
    /// of reaches, by the weight of the rows.
    pub fn follow(&mut self, later: &Self, keep: f64) {
        if later.rows == 0 {
            return;
        }
        let share = self.share(later, keep);
        for (own, later) in self.squares.iter_mut().flatten().zip(later.squares.iter().flatten()) {
            *own *= (later / *own).powf(share);
        }
        self.beyond.iter_mut().zip(&later.beyond).for_each(|(own, more)| own.follow(*more, later.rows));
        self.rows += later.rows;
    }

    /// Writes what rows have changed, with the sizes of late errors, one an output, if these are followed.
    pub fn write(&self, name: &str, sizes: &[Size], out: &mut Writer) {
        if self.rows > 0 {
            let squares: Vec<f64> = self.squares.iter().flatten().copied().collect();
            out.matrix(&format!("{name}.squares"), self.squares.len(), LEVELS, &squares);
            let mut beyond = Vec::new();
            for (c, tally) in self.beyond.iter().enumerate() {
                beyond.extend([tally.all, tally.late]);
                beyond.extend(sizes.get(c).into_iter().flat_map(Size::numbers));
            }
            let name_of = if sizes.is_empty() { "beyond" } else { "sizes" };
            let (rows, cols) = (self.beyond.len(), beyond.len() / self.beyond.len());
            out.matrix(&format!("{name}.{name_of}"), rows, cols, &beyond);
            out.counts(&format!("{name}.rows"), &[self.rows]);
        }
    }

    /// What [`write`](Self::write) wrote; those of Gaussian scores where it wrote nothing, as in older files, and sizes of
    /// which nothing is known where there were none.
    pub fn read(name: &str, outputs: usize, from: &Reader<'_>) -> Result<(Self, Vec<Size>)> {
        let (mut levels, mut sizes) = (Self::new(outputs), vec![Size::default(); outputs]);
        if !from.has(&format!("{name}.squares")) {
            return Ok((levels, sizes));
        }
        let squares = from.matrix_of(&format!("{name}.squares"), outputs, LEVELS)?;
        let beyond = if from.has(&format!("{name}.sizes")) {
            let numbers = from.matrix_of(&format!("{name}.sizes"), outputs, 2 + Size::NUMBERS)?;
            let rows = numbers.chunks_exact(2 + Size::NUMBERS);
            let read: Option<Vec<Size>> = rows.clone().map(|row| Size::of_numbers(&row[2..])).collect();
            sizes = read.ok_or_else(|| Error::file(format!("{name}.sizes are no sizes of errors")))?;
            rows.flat_map(|row| [row[0], row[1]]).collect()
        } else {
            from.matrix_of(&format!("{name}.beyond"), outputs, 2)?
        };
        if !squares.iter().copied().all(is_square) || beyond.iter().any(|b| *b < 0.0) {
            return Err(Error::file(format!("{name}.squares are no squares of reaches")));
        }
        levels.squares.iter_mut().flatten().zip(squares).for_each(|(to, from)| *to = from);
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
        // Errors of forecasts that overlap: sums over the steps that are still to come.
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
