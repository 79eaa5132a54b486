//! Means and quantiles.

/// The sum, rounded once, as `math.fsum` (Shewchuk, "Adaptive Precision Floating-Point Arithmetic",
/// 1997).
pub fn exact_sum(values: impl Iterator<Item = f64>) -> f64 {
    let mut parts: Vec<f64> = Vec::new();
    for mut sum in values {
        let mut kept = 0;
        for at in 0..parts.len() {
            let (large, small) = match parts[at] {
                part if part.abs() < sum.abs() => (sum, part),
                part => (part, sum),
            };
            sum = large + small;
            let rest = small - (sum - large);
            if rest != 0.0 {
                parts[kept] = rest;
                kept += 1;
            }
        }
        parts.truncate(kept);
        parts.push(sum);
    }
    parts.iter().rev().sum()
}

/// The sum as numpy has it, in pairs.
fn sum(values: &[f64]) -> f64 {
    if values.len() > 128 {
        let half = values.len() / 16 * 8;
        return sum(&values[..half]) + sum(&values[half..]);
    }
    let eights = values.chunks_exact(8);
    let rest = eights.remainder();
    let sums = eights.map(|each| <[f64; 8]>::try_from(each).expect("it has eight"));
    let sums = sums.reduce(|mut sums, each| {
        sums.iter_mut()
            .zip(each)
            .for_each(|(sum, value)| *sum += value);
        sums
    });
    let [a, b, c, d, e, f, g, h] = sums.unwrap_or_default();
    let start = ((a + b) + (c + d)) + ((e + f) + (g + h));
    rest.iter().fold(start, |sum, value| sum + value)
}

pub fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

pub fn percent(some: f64, of: f64) -> f64 {
    if of > 0.0 {
        100.0 * some / of
    } else {
        0.0
    }
}

/// (Σx)² / (n Σx²): 1 if all shares are equal, 1/n if one share has all (Jain et al. 1984). NaN if all
/// are 0.
pub fn jain_index(shares: &[f64]) -> f64 {
    let squares = shares.len() as f64 * exact_sum(shares.iter().map(|share| share * share));
    if squares == 0.0 {
        return f64::NAN;
    }
    let sum = exact_sum(shares.iter().copied());
    sum * sum / squares
}

/// A quantile of sorted values, between two of them on the straight line.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = share * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted[place as usize], sorted[place.ceil() as usize]);
    Some(low + place.fract() * (high - low))
}

/// The value at a rank of sorted values, or the next.
pub fn higher(sorted: &[f64], share: f64) -> f64 {
    sorted[(share * (sorted.len() - 1) as f64).ceil() as usize]
}

/// From `from` by `step` up to below `until`.
pub fn steps(from: f64, until: f64, step: f64) -> Vec<f64> {
    let count = ((until - from) / step).ceil().max(0.0) as usize;
    // So has `numpy.arange`.
    let step = from + step - from;
    (0..count).map(|index| from + index as f64 * step).collect()
}

/// Of a column that grows with the time, between two rows on the straight line; NaN behind the last.
pub fn interpolated(at: f64, times: &[f64], values: &[f64]) -> f64 {
    let after = times.partition_point(|time| *time <= at);
    let before = after - 1;
    if times[before] == at {
        return values[before];
    }
    let Some(next) = times.get(after) else {
        return f64::NAN;
    };
    let slope = (values[after] - values[before]) / (next - times[before]);
    slope * (at - times[before]) + values[before]
}
