//! How a bill differs from an audit, and how far what it bills was used.

use super::amounts::share;
use super::expected::DECIMALS;
use crate::domain::{LineKind, Window, named_enum, sums};
use crate::usage::HourUse;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

named_enum! {
    /// What a difference between a bill and an audit is about.
    DifferenceName {
        /// Hours that only one of both has.
        Hours = "hours",
        /// The price of an hour without commitments.
        Price = "price",
        /// What commitments make of that price.
        Commitment = "commitment",
        /// What only one of both is about.
        Scope = "scope",
        /// Lines that are for no hours of an instance with accelerators.
        Kind = "kind",
        /// Hours that are not billed yet.
        Late = "late",
        /// Hours for which the bill states no effective cost.
        Unstated = "unstated",
    }
}

/// Reasons, each with what its difference is about, and in words.
macro_rules! reasons {
    ($($(#[$doc:meta])* $reason:ident $(($kind:ident))? = $name:ident, $words:literal;)*) => {
        /// Why a bill and an audit differ.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum DifferenceReason {
            $($(#[$doc])* $reason $(($kind))?,)*
        }

        impl DifferenceReason {
            /// What the difference is about.
            pub fn name(self) -> DifferenceName {
                match self { $(Self::$reason { .. } => DifferenceName::$name,)* }
            }

            /// The reason in words; of a line of another kind its kind says more.
            pub fn words(self) -> &'static str {
                match self { $(Self::$reason { .. } => $words,)* }
            }
        }
    };
}
reasons! {
    NotSeen = Hours, "billed, not seen running";
    NotBilled = Hours, "seen running, not billed";
    UnknownInstance = Hours, "instance not in the audit";
    /// Another price of an hour.
    OtherPrice = Price, "another price";
    Unpriced = Price, "no price in the audit";
    Commitment = Commitment, "reserved instances and savings plans";
    /// Of an account that the audit has not read.
    OtherAccount = Scope, "account not in the audit";
    /// Of a region that the audit has not read.
    OtherRegion = Scope, "region not in the audit";
    /// Outside of the hours that the audit has read.
    OtherTime = Scope, "outside the hours of the audit";
    /// The audit was asked about instances with some tags alone.
    NotSelected = Scope, "not selected by tags";
    Unnamed = Scope, "no instance or time in the bill";
    /// The bill has no line of the account.
    NoLines = Scope, "account not in the bill";
    BeforeBill = Scope, "before the bill begins";
    /// A line of another kind, or of an instance without accelerators.
    Line(LineKind) = Kind, "line of another kind";
    /// After the last hour of instances in the bill.
    AfterBill = Late, "after the last billed hour";
    NoCost = Unstated, "no effective cost in the bill";
}

/// A part of a difference, bill less audit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DifferencePart {
    /// Hours of instances; zero where it is not about hours.
    pub hours: Decimal,
    pub cost: Decimal,
}

sums! {
    DifferencePart { hours, cost }
    UsedCost { cost, useful, spare, idle, unmeasured }
}

/// A bill beside an audit, in one currency. Costs are effective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The whole hours of UTC that the audit has read.
    pub hours: Window,
    pub bill: Decimal,
    /// The hours in which the audit saw instances run, at what an hour costs.
    pub audit: Decimal,
    /// These add up to `bill − audit`.
    pub differences: BTreeMap<DifferenceReason, DifferencePart>,
    /// Instances of the audit that ran or are billed, the largest difference first.
    pub instances: Vec<ComparedInstance>,
    /// Instances with accelerators by what the bill is grouped by, else by type.
    pub used: BTreeMap<Option<String>, UsedCost>,
}

impl Comparison {
    /// Over all instances with accelerators.
    pub fn used(&self) -> UsedCost {
        self.used.values().copied().sum()
    }
}

/// An instance that the audit has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedInstance {
    pub account: String,
    pub id: String,
    pub region: String,
    pub instance_type: String,
    /// Hours that are billed in the hours of the audit.
    pub billed_hours: Decimal,
    /// Hours that it was seen running.
    pub seen_hours: Decimal,
    pub bill: Decimal,
    /// Absent where the audit has no price in this currency.
    pub audit: Option<Decimal>,
    /// These add up to `bill − audit`.
    pub differences: BTreeMap<DifferenceName, Decimal>,
    pub used: UsedCost,
}

impl ComparedInstance {
    /// What it is billed more than the audit expects.
    pub fn difference(&self) -> Decimal {
        self.bill - self.audit.unwrap_or_default()
    }
}

/// What is billed for hours, by how far the GPUs were used in them. The four parts add up to
/// the cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsedCost {
    pub cost: Decimal,
    /// In proportion to mean utilization.
    pub useful: Decimal,
    /// What is left of periods in which a GPU worked, or may have.
    pub spare: Decimal,
    /// Periods in which no GPU did anything.
    pub idle: Decimal,
    /// Hours whose use is not known.
    pub unmeasured: Decimal,
}

impl UsedCost {
    /// Adds the cost of an hour, with how it was used where that is known.
    pub(super) fn add(&mut self, cost: Decimal, hour: Option<HourUse>) {
        self.cost += cost;
        let Some(hour) = hour.filter(|hour| hour.measured > 0) else {
            self.unmeasured += cost;
            return;
        };
        let ran = Decimal::from(hour.ran);
        let of = |periods: Decimal| {
            (cost * periods).checked_div(ran).unwrap_or_default().round_dp(DECIMALS)
        };
        let unmeasured = of(Decimal::from(hour.ran.saturating_sub(hour.measured)));
        let idle = of(Decimal::from(hour.idle));
        let useful = of(Decimal::new(i64::from(hour.useful), 4));
        self.unmeasured += unmeasured;
        self.idle += idle;
        self.useful += useful;
        self.spare += cost - unmeasured - idle - useful;
    }

    /// The idle share of what was measured, percent.
    pub fn idle_percent(&self) -> Option<Decimal> {
        share(self.idle, self.cost - self.unmeasured)
    }
}
