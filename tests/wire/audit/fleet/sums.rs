//! What the audit must say of the fleet as a whole, added up by hand from the
//! rows of [`super::expected`]. Money is in cents.
#![allow(
    clippy::inconsistent_digit_grouping,
    reason = "the last two digits of an amount are its cents"
)]

use super::expected::{NO_DATA, OVER, UNDER, WELL};

/// Virginia 61,920.55 + Ireland 7,142.26 + Oregon 94,199.20.
pub const MONTHLY_COST: i64 = 163_262_01;
/// Stops 3 × 365.00 + 2,920.00. What snapshots of volumes in Ireland cost is not known.
pub const WASTE: i64 = 4_015_00;
/// 752.81 + 7,078.66 + 32,944.33, and releases 45.00 + 11.00 + 5.26.
pub const OPTIMIZATION: i64 = 4_083_706;
/// 4,015.00 + 40,837.06.
pub const SAVINGS: i64 = 4_485_206;
/// 163,262.01 − 44,852.06.
pub const PLANNED: i64 = 118_409_95;
/// 44,852.06 / 163,262.01 = 0.274724.
pub const SAVINGS_PERCENT: f64 = 27.47;

/// Savings by action.
pub const BY_ACTION: [(&str, i64); 5] = [
    // 1,407.36 + 93.83 + 281.47 + 11,884.40 + 2,344.70 + 13,505.00 +
    // 283.61 + 1,037.18 + 1,944.72 + 162.06.
    ("commit", 32_944_33),
    // 45.00 + 11.00 + 5.26.
    ("release", 61_26),
    // 5,621.00 + 1,457.66.
    ("rightsize", 7_078_66),
    ("schedule", 752_81),
    // 3 × 365.00 + 2,920.00.
    ("stop", 4_015_00),
];

/// A class: name, workloads, instances, GPUs that run, cost.
pub type Class = (&'static str, u64, u64, u64, i64);

pub const CLASSES: [Class; 4] = [
    // wide, idle × 3, held, ignored, speech, bursty, power-idle, weekly:
    // GPUs 8 + 3 + 4 + 4 + 6 + 1 + 8 + 1, cost 8,176 + 1,095 + 2,920 + 4,088 +
    // 5,256 + 438 + 36,500 + 766.50.
    (OVER, 10, 16, 35, 59_239_50),
    // chat, dirty, six-of-ten, render: 9,636 + 803 + 766.50 + 2,803.20.
    (UNDER, 4, 22, 22, 14_008_70),
    // pretrain, office, fractions, spotty, power-busy, full: GPUs 16 + 1 + 3 +
    // 4 + 8 + 8, cost 32,120 + 267.67 + 442.38 + 1,387 + 15,330 + 36,500.
    (WELL, 6, 12, 40, 86_047_05),
    // windows, silent × 5, unknown, stopped × 3, power-between, four-of-ten:
    // cost 547.50 + 1,825 + 61.26 + 766.50 + 766.50.
    (NO_DATA, 12, 12, 8, 3_966_76),
];

pub const INSTANCES: u64 = 62;
pub const STOPPED: u64 = 3;
/// The unknown type, and the stopped instance with the io2 volume.
pub const UNPRICED: u64 = 2;
pub const IGNORED: u64 = 1;

/// Virginia 12 + 16 + 8 + 3 + 4 + 1 + 3 + 1 + 5 + 4 + 1 = 58, Ireland 6 + 1 +
/// 4, Oregon 8 + 8 + 1 + 8 + 1 + 1 + 1 + 8.
pub const GPUS: u64 = 105;
/// p99 at 1% or more: chat 12, pretrain 16, wide 2, office 1, fractions 3,
/// dirty 1, speech 6, bursty 1, spotty 4, full 8, the ten 2, render 8. An hour
/// a week is 0.6% of the periods.
pub const ACTIVE: u64 = 64;
/// And the memory of held 4 and weekly 1.
pub const ALLOCATED: u64 = 69;
/// windows 1, silent 5, power 8 + 8 + 1.
pub const UNMEASURED: u64 = 23;
/// 12 × .30 + 16 × .90 + 2 × .40 + .80 + 3 × .70 + .50 + 6 × .15 + .08 +
/// 4 × .75 + 8 × .65 + .50 + .50 + .003571 + 8 × .50.
pub const EFFECTIVE: f64 = 36.3836;

/// On-Demand keys of Linux 11, Windows 1, spot zones 2; one-year reservations of
/// g5.xlarge and p4d in Virginia, of g4dn and g5.xlarge in Ireland, and of g4dn,
/// g5.xlarge and p5 in Oregon 7; gp2, gp3 and addresses in Ireland 3.
pub const PRICES_OF_THE_API: u64 = 24;
/// `g6f.large`; `g6.12xlarge` on demand and reserved.
pub const PRICES_OF_THE_BOOK: u64 = 3;
/// When the catalog's yearly prices without upfront were seen. Its others in use are
/// of 2026-07-20, and the account's own are new.
pub const OLDEST_PRICE: &str = "2026-01-21";

/// Where no power is reported, which a card near its limit would show in.
const POWER: &str = "not reported or unknown; silent: power-near-limit";
/// Where neither power nor SM activity is reported of whole cards at 60% or more, which might be
/// stalled.
const ACTIVITY_OF_BUSY: &str = "not reported or unknown; silent: stalled-gpu";
const TEMPERATURE: &str = "not reported or unknown; silent: hot-gpu";

/// What is missing, where (a name of the roster or a region), and words of the
/// reason, which are all of it for a series of a GPU.
///
/// No agent here reports power or temperature. Rules read them of GPUs that do something,
/// where the agent reports at all: not of what is idle, ignored or measured by power alone.
pub const GAPS: &[(&str, &str, &str)] = &[
    ("GPU utilization", "four-of-ten", "coverage 40%, 50% needed"),
    (
        "GPU utilization",
        "power-between",
        "p99 40.0% is more than 24.0%, 5 points above the card's idle power of 19.0%",
    ),
    ("GPU utilization", "silent-1", "no GPU metric"),
    ("GPU utilization", "silent-2", "no GPU metric"),
    ("GPU utilization", "silent-3", "no GPU metric"),
    ("GPU utilization", "silent-4", "no GPU metric"),
    ("GPU utilization", "silent-5", "no GPU metric"),
    ("GPU utilization", "unknown", "no GPU metric"),
    ("GPU utilization", "windows", "no GPU metric"),
    ("VRAM use", "four-of-ten", "silent: growing-vram, vram-nearly-full"),
    ("gpu_power_draw", "bursty", POWER),
    ("gpu_power_draw", "chat", POWER),
    ("gpu_power_draw", "dirty", POWER),
    ("gpu_power_draw", "four-of-ten", POWER),
    ("gpu_power_draw", "fractions", POWER),
    ("gpu_power_draw", "full", POWER),
    ("gpu_power_draw", "office", POWER),
    ("gpu_power_draw", "pretrain", POWER),
    ("gpu_power_draw", "render", POWER),
    ("gpu_power_draw", "six-of-ten", POWER),
    ("gpu_power_draw", "speech", POWER),
    ("gpu_power_draw", "spotty", POWER),
    ("gpu_power_draw", "weekly", POWER),
    ("gpu_power_draw", "wide", POWER),
    ("gpu_sm_activity", "full", ACTIVITY_OF_BUSY),
    ("gpu_sm_activity", "office", ACTIVITY_OF_BUSY),
    ("gpu_sm_activity", "pretrain", ACTIVITY_OF_BUSY),
    ("gpu_sm_activity", "spotty", ACTIVITY_OF_BUSY),
    ("gpu_temperature", "bursty", TEMPERATURE),
    ("gpu_temperature", "chat", TEMPERATURE),
    ("gpu_temperature", "dirty", TEMPERATURE),
    ("gpu_temperature", "four-of-ten", TEMPERATURE),
    ("gpu_temperature", "fractions", TEMPERATURE),
    ("gpu_temperature", "full", TEMPERATURE),
    ("gpu_temperature", "office", TEMPERATURE),
    ("gpu_temperature", "pretrain", TEMPERATURE),
    ("gpu_temperature", "render", TEMPERATURE),
    ("gpu_temperature", "six-of-ten", TEMPERATURE),
    ("gpu_temperature", "speech", TEMPERATURE),
    ("gpu_temperature", "spotty", TEMPERATURE),
    ("gpu_temperature", "weekly", TEMPERATURE),
    ("gpu_temperature", "wide", TEMPERATURE),
    ("instance type", "unknown", "g99.xlarge is not in the EC2 response"),
    ("live price", "us-east-1", "none for g6f.large, g99.xlarge;"),
    // Average and Maximum of each reading.
    ("metric points", "dirty", "60 points dropped: 20 negative, 40 over 100%"),
    ("price", "unknown", "no price for g99.xlarge us-east-1 linux shared on-demand"),
    ("storage price", "stopped-2", "200 GiB io2"),
    // It works, by its power; another type needs the load of each GPU.
    ("utilization per GPU", "power-busy", "not evaluated: right-sizing, sharing, commitments"),
];
