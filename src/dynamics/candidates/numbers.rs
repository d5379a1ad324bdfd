//! Serialization of a state as a list of numbers, in one order for writing and reading.

/// Visits each number of a state, and reads or writes it.
pub trait Pass {
    fn number(&mut self, value: &mut f64);

    /// Whether numbers are read from a file: then a list gets its length before its numbers.
    fn reads(&self) -> bool;

    /// Whether this many numbers can follow.
    fn allows(&mut self, count: usize) -> bool;

    /// Marks the numbers as invalid.
    fn refuse(&mut self);

    fn count(&mut self, value: &mut usize) {
        let mut number = *value as f64;
        self.number(&mut number);
        if self.reads() {
            *value = if is_count(number) {
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
            if !numbers.iter().all(|number| is_count(*number)) {
                self.refuse();
            }
            *values = numbers.iter().map(|number| *number as usize).collect();
        }
    }

    /// The length of a list; if it is read, 0 where there are not as many numbers.
    fn len(&mut self, mut len: usize) -> usize {
        self.count(&mut len);
        if self.reads() && !self.allows(len) { 0 } else { len }
    }

    fn list(&mut self, values: &mut Vec<f64>) {
        let len = self.len(values.len());
        if self.reads() {
            *values = vec![0.0; len];
        }
        for value in values {
            self.number(value);
        }
    }
}

fn is_count(number: f64) -> bool {
    (0.0..9e15).contains(&number) && number.fract() == 0.0
}

/// Types whose state is a list of numbers.
pub trait Numbers {
    fn pass(&mut self, pass: &mut dyn Pass);
}

/// Visits a list of states.
pub fn pass_all<T: Numbers + Default>(values: &mut Vec<T>, pass: &mut dyn Pass) {
    let len = pass.len(values.len());
    if pass.reads() {
        *values = std::iter::repeat_with(T::default).take(len).collect();
    }
    for value in values {
        value.pass(pass);
    }
}

/// Writes numbers.
#[derive(Default)]
pub struct NumbersWritten(pub Vec<f64>);

impl Pass for NumbersWritten {
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

/// Reads numbers; `sound` unless there are too few, or invalid lengths.
pub struct NumbersRead<'a> {
    pub numbers: &'a [f64],
    pub sound: bool,
}

impl Pass for NumbersRead<'_> {
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
