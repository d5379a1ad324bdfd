//! Second-order rounds with a coordinate in which past rows are not zero.

use super::SecondOrder;
use super::memory::Added;
use super::rule::{Observation, SecondOrderRule};
use crate::error::{Error, Result};
use crate::learner::weights::{apply, beyond_bounds};
use crate::linalg::{Coordinates, loops, padded};

impl<R: SecondOrderRule> SecondOrder<R> {
    /// A round that adds a coordinate in which past rows have values: predicts as if they had been
    /// learned with it, learns the row in the earlier coordinates, then appends the new one with
    /// the information of all rows. In this order a small regularization costs no digits.
    pub(super) fn learn_with_memory(
        &mut self,
        mut added: Added,
        z: &Coordinates,
        y: &[f64],
        weight: f64,
        prediction: &mut [f64],
    ) -> Result<()> {
        let regularization = self.rule.regularization();
        let m = added.row.len();
        let (known, last) = (Coordinates::from_slice(&z.as_slice()[..m]), z.as_slice()[m]);
        let row = Coordinates::from_slice(&added.row);
        let mut gain = vec![0.0; row.in_lanes().len()];
        self.inverse.grow(m, regularization);
        let explained = self.inverse.multiply(row.in_lanes(), &mut gain);
        let unseen = (added.corner + regularization - explained).max(regularization);
        let beyond = last - loops::dot(&gain, known.in_lanes());
        // The part of a target that the new coordinate explains and the earlier weights do not.
        let new_part = |weights: &[f64], right: f64, row: &[f64]| {
            right - weights.iter().zip(row).map(|(w, a)| w * a).sum::<f64>()
        };
        let share = beyond / unseen;
        let one = self.predict_intercept(z);
        let missing_of_one = if self.intercept.cols() > 0 {
            new_part(self.intercept.col(0), added.intercept, &added.row)
        } else {
            0.0
        };
        let one_to_say = one + share * missing_of_one;
        apply(&self.weights, z, prediction);
        let pz = &mut self.pz[..padded(m)];
        let quadratic = self.inverse.leverage(regularization, known.in_lanes(), pz);
        self.rule.update_step(
            &Observation { raw: prediction, intercept: one, quadratic, y, weight, grows: true },
            &mut self.step,
        );
        let missing: Vec<f64> = (0..prediction.len())
            .map(|c| new_part(self.weights.col(c), added.targets[c], &added.row))
            .collect();
        prediction.iter_mut().zip(&missing).for_each(|(value, part)| *value += share * part);
        let curvature = self.step.curvature;
        if beyond_bounds(prediction)
            || !self.inverse.learn(1.0, curvature, regularization, known.in_lanes(), m, pz)
        {
            return Err(Error::Unstable { row: 0 });
        }
        for (c, far) in self.step.lengths.iter().enumerate() {
            loops::add_scaled(*far, pz, &mut self.weights.col_mut(c)[..padded(m)]);
        }
        if self.intercept.cols() > 0 {
            loops::add_scaled(self.step.intercept, pz, &mut self.intercept.col_mut(0)[..padded(m)]);
        }
        added.row.iter_mut().zip(known.as_slice()).for_each(|(a, z)| *a += curvature * last * z);
        let corner = added.corner + curvature * last * last + regularization;
        let pivot = self.inverse.append(&added.row, corner, regularization, &mut self.pz);
        for (c, target) in y.iter().enumerate() {
            let right = added.targets[c] + curvature * last * target;
            let weights = self.weights.col_mut(c);
            let part = new_part(weights, right, &added.row);
            loops::add_scaled(-part / pivot, &self.pz, weights);
        }
        if self.intercept.cols() > 0 {
            let intercept = self.intercept.col_mut(0);
            let part = new_part(intercept, added.intercept + curvature * last, &added.row);
            loops::add_scaled(-part / pivot, &self.pz, intercept);
        }
        // The intercept is updated by past errors as they would have been with the new coordinate.
        let quadratic = quadratic + beyond * share;
        let explained: Vec<f64> = missing.iter().map(|part| part * missing_of_one / unseen).collect();
        self.rule.explain_centre(&explained, missing_of_one * missing_of_one / unseen);
        self.rule.update_step(
            &Observation { raw: prediction, intercept: one_to_say, quadratic, y, weight, grows: true },
            &mut self.step,
        );
        self.rule.finalize_prediction(prediction, one_to_say, quadratic);
        let leverage = quadratic + self.rule.centre_variance(one_to_say);
        self.rule.update_centre(1.0, &self.step, quadratic);
        self.learned(leverage, y, weight);
        Ok(())
    }
}
