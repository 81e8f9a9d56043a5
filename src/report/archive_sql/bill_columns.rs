//! The columns of bills.

/// A format of bills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BillFormat {
    /// Version 2 of AWS's Cost and Usage Report; the version before it, as Parquet.
    Cur2,
    /// The version before it, as CSV.
    LegacyCur,
    /// FOCUS, 1.0 to 1.3.
    Focus,
}

/// What a column is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Read {
    Text,
    Amount,
    Time,
}

/// Whether a bill has a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Always.
    Required,
    Usual,
    Rare,
}

#[derive(Debug)]
pub(super) struct Column {
    /// What statements call it.
    pub(super) name: &'static str,
    pub(super) read: Read,
    pub(super) need: Need,
    /// What bills call it; the second name is that of [`BillFormat::LegacyCur`].
    names: (&'static str, &'static str),
}

const fn column(
    (name, read, need): (&'static str, Read, Need),
    second: &'static str,
    legacy: &'static str,
) -> Column {
    Column {
        name,
        read,
        need,
        names: (second, legacy),
    }
}

/// A column that has one name in every format.
const fn same(what: (&'static str, Read, Need), name: &'static str) -> Column {
    column(what, name, name)
}

static CUR: [Column; 27] = {
    use Need::{Rare, Required, Usual};
    use Read::{Amount, Text, Time};
    [
        column(
            ("account", Text, Required),
            "line_item_usage_account_id",
            "lineItem/UsageAccountId",
        ),
        column(
            ("region", Text, Usual),
            "product_region_code",
            "product/regionCode",
        ),
        column(
            ("whole_resource", Text, Usual),
            "line_item_resource_id",
            "lineItem/ResourceId",
        ),
        column(
            ("named_type", Text, Usual),
            "product_instance_type",
            "product/instanceType",
        ),
        column(
            ("period_start", Time, Required),
            "bill_billing_period_start_date",
            "bill/BillingPeriodStartDate",
        ),
        column(
            ("line_start", Time, Required),
            "line_item_usage_start_date",
            "lineItem/UsageStartDate",
        ),
        column(
            ("line_end", Time, Required),
            "line_item_usage_end_date",
            "lineItem/UsageEndDate",
        ),
        column(
            ("line_type", Text, Required),
            "line_item_line_item_type",
            "lineItem/LineItemType",
        ),
        column(
            ("product", Text, Usual),
            "line_item_product_code",
            "lineItem/ProductCode",
        ),
        column(
            ("description", Text, Usual),
            "line_item_line_item_description",
            "lineItem/LineItemDescription",
        ),
        column(
            ("usage_type", Text, Required),
            "line_item_usage_type",
            "lineItem/UsageType",
        ),
        column(
            ("operation", Text, Required),
            "line_item_operation",
            "lineItem/Operation",
        ),
        column(("unit", Text, Usual), "pricing_unit", "pricing/unit"),
        column(
            ("currency", Text, Required),
            "line_item_currency_code",
            "lineItem/CurrencyCode",
        ),
        column(
            ("quantity", Amount, Required),
            "line_item_usage_amount",
            "lineItem/UsageAmount",
        ),
        column(
            ("billed", Amount, Required),
            "line_item_unblended_cost",
            "lineItem/UnblendedCost",
        ),
        column(
            ("net", Amount, Rare),
            "line_item_net_unblended_cost",
            "lineItem/NetUnblendedCost",
        ),
        column(
            ("public_cost", Amount, Usual),
            "pricing_public_on_demand_cost",
            "pricing/publicOnDemandCost",
        ),
        column(
            ("reservation", Text, Usual),
            "reservation_reservation_a_r_n",
            "reservation/ReservationARN",
        ),
        column(
            ("reserved_cost", Amount, Usual),
            "reservation_effective_cost",
            "reservation/EffectiveCost",
        ),
        column(
            ("unused_upfront", Amount, Usual),
            "reservation_unused_amortized_upfront_fee_for_billing_period",
            "reservation/UnusedAmortizedUpfrontFeeForBillingPeriod",
        ),
        column(
            ("unused_recurring", Amount, Usual),
            "reservation_unused_recurring_fee",
            "reservation/UnusedRecurringFee",
        ),
        column(
            ("savings_plan", Text, Usual),
            "savings_plan_savings_plan_a_r_n",
            "savingsPlan/SavingsPlanARN",
        ),
        column(
            ("plan_cost", Amount, Usual),
            "savings_plan_savings_plan_effective_cost",
            "savingsPlan/SavingsPlanEffectiveCost",
        ),
        column(
            ("plan_committed", Amount, Usual),
            "savings_plan_total_commitment_to_date",
            "savingsPlan/TotalCommitmentToDate",
        ),
        column(
            ("plan_used", Amount, Usual),
            "savings_plan_used_commitment",
            "savingsPlan/UsedCommitment",
        ),
        column(
            ("capacity_status", Text, Rare),
            "capacity_reservation_capacity_reservation_status",
            "capacityReservation/CapacityReservationStatus",
        ),
    ]
};

static FOCUS: [Column; 28] = {
    use Need::{Rare, Required, Usual};
    use Read::{Amount, Text, Time};
    [
        same(("account", Text, Required), "SubAccountId"),
        same(("region", Text, Usual), "RegionId"),
        same(("whole_resource", Text, Required), "ResourceId"),
        same(("named_type", Text, Rare), "x_InstanceType"),
        same(("period_start", Time, Required), "BillingPeriodStart"),
        same(("line_start", Time, Required), "ChargePeriodStart"),
        same(("line_end", Time, Required), "ChargePeriodEnd"),
        same(("category", Text, Required), "ChargeCategory"),
        same(("service", Text, Required), "ServiceName"),
        same(("resource_type", Text, Usual), "ResourceType"),
        same(("description", Text, Usual), "ChargeDescription"),
        same(("usage_type", Text, Rare), "x_UsageType"),
        same(("meter", Text, Rare), "x_SkuMeterCategory"),
        same(("pricing", Text, Required), "PricingCategory"),
        same(("pricing_unit", Text, Required), "PricingUnit"),
        same(("pricing_quantity", Amount, Required), "PricingQuantity"),
        same(("consumed_unit", Text, Usual), "ConsumedUnit"),
        same(("consumed_quantity", Amount, Usual), "ConsumedQuantity"),
        same(("currency", Text, Required), "BillingCurrency"),
        same(("discount", Text, Usual), "CommitmentDiscountId"),
        same(
            ("discount_category", Text, Usual),
            "CommitmentDiscountCategory",
        ),
        same(("discount_type", Text, Usual), "CommitmentDiscountType"),
        same(("discount_status", Text, Usual), "CommitmentDiscountStatus"),
        same(("capacity_status", Text, Rare), "CapacityReservationStatus"),
        same(("list_price", Amount, Required), "ListCost"),
        same(("contracted_price", Amount, Required), "ContractedCost"),
        same(("effective_price", Amount, Required), "EffectiveCost"),
        same(("billed", Amount, Required), "BilledCost"),
    ]
};

impl BillFormat {
    pub(super) fn columns(self) -> &'static [Column] {
        match self {
            Self::Cur2 | Self::LegacyCur => &CUR,
            Self::Focus => &FOCUS,
        }
    }

    /// The names of the columns without which a table is not a bill of this format.
    pub fn required(self) -> impl Iterator<Item = &'static str> {
        let columns = self.columns().iter();
        let required = columns.filter(|column| column.need == Need::Required);
        required.map(move |column| column.name_in(self))
    }

    /// The names of all columns that statements read, and whether each is expected.
    pub fn known(self) -> impl Iterator<Item = (&'static str, bool)> {
        let columns = self.columns().iter();
        columns.map(move |column| (column.name_in(self), column.need != Need::Rare))
    }
}

impl Column {
    /// What bills of a format call it.
    pub(super) fn name_in(&self, format: BillFormat) -> &'static str {
        match format {
            BillFormat::LegacyCur => self.names.1,
            BillFormat::Cur2 | BillFormat::Focus => self.names.0,
        }
    }
}
