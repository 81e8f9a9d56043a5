//! Several tenants on one card: which sharing each of them may have, how many cards and
//! instances that takes, and how far the packing may be from the best one.

mod lots;
mod plan;

pub use lots::{CardMode, Fragments, Lot, PackedCard};
pub use plan::{Method, MethodOutcome, Packing, SharePlan, SmallerFleet, plan_sharing};

use crate::catalog::shapes;
use crate::domain::{GpuOffer, GpuShare, HourlyRate, InstanceShape, PriceQuote, named_enum};
use crate::planners::NoResult;
use crate::savings::reported_vram_mib;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};

/// Tenants that are packed at once: packing takes the square of their number.
pub const MOST_TENANTS: usize = 2_000;

named_enum! {
    /// How far a tenant must be apart from its neighbors.
    Isolation {
        /// Memory and compute of its own: MIG.
        Production = "production",
        /// Beside tenants of the same owner that trust each other: MPS.
        Trusted = "trusted",
        /// Taking turns with other development of the same owner: time-slicing.
        Development = "development",
    }
}

/// What takes a GPU of its own today.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareTenant {
    pub name: String,
    /// Absent where nothing names one; tenants without an owner have the same.
    pub owner: Option<String>,
    pub isolation: Isolation,
    /// Most memory that it held, MiB, without headroom.
    pub vram_peak_mib: f64,
    /// What it must have room for of a whole card, 0–100; absent where it is not known.
    pub peak_percent: Option<f64>,
    /// Its peak in each hour of the window, 0–100 and never above `peak_percent`; empty
    /// where its hours are not known.
    pub hours: Vec<f64>,
    /// Where its figures are from.
    pub source: String,
}

/// The instance type whose cards are shared.
#[derive(Debug, Clone, PartialEq)]
pub struct SharedOn {
    pub instance_type: String,
    pub offer: GpuOffer,
    /// Cards of one instance.
    pub cards: u16,
    /// Memory of a card as its driver reports it, else as the type offers it, MiB.
    pub card_mib: f64,
}

/// Why a type or a region was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A flag names it.
    Flag,
    /// Most tenants are there.
    MostTenants,
    /// Nothing else was said.
    Home,
}

/// What tenants run on today.
#[derive(Debug, Clone, PartialEq)]
pub struct Today {
    /// Instances by type, with what one of them costs; absent where it is unpriced.
    pub instances: BTreeMap<String, (usize, Option<HourlyRate>)>,
    /// Of them, those of which other GPUs do work that is left out.
    pub kept: usize,
}

impl Today {
    pub fn count(&self) -> usize {
        self.instances.values().map(|(count, _)| count).sum()
    }
}

/// A type with fewer of the same cards, which AWS launches.
#[derive(Debug, Clone, PartialEq)]
pub struct SmallerType {
    pub instance_type: String,
    /// Cards of one instance.
    pub cards: u16,
    pub rate: HourlyRate,
}

/// A question of who shares which cards.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareQuestion {
    pub on: SharedOn,
    pub on_origin: Origin,
    pub region: String,
    pub region_origin: Origin,
    /// Price of one instance; absent where it is unpriced.
    pub price: Option<PriceQuote>,
    /// Whether AWS launches new instances of the type.
    pub is_launched: bool,
    /// Whether reserved instances or savings plans of the type have a price.
    pub has_commitments: bool,
    /// Types with fewer of the same cards that have a price in the region.
    pub smaller: Vec<SmallerType>,
    /// Absent where tenants are stated without what they run on.
    pub today: Option<Today>,
    pub hours_per_month: Decimal,
    /// Factor on the VRAM peak.
    pub vram_headroom: f64,
    /// How many times as long a request may take below the highest risk (policy).
    pub max_latency_ratio: f64,
    /// Instances that may be lost at once with room left for all.
    pub survive_nodes: u32,
    pub tenants: Vec<ShareTenant>,
}

impl SharedOn {
    /// The cards of a type.
    ///
    /// # Errors
    /// Where they cannot be shared, or their memory is not known.
    pub fn of(shape: &InstanceShape) -> Result<Self, NoResult> {
        let bad = |why: &str| {
            no_result! { "{why}"; "`gpucost pricing --gpu A100` lists types whose GPUs can be shared" }
        };
        let name = &shape.instance_type;
        let (offer, cards) =
            whole_gpus(shape).ok_or_else(|| bad(&format!("{name} has no whole GPU to share")))?;
        let model = offer.model.name();
        if offer.model.vendor() != Some("NVIDIA") {
            let only = "MIG, MPS and time-slicing are of NVIDIA GPUs";
            return Err(bad(&format!("{name} has {model}: {only}")));
        }
        let unknown = || bad(&format!("the memory of the GPUs of {name} is not in the catalog"));
        let card_mib = card_mib(offer).ok_or_else(unknown)?;
        Ok(Self { instance_type: name.clone(), offer: offer.clone(), cards, card_mib })
    }
}

fn whole_gpus(shape: &InstanceShape) -> Option<(&GpuOffer, u16)> {
    let offer = shape.gpu.as_ref()?;
    if let GpuShare::Whole(cards) = offer.share { Some((offer, cards)) } else { None }
}

fn card_mib(offer: &GpuOffer) -> Option<f64> {
    Some(reported_vram_mib(offer).or(offer.vram_mib)? as f64)
}

impl ShareQuestion {
    /// What a tenant needs of a card, headroom included, MiB.
    pub fn vram_needed_mib(&self, tenant: &ShareTenant) -> f64 {
        tenant.vram_peak_mib * self.vram_headroom
    }

    /// Whether it can be answered.
    fn check(&self) -> Result<(), NoResult> {
        let (number, mut names) = (self.tenants.len(), BTreeSet::new());
        refuse! {
            number == 0 => "no tenant to place"; "state tenants with `--tenant` or `--tenants`";
            number > MOST_TENANTS => "{number} tenants are more than the {MOST_TENANTS} that are packed at once"; "narrow them with `--tag` or `--region`, or divide the file";
        }
        let SharedOn { instance_type, offer, card_mib, .. } = &self.on;
        for tenant in &self.tenants {
            let ShareTenant { name, vram_peak_mib, .. } = tenant;
            let nearest = || match nearest_type(self.vram_needed_mib(tenant)) {
                Some(name) => format!("the smallest card that holds it is that of `--type {name}`"),
                None => "no card holds it: divide the model over several GPUs, which cannot share"
                    .to_owned(),
            };
            refuse! {
                !names.insert(name) => "two tenants are named `{name}`"; "give each tenant a name of its own";
                vram_peak_mib > card_mib => "tenant `{name}` holds {vram_peak_mib:.0} MiB, and a GPU of {instance_type} ({}) has {card_mib:.0} MiB", offer.model.name(); "{}", nearest();
            }
        }
        Ok(())
    }
}

/// The type with the smallest card that holds so much, of these the one with the fewest
/// cards, then by name.
fn nearest_type(needed_mib: f64) -> Option<String> {
    let fits = shapes().filter_map(|shape| {
        let (offer, cards) = whole_gpus(shape)?;
        let card_mib = card_mib(offer).filter(|mib| *mib >= needed_mib)?;
        let is_nvidia = offer.model.vendor() == Some("NVIDIA");
        is_nvidia.then_some((card_mib, cards, &shape.instance_type))
    });
    let least = fits.min_by(|left, right| {
        left.0.total_cmp(&right.0).then_with(|| (left.1, left.2).cmp(&(right.1, right.2)))
    });
    least.map(|(.., name)| name.clone())
}

#[cfg(test)]
mod brute_force;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::shape;
    use crate::domain::{Currency, HourlyRate, PriceKey, PriceQuote};
    use rust_decimal::Decimal;
    use std::collections::BTreeMap;

    fn on(instance_type: &str) -> SharedOn {
        SharedOn::of(shape(instance_type).expect("a known type")).expect("whole GPUs")
    }

    pub(super) fn tenant(name: &str, vram_mib: f64, peak: Option<f64>) -> ShareTenant {
        ShareTenant {
            name: name.to_owned(),
            owner: None,
            isolation: Isolation::Production,
            vram_peak_mib: vram_mib,
            peak_percent: peak,
            hours: Vec::new(),
            source: "by hand".to_owned(),
        }
    }

    pub(super) fn of(isolation: Isolation, owner: &str, tenant: ShareTenant) -> ShareTenant {
        ShareTenant { isolation, owner: Some(owner.to_owned()), ..tenant }
    }

    pub(super) fn question(instance_type: &str, tenants: Vec<ShareTenant>) -> ShareQuestion {
        let key = PriceKey::linux_on_demand("us-east-1", instance_type);
        let price: Option<PriceQuote> = crate::catalog::bundled_quote(&key);
        ShareQuestion {
            on: on(instance_type),
            on_origin: Origin::Flag,
            region: "us-east-1".to_owned(),
            region_origin: Origin::Home,
            price,
            is_launched: true,
            has_commitments: false,
            smaller: Vec::new(),
            today: None,
            hours_per_month: Decimal::from(730),
            vram_headroom: 1.2,
            max_latency_ratio: 2.5,
            survive_nodes: 0,
            tenants,
        }
    }

    fn models(count: usize, vram_mib: f64, peak: f64) -> Vec<ShareTenant> {
        let names = (1..=count).map(|number| format!("model-{number}"));
        names.map(|name| tenant(&name, vram_mib, Some(peak))).collect()
    }

    pub(super) fn planned(question: ShareQuestion) -> SharePlan {
        plan_sharing(question).expect("a plan")
    }

    pub(super) fn outcome(plan: &SharePlan, method: Method) -> &Result<Packing, String> {
        let mut methods = plan.methods.iter();
        &methods.find(|row| row.method == method).expect("every method").outcome
    }

    /// Profiles with their starts, card by card.
    fn slices(lot: &Lot) -> Vec<Vec<String>> {
        let name = |slice: &crate::savings::Slice| match &slice.placement {
            Some((profile, at)) => format!("{}:{at}", profile.name),
            None => "-".to_owned(),
        };
        let cards = lot.cards.iter();
        cards.map(|card| card.tenants.iter().map(name).collect()).collect()
    }

    #[test]
    fn two_models_of_ten_gib_share_an_a100() {
        // 10 GiB × 1.2 = 12 288 MiB: more than a 2g.10gb (9 856), less than a 3g.20gb (19 968).
        // 33 × 7 / 3 = 77 ≤ 80, and 2 × 33 = 66 ≤ 80: two a card, 20 cards for 40.
        let plan = planned(question("p4d.24xlarge", models(40, 10_240.0, 33.0)));
        let (method, packing) = plan.chosen().expect("MIG");
        assert_eq!(method, Method::Mig);
        assert_eq!((packing.cards(), packing.least_cards()), (20, 20));
        // 20 / 8 = 2.5: three instances in place of 40 / 8 = 5.
        assert_eq!((packing.instances, plan.alone_instances), (3, 5));
        assert_eq!(slices(&packing.lots[0])[0], ["3g.20gb:0", "3g.20gb:4"]);
        // 21.957642 × 730 = 16 029.07866, rounded 16 029.08; times 3 and 5.
        let money = |amount: Option<crate::domain::Money>| amount.map(|money| money.to_string());
        assert_eq!(money(packing.monthly).as_deref(), Some("$48,087.24"));
        assert_eq!(money(plan.alone_monthly).as_deref(), Some("$80,145.40"));
        // Two 3g.20gb take all eight memory slices, and six of seven compute slices.
        let fragments = packing.lots[0].cards[0].fragments.expect("slices");
        let free = Fragments { compute_free: 1, memory_free: 0, memory_stranded: 0 };
        assert_eq!(fragments, free);
        // Eight cards of two instances hold two tenants each and four of the third: of 16 on one that
        // is lost, the four empty cards take eight.
        assert_eq!(packing.most_without_room, 8);
        let survives = planned(ShareQuestion {
            survive_nodes: 1,
            ..question("p4d.24xlarge", models(40, 10_240.0, 33.0))
        });
        let (_, packing) = survives.chosen().expect("MIG");
        assert_eq!((packing.instances, packing.instances_with_spare()), (3, 4));
        assert_eq!(money(packing.monthly).as_deref(), Some("$64,116.32"));
    }

    #[test]
    fn slices_that_no_tenant_can_use_are_stranded() {
        // One 3g.20gb leaves memory slices 4–7 and four compute slices: a second fits.
        let lone = planned(question("p4d.24xlarge", models(1, 10_240.0, 33.0)));
        let card = |plan: &SharePlan| {
            let (_, packing) = plan.chosen().expect("MIG");
            packing.lots[0].cards[0].fragments.expect("slices")
        };
        let free = |compute_free, memory_free, memory_stranded| Fragments {
            compute_free,
            memory_free,
            memory_stranded,
        };
        assert_eq!(card(&lone), free(4, 4, 0));
        // 38% need a 4g.20gb (38 × 7 / 3 = 88.7; 38 × 7 / 4 = 66.5), and there is one of those a
        // card: memory slices 4–7 are free, and no 4g.20gb begins there.
        let large = planned(question("p4d.24xlarge", models(1, 10_240.0, 38.0)));
        assert_eq!(card(&large), free(3, 4, 4));
        // Seven 1g.5gb take memory slices 0–6. The eighth stays free without compute.
        let small = planned(question("p4d.24xlarge", models(7, 4_000.0, 10.0)));
        assert_eq!(card(&small), free(0, 1, 1));
    }

    #[test]
    fn peaks_that_never_meet_share_a_card_and_separate_ones_do_not() {
        // 60% each on a card without slices: 60 + 60 = 120 > 80, hour by hour 60 + 20 = 80.
        let night = |name: &str, hours: [f64; 4]| ShareTenant {
            hours: hours.to_vec(),
            ..of(Isolation::Trusted, "search", tenant(name, 4_096.0, Some(60.0)))
        };
        let apart =
            vec![night("day", [60.0, 60.0, 20.0, 20.0]), night("night", [20.0, 20.0, 60.0, 60.0])];
        let plan = planned(question("g5.xlarge", apart.clone()));
        let (method, packing) = plan.chosen().expect("MPS");
        assert_eq!((method, packing.cards()), (Method::Mps, 1));
        let card = &packing.lots[0].cards[0];
        assert_eq!((card.peak_percent, card.separate_percent), (Some(80.0), Some(120.0)));
        // One whose hours are not known has its peak in each of them: 60 + 60.
        let mut unknown = apart;
        unknown[1].hours.clear();
        let plan = planned(question("g5.xlarge", unknown));
        assert_eq!(plan.chosen().expect("MPS").1.cards(), 2);
    }

    #[test]
    fn classes_and_owners_decide_what_may_be_shared() {
        let mixed = vec![
            of(Isolation::Production, "ads", tenant("ranker", 10_240.0, Some(30.0))),
            of(Isolation::Trusted, "search", tenant("embed", 6_000.0, Some(20.0))),
            of(Isolation::Trusted, "search", tenant("rerank", 6_000.0, Some(20.0))),
            of(Isolation::Trusted, "maps", tenant("tiles", 6_000.0, Some(20.0))),
            of(Isolation::Development, "search", tenant("notebook", 3_000.0, Some(5.0))),
        ];
        let plan = planned(question("p4d.24xlarge", mixed.clone()));
        let by_class = outcome(&plan, Method::ByClass).as_ref().expect("open");
        let lots: Vec<(CardMode, Option<&str>, usize)> = by_class
            .lots
            .iter()
            .map(|lot| (lot.mode, lot.owner.as_deref(), lot.cards.len()))
            .collect();
        // Owners are apart where there are no walls, so that two tenants are by
        // themselves. Each lot has instances of its own.
        assert_eq!(
            lots,
            [
                (CardMode::Mig, None, 1),
                (CardMode::Mps, Some("search"), 1),
                (CardMode::Whole, None, 2),
            ]
        );
        assert_eq!(by_class.instances, 3);
        let said = |method| outcome(&plan, method).as_ref().unwrap_err().to_string();
        assert_eq!(said(Method::Mps), "tenant `ranker` is production, which needs MIG");
        assert_eq!(said(Method::TimeSlicing), "tenant `ranker` is production, which needs MIG");
        // All on slices takes one instance.
        let (method, packing) = plan.chosen().expect("MIG");
        assert_eq!((method, packing.instances), (Method::Mig, 1));

        // A card without MIG says so by name, and production keeps a card.
        let plan = planned(question("g5.12xlarge", mixed));
        let said = outcome(&plan, Method::Mig).as_ref().unwrap_err().to_string();
        assert_eq!(said, "A10G does not support MIG");
        let (method, packing) = plan.chosen().expect("by class");
        assert_eq!((method, packing.cards()), (Method::ByClass, 4));
        assert_eq!(packing.lots.last().map(|lot| lot.mode), Some(CardMode::Whole));
    }

    /// 40 tenants on 20 cards take three p4d.24xlarge of $16,029.08, with N spare ones 3 + N. Today
    /// there are five: two fewer, one fewer, as many, one more.
    #[test]
    fn what_is_saved_is_against_the_instances_of_today() {
        let mut asked = question("p4d.24xlarge", models(40, 10_240.0, 33.0));
        let rate = asked.price.as_ref().map(|quote| quote.rate);
        let run = |count: usize, kept: usize| Today {
            instances: BTreeMap::from([("p4d.24xlarge".to_owned(), (count, rate))]),
            kept,
        };
        for (spare, saved) in [(0, "32058.16"), (1, "16029.08"), (2, "0.00"), (3, "-16029.08")] {
            asked.survive_nodes = spare;
            asked.today = Some(run(5, 0));
            let plan = planned(asked.clone());
            let (_, packing) = plan.chosen().expect("MIG");
            let saving = plan.saved(packing).expect("priced").amount();
            assert_eq!(saving.to_string(), saved);
            assert_eq!(plan.instances_before(), 5);
            // One card each would take as many spare ones.
            asked.today = None;
            let plan = planned(asked.clone());
            let (_, packing) = plan.chosen().expect("MIG");
            let saving = plan.saved(packing).expect("priced").amount();
            assert_eq!(saving.to_string(), "32058.16");
        }
        // An instance with other work stays, and one without a price has none.
        asked.today = Some(run(5, 1));
        let plan = planned(asked.clone());
        assert_eq!(plan.saved(plan.chosen().expect("MIG").1), None);
        let unpriced = ("p4de.24xlarge".to_owned(), (1, None));
        let mut mixed = run(4, 0);
        mixed.instances.extend([unpriced]);
        asked.today = Some(mixed);
        let plan = planned(asked);
        assert_eq!((plan.today_monthly, plan.instances_before()), (None, 5));
    }

    /// 12 tenants with 20% take four cards with MIG (20 × 7 / 2 = 70 ≤ 80: three a card) and three
    /// with MPS (4 × 20 = 80). Either is one instance of eight cards, so that walls cost nothing.
    #[test]
    fn isolation_is_not_given_up_for_empty_cards() {
        let trusted = |count: usize| -> Vec<ShareTenant> {
            let tenants = models(count, 10_240.0, 20.0).into_iter();
            tenants.map(|tenant| of(Isolation::Trusted, "search", tenant)).collect()
        };
        let mut asked = question("p5.48xlarge", trusted(12));
        asked.smaller = vec![SmallerType {
            instance_type: "p5.4xlarge".to_owned(),
            cards: 1,
            rate: HourlyRate::new(Decimal::new(688, 2), Currency::Usd).expect("positive"),
        }];
        let plan = planned(asked.clone());
        let cards = |method| outcome(&plan, method).as_ref().map(Packing::cards);
        assert_eq!((cards(Method::Mig), cards(Method::Mps)), (Ok(4), Ok(3)));
        let (method, packing) = plan.chosen().expect("MIG");
        assert_eq!((method, packing.instances), (Method::Mig, 1));
        // 55.04 × 730 = 40,179.20 with four empty cards; 4 × 6.88 × 730 = 20,089.60 without.
        assert_eq!(packing.monthly.expect("priced").to_string(), "$40,179.20");
        let smaller = plan.smaller(packing).expect("cheaper");
        assert_eq!((smaller.instances, smaller.monthly.to_string().as_str()), (4, "$20,089.60"));
        // With 8 full cards, it is not cheaper: 8 × 6.88 = 55.04.
        asked.tenants = trusted(24);
        let plan = planned(asked.clone());
        let (_, packing) = plan.chosen().expect("MIG");
        assert_eq!((packing.cards(), plan.smaller(packing)), (8, None));
        // What MIG takes one instance more for is not given for nothing: 27 tenants are on 9 cards
        // with MIG, and on 7 with MPS.
        asked.tenants = trusted(27);
        let plan = planned(asked);
        let (method, packing) = plan.chosen().expect("MPS");
        assert_eq!((method, packing.instances), (Method::Mps, 1));
    }

    #[test]
    fn an_unknown_peak_is_placed_by_memory_and_only_behind_walls() {
        let unknown = of(Isolation::Trusted, "search", tenant("embed", 10_240.0, None));
        let plan = planned(question("p4d.24xlarge", vec![unknown]));
        let said = outcome(&plan, Method::Mps).as_ref().unwrap_err().to_string();
        assert_eq!(said, "the peak of tenant `embed` is unknown");
        let (_, packing) = plan.chosen().expect("MIG");
        assert_eq!(slices(&packing.lots[0]), [["3g.20gb:0"]]);
        // It is not zero.
        let card = &packing.lots[0].cards[0];
        assert_eq!((card.peak_percent, card.separate_percent), (None, None));
    }

    #[test]
    fn what_cannot_be_asked_is_refused() {
        let refused = |question| plan_sharing(question).unwrap_err();
        let none = refused(question("p4d.24xlarge", Vec::new()));
        assert_eq!(none.to_string(), "no tenant to place");
        let twice = [models(1, 1.0, 1.0), models(1, 1.0, 1.0)].concat();
        let twice = refused(question("p4d.24xlarge", twice)).to_string();
        assert!(twice.starts_with("two tenants are named"), "{twice}");
        let many = models(MOST_TENANTS + 1, 1.0, 1.0);
        let many = refused(question("p4d.24xlarge", many)).to_string();
        assert!(many.contains("tenants are more than the"), "{many}");
        // 50 GiB × 1.2 = 60 GiB: an A100 or H100 with 80 holds it.
        let large = models(1, 51_200.0, 10.0);
        let larger = refused(question("p4d.24xlarge", large));
        assert!(larger.to_string().contains(" holds 51200 MiB, and a GPU of "), "{larger}");
        assert!(on("p4d.24xlarge").card_mib < 51_200.0);
        let nearest =
            larger.hint.strip_prefix("the smallest card that holds it is that of `--type ");
        let nearest =
            nearest.and_then(|name| name.strip_suffix('`')).expect("there are larger cards");
        let holds = on(nearest).card_mib;
        assert!((61_440.0..90_000.0).contains(&holds), "{nearest}: {holds}");
        let none = refused(question("p4d.24xlarge", models(1, 1e6, 10.0)));
        assert!(none.hint.starts_with("no card holds it"), "{}", none.hint);
        for (name, said) in [
            ("trn1.2xlarge", "MIG, MPS and time-slicing are of NVIDIA GPUs"),
            ("g6f.large", "has no whole GPU to share"),
            ("m5.large", "has no whole GPU to share"),
        ] {
            let Some(shape) = shape(name) else { continue };
            let error = SharedOn::of(shape).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
