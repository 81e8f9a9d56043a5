//! Tables of a bill: which form they are of, by their columns alone, and the rows of those that are
//! comma-separated values.

use super::Problem;
use super::fields::{Cell, Field, Fields, Moment, Places, Row, TagPlaces, snake};
use super::{cur, focus};
use crate::catalog::leading_region;
use crate::domain::{BillCosts, BillForm, BillLine, Currency, LineKind, Window, bare_id};
use crate::files::shared::bounded::short_rows;
use jiff::tz::TimeZone;
use std::cell;
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::ops::ControlFlow;
use std::rc::Rc;

/// What is read of a bill beside its amounts.
#[derive(Debug, Clone, Default)]
pub struct BillOptions {
    /// The tag whose values are read.
    pub tag: Option<String>,
    /// The currency of a bill that does not state one.
    pub currency: Option<Currency>,
}

/// A row that was read.
pub(super) enum Charge {
    Line {
        line: Box<BillLine>,
        /// Whether its times, where it has some, are times.
        is_timed: bool,
        /// Whether it is an estimate of gpucost's own, and was never billed.
        is_estimate: bool,
    },
    /// In a currency that gpucost has no amounts in, by its code.
    OtherCurrency(String),
}

/// How the rows of a table are read.
pub(super) struct Reading<'a> {
    pub(super) form: BillForm,
    places: Places,
    /// Where the tag is that is read.
    pub(super) tags: TagPlaces,
    options: &'a BillOptions,
}

impl<'a> Reading<'a> {
    /// # Errors
    /// In words, when the columns are those of no known form.
    pub(super) fn new(header: &[String], options: &'a BillOptions) -> Result<Self, String> {
        let (form, names) = form_of(header)?;
        let tags = TagPlaces::new(header, options.tag.as_deref());
        Ok(Self { form, places: Places::new(&names, form), tags, options })
    }

    /// The columns that are read.
    pub(super) fn columns(&self) -> BTreeSet<usize> {
        self.places.columns().chain(self.tags.columns()).collect()
    }

    /// # Errors
    /// In words, when a value of the row is invalid.
    pub(super) fn charge(&self, row: &dyn Row) -> Result<Charge, String> {
        let fields = Fields { row, places: &self.places };
        let currency = match fields.currency(self.options.currency)? {
            Ok(currency) => currency,
            Err(code) => return Ok(Charge::OtherCurrency(code)),
        };
        let (start, end) = (fields.moment(Field::Start)?, fields.moment(Field::End)?);
        let shared = BillLine {
            provider: None,
            payer: fields.owned(Field::Payer)?,
            account: fields.owned(Field::Account)?,
            resource: fields.text(Field::Resource)?.map(|id| bare_id(&id).to_owned()),
            period: match (start, end) {
                (Moment::At(start), Moment::At(end)) if start <= end => Some(Window { start, end }),
                _ => None,
            },
            billing_month: match fields.moment(Field::Month)? {
                Moment::At(at) => Some(at.to_zoned(TimeZone::UTC).date().first_of_month()),
                Moment::Absent | Moment::Invalid => None,
            },
            service: fields.owned(Field::Service)?,
            region: region(&fields)?,
            instance_type: None,
            operating_system: None,
            tenancy: None,
            kind: LineKind::Other,
            purchase_option: None,
            offer: None,
            hours: None,
            costs: BillCosts {
                currency,
                list: None,
                contracted: None,
                effective: None,
                billed: fields.number(Field::Billed)?,
            },
            commitment: None,
            invoice: fields.owned(Field::Invoice)?,
            tag: self.tags.value(row)?,
            share: None,
        };
        let line = if self.form.is_focus() { focus::line } else { cur::line };
        Ok(Charge::Line {
            line: Box::new(line(&fields, shared)?.settled()),
            is_timed: start != Moment::Invalid && end != Moment::Invalid,
            is_estimate: fields.text(Field::Estimate)?.is_some(),
        })
    }
}

/// The region, else that of the zone.
fn region(row: &Fields<'_>) -> Result<Option<String>, String> {
    if let Some(region) = row.owned(Field::Region)? {
        return Ok(Some(region));
    }
    let zone = row.text(Field::Zone)?;
    let zone = zone.as_deref().unwrap_or_default();
    let place = zone.trim_end_matches(|c: char| c.is_ascii_lowercase());
    Ok(leading_region(place).map(str::to_owned))
}

/// The form of a table, and the names of its columns as that form calls them.
fn form_of(header: &[String]) -> Result<(BillForm, Vec<String>), String> {
    let has = |name: &str| header.iter().any(|column| column.eq_ignore_ascii_case(name));
    if focus::REQUIRED.iter().all(|name| has(name)) {
        let first_with: [(BillForm, &[&str]); 3] = [
            (BillForm::Focus13, &["AllocatedMethodId", "ServiceProviderName"]),
            (BillForm::Focus12, &["InvoiceId", "PricingCurrency"]),
            (BillForm::Focus11, &["SkuMeter", "CapacityReservationId"]),
        ];
        let newer = first_with.into_iter().find(|(_, names)| names.iter().any(|name| has(name)));
        return Ok((newer.map_or(BillForm::Focus10, |(form, _)| form), header.to_vec()));
    }
    let renamed: Vec<String> = header.iter().map(|name| snake(name)).collect();
    if cur::REQUIRED.iter().all(|name| renamed.iter().any(|column| column == name)) {
        let of_second = ["product", "resource_tags", "bill_payer_account_name"];
        let is_second = of_second.iter().any(|name| has(name));
        return Ok((if is_second { BillForm::Cur2 } else { BillForm::LegacyCur }, renamed));
    }
    Err(unknown(header))
}

/// Which columns a bill would have, and which ones were found.
fn unknown(header: &[String]) -> String {
    const SHOWN: usize = 8;
    const LONGEST: usize = 40;
    let cut = |name: &String| name.chars().take(LONGEST).collect::<String>();
    let some: Vec<String> = header.iter().take(SHOWN).map(cut).collect();
    let more = match header.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "a Cost and Usage Report has the columns {}, and FOCUS {}; found: {}{more}",
        cur::REQUIRED.join(" and "),
        focus::REQUIRED.join(", "),
        some.join(", "),
    )
}

/// What is done with each row.
pub(super) type Each<'a> = &'a mut dyn FnMut(Charge) -> ControlFlow<()>;

/// Reads rows until there are no more, or `each` has enough. Gives the form, and how many
/// rows there were.
pub(super) fn read_csv(
    text: impl Read,
    options: &BillOptions,
    each: Each<'_>,
) -> Result<(BillForm, u64), Problem> {
    let ending = Rc::<cell::Cell<(bool, u8)>>::default();
    let (text, row_end) = short_rows(Watched(text, Rc::clone(&ending)));
    let mut reader = csv::ReaderBuilder::new().buffer_capacity(1 << 16).from_reader(text);
    let header = reader.headers().map_err(|error| problem(error, 0))?;
    let header: Vec<String> = header.iter().map(|name| name.trim().to_owned()).collect();
    let reading = Reading::new(&header, options).map_err(Problem::Form)?;
    let mut record = csv::StringRecord::new();
    let mut rows = 0;
    while reader.read_record(&mut record).map_err(|error| problem(error, rows + 1))? {
        rows += 1;
        row_end.passed();
        let charge =
            reading.charge(&Texts(&record)).map_err(|message| Problem::Row(rows, message))?;
        if each(charge).is_break() {
            return Ok((reading.form, rows));
        }
    }
    let (is_odd, last) = ending.get();
    if is_odd && last != b'\n' {
        let message = "it ends inside of quotes: the file is not whole".to_owned();
        return Err(Problem::Row(rows, message));
    }
    Ok((reading.form, rows))
}

/// A text of which is known whether it has an odd number of quotes so far, and its last byte: one
/// that ends inside of quotes ends a row for the reader of rows.
struct Watched<R>(R, Rc<cell::Cell<(bool, u8)>>);

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.read(out)?;
        let (is_odd, last) = self.1.get();
        let read = out.get(..bytes).unwrap_or_default();
        let quotes = read.iter().filter(|byte| **byte == b'"').count();
        self.1.set((is_odd ^ (quotes % 2 == 1), read.last().copied().unwrap_or(last)));
        Ok(bytes)
    }
}

struct Texts<'a>(&'a csv::StringRecord);

impl Row for Texts<'_> {
    fn cell(&self, column: usize) -> Result<Cell<'_>, String> {
        Ok(self.0.get(column).map_or(Cell::Absent, Cell::Text))
    }
}

/// What is wrong at a row, counted from one; the header is 0.
fn problem(error: csv::Error, row: u64) -> Problem {
    let words = error.to_string();
    let message = match error.into_kind() {
        csv::ErrorKind::Io(error) => return Problem::Io(error),
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
            format!("{len} cells instead of {expected_len}")
        }
        csv::ErrorKind::Utf8 { .. } => "it is not UTF-8 text".to_owned(),
        _ => words,
    };
    match row {
        0 => Problem::Form(message),
        row => Problem::Row(row, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(names: &str) -> Result<BillForm, String> {
        let header: Vec<String> = names.split(',').map(str::to_owned).collect();
        form_of(&header).map(|(form, _)| form)
    }

    #[test]
    fn the_columns_decide() {
        for (names, expected) in [
            ("lineItem/LineItemType,lineItem/UnblendedCost", BillForm::LegacyCur),
            (
                "line_item_line_item_type,line_item_unblended_cost,product_region",
                BillForm::LegacyCur,
            ),
            ("line_item_unblended_cost,resource_tags,line_item_line_item_type", BillForm::Cur2),
            ("EffectiveCost,BilledCost,ChargeCategory", BillForm::Focus10),
            ("EffectiveCost,BilledCost,ChargeCategory,SkuMeter", BillForm::Focus11),
            ("EffectiveCost,BilledCost,ChargeCategory,SkuMeter,InvoiceId", BillForm::Focus12),
            (
                "EffectiveCost,BilledCost,ChargeCategory,InvoiceId,AllocatedMethodId",
                BillForm::Focus13,
            ),
        ] {
            assert_eq!(form(names), Ok(expected), "{names}");
        }
        let error = form("Date,Description,Amount").expect_err("no bill");
        assert!(error.ends_with("found: Date, Description, Amount"), "{error}");
        let many: Vec<String> = (0..100).map(|n| format!("{n}{}", "x".repeat(500))).collect();
        let error = form(&many.join(",")).expect_err("no bill");
        assert!(error.len() < 800 && error.ends_with(" and 92 more"), "{error}");
    }

    fn rows(text: &[u8]) -> Result<u64, Problem> {
        let options = BillOptions::default();
        let mut each = |_| ControlFlow::Continue(());
        read_csv(text, &options, &mut each).map(|(_, rows)| rows)
    }

    const HEADER: &str = "ChargeCategory,BilledCost,EffectiveCost,BillingCurrency,Tags\r\n";

    #[test]
    fn rows_may_hold_line_ends_in_quotes() {
        let text = format!("{HEADER}Usage,1,1,USD,\"a\nb\"\r\nTax,2,2,USD,\r\n");
        assert_eq!(rows(text.as_bytes()).ok(), Some(2));
    }

    #[test]
    fn every_invalid_row_is_named() {
        for (row, place, says) in [
            ("Usage,1,1,USD\r\n", 1, "4 cells instead of 5"),
            ("Usage,1,1,USD,\r\nUsage,x,1,USD,\r\n", 2, "`x` in `BilledCost`"),
            ("Usage,1,1,,\r\n", 1, "does not say its currency"),
        ] {
            let text = format!("{HEADER}{row}");
            let error = rows(text.as_bytes()).expect_err("invalid");
            let Problem::Row(at, message) = error else {
                panic!("{error:?}");
            };
            assert_eq!(at, place, "{message}");
            assert!(message.contains(says), "{message}");
        }
        let mut bytes = format!("{HEADER}Usage,1,1,USD,").into_bytes();
        bytes.push(0xff);
        assert!(matches!(rows(&bytes), Err(Problem::Row(1, _))));
        assert!(matches!(rows(b""), Err(Problem::Form(_))));
        assert!(matches!(rows(b"a,b\n1,2\n"), Err(Problem::Form(_))));
    }

    #[test]
    fn a_file_that_was_cut_in_its_last_cell_is_refused() {
        let whole =
            format!("{HEADER}Usage,1,1,USD,\"{{a: \"\"b\"\"}}\"\r\nTax,2,2,USD,\"{{}}\"\r\n");
        assert_eq!(rows(whole.as_bytes()).ok(), Some(2));
        let end = whole.len();
        // Without the end of the last row it is whole; before it, the quote is open.
        assert_eq!(rows(&whole.as_bytes()[..end - 2]).ok(), Some(2));
        for cut in [3, 4, 5] {
            let error = rows(&whole.as_bytes()[..end - cut]).expect_err("cut");
            let Problem::Row(row, message) = error else {
                panic!("{error:?}");
            };
            assert_eq!((row, message.starts_with("it ends inside of quotes")), (2, true));
        }
    }

    #[test]
    fn a_row_without_an_end_is_refused() {
        let endless = HEADER.as_bytes().chain(io::repeat(b'x'));
        let options = BillOptions::default();
        let mut each = |_| ControlFlow::Continue(());
        let error = read_csv(endless, &options, &mut each).expect_err("too long");
        assert!(matches!(error, Problem::Io(error) if error.to_string().contains("8 MiB")));
    }
}
