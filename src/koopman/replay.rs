//! Replay buffer: pairs in shuffled order.

use ndarray::ArrayView2;

use super::spec::ReplaySpec;
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};
use crate::random;

/// Collects pairs until the buffer is full, then releases them shuffled, several times.
///
/// Consecutive pairs of a trajectory are correlated, and a gradient learner with a constant step
/// follows the latest of them; shuffled, they are nearly independent. The order depends on the seed
/// and on the pairs, not on how they were split into calls.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    spec: ReplaySpec,
    /// Random numbers drawn so far.
    drawn: u64,
    /// `x` and `x+` of each pair, consecutively.
    held: Vec<f64>,
    /// Numbers of a pair.
    width: usize,
    /// Order of the current pass, and number of pairs released.
    order: Vec<usize>,
    given: usize,
    passes_done: usize,
    /// Whether it is being emptied and accepts no pairs.
    open: bool,
    shuffled: Vec<f64>,
}

impl Replay {
    pub fn new(spec: ReplaySpec) -> Result<Self> {
        let spec = spec.checked()?;
        Ok(Self {
            drawn: 0,
            spec,
            held: Vec::new(),
            width: 0,
            order: Vec::new(),
            given: 0,
            passes_done: 0,
            open: false,
            shuffled: Vec::new(),
        })
    }

    /// Pairs held.
    pub fn len(&self) -> usize {
        self.held.len().checked_div(self.width).unwrap_or(0)
    }

    /// The pairs, one per row; `None` if empty.
    pub fn held(&self) -> Option<ArrayView2<'_, f64>> {
        ArrayView2::from_shape((self.len(), self.width), &self.held).ok().filter(|pairs| !pairs.is_empty())
    }

    /// Whether `n` more pairs fill the buffer.
    pub fn fills_with(&self, n: usize) -> bool {
        self.len() + n >= self.spec.size
    }

    /// Adds a pair `x, x+`, and opens when full.
    pub fn push(&mut self, pair: &[f64]) {
        self.width = pair.len();
        self.held.extend_from_slice(pair);
        self.open = self.len() >= self.spec.size;
    }

    /// Opens the buffer.
    pub fn open(&mut self) {
        self.open = true;
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Copies the next pairs, at most `most`, in shuffled order; false, with the buffer empty and
    /// closed, once each pair was released as often as specified.
    pub fn shuffle(&mut self, most: usize) -> bool {
        let n = self.len();
        if self.given == self.order.len() {
            if n == 0 || self.passes_done == self.spec.passes {
                self.held.clear();
                self.order.clear();
                (self.given, self.passes_done, self.open) = (0, 0, false);
                return false;
            }
            self.order.clear();
            self.order.extend(0..n);
            for i in (1..n).rev() {
                let j = self.below(i + 1);
                self.order.swap(i, j);
            }
            self.given = 0;
            self.passes_done += 1;
        }
        let end = n.min(self.given + most);
        self.shuffled.clear();
        for &i in &self.order[self.given..end] {
            self.shuffled.extend_from_slice(&self.held[i * self.width..(i + 1) * self.width]);
        }
        self.given = end;
        true
    }

    /// The pairs of the last [`shuffle`](Self::shuffle), consecutively.
    pub fn shuffled(&self) -> &[f64] {
        &self.shuffled
    }

    /// A uniform random number below `n`.
    fn below(&mut self, n: usize) -> usize {
        let drawn = random::below(self.spec.seed, self.drawn, n as u64);
        self.drawn += 1;
        usize::try_from(drawn).unwrap_or(0)
    }

    pub fn write(&self, out: &mut Writer) {
        out.counts("replay.drawn", &[self.drawn]);
        out.matrix("replay.pairs", self.len(), self.width, &self.held);
        if self.open {
            out.counts("replay.given", &[self.given as u64, self.passes_done as u64]);
            out.counts("replay.order", &self.order.iter().map(|i| *i as u64).collect::<Vec<_>>());
        }
    }

    pub fn read(&mut self, from: &Reader<'_>, width: usize) -> Result<()> {
        [self.drawn] = from.counts("replay.drawn")?;
        let (rows, cols, held) = from.matrix("replay.pairs")?;
        self.open = from.has("replay.order");
        // A full buffer is open.
        let fits = rows < self.spec.size + usize::from(self.open);
        if (rows > 0 && cols != width) || !fits {
            return Err(Error::file("replay.pairs has the wrong shape"));
        }
        (self.held, self.width) = (held, width);
        if self.open { self.read_order(from) } else { Ok(()) }
    }

    fn read_order(&mut self, from: &Reader<'_>) -> Result<()> {
        let counts = |counts: &[u64]| counts.iter().map(|&count| usize::try_from(count).ok()).collect();
        let order: Option<Vec<usize>> = counts(&from.all_counts("replay.order")?);
        let given: Option<Vec<usize>> = counts(&from.counts::<2>("replay.given")?);
        let (Some(order), Some(&[given, passes_done])) = (order, given.as_deref()) else {
            return Err(Error::file("replay.order has numbers that are too large"));
        };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        let each_once = order.is_empty() || sorted.into_iter().eq(0..self.len());
        if !each_once || given > order.len() || passes_done > self.spec.passes {
            return Err(Error::file("replay.order is no order of the pairs"));
        }
        (self.order, self.given, self.passes_done) = (order, given, passes_done);
        Ok(())
    }
}
