//! The tables of an audit: what each workload cost on a day, and what was advised.

use crate::domain::{
    ActionBaseline, ActionKind, CostKind, CostSource, Currency, DatedPrice, HourlyRate, Money,
    PriceOrigin, Provider, PurchaseOption, RecordedAction, Risk, Target, WorkloadDay,
};
use crate::sources::files::history::columns::{Cell, Kind, SCALE, Schema, TableError};
use crate::sources::files::history::table::Row;
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use parquet::data_type::ByteArray;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;

/// Rows of a table: a month of a million workloads has two.
pub(super) const MOST_ROWS: usize = 1 << 26;
/// The first day that is a number, which is zero.
const EPOCH: Date = Date::constant(1970, 1, 1);

/// What each workload cost on a day, by who paid.
pub(in crate::sources::files::history) const COST: Schema = Schema {
    name: "cost",
    columns: &[
        ("run_id", Kind::Text),
        ("scope", Kind::Text),
        ("day", Kind::Day),
        ("provider", Kind::Text),
        ("account", Kind::LongText),
        ("region", Kind::Text),
        ("workload", Kind::LongText),
        ("job", Kind::LongText),
        ("name", Kind::LongText),
        ("tags", Kind::LongText),
        ("kind", Kind::Text),
        ("instance_type", Kind::Text),
        ("gpus_per_instance", Kind::Decimal),
        ("purchase_option", Kind::Text),
        ("commitment", Kind::OptionalText),
        ("committed_until", Kind::Day),
        ("hours", Kind::Decimal),
        ("gpu_hours", Kind::Decimal),
        ("currency", Kind::OptionalText),
        ("list_cost", Kind::Decimal),
        ("contracted_cost", Kind::Decimal),
        ("effective_cost", Kind::Decimal),
        ("useful_gpu_hours", Kind::Decimal),
        ("idle_gpu_hours", Kind::Decimal),
        ("unmeasured_gpu_hours", Kind::Decimal),
        ("source", Kind::Text),
        ("price_hourly", Kind::Decimal),
        ("price_since", Kind::Day),
        ("price_seen_on", Kind::Day),
        ("price_origin", Kind::OptionalText),
    ],
    most_rows: MOST_ROWS,
};

/// What was advised.
pub(in crate::sources::files::history) const ACTION: Schema = Schema {
    name: "action",
    columns: &[
        ("run_id", Kind::Text),
        ("scope", Kind::Text),
        ("day", Kind::Day),
        ("action_id", Kind::Text),
        ("account", Kind::LongText),
        ("region", Kind::Text),
        ("workload", Kind::LongText),
        ("job", Kind::LongText),
        ("name", Kind::LongText),
        ("kind", Kind::Text),
        ("target_type", Kind::OptionalText),
        ("target_count", Kind::Whole),
        ("currency", Kind::Text),
        ("expected_monthly", Kind::Decimal),
        ("risk", Kind::Text),
        ("instance_type", Kind::Text),
        ("hours_daily", Kind::Decimal),
        ("gpu_hours_daily", Kind::Decimal),
        ("effective_hourly", Kind::Decimal),
        ("price_hourly", Kind::Decimal),
        ("price_since", Kind::Day),
        ("price_seen_on", Kind::Day),
        ("price_origin", Kind::OptionalText),
        ("first_seen", Kind::Text),
        ("last_seen", Kind::Text),
    ],
    most_rows: MOST_ROWS,
};

pub(super) type Cells = Result<Vec<Cell>, TableError>;

/// The cells of a row of [`COST`].
///
/// # Errors
/// When a text or a figure is beyond what a table holds, and when its amounts are in several
/// currencies.
pub(super) fn cells_of_day(row: &WorkloadDay, scope: &str) -> Cells {
    let amounts = [row.list, row.contracted, row.effective];
    let of_amounts = amounts.into_iter().flatten().map(Money::currency);
    let of_price = row.price.map(|price| price.hourly.currency());
    let currency = one_of(of_amounts.chain(of_price))?;
    let tags = serde_json::to_string(&row.tags).map_err(std::io::Error::from)?;
    let [price, since, seen_on, origin] = price_cells(row.price)?;
    Ok(vec![
        text(&row.run_id, Kind::Text)?,
        text(scope, Kind::Text)?,
        day(Some(row.day))?,
        text(row.provider.name(), Kind::Text)?,
        text(&row.account, Kind::LongText)?,
        text(&row.region, Kind::Text)?,
        text(&row.workload, Kind::LongText)?,
        text(&row.job, Kind::LongText)?,
        text(&row.name, Kind::LongText)?,
        text(&tags, Kind::LongText)?,
        text(row.kind.name(), Kind::Text)?,
        text(&row.instance_type, Kind::Text)?,
        decimal(row.gpus_per_instance)?,
        text(row.option.name(), Kind::Text)?,
        optional(row.commitment.as_deref())?,
        day(row.committed_until)?,
        decimal(Some(row.hours))?,
        decimal(row.gpu_hours)?,
        optional(currency.map(Currency::code))?,
        decimal(row.list.map(Money::amount))?,
        decimal(row.contracted.map(Money::amount))?,
        decimal(row.effective.map(Money::amount))?,
        decimal(row.useful_gpu_hours)?,
        decimal(row.idle_gpu_hours)?,
        decimal(row.unmeasured_gpu_hours)?,
        text(row.source.name(), Kind::Text)?,
        price,
        since,
        seen_on,
        origin,
    ])
}

/// Reads a row of [`COST`].
///
/// # Errors
/// When it has a value that is never written.
pub(in crate::sources::files::history) fn day_of(row: &Row<'_>) -> Result<WorkloadDay, TableError> {
    let currency = row.optional_text(18)?;
    let currency = currency.map(|code| named(code, Currency::from_code));
    let currency = currency.transpose()?;
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
        provider: named(row.text(3)?, Provider::from_name)?,
        account: row.text(4)?.to_owned(),
        region: row.text(5)?.to_owned(),
        workload: row.text(6)?.to_owned(),
        job: row.text(7)?.to_owned(),
        name: row.text(8)?.to_owned(),
        tags,
        kind: named(row.text(10)?, CostKind::from_name)?,
        instance_type: row.text(11)?.to_owned(),
        gpus_per_instance: number(row, 12)?,
        option: named(row.text(13)?, PurchaseOption::from_name)?,
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
        source: named(row.text(25)?, CostSource::from_name)?,
        price: price_of(row, 26, currency)?,
    })
}

/// The cells of a row of [`ACTION`], which a run of a day advised.
///
/// # Errors
/// As of [`cells_of_day`].
pub(super) fn cells_of_action(
    one: &RecordedAction,
    (run_id, scope): (&str, &str),
    on: Date,
) -> Cells {
    let baseline = &one.baseline;
    let amounts = [one.expected_monthly, baseline.effective_hourly];
    let of_price = baseline.price.map(|price| price.hourly.currency());
    let currency = one_of(amounts.into_iter().map(Money::currency).chain(of_price))?;
    let target = one.target.as_ref();
    let [price, since, seen_on, origin] = price_cells(baseline.price)?;
    Ok(vec![
        text(run_id, Kind::Text)?,
        text(scope, Kind::Text)?,
        day(Some(on))?,
        text(&one.action_id, Kind::Text)?,
        text(&one.account, Kind::LongText)?,
        text(&one.region, Kind::Text)?,
        text(&one.workload, Kind::LongText)?,
        text(&one.job, Kind::LongText)?,
        text(&one.name, Kind::LongText)?,
        text(one.kind.name(), Kind::Text)?,
        optional(target.map(|target| target.instance_type.as_str()))?,
        Cell::Whole(target.map(|target| i64::from(target.count))),
        text(currency.map_or("", Currency::code), Kind::Text)?,
        decimal(Some(one.expected_monthly.amount()))?,
        text(one.risk.name(), Kind::Text)?,
        text(&baseline.instance_type, Kind::Text)?,
        decimal(Some(baseline.hours_daily))?,
        decimal(baseline.gpu_hours_daily)?,
        decimal(Some(baseline.effective_hourly.amount()))?,
        price,
        since,
        seen_on,
        origin,
        text(&one.first_seen.to_string(), Kind::Text)?,
        text(&one.last_seen.to_string(), Kind::Text)?,
    ])
}

/// Reads a row of [`ACTION`], with the id and the day of its run.
///
/// # Errors
/// When it has a value that is never written.
pub(in crate::sources::files::history) fn action_of(
    row: &Row<'_>,
) -> Result<(String, Date, RecordedAction), TableError> {
    let currency = named(row.text(12)?, Currency::from_code)?;
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
        kind: named(row.text(9)?, ActionKind::from_name)?,
        target,
        expected_monthly: money(13)?,
        baseline: ActionBaseline {
            instance_type: row.text(15)?.to_owned(),
            hours_daily: some_number(row, 16)?,
            gpu_hours_daily: number(row, 17)?,
            effective_hourly: money(18)?,
            price: price_of(row, 19, Some(currency))?,
        },
        risk: named(row.text(14)?, Risk::from_name)?,
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

pub(super) fn text(text: &str, kind: Kind) -> Result<Cell, TableError> {
    if text.len() > kind.most_bytes() {
        return Err(TableError::Large);
    }
    Ok(Cell::Text(ByteArray::from(text)))
}

pub(super) fn optional(text: Option<&str>) -> Result<Cell, TableError> {
    let most = Kind::OptionalText.most_bytes();
    if text.is_some_and(|text| text.len() > most) {
        return Err(TableError::Large);
    }
    Ok(Cell::OptionalText(text.map(ByteArray::from)))
}

pub(super) fn decimal(number: Option<Decimal>) -> Result<Cell, TableError> {
    /// The first number with a digit too many.
    const LIMIT: i64 = 1_000_000_000_000_000_000;
    let Some(number) = number else {
        return Ok(Cell::Decimal(None));
    };
    let scaled = number.round_dp(SCALE).checked_mul(Decimal::from(1_000_000));
    let scaled = scaled.and_then(|scaled| scaled.to_i64());
    match scaled.filter(|scaled| (-LIMIT + 1..LIMIT).contains(scaled)) {
        Some(scaled) => Ok(Cell::Decimal(Some(scaled))),
        None => Err(TableError::Value),
    }
}

fn day(day: Option<Date>) -> Result<Cell, TableError> {
    let days = day.map(|day| day.duration_since(EPOCH).as_hours() / 24);
    let days = days.map(|days| i32::try_from(days).map_err(|_| TableError::Value));
    Ok(Cell::Day(days.transpose()?))
}

fn price_cells(price: Option<DatedPrice>) -> Result<[Cell; 4], TableError> {
    Ok([
        decimal(price.map(|price| price.hourly.amount()))?,
        day(price.and_then(|price| price.effective_date))?,
        day(price.map(|price| price.seen_on))?,
        optional(price.map(|price| price.origin.name()))?,
    ])
}

pub(super) fn named<T>(name: &str, of: impl Fn(&str) -> Option<T>) -> Result<T, TableError> {
    of(name).ok_or(TableError::Value)
}

pub(super) fn number(row: &Row<'_>, column: usize) -> Result<Option<Decimal>, TableError> {
    let millionths: Option<i64> = row.whole(column)?;
    Ok(millionths.map(|number| Decimal::new(number, SCALE).normalize()))
}

pub(super) fn some_number(row: &Row<'_>, column: usize) -> Result<Decimal, TableError> {
    number(row, column)?.ok_or(TableError::Value)
}

fn date(row: &Row<'_>, column: usize) -> Result<Option<Date>, TableError> {
    let Some(days) = row.days(column)? else {
        return Ok(None);
    };
    let since = SignedDuration::from_hours(i64::from(days) * 24);
    let date = EPOCH.checked_add(since).map_err(|_| TableError::Value)?;
    Ok(Some(date))
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
    let origin = row.optional_text(column + 3)?;
    let (Some(hourly), Some(currency)) = (hourly, currency) else {
        let is_none = hourly.is_none() && seen_on.is_none() && origin.is_none();
        return if is_none { Ok(None) } else { Err(TableError::Value) };
    };
    Ok(Some(DatedPrice {
        hourly: HourlyRate::new(hourly, currency).ok_or(TableError::Value)?,
        effective_date: date(row, column + 1)?,
        seen_on: seen_on.ok_or(TableError::Value)?,
        origin: named(origin.ok_or(TableError::Value)?, PriceOrigin::from_name)?,
    }))
}
