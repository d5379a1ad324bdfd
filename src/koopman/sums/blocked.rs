//! Sums over pairs, block by block of the stream.

use faer::{Mat, MatRef};

use super::{PairSums, Weights};
use crate::error::{Error, Result, in_range};
use crate::linalg::Coordinates;
use crate::persist::{Reader, Writer};

/// With forgetting the blocks cover this many times the pairs that count: the others weigh almost nothing.
const COVERED: f64 = 4.0;

/// More pairs than can be learned in a lifetime, and few enough for sums of counts.
const MOST_PAIRS: u64 = 1 << 50;

/// Sums over consecutive pairs, in blocks of which there are never more than this many: what the differences between them
/// say of errors holds whatever the correlation of pairs that are close in time.
///
/// All blocks but the latest have the same length. When there are too many, neighbours become one and
/// the length doubles (as in batch means over a run of unknown length: J. Alexopoulos, A. Seila, "Implementing the batch means
/// method in simulation experiments", 1996). With forgetting the length ends at a part of the memory, and
/// the oldest two become one.
#[derive(Clone, Debug)]
pub(in crate::koopman) struct BlockedSums {
    /// Most blocks.
    most: usize,
    keep: f64,
    length: u64,
    /// In the order of time; pairs are added to the last.
    blocks: Vec<PairSums>,
}

impl BlockedSums {
    /// At most `most` blocks, 1 or from 8; what is left of the weight of a pair after each further one.
    pub fn new(most: usize, keep: f64) -> Result<Self> {
        let most =
            in_range("n_blocks", most, most == 1 || (8..=1024).contains(&most), "0, 1 or from 8 to 1024")?;
        Ok(Self { most, keep, length: if most == 1 { u64::MAX } else { 1 }, blocks: Vec::new() })
    }

    /// The same without a pair.
    pub fn emptied(&self) -> Self {
        Self { length: if self.most == 1 { u64::MAX } else { 1 }, blocks: Vec::new(), ..*self }
    }

    pub fn blocks(&self) -> &[PairSums] {
        &self.blocks
    }

    /// Sums over all pairs.
    pub fn whole(&self) -> PairSums {
        let mut whole = PairSums::default();
        self.blocks.iter().for_each(|block| whole.absorb(block));
        whole
    }

    /// Adds a pair: the coordinates of both states.
    pub fn add_one(&mut self, z: &Coordinates, s: &Coordinates, weight: f64) {
        if self.keep < 1.0 {
            self.blocks.iter_mut().for_each(|block| block.forget(self.keep));
        }
        let m = z.len();
        self.open().add_one(z.in_lanes(), s.in_lanes(), m, weight);
    }

    /// Adds the rows of `z` (b, m) with the columns of `s` (m, b).
    pub fn add_block(&mut self, z: MatRef<'_, f64>, s: MatRef<'_, f64>, weights: Weights<'_>) {
        if let Some(weights) = weights {
            let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
            let z = Mat::from_fn(z.nrows(), z.ncols(), |i, j| roots[i] * z[(i, j)]);
            let s = Mat::from_fn(s.nrows(), s.ncols(), |i, j| roots[j] * s[(i, j)]);
            self.add_scaled(z.as_ref(), s.as_ref(), &roots);
        } else {
            self.add_scaled(z, s, &[]);
        }
    }

    /// Adds rows that were multiplied by the roots of their weights; 1 beyond the end.
    fn add_scaled(&mut self, z: MatRef<'_, f64>, s: MatRef<'_, f64>, roots: &[f64]) {
        let mut done = 0;
        while done < z.nrows() {
            let length = self.length;
            let open = self.open();
            let room = usize::try_from(length - open.count()).unwrap_or(usize::MAX);
            let part = room.min(z.nrows() - done);
            let roots = roots.get(done..done + part).unwrap_or(&[]);
            open.add_block(z.subrows(done, part), s.subcols(done, part), roots);
            done += part;
        }
    }

    /// The block that the next pair belongs to.
    fn open(&mut self) -> &mut PairSums {
        let full = self.blocks.last().is_none_or(|block| block.count() >= self.length);
        if full {
            while self.blocks.len() >= self.most {
                self.coarsen();
            }
            self.blocks.push(PairSums::default());
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    /// Makes fewer blocks of the same pairs.
    fn coarsen(&mut self) {
        let covered = COVERED / (1.0 - self.keep) / self.most as f64;
        if (self.length as f64) < covered {
            self.length *= 2;
        } else {
            let second = self.blocks.remove(1);
            self.blocks[0].absorb(&second);
            return;
        }
        self.join_neighbours();
    }

    /// Makes one of neighbours that are no longer than a block together.
    fn join_neighbours(&mut self) {
        let mut coarser: Vec<PairSums> = Vec::with_capacity(self.most);
        for block in self.blocks.drain(..) {
            match coarser.last_mut() {
                Some(last) if last.count() + block.count() <= self.length => {
                    last.absorb(&block);
                }
                _ => coarser.push(block),
            }
        }
        self.blocks = coarser;
    }

    /// Adds the blocks of others, by their lifts (joint, own) in the same coordinates; with forgetting they came
    /// later, `rounds` of them.
    pub fn append(&mut self, other: &Self, lift: Option<MatRef<'_, f64>>, rounds: u64) {
        if self.keep < 1.0 {
            let kept = self.keep.powf(rounds as f64);
            self.blocks.iter_mut().for_each(|block| block.forget(kept));
        }
        let lifted = |block: &PairSums| lift.map_or_else(|| block.clone(), |lift| block.lifted(lift));
        self.blocks.extend(other.blocks.iter().map(lifted));
        self.length = self.length.max(other.length);
        self.join_neighbours();
        while self.blocks.len() > self.most {
            self.coarsen();
        }
    }

    pub fn write(&self, out: &mut Writer) {
        out.counts("blocks.counts", &[self.length, self.blocks.len() as u64]);
        for (i, block) in self.blocks.iter().enumerate() {
            block.write(&format!("blocks.{i}"), out);
        }
    }

    /// Reads what [`write`](Self::write) wrote, of at most this many coordinates.
    pub fn read(&mut self, from: &Reader<'_>, dim: usize) -> Result<()> {
        let [length, count] = from.counts("blocks.counts")?;
        let single = self.most == 1;
        if !single && !(1..=MOST_PAIRS).contains(&length) || count > self.most as u64 {
            return Err(Error::file("blocks.counts are no blocks"));
        }
        let blocks: Vec<PairSums> =
            (0..count).map(|i| PairSums::read(&format!("blocks.{i}"), from, dim)).collect::<Result<_>>()?;
        if blocks.iter().any(|block| block.count() > MOST_PAIRS) {
            return Err(Error::file("blocks of more pairs than can be learned"));
        }
        // A single block never ends.
        (self.length, self.blocks) = (if single { u64::MAX } else { length }, blocks);
        Ok(())
    }
}
