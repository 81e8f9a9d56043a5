//! The tables of an audit: what each workload cost on a day, what was advised, and how instances
//! ran hour by hour.

use crate::domain::{
    ActionBaseline, ActionKind, CostKind, CostSource, Currency, DatedPrice, HOUR_SECONDS,
    HourlyRate, InstanceHour, InstanceRate, Money, PriceOrigin, Provider, PurchaseOption,
    RecordedAction, Risk, Target, WorkloadDay,
};
use crate::files::history::columns::{Cell, EPOCH, Kind, SCALE, Schema, TableError, table};
use crate::files::history::table::Row;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use rust_decimal::Decimal;

/// Rows of a table: a month of a million workloads has two.
pub(super) const MOST_ROWS: usize = 1 << 26;

table! {
    /// What each workload cost on a day, by who paid.
    COST = "cost", MOST_ROWS;
    /// The cells of a row of [`COST`].
    ///
    /// # Errors
    /// When a text or a figure is beyond what a table holds, and when its amounts are in several
    /// currencies.
    fn cells_of_day(row: &WorkloadDay, scope: &str) {
        let of_amounts = [row.list, row.contracted, row.effective].into_iter().flatten().map(Money::currency);
        let of_price = row.price.map(|price| price.hourly.currency());
        let currency = one_of(of_amounts.chain(of_price))?;
        let tags = serde_json::to_string(&row.tags).map_err(std::io::Error::from)?;
        let [price, since, seen_on, origin] = price_cells(row.price)?;
    }
    "run_id" Text Cell::text(&row.run_id)?;
    "scope" Text Cell::text(scope)?;
    "day" Day Cell::day(row.day)?;
    "provider" Text Cell::text(row.provider.name())?;
    "account" LongText Cell::long(&row.account)?;
    "region" Text Cell::text(&row.region)?;
    "workload" LongText Cell::long(&row.workload)?;
    "job" LongText Cell::long(&row.job)?;
    "name" LongText Cell::long(&row.name)?;
    "tags" LongText Cell::long(&tags)?;
    "kind" Text Cell::text(row.kind.name())?;
    "instance_type" Text Cell::text(&row.instance_type)?;
    "gpus_per_instance" Decimal Cell::decimal(row.gpus_per_instance)?;
    "purchase_option" Text Cell::text(row.option.name())?;
    "commitment" OptionalText Cell::optional(row.commitment.as_deref())?;
    "committed_until" Day Cell::day(row.committed_until)?;
    "hours" Decimal Cell::decimal(row.hours)?;
    "gpu_hours" Decimal Cell::decimal(row.gpu_hours)?;
    "currency" OptionalText Cell::optional(currency.map(Currency::code))?;
    "list_cost" Decimal Cell::decimal(row.list.map(Money::amount))?;
    "contracted_cost" Decimal Cell::decimal(row.contracted.map(Money::amount))?;
    "effective_cost" Decimal Cell::decimal(row.effective.map(Money::amount))?;
    "useful_gpu_hours" Decimal Cell::decimal(row.useful_gpu_hours)?;
    "idle_gpu_hours" Decimal Cell::decimal(row.idle_gpu_hours)?;
    "unmeasured_gpu_hours" Decimal Cell::decimal(row.unmeasured_gpu_hours)?;
    "source" Text Cell::text(row.source.name())?;
    "price_hourly" Decimal price;
    "price_since" Day since;
    "price_seen_on" Day seen_on;
    "price_origin" OptionalText origin;
}

/// Reads a row of [`COST`].
///
/// # Errors
/// When it has a value that is never written.
pub(in crate::files::history) fn day_of(row: &Row<'_>) -> Result<WorkloadDay, TableError> {
    let currency = row.optional_named(18, Currency::from_name)?;
    let money = |column: usize| -> Result<Option<Money>, TableError> {
        match (number(row, column)?, currency) {
            (None, _) => Ok(None),
            (Some(amount), Some(currency)) => Ok(Some(Money::new(amount, currency))),
            (Some(_), None) => Err(TableError::Value),
        }
    };
    let tags = serde_json::from_str(row.text(9)?).map_err(|_| TableError::Value)?;
    Ok(WorkloadDay {
        run_id: row.text(0)?.to_owned(),
        day: some_date(row, 2)?,
        provider: row.named(3, Provider::from_name)?,
        account: row.text(4)?.to_owned(),
        region: row.text(5)?.to_owned(),
        workload: row.text(6)?.to_owned(),
        job: row.text(7)?.to_owned(),
        name: row.text(8)?.to_owned(),
        tags,
        kind: row.named(10, CostKind::from_name)?,
        instance_type: row.text(11)?.to_owned(),
        gpus_per_instance: number(row, 12)?,
        option: row.named(13, PurchaseOption::from_name)?,
        commitment: row.optional_text(14)?.map(str::to_owned),
        committed_until: date(row, 15)?,
        hours: some_number(row, 16)?,
        gpu_hours: number(row, 17)?,
        list: money(19)?,
        contracted: money(20)?,
        effective: money(21)?,
        useful_gpu_hours: number(row, 22)?,
        idle_gpu_hours: number(row, 23)?,
        unmeasured_gpu_hours: number(row, 24)?,
        source: row.named(25, CostSource::from_name)?,
        price: price_of(row, 26, currency)?,
    })
}

table! {
    /// What was advised.
    ACTION = "action", MOST_ROWS;
    /// The cells of a row of [`ACTION`], which a run of a day advised.
    ///
    /// # Errors
    /// As of [`cells_of_day`].
    fn cells_of_action(one: &RecordedAction, run_id: &str, scope: &str, on: Date) {
        let baseline = &one.baseline;
        let amounts = [one.expected_monthly, baseline.effective_hourly];
        let of_price = baseline.price.map(|price| price.hourly.currency());
        let currency = one_of(amounts.into_iter().map(Money::currency).chain(of_price))?;
        let target = one.target.as_ref();
        let [price, since, seen_on, origin] = price_cells(baseline.price)?;
    }
    "run_id" Text Cell::text(run_id)?;
    "scope" Text Cell::text(scope)?;
    "day" Day Cell::day(on)?;
    "action_id" Text Cell::text(&one.action_id)?;
    "account" LongText Cell::long(&one.account)?;
    "region" Text Cell::text(&one.region)?;
    "workload" LongText Cell::long(&one.workload)?;
    "job" LongText Cell::long(&one.job)?;
    "name" LongText Cell::long(&one.name)?;
    "kind" Text Cell::text(one.kind.name())?;
    "target_type" OptionalText Cell::optional(target.map(|to| to.instance_type.as_str()))?;
    "target_count" Whole Cell::Whole(target.map(|target| i64::from(target.count)));
    "currency" Text Cell::text(currency.map_or("", Currency::code))?;
    "expected_monthly" Decimal Cell::decimal(one.expected_monthly.amount())?;
    "risk" Text Cell::text(one.risk.name())?;
    "instance_type" Text Cell::text(&baseline.instance_type)?;
    "hours_daily" Decimal Cell::decimal(baseline.hours_daily)?;
    "gpu_hours_daily" Decimal Cell::decimal(baseline.gpu_hours_daily)?;
    "effective_hourly" Decimal Cell::decimal(baseline.effective_hourly.amount())?;
    "price_hourly" Decimal price;
    "price_since" Day since;
    "price_seen_on" Day seen_on;
    "price_origin" OptionalText origin;
    "first_seen" Text Cell::text(&one.first_seen.to_string())?;
    "last_seen" Text Cell::text(&one.last_seen.to_string())?;
}

/// Reads a row of [`ACTION`], with the id and the day of its run.
///
/// # Errors
/// When it has a value that is never written.
pub(in crate::files::history) fn action_of(
    row: &Row<'_>,
) -> Result<(String, Date, RecordedAction), TableError> {
    let currency = row.named(12, Currency::from_name)?;
    let money = |column| Ok::<_, TableError>(Money::new(some_number(row, column)?, currency));
    let time = |column| -> Result<Timestamp, TableError> {
        row.text(column)?.parse().map_err(|_| TableError::Value)
    };
    let target = match (row.optional_text(10)?, row.whole(11)?) {
        (Some(name), Some(count)) => Some(Target { instance_type: name.to_owned(), count }),
        (None, None) => None,
        _ => return Err(TableError::Value),
    };
    let action = RecordedAction {
        action_id: row.text(3)?.to_owned(),
        account: row.text(4)?.to_owned(),
        region: row.text(5)?.to_owned(),
        workload: row.text(6)?.to_owned(),
        job: row.text(7)?.to_owned(),
        name: row.text(8)?.to_owned(),
        kind: row.named(9, ActionKind::from_name)?,
        target,
        expected_monthly: money(13)?,
        baseline: ActionBaseline {
            instance_type: row.text(15)?.to_owned(),
            hours_daily: some_number(row, 16)?,
            gpu_hours_daily: number(row, 17)?,
            effective_hourly: money(18)?,
            price: price_of(row, 19, Some(currency))?,
        },
        risk: row.named(14, Risk::from_name)?,
        first_seen: time(23)?,
        last_seen: time(24)?,
    };
    Ok((row.text(0)?.to_owned(), some_date(row, 2)?, action))
}

/// The only currency among some; `None` of none.
fn one_of(mut currencies: impl Iterator<Item = Currency>) -> Result<Option<Currency>, TableError> {
    let first = currencies.next();
    if currencies.all(|other| Some(other) == first) { Ok(first) } else { Err(TableError::Value) }
}

fn price_cells(price: Option<DatedPrice>) -> Result<[Cell; 4], TableError> {
    Ok([
        Cell::decimal(price.map(|price| price.hourly.amount()))?,
        Cell::day(price.and_then(|price| price.effective_date))?,
        Cell::day(price.map(|price| price.seen_on))?,
        Cell::optional(price.map(|price| price.origin.name()))?,
    ])
}

pub(super) fn number(row: &Row<'_>, column: usize) -> Result<Option<Decimal>, TableError> {
    let millionths: Option<i64> = row.whole(column)?;
    Ok(millionths.map(|number| Decimal::new(number, SCALE).normalize()))
}

pub(super) fn some_number(row: &Row<'_>, column: usize) -> Result<Decimal, TableError> {
    number(row, column)?.ok_or(TableError::Value)
}

fn date(row: &Row<'_>, column: usize) -> Result<Option<Date>, TableError> {
    let Some(days) = row.days(column)? else { return Ok(None) };
    let since = SignedDuration::from_hours(i64::from(days) * 24);
    EPOCH.checked_add(since).map(Some).map_err(|_| TableError::Value)
}

fn some_date(row: &Row<'_>, column: usize) -> Result<Date, TableError> {
    date(row, column)?.ok_or(TableError::Value)
}

/// A price, whose four cells are there together; the day since when it holds may be absent.
fn price_of(
    row: &Row<'_>,
    column: usize,
    currency: Option<Currency>,
) -> Result<Option<DatedPrice>, TableError> {
    let (hourly, seen_on) = (number(row, column)?, date(row, column + 2)?);
    let origin = row.optional_named(column + 3, PriceOrigin::from_name)?;
    match (hourly, currency, seen_on, origin) {
        (None, _, None, None) => Ok(None),
        (Some(hourly), Some(currency), Some(seen_on), Some(origin)) => Ok(Some(DatedPrice {
            hourly: HourlyRate::new(hourly, currency).ok_or(TableError::Value)?,
            effective_date: date(row, column + 1)?,
            seen_on,
            origin,
        })),
        _ => Err(TableError::Value),
    }
}

table! {
    /// How instances ran in the hours of the days of a run. A run without instances has none.
    HOUR = "hour", MOST_ROWS;
    /// The cells of a row of [`HOUR`].
    ///
    /// # Errors
    /// When a text or a figure is beyond what a table holds.
    fn cells_of_hour(one: &InstanceHour, run_id: &str, scope: &str) {
        let rate = one.rate;
        let seconds = |seconds: u16| Cell::Whole(Some(i64::from(seconds)));
    }
    "run_id" Text Cell::text(run_id)?;
    "scope" Text Cell::text(scope)?;
    "account" LongText Cell::long(&one.account)?;
    "region" Text Cell::text(&one.region)?;
    "instance" Text Cell::text(&one.instance)?;
    "instance_type" Text Cell::text(&one.instance_type)?;
    "hour" Whole Cell::Whole(Some(one.hour.as_second()));
    "ran_seconds" Whole seconds(one.ran_seconds);
    "measured_seconds" Whole seconds(one.measured_seconds);
    "idle_seconds" Whole seconds(one.idle_seconds);
    "useful_seconds" Decimal Cell::decimal(one.useful_seconds)?;
    "currency" OptionalText Cell::optional(rate.map(|rate| rate.currency.code()))?;
    "price_hourly" Decimal Cell::decimal(rate.map(|rate| rate.price))?;
    "effective_hourly" Decimal Cell::decimal(rate.map(|rate| rate.effective))?;
}

/// Reads a row of [`HOUR`].
///
/// # Errors
/// When it has a value that is never written.
pub(in crate::files::history) fn hour_of(row: &Row<'_>) -> Result<InstanceHour, TableError> {
    let second: i64 = row.some(6)?;
    let hour = Timestamp::from_second(second).map_err(|_| TableError::Value)?;
    let (ran, measured, idle): (u16, u16, u16) = (row.some(7)?, row.some(8)?, row.some(9)?);
    let useful = some_number(row, 10)?;
    let is_possible = second.rem_euclid(HOUR_SECONDS) == 0
        && i64::from(ran) <= HOUR_SECONDS
        && measured <= ran
        && idle <= measured
        && useful >= Decimal::ZERO
        && useful <= Decimal::from(ran);
    if !is_possible {
        return Err(TableError::Value);
    }
    let currency = row.optional_named(11, Currency::from_name)?;
    let rate = match (currency, number(row, 12)?, number(row, 13)?) {
        (Some(currency), Some(price), Some(effective)) => {
            Some(InstanceRate { currency, price, effective })
        }
        (None, None, None) => None,
        _ => return Err(TableError::Value),
    };
    Ok(InstanceHour {
        account: row.text(2)?.to_owned(),
        region: row.text(3)?.to_owned(),
        instance: row.text(4)?.to_owned(),
        instance_type: row.text(5)?.to_owned(),
        hour,
        ran_seconds: ran,
        measured_seconds: measured,
        idle_seconds: idle,
        useful_seconds: useful,
        rate,
    })
}
