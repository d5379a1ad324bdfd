//! The scale of a column of numbers: a mean to subtract and a deviation to divide by.

/// A deviation that is less, in units of the mean, is rounding.
const ROUNDING: f64 = 1e-12;

/// What a number says that is 0 or 1; `None` of any other.
pub(super) fn flag(number: f64) -> Option<bool> {
    if number == 0.0 { Some(false) } else { (number.to_bits() == 1.0_f64.to_bits()).then_some(true) }
}

/// The number of a flag.
pub(super) fn number(flag: bool) -> f64 {
    f64::from(u8::from(flag))
}

/// Standardizes one column.
///
/// Kernels compare points by distance, so columns must have comparable scales. A column that was constant
/// so far says nothing of its scale. All points stored have zero in it, whatever its deviation, which
/// is therefore set when the column first varies: to this first difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scale {
    mean: f64,
    deviation: f64,
    /// Whether the column has been constant.
    constant: bool,
}

impl Scale {
    /// Numbers as they are.
    pub const NONE: Self = Self { mean: 0.0, deviation: 1.0, constant: false };

    /// Mean and standard deviation of these numbers; [`NONE`](Self::NONE) of none.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self::NONE;
        }
        #[expect(clippy::cast_precision_loss, reason = "rows of a warm-up")]
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let spread: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = (spread / count).sqrt();
        if deviation <= ROUNDING * mean.abs() {
            Self { mean, deviation: 1.0, constant: true }
        } else {
            Self { mean, deviation, constant: false }
        }
    }

    /// What was [`parts`](Self::parts); `None` if no scale has them.
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

    /// Sets the deviation of a constant column that varies now.
    pub fn meet(&mut self, value: f64) {
        if self.constant && self.is_news(value) {
            (self.deviation, self.constant) = ((value - self.mean).abs(), false);
        }
    }

    fn is_news(&self, value: f64) -> bool {
        (value - self.mean).abs() > ROUNDING * self.mean.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
