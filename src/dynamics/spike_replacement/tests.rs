//! Outliers alone, in runs, and as new levels.

use ndarray::{Array2, ArrayView1, ArrayView2, s};
use serde_json::Value;

use crate::dynamics::states::spikes::Spikes;
use crate::dynamics::{Dynamics, DynamicsSpec, SpikeParams};
use crate::persist::Persist as _;
use crate::random::normal;

/// A daily wave with noise, with these values from this row on.
fn wave(n: usize, row: usize, values: &[f64]) -> Array2<f64> {
    Array2::from_shape_fn((n, 1), |(i, _)| {
        let wave = 50.0 + 8.0 * (i as f64 * 0.2618).sin() + normal(1, i as u64);
        i.checked_sub(row).and_then(|place| values.get(place)).copied().unwrap_or(wave)
    })
}

/// The states as they are learned.
fn learned(states: &Array2<f64>) -> (Array2<f64>, u64) {
    let (mut spikes, mut out) = (Spikes::default(), states.clone());
    for i in 0..states.nrows() {
        let last = (i > 0).then(|| out.row(i - 1).to_owned());
        let last = last.as_ref().map(|last| last.view());
        if let Some(state) = spikes.meet(states.row(i), last, &SpikeParams::default()) {
            out.row_mut(i).assign(&ArrayView1::from(&state));
        }
    }
    (out, spikes.count())
}

fn unchanged(values: impl Fn(usize) -> f64, n: usize) -> u64 {
    learned(&Array2::from_shape_fn((n, 1), |(i, _)| values(i))).1
}

#[test]
fn outliers_become_the_last_value_and_the_fourth_in_a_row_is_a_level() {
    for row in [60, 600] {
        for run in 1..=3 {
            let states = wave(700, row, &vec![-9999.0; run]);
            let mut expected = states.clone();
            for i in row..row + run {
                expected[(i, 0)] = states[(row - 1, 0)];
            }
            assert_eq!(learned(&states), (expected, run as u64));
        }
        let states = wave(700, row, &[-9999.0; 50]);
        let (found, count) = learned(&states);
        assert_eq!(count, 3);
        assert_eq!(found.slice(s![row + 3.., ..]), states.slice(s![row + 3.., ..]));
    }
    assert_eq!(learned(&wave(700, 600, &[500.0])).1, 1);
    assert_eq!(learned(&wave(700, 600, &[100.0])).1, 0);
    assert_eq!(learned(&wave(700, 10, &[-9999.0])).1, 0);
}

#[test]
fn ordinary_records_are_unchanged() {
    let noise = |i: usize| normal(2, i as u64);
    let uniform = |i: usize| 0.5 * (1.0 + noise(i).clamp(-1.0, 1.0));
    assert_eq!(unchanged(|_| 7.0, 3000), 0);
    assert_eq!(unchanged(|i| 0.1 + 0.2 * f64::from(u8::from(i > 2000)), 3000), 0);
    assert_eq!(unchanged(|i| f64::from(u8::from(i % 900 == 899)), 9000), 0);
    assert_eq!(unchanged(|i| 1.5f64.powf((i / 2) as f64), 1000), 0);
    assert_eq!(unchanged(|i| noise(i) + 2f64.powf(i as f64 - 500.0), 1000), 0);
    assert_eq!(unchanged(|i| if i % 50 == 49 { (1.0 + 40.0 * uniform(i)).round() } else { 0.0 }, 5000), 0);
    assert_eq!(unchanged(|i| noise(i) * if i > 900 { 20.0 } else { 1.0 }, 2000), 0);
    // Student's t with 3 degrees of freedom.
    let chi = |i: usize| (1..=3).map(|k| normal(2 + k, i as u64).powi(2)).sum::<f64>() / 3.0;
    assert_eq!(unchanged(|i| noise(i) / chi(i).sqrt(), 20_000), 0);
    // Frequent ones are learned after some.
    let frequent = unchanged(|i| noise(i) + 1e4 * f64::from(u8::from(i % 50 == 49)), 5000);
    assert!((1..=5).contains(&frequent), "{frequent}");
}

fn forecaster() -> Dynamics {
    let mut spec = DynamicsSpec::automatic();
    (spec.delays.count, spec.horizons, spec.candidates) = (3, vec![1, 6], true);
    spec.build().unwrap()
}

#[test]
fn forecasts_are_those_with_the_outlier_replaced_in_any_chunks_and_from_a_file() {
    let states = wave(200, 150, &[-9999.0, 1e6]);
    let mut whole = forecaster();
    whole.follow(states.view(), 1, false).unwrap();
    let mut expected = forecaster();
    expected.follow(learned(&states).0.view(), 1, false).unwrap();
    let ahead = |model: &Dynamics| model.ahead(None, None, 1, 0).unwrap();
    assert_eq!(ahead(&whole), ahead(&expected));
    assert_eq!((whole.n_left_out(), expected.n_left_out()), (2, 0));
    assert_eq!(whole.n_seen(), expected.n_seen());
    assert_eq!(whole.take_first_outlier(), Some((0, -9999.0)));
    for row in [100, 150, 151, 152] {
        let mut parts = forecaster();
        parts.follow(states.slice(s![..row, ..]), 1, false).unwrap();
        let bytes = parts.to_bytes(serde_json::Value::Null).unwrap();
        let mut parts = Dynamics::from_bytes(&bytes).unwrap().0;
        for i in row..200 {
            parts.follow(states.slice(s![i..=i, ..]), 1, true).unwrap();
        }
        assert_eq!(ahead(&parts), ahead(&whole));
        let bytes = |model: &Dynamics| model.to_bytes(serde_json::Value::Null).unwrap();
        assert!(bytes(&parts) == bytes(&whole));
    }
    // Along a given history too, and from the outlier itself.
    let replaced = learned(&states).0;
    let along = |states: ArrayView2<'_, f64>| whole.ahead(Some(states), None, 1, 0).unwrap();
    assert_eq!(along(states.view()), along(replaced.view()));
    let mut there = forecaster();
    there.follow(states.slice(s![..151, ..]), 1, false).unwrap();
    let last = there.ahead(Some(states.slice(s![150..151, ..])), None, 1, 0).unwrap();
    assert_eq!(last, ahead(&there));
}

#[test]
fn a_burst_is_learned_as_if_none_of_it_had_been_replaced() {
    let ahead = |model: &Dynamics| model.ahead(None, None, 1, 0).unwrap();
    let values = [5e3, 50.0, -4e3, 51.0, 55.0, 7e3, 52.0, -6e3, 49.0];
    let states = wave(160, 150, &values);
    let mut parts = forecaster();
    parts.follow(states.slice(s![..150, ..]), 1, false).unwrap();
    let mut whole = parts.clone();
    whole.spikes.widen(0, [1e4, -1e4].iter());
    for i in 150..160 {
        let row = states.slice(s![i..=i, ..]);
        whole.follow(row, 1, true).unwrap();
        parts.follow(row, 1, true).unwrap();
        assert_eq!(ahead(&parts) == ahead(&whole), i > 156);
    }
    assert_eq!(parts.n_left_out(), 0);
    let along = |model: &Dynamics| model.ahead(Some(states.view()), None, 1, 155).unwrap();
    assert_eq!(along(&parts), along(&whole));
}

#[test]
fn a_new_level_is_learned_as_if_none_of_it_had_been_replaced() {
    let ahead = |model: &Dynamics| model.ahead(None, None, 1, 0).unwrap();
    let states = wave(170, 150, &[5e3; 20]);
    let mut whole = forecaster();
    whole.follow(states.slice(s![..150, ..]), 1, false).unwrap();
    let mut parts = whole.clone();
    whole.spikes.widen(0, [1e4].iter());
    for i in 150..170_usize {
        let row = states.slice(s![i..=i, ..]);
        whole.follow(row, 1, true).unwrap();
        parts.follow(row, 1, true).unwrap();
        assert_eq!(ahead(&parts) == ahead(&whole), i > 152);
        assert_eq!(parts.n_left_out(), if i > 152 { 0 } else { i as u64 - 149 });
        assert_eq!(parts.take_first_outlier(), None);
        let bytes = parts.to_bytes(Value::Null).unwrap();
        parts = Dynamics::from_bytes(&bytes).unwrap().0;
        assert!(parts.to_bytes(Value::Null).unwrap() == bytes);
    }
    // Along a given history too.
    let along = |model: &Dynamics| model.ahead(Some(states.view()), None, 1, 160).unwrap();
    let mut expected = parts.clone();
    expected.spikes = Spikes::default();
    assert_eq!(along(&parts), along(&expected));
}
