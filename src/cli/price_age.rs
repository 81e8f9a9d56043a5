//! How old a price may be.

use super::Io;
use super::exit::Failure;
use crate::config::{SettingsFile, parse_duration};
use crate::domain::PriceQuote;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

/// Prices older than this are worth a warning.
const WORTH_A_WARNING: SignedDuration = SignedDuration::from_hours(90 * 24);

/// What age is warned of, and what age is refused.
pub(super) struct PriceAge {
    refused: Option<SignedDuration>,
}

impl PriceAge {
    /// From `--max-price-age`, else the settings file.
    pub(super) fn of(flag: Option<&str>, settings: &SettingsFile) -> Result<Self, Failure> {
        let refused =
            match flag {
                Some(text) => Some(parse_duration(text).map_err(|message| {
                    Failure::input(message).with_hint("`--max-price-age 90d`")
                })?),
                None => settings.prices.max_age,
            };
        Ok(Self { refused })
    }

    /// Warns on stderr of the oldest price that is looked at now.
    ///
    /// # Errors
    /// When it is older than accepted.
    pub(super) fn check<'a>(
        &self,
        quotes: impl Iterator<Item = &'a PriceQuote>,
        io: &mut Io<'_>,
    ) -> Result<(), Failure> {
        let oldest = quotes.map(|quote| quote.seen_on).min();
        self.check_at(oldest, io.now, io)
    }

    /// The same for the oldest date of an audit, at the instant it describes.
    pub(super) fn check_at(
        &self,
        oldest: Option<Date>,
        as_of: Timestamp,
        io: &mut Io<'_>,
    ) -> Result<(), Failure> {
        let Some(oldest) = oldest else {
            return Ok(());
        };
        let age = as_of.to_zoned(TimeZone::UTC).date().duration_since(oldest);
        let days = age.as_hours() / 24;
        if let Some(limit) = self.refused.filter(|limit| age > *limit) {
            return Err(Failure::input(format!(
                "the oldest price is of {oldest}, {days} days old; `--max-price-age` accepts {} days",
                limit.as_hours() / 24
            ))
            .with_hint(HINT));
        }
        if age > WORTH_A_WARNING {
            let line = format!(
                "warning: the oldest price is of {oldest}, {days} days old\nhint: {HINT}\n"
            );
            // A closed stderr does not change what stdout got.
            let _ = io.stderr.write_all(line.as_bytes());
        }
        Ok(())
    }
}

const HINT: &str = "`gpucost pricing refresh` reads new prices, as far as an account may";
