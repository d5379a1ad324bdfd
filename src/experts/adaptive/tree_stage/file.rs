//! The trees in a model file.

use std::sync::Arc;

use super::rival::Rival;
use super::{Combination, FORMER_NUMBERS, GIVEN_UP, ROWS_ON_TRIAL, TERMS, TreeStage, rows_within};
use crate::error::{Error, Result};
use crate::experts::adaptive::AdaptiveSpec;
use crate::experts::adaptive::log_trees::LogTrees;
use crate::experts::adaptive::nearest::Nearest;
use crate::learner::LogOdds;
use crate::persist::{Reader, Writer};
use crate::trees::{Boosted, Gradual, Tree};

impl TreeStage {
    pub fn write(&self, out: &mut Writer) {
        if self.capacity == 0 {
            return;
        }
        out.counts("trees.counts", &[self.age, self.grown, self.fitted, self.forest.len() as u64]);
        out.counts("trees.numbers", &self.rows.numbers);
        let width = self.stored_width();
        out.table("trees.rows", self.rows.numbers.len(), width, &self.rows.values);
        for (t, tree) in self.forest.iter().enumerate() {
            tree.write(&format!("trees.forest.{t}"), out);
        }
        if let Some(boosted) = &self.boosted {
            boosted.write("trees.boosted", out);
        }
        if let Some(rival) = &self.rival {
            rival.write(out);
        }
        // Trees in the making are finished, and come when they would have come.
        if let Some(fitting) = &self.fitting {
            let (boosted, rows) = fitting.rest();
            out.counts("trees.fitting", &[rows]);
            boosted.write("trees.fitting", out);
        }
        if let Some(nearest) = &self.nearest {
            nearest.write(out);
        } else if self.nearest_given_up {
            out.counts("trees.nearest.given_up", &[1]);
        }
        if self.logs_fitted > 0 {
            out.counts("trees.logs.fitted", &[self.logs_fitted]);
        }
        self.logs.write(out);
        if let Some(growing) = &self.growing {
            let (trees, rows) = growing.rest();
            out.counts("trees.growing", &[rows, trees.len() as u64]);
            for (t, tree) in trees.iter().enumerate() {
                tree.write(&format!("trees.growing.{t}"), out);
            }
        }
        for (c, combined) in self.combined.iter().enumerate() {
            let numbers = match combined {
                Combination::Mean(mixture) => mixture.numbers(),
                Combination::Odds(odds) => odds.numbers(),
            };
            out.vector(&format!("trees.mixture.{c}"), &numbers);
        }
        if self.is_grown() && !self.counts() {
            out.counts("trees.tried", &[self.tried]);
        }
    }

    /// What [`write`](Self::write) wrote, for a stream of `met` rows that count.
    pub fn read(
        (features, outputs): (usize, usize),
        met: u64,
        spec: &Arc<AdaptiveSpec>,
        from: &Reader<'_>,
    ) -> Result<Self> {
        let mut new = Self::new(features, outputs, spec);
        if new.capacity == 0 {
            return Ok(new);
        }
        let trees = new.read_rows(met, from)?;
        for t in 0..trees {
            new.forest.push(Tree::read(&format!("trees.forest.{t}"), (new.row_width(), outputs), from)?);
        }
        new.read_what_is_made(from)?;
        let is_grown = new.grown >= new.spec.params.trees.forest_trees;
        if is_grown || new.fitted > 0 && new.fitting.is_none() {
            new.boosted = Some(Boosted::read("trees.boosted", (features, outputs), from)?);
        }
        new.read_rival(from)?;
        new.read_nearest(from)?;
        new.read_logs(from)?;
        if new.boosted.is_none() && new.growing.is_some() {
            return Err(Error::file("trees.counts have a forest without boosted trees"));
        }
        if is_grown {
            new.read_combined(from)?;
        }
        Ok(new)
    }

    /// The reservoir and its counts; returns the number of trees of the forest.
    fn read_rows(&mut self, met: u64, from: &Reader<'_>) -> Result<u64> {
        let [age, grown, fitted, trees] = from.counts("trees.counts")?;
        (self.age, self.grown, self.fitted) = (age, grown, fitted);
        self.rows.numbers = from.all_counts("trees.numbers")?;
        let (n, width) = (self.rows.numbers.len(), self.stored_width());
        self.rows.values = from.table("trees.rows", n, width)?;
        // In former files the reservoir had fewer rows, with which it continues.
        let former = rows_within(FORMER_NUMBERS, (self.features, self.outputs)).min(self.capacity);
        let fits = |capacity: &usize| age.min(*capacity as u64) == n as u64;
        let capacity = [self.capacity, former].into_iter().find(fits);
        self.capacity = capacity.unwrap_or(0);
        let sound = age <= met
            && capacity.is_some()
            && fitted <= age
            && grown <= self.due_in_groups(u64::MAX)
            && trees == self.spec.params.trees.forest_trees.min(grown)
            && self.rows.numbers.iter().all(|number| *number < met)
            && self.rows.values.chunks_exact(width).all(|row| row[width - 1] >= 0.0);
        if sound { Ok(trees) } else { Err(Error::file("trees.counts are not those of its rows")) }
    }

    /// Boosted trees that are fitted, or trees that are grown, beside those there are.
    fn read_what_is_made(&mut self, from: &Reader<'_>) -> Result<()> {
        if from.has("trees.fitting") {
            let [rows] = from.counts("trees.fitting")?;
            if rows == 0 || self.fitted == 0 {
                return Err(not_made("trees.fitting"));
            }
            let boosted = Boosted::read("trees.fitting", (self.features, self.outputs), from)?;
            self.fitting = Some(Gradual::Made(boosted, rows));
        } else if from.has("trees.growing") {
            let [rows, trees] = from.counts("trees.growing")?;
            let most = self.due_in_groups(u64::MAX);
            let is_due =
                (self.spec.params.trees.forest_trees..=most).contains(&self.grown.saturating_add(trees));
            if rows == 0 || !(1..=most).contains(&trees) || !is_due {
                return Err(not_made("trees.growing"));
            }
            let read = |t| Tree::read(&format!("trees.growing.{t}"), (self.row_width(), self.outputs), from);
            self.growing = Some(Gradual::Made((0..trees).map(read).collect::<Result<_>>()?, rows));
        }
        Ok(())
    }

    /// Boosted trees beside which others were fitted.
    fn read_rival(&mut self, from: &Reader<'_>) -> Result<()> {
        self.rival = Rival::read((self.features, self.outputs), from)?;
        let is_sound =
            |own: &Rival| !self.are_labels() && self.boosted.is_some() && own.fitted <= self.fitted;
        if self.rival.as_ref().is_none_or(is_sound) { Ok(()) } else { Err(not_made("trees.rival")) }
    }

    /// The experts on the nearest rows, or that they were given up.
    fn read_nearest(&mut self, from: &Reader<'_>) -> Result<()> {
        self.nearest_given_up = from.has("trees.nearest.given_up");
        if self.nearest_given_up {
            let [_] = from.counts("trees.nearest.given_up")?;
        } else if from.has("trees.nearest") {
            self.nearest = Some(Nearest::read(self.features, &self.rows, self.stored_width(), from)?);
        }
        if self.are_labels() && (self.nearest_given_up || self.nearest.is_some()) {
            return Err(Error::file("trees.nearest are none of labels"));
        }
        Ok(())
    }

    /// The experts on logarithms.
    fn read_logs(&mut self, from: &Reader<'_>) -> Result<()> {
        if !from.has("trees.logs.fitted") {
            return Ok(());
        }
        [self.logs_fitted] = from.counts("trees.logs.fitted")?;
        self.logs = LogTrees::read((self.features, self.outputs), from)?;
        let are_due = !self.are_labels()
            && self.boosted.is_some()
            && (self.logs_fitted == GIVEN_UP || (1..=self.fitted).contains(&self.logs_fitted));
        if !are_due || self.logs.are_fitted() && (self.fitting.is_some() || self.growing.is_some()) {
            return Err(not_made("trees.logs"));
        }
        Ok(())
    }

    /// Weights of the experts, and how many rows they were learned from.
    fn read_combined(&mut self, from: &Reader<'_>) -> Result<()> {
        for c in 0..self.outputs {
            let mut combined = self.combination(c);
            let name = format!("trees.mixture.{c}");
            match &mut combined {
                Combination::Mean(mixture) => {
                    mixture.resume(&from.vector(&name, mixture.numbers().len())?)?;
                }
                Combination::Odds(odds) => {
                    odds.resume(&from.vector(&name, LogOdds::<TERMS>::NUMBERS)?);
                    if !odds.is_sound() {
                        return Err(Error::file(format!("{name} is none of labels")));
                    }
                }
            }
            self.combined.push(combined);
        }
        self.tried = ROWS_ON_TRIAL;
        if from.has("trees.tried") {
            [self.tried] = from.counts("trees.tried")?;
            if self.tried >= ROWS_ON_TRIAL {
                return Err(Error::file("trees.tried are more rows than a trial has"));
            }
        }
        Ok(())
    }
}

fn not_made(name: &str) -> Error {
    Error::file(format!("{name} are none that are made after its rows"))
}
