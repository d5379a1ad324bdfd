//! The scale of a column of numbers: a mean to subtract and a deviation to divide by.

use std::borrow::Cow;

/// Smaller deviations, in units of the mean, are rounding.
const ROUNDING: f64 = 1e-12;

/// Squares of smaller deviations underflow: the column counts as constant.
const LEAST: f64 = 1e-150;

/// A value is an outlier if its distance from the median is more than this many times the median
/// distance of the values that differ from the median. Measured columns reach about 2,000.
pub(crate) const OUTLYING: f64 = 1e4;

/// At most one value of a column in this many is an outlier; more are its distribution.
const RARE: usize = 100;

/// A single value, or one in [`SINGLE`], is also an outlier beyond this many root mean square
/// distances of the others from the median, those that equal it left out, if at least [`ENOUGH`]
/// differ: it would more than double the deviation of 500 values. Of 571 columns of 13 tables, 500
/// rows each, one has such (`spambase`, counts).
const BEYOND: f64 = 50.0;
const SINGLE: usize = 400;
const ENOUGH: usize = 100;

/// The flag of a number that is 0 or 1; `None` for any other.
pub(crate) fn flag(number: f64) -> Option<bool> {
    if number == 0.0 { Some(false) } else { (number.to_bits() == 1.0_f64.to_bits()).then_some(true) }
}

/// The number of a flag.
pub(crate) fn number(flag: bool) -> f64 {
    f64::from(u8::from(flag))
}

/// Standardizes one column.
///
/// Kernels compare points by distance, so columns must have comparable scales. A column that was constant
/// so far does not determine its scale. All points stored have zero in it, whatever its deviation, which
/// is therefore set when the column first varies: to this first difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    mean: f64,
    deviation: f64,
    /// Whether the column has been constant.
    constant: bool,
}

impl Scale {
    /// Numbers as they are.
    pub const NONE: Self = Self { mean: 0.0, deviation: 1.0, constant: false };

    /// Mean and standard deviation of these numbers, a few [outliers](OUTLYING) left out;
    /// [`NONE`](Self::NONE) of none.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::NONE;
        }
        let values = &*without_outliers(values);
        #[expect(clippy::cast_precision_loss, reason = "rows of a warm-up")]
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let spread: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = (spread / count).sqrt();
        if deviation <= (ROUNDING * mean.abs()).max(LEAST) {
            Self { mean, deviation: 1.0, constant: true }
        } else {
            Self { mean, deviation, constant: false }
        }
    }

    /// Inverse of [`parts`](Self::parts); `None` if they are invalid.
    pub fn from_parts(parts: [f64; 3]) -> Option<Self> {
        let [mean, deviation, constant] = parts;
        let constant = flag(constant)?;
        let sound = mean.is_finite() && deviation.is_finite() && deviation > 0.0;
        sound.then_some(Self { mean, deviation, constant })
    }

    /// Mean, deviation, and 1 if the column was constant.
    pub fn parts(&self) -> [f64; 3] {
        [self.mean, self.deviation, number(self.constant)]
    }

    /// The mean that is subtracted.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The divisor.
    pub fn deviation(&self) -> f64 {
        self.deviation
    }

    /// The same mean with another deviation.
    pub fn with_deviation(&self, deviation: f64) -> Self {
        Self { deviation, constant: false, ..*self }
    }

    /// The value, clipped around `center` so that it is no outlier.
    pub fn limited(&self, value: f64, center: f64) -> f64 {
        let most = OUTLYING * self.deviation;
        if self.constant { value } else { value.clamp(center - most, center + most) }
    }

    /// Whether the column has been constant so far.
    pub fn is_constant(&self) -> bool {
        self.constant
    }

    /// The number on this scale.
    pub fn apply(&self, value: f64) -> f64 {
        if !self.constant {
            (value - self.mean) / self.deviation
        } else if self.is_news(value) {
            (value - self.mean).signum()
        } else {
            0.0
        }
    }

    /// The value with this scaled number.
    pub fn undo(&self, scaled: f64) -> f64 {
        self.mean + self.deviation * scaled
    }

    /// Sets the deviation of a constant column that varies now.
    pub fn meet(&mut self, value: f64) {
        if self.is_set_by(value) {
            (self.deviation, self.constant) = ((value - self.mean).abs(), false);
        }
    }

    /// Whether [`meet`](Self::meet) sets the deviation by this value.
    pub fn is_set_by(&self, value: f64) -> bool {
        self.constant && self.is_news(value)
    }

    fn is_news(&self, value: f64) -> bool {
        (value - self.mean).abs() > (ROUNDING * self.mean.abs()).max(LEAST)
    }
}

/// These values, as they are if none of them is an outlier.
fn without_outliers(values: &[f64]) -> Cow<'_, [f64]> {
    let Some(middle) = median(values.to_vec()) else { return values.into() };
    let distances = values.iter().map(|value| (value - middle).abs());
    let differing: Vec<f64> = distances.filter(|distance| *distance > ROUNDING * middle.abs()).collect();
    let Some(typical) = median(differing.clone()) else { return values.into() };
    let within = |most: f64| move |value: &f64| (value - middle).abs() <= most;
    let n_beyond = |most: f64| values.iter().filter(|value| !within(most)(value)).count();
    let single = (values.len() / SINGLE).max(1);
    let limits = [
        (OUTLYING * typical, (values.len() / RARE).max(1)),
        (size_without(differing, single).map_or(f64::INFINITY, |size| BEYOND * size), single),
    ];
    let found = limits.into_iter().find(|(most, rare)| (1..=*rare).contains(&n_beyond(*most)));
    match found {
        Some((most, _)) => values.iter().copied().filter(within(most)).collect(),
        None => values.into(),
    }
}

/// Root mean square of positive numbers without this many of the largest; `None` of fewer than
/// [`ENOUGH`].
fn size_without(mut numbers: Vec<f64>, largest: usize) -> Option<f64> {
    let others = numbers.len().checked_sub(largest).filter(|others| *others >= ENOUGH)?;
    if largest > 0 {
        numbers.select_nth_unstable_by(others, f64::total_cmp);
    }
    #[expect(clippy::cast_precision_loss, reason = "rows of a warm-up")]
    let count = others as f64;
    Some((numbers[..others].iter().map(|number| number * number).sum::<f64>() / count).sqrt())
}

/// The lower one of two in the middle.
fn median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_numbers_without_a_square_are_constant_until_others_come() {
        for tiny in [5e-324, 1e-310, 1e-200] {
            let mut scale = Scale::of(&[tiny, -tiny, 2.0 * tiny]);
            scale.meet(3.0 * tiny);
            assert!(scale.is_constant() && scale.apply(3.0 * tiny).abs() < 1e-12);
            scale.meet(1.0);
            assert!(!scale.is_constant() && (scale.apply(1.0) - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn one_outlier_does_not_set_the_scale() {
        let ordinary: Vec<f64> = (0..200).map(|i| f64::from(i * 37 % 100)).collect();
        let scale = Scale::of(&ordinary);
        for outlier in [1e6, -1e20, 1e50] {
            let mut values = ordinary.clone();
            values.insert(77, outlier);
            assert_eq!(Scale::of(&values), scale);
        }
        // So is a single one nearer by, that would double the deviation, such as a code for a gap.
        for outlier in [1e5, -9999.0] {
            assert_eq!(Scale::of(&[&ordinary[..], &[outlier]].concat()), scale);
        }
        // Short of that it is a value like any other,
        let far = [&ordinary[..], &[1e3]].concat();
        assert!(Scale::of(&far).deviation > 50.0);
        let few = [&ordinary[..15], &[1e5]].concat();
        assert!(Scale::of(&few).deviation > 5e3);
        let two = [&ordinary[..], &[-9999.0; 2]].concat();
        assert!(Scale::of(&two).deviation > 500.0);
        // and so is what comes often, or what is all that there is beside a constant.
        let often: Vec<f64> = ordinary.iter().map(|value| if *value < 9.0 { 1e9 } else { *value }).collect();
        assert!(Scale::of(&often).deviation > 1e8);
        let rare = [&[5.0; 300][..], &[6.0]].concat();
        assert!((Scale::of(&rare).mean - 5.0 - 1.0 / 301.0).abs() < 1e-12);
    }

    #[test]
    fn a_constant_column_is_scaled_when_it_first_varies() {
        let mut scale = Scale::of(&[0.1; 7]);
        assert!(scale.is_constant());
        assert!(scale.apply(0.1).abs() < 1e-15 && (scale.apply(-30.0) + 1.0).abs() < 1e-15);
        scale.meet(0.1);
        assert!(scale.is_constant());
        scale.meet(20.1);
        assert!((scale.apply(40.1) - 2.0).abs() < 1e-14);
        scale.meet(1e9);
        assert!((scale.apply(40.1) - 2.0).abs() < 1e-14);
        assert_eq!(Scale::from_parts(scale.parts()), Some(scale));
    }
}
