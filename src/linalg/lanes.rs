//! Numbers where vector instructions like them.

use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};

use super::loops::LANES;

/// As many numbers as a cache line holds, aligned to it: reads across two lines take a third
/// longer.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f64; LANES]);

const _: () = assert!(size_of::<Line>() == 64, "a line has no padding");

/// Numbers in whole groups of [`LANES`], each of which is a line of the cache; a slice otherwise.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lanes {
    lines: Vec<Line>,
}

impl Lanes {
    /// So many zeros, and more until the last group is whole.
    pub fn zeros(n: usize) -> Self {
        let mut zeros = Self::default();
        zeros.resize(n);
        zeros
    }

    /// None, with room for this many.
    pub fn with_capacity(n: usize) -> Self {
        Self { lines: Vec::with_capacity(n.div_ceil(LANES)) }
    }

    /// As many as `n` is in whole groups: the first of those there are, and zeros.
    pub fn resize(&mut self, n: usize) {
        self.lines.resize(n.div_ceil(LANES), Line::zeroed());
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        self.lines.clear();
    }
}

impl Deref for Lanes {
    type Target = [f64];

    fn deref(&self) -> &[f64] {
        bytemuck::cast_slice(&self.lines)
    }
}

impl DerefMut for Lanes {
    fn deref_mut(&mut self) -> &mut [f64] {
        bytemuck::cast_slice_mut(&mut self.lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_whole_and_on_lines_of_the_cache() {
        let mut lanes = Lanes::default();
        assert!(lanes.is_empty());
        for n in [1, 8, 9, 100, 3] {
            lanes.resize(n);
            assert_eq!(lanes.len(), n.next_multiple_of(LANES));
            assert_eq!(lanes.as_ptr().addr() % 64, 0);
            assert_eq!(Lanes::with_capacity(n).len(), 0);
        }
        // What is left out and comes back is zero.
        lanes.fill(1.0);
        lanes.resize(20);
        assert_eq!(lanes[..8], [1.0; 8]);
        assert_eq!(lanes[8..], [0.0; 16]);
        lanes.clear();
        lanes.resize(8);
        assert_eq!(lanes[..], [0.0; 8]);
    }
}
