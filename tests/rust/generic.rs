//! Code that is generic over models.

use kernelstream::basis::Nested;
use kernelstream::dynamics::DynamicsSpec;
use kernelstream::experts::{Expert, Experts, MixtureSpec};
use kernelstream::kernel::Kernel;
use kernelstream::koopman::KoopmanSpec;
use kernelstream::learner::{Ridge, RidgeSpec};
use kernelstream::linalg::Panel;
use kernelstream::model::InnerModel;
use kernelstream::stream::Stream;
use kernelstream::uncertainty::{Calibration, Diagnostics, Prequential, Spread};
use kernelstream::{AnyModel, CompleteModel, Introspection, Model, Result, Uncertainty};
use ndarray::{Array2, ArrayView1, ArrayView2, array, s};

/// The mean squared prequential error.
fn evaluate<M: Model>(model: &mut M, x: ArrayView2<'_, f64>, y: ArrayView2<'_, f64>) -> Result<f64> {
    let predictions = model.learn_and_predict(x, y)?;
    Ok((predictions - y).mapv(|error| error * error).mean().unwrap_or(0.0))
}

fn rows(n: usize) -> (Array2<f64>, Array2<f64>) {
    let x = Array2::from_shape_fn((n, 2), |(i, j)| (i as f64 * [0.618, 0.414][j]).fract() * 2.0 - 1.0);
    let y = Array2::from_shape_fn((n, 1), |(i, _)| (3.0 * x[(i, 0)]).sin());
    (x, y)
}

#[test]
fn code_for_any_model_takes_streams_and_models_of_any_kind() -> Result<()> {
    let (x, y) = rows(300);
    let learner = || Ridge::new(RidgeSpec::default());
    let mut stream = Stream::new(Nested::ald(Kernel::gaussian(1.0)?, 1e-3)?, learner()?);
    let mut any = AnyModel::from(stream.clone());
    let errors = [evaluate(&mut stream, x.view(), y.view())?, evaluate(&mut any, x.view(), y.view())?];
    assert!(errors[0] < 0.1 && errors[0].to_bits() == errors[1].to_bits());
    Ok(())
}

/// Every answer of a model.
fn answers<M: CompleteModel + ?Sized>(model: &M, x: ArrayView2<'_, f64>) -> Vec<String> {
    vec![
        format!("{:?}", model.predict(x)),
        format!("{:?}", model.predict_one(&[0.1, 0.2])),
        format!("{:?}", model.predict_with_spread(x, Spread::Interval)),
        format!("{:?}", model.predict_with_deviation(x)),
        format!("{:?}", model.interval(x, 0.8)),
        format!(
            "{:?}",
            (model.noise(), model.knows_deviation(), model.calibration().map(Calibration::coverage))
        ),
        format!("{:?}", (model.n_seen(), model.n_features(), model.n_outputs(), model.can_refuse(None))),
        format!("{:?}", (model.n_stored(), model.dictionary(), model.condition(), model.mixture())),
        format!("{:?}", (model.transform(x), model.novelty(x), model.gradient(x))),
        format!("{:?}", (model.importances(), model.importances_at(x))),
        format!("{:?}", (model.quality(), model.diagnostics())),
    ]
}

#[test]
fn a_model_of_any_kind_answers_as_the_model_that_it_is() -> Result<()> {
    let (x, y) = rows(120);
    for spec in [
        "{}",
        r#"{"learner": {"type": "budgeted_gradient"}}"#,
        r#"{"experts": [{}, {"learner": {"type": "gradient"}}]}"#,
        r#"{"adaptive": {}}"#,
        r#"{"columns": {}}"#,
    ] {
        let mut model = AnyModel::from_json(spec)?;
        let mut inside = model.clone();
        Model::learn(&mut model, x.view(), y.view())?;
        (*inside).learn(x.view(), y.view())?;
        let mut made = [[0.0], [0.0]];
        Model::learn_one(&mut model, &[0.3, 0.3], &[0.8])?;
        (*inside).learn_one(&[0.3, 0.3], &[0.8])?;
        Model::predict_and_learn_one(&mut model, &[0.3, 0.1], &[0.8], &mut made[0])?;
        (*inside).predict_and_learn_one(&[0.3, 0.1], &[0.8], &mut made[1])?;
        assert_eq!(made[0][0].to_bits(), made[1][0].to_bits());
        let asked = x.slice(s![..5, ..]);
        assert_eq!(answers(&model, asked), answers(&*inside, asked), "{spec}");
    }
    Ok(())
}

/// A model of one's own: the mean of the targets so far.
#[derive(Clone, Default)]
struct Mean {
    sum: f64,
    count: u64,
}

impl Model for Mean {
    fn check(
        &self,
        _: ArrayView2<'_, f64>,
        _: ArrayView2<'_, f64>,
        _: Option<ArrayView1<'_, f64>>,
    ) -> Result<()> {
        Ok(())
    }

    fn learn_prequential(
        &mut self,
        x: ArrayView2<'_, f64>,
        y: ArrayView2<'_, f64>,
        _: Option<ArrayView1<'_, f64>>,
        mut prequential: Prequential<'_>,
        _: &mut dyn FnMut(usize) -> bool,
    ) -> Result<usize> {
        for (i, y) in y.column(0).iter().enumerate() {
            if let Some(predictions) = &mut prequential.predictions {
                predictions[(i, 0)] = self.sum / self.count.max(1) as f64;
            }
            (self.sum, self.count) = (self.sum + y, self.count + 1);
        }
        Ok(x.nrows())
    }

    fn predict(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        Ok(Array2::from_elem((x.nrows(), 1), self.sum / self.count as f64))
    }

    fn predict_one_into(&self, _: &[f64], out: &mut [f64]) -> Result<()> {
        out.fill(self.sum / self.count as f64);
        Ok(())
    }

    fn n_seen(&self) -> u64 {
        self.count
    }

    fn n_features(&self) -> Option<usize> {
        self.n_outputs().map(|_| 1)
    }

    fn n_outputs(&self) -> Option<usize> {
        (self.count > 0).then_some(1)
    }
}

impl Uncertainty for Mean {}

impl Introspection for Mean {
    fn transform(&self, x: ArrayView2<'_, f64>) -> Result<Array2<f64>> {
        Ok(Array2::ones((x.nrows(), 1)))
    }

    fn dictionary(&self) -> Array2<f64> {
        Array2::zeros((0, 0))
    }

    fn n_stored(&self) -> usize {
        0
    }

    fn quality(&self) -> Diagnostics {
        Diagnostics::default()
    }
}

impl InnerModel for Mean {}

impl Expert for Mean {}

#[test]
fn models_of_ones_own_can_be_experts() -> Result<()> {
    let mut experts = Experts::new(vec![Mean::default(), Mean::default()], MixtureSpec::default())?;
    experts.learn(array![[0.0], [1.0], [2.0]].view(), array![[1.0], [2.0], [6.0]].view())?;
    assert!((experts.predict_one(&[5.0])?[0] - 3.0).abs() < 1e-12);
    Ok(())
}

#[test]
fn debug_output_is_short_and_has_the_sizes() -> Result<()> {
    let (x, y) = rows(200);
    let mut stream =
        Stream::new(Nested::ald(Kernel::gaussian(1.0)?, 1e-3)?, Ridge::new(RidgeSpec::default())?);
    stream.learn(x.view(), y.view())?;
    let mut table = AnyModel::from_json(r#"{"experts": [{}, {}]}"#)?;
    table.learn(x.view(), y.view())?;
    let mut koopman = KoopmanSpec::default().build()?;
    koopman.learn(x.view(), x.view())?;
    let mut dynamics = DynamicsSpec::automatic().build()?;
    dynamics.follow(x.view(), 1, false)?;
    for text in [
        format!("{stream:?}"),
        format!("{table:?}"),
        format!("{koopman:?}"),
        format!("{dynamics:?}"),
        format!("{:?}", Panel::zeros(100, 100)),
    ] {
        assert!(text.len() < 500, "{text}");
    }
    assert!(format!("{stream:?}").contains("n_seen: 200"), "{stream:?}");
    Ok(())
}
