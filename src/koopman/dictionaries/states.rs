//! The states of a block.

use ndarray::ArrayView2;

use crate::basis::{Nested, NestedFeatures, Projection};
use crate::kernel::PointSet;
use crate::linalg::{Coordinates, Panel, Scratch, loops, padded};

/// States of a block in the order of their admission.
///
/// Kept between blocks to avoid allocation. Not part of copies of a model.
#[derive(Debug, Default)]
pub(in crate::koopman) struct BlockStates {
    pub states: PointSet,
    /// Coordinates (states, dim before the block).
    pub old: Panel,
    /// Coordinates added within the block, one list for each; zero for states before it.
    pub fresh: Vec<Vec<f64>>,
    /// Position of each state relative to the points stored so far.
    pub projections: Vec<Projection>,
    scratch: Scratch,
}

impl Clone for BlockStates {
    fn clone(&self) -> Self {
        Self::default()
    }
}

/// Matrices of a block. Not part of copies of a model.
#[derive(Debug, Default)]
pub(in crate::koopman) struct BlockPanels {
    /// Coordinates of `x` (b, dim).
    pub z: Panel,
    /// Targets, one per column.
    pub target: Panel,
    pub turned: Panel,
}

impl Clone for BlockPanels {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl BlockStates {
    /// Projects states. False if some coordinates are longer than the kernel allows, which is
    /// reported as an error of a single state: see [`Projection::check_bound`].
    pub fn begin(&mut self, features: &NestedFeatures, states: ArrayView2<'_, f64>) -> bool {
        self.states.replace_all(states);
        self.fresh.clear();
        self.projections = features.project_block(&self.states, &mut self.old);
        let is_bounded =
            |(i, projection): (usize, &Projection)| projection.check_bound(self.old.row(i)).is_ok();
        self.projections.iter().enumerate().all(is_bounded)
    }

    pub fn dim(&self) -> usize {
        self.old.cols() + self.fresh.len()
    }

    /// Stores the states that a dictionary filled point by point admits.
    pub fn store_novel(&mut self, nested: &mut Nested) {
        for i in 0..self.states.len() {
            if nested.admits(self.dim(), &self.projections[i])
                && let Some(features) = nested.dictionary_mut()
            {
                self.store(features, i);
            }
        }
    }

    /// Makes state `i` a point of the dictionary, and updates the residuals of later states.
    pub fn store(&mut self, features: &mut NestedFeatures, i: usize) {
        let projection = self.projections[i];
        let root = features.own_coordinate(&projection);
        let n = self.states.len();
        let mut row = vec![0.0; padded(n)];
        features.kernel().row(&self.states, self.states.point(i), &mut row, &mut self.scratch);
        for known in self.columns() {
            loops::add_scaled(-known[i], known, &mut row);
        }
        for (j, value) in row.iter_mut().enumerate().take(n).skip(i + 1) {
            *value /= root;
            let left = &mut self.projections[j].residual;
            *left = (*left - *value * *value).max(0.0);
        }
        row[..i].fill(0.0);
        row[i] = root;
        let mut z = Coordinates::default();
        z.set(self.coordinates(i));
        features.append(self.states.point(i), &mut z, &projection);
        self.projections[i].residual = 0.0;
        self.fresh.push(row);
    }

    pub fn coordinates(&self, i: usize) -> impl Iterator<Item = f64> {
        self.old.row(i).chain(self.fresh.iter().map(move |row| row[i]))
    }

    /// Coordinates of these states, into `out` (.., dim).
    pub fn matrix(&self, states: &[usize], out: &mut Panel) {
        out.reshape(states.len(), self.dim());
        for (k, values) in self.columns().enumerate() {
            out.col_mut(k).iter_mut().zip(states).for_each(|(to, i)| *to = values[*i]);
        }
    }

    /// One coordinate of all states.
    fn columns(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.old.cols()).map(|k| self.old.col(k)).chain(self.fresh.iter().map(Vec::as_slice))
    }

    /// These states as targets, one per column of `target`: themselves and their coordinates.
    pub fn targets(&self, states: &[usize], [matrix, turned, out]: [&mut Panel; 3]) {
        let width = self.states.width();
        self.matrix(states, matrix);
        matrix.transpose_into(turned);
        out.reshape(width + self.dim(), states.len());
        for (t, &i) in states.iter().enumerate() {
            let (own, coordinates) = out.col_mut(t).split_at_mut(width);
            own.copy_from_slice(self.states.point(i));
            coordinates.iter_mut().zip(turned.col(t)).for_each(|(to, from)| *to = *from);
        }
    }
}

/// The first `joint` numbers of each pair and the other `width`, as two lists.
pub(in crate::koopman) fn apart(pairs: &[f64], joint: usize, width: usize) -> (Vec<f64>, Vec<f64>) {
    let each = || pairs.chunks_exact(joint + width);
    (
        each().flat_map(|pair| &pair[..joint]).copied().collect(),
        each().flat_map(|pair| &pair[joint..]).copied().collect(),
    )
}

/// States as the rows of a matrix.
pub(in crate::koopman) fn rows(states: &[f64], width: usize) -> ArrayView2<'_, f64> {
    ArrayView2::from_shape((states.len() / width, width), states)
        .unwrap_or_else(|_| unreachable!("whole states"))
}
