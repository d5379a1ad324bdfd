//! A tree whose nodes learn each row on arrival.

use std::ops::Range;

use super::Rows;
use super::gradual::Steps;
use crate::random::{below, bits, uniform};

/// Relative differences of scores that are rounding: of cuts that part the rows alike, the first is taken, however
/// their sums are rounded.
const ROUNDING: f64 = 1e-9;

/// Most levels of nodes: rows that need more are nearly alike.
const MAX_DEPTH: usize = 40;

/// How trees are grown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Growing {
    /// Columns that are tried for a cut, at most, each with one threshold drawn between its ends.
    pub tried_columns: usize,
    /// Rows with the mean of the node above that each node has besides its own.
    pub shrinkage: f64,
    /// Fewest rows of a node that is cut.
    pub min_rows: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Node {
    pub threshold: f64,
    pub column: u32,
    /// The first of its two children, 0 of a leaf.
    pub child: u32,
}

/// A tree with random thresholds (Geurts, Ernst and Wehenkel, "Extremely randomized trees", 2006).
///
/// A row falls into one node of each level. The prediction is the mean of the last of them that has enough rows, shrunken
/// to that of the node above, which is shrunken in the same way.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Weighted sums of the targets of the rows of each node, then their weight (nodes, outputs + 1).
    pub(super) sums: Vec<f64>,
}

impl Tree {
    /// Adds a leaf with these rows.
    fn push(&mut self, rows: &Rows, own: &[u32]) {
        self.nodes.push(Node { threshold: 0.0, column: 0, child: 0 });
        let at = self.sums.len();
        self.sums.resize(at + rows.outputs + 1, 0.0);
        add_rows(rows, own, |_| true, &mut self.sums[at..]);
    }

    /// The nodes of a row, from the root on.
    fn path<'a>(&'a self, x: &'a [f64]) -> impl Iterator<Item = usize> + 'a {
        std::iter::successors(Some(0), |node| {
            let Node { threshold, column, child } = self.nodes[*node];
            (child > 0).then(|| child as usize + usize::from(x[column as usize] > threshold))
        })
    }

    /// Learns a row.
    pub fn learn(&mut self, x: &[f64], y: &[f64], weight: f64) {
        let mut node = 0;
        loop {
            let sums = &mut self.sums[node * (y.len() + 1)..][..=y.len()];
            sums.iter_mut().zip(y).for_each(|(sum, y)| *sum += weight * y);
            sums[y.len()] += weight;
            let Node { threshold, column, child } = self.nodes[node];
            if child == 0 {
                return;
            }
            node = child as usize + usize::from(x[column as usize] > threshold);
        }
    }

    /// Adds to `out` (levels, outputs) the means of the last nodes of a row that have at least these weights, falling; the
    /// root has enough. `mean` is as long as there are outputs.
    pub fn add_means(&self, x: &[f64], least: &[f64], shrinkage: f64, mean: &mut [f64], out: &mut [f64]) {
        let p = mean.len();
        let mut level = 0;
        mean.fill(0.0);
        for node in self.path(x) {
            let sums = &self.sums[node * (p + 1)..][..=p];
            while node > 0 && level < least.len() && sums[p] < least[level] {
                out[level * p..].iter_mut().zip(&*mean).for_each(|(out, mean)| *out += mean);
                level += 1;
            }
            if level == least.len() {
                return;
            }
            let shrinkage = if node > 0 { shrinkage } else { 0.0 };
            if sums[p] + shrinkage > 0.0 {
                for (mean, sum) in mean.iter_mut().zip(sums) {
                    *mean = (sum + shrinkage * *mean) / (sums[p] + shrinkage);
                }
            }
        }
        for out in out[level * p..].chunks_exact_mut(p) {
            out.iter_mut().zip(&*mean).for_each(|(out, mean)| *out += mean);
        }
    }
}

/// Growth of trees, one after the other; each step cuts a node.
#[derive(Clone, Debug)]
pub(crate) struct Growth {
    rows: Rows,
    /// Units of the targets.
    units: Vec<f64>,
    how: Growing,
    /// Seeds of the trees that are not begun, the next one last.
    seeds: Vec<u64>,
    done: Vec<Tree>,
    seed: u64,
    tree: Tree,
    /// The rows of the nodes of this tree, and those nodes that may be cut, with their part of these rows and their depth.
    order: Vec<u32>,
    open: Vec<(usize, Range<usize>, usize)>,
    columns: Vec<usize>,
}

impl Growth {
    /// A tree for each seed, from rows, at least one, whose targets have these units.
    pub fn new(rows: Rows, units: Vec<f64>, how: Growing, mut seeds: Vec<u64>) -> Self {
        seeds.reverse();
        let columns = (0..rows.features).collect();
        let (done, order, open) = (Vec::new(), Vec::new(), Vec::new());
        Self { rows, units, how, seeds, done, seed: 0, tree: Tree::default(), order, open, columns }
    }

    /// Cuts a node, if it has enough rows that differ.
    fn grow(&mut self, node: usize, range: Range<usize>, depth: usize) {
        let own = &mut self.order[range.clone()];
        if depth >= MAX_DEPTH || own.len() < self.how.min_rows {
            return;
        }
        let seed = bits(self.seed, node as u64);
        let outputs = self.rows.outputs;
        let totals = &self.tree.sums[node * (outputs + 1)..][..=outputs];
        let found = cut(&self.rows, own, (totals, &self.units), &self.how, (seed, &mut self.columns));
        let Some((column, threshold)) = found else { return };
        // The order of the rows is kept, so that sums do not depend on how a stream is split
        // into calls.
        let values = self.rows.column(column);
        let (left, right): (Vec<u32>, Vec<u32>) = own.iter().partition(|i| values[**i as usize] <= threshold);
        own[..left.len()].copy_from_slice(&left);
        own[left.len()..].copy_from_slice(&right);
        let child = self.tree.nodes.len();
        let link = |value: usize| u32::try_from(value).unwrap_or(0);
        self.tree.nodes[node] = Node { threshold, column: link(column), child: link(child) };
        self.tree.push(&self.rows, &left);
        self.tree.push(&self.rows, &right);
        let middle = range.start + left.len();
        self.open.push((child + 1, middle..range.end, depth + 1));
        self.open.push((child, range.start..middle, depth + 1));
    }
}

impl Steps for Growth {
    type Made = Vec<Tree>;

    fn step(&mut self) -> Option<usize> {
        if let Some((node, range, depth)) = self.open.pop() {
            let read = range.len() * (2 * self.how.tried_columns.min(self.rows.features) + 4);
            self.grow(node, range, depth);
            if self.open.is_empty() {
                self.done.push(std::mem::take(&mut self.tree));
            }
            return Some(read);
        }
        self.seed = self.seeds.pop()?;
        let n = self.rows.len();
        self.order = (0..n).map(|i| u32::try_from(i).unwrap_or(u32::MAX)).collect();
        self.tree.push(&self.rows, &self.order);
        self.open.push((0, 0..n, 0));
        Some(4 * n)
    }

    fn finish(self) -> Vec<Tree> {
        self.done
    }
}

/// Adds sums of the targets and the weight of the selected rows, in their order.
fn add_rows(rows: &Rows, own: &[u32], is_meant: impl Fn(usize) -> bool, sums: &mut [f64]) {
    let p = rows.outputs;
    for i in own.iter().map(|i| *i as usize) {
        let weight = if is_meant(i) { rows.weights[i] } else { 0.0 };
        for (c, sum) in sums[..p].iter_mut().enumerate() {
            *sum += weight * rows.target(i, c);
        }
        sums[p] += weight;
    }
}

/// The best of random cuts of some rows, with these sums, if their targets and columns differ: that with the least
/// squared residuals.
fn cut(
    rows: &Rows,
    own: &[u32],
    (totals, units): (&[f64], &[f64]),
    how: &Growing,
    (seed, columns): (u64, &mut [usize]),
) -> Option<(usize, f64)> {
    let p = rows.outputs;
    let first = *own.first()? as usize;
    let is_first =
        |i: &u32| (0..p).all(|c| rows.target(*i as usize, c).to_bits() == rows.target(first, c).to_bits());
    if own.iter().all(is_first) {
        return None;
    }
    let mut best: Option<(f64, usize, f64)> = None;
    let (mut tried, mut sums) = (0, vec![0.0; p + 1]);
    // In sorted order in every node: the random numbers depend on the node alone.
    columns.iter_mut().enumerate().for_each(|(k, column)| *column = k);
    for at in 0..columns.len() {
        if tried >= how.tried_columns {
            break;
        }
        let left = (columns.len() - at) as u64;
        columns.swap(at, at + usize::try_from(below(seed, 2 * at as u64, left)).unwrap_or(0));
        let k = columns[at];
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        let values = rows.column(k);
        for &i in own {
            let value = values[i as usize];
            low = low.min(value);
            high = high.max(value);
        }
        if low >= high {
            continue;
        }
        tried += 1;
        let share = uniform(seed, 2 * at as u64 + 1);
        let threshold = (low * (1.0 - share) + high * share).clamp(low, high.next_down());
        sums.fill(0.0);
        add_rows(rows, own, |i| values[i] <= threshold, &mut sums);
        let (weight, other) = (sums[p], totals[p] - sums[p]);
        if weight <= 0.0 || other <= 0.0 {
            continue;
        }
        let score = |c: usize| {
            let (sum, rest) = (sums[c] / units[c], (totals[c] - sums[c]) / units[c]);
            sum * sum / weight + rest * rest / other
        };
        let score: f64 = (0..p).map(score).sum();
        if best.is_none_or(|(most, ..)| score > most + ROUNDING * most) {
            best = Some((score, k, threshold));
        }
    }
    best.map(|(_, column, threshold)| (column, threshold))
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::tests::Stream;
    use super::*;

    pub(in crate::trees) const HOW: Growing = Growing { tried_columns: 2, shrinkage: 3.0, min_rows: 8 };

    pub(in crate::trees) fn grow(rows: Rows, units: &[f64], how: Growing, seed: u64) -> Tree {
        let mut steps = Growth::new(rows, units.to_vec(), how, vec![seed]);
        while steps.step().is_some() {}
        steps.finish().remove(0)
    }

    /// The boxes of all nodes: the cuts that rows on the way to them pass, as column, threshold and whether above it.
    fn boxes(tree: &Tree) -> Vec<Vec<(usize, f64, bool)>> {
        let mut boxes = vec![Vec::new(); tree.nodes.len()];
        for (i, node) in tree.nodes.iter().enumerate().filter(|(_, node)| node.child > 0) {
            for above in [false, true] {
                let mut own = boxes[i].clone();
                own.push((node.column as usize, node.threshold, above));
                boxes[node.child as usize + usize::from(above)] = own;
            }
        }
        boxes
    }

    #[test]
    fn predictions_are_shrunken_means_of_the_indicators_of_nodes() {
        for outputs in [1, 2] {
            let stream = Stream::new(400, outputs);
            let rows = stream.rows();
            let mut tree = grow(stream.first(300), &[1.0, 2.0][..outputs], HOW, 5);
            let boxes = boxes(&tree);
            assert!(boxes.len() > 60);
            for i in 300..400 {
                tree.learn(&stream.x[3 * i..][..3], &stream.y[outputs * i..][..outputs], stream.weights[i]);
            }
            // The indicators of all nodes, and by them the sums of each.
            let is_in = |x: &[f64], node: usize| boxes[node].iter().all(|&(k, t, above)| (x[k] > t) == above);
            for (j, x) in stream.x.chunks(3).enumerate().step_by(7) {
                for least in [1e9, 64.0, 1.0] {
                    let mut mean = vec![0.0; outputs];
                    let mut nodes: Vec<usize> = (0..boxes.len()).filter(|node| is_in(x, *node)).collect();
                    nodes.sort_by_key(|node| boxes[*node].len());
                    for node in nodes {
                        let own: Vec<usize> =
                            (0..400).filter(|i| is_in(&stream.x[3 * i..][..3], node)).collect();
                        let weight: f64 = own.iter().map(|i| rows.weights[*i]).sum();
                        if weight < least && node > 0 {
                            break;
                        }
                        let shrinkage = if node > 0 { HOW.shrinkage } else { 0.0 };
                        for (c, mean) in mean.iter_mut().enumerate() {
                            let sum: f64 = own.iter().map(|i| rows.weights[*i] * rows.target(*i, c)).sum();
                            *mean = (sum + shrinkage * *mean) / (weight + shrinkage);
                        }
                    }
                    let (mut scratch, mut found) = (vec![0.0; outputs], vec![0.0; outputs]);
                    tree.add_means(x, &[least], HOW.shrinkage, &mut scratch, &mut found);
                    let off = found.iter().zip(&mean).map(|(found, mean)| (found - mean).abs());
                    assert!(off.fold(0.0, f64::max) < 1e-9, "row {j}: {found:?} {mean:?}");
                }
            }
        }
    }

    #[test]
    fn all_levels_are_found_on_one_way_down() {
        let stream = Stream::new(500, 1);
        let tree = grow(stream.rows(), &[1.0], HOW, 1);
        let levels = [64.0, 8.0, 1.0];
        for x in stream.x.chunks(3) {
            let (mut mean, mut all) = ([0.0], [0.0; 3]);
            tree.add_means(x, &levels, 3.0, &mut mean, &mut all);
            for (least, found) in levels.iter().zip(all) {
                let mut alone = [0.0];
                tree.add_means(x, &[*least], 3.0, &mut mean, &mut alone);
                assert_eq!(alone[0].to_bits(), found.to_bits());
            }
        }
    }

    #[test]
    fn a_tree_learns_and_rows_that_are_alike_are_one_leaf() {
        let stream = Stream::new(2000, 1);
        let tree = grow(stream.rows(), &[1.0], Growing { tried_columns: 3, ..HOW }, 1);
        let mut squares = [0.0; 2];
        for (x, y) in stream.x.chunks(3).zip(&stream.y) {
            let mut made = [0.0];
            tree.add_means(x, &[1.0], 3.0, &mut [0.0], &mut made);
            squares[0] += (made[0] - y).powi(2);
            squares[1] += y * y;
        }
        assert!(squares[0] < 0.1 * squares[1], "{squares:?}");
        let alike = Stream { x: [1.0, 2.0, 3.0].repeat(2000), ..Stream::new(2000, 1) };
        assert_eq!(grow(alike.rows(), &[1.0], HOW, 1).nodes.len(), 1);
        let same = Stream { y: vec![4.0; 2000], ..Stream::new(2000, 1) };
        assert_eq!(grow(same.rows(), &[1.0], HOW, 1).nodes.len(), 1);
    }
}
