//! Detection of periods.
//!
//! Candidates are the peaks of the autocorrelation and calendar periods. Each is judged by its
//! purpose: the mean of each phase over the first part of the series, about a moving mean,
//! forecasts the rest; the score is the share of variance explained there. Drift without a period
//! has peaks of the autocorrelation by chance, but no lasting profile.

use super::line::line_of;
use super::parameters::CandidateParams;

/// Periods of hours, days, weeks, months, quarters and half hours.
const CALENDAR: [usize; 8] = [4, 7, 12, 24, 48, 52, 168, 336];

/// Fewest periods in the rows.
const LONGEST: f64 = 2.7;

/// Smallest ratio of two periods, and smallest share of the remaining variance that the second
/// explains.
const APART: f64 = 1.5;
const SECOND: f64 = 0.15;

/// Phases of a period for each that a mean around one takes in, and largest sum of both errors, relative to those of the
/// phases alone, with which it does.
const SMOOTH: usize = 8;
const SMOOTHER: f64 = 1.8;

/// Median distances from the means around phases at which one is an edge: two and a half deviations.
const FAR_OFF: f64 = 3.7;

/// Number of peaks tried.
const PEAKS: usize = 12;

/// Fewest periods in a later part, and in the first.
const CYCLES: f64 = 1.2;

/// Smallest increase of the score that replaces a known period.
const CLEAR: f64 = 0.05;

/// Penalty of the score for each cycle fewer: profiles of few cycles explain something by chance.
const CHANCE: f64 = 1.4;

/// Rows in a day, of whole and half hours, quarters and ten minutes, two weeks of which are kept; seven of them are a week.
const DAYS: [usize; 4] = [24, 48, 96, 144];
const WEEK: usize = 7;

/// From as many weeks on these are judged as other periods are.
const FEW_WEEKS: usize = 8;

/// Least correlation of values and those one of two periods before, about a moving mean, where there are too few for a profile of
/// some to be judged by the others; and the deviations of its transform (Fisher's) by chance that it has to exceed, of a calendar
/// period. In 20 to 400 rows of noise, white or autocorrelated, a period is found in at most 2 of 100 records, and in random
/// walks in at most 5.
const REPEATED: f64 = 0.6;
const UNLIKELY: f64 = 3.0;

/// The same of a period of the calendar of the rows, and of what the profiles of its divisors leave of it. Its cycles from
/// which on it is judged as other periods are.
const EXPECTED: f64 = 2.5;
const MORE_THAN_PARTS: f64 = 1.0;
const FEW_CYCLES: usize = 8;

/// Rows up to which periods are looked for whenever they are an eighth more.
const SHORT: usize = 64;

/// Interquartile ranges beyond the quartiles at which values are clipped: one value that is far off
/// would hide any season. Neither noise nor growth goes so far.
const CLIPPED: f64 = 8.0;

/// The values, clipped far outside of their quartiles.
pub fn clipped(mut values: Vec<f64>) -> Vec<f64> {
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let Some((low, high)) = sorted.get(n / 4).zip(sorted.get(3 * n / 4)) else { return values };
    let reach = CLIPPED * (high - low);
    // More than half of the values are equal.
    if reach > 0.0 {
        for value in &mut values {
            *value = value.clamp(low - reach, high + reach);
        }
    }
    values
}

/// At most two periods in these values, by importance. Known ones are kept unless another is
/// clearly better. In few cycles, those of the calendar of the rows come before others if they repeat themselves.
pub fn find(values: &[f64], known: &[usize], calendar: &[usize], parameters: &CandidateParams) -> Vec<usize> {
    let mut found = Vec::new();
    let mut rest = clipped(values.to_vec());
    for place in 0..2 {
        let part = if found.is_empty() { part_of_calendar(&rest, calendar, parameters) } else { None };
        let expected = part.or_else(|| expected_in(&rest, calendar, &found));
        let next = expected.or_else(|| found.first().and_then(|first| week_of(&rest, *first)));
        let next = next.or_else(|| best(&rest, known.get(place).copied(), &found, parameters));
        let next = next.or_else(|| if found.is_empty() { few_cycles(&rest) } else { None });
        let Some(period) = next else { break };
        rest = without(&rest, period);
        found.push(period);
    }
    found
}

/// The values less the mean of each phase.
fn without(values: &[f64], period: usize) -> Vec<f64> {
    let profile = profile_of(&deviations(values, period), period);
    values.iter().zip(profile.iter().cycle()).map(|(value, mean)| value - mean).collect()
}

/// The first period of the calendar, not found yet, of which there are few cycles that repeat themselves, beyond the profiles
/// of its largest divisors.
fn expected_in(values: &[f64], calendar: &[usize], found: &[usize]) -> Option<usize> {
    let n = values.len();
    let is_expected = |period: usize| {
        let are_few = period >= 2 && (2 * period..FEW_CYCLES * period).contains(&n);
        // What a profile of these cycles has to explain to be better than none, with a margin.
        let least = REPEATED * 3.0 / (1.0 + n as f64 / period as f64);
        let is_apart = |other: &usize| period as f64 >= APART * *other as f64;
        let divisors = (2..=period / 2).filter(|factor| period.is_multiple_of(*factor) && is_prime(*factor));
        are_few
            && found.iter().all(is_apart)
            && repeats(values, period, least, EXPECTED) > 0.0
            && divisors.map(|factor| period / factor).all(|divisor| {
                found.contains(&divisor)
                    || repeats(&without(values, divisor), period, 0.0, MORE_THAN_PARTS) > 0.0
            })
    };
    calendar.iter().copied().find(|period| is_expected(*period))
}

/// The first period of the calendar, of many cycles, if the last one has few and is no multiple of it, whose profile would
/// contain its own, and if it explains something.
fn part_of_calendar(values: &[f64], calendar: &[usize], parameters: &CandidateParams) -> Option<usize> {
    let are_many = |period: usize| values.len() >= FEW_CYCLES * period;
    let (first, last) = calendar.first().copied().zip(calendar.last().copied())?;
    let are_apart = are_many(first) && !are_many(last) && !last.is_multiple_of(first);
    let explains = || score(values, first, parameters) >= parameters.explained;
    (are_apart && values.len() >= 2 * last && explains()).then_some(first)
}

fn is_prime(number: usize) -> bool {
    (2..number).take_while(|factor| factor * factor <= number).all(|factor| !number.is_multiple_of(factor))
}

/// The week of this first period, if it is a day, where weeks without their days are alike and are too few to be judged as
/// other periods.
fn week_of(values: &[f64], first: usize) -> Option<usize> {
    let (n, week) = (values.len(), WEEK * first);
    if !DAYS.contains(&first) || n < 2 * week || n >= FEW_WEEKS * week {
        return None;
    }
    // What a profile of these cycles has to explain to be better than none, with a margin: its error is the noise over their
    // number.
    let least = REPEATED * 3.0 / (1.0 + n as f64 / week as f64);
    (repeats(values, week, least, UNLIKELY) > 0.0).then_some(week)
}

/// By how much the correlation with the values one period before is beyond chance, of as many deviations, and beyond the least.
fn repeats(values: &[f64], period: usize, least: f64, unlikely: f64) -> f64 {
    let about = deviations(values, period);
    let (later, before) = (&about[period..], &about[..values.len() - period]);
    let product = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(a, b)| a * b).sum::<f64>();
    let squares = product(later, later) * product(before, before);
    let chance = (unlikely / (later.len() as f64 - 3.0).max(0.5).sqrt()).tanh();
    product(later, before) / squares.sqrt().max(f64::MIN_POSITIVE) - least.max(chance)
}

/// The calendar period of two to three cycles that repeats itself most clearly, if any does.
fn few_cycles(values: &[f64]) -> Option<usize> {
    let n = values.len();
    let is_short = |period: &usize| (2 * period..).contains(&n) && *period > longest_in(n);
    let tried = CALENDAR
        .into_iter()
        .filter(is_short)
        .map(|period| (period, repeats(values, period, REPEATED, UNLIKELY)));
    let found = tried.filter(|(_, beyond)| *beyond > 0.0).max_by(|a, b| a.1.total_cmp(&b.1));
    found.map(|(period, _)| period)
}

/// Rows at the next detection, after one in as many that found these periods: when their number has grown, or with the second
/// cycle of a calendar period.
pub fn next_detection(
    count: usize,
    found: &[usize],
    calendar: &[usize],
    parameters: &CandidateParams,
) -> usize {
    let grown = if count < SHORT { count + count / 8 } else { (parameters.growth * count as f64) as usize };
    let grown = grown.max(count + 2);
    let week = found.first().filter(|first| DAYS.contains(first)).map(|day| WEEK * day);
    let cycles = CALENDAR.into_iter().chain(week).chain(calendar.iter().copied()).map(|period| 2 * period);
    cycles.filter(|rows| *rows > count).fold(grown, usize::min)
}

/// Score of a period in these values; below zero if it explains nothing.
fn score(values: &[f64], period: usize, parameters: &CandidateParams) -> f64 {
    let n = values.len();
    let first = (parameters.first * n as f64) as usize;
    if period < 2 || ((n - first) as f64) < CYCLES * period as f64 {
        return f64::NEG_INFINITY;
    }
    let about = deviations(values, period);
    let profile = profile_of(&about[..first], period);
    let (mut left, mut total) = (0.0, 0.0);
    for (t, value) in about.iter().enumerate().skip(first) {
        left += (value - profile[t % period]).powi(2);
        total += value * value;
    }
    let cycles = (n as f64) / period as f64;
    // Relative to the variance of the series too: ripples of a trend are no season.
    if total > 0.0 { 1.0 - left / total - CHANCE / cycles } else { f64::NEG_INFINITY }
}

/// The longest period of which a profile of some cycles is judged by the others.
fn longest_in(rows: usize) -> usize {
    (rows as f64 / LONGEST) as usize
}

/// The period whose profile explains most.
fn best(
    values: &[f64],
    known: Option<usize>,
    found: &[usize],
    parameters: &CandidateParams,
) -> Option<usize> {
    let longest = longest_in(values.len());
    let mut tried = peaks(values, longest);
    tried.extend(CALENDAR.into_iter().filter(|period| *period <= longest));
    tried.extend(known);
    let apart = |one: f64, other: f64| one.max(other) >= APART * one.min(other);
    // Half a week explains some of the difference of weekdays and weekends, until whole weeks can be judged.
    let is_half_a_week = |period: usize, day: usize| DAYS.contains(&day) && 2 * period == WEEK * day;
    tried.retain(|period| {
        found.iter().all(|other| apart(*period as f64, *other as f64) && !is_half_a_week(*period, *other))
    });
    tried.sort_unstable();
    tried.dedup();
    let scored = tried.iter().map(|period| {
        let favour = if known == Some(*period) { CLEAR } else { 0.0 };
        (*period, score(values, *period, parameters) + favour)
    });
    let scored: Vec<(usize, f64)> = scored.collect();
    let top = scored.iter().map(|(_, score)| *score).fold(f64::NEG_INFINITY, f64::max);
    if top < if found.is_empty() { parameters.explained } else { SECOND } {
        return None;
    }
    // Multiples explain as much, except for chance: the shortest that is nearly as good.
    let shortest = scored.into_iter().find(|(_, score)| *score >= top - 0.02 * top.abs());
    shortest.map(|(period, _)| period)
}

/// Lags of peaks of the autocorrelation, the highest first.
fn peaks(values: &[f64], longest: usize) -> Vec<usize> {
    let n = values.len();
    if longest < 2 {
        return Vec::new();
    }
    let about = deviations(values, (n / 3).max(2));
    let correlation: Vec<f64> = (0..=longest + 1)
        .map(|lag| {
            let sum: f64 = about[lag..].iter().zip(&about).map(|(a, b)| a * b).sum();
            sum / (n - lag) as f64
        })
        .collect();
    if correlation[0] <= 0.0 {
        return Vec::new();
    }
    let mut found: Vec<usize> = (2..=longest)
        .filter(|lag| {
            let here = correlation[*lag];
            here > 0.05 * correlation[0] && here >= correlation[lag - 1] && here > correlation[lag + 1]
        })
        .collect();
    found.sort_by(|a, b| correlation[*b].total_cmp(&correlation[*a]));
    found.truncate(PEAKS);
    found
}

/// Least share of the variance about a line that a shifted profile has to explain.
const ALIGNED: f64 = 0.5;

/// Shifts the profile to the phase of these values, of at least one period from row `first` on, and subtracts it from them;
/// returns whether it explains them at any phase, up to its amplitude and a line.
pub fn align(profile: &mut [f64], values: &mut [f64], first: usize) -> bool {
    let period = profile.len();
    let about = about_a_line(values.iter().copied());
    let total = about.iter().map(|value| value * value).sum::<f64>().max(f64::MIN_POSITIVE);
    // The share explained by each shift: the squared correlation.
    let explained = |shift: usize| {
        let shifted = about_a_line((0..values.len()).map(|t| profile[(first + t + shift) % period]));
        let product: f64 = shifted.iter().zip(&about).map(|(one, value)| one * value).sum();
        let squares = shifted.iter().map(|one| one * one).sum::<f64>().max(f64::MIN_POSITIVE);
        if product > 0.0 { product * product / (squares * total) } else { 0.0 }
    };
    let shares = (0..period).map(|shift| (shift, explained(shift)));
    let Some((shift, share)) = shares.max_by(|a, b| a.1.total_cmp(&b.1)) else { return false };
    profile.rotate_left(shift);
    for (t, value) in values.iter_mut().enumerate() {
        *value -= profile[(first + t) % period];
    }
    share >= ALIGNED
}

/// Deviations from the line of least squares.
fn about_a_line(values: impl ExactSizeIterator<Item = f64>) -> Vec<f64> {
    let mut out: Vec<f64> = values.collect();
    let middle = (out.len() as f64 - 1.0) / 2.0;
    let (mean, slope) = line_of(out.iter().copied());
    for (t, value) in out.iter_mut().enumerate() {
        *value -= mean + slope * (t as f64 - middle);
    }
    out
}

/// Deviations from a centred moving mean over this many values, which continues on a line at the ends: that of the means of the
/// nearest two complete windows side by side, or if there are not as many values the nearest mean.
pub fn deviations(values: &[f64], window: usize) -> Vec<f64> {
    let n = values.len();
    let mut sums = Vec::with_capacity(n + 1);
    sums.push(0.0);
    let base = values.first().copied().unwrap_or(0.0);
    for value in values {
        sums.push(sums[sums.len() - 1] + (value - base));
    }
    let half = window / 2;
    let mean = |from: usize| {
        let to = (from + window).min(n);
        (sums[to] - sums[from]) / (to - from) as f64
    };
    let last = n.saturating_sub(window);
    let slope = |one: usize, other: usize| {
        if last < window { 0.0 } else { (mean(other) - mean(one)) / window as f64 }
    };
    let slopes = [slope(0, window), slope(last.saturating_sub(window), last)];
    let deviation = |t: usize| {
        let from = t.saturating_sub(half);
        let middle = (window - 1) as f64 / 2.0;
        let mean = if t < half {
            mean(0) + slopes[0] * (t as f64 - middle)
        } else if from >= last && t + half >= n {
            mean(last) + slopes[1] * ((t - last) as f64 - middle)
        } else if window.is_multiple_of(2) && t + half < n {
            // An even window is centred by half weights at both ends.
            mean(from) + 0.5 * ((values[t + half] - base) - (values[from] - base)) / window as f64
        } else {
            mean(from)
        };
        (values[t] - base) - mean
    };
    (0..n).map(deviation).collect()
}

/// Mean of each phase.
pub fn profile_of(about: &[f64], period: usize) -> Vec<f64> {
    let (mut sums, mut counts) = (vec![0.0; period], vec![0.0_f64; period]);
    for (t, value) in about.iter().enumerate() {
        sums[t % period] += value;
        counts[t % period] += 1.0;
    }
    let mut profile: Vec<f64> = sums.iter().zip(&counts).map(|(sum, count)| sum / count.max(1.0)).collect();
    let mean = profile.iter().sum::<f64>() / period as f64;
    for value in &mut profile {
        *value -= mean;
    }
    profile
}

/// Mean of each phase and of as many phases around it, with edges or without, as forecast the values of a cycle and their changes
/// best from the other ones: means of few cycles are noisy.
pub fn smooth_profile_of(about: &[f64], period: usize) -> Vec<f64> {
    let raw = profile_of(about, period);
    let halves = (0..).map(|power| 1_usize << power).take_while(|half| SMOOTH * (2 * half + 1) <= period);
    let ways: Vec<(usize, bool)> = halves.flat_map(|half| [(half, false), (half, true)]).collect();
    if ways.is_empty() {
        return raw;
    }
    let base = errors_of_others(about, period, |profile| profile);
    let relative = |half, edges| {
        let errors = errors_of_others(about, period, |profile| means_around(&profile, half, edges));
        errors.iter().zip(&base).map(|(error, raw)| error / raw.max(f64::MIN_POSITIVE)).sum::<f64>()
    };
    let errors = ways.into_iter().map(|(half, edges)| (relative(half, edges), half, edges));
    match errors.min_by(|one, other| one.0.total_cmp(&other.0)) {
        Some((errors, half, edges)) if errors < SMOOTHER => means_around(&raw, half, edges),
        _ => raw,
    }
}

/// Circular means of as many values on either side; with edges, but where a value is far off them.
fn means_around(profile: &[f64], half: usize, edges: bool) -> Vec<f64> {
    let period = profile.len();
    let around =
        |phase: usize| (phase + period - half..=phase + period + half).map(|at| profile[at % period]);
    let mut means: Vec<f64> =
        (0..period).map(|phase| around(phase).sum::<f64>() / (2 * half + 1) as f64).collect();
    if edges {
        let distance = |(one, mean): (&f64, &f64)| (one - mean).abs();
        let mut distances: Vec<f64> = profile.iter().zip(&means).map(distance).collect();
        distances.sort_by(f64::total_cmp);
        let far = FAR_OFF * distances[period / 2];
        for (one, mean) in profile.iter().zip(&mut means) {
            if distance((one, mean)) > far {
                *mean = *one;
            }
        }
    }
    means
}

/// Squared errors of values, and of their changes, by the profile of all other cycles.
fn errors_of_others(about: &[f64], period: usize, smooth: impl Fn(Vec<f64>) -> Vec<f64>) -> [f64; 2] {
    let (mut errors, mut before) = ([0.0; 2], f64::NAN);
    for first in (0..about.len()).step_by(period) {
        let own = first..(first + period).min(about.len());
        let others: Vec<f64> = [&about[..first], &about[own.end..]].concat();
        // An incomplete cycle is the last.
        let profile = smooth(profile_of(&others, period));
        for t in own {
            let error = about[t] - profile[t - first];
            errors[0] += error.powi(2);
            errors[1] += if t > 0 { (error - before).powi(2) } else { 0.0 };
            before = error;
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::below;

    #[test]
    fn a_profile_is_shifted_to_the_phase_of_a_period_on_a_slope() {
        let wave = |at: usize| (at as f64 * 0.5).sin() + f64::from(u8::from(at % 12 == 4));
        for first in [0, 5, 31] {
            for phase in 0..12 {
                let mut profile: Vec<f64> = (0..12).map(|at| wave((at + 7) % 12)).collect();
                // Rows after a gap of unknown length, so that row `first` has this phase.
                let of_row = |t: usize| wave((t + phase) % 12);
                let mut values: Vec<f64> =
                    (0..12).map(|t| 100.0 + 0.3 * t as f64 + 1.5 * of_row(t)).collect();
                assert!(align(&mut profile, &mut values, first));
                for t in 0..24 {
                    assert!((profile[(first + t) % 12] - of_row(t)).abs() < 1e-12, "{first} {phase} {t}");
                }
            }
        }
    }

    #[test]
    fn a_profile_that_does_not_fit_is_refused() {
        let mut profile: Vec<f64> =
            (0..12).map(|at| (f64::from(at) * std::f64::consts::TAU / 12.0).sin()).collect();
        let mut values: Vec<f64> = (0..12).map(|t| f64::from(u8::from(t % 2 == 0))).collect();
        assert!(!align(&mut profile, &mut values, 0));
        assert!(!align(&mut profile, &mut [3.0; 12], 0));
    }

    /// Values of a season of this many rows, with noise and a trend.
    fn seasonal(n: usize, period: usize, noise: f64) -> Vec<f64> {
        let noisy = |t: usize| noise * ((t * t + 7 * t) as f64 * 0.618).sin();
        let turn = std::f64::consts::TAU / period as f64;
        let wave = |phase: usize| (phase as f64 * turn).sin() + f64::from(u8::from(phase == period / 3));
        (0..n).map(|t| 0.1 * t as f64 + wave(t % period) + noisy(t)).collect()
    }

    #[test]
    fn deviations_of_a_season_on_a_line_are_the_season_at_the_ends_too() {
        for (period, n) in [(7, 14), (7, 50), (12, 24), (12, 31), (2, 9)] {
            let season = |t: usize| ((t % period) as f64).powi(2);
            let mean = (0..period).map(season).sum::<f64>() / period as f64;
            let values: Vec<f64> = (0..n).map(|t| 1e3 - 3.0 * t as f64 + season(t)).collect();
            for (t, deviation) in deviations(&values, period).into_iter().enumerate() {
                assert!((deviation - (season(t) - mean)).abs() < 1e-9, "{period}, row {t} of {n}");
            }
        }
        // About the mean where there are too few values.
        assert_eq!(deviations(&[1.0, 2.0, 6.0], 7), [-2.0, -1.0, 3.0]);
    }

    #[test]
    fn calendar_periods_are_found_from_two_cycles_on() {
        for period in [7, 12, 24, 48] {
            for n in [2 * period, 2 * period + 3, 5 * period / 2, 3 * period] {
                let found = find(&seasonal(n, period, 0.2), &[], &[], &CandidateParams::DEFAULT);
                assert_eq!(found.first(), Some(&period), "{n} rows");
            }
        }
        // None that is no calendar period, none on a line, and seldom one in noise.
        assert!(find(&seasonal(22, 11, 0.2), &[], &[], &CandidateParams::DEFAULT).is_empty());
        let mut by_chance = 0;
        for n in 10..60_u64 {
            let line: Vec<f64> = (0..n).map(|t| 3.0 + 2.0 * t as f64).collect();
            assert!(find(&line, &[], &[], &CandidateParams::DEFAULT).is_empty(), "{n} rows on a line");
            let noise: Vec<f64> = (0..n).map(|t| below(n, t, 1 << 20) as f64).collect();
            by_chance += usize::from(!find(&noise, &[], &[], &CandidateParams::DEFAULT).is_empty());
        }
        assert!(by_chance <= 4, "{by_chance} of 50");
    }

    #[test]
    fn a_week_of_days_is_found_from_two_weeks_on_and_never_its_half() {
        for day in [24, 48, 96] {
            let is_weekday = |t: usize| f64::from(u8::from((t / day) % 7 < 5));
            let hour = |t: usize| (t as f64 * std::f64::consts::TAU / day as f64).sin();
            let noise = |t: usize| 0.1 * ((t * t + 7 * t) as f64 * 0.618).sin();
            let values: Vec<f64> =
                (0..21 * day).map(|t| hour(t) * (0.4 + is_weekday(t)) + is_weekday(t) + noise(t)).collect();
            for (days, expected) in [(11, vec![day]), (14, vec![day, 7 * day]), (21, vec![day, 7 * day])] {
                assert_eq!(
                    find(&values[..days * day], &[], &[], &CandidateParams::DEFAULT),
                    expected,
                    "{days} days"
                );
            }
        }
    }

    #[test]
    fn detections_come_with_the_second_cycle_of_calendar_periods() {
        let mut at = vec![10];
        while at[at.len() - 1] < 1000 {
            at.push(next_detection(at[at.len() - 1], &[24], &[], &CandidateParams::DEFAULT));
        }
        assert!([14, 24, 48, 96, 104, 336, 672].iter().all(|rows| at.contains(rows)), "{at:?}");
        assert!(at.len() < 50 && at.is_sorted());
        // Quarters of an hour.
        assert_eq!(next_detection(1200, &[96], &[], &CandidateParams::DEFAULT), 2 * 672);
    }

    /// Hours with a day, whose weekdays are higher at noon by this many deviations of the noise.
    fn weeks(n: usize, weekdays: f64, seed: u64) -> Vec<f64> {
        let noon = |hour: f64| (-((hour - 13.0) / 4.0).powi(2)).exp();
        (0..n)
            .map(|t| {
                let (hour, day) = ((t % 24) as f64, t / 24 % 7);
                let at_work = if day < 5 { weekdays * noon(hour) } else { 0.0 };
                7.0 * (std::f64::consts::TAU * hour / 24.0).sin()
                    + at_work
                    + crate::random::normal(seed, t as u64)
            })
            .collect()
    }

    /// Twice and three times a year, and some of a whole one.
    fn months(n: usize, whole: f64, seed: u64) -> Vec<f64> {
        let wave = |t: usize, times: f64| (std::f64::consts::TAU * times * t as f64 / 12.0).sin();
        let of_month = |t: usize| 3.0 * wave(t, 2.0) + 3.0 * wave(t, 3.0) + whole * wave(t, 1.0);
        (0..n).map(|t| 0.3 * t as f64 + of_month(t) + crate::random::normal(seed, t as u64)).collect()
    }

    #[test]
    fn periods_of_the_calendar_come_before_their_parts_if_these_leave_something() {
        let found = |values: &[f64]| find(values, &[], &[12], &CandidateParams::DEFAULT);
        for n in [24, 27, 36, 48, 60, 90] {
            let first = |whole: f64| (0..20).map(move |seed| found(&months(n, whole, seed)).first().copied());
            assert!(first(3.0).filter(|first| *first == Some(12)).count() >= 19, "{n} rows");
            // Halves alone are not.
            let halves = |seed, t: usize| if t % 6 < 3 { 8.0 } else { 0.0 } + noise(seed, t);
            let whole = (0..20).filter(|seed| {
                let values: Vec<f64> = (0..n).map(|t| halves(*seed, t)).collect();
                found(&values).first() == Some(&12)
            });
            assert!(whole.count() <= 4, "{n} rows");
            let more = (0..40).filter(|seed| {
                let values: Vec<f64> = (0..n).map(|t| noise(*seed, t)).collect();
                found(&values) != find(&values, &[], &[], &CandidateParams::DEFAULT)
            });
            assert!(more.count() <= 3, "{n} rows");
        }
    }

    #[test]
    fn weeks_come_before_a_year_of_few_cycles() {
        for n in [730, 800, 1095, 1460, 2048] {
            for seed in 0..3 {
                let wave = |t: usize, period: f64| (std::f64::consts::TAU * t as f64 / period).sin();
                let values: Vec<f64> = (0..n)
                    .map(|t| 2.0 * wave(t, 7.0) + 8.0 * wave(t, 365.25) + 1.5 * noise(seed, t))
                    .collect();
                let found = find(&values, &[], &[7, 365], &CandidateParams::DEFAULT);
                assert_eq!(found, [7, 365], "{n} {seed}");
                let weeks: Vec<f64> = (0..n).map(|t| 2.0 * wave(t, 7.0) + noise(seed, t)).collect();
                assert_eq!(find(&weeks, &[], &[7, 365], &CandidateParams::DEFAULT), [7], "{n} {seed}");
            }
        }
    }

    #[test]
    fn profiles_of_few_cycles_are_smoothed_where_that_forecasts_the_others() {
        let wave = |t: usize| (std::f64::consts::TAU * t as f64 / 96.0).sin();
        let rms = |profile: &[f64], clean: &dyn Fn(usize) -> f64| {
            (0..96).map(|t| (profile[t] - clean(t)).powi(2)).sum::<f64>().sqrt()
        };
        let edges = |t: usize| f64::from(u8::from(t.is_multiple_of(4))) - 0.25;
        for seed in 0..5 {
            let noisy = |clean: &dyn Fn(usize) -> f64, size: f64| -> Vec<f64> {
                (0..300).map(|t| clean(t) + size * noise(seed, t)).collect()
            };
            let about = noisy(&wave, 0.5);
            let (raw, smooth) = (profile_of(&about, 96), smooth_profile_of(&about, 96));
            assert!(rms(&smooth, &wave) < 0.6 * rms(&raw, &wave), "{seed}");
            // What is sharp, or known surely, stays.
            for about in [noisy(&edges, 0.1), noisy(&wave, 0.0)] {
                assert_eq!(smooth_profile_of(&about, 96), profile_of(&about, 96), "{seed}");
            }
            // Periods of few phases have none around them.
            assert_eq!(smooth_profile_of(&about, 23), profile_of(&about, 23));
        }
    }

    fn noise(seed: u64, t: usize) -> f64 {
        crate::random::normal(seed, t as u64)
    }

    #[test]
    fn weeks_are_found_as_soon_as_their_profile_is_better_than_none() {
        for n in [600, 700, 800, 900, 1000, 1200, 1343, 1344, 2000] {
            for seed in 0..5 {
                assert_eq!(
                    find(&weeks(n, 5.0, seed), &[], &[], &CandidateParams::DEFAULT),
                    [24, 168],
                    "{n} {seed}"
                );
                assert_eq!(
                    find(&weeks(n, 0.0, seed), &[], &[], &CandidateParams::DEFAULT),
                    [24],
                    "{n} {seed}"
                );
            }
        }
    }
}
