//! The nearest stored rows of few columns.

use std::cmp::Ordering;

/// Rows of a leaf, at most, but for equal ones.
const LEAF: usize = 16;

/// A tree with a leaf this many times deeper than a balanced one's, and some levels more, is made once more.
const DEEPEST: u32 = 3;
const DEEPER: u32 = 16;

/// A row near another: squared distance, number in the stream, and place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Near {
    pub square: f64,
    pub number: u64,
    pub place: usize,
}

impl Near {
    /// By distance; the earlier of two that are as far is nearer.
    fn order(&self, other: &Self) -> Ordering {
        self.square.total_cmp(&other.square).then(self.number.cmp(&other.number))
    }
}

#[derive(Clone, Debug)]
enum Node {
    Leaf(Vec<u32>),
    /// Below the value are the rows of the first, from it on those of the second.
    Cut {
        column: usize,
        at: f64,
        halves: [u32; 2],
    },
}

/// Points by their places in a k-d tree (Bentley, "Multidimensional binary search trees used for associative searching", 1975)
/// that takes points in any order. What is found does not depend on the shape of the tree.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    width: usize,
    points: Vec<f64>,
    nodes: Vec<Node>,
}

impl Neighbours {
    pub fn new(width: usize, points: Vec<f64>) -> Self {
        let mut new = Self { width, points, nodes: Vec::new() };
        new.build();
        new
    }

    /// Points.
    pub fn len(&self) -> usize {
        self.points.len() / self.width.max(1)
    }

    /// The point at a place.
    pub fn point(&self, place: usize) -> &[f64] {
        &self.points[place * self.width..][..self.width]
    }

    fn build(&mut self) {
        let all = (0..self.len()).map(|place| u32::try_from(place).unwrap_or(u32::MAX)).collect();
        self.nodes = vec![Node::Leaf(all)];
        let mut open = vec![0];
        while let Some(node) = open.pop() {
            open.extend(self.split(node).into_iter().flatten());
        }
    }

    /// Splits a leaf of too many rows at the median of its widest column, and returns the halves.
    fn split(&mut self, node: usize) -> Option<[usize; 2]> {
        let Node::Leaf(rows) = &self.nodes[node] else { return None };
        if rows.len() <= LEAF {
            return None;
        }
        let range = |column: usize| {
            let of = rows.iter().map(|row| self.point(*row as usize)[column]);
            of.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
        };
        let ranges = (0..self.width).map(range).enumerate();
        let (column, (low, high)) = ranges.max_by(|(_, a), (_, b)| (a.1 - a.0).total_cmp(&(b.1 - b.0)))?;
        if high <= low {
            return None;
        }
        let mut values: Vec<f64> = rows.iter().map(|row| self.point(*row as usize)[column]).collect();
        let middle = values.len() / 2;
        let median = *values.select_nth_unstable_by(middle, f64::total_cmp).1;
        let above = || values.iter().copied().filter(|x| *x > low).fold(f64::INFINITY, f64::min);
        let at = if median > low { median } else { above() };
        let (below, rest) = rows.iter().partition(|row| self.point(**row as usize)[column] < at);
        let halves = [self.nodes.len(), self.nodes.len() + 1];
        self.nodes.extend([Node::Leaf(below), Node::Leaf(rest)]);
        let own = halves.map(|half| u32::try_from(half).unwrap_or(u32::MAX));
        self.nodes[node] = Node::Cut { column, at, halves: own };
        Some(halves)
    }

    /// The leaf of a point, and its depth.
    fn leaf_of(&self, point: &[f64]) -> (usize, u32) {
        let (mut node, mut depth) = (0, 0);
        while let Node::Cut { column, at, halves } = &self.nodes[node] {
            node = halves[usize::from(point[*column] >= *at)] as usize;
            depth += 1;
        }
        (node, depth)
    }

    /// Puts a point in the place of another, or in the next one.
    pub fn put(&mut self, place: usize, point: &[f64]) {
        let own = u32::try_from(place).unwrap_or(u32::MAX);
        if place < self.len() {
            let (leaf, _) = self.leaf_of(self.point(place));
            if let Node::Leaf(rows) = &mut self.nodes[leaf] {
                rows.retain(|row| *row != own);
            }
            self.points[place * self.width..][..self.width].copy_from_slice(point);
        } else {
            self.points.extend_from_slice(point);
        }
        let (leaf, depth) = self.leaf_of(point);
        if let Node::Leaf(rows) = &mut self.nodes[leaf] {
            rows.push(own);
        }
        if self.split(leaf).is_some() && depth > DEEPEST * self.len().ilog2() + DEEPER {
            self.build();
        }
    }

    /// The rows nearest to a point, at most as many, by their distance. Returns how many points were read.
    pub fn find(&self, point: &[f64], numbers: &[u64], most: usize, near: &mut Vec<Near>) -> usize {
        near.clear();
        let mut away = vec![0.0; self.width];
        self.search(0, point, numbers, (most, 0.0), &mut away, near)
    }

    /// Searches the box of a node, which is `away` from the point in each column. Returns how many points were read.
    fn search(
        &self,
        node: usize,
        point: &[f64],
        numbers: &[u64],
        (most, square): (usize, f64),
        away: &mut [f64],
        near: &mut Vec<Near>,
    ) -> usize {
        match &self.nodes[node] {
            Node::Leaf(rows) => {
                for row in rows {
                    let own = self.point(*row as usize).iter().zip(point);
                    let square = own.map(|(a, b)| (a - b) * (a - b)).sum();
                    let found = Near { square, number: numbers[*row as usize], place: *row as usize };
                    let at = near.partition_point(|other| other.order(&found).is_lt());
                    if at < most {
                        near.truncate(most - 1);
                        near.insert(at, found);
                    }
                }
                rows.len()
            }
            Node::Cut { column, at, halves } => {
                let off = point[*column] - at;
                let first = usize::from(off >= 0.0);
                let mut read =
                    self.search(halves[first] as usize, point, numbers, (most, square), away, near);
                let before = std::mem::replace(&mut away[*column], off);
                let other = square - before * before + off * off;
                // Rounding may not leave out a row that is as far.
                if near.len() < most || other * (1.0 - 1e-9) <= near[near.len() - 1].square {
                    read +=
                        self.search(halves[1 - first] as usize, point, numbers, (most, other), away, near);
                }
                away[*column] = before;
                read
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{below, normal};

    fn by_hand(points: &[Vec<f64>], numbers: &[u64], x: &[f64], most: usize) -> Vec<Near> {
        let square = |point: &Vec<f64>| point.iter().zip(x).map(|(a, b)| (a - b) * (a - b)).sum();
        let near = |place: usize| Near { square: square(&points[place]), number: numbers[place], place };
        let mut all: Vec<Near> = (0..points.len()).map(near).collect();
        all.sort_by(Near::order);
        all.truncate(most);
        all
    }

    #[test]
    fn nearest_rows_are_those_of_a_sort_in_any_order_of_the_rows() {
        for width in 1..=4 {
            let value = |kind: usize, i: usize, k: usize| match kind {
                0 => normal(1, (width * i + k) as u64),
                // A grid, equal rows, and sorted rows.
                1 => (3.0 * normal(2, (width * i + k) as u64)).round(),
                2 => f64::from(u8::from(i.is_multiple_of(50))),
                _ => i as f64 + 0.1 * k as f64,
            };
            for kind in 0..4 {
                let capacity = 300;
                let mut points: Vec<Vec<f64>> = Vec::new();
                let mut numbers = Vec::new();
                let mut tree = Neighbours::new(width, Vec::new());
                for i in 0..700 {
                    let point: Vec<f64> = (0..width).map(|k| value(kind, i, k)).collect();
                    let place =
                        if i < capacity { i } else { usize::try_from(below(3, i as u64, 300)).unwrap() };
                    if place == points.len() {
                        points.push(point.clone());
                        numbers.push(i as u64);
                    } else {
                        (points[place], numbers[place]) = (point.clone(), i as u64);
                    }
                    tree.put(place, &point);
                    if i % 60 == 10 {
                        let x: Vec<f64> = (0..width).map(|k| value(kind, i / 2, k) + 0.25).collect();
                        let mut found = Vec::new();
                        for most in [1, 7, 24] {
                            tree.find(&x, &numbers, most, &mut found);
                            assert_eq!(found, by_hand(&points, &numbers, &x, most), "{width} {kind} {i}");
                        }
                        let made = Neighbours::new(width, points.concat());
                        made.find(&x, &numbers, 24, &mut found);
                        assert_eq!(found, by_hand(&points, &numbers, &x, 24));
                    }
                }
            }
        }
    }
}
