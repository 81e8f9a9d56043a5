//! A series of percentages as a row of small bars.

use crate::domain::Workload;

/// Bars from the lowest eighth to the whole of a cell, and what stands for them in ASCII.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const ASCII_BARS: [char; 8] = ['_', '.', '-', '=', '+', '*', '#', '@'];
/// What stands where nothing is known.
const UNKNOWN: char = '·';
const ASCII_UNKNOWN: char = ' ';

/// Bars of a workload.
pub const WINDOW: usize = 14;

/// The largest utilization of each hour of a workload, from when it was first seen in the window
/// on.
pub fn peaks(workload: &Workload, ascii: bool) -> Option<String> {
    let maxima: Vec<Option<f64>> = workload.activity.hours().map(|hour| hour.maximum).collect();
    sparkline(&maxima, WINDOW, ascii)
}

/// Percentages, oldest first, as `cells` bars on a scale from 0 to 100: each is the mean of
/// what is known of its part of the series. `None` where nothing at all is known.
pub fn sparkline(percentages: &[Option<f64>], cells: usize, ascii: bool) -> Option<String> {
    if cells == 0 || percentages.iter().all(Option::is_none) {
        return None;
    }
    let (bars, unknown) = if ascii { (&ASCII_BARS, ASCII_UNKNOWN) } else { (&BARS, UNKNOWN) };
    let len = percentages.len();
    let cell = |number: usize| {
        let part = &percentages[number * len / cells..(number + 1) * len / cells];
        // Fewer values than cells leave some empty: each shows the value that it is in.
        let part = if part.is_empty() {
            let at = number * len / cells;
            &percentages[at..=at]
        } else {
            part
        };
        let known: Vec<f64> = part.iter().flatten().copied().collect();
        if known.is_empty() {
            return unknown;
        }
        let mean = known.iter().sum::<f64>() / known.len() as f64;
        bars[((mean / 100.0 * bars.len() as f64).floor().max(0.0) as usize).min(bars.len() - 1)]
    };
    Some((0..cells).map(cell).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eighths_of_the_scale_have_a_bar_each() {
        let steps: Vec<Option<f64>> = (0..8).map(|step| Some(f64::from(step) * 12.5)).collect();
        assert_eq!(sparkline(&steps, 8, false).as_deref(), Some("▁▂▃▄▅▆▇█"));
        assert_eq!(sparkline(&steps, 8, true).as_deref(), Some("_.-=+*#@"));
        // Two of them in a bar: 6.25, 31.25, 56.25 and 81.25.
        assert_eq!(sparkline(&steps, 4, false).as_deref(), Some("▁▃▅▇"));
    }

    #[test]
    fn the_ends_of_the_scale_are_bars() {
        let ends = [Some(0.0), Some(100.0), Some(140.0), Some(-3.0)];
        assert_eq!(sparkline(&ends, 4, false).as_deref(), Some("▁██▁"));
    }

    #[test]
    fn what_is_not_known_is_not_zero() {
        let some = [None, None, Some(50.0), None];
        assert_eq!(sparkline(&some, 2, false).as_deref(), Some("·▅"));
        assert_eq!(sparkline(&some, 2, true).as_deref(), Some(" +"));
        assert_eq!(sparkline(&[None, None], 2, false), None);
        assert_eq!(sparkline(&[], 2, false), None);
        assert_eq!(sparkline(&some, 0, false), None);
    }

    #[test]
    fn few_values_fill_every_cell() {
        let two = [Some(0.0), Some(100.0)];
        assert_eq!(sparkline(&two, 5, false).as_deref(), Some("▁▁▁██"));
        for (len, cells) in (1..40).flat_map(|len| (1..40).map(move |cells| (len, cells))) {
            let same = vec![Some(60.0); len];
            let line = sparkline(&same, cells, false).expect("known");
            assert_eq!(line, "▅".repeat(cells), "{len} {cells}");
        }
    }
}
