//! Scale of the states.

use std::borrow::Cow;

use faer::c64;
use ndarray::{Array, Array2, ArrayView1, ArrayView2, Axis, CowArray, Dimension, Ix2, RemoveAxis};

use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};
use crate::scale::Scale;

/// Factor on the deviation of components that are negligible on a scale: a power of two, so that states are not
/// rounded.
const FAR: f64 = (1_u64 << 40) as f64;

/// Centre and scale of each component; by default none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Units {
    /// For each component, repeated for each delay.
    scales: Vec<Scale>,
}

impl Units {
    /// Each component on its own scale. One that is constant has none yet.
    pub(in crate::dynamics) fn each(states: ArrayView2<'_, f64>) -> Self {
        let column = |column: ArrayView1<'_, f64>| Scale::of(&column.to_vec());
        Self { scales: states.columns().into_iter().map(column).collect() }
    }

    /// All components on one scale, their root mean square, which keeps their proportions.
    pub(in crate::dynamics) fn common(&self) -> Self {
        let varying = || self.scales.iter().filter(|scale| !scale.is_constant());
        let count = varying().count();
        if count == 0 {
            return self.clone();
        }
        let square: f64 = varying().map(|scale| scale.deviation() * scale.deviation()).sum();
        let deviation = (square / count as f64).sqrt();
        Self { scales: self.scales.iter().map(|scale| scale.with_deviation(deviation)).collect() }
    }

    /// The same for states that consist of this many blocks.
    pub(in crate::dynamics) fn repeated(&self, blocks: usize) -> Self {
        Self { scales: self.scales.repeat(blocks) }
    }

    /// The same with all but the latest blocks of this many components negligible.
    pub(in crate::dynamics) fn of_latest(&self, components: usize) -> Self {
        let scale = |(i, scale): (usize, &Scale)| {
            let far = || scale.with_deviation((FAR * scale.deviation()).min(f64::MAX));
            if i < components { *scale } else { far() }
        };
        Self { scales: self.scales.iter().enumerate().map(scale).collect() }
    }

    /// Subtracted from each component and its delays; empty if nothing is.
    #[must_use]
    pub fn center(&self) -> Vec<f64> {
        self.scales.iter().map(Scale::mean).collect()
    }

    /// Divisor of each component afterwards; empty if there is none.
    #[must_use]
    pub fn deviation(&self) -> Vec<f64> {
        self.scales.iter().map(Scale::deviation).collect()
    }

    /// Rows of states from the user's units to the scale. Columns after the states, inputs, are
    /// unchanged.
    pub(in crate::dynamics) fn scaled<'a>(&self, rows: ArrayView2<'a, f64>) -> CowArray<'a, f64, Ix2> {
        if self.scales.is_empty() {
            return rows.into();
        }
        let mut out = rows.to_owned();
        for (mut column, scale) in out.axis_iter_mut(Axis(1)).zip(&self.scales) {
            column.mapv_inplace(|value| scale.apply(value));
        }
        out.into()
    }

    /// The same with each block of this many components on the scale of the latest.
    pub(in crate::dynamics) fn scaled_as_latest<'a>(
        &self,
        rows: ArrayView2<'a, f64>,
        components: usize,
    ) -> CowArray<'a, f64, Ix2> {
        if self.scales.is_empty() {
            return rows.into();
        }
        let mut out = rows.to_owned();
        let latest = self.scales.iter().take(components).cycle();
        for (mut column, scale) in out.axis_iter_mut(Axis(1)).zip(latest) {
            column.mapv_inplace(|value| scale.apply(value));
        }
        out.into()
    }

    /// Scaled states, along the last axis, in the user's units. Columns after them are unchanged.
    pub(in crate::dynamics) fn given<D: Dimension + RemoveAxis>(
        &self,
        mut scaled: Array<f64, D>,
    ) -> Array<f64, D> {
        let last = Axis(scaled.ndim() - 1);
        for (mut numbers, scale) in scaled.axis_iter_mut(last).zip(&self.scales) {
            numbers.mapv_inplace(|value| scale.undo(value));
        }
        scaled
    }

    /// Summands of scaled states, one per row, in the user's units, without the centre.
    pub(in crate::dynamics) fn stretched(&self, mut parts: Array2<c64>) -> Array2<c64> {
        for (mut column, scale) in parts.columns_mut().into_iter().zip(&self.scales) {
            column.mapv_inplace(|value| value * scale.deviation());
        }
        parts
    }

    /// Units after these pairs of states: components that were constant so far and vary in them get
    /// their scale, in the order of the states.
    pub(in crate::dynamics) fn after(
        &self,
        x: ArrayView2<'_, f64>,
        next: ArrayView2<'_, f64>,
    ) -> Cow<'_, Self> {
        let mut units = Cow::Borrowed(self);
        if self.scales.iter().any(Scale::is_constant) {
            let units = units.to_mut();
            for states in [x, next] {
                for (scale, column) in units.scales.iter_mut().zip(states.columns()) {
                    column.iter().for_each(|value| scale.meet(*value));
                }
            }
        }
        units
    }

    pub(in crate::dynamics) fn write(&self, out: &mut Writer) {
        let parts: Vec<f64> = self.scales.iter().flat_map(Scale::parts).collect();
        out.matrix("units.scales", self.scales.len(), 3, &parts);
    }

    pub(in crate::dynamics) fn read(from: &Reader<'_>) -> Result<Self> {
        let (_, cols, parts) = from.matrix("units.scales")?;
        let (parts, rest) = parts.as_chunks::<3>();
        let scales: Option<Vec<Scale>> = parts.iter().map(|parts| Scale::from_parts(*parts)).collect();
        match scales {
            Some(scales) if cols == 3 && rest.is_empty() => Ok(Self { scales }),
            _ => Err(Error::file("units.scales are no scales")),
        }
    }

    /// Whether states of this width, delays included, can have this scale.
    pub(in crate::dynamics) fn suits(&self, width: Option<usize>) -> bool {
        self.scales.is_empty() || width.is_none_or(|width| width == self.scales.len())
    }
}
