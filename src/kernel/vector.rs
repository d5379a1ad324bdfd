//! Functions of many numbers at once, by the vector instructions that the processor has.
#![allow(
    clippy::inline_always,
    reason = "a body must be inlined into the version compiled for the processor"
)]

use pulp::{Arch, Simd, WithSimd, bytemuck::cast};

/// A function of one number, written for a vector of them.
pub(super) trait Function {
    /// Its values at `v`.
    fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s;
}

/// Replaces every number by the function's value there. A number's place does not matter to the bit.
pub(super) fn map(function: &impl Function, values: &mut [f64]) {
    struct Map<'a, F> {
        function: &'a F,
        values: &'a mut [f64],
    }
    impl<F: Function> WithSimd for Map<'_, F> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: Simd>(self, s: S) {
            let (vectors, rest) = S::as_mut_simd_f64s(self.values);
            for v in vectors {
                *v = self.function.of(s, *v);
            }
            if !rest.is_empty() {
                let v = s.partial_load_f64s(rest);
                s.partial_store_f64s(rest, self.function.of(s, v));
            }
        }
    }
    Arch::new().dispatch(Map { function, values });
}

/// Multiplies by a factor, which is mostly 1 where it is a weight.
pub(super) fn scale(values: &mut [f64], factor: f64) {
    if factor.to_bits() != 1.0_f64.to_bits() {
        for value in values {
            *value *= factor;
        }
    }
}

/// Adding this rounds to an integer: numbers of its size have no digits after the point.
const ROUNDER: f64 = 1.5 * (1_u64 << 52) as f64;

/// Adding this to an integer puts `integer + 1023`, the exponent of a power of two, at the beginning
/// of the upper half of the bits.
const EXPONENT: f64 = 1.5 * (1_u64 << 20) as f64 + 1023.0;

/// `ln 2` in two parts, the first so short that its multiples by an exponent are exact.
const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// Below this the result is smaller than half of the smallest number there is.
const LOWEST: f64 = -746.0;

/// Below `LOW` the result, which may lack full precision, is computed `2^LIFT` times too large first.
const LOW: f64 = -700.0;
const LIFT: f64 = 256.0;

/// `(e^r - 1 - r) / r^2` for `|r| <= ln 2 / 2`, from the constant upwards: interpolated at Chebyshev
/// nodes, so that `e^r` has a relative error of 1.5e-17.
const SERIES: [f64; 10] = [
    5.000_000_000_000_001e-1,
    1.666_666_666_666_666_9e-1,
    4.166_666_666_661_811e-2,
    8.333_333_333_329_598e-3,
    1.388_888_892_012_608e-3,
    1.984_126_986_986_529_3e-4,
    2.480_151_691_202_158_4e-5,
    2.755_726_508_870_181e-6,
    2.762_210_824_447_120_7e-7,
    2.510_193_873_960_530_3e-8,
];

/// `e^x` for `x <= 0`: within 2 units in the last place, denormal results included; exactly 1 at 0, exactly
/// 0 where the truth is below half of the smallest number. What is not a number stays so.
#[inline(always)]
pub(super) fn exp<S: Simd>(s: S, x: S::f64s) -> S::f64s {
    let lowest = s.splat_f64s(LOWEST);
    let x = s.select_f64s(s.less_than_f64s(x, lowest), lowest, x);

    // x = n ln 2 + r
    let rounder = s.splat_f64s(ROUNDER);
    let n = s.sub_f64s(s.mul_add_e_f64s(x, s.splat_f64s(std::f64::consts::LOG2_E), rounder), rounder);
    let r = s.mul_add_e_f64s(n, s.splat_f64s(-LN_2[0]), x);
    let r = s.mul_add_e_f64s(n, s.splat_f64s(-LN_2[1]), r);

    // Pairs of terms first, so that few operations wait for one another.
    let pair = [
        linear(s, r, SERIES[0], SERIES[1]),
        linear(s, r, SERIES[2], SERIES[3]),
        linear(s, r, SERIES[4], SERIES[5]),
        linear(s, r, SERIES[6], SERIES[7]),
        linear(s, r, SERIES[8], SERIES[9]),
    ];
    let square = s.mul_f64s(r, r);
    let fourth = s.mul_f64s(square, square);
    let high = s.mul_add_e_f64s(fourth, pair[4], s.mul_add_e_f64s(square, pair[3], pair[2]));
    let series = s.mul_add_e_f64s(fourth, high, s.mul_add_e_f64s(square, pair[1], pair[0]));
    let mantissa = s.add_f64s(s.splat_f64s(1.0), s.mul_add_e_f64s(square, series, r));

    let low = s.less_than_f64s(x, s.splat_f64s(LOW));
    let lifted = s.add_f64s(n, s.select_f64s(low, s.splat_f64s(LIFT), s.splat_f64s(0.0)));
    let back = s.select_f64s(low, s.splat_f64s((-LIFT).exp2()), s.splat_f64s(1.0));
    s.mul_f64s(s.mul_f64s(mantissa, power_of_two(s, lifted)), back)
}

/// `a + b r`
#[inline(always)]
fn linear<S: Simd>(s: S, r: S::f64s, a: f64, b: f64) -> S::f64s {
    s.mul_add_e_f64s(r, s.splat_f64s(b), s.splat_f64s(a))
}

/// `2^n` for integers from -1022 to 1023: the bits of an exponent, put where it belongs.
#[inline(always)]
fn power_of_two<S: Simd>(s: S, n: S::f64s) -> S::f64s {
    if S::IS_SCALAR {
        let bits = s.transmute_u64s_f64s(s.add_f64s(n, s.splat_f64s(ROUNDER + 1023.0)));
        return s.transmute_f64s_u64s(s.mul_u64s(bits, s.splat_u64s(1 << 52)));
    }
    // Vectors shift halves; the lower half is zero.
    let bits: S::u32s = cast(s.add_f64s(n, s.splat_f64s(EXPONENT)));
    cast(s.wrapping_dyn_shl_u32s(bits, s.splat_u32s(20)))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Exp;

    impl Function for Exp {
        #[inline(always)]
        fn of<S: Simd>(&self, s: S, v: S::f64s) -> S::f64s {
            exp(s, v)
        }
    }

    /// Units in the last place between two numbers that are not negative.
    fn units(a: f64, b: f64) -> u64 {
        a.to_bits().abs_diff(b.to_bits())
    }

    /// Arguments of every size, from tiny to where the result is zero, dense where it is denormal.
    fn arguments() -> Vec<f64> {
        let tiny = (0..4_000).map(|k| -(-750.0 * f64::from(k) / 4_000.0).exp());
        let all = (0..400_000).map(|k| -750.0 * f64::from(k) / 400_000.0 - 1e-5);
        let denormal = (0..200_000).map(|k| -708.0 - 38.0 * f64::from(k) / 200_000.0);
        // Where the exponent changes and the remainder is largest.
        let halves = (0..2_200).map(|k| -0.5 * std::f64::consts::LN_2 * f64::from(k));
        tiny.chain(all).chain(denormal).chain(halves).collect()
    }

    #[test]
    fn the_exponential_is_within_two_units_in_the_last_place() {
        let x = arguments();
        let mut values = x.clone();
        map(&Exp, &mut values);
        for (x, value) in x.iter().zip(&values) {
            assert!(units(*value, x.exp()) <= 2, "exp({x:e}) is {value:e}, not {:e}", x.exp());
        }
        assert!(values.iter().any(|v| (1e-320..1e-308).contains(v)), "denormal results were met");
    }

    #[test]
    fn the_exponential_without_vectors_is_as_close() {
        for x in arguments() {
            let value = exp(pulp::Scalar, x);
            assert!(units(value, x.exp()) <= 2, "exp({x:e}) is {value:e}, not {:e}", x.exp());
        }
    }

    #[test]
    fn the_ends_of_the_exponential_are_exact() {
        let mut values = [0.0, -0.0, -1e-320, -745.2, -746.0, -1e300, f64::NEG_INFINITY, f64::NAN];
        map(&Exp, &mut values);
        assert_eq!(values[..7], [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
        assert!(values[7].is_nan());
    }

    #[test]
    fn a_number_gives_the_same_wherever_it_stands() {
        let x: Vec<f64> = (0..67).map(|k| -0.37 * f64::from(k)).collect();
        for n in 0..x.len() {
            let mut together = x[..n].to_vec();
            map(&Exp, &mut together);
            for (x, value) in x.iter().zip(&together) {
                let mut alone = [*x];
                map(&Exp, &mut alone);
                assert_eq!(alone[0].to_bits(), value.to_bits());
            }
        }
    }
}
