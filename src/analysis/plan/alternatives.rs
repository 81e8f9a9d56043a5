//! What a plan may choose from for a workload: other hours, types and markets, and the
//! instances that may be committed to.

use super::planning::{Hold, Planner};
use crate::analysis::PriceUse;
use crate::analysis::levers::is_launchable;
use crate::analysis::workloads::Grouped;
use crate::catalog::bundled_interruption_band;
use crate::domain::{
    ActionKind, Cause, CauseKind, Currency, Gap, GapSubject, HourlyRate, Money, PriceKey,
    PriceOption, PurchaseOption, Verdict, Workload,
};
use crate::savings::{
    Alternatives, Checkpointing, Committable, Offers, ResizeOffer, Schedule, ScheduleOffer,
    ScheduledHours, SpotCase, SpotFigures, SpotMarket, Stage, StageMember, nodes_of_job,
    spot_offer, spot_price,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

impl Planner<'_> {
    /// What could be done about a workload, for the plan to choose from.
    pub(super) fn alternatives(
        &self,
        group: &Grouped,
        offers: &Offers,
        prices_used: &mut PriceUse,
        gaps: &mut Vec<Gap>,
    ) -> Alternatives {
        let cost = group.workload.monthly_cost();
        let mut alternatives = Alternatives {
            id: group.workload.id(),
            // Without a price there is nothing to plan, and this is not read.
            cost: cost.unwrap_or(Money::zero(Currency::Usd)),
            today: None,
            end: None,
            schedule: None,
            resizes: Vec::new(),
            spot: BTreeMap::new(),
            committable: Vec::new(),
        };
        if cost.is_none() {
            return alternatives;
        }
        alternatives.end = offers.stopping().or(offers.release.as_ref()).cloned();
        let working = group
            .working()
            .filter(|part| part.workload.committed_cost().is_none());
        let Some((part, stage)) = working.and_then(|part| Some((part, stage(&part.workload)?)))
        else {
            return alternatives;
        };
        let workload = &part.workload;
        alternatives.schedule = offers.schedule.as_ref().map(|found| ScheduleOffer {
            hours: ScheduledHours {
                on_share: Decimal::ONE - found.schedule.saved_share,
                on: found.schedule.off_hours.iter().map(|off| !off).collect(),
            },
            risk: found.action.risk(),
            detail: found.action.detail().to_owned(),
            caveats: found.action.caveats().to_vec(),
        });
        alternatives.resizes = resizes(&stage, offers);
        if workload.key.purchase_option == PurchaseOption::OnDemand {
            if self.hold(workload) != Hold::Fixed {
                alternatives.spot = self.spot_markets(workload, &stage, &alternatives, prices_used);
            }
            alternatives.committable =
                self.committable(workload, &part.verdict, &alternatives, gaps);
        }
        alternatives.today = Some(stage);
        alternatives
    }

    /// The spot market of today's type and of those that it could move to.
    fn spot_markets(
        &self,
        workload: &Workload,
        stage: &Stage,
        alternatives: &Alternatives,
        prices_used: &mut PriceUse,
    ) -> BTreeMap<String, SpotMarket> {
        let mut markets = BTreeMap::new();
        // Members of several systems or tenancies have several markets.
        let mut keys = workload.members.iter().map(|member| &member.price_key);
        if keys.any(|key| *key != workload.price_key) {
            return markets;
        }
        let kind = workload.declared_kind();
        let is_alone = workload.runs_on_one_gpu(self.policy);
        let moves = alternatives.resizes.iter().map(|offer| &offer.to);
        for to in moves.chain([stage]) {
            let name = &to.instance_type;
            let Some(on_demand) = to.members.first().map(|one| one.hourly) else {
                continue;
            };
            let key = workload
                .price_key
                .with_type(name)
                .with_option(PriceOption::Spot);
            let offer = spot_offer(&SpotCase {
                on_demand,
                spot: spot_price(self.prices, &key),
                is_launchable: is_launchable(&key),
                band: bundled_interruption_band(&key).map(|(band, _)| band),
                nodes: nodes_of_job(kind, to.count as usize, is_alone),
                kind,
                restartable: workload.restartable,
                accepted: self.accepted,
                checkpointing: Checkpointing::default(),
                least_interruptions_per_day: self.policy.spot_interruptions_per_day,
            });
            if let Ok(offer) = offer {
                for found in &offer.figures.spot.quotes {
                    prices_used.insert(found.clone());
                }
                let market = SpotMarket {
                    hourly: offer.figures.spot.rate,
                    effective_hourly: offer.effective,
                    risk: offer.risk,
                    detail: in_words(name, &offer.figures, offer.effective),
                    figures: Some(offer.figures),
                };
                markets.insert(name.clone(), market);
            }
        }
        markets
    }

    /// The instances that may be committed to: each measured long enough by itself, in a
    /// workload that is used well or brought to its size or its hours by another action. A
    /// commitment on what is overprovisioned would fix that for a year.
    fn committable(
        &self,
        workload: &Workload,
        verdict: &Verdict,
        alternatives: &Alternatives,
        gaps: &mut Vec<Gap>,
    ) -> Vec<Committable> {
        let brought_to_size = alternatives
            .resizes
            .iter()
            .any(|offer| offer.risk <= self.accepted);
        let scheduled = alternatives.schedule.as_ref();
        let used_when_on = scheduled
            .filter(|offer| offer.risk <= self.accepted)
            .and_then(|offer| {
                let mean = workload.utilization.as_ref()?.distribution.mean;
                Some(mean / offer.hours.on_share.to_f64()?)
            })
            .is_some_and(|mean| mean >= self.policy.overprovisioned_below_percent);
        let may =
            verdict.confidence.is_some() && (brought_to_size || used_when_on || verdict.is_used());
        if !may {
            return Vec::new();
        }
        let mut found = Vec::new();
        for (place, member) in workload.members.iter().enumerate() {
            if !workload.is_committable(place, self.policy) {
                continue;
            }
            let key = member.price_key.with_option(PriceOption::OnDemand);
            if let Some(plan) = self.owned.plan_of_unknown_rate(&key) {
                gaps.push(unknown_rate(&plan.id, &key, workload));
                continue;
            }
            found.push(Committable {
                id: member.id.clone(),
                place,
                key,
                seen: member.activity.instances().collect(),
            });
        }
        found
    }
}

/// The gap of instances that a savings plan of unknown rate may cover.
pub(in crate::analysis) fn unknown_rate(plan: &str, key: &PriceKey, workload: &Workload) -> Gap {
    let cause = Cause::of(CauseKind::RateUnknown, [plan, &key.instance_type]);
    Gap::of(GapSubject::SavingsPlanRate, workload.id(), cause)
}

/// How a workload runs today; absent when it does not, or has no price.
fn stage(workload: &Workload) -> Option<Stage> {
    let cost = workload.cost.as_ref()?;
    Some(Stage {
        instance_type: workload.key.instance_type.clone(),
        count: u32::try_from(workload.instances.len()).ok()?,
        members: cost
            .instances
            .iter()
            .map(|one| StageMember {
                hourly: one.hourly,
                monthly: one.monthly_exact().amount(),
            })
            .collect(),
    })
}

/// Right-sizing and sharing, at today's running time.
fn resizes(stage: &Stage, offers: &Offers) -> Vec<ResizeOffer> {
    let moved = offers.rightsize.as_ref().and_then(|found| {
        let target = found.action.target()?;
        let slowdown = found
            .projection
            .map_or(1.0, |projection| projection.slowdown);
        Some(ResizeOffer {
            kind: ActionKind::Rightsize,
            to: Stage {
                instance_type: target.instance_type.clone(),
                count: target.count,
                members: found
                    .moved
                    .iter()
                    .map(|one| StageMember {
                        hourly: one.hourly,
                        monthly: one.monthly,
                    })
                    .collect(),
            },
            fewer: found.fewer.clone(),
            slowdown,
            scheduled: offers.schedule.as_ref().and_then(|offered| {
                let there = match &found.fewer {
                    Some(fewer) => fewer.share_in(&offered.schedule.off_hours),
                    None => offered.saved_share_of(&found.moved),
                };
                scheduled_there(&offered.schedule, there, slowdown)
            }),
            monthly_at_todays_hours: found
                .moved
                .iter()
                .map(|one| one.monthly_at_todays_hours)
                .sum(),
            risk: found.action.risk(),
            detail: found.action.detail().to_owned(),
            caveats: found.action.caveats().to_vec(),
        })
    });
    let shared = offers.share.as_ref().and_then(|found| {
        let target = found.action.target()?;
        let monthly = stage.monthly() - found.action.monthly_savings().amount();
        let share = monthly.checked_div(stage.monthly())?;
        Some(ResizeOffer {
            kind: ActionKind::Share,
            to: Stage {
                instance_type: target.instance_type.clone(),
                count: target.count,
                members: stage
                    .members
                    .iter()
                    .map(|one| StageMember {
                        hourly: one.hourly,
                        monthly: one.monthly * share,
                    })
                    .collect(),
            },
            fewer: found.fewer.clone(),
            slowdown: 1.0,
            scheduled: offers.schedule.as_ref().and_then(|offered| {
                let fewer = found.fewer.as_ref()?;
                let there = fewer.share_in(&offered.schedule.off_hours);
                scheduled_there(&offered.schedule, there, 1.0)
            }),
            monthly_at_todays_hours: monthly,
            risk: found.action.risk(),
            detail: found.action.detail().to_owned(),
            caveats: found.action.caveats().to_vec(),
        })
    });
    [moved, shared].into_iter().flatten().collect()
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

fn in_words(name: &str, figures: &SpotFigures, effective: HourlyRate) -> String {
    let percent = (figures.overhead * Decimal::ONE_HUNDRED)
        .round_dp(2)
        .normalize();
    format!(
        "{name} on spot at {}/h ({}); checkpoints each {:#} and lost work take {percent}% of \
         the time, so an hour of work costs {}/h instead of {}/h",
        figures.spot.rate.amount().normalize(),
        figures.spot.basis,
        figures.checkpoint_interval,
        effective.amount().round_dp(6).normalize(),
        figures.on_demand.amount().normalize(),
    )
}
