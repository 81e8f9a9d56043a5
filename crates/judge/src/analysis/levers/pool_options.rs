//! Every commitment that is sold to a pool of instances, at the amount that
//! suits its usage best.

use crate::catalog::Prices;
use crate::domain::{
    Cause, CauseKind, CommitmentPool, CommitmentTerm, Gap, GapSubject, Instalments, Money,
    PaymentOption, Policy, PriceKey, PriceOption, PriceQuote,
};
use crate::savings::{
    BILLED_HOURS_PER_MONTH, ConcurrentUsage, INSTANCE, PlanPool, PoolHours, PoolRates, Purchase,
    TypeUsage, break_even_month, covers_other_sizes, instalments, instances,
};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

/// A commitment that is sold to a pool, at the amount that suits it best.
#[derive(Debug, Clone, PartialEq)]
pub struct PoolOption {
    pub term: CommitmentTerm,
    /// Every price that it rests on: one of a reserved instance, one for each
    /// type of a savings plan.
    pub quotes: Vec<PriceQuote>,
    /// Effective rate over on-demand rate, 0–1: the share of the hours from which
    /// on one pays. Of a plan, that of its type with the largest discount.
    pub break_even_utilization: Decimal,
    /// How many instances, or how many dollars an hour; zero when none pays.
    pub amount: Decimal,
    /// Effective price per hour of all of it.
    pub hourly: Money,
    /// How all of it is paid.
    pub paid: Instalments,
    /// The first month of the term in which the on-demand hours that it replaces
    /// have cost as much; absent when there is none.
    pub break_even_month: Option<u32>,
    /// Saved per month, in cents.
    pub monthly_savings: Money,
    /// What it costs over the term, used or not, in cents.
    pub committed: Money,
    /// What it loses over the term when usage halves from month 7 on, in cents;
    /// zero when it saves even so.
    pub downside: Money,
    /// Share of the hours in which all of it is used, 0–1; absent when none is
    /// bought.
    pub full_use_share: Option<Decimal>,
}

/// Instances that one reserved instance may cover.
#[derive(Debug, Clone, PartialEq)]
pub struct ReservedPool {
    /// Region, type, platform and tenancy, on demand.
    pub key: PriceKey,
    /// The account that has to buy, whose instances alone these are; absent where accounts
    /// share what they buy.
    pub account: Option<String>,
    pub on_demand: PriceQuote,
    /// Instances that ran at once and that no commitment covers.
    pub usage: ConcurrentUsage,
    /// Of them those that run for longer than a year; absent where these are all.
    pub usage_of_longer_terms: Option<ConcurrentUsage>,
    /// Whether regional reserved instances of it cover other sizes too.
    pub covers_other_sizes: bool,
    /// Every term and payment that is sold, shortest first, least upfront first.
    pub options: Vec<PoolOption>,
    /// What the plan buys for it; none where it buys nothing, and for today's usage. Two where not
    /// all of its instances run for the longer term.
    pub purchases: Vec<Purchase>,
    /// An hour in a Capacity Block, for comparison.
    pub capacity_block: Option<PriceQuote>,
}

/// Instances that one EC2 Instance Savings Plan may cover.
#[derive(Debug, Clone, PartialEq)]
pub struct FamilyPool {
    pub region: String,
    /// The family, such as `p4d`.
    pub family: String,
    /// As of a [`ReservedPool`].
    pub account: Option<String>,
    /// Its types, ascending.
    pub instance_types: Vec<String>,
    /// Hours that were evaluated.
    pub hours: u64,
    /// The most that it cost on demand in an hour.
    pub on_demand_peak: Money,
    /// What it cost on demand in an hour, in the mean.
    pub on_demand_mean: Money,
    /// Every term and payment with a known rate, shortest first, least upfront
    /// first.
    pub options: Vec<PoolOption>,
    /// As of a [`ReservedPool`].
    pub purchases: Vec<Purchase>,
}

impl ReservedPool {
    /// The usage that a term may be sized by.
    pub fn usage_for(&self, term: CommitmentTerm) -> &ConcurrentUsage {
        let longer = self.usage_of_longer_terms.as_ref().filter(|_| term.years > 1);
        longer.unwrap_or(&self.usage)
    }

    /// Takes what the plan buys, if it is for this pool: its option has the number and the
    /// cents of the plan.
    pub(super) fn take(&mut self, purchase: &Purchase, policy: &Policy) {
        let PriceOption::Reserved(term) = purchase.term.option else { return };
        if purchase.key != self.key || purchase.account != self.account {
            return;
        }
        if let Some(option) = self.options.iter_mut().find(|option| option.term == term)
            && let Some(quote) = option.quotes.first().cloned()
            && let Ok(rates) = PoolRates::new(purchase.on_demand_hourly, quote.rate)
        {
            let count = purchase.count;
            *option = instances_option(term, (quote, rates, count), &purchase.usage, policy);
            option.monthly_savings = purchase.monthly_savings;
            if let Some(promise) = purchase.promise() {
                option.committed = promise.term_total;
            }
        }
        self.purchases.push(purchase.clone());
    }
}

impl FamilyPool {
    /// The same for a savings plan.
    pub(super) fn take(&mut self, purchase: &Purchase) {
        let is_own = purchase.key.region == self.region
            && purchase.key.family() == self.family
            && purchase.account == self.account;
        if !is_own || !matches!(purchase.term.option, PriceOption::Ec2InstanceSavingsPlan(_)) {
            return;
        }
        self.purchases.push(purchase.clone());
    }
}

/// Whether the plan takes an option.
pub fn is_planned(option: &PoolOption, purchases: &[Purchase]) -> bool {
    purchases.iter().filter_map(Purchase::promise).any(|promise| promise.term == option.term)
}

/// What is sold to instances of one pool; `None` without an on-demand price.
pub(super) fn reserved_pool(
    pool: &CommitmentPool,
    hours: &PoolHours,
    prices: &Prices<'_>,
    policy: &Policy,
) -> Option<ReservedPool> {
    let key = &pool.key;
    let on_demand = prices.get(key).ok()?;
    let options = CommitmentTerm::ALL
        .into_iter()
        .filter_map(|term| {
            let quote = prices.get(&key.with_option(PriceOption::Reserved(term))).ok()?;
            let rates = PoolRates::new(on_demand.rate, quote.rate).ok()?;
            let usage = ConcurrentUsage::of(hours.of(term));
            let count = rates.best_count(&usage);
            Some(instances_option(term, (quote, rates, count), &usage, policy))
        })
        .collect();
    let block = prices.get(&key.with_option(PriceOption::CapacityBlock)).ok();
    Some(ReservedPool {
        covers_other_sizes: covers_other_sizes(key),
        capacity_block: block.filter(|quote| quote.rate.currency() == on_demand.rate.currency()),
        key: key.clone(),
        account: pool.account.clone(),
        on_demand,
        usage: ConcurrentUsage::of(&hours.one_year),
        usage_of_longer_terms: hours.longer.as_deref().map(ConcurrentUsage::of),
        options,
        purchases: Vec::new(),
    })
}

fn instances_option(
    term: CommitmentTerm,
    (quote, rates, count): (PriceQuote, PoolRates, u32),
    usage: &ConcurrentUsage,
    policy: &Policy,
) -> PoolOption {
    let amount = Decimal::from(count);
    let currency = quote.rate.currency();
    let per_instance = instalments(&quote, term);
    let paid = Instalments {
        upfront: per_instance.upfront * amount,
        hourly: per_instance.hourly * amount,
    };
    let month = Decimal::from(BILLED_HOURS_PER_MONTH);
    let hourly = quote.rate.amount() * amount;
    // What is saved and what is paid together are the hours that it replaces.
    let replaced = rates.monthly_savings(usage, count, month).amount() + hourly * month;
    let hours = Decimal::from(usage.hours());
    PoolOption {
        term,
        break_even_utilization: rates.break_even_utilization(),
        amount,
        hourly: Money::new(hourly, currency),
        paid,
        break_even_month: break_even_month(replaced, paid, term),
        monthly_savings: rates.monthly_savings(usage, count, policy.hours_per_month).rounded(),
        committed: Money::new(paid.upfront + paid.hourly * Decimal::from(term.hours()), currency)
            .rounded(),
        downside: rates.downside_when_halved(usage, count, term).rounded(),
        full_use_share: (count > 0)
            .then(|| usage.hours_with_at_least(count).checked_div(hours))
            .flatten(),
        quotes: vec![quote],
    }
}

/// A key and the instances of it that ran in each hour.
type KeyUsage<'a> = (&'a PriceKey, &'a PoolHours);

/// The pools of EC2 Instance Savings Plans; a type whose rate under a plan is
/// not known becomes a gap.
pub(super) fn family_pools(
    usage: &BTreeMap<CommitmentPool, PoolHours>,
    prices: &Prices<'_>,
    policy: &Policy,
    gaps: &mut Vec<Gap>,
) -> Vec<FamilyPool> {
    let mut families: BTreeMap<Family<'_>, Vec<KeyUsage<'_>>> = BTreeMap::new();
    for (pool, hours) in usage {
        let family = (pool.key.region.as_str(), pool.key.family(), pool.account.as_deref());
        families.entry(family).or_default().push((&pool.key, hours));
    }
    families
        .into_iter()
        .filter_map(|(family, members)| family_pool(family, &members, prices, policy, gaps))
        .collect()
}

/// What one EC2 Instance Savings Plan holds for: its region, its name, and the account that buys.
type Family<'a> = (&'a str, &'a str, Option<&'a str>);

/// A type of a family, with its on-demand price and its usage.
struct Member<'a> {
    key: &'a PriceKey,
    on_demand: PriceQuote,
    hours: &'a PoolHours,
}

fn family_pool(
    (region, family, account): Family<'_>,
    members: &[KeyUsage<'_>],
    prices: &Prices<'_>,
    policy: &Policy,
    gaps: &mut Vec<Gap>,
) -> Option<FamilyPool> {
    let priced =
        members.iter().filter_map(|(key, hours)| Some((*key, prices.get(key).ok()?, *hours)));
    let hours = priced.clone().map(|(_, _, hours)| hours.one_year.len()).max()?;
    let members: Vec<Member<'_>> =
        priced.map(|(key, on_demand, hours)| Member { key, on_demand, hours }).collect();
    let currency = members.first()?.on_demand.rate.currency();
    let cost_in = |hour: usize| -> Decimal {
        let costs = members
            .iter()
            .map(|member| member.on_demand.rate.amount() * instances(member.hours.one_year[hour]));
        costs.sum()
    };
    let costs: Vec<Decimal> = (0..hours).map(cost_in).collect();
    let terms = CommitmentTerm::ALL.into_iter();
    let options: Vec<PoolOption> =
        terms.filter_map(|term| plan_option(term, &members, prices, policy, gaps)).collect();
    let mut instance_types: Vec<String> =
        members.iter().map(|member| member.key.instance_type.clone()).collect();
    instance_types.dedup();
    let mean = costs.iter().sum::<Decimal>().checked_div(Decimal::from(hours));
    Some(FamilyPool {
        region: region.to_owned(),
        family: family.to_owned(),
        account: account.map(str::to_owned),
        instance_types,
        hours: hours as u64,
        on_demand_peak: Money::new(costs.iter().copied().max()?, currency),
        on_demand_mean: Money::new(mean?, currency),
        options,
        purchases: Vec::new(),
    })
}

/// A plan of one term for the types whose rate under it is known. `None` when
/// none is.
fn plan_option(
    term: CommitmentTerm,
    members: &[Member<'_>],
    prices: &Prices<'_>,
    policy: &Policy,
    gaps: &mut Vec<Gap>,
) -> Option<PoolOption> {
    let option = PriceOption::Ec2InstanceSavingsPlan(term);
    let mut quotes = Vec::new();
    let mut full = Vec::new();
    let mut unrated = Vec::new();
    for member in members {
        let key = member.key.with_option(option);
        match prices.get(&key) {
            Ok(quote) => {
                full.push(TypeUsage {
                    plan: quote.rate,
                    on_demand: member.on_demand.rate,
                    hourly: member.hours.of(term).to_vec(),
                });
                quotes.push(quote);
            }
            Err(missing) => unrated.push((member.key, missing)),
        }
    }
    let pool = PlanPool::new(&full).ok()??;
    for (key, missing) in unrated {
        let cause = Cause::of(CauseKind::NoRate, [&missing.0.to_string()]);
        gaps.push(Gap::of(GapSubject::SavingsPlanRate, &key.instance_type, cause));
    }
    let mut halved = full.clone();
    for running in halved.iter_mut().flat_map(|used| &mut used.hourly) {
        *running = *running / INSTANCE / 2 * INSTANCE;
    }
    let halved = PlanPool::new(&halved).ok()??;
    let currency = full.first()?.plan.currency();
    let amount = pool.best_commitment();
    let saved = |hours: Decimal| {
        let on_demand = pool.monthly_cost(Decimal::ZERO, hours).amount();
        on_demand - pool.monthly_cost(amount, hours).amount()
    };
    let total = amount * Decimal::from(term.hours());
    let upfront_share = match term.payment {
        PaymentOption::NoUpfront => Decimal::ZERO,
        PaymentOption::PartialUpfront => Decimal::ONE / Decimal::TWO,
        PaymentOption::AllUpfront => Decimal::ONE,
    };
    let paid = Instalments {
        upfront: total * upfront_share,
        hourly: amount * (Decimal::ONE - upfront_share),
    };
    let month = Decimal::from(BILLED_HOURS_PER_MONTH);
    let hours = full.iter().map(|used| used.hourly.len()).max()?;
    let plan_cost = |hour: usize| -> Decimal {
        full.iter().map(|used| used.plan.amount() * instances(used.hourly[hour])).sum()
    };
    let used_up = (0..hours).filter(|hour| plan_cost(*hour) >= amount).count();
    let shares = full.iter().map(|used| used.plan.amount() / used.on_demand.amount());
    Some(PoolOption {
        term,
        quotes,
        break_even_utilization: shares.min()?,
        amount,
        hourly: Money::new(amount, currency),
        paid,
        break_even_month: break_even_month(saved(month) + amount * month, paid, term),
        monthly_savings: Money::new(saved(policy.hours_per_month), currency).rounded(),
        committed: Money::new(total, currency).rounded(),
        downside: pool.downside(&halved, amount, term).rounded(),
        full_use_share: (amount > Decimal::ZERO)
            .then(|| Decimal::from(used_up).checked_div(Decimal::from(hours)))
            .flatten(),
    })
}
