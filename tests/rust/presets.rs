//! The presets are those of Python: both are compared with one table, `presets.json`.

use std::collections::BTreeSet;

use kernelstream::basis::{FourierSpec, KorsSpec, SketchedSpec};
use kernelstream::budget::{self, BudgetedSpec};
use kernelstream::kernel::KernelSpec;
use kernelstream::learner::Loss;
use kernelstream::stream::{self, ModelSpec};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// An argument of a preset, or its default.
fn argument<T: DeserializeOwned>(arguments: &Map<String, Value>, name: &str) -> T {
    let value = arguments.get(name).cloned().unwrap_or(Value::Null);
    serde_json::from_value(value).unwrap_or_else(|error| panic!("{name}: {error}"))
}

enum Built {
    Stream(ModelSpec),
    Budgeted(BudgetedSpec),
}

fn build(name: &str, arguments: &Map<String, Value>) -> Built {
    use {budget::presets as budgeted, stream::presets};
    let kernel = KernelSpec::Gaussian { bandwidth: Some(1.0) };
    let number = |name: &str| argument::<f64>(arguments, name);
    let count = |name: &str| argument::<usize>(arguments, name);
    let bound = || argument::<Option<f64>>(arguments, "bound");
    let seed = || argument::<u64>(arguments, "random_state");
    let loss = || argument::<Loss>(arguments, "loss");
    let drawn = |mu: &str| KorsSpec {
        regularization: number(mu),
        max_size: argument(arguments, "max_size"),
        random_state: seed(),
        ..KorsSpec::default()
    };
    let sketched = || SketchedSpec {
        size: count("size"),
        period: argument(arguments, "period"),
        random_state: seed(),
        ..SketchedSpec::default()
    };
    Built::Stream(match name {
        "aogd_ald" => presets::aogd_ald(kernel, number("tolerance"), argument(arguments, "radius")),
        "nons_ald" => presets::nons_ald(kernel, number("mu"), number("tolerance"), bound()),
        "krls_ald" => presets::krls_ald(kernel, number("tolerance")),
        "kernel_ridge" => presets::kernel_ridge(kernel, number("regularization")),
        "kernel_awv" => presets::kernel_awv(kernel, number("regularization")),
        "kons" => presets::kons(kernel, number("mu"), bound()),
        "sketched_kons" => presets::sketched_kons(kernel, number("mu"), bound(), number("share"), seed()),
        "pros_n_kons" => presets::pros_n_kons(kernel, number("alpha"), bound(), drawn("gamma")),
        "con_kons" => presets::con_kons(kernel, number("alpha"), bound(), drawn("gamma")),
        "pkawv_taylor" => presets::pkawv_taylor(kernel, number("regularization"), count("degree")),
        "pkawv_nystroem" => {
            let history = argument(arguments, "history");
            presets::pkawv_nystroem(kernel, number("regularization"), history, drawn("mu"))
        }
        "fogd" => {
            let features =
                FourierSpec { size: count("size"), random_state: seed(), ..FourierSpec::default() };
            presets::fogd(kernel, number("step"), features)
        }
        "nogd" => presets::nogd(kernel, number("step"), count("size"), count("rank")),
        "forks" => presets::forks(kernel, sketched()),
        "skegd" => presets::skegd(kernel, sketched()),
        _ => {
            return Built::Budgeted(match name {
                "kogd" => {
                    let most = argument(arguments, "budget");
                    budgeted::kogd(kernel, loss(), number("step"), number("regularization"), most)
                }
                "rbp" => budgeted::rbp(kernel, count("budget"), seed()),
                "bpas" => budgeted::bpas(kernel, count("budget"), number("aggressiveness")),
                "projectron" => {
                    let (most, margin) = (argument(arguments, "budget"), argument(arguments, "margin"));
                    budgeted::projectron(kernel, number("tolerance"), most, margin)
                }
                "bogd" => {
                    let (step, regularization) = (number("step"), number("regularization"));
                    let most = number("max_coefficient");
                    budgeted::bogd(kernel, loss(), count("budget"), step, regularization, most, seed())
                }
                _ => panic!("{name} is not a preset here"),
            });
        }
    })
}

#[test]
fn presets_are_those_of_the_table() {
    let table: Map<String, Value> = serde_json::from_str(include_str!("../presets.json")).unwrap();
    for (name, entry) in &table {
        let mut expected = entry["spec"].clone();
        match build(name, entry["arguments"].as_object().unwrap()) {
            Built::Stream(found) => {
                assert_eq!(found, serde_json::from_value(expected).unwrap(), "{name}");
            }
            Built::Budgeted(found) => {
                expected.as_object_mut().unwrap().remove("basis");
                assert_eq!(found, serde_json::from_value(expected).unwrap(), "{name}");
            }
        }
    }
}

#[test]
fn every_preset_is_in_the_table() {
    let table: Map<String, Value> = serde_json::from_str(include_str!("../presets.json")).unwrap();
    let sources =
        [include_str!("../../src/stream/presets.rs"), include_str!("../../src/budget/presets.rs")].concat();
    let written: BTreeSet<&str> = sources
        .lines()
        .filter_map(|line| line.strip_prefix("pub fn "))
        .filter_map(|line| line.split('(').next())
        .collect();
    assert_eq!(written, table.keys().map(String::as_str).collect());
}
