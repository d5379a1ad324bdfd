//! Learners of labels against dense linear models: with the linear kernel the coordinates are a
//! rotation of the features, so predictions are those of the same steps on the features themselves.

use faer::linalg::solvers::Solve as _;
use faer::{Col, Mat};
use kernelstream::Model as _;
use kernelstream::basis::BasisSpec;
use kernelstream::kernel::KernelSpec;
use kernelstream::learner::{GaussNewtonSpec, LearnerSpec, Loss, OnlineNewtonSpec};
use kernelstream::stream::{AnyStream, ModelSpec};
use ndarray::{Array1, Array2};

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

/// Forecasts of steps `w <- w - weight l' A^-1 x`, `A <- A + c x x'`, every system solved anew.
fn dense(
    (x, y, weights): (&Array2<f64>, &Array2<f64>, Option<&Array1<f64>>),
    loss: Loss,
    regularization: f64,
    curvature: impl Fn(&[f64], &[f64], f64) -> f64,
) -> Array2<f64> {
    let mut a = Mat::<f64>::identity(WIDTH, WIDTH) * faer::Scale(regularization);
    let mut w = Mat::<f64>::zeros(WIDTH, 3);
    let mut predictions = Array2::zeros(y.raw_dim());
    for i in 0..x.nrows() {
        let row = Col::from_fn(WIDTH, |j| x[(i, j)]);
        let told: Vec<f64> = (0..3).map(|c| w.col(c).transpose() * &row).collect();
        let truth: Vec<f64> = y.row(i).to_vec();
        let weight = weights.map_or(1.0, |weights| weights[i]);
        a += &row * row.transpose() * faer::Scale(curvature(&told, &truth, weight));
        let step = a.partial_piv_lu().solve(&row);
        for c in 0..3 {
            let slope = weight * loss.derivative(told[c], truth[c]);
            for j in 0..WIDTH {
                w[(j, c)] -= slope * step[j];
            }
            predictions[(i, c)] = told[c];
        }
    }
    predictions
}

fn largest_gap(a: &Array2<f64>, b: &Array2<f64>) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn gauss_newton_steps_by_the_largest_second_derivative() {
    let (x, y, weights) = labelled(300);
    for loss in [Loss::SquaredHinge, Loss::Logistic, Loss::Squared, Loss::Huber(0.5)] {
        for weights in [None, Some(&weights)] {
            let spec = GaussNewtonSpec { loss, regularization: 0.1, ..GaussNewtonSpec::default() };
            let mut model = model(LearnerSpec::GaussNewton(spec));
            let mut told = Array2::zeros(y.raw_dim());
            let weight = weights.map(|weights| weights.view());
            model.learn_while(x.view(), y.view(), weight, Some(told.view_mut()), &mut |_| true).unwrap();
            let expected = dense((&x, &y, weights), loss, 0.1, |told, truth, weight| {
                let all = told.iter().zip(truth).map(|(f, y)| loss.curvature(*f, *y));
                weight * all.fold(0.0, f64::max)
            });
            assert!(largest_gap(&told, &expected) < 1e-9, "{loss:?}");
        }
    }
}

#[test]
fn online_newton_steps_by_squared_slopes() {
    let (x, y, _) = labelled(300);
    for loss in [Loss::Hinge, Loss::SquaredHinge, Loss::Logistic] {
        let spec = OnlineNewtonSpec { loss, regularization: 0.1, clip: false, ..OnlineNewtonSpec::default() };
        let told = model(LearnerSpec::OnlineNewton(spec)).learn_and_predict(x.view(), y.view()).unwrap();
        let expected = dense((&x, &y, None), loss, 0.1, |told, truth, _| {
            0.5 * told.iter().zip(truth).map(|(f, y)| loss.derivative(*f, *y).powi(2)).sum::<f64>()
        });
        assert!(largest_gap(&told, &expected) < 1e-9, "{loss:?}");
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
