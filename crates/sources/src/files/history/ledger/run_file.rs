//! The file of a run: what it read and summed up, and the tables that it wrote. It is JSON in one
//! line, which is how engines read it, that ends with a checksum of the rest.

use crate::domain::{Currency, Money, PastGap, PastTotals, RecordedRun, TagFilter};
use crate::files::history::layout::{Named, Seal, checksum};
use crate::files::shared::bounded::bounded;
use crate::files::shared::same_fields;
use crate::store::invalid;
use jiff::civil::Date;
use rust_decimal::Decimal;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::str::FromStr;

/// The version of the file.
const FORMAT: u32 = 1;
/// Bytes of a file.
pub(in crate::files::history) const MOST_BYTES: u64 = 1 << 20;

/// A run, with the files of its tables by name.
#[derive(Debug, PartialEq)]
pub(in crate::files::history) struct RunFile {
    pub run: RecordedRun,
    pub files: BTreeMap<String, Seal>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    format: u32,
    gpucost_version: String,
    run_id: String,
    as_of: String,
    scope: String,
    source: String,
    accounts: Vec<String>,
    regions: Vec<String>,
    tag_filters: Vec<TagWire>,
    days: Vec<String>,
    totals: TotalsWire,
    /// Absent in files of runs that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    promises: Option<Vec<PromiseWire>>,
    gaps: u64,
    unread: Vec<PastGap>,
    prices_seen_on: Option<String>,
    files: BTreeMap<String, Seal>,
}

#[derive(Serialize, Deserialize)]
struct TagWire {
    key: String,
    value: String,
    is_excluded: bool,
}

#[derive(Serialize, Deserialize)]
struct TotalsWire {
    currency: String,
    instances: u64,
    gpus: u64,
    unpriced_instances: u64,
    monthly_cost: Option<String>,
    planned_monthly_cost: Option<String>,
    monthly_savings: Option<String>,
    monthly_waste: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct PromiseWire {
    currency: String,
    term_total: String,
}

impl RunFile {
    /// The text of the file.
    ///
    /// # Errors
    /// When it is longer than a file of a run may be.
    pub(super) fn text(&self) -> io::Result<Vec<u8>> {
        let text = sealed(&Wire::of(self))?;
        if text.len() as u64 > MOST_BYTES {
            return Err(invalid("its accounts, regions and gaps take more than 1 MiB"));
        }
        Ok(text)
    }

    /// Reads the file of a name.
    ///
    /// # Errors
    /// When it cannot be read, is not as it was written or of another format, or is that of
    /// another run.
    pub(in crate::files::history) fn read(file: File, id: &str) -> io::Result<Self> {
        let mut text = Vec::new();
        bounded(file, MOST_BYTES).read_to_end(&mut text)?;
        check(&text)?;
        let wire: Wire = serde_json::from_slice(&text)?;
        if wire.format != FORMAT {
            return Err(invalid("it has another format"));
        }
        let is_of = |name: &String| Named::of(name).is_some_and(|named| named.id == id);
        let has_scope = id.rsplit_once('-').is_some_and(|(_, of)| of == wire.scope);
        if wire.run_id != id || !has_scope || !wire.files.keys().all(is_of) {
            return Err(invalid("it is the file of another run"));
        }
        wire.run_file()
    }
}

impl Wire {
    fn of(file: &RunFile) -> Self {
        let run = file.run.clone();
        let amount = |money: Option<Money>| money.map(|money| money.amount().to_string());
        let promise = |term_total: &Money| PromiseWire {
            currency: term_total.currency().code().to_owned(),
            term_total: term_total.amount().to_string(),
        };
        let tag = |tag: TagFilter| same_fields!(tag => TagWire { key, value, is_excluded });
        let totals = run.totals;
        same_fields!(run => Wire {
            gpucost_version, run_id, scope, source, accounts, regions, unread;
            format: FORMAT,
            as_of: run.as_of.to_string(),
            tag_filters: run.tag_filters.into_iter().map(tag).collect(),
            days: run.days.iter().map(ToString::to_string).collect(),
            totals: same_fields!(totals => TotalsWire {
                instances, gpus, unpriced_instances;
                currency: totals.currency.code().to_owned(),
                monthly_cost: amount(totals.monthly_cost),
                planned_monthly_cost: amount(totals.planned_monthly_cost),
                monthly_savings: amount(totals.monthly_savings),
                monthly_waste: amount(totals.monthly_waste),
            }),
            promises: run.promises.map(|all| all.iter().map(promise).collect()),
            gaps: run.gaps_count,
            prices_seen_on: run.prices_seen_on.map(|day| day.to_string()),
            files: file.files.clone(),
        })
    }

    fn run_file(self) -> io::Result<RunFile> {
        let totals = self.totals;
        let currency = currency_of(&totals.currency)?;
        let promise = |promise: PromiseWire| -> io::Result<Money> {
            Ok(Money::new(parsed(&promise.term_total)?, currency_of(&promise.currency)?))
        };
        let promises: Option<io::Result<Vec<Money>>> =
            self.promises.map(|all| all.into_iter().map(promise).collect());
        let tag = |tag: TagWire| same_fields!(tag => TagFilter { key, value, is_excluded });
        let money = |amount: Option<String>| -> io::Result<Option<Money>> {
            let amount = amount.map(|amount| parsed::<Decimal>(&amount)).transpose()?;
            Ok(amount.map(|amount| Money::new(amount, currency)))
        };
        let days: io::Result<Vec<Date>> = self.days.iter().map(|day| parsed(day)).collect();
        let seen_on = self.prices_seen_on.map(|day| parsed(&day)).transpose()?;
        let run = same_fields!(self => RecordedRun {
            run_id, scope, source, accounts, regions, unread, gpucost_version;
            as_of: parsed(&self.as_of)?,
            tag_filters: self.tag_filters.into_iter().map(tag).collect(),
            days: days?,
            totals: same_fields!(totals => PastTotals {
                instances, gpus, unpriced_instances;
                currency,
                monthly_cost: money(totals.monthly_cost)?,
                planned_monthly_cost: money(totals.planned_monthly_cost)?,
                monthly_savings: money(totals.monthly_savings)?,
                monthly_waste: money(totals.monthly_waste)?,
            }),
            promises: promises.transpose()?,
            gaps_count: self.gaps,
            prices_seen_on: seen_on,
        });
        Ok(RunFile { run, files: self.files })
    }
}

fn currency_of(code: &str) -> io::Result<Currency> {
    Currency::from_name(code).ok_or_else(|| invalid("it has a currency that is not known"))
}

fn parsed<T: FromStr>(text: &str) -> io::Result<T> {
    text.parse().map_err(|_| invalid("it has a date or an amount that gpucost does not write"))
}

/// What is between the rest and the checksum.
const MARK: &[u8] = b",\"crc32\":";
/// What is after it.
const END: &[u8] = b"}\n";

/// The text of an object that has keys.
///
/// # Errors
/// When it cannot be written as JSON.
pub(super) fn sealed<T: Serialize>(object: &T) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(object)?;
    // Its end comes after the checksum.
    text.pop();
    Ok(with_checksum(text))
}

fn with_checksum(mut text: Vec<u8>) -> Vec<u8> {
    let sum = checksum(&text).to_string();
    for part in [MARK, sum.as_bytes(), END] {
        text.extend_from_slice(part);
    }
    text
}

/// Checks that a text is as [`sealed`] wrote it.
///
/// # Errors
/// When it is not.
pub(super) fn check(text: &[u8]) -> io::Result<()> {
    let rest = text.strip_suffix(END).unwrap_or_default();
    let mut parts = rest.windows(MARK.len());
    let is_whole = parts.rposition(|part| part == MARK).is_some_and(|at| {
        let (own, sum) = rest.split_at(at);
        sum.get(MARK.len()..) == Some(checksum(own).to_string().as_bytes())
    });
    if !is_whole {
        return Err(invalid("its checksum is not the one that was written"));
    }
    Ok(())
}

/// A text that was changed on purpose, with the checksum of what it is now.
#[cfg(test)]
pub(in crate::files::history) fn resealed(text: &str) -> Vec<u8> {
    let mark = std::str::from_utf8(MARK).expect("it is text");
    let (own, _) = text.rsplit_once(mark).expect("it has a checksum");
    with_checksum(own.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn every_changed_bit_is_found_and_the_text_is_json() {
        let object = json!({"a": 1, "text": ",\"crc32\":7}\n"});
        let text = sealed(&object).expect("JSON");
        // The CRC-32 of what is before it, by zlib of Python.
        assert!(text.ends_with(b",\"crc32\":3919650846}\n"));
        assert!(check(&text).is_ok());
        let mut read: Value = serde_json::from_slice(&text).expect("JSON");
        let sum = read.as_object_mut().and_then(|all| all.remove("crc32"));
        assert!(sum.is_some());
        assert_eq!(read, object);
        for at in 0..text.len() {
            for bit in 0..8 {
                let mut changed = text.clone();
                changed[at] ^= 1_u8 << bit;
                assert!(check(&changed).is_err(), "bit {bit} of byte {at}");
            }
            assert!(check(&text[..at]).is_err(), "{at} bytes");
        }
        assert!(check(b"").is_err());
    }
}
