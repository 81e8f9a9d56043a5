//! The directory that `--history` names.

use super::Io;
use super::args::{EstateArgs, OutputArgs, Resolution};
use super::exit::{ExitCode, Failure};
use super::output::say;
use crate::gather::GatherOptions;
use crate::report::text::counted;
use crate::sources::files::History;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::rc::Rc;

/// Problems that are named one by one.
const MOST_NAMED: usize = 3;

/// Opens the directory, if one is named and metrics are read, for the days of the window.
pub(super) fn open(
    args: &EstateArgs,
    options: &GatherOptions,
    servers: usize,
    now: Timestamp,
) -> Result<Option<Rc<History>>, Failure> {
    let Some(folder) = args.history.as_ref().filter(|_| options.metrics) else {
        return Ok(None);
    };
    if args.resolution == Resolution::Auto {
        return Err(Failure::input(
            "`--history` keeps every period, which `--resolution auto` does not read",
        )
        .with_hint("use `--resolution full`, which reads each day once"));
    }
    if servers > 0 {
        return Err(
            Failure::input("`--history` keeps metrics of CloudWatch alone").with_hint(
                "omit `--prometheus-url` and GPUCOST_PROMETHEUS_URL, or use \
                 `--metrics-source cloudwatch`",
            ),
        );
    }
    let start = options.as_of.checked_sub(options.lookback);
    let date = |at: Timestamp| at.to_zoned(TimeZone::UTC).date();
    let days = (date(start.unwrap_or(Timestamp::MIN)), date(options.as_of));
    let history = History::open(folder, days, now).map_err(|error| {
        Failure::new(ExitCode::Input, error)
            .with_hint("use a directory that can be created and listed")
    })?;
    Ok(Some(Rc::new(history)))
}

/// What could not be read or written. The report does not depend on it: such days were read
/// from CloudWatch.
pub(super) fn warn(history: &History, args: &OutputArgs, io: &mut Io<'_>) {
    let problems = history.problems();
    for problem in problems.iter().take(MOST_NAMED) {
        let line = format!(
            "warning: the history cannot use {problem}\nhint: the metrics were read from \
             CloudWatch; if the file is damaged or missing, delete the file of its name in \
             `usage_run`, which ends this warning"
        );
        say(&line, args, io);
    }
    let further = problems.len().saturating_sub(MOST_NAMED);
    if further > 0 {
        let files = counted(further as u64, "more file", "more files");
        say(
            &format!("warning: the history cannot use {files}"),
            args,
            io,
        );
    }
}
