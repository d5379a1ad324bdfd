//! The product of two kernels, each of which sees its own columns of a point.

use super::{Kernel, Part, PointSet};
use crate::linalg::{Scratch, padded};

/// `first(x_1, y_1) second(x_2, y_2)` for points `x = (x_1, x_2)`, `y = (y_1, y_2)`.
///
/// A positive definite kernel if both are: its features are the products of theirs. With states for the
/// first and inputs for the second it is the kernel of a dynamical system with inputs.
#[derive(Clone, Debug)]
pub(super) struct Product {
    pub first: Kernel,
    pub second: Kernel,
    /// Columns that the first one sees.
    pub split: usize,
}

impl Product {
    fn parts(&self, part: Part) -> (Part, Part) {
        let split = self.split.min(part.width);
        (
            Part { start: part.start, width: split },
            Part { start: part.start + split, width: part.width - split },
        )
    }

    pub fn between(&self, x: &[f64], y: &[f64]) -> f64 {
        let split = self.split.min(x.len());
        self.first.between(&x[..split], &y[..split]) * self.second.between(&x[split..], &y[split..])
    }

    pub fn own(&self, x: &[f64]) -> f64 {
        let (first, second) = x.split_at(self.split.min(x.len()));
        self.first.own(first) * self.second.own(second)
    }

    /// As [`Kernel::row`], on a part of the columns.
    pub fn row(&self, set: &PointSet, part: Part, x: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let (first, second) = self.parts(part);
        let (other, inner) = scratch.nested();
        self.first.row_on(set, first, &x[..first.width], out, inner);
        other.resize(padded(set.len()), 0.0);
        self.second.row_on(set, second, &x[first.width..], other, inner);
        out.iter_mut().zip(other).for_each(|(value, factor)| *value *= *factor);
    }

    /// As [`Kernel::block`], on a part of the columns.
    pub fn block(
        &self,
        rows: &PointSet,
        points: &PointSet,
        part: Part,
        out: &mut [f64],
        scratch: &mut Scratch,
    ) {
        let (first, second) = self.parts(part);
        let (other, inner) = scratch.nested();
        self.first.block_on(rows, points, first, out, inner);
        other.resize(out.len(), 0.0);
        self.second.block_on(rows, points, second, other, inner);
        out.iter_mut().zip(other).for_each(|(value, factor)| *value *= *factor);
    }
}
