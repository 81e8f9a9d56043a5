//! Another type, or fewer instances, that hold what a workload uses.

mod candidates;
mod layout;
mod needs;
mod price;
mod projection;
mod rejection;
mod steps;

/// A cheaper type that the workload fits, with the figures it was chosen by.
#[derive(Debug, Clone, PartialEq)]
pub struct Rightsizing {
    pub action: Action,
    /// What kind of move it is, in words.
    pub advice: String,
    /// Seconds of the averages that it rests on, where they hide peaks that count.
    pub averaged_seconds: Option<u32>,
    /// What another number of instances runs of today's hours; absent where each stays one.
    pub fewer: Option<Fewer>,
    /// Whether what runs on single GPUs has to be placed anew by a person.
    pub is_by_hand: bool,
    /// GPUs that the fullest instance ever used.
    pub gpus_needed: u16,
    /// Mean hourly rate of one new instance.
    pub hourly: Decimal,
    /// What takes the place of each of today's instances, in their order.
    pub moved: Vec<MovedInstance>,
    /// How busy the new GPUs would be; absent for a type without any.
    pub projection: Option<Projection>,
    /// The prices of the new type, one for each of today's instances: all alike
    /// for most workloads, one a zone for spot.
    pub quotes: Vec<(PriceKey, PriceQuote)>,
    /// The cheapest moves to other families, to types that commitments are there for, and to the
    /// cheapest on the spot market, in order: each is bought ahead and on the spot market at its own prices.
    pub runner_ups: Vec<Rightsizing>,
    /// What to check before moving.
    pub steps: Vec<String>,
    /// The types that do the work, as [`candidates`] orders them: the first is chosen, and
    /// the nearest of the others are kept. What takes the place of each instance is kept of
    /// the first alone, in `moved` and `quotes`.
    pub suitable: Vec<Considered>,
    /// How many types do the work.
    pub suitable_in_all: usize,
}

/// Candidates that are kept of each kind: the chosen one, and those that an explanation
/// shows.
pub(in crate::savings) const NEAREST: usize = 4;

/// Moves that a plan tries with what may follow: the first, and the first of other families.
const TRIED: usize = 3;

impl Rightsizing {
    /// The same with another of the moves that were tried as the first.
    #[must_use]
    pub fn leading_to(mut self, target: &Target) -> Self {
        let leads = |rightsizing: &Self| rightsizing.action.target() == Some(target);
        let Some(place) = self.runner_ups.iter().position(leads) else { return self };
        let mut chosen = self.runner_ups.remove(place);
        chosen.runner_ups = take(&mut self.runner_ups);
        // The chosen one may be farther than the nearest.
        let others = take(&mut self.suitable).into_iter();
        let others: Vec<Considered> =
            others.filter(|candidate| !chosen.suitable.contains(candidate)).collect();
        chosen.suitable.extend(others.into_iter().take(NEAREST - 1));
        chosen.suitable_in_all = self.suitable_in_all;
        chosen.runner_ups.insert(0, self);
        chosen
    }
}

/// The first of the suitable types as a move; `None` without any. Beside the first of other
/// families, a plan tries those that `is_tried` names.
pub fn best(
    today: &Today<'_>,
    demand: &Demand,
    mut suitable: Vec<Considered>,
    accepted: Risk,
    is_tried: impl Fn(&str) -> bool,
) -> Option<Rightsizing> {
    let suitable_in_all = suitable.len();
    let mut families: Vec<&str> = Vec::with_capacity(TRIED);
    let mut tried: Vec<Considered> = Vec::with_capacity(TRIED);
    for candidate in &suitable {
        if tried.len() < TRIED && !families.contains(&candidate.shape.family()) {
            families.push(candidate.shape.family());
            tried.push(candidate.clone());
        } else if tried.len() < 2 * TRIED && is_tried(&candidate.shape.instance_type) {
            tried.push(candidate.clone());
        }
    }
    suitable.truncate(NEAREST);
    suitable.shrink_to_fit();
    for candidate in &mut suitable {
        (candidate.moved, candidate.quotes) = (Vec::new(), Vec::new());
    }
    let mut moves = tried.into_iter().map(|candidate| moved(today, demand, candidate, accepted));
    let first = moves.next()??;
    Some(Rightsizing { runner_ups: moves.flatten().collect(), suitable_in_all, suitable, ..first })
}

fn moved(
    today: &Today<'_>,
    demand: &Demand,
    mut candidate: Considered,
    accepted: Risk,
) -> Option<Rightsizing> {
    let (moved, quotes) = (take(&mut candidate.moved), take(&mut candidate.quotes));
    let cost = today.cost.compute_monthly;
    let hourly = candidate.hourly?;
    let action = Action::saving(
        ActionKind::Rightsize,
        Some(Target {
            instance_type: candidate.shape.instance_type.clone(),
            count: candidate.count,
        }),
        detail(today, demand, &candidate, hourly, accepted),
        cost.checked_sub(candidate.monthly?).ok()?,
        cost,
        candidate.risk,
    )?;
    Some(Rightsizing {
        action: action.with_caveats(caveats(today, demand, &candidate)),
        advice: steps::advice(today, demand, &candidate),
        averaged_seconds: steps::averaged(demand, &candidate),
        fewer: today.activity.and_then(|activity| {
            let machines = (demand.instances, candidate.count);
            candidate.spread.hours(activity, machines)
        }),
        is_by_hand: candidate.moves_work(demand) || candidate.shares_gpus(),
        gpus_needed: demand.gpus_needed(accepted < Risk::High),
        hourly,
        moved,
        projection: candidate.projection,
        quotes,
        runner_ups: Vec::new(),
        steps: steps(today, demand, &candidate),
        suitable_in_all: 1,
        suitable: vec![candidate],
    })
}

fn detail(
    today: &Today<'_>,
    demand: &Demand,
    candidate: &Considered,
    hourly: Decimal,
    accepted: Risk,
) -> String {
    let of_today = if candidate.count != demand.instances {
        format!("{} at ", demand.instances)
    } else {
        String::new()
    };
    let currency = today.cost.compute_monthly.currency();
    let mut text = format!(
        "{} × {} at {} instead of {of_today}{}",
        candidate.count,
        candidate.shape.instance_type,
        per_hour(hourly, currency),
        per_hour(today.cost.per_instance(), currency),
    );
    if let Some(offer) = &today.shape.gpu {
        text.push_str(&format!(
            ": the busiest instance uses {} of {} {}",
            demand.gpus_needed(accepted < Risk::High),
            offer.share,
            offer.model
        ));
    }
    if let (Some(projection), Some(other)) =
        (candidate.projection.filter(|_| candidate.is_another_card()), &candidate.shape.gpu)
    {
        text.push_str(&if projection.slowdown > 1.0 {
            format!(
                "; on each {}, the work takes {:.2} times as long",
                other.model, projection.slowdown
            )
        } else {
            format!("; {:.1}% of each {} projected", projection.utilization, other.model)
        });
    }
    text
}

#[cfg(test)]
mod tests;

use crate::domain::{Action, ActionKind, PriceKey, PriceQuote, Risk, Target, per_hour};
use crate::savings::Fewer;
pub use candidates::{Considered, candidates};
pub(super) use candidates::{NETWORK_HEADROOM, link_gbps};
pub use needs::{
    Bound, DOUBLE_PRECISION, Demand, INTERCHANGEABLE, MissingData, PRECISION_TAG, REPLICAS_TAG,
};
pub(super) use needs::{averaged_seconds, least_replicas, peak};
pub use price::{MovedInstance, Spread, Today};
pub use projection::{
    Projection, Ratio, RatioBasis, performance, ratio as gpu_ratio, reported_vram_mib,
    usable_vram_mib,
};
pub use rejection::Rejection;
use rust_decimal::Decimal;
use std::mem::take;
pub use steps::{averaged, averaged_peaks, caveats, reserved_vram, steps};
pub(super) use steps::{averaged_away, unit_of_work};
