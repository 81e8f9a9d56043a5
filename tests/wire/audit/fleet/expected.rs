//! What the audit must say of each workload, worked out by hand. Money is in
//! cents.
//!
//! A month is 730 hours; each saving is rounded half up to cents where it is made.
//!
//! A reservation costs 63% of On-Demand in this price list. It sells no savings
//! plans: their rates are the bundled catalog's, which derives them from its own
//! reservations. What is derived is not bought, even where it would be cheaper here.
#![allow(
    clippy::inconsistent_digit_grouping,
    clippy::mistyped_literal_suffixes,
    reason = "the last two digits of an amount are its cents"
)]

/// A workload.
pub struct Row {
    pub name: &'static str,
    pub instances: u64,
    pub class: &'static str,
    pub state: Option<&'static str>,
    pub confidence: Option<&'static str>,
    /// Mean GPU utilization or power; absent when no GPU signal arrived.
    pub mean: Option<f64>,
    pub monthly_cost: Option<i64>,
    pub plan: Plan<'static>,
    /// Rules that fire, in order of id.
    pub rules: &'static [&'static str],
}

/// The actions of a plan in their order, each on what the one before left.
pub type Plan<'a> = &'a [Action<'a>];

/// What, to so many of which type, and the saving.
pub type Action<'a> = (&'a str, Option<(u64, &'a str)>, i64);

const NOTHING: Plan<'static> = &[];

pub const OVER: &str = "overprovisioned";
pub const UNDER: &str = "underutilized";
pub const WELL: &str = "well-utilized";
pub const NO_DATA: &str = "insufficient-data";

const STEADY: Option<&str> = Some("steady");
const MEASURED: Option<&str> = Some("measured");
const DERIVED: Option<&str> = Some("derived");

const fn row(
    name: &'static str,
    instances: u64,
    (class, state, confidence): (&'static str, Option<&'static str>, Option<&'static str>),
    mean: Option<f64>,
    (cost, plan): (i64, Plan<'static>),
    rules: &'static [&'static str],
) -> Row {
    Row { name, instances, class, state, confidence, mean, monthly_cost: Some(cost), plan, rules }
}

/// An instance of 0.50 an hour that measures no GPU: 0.50 × 730.
const fn silent(name: &'static str) -> Row {
    row(name, 1, (NO_DATA, None, None), None, (365_00, NOTHING), &[])
}

/// An instance of 0.50 an hour that stops: 0.50 × 730.
const fn idle(name: &'static str) -> Row {
    row(
        name,
        1,
        (OVER, Some("idle"), MEASURED),
        Some(0.0),
        (365_00, &[("stop", None, 365_00)]),
        &["idle-gpu"],
    )
}

const fn stopped(name: &'static str, cost: i64, plan: Plan<'static>) -> Row {
    let rules = &["stopped-with-storage"];
    row(name, 1, (NO_DATA, None, None), None, (cost, plan), rules)
}

const UNDER_RULES: &[&str] = &["steady-on-demand", "underutilized-gpu"];

/// Workloads that are used too little and have nothing smaller to move to: a commitment for
/// them says so.
pub const NOTHING_SMALLER: [&str; 2] = ["bursty", "speech"];

/// Every workload, as the roster has them.
pub const ROWS: &[Row] = &[
    // 12 × 1.10 × 730 = 9,636.00. Replicas that answer requests: 12 × 30 / 80 =
    // 4.5, that is 5, and 7 × 1.10 × 730 = 5,621.00 less: 4,015.00. An L4 would be
    // 60% busy, 9 × 0.8048, and costs more.
    //
    // Five run round the clock beside `dirty`, and `office` by day: a seventh would be used
    // a third of the time and not pay. Reserved at 1.10 × 0.63 = 0.693:
    // 6 × (1.10 − 0.693) × 730 = 1,782.66, and 4,015 / (4,015 + 803 + 267.67) of it is
    // 1,407.36.
    row(
        "chat",
        12,
        (UNDER, STEADY, MEASURED),
        Some(30.0),
        (9_636_00, &[("rightsize", Some((5, "g5.xlarge")), 5_621_00), ("commit", None, 1_407_36)]),
        UNDER_RULES,
    ),
    // 2 × 22 × 730 = 32,120.00; reserved 2 × 13.86 × 730 = 20,235.60.
    row(
        "pretrain",
        2,
        (WELL, Some("saturated"), MEASURED),
        Some(90.0),
        (32_120_00, &[("commit", None, 11_884_40)]),
        &["steady-on-demand"],
    ),
    // One of four GPUs at 40%: mean 10%. 2 × 5.60 × 730 = 8,176.00. Nobody said what the
    // two do and nobody measured their network: they may train together, and keep EFA and
    // the 40 Gbit/s that a g6.12xlarge has for 4.6016 in the catalog, 2 × (5.60 − 4.6016) × 730
    // = 1,457.664. It fits: an L4 has half the bandwidth of an A10G and is 80% busy.
    // Reserved in the catalog at 2.99564: 2 × (4.6016 − 2.99564) × 730 = 2,344.7016.
    row(
        "wide",
        2,
        (OVER, STEADY, MEASURED),
        Some(10.0),
        (
            8_176_00,
            &[("rightsize", Some((2, "g6.12xlarge")), 1_457_66), ("commit", None, 2_344_70)],
        ),
        &["overprovisioned-gpu", "unused-gpus"],
    ),
    idle("idle-1"),
    idle("idle-2"),
    idle("idle-3"),
    // 4.00 × 730; 8,000 of 15,360 MiB held.
    row(
        "held",
        1,
        (OVER, Some("idle-held"), MEASURED),
        Some(0.0),
        (2_920_00, &[("stop", None, 2_920_00)]),
        &["idle-held-gpu"],
    ),
    // 8 of 24 hours: 1.10 × 730 / 3 = 267.667. Its part of the pool of `chat`:
    // 1,782.66 × 267.67 / 5,085.67.
    row(
        "office",
        1,
        (WELL, STEADY, MEASURED),
        Some(80.0),
        (267_67, &[("commit", None, 93_83)]),
        &[],
    ),
    // 3 × 0.202 × 730 = 442.38 from the bundled catalog, which sells no
    // reservation of it.
    row("fractions", 3, (WELL, STEADY, MEASURED), Some(70.0), (442_38, NOTHING), &[]),
    // 0.75 × 730, with the licence.
    row("windows", 1, (NO_DATA, None, None), None, (547_50, NOTHING), &[]),
    silent("silent-1"),
    silent("silent-2"),
    silent("silent-3"),
    silent("silent-4"),
    silent("silent-5"),
    // 5.60 × 730, idle, and none of our business.
    row("ignored", 1, (OVER, Some("idle"), MEASURED), Some(0.0), (4_088_00, NOTHING), &[]),
    // 1.10 × 730 = 803.00. The bad readings are gone from the mean. What `chat`
    // and `office` leave of the pool: 1,782.66 − 1,407.36 − 93.83. An L4 would be 100% busy.
    row(
        "dirty",
        1,
        (UNDER, STEADY, MEASURED),
        Some(50.0),
        (803_00, &[("commit", None, 281_47)]),
        &["steady-on-demand"],
    ),
    Row { monthly_cost: None, ..row("unknown", 1, (NO_DATA, None, None), None, (0, NOTHING), &[]) },
    // 6 × 1.20 × 730. Nobody said that it serves, so it does not shrink; the catalog
    // knows no L4 in Ireland, and a T4 is an older GPU. Nothing smaller would do: one
    // year at 1.20 × 0.63 = 0.756, 6 × (1.20 − 0.756) × 730 = 1,944.72.
    row(
        "speech",
        6,
        (OVER, STEADY, MEASURED),
        Some(15.0),
        (5_256_00, &[("commit", None, 1_944_72)]),
        &["steady-on-demand"],
    ),
    // 0.60 × 730; a twelfth of the periods at 96%. There is no smaller T4: one year at
    // 0.60 × 0.63 = 0.378, (0.60 − 0.378) × 730 = 162.06.
    row(
        "bursty",
        1,
        (OVER, Some("bursty"), MEASURED),
        Some(8.0),
        (438_00, &[("commit", None, 162_06)]),
        &["steady-on-demand"],
    ),
    // Two in a zone at (0.40 + 0.60) / 2, two in a zone at 0.45:
    // 2 × 0.50 × 730 + 2 × 0.45 × 730 = 730.00 + 657.00.
    row("spotty", 4, (WELL, STEADY, MEASURED), Some(75.0), (1_387_00, NOTHING), &[]),
    // 500 × 0.09.
    stopped("stopped-1", 45_00, &[("release", None, 45_00)]),
    // 100 × 0.11; 200 GiB of io2 have no price.
    stopped("stopped-2", 11_00, &[("release", None, 11_00)]),
    // An address, 0.006 × 730 = 4.38, and the 8 GiB of gp2 that moto gives an
    // instance without volumes, 8 × 0.11 = 0.88.
    stopped("stopped-3", 5_26, &[("release", None, 5_26)]),
    // 50 × 730. Power at 10%, an H100 idles at 68 of 700 W, 9.7%: idle, but
    // power alone never stops anything.
    row(
        "power-idle",
        1,
        (OVER, Some("idle"), DERIVED),
        Some(10.0),
        (36_500_00, NOTHING),
        &["idle-gpu"],
    ),
    // 21 × 730. A smaller type may follow from what each GPU does, which power does not
    // tell: nothing is committed to.
    row("power-busy", 1, (WELL, None, DERIVED), Some(70.0), (15_330_00, NOTHING), &[]),
    // 1.05 × 730. An A10G idles at 57 of 300 W, 19%: 40% tells nothing.
    row("power-between", 1, (NO_DATA, None, None), Some(40.0), (766_50, NOTHING), &[]),
    // 50 × 730; reserved 31.50 × 730 = 22,995.00.
    row(
        "full",
        1,
        (WELL, STEADY, MEASURED),
        Some(65.0),
        (36_500_00, &[("commit", None, 13_505_00)]),
        &["steady-on-demand"],
    ),
    // 1.05 × 730; reserved (1.05 − 0.6615) × 730 = 283.605.
    row(
        "six-of-ten",
        1,
        (UNDER, STEADY, DERIVED),
        Some(50.0),
        (766_50, &[("commit", None, 283_61)]),
        &["steady-on-demand"],
    ),
    row("four-of-ten", 1, (NO_DATA, None, None), Some(50.0), (766_50, NOTHING), &[]),
    // 60 × 24 / 4032 = 0.3571: an hour a week is not idle, and is scheduled. It
    // begins 8:20 h into a window that begins 20 minutes past an hour, and touches
    // two hours of the week; that of the window's own beginning and end is whole
    // only once. 168 − 3 are off: 766.50 × 3 / 168 = 13.6875 is left.
    row(
        "weekly",
        1,
        (OVER, Some("mostly-idle"), MEASURED),
        Some(0.3571),
        (766_50, &[("schedule", None, 752_81)]),
        &["overprovisioned-gpu", "off-hours"],
    ),
    // 8 × 0.48 × 730 = 2,803.20. Nobody said that it serves, so it does not shrink;
    // reserved 8 × (0.48 − 0.3024) × 730 = 1,037.184.
    row(
        "render",
        8,
        (UNDER, STEADY, MEASURED),
        Some(50.0),
        (2_803_20, &[("commit", None, 1_037_18)]),
        &["steady-on-demand"],
    ),
];
