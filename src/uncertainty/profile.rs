//! Size of errors as a function of the prediction.

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Parameters of a [`Profile`].
pub(super) struct ProfileParams {
    /// Deviations of predictions from their mean that the knots are spread over.
    range: f64,
    /// Memory of the mean size of errors, in rows: at a knot, and over the stream.
    pub memory: f64,
    /// Rows at a knot at which its own mean and the overall mean have equal weight.
    prior_rows: f64,
    /// Roots of errors are clipped at this multiple of their mean.
    pub clip: f64,
}

pub(super) const PARAMS: ProfileParams =
    ProfileParams { range: 2.0, memory: 1000.0, prior_rows: 20.0, clip: 4.0 };

/// Knots, evenly spaced over predictions within this many deviations of their mean.
const KNOTS: usize = 9;
/// Upper limit of squared distances, against overflow.
const FARTHEST: f64 = 1e290;

/// A mean with a memory of `memory` rows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mean {
    pub value: f64,
    pub rows: f64,
}

impl Mean {
    /// Adds a value of this weight; returns the step, as a share of the distance.
    pub fn meet(&mut self, value: f64, weight: f64) -> f64 {
        self.rows = (self.rows + weight).min(PARAMS.memory);
        let share = if self.rows > 0.0 { weight / self.rows } else { 0.0 };
        self.value += share * (value - self.value);
        share
    }
}

/// One output: mean square root of the errors, in units of their spread, near each knot. For errors
/// of any law it is proportional to their size, and robust against a few large ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Course {
    prediction: Mean,
    variance: f64,
    pub all: Mean,
    knots: [Mean; KNOTS],
}

impl Mean {
    /// Adds the mean of later rows, which multiply the rows of this one by a factor.
    fn follow(&mut self, later: Self, keep: f64) {
        let rows = keep * self.rows + later.rows;
        if rows > 0.0 {
            self.value += later.rows / rows * (later.value - self.value);
            self.rows = rows.min(PARAMS.memory);
        }
    }

    /// The mean root of Gaussian errors in units of their deviation, as if of a few rows: the first
    /// error of a stream may be an outlier.
    pub const GAUSSIAN: Self = Self { value: 0.822, rows: 5.0 };
}

impl Course {
    /// For errors in units of their overall mean, which is not recorded.
    pub fn relative() -> Self {
        Self { all: Mean { value: 1.0, rows: 0.0 }, ..Self::default() }
    }

    /// The knot below a prediction, and the weight of the next.
    #[inline]
    fn place(&self, made: f64) -> (usize, f64) {
        let deviation = self.variance.sqrt();
        let far = if deviation > 0.0 { (made - self.prediction.value) / deviation } else { 0.0 };
        let last = (KNOTS - 1) as f64;
        let place = (far.clamp(-PARAMS.range, PARAMS.range) + PARAMS.range) / (2.0 * PARAMS.range) * last;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 8")]
        let knot = (place as usize).min(KNOTS - 2);
        (knot, place - knot as f64)
    }

    /// Ratio of the size of errors near such a prediction to the usual size.
    fn factor(&self, made: f64) -> f64 {
        self.factor_of(self.place(made))
    }

    #[inline]
    fn factor_of(&self, place: (usize, f64)) -> f64 {
        if self.all.value <= 0.0 {
            return 1.0;
        }
        let root = self.root_of(place);
        root * root
    }

    /// The same of the roots of errors.
    pub fn root_at(&self, made: f64) -> f64 {
        self.root_of(self.place(made))
    }

    #[inline]
    fn root_of(&self, (knot, share): (usize, f64)) -> f64 {
        let of = |knot: &Mean| {
            (knot.value * knot.rows + PARAMS.prior_rows * self.all.value)
                / ((knot.rows + PARAMS.prior_rows) * self.all.value)
        };
        (1.0 - share) * of(&self.knots[knot]) + share * of(&self.knots[knot + 1])
    }

    /// Sum of the squared differences between means at the knots and the overall mean, relative to
    /// it and times the rows, and the knots that have rows.
    pub fn differences(&self) -> (f64, usize) {
        let square = |knot: &Mean| knot.rows * (knot.value / self.all.value - 1.0).powi(2);
        (self.knots.iter().map(square).sum(), self.knots.iter().filter(|knot| knot.rows > 1.0).count())
    }

    /// The [`factor`](Self::factor) of a prediction before its error, in units of its spread, is recorded.
    fn meet(&mut self, made: f64, error: f64) -> f64 {
        let place = self.place(made);
        let factor = self.factor_of(place);
        let mut root = error.sqrt();
        if self.all.value > 0.0 {
            root = root.min(PARAMS.clip * self.all.value);
        }
        self.all.meet(root, 1.0);
        self.meet_root_of(place, made, root);
        factor
    }

    /// Records the root of an error but for the overall mean.
    pub fn meet_root(&mut self, made: f64, root: f64) {
        self.meet_root_of(self.place(made), made, root);
    }

    #[inline]
    fn meet_root_of(&mut self, (knot, share): (usize, f64), made: f64, root: f64) {
        self.knots[knot].meet(root, 1.0 - share);
        self.knots[knot + 1].meet(root, share);
        let far = made - self.prediction.value;
        let share = self.prediction.meet(made, 1.0);
        self.variance += share * ((1.0 - share) * (far * far).min(FARTHEST) - self.variance);
    }

    /// Adds the sizes of later errors, which multiply the rows of these by a factor. The knots are
    /// those of either's own predictions, which are taken to be alike.
    fn follow(&mut self, later: &Self, keep: f64) {
        let rows = [keep * self.prediction.rows, later.prediction.rows];
        let share = if rows[1] > 0.0 { rows[1] / (rows[0] + rows[1]) } else { 0.0 };
        let far = later.prediction.value - self.prediction.value;
        self.variance += share * (later.variance + (1.0 - share) * (far * far).min(FARTHEST) - self.variance);
        self.prediction.follow(later.prediction, keep);
        self.all.follow(later.all, keep);
        self.knots.iter_mut().zip(&later.knots).for_each(|(own, later)| own.follow(*later, keep));
    }

    /// The state as numbers, of this number.
    pub const NUMBERS: usize = 2 * (KNOTS + 2) + 1;

    pub fn numbers(&self) -> impl Iterator<Item = f64> {
        let means = [self.prediction, self.all].into_iter().chain(self.knots);
        std::iter::once(self.variance).chain(means.flat_map(|mean| [mean.value, mean.rows]))
    }

    pub fn of_numbers(numbers: &[f64]) -> Self {
        let mean = |k: usize| Mean { value: numbers[2 * k + 1], rows: numbers[2 * k + 2] };
        Self {
            variance: numbers[0],
            prediction: mean(0),
            all: mean(1),
            knots: std::array::from_fn(|knot| mean(knot + 2)),
        }
    }

    pub fn is_sound(&self) -> bool {
        let sizes = || std::iter::once(&self.all).chain(&self.knots);
        self.variance >= 0.0
            && sizes().all(|mean| mean.value >= 0.0)
            && sizes().chain([&self.prediction]).all(|mean| (0.0..=PARAMS.memory).contains(&mean.rows))
    }
}

/// Size of errors, in units of their spread, as a function of the prediction, for each output:
/// piecewise linear between knots, shrunk to the overall mean where a knot has few rows.
///
/// Noise is often larger where targets are (counts, amounts, durations), and the prediction is the
/// one column that indicates it at no cost.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    outputs: Vec<Course>,
}

impl Profile {
    /// Initial state for `n` outputs.
    pub fn new(outputs: usize) -> Self {
        let course = Course { all: Mean::GAUSSIAN, ..Course::default() };
        Self { outputs: vec![course; outputs] }
    }

    /// Ratio of the size of errors near such a prediction to the usual size; 1 for outputs without
    /// a profile.
    pub fn factor(&self, output: usize, made: f64) -> f64 {
        self.outputs.get(output).map_or(1.0, |course| course.factor(made))
    }

    /// Records the error of a prediction, in units of its spread; returns the
    /// [`factor`](Self::factor) before.
    #[inline]
    pub fn meet(&mut self, output: usize, made: f64, error: f64) -> f64 {
        match self.outputs.get_mut(output) {
            Some(course) if error.is_finite() && made.is_finite() => course.meet(made, error.abs()),
            Some(course) => course.factor(made),
            None => 1.0,
        }
    }

    /// Adds the sizes of later errors, which multiply the rows of these by a factor.
    pub fn follow(&mut self, later: &Self, keep: f64) {
        self.outputs.iter_mut().zip(&later.outputs).for_each(|(own, later)| own.follow(later, keep));
    }

    pub fn write(&self, out: &mut Writer) {
        if !self.outputs.is_empty() {
            let numbers: Vec<f64> = self.outputs.iter().flat_map(Course::numbers).collect();
            out.matrix(
                "calibration.profile",
                self.outputs.len(),
                numbers.len() / self.outputs.len(),
                &numbers,
            );
        }
    }

    /// Reads what [`write`](Self::write) wrote; empty if it is absent.
    pub fn read(outputs: usize, from: &Reader<'_>) -> Result<Self> {
        if !from.has("calibration.profile") {
            return Ok(Self::default());
        }
        let width = Course::NUMBERS;
        let numbers = from.matrix_of("calibration.profile", outputs, width)?;
        let outputs: Vec<Course> = numbers.chunks_exact(width).map(Course::of_numbers).collect();
        if !outputs.iter().all(Course::is_sound) {
            return Err(Error::file("calibration.profile is none of errors"));
        }
        Ok(Self { outputs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{normal, uniform};

    /// A profile of errors whose deviation equals the absolute prediction.
    fn of_noise(deviation: impl Fn(f64) -> f64) -> Profile {
        let mut profile = Profile::new(1);
        for t in 0..5000 {
            let made = 1e3 * (uniform(1, t) - 0.5);
            profile.meet(0, made, deviation(made) * normal(2, t));
        }
        profile
    }

    #[test]
    fn errors_that_grow_with_predictions_are_recognized() {
        let profile = of_noise(|made| 1.0 + (made + 500.0) / 250.0);
        let ratio = profile.factor(0, 400.0) / profile.factor(0, -400.0);
        assert!((ratio / (4.6 / 1.4) - 1.0).abs() < 0.2, "{ratio}");
        assert!(profile.factor(0, 1e9) > 1.2 && profile.factor(0, -1e9) < 0.8);
    }

    #[test]
    fn errors_that_do_not_are_left_as_they_are() {
        let profile = of_noise(|_| 3.0);
        for made in [-400.0, -100.0, 0.0, 250.0] {
            assert!((profile.factor(0, made) - 1.0).abs() < 0.2);
        }
        assert!((Profile::new(1).factor(0, 2.0) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn an_outlier_barely_changes_it() {
        let mut profile = of_noise(|_| 1.0);
        let before = profile.factor(0, 0.0);
        profile.meet(0, 0.0, 1e12);
        assert!((profile.factor(0, 0.0) / before - 1.0).abs() < 0.1);
    }

    #[test]
    fn predictions_near_the_end_of_the_scale_leave_it_sound() {
        let mut profile = of_noise(|_| 1.0);
        for made in [1e300, -1e300, 0.0] {
            profile.meet(0, made, 1.0);
            assert!(profile.outputs[0].is_sound() && profile.factor(0, made).is_finite());
        }
    }
}
