//! Names as people type them, and the known ones that are nearest.

/// A name as people type it: no case, no blanks, no dashes.
pub(crate) fn plain_name(name: &str) -> String {
    name.chars().filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect()
}

/// Bytes from which a text is not a name with an error in it. Comparing takes the product of
/// lengths.
const LONGEST_NAME: usize = 256;

/// The known names that a name may be an error for, best first, three at most;
/// none when it is like no other.
pub fn nearest_names<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<String> {
    if name.len() > LONGEST_NAME {
        return Vec::new();
    }
    let likeness = |known: &str| strsim::jaro_winkler(&plain_name(name), &plain_name(known));
    let mut near: Vec<(f64, &str)> = known
        .map(|known| (likeness(known), known))
        .filter(|(likeness, _)| *likeness > 0.8)
        .collect();
    near.sort_by(|left, right| right.0.total_cmp(&left.0).then(left.1.cmp(right.1)));
    near.into_iter().take(3).map(|(_, known)| known.to_owned()).collect()
}

/// Whether a name fits a pattern in which `*` stands for anything.
pub(crate) fn matches_pattern(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut last = None;
    for part in parts {
        if let Some(before) = last.replace(part) {
            match rest.find(before) {
                Some(at) => rest = &rest[at + before.len()..],
                None => return false,
            }
        }
    }
    last.map_or(rest.is_empty(), |end| rest.ends_with(end))
}
