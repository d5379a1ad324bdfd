//! Least squares as sums over rows: `A - lambda I = sum z z'`, `A w = sum z y`.

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_lower_triangular_in_place;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::{LeastSquares, Memory, Ridge, SecondOrder, SymmetricInverse};
use crate::error::{Error, Result};
use crate::learner::Learner as _;
use crate::linalg::Panel;
use crate::threads::map_each;

/// Relative rounding error of a sum.
const CANCELLED: f64 = 1e-13;

/// Parts whose sums are in memory at once.
const AT_ONCE: usize = 8;

/// One of several learners to be merged.
pub(crate) struct Addend<'a> {
    learner: &'a Ridge,
    /// Map from its coordinates to those of the sum, if they differ.
    inputs: Option<MatRef<'a, f64>>,
    /// Map from its outputs to those of the sum.
    outputs: Option<MatRef<'a, f64>>,
    /// Its memory, in the coordinates of the sum.
    memory: Option<Memory>,
}

impl Ridge {
    /// This learner, with coordinates and outputs mapped by these matrices (new, old).
    pub(crate) fn addend<'a>(
        &'a self,
        inputs: Option<MatRef<'a, f64>>,
        outputs: Option<MatRef<'a, f64>>,
    ) -> Addend<'a> {
        Addend { learner: self, inputs, outputs, memory: None }
    }

    /// The same for a learner that may remember rows, whose coordinates in the sum are `remembered`
    /// (rows, new) if they differ.
    pub(crate) fn addend_with_rows<'a>(
        &'a self,
        inputs: Option<MatRef<'a, f64>>,
        remembered: Option<&Panel>,
    ) -> Addend<'a> {
        let lambda = self.rule.spec.regularization;
        let memory = self.memory.as_ref().map(|memory| match (inputs, remembered) {
            (Some(inputs), Some(rows)) => memory.carried(inputs, rows, lambda),
            _ => memory.clone(),
        });
        Addend { memory, ..self.addend(inputs, None) }
    }

    /// Refuses settings with which the learner is not determined by sums over rows.
    pub(crate) fn check_adds(&self) -> Result<()> {
        let spec = self.spec();
        if spec.regularization > 0.0 {
            return Ok(());
        }
        Err(Error::merge(
            "without regularization the sums are not known where no row has been; take one of 1e-8 or more",
        ))
    }

    /// Refuses forgetting, with which the sum depends on the order of the parts.
    pub(crate) fn check_any_order(&self) -> Result<()> {
        if self.spec().forgetting >= 1.0 {
            return Ok(());
        }
        Err(Error::merge(
            "forgetting weighs rows by an age that parts have in common only if they follow one another in time; \
             merge them as successive, or leave it at 1",
        ))
    }

    /// A learner with the same coordinates and outputs that has learned no row.
    pub(crate) fn without_rows(&self) -> Self {
        let mut fresh = SecondOrder::following(LeastSquares::new(self.spec().clone()));
        fresh.begin(self.n_outputs());
        fresh.grow(self.dim());
        fresh
    }

    /// Weights of the outputs, and those of the constant target 1 if it centres.
    fn all_weights(&self) -> Mat<f64> {
        let (weights, ones) = (self.weights.as_faer(), self.intercept.as_faer());
        let outputs = weights.ncols();
        Mat::from_fn(self.dim(), outputs + ones.ncols(), |i, j| {
            if j < outputs { weights[(i, j)] } else { ones[(i, j - outputs)] }
        })
    }

    /// The [`Sums::constants`], from weights `w` (k, outputs + 1) and `A w`, both multiplied by a
    /// root of `A` if not by `A` itself.
    fn constants(&self, weights: MatRef<'_, f64>, products: MatRef<'_, f64>) -> Vec<f64> {
        let outputs = self.n_outputs();
        if self.intercept.cols() == 0 {
            return Vec::new();
        }
        let centre = &self.rule.centre;
        let errors = (0..outputs).map(|c| centre.product(c)).chain(std::iter::once(centre.information()));
        errors.enumerate().map(|(c, sum)| sum + weights.col(c).transpose() * products.col(outputs)).collect()
    }

    /// [`sums`](Self::sums) in the coordinates `T z`. With `P = S S'` and `W = S^{-1} T'` they are
    /// `W'W - lambda T T'` and `W'S^{-1} w`: two thirds of the operations of `P^{-1}` between two
    /// products.
    fn lifted_sums(&self, map: MatRef<'_, f64>) -> Result<Sums> {
        let lambda = self.rule.spec.regularization;
        let mut inverse = self.inverse.clone();
        inverse.grow(self.dim(), lambda);
        let factor = inverse.factor().ok_or_else(unresolved)?;
        let solved = |of: MatRef<'_, f64>| {
            let mut of = of.to_owned();
            solve_lower_triangular_in_place(factor.L(), of.as_mut(), Par::Seq);
            of
        };
        let root = solved(map.transpose());
        let mut curvature = Mat::zeros(map.nrows(), map.nrows());
        add_gram(curvature.as_mut(), root.transpose(), 1.0);
        add_gram(curvature.as_mut(), map, -lambda);
        let weights = solved(self.all_weights().as_ref());
        let targets = product(root.transpose(), weights.as_ref());
        Ok(Sums { curvature, targets, constants: self.constants(weights.as_ref(), weights.as_ref()) })
    }

    /// Sums over its rows.
    fn sums(&self) -> Result<Sums> {
        let lambda = self.rule.spec.regularization;
        let mut inverse = self.inverse.clone();
        inverse.grow(self.dim(), lambda);
        let mut curvature = inverse.curvature().ok_or_else(unresolved)?;
        let weights = self.all_weights();
        let targets = product(curvature.as_ref(), weights.as_ref());
        let constants = self.constants(weights.as_ref(), targets.as_ref());
        for i in 0..curvature.nrows() {
            curvature[(i, i)] -= lambda;
        }
        Ok(Sums { curvature, targets, constants })
    }
}

/// Sums over rows.
struct Sums {
    /// `sum z z'`, on and below the diagonal.
    curvature: Mat<f64>,
    /// `sum z y`, with a last column for the target 1 if there are weights for it.
    targets: Mat<f64>,
    /// `sum y`, and the sum of 1; empty without those weights.
    constants: Vec<f64>,
}

impl Addend<'_> {
    /// Sums over its rows, in the coordinates of the sum.
    fn sums(&self, dim: usize) -> Result<Sums> {
        if let Some(memory) = &self.memory {
            let (curvature, targets) = memory.sums(dim, self.learner.n_outputs());
            return Ok(Sums { curvature, targets, constants: self.learner.sums()?.constants });
        }
        match self.inputs {
            Some(inputs) => self.learner.lifted_sums(inputs),
            None => self.learner.sums(),
        }
    }

    /// A learner of `dim` coordinates and `n_outputs` outputs that has learned the rows of several
    /// learners with the same specification, with which they [can be added](Ridge::check_adds).
    /// With forgetting, they are in order of time.
    pub(crate) fn sum(addends: &[Self], dim: usize, n_outputs: usize) -> Result<Ridge> {
        let Some(first) = addends.first() else { return Err(Error::NothingLearned) };
        let (lambda, keep) = (first.learner.rule.spec.regularization, first.learner.rule.spec.forgetting);
        let mut sum = SecondOrder::following(LeastSquares::new(first.learner.spec().clone()));
        sum.begin(n_outputs);
        sum.grow(dim);
        let mut curvature = Mat::<f64>::zeros(dim, dim);
        let mut targets = Mat::zeros(dim, n_outputs + sum.intercept.cols());
        let mut constants = vec![0.0; targets.ncols()];
        let learned: Vec<&Self> = addends.iter().filter(|addend| addend.learner.rounds > 0).collect();
        let sums = learned.chunks(AT_ONCE).flat_map(|some| map_each(some, |addend| addend.sums(dim)));
        for (addend, sums) in learned.iter().zip(sums) {
            let Sums { curvature: own, targets: own_targets, constants: own_constants } = sums?;
            if keep < 1.0 {
                let kept = keep.powf(addend.learner.rounds as f64);
                curvature *= faer::Scale(kept);
                targets *= faer::Scale(kept);
                for sum in &mut constants {
                    *sum *= kept;
                }
                sum.rule.centre.fade(kept);
            }
            curvature += own;
            let (outputs, ones) = own_targets.as_ref().split_at_col(addend.learner.n_outputs());
            let (mut to_outputs, mut to_ones) = targets.as_mut().split_at_col_mut(n_outputs);
            match addend.outputs {
                Some(map) => to_outputs += product(outputs, map.transpose()),
                None => to_outputs += outputs,
            }
            to_ones += ones.subcols(0, sum.intercept.cols());
            if let Some((of_one, of_outputs)) = own_constants.split_last() {
                constants[n_outputs] += of_one;
                for c in 0..n_outputs {
                    constants[c] += match addend.outputs {
                        Some(map) => (0..of_outputs.len()).map(|j| map[(c, j)] * of_outputs[j]).sum(),
                        None => of_outputs[c],
                    };
                }
            }
            sum.rule.add(&addend.learner.rule, addend.outputs);
            sum.rounds += addend.learner.rounds;
        }
        curvature += Mat::<f64>::identity(dim, dim) * faer::Scale(lambda);
        sum.inverse = SymmetricInverse::of(curvature.as_ref()).ok_or_else(unresolved)?;
        let weights = product(sum.inverse.matrix().as_faer(), targets.as_ref());
        copy(&mut sum.weights, weights.as_ref().split_at_col(n_outputs).0);
        copy(&mut sum.intercept, weights.as_ref().split_at_col(n_outputs).1);
        if sum.intercept.cols() > 0 {
            let of_one = targets.col(n_outputs);
            let explained = |c: usize| weights.col(c).transpose() * of_one;
            let errors: Vec<f64> = (0..=n_outputs).map(|c| constants[c] - explained(c)).collect();
            // Remainders of rounding size are no information.
            if errors[n_outputs] > CANCELLED * constants[n_outputs] {
                sum.rule.centre.set_sums(&errors[..n_outputs], errors[n_outputs]);
            }
        }
        let memories: Vec<Memory> = addends.iter().filter_map(|addend| addend.memory.clone()).collect();
        sum.memory = Memory::joined(memories);
        Ok(sum)
    }
}

impl LeastSquares {
    /// Adds the sums over other rows' targets, mapped to these outputs by `map`.
    fn add(&mut self, other: &Self, map: Option<MatRef<'_, f64>>) {
        if other.centre.seen() <= 0.0 {
            return;
        }
        let terms = |c: usize, of: &[f64], opposite: &[f64]| match map {
            None => of[c],
            Some(map) => (0..of.len())
                .filter(|&j| map[(c, j)] != 0.0)
                .map(|j| map[(c, j)] * if map[(c, j)] > 0.0 { of[j] } else { opposite[j] })
                .sum(),
        };
        for c in 0..self.low.len() {
            self.low[c] = self.low[c].min(terms(c, &other.low, &other.high));
            self.high[c] = self.high[c].max(terms(c, &other.high, &other.low));
        }
        self.centre.follow(|c, of| terms(c, of, of), &other.centre);
    }
}

fn copy(to: &mut Panel, from: MatRef<'_, f64>) {
    to.as_faer_mut().copy_from(from);
}

fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    out
}

/// Adds `c A A'` on and below the diagonal.
fn add_gram(to: MatMut<'_, f64>, a: MatRef<'_, f64>, c: f64) {
    let (lower, all) = (BlockStructure::TriangularLower, BlockStructure::Rectangular);
    triangular::matmul(to, lower, Accum::Add, a, all, a.transpose(), all, c, Par::Seq);
}

fn unresolved() -> Error {
    Error::merge("its numbers are beyond double precision; raise the regularization")
}
