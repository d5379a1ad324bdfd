//! Gradients of sums of similarities.

use super::metric::Map;
use super::points::{Columns, PointSet};
use super::shape::{Comparison, Shape};
use super::terms::{Form, Kernel};
use crate::linalg::{loops, padded};

impl Kernel {
    /// Adds to `out` (d) the gradient with respect to `x` of `sum_j a_j k(x, p_j)` over the points of `set`.
    /// O(m d), or O(m d + r d) with a map to r columns. Where a kernel has no gradient, at its peak or ridge, it adds
    /// the mean of what is on either side: nothing.
    ///
    /// # Panics
    ///
    /// If `x`, `a` or `out` do not fit the points.
    pub fn add_gradient(&self, set: &PointSet, x: &[f64], a: &[f64], out: &mut [f64]) {
        assert_eq!((x.len(), a.len(), out.len()), (set.width(), set.len(), set.width()), "sizes fit");
        self.add_gradient_on(set, Columns { start: 0, width: x.len() }, x, a, out);
    }

    /// [`add_gradient`](Self::add_gradient) by some of the columns of `set`; `x` and `out` have these only.
    fn add_gradient_on(&self, set: &PointSet, columns: Columns, x: &[f64], a: &[f64], out: &mut [f64]) {
        for term in &self.terms {
            let a = || a.iter().map(|a| term.weight * a);
            match &term.form {
                Form::Shape(shape) => {
                    add_gradient_of_shape(shape.as_ref(), set, columns, x, &a().collect::<Vec<_>>(), out);
                }
                Form::Product(kernels) => {
                    let (first, second) = kernels.split(columns);
                    let (x_first, x_second) = kernels.parts(x);
                    for (one, at, x, other, at_other, x_other) in [
                        (&kernels.first, first, x_first, &kernels.second, second, x_second),
                        (&kernels.second, second, x_second, &kernels.first, first, x_first),
                    ] {
                        let value = |j| other.eval(x_other, set.point_on(j, at_other));
                        let a: Vec<f64> = a().enumerate().map(|(j, a)| a * value(j)).collect();
                        let from = at.start - columns.start;
                        one.add_gradient_on(set, at, x, &a, &mut out[from..from + at.width]);
                    }
                }
                Form::Mapped(mapped) => {
                    let (seen, x) = (set.mapped(mapped, columns), mapped.map.of(x));
                    let mut inner = vec![0.0; x.len()];
                    let a: Vec<f64> = a().collect();
                    mapped.kernel.add_gradient_on(&seen, mapped.columns(), &x, &a, &mut inner);
                    Map::add_transposed(&mapped.map, &inner, out);
                }
            }
        }
    }
}

fn add_gradient_of_shape(
    shape: &dyn Shape,
    set: &PointSet,
    columns: Columns,
    x: &[f64],
    a: &[f64],
    out: &mut [f64],
) {
    let comparison = shape.comparison();
    let mut slopes = vec![0.0; padded(set.len())];
    set.compare(comparison, columns.start, x, &mut slopes);
    shape.slopes(&mut slopes);
    slopes.iter_mut().zip(a).for_each(|(slope, a)| *slope *= a);
    slopes[a.len()..].fill(0.0);
    for (k, (x, out)) in x.iter().zip(out).enumerate() {
        let points = set.panel().col(columns.start + k);
        *out += match comparison {
            Comparison::SquaredDistance => 2.0 * loops::sum_of_differences(&slopes, *x, points),
            Comparison::ManhattanDistance => loops::sum_of_signs(&slopes, *x, points),
            Comparison::InnerProduct => loops::dot(&slopes, points),
        };
    }
}
