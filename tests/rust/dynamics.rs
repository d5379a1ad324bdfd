//! Forecasts over horizons, as a program in Rust asks for them.

use kernelstream::dynamics::{Dynamics, DynamicsSpec, FORECASTS};
use ndarray::{Array2, s};

/// A daily cycle in Kelvin with noise, as a trajectory of one number.
fn record(rows: usize) -> Array2<f64> {
    let noise = |t: usize| ((t * 7919 + 13) % 1009) as f64 / 1009.0 - 0.5;
    Array2::from_shape_fn((rows, 1), |(t, _)| 280.0 + 5.0 * (t as f64 * 0.3).sin() + noise(t))
}

#[test]
fn intervals_hold_what_comes_and_outlast_a_file() {
    let (x, horizons) = (record(1200), [1, 6, 24]);
    let mut spec = DynamicsSpec::automatic();
    (spec.delays.count, spec.period) = (2, Some(21));
    assert!(spec.build().is_err(), "a period without horizons is of no use");
    spec.horizons = horizons.to_vec();
    let mut model = spec.build().unwrap();
    model.follow(x.slice(s![..800, ..]), 1, false).unwrap();
    assert_eq!(model.forecast_weights().unwrap().dim(), (FORECASTS.len(), 3, 1));
    assert!(model.forecast_deviations().unwrap().iter().all(|one| (0.2..1.0).contains(one)));

    let rows = model.forecast_rows(x.slice(s![770..1170, ..]), 1).unwrap();
    let ends = model.forecast_intervals(rows.view(), 0.9).unwrap();
    for (k, horizon) in horizons.into_iter().enumerate() {
        let inside = |i: &usize| {
            let truth = x[[770 + 2 + i + horizon, 0]];
            (ends[[k, *i, 0, 0]]..=ends[[k, *i, 0, 1]]).contains(&truth)
        };
        let share = (30..398).filter(inside).count() as f64 / 368.0;
        assert!((0.8..=0.98).contains(&share), "{share} inside, {horizon} steps ahead");
    }

    let bytes = model.to_bytes(serde_json::Value::Null).unwrap();
    let (again, _) = Dynamics::from_bytes(&bytes).unwrap();
    assert_eq!(again.forecast_intervals(rows.view(), 0.9).unwrap(), ends);
    assert!(model.forecasts(x.slice(s![..3, ..])).is_err(), "these are no rows with delays and a period");
    assert!(Dynamics::new(DynamicsSpec::automatic()).unwrap().forecast_deviations().is_err());
}
