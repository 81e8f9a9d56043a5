//! The layers: a file imports from layers above its own or from its own folder. The order is that
//! of the `pub mod` lines in the `lib.rs` of its crate; between crates the compiler holds it. Beside
//! it: which layers are pure, how long a file may be, and what no file may contain.

mod rings;

use crate::support::source::{
    CRATES, SourceFile, code_of, files_under, heads, is_word, line_of, named_under, program_files,
    root, words,
};

/// Folders without I/O, clock and environment.
const PURE: [&str; 3] = ["crates/model/src", "crates/judge/src", "src/report"];

/// What documents are not made of.
const IMPURE: [&str; 4] = ["sources", "gather", "config", "cli"];

/// Lines that a source file may have.
const LONGEST_FILE: usize = 600;

/// The layers of a crate, top to bottom.
fn layers(folder: &str) -> Vec<String> {
    let library = std::fs::read_to_string(root().join(folder).join("lib.rs")).expect("a library");
    let lines = library.lines();
    lines
        .filter_map(|line| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned()))
        .collect()
}

/// A file's path in its crate, and the folder of that.
fn in_crate(path: &str) -> (&'static str, &str) {
    let mut crates = CRATES.iter();
    let found =
        crates.find_map(|folder| Some((*folder, path.strip_prefix(folder)?.strip_prefix('/')?)));
    found.unwrap_or_else(|| panic!("{path} is in no crate"))
}

/// The layer that a file belongs to; none for the roots.
fn layer_of(path: &str) -> Option<&str> {
    Some(in_crate(path).1.split_once('/')?.0)
}

/// How many modules stand between a file and the root: `src/a/mod.rs` is 1.
fn depth_of(path: &str) -> usize {
    in_crate(path).1.trim_end_matches("/mod.rs").split('/').count()
}

/// Layers named in code, with the line: after `crate::`, and after as many
/// `super::` as lead to the root from there.
fn layers_named(path: &str, code: &str) -> Vec<(usize, String)> {
    let mut named: Vec<(usize, String)> = named_under(code, "crate").into_iter().collect();
    let chains: Vec<usize> =
        words(code, "super").filter(|at| !code[..*at].trim_end().ends_with("::")).collect();
    for at in chains {
        let mut rest = &code[at..];
        let mut climbed = 0;
        while let Some(after) = rest.strip_prefix("super") {
            climbed += 1;
            let next = after.trim_start().trim_start_matches(':').trim_start();
            if !next.starts_with("super") {
                rest = after;
                break;
            }
            rest = next;
        }
        if climbed >= depth_of(path) + inline_modules(&code[..at]) {
            let line = line_of(code, at);
            named.extend(heads(rest).into_iter().map(|name| (line, name)));
        }
    }
    named
}

/// How many `mod name { … }` are open at the end of some code.
fn inline_modules(code: &str) -> usize {
    let mut open = Vec::new();
    let mut statement = String::new();
    for c in code.chars() {
        match c {
            '{' => {
                let opens_module = statement.split(|c: char| !is_word(c)).any(|word| word == "mod");
                open.push(opens_module);
                statement.clear();
            }
            '}' => {
                open.pop();
                statement.clear();
            }
            ';' => statement.clear(),
            c => statement.push(c),
        }
    }
    open.into_iter().filter(|is_module| *is_module).count()
}

/// The imports of a file from layers below its own, in words.
fn upward(layers: &[String], path: &str, code: &str) -> Vec<String> {
    let position = |name: &str| layers.iter().position(|layer| layer == name);
    let Some(own) = layer_of(path) else { return Vec::new() };
    let own_position = position(own).unwrap_or_else(|| panic!("{path} is in no known layer"));
    layers_named(path, code)
        .into_iter()
        .filter(|(_, name)| position(name).is_some_and(|named| named > own_position))
        .map(|(line, name)| format!("{path}:{line}: `{own}` imports from `{name}`"))
        .collect()
}

fn assert_none(problems: &[String]) {
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn no_file_imports_from_a_layer_below_its_own() {
    let mut imports = 0;
    // What is in the folders of sources is one layer.
    for folder in CRATES.iter().filter(|folder| **folder != "crates/sources/src") {
        let (layers, files) = (layers(folder), files_under(folder));
        let problems: Vec<String> =
            files.iter().flat_map(|file| upward(&layers, &file.path, &file.code)).collect();
        assert_none(&problems);
        imports +=
            files.iter().map(|file| layers_named(&file.path, &file.code).len()).sum::<usize>();
    }
    assert!(imports > 50, "only {imports} imports were seen");
}

#[test]
fn an_upward_import_is_caught_however_it_is_written() {
    let layers = ["domain", "report", "cli"].map(str::to_owned);
    let path = "src/domain/money.rs";
    for code in [
        "use crate::report::text::money;",
        "use crate::{\n    domain::{Gap, Money},\n    report::{self, text},\n};",
        "fn f() { let x = crate::report::SCHEMA_VERSION; }",
        "use super::super::report::text;",
        "mod tests {\n    use super::super::super::report::text;\n}",
        "use crate :: { cli :: Io };",
    ] {
        let code = code_of(code);
        assert_eq!(upward(&layers, path, &code).len(), 1, "{code}");
    }
    assert_eq!(
        upward(&layers, path, "\n\nuse crate::cli::Io;"),
        ["src/domain/money.rs:3: `domain` imports from `cli`"]
    );
    assert_eq!(upward(&layers, "src/domain/mod.rs", "use super::cli::Io;").len(), 1);
    let allowed = "// crate::cli\nuse crate::domain::Gap;\nuse super::report;\nconst A: &str = \"crate::cli\";\nmod tests { use super::super::report; }";
    assert_none(&upward(&layers, path, &code_of(allowed)));
}

#[test]
fn code_is_told_from_comments_and_literals() {
    let text = "a /* b /* c */ d */ \"e\\\"f\" r#\"g\"h\"# 'i' '\\'' 'j: k // l\nm";
    let code = code_of(text);
    let left: Vec<&str> = code.split_whitespace().collect();
    assert_eq!(left, ["a", "'j:", "k", "m"]);
    assert_eq!(line_of(&code, code.find('m').expect("kept")), 2);
}

#[test]
fn documents_name_pure_layers_alone() {
    let problems: Vec<String> = files_under("src/report")
        .iter()
        .flat_map(|file| {
            let named = layers_named(&file.path, &file.code).into_iter();
            let named = named.filter(|(_, name)| IMPURE.contains(&name.as_str()));
            named
                .map(|(line, name)| format!("{}:{line}: names `{name}`", file.path))
                .collect::<Vec<_>>()
        })
        .collect();
    assert_none(&problems);
}

/// The places where any of some words stands in files.
fn places_of(files: &[SourceFile], forbidden: &[&str]) -> Vec<String> {
    files
        .iter()
        .flat_map(|file| {
            forbidden.iter().flat_map(move |word| {
                words(&file.code, word)
                    .map(move |at| format!("{}:{}: {word}", file.path, line_of(&file.code, at)))
            })
        })
        .collect()
}

#[test]
fn pure_layers_touch_neither_files_nor_network_nor_clock() {
    for folder in PURE {
        let files = files_under(folder);
        let mut problems = places_of(&files, &["tokio", "Timestamp::now", "SystemTime"]);
        problems.extend(places_of(&files, &["Instant", "Zoned::now", "include_env"]));
        for file in &files {
            for (line, name) in named_under(&file.code, "std") {
                if ["fs", "net", "env", "process", "thread", "time"].contains(&name.as_str()) {
                    problems.push(format!("{}:{line}: std::{name}", file.path));
                }
            }
        }
        assert_none(&problems);
    }
}

#[test]
fn no_file_is_too_long() {
    let problems: Vec<String> = program_files()
        .iter()
        .map(|file| (&file.path, file.text.lines().count()))
        .filter(|(_, lines)| *lines > LONGEST_FILE)
        .map(|(path, lines)| format!("{path}: {lines} lines"))
        .collect();
    assert_none(&problems);
}

#[test]
fn nothing_is_left_to_do_or_switched_off() {
    for folder in ["src", "crates", "tests", "examples"] {
        let files = files_under(folder);
        let mut problems = places_of(&files, &["todo!", "unimplemented!", "dbg!"]);
        problems.extend(files.iter().flat_map(|file| {
            file.code
                .match_indices("#[ignore")
                .map(|(at, found)| format!("{}:{}: {found}", file.path, line_of(&file.code, at)))
                .collect::<Vec<_>>()
        }));
        assert_none(&problems);
    }
}
