//! Serialization of adaptive experts.

use std::sync::Arc;

use super::buffer::Buffer;
use super::member::Member;
use super::odds_stage::OddsStage;
use super::order::Movement;
use super::preparation::Preparation;
use super::row_weights::Weighing;
use super::state::{Pending, State};
use super::target_statistics::TargetStatistics;
use super::tree_stage::TreeStage;
use super::{AdaptiveExperts, AdaptiveSpec};
use crate::online::drift::Drift;
use crate::online::winsorizer::Limits;
use serde_json::Value;

use crate::error::{Error, Result};
use crate::experts::Mixture;
use crate::persist::{Persist, Reader, Writer, load, parse};
use crate::uncertainty::{Calibration, ColumnSpreads};

/// Array name of the mixture for any row, for one output.
fn lasting(output: usize) -> String {
    format!("lasting.{output}")
}

pub(crate) const KIND: &str = "adaptive";

/// The specification in the form of that of any model, distinguished by its key.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    adaptive: AdaptiveSpec,
}

/// The model file contains those of the experts' cells.
impl Persist for AdaptiveExperts {
    fn from_spec(spec: serde_json::Value) -> Result<Self> {
        parse::<Named>("model", spec)?.adaptive.build()
    }

    fn spec_json(&self) -> Result<serde_json::Value> {
        serde_json::to_value(Named { adaptive: (*self.spec).clone() }).map_err(|e| Error::file(e.to_string()))
    }

    fn to_bytes(&self, extra: serde_json::Value) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        let counts = self.state.as_ref().map_or([0; 6], |state| {
            let (features, outputs) = (state.buffer.n_features() as u64, state.outputs() as u64);
            let members = state.members.len() as u64;
            [self.n_seen, features, outputs, members, state.n_refits, state.began]
        });
        out.counts("adaptive.counts", &counts);
        if let Some(state) = &self.state {
            out.vector("adaptive.mean", &state.targets.means);
            out.vector("adaptive.deviation", &state.targets.absolute_deviations);
            out.vector("adaptive.total", &[state.targets.weight]);
            out.counts("adaptive.changed", &[state.changed]);
            out.counts("adaptive.met", &[state.met]);
            out.counts("adaptive.follows", &[u64::from(state.follows)]);
            state.buffer.write(&mut out);
            state.drift.write(&mut out);
            state.limits.write(&mut out);
            state.calibration.write(&mut out);
            self.weighing.write(&mut out);
            state.movement.write(&mut out);
            if let Some(odds) = &state.odds {
                odds.write(&mut out);
            }
            state.trees.write(&mut out);
            if let Some(preparation) = &state.preparation {
                preparation.write(&mut out);
            }
            let pending = state.pending.map_or(0, |pending| 1 + u64::from(pending == Pending::OfBlock));
            out.counts("adaptive.ordered", &[state.ordered, pending]);
            for (e, member) in state.members.iter().enumerate() {
                member.write(&format!("member.{e}"), &mut out)?;
            }
            for (c, mixture) in state.mixtures.iter().enumerate() {
                mixture.write(c, &mut out);
            }
            for (c, mixture) in state.lasting.iter().enumerate() {
                out.vector(&lasting(c), &mixture.numbers());
            }
            let mut calibration = Writer::default();
            state.lasting_calibration.write(&mut calibration);
            let calibration = calibration.finish("calibration", Value::Null, Value::Null)?;
            out.bytes("lasting.calibration", calibration);
            state.column_spreads.write(&mut out);
        }
        out.finish(KIND, self.spec_json()?, extra)
    }

    fn from_bytes(bytes: &[u8]) -> Result<(Self, serde_json::Value)> {
        load(bytes, KIND, |spec: Named, from| {
            let mut experts = spec.adaptive.build()?;
            experts.read(from)?;
            Ok(experts)
        })
    }
}

/// Sizes that the arrays of a file depend on.
#[derive(Clone, Copy)]
struct Sizes {
    features: usize,
    outputs: usize,
    members: u64,
}

impl AdaptiveExperts {
    fn read(&mut self, from: &Reader<'_>) -> Result<()> {
        let [n_seen, features, outputs, members, n_refits, began] = from.counts("adaptive.counts")?;
        if n_seen == 0 {
            return Ok(());
        }
        let size = |n: u64| usize::try_from(n).ok().filter(|n| *n > 0);
        let (Some(features), Some(outputs)) = (size(features), size(outputs)) else {
            return Err(Error::file("it has no features or no outputs"));
        };
        let sizes = Sizes { features, outputs, members };
        let state = read_state(&self.spec, sizes, n_seen, [n_refits, began], from)?;
        self.weighing = Weighing::read(from)?;
        (self.n_seen, self.state) = (n_seen, Some(state));
        Ok(())
    }
}

/// The state after `n_seen` rows, with this number of refits and row of the latest.
fn read_state(
    spec: &Arc<AdaptiveSpec>,
    sizes: Sizes,
    n_seen: u64,
    [n_refits, began]: [u64; 2],
    from: &Reader<'_>,
) -> Result<State> {
    let Sizes { features, outputs, .. } = sizes;
    let params = &spec.params;
    // Arrays of that length are read first, so that memory is bounded by the length of the file.
    let targets = read_targets(outputs, from)?;
    let count = |name: &str| -> Result<u64> { Ok(from.counts::<1>(name)?[0]) };
    let (changed, met) = (count("adaptive.changed")?, count("adaptive.met")?);
    let follows = count("adaptive.follows")? != 0;
    let buffer = Buffer::read((features, outputs), met, params.refits.sample_rows, from)?;
    let drift = Drift::read(features, params.drift, from)?;
    let limits = Limits::read(outputs, params.winsorizer, from)?;
    let calibration = Calibration::read(outputs, from)?;
    if met > n_seen || began.max(changed) > met {
        return Err(Error::file("its counts do not fit together"));
    }
    let members = read_members(spec, sizes, from)?;
    let [mixtures, lasting] = read_mixtures(spec, outputs, members.len(), from)?;
    let lasting_calibration = Calibration::read(outputs, &Reader::open(from.bytes("lasting.calibration")?)?)?;
    let movement = Movement::read(features + outputs, params.preprocessing.clip, from)?;
    let (ordered, pending) = read_order(from)?;
    let preparation = Preparation::read((features, outputs), (n_refits + 1, buffer.age()), spec, from)?;
    let odds = if spec.loss.is_margin() { OddsStage::read((features, outputs), from)? } else { None };
    let trees = TreeStage::read((features, outputs), met, spec, from)?;
    let column_spreads = match spec.column_spreads(features, outputs) {
        new if new.is_empty() => new,
        _ => ColumnSpreads::read(features, outputs, from)?,
    };
    Ok(State {
        spec: Arc::clone(spec),
        buffer,
        targets,
        members,
        mixtures,
        lasting,
        lasting_calibration,
        ordered,
        movement,
        odds,
        trees,
        calibration,
        column_spreads,
        drift,
        limits,
        met,
        n_refits,
        began,
        follows,
        changed,
        pending,
        preparation,
    })
}

fn read_targets(outputs: usize, from: &Reader<'_>) -> Result<TargetStatistics> {
    let means = from.vector("adaptive.mean", outputs)?;
    let absolute_deviations = from.vector("adaptive.deviation", outputs)?;
    let weight = from.vector("adaptive.total", 1)?[0];
    if absolute_deviations.iter().any(|deviation| *deviation < 0.0) || weight < 0.0 {
        return Err(Error::file("adaptive.deviation and adaptive.total are not those of any targets"));
    }
    Ok(TargetStatistics { means, absolute_deviations, weight })
}

/// Experts, those with equal preprocessing sharing it.
fn read_members(spec: &AdaptiveSpec, sizes: Sizes, from: &Reader<'_>) -> Result<Vec<Member>> {
    let shape = (sizes.features, sizes.outputs);
    let read = |e: u64| Member::read(&format!("member.{e}"), shape, spec.params.members, from);
    let mut members = (0..sizes.members).map(read).collect::<Result<Vec<Member>>>()?;
    for e in 1..members.len() {
        let (before, later) = members.split_at_mut(e);
        for other in before {
            later[0].share_preprocessing(other);
        }
    }
    Ok(members)
}

/// Mixtures for the next row, and for any row; none without experts.
fn read_mixtures(
    spec: &AdaptiveSpec,
    outputs: usize,
    members: usize,
    from: &Reader<'_>,
) -> Result<[Vec<Mixture>; 2]> {
    let outputs = if members == 0 { 0 } else { outputs };
    let of_next = |c: usize| {
        let mut mixture = Mixture::new(spec.mixture, spec.loss, members);
        mixture.read(c, from)?;
        Ok(mixture)
    };
    let of_any = |c: usize| {
        let mut mixture = Mixture::new(spec.mixture, spec.loss, members);
        mixture.resume(&from.vector(&lasting(c), mixture.numbers().len())?)?;
        Ok(mixture)
    };
    let next = (0..outputs).map(of_next).collect::<Result<_>>()?;
    Ok([next, (0..outputs).map(of_any).collect::<Result<_>>()?])
}

/// Blocks for which rows are taken to come in an order, and the interrupted refit.
fn read_order(from: &Reader<'_>) -> Result<(u64, Option<Pending>)> {
    let [ordered, pending] = from.counts("adaptive.ordered")?;
    let pending = match pending {
        0 => None,
        1 => Some(Pending::Scheduled),
        2 => Some(Pending::OfBlock),
        _ => return Err(Error::file("adaptive.ordered is no state of experts")),
    };
    Ok((ordered, pending))
}
