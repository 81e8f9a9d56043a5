//! Whole numbers in few bytes, the form in which a fleet is held: columns of them, and counts by
//! size, whose percentiles add up.

/// Finest step of a percentage, as parts of a point.
const STEPS_PER_POINT: f64 = 100.0;
/// MiB are counted one by one below this, then in as many steps for each doubling.
const WHOLE_MIB: u64 = 2_048;
/// The largest number of MiB that is told from larger ones: 16 TiB.
const MOST_MIB: u64 = 1 << 24;

/// What is counted, and so how finely its percentiles are reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// 0–100 in hundredths. Percentiles are exact for hundredths, and off by at most
    /// [`Scale::PERCENT_ERROR`] else.
    Percent,
    /// MiB. Percentiles are exact for whole ones below 2,048, and off by at most
    /// [`Scale::MEBIBYTES_RELATIVE_ERROR`] of the value above.
    Mebibytes,
}

impl Scale {
    /// Most that a percentile of percentages is off, in points.
    pub const PERCENT_ERROR: f64 = 0.5 / STEPS_PER_POINT;
    /// Most that a percentile of MiB from 2,048 on is off, as a share of it.
    pub const MEBIBYTES_RELATIVE_ERROR: f64 = 1.0 / WHOLE_MIB as f64;

    /// Whether a value can be counted.
    pub(super) fn holds(self, value: f64) -> bool {
        match self {
            Self::Percent => (0.0..=100.0).contains(&value),
            Self::Mebibytes => value.is_finite() && value >= 0.0,
        }
    }

    /// The step that a value falls into.
    pub(super) fn bin(self, value: f64) -> u16 {
        match self {
            Self::Percent => hundredths(value),
            Self::Mebibytes => {
                let whole = rounded(value).min(MOST_MIB);
                if whole < WHOLE_MIB {
                    return whole as u16;
                }
                // The eleven highest bits, and by how many places they stand higher.
                let shift = whole.ilog2() - (WHOLE_MIB.ilog2() - 1);
                (u64::from(shift) * (WHOLE_MIB / 2) + (whole >> shift)) as u16
            }
        }
    }

    /// The middle of a step.
    pub(super) fn value(self, bin: u16) -> f64 {
        let bin = u64::from(bin);
        match self {
            Self::Percent => bin as f64 / STEPS_PER_POINT,
            Self::Mebibytes if bin < WHOLE_MIB => bin as f64,
            Self::Mebibytes => {
                let shift = bin / (WHOLE_MIB / 2) - 1;
                let lowest = (bin - shift * (WHOLE_MIB / 2)) << shift;
                lowest as f64 + ((1_u64 << shift) - 1) as f64 / 2.0
            }
        }
    }
}

/// A percentage in hundredths of a point, 0–10,000.
pub(super) fn hundredths(percent: f64) -> u16 {
    rounded(percent * STEPS_PER_POINT) as u16
}

/// A number of at least 0 as a whole one, halves upwards: of values with the precision of
/// `f32`, the same as `f64::round`, which is a call for each on x86-64.
fn rounded(value: f64) -> u64 {
    (value + 0.5) as u64
}

/// A percentage from hundredths of a point.
pub(super) fn percent(hundredths: u16) -> f64 {
    f64::from(hundredths) / STEPS_PER_POINT
}

/// How many values fell into each step of a [`Scale`]: a few bytes for each step that
/// any fell into, however many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram(Box<[u8]>);

impl Histogram {
    /// From steps with their counts, ascending.
    pub(super) fn of(counts: impl IntoIterator<Item = (u16, u32)>) -> Self {
        let mut bytes = Vec::new();
        let mut last = 0;
        for (bin, count) in counts {
            write(&mut bytes, u64::from(bin - last));
            write(&mut bytes, u64::from(count));
            last = bin;
        }
        Self(bytes.into())
    }

    /// Steps with their counts, ascending.
    pub(super) fn counts(&self) -> impl Iterator<Item = (u16, u32)> + Clone + '_ {
        let mut bytes = self.0.iter();
        let mut bin = 0;
        std::iter::from_fn(move || {
            bin += read(&mut bytes)? as u16;
            Some((bin, read(&mut bytes)? as u32))
        })
    }

    pub fn len(&self) -> u64 {
        self.counts().map(|(_, count)| u64::from(count)).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn merge(&self, other: &Self) -> Self {
        let mut counts: Vec<(u16, u32)> = self.counts().chain(other.counts()).collect();
        counts.sort_unstable_by_key(|(bin, _)| *bin);
        counts.dedup_by(|next, kept| {
            let is_same = next.0 == kept.0;
            if is_same {
                kept.1 += next.1;
            }
            is_same
        });
        Self::of(counts)
    }

    /// Arithmetic mean of percentages, added up in whole hundredths without any rounding;
    /// `None` of nothing.
    pub fn mean_percent(&self) -> Option<f64> {
        let counts = self.counts();
        let sum: u64 = counts.map(|(bin, count)| u64::from(bin) * u64::from(count)).sum();
        (!self.is_empty()).then(|| sum as f64 / STEPS_PER_POINT / self.len() as f64)
    }

    /// The largest value; `None` of nothing.
    pub fn max(&self, scale: Scale) -> Option<f64> {
        self.counts().last().map(|(bin, _)| scale.value(bin))
    }

    /// What all values from one on reach but one in a hundred: a process that starts or ends
    /// within a period makes its average lower. `None` of nothing.
    pub fn low(&self, scale: Scale, from: f64) -> Option<f64> {
        let counts = self.counts();
        let counted = counts.filter(|(bin, _)| scale.value(*bin) >= from);
        let [low] = quantiles(counted, |bin| scale.value(bin), [0.01])?;
        Some(low)
    }

    /// Quantiles (0–1, ascending) by linear interpolation between order statistics:
    /// numpy's `linear`. `None` of nothing.
    pub fn quantiles<const N: usize>(&self, scale: Scale, asked: [f64; N]) -> Option<[f64; N]> {
        quantiles(self.counts(), |bin| scale.value(bin), asked)
    }
}

/// Quantiles (0–1, ascending) of values in steps with their counts, ascending.
pub(super) fn quantiles<const N: usize>(
    counts: impl Iterator<Item = (u16, u32)> + Clone,
    value: impl Fn(u16) -> f64,
    asked: [f64; N],
) -> Option<[f64; N]> {
    let total: u64 = counts.clone().map(|(_, count)| u64::from(count)).sum();
    let last = total.checked_sub(1)?;
    let mut counts = counts;
    let (mut bin, mut seen) = (0, 0);
    // The value at a rank from 0; ranks ascend.
    let mut ranked = |rank: u64| {
        while seen <= rank {
            let Some((next, count)) = counts.next() else { break };
            (bin, seen) = (next, seen + u64::from(count));
        }
        value(bin)
    };
    let mut previous: Option<(u64, f64)> = None;
    Some(asked.map(|quantile| {
        let position = quantile.clamp(0.0, 1.0) * last as f64;
        let below = position.floor() as u64;
        let above = (below + 1).min(last);
        let lower = match previous {
            Some((rank, of_rank)) if rank >= below => of_rank,
            _ => ranked(below),
        };
        let upper = if above == below { lower } else { ranked(above) };
        previous = Some((below, lower));
        lower + (upper - lower) * (position - below as f64)
    }))
}

/// A column of numbers, one for each period, as differences with their repetitions:
/// two bytes for a noisy percentage, next to none for what stays the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Column(Box<[u8]>);

impl Column {
    /// Packs numbers below 2^31.
    pub(super) fn of(values: impl IntoIterator<Item = u32>) -> Self {
        let mut bytes = Vec::new();
        let mut push = |step: i64, times: u64| {
            let zigzag = ((step << 1) ^ (step >> 63)) as u64;
            write(&mut bytes, zigzag << 1 | u64::from(times > 1));
            if times > 1 {
                write(&mut bytes, times);
            }
        };
        let mut values = values.into_iter();
        let Some(mut last) = values.next() else { return Self::default() };
        let (mut step, mut times) = (i64::from(last), 1);
        for value in values {
            if value == last {
                times += 1;
                continue;
            }
            push(step, times);
            (step, times) = (i64::from(value) - i64::from(last), 1);
            last = value;
        }
        push(step, times);
        Self(bytes.into())
    }

    /// The numbers, in order.
    pub(super) fn values(&self) -> impl Iterator<Item = u32> + '_ {
        let mut bytes = self.0.iter();
        let (mut value, mut times) = (0_i64, 0_u64);
        std::iter::from_fn(move || {
            if times == 0 {
                let head = read(&mut bytes)?;
                let zigzag = (head >> 1) as i64;
                value += (zigzag >> 1) ^ -(zigzag & 1);
                times = if head & 1 == 1 { read(&mut bytes)? } else { 1 };
            }
            times -= 1;
            u32::try_from(value).ok()
        })
    }
}

/// Writes seven bits a byte, the lowest first.
fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads what [`write`] wrote; `None` at the end.
fn read(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = *bytes.next()?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_stays_the_same_takes_no_room() {
        let column = Column::of([7; 4_032]);
        assert_eq!(column.values().count(), 4_032);
        // Head and repetitions: 7 fits one byte, 4,032 two.
        assert_eq!(column.0.len(), 3);
        assert_eq!(Column::of([]).values().next(), None);
    }

    proptest! {
        #[test]
        fn numbers_come_back(
            values in prop::collection::vec(prop_oneof![Just(0), 0..10_u32, 0..1_u32 << 31], 0..200),
        ) {
            let packed = Column::of(values.iter().copied());
            prop_assert_eq!(packed.values().collect::<Vec<_>>(), values);
        }
    }
}
