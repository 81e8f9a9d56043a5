//! From what the levers offer to what a plan chooses from, each offer on top of another, and what
//! the actions of a plan leave of a workload.

use super::scaling::spot_caveats;
use super::{
    Alternatives, BilledMember, Class, CommitAfter, Facts, INSTANCE, Proposal, Proposals,
    ResizeOffer, Schedule, ScheduleOffer, ScheduledHours, Scheduling, SpotFigures, SpotMarket,
    SpotOffer, Stage, StageMember, Step,
};
use crate::catalog;
use crate::domain::{
    Action, ActionKind, Commitments, Currency, HourlyRate, Money, Part, PriceOption,
    PurchaseOption, ResourceId, Workload,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::{BTreeMap, BTreeSet};

impl Stage {
    /// How a workload runs today; absent when it does not, or has no price.
    pub fn of(workload: &Workload) -> Option<Self> {
        let cost = workload.cost.as_ref()?;
        Some(Self {
            instance_type: workload.key.instance_type.clone(),
            count: u32::try_from(workload.instances.len()).ok()?,
            members: cost
                .instances
                .iter()
                .map(|instance| StageMember {
                    hourly: instance.hourly,
                    monthly: instance.monthly_exact().amount(),
                })
                .collect(),
        })
    }
}

impl Alternatives {
    /// What could be done about a workload at list price, of which `working` is the part that
    /// works; `billed` is what it is billed per month and what of it is paid to commitments, and
    /// `facts` say which accounts buy together.
    pub fn of(
        group: &Workload,
        working: Option<&Part>,
        (cost, open_shares): (Option<Money>, &[Decimal]),
        proposals: &Proposals,
        facts: &Facts<'_>,
    ) -> Self {
        let list = group.monthly_cost();
        let nothing = Money::zero(Currency::Usd);
        let mut alternatives = Self {
            id: group.id(),
            // Without a price there is nothing to plan, and this is not read.
            cost: cost.or(list).unwrap_or(nothing),
            list: list.unwrap_or(nothing),
            today: None,
            end: None,
            schedule: None,
            resizes: Vec::new(),
            spot: BTreeMap::new(),
            billed: Vec::new(),
            commit_after: CommitAfter::default(),
        };
        if list.is_none() {
            return alternatives;
        }
        alternatives.end = proposals.stopping().or(proposals.release()).cloned();
        let working = working.map(|part| &part.workload);
        if let Some(committing) = proposals.committing() {
            alternatives.commit_after = committing.after;
        }
        alternatives.billed =
            billed(group, working.map(|part| &**part), proposals, facts.bought.commitments);
        for (member, open_share) in alternatives.billed.iter_mut().zip(open_shares) {
            member.open_monthly = member.monthly * open_share;
        }
        let Some((workload, today)) = working.and_then(|part| Some((part, Stage::of(part)?)))
        else {
            return alternatives;
        };
        let schedule = proposals.schedule();
        alternatives.schedule = schedule.map(scheduled);
        let rightsize = proposals.rightsize().into_iter();
        let runner_ups = rightsize.flat_map(|rightsizing| rightsizing.runner_ups.iter());
        let runner_ups: Vec<Proposal> = runner_ups.cloned().map(Proposal::Rightsize).collect();
        let resizes = proposals.offers().chain(&runner_ups).filter_map(|offered| {
            let mut offer = resize(offered, &today, schedule)?;
            if let Some(mean) = mean_there(workload, &offer, offered) {
                let on_share = alternatives.schedule.as_ref().map(|offer| offer.hours.on_share);
                offer.commit_after = CommitAfter::of(mean, on_share, facts.policy);
            }
            Some(offer)
        });
        alternatives.resizes = resizes.collect();
        let markets = proposals.spot().into_iter().flatten();
        alternatives.spot =
            markets.map(|(name, offer)| (name.clone(), market(name, offer, workload))).collect();
        alternatives.today = Some(today);
        alternatives
    }
}

/// Mean utilization of the GPUs that a workload moves to, percent: the work of today's, which takes
/// longer on slower ones. Absent where it was not measured or there is no GPU.
fn mean_there(workload: &Workload, offer: &ResizeOffer, offered: &Proposal) -> Option<f64> {
    let slower = match offered {
        Proposal::Rightsize(rightsizing) => rightsizing.projection.map(|there| there.ratio.value),
        _ => None,
    };
    let gpu = catalog::shape(&offer.to.instance_type)?.gpu.as_ref()?;
    let there = gpu.share.count() * Decimal::from(offer.to.count);
    let fewer = workload.gpu_count()?.checked_div(there)?.to_f64()?;
    let mean = workload.utilization.as_ref()?.distribution.mean;
    Some(mean * slower.unwrap_or(1.0) * fewer)
}

fn scheduled(scheduling: &Scheduling) -> ScheduleOffer {
    ScheduleOffer {
        hours: ScheduledHours {
            on_share: Decimal::ONE - scheduling.schedule.saved_share,
            on: scheduling.schedule.off_hours.iter().map(|off| !off).collect(),
        },
        step: Step::of(&scheduling.action),
    }
}

/// Another type or number, at today's running time; absent for an offer that keeps both.
fn resize(offered: &Proposal, today: &Stage, schedule: Option<&Scheduling>) -> Option<ResizeOffer> {
    let action = offered.action()?;
    let target = action.target()?;
    let (members, fewer, slowdown, monthly_at_todays_hours) = match offered {
        Proposal::Rightsize(rightsizing) => {
            let members: Vec<StageMember> = rightsizing
                .moved
                .iter()
                .map(|instance| StageMember { hourly: instance.hourly, monthly: instance.monthly })
                .collect();
            let moved = rightsizing.moved.iter();
            let monthly: Decimal = moved.map(|instance| instance.monthly_at_todays_hours).sum();
            let slowdown = rightsizing.projection.map_or(1.0, |there| there.slowdown);
            (members, &rightsizing.fewer, slowdown, monthly)
        }
        Proposal::Share(sharing) => {
            let monthly = today.monthly() - action.monthly_savings().amount();
            let share = monthly.checked_div(today.monthly())?;
            (today.in_share(share).members, &sharing.fewer, 1.0, monthly)
        }
        _ => return None,
    };
    let scheduled = schedule.and_then(|scheduling| {
        let hours = &scheduling.schedule;
        let there = match (fewer, offered) {
            (Some(fewer), _) => fewer.share_in(&hours.off_hours),
            (None, Proposal::Rightsize(rightsizing)) => {
                scheduling.saved_share_of(&rightsizing.moved)
            }
            (None, _) => return None,
        };
        scheduled_there(hours, there, slowdown)
    });
    Some(ResizeOffer {
        step: Step::of(action),
        to: Stage { instance_type: target.instance_type.clone(), count: target.count, members },
        fewer: fewer.clone(),
        slowdown,
        scheduled,
        monthly_at_todays_hours,
        commit_after: CommitAfter::Nothing,
    })
}

/// The hours of a schedule on another type or number, where they or what they save there
/// are not those of today: slower work takes more of them.
fn scheduled_there(
    today: &Schedule,
    saved_share: Decimal,
    slowdown: f64,
) -> Option<ScheduledHours> {
    if slowdown <= 1.0 && saved_share == today.saved_share {
        return None;
    }
    let mut there = today.clone();
    there.saved_share = saved_share;
    let slower = there.slower(slowdown);
    Some(ScheduledHours {
        on_share: Decimal::ONE - slower.saved_share,
        on: slower.off_hours.iter().map(|off| !off).collect(),
    })
}

fn market(name: &str, offer: &SpotOffer, workload: &Workload) -> SpotMarket {
    SpotMarket {
        hourly: offer.figures.spot.rate,
        effective_hourly: offer.effective,
        step: Step {
            kind: ActionKind::Spot,
            target: None,
            detail: in_words(name, &offer.figures, offer.effective),
            risk: offer.risk,
            caveats: unknown_band(name, &offer.figures)
                .into_iter()
                .chain(spot_caveats(workload))
                .collect(),
        },
    }
}

/// What is assumed where no band says how often instances of a type are interrupted.
fn unknown_band(name: &str, figures: &SpotFigures) -> Option<String> {
    figures.interruptions.band_per_node_hour.is_none().then(|| {
        format!(
            "the interruption frequency of {name} is unknown: the plan assumes \
             spot_interruptions_per_day of the policy"
        )
    })
}

fn in_words(name: &str, figures: &SpotFigures, effective: HourlyRate) -> String {
    let percent = (figures.overhead * Decimal::ONE_HUNDRED).round_dp(2).normalize();
    format!(
        "{name} on spot at {} ({}); checkpoints each {:#} and lost work take {percent}% of \
         the time, so an hour of work costs {effective} instead of {}",
        figures.spot.rate,
        figures.spot.basis.name().replace('-', " "),
        figures.checkpoint_interval,
        figures.on_demand,
    )
}

/// The members of a running workload that are billed by the hour.
fn billed(
    group: &Workload,
    working: Option<&Workload>,
    proposals: &Proposals,
    bought: &Commitments,
) -> Vec<BilledMember> {
    let costs = group.cost.iter().flat_map(|cost| &cost.instances);
    if group.key.purchase_option != PurchaseOption::OnDemand {
        return Vec::new();
    }
    let ended = proposals.stop().filter(|stop| stop.action.is_some());
    let ended: BTreeSet<&ResourceId> = ended.iter().flat_map(|stop| &stop.members).collect();
    let sized = proposals.committing().map(|proposal| proposal.places.as_slice());
    let place_of = |id: &ResourceId| {
        working?.members.as_slice().binary_search_by(|member| member.id.cmp(id)).ok()
    };
    let members = group.members.iter().zip(costs);
    members
        .map(|(member, cost)| {
            let place = place_of(&member.id);
            let key = member.price_key.with_option(PriceOption::OnDemand);
            let seen: Vec<u64> = member.activity.instances().collect();
            let rested = member.activity.hours().map(|hour| hour.is_off());
            BilledMember {
                id: member.id.clone(),
                place,
                is_ended: ended.contains(&member.id),
                is_sized: place
                    .is_some_and(|place| sized.is_some_and(|places| places.contains(&place))),
                class: Class {
                    pool: bought.pool(&group.key.account, key),
                    account: group.key.account.clone(),
                    zone: member.zone.clone(),
                    is_room: false,
                },
                // What was launched in the current hour runs.
                seen: if seen.is_empty() { [INSTANCE].into() } else { seen.into() },
                rested: rested.collect(),
                monthly: cost.monthly_exact().amount(),
                open_monthly: cost.monthly_exact().amount(),
                hourly: cost.hourly,
                most_years: member.until.map(|until| until.years),
            }
        })
        .collect()
}

impl Alternatives {
    /// How a workload runs after these actions of its plan, whatever then pays for its hours;
    /// absent where nothing of it goes on, or nothing of it may be moved.
    pub fn left_by(&self, actions: &[Action]) -> Option<Stage> {
        let today = self.today.as_ref()?;
        let is_scheduled = actions.iter().any(|action| action.kind() == ActionKind::Schedule);
        let hours = self.schedule.as_ref().filter(|_| is_scheduled).map(|offer| &offer.hours);
        let mut resizes = self.resizes.iter();
        let resized = resizes.find(|offer| actions.iter().any(|action| offer.leads_to(action)));
        Some(match (resized, hours) {
            (Some(offer), hours) => offer.stage(hours),
            (None, Some(hours)) => today.in_share(hours.on_share),
            (None, None) => today.clone(),
        })
    }
}
