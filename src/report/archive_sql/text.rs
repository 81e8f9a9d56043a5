//! Texts with names in braces.

/// The block of a file under a title, of blocks that empty lines separate and that begin with
/// `-- TITLE`.
pub(super) fn block(file: &'static str, title: &str) -> &'static str {
    let mut all = blocks(file);
    all.find(|(own, _)| *own == title)
        .map_or("", |(_, text)| text)
}

/// All blocks of a file, each with its title.
pub(super) fn blocks(file: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = file.trim_end().split("\n\n");
    all.filter_map(|block| block.strip_prefix("-- ")?.split_once('\n'))
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

/// Adds a statement to a script.
pub(super) fn push(script: &mut String, statement: &str) {
    script.push_str(statement);
    script.push_str(";\n\n");
}
