//! The numbers of a state, in one order for writing and for reading.

/// Takes each number of a state in turn, or gives it.
pub trait Pass {
    fn number(&mut self, value: &mut f64);

    /// Whether numbers are given. A list is brought to its length before it is passed.
    fn reads(&self) -> bool;

    /// Whether this many numbers can follow.
    fn allows(&mut self, count: usize) -> bool;

    /// A number that was given is none that can be there.
    fn refuse(&mut self);

    fn count(&mut self, value: &mut usize) {
        let mut number = *value as f64;
        self.number(&mut number);
        if self.reads() {
            *value = if (0.0..9e15).contains(&number) && number.fract() == 0.0 {
                number as usize
            } else {
                self.refuse();
                0
            };
        }
    }

    fn counts(&mut self, values: &mut Vec<usize>) {
        let mut numbers: Vec<f64> = values.iter().map(|value| *value as f64).collect();
        self.list(&mut numbers);
        if self.reads() {
            let count = |number: &f64| (0.0..9e15).contains(number) && number.fract() == 0.0;
            if !numbers.iter().all(count) {
                self.refuse();
            }
            *values = numbers.iter().map(|number| *number as usize).collect();
        }
    }

    fn list(&mut self, values: &mut Vec<f64>) {
        let mut len = values.len();
        self.count(&mut len);
        if self.reads() {
            let len = if self.allows(len) { len } else { 0 };
            *values = vec![0.0; len];
        }
        for value in values {
            self.number(value);
        }
    }
}

/// What has a state.
pub trait State {
    fn pass(&mut self, pass: &mut dyn Pass);
}

/// Passes a list whose entries have a state.
pub fn pass_all<T: State + Default>(values: &mut Vec<T>, pass: &mut dyn Pass) {
    let mut len = values.len();
    pass.count(&mut len);
    if pass.reads() {
        let len = if pass.allows(len) { len } else { 0 };
        *values = std::iter::repeat_with(T::default).take(len).collect();
    }
    for value in values {
        value.pass(pass);
    }
}

/// Collects numbers.
#[derive(Default)]
pub struct Collected(pub Vec<f64>);

impl Pass for Collected {
    fn number(&mut self, value: &mut f64) {
        self.0.push(*value);
    }

    fn reads(&self) -> bool {
        false
    }

    fn allows(&mut self, _count: usize) -> bool {
        true
    }

    fn refuse(&mut self) {}
}

/// Gives numbers back; `sound` unless these were too few or no lengths.
pub struct Given<'a> {
    pub numbers: &'a [f64],
    pub sound: bool,
}

impl Pass for Given<'_> {
    fn number(&mut self, value: &mut f64) {
        match self.numbers.split_first() {
            Some((first, rest)) => (*value, self.numbers) = (*first, rest),
            None => self.sound = false,
        }
    }

    fn reads(&self) -> bool {
        true
    }

    fn allows(&mut self, count: usize) -> bool {
        self.sound &= count <= self.numbers.len();
        self.sound
    }

    fn refuse(&mut self) {
        self.sound = false;
    }
}
