//! Whole numbers in few bytes: the form in which a fleet is held.

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
pub(super) fn write(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads what [`write`] wrote; `None` at the end.
pub(super) fn read(bytes: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
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
