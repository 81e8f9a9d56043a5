//! No file imports from another that imports from it, at once or by way of others: what
//! two files share stands in the one that the other builds on, or in a third.

use crate::support::source::{CRATES, SourceFile, code_of, files_under, is_word};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

type Path = Vec<String>;

/// A file as a module of the crate.
struct Module {
    file: String,
    /// Its code without tests and without `use` lines.
    body: Vec<String>,
    /// What `use` lines call by a name, in full, and whether others see it by that name.
    imports: BTreeMap<String, (Path, bool)>,
}

/// Words, `::` and single characters.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in code.chars() {
        match tokens.last_mut() {
            Some(last) if in_word && is_word(c) => last.push(c),
            Some(last) if c == ':' && *last == ":" => last.push(c),
            _ if !c.is_whitespace() => tokens.push(c.to_string()),
            _ => {}
        }
        in_word = is_word(c);
    }
    tokens
}

/// The place after the item that begins at one: after its `;` or its block.
fn end_of_item(tokens: &[String], from: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(from) {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => return at + 1,
            "}" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

fn without_tests(tokens: Vec<String>) -> Vec<String> {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let (mut left, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        let rest = &tokens[at..];
        let is_test = rest.len() > TEST.len() && rest.iter().zip(TEST).all(|(one, of)| one == of);
        if is_test {
            at = end_of_item(&tokens, at);
        } else {
            left.push(tokens[at].clone());
            at += 1;
        }
    }
    left
}

/// The paths of one `use`, each with the name that it gets here.
fn use_tree(tokens: &mut VecDeque<String>, before: &[String], into: &mut Vec<(String, Path)>) {
    let mut path = before.to_vec();
    while let Some(token) = tokens.pop_front() {
        match token.as_str() {
            "::" => {}
            "{" => {
                while tokens.front().is_some_and(|next| next != "}") {
                    use_tree(tokens, &path, into);
                    if tokens.front().is_some_and(|next| next == ",") {
                        tokens.pop_front();
                    }
                }
                tokens.pop_front();
                return;
            }
            "self" if !path.is_empty() => {}
            "as" => {
                let name = tokens.pop_front().unwrap_or_default();
                into.push((name, path));
                return;
            }
            _ => path.push(token),
        }
        if tokens.front().is_none_or(|next| next == "," || next == "}") {
            let name = path.last().cloned().unwrap_or_default();
            into.push((name, path));
            return;
        }
    }
}

/// Whether a name of the root is a module of a crate above.
fn is_above(name: &str, known: &BTreeSet<Path>) -> bool {
    ["catalog", "domain", "usage"].contains(&name) && !known.contains(&vec![name.to_owned()])
}

/// A path from the root; `None` where it leads out of the crate.
fn absolute(module: &[String], path: &[String], known: &BTreeSet<Path>) -> Option<Path> {
    match path.first()?.as_str() {
        "crate" if path.get(1).is_some_and(|name| is_above(name, known)) => None,
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let climbed = path.iter().take_while(|part| *part == "super").count();
            let above = &module[..module.len().checked_sub(climbed)?];
            Some([above, &path[climbed..]].concat())
        }
        name => {
            let child = [module, &[name.to_owned()]].concat();
            known.contains(&child).then(|| [module, path].concat())
        }
    }
}

/// The module that a file is: `src/a/b.rs` and `src/a/b/mod.rs` are `a::b`.
fn module_of(file: &str) -> Path {
    let inside = file.trim_start_matches("src/").trim_end_matches(".rs");
    let parts = inside.split('/').map(str::to_owned);
    parts.filter(|part| !["mod", "lib"].contains(&part.as_str())).collect()
}

fn modules(files: &[(&str, &str)]) -> BTreeMap<Path, Module> {
    let known: BTreeSet<Path> = files.iter().map(|(file, _)| module_of(file)).collect();
    let read = |(file, code): &(&str, &str)| {
        let own = module_of(file);
        let tokens = without_tests(tokens(code));
        let (mut body, mut imports) = (Vec::new(), BTreeMap::new());
        let mut at = 0;
        while at < tokens.len() {
            if tokens[at] != "use" {
                body.push(tokens[at].clone());
                at += 1;
                continue;
            }
            let end = at + tokens[at..].iter().take_while(|token| *token != ";").count();
            let is_seen = at > 0 && ["pub", ")"].contains(&tokens[at - 1].as_str());
            let mut found = Vec::new();
            use_tree(&mut tokens[at + 1..end].iter().cloned().collect(), &[], &mut found);
            for (name, path) in found {
                if let Some(path) = absolute(&own, &path, &known) {
                    imports.insert(name, (path, is_seen));
                }
            }
            at = end;
        }
        let module = Module { file: (*file).to_owned(), body, imports };
        (own, module)
    };
    files.iter().map(read).collect()
}

/// The file that owns what a path from the root leads to, behind every other name of it.
fn owner<'a>(modules: &'a BTreeMap<Path, Module>, path: &[String]) -> Option<&'a str> {
    let mut path = path.to_vec();
    // No name has so many others.
    for _ in 0..16 {
        let mut ends = (0..=path.len()).rev();
        let at = ends.find(|at| modules.contains_key(&path[..*at]))?;
        let module = &modules[&path[..at]];
        match path.get(at).and_then(|name| module.imports.get(name)) {
            Some((to, _)) if *to != path => path = [to.as_slice(), &path[at + 1..]].concat(),
            _ => return Some(&module.file),
        }
    }
    None
}

/// Whose items a file names.
fn named<'a>(
    modules: &'a BTreeMap<Path, Module>,
    own: &Path,
    known: &BTreeSet<Path>,
) -> BTreeSet<&'a str> {
    let Module { file, body, imports } = &modules[own];
    let mut paths: Vec<Path> = Vec::new();
    for (name, (path, is_seen)) in imports {
        // A module that is imported is followed by what is named of it.
        if !known.contains(path) && (!is_seen || body.contains(name)) {
            paths.push(path.clone());
        }
    }
    for (at, head) in body.iter().enumerate() {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| body[at].as_str());
        let is_place = before(1) == "in" && before(2) == "(";
        if ["::", "."].contains(&before(1)) || is_place || !head.starts_with(is_word) {
            continue;
        }
        let mut chain = vec![head.clone()];
        let mut rest = body[at + 1..].chunks_exact(2);
        while let Some([colons, part]) = rest.next()
            && colons == "::"
            && part.starts_with(is_word)
        {
            chain.push(part.clone());
        }
        if chain.len() == 1 {
            continue;
        }
        let imported = imports.get(head);
        let imported = imported.map(|(path, _)| [path.as_slice(), &chain[1..]].concat());
        paths.extend(imported.or_else(|| absolute(own, &chain, known)));
    }
    let owners = paths.iter().filter_map(|path| owner(modules, path));
    owners.filter(|other| other != file).collect()
}

/// A shortest way along imports from a file back to itself.
fn ring<'a>(imports: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> Option<Vec<&'a str>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::new();
    while let Some(way) = ways.pop_front() {
        for next in &imports[way[way.len() - 1]] {
            if *next == from {
                return Some(way);
            }
            if seen.insert(*next) {
                ways.push_back([way.as_slice(), &[*next]].concat());
            }
        }
    }
    None
}

/// The rings among files, each once, in words.
fn rings(files: &[(&str, &str)]) -> BTreeSet<String> {
    let modules = modules(files);
    let known: BTreeSet<Path> = modules.keys().cloned().collect();
    let imports: BTreeMap<&str, BTreeSet<&str>> = modules
        .iter()
        .map(|(own, module)| (module.file.as_str(), named(&modules, own, &known)))
        .collect();
    let found = imports.keys().filter_map(|file| ring(&imports, file));
    found
        .map(|mut way| {
            let first = way.iter().min().and_then(|least| way.iter().position(|one| one == least));
            way.rotate_left(first.unwrap_or_default());
            way.join(" -> ")
        })
        .collect()
}

#[test]
fn no_two_files_import_each_other() {
    for folder in CRATES {
        let files = files_under(folder);
        let path = |file: &SourceFile| file.path.replacen(folder, "src", 1);
        let files: Vec<(String, &str)> =
            files.iter().map(|file| (path(file), file.code.as_str())).collect();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, code)| (path.as_str(), *code)).collect();
        let rings: Vec<String> = rings(&files).into_iter().collect();
        assert!(rings.is_empty(), "{folder}\n{}", rings.join("\n"));
    }
}

#[test]
fn a_ring_is_found_however_it_is_written() {
    let root = ("src/a/mod.rs", "mod b;\nmod c;\npub use b::{self, B as Same};");
    let other = ("src/a/c.rs", "pub struct C;\nimpl C { fn b() -> super::Same { todo() } }");
    for code in [
        "use super::c::C;", "use crate::{a::c::{C}};", "use super::c;\nfn f() { c::C }",
        "fn f(of: crate::a::c::C) {}",
    ] {
        let found = rings(&[root, ("src/a/b.rs", code), other]);
        assert_eq!(found, BTreeSet::from(["src/a/b.rs -> src/a/c.rs".to_owned()]), "{code}");
    }
    let allowed = "#[cfg(test)]\nmod tests { use super::super::c::C; }\n// super::c::C\npub(in crate::a) struct B;\nuse std::c::C;";
    let code = code_of(allowed);
    assert!(rings(&[root, ("src/a/b.rs", &code), other]).is_empty());
}
