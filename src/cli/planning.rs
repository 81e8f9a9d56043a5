//! What every planner is run with, and how its answer is printed.

use super::args::{DocFormat, EstateArgs, OutputArgs};
use super::choices::name_of;
use super::planner_flags::AnswerArgs;
use super::price_age::PriceAge;
use super::{Io, Outcome, audit, known_prices, output};
use crate::catalog::Prices;
use crate::config::SettingsFile;
use crate::domain::PriceBook;
use crate::report::Doc;
use jiff::Timestamp;
use jiff::civil::Date;
use std::path::Path;

/// A flag, and the file that it names.
pub(super) type Named<'a> = (&'static str, Option<&'a Path>);

pub(super) struct Planning<'a> {
    pub settings: SettingsFile,
    pub format: DocFormat,
    pub age: PriceAge,
    out: &'a OutputArgs,
}

impl<'a> Planning<'a> {
    /// Of a planner without an account. Its answer replaces nothing of `read`.
    pub(super) fn of(args: &'a AnswerArgs, read: &[Named<'_>], io: &Io<'_>) -> Outcome<Self> {
        let (settings, format) = audit::settings(args.format, &args.out, io)?;
        let age = PriceAge::of(args.max_price_age.as_deref(), &settings)?;
        output::check_output(read, &args.out)?;
        Ok(Self { settings, format, age, out: &args.out })
    }

    /// The same of one that may read an estate.
    pub(super) fn of_estate(
        args: &'a EstateArgs,
        format: Option<DocFormat>,
        read: &[Named<'_>],
        io: &Io<'_>,
    ) -> Outcome<Self> {
        let (settings, format) = audit::settings(format, &args.out, io)?;
        let age = PriceAge::of_estate(args, &settings)?;
        output::check_output(read, &args.out)?;
        Ok(Self { settings, format, age, out: &args.out })
    }

    /// The prices of an estate, else those that are known without one.
    pub(super) fn book(
        &self,
        gathered: Option<PriceBook>,
        offline: bool,
        io: &Io<'_>,
    ) -> Outcome<PriceBook> {
        gathered.map_or_else(|| known_prices::book(offline, &self.settings, io), Ok)
    }

    pub(super) fn prices<'b>(&'b self, book: &'b PriceBook) -> Prices<'b> {
        Prices::new(book, &self.settings.policy.discount_percent)
    }

    /// Fails where flags choose rows of tables and the format is none: it has every row.
    pub(super) fn check_rows(&self, refuse: impl FnOnce(&str) -> Outcome<()>) -> Outcome<()> {
        if self.format.is_table() {
            return Ok(());
        }
        refuse(&name_of(self.format))
    }

    /// Prints an answer with so many rows of each table at most, `None` for as many as are usual,
    /// and warns where its oldest price is old at an instant.
    ///
    /// # Errors
    /// When that price is older than accepted.
    pub(super) fn print(
        &self,
        doc: &Doc,
        limit: Option<usize>,
        (oldest, as_of): (Option<Date>, Timestamp),
        io: &mut Io<'_>,
    ) -> Outcome {
        let warning = self.age.check(oldest, as_of)?;
        let code = output::print_rows(doc, self.format, limit, self.out, io)?;
        output::warn(warning, self.out, io);
        Ok(code)
    }

    /// A line on stderr, unless it is quiet.
    pub(super) fn say(&self, line: &str, io: &mut Io<'_>) {
        output::say(line, self.out, io);
    }
}
