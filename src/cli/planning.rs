//! What every planner is run with: flags that planners share, a workload of a recorded estate, and
//! how an answer is printed.

use super::args::{DocFormat, EstateArgs, OutputArgs, positive};
use super::choices::name_of;
use super::demo::DemoChoice;
use super::known_prices::PriceAge;
use super::{Failure, Io, Outcome, audit, estate, flags, hinted, known_prices, output, refusal};
use crate::analysis::{NotMeasured, RunningWorkload, audit as audited, running_workload};
use crate::catalog::Prices;
use crate::config::SettingsFile;
use crate::domain::{PriceBook, Risk, shell_word};
use crate::report::Doc;
use jiff::Timestamp;
use jiff::civil::Date;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::path::{Path, PathBuf};

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

/// The lowest rate that is evaluated, per second: one in eleven days.
const LEAST_PER_SECOND: Decimal = Decimal::from_parts(1, 0, 0, false, 6);
/// Units of time, and how many seconds they have. The first that ends a text is meant.
const UNITS: [(&str, f64); 4] = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3_600.0)];

flags! {
    /// Where prices come from without an account.
    pub(super) struct CatalogArgs {
        /// Operating system
        os: String = arg(long, value_name = "OS", default_value = "linux");
        answer: AnswerArgs = command(flatten);
    }

    /// How old prices may be, and how the answer is printed.
    pub(super) struct AnswerArgs {
        /// Use bundled prices only
        offline: bool = arg(long);
        /// Fail if any price is older than this, such as 90d
        max_price_age: Option<String> = arg(long, value_name = "TIME");
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        out: OutputArgs = command(flatten);
    }
}

/// Flags of an estate, which conflict with those that stand in for it.
pub(super) fn estate_flags() -> impl Iterator<Item = &'static str> {
    "demo from from_kubectl prometheus_url history save commitments redact tag exclude_tag as_of \
     lookback strict allow_empty profile_data rollups"
        .split(' ')
}

/// A rate per second, minute or hour, as one per second. Without a unit it is per second.
pub(super) fn exact_rate(text: &str) -> Result<Decimal, String> {
    let expected = || {
        "expected a rate above zero, at most 1000000000 per second, such as 2/s, 120/min or 7200/h"
            .to_owned()
    };
    let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
    let seconds = match unit.trim() {
        "s" => 1,
        "min" => 60,
        "h" => 3_600,
        _ => return Err(expected()),
    };
    let number = positive(number.trim()).map_err(|_| expected())?;
    let rate = number / Decimal::from(seconds);
    if rate < LEAST_PER_SECOND {
        return Err(expected());
    }
    Ok(rate)
}

/// The same for arithmetic with measurements.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let exact = exact_rate(text)?;
    exact.to_f64().ok_or_else(|| format!("{exact} per second is out of range"))
}

/// A length of time such as `20ms`, `1.5s`, `2m` or `1h`, in seconds; it may be negative or
/// not finite.
pub(super) fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    let mut units = UNITS.iter();
    let (number, unit) = units.find_map(|(name, unit)| Some((text.strip_suffix(*name)?, unit)))?;
    let number: f64 = number.trim().parse().ok()?;
    Some(number * unit)
}

flags! {
    /// Which workload.
    pub(super) struct WorkloadArgs {
        /// Recorded estate that `--workload` is one of
        from: Option<PathBuf> = arg(long, value_name = "FILE", conflicts_with = "demo", help_heading = "Measured");
        /// The same with a built-in demo estate; `starter` if no name is given
        demo: Option<DemoChoice> = arg(long, value_enum, value_name = "NAME", num_args = 0..=1, default_missing_value = "starter", help_heading = "Measured");
        /// Workload of that estate, by name or ID
        workload: Option<String> = arg(long, value_name = "NAME", help_heading = "Measured");
    }
}

impl WorkloadArgs {
    /// What the workload runs on and is paid, with the prices of its estate; `None` where no flag
    /// names any.
    pub(super) fn running(
        &self,
        settings: &SettingsFile,
    ) -> Outcome<Option<(RunningWorkload, PriceBook)>> {
        let estate = estate::recorded(self.from.as_deref(), self.demo, settings)?;
        let (estate, name) = match (estate, &self.workload) {
            (None, None) => return Ok(None),
            (None, Some(_)) => {
                return Err(refusal!("`--workload` is one of an estate";
                "pass `--from FILE` or `--demo` with it"));
            }
            (Some(_), None) => {
                return Err(refusal!("an estate needs `--workload`";
                "{} lists the workloads", self.audit_command()));
            }
            (Some(estate), Some(name)) => (estate, name),
        };
        let audit = audited(&estate, &settings.policy, Risk::Low);
        let running = running_workload(&audit, name, &settings.policy);
        Ok(Some((running.map_err(|error| self.unmeasured(error))?, estate.prices)))
    }

    /// The failure where a workload does not say what is asked.
    fn unmeasured(&self, error: NotMeasured) -> Failure {
        hinted! { error;
            NotMeasured::Unknown { nearest, .. } if !nearest.is_empty() => "did you mean {}?", nearest.join(", ");
            NotMeasured::Several { first, .. } => "pass an ID of `gpucost audit --format json`, such as {first}";
            NotMeasured::Unknown { .. } | NotMeasured::NoGpu(_) | NotMeasured::Unmeasured(_) => "{} lists workloads and what is missing", self.audit_command();
        }
    }

    /// The command that shows the same estate.
    fn audit_command(&self) -> String {
        match (&self.from, self.demo) {
            (Some(path), _) => {
                format!("`gpucost audit --from {}`", shell_word(&path.to_string_lossy()))
            }
            (None, Some(choice)) => format!("`gpucost audit --demo {}`", choice.demo().name()),
            (None, None) => "`gpucost audit`".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_per_second() {
        for text in ["2/s", "2", "120/min", "7200/h", " 2 / s "] {
            assert_eq!(exact_rate(text), Ok(Decimal::TWO), "{text}");
            assert_eq!(rate(text), Ok(2.0), "{text}");
        }
        assert_eq!(rate("0.5"), Ok(0.5));
        assert_eq!(rate("1000000000"), Ok(1e9));
        for bad in [
            "", "0", "0/s", "-1", "-1/s", "2/day", "2/s/s", "NaN", "inf", "1e10", "1000000001",
            "0.003/h", "many",
        ] {
            assert!(exact_rate(bad).is_err(), "{bad}");
            assert!(rate(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn times_have_a_unit() {
        assert_eq!(seconds("1.5s"), Some(1.5));
        assert_eq!(seconds("2m"), Some(120.0));
        assert_eq!(seconds("1h"), Some(3_600.0));
        assert!(seconds("250ms").is_some_and(|seconds| (seconds - 0.25).abs() < 1e-12));
        for bad in ["", "2", "ms", "s", "soon", "1e9"] {
            assert_eq!(seconds(bad), None, "{bad}");
        }
    }
}
