//! From what could be done about each workload to one plan.

use super::PriceUse;
use crate::catalog::{Prices, bundled_interruption_band, family};
use crate::domain::{
    CommitmentTerm, Currency, HourlyRate, Money, Policy, PriceBasis, PriceKey, PriceOption,
    PurchaseOption, Risk, Verdict, Workload,
};
use crate::savings::{
    Alternatives, Checkpointing, Committable, Offers, Plan, ResizeOffer, ScheduleOffer, SpotCase,
    SpotFigures, SpotMarket, Stage, TermOffer, Terms, nodes_of_job, plan, spot_offer, spot_price,
};
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::collections::BTreeMap;

/// What a plan is made by.
pub(super) struct Planner<'a> {
    pub prices: &'a Prices<'a>,
    pub policy: &'a Policy,
    pub accepted: Risk,
}

impl Planner<'_> {
    /// Composes the plan, and notes the prices that its spot and commitment
    /// figures rest on.
    pub fn plan(&self, alternatives: &[Alternatives], prices_used: &mut PriceUse) -> Plan {
        let composed = plan(
            alternatives,
            &Terms {
                accepted: self.accepted,
                hours_per_month: self.policy.hours_per_month,
                commitments: &|key| self.terms(key),
            },
        );
        for purchase in &composed.purchases {
            let key = purchase.key.with_option(purchase.term.option);
            if let Ok(found) = self.prices.find(&key) {
                prices_used.insert(found);
            }
        }
        composed
    }

    /// Standard reserved instances, and EC2 Instance Savings Plans whose rates were
    /// read; of the same price the former.
    fn terms(&self, key: &PriceKey) -> Vec<TermOffer> {
        CommitmentTerm::ALL
            .into_iter()
            .flat_map(|term| {
                [
                    (PriceOption::Reserved(term), "standard reserved instance"),
                    (
                        PriceOption::Ec2InstanceSavingsPlan(term),
                        "EC2 Instance Savings Plan",
                    ),
                ]
                .map(|(option, name)| (term, option, name))
            })
            .filter_map(|(term, option, name)| {
                let quote = self.prices.get(&key.with_option(option)).ok()?;
                // A rate that is derived from a reserved instance is no better than
                // that one is today.
                let is_plan = matches!(option, PriceOption::Ec2InstanceSavingsPlan(_));
                if is_plan && quote.basis == PriceBasis::Derived {
                    return None;
                }
                let years = if term.years == 1 { "year" } else { "years" };
                Some(TermOffer {
                    name: format!("{name}, {} {years}, {}", term.years, term.payment),
                    option,
                    effective_hourly: quote.rate,
                    risk: if term == CommitmentTerm::ONE_YEAR_NO_UPFRONT {
                        Risk::Medium
                    } else {
                        Risk::High
                    },
                })
            })
            .collect()
    }

    /// What could be done about a workload, for the plan to choose from.
    pub fn alternatives(
        &self,
        workload: &Workload,
        verdict: &Verdict,
        offers: &Offers,
        prices_used: &mut PriceUse,
    ) -> Alternatives {
        let cost = workload.monthly_cost();
        let mut alternatives = Alternatives {
            // Without a price there is nothing to plan, and this is not read.
            cost: cost.unwrap_or(Money::zero(Currency::Usd)),
            today: None,
            end: None,
            schedule: None,
            resizes: Vec::new(),
            spot: BTreeMap::new(),
            committable: None,
        };
        if cost.is_none() || workload.ignored.is_some() {
            return alternatives;
        }
        alternatives.end = offers.stop.clone().or_else(|| offers.release.clone());
        let Some(stage) = stage(workload) else {
            return alternatives;
        };
        alternatives.schedule = offers.schedule.as_ref().map(|found| ScheduleOffer {
            on_share: Decimal::ONE - found.schedule.saved_share,
            on: found.schedule.off_hours.iter().map(|off| !off).collect(),
            risk: found.action.risk(),
            detail: found.action.detail().to_owned(),
        });
        alternatives.resizes = resizes(&stage, offers);
        if workload.key.purchase_option == PurchaseOption::OnDemand {
            alternatives.spot = self.spot_markets(workload, &stage, &alternatives, prices_used);
            alternatives.committable = self.committable(workload, verdict, &alternatives);
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
        let moves = alternatives.resizes.iter().map(|offer| {
            (
                &offer.target.instance_type,
                offer.hourly,
                offer.target.count,
            )
        });
        let today = (&stage.instance_type, stage.hourly, stage.count);
        let mut markets = BTreeMap::new();
        for (name, on_demand, count) in moves.chain([today]) {
            let key = workload
                .price_key
                .with_type(name)
                .with_option(PriceOption::Spot);
            if family(key.family()).is_some_and(|facts| facts.launchable == Some(false)) {
                continue;
            }
            let offer = spot_offer(&SpotCase {
                on_demand,
                spot: spot_price(self.prices, &key),
                band: bundled_interruption_band(&key).map(|(band, _)| band),
                nodes: nodes_of_job(workload.kind, count as usize, workload.runs_on_one_gpu()),
                kind: workload.kind,
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

    /// Usage that may be committed to: measured long enough, not idle, and either
    /// used well or brought to its size or its hours by another action. A
    /// commitment on what is overprovisioned would fix that for a year.
    fn committable(
        &self,
        workload: &Workload,
        verdict: &Verdict,
        alternatives: &Alternatives,
    ) -> Option<Committable> {
        let brought_to_size = alternatives
            .resizes
            .iter()
            .any(|offer| offer.risk <= self.accepted);
        let scheduled = alternatives.schedule.as_ref();
        let used_when_on = scheduled
            .filter(|offer| offer.risk <= self.accepted)
            .and_then(|offer| {
                let mean = workload.utilization.as_ref()?.distribution.mean;
                Some(mean / offer.on_share.to_f64()?)
            })
            .is_some_and(|mean| mean >= self.policy.overprovisioned_below_percent);
        let may = workload.is_known_for_hours(self.policy.commit_min_days * 24.0)
            && !workload.activity.is_empty()
            && verdict.confidence.is_some()
            && !verdict.is_idle()
            && (brought_to_size || used_when_on || verdict.is_used());
        may.then(|| Committable {
            key: workload.price_key.with_option(PriceOption::OnDemand),
            running: workload.activity.instances().collect(),
        })
    }
}

/// How a workload runs today; absent when it does not, or has no price.
fn stage(workload: &Workload) -> Option<Stage> {
    let cost = workload.cost.as_ref()?;
    let parts = cost.instances.iter().map(|one| one.monthly().amount());
    Some(Stage {
        instance_type: workload.key.instance_type.clone(),
        count: u32::try_from(workload.instances.len()).ok()?,
        hourly: HourlyRate::new(cost.per_instance(), cost.hourly.currency())?,
        monthly: parts.sum(),
    })
}

/// Right-sizing and sharing, at today's running time.
fn resizes(stage: &Stage, offers: &Offers) -> Vec<ResizeOffer> {
    let currency = stage.hourly.currency();
    let moved = offers
        .rightsize
        .as_ref()
        .and_then(|found| Some((&found.action, HourlyRate::new(found.hourly, currency)?)));
    let shared = offers
        .share
        .as_ref()
        .map(|found| (&found.action, stage.hourly));
    [moved, shared]
        .into_iter()
        .flatten()
        .filter_map(|(action, hourly)| {
            let target = action.target()?.clone();
            let monthly = stage.monthly - action.monthly_savings().amount();
            Some(ResizeOffer {
                kind: action.kind(),
                target,
                hourly,
                monthly,
                risk: action.risk(),
                detail: action.detail().to_owned(),
            })
        })
        .collect()
}

fn in_words(name: &str, figures: &SpotFigures, effective: HourlyRate) -> String {
    let percent = (figures.overhead * Decimal::ONE_HUNDRED)
        .round_dp(2)
        .normalize();
    format!(
        "{name} on spot at {}/h ({}); checkpoints each {:#} and lost work take {percent} % of the \
         time, so that an hour of work costs {}/h instead of {}/h",
        figures.spot.rate.amount().normalize(),
        figures.spot.basis,
        figures.checkpoint_interval,
        effective.amount().round_dp(6).normalize(),
        figures.on_demand.amount().normalize(),
    )
}
