//! Every command that a message advises is typed once, by the test that met it.

use crate::cli::process::program;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Commands that were typed already.
static TYPED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Words that stand for what the user has.
const STANDS_FOR: [(&str, &str); 5] = [
    ("FILE.jsonl", "samples.jsonl"),
    ("FILE", "file.json"),
    ("TYPE", "g5.xlarge"),
    ("NAME", "name"),
    ("ID", "111122223333"),
];

/// Types each command of a text that nobody has typed yet, beside copies of the files of
/// a folder.
///
/// A command must be one: nothing that it requires is missing, and no flag of it is
/// unknown. What needs no file and no account must also end as it promises.
pub fn are_typed(text: &str, folder: &Path) {
    for command in commands(text) {
        let is_new = {
            let mut typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
            typed.insert(command.clone())
        };
        if is_new {
            is_typed(&command, text, folder);
        }
    }
}

/// Commands of the program between backticks, as they are typed.
fn commands(text: &str) -> BTreeSet<String> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = text.split('`');
    // What is quoted stands between an odd and an even backtick.
    parts
        .skip(1)
        .step_by(2)
        .filter(|part| part.starts_with("gpucost ") && !part.ends_with('\\'))
        .map(str::to_owned)
        .collect()
}

fn is_typed(command: &str, text: &str, folder: &Path) {
    let Some(words) = shlex::split(command) else { return };
    let has = |name: &str| words.iter().any(|word| word == name);
    // A run of the sampler lasts until it is ended, and a server as long as its client.
    let lasts = has("profile") && !has("--read") || has("mcp");
    if words.iter().any(|word| word.starts_with('$')) || lasts {
        return;
    }
    let replaced = |word: &String| {
        let stand_in = STANDS_FOR.iter().find(|(name, _)| word == name);
        stand_in.map_or(word.clone(), |(_, value)| (*value).to_owned())
    };
    let typed: Vec<String> = words.iter().skip(1).map(replaced).collect();
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let copy = tempfile::tempdir().expect("a scratch folder");
    let files = fs::read_dir(folder).expect("the folder of a test");
    for path in files.map(|entry| entry.expect("a readable entry").path()) {
        if path.is_file() {
            let name = path.file_name().expect("a name");
            fs::copy(&path, copy.path().join(name)).expect("a copy");
        }
    }
    // No test asks a cloud: nothing listens there.
    let output = program(copy.path())
        .args(&typed)
        .env("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
        .output()
        .expect("the program starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        !stderr.contains("For more information, try"),
        "`{command}` is not a command: {stderr}\nadvised by: {text}"
    );
    let is_live = !has("--from") && !has("--demo");
    // A history is a folder, which is not among the copies.
    let is_of_history = has("history") && !has("record");
    let needs_more = has("FILE") || is_of_history || is_live && (has("explain") || has("check"));
    let code = output.status.code();
    assert!(needs_more || code != Some(2), "`{command}` fails: {stderr}\nadvised by: {text}");
}
