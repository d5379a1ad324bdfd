//! A block of rows learned at once, with the result of one row at a time.

use faer::linalg::matmul::matmul;
use faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use faer::prelude::{IntoConst as _, ReborrowMut as _};
use faer::{Accum, MatMut, MatRef, Par};

use super::second_order::{Rule, Seen, Step};
use crate::error::{Error, Result};
use crate::linalg::{Panel, SymmetricInverse, loops};

/// Rows in the coordinates of a basis that none of them extends, or only those that are `novel`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Coordinates, one row of the stream a column (dim, b).
    pub z: MatRef<'a, f64>,
    /// Targets (outputs, b), each column contiguous.
    pub y: MatRef<'a, f64>,
    /// How many times each row's loss counts; once if `None`.
    pub weights: Option<&'a [f64]>,
    /// Rows that would become coordinates; those beyond its end would not.
    pub novel: &'a [bool],
    /// Whether they would only if they change the learner.
    pub selective: bool,
}

impl<'a> Rows<'a> {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.z.ncols()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn weight(&self, i: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[i])
    }

    pub(super) fn target(&self, i: usize) -> &'a [f64] {
        self.y.col(i).try_as_col_major().map_or(&[], faer::ColRef::as_slice)
    }

    /// Whether the walk ends before row `i`, which becomes a coordinate.
    pub(super) fn ends_at(&self, i: usize, moves: impl FnOnce() -> bool) -> bool {
        self.novel.get(i).is_some_and(|novel| *novel) && (!self.selective || moves())
    }
}

/// Scratch of a walk, kept so that blocks do not allocate.
///
/// With `P` and `w` from before the block, all that a row needs of the rows before it is in the numbers
/// `z_i'P z_j` and `w'z_j`: each row corrects those of the rows after it, O(b) numbers each. So `P` is
/// read once a block and written once, by matrix products, where single rows do both each.
#[derive(Clone, Debug, Default)]
pub(super) struct Walk {
    /// `P Z`, in the end the gains (dim, b).
    pz: Panel,
    /// `Z'P Z` with the `P` of each row, below the diagonal.
    inner: Panel,
    /// Forecasts of each row by the weights it meets, that of the target 1 last (outputs + 1, b).
    raw: Panel,
    /// What each row adds to the weights, in gains (outputs + 1, b).
    moves: Panel,
    /// How much each row takes from `P`.
    shares: Vec<f64>,
}

impl Walk {
    /// Walks the rows up to the first that becomes a coordinate. `rule` takes them down; it, `weights`,
    /// `ones` and `inverse` are to be thrown away (the rule) or are unchanged (the others) on an error.
    /// Returns how many rows were learned.
    pub(super) fn learn<R: Rule>(
        &mut self,
        rows: &Rows<'_>,
        rule: &mut R,
        step: &mut Step,
        (weights, ones): (&mut Panel, &mut Panel),
        inverse: &mut SymmetricInverse,
        mut forecasts: Option<&mut Panel>,
    ) -> Result<usize> {
        let (outputs, b) = (weights.cols(), rows.len());
        self.pz.reset(weights.rows(), b);
        self.inner.reset(b, b);
        self.raw.reset(outputs + 1, b);
        self.moves.reset(outputs + 1, b);
        self.shares.clear();
        let Self { pz, inner, raw, moves, shares } = self;
        let product =
            |to: MatMut<'_, f64>, left, right| matmul(to, Accum::Replace, left, right, 1.0, Par::Seq);
        product(pz.as_faer_mut(), inverse.matrix().as_faer(), rows.z);
        product(inner.as_faer_mut(), rows.z.transpose(), pz.as_faer());
        let (of_outputs, of_one) = raw.as_faer_mut().split_at_row_mut(outputs);
        product(of_outputs, weights.as_faer().transpose(), rows.z);
        if ones.cols() > 0 {
            product(of_one, ones.as_faer().transpose(), rows.z);
        }
        let mut done = 0;
        while done < b {
            let i = done;
            let (y, weight) = (rows.target(i), rows.weight(i));
            let (raw_i, one) = (&raw.col(i)[..outputs], raw.get(outputs, i));
            if rows.ends_at(i, || rule.moves(raw_i, one, y)) {
                break;
            }
            let quadratic = inner.get(i, i).max(0.0);
            rule.plan(&Seen { raw: raw_i, one, quadratic, y, weight, grows: false }, step);
            let taken = step.curvature * quadratic;
            if super::beyond_bounds(raw_i) || taken.is_nan() || taken >= SymmetricInverse::LARGEST {
                return Err(Error::Unstable { row: i });
            }
            if let Some(forecasts) = &mut forecasts {
                let forecast = forecasts.col_mut(i);
                forecast[..outputs].copy_from_slice(raw_i);
                rule.present(&mut forecast[..outputs], one, quadratic);
            }
            rule.note(y, weight);
            let gain = (1.0 + taken).recip();
            let so_far = step.moves.iter().chain(std::iter::once(&step.one));
            moves.col_mut(i).iter_mut().zip(so_far).for_each(|(to, from)| *to = gain * from);
            shares.push(gain * step.curvature);
            // The rows after this one: P and w are as it leaves them.
            let (after, stride) = (i + 1, raw.stride());
            let between = &inner.col(i)[after..b];
            loops::add_to_columns(&mut raw.data_mut()[after * stride..], stride, between, moves.col(i));
            if shares[i] > 0.0 {
                let stride = inner.stride();
                loops::eliminate_below(inner.data_mut(), stride, i, b, shares[i]);
            }
            done += 1;
        }
        self.apply(done, weights, ones, inverse);
        Ok(done)
    }

    /// What the first `done` rows do to the weights and to `P`, by matrix products.
    fn apply(&mut self, done: usize, weights: &mut Panel, ones: &mut Panel, inverse: &mut SymmetricInverse) {
        for (i, share) in self.shares.iter().enumerate() {
            self.inner.col_mut(i).iter_mut().for_each(|value| *value *= share);
        }
        // P z_i with the P before the block is that with the P of its round and shares of earlier ones'.
        let inner = self.inner.as_faer().submatrix(0, 0, done, done);
        let mut gains = self.pz.as_faer_mut().subcols_mut(0, done);
        solve_unit_lower_triangular_in_place(inner, gains.rb_mut().transpose_mut(), Par::Seq);
        let gains = gains.into_const();
        let (moves, one) = self.moves.as_faer().subcols(0, done).split_at_row(weights.cols());
        matmul(weights.as_faer_mut(), Accum::Add, gains, moves.transpose(), 1.0, Par::Seq);
        if ones.cols() > 0 {
            matmul(ones.as_faer_mut(), Accum::Add, gains, one.transpose(), 1.0, Par::Seq);
        }
        for (i, share) in self.shares.iter().enumerate() {
            let root = share.sqrt();
            self.pz.col_mut(i).iter_mut().for_each(|value| *value *= root);
        }
        inverse.subtract_products(self.pz.as_faer().subcols(0, done));
    }
}
