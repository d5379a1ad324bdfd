//! A block of rows learned at once, with the result of one row at a time.

use faer::{Accum, MatMut};

use super::rule::{Observation, SecondOrderRule, Step};
use crate::error::{Error, Result};
use crate::learner::Rows;
use crate::learner::weights::beyond_bounds;
use crate::linalg::{Panel, SymmetricInverse, divided, loops, padded};

/// Largest share of the inverse that a row may remove along itself, `c z'Pz`: beyond it the
/// products of the block have no digits left, and the row is learned by itself.
const STEEPEST: f64 = 1e14;

/// Scratch of a block, kept between blocks. Not part of copies of a learner.
///
/// With `P` and `w` from before the block, a row needs only the numbers `z_i'P z_j` and `w'z_j` of
/// earlier rows: each row corrects the former for later rows, and applies the changes of earlier
/// rows to the latter, O(b) numbers each. So `P` is read and written once a block, by matrix
/// products, and not once a row.
#[derive(Debug, Default)]
pub(super) struct BlockUpdate {
    /// `Z P`, finally the gains (b, dim).
    zp: Panel,
    square: Panel,
    /// `Z P Z'` with the `P` of each row, on and below the diagonal.
    inner: Panel,
    /// Predictions of each row by the weights before it, that of the target 1 last (b, outputs +
    /// 1).
    raw: Panel,
    /// Addition of each row to the weights, along gains (outputs + 1, b).
    lengths: Panel,
    /// The same, transposed.
    turned: Panel,
    /// For the current row: products with earlier rows, and their contributions to its predictions
    /// and to these products.
    between: Vec<f64>,
    added: Vec<f64>,
    row: Vec<f64>,
    /// `z'Pz` of each row, with the `P` before it.
    leverages: Vec<f64>,
    /// Factor of the rank-one update of `P` of each row.
    shares: Vec<f64>,
    /// Their roots, padded.
    roots: Vec<f64>,
    /// Squared norm of the gain of each row, padded.
    squares: Vec<f64>,
}

impl Clone for BlockUpdate {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl BlockUpdate {
    /// Learns the rows up to the first that becomes a coordinate, or that must be learned by itself, and returns their
    /// number. On an error `weights`, `intercept` and `inverse` are unchanged, but `rule` must be discarded.
    pub(super) fn learn<R: SecondOrderRule>(
        &mut self,
        rows: &Rows<'_>,
        rule: &mut R,
        step: &mut Step,
        (weights, intercept): (&mut Panel, &mut Panel),
        inverse: &mut SymmetricInverse,
        mut predictions: Option<&mut Panel>,
    ) -> Result<usize> {
        let (outputs, b) = (weights.cols(), rows.len());
        self.inner.reshape(b, b);
        // What is left above the diagonal would be scaled by each block.
        self.inner.clear();
        self.raw.reshape(b, outputs + 1);
        self.lengths.reshape(outputs + 1, b);
        self.added.resize(padded(outputs + 1), 0.0);
        self.shares.clear();
        self.leverages.clear();
        let Self { zp, square, inner, raw, lengths, between, added, row, leverages, shares, .. } = self;
        let product = |to: MatMut<'_, f64>, a, b| divided::product(to, Accum::Replace, a, b);
        inverse.multiply_rows(rows.z, zp, square);
        divided::lower_product(inner.as_faer_mut(), zp.as_faer(), rows.z);
        let (of_outputs, of_one) = raw.as_faer_mut().split_at_col_mut(outputs);
        product(of_outputs, rows.z, weights.as_faer());
        if intercept.cols() > 0 {
            product(of_one, rows.z, intercept.as_faer());
        } else {
            raw.col_mut(outputs).fill(0.0);
        }
        let mut done = 0;
        while done < b {
            let i = done;
            let (y, weight) = (rows.target(i), rows.weight(i));
            // The weights after the previous row.
            between.clear();
            between.extend(inner.row(i).take(i));
            loops::multiply_narrow(lengths.data(), lengths.stride(), between, added);
            row.clear();
            row.extend(raw.row(i).zip(&*added).map(|(before, added)| before + added));
            let (raw_i, one) = (&row[..outputs], row[outputs]);
            if rows.ends_at(i, || rule.has_loss(raw_i, one, y)) {
                break;
            }
            let quadratic = inner.get(i, i).max(0.0);
            rule.update_step(
                &Observation { raw: raw_i, intercept: one, quadratic, y, weight, grows: false },
                step,
            );
            let taken = step.curvature * quadratic;
            if beyond_bounds(raw_i) || taken.is_nan() || taken >= STEEPEST {
                rows.end_before(i, Error::Unstable { row: i })?;
                break;
            }
            if let Some(predictions) = &mut predictions {
                let prediction = predictions.col_mut(i);
                prediction[..outputs].copy_from_slice(raw_i);
                rule.finalize_prediction(&mut prediction[..outputs], one, quadratic);
            }
            leverages.push(quadratic + rule.centre_variance(one));
            rule.update_centre(1.0, step, quadratic);
            rule.update_statistics(y, weight);
            let gain = (1.0 + taken).recip();
            let so_far = step.lengths.iter().chain(std::iter::once(&step.intercept));
            lengths.col_mut(i).iter_mut().zip(so_far).for_each(|(to, from)| *to = gain * from);
            shares.push(gain * step.curvature);
            // `P` after this row.
            if shares[i] > 0.0 {
                let stride = inner.stride();
                loops::eliminate_below(inner.data_mut(), stride, i, b, shares[i]);
            }
            done += 1;
        }
        if !self.find_gains(done, rule.regularization()) {
            return Err(Error::Unstable { row: 0 });
        }
        self.apply(done, weights, intercept, inverse);
        Ok(done)
    }

    /// `z'Pz` of each row of the block, with the `P` before it.
    pub(super) fn leverages(&self) -> &[f64] {
        &self.leverages
    }

    /// The gains of the first `done` rows, in `zp`. False where they take more from `P` than it has, by rounding.
    fn find_gains(&mut self, done: usize, regularization: f64) -> bool {
        for (i, share) in self.shares.iter().enumerate() {
            self.inner.col_mut(i).iter_mut().for_each(|value| *value *= share);
        }
        // P z_i with the P before the block is that with the P before the row plus multiples of
        // earlier gains.
        let inner = self.inner.as_faer().submatrix(0, 0, done, done);
        let gains = self.zp.as_faer_mut().subrows_mut(0, done);
        divided::solve_unit_lower(inner, gains);
        self.squares.clear();
        self.squares.resize(padded(self.zp.rows()), 0.0);
        loops::add_squares_of_columns(self.zp.data(), self.zp.stride(), &mut self.squares);
        let taken = self.shares.iter().zip(&self.squares).map(|(share, square)| share * square).sum();
        SymmetricInverse::can_lose(taken, self.zp.cols(), regularization)
    }

    /// Applies the first `done` rows to the weights and to `P`, by matrix products.
    fn apply(
        &mut self,
        done: usize,
        weights: &mut Panel,
        intercept: &mut Panel,
        inverse: &mut SymmetricInverse,
    ) {
        let gains = self.zp.as_faer().subrows(0, done).transpose();
        self.lengths.transpose_into(&mut self.turned);
        let (lengths, one) = self.turned.as_faer().subrows(0, done).split_at_col(weights.cols());
        divided::product(weights.as_faer_mut(), Accum::Add, gains, lengths);
        if intercept.cols() > 0 {
            divided::product(intercept.as_faer_mut(), Accum::Add, gains, one);
        }
        self.roots.clear();
        self.roots.extend(self.shares.iter().map(|share| share.sqrt()));
        self.roots.resize(padded(self.zp.rows()), 0.0);
        let stride = self.zp.stride();
        loops::scale_rows(self.zp.data_mut(), stride, &self.roots);
        inverse.subtract_products(self.zp.as_faer().subrows(0, done).transpose());
    }
}

#[cfg(test)]
mod tests {
    use crate::learner::{Learner as _, LearnerBlocks as _, Ridge, RidgeSpec, Rows};
    use crate::linalg::Panel;
    use crate::random::normal;

    #[test]
    fn a_block_ends_before_a_row_that_must_be_learned_by_itself() {
        let (m, b) = (12, 20);
        let numbers: Vec<f64> = (0..m * b).map(|k| normal(3, k as u64)).collect();
        let (z, y) = (Panel::from_row_major(&numbers, b, m), Panel::from_row_major(&numbers[..b], 1, b));
        let mut weights = vec![1.0; b];
        weights[7] = 1e19;
        let learned = |whole: bool, from: usize| {
            let mut ridge = Ridge::new(RidgeSpec::default()).unwrap();
            ridge.grow(m);
            ridge.grow_outputs(1);
            let rows = Rows {
                z: z.as_faer().subrows(from, b - from),
                y: y.as_faer().subcols(from, b - from),
                weights: Some(&weights[from..]),
                novel: &[],
                loss_driven: false,
                whole,
            };
            ridge.learn_block(&rows, None).ok()
        };
        assert_eq!(learned(false, 0), Some(7), "the rows before it");
        assert_eq!(learned(false, 7), None, "it is the first");
        assert_eq!(learned(false, 8), Some(b - 8));
        assert_eq!(learned(true, 0), None, "all or none");
    }
}
