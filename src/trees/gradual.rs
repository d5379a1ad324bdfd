//! Long work in parts, one with each row of the stream, so that no row waits for all of it.

use std::ops::ControlFlow;

/// Work in steps.
pub(crate) trait Steps: Clone {
    type Made;

    /// Does the next step, and returns about how many numbers it read; `None` if there is none left.
    fn step(&mut self) -> Option<usize>;

    fn finish(self) -> Self::Made;
}

/// Work that gets a part each row. When its result comes depends on the rows alone, also where it was saved in between:
/// a file has the result, and the number of rows until it comes.
#[derive(Clone, Debug)]
pub(crate) enum Gradual<S: Steps> {
    /// The work, and about how many numbers are read in a part of it.
    Working(Box<S>, usize),
    /// The result, and the rows until it comes.
    Made(S::Made, u64),
}

impl<S: Steps> Gradual<S> {
    pub fn new(steps: S, part: usize) -> Self {
        Self::Working(Box::new(steps), part)
    }

    /// Does a row's part of the work, and returns the result if this was the last.
    pub fn advance(work: &mut Option<Self>) -> Option<S::Made> {
        match work.take()?.work() {
            ControlFlow::Continue(rest) => {
                *work = Some(rest);
                None
            }
            ControlFlow::Break(made) => Some(made),
        }
    }

    /// Does a row's part. Breaks with the result if this was the last.
    fn work(self) -> ControlFlow<S::Made, Self> {
        match self {
            Self::Working(mut steps, part) => {
                let mut read = 0;
                while read < part {
                    match steps.step() {
                        Some(numbers) => read += numbers,
                        None => return ControlFlow::Break(steps.finish()),
                    }
                }
                ControlFlow::Continue(Self::Working(steps, part))
            }
            Self::Made(made, rows) if rows > 1 => ControlFlow::Continue(Self::Made(made, rows - 1)),
            Self::Made(made, _) => ControlFlow::Break(made),
        }
    }

    /// The result, and the number of rows until it comes.
    pub fn rest(&self) -> (S::Made, u64)
    where
        S::Made: Clone,
    {
        let mut steps = match self {
            Self::Working(steps, part) => Self::Working(steps.clone(), *part),
            Self::Made(made, rows) => return (made.clone(), *rows),
        };
        let mut rows = 1;
        loop {
            match steps.work() {
                ControlFlow::Continue(next) => steps = next,
                ControlFlow::Break(made) => return (made, rows),
            }
            rows += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds numbers, each a step of its size.
    #[derive(Clone, Debug)]
    struct Adding(Vec<usize>, usize);

    impl Steps for Adding {
        type Made = usize;

        fn step(&mut self) -> Option<usize> {
            let next = self.0.pop()?;
            self.1 += next;
            Some(next)
        }

        fn finish(self) -> usize {
            self.1
        }
    }

    const PART: usize = 100;

    #[test]
    fn the_result_comes_after_as_many_rows_whether_saved_or_not() {
        for steps in [vec![], vec![PART; 5], vec![PART / 3; 10], vec![3 * PART, 1, PART]] {
            let sum: usize = steps.iter().sum();
            let work = Gradual::new(Adding(steps, 0), PART);
            let (made, rows) = work.rest();
            assert_eq!(made, sum);
            let others = [work.clone(), Gradual::Made(made, rows)];
            for mut work in others {
                for left in (1..=rows).rev() {
                    assert_eq!(work.rest(), (sum, left));
                    match work.work() {
                        ControlFlow::Continue(next) if left > 1 => work = next,
                        ControlFlow::Break(found) if left == 1 => {
                            assert_eq!(found, sum);
                            break;
                        }
                        _ => panic!("not after {rows} rows"),
                    }
                }
            }
        }
    }
}
