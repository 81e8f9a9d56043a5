//! Rust sources as far as these tests need to understand them: code without
//! comments and literals, and the paths named in it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The root of the package.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A source file with its path from the root of the package.
pub struct SourceFile {
    /// Such as `crates/judge/src/rules/idle_gpu.rs`.
    pub path: String,
    /// As written.
    pub text: String,
    /// With comments and the insides of literals blanked; lines keep their
    /// numbers.
    pub code: String,
}

/// The folders of the crates of the program.
pub const CRATES: [&str; 4] = ["crates/model/src", "crates/judge/src", "crates/sources/src", "src"];

/// Every Rust file of the program.
pub fn program_files() -> Vec<SourceFile> {
    CRATES.iter().flat_map(|folder| files_under(folder)).collect()
}

/// Every Rust file in a folder of the package, in order of path.
pub fn files_under(folder: &str) -> Vec<SourceFile> {
    let mut paths = Vec::new();
    collect(&root().join(folder), &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "no Rust file in {folder}");
    paths
        .into_iter()
        .map(|path| {
            let text = fs::read_to_string(&path).expect("sources are UTF-8");
            let path = path
                .strip_prefix(root())
                .expect("it was found under the root")
                .to_str()
                .expect("names of sources are UTF-8")
                .replace('\\', "/");
            SourceFile { path, code: code_of(&text), text }
        })
        .collect()
}

fn collect(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            collect(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Line of a byte offset, counted from one.
pub fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// The text with comments and the insides of literals turned into blanks.
pub fn code_of(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skipped(&chars, at);
        if end > at {
            out.extend(chars[at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            out.push(chars[at]);
            at += 1;
        }
    }
    out
}

/// The end of the comment or literal that begins here; here when none does.
fn skipped(chars: &[char], at: usize) -> usize {
    let is = |offset: usize, c: char| chars.get(at + offset) == Some(&c);
    let inside_word = at > 0 && is_word(chars[at - 1]);
    if is(0, '/') && is(1, '/') {
        return position(chars, at, |c| c == '\n');
    }
    if is(0, '/') && is(1, '*') {
        return end_of_block(chars, at);
    }
    if is(0, 'r') && !inside_word || is(0, 'r') && at > 0 && chars[at - 1] == 'b' {
        let quote = position(chars, at + 1, |c| c != '#');
        if chars.get(quote) == Some(&'"') {
            return end_of_raw(chars, quote, quote - at - 1);
        }
    }
    if is(0, '"') {
        return end_of_quoted(chars, at, '"');
    }
    // A quote is a character only when it is closed again; else a lifetime.
    if is(0, '\'') && (is(1, '\\') || is(2, '\'')) {
        return end_of_quoted(chars, at, '\'');
    }
    at
}

fn position(chars: &[char], from: usize, wanted: impl Fn(char) -> bool) -> usize {
    (from..chars.len()).find(|index| wanted(chars[*index])).unwrap_or(chars.len())
}

fn end_of_block(chars: &[char], at: usize) -> usize {
    let mut depth = 0;
    let mut here = at;
    while here < chars.len() {
        match (chars[here], chars.get(here + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                here += 2;
            }
            ('*', Some('/')) => {
                depth -= 1;
                here += 2;
                if depth == 0 {
                    return here;
                }
            }
            _ => here += 1,
        }
    }
    here
}

fn end_of_raw(chars: &[char], quote: usize, hashes: usize) -> usize {
    let mut here = quote + 1;
    while here < chars.len() {
        let closed =
            chars[here] == '"' && (1..=hashes).all(|offset| chars.get(here + offset) == Some(&'#'));
        if closed {
            return here + 1 + hashes;
        }
        here += 1;
    }
    here
}

fn end_of_quoted(chars: &[char], at: usize, quote: char) -> usize {
    let mut here = at + 1;
    while here < chars.len() {
        match chars[here] {
            '\\' => here += 2,
            c if c == quote => return here + 1,
            _ => here += 1,
        }
    }
    chars.len()
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Every place where a word stands, not part of a longer one.
pub fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = code[..*at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// What is named directly under a root such as `crate` or `std`, in `use`
/// lines and in bodies, with the line: `crate::{a::b, c}` names `a` and `c`.
pub fn named_under(code: &str, root: &str) -> BTreeSet<(usize, String)> {
    words(code, root)
        .flat_map(|at| {
            let rest = &code[at + root.len()..];
            heads(rest).into_iter().map(move |name| (line_of(code, at), name))
        })
        .collect()
}

/// The names that follow `::`, one or the group's.
pub fn heads(rest: &str) -> Vec<String> {
    let Some(rest) = rest.trim_start().strip_prefix("::") else { return Vec::new() };
    let rest = rest.trim_start();
    let Some(group) = rest.strip_prefix('{') else {
        let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
        return vec![name];
    };
    let mut depth = 0;
    let mut names = Vec::new();
    let mut name = String::new();
    let mut in_head = true;
    for c in group.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                names.push(std::mem::take(&mut name));
                in_head = true;
            }
            _ if depth == 0 && in_head && is_word(c) => name.push(c),
            _ if depth == 0 && !name.is_empty() => in_head = false,
            _ => {}
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}
