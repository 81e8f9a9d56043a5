//! Room in capacity reservations that nothing runs in: it is billed at the rate of the
//! instances that would fill it.

use crate::domain::{CapacityReservation, HOUR_SECONDS, Instance, PriceKey, ResourceId};
use crate::usage::{Estate, Usages};
use rust_decimal::Decimal;

/// The unused room of one capacity reservation.
#[derive(Debug, Clone, PartialEq)]
pub struct Room {
    pub reservation: CapacityReservation,
    /// Instances of the estate that run in it, ascending.
    pub members: Vec<ResourceId>,
    /// Instances that there was room for in each hour of the window, on average; zero
    /// before it began.
    pub hourly: Vec<Decimal>,
    /// Hours of the window since it began.
    pub hours: usize,
    /// Whether others use it too, so that only its room of now is known and taken for
    /// all hours.
    pub is_shared: bool,
}

impl Room {
    /// Of every reservation of an estate that holds at its instant, by id.
    pub(super) fn all_of((estate, measured): (&Estate, &Usages)) -> Vec<Self> {
        let reservations = &estate.commitments.capacity_reservations;
        reservations
            .iter()
            .filter(|reservation| reservation.end.is_none_or(|end| end > estate.as_of))
            .map(|reservation| Self::of(reservation, estate, measured))
            .collect()
    }

    fn of(reservation: &CapacityReservation, estate: &Estate, measured: &Usages) -> Self {
        let window = estate.window;
        let hours = (window.seconds().max(0) / HOUR_SECONDS) as usize;
        let begins = reservation.start.map_or(0, |start| {
            let seconds = (start.as_second() - window.start.as_second()).max(0);
            ((seconds + HOUR_SECONDS - 1) / HOUR_SECONDS) as usize
        });
        let mut members: Vec<&Instance> = estate
            .instances
            .iter()
            .chain(&estate.out_of_scope)
            .filter(|instance| instance.capacity_reservation_id.as_ref() == Some(&reservation.id))
            .filter(|instance| instance.launch_time <= estate.as_of)
            .collect();
        members.sort_by(|left, right| left.id.cmp(&right.id));
        let running_now = members.iter().filter(|member| member.state.is_running()).count();
        let is_shared = u64::from(reservation.total - reservation.available) > running_now as u64;
        let total =
            Decimal::from(if is_shared { reservation.available } else { reservation.total });
        let mut hourly: Vec<Decimal> =
            (0..hours).map(|hour| if hour < begins { Decimal::ZERO } else { total }).collect();
        if !is_shared {
            for member in &members {
                let grid = (window, estate.period_seconds);
                let (timeline, _) = measured.of(&member.id).timeline(member, None, grid);
                let ran = timeline.activity(None, window.start);
                for (free, hour) in hourly.iter_mut().zip(ran.hours()) {
                    *free = (*free - hour.instance_hours).max(Decimal::ZERO);
                }
            }
        }
        Self {
            reservation: reservation.clone(),
            members: members.iter().map(|member| member.id.clone()).collect(),
            hours: hours.saturating_sub(begins),
            hourly,
            is_shared,
        }
    }

    /// What it is called among the instances that commitments pay for.
    pub fn id(&self) -> ResourceId {
        ResourceId::named(format!("{}#", self.reservation.id))
    }

    /// The on-demand price of one instance of it.
    pub fn price_key(&self) -> PriceKey {
        let reservation = &self.reservation;
        PriceKey {
            operating_system: reservation.operating_system,
            tenancy: reservation.tenancy,
            ..PriceKey::linux_on_demand(&reservation.region, &reservation.instance_type)
        }
    }

    /// Instances that there was room for, in the mean over the hours since it began.
    pub fn mean(&self) -> Decimal {
        let sum: Decimal = self.hourly.iter().sum();
        sum.checked_div(Decimal::from(self.hours)).unwrap_or_default()
    }
}
