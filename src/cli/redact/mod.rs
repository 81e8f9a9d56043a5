//! `--redact`: an estate that can leave the house. Every text of it is masked by
//! what it is, at its place; nothing is searched for in finished text. Masks come
//! in order of first sight, so the same estate gives the same masks, and what
//! belonged together still does.

mod records;
mod reveal;
mod vocabulary;

use crate::analysis::{is_vocabulary, kind_of_name};
use crate::domain::{
    ANSWER_FIELDS, Cause, Currency, Detail, FALLBACKS, FIGURES, FailureKind, Gap, GapSubject,
    GpuModel, PriceBook, PriceKey, ResourceId, region_of,
};
use crate::rules::{CLUSTER_RULES, RULES};
use crate::savings::MissingData;
use crate::sources::{aws, kubernetes, prometheus};
use crate::usage::Estate;
use jiff::Timestamp;
use records::{Record, Texts};
use std::collections::{BTreeMap, BTreeSet};
use vocabulary::{
    MASKED, is_common_key, is_family, is_given_id, is_price_source, is_region, is_rejection,
    is_time_span, is_type, is_zone,
};

/// Digits of the masks of ids: ids are sorted as text, and their masks in the same
/// order.
const ID_DIGITS: usize = 6;

/// What a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Named {
    Account,
    Address,
    Commitment,
    Family,
    Gpu,
    Host,
    Instance,
    Key,
    Name,
    Operation,
    Place,
    Region,
    Source,
    Type,
    Value,
    Volume,
    Zone,
}

/// Whether a text is what this program asks of a service.
fn is_action(text: &str) -> bool {
    let all = [
        aws::ACTIONS,
        aws::ORG_ACTIONS,
        kubernetes::ACTIONS,
        prometheus::ACTIONS,
    ];
    all.iter().any(|actions| actions.contains(&text))
}

/// Whether a text is a code of a failure that contains no name.
fn is_code(text: &str) -> bool {
    aws::is_known_code(text) || kubernetes::is_known_code(text) || prometheus::is_known_code(text)
}

impl Named {
    fn prefix(self) -> &'static str {
        match self {
            Self::Account => "account",
            Self::Address => "address",
            Self::Commitment => "commitment",
            Self::Family => "family",
            Self::Gpu => "gpu",
            Self::Host => "host",
            Self::Instance => "instance",
            Self::Key => "key",
            Self::Name => "name",
            Self::Operation => "operation",
            Self::Place => "place",
            Self::Region => "region",
            Self::Source => "source",
            Self::Type => "type",
            Self::Value => "value",
            Self::Volume => "volume",
            Self::Zone => "zone",
        }
    }

    /// Whether a text contains no name.
    fn may_stay(self, text: &str) -> bool {
        match self {
            // The account of a machine that only its cluster shows.
            Self::Account => text.is_empty(),
            Self::Family => is_family(text),
            Self::Gpu => !matches!(GpuModel::from_name(text), GpuModel::Other(_)),
            Self::Instance => is_given_id("i-", text),
            Self::Operation => is_action(text),
            Self::Region => is_region(text),
            Self::Source => is_price_source(text),
            Self::Type => is_type(text),
            Self::Volume => is_given_id("vol-", text),
            Self::Zone => is_zone(text),
            _ => false,
        }
    }
}

/// Hands out masks such as `name-1`.
#[derive(Debug, Default)]
pub(super) struct Masks {
    given: BTreeMap<Named, BTreeMap<String, String>>,
    /// Keys of tags that stay because the user's own settings speak of them.
    kept_keys: BTreeSet<String>,
}

/// Masks everything in an estate that can name somebody. Tags stay where a key is
/// common or among those kept; of their values those that verdicts rest on.
pub(super) fn redact(estate: &mut Estate, kept_keys: BTreeSet<String>) -> Masks {
    let mut masks = Masks {
        kept_keys,
        ..Masks::default()
    };
    masks.estate(estate);
    masks
}

impl Masks {
    fn mask(&mut self, named: Named, text: &mut String) {
        if named.may_stay(text) {
            return;
        }
        let id = ResourceId::named(text.as_str());
        let prefix = match (named, id.place()) {
            // A name keeps the kind that it suggests, so that verdicts stay the same.
            (Named::Name, _) => {
                let kind = kind_of_name(text);
                kind.map_or(named.prefix(), |kind| kind.name()).to_owned()
            }
            // The id of a machine without a name is its name.
            (Named::Instance, Some((provider, ..))) => {
                let kind = kind_of_name(id.native());
                let prefix = kind.map_or(named.prefix(), |kind| kind.name());
                format!("{provider}/account/region/{prefix}")
            }
            _ => named.prefix().to_owned(),
        };
        self.mask_as(named, &prefix, text);
    }

    fn mask_as(&mut self, named: Named, prefix: &str, text: &mut String) {
        let given = self.given.entry(named).or_default();
        let next = given.len() + 1;
        let mask = given.entry(text.clone()).or_insert_with(|| match named {
            Named::Instance | Named::Commitment => format!("{prefix}-{next:0ID_DIGITS$}"),
            _ => format!("{prefix}-{next}"),
        });
        text.clone_from(mask);
    }

    fn masked(&mut self, named: Named, text: &str) -> String {
        let mut text = text.to_owned();
        self.mask(named, &mut text);
        text
    }

    fn all(&mut self, named: Named, texts: &mut impl Texts) {
        texts.each(&mut |text| self.mask(named, text));
    }

    /// Masks those that are none of some words.
    fn unless(&mut self, words: &[&str], named: Named, texts: &mut impl Texts) {
        texts.each(&mut |text| {
            if !words.contains(&text.as_str()) {
                self.mask(named, text);
            }
        });
    }

    fn estate(&mut self, estate: &mut Estate) {
        // Whatever a text is, it is decided here: a new field does not compile
        // before it is.
        let Estate {
            as_of: _,
            window: _,
            source: _,
            accounts,
            regions,
            tag_filters,
            period_seconds: _,
            instances,
            out_of_scope,
            scaling_groups,
            shapes,
            usage,
            metrics,
            profiles,
            clusters,
            managed,
            jobs,
            prices,
            commitments,
            opinions,
            gaps,
            api,
        } = estate;
        let ids: BTreeSet<&str> = instances.iter().map(|one| one.id.as_str()).collect();
        for id in ids {
            self.masked(Named::Instance, id);
        }
        let ids: BTreeSet<&str> = commitments.ids().collect();
        for id in ids {
            self.masked(Named::Commitment, id);
        }
        self.all(Named::Account, accounts);
        self.all(Named::Region, regions);
        tag_filters.mask(self);
        instances.mask(self);
        out_of_scope.mask(self);
        scaling_groups.mask(self);
        scaling_groups.sort_by(|left, right| left.key().cmp(&right.key()));
        *shapes = std::mem::take(shapes)
            .into_values()
            .map(|mut shape| {
                shape.mask(self);
                (shape.instance_type.clone(), shape)
            })
            .collect();
        usage.rename(|mut id| {
            self.all(Named::Instance, &mut id);
            id
        });
        metrics.mask(self);
        profiles.mask(self);
        clusters.mask(self);
        managed.mask(self);
        managed.sort();
        jobs.mask(self);
        *prices = self.prices(prices);
        commitments.mask(self);
        opinions.mask(self);
        opinions.sort_by(|left, right| left.key().cmp(&right.key()));
        for gap in gaps {
            *gap = self.gap(gap);
        }
        api.by_operation = std::mem::take(&mut api.by_operation)
            .into_iter()
            .map(|(operation, calls)| (self.masked(Named::Operation, &operation), calls))
            .collect();
    }

    fn tags(&mut self, tags: &mut BTreeMap<String, String>) {
        let own = std::mem::take(tags).into_iter();
        *tags = own.map(|(key, value)| self.tag(key, value)).collect();
    }

    fn tag(&mut self, key: String, mut value: String) -> (String, String) {
        if is_vocabulary(&key, &value) {
            return (key, value);
        }
        match key.as_str() {
            "Name" | "gpucost:workload" | "aws:autoscaling:groupName" => {
                self.mask(Named::Name, &mut value);
            }
            key if self.kept_keys.contains(key) => self.mask(Named::Name, &mut value),
            _ => self.mask(Named::Value, &mut value),
        }
        (self.tag_key(key), value)
    }

    /// A key keeps whose it is: those of AWS and of this program are not grouped by.
    fn tag_key(&mut self, mut key: String) -> String {
        if is_common_key(&key) || self.kept_keys.contains(&key) {
            return key;
        }
        let owner = ["aws:", "gpucost:"]
            .into_iter()
            .find(|owner| key.starts_with(owner));
        self.mask_as(Named::Key, Named::Key.prefix(), &mut key);
        format!("{}{key}", owner.unwrap_or_default())
    }

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
            None => Gap::in_words(
                what,
                place,
                MASKED,
                "see the unredacted report for the reason",
            ),
        }
    }

    fn place(&mut self, what: &GapSubject, place: &str) -> String {
        const PLACES: [&str; 4] = ["account", "cluster", "roll-ups", "this machine"];
        let knows = |masks: &Self, named| {
            let given = masks.given.get(&named);
            given.is_some_and(|given: &BTreeMap<_, _>| given.contains_key(place))
        };
        if PLACES.contains(&place) {
            return place.to_owned();
        }
        let region = region_of(place);
        if let Some(account) = place
            .strip_suffix(region)
            .and_then(|one| one.strip_suffix('/'))
        {
            let account = self.masked(Named::Account, account);
            return format!("{account}/{}", self.masked(Named::Region, region));
        }
        let named = match what {
            GapSubject::Commitment => Named::Commitment,
            GapSubject::Instance => Named::Instance,
            GapSubject::Account => Named::Account,
            _ if knows(self, Named::Account) => Named::Account,
            _ if is_region(place) || knows(self, Named::Region) => Named::Region,
            _ if Named::Instance.may_stay(place) || knows(self, Named::Instance) => Named::Instance,
            _ => Named::Place,
        };
        self.masked(named, place)
    }

    fn cause(&mut self, cause: &Cause) -> Cause {
        let kept = |text: &str, stays: bool| {
            let kept = if stays || text.is_empty() {
                text
            } else {
                MASKED
            };
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
            Detail::Types => {
                let types = text.split(", ").map(|one| self.masked(Named::Type, one));
                types.collect::<Vec<_>>().join(", ")
            }
            Detail::Instance => self.masked(Named::Instance, text),
            Detail::Host => self.masked(Named::Host, text),
            Detail::Hosts => {
                let hosts = text.split(", ").map(|one| self.masked(Named::Host, one));
                hosts.collect::<Vec<_>>().join(", ")
            }
            Detail::Time => kept(text, text.parse::<Timestamp>().is_ok()),
            Detail::Rules => kept(text, each(text, is_rule)),
            Detail::Demand => kept(text, MissingData::from_name(text).is_some()),
            Detail::Figures => kept(text, each(text, |one| FIGURES.contains(&one))),
            Detail::Rejections => kept(text, each(text, is_rejection)),
            Detail::Currency => kept(text, Currency::from_code(text).is_some()),
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
