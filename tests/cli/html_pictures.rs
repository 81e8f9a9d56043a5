//! Pictures of the HTML audit: what is drawn is read back from the drawing and compared with
//! figures that were worked out apart from it.

use crate::cli::contract::DEMO;
use crate::cli::estates::{PERIODS, one, series};
use crate::cli::html::{cents, html_of, shown};
use crate::cli::markup::{parse, rows, section, text_of};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Periods of five minutes in a step of four hours.
const STEP: usize = 48;
const STEPS: usize = 84;

/// The value of an attribute wherever an element has it, after some mark.
fn attributes<'a>(markup: &'a str, mark: &str, name: &str) -> Vec<&'a str> {
    let elements = markup.split(mark).skip(1);
    let value = |rest: &'a str| {
        let (element, _) = rest.split_once('>').expect("the element ends");
        let (_, value) = element
            .split_once(&format!("{name}=\""))
            .unwrap_or_else(|| panic!("no {name} in {element}"));
        value.split_once('"').expect("the value ends").0
    };
    elements.map(value).collect()
}

fn numbers(texts: &[&str]) -> Vec<f64> {
    let number = |text: &&str| text.parse().expect("a number");
    texts.iter().map(number).collect()
}

/// A path as commands with their numbers.
fn commands(path: &str) -> Vec<(char, Vec<i64>)> {
    let mut found: Vec<(char, String)> = Vec::new();
    for c in path.chars() {
        match found.last_mut() {
            Some((_, rest)) if !c.is_ascii_alphabetic() => rest.push(c),
            _ => found.push((c, String::new())),
        }
    }
    let parsed = |(command, rest): (char, String)| {
        let numbers = rest.split(' ').filter(|number| !number.is_empty());
        let numbers = numbers.map(|number| number.parse().expect("a number"));
        (command, numbers.collect())
    };
    found.into_iter().map(parsed).collect()
}

/// The percentage that a line shows in each step; `None` where it shows nothing.
fn line(path: &str, steps: usize) -> Vec<Option<i64>> {
    let mut shown = vec![None; steps];
    let (mut x, mut y) = (0, 0);
    for (command, numbers) in commands(path) {
        match command {
            'M' => (x, y) = (numbers[0], numbers[1]),
            'v' => y += numbers[0],
            'h' => {
                for step in x / 10..(x + numbers[0]) / 10 {
                    shown[usize::try_from(step).expect("a step")] = Some(100 - y);
                }
                x += numbers[0];
            }
            other => panic!("{other} in {path}"),
        }
    }
    shown
}

/// The steps that a path of strokes covers, each with the percentage where it ends.
fn band(path: &str) -> BTreeMap<i64, i64> {
    let found = commands(path);
    let strokes = found.chunks(2).map(|stroke| {
        let [('M', from), ('V', to)] = stroke else {
            panic!("{stroke:?}");
        };
        ((from[0] - 5) / 10, 100 - to[0])
    });
    strokes.collect()
}

/// One GPU over a fortnight, by the averages of its periods.
fn measured(values: &[Option<f64>]) -> Value {
    let mut estate = one();
    let gpu = |statistic, value| {
        let mut found = series("i-one", Some(0), "gpu_utilization", statistic, value);
        found["values"] = json!(values);
        found
    };
    estate["metrics"] = json!([
        series("i-one", None, "cpu_utilization", "average", 30.0),
        gpu("average", 0.0),
        gpu("maximum", 0.0),
    ]);
    estate
}

#[test]
fn the_course_of_a_workload_is_that_of_its_samples() {
    let mut values: Vec<Option<f64>> = vec![Some(20.0); PERIODS as usize];
    // The first step: half of it at 10%, half at 50%.
    for (place, value) in values[..STEP].iter_mut().enumerate() {
        *value = Some(if place % 2 == 0 { 10.0 } else { 50.0 });
    }
    // The 10th: one period in 48 at 96%, the others at nothing: 2% in the mean, and 0% at the
    // 95th percentile.
    values[10 * STEP..11 * STEP].fill(Some(0.0));
    values[10 * STEP + 7] = Some(96.0);
    // The 20th and 21st: nothing was reported. The 30th: 23 of 48 were, the 31st: 24.
    values[20 * STEP..22 * STEP].fill(None);
    values[30 * STEP..30 * STEP + 25].fill(None);
    values[31 * STEP..31 * STEP + 24].fill(None);
    let page = html_of(&measured(&values));
    let (_, plan) = page.split_once("<svg class=\"course\"").expect("a picture");
    let (picture, _) = plan.split_once("</svg>").expect("its end");

    let path = attributes(picture, "<path class=\"line\"", "d");
    let mut expected = vec![Some(20); STEPS];
    (expected[0], expected[10]) = (Some(30), Some(2));
    for missing in [20, 21, 30] {
        expected[missing] = None;
    }
    assert_eq!(line(path[0], STEPS), expected);
    let path = attributes(picture, "<path class=\"band\"", "d");
    assert_eq!(band(path[0]), BTreeMap::from([(0, 50), (10, 0)]));
    let gaps = attributes(picture, "<path fill=\"url(#no-data)\"", "d");
    assert_eq!(gaps, ["M200 0h20v100h-20zM300 0h10v100h-10z"]);
    assert!(picture.contains(
        "<title>Utilization in steps of 4 hours: mean 2% to 30%; 3 steps without data, \
         0 in which nothing ran</title>"
    ));
}

#[test]
fn each_gpu_is_drawn_by_day() {
    let day = 288;
    let mut values: Vec<Option<f64>> = vec![Some(20.0); PERIODS as usize];
    // A quarter of the first day at 80%: 35% in the mean. The third day is missing.
    values[..day / 4].fill(Some(80.0));
    values[2 * day..3 * day].fill(None);
    let page = html_of(&measured(&values));
    let (_, row) = page.split_once("<svg class=\"gpu\"").expect("a GPU");
    let (row, _) = row.split_once("</tr>").expect("its end");
    let path = attributes(row, "<path class=\"line\"", "d");
    let mut expected = vec![Some(20); 14];
    (expected[0], expected[2]) = (Some(35), None);
    assert_eq!(line(path[0], 14), expected);
    let path = attributes(row, "<path class=\"band\"", "d");
    assert_eq!(band(path[0]), BTreeMap::from([(0, 80)]));
    let gaps = attributes(row, "<path fill=\"url(#no-data)\"", "d");
    assert_eq!(gaps, ["M20 0h10v100h-10z"]);
    // (72 × 80 + 3,672 × 20) / 3,744 samples.
    assert!(
        row.contains("<td>21.2%</td><td>20.0%</td><td>80.0%</td>"),
        "{row}"
    );
}

#[test]
fn the_hours_of_a_workload_are_those_of_its_samples() {
    // 40% on Wednesdays from 09:00 to 10:00, nothing reported on Sundays from 23:00 on.
    let hour = |period: u64| period / 12 % 168;
    // The fortnight begins on a Sunday.
    let values: Vec<Option<f64>> = (0..PERIODS)
        .map(|period| match hour(period) {
            81 => Some(40.0),
            23 => None,
            _ => Some(0.0),
        })
        .collect();
    let page = html_of(&measured(&values));
    let (_, map) = page.split_once("<svg class=\"map\"").expect("a map");
    let (map, rest) = map.split_once("</svg>").expect("its end");
    assert_eq!(attributes(map, "<path class=\"s4\"", "d"), ["M90 25h10"]);
    let gaps = attributes(map, "<path stroke=\"url(#no-data)\"", "d");
    assert_eq!(gaps, ["M230 65h10"]);
    assert!(map.contains("lowest Mon 00:00 with 0%, highest Wed 09:00 with 40%; 1 hour without"));
    let (_, figures) = rest.split_once("<pre>").expect("figures");
    let (figures, _) = figures.split_once("</pre>").expect("their end");
    let lines: Vec<Vec<&str>> = figures
        .lines()
        .map(|line| line.split(' ').collect())
        .collect();
    assert_eq!(lines.len(), 7);
    assert!(lines.iter().all(|line| line.len() == 25), "{figures}");
    assert_eq!(
        (lines[2][0], lines[2][10], lines[6][24]),
        ("Wed", "40", "–")
    );
}

#[test]
fn what_was_not_measured_has_no_picture() {
    let mut estate = one();
    estate["metrics"] = json!([]);
    let page = html_of(&estate);
    assert!(!page.contains("<svg class=\"course\""));
    assert!(section(&page, "plan").contains("GPU utilization over time was not measured."));
    let states = rows(section(&page, "states"));
    assert_eq!(states, [["unknown", "", "1", "1", "$734.38"]]);
    assert!(section(&page, "states").contains("<rect fill=\"url(#no-data)\" x=\"0.0\""));
}

#[test]
fn the_waterfall_is_drawn_as_it_adds_up() {
    let page = html_of_demo();
    let waterfall = section(&page, "waterfall");
    let steps = rows(waterfall);
    let drawn: Vec<(f64, f64)> = numbers(&attributes(waterfall, "<rect", " x"))
        .into_iter()
        .zip(numbers(&attributes(waterfall, "<rect", "width")))
        .collect();
    assert_eq!(drawn.len(), steps.len());
    let percent = |amount: i64| amount as f64 * 100.0 / cents(&steps[0][2]) as f64;
    let mut rest = cents(&steps[0][2]);
    let last = steps.len() - 1;
    for (place, ((left, width), step)) in drawn.iter().zip(&steps).enumerate() {
        let amount = cents(&step[2]);
        let from = if place == 0 || place == last {
            0
        } else {
            rest - amount
        };
        // A tenth of a percent is drawn, and no bar is narrower than 0.4.
        assert!((left - percent(from)).abs() <= 0.41, "{step:?} at {left}");
        let width_of = percent(amount).max(0.4);
        assert!((width - width_of).abs() <= 0.051, "{step:?}, {width} wide");
        if place > 0 && place < last {
            rest -= amount;
        }
    }
    assert_eq!(rest, cents(&steps[last][2]));
}

fn html_of_demo() -> String {
    let world = crate::cli::world::World::new();
    world.run(&["audit", "--demo", "--format", "html"]).stdout
}

#[test]
fn each_day_costs_what_ran_on_it() {
    let mut estate = one();
    let mut second = estate["instances"][0].clone();
    second["id"] = json!("i-two");
    second["tags"]["Name"] = json!("two");
    second["launch_time"] = json!("2026-10-25T12:00:00Z");
    let instances = estate["instances"].as_array_mut().expect("a list");
    instances.push(second);
    let page = html_of(&estate);
    let days = section(&page, "days");
    let figures = rows(days);
    // The last day of the fortnight ended when the estate was recorded: less than six hours ago.
    assert_eq!(figures.len(), 13);
    // 24 × 1.006; then 12 hours of another; then 48 × 1.006.
    for (place, day) in figures.iter().enumerate() {
        let (cost, date) = match place {
            0..7 => ("$24.14", 18 + place),
            7 => ("$36.22", 25),
            _ => ("$48.29", 18 + place),
        };
        assert_eq!(
            *day,
            [
                format!("2026-10-{date}"),
                cost.to_owned(),
                "$0.00".to_owned()
            ]
        );
    }
    // Of 160: 24.14 / 48.29, 36.22 / 48.29, and all of it.
    let heights = attributes(days, "<rect class=\"today\"", "height");
    let expected = [&["79.98"; 7][..], &["120.01"], &["160.00"; 5]].concat();
    assert_eq!(heights, expected);
    assert!(days.contains("<title>Cost by day, 2026-10-18 to 2026-10-30: $24.14 to $48.29 a day"));
    assert!(!days.contains("Hatched"));
}

#[test]
fn a_day_without_a_price_is_a_gap() {
    let mut estate = one();
    estate["instances"][0]["instance_type"] = json!("g99.xlarge");
    let page = html_of(&estate);
    let days = section(&page, "days");
    assert!(days.contains("Nothing to plot."), "{days}");
    assert!(rows(days).iter().all(|day| day[1] == "—" && day[2] == "—"));
    assert!(days.contains("Part of the cost is unknown on 13 days"));
}

#[test]
fn states_and_teams_add_up_to_the_totals() {
    let page = html_of_demo();
    let audit = DEMO.json();
    let summary = &audit["summary"];
    // By the members in the JSON, whose GPUs are an equal part of those of the workload.
    let mut expected: BTreeMap<String, (f64, i64)> = BTreeMap::new();
    for workload in audit["workloads"].as_array().expect("workloads") {
        let members = workload["members"].as_array().expect("members");
        if workload["running"] != json!(true) {
            continue;
        }
        let gpus = workload["gpu"]["count"].as_f64().expect("a number") / members.len() as f64;
        for member in members {
            let state = member["state"].as_str().unwrap_or("unknown");
            let sum = expected.entry(state.to_owned()).or_default();
            sum.0 += gpus;
            sum.1 += cents(&shown(&member["monthly_cost"]));
        }
    }
    let states = rows(section(&page, "states"));
    let found: BTreeMap<String, (f64, i64)> = states
        .iter()
        .map(|row| {
            let gpus = row[2].parse().expect("a number");
            (row[0].clone(), (gpus, cents(&row[4])))
        })
        .collect();
    assert_eq!(found, expected);
    let gpus: f64 = found.values().map(|(gpus, _)| gpus).sum();
    assert_eq!(Some(gpus), summary["gpus"].as_f64());

    let section = section(&page, "teams");
    assert!(section.contains("<h2>Cost by tag team and instance type</h2>"));
    let teams = rows(section);
    let amount = |cell: &String| if cell == "—" { 0 } else { cents(cell) };
    let all: i64 = teams.iter().map(|row| amount(&row[2])).sum();
    assert_eq!(all, cents(&shown(&summary["monthly_cost"])));
    let most = teams.iter().map(|row| amount(&row[2])).max().expect("rows");
    let bars: Vec<&str> = section.split("<svg class=\"bar\"").skip(1).collect();
    assert_eq!(bars.len(), teams.len());
    for (row, bar) in teams.iter().zip(bars) {
        let parts: i64 = row[3..].iter().map(amount).sum();
        assert_eq!(parts, amount(&row[2]), "{row:?}");
        let (bar, _) = bar.split_once("</svg>").expect("its end");
        let widths = numbers(&attributes(bar, "<rect", "width"));
        let known: Vec<i64> = row[3..]
            .iter()
            .map(amount)
            .filter(|cell| *cell > 0)
            .collect();
        assert_eq!(widths.len(), known.len(), "{row:?}");
        for (width, cell) in widths.iter().zip(known) {
            let expected = (cell as f64 * 100.0 / most as f64).max(0.4);
            assert!((width - expected).abs() <= 0.051, "{row:?}: {width}");
        }
    }
}

#[test]
fn every_picture_says_what_it_shows() {
    let page = html_of_demo();
    let elements = parse(&page);
    let is_of = |name: &str, value: &str| {
        let wanted = (name.to_owned(), value.to_owned());
        move |attributes: &[(String, String)]| attributes.contains(&wanted)
    };
    let (is_image, is_hidden) = (is_of("role", "img"), is_of("aria-hidden", "true"));
    let mut pictures = 0;
    for (place, element) in elements.iter().enumerate() {
        if element.name != "svg" {
            continue;
        }
        if is_hidden(&element.attributes) {
            continue;
        }
        assert!(is_image(&element.attributes), "{element:?}");
        assert_eq!(elements[place + 1].name, "title", "{element:?}");
        pictures += 1;
    }
    // A week and a course for each workload that is measured, one for each of its GPUs, and
    // the days.
    assert!(pictures > 20, "{pictures}");
    assert!(!text_of(&page).contains("NaN"));
}
