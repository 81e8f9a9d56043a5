//! Bills that are kept: a table of the hours of resources for each month and payer.
//!
//! The layout is that of `gpucost history bill`. Of a month and a payer, the newest reading
//! counts.

use super::columns::{AMOUNT_SCALE, Cell, Kind, Schema, TableError, table};
use super::layout::{HistoryError, MOST_MANIFEST_BYTES, Manifest, Seal, keep, time_of};
use super::ledger::Records;
use super::table::write_table;
use crate::domain::{
    BillKept, FileTrouble, Fnv, HourSums, MonthlyBill, ResourceHour, StatedSum, VerifiedHistory,
};
use crate::store::Listed;
use jiff::Timestamp;
use rust_decimal::Decimal;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind};

/// Where bills are kept in a history.
const FOLDER: &str = "archive/v1";
/// Lists of tables.
const LISTS: &str = "bill_run";
/// Percent of the bytes of an earlier table that a later one has at least, unless something is
/// missing from it. Packing makes small differences.
const LEAST_PERCENT: u64 = 95;
/// How the unit of hours is named.
const HOURS: &str = "Hrs";

table! {
    /// What resources cost by the hour. `gpucost history bill` writes the same columns.
    BILL = "bill", 1 << 22;
    /// The cells of a row of [`BILL`].
    ///
    /// # Errors
    /// When a text or a figure is beyond what a table holds.
    fn cells(period: &str, row: &ResourceHour, sums: &HourSums) {
        let option = row.purchase_option.map_or("", |option| option.name());
    }
    "period" Text Cell::text(period)?;
    "account" LongText Cell::long(&row.account)?;
    "region" Text Cell::text(&row.region)?;
    "resource" LongText Cell::long(&row.resource)?;
    "instance_type" Text Cell::text(&row.instance_type)?;
    "hour" Whole Cell::Whole(row.hour);
    "seconds" Whole Cell::Whole(row.seconds);
    "kind" Text Cell::text(row.kind.name())?;
    "purchase_option" Text Cell::text(option)?;
    "unit" Text Cell::text(if row.is_in_hours { HOURS } else { "" })?;
    "currency" Text Cell::text(row.currency.code())?;
    "n" Whole whole(sums.lines)?;
    "quantity" Amount amount(sums.quantity)?;
    "n_quantity" Whole whole(sums.quantity.lines)?;
    "list_cost" Amount amount(sums.list)?;
    "n_list" Whole whole(sums.list.lines)?;
    "contracted_cost" Amount amount(sums.contracted)?;
    "n_contracted" Whole whole(sums.contracted.lines)?;
    "effective_cost" Amount amount(sums.effective)?;
    "n_effective" Whole whole(sums.effective.lines)?;
    "billed_cost" Amount amount(sums.billed)?;
    "n_billed" Whole whole(sums.billed.lines)?;
}

impl Records {
    /// Keeps the bill of a month and a payer as it was read now, where it differs from what was
    /// kept of them last.
    ///
    /// # Errors
    /// When it cannot be written, or the place cannot be listed.
    pub async fn record_bill(
        &self,
        bill: &MonthlyBill,
        now: Timestamp,
    ) -> Result<BillKept, HistoryError> {
        let month = format!("period={}", bill.month.strftime("%Y-%m"));
        let folder = format!("{FOLDER}/{LISTS}/{month}");
        let table = table(bill).map_err(|why| self.failed(&folder, why))?;
        let seal = Seal::of(&table);
        let payer = number_of(&bill.payer);
        let newest = self.newest_bill(&folder, &payer).await;
        let newest = newest.map_err(|why| self.failed(&folder, why))?;
        if newest == Some(seal) {
            return Ok(BillKept::Known);
        }
        let known_bytes = newest.and_then(|known| known.bytes().ok());
        let bytes = table.len() as u64;
        let is_smaller = known_bytes.is_some_and(|known| bytes * 100 < known * LEAST_PERCENT);
        let id = format!("{}-{payer}", time_of(now));
        let name = format!("{FOLDER}/{}/{month}/{id}.parquet", BILL.name);
        keep(self.store(), &name, &table).await.map_err(|why| self.failed(&name, why))?;
        // The list comes last: without it, the table does not count.
        let list = Manifest::of(BTreeMap::from([(BILL.name.to_owned(), seal)]));
        let name = format!("{folder}/{id}.json");
        let text = list.text().map_err(|why| self.failed(&name, why))?;
        keep(self.store(), &name, &text).await.map_err(|why| self.failed(&name, why))?;
        Ok(if is_smaller { BillKept::Smaller } else { BillKept::New })
    }

    /// What the newest list of a payer says of its table; absent where there is none, and where
    /// it cannot be used: the bill is kept once more.
    async fn newest_bill(&self, folder: &str, payer: &str) -> io::Result<Option<Seal>> {
        let listed = self.store().list(folder, None).await?;
        let ending = format!("-{payer}.json");
        let own = listed.iter().map(|object| object.name.as_str());
        // Times in names are in order.
        let Some(newest) = own.filter(|name| name.ends_with(&ending)).max() else {
            return Ok(None);
        };
        let list = self.store().open(newest, MOST_MANIFEST_BYTES).await?;
        Ok(Manifest::read(list).and_then(|list| list.seal(BILL.name)).ok())
    }

    /// Compares every table of bills with what its list says of it, whichever program wrote
    /// both, and adds what is found.
    ///
    /// # Errors
    /// When the place cannot be listed, and when a file cannot be read now.
    pub(super) async fn check_bills(
        &self,
        verified: &mut VerifiedHistory,
    ) -> Result<(), HistoryError> {
        let listed = async |folder: &str| {
            self.store().list(folder, None).await.map_err(|why| self.failed(folder, why))
        };
        let lists = match listed(&format!("{FOLDER}/{LISTS}")).await {
            Ok(lists) => lists,
            // Who checks runs may have no permission for bills, which are beside them.
            Err(error) if error.why.kind() == ErrorKind::PermissionDenied => {
                verified.are_bills_unread = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let tables = listed(&format!("{FOLDER}/{}", BILL.name)).await?;
        let files = || lists.iter().chain(&tables);
        verified.files += files().count() as u64;
        verified.bytes += files().map(|file| file.bytes).sum::<u64>();
        let mut there: BTreeSet<&str> = tables.iter().map(|file| file.name.as_str()).collect();
        let found = &mut verified.found;
        for list in &lists {
            let Some(table) = table_of(list) else {
                let why = "gpucost writes no such file";
                found.push(self.found(FileTrouble::Foreign, &list.name, why));
                continue;
            };
            let opened = self.store().open(&list.name, MOST_MANIFEST_BYTES).await;
            let seal = opened.and_then(Manifest::read).and_then(|list| list.seal(BILL.name));
            let is_there = there.remove(table.as_str());
            match seal {
                Err(why) => self.note_damage(&list.name, why, found)?,
                Ok(_) if !is_there => {
                    let why = format!("{} names it", list.name);
                    found.push(self.found(FileTrouble::Missing, &table, &why));
                }
                Ok(seal) => {
                    let file = self.store().open(&table, seal.length()).await;
                    let checked = file.and_then(|file| seal.checked(file)).map(|_| ());
                    self.store().forget(&table);
                    checked.or_else(|why| self.note_damage(&table, why, found))?;
                }
            }
        }
        for name in there {
            found.push(self.found(FileTrouble::Unlisted, name, "no list names it"));
        }
        Ok(())
    }
}

/// The table that a list of its name is about; `None` for another file.
fn table_of(list: &Listed) -> Option<String> {
    let inside = list.name.strip_prefix(FOLDER)?.strip_prefix('/')?;
    let (month, file) = inside.strip_prefix(LISTS)?.strip_prefix('/')?.split_once('/')?;
    let id = file.strip_suffix(".json")?;
    let is_ours = list.is_regular && !id.starts_with('.') && !id.contains('/');
    is_ours.then(|| format!("{FOLDER}/{}/{month}/{id}.parquet", BILL.name))
}

/// A number for a payer.
fn number_of(payer: &str) -> String {
    let mut number = Fnv::default();
    number.add(payer);
    number.hex()
}

fn table(bill: &MonthlyBill) -> io::Result<Vec<u8>> {
    let period = bill.month.to_string();
    write_table(&BILL, bill.rows.iter().map(|(row, sums)| cells(&period, row, sums)))
}

fn whole(number: u64) -> Result<Cell, TableError> {
    i64::try_from(number).map(|number| Cell::Whole(Some(number))).map_err(|_| TableError::Value)
}

fn amount(sum: StatedSum) -> Result<Cell, TableError> {
    let scaled = sum.sum.map(|sum| {
        let mut sum: Decimal = sum.round_dp(AMOUNT_SCALE);
        sum.rescale(AMOUNT_SCALE);
        // It has fewer decimals where it has too many digits.
        let is_whole = sum.scale() == AMOUNT_SCALE;
        is_whole.then(|| sum.mantissa()).ok_or(TableError::Value)
    });
    Ok(Cell::Amount(scaled.transpose()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Currency, LineKind, PurchaseOption};
    use crate::files::history::tests::{at, done};
    use crate::store::Folder;
    use jiff::civil::Date;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;
    use std::fs::{self, File};
    use std::path::{Path, PathBuf};
    use std::rc::Rc;

    fn stated(amounts: &[&str]) -> StatedSum {
        let amounts = amounts.iter();
        let amounts = amounts.map(|text| text.parse::<Decimal>().expect("a decimal"));
        StatedSum { lines: amounts.len() as u64, sum: amounts.reduce(|sum, amount| sum + amount) }
    }

    /// An hour of an instance with lines of some costs.
    fn bill(payer: &str, costs: &[&str]) -> MonthlyBill {
        let row = ResourceHour {
            account: "444455556666".to_owned(),
            region: String::new(),
            resource: "i-0a".to_owned(),
            instance_type: "p4d.24xlarge".to_owned(),
            hour: Some(at("2026-10-05T03:00:00Z").as_second()),
            seconds: Some(3_600),
            kind: LineKind::Instance,
            purchase_option: Some(PurchaseOption::OnDemand),
            is_in_hours: true,
            currency: Currency::Usd,
        };
        let sums = HourSums {
            lines: costs.len() as u64,
            quantity: stated(&["1"]),
            effective: stated(costs),
            billed: stated(costs),
            ..HourSums::default()
        };
        MonthlyBill {
            month: Date::constant(2026, 10, 1),
            payer: payer.to_owned(),
            rows: BTreeMap::from([(row, sums)]),
        }
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("readable");
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.expect("readable").path()).collect();
        paths.sort();
        paths
    }

    #[test]
    fn the_newest_reading_of_a_payer_counts() {
        let place = tempfile::tempdir().expect("a folder");
        let records = Records::of(Rc::new(Folder::new(place.path().to_owned())));
        let keep = |payer: &str, costs: &[&str], now: &str| {
            done(records.record_bill(&bill(payer, costs), at(now))).expect("writable")
        };
        assert_eq!(keep("1", &["1.5"], "2026-11-02T04:00:00Z"), BillKept::New);
        // The same again is known.
        assert_eq!(keep("1", &["1.5"], "2026-11-02T05:00:00Z"), BillKept::Known);
        assert_eq!(keep("2", &["1.5"], "2026-11-02T06:00:00Z"), BillKept::New);
        assert_eq!(keep("1", &["1.5", "2"], "2026-11-03T04:00:00Z"), BillKept::New);
        assert_eq!(keep("2", &["1.5"], "2026-11-03T05:00:00Z"), BillKept::Known);
        let period = "period=2026-10";
        let lists = files(&place.path().join("archive/v1/bill_run").join(period));
        let names: Vec<&str> = lists.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
        let (one, two) = (number_of("1"), number_of("2"));
        let expected = [
            format!("20261102T040000000Z-{one}"),
            format!("20261102T060000000Z-{two}"),
            format!("20261103T040000000Z-{one}"),
        ];
        assert_eq!(names, expected);
        let tables = files(&place.path().join("archive/v1/bill").join(period));
        assert_eq!(tables.len(), 3);
        // Read by the crate's own reader of rows: 1.5 + 2 of two lines.
        let file = File::open(&tables[2]).expect("a table");
        let reader = SerializedFileReader::new(file).expect("Parquet");
        let mut rows = reader.get_row_iter(None).expect("rows");
        let row = rows.next().expect("a row").expect("whole");
        assert_eq!(row.get_string(0).expect("a text"), "2026-10-01");
        assert_eq!(row.get_string(3).expect("a text"), "i-0a");
        // 2026-10-05T03:00:00Z.
        assert_eq!(row.get_long(5).expect("a number"), 1_791_169_200);
        assert_eq!(row.get_long(11).expect("a number"), 2);
        let effective = row.get_decimal(18).expect("an amount");
        let digits =
            effective.data().iter().fold(0_i128, |number, byte| (number << 8) | i128::from(*byte));
        assert_eq!((digits, effective.scale()), (3_500_000_000_000, 12));
        assert!(row.get_decimal(14).is_err(), "no list price is stated");
        assert!(rows.next().is_none());
    }

    #[test]
    fn an_amount_has_twelve_decimals_or_is_refused() {
        let of = |cost: &str| amount(stated(&[cost]));
        for (cost, expected) in [
            ("1.5", 1_500_000_000_000),
            ("-0.000000000001", -1),
            // Half to even.
            ("0.0000000000015", 2),
            ("0.0000000000025", 2),
        ] {
            let cell = of(cost).expect("it fits");
            assert_eq!(cell, Cell::Amount(Some(expected)), "{cost}");
        }
        // With its decimals, it has more digits than are calculated with.
        assert!(of("100000000000000000").is_err());
        assert!(table(&bill("1", &["100000000000000000"])).is_err());
    }
}
