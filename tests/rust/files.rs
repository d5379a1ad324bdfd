//! Model files of types that are known when the program is compiled.

use kernelstream::basis::{BasisSpec, Fourier, FourierSpec, KnownBasis, Kors, KorsSpec, Nested, Taylor};
use kernelstream::control::{Controller, ControllerSpec};
use kernelstream::dynamics::{Dynamics, DynamicsSpec};
use kernelstream::kernel::Kernel;
use kernelstream::koopman::{Koopman, KoopmanSpec};
use kernelstream::learner::{
    GaussNewton, GaussNewtonSpec, Gradient, GradientSpec, Interpolation, InterpolationSpec, KnownLearner,
    OnlineNewton, OnlineNewtonSpec, Ridge, RidgeSpec,
};
use kernelstream::stream::{AnyStream, Stream};
use kernelstream::{AnyModel, Model as _, Persist, Result};
use ndarray::{Array2, Axis, concatenate, s};
use serde_json::{Value, json};

fn rows(n: usize) -> (Array2<f64>, Array2<f64>) {
    let x = Array2::from_shape_fn((n, 1), |(i, _)| (i as f64 * 0.618).fract() * 2.0 - 1.0);
    let y = x.mapv(|x| (3.0 * x).sin());
    (x, y)
}

/// A stream resumes from its file to the bit, and its file is that of the same stream chosen when the program runs.
fn check_resumes<B: KnownBasis, L: KnownLearner>(basis: B, learner: L) -> Result<()> {
    let mut model = Stream::new(basis, learner);
    let (untrained, _) = Stream::<B, L>::from_bytes(&model.to_bytes(Value::Null)?)?;
    assert_eq!((untrained.n_seen(), untrained.spec()), (0, model.spec()));
    let mut any = AnyStream::from_spec(model.spec_json()?)?;
    let (x, y) = rows(300);
    let (first, rest) = (s![..200, ..], s![200.., ..]);
    model.learn(x.slice(first), y.slice(first))?;
    any.learn(x.slice(first), y.slice(first))?;

    let bytes = model.to_bytes(json!({"offset": 200}))?;
    assert!(bytes == any.to_bytes(json!({"offset": 200}))?);
    let (mut again, extra) = Stream::<B, L>::from_bytes(&bytes)?;
    assert_eq!(extra["offset"], 200);
    let mut converted = AnyModel::from(again.clone());
    for next in [&mut again as &mut dyn kernelstream::CompleteModel, &mut *converted, &mut any] {
        next.learn(x.slice(rest), y.slice(rest))?;
    }
    model.learn(x.slice(rest), y.slice(rest))?;
    let bytes = model.to_bytes(Value::Null)?;
    assert!(bytes == again.to_bytes(Value::Null)? && bytes == any.to_bytes(Value::Null)?);
    assert!(bytes == converted.to_bytes(Value::Null)?);
    Ok(())
}

#[test]
fn streams_of_any_types_of_the_specifications_resume_from_their_files() -> Result<()> {
    let kernel = || Kernel::gaussian(0.5);
    check_resumes(Nested::ald(kernel()?, 1e-3)?, Ridge::new(RidgeSpec::default())?)?;
    check_resumes(Nested::noisy_points(kernel()?, 0.1)?, Interpolation::new(InterpolationSpec::default())?)?;
    check_resumes(Kors::new(kernel()?, KorsSpec::default())?, Gradient::new(GradientSpec::default())?)?;
    check_resumes(Taylor::new(kernel()?, 3)?, OnlineNewton::new(OnlineNewtonSpec::default())?)?;
    check_resumes(
        Fourier::new(kernel()?, FourierSpec::default())?,
        GaussNewton::new(GaussNewtonSpec::default())?,
    )?;
    let first = BasisSpec::FirstPoints { size: 20, loss_driven: false, rank: Some(10) };
    check_resumes(first.build(&kernel()?.into())?, Ridge::new(RidgeSpec::default())?)
}

#[test]
fn a_file_of_other_types_is_refused_with_the_part_and_the_remedy() -> Result<()> {
    let mut model = AnyModel::from_json("{}")?;
    model.learn_one(&[1.0], &[2.0])?;
    let bytes = model.to_bytes(Value::Null)?;
    assert!(Stream::<Nested, Ridge>::from_bytes(&bytes).is_ok());
    let error = Stream::<Taylor, Ridge>::from_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("basis") && error.contains("an AnyModel can be"), "{error}");
    let error = Stream::<Nested, Gradient>::from_bytes(&bytes).unwrap_err().to_string();
    assert!(error.contains("learner") && error.contains("another type"), "{error}");
    assert!(Stream::<Nested, Ridge>::from_spec(json!({"learner": {"type": "gradient"}})).is_err());
    Ok(())
}

#[test]
fn a_stream_that_no_specification_allows_is_not_written() -> Result<()> {
    let basis = Nested::ald(Kernel::gaussian(0.5)?, 1e-3)?;
    let model = Stream::new(basis, Interpolation::new(InterpolationSpec::default())?);
    let error = model.to_bytes(Value::Null).unwrap_err().to_string();
    assert!(error.contains("noisy_points"), "{error}");
    Ok(())
}

/// A model from its specification, and from its bytes and its compact ones, whose bytes are the same.
fn check_round_trip<M: Persist>(model: &M) -> Result<()> {
    let untrained = M::from_spec(model.spec_json()?)?;
    assert_eq!(untrained.spec_json()?, model.spec_json()?);
    let bytes = model.to_bytes(json!([7]))?;
    for bytes in [&bytes, &model.to_compact_bytes(json!([7]))?] {
        let (again, extra) = M::from_bytes(bytes)?;
        assert!(extra == json!([7]) && again.to_bytes(extra)? == *bytes);
    }
    #[cfg(feature = "files")]
    {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        model.save(&path, json!([7]))?;
        assert!(M::load(&path)?.0.to_bytes(json!([7]))? == bytes);
    }
    Ok(())
}

#[test]
fn operators_dynamics_and_controllers_are_saved_as_models_are() -> Result<()> {
    let (x, next) = rows(60);
    let mut koopman = KoopmanSpec::default().build()?;
    koopman.learn(x.view(), next.view())?;
    check_round_trip::<Koopman>(&koopman)?;

    let mut dynamics = DynamicsSpec { horizons: vec![1, 3], ..DynamicsSpec::automatic() }.build()?;
    check_round_trip::<Dynamics>(&dynamics)?;
    dynamics.follow(x.view(), 1, false)?;
    check_round_trip::<Dynamics>(&dynamics)?;
    // An operator alone has the file of one.
    let bytes = Dynamics::from(koopman.clone()).to_bytes(Value::Null)?;
    assert!(bytes == koopman.to_bytes(Value::Null)?);

    let mut controller = ControllerSpec::new(vec![vec![-0.1], vec![0.1]]).build()?;
    let actions = x.mapv(|x| if x < 0.0 { 0.1 } else { -0.1 });
    controller.learn(concatenate![Axis(1), x, actions].view(), (&x + &actions).view())?;
    controller.improve(Array2::zeros((controller.states().nrows(), 2)).view(), None)?;
    check_round_trip::<Controller>(&controller)
}
