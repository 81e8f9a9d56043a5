//! Writes a Cost and Usage Report 2.0 of a month, and adds its amounts up in whole millionths
//! while it does: `generate_bill DIR LINES [EACH]`. So many lines each (10 by default) are for one
//! resource and hour. The totals are printed, and written to `DIR/totals.txt`.
//!
//! `generate_bill --check DIR HISTORY` adds up what `gpucost-engine bill` made of it, and ends with
//! an error unless every total is the same.

use datafusion::arrow::array::{
    Array, ArrayRef, Decimal128Array, Float64Array, Int64Array, RecordBatch, StringArray,
    StringBuilder, TimestampMillisecondArray,
};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// 2026-10-01T00:00:00Z.
const FIRST_SECOND: i64 = 1_790_812_800;
const HOURS_OF_A_MONTH: u64 = 744;
const LINES_OF_A_FILE: u64 = 5_000_000;
const LINES_OF_A_BATCH: u64 = 100_000;
/// Twelve decimals of an amount, of which the last six are zero.
const MILLIONTH: i128 = 1_000_000;

/// A kind of lines.
struct Sort {
    line_type: &'static str,
    usage_type: &'static str,
    instance_type: &'static str,
    operation: &'static str,
    unit: &'static str,
    plan: &'static str,
    reservation: &'static str,
    /// What a line of it is for, and how it is paid, as a history names them; absent of copies,
    /// which do not count.
    counted: Option<(&'static str, &'static str)>,
}

const ON_DEMAND: Sort = Sort {
    line_type: "Usage",
    usage_type: "BoxUsage:p4d.24xlarge",
    instance_type: "p4d.24xlarge",
    operation: "RunInstances",
    unit: "Hrs",
    plan: "",
    reservation: "",
    counted: Some(("instance", "on-demand")),
};
const COVERED: Sort = Sort {
    line_type: "SavingsPlanCoveredUsage",
    usage_type: "USW2-BoxUsage:p5.48xlarge",
    instance_type: "p5.48xlarge",
    plan: "arn:aws:savingsplans::111122223333:savingsplan/5b1c0f2e",
    counted: Some(("instance", "savings-plan")),
    ..ON_DEMAND
};
const DISCOUNTED: Sort = Sort {
    line_type: "DiscountedUsage",
    usage_type: "BoxUsage:g6e.xlarge",
    instance_type: "g6e.xlarge",
    reservation: "arn:aws:ec2:us-east-1:111122223333:reserved-instances/7f0a2c4e",
    counted: Some(("instance", "reserved")),
    ..ON_DEMAND
};
const SPOT: Sort = Sort {
    usage_type: "SpotUsage:g5.xlarge",
    instance_type: "g5.xlarge",
    operation: "RunInstances:SV001",
    counted: Some(("instance", "spot")),
    ..ON_DEMAND
};
const VOLUME: Sort = Sort {
    usage_type: "EBS:VolumeUsage.gp3",
    instance_type: "",
    operation: "CreateVolume-Gp3",
    unit: "GB-Mo",
    counted: Some(("volume", "on-demand")),
    ..ON_DEMAND
};
const NEGATION: Sort = Sort {
    line_type: "SavingsPlanNegation",
    counted: Some(("negation", "savings-plan")),
    ..COVERED
};
const COPY: Sort = Sort { operation: "EKSPod-EC2", counted: None, ..ON_DEMAND };
/// The sorts of the resources, in turn.
static SORTS: [Sort; 10] =
    [ON_DEMAND, COVERED, ON_DEMAND, VOLUME, DISCOUNTED, COVERED, SPOT, NEGATION, VOLUME, COPY];

/// Sums in millionths, each with the lines that state an amount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sums {
    lines: i64,
    /// Quantity, list, contracted, effective and billed cost.
    amounts: [(i128, i64); 5],
}

/// By kind and purchase option.
type Totals = BTreeMap<(String, String), Sums>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["--check", folder, history] => check(Path::new(folder), Path::new(history)),
        [folder, lines] => generate(Path::new(folder), lines.parse()?, 10),
        [folder, lines, each] => generate(Path::new(folder), lines.parse()?, each.parse()?),
        _ => Err("usage: generate_bill DIR LINES [EACH], or --check DIR HISTORY".into()),
    }
}

fn generate(folder: &Path, lines: u64, each: u64) -> Outcome<()> {
    let slots = lines.div_ceil(each.max(1));
    let resources = slots.div_ceil(HOURS_OF_A_MONTH).max(1);
    let data = folder.join("data").join("BILLING_PERIOD=2026-10");
    std::fs::create_dir_all(&data)?;
    let mut totals = Totals::new();
    let mut from = 0;
    for number in 1.. {
        let to = lines.min(from + LINES_OF_A_FILE);
        let path = data.join(format!("bill-{number:05}.parquet"));
        write(&path, from..to, (each.max(1), resources), &mut totals)?;
        from = to;
        if from == lines {
            break;
        }
    }
    let text = text_of(&totals);
    print!("{text}");
    std::fs::write(folder.join("totals.txt"), text)?;
    Ok(())
}

/// The columns of some lines.
#[derive(Default)]
struct Columns {
    texts: [StringBuilder; 12],
    month: Vec<i64>,
    start: Vec<i64>,
    end: Vec<i64>,
    quantity: Vec<f64>,
    billed: Vec<f64>,
    list: Vec<Option<f64>>,
    plan_cost: Vec<Option<f64>>,
    reserved_cost: Vec<Option<f64>>,
}

/// The names of the texts, in order.
const TEXTS: [&str; 12] = [
    "bill_payer_account_id", "line_item_usage_account_id", "product_region_code",
    "line_item_resource_id", "product_instance_type", "line_item_line_item_type",
    "line_item_product_code", "line_item_usage_type", "line_item_operation", "pricing_unit",
    "line_item_currency_code", "savings_plan_savings_plan_a_r_n",
];

impl Columns {
    fn batch(&mut self, reservations: ArrayRef) -> Outcome<RecordBatch> {
        let take = std::mem::take::<Vec<i64>>;
        let times =
            |values: Vec<i64>| -> ArrayRef { Arc::new(TimestampMillisecondArray::from(values)) };
        let amounts = |values: Vec<f64>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
        let stated =
            |values: Vec<Option<f64>>| -> ArrayRef { Arc::new(Float64Array::from(values)) };
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        for (name, texts) in TEXTS.iter().zip(&mut self.texts) {
            columns.push((*name, Arc::new(texts.finish())));
        }
        columns.extend([
            ("reservation_reservation_a_r_n", reservations),
            ("bill_billing_period_start_date", times(take(&mut self.month))),
            ("line_item_usage_start_date", times(take(&mut self.start))),
            ("line_item_usage_end_date", times(take(&mut self.end))),
            ("line_item_usage_amount", amounts(std::mem::take(&mut self.quantity))),
            ("line_item_unblended_cost", amounts(std::mem::take(&mut self.billed))),
            ("pricing_public_on_demand_cost", stated(std::mem::take(&mut self.list))),
            (
                "savings_plan_savings_plan_effective_cost",
                stated(std::mem::take(&mut self.plan_cost)),
            ),
            ("reservation_effective_cost", stated(std::mem::take(&mut self.reserved_cost))),
        ]);
        // With and without absent values, files have the same columns.
        let columns = columns.into_iter().map(|(name, column)| (name, column, true));
        Ok(RecordBatch::try_from_iter_with_nullable(columns)?)
    }
}

/// Writes a file of some lines.
fn write(
    path: &Path,
    lines: std::ops::Range<u64>,
    (each, resources): (u64, u64),
    totals: &mut Totals,
) -> Outcome<()> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(1 << 20))
        .build();
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    let mut columns = Columns::default();
    let mut reservations = StringBuilder::new();
    let empty = columns.batch(Arc::new(reservations.finish()))?;
    let mut writer =
        ArrowWriter::try_new_with_options(File::create(path)?, empty.schema(), options)?;
    let end = lines.end;
    for number in lines {
        let slot = number / each;
        let (resource, hour) = (slot % resources, slot / resources);
        let sort = &SORTS[(resource % SORTS.len() as u64) as usize];
        reservations.append_value(sort.reservation);
        line(&mut columns, sort, (number, resource, hour), totals);
        if columns.month.len() as u64 == LINES_OF_A_BATCH || number + 1 == end {
            writer.write(&columns.batch(Arc::new(reservations.finish()))?)?;
        }
    }
    writer.close()?;
    Ok(())
}

fn line(
    columns: &mut Columns,
    sort: &Sort,
    (number, resource, hour): (u64, u64, u64),
    totals: &mut Totals,
) {
    let account = format!("4444{:08}", resource % 100);
    // What is taken back of a plan is of no resource.
    let id = match (sort.counted, sort.instance_type) {
        (Some(("negation", _)), _) => String::new(),
        (_, "") => format!("vol-{resource:017x}"),
        _ => format!("i-{resource:017x}"),
    };
    let texts = [
        "111122223333", &account, "us-east-1", &id, sort.instance_type, sort.line_type,
        "AmazonEC2", sort.usage_type, sort.operation, sort.unit, "USD", sort.plan,
    ];
    for (column, text) in columns.texts.iter_mut().zip(texts) {
        column.append_value(text);
    }
    let start = FIRST_SECOND + 3_600 * i64::try_from(hour).unwrap_or(0);
    columns.month.push(FIRST_SECOND * 1_000);
    columns.start.push(start * 1_000);
    columns.end.push((start + 3_600) * 1_000);
    // In millionths: up to an hour, up to 50 dollars.
    let quantity = 1 + (mixed(number) % 1_000_000) as i64;
    let cost = 1 + (mixed(number ^ (1 << 60)) % 50_000_000) as i64;
    let list = cost + (mixed(number ^ (1 << 61)) % 1_000_000) as i64;
    let committed = cost / 2;
    let billed = match sort.line_type {
        "SavingsPlanNegation" => -cost,
        "DiscountedUsage" => 0,
        _ => cost,
    };
    let is = |name: &str| sort.line_type == name;
    let list = (!is("SavingsPlanNegation")).then_some(list);
    let plan = is("SavingsPlanCoveredUsage").then_some(committed);
    let reserved = is("DiscountedUsage").then_some(committed);
    let dollars = |millionths: i64| millionths as f64 / 1e6;
    columns.quantity.push(dollars(quantity));
    columns.billed.push(dollars(billed));
    columns.list.push(list.map(dollars));
    columns.plan_cost.push(plan.map(dollars));
    columns.reserved_cost.push(reserved.map(dollars));
    let Some((kind, option)) = sort.counted else { return };
    // As docs/bill.md defines them.
    let contracted = (is("Usage") || is("SavingsPlanCoveredUsage")).then_some(billed);
    let effective = match sort.line_type {
        "SavingsPlanNegation" => Some(0),
        "SavingsPlanCoveredUsage" => plan,
        "DiscountedUsage" => reserved,
        _ => Some(billed),
    };
    let sums = totals.entry((kind.to_owned(), option.to_owned())).or_default();
    sums.lines += 1;
    let stated = [Some(quantity), list, contracted, effective, Some(billed)];
    for ((sum, lines), amount) in sums.amounts.iter_mut().zip(stated) {
        *sum += i128::from(amount.unwrap_or(0));
        *lines += i64::from(amount.is_some());
    }
}

/// A pseudorandom number, always the same for the same input (SplitMix64).
fn mixed(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn text_of(totals: &Totals) -> String {
    let names = ["quantity", "list", "contracted", "effective", "billed"];
    let mut text = String::new();
    for ((kind, option), sums) in totals {
        text += &format!("{kind} {option} lines {}\n", sums.lines);
        for (name, (sum, lines)) in names.iter().zip(&sums.amounts) {
            text += &format!("{kind} {option} {name} {sum} of {lines} lines\n");
        }
    }
    text
}

/// Adds up the tables that a bill became.
fn check(folder: &Path, history: &Path) -> Outcome<()> {
    let mut totals = Totals::new();
    let mut rows = 0;
    let period = history.join("archive/v1/bill/period=2026-10");
    for entry in std::fs::read_dir(period)? {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(entry?.path())?)?;
        for batch in reader.build()? {
            let batch = batch?;
            rows += batch.num_rows();
            add(&batch, &mut totals)?;
        }
    }
    let (expected, found) = (std::fs::read_to_string(folder.join("totals.txt"))?, text_of(&totals));
    print!("{found}");
    println!("{rows} rows");
    if found != expected {
        return Err("the totals are not those of the bill".into());
    }
    println!("every total is that of the bill");
    Ok(())
}

fn add(batch: &RecordBatch, totals: &mut Totals) -> Outcome<()> {
    let text = |name: &str| column::<StringArray>(batch, name);
    let (kinds, options) = (text("kind")?, text("purchase_option")?);
    let lines = column::<Int64Array>(batch, "n")?;
    let mut amounts = Vec::new();
    for name in ["quantity", "list", "contracted", "effective", "billed"] {
        let own = match name {
            "quantity" => name.to_owned(),
            name => format!("{name}_cost"),
        };
        let stated = column::<Int64Array>(batch, &format!("n_{name}"))?;
        amounts.push((column::<Decimal128Array>(batch, &own)?, stated));
    }
    for row in 0..batch.num_rows() {
        let key = (kinds.value(row).to_owned(), options.value(row).to_owned());
        let sums = totals.entry(key).or_default();
        sums.lines += lines.value(row);
        for ((sum, lines), (amount, stated)) in sums.amounts.iter_mut().zip(&amounts) {
            *lines += stated.value(row);
            if amount.is_valid(row) {
                let amount = amount.value(row);
                if amount % MILLIONTH != 0 {
                    return Err(format!("{amount} is not in millionths").into());
                }
                *sum += amount / MILLIONTH;
            }
        }
    }
    Ok(())
}

fn column<'a, T: 'static>(batch: &'a RecordBatch, name: &str) -> Outcome<&'a T> {
    let column = batch.column_by_name(name);
    let column = column.and_then(|column| column.as_any().downcast_ref::<T>());
    column.ok_or_else(|| format!("the table has no column `{name}` of its kind").into())
}
