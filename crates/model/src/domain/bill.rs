//! Bills: a line, what was billed for a resource in a period and what that stands for; the files
//! that lines are from; and a bill as it is kept, what each resource cost in each hour.

use super::named::named_enum;
use super::{Currency, OperatingSystem, PriceOption, Provider, PurchaseOption, Tenancy, Window};
use jiff::civil::Date;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

named_enum! {
    /// What a line of a bill is for.
    LineKind {
        /// Hours of an instance, however they are paid for.
        Instance = "instance",
        /// Capacity that was reserved and in which nothing ran.
        UnusedReservation = "unused-reservation",
        /// Block storage.
        Volume = "volume",
        /// A public address.
        Address = "address",
        /// Data transfer.
        Transfer = "transfer",
        /// A fee of a commitment, or the part of one that nothing used. Its effective cost
        /// is that unused part.
        Commitment = "commitment",
        /// Takes back the on-demand price of what a savings plan covers.
        Negation = "negation",
        /// A pod's or a task's part of an instance that has a line of its own.
        SplitCopy = "split-copy",
        /// A discount or an adjustment that has a line of its own.
        Discount = "discount",
        Tax = "tax",
        Credit = "credit",
        Refund = "refund",
        Support = "support",
        Other = "other",
    }
}

impl LineKind {
    /// Whether it is part of what is paid. A copy is not: its instance is.
    pub fn counts(self) -> bool {
        self != Self::SplitCopy
    }

    /// Whether it is for something that was used, and has a list price as a rule.
    pub fn is_usage(self) -> bool {
        matches!(
            self,
            Self::Instance
                | Self::UnusedReservation
                | Self::Volume
                | Self::Address
                | Self::Transfer
                | Self::Other
        )
    }
}

named_enum! {
    /// What of an instance a pod or a task has a part of.
    SharedPart {
        Accelerator = "accelerator",
        Vcpu = "vcpu",
        /// Host memory.
        Memory = "memory",
        Other = "other",
    }
}

/// The amounts of a line in one currency. An amount that the bill does not state is absent,
/// which is not zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BillCosts {
    pub currency: Currency,
    /// At the public on-demand price.
    pub list: Option<Decimal>,
    /// At the negotiated price, without commitments.
    pub contracted: Option<Decimal>,
    /// With commitments spread over what they cover.
    pub effective: Option<Decimal>,
    /// What the invoice has.
    pub billed: Option<Decimal>,
}

/// A part of an instance that a pod or a task has, as the bill divides it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PodShare {
    /// The instance.
    pub parent: Option<String>,
    pub cluster: Option<String>,
    pub namespace: Option<String>,
    /// The pod, or the task of ECS.
    pub name: Option<String>,
    pub part: SharedPart,
    /// Accelerator-hours, vCPU-hours or GB-hours.
    pub hours: Option<Decimal>,
    /// What it asked for or used.
    pub cost: Option<Decimal>,
    /// Its part of what stayed unused.
    pub unused_cost: Option<Decimal>,
}

/// A line of a bill. What the bill does not state is absent.
///
/// An hour of an instance that has a list price, costs nothing and names no commitment is paid for
/// in advance, as in a Capacity Block, whose fee is a line of its own: see
/// [`BillLine::is_prepaid`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillLine {
    pub provider: Option<Provider>,
    /// Who pays.
    pub payer: Option<String>,
    /// Whose usage it is.
    pub account: Option<String>,
    /// The resource by its bare id, as [`bare_id`] gives it.
    pub resource: Option<String>,
    /// When it was used, or what a fee is for.
    pub period: Option<Window>,
    /// The first day of the month that it is billed in.
    pub billing_month: Option<Date>,
    pub service: Option<String>,
    pub region: Option<String>,
    /// The type of an instance, such as `p5.48xlarge`.
    pub instance_type: Option<String>,
    pub operating_system: Option<OperatingSystem>,
    pub tenancy: Option<Tenancy>,
    pub kind: LineKind,
    /// How its hours are paid for.
    pub purchase_option: Option<PurchaseOption>,
    /// The offer that its price belongs to.
    pub offer: Option<PriceOption>,
    /// Its quantity, where that is in hours.
    pub hours: Option<Decimal>,
    pub costs: BillCosts,
    /// The commitment that covers it or that it is a fee of, by its bare id.
    pub commitment: Option<String>,
    /// Absent until the bill is final.
    pub invoice: Option<String>,
    /// The value of the tag that was asked for.
    pub tag: Option<String>,
    /// Of a line that divides an instance.
    pub share: Option<PodShare>,
}

impl BillLine {
    /// Whether an hour that seems to be on demand is paid for in advance.
    pub fn is_prepaid(&self) -> bool {
        let is_zero = |amount: Option<Decimal>| amount.is_some_and(|amount| amount.is_zero());
        self.kind == LineKind::Instance
            && self.purchase_option == Some(PurchaseOption::OnDemand)
            && self.commitment.is_none()
            && self.hours.is_some_and(|hours| hours > Decimal::ZERO)
            && self.costs.list.is_some_and(|list| list > Decimal::ZERO)
            && is_zero(self.costs.effective)
            && is_zero(self.costs.billed)
    }

    /// It with the option that it is paid by.
    pub fn settled(mut self) -> Self {
        if self.is_prepaid() {
            self.purchase_option = Some(PurchaseOption::CapacityBlock);
            self.offer = None;
        }
        self
    }
}

/// The id of a resource without what an ARN puts before it: of services whose ids are
/// unique by themselves the id alone, such as `i-0123456789abcdef0`, and of others with the
/// kind of resource, such as `endpoint/chat`.
pub fn bare_id(id: &str) -> &str {
    let mut parts = id.splitn(6, ':');
    let (Some("arn"), service, Some(rest)) = (parts.next(), parts.nth(1), parts.nth(2)) else {
        return id;
    };
    match service {
        Some("ec2" | "savingsplans") => rest.rsplit('/').next().unwrap_or(rest),
        _ => rest,
    }
}

named_enum! {
    /// A format that bills come in.
    BillForm {
        /// Cost and Usage Report 2.0 of AWS.
        Cur2 = "CUR 2.0",
        /// The Cost and Usage Report before it.
        LegacyCur = "legacy CUR",
        Focus10 = "FOCUS 1.0",
        Focus11 = "FOCUS 1.1",
        Focus12 = "FOCUS 1.2",
        Focus13 = "FOCUS 1.3",
    }
}

impl BillForm {
    pub fn is_focus(self) -> bool {
        !matches!(self, Self::Cur2 | Self::LegacyCur)
    }
}

/// A file of a bill that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BillFile {
    pub path: PathBuf,
    pub form: BillForm,
    pub rows: u64,
}

/// What was read of a bill beside its lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BillFiles {
    /// In order of reading.
    pub files: Vec<BillFile>,
    /// Files of earlier readings of a billing period, which were skipped.
    pub superseded: u64,
    /// Rows in currencies that gpucost has no amounts in, by code; skipped.
    pub other_currencies: BTreeMap<String, u64>,
    /// Rows whose times are no times. Their amounts count, and no hour has them.
    pub untimed: u64,
    /// Rows that gpucost itself has estimated, in an export of an audit.
    pub estimates: u64,
    /// Payers that files of more than one format have lines of.
    pub in_two_forms: BTreeSet<String>,
}

/// What a payer is billed for a month. Both are exported, and change, by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MonthlyBill {
    /// The first day of the month.
    pub month: Date,
    /// Empty where the bill names none.
    pub payer: String,
    pub rows: BTreeMap<ResourceHour, HourSums>,
}

/// How a bill compares with what was kept of its month and payer last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BillKept {
    /// It is the same, and was not kept again.
    Known,
    /// It is the first, or has as much or more.
    New,
    /// It takes the place of a larger one, as a part of a month would.
    Smaller,
}

/// Lines of a resource that begin in the same hour. Texts that the bill does not state are
/// empty.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceHour {
    pub account: String,
    pub region: String,
    pub resource: String,
    /// When the hour begins, seconds since 1970; absent of lines without a time.
    pub hour: Option<i64>,
    pub kind: LineKind,
    pub purchase_option: Option<PurchaseOption>,
    pub instance_type: String,
    /// From the beginning of the lines to their end, seconds.
    pub seconds: Option<i64>,
    /// Whether the quantity is in hours; others are not kept.
    pub is_in_hours: bool,
    pub currency: Currency,
}

/// What these lines add up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HourSums {
    pub lines: u64,
    pub quantity: StatedSum,
    pub list: StatedSum,
    pub contracted: StatedSum,
    pub effective: StatedSum,
    pub billed: StatedSum,
}

/// A sum over the lines that state an amount.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatedSum {
    /// Absent where no line does.
    pub sum: Option<Decimal>,
    pub lines: u64,
}

impl StatedSum {
    /// Adds the amount of a line, if it states one.
    pub fn add(&mut self, amount: Option<Decimal>) {
        if let Some(amount) = amount {
            self.sum = Some(self.sum.unwrap_or_default() + amount);
            self.lines += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_loses_what_an_arn_puts_before_it() {
        for (id, bare) in [
            ("i-0a1", "i-0a1"),
            ("arn:aws:ec2:us-east-1:111122223333:instance/i-0a1", "i-0a1"),
            ("arn:aws-cn:ec2:cn-north-1:1:volume/vol-7", "vol-7"),
            ("arn:aws:ec2:us-east-1:1:reserved-instances/6f2c-1", "6f2c-1"),
            ("arn:aws:savingsplans::1:savingsplan/9b-2", "9b-2"),
            ("arn:aws:sagemaker:us-east-1:1:endpoint/chat", "endpoint/chat"),
            ("arn:aws:eks:us-east-1:1:pod/c/ns/p/uid", "pod/c/ns/p/uid"),
            // Too short for one.
            ("arn:aws:ec2", "arn:aws:ec2"),
            ("my-bucket", "my-bucket"),
            ("", ""),
        ] {
            assert_eq!(bare_id(id), bare);
        }
    }

    #[test]
    fn a_copy_of_an_instance_does_not_count() {
        let skipped: Vec<LineKind> =
            LineKind::ALL.iter().copied().filter(|kind| !kind.counts()).collect();
        assert_eq!(skipped, [LineKind::SplitCopy]);
    }
}
