//! Texts with names in braces.

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
