//! Kernels as sums of products of functions of few columns each.

use std::ops::Range;
use std::sync::Arc;

use super::metric::Map;
use super::points::PointSet;
use super::shape::{Comparison, Separation, Shape};
use super::terms::{Form, Kernel};

/// Most products that a product of sums is expanded to.
const MOST_PRODUCTS: usize = 1024;

/// One product of a kernel that is a sum of such: `weight` times a factor for each of some groups of columns.
#[derive(Clone, Debug)]
pub(crate) struct SeparateProduct {
    /// Factor of the product.
    pub weight: f64,
    /// Factors by the group whose columns they compare, in the order of the groups.
    pub factors: Vec<(usize, Factor)>,
}

/// A function of two points that compares the columns of one group only.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    pieces: Vec<Piece>,
}

/// A shape of some columns, each multiplied by a number first.
#[derive(Clone, Debug)]
struct Piece {
    shape: Arc<dyn Shape>,
    columns: Vec<(usize, f64)>,
}

impl Factor {
    /// Compares `x` with the points of `rows`, a range of whole groups of [`LANES`](crate::linalg::LANES), into `out`, as
    /// many; `scratch` is as long. What is after the last point has no meaning.
    pub fn compare(
        &self,
        points: &PointSet,
        x: &[f64],
        rows: Range<usize>,
        out: &mut [f64],
        scratch: &mut [f64],
    ) {
        out.fill(1.0);
        for piece in &self.pieces {
            scratch.fill(0.0);
            let comparison = piece.shape.comparison();
            for &(column, factor) in &piece.columns {
                let (x, squared) = (x[column], factor * factor);
                let pairs = scratch.iter_mut().zip(&points.panel().col(column)[rows.clone()]);
                match comparison {
                    Comparison::SquaredDistance => {
                        pairs.for_each(|(sum, p)| *sum += squared * (x - p) * (x - p));
                    }
                    Comparison::ManhattanDistance => {
                        pairs.for_each(|(sum, p)| *sum += factor.abs() * (x - p).abs());
                    }
                    Comparison::InnerProduct => pairs.for_each(|(sum, p)| *sum += squared * x * p),
                }
            }
            piece.shape.apply(scratch);
            out.iter_mut().zip(&*scratch).for_each(|(out, piece)| *out *= piece);
        }
    }
}

/// Pieces of one product, each with the group of its columns.
type Pieces = Vec<(usize, Piece)>;

impl Kernel {
    /// This kernel as a sum of products, up to a constant, each factor of which compares the columns of one group; `None`
    /// if it is none. `group_of` gives the group of each column.
    pub(crate) fn separated(&self, group_of: &[usize]) -> Option<Vec<SeparateProduct>> {
        let columns: Vec<(usize, f64)> = (0..group_of.len()).map(|column| (column, 1.0)).collect();
        let products = self.products(&columns, group_of)?;
        Some(products.into_iter().map(|(weight, pieces)| gathered(weight, pieces)).collect())
    }

    fn products(&self, columns: &[(usize, f64)], group_of: &[usize]) -> Option<Vec<(f64, Pieces)>> {
        let mut all = Vec::new();
        for term in &self.terms {
            let inner = match &term.form {
                Form::Shape(shape) => of_shape(shape, columns, group_of)?,
                Form::Product(kernels) => {
                    let (first, second) = match kernels.split {
                        Some(split) => columns.split_at_checked(split)?,
                        None => (columns, columns),
                    };
                    let first = kernels.first.products(first, group_of)?;
                    let second = kernels.second.products(second, group_of)?;
                    // Constants were left out of sums, which a product would multiply by.
                    if first.len() * second.len() > MOST_PRODUCTS || kernels.has_constants() {
                        return None;
                    }
                    let both = |(a, left): &(f64, Pieces), (b, right): &(f64, Pieces)| {
                        (a * b, left.iter().chain(right).cloned().collect())
                    };
                    first.iter().flat_map(|left| second.iter().map(move |right| both(left, right))).collect()
                }
                Form::Mapped(mapped) => {
                    let Map::Diagonal(factors) = &mapped.map else { return None };
                    let scaled: Vec<(usize, f64)> = columns
                        .iter()
                        .zip(factors)
                        .map(|((column, by), factor)| (*column, by * factor))
                        .collect();
                    mapped.kernel.products(&scaled, group_of)?
                }
            };
            all.extend(inner.into_iter().map(|(weight, pieces)| (term.weight * weight, pieces)));
        }
        Some(all)
    }

    /// Whether a sum that it separates to lacks a constant.
    pub(super) fn lacks_constant(&self) -> bool {
        self.terms.iter().any(|term| match &term.form {
            Form::Shape(shape) => shape.separation() == Separation::Sum && shape.at(0.0).abs() > 0.0,
            Form::Product(kernels) => kernels.has_constants(),
            Form::Mapped(mapped) => mapped.kernel.lacks_constant(),
        })
    }
}

impl super::terms::Product {
    fn has_constants(&self) -> bool {
        self.first.lacks_constant() || self.second.lacks_constant()
    }
}

/// A shape of some columns as products of pieces of one group each.
fn of_shape(
    shape: &Arc<dyn Shape>,
    columns: &[(usize, f64)],
    group_of: &[usize],
) -> Option<Vec<(f64, Pieces)>> {
    let mut pieces: Pieces = Vec::new();
    for &(column, factor) in columns {
        if let Some((_, piece)) = pieces.iter_mut().find(|(group, _)| *group == group_of[column]) {
            piece.columns.push((column, factor));
        } else {
            let piece = Piece { shape: Arc::clone(shape), columns: vec![(column, factor)] };
            pieces.push((group_of[column], piece));
        }
    }
    match shape.separation() {
        Separation::Product => Some(vec![(1.0, pieces)]),
        _ if pieces.len() == 1 => Some(vec![(1.0, pieces)]),
        Separation::Sum => Some(pieces.into_iter().map(|piece| (1.0, vec![piece])).collect()),
        Separation::None => None,
    }
}

fn gathered(weight: f64, pieces: Pieces) -> SeparateProduct {
    let mut factors: Vec<(usize, Factor)> = Vec::new();
    for (group, piece) in pieces {
        match factors.iter_mut().find(|(known, _)| *known == group) {
            Some((_, factor)) => factor.pieces.push(piece),
            None => factors.push((group, Factor { pieces: vec![piece] })),
        }
    }
    factors.sort_by_key(|(group, _)| *group);
    SeparateProduct { weight, factors }
}
