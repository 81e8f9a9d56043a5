//! The grid of days and hours of a machine or of one GPU of it.

use super::left;
use crate::analysis::machine_hours;
use crate::domain::{ResourceId, Window, Workload};
use crate::report::shared::sparkline::sparkline;
use crate::report::shared::text::{percent, safe};
use crate::usage::{Estate, HourMean, MachineHours};
use jiff::SignedDuration;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};

const HOURS_A_DAY: usize = 24;
/// Columns of the name of a day.
const DAY_COLUMNS: usize = 10;
/// Columns from which on an hour shows its percentage.
const WIDE: usize = DAY_COLUMNS + HOURS_A_DAY * 4 + 2;
/// What stands where it ran and was not measured.
const MISSING: &str = "·";
const ASCII_MISSING: &str = "?";
/// Days that a key scrolls.
const PAGE: usize = 7;

/// What is shown of the hours of a workload.
#[derive(Debug, Default)]
pub(super) struct Hours {
    /// Which machine of how many, counted from zero.
    machine: usize,
    machines: usize,
    id: Option<ResourceId>,
    /// Which GPU, by its place among those that have hours; absent for all of them.
    gpu: Option<usize>,
    found: Option<(MachineHours, Window)>,
    /// Days that are scrolled out at the end.
    scrolled: usize,
}

impl Hours {
    /// A machine of a workload, counted from zero.
    pub(super) fn of(estate: &Estate, workload: &Workload, machine: usize) -> Self {
        let id = workload.instances.get(machine).cloned();
        Self {
            machine,
            machines: workload.instances.len(),
            found: id.as_ref().and_then(|id| machine_hours(estate, id)),
            id,
            gpu: None,
            scrolled: 0,
        }
    }

    /// GPUs that have a grid beside that of their machine: one alone is the machine.
    fn gpus(&self) -> usize {
        let gpus = self.found.as_ref().map_or(0, |(hours, _)| hours.gpus.len());
        if gpus > 1 { gpus } else { 0 }
    }

    /// Goes on to the next GPU or machine, or back.
    pub(super) fn turn(&mut self, estate: &Estate, workload: &Workload, is_next: bool) {
        let gpus = self.gpus();
        let scrolled = self.scrolled;
        match (is_next, self.gpu) {
            (true, None) if gpus > 0 => self.gpu = Some(0),
            (true, Some(gpu)) if gpu + 1 < gpus => self.gpu = Some(gpu + 1),
            (true, _) if self.machine + 1 < self.machines => {
                *self = Self::of(estate, workload, self.machine + 1);
            }
            (false, Some(gpu)) => self.gpu = gpu.checked_sub(1),
            (false, None) if self.machine > 0 => {
                *self = Self::of(estate, workload, self.machine - 1);
                self.gpu = self.gpus().checked_sub(1);
            }
            _ => {}
        }
        self.scrolled = scrolled;
    }

    pub(super) fn scroll(&mut self, is_back: bool) {
        self.scrolled =
            if is_back { self.scrolled + PAGE } else { self.scrolled.saturating_sub(PAGE) };
    }

    /// What the grid is of.
    pub(super) fn title(&self) -> String {
        let Some(id) = &self.id else { return "no machine".to_owned() };
        let (number, count) = (self.machine + 1, self.machines);
        let machine = (count > 1).then(|| format!("machine {number} of {count}: "));
        let of = match self.gpu.and_then(|gpu| self.found.as_ref()?.0.gpus.get(gpu)) {
            Some((index, _)) => format!("GPU {index} of {}", self.gpus()),
            None if self.gpus() > 0 => format!("mean of {} GPUs", self.gpus()),
            None => "GPU".to_owned(),
        };
        format!("{}{}, {of}", machine.unwrap_or_default(), safe(id.native()))
    }

    fn shown(&self) -> Option<(&[HourMean], Window)> {
        let (hours, window) = self.found.as_ref()?;
        let of_gpu = self.gpu.and_then(|gpu| hours.gpus.get(gpu));
        Some((of_gpu.map_or(hours.all.as_slice(), |(_, hours)| hours.as_slice()), *window))
    }

    /// The hours by day of UTC, ascending; absent outside of the window.
    fn days(&self) -> Vec<(Date, [Option<HourMean>; HOURS_A_DAY])> {
        let mut days: Vec<(Date, [Option<HourMean>; HOURS_A_DAY])> = Vec::new();
        let Some((hours, window)) = self.shown() else { return days };
        for (index, hour) in (0..).zip(hours) {
            let at = window.start + SignedDuration::from_hours(index);
            let local = TimeZone::UTC.to_datetime(at);
            let place = local.hour() as usize;
            match days.last_mut() {
                Some((day, cells)) if *day == local.date() => cells[place] = Some(*hour),
                _ => {
                    let mut cells = [None; HOURS_A_DAY];
                    cells[place] = Some(*hour);
                    days.push((local.date(), cells));
                }
            }
        }
        days
    }

    /// The grid in so many columns and lines, the last days of it unless it is scrolled.
    pub(super) fn lines(
        &self,
        (width, height): (usize, usize),
        (color, ascii): (bool, bool),
    ) -> Vec<Line<'static>> {
        let days = self.days();
        if days.is_empty() {
            return vec![Line::from("  no hours in the window")];
        }
        let drawing = Drawing { is_wide: width >= WIDE, color, ascii };
        let mut lines = vec![Line::from(drawing.header())];
        // Header and legend take a line each.
        let rows = height.saturating_sub(2).max(1);
        let hidden = days.len().saturating_sub(rows);
        let scrolled = self.scrolled.min(hidden);
        let first = hidden - scrolled;
        for (day, cells) in days.iter().skip(first).take(rows) {
            let name = format!("{} {}", day.strftime("%a"), day.strftime("%m-%d"));
            let mut spans = vec![Span::raw(left(&name, DAY_COLUMNS))];
            spans.extend(cells.iter().map(|hour| drawing.cell(*hour)));
            lines.push(Line::from(spans));
        }
        let known = days.iter().flat_map(|(_, cells)| cells.iter().flatten());
        let missing = known.filter(|hour| **hour == HourMean::Missing).count();
        let hidden = match (first, scrolled) {
            (0, 0) => String::new(),
            (before, 0) => format!(" · {before} days before: PgUp"),
            (before, after) => format!(" · {before} days before, {after} after: PgUp, PgDn"),
        };
        lines.push(Line::from(format!(
            "  UTC · {} missing, {missing} h · blank: stopped{hidden}",
            drawing.missing()
        )));
        lines
    }

    /// The mean over the hours that are known; absent where none is.
    pub(super) fn mean(&self) -> Option<String> {
        let (hours, _) = self.shown()?;
        let known = hours.iter().filter_map(|hour| match hour {
            HourMean::Percent(percent) => Some(*percent),
            HourMean::Stopped | HourMean::Missing => None,
        });
        let (sum, count) =
            known.fold((0.0, 0_u32), |(sum, count), percent| (sum + percent, count + 1));
        (count > 0).then(|| percent(sum / f64::from(count)))
    }
}

/// How hours are drawn.
#[derive(Debug, Clone, Copy)]
struct Drawing {
    is_wide: bool,
    color: bool,
    ascii: bool,
}

impl Drawing {
    fn missing(self) -> &'static str {
        if self.ascii { ASCII_MISSING } else { MISSING }
    }

    fn header(self) -> String {
        let columns = if self.is_wide { 4 } else { 2 };
        let hour = |hour: usize| {
            if self.is_wide {
                format!("{hour:>3} ")
            } else if hour.is_multiple_of(3) {
                format!("{hour:<columns$}")
            } else {
                " ".repeat(columns)
            }
        };
        let hours: String = (0..HOURS_A_DAY).map(hour).collect();
        " ".repeat(DAY_COLUMNS) + &hours
    }

    fn cell(self, hour: Option<HourMean>) -> Span<'static> {
        let text = match hour {
            None | Some(HourMean::Stopped) => " ".to_owned(),
            Some(HourMean::Missing) => self.missing().to_owned(),
            Some(HourMean::Percent(mean)) if self.is_wide => format!("{mean:.0}"),
            Some(HourMean::Percent(mean)) => {
                sparkline(&[Some(mean)], 1, self.ascii).unwrap_or_default()
            }
        };
        let text = if self.is_wide { format!("{text:>3} ") } else { text.repeat(2) };
        let style = match hour {
            Some(HourMean::Percent(mean)) if self.color => Style::new().fg(heat(mean)),
            _ => Style::new(),
        };
        Span::styled(text, style)
    }
}

/// The color of a mean: what rests is blue, what works hard is red.
fn heat(mean: f64) -> Color {
    match mean {
        mean if mean < 1.0 => Color::Blue,
        mean if mean < 25.0 => Color::Cyan,
        mean if mean < 60.0 => Color::Green,
        mean if mean < 85.0 => Color::Yellow,
        _ => Color::Red,
    }
}
