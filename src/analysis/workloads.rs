//! Grouping instances into workloads, with what each costs and uses.

use super::kinds;
use super::profiled::Profiles;
use super::standing::standing_costs;
use crate::catalog::{self, Prices};
use crate::domain::{
    Estate, Gap, GpuOffer, Group, HourlyActivity, HourlyRate, Instance, InstanceCost, InstanceId,
    InstanceShape, InstanceState, InstanceUsage, Lifecycle, Money, PaidAhead, Policy, PriceKey,
    PriceOption, PurchaseOption, Rejected, Series, Signal, StandingCosts, Timeline, Unpriced,
    UtilizationSummary, WeekUsage, Workload, WorkloadCost, WorkloadKey,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// What a type offers: as the estate recorded it, else as the book knows it.
pub fn instance_shape<'a>(estate: &'a Estate, instance_type: &str) -> Option<&'a InstanceShape> {
    catalog::known_shape(&estate.shapes, instance_type)
}

/// The key of the price that an instance is billed by; `None` for what is paid
/// ahead (Capacity Blocks, scheduled instances) and has no hourly price.
pub fn price_key(instance: &Instance) -> Option<PriceKey> {
    let (option, zone) = match instance.purchase_option() {
        PurchaseOption::OnDemand => (PriceOption::OnDemand, None),
        PurchaseOption::Spot => (PriceOption::Spot, instance.zone.clone()),
        _ => return None,
    };
    Some(PriceKey {
        region: instance.region.clone(),
        instance_type: instance.instance_type.clone(),
        operating_system: instance.operating_system,
        tenancy: instance.tenancy,
        option,
        zone,
    })
}

/// What commitments pay for, by instance.
pub(super) type PaidHours = BTreeMap<InstanceId, PaidAhead>;

/// Groups the instances of an estate by what they do and how they are paid for;
/// what stands in the way becomes gaps. Beside them how much all their GPUs are
/// used by hour of the week.
pub(super) fn group(
    estate: &Estate,
    prices: &Prices<'_>,
    policy: &Policy,
    paid: &PaidHours,
) -> (Vec<Workload>, WeekUsage, Vec<Gap>) {
    let mut gaps = Vec::new();
    let mut week = week_in_zone(estate, policy);
    let mut series: BTreeMap<&InstanceId, Vec<&Series>> = BTreeMap::new();
    for one in &estate.metrics {
        series.entry(&one.instance).or_default().push(one);
    }
    let mut groups: BTreeMap<WorkloadKey, Vec<&Instance>> = BTreeMap::new();
    for instance in &estate.instances {
        if instance.launch_time > estate.as_of {
            gaps.push(Gap::new(
                "instance",
                instance.id.as_str(),
                format!(
                    "launched {} after the audit's as-of time",
                    instance.launch_time
                ),
                "audit a later instant",
            ));
            continue;
        }
        if instance.state == InstanceState::ShuttingDown {
            gaps.push(Gap::new(
                "instance",
                instance.id.as_str(),
                "shutting down: neither running nor stopped",
                "audit again when it is gone",
            ));
            continue;
        }
        groups
            .entry(key(instance, policy, paid))
            .or_default()
            .push(instance);
    }
    let profiles = Profiles::new(estate, policy);
    let workloads = groups
        .into_iter()
        .map(|(key, mut instances)| {
            instances.sort_by(|left, right| left.id.cmp(&right.id));
            let gather = Gather {
                estate,
                prices,
                policy,
                paid,
                series: &series,
                profiles: &profiles,
            };
            gather.workload(key, &instances, &mut week, &mut gaps)
        })
        .collect();
    (workloads, week, gaps)
}

/// The week in the zone of the policy, else in UTC.
fn week_in_zone(estate: &Estate, policy: &Policy) -> WeekUsage {
    let named = policy.time_zone.as_deref();
    let (name, zone) = named
        .and_then(|name| Some((name, catalog::time_zone(name)?)))
        .unwrap_or(("UTC", TimeZone::UTC));
    WeekUsage::new(estate.window, estate.period_seconds, &zone, name)
}

fn key(instance: &Instance, policy: &Policy, paid: &PaidHours) -> WorkloadKey {
    let running = instance.state.is_running();
    let covered = paid.get(&instance.id).filter(|_| running);
    let group = if let Some(name) = &instance.auto_scaling_group {
        Group::AutoScaling(name.clone())
    } else if let Some(value) = instance
        .tags
        .get(&policy.workload_tag)
        .filter(|value| !value.trim().is_empty())
    {
        Group::Tag(value.clone())
    } else {
        Group::Alone(instance.id.clone())
    };
    WorkloadKey {
        account: instance.account.clone(),
        region: instance.region.clone(),
        instance_type: instance.instance_type.clone(),
        purchase_option: covered
            .map_or_else(|| instance.purchase_option(), PaidAhead::purchase_option),
        running,
        group,
    }
}

struct Gather<'a> {
    estate: &'a Estate,
    prices: &'a Prices<'a>,
    policy: &'a Policy,
    paid: &'a PaidHours,
    series: &'a BTreeMap<&'a InstanceId, Vec<&'a Series>>,
    profiles: &'a Profiles<'a>,
}

impl<'a> Gather<'a> {
    fn workload(
        &self,
        key: WorkloadKey,
        instances: &[&Instance],
        week: &mut WeekUsage,
        gaps: &mut Vec<Gap>,
    ) -> Workload {
        let id = key.id();
        let shape = instance_shape(self.estate, &key.instance_type).cloned();
        if shape.is_none() {
            gaps.push(Gap::new(
                "instance type",
                &id,
                format!(
                    "{} is unknown to EC2's answer and to the book",
                    key.instance_type
                ),
                "report the type; it is listed as unknown and unpriced",
            ));
        }
        let offer = shape.as_ref().and_then(|shape| shape.gpu.as_ref());
        let (usage, utilization, activity) = self.measure(instances, offer, week);
        let tags = common_tags(instances);
        let name = name(&key.group, instances);
        let (kind, kind_basis) = kinds::kind(&tags, &[name.as_str()]);
        let running = key.running;
        let (cost, unpriced) = match running.then(|| self.cost(instances, &usage)) {
            Some(Ok(cost)) => (Some(cost), None),
            Some(Err(unpriced)) => (None, Some(unpriced)),
            None => (None, None),
        };
        if running {
            usage_gaps(&id, &usage, gaps);
        }
        let standing = if running {
            StandingCosts::default()
        } else {
            standing_costs(instances, self.prices, self.policy)
        };
        for what in &standing.unpriced {
            gaps.push(Gap::new(
                "storage price",
                &id,
                format!("{what} is unpriced in {}", key.region),
                Unpriced::NO_SOURCE,
            ));
        }
        let first = instances.first().copied();
        let mut workload = Workload {
            name,
            kind,
            kind_basis,
            instances: instances
                .iter()
                .map(|instance| instance.id.clone())
                .collect(),
            ignored: instances.iter().find_map(|instance| {
                let reason = instance.tags.get(kinds::IGNORE_TAG)?.trim();
                Some(
                    if reason.is_empty() {
                        "no reason given"
                    } else {
                        reason
                    }
                    .to_owned(),
                )
            }),
            restartable: kinds::is_restartable(&tags),
            tags,
            price_key: first.and_then(price_key).map_or_else(
                || PriceKey::linux_on_demand(&key.region, &key.instance_type),
                |key| key.in_zone(None),
            ),
            cost,
            unpriced,
            stopped_at: if running {
                Vec::new()
            } else {
                instances
                    .iter()
                    .map(|instance| self.stopped_at(instance))
                    .collect()
            },
            standing,
            running_share: running_share(&usage),
            youngest_launch: instances
                .iter()
                .map(|instance| instance.launch_time)
                .max()
                .unwrap_or(self.estate.as_of),
            utilization,
            profile: None,
            activity,
            usage,
            shape,
            key,
        };
        self.profiles
            .stand_in(&mut workload, instances, |instance| {
                self.series_of(instance)
            });
        workload
    }

    fn series_of(&self, instance: &Instance) -> &'a [&'a Series] {
        self.series.get(&instance.id).map_or(&[][..], Vec::as_slice)
    }

    /// When an instance stopped: what is still stopping does so now.
    fn stopped_at(&self, instance: &Instance) -> Option<Timestamp> {
        if instance.state == InstanceState::Stopping {
            return Some(self.estate.as_of);
        }
        instance.stopped_at()
    }

    /// Every instance by itself, and the statistics and hours over all their GPUs.
    fn measure(
        &self,
        instances: &[&Instance],
        offer: Option<&GpuOffer>,
        week: &mut WeekUsage,
    ) -> (
        Vec<InstanceUsage>,
        Option<UtilizationSummary>,
        HourlyActivity,
    ) {
        let (window, period) = (self.estate.window, self.estate.period_seconds);
        // Utilization outranks power: where some instances deliver only power,
        // they count as running and unmeasured.
        let mut sums: BTreeMap<Option<Signal>, Timeline> = BTreeMap::new();
        let mut usage = Vec::with_capacity(instances.len());
        for instance in instances {
            let (measured, timeline) =
                self.profiles
                    .measure(instance, offer, self.series_of(instance));
            sums.entry(measured.signal.map(|(signal, _)| signal))
                .or_insert_with(|| Timeline::new(window, period))
                .add(&timeline);
            usage.push(measured);
        }
        let best = usage.iter().filter_map(|usage| usage.signal).min();
        let mut sum = best
            .and_then(|(signal, _)| sums.remove(&Some(signal)))
            .unwrap_or_else(|| Timeline::new(window, period));
        for other in sums.values() {
            sum.add_running_only(other);
        }
        let utilization = best.and_then(|(signal, source)| sum.summary(signal, source));
        if best.is_some_and(|(signal, _)| signal == Signal::GpuUtilization) {
            week.add(&sum);
        }
        let first_seen = instances.iter().map(|instance| instance.first_seen()).min();
        let activity = HourlyActivity::of(
            &sum,
            best.map(|(signal, _)| signal),
            first_seen.unwrap_or(window.end),
        );
        (usage, utilization, activity)
    }

    /// Every instance at its own rate and running time; why not as soon as one
    /// of them is unpriced.
    fn cost(
        &self,
        instances: &[&Instance],
        usage: &[InstanceUsage],
    ) -> Result<WorkloadCost, Unpriced> {
        let no_source = |reason: String| Unpriced {
            reason: format!("{reason}: unpriced"),
            hint: Unpriced::NO_SOURCE,
        };
        let mut costs = Vec::with_capacity(instances.len());
        let mut hourly: Option<HourlyRate> = None;
        let mut monthly: Option<Money> = None;
        for (instance, usage) in instances.iter().zip(usage) {
            let key = price_key(instance).ok_or_else(|| paid_ahead(instance))?;
            let (key, quote) = self
                .prices
                .find(&key)
                .map_err(|missing| no_source(missing.to_string()))?;
            // Observed for no time at all: launched in the current period, and
            // it runs.
            let share = usage.running.share().unwrap_or(Decimal::ONE);
            let monthly_hours = self.policy.hours_per_month * share;
            let paid_ahead = self.paid.get(&instance.id).cloned();
            let rate = match &paid_ahead {
                None => quote.rate,
                Some(paid) => paid.hourly(quote.rate).ok_or_else(|| {
                    no_source("its commitments and its price do not add up to one".to_owned())
                })?,
            };
            let cost = InstanceCost {
                key,
                quote,
                paid_ahead,
                hourly: rate,
                monthly_hours,
            };
            let month = cost.monthly();
            monthly = Some(match monthly {
                None => month,
                Some(sum) => sum
                    .checked_add(month)
                    .map_err(|mismatch| no_source(mismatch.to_string()))?,
            });
            let sum = hourly.map_or(Decimal::ZERO, HourlyRate::amount) + rate.amount();
            hourly = HourlyRate::new(sum, rate.currency());
            costs.push(cost);
        }
        let (Some(hourly), Some(monthly)) = (hourly, monthly) else {
            return Err(no_source("the sum is beyond every price".to_owned()));
        };
        Ok(WorkloadCost {
            instances: costs,
            hourly,
            compute_monthly: monthly.rounded(),
        })
    }
}

/// Why an instance has no hourly price at all.
fn paid_ahead(instance: &Instance) -> Unpriced {
    let paid = if instance.lifecycle == Lifecycle::Scheduled {
        "a scheduled instance"
    } else {
        "a Capacity Block"
    };
    Unpriced {
        reason: format!("{paid} is paid ahead and has no hourly price"),
        hint: "see the purchase in the bill",
    }
}

fn common_tags(instances: &[&Instance]) -> BTreeMap<String, String> {
    let Some((first, rest)) = instances.split_first() else {
        return BTreeMap::new();
    };
    first
        .tags
        .iter()
        .filter(|(key, value)| {
            rest.iter()
                .all(|other| other.tags.get(*key) == Some(*value))
        })
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

fn name(group: &Group, instances: &[&Instance]) -> String {
    match group {
        Group::AutoScaling(name) | Group::Tag(name) => name.clone(),
        Group::Alone(id) => instances
            .first()
            .and_then(|instance| instance.name())
            .unwrap_or(id.as_str())
            .to_owned(),
    }
}

/// Mean over the instances, so that it agrees with the cost, where every
/// instance weighs the same however short it was observed.
fn running_share(usage: &[InstanceUsage]) -> Option<Decimal> {
    let shares: Vec<Decimal> = usage
        .iter()
        .filter_map(|usage| usage.running.share())
        .collect();
    shares
        .iter()
        .sum::<Decimal>()
        .checked_div(Decimal::from(shares.len()))
}

fn usage_gaps(id: &str, usage: &[InstanceUsage], gaps: &mut Vec<Gap>) {
    let total = usage.len();
    let unproved = usage.iter().filter(|usage| !usage.running.proved).count();
    if unproved > 0 {
        gaps.push(Gap::new(
            "running time",
            id,
            format!(
                "no CPUUtilization point for {unproved} of {total} instances: assumed to run \
                 since launch"
            ),
            "allow cloudwatch:GetMetricData, or record the series in the estate",
        ));
    }
    let unmeasured = usage.iter().filter(|usage| usage.signal.is_none()).count();
    if unmeasured > 0 && unmeasured < total {
        gaps.push(Gap::new(
            "GPU utilization",
            id,
            format!("{unmeasured} of {total} instances deliver no GPU metric"),
            "`gpucost metrics setup` prints the CloudWatch agent configuration",
        ));
    }
    let rejected = usage
        .iter()
        .fold(Rejected::default(), |sum, usage| sum.plus(usage.rejected));
    if rejected.total() > 0 {
        let parts = [
            (rejected.not_a_number, "not a number"),
            (rejected.negative, "negative"),
            (rejected.over_100, "over 100 %"),
            (rejected.duplicate, "duplicate"),
            (rejected.future, "in the future"),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, reason)| format!("{count} {reason}"))
            .collect();
        gaps.push(Gap::new(
            "metric points",
            id,
            format!("{} points dropped: {}", rejected.total(), parts.join(", ")),
            "check the agent's clock and configuration",
        ));
    }
}
