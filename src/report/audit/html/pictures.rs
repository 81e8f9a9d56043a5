//! How each workload and its GPUs were used over the window, and by hour of the week.

use super::heat::DAYS;
use crate::analysis::{Audit, AuditedWorkload};
use crate::domain::{GpuUsage, Window};
use crate::report::shared::markup::{NAME, Page, cut, html};
use crate::report::shared::plots::{course, hours_map};
use crate::report::shared::text::{ABSENT, count, counted, percent};
use crate::usage::{Course, CourseStep};

/// Bytes that all pictures together may take, so that a page of a thousand workloads stays
/// small.
const ROOM: usize = 570_000;
/// GPUs that a workload shows.
const SHOWN_GPUS: usize = 8;

/// The pictures of workloads in order, the most expensive first, as many as there is room for.
pub(super) fn drawn(audit: &Audit) -> Vec<Page> {
    let mut room = ROOM;
    let pictures = audit.workloads.iter().map(|one| picture(audit, one));
    pictures
        .take_while(|picture| {
            let left = room.checked_sub(picture.length());
            room = left.unwrap_or_default();
            left.is_some()
        })
        .collect()
}

fn picture(audit: &Audit, audited: &AuditedWorkload) -> Page {
    let mut page = Page::default();
    let Some(found) = &audited.course else {
        html!(
            page,
            "<p class=\"note\">GPU utilization over time was not measured.</p>\n"
        );
        return page;
    };
    html!(
        page,
        "<div class=\"pictures\">\n<div class=\"picture\"><h3>Utilization over time</h3>"
    );
    course(&mut page, "course", &found.steps, &course_words(found));
    html!(
        page,
        "<p class=\"axis\"><span>",
        audit.window.start.strftime("%Y-%m-%d"),
        "</span><span>",
        audit.window.end.strftime("%Y-%m-%d"),
        "</span></p></div>\n"
    );
    week(&audited.week_percents, &mut page);
    html!(page, "</div>\n");
    gpus(audited, audit.window, &mut page);
    page
}

/// What the picture of a course shows.
fn course_words(found: &Course) -> String {
    let means = || {
        found.steps.iter().filter_map(|step| match step {
            CourseStep::Measured { mean, .. } => Some(*mean),
            CourseStep::Stopped | CourseStep::Missing => None,
        })
    };
    let number = |wanted: CourseStep| {
        let of_it = found.steps.iter().filter(|step| **step == wanted);
        count(of_it.count() as u64)
    };
    let hours = u64::try_from(found.step_seconds / 3_600).unwrap_or_default();
    let range = match means().min().zip(means().max()) {
        Some((least, most)) => format!("mean {least}% to {most}%"),
        None => "nothing measured".to_owned(),
    };
    format!(
        "Utilization in steps of {}: {range}; {} steps without data, {} in which nothing ran",
        counted(hours, "hour", "hours"),
        number(CourseStep::Missing),
        number(CourseStep::Stopped)
    )
}

fn week(hours: &[Option<u8>], page: &mut Page) {
    html!(
        page,
        "<div class=\"picture\"><h3>By hour of the week</h3><div class=\"week\">",
        "<p aria-hidden=\"true\">"
    );
    for (place, day) in DAYS.iter().enumerate() {
        if place > 0 {
            html!(page, "<br>");
        }
        html!(page, day);
    }
    html!(page, "</p>");
    hours_map(page, hours, &week_words(hours));
    html!(
        page,
        "</div><p class=\"axis hours\"><span>00:00</span><span>12:00</span><span>24:00</span></p>",
        "<details><summary>Percent by hour</summary><pre>"
    );
    for (day, hours) in DAYS.iter().zip(hours.chunks(24)) {
        let cells = hours.iter().map(|hour| match hour {
            Some(percent) => format!(" {percent}"),
            None => " –".to_owned(),
        });
        // A line feed would be escaped as a value.
        html!(page, day, cells.collect::<String>(), "\n");
    }
    html!(page, "</pre></details></div>\n");
}

/// What the picture of a week shows.
fn week_words(hours: &[Option<u8>]) -> String {
    let name = |place: usize| format!("{} {:02}:00", DAYS[place / 24 % DAYS.len()], place % 24);
    let known = || {
        let hours = hours.iter().enumerate();
        hours.filter_map(|(place, hour)| Some(((*hour)?, place)))
    };
    // Of several the first.
    let least = known().min();
    let most = known().max_by_key(|(percent, place)| (*percent, std::cmp::Reverse(*place)));
    let unknown = hours.iter().filter(|hour| hour.is_none()).count() as u64;
    let range = match least.zip(most) {
        Some(((least, first), (most, second))) => format!(
            "lowest {} with {least}%, highest {} with {most}%",
            name(first),
            name(second)
        ),
        None => "nothing measured".to_owned(),
    };
    let unknown = counted(unknown, "hour", "hours");
    format!("Mean utilization by hour of the week: {range}; {unknown} without data")
}

/// Each GPU by day.
fn gpus(audited: &AuditedWorkload, window: Window, page: &mut Page) {
    let workload = &audited.workload;
    let measured = || workload.gpus().filter(|gpu| gpu.utilization.is_some());
    let all = measured().count();
    if all == 0 {
        return;
    }
    html!(
        page,
        "<table class=\"bars gpus\">\n<caption>By GPU and day</caption>\n<thead><tr>",
        "<th scope=\"col\">GPU</th><td></td><th scope=\"col\">Mean</th>",
        "<th scope=\"col\">p95</th><th scope=\"col\">Max</th></tr></thead>\n<tbody>\n"
    );
    for gpu in measured().take(SHOWN_GPUS) {
        let member = workload.member(&gpu.instance);
        let activity = member.map_or(&workload.activity, |member| &member.activity);
        row(gpu, &Course::of_gpu(gpu, activity, window), page);
    }
    html!(page, "</tbody>\n</table>\n");
    if all > SHOWN_GPUS {
        html!(
            page,
            "<p class=\"note\">Not drawn: ",
            counted((all - SHOWN_GPUS) as u64, "more GPU", "more GPUs"),
            ".</p>\n"
        );
    }
    let visible = workload.visible_gpus().unwrap_or_default();
    let silent = visible.saturating_sub(all as u64);
    if silent > 0 {
        html!(
            page,
            "<p class=\"note\">Without data: ",
            counted(silent, "GPU", "GPUs"),
            ".</p>\n"
        );
    }
}

fn row(gpu: &GpuUsage, days: &Course, page: &mut Page) {
    html!(
        page,
        "<tr><th scope=\"row\">",
        cut(gpu.instance.as_str(), NAME),
        " GPU ",
        gpu.index,
        "</th><td>"
    );
    let title = format!("Mean by day since {}", days.start.strftime("%Y-%m-%d"));
    course(page, "gpu", &days.steps, &title);
    html!(page, "</td>");
    let largest = gpu.maxima.map(|maxima| maxima.largest);
    let largest = largest.or(gpu.utilization.map(|figures| figures.max));
    let figures = gpu.utilization.map(|figures| [figures.mean, figures.p95]);
    let [mean, high] = figures.map_or([None; 2], |both| both.map(Some));
    for figure in [mean, high, largest] {
        let shown = figure.map_or_else(|| ABSENT.to_owned(), percent);
        html!(page, "<td>", shown, "</td>");
    }
    html!(page, "</tr>\n");
}
