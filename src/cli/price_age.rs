//! How old a price may be.

use super::args::EstateArgs;
use super::{Failure, Outcome, refusal};
use crate::config::{SettingsFile, parse_duration};
use crate::domain::counted;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Prices older than this are worth a warning.
const WORTH_A_WARNING: SignedDuration = SignedDuration::from_hours(90 * 24);

/// What age is warned of, and what age is refused.
pub(super) struct PriceAge {
    refused: Option<SignedDuration>,
    warned: bool,
}

impl PriceAge {
    /// From `--max-price-age`, else the settings file.
    pub(super) fn of(flag: Option<&str>, settings: &SettingsFile) -> Outcome<Self> {
        let refused = match flag {
            Some(text) => {
                let limit = parse_duration(text).map_err(anyhow::Error::msg);
                let hint = "use a duration, such as `--max-price-age 90d`";
                Some(limit.map_err(Failure::hinted(hint))?)
            }
            None => settings.prices.max_age,
        };
        Ok(Self { refused, warned: true })
    }

    /// The same for an estate. The prices of a demo are old by design.
    pub(super) fn of_estate(args: &EstateArgs, settings: &SettingsFile) -> Outcome<Self> {
        Ok(Self {
            warned: args.demo.is_none(),
            ..Self::of(args.max_price_age.as_deref(), settings)?
        })
    }

    /// What to warn of, given the oldest day that a price was read on and the
    /// instant that is evaluated.
    ///
    /// # Errors
    /// When it is older than accepted.
    pub(super) fn check(&self, oldest: Option<Date>, as_of: Timestamp) -> Outcome<Option<String>> {
        let Some(oldest) = oldest else { return Ok(None) };
        let age = as_of.to_zoned(TimeZone::UTC).date().duration_since(oldest);
        let days = counted(age.as_hours() / 24, "day", "days");
        if let Some(limit) = self.refused.filter(|limit| age > *limit) {
            return Err(refusal!(
                "the oldest price is from {oldest}, {days} old; `--max-price-age` allows {}",
                counted(limit.as_hours() / 24, "day", "days");
                "{HINT}"));
        }
        Ok((self.warned && age > WORTH_A_WARNING).then(|| {
            format!("warning: the oldest price is from {oldest}, {days} old\nhint: {HINT}")
        }))
    }
}

const HINT: &str = "run `gpucost pricing refresh` with an AWS account, or `gpucost pricing \
                    refresh --public` without one, to read today's prices";
