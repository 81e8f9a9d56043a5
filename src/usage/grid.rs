//! One signal of one instance, period by period.

use super::packed::Column;
use super::timeline::Slot;

/// One signal of one instance on the grid of the window, as one source measured it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grid {
    sums: Column,
    reported: Column,
    /// One more than the maximum; 0 where there is none.
    maxima: Column,
    own_maxima: Column,
    works: Column,
    names_gpus: bool,
    step: u32,
}

/// The same while series are added.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct OpenGrid {
    pub(super) slots: Vec<Slot>,
    /// Whether any series names a GPU; else one speaks for all of the instance.
    pub(super) names_gpus: bool,
    /// How many periods of the grid a point stands for; of several series the most.
    pub(super) step: u32,
}

/// Gives periods without a sample the figures of the sample before that stands for them.
pub(super) fn spread(slots: &mut [Slot], step: u32) {
    let mut last: Option<(usize, Slot)> = None;
    for (place, own) in slots.iter_mut().enumerate() {
        if *own != Slot::default() {
            last = Some((place, *own));
        } else if let Some((from, slot)) = last
            && place - from < step as usize
        {
            *own = slot;
        }
    }
}

impl OpenGrid {
    pub(super) fn new(periods: usize) -> Self {
        Self { slots: vec![Slot::default(); periods], names_gpus: false, step: 1 }
    }

    pub(super) fn pack(&self) -> Grid {
        let column = |of: fn(&Slot) -> u32| Column::of(self.slots.iter().map(of));
        Grid {
            sums: column(|slot| u32::try_from(slot.sum).unwrap_or(u32::MAX >> 1)),
            reported: column(|slot| slot.reported),
            maxima: column(|slot| slot.maximum.map_or(0, |maximum| u32::from(maximum) + 1)),
            own_maxima: column(|slot| slot.maxima),
            works: column(|slot| u32::from(slot.works)),
            names_gpus: self.names_gpus,
            step: self.step,
        }
    }

    pub(super) fn add(&mut self, other: &Grid) {
        self.add_from(0, other);
    }

    /// Adds one whose first period is another of this one.
    pub(super) fn add_from(&mut self, first: usize, other: &Grid) {
        self.names_gpus |= other.names_gpus;
        self.step = self.step.max(other.step);
        for (slot, added) in self.slots.iter_mut().skip(first).zip(other.slots()) {
            slot.add(&added);
        }
    }

    /// Adds one of which the figures of each period are given.
    pub(super) fn add_slots(&mut self, other: &Grid, slots: impl Iterator<Item = Slot>) {
        self.names_gpus |= other.names_gpus;
        for (slot, added) in self.slots.iter_mut().zip(slots) {
            slot.add(&added);
        }
    }

    /// The figures of an instance whose guest sees so many GPUs. What no GPU is
    /// named for speaks for every one of them, and its maximum for the only one.
    pub(super) fn into_slots(mut self, visible: u32) -> Vec<Slot> {
        if self.names_gpus && visible > 1 {
            return self.slots;
        }
        for slot in &mut self.slots {
            if !self.names_gpus && visible > 1 && slot.reported > 0 {
                slot.sum *= u64::from(visible);
                slot.reported = visible;
            }
            if visible == 1 && slot.maximum.is_some() {
                slot.maxima = slot.maxima.max(1);
            }
        }
        self.slots
    }
}

impl Grid {
    /// How many periods of the grid a point stands for, at most.
    pub(super) fn step(&self) -> u32 {
        self.step
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let figures = self.sums.values().zip(self.reported.values());
        let maxima = self.maxima.values().zip(self.own_maxima.values());
        figures.zip(maxima).zip(self.works.values()).map(
            |(((sum, reported), (maximum, maxima)), works)| Slot {
                sum: u64::from(sum),
                reported,
                maxima,
                maximum: maximum.checked_sub(1).map(|maximum| maximum as u16),
                works: works == 1,
                encodes: false,
            },
        )
    }
}
