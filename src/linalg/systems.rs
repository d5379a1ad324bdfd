//! Systems of equations, one after another.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::llt::factor::{LltRegularization, cholesky_in_place, cholesky_in_place_scratch};
use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
use faer::prelude::ReborrowMut as _;
use faer::{MatRef, Par, Spec};

use super::panel::Panel;

/// Solves positive definite systems in the same memory: new memory for each costs a fifth of the time where hundreds
/// of unknowns are found.
#[derive(Debug, Default)]
pub(crate) struct Systems {
    factor: Panel,
    solution: Panel,
}

impl Systems {
    /// `(A + c I)^-1 B`, for an `A` of which what is above the diagonal is not looked at; `None` if there is no
    /// Cholesky factor to rounding. O(m^3).
    pub fn solve(&mut self, a: MatRef<'_, f64>, c: f64, b: MatRef<'_, f64>) -> Option<MatRef<'_, f64>> {
        let m = a.nrows();
        self.factor.reshape(m, m);
        let mut factor = self.factor.as_faer_mut();
        factor.copy_from_triangular_lower(a);
        (0..m).for_each(|i| factor[(i, i)] += c);
        let params = Spec::default();
        let mut memory = MemBuffer::new(cholesky_in_place_scratch::<f64>(m, Par::Seq, params));
        let regularization = LltRegularization::default();
        let stack = MemStack::new(&mut memory);
        cholesky_in_place(factor.rb_mut(), regularization, Par::Seq, stack, params).ok()?;
        self.solution.reshape(m, b.ncols());
        let mut solution = self.solution.as_faer_mut();
        solution.copy_from(b);
        solve_lower_triangular_in_place(factor.as_ref(), solution.rb_mut(), Par::Seq);
        solve_upper_triangular_in_place(factor.as_ref().transpose(), solution, Par::Seq);
        Some(self.solution.as_faer())
    }
}
