//! Plots of a page, in the page itself: bars, a line with a band, a map of hours. What is
//! missing is a hatched gap. A title says what a plot shows; the figures stand in a table beside
//! it.

use crate::report::shared::markup::{Page, html};
use crate::usage::CourseStep;
use rust_decimal::Decimal;
use rust_decimal::prelude::ToPrimitive;
use std::fmt::Write;

/// Width and height of bars in their own units.
const WIDTH: f64 = 1_000.0;
const HEIGHT: f64 = 160.0;
/// Bars beyond which the oldest are left out: narrower ones are not seen.
pub(in crate::report) const MOST_BARS: usize = 400;
/// Width of a step of a course, and of an hour of a map; a percent is one unit high.
const STEP: usize = 10;
const PERCENTS: i32 = 100;
/// Shades of a map, by tens of a percentage.
const SHADES: [&str; 10] = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9"];

/// One bar, with a part of it in another color.
pub(in crate::report) struct Bar {
    /// Absent where it is not known.
    pub(in crate::report) whole: Option<Decimal>,
    pub(in crate::report) part: Decimal,
}

/// What a gap is filled with. Once in a page, before its first plot.
pub(in crate::report) fn gap_pattern(page: &mut Page) {
    html!(
        page,
        "<svg class=\"defs\" width=\"0\" height=\"0\" aria-hidden=\"true\"><defs>",
        "<pattern id=\"no-data\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\">",
        "<path class=\"hatch\" d=\"M-1 6L6 -1M-1 1L1 -1M4 6L6 4\"/></pattern></defs></svg>\n"
    );
}

/// Bars side by side, from zero to the largest.
pub(in crate::report) fn bars(page: &mut Page, bars: &[Bar], title: &str) {
    let known = bars.iter().filter_map(|bar| Some(bar.whole?.max(bar.part)));
    let Some(most) = known.max().filter(|most| *most > Decimal::ZERO) else {
        html!(page, "<p>Nothing to plot.</p>\n");
        return;
    };
    let height = |amount: Decimal| {
        let share = amount.max(Decimal::ZERO).checked_div(most);
        share.and_then(|share| share.to_f64()).unwrap_or(0.0) * HEIGHT
    };
    html!(
        page,
        "<svg class=\"days\" viewBox=\"0 0 1000 160\" preserveAspectRatio=\"none\" role=\"img\">",
        "<title>",
        title,
        "</title>"
    );
    let step = WIDTH / bars.len() as f64;
    for (place, bar) in bars.iter().enumerate() {
        let left = place as f64 * step;
        match bar.whole {
            Some(whole) => rect(page, "today", (left, step), height(whole)),
            None => gap(page, (left, step)),
        }
        rect(page, "stays", (left, step), height(bar.part));
    }
    html!(page, "</svg>\n");
}

/// One bar that stands on the ground, with a gap of a tenth to the next.
fn rect(page: &mut Page, class: &'static str, (left, step): (f64, f64), height: f64) {
    if height <= 0.0 {
        return;
    }
    html!(page, "<rect class=\"");
    page.markup(class);
    html!(
        page,
        "\" x=\"",
        format!("{left:.2}"),
        "\" y=\"",
        format!("{:.2}", HEIGHT - height),
        "\" width=\"",
        format!("{:.2}", step * 0.9),
        "\" height=\"",
        format!("{height:.2}"),
        "\"/>"
    );
}

/// The place of a bar that is not known.
fn gap(page: &mut Page, (left, step): (f64, f64)) {
    html!(
        page,
        "<rect fill=\"url(#no-data)\" x=\"",
        format!("{left:.2}"),
        "\" y=\"0\" width=\"",
        format!("{:.2}", step * 0.9),
        "\" height=\"160\"/>"
    );
}

/// A line of means with a band to the high figure of each step, from 0 at the bottom to 100% at
/// the top. Steps in which nothing ran stay empty.
pub(in crate::report) fn course(
    page: &mut Page,
    class: &'static str,
    steps: &[CourseStep],
    title: &str,
) {
    html!(page, "<svg class=\"");
    page.markup(class);
    html!(
        page,
        "\" viewBox=\"0 -2 ",
        (steps.len() * STEP).to_string(),
        " 104\" preserveAspectRatio=\"none\" role=\"img\"><title>",
        title,
        "</title>"
    );
    let missing = gaps(steps);
    if !missing.is_empty() {
        html!(page, "<path fill=\"url(#no-data)\" d=\"", missing, "\"/>");
    }
    html!(
        page,
        "<path class=\"band\" d=\"",
        band(steps),
        "\"/><path class=\"line\" d=\"",
        line(steps),
        "\"/></svg>"
    );
}

fn mean_of(step: CourseStep) -> Option<u8> {
    match step {
        CourseStep::Measured { mean, .. } => Some(mean),
        CourseStep::Stopped | CourseStep::Missing => None,
    }
}

fn height_of(percent: u8) -> i32 {
    PERCENTS - i32::from(percent)
}

/// A level line for each stretch of one mean, joined where steps follow on each other.
fn line(steps: &[CourseStep]) -> String {
    let (mut path, mut left) = (String::new(), 0);
    let mut before: Option<i32> = None;
    for stretch in steps.chunk_by(|one, next| mean_of(*one) == mean_of(*next)) {
        let width = stretch.len() * STEP;
        let height = mean_of(stretch[0]).map(height_of);
        if let Some(height) = height {
            // Writing to a string cannot fail.
            let _ = match before {
                Some(before) => write!(path, "v{}h{width}", height - before),
                None => write!(path, "M{left} {height}h{width}"),
            };
        }
        before = height;
        left += width;
    }
    path
}

/// Strokes as wide as a step, from the mean to the high figure.
fn band(steps: &[CourseStep]) -> String {
    let mut path = String::new();
    for (place, step) in steps.iter().enumerate() {
        if let CourseStep::Measured { mean, high } = *step
            && mean != high
        {
            let middle = place * STEP + STEP / 2;
            let (from, to) = (height_of(mean), height_of(high));
            let _ = write!(path, "M{middle} {from}V{to}");
        }
    }
    path
}

/// The stretches without data.
fn gaps(steps: &[CourseStep]) -> String {
    let (mut path, mut left) = (String::new(), 0);
    let is_missing = |step: &CourseStep| *step == CourseStep::Missing;
    for stretch in steps.chunk_by(|one, next| is_missing(one) == is_missing(next)) {
        let width = stretch.len() * STEP;
        if is_missing(&stretch[0]) {
            let _ = write!(path, "M{left} 0h{width}v100h-{width}z");
        }
        left += width;
    }
    path
}

/// The hours of a week in shades, a row a day; an hour without data is a gap.
pub(in crate::report) fn hours_map(page: &mut Page, hours: &[Option<u8>], title: &str) {
    html!(
        page,
        "<svg class=\"map\" viewBox=\"0 0 240 70\" preserveAspectRatio=\"none\" role=\"img\">",
        "<title>",
        title,
        "</title>"
    );
    let missing = stretches(hours, None);
    if !missing.is_empty() {
        html!(page, "<path stroke=\"url(#no-data)\" d=\"", missing, "\"/>");
    }
    for (shade, class) in SHADES.iter().enumerate() {
        let path = stretches(hours, Some(shade));
        if !path.is_empty() {
            html!(page, "<path class=\"", class, "\" d=\"", path, "\"/>");
        }
    }
    html!(page, "</svg>");
}

fn shade(percent: Option<u8>) -> Option<usize> {
    percent.map(|percent| usize::from(percent / 10).min(SHADES.len() - 1))
}

/// Strokes through the hours of one shade, as wide as a row.
fn stretches(hours: &[Option<u8>], wanted: Option<usize>) -> String {
    let mut path = String::new();
    for (day, hours) in hours.chunks(24).enumerate() {
        let (middle, mut left) = (day * STEP + STEP / 2, 0);
        for stretch in hours.chunk_by(|one, next| shade(*one) == shade(*next)) {
            let width = stretch.len() * STEP;
            if shade(stretch[0]) == wanted {
                let _ = write!(path, "M{left} {middle}h{width}");
            }
            left += width;
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(mean: u8, high: u8) -> CourseStep {
        CourseStep::Measured { mean, high }
    }

    #[test]
    fn a_course_is_a_line_with_a_band_and_gaps() {
        let steps = [
            measured(15, 20),
            measured(15, 15),
            measured(40, 39),
            CourseStep::Missing,
            CourseStep::Missing,
            CourseStep::Stopped,
            measured(0, 100),
        ];
        // 100 less the percentage; 85 to 60 is 25 up.
        assert_eq!(line(&steps), "M0 85h20v-25h10M60 100h10");
        assert_eq!(band(&steps), "M5 85V80M25 60V61M65 100V0");
        assert_eq!(gaps(&steps), "M30 0h20v100h-20z");
        for path in [line(&[]), band(&[]), gaps(&[])] {
            assert_eq!(path, "");
        }
    }

    #[test]
    fn a_map_has_a_stroke_for_each_shade_of_a_row() {
        let mut hours = vec![Some(0); 168];
        hours[0] = None;
        hours[2] = Some(100);
        hours[24 + 23] = Some(90);
        hours[48] = Some(9);
        assert_eq!(stretches(&hours, None), "M0 5h10");
        assert_eq!(stretches(&hours, Some(9)), "M20 5h10M230 15h10");
        let lowest = stretches(&hours, Some(0));
        assert!(lowest.starts_with("M10 5h10M30 5h210M0 15h230M0 25h240M0 35h240"));
        assert_eq!(stretches(&hours, Some(4)), "");
        // Every hour is drawn once.
        let all = std::iter::once(None).chain((0..10).map(Some));
        let drawn: usize = all
            .flat_map(|shade| {
                let path = stretches(&hours, shade);
                let widths = path.split('h').skip(1).map(|rest| {
                    let digits = rest.split('M').next().expect("a width");
                    digits.parse::<usize>().expect("a number")
                });
                widths.collect::<Vec<_>>()
            })
            .sum();
        assert_eq!(drawn, 168 * STEP);
    }

    #[test]
    fn a_picture_of_noise_is_small() {
        // Every step and hour differs from the one before.
        let noise = |place: usize| u8::try_from(place * 37 % 101).expect("at most 100");
        let steps: Vec<CourseStep> = (0..84)
            .map(|place| measured(noise(place), noise(place + 50)))
            .collect();
        let hours: Vec<Option<u8>> = (0..168).map(|place| Some(noise(place))).collect();
        let mut page = Page::default();
        course(&mut page, "course", &steps, "");
        hours_map(&mut page, &hours, "");
        let length = page.finish().len();
        assert!(length < 4_500, "{length} bytes");
    }

    #[test]
    fn an_unknown_bar_is_a_gap_and_not_zero() {
        let bar = |whole: Option<i64>| Bar {
            whole: whole.map(Decimal::from),
            part: Decimal::ZERO,
        };
        let mut page = Page::default();
        bars(
            &mut page,
            &[bar(Some(80)), bar(None), bar(Some(40))],
            "a < b",
        );
        let drawn = page.finish();
        assert!(drawn.contains("<title>a &lt; b</title>"), "{drawn}");
        assert_eq!(drawn.matches("class=\"today\"").count(), 2);
        // The second of three, over the whole height.
        let gap = "fill=\"url(#no-data)\" x=\"333.33\" y=\"0\" width=\"300.00\" height=\"160\"";
        assert!(drawn.contains(gap), "{drawn}");
        let half = "x=\"666.67\" y=\"80.00\" width=\"300.00\" height=\"80.00\"";
        assert!(drawn.contains(half), "{drawn}");
        let mut page = Page::default();
        bars(&mut page, &[bar(None)], "");
        assert_eq!(page.finish(), "<p>Nothing to plot.</p>\n");
    }
}
