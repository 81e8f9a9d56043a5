//! Masks, what is handed one, and which real name one stands for.

use super::vocabulary::{
    FLEET_WORDS, OPINIONS, OWNER_KINDS, is_common_key, is_device_resource, is_family, is_given_id,
    is_mig_profile, is_price_source, is_region, is_type, is_zone,
};
use crate::analysis::{is_vocabulary, kind_of_name};
use crate::domain::{GpuModel, ResourceId, StorageResource};
use crate::sources::{aws, kubernetes, prometheus};
use std::collections::{BTreeMap, BTreeSet};

/// Digits of the masks of ids: ids are sorted as text, and their masks in the same
/// order.
const ID_DIGITS: usize = 6;

/// What divides the names of an id.
const DIVIDERS: [char; 3] = ['/', ':', '@'];

/// Whether a text is what this program asks of a service.
pub(super) fn is_action(text: &str) -> bool {
    let lists = [aws::ACTIONS, aws::ORG_ACTIONS, kubernetes::ACTIONS, prometheus::ACTIONS];
    lists.iter().any(|actions| actions.contains(&text))
}

/// What a text names: what its masks begin with, and which texts contain no name. Kinds whose masks
/// begin alike are counted together.
macro_rules! named {
    ($($(#[$doc:meta])* $kind:ident $prefix:literal $may_stay:expr;)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Named { $($(#[$doc])* $kind,)+ }

        impl Named {
            fn prefix(self) -> &'static str {
                match self { $(Self::$kind => $prefix,)+ }
            }

            /// Whether a text contains no name.
            pub(super) fn may_stay(self, text: &str) -> bool {
                let is_open: fn(&str) -> bool = match self { $(Self::$kind => $may_stay,)+ };
                is_open(text)
            }
        }
    };
}

named! {
    /// That of a machine that only its cluster shows is empty.
    Account "account" str::is_empty;
    Address "address" never;
    Commitment "commitment" never;
    DeviceResource "gpu" |text| is_device_resource(text) || is_gpu(text);
    Family "family" is_family;
    FleetWord "value" |text| FLEET_WORDS.contain(text);
    Gpu "gpu" is_gpu;
    Host "host" never;
    Instance "instance" |text| is_given_id("i-", text);
    Key "key" never;
    MigProfile "gpu" |text| is_mig_profile(text) || is_gpu(text);
    Name "name" never;
    Operation "operation" is_action;
    Opinion "value" |text| OPINIONS.contain(text);
    OwnerKind "key" |text| OWNER_KINDS.contain(text);
    Place "place" never;
    Region "region" is_region;
    Source "source" is_price_source;
    Type "type" is_type;
    Value "value" never;
    Volume "volume" |text| is_given_id("vol-", text);
    VolumeType "type" |text| StorageResource::NAMES.contains(&text) || is_type(text);
    Zone "zone" is_zone;
}

fn is_gpu(text: &str) -> bool {
    !matches!(GpuModel::from_name(text), GpuModel::Other(_))
}

fn never(_: &str) -> bool {
    false
}

/// Texts of one kind.
pub(super) trait Texts {
    fn each(&mut self, change: &mut dyn FnMut(&mut String));
}

impl Texts for String {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(self);
    }
}

impl Texts for ResourceId {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        let mut name = self.to_string();
        change(&mut name);
        *self = Self::named(name);
    }
}

impl Texts for GpuModel {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        let mut name = self.name().to_owned();
        change(&mut name);
        *self = Self::from_name(&name);
    }
}

impl Texts for (String, u32) {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        change(&mut self.0);
    }
}

impl<T: Texts> Texts for Option<T> {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.iter_mut().for_each(|texts| texts.each(change));
    }
}

impl<T: Texts> Texts for Vec<T> {
    fn each(&mut self, change: &mut dyn FnMut(&mut String)) {
        self.iter_mut().for_each(|texts| texts.each(change));
    }
}

/// Hands out masks such as `name-1`.
#[derive(Debug, Default)]
pub(in crate::cli) struct Masks {
    /// By what they begin with, each name with its mask.
    pub(super) given: BTreeMap<&'static str, BTreeMap<String, String>>,
    /// Keys of tags that stay because the user's own settings speak of them.
    pub(super) kept_keys: BTreeSet<String>,
}

impl Masks {
    pub(super) fn mask(&mut self, named: Named, text: &mut String) {
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
        let given = self.given.entry(named.prefix()).or_default();
        let next = given.len() + 1;
        let mask = given.entry(text.clone()).or_insert_with(|| match named {
            Named::Instance | Named::Commitment => format!("{prefix}-{next:0ID_DIGITS$}"),
            _ => format!("{prefix}-{next}"),
        });
        text.clone_from(mask);
    }

    pub(super) fn masked(&mut self, named: Named, text: &str) -> String {
        let mut text = text.to_owned();
        self.mask(named, &mut text);
        text
    }

    pub(super) fn all(&mut self, named: Named, texts: &mut impl Texts) {
        texts.each(&mut |text| self.mask(named, text));
    }

    pub(super) fn tags(&mut self, tags: &mut BTreeMap<String, String>) {
        *tags = std::mem::take(tags).into_iter().map(|(key, value)| self.tag(key, value)).collect();
    }

    pub(super) fn tag(&mut self, key: String, mut value: String) -> (String, String) {
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
        let owner = ["aws:", "gpucost:"].into_iter().find(|owner| key.starts_with(owner));
        self.mask_as(Named::Key, Named::Key.prefix(), &mut key);
        format!("{}{key}", owner.unwrap_or_default())
    }

    /// Whether a name of a kind has a mask.
    pub(super) fn knows(&self, named: Named, name: &str) -> bool {
        self.given.get(named.prefix()).is_some_and(|given| given.contains_key(name))
    }

    /// The mask of an instance's id; absent where it has none.
    pub(in crate::cli) fn of_instance(&self, id: &str) -> Option<&str> {
        self.given.get(Named::Instance.prefix())?.get(id).map(String::as_str)
    }

    /// Masked ids, each with the real one that it stands for.
    pub(in crate::cli) fn revealed(&self, masked: Vec<String>) -> Vec<(String, String)> {
        let given = self.given.values().flatten();
        let mut names: BTreeMap<String, String> =
            given.map(|(real, mask)| (mask.clone(), real.clone())).collect();
        let native = |id: &str| ResourceId::named(id).native().to_owned();
        let machines = self.given.get(Named::Instance.prefix()).into_iter().flatten();
        names.extend(machines.map(|(real, mask)| (native(mask), native(real))));
        let pair = |id: String| {
            let real = reveal(&id, &names);
            (id, real)
        };
        masked.into_iter().map(pair).collect()
    }
}

/// Masks hold no divider, but for those of whole ids, which are taken first.
fn reveal(id: &str, names: &BTreeMap<String, String>) -> String {
    if let Some(real) = names.get(id) {
        return real.clone();
    }
    let Some((end, divider)) = id.char_indices().find(|(_, c)| DIVIDERS.contains(c)) else {
        return id.to_owned();
    };
    let (name, rest) = (&id[..end], &id[end + divider.len_utf8()..]);
    let name = names.get(name).map_or(name, String::as_str);
    format!("{name}{divider}{}", reveal(rest, names))
}
