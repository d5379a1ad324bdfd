//! The small dense decompositions under an update, without allocation.

use faer::diag::DiagMut;
use faer::dyn_stack::{MemBuffer, MemStack, StackReq};
use faer::linalg::evd::{
    ComputeEigenvectors, SelfAdjointEvdParams, self_adjoint_evd, self_adjoint_evd_scratch,
};
use faer::linalg::matmul::matmul;
use faer::linalg::svd::{ComputeSvdVectors, svd, svd_scratch};
use faer::{Accum, Mat, MatMut, MatRef, Par, Spec};

use super::matrices::{at_least, towards_orthonormal};

/// Largest entry of a matrix to be decomposed: its square is finite.
const LARGEST: f64 = 1e140;

/// Values below the root of this are not squared.
const SMALLEST: f64 = 1e-200;

/// Values are alike if the smallest is at least this part of the largest. The vectors that come from
/// the squared matrix are then orthogonal to 1e-13, and after one step to rounding.
pub(super) const ALIKE: f64 = 0.03;

/// A matrix and its decomposition, in reused memory.
#[derive(Clone, Debug)]
pub(super) struct Core {
    matrix: Mat<f64>,
    left: Mat<f64>,
    right: Mat<f64>,
    values: Vec<f64>,
    /// Scratch of the size of the matrix.
    gram: Mat<f64>,
    step: Mat<f64>,
    workspace: Workspace,
}

/// A singular value decomposition: left vectors, all values, right vectors.
pub(super) type Triples<'a> = (MatRef<'a, f64>, &'a [f64], MatRef<'a, f64>);

impl Core {
    pub fn new() -> Self {
        Self {
            matrix: Mat::new(),
            left: Mat::new(),
            right: Mat::new(),
            values: Vec::new(),
            gram: Mat::new(),
            step: Mat::new(),
            workspace: Workspace::default(),
        }
    }

    /// The matrix to be decomposed, (p, q), of any content.
    pub fn matrix(&mut self, p: usize, q: usize) -> MatMut<'_, f64> {
        at_least(&mut self.matrix, p, q);
        self.matrix.get_mut(..p, ..q)
    }

    /// The singular value decomposition of the (p, q) matrix, largest value first, with the vectors of
    /// the `count` largest values at least; none if its numbers are beyond bounds. `alike`: these values
    /// are probably of one size, which a faster method requires.
    pub fn svd(&mut self, p: usize, q: usize, count: usize, alike: bool) -> Option<Triples<'_>> {
        if !bounded(self.matrix.get(..p, ..q)) {
            return None;
        }
        if alike && p == q && self.alike(p, count) {
            return Some((self.left.get(..p, ..count), &self.values, self.right.get(..p, ..count)));
        }
        let size = p.min(q);
        at_least(&mut self.left, p, size);
        at_least(&mut self.right, q, size);
        self.values.resize(size, 0.0);
        let thin = ComputeSvdVectors::Thin;
        let need = svd_scratch::<f64>(p, q, thin, thin, Par::Seq, Spec::default());
        let done = svd(
            self.matrix.get(..p, ..q),
            DiagMut::from_slice_mut(&mut self.values),
            Some(self.left.get_mut(..p, ..size)),
            Some(self.right.get_mut(..q, ..size)),
            Par::Seq,
            self.workspace.stack(need),
            Spec::default(),
        );
        let (left, right) = (self.left.get(..p, ..size), self.right.get(..q, ..size));
        (done.is_ok() && bounded(left) && bounded(right)).then_some((left, &self.values, right))
    }

    /// The same for a square matrix whose `count` largest values are of one size: `H H'` has the left
    /// vectors, `U'H` has the values and, but for `eps s_1^2 / (s_i s_j)`, orthogonal rows, which one
    /// step of Newton and Schulz makes so to rounding. An eigendecomposition costs little more than
    /// half of a singular value decomposition. False if the values turn out not to be alike.
    fn alike(&mut self, p: usize, count: usize) -> bool {
        at_least(&mut self.left, p, p);
        at_least(&mut self.right, p, p);
        at_least(&mut self.gram, p, p);
        at_least(&mut self.step, p, p);
        self.values.resize(p, 0.0);
        let matrix = self.matrix.get(..p, ..p);
        let mut gram = self.gram.get_mut(..p, ..p);
        matmul(gram.as_mut(), Accum::Replace, matrix, matrix.transpose(), 1.0, Par::Seq);
        let vectors = self.step.get_mut(..p, ..p);
        if !eigen(gram.as_ref(), &mut self.values, vectors, &mut self.workspace)
            || self.values[p - count] < ALIKE * ALIKE * self.values[p - 1]
            || self.values[p - 1] < SMALLEST
        {
            return false;
        }
        self.left.get_mut(..p, ..p).copy_from(self.step.get(..p, ..p).reverse_cols());
        let left = self.left.get(..p, ..p);
        let mut rows = self.gram.get_mut(..p, ..p);
        matmul(rows.as_mut(), Accum::Replace, matrix.transpose(), left, 1.0, Par::Seq);
        let mut last = f64::INFINITY;
        for (i, value) in self.values.iter_mut().enumerate() {
            // Sorted again after rounding.
            *value = rows.as_ref().col(i).norm_l2().min(last);
            last = *value;
        }
        for i in 0..count {
            rows.as_mut().col_mut(i).iter_mut().for_each(|v| *v /= self.values[i]);
        }
        let right = self.gram.get(..p, ..count);
        let mut step = self.step.get_mut(..count, ..count);
        towards_orthonormal(right, step.as_mut());
        let polished = self.right.get_mut(..p, ..count);
        matmul(polished, Accum::Replace, right, step.as_ref(), 1.0, Par::Seq);
        true
    }

    /// The `count` largest eigenvalues of the symmetric (p, p) matrix, largest first, and their
    /// vectors (p, count); none if its numbers are beyond bounds. Only the lower half is read.
    pub fn largest(&mut self, p: usize, count: usize) -> Option<(&[f64], MatRef<'_, f64>)> {
        at_least(&mut self.left, p, p);
        self.values.resize(p, 0.0);
        let matrix = self.matrix.get(..p, ..p);
        let done = bounded(matrix)
            && eigen(matrix, &mut self.values, self.left.get_mut(..p, ..p), &mut self.workspace);
        self.values.reverse();
        let vectors = self.left.get(..p, ..p).reverse_cols().subcols(0, count);
        (done && bounded(vectors)).then_some((&self.values[..count], vectors))
    }
}

/// Eigenvalues of a symmetric matrix, smallest first, and its eigenvectors. Only the lower half is read.
fn eigen(
    matrix: MatRef<'_, f64>,
    values: &mut [f64],
    vectors: MatMut<'_, f64>,
    workspace: &mut Workspace,
) -> bool {
    let params: Spec<SelfAdjointEvdParams, f64> = Spec::default();
    let need = self_adjoint_evd_scratch::<f64>(matrix.nrows(), ComputeEigenvectors::Yes, Par::Seq, params);
    let values = DiagMut::from_slice_mut(values);
    self_adjoint_evd(matrix, values, Some(vectors), Par::Seq, workspace.stack(need), params).is_ok()
}

/// Whether all entries are finite and of a size to compute with.
fn bounded(matrix: MatRef<'_, f64>) -> bool {
    // A maximum over numbers with a NaN is arbitrary.
    let sum = matrix.norm_l1();
    sum.is_finite() && matrix.norm_max() <= LARGEST
}

/// Memory of faer's routines, reused between calls.
#[derive(Default)]
struct Workspace(Option<MemBuffer>);

impl Workspace {
    fn stack(&mut self, need: StackReq) -> &mut MemStack {
        let holds = self.0.as_mut().is_some_and(|held| MemStack::new(held).can_hold(need));
        if !holds {
            self.0 = None;
        }
        MemStack::new(self.0.get_or_insert_with(|| MemBuffer::new(need)))
    }
}

impl Clone for Workspace {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl std::fmt::Debug for Workspace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Workspace({} bytes)", self.0.as_ref().map_or(0, |held| held.len()))
    }
}
