//! Decisions, from the bytes of a fuzzer or from a seed.

/// Where decisions come from: bytes first, as long as there are any, then a generator of random numbers.
pub struct Choices<'a> {
    bytes: &'a [u8],
    seed: u64,
    /// Whether parameters and data are such that rounding stays small.
    pub ordinary: bool,
}

impl<'a> Choices<'a> {
    pub fn from_seed(seed: u64) -> Self {
        Self { bytes: &[], seed, ordinary: false }
    }

    /// What a fuzzer found: it changes a byte, and one decision changes.
    #[allow(dead_code, reason = "the property tests go by seeds")]
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        Self { bytes, seed: 0, ordinary: false }
    }

    /// 64 random bits (`SplitMix64`), or two bytes of the fuzzer's.
    fn bits(&mut self) -> u64 {
        if let Some((first, rest)) = self.bytes.split_first_chunk::<2>() {
            self.bytes = rest;
            return u64::from(u16::from_le_bytes(*first)) << 48;
        }
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.seed ^ (self.seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`, 0 if that is 0.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from((u128::from(self.bits()) * n as u128) >> 64).unwrap()
    }

    /// Yes, once in `n` times.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub fn pick<'b, T>(&mut self, of: &'b [T]) -> &'b T {
        &of[self.below(of.len())]
    }

    /// A number from -1 to below 1.
    pub fn symmetric(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (-52.0_f64).exp2() - 1.0
    }
}

/// Shows what a case is about, where it is the only one.
pub fn record(what: &dyn std::fmt::Display) {
    if std::env::var_os("FUZZ_CASES").is_some_and(|cases| cases == "1") {
        eprintln!("{what}");
    }
}
