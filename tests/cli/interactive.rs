//! The interactive audit: its screens, what its keys do, and the policy that it exports.

use crate::cli::estates::{one, series};
use crate::cli::pages::{assert_shows, blocks, page};
use crate::cli::world::World;
use gpucost::analysis::audit_to_choose;
use gpucost::config::parse_rejected;
use gpucost::domain::{ActionKind, Policy, RejectedAction, Risk};
use gpucost::report::{Effect, Key, Model, View, draw_model};
use gpucost::sources::files::{Keep, read_estate};
use gpucost::usage::Estate;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use rust_decimal::Decimal;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use unicode_width::UnicodeWidthStr;

const SIZES: [(u16, u16); 4] = [(80, 24), (160, 50), (40, 12), (200, 60)];

fn demo_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/estate.json.gz")
}

fn demo() -> Estate {
    read_estate(&demo_path(), Keep::Usage).expect("the demo")
}

fn read(world: &World, estate: &Value) -> Estate {
    let path = world.estate("estate.json", estate);
    read_estate(Path::new(&path), Keep::Usage).expect("an estate")
}

fn model<'a>(estate: &'a Estate, rejected: &[RejectedAction]) -> Model<'a> {
    let policy = Policy { rejected: rejected.to_vec(), ..Policy::default() };
    let audited = audit_to_choose(estate, &policy, Risk::Medium);
    Model::new(audited, estate, rejected, View::default(), (false, false))
}

/// The lines of a screen.
fn screen(model: &Model<'_>, (columns, rows): (u16, u16)) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a screen");
    terminal.draw(|frame| draw_model(frame, model)).expect("it draws");
    let buffer = terminal.backend().buffer();
    let line = |row: u16| -> String {
        let mut line = String::new();
        let mut column = 0;
        while column < columns {
            let symbol = buffer[(column, row)].symbol();
            line.push_str(symbol);
            column += u16::try_from(symbol.width()).expect("a cell").max(1);
        }
        line.trim_end().to_owned()
    };
    (0..rows).map(line).collect()
}

fn press(model: &mut Model<'_>, keys: &[Key]) {
    for key in keys {
        assert_eq!(model.update(*key), Effect::Nothing, "{key:?}");
    }
}

fn typed(model: &mut Model<'_>, text: &str) {
    for c in text.chars() {
        press(model, &[Key::Char(c)]);
    }
}

fn exported(model: &mut Model<'_>) -> String {
    match model.update(Key::Char('w')) {
        Effect::Export(text) => text,
        other => panic!("{other:?}"),
    }
}

/// The amount after a word in a line, such as `$1,234.50`.
fn amount_after(line: &str, word: &str) -> String {
    let (_, rest) = line.split_once(word).unwrap_or_else(|| panic!("{line}"));
    rest.split_whitespace().next().expect("an amount").to_owned()
}

#[test]
fn the_first_screen_has_the_totals_of_the_audit_and_its_workloads() {
    let estate = demo();
    let model = model(&estate, &[]);
    let world = World::new();
    let path = demo_path();
    let path = path.to_str().expect("UTF-8");
    let audit = world.run(&["audit", "--from", path, "--format", "json"]).json();
    for (columns, rows) in [(80, 24), (160, 50)] {
        let lines = screen(&model, (columns, rows));
        let text = lines.join("\n");
        assert!(lines[0].starts_with("gpucost audit · 2026-11-01 00:00 UTC"), "{text}");
        let savings = amount_after(&lines[1], "saves ").replace(['$', ','], "");
        let expected = audit["summary"]["monthly_savings"].as_f64().expect("a sum");
        assert_eq!(savings, format!("{expected:.2}"));
        assert!(lines[4].contains("WORKLOAD") && lines[4].contains("COST/MONTH"), "{text}");
        // The most expensive is first, and the cursor is on it.
        let first = &audit["workloads"][0];
        let name = first["name"].as_str().expect("a name");
        let shown: String = name.chars().take(12).collect();
        assert!(lines[5].starts_with("> ") && lines[5].contains(&shown), "{text}");
        assert!(lines[usize::from(rows) - 1].contains("? keys"), "{text}");
        assert_eq!(text.contains("REGION"), columns == 160);
    }
}

#[test]
fn every_screen_fits_its_terminal() {
    let estate = demo();
    let mut model = model(&estate, &[]);
    let opened: [&[Key]; 6] = [
        &[],
        &[Key::Tab],
        &[Key::Enter, Key::Right],
        &[Key::Char(' '), Key::PageUp],
        &[Key::Esc, Key::Tab, Key::Char('/'), Key::Char('g')],
        &[Key::Esc, Key::Char('?')],
    ];
    for keys in opened {
        press(&mut model, keys);
        for (columns, rows) in SIZES {
            for line in screen(&model, (columns, rows)) {
                assert!(line.width() <= usize::from(columns), "{columns}: {line}");
            }
        }
    }
}

#[test]
fn keys_are_listed_on_a_question_mark() {
    let estate = demo();
    let mut model = model(&estate, &[]);
    press(&mut model, &[Key::Char('?')]);
    for size in [(80, 24), (160, 50)] {
        let text = screen(&model, size).join("\n");
        for word in ["KEYS", "Space", "filter by words", "export the choice", "Ctrl-C"] {
            assert!(text.contains(word), "{word}: {text}");
        }
    }
    // Any key goes back.
    press(&mut model, &[Key::Char('q')]);
    assert!(screen(&model, (80, 24)).join("\n").contains("WORKLOAD"));
    assert_eq!(model.update(Key::Char('q')), Effect::Quit);
}

#[test]
fn an_action_that_is_off_moves_the_total_as_a_policy_does() {
    let estate = demo();
    let mut model = model(&estate, &[]);
    let whole = model.monthly_savings().expect("priced");
    press(&mut model, &[Key::Tab]);
    let before = screen(&model, (160, 50));
    assert!(before[3].starts_with("PLAN  "), "{before:?}");
    assert!(before[5].starts_with("> [x]"), "{before:?}");
    press(&mut model, &[Key::Char(' ')]);
    let after = screen(&model, (160, 50));
    assert!(after[5].starts_with("> [ ]"), "it stays below the cursor: {after:?}");
    assert!(after[2].contains(", 1 off"), "{}", after[2]);
    assert!(after[2].contains(&format!("with every action {whole}")), "{}", after[2]);
    let savings = model.monthly_savings().expect("priced");
    assert!(savings.amount() < whole.amount());
    assert!(after[1].contains(&format!("saves {savings} ")), "{}", after[1]);

    // Leaving asks once.
    assert_eq!(model.update(Key::Char('q')), Effect::Nothing);
    assert!(screen(&model, (80, 24))[23].contains("not exported"));
    let text = exported(&mut model);
    model.exported("choice.toml");
    assert!(screen(&model, (80, 24))[23].contains("wrote choice.toml"));

    let world = World::new();
    let policy = world.file("choice.toml", &text);
    let path = demo_path();
    let path = path.to_str().expect("UTF-8");
    let typed = ["audit", "--from", path, "--format", "json", "--policy", &policy];
    let outcome = world.run(&typed);
    assert!(outcome.stderr.contains("1 action rejected by the policy"), "{}", outcome.stderr);
    let same = outcome.json()["summary"]["monthly_savings"].as_f64();
    let same = same.map(|sum| format!("{sum:.2}"));
    assert_eq!(same, Some(format!("{:.2}", savings.amount())));

    // A second session begins where the first ended, and everything on is the whole plan.
    let rejected = parse_rejected(&text).expect("a policy");
    let mut again = self::model(&estate, &rejected);
    assert_eq!(again.monthly_savings(), Some(savings));
    assert_eq!(exported(&mut again), text);
    press(&mut again, &[Key::Tab, Key::Char(' ')]);
    assert_eq!(again.monthly_savings(), Some(whole));
    assert!(!exported(&mut again).contains("[[reject]]"));
}

/// What `PLAN` has: the number of actions that it says, and the saving of each that it lists.
fn listed(model: &mut Model<'_>) -> (String, Vec<Decimal>) {
    press(model, &[Key::Tab]);
    let lines = screen(model, (160, 200));
    let title = lines[3].strip_prefix("PLAN  ").expect("the plan");
    let (number, _) = title.split_once(',').expect("a number of actions");
    (number.to_owned(), savings(&lines))
}

/// The amounts of the actions that are on, above the last line.
fn savings(lines: &[String]) -> Vec<Decimal> {
    let on = lines[5..lines.len() - 1].iter().filter(|line| !line.contains("[ ]"));
    let amounts = on.filter_map(|line| {
        let amount = line.split_once('$')?.1.split_whitespace().next()?;
        Some(amount.replace(',', "").parse().expect("an amount"))
    });
    amounts.collect()
}

#[test]
fn the_list_has_every_action_of_the_total_and_every_command_as_many() {
    for (file, demo) in [
        ("estate.json.gz", "starter"),
        ("quarter-used.json.gz", "quarter-used"),
        ("mixed-fleet.json.gz", "mixed-fleet"),
    ] {
        let path = demo_path().with_file_name(file);
        let estate = read_estate(&path, Keep::Usage).expect("a demo");
        let mut model = model(&estate, &[]);
        let (number, each) = listed(&mut model);
        let total = model.monthly_savings().expect("priced").amount();
        assert_eq!(each.iter().sum::<Decimal>(), total, "{demo}");
        assert_eq!(number, format!("{} actions", each.len()), "{demo}");
        let header = screen(&model, (160, 200));
        assert!(header[2].starts_with(&format!("{number} on, 0 off")), "{demo}");
        let world = World::new();
        let fix = world.run(&["fix", "--demo", demo]);
        assert!(fix.stdout.starts_with(&number), "{demo}: {}", fix.stdout);
        let audit = world.run(&["audit", "--demo", demo, "--format", "json"]);
        let audit = audit.json();
        let lists = ["workloads", "unused_commitments"].map(|key| audit[key].as_array());
        let rows = lists.into_iter().flatten().flatten();
        let actions: usize =
            rows.filter_map(|row| row["plan"]["actions"].as_array().map(Vec::len)).sum();
        assert_eq!(actions, each.len(), "{demo}");
        // What is off is listed still, and is in no sum.
        press(&mut model, &[Key::Char(' ')]);
        let lines = screen(&model, (160, 200));
        let off = lines.iter().filter(|line| line.contains("[ ]"));
        assert_eq!(off.count(), 1, "{demo}");
        let left = model.monthly_savings().expect("priced").amount();
        assert_eq!(savings(&lines).iter().sum::<Decimal>(), left, "{demo}");
    }
}

#[test]
fn a_pattern_is_exported_as_it_is_until_one_of_its_actions_is_on() {
    let estate = demo();
    let rejected = [RejectedAction {
        workload: "*".to_owned(),
        action: ActionKind::Commit,
        reason: "no commitments this year".to_owned(),
    }];
    let mut model = model(&estate, &rejected);
    let savings = |model: &Model<'_>| model.monthly_savings().map(|sum| sum.to_string());
    // $32,058.16 + $58,387.85 + $5,333.04 + $19,716.95 + $7,659.63 + $1,185.52 + $128.88.
    assert_eq!(savings(&model).as_deref(), Some("$124,470.03"));
    let read = |text: &str| parse_rejected(text).expect("a policy");
    assert_eq!(read(&exported(&mut model)), rejected);

    press(&mut model, &[Key::Tab, Key::Char('/')]);
    typed(&mut model, "foundation-pretraining");
    press(&mut model, &[Key::Enter, Key::Char(' ')]);
    // The commitment of that one: $5,866.68.
    assert_eq!(savings(&model).as_deref(), Some("$130,336.71"));
    let others = read(&exported(&mut model));
    // Of eight workloads, by their IDs.
    assert_eq!(others.len(), 7);
    assert!(others.iter().all(|action| action.workload != "*"));
    assert!(others.iter().all(|action| action.reason == rejected[0].reason));

    // Off again, the pattern holds again.
    press(&mut model, &[Key::Char(' ')]);
    assert_eq!(read(&exported(&mut model)), rejected);
}

#[test]
fn the_filter_and_the_sort_choose_rows() {
    let estate = demo();
    let mut model = model(&estate, &[]);
    let unfiltered = screen(&model, (160, 50));
    press(&mut model, &[Key::Char('/')]);
    typed(&mut model, "LLM-poc");
    let typing = screen(&model, (160, 50));
    assert!(typing[49].starts_with("filter: LLM-poc"), "{}", typing[49]);
    press(&mut model, &[Key::Enter]);
    let filtered = screen(&model, (160, 50));
    assert!(
        filtered[3].contains(" of ") && filtered[3].contains("filter `LLM-poc`"),
        "{}",
        filtered[3]
    );
    let rows = filtered[5..49].iter().filter(|line| !line.is_empty());
    assert!(rows.clone().count() > 0);
    assert!(rows.clone().all(|line| line.to_lowercase().contains("llm-poc")), "{filtered:?}");
    // The plan lists the actions of what is shown.
    press(&mut model, &[Key::Tab]);
    let plan = screen(&model, (160, 50));
    let rows = plan[5..49].iter().filter(|line| !line.is_empty());
    assert!(rows.clone().all(|line| line.to_lowercase().contains("llm-poc")), "{plan:?}");
    press(&mut model, &[Key::Esc, Key::Esc]);
    assert_eq!(screen(&model, (160, 50))[5..], unfiltered[5..]);

    press(&mut model, &[Key::Char('s')]);
    let sorted = screen(&model, (160, 50));
    assert!(sorted[3].ends_with("by savings"), "{}", sorted[3]);
    assert_ne!(sorted[5..], unfiltered[5..]);
}

#[test]
fn both_lists_are_grouped_by_account_and_by_team() {
    let mut estate = one();
    let template = estate["instances"][0].clone();
    let machine = |id: &str, account: &str, team: Option<&str>| {
        let mut machine = template.clone();
        (machine["id"], machine["account"]) = (json!(id), json!(account));
        machine["tags"] = json!({"Name": id});
        if let Some(team) = team {
            machine["tags"]["team"] = json!(team);
        }
        machine
    };
    estate["instances"] = json!([
        machine("i-one", "444455556666", Some("vision")),
        machine("i-two", "111122223333", None),
        machine("i-three", "111122223333", Some("vision")),
    ]);
    let estate = read(&World::new(), &estate);
    let mut model = model(&estate, &[]);
    let rows = |model: &Model<'_>| -> Vec<String> {
        let lines = screen(model, (100, 24)).into_iter().skip(5);
        lines.take_while(|line| !line.is_empty()).collect()
    };
    let begin = |rows: &[String], words: &[&str]| {
        assert_eq!(rows.len(), words.len(), "{rows:#?}");
        for (row, word) in rows.iter().zip(words) {
            assert!(row.trim_start_matches(['>', ' ']).starts_with(word), "{rows:#?}");
        }
    };
    press(&mut model, &[Key::Char('b')]);
    let accounts = rows(&model);
    // A g5.xlarge is 730 h × $1.006.
    let two = "account 111122223333: 2 workloads, $1,468.76 per month";
    let one = "account 444455556666: 1 workload, $734.38 per month";
    begin(&accounts, &[two, "i-", "i-", one, "i-one"]);
    press(&mut model, &[Key::Char('b'), Key::End]);
    let teams = rows(&model);
    begin(&teams, &["no team: 1", "i-two", "team vision: 2", "i-", "i-"]);
    assert!(teams[4].starts_with("> "), "{teams:#?}");
    press(&mut model, &[Key::Tab]);
    let plan = rows(&model).join("\n");
    assert!(plan.contains("team vision: 1 workload"), "{plan}");
    press(&mut model, &[Key::Char('b')]);
    assert!(!rows(&model).join("\n").contains("team vision"));
}

/// A machine with four GPUs.
fn several_gpus() -> Value {
    let mut estate = one();
    estate["instances"][0]["instance_type"] = json!("g4dn.12xlarge");
    estate
}

#[test]
fn the_hours_of_a_machine_and_of_each_gpu_are_a_grid_of_days() {
    let estate = demo();
    let mut model = model(&estate, &[]);
    // A machine with eight GPUs of which some rest.
    press(&mut model, &[Key::Char('/')]);
    typed(&mut model, "p4d.24xlarge");
    press(&mut model, &[Key::Enter, Key::Enter]);
    for (size, is_wide) in [((80, 24), false), ((160, 50), true)] {
        let lines = screen(&model, size);
        let text = lines.join("\n");
        let title = lines.iter().position(|line| line.starts_with("UTILIZATION"));
        let title = title.unwrap_or_else(|| panic!("{text}"));
        assert!(lines[title].contains("mean of 8 GPUs"), "{text}");
        let header = &lines[title + 1];
        assert!(header.contains('0') && header.contains("21"), "{text}");
        assert_eq!(header.contains("23"), is_wide, "{text}");
        assert!(text.contains("Sat 10-31"), "the last day: {text}");
        assert!(text.contains("missing, ") && text.contains("blank: stopped"), "{text}");
    }
    let machine = screen(&model, (160, 50));
    press(&mut model, &[Key::Right]);
    let gpu = screen(&model, (160, 50)).join("\n");
    assert!(gpu.contains("GPU 0 of 8"), "{gpu}");
    press(&mut model, &[Key::Left]);
    assert_eq!(screen(&model, (160, 50)), machine);
}

#[test]
fn a_grid_shows_what_is_missing_apart_from_what_rests() {
    let world = World::new();
    let mut fleet = several_gpus();
    let id = fleet["instances"][0]["id"].as_str().expect("an ID").to_owned();
    // Five-minute averages of the fortnight before as_of: 20% all the time on GPU 0; on GPU 1
    // 60%, but no sample on the last day.
    let of = |gpu, value: f64, count: u32| {
        let mut one = series(&id, Some(gpu), "gpu_utilization", "average", value);
        one["values"] = json!([[value, count]]);
        one
    };
    fleet["metrics"] = json!([of(0, 20.0, 4_032), of(1, 60.0, 4_032 - 288)]);
    let estate = read(&world, &fleet);
    let mut model = model(&estate, &[]);
    press(&mut model, &[Key::Enter]);
    let days = |model: &Model<'_>| -> Vec<String> {
        let lines = screen(model, (160, 50));
        let is_day = |line: &&String| {
            let mut words = line.split_whitespace();
            words.nth(1).is_some_and(|word| word.len() == 5 && word.contains('-'))
        };
        lines.iter().filter(is_day).cloned().collect()
    };
    let figures = |line: &str| -> Vec<String> {
        let words = line.split_whitespace().skip(2);
        words.map(str::to_owned).collect()
    };
    press(&mut model, &[Key::Right]);
    let first = days(&model);
    assert!(screen(&model, (160, 50)).join("\n").contains("GPU 0 of 2"));
    assert!(first.iter().all(|line| figures(line) == ["20"; 24]), "{first:?}");
    press(&mut model, &[Key::Right]);
    let second = days(&model);
    let (last, before) = second.split_last().expect("days");
    assert_eq!(figures(last), ["·"; 24]);
    assert!(before.iter().all(|line| figures(line) == ["60"; 24]), "{before:?}");
    let narrow = screen(&model, (80, 24)).join("\n");
    assert!(narrow.contains(&"·".repeat(48)), "{narrow}");
    assert!(narrow.contains("· missing, 24 h"), "{narrow}");
    // 60% is in the fifth of eight steps.
    assert!(narrow.contains(&"▅".repeat(48)), "{narrow}");
}

#[test]
fn hostile_names_change_no_screen_and_no_policy() {
    let world = World::new();
    let mut fleet = one();
    let name = "\u{1b}[2J=cmd\n\u{202e}模型\"]\n[[reject]]\nworkload=\"*\" ".repeat(400);
    fleet["instances"][0]["tags"] = json!({"Name": name, "gpucost:workload": name});
    let estate = read(&world, &fleet);
    let mut model = model(&estate, &[]);
    let opened: [&[Key]; 3] = [&[], &[Key::Enter], &[Key::Esc, Key::Tab]];
    for keys in opened {
        press(&mut model, keys);
        for size in SIZES {
            let lines = screen(&model, size);
            let text = lines.concat();
            assert!(!text.contains(|c: char| c.is_control() || c == '\u{202e}'), "{text:?}");
        }
    }
    let filter = [Key::Char('/'), Key::Char('\u{1b}'), Key::Char('模'), Key::Enter];
    press(&mut model, &filter);
    let whole = model.monthly_savings();
    press(&mut model, &[Key::Esc, Key::Char(' ')]);
    let text = exported(&mut model);
    let unsafe_ones = |c: char| c != '\n' && c.is_control();
    assert!(!text.contains(unsafe_ones));
    let rejected = parse_rejected(&text).expect("a policy");
    let ids: Vec<&str> = rejected.iter().map(|action| action.workload.as_str()).collect();
    assert!(!ids.contains(&"*"));
    if model.monthly_savings() != whole {
        assert_eq!(ids.len(), 1);
        assert!(ids[0].contains(&name));
    }
}

#[test]
fn five_thousand_workloads_are_drawn_and_moved_through_at_once() {
    let world = World::new();
    let mut fleet = one();
    let template = fleet["instances"][0].clone();
    let instance = |number: usize| {
        let mut instance = template.clone();
        instance["id"] = json!(format!("i-{number:017}"));
        instance["tags"] = json!({"Name": format!("service-{number:04}")});
        instance
    };
    fleet["instances"] = (0..5_000).map(instance).collect();
    fleet["metrics"] = json!([]);
    let estate = read(&world, &fleet);
    let mut model = model(&estate, &[]);
    let began = Instant::now();
    for _ in 0..100 {
        press(&mut model, &[Key::PageDown]);
        screen(&model, (160, 50));
    }
    // A build without optimization takes about a millisecond for each.
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    press(&mut model, &[Key::End]);
    let last = screen(&model, (160, 50));
    assert!(last[48].starts_with("> "), "{last:?}");
    assert!(last[3].starts_with("5,000 workloads"), "{}", last[3]);
    press(&mut model, &[Key::Char('/')]);
    typed(&mut model, "4999");
    press(&mut model, &[Key::Enter]);
    let filtered = screen(&model, (80, 24));
    assert!(filtered[3].starts_with("1 of 5,000 workloads"), "{}", filtered[3]);
    assert!(filtered[5].contains("service-4999"), "{filtered:?}");
}

/// A screen as a page shows it.
fn drawn(model: &Model<'_>, size: (u16, u16)) -> String {
    let lines = screen(model, size);
    let end = lines.iter().rposition(|line| !line.is_empty());
    let shown = &lines[..=end.unwrap_or(0)];
    shown.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn the_screens_in_the_page_are_those_that_are_drawn() {
    let examples = blocks(&page("interactive.md"), "text");
    let estate = demo();
    let mut model = model(&estate, &[]);
    let size = (80, 24);
    let mut screens = vec![drawn(&model, size)];
    press(&mut model, &[Key::Enter]);
    screens.push(drawn(&model, size));
    // Spot, in whose place a commitment comes.
    press(&mut model, &[Key::Esc, Key::Tab]);
    press(&mut model, &[Key::Down; 4]);
    press(&mut model, &[Key::Char(' ')]);
    screens.push(drawn(&model, size));
    press(&mut model, &[Key::Char('?')]);
    screens.push(drawn(&model, size));
    assert_eq!(examples.len(), screens.len());
    for (shown, printed) in examples.iter().zip(&screens) {
        assert_shows("docs/interactive.md", shown, printed);
    }
}

#[test]
fn an_estate_without_workloads_is_an_empty_list() {
    let world = World::new();
    let mut nothing = one();
    nothing["instances"] = json!([]);
    nothing["metrics"] = json!([]);
    let estate = read(&world, &nothing);
    let mut model = model(&estate, &[]);
    press(&mut model, &[Key::Enter, Key::Down, Key::Tab, Key::Char(' '), Key::Enter]);
    for size in SIZES {
        screen(&model, size);
    }
    assert_eq!(model.update(Key::Char('q')), Effect::Quit);
}

#[test]
fn it_needs_a_terminal_and_prints_no_document() {
    let world = World::new();
    let outcome = world.run(&["audit", "--demo", "--interactive"]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stdout.is_empty());
    assert!(
        outcome.stderr.starts_with("error: `--interactive` needs a terminal\nhint: "),
        "{}",
        outcome.stderr
    );
    for flag in
        [&["--format", "json"][..], &["--group-by", "region"], &["--limit", "3"], &["--record"]]
    {
        let typed = [&["audit", "--demo", "--interactive"], flag].concat();
        let outcome = world.run(&typed);
        assert_eq!(outcome.code, 2, "{flag:?}");
        assert!(outcome.stderr.contains("cannot be used with"), "{}", outcome.stderr);
    }
}

#[test]
fn a_policy_that_fits_nothing_is_said() {
    let world = World::new();
    let policy = world.file(
        "choice.toml",
        "[[reject]]\nworkload = \"no-such\\u001b\"\naction = \"stop\"\nreason = \"r\"\n",
    );
    let with = world.run(&["audit", "--demo", "--policy", &policy]);
    let without = world.run(&["audit", "--demo"]);
    assert_eq!((with.code, &with.stdout), (0, &without.stdout));
    let said = "0 actions rejected by the policy\nwarning: [[reject]] of stop matches no \
                workload in scope: no-such\\u{1b}\n";
    assert!(with.stderr.contains(said), "{}", with.stderr);
    let bad =
        world.file("bad.toml", "[[reject]]\nworkload = \"w\"\naction = \"sotp\"\nreason = \"r\"\n");
    let outcome = world.run(&["audit", "--demo", "--policy", &bad]);
    assert_eq!(outcome.code, 2);
    assert!(outcome.stderr.contains("did you mean "), "{}", outcome.stderr);
}
