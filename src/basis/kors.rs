//! Nested features of points sampled by ridge leverage scores.

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};

use super::{Basis, BasisBlocks, BasisFile, BasisGrowth, BasisPoints, Nested, Projection};
use crate::error::{Error, Result, positive};
use crate::kernel::{KernelSpec, PointSet};
use crate::linalg::{ChangeOfBasis, Coordinates, Lanes, Panel, SymmetricInverse};
use crate::persist::{Reader, Writer};
use crate::random;

/// Parameters of [`Kors`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct KorsSpec {
    /// `mu`: regularization of the leverage scores, positive; a larger one stores fewer points.
    pub regularization: f64,
    /// `epsilon`: accuracy of the estimated scores, positive.
    pub accuracy: f64,
    /// `beta`: factor from the score to the sampling probability, positive.
    pub oversampling: f64,
    /// Most points stored; no limit if `None`.
    pub max_size: Option<usize>,
    /// Seed of the draws.
    pub random_state: u64,
}

impl Default for KorsSpec {
    fn default() -> Self {
        Self { regularization: 1.0, accuracy: 0.5, oversampling: 1.0, max_size: None, random_state: 0 }
    }
}

/// Nested features of points sampled with a probability that grows with their ridge leverage score:
/// KORS (Calandriello, Lazaric and Valko, 2017).
///
/// A row is stored with probability `p = min(1, beta (1 + epsilon) a / (1 + a))`, where `a = z'Pz +
/// delta / mu`, `delta` is its residual, and `P = (mu I + sum z_i z_i' / p_i)^{-1}` over the stored
/// points, each weighted by its inverse probability. This is the paper's `(1 + epsilon) / mu [k(x,
/// x) - k~' (K~ + mu I)^{-1} k~]` in coordinates, at O(m^2) a row. The weights of `K~` are `1 /
/// sqrt(p)`; the appendix H of Jezequel, Gaillard and Rudi (2019) has `1 / p`, which stores half as
/// many points. A point in the span of the stored ones to rounding, such as a repeated one, may be
/// drawn too, and is refused.
#[derive(Clone, Debug)]
pub struct Kors {
    pub(super) spec: KorsSpec,
    nested: Nested,
    /// `P` of the points stored before the current row.
    inverse: SymmetricInverse,
    /// Sampling probabilities of the stored points.
    chances: Vec<f64>,
    /// Number of projected rows.
    drawn: u64,
    /// Coordinates of the point just stored, with its own, and its probability: `P` is updated
    /// after its row is learned.
    newest: Option<(Coordinates, f64)>,
    /// Sampling probability of the last projected row.
    chance: f64,
    pz: Lanes,
}

impl Kors {
    /// An empty basis with checked parameters.
    pub fn new(kernel: impl Into<KernelSpec>, spec: KorsSpec) -> Result<Self> {
        for (name, value) in [
            ("regularization", spec.regularization),
            ("accuracy", spec.accuracy),
            ("oversampling", spec.oversampling),
        ] {
            positive(name, value)?;
        }
        let mut nested = Nested::all_points(kernel)?;
        if let Some(most) = spec.max_size {
            nested = nested.with_max_size(most)?;
        }
        Ok(Self {
            spec,
            nested,
            inverse: SymmetricInverse::default(),
            chances: Vec::new(),
            drawn: 0,
            newest: None,
            chance: 0.0,
            pz: Lanes::default(),
        })
    }

    /// The random number of a row, by its index.
    fn coin(&self, count: u64) -> f64 {
        random::uniform(self.spec.random_state, count)
    }

    /// The sampling probability of a row, from `z'Pz` and its additional coordinate.
    fn chance(&self, within: f64, residual: f64) -> f64 {
        let share = within.max(0.0) + residual * residual / self.spec.regularization;
        let score = (1.0 + self.spec.accuracy) * share / (1.0 + share);
        (self.spec.oversampling * score).min(1.0)
    }

    /// Sampling probabilities of the stored points.
    #[must_use]
    pub fn chances(&self) -> &[f64] {
        &self.chances
    }
}

impl Basis for Kors {
    fn dim(&self) -> usize {
        self.nested.dim()
    }

    fn width(&self) -> Option<usize> {
        self.nested.width()
    }

    fn begin(&mut self, width: usize) -> Result<()> {
        self.nested.begin(width)
    }

    fn check(&self, rows: ArrayView2<'_, f64>) -> Result<()> {
        self.nested.check(rows)
    }

    fn project(&mut self, x: &[f64], z: &mut Coordinates) -> f64 {
        let residual = self.nested.project(x, z);
        let coin = self.coin(self.drawn);
        self.drawn += 1;
        if residual <= 0.0 {
            return 0.0;
        }
        self.pz.resize(z.len());
        let within = self.inverse.leverage(self.spec.regularization, z.in_lanes(), &mut self.pz);
        self.chance = self.chance(within, residual);
        if coin < self.chance { residual } else { 0.0 }
    }

    fn insert(&mut self, x: &[f64], z: &mut Coordinates) {
        self.nested.insert(x, z);
        self.newest = Some((z.clone(), self.chance));
    }

    fn commit(&mut self) -> Option<ChangeOfBasis> {
        if let Some((z, chance)) = self.newest.take() {
            let mu = self.spec.regularization;
            self.pz.resize(z.len());
            self.inverse.leverage(mu, z.in_lanes(), &mut self.pz);
            let weight = chance.recip();
            if !self.inverse.learn(1.0, weight, mu, z.in_lanes(), z.len(), &mut self.pz) {
                // If the update overflows, the point keeps its prior, and scores are too large.
                self.inverse.grow(z.len(), mu);
            }
            self.chances.push(chance);
        }
        None
    }

    /// Whether a row becomes a point is random: none is assumed.
    fn features(&self, x: &[f64], z: &mut Coordinates) -> f64 {
        self.nested.features(x, z);
        0.0
    }

    fn rollback(&mut self, dim: usize) {
        self.nested.rollback(dim);
        self.newest = None;
        self.drawn = self.drawn.saturating_sub(1);
    }
}

impl BasisBlocks for Kors {
    fn max_block_len(&self) -> usize {
        usize::MAX
    }

    fn features_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        let mut residual = self.nested.features_block(rows, z);
        residual.fill(0.0);
        residual
    }

    fn project_block(&self, rows: ArrayView2<'_, f64>, z: &mut Panel) -> Vec<f64> {
        let mut residual = self.nested.features_block(rows, z);
        if residual.iter().any(|value| *value > 0.0) {
            let mut pz = Panel::default();
            z.times(self.inverse.matrix().as_faer(), &mut pz);
            for (i, (value, count)) in residual.iter_mut().zip(self.drawn..).enumerate() {
                let within: f64 = (0..z.cols()).map(|k| z.get(i, k) * pz.get(i, k)).sum();
                if *value > 0.0 && self.coin(count) >= self.chance(within, *value) {
                    *value = 0.0;
                }
            }
        }
        residual
    }

    fn commit_block(&mut self, rows: usize) {
        self.drawn += rows as u64;
    }
}

impl BasisGrowth for Kors {
    fn most(&self) -> Option<usize> {
        self.nested.most()
    }

    fn is_full(&self) -> bool {
        self.nested.is_full()
    }

    fn is_bounded(&self) -> bool {
        self.nested.is_bounded()
    }
}

impl BasisPoints for Kors {
    fn similarity(&self, x: &[f64]) -> Option<f64> {
        self.nested.similarity(x)
    }

    fn common_similarity(&self) -> Option<f64> {
        self.nested.common_similarity()
    }

    fn check_bound(&self, left: &Projection, z: &mut dyn Iterator<Item = f64>) -> Result<()> {
        self.nested.check_bound(left, z)
    }

    fn condition(&self) -> Option<f64> {
        self.nested.condition()
    }

    fn points(&self) -> Option<&PointSet> {
        self.nested.points()
    }

    fn newest_coordinate(&self, rows: &mut dyn Iterator<Item = (&[f64], &[f64])>, out: &mut Vec<f64>) {
        self.nested.newest_coordinate(rows, out);
    }
}

impl BasisFile for Kors {
    fn kernel(&self) -> &KernelSpec {
        self.nested.kernel()
    }

    fn write(&self, out: &mut Writer) {
        self.nested.write(out);
        let m = self.inverse.dim();
        out.lower("basis.inverse", m, &self.inverse.matrix().to_row_major());
        out.vector("basis.chances", &self.chances);
        out.counts("basis.counts", &[self.drawn]);
    }

    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        self.nested.read(from)?;
        let m = self.nested.dim();
        let (known, entries) = from.lower("basis.inverse", true)?;
        self.inverse = (known == m)
            .then(|| SymmetricInverse::from_row_major(&entries, m))
            .flatten()
            .ok_or_else(|| Error::file("basis.inverse is not a symmetric inverse"))?;
        self.chances = from.vector("basis.chances", m)?;
        if !self.chances.iter().all(|p| (0.0..=1.0).contains(p)) {
            return Err(Error::file("basis.chances holds a number that is no chance"));
        }
        [self.drawn] = from.counts("basis.counts")?;
        Ok(())
    }
}
