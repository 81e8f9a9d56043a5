//! Onto how few nodes pods fit that hold whole devices.

use std::cmp::Reverse;

/// Bins that are tried as the one to be emptied; each try places every pod.
const MOST_TARGETS: usize = 32;

/// A node as far as pods hold whole devices of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bin {
    /// Devices for pods that a scheduler places: those of pods that go with their node are
    /// not among them.
    pub capacity: u64,
    /// Devices of pods that cannot move.
    pub pinned: u64,
    /// Devices of each pod that can.
    pub movable: Vec<u64>,
}

impl Bin {
    fn moving(&self) -> u64 {
        self.movable.iter().sum()
    }
}

/// A pod that moves, by its place in its bin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    pub from: usize,
    pub pod: usize,
    pub to: usize,
}

/// Bins that can be emptied, and what moves for that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Packing {
    /// Ascending.
    pub freed: Vec<usize>,
    pub moves: Vec<Move>,
}

/// Empties as many bins as first fit by decreasing size does. The fullest bins stay, and
/// pods on them stay where they are if that suffices. Every bin must have
/// room for what is on it.
pub(super) fn pack(bins: &[Bin]) -> Packing {
    let mut order: Vec<usize> = (0..bins.len()).collect();
    order.sort_by_key(|place| {
        let bin = &bins[*place];
        let held = bin.pinned + bin.moving();
        let fullest = (Reverse(held), Reverse(bin.capacity));
        (bin.pinned == 0, fullest, *place)
    });
    let all: u64 = bins.iter().map(Bin::moving).sum();
    let fixed = bins.iter().filter(|bin| bin.pinned > 0).count();
    let mut room: u64 = 0;
    for keep in 0..bins.len() {
        if keep >= fixed && room >= all {
            let found = placed(bins, &order, keep, true);
            if let Some(moves) = found.or_else(|| placed(bins, &order, keep, false)) {
                let mut freed = order[keep..].to_vec();
                freed.sort_unstable();
                return Packing { freed, moves };
            }
        }
        let bin = &bins[order[keep]];
        room += bin.capacity - bin.pinned;
    }
    Packing::default()
}

/// Whether pods can move so that one bin has so many devices free. As first fit by
/// decreasing size does not find every way, some answers are wrongly no, and none wrongly yes.
pub(super) fn can_gather(bins: &[Bin], wanted: u64) -> bool {
    let mut targets: Vec<usize> = (0..bins.len()).collect();
    targets.retain(|place| bins[*place].capacity >= bins[*place].pinned + wanted);
    // Where least has to move.
    targets.sort_by_key(|place| {
        let bin = &bins[*place];
        (bin.pinned + bin.moving()).saturating_sub(bin.capacity - wanted)
    });
    let mut targets = targets.into_iter().take(MOST_TARGETS);
    targets.any(|target| {
        // Its pods are placed again, on what is left of it and on the others.
        let mut changed = bins.to_vec();
        let movable = std::mem::take(&mut changed[target].movable);
        changed[target].pinned += wanted;
        changed.push(Bin {
            capacity: movable.iter().sum(),
            pinned: 0,
            movable,
        });
        let order: Vec<usize> = (0..changed.len()).collect();
        let found = placed(&changed, &order, bins.len(), true);
        found
            .or_else(|| placed(&changed, &order, bins.len(), false))
            .is_some()
    })
}

/// Moves that leave pods on the first bins of an order alone; `stays` is whether those
/// that are there stay where they are.
fn placed(bins: &[Bin], order: &[usize], keep: usize, stays: bool) -> Option<Vec<Move>> {
    let (kept, emptied) = order.split_at(keep);
    let room = |place: &usize| {
        let bin = &bins[*place];
        bin.capacity - bin.pinned - if stays { bin.moving() } else { 0 }
    };
    let mut free: Vec<u64> = kept.iter().map(room).collect();
    let sources = if stays { emptied } else { order };
    let mut pods = Vec::new();
    for from in sources {
        let sizes = bins[*from].movable.iter().enumerate();
        pods.extend(sizes.map(|(pod, size)| (Reverse(*size), *from, pod)));
    }
    pods.sort_unstable();
    let mut moves = Vec::new();
    // What does not fit a size now never will.
    let (mut first, mut last_size) = (0, u64::MAX);
    for (Reverse(size), from, pod) in pods {
        if size != last_size {
            (first, last_size) = (0, size);
        }
        while *free.get(first)? < size {
            first += 1;
        }
        free[first] -= size;
        let to = kept[first];
        if to != from {
            moves.push(Move { from, pod, to });
        }
    }
    Some(moves)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bin(capacity: u64, movable: &[u64]) -> Bin {
        Bin {
            capacity,
            pinned: 0,
            movable: movable.to_vec(),
        }
    }

    #[test]
    fn the_emptiest_nodes_are_freed_and_the_others_stay() {
        // 4 + 2 of 8, 2 of 8, 1 of 8: the last two fit beside the first, 9 > 8 together.
        let bins = [bin(8, &[1]), bin(8, &[4, 2]), bin(8, &[2])];
        let found = pack(&bins);
        assert_eq!(found.freed, [0]);
        // The fullest has room for 2, and 1 is placed there.
        let expected = Move {
            from: 0,
            pod: 0,
            to: 1,
        };
        assert_eq!(found.moves, [expected]);
        // Nothing fits beside a full node.
        assert_eq!(pack(&[bin(8, &[8]), bin(8, &[1])]), Packing::default());
        // 3 of 4 and 3 of 4 and 1 + 1 of 4: 3 + 1 twice.
        let bins = [bin(4, &[3]), bin(4, &[3]), bin(4, &[1, 1])];
        assert_eq!(pack(&bins).freed, [2]);
        assert_eq!(pack(&bins).moves.len(), 2);
    }

    #[test]
    fn what_cannot_move_keeps_its_node() {
        let pinned = Bin {
            capacity: 8,
            pinned: 1,
            movable: Vec::new(),
        };
        // The node of five goes to the one of the pod that stays.
        assert_eq!(pack(&[bin(8, &[5]), pinned.clone()]).freed, [0]);
        assert_eq!(pack(&[pinned.clone(), pinned]), Packing::default());
        // A node with nothing to place, as with pods of a DaemonSet alone.
        assert_eq!(pack(&[bin(8, &[])]).freed, [0]);
    }

    #[test]
    fn devices_are_gathered_by_moving_what_can_move() {
        // Nothing beside a five fits elsewhere.
        let fives = [bin(8, &[5]), bin(8, &[5]), bin(8, &[5])];
        assert!(can_gather(&fives, 3) && !can_gather(&fives, 4) && !can_gather(&fives, 8));
        // The one goes to the second: 3 free beside the five.
        let mixed = [bin(8, &[5, 1]), bin(8, &[6])];
        assert!(can_gather(&mixed, 3) && !can_gather(&mixed, 4));
        // Only if the two change places: six beside the one that stays, five beside three.
        let stays = |pinned, movable: &[u64]| Bin {
            pinned,
            ..bin(8, movable)
        };
        assert!(can_gather(&[stays(1, &[5]), bin(8, &[6])], 3));
        assert!(can_gather(&[stays(4, &[]), bin(8, &[4])], 8));
        assert!(!can_gather(&[stays(4, &[]), stays(4, &[])], 8));
        // The four has a place on an empty node, of which four are left.
        assert!(can_gather(&[bin(8, &[4]), bin(4, &[])], 8));
        assert!(!can_gather(&[bin(8, &[4]), bin(3, &[])], 8));
        assert!(!can_gather(&[], 1));
    }

    /// The fewest bins of a capacity that sizes fit into, by trying all.
    fn fewest(sizes: &[u64], free: &mut Vec<u64>, capacity: u64) -> usize {
        let Some((size, rest)) = sizes.split_first() else {
            return free.len();
        };
        let mut best = usize::MAX;
        for place in 0..free.len() {
            if free[place] >= *size {
                free[place] -= size;
                best = best.min(fewest(rest, free, capacity));
                free[place] += size;
            }
        }
        free.push(capacity - size);
        best = best.min(fewest(rest, free, capacity));
        free.pop();
        best
    }

    fn fits(sizes: &[u64]) -> bool {
        sizes.iter().sum::<u64>() <= 8
    }

    fn fleet() -> impl Strategy<Value = Vec<Bin>> {
        let one = (0..=2_u64, prop::collection::vec(1..=8_u64, 0..4), 0..=4_u64);
        prop::collection::vec(one, 1..7).prop_map(|all| {
            let bins = all.into_iter().map(|(pinned, movable, spare)| Bin {
                capacity: pinned + movable.iter().sum::<u64>() + spare,
                pinned,
                movable,
            });
            bins.collect()
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_node_is_overfull(bins in fleet()) {
            let found = pack(&bins);
            let mut held: Vec<u64> = bins.iter().map(|bin| bin.pinned + bin.moving()).collect();
            let before: u64 = held.iter().sum();
            for one in &found.moves {
                let size = bins[one.from].movable[one.pod];
                held[one.from] -= size;
                held[one.to] += size;
                prop_assert!(!found.freed.contains(&one.to));
            }
            prop_assert_eq!(held.iter().sum::<u64>(), before);
            for (place, bin) in bins.iter().enumerate() {
                prop_assert!(held[place] <= bin.capacity);
                if found.freed.contains(&place) {
                    prop_assert_eq!((held[place], bin.pinned), (0, 0));
                }
            }
        }

        #[test]
        fn first_fit_by_decreasing_size_is_near_the_optimum(
            nodes in prop::collection::vec(prop::collection::vec(1..=8_u64, 0..3), 1..5),
        ) {
            let bins: Vec<Bin> = nodes.iter().filter(|one| fits(one)).map(|one| bin(8, one)).collect();
            let sizes: Vec<u64> = bins.iter().flat_map(|bin| bin.movable.clone()).collect();
            let best = fewest(&sizes, &mut Vec::new(), 8);
            let kept = bins.len() - pack(&bins).freed.len();
            prop_assert!(kept >= best);
            // The bound of first fit decreasing: 11/9 of the optimum and 6/9.
            prop_assert!(9 * kept <= 11 * best + 6, "{} of {}", kept, best);
        }

        #[test]
        fn pods_with_one_device_each_are_packed_as_tightly_as_can_be(
            held in prop::collection::vec(0..=8_usize, 1..20),
        ) {
            let bins: Vec<Bin> = held.iter().map(|count| bin(8, &vec![1; *count])).collect();
            let kept = bins.len() - pack(&bins).freed.len();
            prop_assert_eq!(kept, held.iter().sum::<usize>().div_ceil(8));
        }
    }
}
