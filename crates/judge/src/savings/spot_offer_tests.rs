//! Tests of spot offers: figures by hand, reasons, properties.

use super::*;
use crate::domain::Currency;
use crate::savings::SpotBasis;
use proptest::prelude::*;

fn usd(amount: &str) -> HourlyRate {
    HourlyRate::new(amount.parse().expect("a number"), Currency::Usd).expect("a price")
}

fn price(rate: HourlyRate) -> SpotPrice {
    SpotPrice {
        rate,
        basis: SpotBasis::CatalogAverage,
        seen_on: jiff::civil::date(2026, 5, 12),
        quotes: Vec::new(),
    }
}

/// A restartable training job on four nodes at half the price.
fn four_nodes() -> SpotCase {
    SpotCase {
        on_demand: usd("1.00"),
        spot: Some(price(usd("0.50"))),
        is_launchable: true,
        band: Some(InterruptionBand::FiveToTen),
        nodes: 4,
        kind: WorkloadKind::Training,
        restartable: true,
        accepted: Risk::Medium,
        checkpointing: Checkpointing::default(),
        least_interruptions_per_day: 1.0,
    }
}

#[test]
fn four_nodes_by_hand() {
    let offer = spot_offer(&four_nodes()).expect("it pays");
    let figures = &offer.figures;
    // λ = 4/24 an hour; τ* = sqrt(2 × 60 × 6 × 3 600) s = 1 610 s;
    // o = 60/1 610 + (805 + 300)/3 600/6; half a dollar over what is left.
    assert_eq!(figures.checkpoint_interval, SignedDuration::from_secs(1_610));
    assert_eq!(figures.lost_per_interruption, SignedDuration::from_secs(1_105));
    assert_eq!(figures.checkpoint_share.to_string(), "0.037267");
    assert_eq!(figures.overhead.to_string(), "0.088424");
    assert_eq!(offer.effective, usd("0.548501"));
    assert_eq!(figures.effective, Some(offer.effective));
    assert_eq!(figures.naive_savings_percent().to_string(), "50");
    let effective = figures.effective_savings_percent().expect("it gets somewhere");
    assert_eq!(effective.to_string(), "45.1499");
    assert_eq!(offer.risk, Risk::Medium);
    // A month of 730 hours: 365 and 730 × (1 - 0.548501) = 329.59.
    let month = Decimal::from(730);
    assert_eq!(figures.naive_savings(month).amount().to_string(), "365.00");
    let saved = figures.effective_savings(month).expect("it gets somewhere");
    assert_eq!(saved.amount().to_string(), "329.59");
    // (0.5 - 60/1 610) / (1 105/3 600).
    let break_even = figures.break_even_per_hour.expect("there is one");
    assert!((break_even - 1.507_546).abs() < 1e-6, "{break_even}");
}

#[test]
fn kinds_that_may_go_must_be_declared_restartable() {
    for kind in WorkloadKind::ALL.iter().copied() {
        let expected = match kind {
            WorkloadKind::Serving => Some(Ineligible::Serving),
            WorkloadKind::Unknown => Some(Ineligible::KindUnknown),
            _ => None,
        };
        let declared = SpotCase { kind, ..four_nodes() };
        assert_eq!(spot_offer(&declared).err(), expected, "{kind}");
        let silent = SpotCase { restartable: false, ..declared };
        let expected = expected.unwrap_or(Ineligible::NotRestartable);
        assert_eq!(spot_offer(&silent).err(), Some(expected), "{kind}");
    }
}

#[test]
fn without_a_band_only_at_high_risk() {
    let at = |accepted, band| {
        let spot = spot_offer(&SpotCase { accepted, band, ..four_nodes() });
        spot.map(|offer| offer.risk)
    };
    let band = Some(InterruptionBand::UnderFive);
    let refused = |needed| Err(Ineligible::Risk { needed });
    assert_eq!(at(Risk::Low, band), refused(Risk::Medium));
    assert_eq!(at(Risk::Medium, band), Ok(Risk::Medium));
    assert_eq!(at(Risk::High, band), Ok(Risk::Medium));
    assert_eq!(at(Risk::Low, None), refused(Risk::High));
    assert_eq!(at(Risk::Medium, None), refused(Risk::High));
    assert_eq!(at(Risk::High, None), Ok(Risk::High));
}

#[test]
fn what_saves_nothing_is_no_offer() {
    let refusal = |spot: Option<HourlyRate>| {
        let case = SpotCase { spot: spot.map(price), ..four_nodes() };
        spot_offer(&case).expect_err("no offer").to_string()
    };
    assert_eq!(refusal(None), "no spot price is known");
    let dear = "spot at 1 per hour is not below on-demand at 1";
    assert_eq!(refusal(Some(usd("1.00"))), dear);
    assert!(refusal(Some(usd("1.20"))).starts_with("spot at 1.2 per hour is not below"));
    // 0.92 over 0.911576 is above 1; 0.91 over it below.
    let eaten = "checkpoints and lost work take 8.8% of the time, more than spot saves";
    assert_eq!(refusal(Some(usd("0.92"))), eaten);
    let case = SpotCase { spot: Some(price(usd("0.91"))), ..four_nodes() };
    assert!(spot_offer(&case).is_ok());
    let yuan = HourlyRate::new(Decimal::ONE, Currency::Cny).expect("a price");
    assert_eq!(refusal(Some(yuan)), "spot and on-demand are in different currencies");
}

#[test]
fn a_job_that_gets_nowhere_has_no_effective_rate() {
    // A checkpoint of an hour every hour leaves no time for work.
    let case = SpotCase {
        checkpointing: Checkpointing {
            cost: SignedDuration::from_hours(1),
            ..Checkpointing::default()
        },
        ..four_nodes()
    };
    let figures = spot_figures(&case).expect("figures");
    assert!(figures.overhead >= Decimal::ONE, "{}", figures.overhead);
    assert_eq!(figures.effective, None);
    assert_eq!(figures.effective_savings_percent(), None);
    assert_eq!(figures.effective_savings(Decimal::ONE), None);
    assert_eq!(figures.break_even_per_hour, None);
    assert!(matches!(spot_offer(&case), Err(Ineligible::LosesMore { .. })));
}

#[test]
fn absurd_times_are_a_lot_and_no_panic() {
    let forever = SignedDuration::MAX;
    let case = SpotCase {
        nodes: u32::MAX,
        checkpointing: Checkpointing {
            cost: forever,
            restart: forever,
            interval: Some(SignedDuration::from_secs(1)),
        },
        ..four_nodes()
    };
    let figures = spot_figures(&case).expect("figures");
    assert_eq!(figures.overhead, Decimal::from(1_000_000));
    assert_eq!(figures.effective, None);
}

#[test]
fn only_a_training_job_stops_as_a_whole() {
    assert_eq!(nodes_of_job(WorkloadKind::Training, 8, false), 8);
    assert_eq!(nodes_of_job(WorkloadKind::Training, 0, false), 1);
    assert_eq!(nodes_of_job(WorkloadKind::Training, 8, true), 1);
    for kind in [WorkloadKind::Batch, WorkloadKind::Evaluation, WorkloadKind::Development] {
        assert_eq!(nodes_of_job(kind, 8, false), 1, "{kind}");
    }
}

fn case() -> impl Strategy<Value = SpotCase> {
    let times = (1_i64..600, 1_i64..3_600, proptest::option::of(60_i64..14_400));
    let band = proptest::option::of(0..InterruptionBand::ALL.len());
    (1_i64..2_000, times, band, 1_u32..64, 0.0_f64..24.0).prop_map(
        |(milli, (cost, restart, interval), band, nodes, least)| SpotCase {
            spot: Some(price(
                HourlyRate::new(Decimal::new(milli, 3), Currency::Usd).expect("a price"),
            )),
            band: band.map(|index| InterruptionBand::ALL[index]),
            nodes,
            checkpointing: Checkpointing {
                cost: SignedDuration::from_secs(cost),
                restart: SignedDuration::from_secs(restart),
                interval: interval.map(SignedDuration::from_secs),
            },
            least_interruptions_per_day: least,
            accepted: Risk::High,
            ..four_nodes()
        },
    )
}

proptest! {
    #[test]
    fn interruptions_never_make_spot_cheaper(case in case()) {
        let figures = spot_figures(&case).expect("figures");
        if let Some(effective) = figures.effective {
            prop_assert!(effective.amount() >= figures.spot.rate.amount());
            prop_assert!(figures.effective_savings_percent() <= Some(figures.naive_savings_percent()));
        }
    }

    #[test]
    fn an_offer_saves_and_a_refusal_would_not(case in case()) {
        let on_demand = case.on_demand.amount();
        match spot_offer(&case) {
            Ok(offer) => {
                prop_assert!(offer.effective.amount() < on_demand);
                prop_assert_eq!(offer.figures.effective, Some(offer.effective));
            }
            Err(_) => {
                let effective = spot_figures(&case).expect("figures").effective;
                prop_assert!(effective.is_none_or(|rate| rate.amount() >= on_demand));
            }
        }
    }

    #[test]
    fn at_the_break_even_spot_costs_what_on_demand_costs(case in case()) {
        let figures = spot_figures(&case).expect("figures");
        let interval = figures.checkpoint_interval;
        if let Some(per_hour) = figures.break_even_per_hour {
            let lost = case.checkpointing.overhead(interval, per_hour);
            let spot = figures.spot.rate.amount().to_f64().expect("a number");
            let on_demand = case.on_demand.amount().to_f64().expect("a number");
            prop_assert!((spot / (1.0 - lost) - on_demand).abs() < 1e-6);
            // An offer is one that stays below it.
            if spot_offer(&case).is_ok() {
                prop_assert!(figures.interruptions.per_hour <= per_hour + 1e-4);
            }
        }
    }

    #[test]
    fn more_nodes_never_save_more(case in case(), further in 1_u32..64) {
        let larger = SpotCase { nodes: case.nodes + further, ..case.clone() };
        let lost = |case: &SpotCase| spot_figures(case).expect("figures").overhead;
        prop_assert!(lost(&case) <= lost(&larger) + Decimal::new(2, 6));
    }
}
