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

    /// Weights of the outputs, mapped by `outputs` (joint, own) if that is given, and those of the constant target 1 if
    /// it centres: (k, joint + 1).
    fn all_weights(&self, outputs: Option<MatRef<'_, f64>>) -> Mat<f64> {
        let own = self.weights.as_faer();
        let weights = outputs.map_or_else(|| own.to_owned(), |map| product(own, map.transpose()));
        beside(weights.as_ref().subrows(0, self.dim()), self.weights_of_one())
    }

    /// Weights of the constant target 1 (k, 1), or none (k, 0).
    fn weights_of_one(&self) -> MatRef<'_, f64> {
        self.intercept.as_faer().subrows(0, self.dim())
    }

    /// `P` in all coordinates, those included in which every row was zero.
    pub(crate) fn whole_inverse(&self) -> SymmetricInverse {
        let mut inverse = self.inverse.clone();
        inverse.grow(self.dim(), self.rule.spec.regularization);
        inverse
    }

    /// Sums of the residuals `y - z'w`, of the outputs and of the target 1 if it centres.
    fn residuals(&self, outputs: Option<MatRef<'_, f64>>) -> Vec<f64> {
        if self.intercept.cols() == 0 {
            return Vec::new();
        }
        let centre = &self.rule.centre;
        let own = Mat::from_fn(self.n_outputs(), 1, |c, _| centre.product(c));
        let mapped = outputs.map_or_else(|| own.clone(), |map| product(map, own.as_ref()));
        mapped.col(0).iter().copied().chain(std::iter::once(centre.information())).collect()
    }
}

/// Sums over rows `z` with targets `y`, of which those that the reference weights `R` predict are subtracted.
struct Sums {
    /// `sum z z'`, on and below the diagonal.
    curvature: Mat<f64>,
    /// `sum z (y - z'R)`, with a last column for the target 1 if there are weights for it.
    targets: Mat<f64>,
    /// `sum (y - z'R)`, and that of the target 1; empty without those weights.
    constants: Vec<f64>,
    /// `sum z` (m, 1), and the sum of 1; without those weights (m, 0).
    ones: Mat<f64>,
    count: f64,
}

impl Addend<'_> {
    /// Sums over its rows, in the coordinates of the sum. The reference has to be zero for a learner that is
    /// [lifted or remembers rows](Self::has_coordinates_of).
    fn sums(&self, reference: MatRef<'_, f64>) -> Result<Sums> {
        let sums = self.inputs.map_or_else(|| self.own_sums(reference), |map| self.lifted_sums(map))?;
        let Some(memory) = &self.memory else { return Ok(sums) };
        let (curvature, targets) = memory.sums(sums.curvature.nrows(), self.learner.n_outputs());
        let (outputs, ones) = targets.as_ref().split_at_col(self.learner.n_outputs());
        let ones = ones.subcols(0, sums.ones.ncols()).to_owned();
        let outputs =
            self.outputs.map_or_else(|| outputs.to_owned(), |map| product(outputs, map.transpose()));
        Ok(Sums { curvature, targets: beside(outputs.as_ref(), ones.as_ref()), ones, ..sums })
    }

    /// `P^{-1} - lambda I` and `P^{-1} (w - R) + lambda R`.
    fn own_sums(&self, reference: MatRef<'_, f64>) -> Result<Sums> {
        let learner = self.learner;
        let lambda = learner.rule.spec.regularization;
        let mut curvature = learner.whole_inverse().curvature().ok_or_else(unresolved)?;
        let differences = learner.all_weights(self.outputs) - reference;
        let of_one = learner.weights_of_one();
        let targets = product(curvature.as_ref(), differences.as_ref()) + reference * faer::Scale(lambda);
        let ones = product(curvature.as_ref(), of_one);
        (0..curvature.nrows()).for_each(|i| curvature[(i, i)] -= lambda);
        let across = product(differences.transpose(), ones.as_ref());
        let square = product(of_one.transpose(), ones.as_ref()).sum();
        let (constants, count) = self.constants(across.as_ref(), square);
        Ok(Sums { curvature, targets, constants, ones, count })
    }

    /// In the coordinates `T z`. With `P = S S'` and `W = S^{-1} T'` they are `W'W - lambda T T'` and `W'S^{-1} w`: two
    /// thirds of the operations of `P^{-1}` between two products.
    fn lifted_sums(&self, map: MatRef<'_, f64>) -> Result<Sums> {
        let learner = self.learner;
        let factor = learner.whole_inverse().factor().ok_or_else(unresolved)?;
        let solved = |of: MatRef<'_, f64>| {
            let mut of = of.to_owned();
            solve_lower_triangular_in_place(factor.L(), of.as_mut(), Par::Seq);
            of
        };
        let root = solved(map.transpose());
        let mut curvature = Mat::zeros(map.nrows(), map.nrows());
        add_gram(curvature.as_mut(), root.transpose(), 1.0);
        add_gram(curvature.as_mut(), map, -learner.rule.spec.regularization);
        let weights = solved(learner.all_weights(self.outputs).as_ref());
        let of_one = solved(learner.weights_of_one());
        let across = product(weights.transpose(), of_one.as_ref());
        let (constants, count) = self.constants(across.as_ref(), of_one.squared_norm_l2());
        let to_joint = |of: &Mat<f64>| product(root.transpose(), of.as_ref());
        Ok(Sums { curvature, targets: to_joint(&weights), constants, ones: to_joint(&of_one), count })
    }

    /// [`Sums::constants`] and [`Sums::count`] from the residuals and what the weights explain.
    fn constants(&self, across: MatRef<'_, f64>, square: f64) -> (Vec<f64>, f64) {
        let residuals = self.learner.residuals(self.outputs);
        let constants = residuals.iter().enumerate().map(|(c, sum)| sum + across[(c, 0)]).collect();
        (constants, residuals.last().map_or(0.0, |last| last + square))
    }

    /// Whether its coordinates are those of the sum, and its sums those of its weights.
    fn has_coordinates_of(&self, dim: usize) -> bool {
        self.inputs.is_none() && self.memory.is_none() && self.learner.dim() == dim
    }

    /// Weights that those of all addends are near to, by which little is rounded: those of the first, in the
    /// coordinates of the sum; zero if any addend has others. The sums of parts of one stream have errors of rounding
    /// multiplied by their condition, but these errors multiply only what the parts' weights differ by.
    fn reference(learned: &[&Self], dim: usize, columns: usize) -> Mat<f64> {
        match learned.first() {
            Some(first) if learned.iter().all(|addend| addend.has_coordinates_of(dim)) => {
                first.learner.all_weights(first.outputs)
            }
            _ => Mat::zeros(dim, columns),
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
        let columns = n_outputs + sum.intercept.cols();
        let learned: Vec<&Self> = addends.iter().filter(|addend| addend.learner.rounds > 0).collect();
        let reference = Self::reference(&learned, dim, columns);
        let mut curvature = Mat::<f64>::zeros(dim, dim);
        let mut targets = Mat::zeros(dim, columns);
        let mut ones = Mat::zeros(dim, sum.intercept.cols());
        let (mut constants, mut count) = (vec![0.0; columns], 0.0);
        let sums =
            learned.chunks(AT_ONCE).flat_map(|some| map_each(some, |addend| addend.sums(reference.as_ref())));
        for (addend, sums) in learned.iter().zip(sums) {
            let own = sums?;
            if keep < 1.0 {
                let kept = keep.powf(addend.learner.rounds as f64);
                for sum in [&mut curvature, &mut targets, &mut ones] {
                    *sum *= faer::Scale(kept);
                }
                for sum in constants.iter_mut().chain([&mut count]) {
                    *sum *= kept;
                }
                sum.rule.centre.fade(kept);
            }
            curvature += own.curvature;
            targets += own.targets;
            ones += own.ones;
            constants.iter_mut().zip(&own.constants).for_each(|(to, from)| *to += from);
            count += own.count;
            sum.rule.add(&addend.learner.rule, addend.outputs);
            sum.rounds += addend.learner.rounds;
        }
        curvature += Mat::<f64>::identity(dim, dim) * faer::Scale(lambda);
        sum.inverse = SymmetricInverse::of(curvature.as_ref()).ok_or_else(unresolved)?;
        targets -= &reference * faer::Scale(lambda);
        let change = product(sum.inverse.matrix().as_faer(), targets.as_ref());
        let weights = &reference + &change;
        copy(&mut sum.weights, weights.as_ref().split_at_col(n_outputs).0);
        copy(&mut sum.intercept, weights.as_ref().split_at_col(n_outputs).1);
        if sum.intercept.cols() > 0 {
            let explained = product(change.transpose(), ones.as_ref());
            let errors: Vec<f64> =
                constants.iter().enumerate().map(|(c, of)| of - explained[(c, 0)]).collect();
            // Remainders of rounding size are no information.
            if errors[n_outputs] > CANCELLED * count {
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

/// `[a b]`
fn beside(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let left = a.ncols();
    Mat::from_fn(a.nrows(), left + b.ncols(), |i, j| if j < left { a[(i, j)] } else { b[(i, j - left)] })
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
