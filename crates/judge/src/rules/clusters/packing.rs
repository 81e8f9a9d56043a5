//! Onto how few nodes pods fit that hold whole devices, with their CPU and memory.

use std::cmp::Reverse;

/// Bins that are tried as the one to be emptied; each try places every pod.
const MOST_TARGETS: usize = 32;

/// What a pod takes, or a node has. Sums and differences stay within what can be counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Size {
    pub devices: u64,
    pub cpu_millicores: u64,
    pub memory_mib: u64,
}

impl Size {
    pub fn plus(self, other: Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    pub fn less(self, other: Self) -> Self {
        self.each(other, u64::saturating_sub)
    }

    pub fn sum(sizes: &[Self]) -> Self {
        sizes.iter().fold(Self::default(), |sum, size| sum.plus(*size))
    }

    pub fn fits(self, room: Self) -> bool {
        self.devices <= room.devices
            && self.cpu_millicores <= room.cpu_millicores
            && self.memory_mib <= room.memory_mib
    }

    fn each(self, other: Self, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            devices: of(self.devices, other.devices),
            cpu_millicores: of(self.cpu_millicores, other.cpu_millicores),
            memory_mib: of(self.memory_mib, other.memory_mib),
        }
    }
}

/// A node as far as pods hold whole devices of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Bin {
    /// For pods that a scheduler places: devices of pods that go with their node are not
    /// among these.
    pub capacity: Size,
    /// What cannot move takes; a bin in which that has devices is not emptied.
    pub pinned: Size,
    /// Each pod that can.
    pub movable: Vec<Size>,
}

impl Bin {
    fn moving(&self) -> Size {
        Size::sum(&self.movable)
    }

    /// Devices that are held.
    fn held(&self) -> u64 {
        self.pinned.plus(self.moving()).devices
    }

    fn can_be_emptied(&self) -> bool {
        self.pinned.devices == 0
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
/// pods on them stay where they are if that suffices. Every bin must have devices for what
/// is on it.
pub(super) fn pack(bins: &[Bin]) -> Packing {
    let mut order: Vec<usize> = (0..bins.len()).collect();
    order.sort_by_key(|place| {
        let bin = &bins[*place];
        let room = bin.capacity.less(bin.pinned);
        (bin.can_be_emptied(), (Reverse(bin.held()), Reverse(room)), *place)
    });
    let moving = bins.iter().map(Bin::moving).fold(Size::default(), Size::plus);
    let fixed = bins.iter().filter(|bin| !bin.can_be_emptied()).count();
    let mut room = Size::default();
    for keep in 0..bins.len() {
        if keep >= fixed && moving.fits(room) {
            let first_try = placed(bins, &order, keep, true);
            if let Some(moves) = first_try.or_else(|| placed(bins, &order, keep, false)) {
                let mut freed = order[keep..].to_vec();
                freed.sort_unstable();
                return Packing { freed, moves };
            }
        }
        let bin = &bins[order[keep]];
        room = room.plus(bin.capacity.less(bin.pinned));
    }
    Packing::default()
}

/// Whether pods can move so that one bin has so much free. As first fit by decreasing size
/// does not find every way, some answers are wrongly no, and none wrongly yes.
pub(super) fn can_gather(bins: &[Bin], wanted: Size) -> bool {
    let mut targets: Vec<usize> = (0..bins.len()).collect();
    targets.retain(|place| {
        let bin = &bins[*place];
        bin.pinned.plus(wanted).fits(bin.capacity)
    });
    // Where least has to move.
    targets.sort_by_key(|place| {
        let bin = &bins[*place];
        bin.held().saturating_sub(bin.capacity.less(wanted).devices)
    });
    targets.into_iter().take(MOST_TARGETS).any(|target| {
        // Its pods are placed again, on what is left of it and on the others.
        let mut changed = bins.to_vec();
        let movable = std::mem::take(&mut changed[target].movable);
        changed[target].pinned = changed[target].pinned.plus(wanted);
        changed.push(Bin { capacity: Size::sum(&movable), pinned: Size::default(), movable });
        let order: Vec<usize> = (0..changed.len()).collect();
        let moves = placed(&changed, &order, bins.len(), true);
        moves.or_else(|| placed(&changed, &order, bins.len(), false)).is_some()
    })
}

/// Moves that leave pods on the first bins of an order alone; `stays` is whether those
/// that are there stay where they are.
fn placed(bins: &[Bin], order: &[usize], keep: usize, stays: bool) -> Option<Vec<Move>> {
    let (kept, emptied) = order.split_at(keep);
    let room = |place: &usize| {
        let bin = &bins[*place];
        let free = bin.capacity.less(bin.pinned);
        if stays { free.less(bin.moving()) } else { free }
    };
    let mut free: Vec<Size> = kept.iter().map(room).collect();
    let sources = if stays { emptied } else { order };
    let mut pods = Vec::new();
    for from in sources {
        let sizes = bins[*from].movable.iter().enumerate();
        pods.extend(sizes.map(|(pod, size)| (Reverse(*size), *from, pod)));
    }
    pods.sort_unstable();
    let mut moves = Vec::new();
    // What does not fit a size now never will.
    let (mut first, mut last_size) = (0, None);
    for (Reverse(size), from, pod) in pods {
        if last_size != Some(size) {
            (first, last_size) = (0, Some(size));
        }
        while !size.fits(*free.get(first)?) {
            first += 1;
        }
        free[first] = free[first].less(size);
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

    /// So many devices, of which each has a core and a GiB.
    fn of(devices: u64) -> Size {
        Size { devices, cpu_millicores: devices * 1_000, memory_mib: devices * 1_024 }
    }

    fn bin(capacity: u64, movable: &[u64]) -> Bin {
        Bin {
            capacity: of(capacity),
            pinned: Size::default(),
            movable: movable.iter().map(|devices| of(*devices)).collect(),
        }
    }

    #[test]
    fn the_emptiest_nodes_are_freed_and_the_others_stay() {
        // 4 + 2 of 8, 2 of 8, 1 of 8: the last two fit beside the first, 9 > 8 together.
        let bins = [bin(8, &[1]), bin(8, &[4, 2]), bin(8, &[2])];
        let packing = pack(&bins);
        assert_eq!(packing.freed, [0]);
        // The fullest has room for 2, and 1 is placed there.
        let expected = Move { from: 0, pod: 0, to: 1 };
        assert_eq!(packing.moves, [expected]);
        // Nothing fits beside a full node.
        assert_eq!(pack(&[bin(8, &[8]), bin(8, &[1])]), Packing::default());
        // 3 of 4 and 3 of 4 and 1 + 1 of 4: 3 + 1 twice.
        let bins = [bin(4, &[3]), bin(4, &[3]), bin(4, &[1, 1])];
        assert_eq!(pack(&bins).freed, [2]);
        assert_eq!(pack(&bins).moves.len(), 2);
    }

    #[test]
    fn what_cannot_move_keeps_its_node() {
        let pinned = Bin { capacity: of(8), pinned: of(1), movable: Vec::new() };
        // The node of five goes to the one of the pod that stays.
        assert_eq!(pack(&[bin(8, &[5]), pinned.clone()]).freed, [0]);
        assert_eq!(pack(&[pinned.clone(), pinned]), Packing::default());
        // A node with nothing to place, as with pods of a DaemonSet alone.
        assert_eq!(pack(&[bin(8, &[])]).freed, [0]);
    }

    #[test]
    fn a_pod_moves_only_where_its_cpu_and_memory_fit() {
        // A pod with one device on each of two nodes with three cores and 4 GiB.
        let size = |cpu_millicores, memory_mib| Size { devices: 1, cpu_millicores, memory_mib };
        let node = |pod| Bin {
            capacity: Size { devices: 8, cpu_millicores: 3_000, memory_mib: 4_096 },
            pinned: Size::default(),
            movable: vec![pod],
        };
        let freed = |left, right| pack(&[node(left), node(right)]).freed.len();
        assert_eq!(freed(size(1_500, 2_048), size(1_500, 2_048)), 1);
        assert_eq!(freed(size(1_500, 2_048), size(1_501, 2_048)), 0);
        assert_eq!(freed(size(1_500, 2_048), size(1_500, 2_049)), 0);
        // What has no device stays: of the first node 2,500 millicores are left for 3,000,
        // of the other all 3,000.
        let mut beside = node(size(1_500, 2_048));
        beside.pinned.cpu_millicores = 500;
        let both = [beside, node(size(1_500, 2_048))];
        assert_eq!(pack(&both).freed, [0]);
        // Seven devices are free, and of 3,000 millicores 1,500.
        let wanted = |cpu_millicores| Size { devices: 7, cpu_millicores, memory_mib: 0 };
        let nodes = [node(size(1_500, 2_048))];
        assert!(can_gather(&nodes, wanted(1_500)) && !can_gather(&nodes, wanted(1_501)));
    }

    #[test]
    fn devices_are_gathered_by_moving_what_can_move() {
        // Nothing beside a five fits elsewhere.
        let fives = [bin(8, &[5]), bin(8, &[5]), bin(8, &[5])];
        assert!(
            can_gather(&fives, of(3)) && !can_gather(&fives, of(4)) && !can_gather(&fives, of(8))
        );
        // The one goes to the second: 3 free beside the five.
        let mixed = [bin(8, &[5, 1]), bin(8, &[6])];
        assert!(can_gather(&mixed, of(3)) && !can_gather(&mixed, of(4)));
        // Only if the two change places: six beside the one that stays, five beside three.
        let stays = |pinned, movable: &[u64]| Bin { pinned: of(pinned), ..bin(8, movable) };
        assert!(can_gather(&[stays(1, &[5]), bin(8, &[6])], of(3)));
        assert!(can_gather(&[stays(4, &[]), bin(8, &[4])], of(8)));
        assert!(!can_gather(&[stays(4, &[]), stays(4, &[])], of(8)));
        // The four has a place on an empty node, of which four are left.
        assert!(can_gather(&[bin(8, &[4]), bin(4, &[])], of(8)));
        assert!(!can_gather(&[bin(8, &[4]), bin(3, &[])], of(8)));
        assert!(!can_gather(&[], of(1)));
    }

    /// The fewest bins of a capacity that sizes fit into, by trying all.
    fn fewest(sizes: &[u64], free: &mut Vec<u64>, capacity: u64) -> usize {
        let Some((size, rest)) = sizes.split_first() else { return free.len() };
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
        let parts = (0..=2_u64, prop::collection::vec(1..=8_u64, 0..4), 0..=4_u64);
        prop::collection::vec(parts, 1..7).prop_map(|nodes| {
            let bins = nodes.into_iter().map(|(pinned, movable, spare)| Bin {
                pinned: of(pinned),
                ..bin(pinned + movable.iter().sum::<u64>() + spare, &movable)
            });
            bins.collect()
        })
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_no_node_is_overfull(bins in fleet()) {
            let packing = pack(&bins);
            let load = |bin: &Bin| bin.pinned.plus(bin.moving());
            let mut held: Vec<Size> = bins.iter().map(load).collect();
            let before = Size::sum(&held);
            for relocation in &packing.moves {
                let size = bins[relocation.from].movable[relocation.pod];
                held[relocation.from] = held[relocation.from].less(size);
                held[relocation.to] = held[relocation.to].plus(size);
                prop_assert!(!packing.freed.contains(&relocation.to));
            }
            prop_assert_eq!(Size::sum(&held), before);
            for (place, bin) in bins.iter().enumerate() {
                prop_assert!(held[place].fits(bin.capacity));
                if packing.freed.contains(&place) {
                    prop_assert_eq!((held[place], bin.pinned), (of(0), of(0)));
                }
            }
        }

        #[test]
        fn first_fit_by_decreasing_size_is_near_the_optimum(
            nodes in prop::collection::vec(prop::collection::vec(1..=8_u64, 0..3), 1..5),
        ) {
            let bins: Vec<Bin> = nodes.iter().filter(|node| fits(node)).map(|node| bin(8, node)).collect();
            let sizes: Vec<u64> = nodes.iter().filter(|node| fits(node)).flatten().copied().collect();
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
