//! Figures as characters: times, sizes, bars and sparklines of a given width.

use super::view::{History, LiveView};
use crate::domain::HourlyRate;
use crate::report::shared::text::{ABSENT, rounded};
use ratatui::style::{Color, Modifier, Style};

const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Stands in a sparkline where a sample did not report it.
const NOT_REPORTED: char = '·';
const MIB_PER_GIB: f64 = 1024.0;

/// The last samples as a line of bars, the newest at the right end; a point where
/// nothing was reported, spaces where there was no sample yet.
pub(super) fn sparkline(history: &History, width: usize) -> String {
    let padding = width.saturating_sub(history.len());
    let levels = history.newest(width).map(|percent| match percent {
        Some(percent) => level(percent),
        None => NOT_REPORTED,
    });
    " ".repeat(padding).chars().chain(levels).collect()
}

fn level(percent: f64) -> char {
    let eighths = (percent.clamp(0.0, 100.0) / 100.0 * 8.0).ceil() as usize;
    LEVELS[eighths.saturating_sub(1).min(LEVELS.len() - 1)]
}

/// A bar that is filled so far; only points when the share is absent. What is
/// not zero shows, and what is not full has a part left.
pub(super) fn bar(percent: Option<f64>, width: usize) -> String {
    let Some(percent) = percent else { return NOT_REPORTED.to_string().repeat(width) };
    let exact = percent.clamp(0.0, 100.0) / 100.0 * width as f64;
    let mut filled = exact.round() as usize;
    if exact > 0.0 {
        filled = filled.max(1);
    }
    if exact < width as f64 {
        filled = filled.min(width.saturating_sub(1));
    }
    "█".repeat(filled) + &"░".repeat(width - filled)
}

/// A color, where the terminal has some.
pub(super) fn accent(view: &LiveView, color: Color) -> Style {
    if view.color { Style::new().fg(color) } else { Style::new() }
}

pub(in crate::report) fn bold() -> Style {
    Style::new().add_modifier(Modifier::BOLD)
}

pub(super) fn dim() -> Style {
    Style::new().add_modifier(Modifier::DIM)
}

/// A share without decimals, such as `41%`.
pub(super) fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| ABSENT.to_owned(), |share| format!("{share:.0}%"))
}

/// MiB as GiB with one decimal.
pub(super) fn gib(mib: Option<f64>) -> String {
    mib.map_or_else(|| ABSENT.to_owned(), |mib| format!("{:.1}", mib / MIB_PER_GIB))
}

/// A figure without decimals.
pub(super) fn whole(figure: Option<f64>) -> String {
    figure.map_or_else(|| ABSENT.to_owned(), |figure| format!("{figure:.0}"))
}

/// Bytes per second with a unit, such as `1.2 GB/s`.
pub(in crate::report) fn bytes_per_second(rate: f64) -> String {
    let (mut figure, mut unit) = (rate, "B/s");
    for larger in ["kB/s", "MB/s", "GB/s"] {
        // What would be shown as 1000 of a unit is 1 of the next.
        if figure < 999.5 {
            break;
        }
        figure /= 1000.0;
        unit = larger;
    }
    let decimals = usize::from(unit == "GB/s" || (figure < 9.95 && unit != "B/s"));
    format!("{figure:.decimals$} {unit}")
}

/// A span of time in its two or three largest units, such as `12m 04s`.
pub(super) fn span(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    let (minutes, seconds) = (seconds / 60, seconds % 60);
    let (hours, minutes) = (minutes / 60, minutes % 60);
    let (days, hours) = (hours / 24, hours % 24);
    if days > 0 {
        format!("{days}d {hours:02}h {minutes:02}m")
    } else if hours > 0 {
        format!("{hours}h {minutes:02}m {seconds:02}s")
    } else if minutes > 0 {
        format!("{minutes}m {seconds:02}s")
    } else {
        format!("{seconds}s")
    }
}

/// A price per hour, such as `$5.6720/h`.
pub(super) fn rate(rate: HourlyRate) -> String {
    format!("{}{}/h", rate.currency().sign(), rounded(rate.amount(), 4))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sparkline_shows_the_newest_at_its_right_end() {
        let mut history = History::default();
        for percent in [0.0, 12.5, 12.6, 50.0, 99.0, 100.0, 250.0] {
            history.push(Some(percent));
        }
        history.push(None);
        assert_eq!(sparkline(&history, 10), "  ▁▁▂▄███·");
        assert_eq!(sparkline(&history, 3), "██·");
        for _ in 0..500 {
            history.push(Some(0.0));
        }
        assert_eq!(sparkline(&history, 200).trim_start(), "▁".repeat(120));
    }

    #[test]
    fn a_bar_is_full_only_when_all_is_used_and_empty_only_when_nothing_is() {
        assert_eq!(bar(Some(0.0), 4), "░░░░");
        assert_eq!(bar(Some(0.1), 4), "█░░░");
        assert_eq!(bar(Some(50.0), 4), "██░░");
        assert_eq!(bar(Some(99.9), 4), "███░");
        assert_eq!(bar(Some(100.0), 4), "████");
        assert_eq!(bar(None, 4), "····");
    }

    #[test]
    fn times_and_rates_read_well() {
        for (seconds, text) in [
            (0.9, "0s"),
            (59.9, "59s"),
            (724.0, "12m 04s"),
            (3_600.0, "1h 00m 00s"),
            (90_061.0, "1d 01h 01m"),
        ] {
            assert_eq!(span(seconds), text);
        }
        for (rate, text) in [
            (0.0, "0 B/s"),
            (999.0, "999 B/s"),
            (999.7, "1.0 kB/s"),
            (52_400_000.0, "52 MB/s"),
            (1_240_000_000.0, "1.2 GB/s"),
            (25_000_000_000.0, "25.0 GB/s"),
        ] {
            assert_eq!(bytes_per_second(rate), text);
        }
    }
}
