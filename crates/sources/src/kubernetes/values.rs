//! Values as the API of Kubernetes writes them, in whatever object they are.

use crate::files::AtMost;
use jiff::Timestamp;
use rust_decimal::Decimal;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;

/// Parts of one object, such as containers of a pod.
const MOST_PARTS: usize = 10_000;

pub(super) type Parts<T> = AtMost<T, MOST_PARTS>;
pub(super) type Amounts = BTreeMap<String, Quantity>;

/// Parts of objects, with what is said of anything else in their place. Every field may be
/// absent, and those that are not in brackets may be `null`.
macro_rules! wire {
    ($($(#[$outer:meta])* struct $name:ident = $expecting:literal {
        $([$($(#[$with:meta])* $field:ident: $type:ty),+ $(,)?])?
        $($(#[$attribute:meta])* $null:ident: $null_type:ty,)*
    })*) => {$(
        $(#[$outer])*
        #[derive(Debug, Default, Deserialize)]
        #[serde(rename_all = "camelCase", default, expecting = $expecting)]
        pub(super) struct $name {
            $($($(#[$with])* pub $field: $type,)+)?
            $(
                $(#[$attribute])*
                #[serde(deserialize_with = "crate::kubernetes::values::or_default")]
                pub $null: $null_type,
            )*
        }
    )*};
}
pub(super) use wire;

/// What may be absent or `null`.
pub(super) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::<T>::deserialize(deserializer).map(Option::unwrap_or_default)
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Time(pub Timestamp);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = text.parse::<Timestamp>().map_err(|error| {
            D::Error::custom(format!("`{text}` is not an RFC 3339 time: {error}"))
        })?;
        Ok(Self(time))
    }
}

/// An amount such as `500m` or `16Gi`; never negative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quantity(pub Decimal);

impl Quantity {
    fn parse(text: &str) -> Option<Self> {
        let is_of_number = |c: char| c.is_ascii_digit() || "+-.".contains(c);
        let end = text.find(|c: char| !is_of_number(c)).unwrap_or(text.len());
        let (number, suffix) = text.split_at(end);
        let number: Decimal = number.parse().ok()?;
        let mut thousands = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"].into_iter().zip(-3..);
        let mut binary = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter().zip(1_u32..);
        let of_thousands = thousands.find(|(name, _)| *name == suffix);
        let of_binary = binary.find(|(name, _)| *name == suffix);
        let factor = match (of_thousands, of_binary) {
            (Some((_, power)), _) => power_of_ten(3 * power)?,
            (_, Some((_, power))) => Decimal::from(1_u64 << (10 * power)),
            _ => power_of_ten(suffix.strip_prefix(['e', 'E'])?.parse().ok()?)?,
        };
        let amount = number.checked_mul(factor)?;
        (!amount.is_sign_negative()).then_some(Self(amount))
    }

    /// In units of which there are so many in one, rounded up.
    pub(super) fn in_units(self, per_one: u32) -> u64 {
        let units = self.0.checked_mul(Decimal::from(per_one));
        units.map_or(u64::MAX, |units| u64::try_from(units.ceil()).unwrap_or(u64::MAX))
    }
}

fn power_of_ten(power: i32) -> Option<Decimal> {
    let of = |power: i32| 10_u64.checked_pow(u32::try_from(power).ok()?);
    if power < 0 {
        Decimal::ONE.checked_div(Decimal::from(of(-power)?))
    } else {
        of(power).map(Decimal::from)
    }
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| {
            D::Error::custom(format!("`{text}` is not a quantity such as 500m or 16Gi"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_suffixes_of_ten_and_of_two() {
        for (text, amount) in [
            ("0", "0"),
            ("8", "8"),
            ("500m", "0.5"),
            ("1.5", "1.5"),
            ("100n", "0.0000001"),
            ("2k", "2000"),
            ("16Gi", "17179869184"),
            ("1Ki", "1024"),
            ("1E", "1000000000000000000"),
            ("12e3", "12000"),
            ("5E-1", "0.5"),
        ] {
            let parsed = Quantity::parse(text).map(|quantity| quantity.0.normalize().to_string());
            assert_eq!(parsed.as_deref(), Some(amount), "{text}");
        }
        for text in ["", "-1", "much", "1 Gi", "1Gib", "1e99", "1e", "Gi", "1i"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
        let units = |text: &str, per_one| Quantity::parse(text).expect("valid").in_units(per_one);
        assert_eq!(units("1500m", 1_000), 1_500);
        // A fraction of a unit takes a whole one.
        assert_eq!(units("1u", 1_000), 1);
        assert_eq!(units("79228162514264337593543950335", 1_000), u64::MAX);
    }
}
