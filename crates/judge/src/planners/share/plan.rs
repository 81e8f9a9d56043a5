//! The ways to share that tenants allow, what each takes, and the one that costs least.

use super::lots::{PackedCard, Waiting};
use super::{CardMode, Isolation, Lot, ShareQuestion, ShareTenant, SmallerType, Today};
use crate::catalog::MigProfile;
use crate::domain::{HourlyRate, Money, named_enum};
use crate::planners::NoResult;
use crate::savings::{most_without_room, slices_of, total_slices};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

named_enum! {
    /// A way to share, those with more isolation first.
    Method {
        /// Every tenant on a slice.
        Mig = "mig",
        /// Each tenant as its class allows.
        ByClass = "by-class",
        /// Every tenant beside others of its owner.
        Mps = "mps",
        /// Every tenant in turn with others of its owner.
        TimeSlicing = "time-slicing",
    }
}

/// What sharing in one way takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Packing {
    pub lots: Vec<Lot>,
    /// Instances that hold the cards, without spare ones.
    pub instances: usize,
    /// Instances beside these, so that as many may be lost.
    pub spare: usize,
    /// Tenants without room at worst when an instance is lost.
    pub most_without_room: usize,
    /// Of all instances, rounded to cents each; absent where the type is unpriced.
    pub monthly: Option<Money>,
}

impl Packing {
    pub fn cards(&self) -> usize {
        self.lots.iter().map(|lot| lot.cards.len()).sum()
    }

    /// No packing of the same lots takes fewer cards.
    pub fn least_cards(&self) -> usize {
        self.lots.iter().map(|lot| lot.least_cards).sum()
    }

    pub fn instances_with_spare(&self) -> usize {
        self.instances + self.spare
    }
}

/// One way to share and what came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct MethodOutcome {
    pub method: Method,
    /// What it takes, or why it is out.
    pub outcome: Result<Packing, String>,
}

/// A packing on a type with fewer cards.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmallerFleet<'a> {
    pub on: &'a SmallerType,
    /// With spare ones.
    pub instances: usize,
    pub monthly: Money,
}

/// Every way to share some tenants.
#[derive(Debug, Clone, PartialEq)]
pub struct SharePlan {
    pub question: ShareQuestion,
    /// In order of isolation.
    pub methods: Vec<MethodOutcome>,
    /// Instances for one card each, with spare ones.
    pub alone_instances: usize,
    /// What these cost a month; absent where the type is unpriced.
    pub alone_monthly: Option<Money>,
    /// What the instances of today cost a month; absent where one is unpriced, and where
    /// they are not known.
    pub today_monthly: Option<Money>,
    /// Compute slices of a card; 0 for a card without MIG.
    pub total_slices: u8,
}

impl SharePlan {
    /// What a packing saves a month against what runs today, and where that is not known
    /// against one card each; below zero where it costs more. Absent without prices, and
    /// where instances of today stay for other work.
    pub fn saved(&self, packing: &Packing) -> Option<Money> {
        let before = match &self.question.today {
            Some(today) if today.kept > 0 => None,
            Some(_) => self.today_monthly,
            None => self.alone_monthly,
        };
        before?.checked_sub(packing.monthly?).ok()
    }

    /// The cheapest fleet of a type with fewer of the same cards on which a packing costs
    /// less, with as many spare instances.
    pub fn smaller(&self, packing: &Packing) -> Option<SmallerFleet<'_>> {
        let paid = packing.monthly?;
        let fleets = self.question.smaller.iter().map(|on| {
            let cards = usize::from(on.cards.max(1));
            let lots = packing.lots.iter().map(|lot| lot.cards.len().div_ceil(cards));
            let instances = lots.sum::<usize>() + packing.spare;
            SmallerFleet { on, instances, monthly: cost_of(&self.question, on.rate, instances) }
        });
        let is_less = |fleet: &SmallerFleet<'_>| {
            let monthly = fleet.monthly;
            monthly.currency() == paid.currency() && monthly.amount() < paid.amount()
        };
        fleets.filter(is_less).min_by_key(|fleet| (fleet.monthly.amount(), &fleet.on.instance_type))
    }

    /// Instances that run today, else for one card each.
    pub fn instances_before(&self) -> usize {
        self.question.today.as_ref().map_or(self.alone_instances, Today::count)
    }

    /// The way that takes the fewest instances, of these the one with most isolation: cards
    /// that stay empty on an instance save nothing. Absent where none is open.
    pub fn chosen(&self) -> Option<(Method, &Packing)> {
        let open =
            self.methods.iter().filter_map(|row| Some((row.method, row.outcome.as_ref().ok()?)));
        open.min_by_key(|(method, packing)| (packing.instances, *method))
    }
}

/// Plans who shares which cards.
///
/// # Errors
/// Where the question has no answer.
pub fn plan_sharing(question: ShareQuestion) -> Result<SharePlan, NoResult> {
    question.check()?;
    let slices = slices_of(&question.on.offer)
        .map_err(|_| format!("{} does not support MIG", question.on.offer.model));
    let profiles: &[MigProfile] = slices.as_deref().unwrap_or_default();
    let outcomes = Method::ALL.iter().map(|method| MethodOutcome {
        method: *method,
        outcome: lots(*method, &question, &slices).map(|lots| {
            let pack = |(kind, members)| Waiting::new(&question, profiles, kind, members).pack();
            packing(&question, lots.into_iter().map(pack).collect())
        }),
    });
    let methods = outcomes.collect();
    let cards = usize::from(question.on.cards.max(1));
    let alone_instances = question.tenants.len().div_ceil(cards) + question.survive_nodes as usize;
    Ok(SharePlan {
        methods,
        alone_instances,
        alone_monthly: monthly(&question, alone_instances),
        today_monthly: today_monthly(&question),
        total_slices: total_slices(profiles),
        question,
    })
}

/// Tenants that are packed together, by how they share and whose they are.
type Lots = BTreeMap<(CardMode, Option<String>), Vec<usize>>;

fn lots(
    method: Method,
    question: &ShareQuestion,
    slices: &Result<Vec<MigProfile>, String>,
) -> Result<Lots, String> {
    match method {
        Method::Mig => {
            slices.as_ref().map_err(Clone::clone)?;
            Ok(grouped(question, |_| (CardMode::Mig, None)))
        }
        Method::Mps => by_owner(question, CardMode::Mps, Isolation::Trusted),
        Method::TimeSlicing => by_owner(question, CardMode::TimeSlicing, Isolation::Development),
        Method::ByClass => {
            let classes = question.tenants.iter().map(|tenant| tenant.isolation);
            let (least, most) = (classes.clone().min(), classes.max());
            if let Some(isolation) = least.filter(|least| Some(*least) == most) {
                return Err(format!("all tenants are {isolation}"));
            }
            let isolated = if slices.is_ok() { CardMode::Mig } else { CardMode::Whole };
            Ok(grouped(question, |tenant| match (tenant.isolation, tenant.peak_percent) {
                (Isolation::Production, _) | (_, None) => (isolated, None),
                (Isolation::Trusted, Some(_)) => (CardMode::Mps, tenant.owner.clone()),
                (Isolation::Development, Some(_)) => (CardMode::TimeSlicing, tenant.owner.clone()),
            }))
        }
    }
}

fn grouped(
    question: &ShareQuestion,
    kind: impl Fn(&ShareTenant) -> (CardMode, Option<String>),
) -> Lots {
    let mut lots = Lots::new();
    for (index, tenant) in question.tenants.iter().enumerate() {
        lots.entry(kind(tenant)).or_default().push(index);
    }
    lots
}

/// All tenants in one mode without walls, each with those of its owner.
fn by_owner(
    question: &ShareQuestion,
    mode: CardMode,
    isolation: Isolation,
) -> Result<Lots, String> {
    for ShareTenant { name, isolation: own, peak_percent, .. } in &question.tenants {
        if *own != isolation {
            return Err(format!("tenant `{name}` is {own}, which needs {}", needs(*own)));
        }
        if peak_percent.is_none() {
            return Err(format!("the peak of tenant `{name}` is unknown"));
        }
    }
    Ok(grouped(question, |tenant| (mode, tenant.owner.clone())))
}

/// What a class may share by.
fn needs(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::Production => "MIG",
        Isolation::Trusted => "MPS or MIG",
        Isolation::Development => "time-slicing or MIG",
    }
}

fn packing(question: &ShareQuestion, lots: Vec<Lot>) -> Packing {
    let lots = with_whole_cards_together(question, lots);
    let instances: usize = lots.iter().map(|lot| lot.instances).sum();
    let spare = question.survive_nodes as usize;
    let without_room = lots.iter().map(|lot| {
        let instances = lot.by_instance(question.on.cards);
        let tenants = |cards: &[PackedCard]| cards.iter().map(|card| card.tenants.len()).collect();
        let instances: Vec<Vec<usize>> = instances.map(tenants).collect();
        most_without_room(&instances, question.on.cards.into())
    });
    Packing {
        most_without_room: without_room.max().unwrap_or(0),
        instances,
        spare,
        monthly: monthly(question, instances + spare),
        lots,
    }
}

/// Lots whose tenants share no card, as one: whole cards need no instance of their own.
fn with_whole_cards_together(question: &ShareQuestion, lots: Vec<Lot>) -> Vec<Lot> {
    let (whole, mut lots): (Vec<Lot>, Vec<Lot>) =
        lots.into_iter().partition(|lot| lot.mode == CardMode::Whole);
    let least_cards = whole.iter().map(|lot| lot.least_cards).sum();
    let cards: Vec<PackedCard> = whole.into_iter().flat_map(|lot| lot.cards).collect();
    if !cards.is_empty() {
        lots.push(Lot {
            mode: CardMode::Whole,
            owner: None,
            instances: cards.len().div_ceil(usize::from(question.on.cards.max(1))),
            cards,
            least_cards,
        });
    }
    lots
}

/// What instances cost a month, each rounded to cents.
fn monthly(question: &ShareQuestion, instances: usize) -> Option<Money> {
    Some(cost_of(question, question.price.as_ref()?.rate, instances))
}

fn cost_of(question: &ShareQuestion, rate: HourlyRate, instances: usize) -> Money {
    let instance_cost = rate.times_hours(question.hours_per_month).rounded();
    Money::new(instance_cost.amount() * Decimal::from(instances), instance_cost.currency())
}

fn today_monthly(question: &ShareQuestion) -> Option<Money> {
    let instances = question.today.as_ref()?.instances.values();
    let mut costs = instances.map(|(count, rate)| Some(cost_of(question, (*rate)?, *count)));
    let first = costs.next()??;
    costs.try_fold(first, |sum, cost| sum.checked_add(cost?).ok())
}
