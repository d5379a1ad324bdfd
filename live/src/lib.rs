//! What the live page asks of kernelstream.
//!
//! Numbers go to and fro in one buffer: the page asks for [`room`], writes there, calls a function, and reads the answer
//! from the same place. A count below zero says that there is no answer.

use std::cell::RefCell;

use kernelstream::koopman::{Koopman, KoopmanSpec, Truncation};
use kernelstream::{AnyModel, Error, Result};
use ndarray::{Array2, ArrayView2, s};

/// What the page has learned, and the numbers on their way.
struct Page {
    numbers: Vec<f64>,
    curve: Option<AnyModel>,
    motion: Option<Koopman>,
}

thread_local! {
    static PAGE: RefCell<Page> = const { RefCell::new(Page { numbers: Vec::new(), curve: None, motion: None }) };
}

const NONE: i32 = -1;

impl Page {
    /// The first rows of the buffer.
    fn rows(&self, count: usize, width: usize) -> Result<Array2<f64>> {
        let given = self.numbers.get(..count * width).ok_or(Error::NothingLearned)?;
        ArrayView2::from_shape((count, width), given)
            .map_or(Err(Error::NothingLearned), |rows| Ok(rows.to_owned()))
    }

    /// Leaves an answer in the buffer, and says how many numbers it has.
    fn answer(&mut self, numbers: impl IntoIterator<Item = f64>) -> i32 {
        self.numbers.clear();
        self.numbers.extend(numbers);
        i32::try_from(self.numbers.len()).unwrap_or(NONE)
    }

    fn curve(&mut self) -> Result<&mut AnyModel> {
        self.curve.as_mut().ok_or(Error::NothingLearned)
    }

    fn motion(&mut self) -> Result<&mut Koopman> {
        self.motion.as_mut().ok_or(Error::NothingLearned)
    }

    fn learn_curve(&mut self, count: usize) -> Result<i32> {
        let points = self.rows(count, 2)?;
        self.curve()?.learn(points.slice(s![.., ..1]), points.slice(s![.., 1..]))?;
        Ok(0)
    }

    fn predict_curve(&mut self, count: usize) -> Result<i32> {
        let x = self.rows(count, 1)?;
        let made = self.curve()?.predict(x.view())?;
        Ok(self.answer(made))
    }

    fn follow(&mut self, count: usize, continued: bool) -> Result<i32> {
        let states = self.rows(count, 2)?;
        self.motion()?.follow(states.view(), 1, continued)?;
        Ok(0)
    }

    fn eigenvalues(&mut self) -> Result<i32> {
        let spectrum = self.motion()?.spectrum()?;
        Ok(self.answer(spectrum.values().iter().flat_map(|value| [value.re, value.im])))
    }

    fn eigenfunction(&mut self, count: usize, k: usize) -> Result<i32> {
        let states = self.rows(count, 2)?;
        let values = self.motion()?.eigenfunctions(states.view(), k + 1)?;
        let column: Vec<f64> = values.column(k).iter().flat_map(|value| [value.re, value.im]).collect();
        Ok(self.answer(column))
    }

    fn forecast(&mut self, steps: usize) -> Result<i32> {
        let state = self.rows(1, 2)?;
        let steps: Vec<usize> = (1..=steps).collect();
        let ahead = self.motion()?.forecast(state.view(), &steps, Truncation::default())?;
        Ok(self.answer(ahead))
    }
}

fn with(act: impl FnOnce(&mut Page) -> Result<i32>) -> i32 {
    PAGE.with_borrow_mut(|page| act(page).unwrap_or(NONE))
}

/// Makes room for so many numbers; where it is.
#[unsafe(no_mangle)]
pub extern "C" fn room(count: usize) -> *const f64 {
    PAGE.with_borrow_mut(|page| {
        page.numbers.resize(count, 0.0);
        page.numbers.as_ptr()
    })
}

/// Where the answer is.
#[unsafe(no_mangle)]
pub extern "C" fn place() -> *const f64 {
    PAGE.with_borrow(|page| page.numbers.as_ptr())
}

/// Begins a curve, of this length scale.
#[unsafe(no_mangle)]
pub extern "C" fn begin_curve(bandwidth: f64) -> i32 {
    let spec = format!(
        r#"{{"kernel": {{"type": "gaussian", "bandwidth": {bandwidth}}},
            "basis": {{"type": "ald", "tolerance": 0.001, "max_size": 200}},
            "learner": {{"type": "ridge", "regularization": 0.1}}}}"#
    );
    with(|page| {
        page.curve = Some(AnyModel::from_json(&spec)?);
        Ok(0)
    })
}

/// Learns points x, y.
#[unsafe(no_mangle)]
pub extern "C" fn learn_curve(count: usize) -> i32 {
    with(|page| page.learn_curve(count))
}

/// The curve at x.
#[unsafe(no_mangle)]
pub extern "C" fn predict_curve(count: usize) -> i32 {
    with(|page| page.predict_curve(count))
}

/// Where the stored points of the curve are.
#[unsafe(no_mangle)]
pub extern "C" fn stored_curve() -> i32 {
    with(|page| {
        let stored = page.curve()?.dictionary();
        Ok(page.answer(stored))
    })
}

/// Begins the operator of a motion of two numbers, of this length scale.
#[unsafe(no_mangle)]
pub extern "C" fn begin_motion(bandwidth: f64) -> i32 {
    let spec = format!(
        r#"{{"kernel": {{"type": "gaussian", "bandwidth": {bandwidth}}},
            "dictionaries": {{"shared": {{"type": "ald", "tolerance": 0.01, "max_size": 200}}}},
            "learner": {{"type": "ridge", "regularization": 0.1, "center": false, "clip": false}}}}"#
    );
    with(|page| {
        page.motion = Some(KoopmanSpec::from_json(&spec)?.build()?);
        Ok(0)
    })
}

/// Learns states, one after the other; `continued`: the first follows the last of the call before.
#[unsafe(no_mangle)]
pub extern "C" fn follow(count: usize, continued: bool) -> i32 {
    with(|page| page.follow(count, continued))
}

/// Eigenvalues, by decreasing modulus: real and imaginary parts.
#[unsafe(no_mangle)]
pub extern "C" fn eigenvalues() -> i32 {
    with(Page::eigenvalues)
}

/// The eigenfunction of eigenvalue `k` at states: real and imaginary parts.
#[unsafe(no_mangle)]
pub extern "C" fn eigenfunction(count: usize, k: usize) -> i32 {
    with(|page| page.eigenfunction(count, k))
}

/// What follows a state, so many steps.
#[unsafe(no_mangle)]
pub extern "C" fn forecast(steps: usize) -> i32 {
    with(|page| page.forecast(steps))
}

/// The stored states of the motion.
#[unsafe(no_mangle)]
pub extern "C" fn stored_motion() -> i32 {
    with(|page| {
        let stored = page.motion()?.dictionary();
        Ok(page.answer(stored))
    })
}
