//! Texts with names in braces.

/// Statements that check what is read, and what scripts say of each.
pub(super) const CHECKS: &str = include_str!("checks.sql");

/// The block of a file under a title, of blocks that empty lines separate and that begin with
/// `-- TITLE`.
pub(super) fn block(file: &'static str, title: &str) -> &'static str {
    blocks(file).find(|(own, _)| *own == title).map_or("", |(_, text)| text)
}

/// All blocks of a file, each with its title.
pub(super) fn blocks(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    file.trim_end().split("\n\n").filter_map(|block| block.strip_prefix("-- ")?.split_once('\n'))
}

/// A template with the blocks of a file in place of their titles in braces. A block may have
/// the titles of those after it.
pub(super) fn expanded(template: &str, file: &'static str) -> String {
    blocks(file).fold(template.to_owned(), |text, (title, block)| {
        text.replace(&format!("{{{title}}}"), block)
    })
}

/// A template with a text in place of each `{name}`. What is put in is not read again, so
/// that a column may be called `{name}` as well. A name that is not among the values stays.
pub(super) fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() * 2);
    let mut parts = template.trim_end().split('{');
    text.extend(parts.next());
    for part in parts {
        let known = part.split_once('}').and_then(|(name, rest)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((*value, rest))
        });
        match known {
            Some((value, rest)) => text.extend([value, rest]),
            None => text.extend(["{", part]),
        }
    }
    text
}

/// A statement of a check, after what scripts say of it.
pub(super) fn check(said: &str, statement: &str) -> String {
    format!("{}\n{statement};\n\n", block(CHECKS, said))
}
