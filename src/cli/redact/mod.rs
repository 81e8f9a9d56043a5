//! `--redact`: an estate that can leave the house. Every text of it is masked by
//! what it is, at its place; nothing is searched for in finished text. Masks come
//! in order of first sight, so the same estate gives the same masks, and what
//! belonged together still does.

mod masks;
mod records;
mod vocabulary;

use crate::domain::{
    ANSWER_FIELDS, Cause, Currency, Detail, FALLBACKS, FIGURES, FailureKind, Gap, GapSubject,
    PriceBook, PriceKey, region_of,
};
use crate::rules::{CLUSTER_RULES, RULES};
use crate::savings::MissingData;
use crate::sources::{aws, kubernetes, prometheus};
use crate::usage::Estate;
use jiff::Timestamp;
use masks::{Named, is_action};
use records::Record;
use std::collections::BTreeSet;
use vocabulary::{MASKED, is_common_key, is_region, is_rejection, is_time_span};

pub(super) use masks::Masks;

/// Whether a text is a code of a failure that contains no name.
fn is_code(text: &str) -> bool {
    aws::is_known_code(text) || kubernetes::is_known_code(text) || prometheus::is_known_code(text)
}

/// Masks everything in an estate that can name somebody. Tags stay where a key is
/// common or among those kept; of their values those that verdicts rest on.
pub(super) fn redact(estate: &mut Estate, kept_keys: BTreeSet<String>) -> Masks {
    let mut masks = Masks { kept_keys, ..Masks::default() };
    // Masks of ids are sorted as the ids are.
    let ids: BTreeSet<&str> =
        estate.instances.iter().map(|instance| instance.id.as_str()).collect();
    for id in ids {
        masks.masked(Named::Instance, id);
    }
    let ids: BTreeSet<&str> = estate.commitments.ids().collect();
    for id in ids {
        masks.masked(Named::Commitment, id);
    }
    estate.mask(&mut masks);
    masks
}

impl Masks {
    fn prices(&mut self, prices: &PriceBook) -> PriceBook {
        let mut masked = PriceBook::default();
        for (key, quote) in prices.iter() {
            let mut quote = quote.clone();
            self.mask(Named::Source, &mut quote.source);
            let own = PriceKey {
                provider: key.provider,
                region: self.masked(Named::Region, &key.region),
                instance_type: self.masked(Named::Type, &key.instance_type),
                operating_system: key.operating_system,
                tenancy: key.tenancy,
                option: key.option,
                zone: key.zone.as_ref().map(|zone| self.masked(Named::Zone, zone)),
            };
            if let Some(history) = prices.spot_history(key) {
                masked.insert_spot_history(own.clone(), history.clone());
            }
            masked.insert(own, quote);
        }
        for (region, resource, quote) in prices.iter_storage() {
            let mut quote = quote.clone();
            self.mask(Named::Source, &mut quote.source);
            masked.insert_storage(&self.masked(Named::Region, region), resource, quote);
        }
        masked
    }

    /// A gap keeps the words of its cause; one that has none keeps what it is about.
    fn gap(&mut self, gap: &Gap) -> Gap {
        let what = match &gap.what {
            GapSubject::Other(_) => GapSubject::Other(MASKED.into()),
            known => known.clone(),
        };
        let place = self.place(&gap.what, &gap.place);
        match &gap.cause {
            Some(cause) => Gap::of(what, place, self.cause(cause)),
            None => Gap::in_words(what, place, MASKED, "see the unredacted report for the reason"),
        }
    }

    fn place(&mut self, what: &GapSubject, place: &str) -> String {
        const PLACES: [&str; 4] = ["account", "cluster", "roll-ups", "this machine"];
        if PLACES.contains(&place) {
            return place.to_owned();
        }
        let region = region_of(place);
        if let Some(account) = place.strip_suffix(region).and_then(|rest| rest.strip_suffix('/')) {
            let account = self.masked(Named::Account, account);
            return format!("{account}/{}", self.masked(Named::Region, region));
        }
        let named = match what {
            GapSubject::Commitment => Named::Commitment,
            GapSubject::Instance => Named::Instance,
            GapSubject::Account => Named::Account,
            _ if self.knows(Named::Account, place) => Named::Account,
            _ if is_region(place) || self.knows(Named::Region, place) => Named::Region,
            _ if Named::Instance.may_stay(place) || self.knows(Named::Instance, place) => {
                Named::Instance
            }
            _ => Named::Place,
        };
        self.masked(named, place)
    }

    fn cause(&mut self, cause: &Cause) -> Cause {
        let kept = |text: &str, stays: bool| {
            let kept = if stays || text.is_empty() { text } else { MASKED };
            kept.to_owned()
        };
        cause.map(|detail, text| match detail {
            Detail::Action => kept(text, is_action(text)),
            Detail::Failure => kept(text, FailureKind::from_name(text).is_some()),
            Detail::Code => kept(text, is_code(text)),
            Detail::Foreign | Detail::Words => kept(text, false),
            Detail::Fallback => kept(text, FALLBACKS.contains(&text)),
            Detail::Field => kept(text, ANSWER_FIELDS.contains(&text)),
            Detail::Count => kept(text, text.parse::<u64>().is_ok()),
            Detail::Region => self.masked(Named::Region, text),
            Detail::Types | Detail::Hosts => {
                let named = if detail == Detail::Types { Named::Type } else { Named::Host };
                let names = text.split(", ").map(|name| self.masked(named, name));
                names.collect::<Vec<_>>().join(", ")
            }
            Detail::Instance => self.masked(Named::Instance, text),
            Detail::Host => self.masked(Named::Host, text),
            Detail::Time => kept(text, text.parse::<Timestamp>().is_ok()),
            Detail::Rules => kept(text, each(text, is_rule)),
            Detail::Demand => kept(text, MissingData::from_name(text).is_some()),
            Detail::Figures => kept(text, each(text, |figure| FIGURES.contains(&figure))),
            Detail::Rejections => kept(text, each(text, is_rejection)),
            Detail::Currency => kept(text, Currency::from_name(text).is_some()),
            Detail::Commitment => self.masked(Named::Commitment, text),
            Detail::Tag => kept(text, is_common_key(text)),
            Detail::Elapsed => kept(text, is_time_span(text)),
        })
    }
}

/// Whether every part of a list is of a sort.
fn each(list: &str, is_of: impl Fn(&str) -> bool) -> bool {
    list.split(", ").all(is_of)
}

fn is_rule(id: &str) -> bool {
    RULES.iter().any(|rule| rule.meta().id == id) || CLUSTER_RULES.contains(&id)
}

#[cfg(test)]
mod tests;
