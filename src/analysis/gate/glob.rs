//! Patterns of names: `*` stands for anything, `?` for one character.

use std::fmt;

/// A pattern that a whole name must match; case counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glob(String);

impl Glob {
    pub fn new(pattern: impl Into<String>) -> Self {
        Self(pattern.into())
    }

    /// What every name that matches begins and ends with: all of a pattern in which nothing
    /// stands for something else.
    pub(super) fn ends(&self) -> (&str, &str) {
        let start = self.0.split(['*', '?']).next().unwrap_or_default();
        let end = self.0.rsplit(['*', '?']).next().unwrap_or_default();
        (start, end)
    }

    /// Whether a whole name matches. Time grows with the product of both lengths
    /// at worst, whatever the pattern.
    pub fn matches(&self, name: &str) -> bool {
        let pattern: Vec<char> = self.0.chars().collect();
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut seen) = (0, 0);
        // The last star, and how much of the name it stands for so far.
        let mut star: Option<(usize, usize)> = None;
        while seen < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, seen));
                    at += 1;
                }
                Some(c) if *c == '?' || *c == name[seen] => {
                    at += 1;
                    seen += 1;
                }
                _ => {
                    let Some((after, taken)) = star else { return false };
                    star = Some((after, taken + 1));
                    at = after + 1;
                    seen = taken + 1;
                }
            }
        }
        pattern[at..].iter().all(|c| *c == '*')
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_anything_and_marks_for_one() {
        for (pattern, name) in [
            ("g5.*", "g5.xlarge"),
            ("*", ""),
            ("eu-*-1", "eu-west-1"),
            ("p?.2xlarge", "p3.2xlarge"),
            ("*a*b*", "xxaxxbxx"),
            ("a*a", "aba"),
        ] {
            assert!(Glob::new(pattern).matches(name), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("g5.*", "g5g.xlarge"),
            ("", "a"),
            ("eu-*-1", "eu-west-2"),
            ("p?.2xlarge", "p.2xlarge"),
            ("G5.*", "g5.xlarge"),
            ("a*a", "a"),
        ] {
            assert!(!Glob::new(pattern).matches(name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_longer_than_the_product() {
        let pattern = Glob::new("a*".repeat(200) + "b");
        assert!(!pattern.matches(&"a".repeat(5_000)));
    }
}
