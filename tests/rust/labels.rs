//! Learners of labels against dense linear models: with the linear kernel the coordinates are a
//! rotation of the features, so predictions are those of the same steps on the features themselves.

use faer::linalg::solvers::Solve as _;
use faer::{Col, Mat};
use kernelstream::basis::BasisSpec;
use kernelstream::kernel::KernelSpec;
use kernelstream::learner::{GaussNewtonSpec, LearnerSpec, Loss, OnlineNewtonSpec};
use kernelstream::stream::{AnyStream, ModelSpec};
use kernelstream::{AnyModel, Model as _, Persist as _};
use ndarray::{Array1, Array2};
use serde_json::{Value, json};

const WIDTH: usize = 4;

/// Rows, signs of three classes, and weights; the bends of the labels are not linear.
fn labelled(rows: usize) -> (Array2<f64>, Array2<f64>, Array1<f64>) {
    let x = Array2::from_shape_fn((rows, WIDTH), |(i, j)| ((i * (j + 3)) as f64 * 0.618).fract() * 2.0 - 1.0);
    let class = |i: usize| match x.row(i).sum() {
        s if s < -0.4 => 0,
        s if s < 0.5 => 1,
        _ => 2,
    };
    let y = Array2::from_shape_fn((rows, 3), |(i, c)| if class(i) == c { 1.0 } else { -1.0 });
    let weights = Array1::from_shape_fn(rows, |i| [1.0, 0.25, 3.0][class(i)]);
    (x, y, weights)
}

fn model(learner: LearnerSpec) -> AnyStream {
    ModelSpec { kernel: KernelSpec::Linear {}, basis: BasisSpec::ald(1e-6), learner }.build().unwrap()
}

/// What a row does, from its predictions, targets, weight and `x' A^{-1} x` before it: the slopes that the weights go
/// down by, along `A^{-1} x` as the row leaves `A`, and what it adds to the curvature.
type Step<'a> = &'a dyn Fn(&[f64], &[f64], f64, f64) -> (Vec<f64>, f64);

/// Forecasts of steps `w <- w - slope A^-1 x`, `A <- A + c x x'`, every system solved from scratch.
fn dense(
    (x, y, weights): (&Array2<f64>, &Array2<f64>, Option<&Array1<f64>>),
    regularization: f64,
    rule: Step<'_>,
) -> Array2<f64> {
    let mut a = Mat::<f64>::identity(WIDTH, WIDTH) * faer::Scale(regularization);
    let mut w = Mat::<f64>::zeros(WIDTH, 3);
    let mut predictions = Array2::zeros(y.raw_dim());
    for i in 0..x.nrows() {
        let row = Col::from_fn(WIDTH, |j| x[(i, j)]);
        let prequential: Vec<f64> = (0..3).map(|c| w.col(c).transpose() * &row).collect();
        let truth: Vec<f64> = y.row(i).to_vec();
        let weight = weights.map_or(1.0, |weights| weights[i]);
        let quadratic = row.transpose() * a.partial_piv_lu().solve(&row);
        let (slopes, curvature) = rule(&prequential, &truth, weight, quadratic);
        a += &row * row.transpose() * faer::Scale(curvature);
        let step = a.partial_piv_lu().solve(&row);
        for c in 0..3 {
            for j in 0..WIDTH {
                w[(j, c)] -= slopes[c] * step[j];
            }
            predictions[(i, c)] = prequential[c];
        }
    }
    predictions
}

/// The proximal point of a loss, by bisection.
fn proximal_point(loss: Loss, start: f64, y: f64, scale: f64) -> f64 {
    let (mut low, mut high) =
        (start - 9.0 * scale * (1.0 + start.abs()), start + 9.0 * scale * (1.0 + start.abs()));
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        let beyond = middle - start + scale * loss.derivative(middle, y) > 0.0;
        *(if beyond { &mut high } else { &mut low }) = middle;
    }
    0.5 * (low + high)
}

fn largest_gap(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn gauss_newton_steps_end_at_proximal_points() {
    let (x, y, weights) = labelled(300);
    for loss in [Loss::SquaredHinge, Loss::Logistic, Loss::Squared, Loss::Huber(0.5)] {
        for weights in [None, Some(&weights)] {
            let spec = GaussNewtonSpec { loss, regularization: 0.1, ..GaussNewtonSpec::default() };
            let mut model = model(LearnerSpec::GaussNewton(spec));
            let mut prequential = Array2::zeros(y.raw_dim());
            let weight = weights.map(|weights| weights.view());
            model
                .learn_while(x.view(), y.view(), weight, Some(prequential.view_mut()), &mut |_| true)
                .unwrap();
            let expected = dense((&x, &y, weights), 0.1, &|prequential, truth, weight, quadratic| {
                let scale = weight * quadratic;
                let rows = prequential.iter().zip(truth);
                let ends: Vec<f64> = rows.map(|(f, y)| proximal_point(loss, *f, *y, scale)).collect();
                let bend =
                    |(end, y): (&f64, &f64)| weight * loss.secant_curvature(*end, *y, 6.0 * scale.sqrt());
                let curvature = ends.iter().zip(truth).map(bend).fold(0.0, f64::max);
                let slope = |(end, y): (&f64, &f64)| {
                    weight * loss.derivative(*end, *y) * (1.0 + curvature * quadratic)
                };
                (ends.iter().zip(truth).map(slope).collect(), curvature)
            });
            assert!(largest_gap(&prequential, &expected) < 1e-9, "{loss:?}");
        }
    }
}

#[test]
fn online_newton_steps_by_squared_slopes() {
    let (x, y, _) = labelled(300);
    for loss in [Loss::Hinge, Loss::SquaredHinge, Loss::Logistic] {
        let spec = OnlineNewtonSpec { loss, regularization: 0.1, clip: false, ..OnlineNewtonSpec::default() };
        let prequential =
            model(LearnerSpec::OnlineNewton(spec)).learn_and_predict(x.view(), y.view()).unwrap();
        let expected = dense((&x, &y, None), 0.1, &|prequential, truth, _, quadratic| {
            let curved = loss != Loss::Hinge;
            let counted = if curved { quadratic.recip().min(1.0) } else { 1.0 };
            let slopes: Vec<f64> =
                prequential.iter().zip(truth).map(|(f, y)| loss.derivative(*f, *y)).collect();
            let curvature = 0.5 * counted * slopes.iter().map(|slope| slope.powi(2)).sum::<f64>();
            // Steps on curved losses are implicit: along the slope at their end.
            let scale = counted * quadratic / (1.0 + curvature * quadratic);
            let end = |f: f64, y: f64| if curved { proximal_point(loss, f, y, scale) } else { f };
            let slope = |(f, y): (&f64, &f64)| counted * loss.derivative(end(*f, *y), *y);
            (prequential.iter().zip(truth).map(slope).collect(), curvature)
        });
        assert!(largest_gap(&prequential, &expected) < 1e-9, "{loss:?}");
    }
}

#[test]
fn a_row_of_weight_two_is_two_rows_of_the_squared_loss() {
    let (x, y, _) = labelled(100);
    for center in [false, true] {
        let spec = GaussNewtonSpec { loss: Loss::Squared, center, ..GaussNewtonSpec::default() };
        let mut twice = model(LearnerSpec::GaussNewton(spec.clone()));
        let mut weighted = model(LearnerSpec::GaussNewton(spec));
        let double = Array1::from_elem(1, 2.0);
        for (row, target) in x.rows().into_iter().zip(y.rows()) {
            let (row, target) = (row.insert_axis(ndarray::Axis(0)), target.insert_axis(ndarray::Axis(0)));
            twice.learn(row, target).unwrap();
            twice.learn(row, target).unwrap();
            weighted.learn_while(row, target, Some(double.view()), None, &mut |_| true).unwrap();
        }
        let gap = largest_gap(&twice.predict(x.view()).unwrap(), &weighted.predict(x.view()).unwrap());
        assert!(gap < 1e-9, "{gap}");
    }
}

#[test]
fn losses_without_curvature_are_refused() {
    for loss in [Loss::Hinge, Loss::Absolute] {
        let spec = GaussNewtonSpec { loss, ..GaussNewtonSpec::default() };
        let refused = LearnerSpec::GaussNewton(spec).build();
        assert!(refused.err().is_some_and(|error| error.to_string().contains("curvature")));
    }
}

/// Rows of one column, and labels of which a hundredth, where it is large, are 1.
fn rare(rows: usize) -> (Array2<f64>, Array2<f64>) {
    let x = Array2::from_shape_fn((rows, 1), |(i, _)| (i as f64 * 0.618).fract());
    let y = Array2::from_shape_fn((rows, 1), |(i, _)| f64::from(u8::from(i % 50 == 0 && x[(i, 0)] > 0.5)));
    (x, y)
}

#[test]
fn log_odds_of_gauss_newton_steps_are_calibrated_in_any_chunks_and_in_files() {
    let (x, y) = rare(3000);
    let share = y.mean().unwrap();
    let spec = |link: Option<&str>| json!({"labels": {"classes": [0, 1], "link": link}, "columns": {}});
    let mut found = Vec::new();
    for link in [None, Some("logistic")] {
        let mut whole = AnyModel::from_spec(spec(link)).unwrap();
        whole.learn(x.view(), y.view()).unwrap();
        let mut parts = AnyModel::from_spec(spec(link)).unwrap();
        for start in (0..3000).step_by(37) {
            let rows = ndarray::s![start..(start + 37).min(3000), ..];
            parts.learn(x.slice(rows), y.slice(rows)).unwrap();
            parts = AnyModel::from_bytes(&parts.to_bytes(Value::Null).unwrap()).unwrap().0;
        }
        let odds = |model: &AnyModel| model.as_table().unwrap().outputs(x.view()).unwrap();
        let difference = &odds(&whole) - &odds(&parts);
        assert!(difference.iter().all(|gap| gap.abs() < 1e-6), "{difference}");
        let pieces = whole.as_table().unwrap().labels().unwrap().pieces().unwrap();
        let scores = whole.as_table().unwrap().model();
        let scores = scores.predict(whole.as_table().unwrap().features(x.view()).unwrap().view()).unwrap();
        let by_hand = match &pieces {
            None => scores,
            Some(pieces) => scores.mapv(|score| {
                let [scale, offset, above, below] = pieces[0];
                scale * score + offset + above * (score - 2.0).max(0.0) + below * (score + 2.0).min(0.0)
            }),
        };
        assert!((&odds(&whole) - &by_hand).iter().all(|gap| gap.abs() < 1e-12));
        found.push(odds(&whole).mapv(|odds| (1.0 + (-odds).exp()).recip()).mean().unwrap());
    }
    // A class of one row in a hundred is predicted as often as it comes.
    assert!((found[0] - share).abs() < 0.3 * share && found[1] > 1.2 * share, "{found:?}, {share}");
}

#[test]
fn weights_of_rows_count_by_their_ratios_in_calibrations() {
    let (x, y) = rare(2000);
    let spec = json!({"labels": {"classes": [0, 1], "link": "calibrated"}, "columns": {},
                      "model": {"learner": {"type": "ridge", "regularization": 1e-9}}});
    let mut pieces = Vec::new();
    for weight in [1.0, 1024.0] {
        let mut model = AnyModel::from_spec(spec.clone()).unwrap();
        let weights = Array1::from_elem(2000, weight);
        model.learn_while(x.view(), y.view(), Some(weights.view()), None, &mut |_| true).unwrap();
        pieces.push(model.as_table().unwrap().outputs(x.view()).unwrap());
    }
    let largest = (&pieces[0] - &pieces[1]).iter().fold(0.0_f64, |most, gap| most.max(gap.abs()));
    assert!(largest < 1e-3, "{largest}");
}
