//! Trees in a model file.
//!
//! A tree is grown depth first, left child first, so that its links follow from which nodes are cut. Leaves have sums; the
//! sums of a node that is cut are those of its children, but for rounding, which is stored.

use super::tree::{Node, Tree};
use crate::error::{Error, Result};
use crate::persist::{Reader, Writer};

/// Most nodes of a tree in a former file.
const MAX_NODES: u64 = 1 << 24;

/// Bits of a byte of a number of variable length; the eighth is set where further bytes follow.
const BITS: u32 = 7;

impl Tree {
    pub fn write(&self, name: &str, out: &mut Writer) {
        let cut = |node: &&Node| node.child > 0;
        let is_cut: Vec<bool> = self.nodes.iter().map(|node| cut(&node)).collect();
        let width = self.sums.len() / self.nodes.len().max(1);
        let links = links_of(&is_cut)
            .filter(|links| self.nodes.iter().map(|node| node.child).eq(links.iter().copied()));
        let (Some(links), false) = (links, width == 0) else {
            return self.write_links(name, out);
        };
        out.bytes(&format!("{name}.cuts"), packed(&is_cut));
        let columns = self.nodes.iter().filter(cut).map(|node| u64::from(node.column));
        out.counts(&format!("{name}.columns"), &columns.collect::<Vec<_>>());
        let thresholds: Vec<f64> = self.nodes.iter().filter(cut).map(|node| node.threshold).collect();
        out.vector(&format!("{name}.thresholds"), &thresholds);
        let (mut sums, mut weights) = (Vec::new(), Vec::new());
        let (mut rounding, mut rounding_of_weights) = (Vec::new(), Vec::new());
        for (i, own) in self.sums.chunks_exact(width).enumerate() {
            if links[i] == 0 {
                sums.extend(&own[..width - 1]);
                weights.push(own[width - 1]);
                continue;
            }
            for (k, sum) in own.iter().enumerate() {
                let off =
                    order(*sum).wrapping_sub(order(of_children(&self.sums, width, links[i] as usize, k)));
                if k < width - 1 { rounding.push(off) } else { rounding_of_weights.push(off) }
            }
        }
        out.matrix(&format!("{name}.sums"), weights.len(), width - 1, &sums);
        out.vector(&format!("{name}.weights"), &weights);
        out.bytes(&format!("{name}.rounding.sums"), coded(&rounding));
        out.bytes(&format!("{name}.rounding.weights"), coded(&rounding_of_weights));
    }

    /// A tree whose nodes are in another order, as former files have it.
    fn write_links(&self, name: &str, out: &mut Writer) {
        let links = self.nodes.iter().map(|node| u64::from(node.column) * MAX_NODES + u64::from(node.child));
        out.counts(&format!("{name}.links"), &links.collect::<Vec<_>>());
        let thresholds: Vec<f64> = self.nodes.iter().map(|node| node.threshold).collect();
        out.vector(&format!("{name}.thresholds"), &thresholds);
        out.vector(&format!("{name}.sums"), &self.sums);
    }

    /// What [`write`](Self::write) wrote, of rows with as many numbers and targets.
    pub fn read(name: &str, (features, outputs): (usize, usize), from: &Reader<'_>) -> Result<Self> {
        let tree = if from.has(&format!("{name}.links")) {
            Self::read_links(name, outputs, from)?
        } else {
            Self::read_cuts(name, outputs, from)?
        };
        // Children have larger indices than their node, so paths have no cycles.
        let is_sound = |(i, node): (usize, &Node)| {
            (node.column as usize) < features
                && (node.child == 0
                    || node.child as usize > i && (node.child as usize) < tree.nodes.len() - 1)
        };
        let mut weights = tree.sums.iter().skip(outputs).step_by(outputs + 1);
        if tree.nodes.is_empty() || !tree.nodes.iter().enumerate().all(is_sound) || weights.any(|w| *w < 0.0)
        {
            return Err(Error::file(format!("{name} is no tree of these rows")));
        }
        Ok(tree)
    }

    fn read_cuts(name: &str, outputs: usize, from: &Reader<'_>) -> Result<Self> {
        let bits = from.bytes(&format!("{name}.cuts"))?;
        let columns = from.all_counts(&format!("{name}.columns"))?;
        let thresholds = from.vector(&format!("{name}.thresholds"), columns.len())?;
        // Each cut makes two nodes of one.
        let leaves = columns.len() + 1;
        let sums_of_leaves = from.matrix_of(&format!("{name}.sums"), leaves, outputs)?;
        let weights = from.vector(&format!("{name}.weights"), leaves)?;
        let rounding = |part: &str, count: usize| {
            let part = format!("{name}.rounding.{part}");
            decoded(from.bytes(&part)?, count)
                .ok_or_else(|| Error::file(format!("{part} has not {count} numbers, one a sum")))
        };
        let rounding_of_sums = rounding("sums", columns.len() * outputs)?;
        let rounding_of_weights = rounding("weights", columns.len())?;
        let is_cut = unpacked(bits, columns.len() + leaves);
        let links = is_cut.filter(|is_cut| is_cut.iter().filter(|cut| **cut).count() == columns.len());
        let links = links.and_then(|is_cut| links_of(&is_cut));
        let links = links.ok_or_else(|| Error::file(format!("{name}.cuts are not those of a tree")))?;
        let width = outputs + 1;
        let mut sums = vec![0.0; links.len() * width];
        let mut nodes = vec![Node { threshold: 0.0, column: 0, child: 0 }; links.len()];
        let (mut leaf, mut cut) = (leaves, columns.len());
        // Children have larger indices.
        for i in (0..links.len()).rev() {
            let child = links[i] as usize;
            if child == 0 {
                leaf -= 1;
                sums[i * width..][..outputs].copy_from_slice(&sums_of_leaves[leaf * outputs..][..outputs]);
                sums[i * width + outputs] = weights[leaf];
                continue;
            }
            cut -= 1;
            let column = u32::try_from(columns[cut]).unwrap_or(u32::MAX);
            nodes[i] = Node { threshold: thresholds[cut], column, child: links[i] };
            for k in 0..width {
                let off =
                    if k < outputs { rounding_of_sums[cut * outputs + k] } else { rounding_of_weights[cut] };
                let sum = at(order(of_children(&sums, width, child, k)).wrapping_add(off));
                if !sum.is_finite() {
                    return Err(Error::file(format!("{name}.rounding makes a sum that is not finite")));
                }
                sums[i * width + k] = sum;
            }
        }
        Ok(Self { nodes, sums })
    }

    fn read_links(name: &str, outputs: usize, from: &Reader<'_>) -> Result<Self> {
        let links = from.all_counts(&format!("{name}.links"))?;
        let thresholds = from.vector(&format!("{name}.thresholds"), links.len())?;
        let sums = from.vector(&format!("{name}.sums"), links.len() * (outputs + 1))?;
        let part = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
        let node = |(link, threshold): (&u64, f64)| Node {
            threshold,
            column: part(link / MAX_NODES),
            child: part(link % MAX_NODES),
        };
        Ok(Self { nodes: links.iter().zip(thresholds).map(node).collect(), sums })
    }
}

/// A sum of a node by those of its children, which are next to each other.
fn of_children(sums: &[f64], width: usize, child: usize, k: usize) -> f64 {
    sums[child * width + k] + sums[(child + 1) * width + k]
}

/// The first child of each node, 0 of a leaf, by which are cut, where nodes are cut depth first and the left ones first; `None`
/// if these are not the nodes of a tree.
fn links_of(is_cut: &[bool]) -> Option<Vec<u32>> {
    let mut links = vec![0; is_cut.len()];
    let (mut open, mut made) = (vec![0], 1);
    while let Some(node) = open.pop() {
        if *is_cut.get(node)? {
            links[node] = u32::try_from(made).ok()?;
            open.extend([made + 1, made]);
            made += 2;
        }
    }
    (made == is_cut.len()).then_some(links)
}

/// Bits, eight a byte, the first the lowest.
fn packed(bits: &[bool]) -> Vec<u8> {
    bits.chunks(8).map(|bits| bits.iter().rev().fold(0, |byte, bit| 2 * byte + u8::from(*bit))).collect()
}

/// As many [`packed`] bits; `None` if there are others.
fn unpacked(bytes: &[u8], count: usize) -> Option<Vec<bool>> {
    if bytes.len() != count.div_ceil(8) {
        return None;
    }
    let bits: Vec<bool> = bytes.iter().flat_map(|byte| (0..8).map(move |i| byte >> i & 1 == 1)).collect();
    let (own, rest) = bits.split_at(count);
    rest.iter().all(|bit| !bit).then(|| own.to_vec())
}

/// A number's place among all numbers, so that neighbours differ by 1; [`at`] is its inverse.
fn order(number: f64) -> i64 {
    flipped(number.to_bits().cast_signed())
}

fn at(place: i64) -> f64 {
    f64::from_bits(flipped(place).cast_unsigned())
}

/// As `f64::total_cmp` does it.
fn flipped(bits: i64) -> i64 {
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// Integers of variable length, small ones in a byte; nothing if all are zero.
fn coded(numbers: &[i64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if numbers.iter().all(|number| *number == 0) {
        return bytes;
    }
    for number in numbers {
        let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
        while rest >> BITS > 0 {
            bytes.push(u8::try_from(rest & 0x7f).unwrap_or(0) | 0x80);
            rest >>= BITS;
        }
        bytes.push(u8::try_from(rest).unwrap_or(0));
    }
    bytes
}

/// As many [`coded`] integers; `None` if there are more or fewer.
fn decoded(bytes: &[u8], count: usize) -> Option<Vec<i64>> {
    if bytes.is_empty() {
        return Some(vec![0; count]);
    }
    // A byte each at least.
    if bytes.len() < count {
        return None;
    }
    let mut numbers = Vec::with_capacity(count);
    let (mut number, mut shift) = (0_u64, 0);
    for byte in bytes {
        let own = u64::from(byte & 0x7f);
        if shift > 63 || shift == 63 && own > 1 {
            return None;
        }
        number |= own << shift;
        shift += BITS;
        if byte & 0x80 == 0 {
            numbers.push((number >> 1).cast_signed() ^ -(number & 1).cast_signed());
            (number, shift) = (0, 0);
        }
    }
    (numbers.len() == count && shift == 0).then_some(numbers)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::trees::tests::Stream;
    use crate::trees::tree::tests::{HOW, grow};

    fn file(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut out = Writer::default();
        write(&mut out);
        out.finish("tree", Value::Null, Value::Null).unwrap()
    }

    fn learned(outputs: usize) -> Tree {
        let stream = Stream::new(1000, outputs);
        let mut tree = grow(stream.first(700), &[1.0, 2.0][..outputs], HOW, 1);
        for i in 700..1000 {
            tree.learn(&stream.x[3 * i..][..3], &stream.y[outputs * i..][..outputs], stream.weights[i]);
        }
        tree
    }

    #[test]
    fn a_tree_is_read_with_the_same_bits_from_half_of_the_bytes() {
        for outputs in [1, 2] {
            let tree = learned(outputs);
            let bytes = file(|out| tree.write("tree", out));
            let former = file(|out| tree.write_links("tree", out));
            assert!(outputs == 2 || 2 * bytes.len() < former.len(), "{} of {}", bytes.len(), former.len());
            for bytes in [bytes, former] {
                let again = Tree::read("tree", (3, outputs), &Reader::open(&bytes).unwrap()).unwrap();
                let bits = |tree: &Tree| tree.sums.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>();
                assert_eq!((&again.nodes, bits(&again)), (&tree.nodes, bits(&tree)));
            }
        }
    }

    #[test]
    fn a_tree_in_another_order_is_stored_with_its_links() {
        let node = |column, child| Node { threshold: f64::from(column) / 10.0, column, child };
        let leaf = node(0, 0);
        let nodes = vec![node(1, 1), node(2, 5), node(1, 3), leaf, leaf, leaf, leaf];
        let tree = Tree { nodes, sums: (0..14).map(|i| f64::from(i) / 3.0).collect() };
        let bytes = file(|out| tree.write("tree", out));
        let from = Reader::open(&bytes).unwrap();
        assert!(from.has("tree.links"));
        assert_eq!(Tree::read("tree", (3, 1), &from).unwrap(), tree);
    }

    #[test]
    fn bits_and_integers_are_read_back_and_others_refused() {
        for n in 0..20 {
            let bits: Vec<bool> = (0..n).map(|i| i % 3 == 0 || i > 15).collect();
            assert_eq!(unpacked(&packed(&bits), n), Some(bits));
        }
        assert_eq!((unpacked(&[2], 1), unpacked(&[0, 0], 8)), (None, None));
        let numbers = [0, 1, -1, 63, -64, 64, 300, i64::MAX, i64::MIN, 0];
        assert_eq!(decoded(&coded(&numbers), numbers.len()), Some(numbers.to_vec()));
        assert_eq!((coded(&[0, 0]), decoded(&[], 2)), (Vec::new(), Some(vec![0, 0])));
        for bytes in [&[1_u8, 2][..], &[1, 2, 3, 4], &[1, 2, 0x81], &[1, 2, 0x80, 0x80], &[1, 0xff, 3]] {
            assert_eq!(decoded(bytes, 3), None, "{bytes:?}");
        }
        assert_eq!(decoded(&[[0xff; 9].as_slice(), &[2]].concat(), 1), None);
        let rising =
            [f64::MIN, -1.0, -f64::MIN_POSITIVE, -0.0, 0.0, 5e-324, 1.0, 1.0_f64.next_up(), f64::MAX];
        assert!(rising.is_sorted_by(|a, b| order(*a) < order(*b)));
        assert!(rising.iter().all(|number| at(order(*number)).to_bits() == number.to_bits()));
    }

    #[test]
    fn cuts_of_no_tree_are_refused() {
        let altered = |cuts: &[bool], columns: &[u64], leaves: usize, rounding: &[i64]| {
            let bytes = file(|out| {
                out.bytes("tree.cuts", packed(cuts));
                out.counts("tree.columns", columns);
                out.vector("tree.thresholds", &vec![0.5; columns.len()]);
                out.matrix("tree.sums", leaves, 1, &vec![1.0; leaves]);
                out.vector("tree.weights", &vec![2.0; leaves]);
                out.bytes("tree.rounding.sums", coded(rounding));
                out.bytes("tree.rounding.weights", Vec::new());
            });
            Tree::read("tree", (3, 1), &Reader::open(&bytes).unwrap()).map_err(|error| error.to_string())
        };
        let whole = altered(&[true, false, true, false, false], &[0, 2], 3, &[1, -1]).unwrap();
        assert_eq!(whole.nodes.iter().map(|node| node.child).collect::<Vec<_>>(), [1, 0, 3, 0, 0]);
        assert_eq!(whole.sums[..2], [(2.0_f64.next_down() + 1.0).next_up(), 6.0]);
        for (cuts, columns, leaves, rounding, reason) in [
            (&[false, true, true, false, false][..], &[0, 2][..], 3, &[][..], "cuts are not those of a tree"),
            (&[true, false, false, true, false], &[0, 2], 3, &[], "cuts are not those of a tree"),
            (&[true, true, true, false, false], &[0, 2], 3, &[], "cuts are not those of a tree"),
            (&[true, false, true, false, false, true], &[0, 2], 3, &[], "cuts are not those of a tree"),
            (&[true, false, true, false, false], &[0, 3], 3, &[], "is no tree of these rows"),
            (&[true, false, true, false, false], &[0, 1 << 40], 3, &[], "is no tree of these rows"),
            (&[true, false, true, false, false], &[0, 2], 2, &[], "where 3 by 1 is needed"),
            (&[true, false, true, false, false], &[0, 2], 3, &[1], "has not 2 numbers"),
            (&[true, false, true, false, false], &[0, 2], 3, &[0, 1 << 62], "is not finite"),
            (&[], &[], 1, &[], "cuts are not those of a tree"),
        ] {
            let text = altered(cuts, columns, leaves, rounding).unwrap_err();
            assert!(text.contains(reason), "{text}");
        }
    }

    #[test]
    fn a_file_of_another_kind_of_tree_is_refused() {
        let stream = Stream::new(300, 1);
        let tree = grow(stream.rows(), &[1.0], HOW, 1);
        let read = |tree: &Tree| {
            let mut out = Writer::default();
            tree.write("tree", &mut out);
            let bytes = out.finish("tree", serde_json::Value::Null, serde_json::Value::Null).unwrap();
            Tree::read("tree", (3, 1), &Reader::open(&bytes).unwrap())
        };
        assert_eq!(read(&tree).unwrap(), tree);
        let n = u32::try_from(tree.nodes.len()).unwrap();
        let changes: [fn(&mut Tree, u32); 5] = [
            |tree, _| tree.nodes[0].column = 3,
            |tree, n| tree.nodes[0].child = n - 1,
            |tree, n| tree.nodes[n as usize - 1].child = n - 2,
            |tree, _| tree.sums[1] = -1.0,
            |tree, _| tree.nodes.truncate(tree.nodes.len() - 1),
        ];
        for change in changes {
            let mut other = tree.clone();
            change(&mut other, n);
            assert!(read(&other).is_err());
        }
    }
}
