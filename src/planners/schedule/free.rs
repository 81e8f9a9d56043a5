//! How many GPUs are free, over time.

use std::collections::BTreeMap;
use std::ops::Bound;

/// A span of seconds, `[from, to)`.
pub type Span = (i64, i64);

/// Free GPUs as steps: from each second on so many, until the next step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeGpus {
    steps: BTreeMap<i64, u32>,
}

impl FreeGpus {
    pub fn always(gpus: u32) -> Self {
        Self {
            steps: BTreeMap::from([(i64::MIN, gpus)]),
        }
    }

    /// So many in spans that do not overlap, and none between them.
    pub fn within(gpus: u32, spans: &[Span]) -> Self {
        let mut steps = BTreeMap::from([(i64::MIN, 0)]);
        for (from, to) in spans.iter().filter(|(from, to)| from < to) {
            steps.insert(*from, gpus);
            steps.entry(*to).or_insert(0);
        }
        Self { steps }
    }

    /// The steps from a second on; the first is cut to begin there.
    fn steps_from(&self, second: i64) -> impl Iterator<Item = (i64, u32)> + '_ {
        let first = self.steps.range(..=second).next_back();
        let first = first.map(|(_, gpus)| (second, *gpus));
        let rest = (Bound::Excluded(second), Bound::Unbounded);
        let rest = self.steps.range(rest).map(|(at, gpus)| (*at, *gpus));
        first.into_iter().chain(rest)
    }

    /// Spans from a second on with at least so many GPUs, joined where they meet; the last
    /// may have no end.
    fn spans(&self, second: i64, gpus: u32) -> impl Iterator<Item = Span> + '_ {
        let mut steps = self
            .steps_from(second)
            .map(move |(at, free)| (at, free >= gpus));
        let mut is_over = false;
        std::iter::from_fn(move || {
            if is_over {
                return None;
            }
            let (from, _) = steps.find(|(_, is_free)| *is_free)?;
            match steps.find(|(_, is_free)| !is_free) {
                Some((to, _)) => Some((from, to)),
                None => {
                    is_over = true;
                    Some((from, i64::MAX))
                }
            }
        })
    }

    /// The first start from a second on with so many GPUs for so long at a stretch.
    pub fn earliest(&self, second: i64, seconds: i64, gpus: u32) -> Option<i64> {
        let mut spans = self.spans(second, gpus);
        let long = spans.find(|(from, to)| to.saturating_sub(*from) >= seconds);
        long.map(|(from, _)| from)
    }

    /// Spans in which so much work is done from a second on, first come: every one but the
    /// first begins with a restart.
    pub fn pieces(
        &self,
        second: i64,
        work_seconds: i64,
        restart_seconds: i64,
        gpus: u32,
    ) -> Option<Vec<Span>> {
        let mut left = work_seconds;
        let mut pieces = Vec::new();
        for (from, to) in self.spans(second, gpus) {
            let lost = if pieces.is_empty() {
                0
            } else {
                restart_seconds
            };
            let useful = to.saturating_sub(from).saturating_sub(lost);
            if useful <= 0 {
                continue;
            }
            if useful >= left {
                pieces.push((from, from + lost + left));
                return Some(pieces);
            }
            left -= useful;
            pieces.push((from, to));
        }
        None
    }

    /// Takes GPUs that are free in a span.
    pub fn take(&mut self, (from, to): Span, gpus: u32) {
        for at in [from, to] {
            let before = self.steps.range(..=at).next_back();
            let free = before.map_or(0, |(_, free)| *free);
            self.steps.entry(at).or_insert(free);
        }
        for (_, free) in self.steps.range_mut(from..to) {
            *free = free.saturating_sub(gpus);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_goes_where_enough_is_free() {
        let mut free = FreeGpus::within(4, &[(0, 100), (200, 260), (300, 400)]);
        assert_eq!(free.earliest(0, 100, 4), Some(0));
        assert_eq!(free.earliest(10, 100, 4), Some(300));
        assert_eq!(free.earliest(10, 60, 4), Some(10));
        assert_eq!(free.earliest(0, 101, 1), None);
        assert_eq!(free.earliest(0, 1, 5), None);
        free.take((20, 40), 3);
        assert_eq!(free.earliest(0, 60, 1), Some(0));
        assert_eq!(free.earliest(0, 60, 2), Some(40));
        assert_eq!(free.earliest(0, 61, 2), Some(300));
        let always = FreeGpus::always(2);
        assert_eq!(always.earliest(-5, 1_000_000, 2), Some(-5));
    }

    #[test]
    fn pieces_begin_with_a_restart() {
        let free = FreeGpus::within(1, &[(0, 100), (200, 205), (300, 400)]);
        assert_eq!(free.pieces(0, 100, 10, 1), Some(vec![(0, 100)]));
        // 5 seconds are less than a restart.
        assert_eq!(
            free.pieces(50, 60, 10, 1),
            Some(vec![(50, 100), (300, 320)])
        );
        assert_eq!(free.pieces(50, 53, 0, 1), Some(vec![(50, 100), (200, 203)]));
        assert_eq!(free.pieces(0, 191, 10, 1), None);
        assert_eq!(free.pieces(0, 190, 10, 1), Some(vec![(0, 100), (300, 400)]));
    }

    #[test]
    fn spans_that_meet_are_one() {
        let mut free = FreeGpus::within(2, &[(0, 50), (50, 100)]);
        assert_eq!(free.earliest(0, 100, 2), Some(0));
        free.take((0, 50), 1);
        assert_eq!(free.earliest(0, 100, 1), Some(0));
        free.take((0, 100), 1);
        assert_eq!(free.earliest(0, 1, 1), Some(50));
    }
}
