//! Number of delays by which states are compared.
//!
//! States of a chaotic map that are alike now differ in their past, the more the earlier it is, so that a kernel of
//! many delays has few neighbours to learn from, whereas the next state may be a function of the latest one alone. A
//! setting with fewer delays has a scale on which the earlier ones are negligible. Settings are judged by
//! forecasts of the next state, and of test functions of it, without its delays, which are known already.

use ndarray::{ArrayView2, s};

use super::affine;
use super::judge::NarrowJudge;
use super::settings::{Rows, Setting, gram};
use crate::dynamics::{DynamicsSpec, Units};
use crate::error::{Error, Result};
use crate::interrupt::check;
use crate::kernel::PointSet;

/// Least median distance, in deviations, on a scale on which states can be compared.
const LEAST_DISTANCE: f64 = 1e-6;

/// The best setting with fewer delays and its scale, if its errors are clearly less than those of the one `found` on
/// the scale `full`; of several about as good, the one with the fewest delays.
pub(super) fn with_fewer(
    spec: &DynamicsSpec,
    (full, each): (&Units, &Units),
    x: ArrayView2<'_, f64>,
    next: ArrayView2<'_, f64>,
    found: &Setting,
) -> Result<Option<(Setting, Units)>> {
    let params = &spec.params.selection;
    let width = next.ncols() / spec.delays.blocks();
    let counts: Vec<usize> = params.delays.into_iter().filter(|count| *count < spec.delays.count).collect();
    if counts.is_empty() || !spec.standardize {
        return Ok(None);
    }
    let fewer = counts.into_iter().map(|count| full.of_latest((count + 1) * width));
    let scales: Vec<Units> = std::iter::once(full.clone()).chain(fewer).collect();
    let next = next.slice(s![.., ..width]);
    let Some(rows) = Rows::new(spec, (&scales, each), x, next) else { return Ok(None) };
    let judge = NarrowJudge::new(&rows.judge, &rows.targets, width);
    let errors = |scale: usize, bandwidth: f64| {
        check()?;
        let gram = gram(found.control.as_ref(), bandwidth, rows.scaled[scale].0.view())?;
        Ok::<_, Error>(judge.least_errors(gram.as_faer(), &params.regularizations))
    };
    let Some((_, mut least)) = errors(0, found.bandwidth)? else { return Ok(None) };
    // Smooth oscillations, which a linear map of all delays forecasts, need no fewer delays.
    let all = rows.scaled[0].0.view();
    let linear = affine().resolve(all.ncols())?.similarities_of_rows(&PointSet::gather(all), all);
    if let Some((_, [state, _])) = judge.least_errors(linear.as_faer(), &params.regularizations) {
        least[0] = least[0].min(state);
    }
    let mut best: Option<Setting> = None;
    // Where most latest values are equal, distances are those of the negligible delays.
    for scale in (1..scales.len()).filter(|scale| rows.scaled[*scale].1 > LEAST_DISTANCE) {
        let (mut of_scale, mut theirs) = (Vec::new(), Vec::new());
        for factor in params.bandwidths {
            let bandwidth = factor * rows.scaled[scale].1;
            let Some((regularization, both)) = errors(scale, bandwidth)? else { continue };
            let control = found.control.clone();
            let [_, error] = both;
            of_scale.push(Setting::new(control, (scale, bandwidth), (regularization, error)));
            theirs.push(both);
        }
        let Some(place) = rows.shortest(&of_scale) else { continue };
        let clearly = |(error, least): (&f64, f64)| *error < params.fewer_delays * least;
        if theirs[place].iter().zip(least).all(clearly) {
            (best, least) = (Some(of_scale.swap_remove(place)), theirs[place]);
        }
    }
    let Some(mut best) = best else { return Ok(None) };
    rows.detail(&mut best)?;
    let units = scales[best.scale].clone();
    Ok(Some((best, units)))
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, s};

    use crate::dynamics::{DynamicsSpec, Units};
    use crate::error::Result;

    /// Scale selected for a series with four delays.
    fn selected(series: &[f64], fewer: bool) -> Result<Units> {
        let mut spec = DynamicsSpec::automatic();
        (spec.delays.count, spec.delays.fewer) = (4, fewer);
        let rows = series.len() - 4;
        let states = Array2::from_shape_fn((rows, 5), |(i, j)| series[i + 4 - j]);
        let choice =
            super::super::choose(&spec, states.slice(s![..rows - 1, ..]), states.slice(s![1.., ..]))?;
        Ok(choice.units)
    }

    #[test]
    fn fewer_delays_are_selected_for_a_map_and_all_for_a_wave() -> Result<()> {
        let map: Vec<f64> =
            std::iter::successors(Some(0.3), |x| Some(3.9 * x * (1.0 - x))).take(300).collect();
        let wave: Vec<f64> =
            (0..300).map(|t| (0.3 * f64::from(t)).sin() + (0.7 * f64::from(t)).cos()).collect();
        let ratios = |units: &Units| -> Vec<f64> {
            let all = units.deviation();
            all.iter().map(|deviation| deviation / all[0]).collect()
        };
        let [one, same, other] = [selected(&map, true)?, selected(&map, false)?, selected(&wave, true)?];
        assert!(ratios(&one)[1..].iter().all(|ratio| *ratio > 1e9), "{one:?}");
        for units in [same, other] {
            assert!(ratios(&units).iter().all(|ratio| (ratio - 1.0).abs() < 1e-12), "{units:?}");
        }
        Ok(())
    }
}
