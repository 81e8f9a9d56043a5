//! What a file may say: a line a key, of which its reader and its schema are made.

use super::reader::{Reader, did_you_mean};
use crate::domain::parse_duration;
use jiff::SignedDuration;
use jiff::civil::Date;
use serde_json::{Value as Json, json};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A length of time.
pub(super) const DURATION: &str = "^0*[1-9][0-9]*[mhd]$";
/// Text that is not blank.
pub(super) const TEXT: &str = r"\S";

/// A key of a table that is read into a `T`.
pub(super) struct Key<T> {
    pub name: &'static str,
    /// Whether a table without it is refused.
    pub is_required: bool,
    pub meaning: &'static str,
    /// The JSON schema of its values.
    pub schema: fn() -> Json,
    pub read: fn(&mut Reader<'_>, &mut T, &Entry<'_, '_>),
}

/// A key with its value, as they stand in a file.
pub(super) struct Entry<'a, 'de> {
    pub name: &'a str,
    /// Line of the key, counted from one.
    pub line: usize,
    pub value: &'a Spanned<DeValue<'de>>,
}

/// Declares the keys of a table, a line each: what it holds, its name, what is done with its
/// value, and what it means. `need` stands before what a table must have. Values that are not of
/// their kind are refused and not handed on.
macro_rules! keys {
    ($( $(#[$doc:meta])* $vis:vis const $name:ident: $type:ty = |$reader:ident, $into:ident, $value:ident, $entry:ident| {
        $( $kind:ident $($sub:ident)? $([$($of:tt)*])? $key:literal, $set:expr, $meaning:literal; )*
    } )+) => { $(
        $(#[$doc])*
        #[allow(unused_variables, reason = "a key may need less than all of them")]
        $vis const $name: &[$crate::config::keys::Key<$type>] = &[$( $crate::config::keys::Key {
            name: $key,
            is_required: keys!(@required $kind $($sub)?),
            meaning: $meaning,
            schema: || keys!(@schema $kind $($sub)? [$($($of)*)?]),
            read: |$reader, $into, $entry| {
                if let Some($value) = keys!(@read $kind $($sub)? $reader $entry [$($($of)*)?]) {
                    $set;
                }
            },
        } ),*];
    )+ };
    (@required need $kind:ident) => { true };
    (@required $kind:ident) => { false };
    (@schema need $kind:ident $of:tt) => { keys!(@schema $kind $of) };
    (@schema text []) => { $crate::config::keys::text($crate::config::keys::TEXT) };
    (@schema form [$form:expr, $parse:expr]) => { $crate::config::keys::text($form) };
    (@schema named [$type:ty]) => { $crate::config::keys::words(<$type>::NAMES) };
    (@schema currency []) => { $crate::config::keys::words($crate::domain::Currency::NAMES) };
    (@schema word [$words:expr]) => { $crate::config::keys::words($words) };
    (@schema known [$names:expr, $what:literal]) => { $crate::config::keys::words(&$names()) };
    (@schema number [$least:expr, $most:expr]) => { $crate::config::keys::number($least, $most) };
    (@schema amount []) => { serde_json::json!({ "type": "number", "minimum": 0 }) };
    (@schema duration []) => { $crate::config::keys::text($crate::config::keys::DURATION) };
    (@schema date []) => { $crate::config::keys::text("^[0-9]{4}-[0-9]{2}-[0-9]{2}$") };
    (@schema texts [$form:expr]) => { $crate::config::keys::texts($form) };
    (@schema table [$keys:expr]) => { $crate::config::keys::object($keys) };
    (@schema tables [$keys:expr]) => {
        serde_json::json!({ "type": "array", "items": $crate::config::keys::object($keys) })
    };
    (@schema tables [$keys:expr, $rule:expr]) => {
        serde_json::json!({ "type": "array", "items": $crate::config::keys::ruled($keys, $rule()) })
    };
    (@schema map [$keys:expr, $rule:expr]) => {
        serde_json::json!({
            "type": "object",
            "additionalProperties": $crate::config::keys::ruled($keys, $rule()),
        })
    };
    (@schema own [$schema:expr, $read:expr]) => { $schema() };
    (@read need $kind:ident $($rest:tt)+) => { keys!(@read $kind $($rest)+) };
    (@read text $reader:ident $entry:ident []) => { $reader.string($entry.value) };
    (@read form $reader:ident $entry:ident [$form:expr, $parse:expr]) => { $reader.parsed($entry.value, $parse) };
    (@read named $reader:ident $entry:ident [$type:ty]) => {
        $reader.named($entry.value, <$type>::NAMES, <$type>::from_name)
    };
    (@read currency $reader:ident $entry:ident []) => {
        $reader.named($entry.value, $crate::domain::Currency::NAMES, $crate::domain::Currency::from_name)
    };
    (@read word $reader:ident $entry:ident [$words:expr]) => {
        $reader.named($entry.value, $words, |word| Some(word.to_owned()))
    };
    (@read known $reader:ident $entry:ident [$names:expr, $what:literal]) => {
        $reader.known($entry.value, &$names(), $what)
    };
    (@read number $reader:ident $entry:ident [$least:expr, $most:expr]) => {
        $reader.number($entry.value, $least, $most)
    };
    (@read amount $reader:ident $entry:ident []) => { $reader.decimal($entry.value) };
    (@read duration $reader:ident $entry:ident []) => { $reader.duration($entry.value) };
    (@read date $reader:ident $entry:ident []) => { $reader.date($entry.value) };
    (@read texts $reader:ident $entry:ident [$form:expr]) => { $reader.strings($entry.value) };
    (@read table $reader:ident $entry:ident [$keys:expr]) => { $reader.table($entry, $keys) };
    (@read tables $reader:ident $entry:ident [$keys:expr $(, $rule:expr)?]) => { $reader.tables($entry, $keys) };
    (@read map $reader:ident $entry:ident [$keys:expr, $rule:expr]) => { $reader.map($entry, $keys) };
    (@read own $reader:ident $entry:ident [$schema:expr, $read:expr]) => { $read($reader, $entry.value) };
}

/// The schema of a text of a form.
pub(super) fn text(form: &str) -> Json {
    json!({ "type": "string", "pattern": form })
}

pub(super) fn words(words: &[&str]) -> Json {
    json!({ "type": "string", "enum": words })
}

pub(super) fn texts(form: &str) -> Json {
    json!({ "type": "array", "minItems": 1, "items": text(form) })
}

pub(super) fn number(least: f64, most: f64) -> Json {
    json!({ "type": "number", "minimum": least, "maximum": most })
}

/// The schema of a table.
pub(super) fn object<T>(keys: &[Key<T>]) -> Json {
    let mut table = json!({ "type": "object", "properties": {}, "additionalProperties": false });
    for key in keys {
        let mut value = (key.schema)();
        if !key.meaning.is_empty() {
            value["description"] = key.meaning.into();
        }
        table["properties"][key.name] = value;
    }
    let required = keys.iter().filter(|key| key.is_required);
    table["required"] = required.map(|key| key.name).collect();
    table
}

/// The schema of a table whose keys depend on each other.
pub(super) fn ruled<T>(keys: &[Key<T>], rule: Json) -> Json {
    let mut table = object(keys);
    if let (Json::Object(table), Json::Object(rule)) = (&mut table, rule) {
        table.extend(rule);
    }
    table
}

impl Reader<'_> {
    /// What a table says, absent where anything in it is wrong. `called` is what messages call
    /// it, and `line` is where it begins.
    pub(super) fn read<T: Default>(
        &mut self,
        table: &DeTable<'_>,
        line: usize,
        called: &str,
        keys: &[Key<T>],
    ) -> Option<T> {
        let (before, mut read) = (self.errors(), T::default());
        for (key, value) in table {
            let name: &str = key.get_ref().as_ref();
            let entry = Entry { name, line: self.line(&key.span()), value };
            if let Some(key) = keys.iter().find(|known| known.name == name) {
                (key.read)(self, &mut read, &entry);
            } else {
                let known: Vec<&str> = keys.iter().map(|known| known.name).collect();
                self.unknown(key.span(), name, &known);
            }
        }
        let has = |name: &str| table.iter().any(|(key, _)| key.get_ref().as_ref() == name);
        let missing = keys.iter().filter(|key| key.is_required && !has(key.name));
        let missing: Vec<String> = missing.map(|key| format!("`{}`", key.name)).collect();
        if !missing.is_empty() {
            let message = format!("incomplete {called}: missing {}", missing.join(", "));
            self.at(line, &message);
        }
        (self.errors() == before).then_some(read)
    }

    /// A table that is there once.
    pub(super) fn table<T: Default>(
        &mut self,
        entry: &Entry<'_, '_>,
        keys: &[Key<T>],
    ) -> Option<T> {
        let called = format!("[{}]", entry.name);
        if let DeValue::Table(table) = entry.value.get_ref() {
            return self.read(table, entry.line, &called, keys);
        }
        self.refuse(entry.value, format!("expected one table {called}"))
    }

    /// A table that may be there often; each with the line of its header.
    pub(super) fn tables<T: Default>(
        &mut self,
        entry: &Entry<'_, '_>,
        keys: &[Key<T>],
    ) -> Option<Vec<(T, usize)>> {
        let called = format!("[[{}]]", entry.name);
        let DeValue::Array(tables) = entry.value.get_ref() else {
            return self
                .refuse(entry.value, format!("expected tables {called}, in double brackets"));
        };
        let mut read = Vec::new();
        for table in tables.iter() {
            let line = self.line(&table.span());
            match table.get_ref() {
                DeValue::Table(table) => {
                    let table = self.read(table, line, &called, keys);
                    read.extend(table.map(|table| (table, line)));
                }
                _ => self.problem(table.span(), format!("expected a table {called}")),
            }
        }
        Some(read)
    }

    /// Tables by names that are free; each with its name and the line of that.
    pub(super) fn map<T: Default>(
        &mut self,
        entry: &Entry<'_, '_>,
        keys: &[Key<T>],
    ) -> Option<Vec<(String, T, usize)>> {
        let DeValue::Table(tables) = entry.value.get_ref() else {
            return self.refuse(entry.value, format!("expected one table [{}]", entry.name));
        };
        let mut read = Vec::new();
        for (key, value) in tables {
            let (name, line): (&str, usize) = (key.get_ref().as_ref(), self.line(&key.span()));
            let called = format!("`{name}`");
            match value.get_ref() {
                DeValue::Table(table) => {
                    let table = self.read(table, line, &called, keys);
                    read.extend(table.map(|table| (name.to_owned(), table, line)));
                }
                _ => self.problem(value.span(), format!("{called} must be a table")),
            }
        }
        Some(read)
    }

    /// One of some words.
    pub(super) fn named<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        words: &[&str],
        read: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        self.parsed(value, |text| {
            words.contains(&text).then(|| read(text)).flatten().ok_or_else(|| {
                let meant = did_you_mean(text, words.iter().copied());
                format!("`{text}` is not one of {}{meant}", words.join(", "))
            })
        })
    }

    /// One of more names than a message can list.
    pub(super) fn known(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        names: &[&str],
        what: &str,
    ) -> Option<String> {
        self.parsed(value, |text| {
            if names.contains(&text) {
                return Ok(text.to_owned());
            }
            let meant = did_you_mean(text, names.iter().copied());
            Err(format!("`{text}` is not {what}{meant}; see docs/rules for all rules"))
        })
    }

    /// A text that is read further.
    pub(super) fn parsed<T>(
        &mut self,
        value: &Spanned<DeValue<'_>>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.string(value)?;
        parse(&text).map_err(|message| self.problem(value.span(), message)).ok()
    }

    /// A length of time, with its text.
    pub(super) fn duration(
        &mut self,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<(String, SignedDuration)> {
        self.parsed(value, |text| Ok((text.to_owned(), parse_duration(text)?)))
    }

    /// A day, with quotes or without.
    pub(super) fn date(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Date> {
        let text = match value.get_ref() {
            DeValue::String(text) => text.to_string(),
            _ => self.written(value).to_owned(),
        };
        let is_day = text.len() == "2026-12-31".len();
        let day: Option<Date> = text.parse().ok().filter(|_| is_day);
        day.or_else(|| self.refuse(value, "expected a date such as 2026-12-31"))
    }

    /// A list of texts, each with its line.
    pub(super) fn strings(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Vec<(String, usize)>> {
        let DeValue::Array(list) = value.get_ref() else {
            return self.refuse(value, "expected a list of quoted strings");
        };
        if list.is_empty() {
            let message = "empty list; add an entry or omit the key";
            self.problem(value.span(), message.to_owned());
        }
        let mut texts = Vec::new();
        for text in list.iter() {
            let line = self.line(&text.span());
            texts.extend(self.string(text).map(|text| (text, line)));
        }
        Some(texts)
    }
}
