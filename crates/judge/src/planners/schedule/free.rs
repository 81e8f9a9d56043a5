//! How many GPUs are free, over time.

use std::collections::BTreeMap;

/// A span of seconds, `[from, to)`.
pub type Span = (i64, i64);

/// Steps of a block; one with twice as many is divided.
const BLOCK_STEPS: usize = 64;

/// Steps that follow each other, of which a search passes over all at once.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Block {
    /// At least one, ascending.
    steps: Vec<(i64, u32)>,
    /// The fewest GPUs of a step.
    least: u32,
    /// The most GPUs of a step.
    most: u32,
}

impl Block {
    fn of(steps: &[(i64, u32)]) -> Self {
        let mut block = Self { steps: steps.to_vec(), least: 0, most: 0 };
        block.count();
        block
    }

    fn count(&mut self) {
        let gpus = self.steps.iter().map(|(_, gpus)| *gpus);
        self.least = gpus.clone().min().unwrap_or(0);
        self.most = gpus.max().unwrap_or(0);
    }

    fn starts_at(&self) -> i64 {
        self.steps.first().map_or(i64::MIN, |(at, _)| *at)
    }
}

/// A step: which one of which block.
type Place = (usize, usize);

/// Free GPUs as steps: from each second on so many, until the next step. The first step is
/// at the least second.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreeGpus {
    /// At least one, ascending.
    blocks: Vec<Block>,
}

impl FreeGpus {
    pub fn always(gpus: u32) -> Self {
        Self { blocks: vec![Block::of(&[(i64::MIN, gpus)])] }
    }

    /// So many in spans that do not overlap, and none between them.
    pub fn within(gpus: u32, spans: &[Span]) -> Self {
        let mut steps = BTreeMap::from([(i64::MIN, 0)]);
        for (from, to) in spans.iter().filter(|(from, to)| from < to) {
            steps.insert(*from, gpus);
            steps.entry(*to).or_insert(0);
        }
        let steps: Vec<(i64, u32)> = steps.into_iter().collect();
        Self { blocks: steps.chunks(BLOCK_STEPS).map(Block::of).collect() }
    }

    /// The step that a second is in.
    fn place(&self, second: i64) -> Place {
        let blocks = self.blocks.partition_point(|block| block.starts_at() <= second);
        let block = blocks.saturating_sub(1);
        let steps = &self.blocks[block].steps;
        (block, steps.partition_point(|(at, _)| *at <= second).saturating_sub(1))
    }

    fn second(&self, (block, step): Place) -> i64 {
        self.blocks[block].steps[step].0
    }

    /// The first step from one on that has so many GPUs, or that does not.
    fn next(&self, (block, step): Place, gpus: u32, has_them: bool) -> Option<Place> {
        let has_none = |candidate: &Block| {
            if has_them { candidate.most < gpus } else { candidate.least >= gpus }
        };
        let rest = self.blocks.iter().enumerate().skip(block);
        let mut rest = rest.filter(|(_, candidate)| !has_none(candidate));
        rest.find_map(|(index, candidate)| {
            let from = if index == block { step } else { 0 };
            let mut steps = candidate.steps[from..].iter();
            Some((index, from + steps.position(|(_, free)| (*free >= gpus) == has_them)?))
        })
    }

    /// Spans from a second on with at least so many GPUs, joined where they meet; the last
    /// may have no end.
    fn spans(&self, second: i64, gpus: u32) -> impl Iterator<Item = Span> + '_ {
        let mut at = Some(self.place(second));
        std::iter::from_fn(move || {
            let begin = self.next(at?, gpus, true)?;
            at = self.next(begin, gpus, false);
            Some((self.second(begin).max(second), at.map_or(i64::MAX, |end| self.second(end))))
        })
    }

    /// The first start from a second on with so many GPUs for so long at a stretch.
    pub fn earliest(&self, second: i64, seconds: i64, gpus: u32) -> Option<i64> {
        let mut spans = self.spans(second, gpus);
        spans.find(|(from, to)| to.saturating_sub(*from) >= seconds).map(|(from, _)| from)
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
            let lost = if pieces.is_empty() { 0 } else { restart_seconds };
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
        self.step_at(from);
        self.step_at(to);
        let (first, _) = self.place(from);
        for block in &mut self.blocks[first..] {
            if block.starts_at() >= to {
                break;
            }
            for (_, free) in block.steps.iter_mut().filter(|(at, _)| (from..to).contains(at)) {
                *free = free.saturating_sub(gpus);
            }
            block.count();
        }
    }

    /// Makes a second the beginning of a step.
    fn step_at(&mut self, second: i64) {
        let (index, step) = self.place(second);
        let block = &mut self.blocks[index];
        let (at, free) = block.steps[step];
        if at == second {
            return;
        }
        block.steps.insert(step + 1, (second, free));
        if block.steps.len() >= 2 * BLOCK_STEPS {
            let rest = block.steps.split_off(BLOCK_STEPS);
            block.count();
            self.blocks.insert(index + 1, Block::of(&rest));
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
        assert_eq!(free.pieces(50, 60, 10, 1), Some(vec![(50, 100), (300, 320)]));
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

    /// The same by the second, from 0 on, and so many after the last.
    struct BySecond(Vec<u32>, u32);

    impl BySecond {
        fn free(&self, second: i64) -> u32 {
            let place = usize::try_from(second).expect("from 0 on");
            self.0.get(place).copied().unwrap_or(self.1)
        }

        fn earliest(&self, second: i64, seconds: i64, gpus: u32) -> Option<i64> {
            let last = second.max(self.0.len() as i64);
            let mut starts = second..=last;
            starts.find(|start| {
                let mut span = *start..start + seconds;
                span.all(|at| self.free(at) >= gpus)
            })
        }

        fn pieces(&self, second: i64, work: i64, restart: i64, gpus: u32) -> Option<Vec<Span>> {
            let known = self.0.len() as i64;
            let has_them = |at: i64| self.free(at) >= gpus;
            let (mut pieces, mut left, mut at) = (Vec::new(), work, second);
            loop {
                while at < known && !has_them(at) {
                    at += 1;
                }
                if !has_them(at) {
                    return None;
                }
                let mut to = at;
                while to < known && has_them(to) {
                    to += 1;
                }
                if has_them(to) {
                    to = i64::MAX;
                }
                let lost = if pieces.is_empty() { 0 } else { restart };
                let useful = to - at - lost;
                if useful >= left {
                    pieces.push((at, at + lost + left));
                    return Some(pieces);
                }
                if useful > 0 {
                    left -= useful;
                    pieces.push((at, to));
                }
                at = to;
            }
        }
    }

    #[test]
    fn blocks_of_steps_find_what_seconds_find() {
        const LAST: i64 = 400;
        let mut random = fastrand::Rng::with_seed(15);
        for always in [0, 3, 8] {
            let mut free = FreeGpus::always(8);
            if always < 8 {
                free.take((LAST, i64::MAX), 8 - always);
            }
            let mut seconds = BySecond(vec![8; LAST as usize], always);
            for _ in 0..600 {
                let (second, gpus) = (random.i64(0..LAST + 20), random.u32(1..=8));
                let length = random.i64(1..=40);
                let start = free.earliest(second, length, gpus);
                assert_eq!(start, seconds.earliest(second, length, gpus));
                let restart = random.i64(0..=5);
                let pieces = free.pieces(second, length, restart, gpus);
                assert_eq!(pieces, seconds.pieces(second, length, restart, gpus));
                // Single seconds, so that there are more steps than a block has.
                let at = random.i64(0..LAST - 4);
                let span = (at, at + random.i64(1..=4));
                let most = (span.0..span.1).map(|each| seconds.free(each)).min();
                let taken = random.u32(0..=most.expect("a second").min(2));
                free.take(span, taken);
                for each in span.0..span.1 {
                    seconds.0[each as usize] -= taken;
                }
            }
            assert!(free.blocks.len() > 2, "{}", free.blocks.len());
        }
    }
}
