//! Forecasts over horizons, as a program in Rust asks for them.

use kernelstream::Persist as _;
use kernelstream::dynamics::{Dynamics, DynamicsSpec, FORECASTS};
use ndarray::{Array2, s};

/// A daily cycle in Kelvin with noise, as a trajectory of one number.
fn record(rows: usize) -> Array2<f64> {
    // Delays do not help to forecast it.
    let noise = |t: usize| {
        let bits = (t as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (bits >> 40) as f64 / f64::from(1 << 24) - 0.5
    };
    Array2::from_shape_fn((rows, 1), |(t, _)| 280.0 + 5.0 * (t as f64 * 0.3).sin() + noise(t))
}

#[test]
fn intervals_hold_what_comes_and_outlast_a_file() {
    let (x, horizons) = (record(2424), [1, 6, 24]);
    let mut spec = DynamicsSpec::automatic();
    (spec.delays.count, spec.period) = (2, Some(21));
    assert!(spec.build().is_err(), "a period without horizons is of no use");
    spec.horizons = horizons.to_vec();
    let mut model = spec.build().unwrap();
    model.follow(x.slice(s![..800, ..]), 1, false).unwrap();
    assert_eq!(model.forecast_weights().unwrap().dim(), (FORECASTS.len(), 3, 1));
    assert!(model.forecast_deviations().unwrap().iter().all(|one| (0.2..1.0).contains(one)));

    let (mut inside, block) = ([0; 3], 50);
    for from in (800..2400).step_by(block) {
        let rows = model.forecast_rows(x.slice(s![from - 32..from + block, ..]), 1).unwrap();
        let ends = model.forecast_intervals(rows.slice(s![30.., ..]), 0.9).unwrap();
        for (k, horizon) in horizons.into_iter().enumerate() {
            let held = (0..block).filter(|i| {
                (ends[[k, *i, 0, 0]]..=ends[[k, *i, 0, 1]]).contains(&x[[from + i + horizon, 0]])
            });
            inside[k] += held.count();
        }
        model.follow(x.slice(s![from..from + block, ..]), 1, true).unwrap();
    }
    for (inside, horizon) in inside.into_iter().zip(horizons) {
        let share = inside as f64 / 1600.0;
        assert!((0.83..=0.95).contains(&share), "{share} inside, {horizon} steps ahead");
    }

    let rows = model.forecast_rows(x.slice(s![2300.., ..]), 1).unwrap();
    let ends = model.forecast_intervals(rows.view(), 0.9).unwrap();
    let bytes = model.to_bytes(serde_json::Value::Null).unwrap();
    let (again, _) = Dynamics::from_bytes(&bytes).unwrap();
    assert_eq!(again.forecast_intervals(rows.view(), 0.9).unwrap(), ends);
    assert!(model.forecasts(x.slice(s![..3, ..])).is_err(), "these are no rows with delays and a period");
    assert!(Dynamics::new(DynamicsSpec::automatic()).unwrap().forecast_deviations().is_err());
}

#[test]
fn what_has_no_candidates_says_so_after_rows_too() {
    let x = record(300);
    for (candidates, horizons, name) in [(false, vec![1], "candidates"), (true, vec![], "horizons")] {
        let mut spec = DynamicsSpec::automatic();
        (spec.candidates, spec.horizons) = (candidates, horizons);
        let mut model = spec.build().unwrap();
        model.follow(x.view(), 1, false).unwrap();
        let message = model.ahead(None, None, 1, 0).unwrap_err().to_string();
        assert!(message.starts_with(name), "{message}");
    }
}
