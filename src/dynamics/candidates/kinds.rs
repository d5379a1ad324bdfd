//! Kinds of forecasts of a component: their places in lists, and what follows from a place.

use super::view::ViewKind;

/// Views of autoregressions, on values and then on logarithms.
pub const VIEWS: [ViewKind; 6] = [
    ViewKind::Value,
    ViewKind::Difference,
    ViewKind::SeasonalDifference(0),
    ViewKind::SeasonalDifference(1),
    ViewKind::Phase,
    ViewKind::PhaseDifference,
];

/// Direct regressions: whether on logarithms, and whether on the latest row alone.
pub const REGRESSIONS: [(bool, bool); 3] = [(false, false), (true, false), (false, true)];

/// Places in the list of forecasts.
pub const PERSISTENCE: usize = 0;
pub const MEAN: usize = 1;
pub const VIEWED: usize = 2;
pub const SMOOTHED: usize = VIEWED + 2 * VIEWS.len();
pub const DIRECT: usize = SMOOTHED + 6;
pub const BRIEF: usize = DIRECT + REGRESSIONS.len() - 1;
pub const OPERATOR: usize = BRIEF + 1;
pub const SEASONAL: usize = OPERATOR + 1;
pub const ON_A_LINE: usize = SEASONAL + 1;
pub const KINDS: usize = ON_A_LINE + 1;

/// Kinds in former files, which have neither of the last two.
pub const FORMER_KINDS: usize = SEASONAL;

/// Weights before the first losses. Smoothing, which has the fewest unknowns, counts twice; direct least squares and the
/// operator, which have the most, half.
pub const PRIORS: [f64; KINDS] = {
    let mut priors = [1.0; KINDS];
    let mut scale = 0;
    while scale < 2 {
        priors[SMOOTHED + 3 * scale] = 2.0;
        priors[SMOOTHED + 3 * scale + 1] = 2.0;
        scale += 1;
    }
    let mut place = DIRECT;
    while place <= OPERATOR {
        priors[place] = 0.5;
        place += 1;
    }
    priors
};

/// Kind of the forecast with this place, in the order of [`CANDIDATES`](super::CANDIDATES).
pub fn kind(place: usize) -> usize {
    match place {
        PERSISTENCE | MEAN => place,
        place if place < SMOOTHED => 2,
        place if place < DIRECT => 3,
        place if place < OPERATOR => 4,
        OPERATOR => 5,
        SEASONAL => PERSISTENCE,
        _ => 3,
    }
}

/// Whether the kind with this place forecasts on logarithms.
pub fn is_on_logs(place: usize) -> bool {
    match place {
        place if place < VIEWED => false,
        place if place < SMOOTHED => place >= VIEWED + VIEWS.len(),
        place if place < DIRECT => place >= SMOOTHED + 3,
        place if place < OPERATOR => REGRESSIONS[place - DIRECT].0,
        _ => false,
    }
}
