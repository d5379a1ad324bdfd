//! One basis and many learners, which share its coordinates.

use std::ops::{Deref, DerefMut};

use ndarray::{ArrayView1, ArrayView2, Axis};

use super::head::Targets;
use super::model::prediction_block;
use super::round::{Given, Step};
use super::seen::left_out;
use super::{AnyStream, Stream};
use crate::basis::{AsBasis, Basis as _, BasisBlocks as _};
use crate::error::{Error, Result};
use crate::learner::{AsLearner, Learner as _};
use crate::linalg::{Panel, with_scratch};
use crate::threads::{ask_each_block, try_for_each_block};
use crate::uncertainty::Prequential;
use crate::validate::one_row;

/// Streams with [the same basis](AnyStream::shares_basis), each with its requested answers.
pub(crate) struct Heads<'t, S> {
    streams: Vec<S>,
    prequential: Vec<Prequential<'t>>,
}

impl<'t, S> Heads<'t, S> {
    /// Without streams.
    pub(crate) fn new() -> Self {
        Self { streams: Vec::new(), prequential: Vec::new() }
    }

    /// Adds a stream, which fills in `prequential`.
    pub(crate) fn push(&mut self, stream: S, prequential: Prequential<'t>) {
        self.streams.push(stream);
        self.prequential.push(prequential);
    }
}

impl<B: AsBasis, L: AsLearner, S: Deref<Target = Stream<B, L>> + Sync> Heads<'_, S> {
    /// Answers for rows `x` (n, d) in the current state of the streams: by blocks, as matrix
    /// products, on several threads.
    pub(crate) fn answer(self, x: ArrayView2<'_, f64>) -> Result<()> {
        let Some(first) = self.streams.first() else { return Ok(()) };
        first.n_outputs.ok_or(Error::NothingLearned)?;
        first.check_x(x)?;
        let basis = first.basis.as_basis();
        let size = prediction_block(basis.dim());
        let blocks = x.axis_chunks_iter(Axis(0), size).zip(by_block(self.prequential, x.nrows(), size));
        let heads = || self.streams.iter().map(|stream| &stream.head);
        ask_each_block(blocks, |(rows, mut prequential)| {
            let mut z = Panel::default();
            let own = basis.features_block(rows, &mut z);
            let asked = prequential.iter().any(Prequential::wants_novelty);
            let left = if asked { left_out(basis, rows, &z) } else { Vec::new() };
            for (head, prequential) in heads().zip(&mut prequential) {
                head.answer(&z, &own, &left, prequential);
            }
        })
    }
}

impl<B: AsBasis, L: AsLearner> Stream<B, L> {
    /// [`Heads::answer`] for one stream.
    pub(crate) fn answer(&self, x: ArrayView2<'_, f64>, prequential: Prequential<'_>) -> Result<()> {
        Heads { streams: vec![self], prequential: vec![prequential] }.answer(x)
    }

    /// Predictions of streams that have the same basis for one row, one after the other into `made`. Allocates nothing.
    pub(crate) fn predict_one_together<'a>(
        mut streams: impl Iterator<Item = &'a Self>,
        x: &[f64],
        made: &mut [f64],
    ) -> Result<()>
    where
        Self: 'a,
    {
        let Some(first) = streams.next() else { return Ok(()) };
        let outputs = first.n_outputs.ok_or(Error::NothingLearned)?;
        first.check_x(one_row(x))?;
        with_scratch(|z| {
            let own = first.basis.as_basis().features(x, z);
            for (stream, made) in std::iter::once(first).chain(streams).zip(made.chunks_exact_mut(outputs)) {
                stream.head.learner.as_learner().predict(z, own, made);
            }
            Ok(())
        })
    }
}

/// The arrays of each stream, in blocks of this many of the `n` rows.
fn by_block(prequential: Vec<Prequential<'_>>, n: usize, size: usize) -> Vec<Vec<Prequential<'_>>> {
    let mut blocks: Vec<Vec<_>> =
        (0..n.div_ceil(size)).map(|_| Vec::with_capacity(prequential.len())).collect();
    for prequential in prequential {
        blocks.iter_mut().zip(prequential.blocks(n, size)).for_each(|(all, block)| all.push(block));
    }
    blocks
}

impl<S: DerefMut<Target = AnyStream> + Send + Sync> Heads<'_, S> {
    /// Learns validated rows: the first stream computes the coordinates, and the others follow it,
    /// step by step. Each is the same as if it had learned alone, to the bit unless its learner
    /// would have used other blocks. On an error some have learned rows and some have not.
    pub(crate) fn learn(
        mut self,
        (x, y): (ArrayView2<'_, f64>, ArrayView2<'_, f64>),
        weights: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        if x.nrows() == 0 {
            return Ok(());
        }
        self.streams.iter_mut().try_for_each(|stream| stream.begin(x.ncols(), y.ncols()))?;
        let Some((first, others)) = self.streams.split_first_mut() else { return Ok(()) };
        let Some((of_first, of_others)) = self.prequential.split_first_mut() else { return Ok(()) };
        let (given, mut i) = (Given { x, y, weights }, 0);
        while i < x.nrows() {
            let pace = others.iter().fold(first.pace(), |pace, other| pace.and(other.pace()));
            let len = first.schedule.block_len(x.nrows() - i, &*first.basis, pace);
            let step = first.step(given.rows(i, len), pace, &mut of_first.rows(i..i + len));
            let step = step.map_err(|error| error.shifted(i))?;
            let rows = given.rows(i, step.rows());
            let others = others.iter_mut().map(|other| &mut **other).zip(of_others.iter_mut());
            let follow = |(other, prequential): (&mut AnyStream, &mut Prequential<'_>)| {
                other.follow(first, rows, step, &mut prequential.rows(i..i + step.rows()))
            };
            match step {
                Step::Block(_) => try_for_each_block(others, follow),
                Step::Row | Step::Predicted => { others }.try_for_each(follow),
            }
            .map_err(|error| error.shifted(i))?;
            i += step.rows();
        }
        Ok(())
    }
}

impl AnyStream {
    /// Whether this stream and another have the same coordinates and blocks, and keep them as long
    /// as both learn the same rows.
    pub(crate) fn shares_basis(&self, other: &Self) -> bool {
        self.n_seen == other.n_seen
            && self.schedule == other.schedule
            && self.head.learner.blocks_from() == other.head.learner.blocks_from()
            && self.basis.has_points_of(&other.basis)
    }

    /// Learns the rows that `first` learned last, in its coordinates.
    fn follow(
        &mut self,
        first: &Self,
        given: Given<'_>,
        step: Step,
        prequential: &mut Prequential<'_>,
    ) -> Result<()> {
        self.basis.follow(&first.basis);
        (self.n_seen, self.schedule) = (first.n_seen, first.schedule);
        let (row, y) = (first.seen.row(), &*first.seen.y);
        match step {
            Step::Predicted => self.head.predict_row(row, prequential),
            Step::Row => self.head.learn_row(&*self.basis, row, (y, given.weight(0)), prequential)?,
            Step::Block(rows) => {
                let weights = given.weights.map(|weights| weights.to_vec());
                let (block, to) = (&first.seen.block, Targets { y: given.y, weights: weights.as_deref() });
                let done = self.head.learn_block(given.x, block, to, false, prequential);
                // Rows that fail as a block may succeed one by one.
                for i in done..rows {
                    self.seen.hold(given.x.row(i), given.y.row(i));
                    self.seen.take(block, i);
                    let to = (&*self.seen.y, given.weight(i));
                    let learned = self.head.learn_row(
                        &*self.basis,
                        self.seen.row(),
                        to,
                        &mut prequential.rows(i..i + 1),
                    );
                    learned.map_err(|error| error.shifted(i))?;
                }
            }
        }
        Ok(())
    }
}
