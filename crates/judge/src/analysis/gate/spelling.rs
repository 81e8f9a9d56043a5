//! How names in a policy are spelled. A name that nothing has denies nothing, so
//! that an error in it would open the gate.

use super::evaluation::{Words, place};
use super::policy::denies;
use super::{Allowance, GatePolicy, Glob, Violation, policy_rule};
use crate::catalog::{bundled_regions, has_form_of_type, leading_region, shapes};
use crate::domain::{Severity, nearest_names};
use std::collections::BTreeSet;

/// What is known of a name, or of a pattern of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelling {
    /// The catalog knows something of that name.
    Known,
    /// The catalog knows nothing of that name; AWS may come to have it. With the
    /// nearest name that the catalog knows.
    Unlisted(Option<String>),
    /// Nothing can have that name: why, and what was perhaps meant.
    Wrong(String),
}

/// How an instance type or a pattern of types is spelled. What names a family and
/// a size, or all sizes of a family, may be newer than the catalog.
pub fn spelled_type(pattern: &str) -> Spelling {
    let types: Vec<&str> = shapes().map(|shape| shape.instance_type.as_str()).collect();
    let families: BTreeSet<&str> = types.iter().filter_map(|name| family(name)).collect();
    let whole_families = families.iter().map(|family| format!("{family}.*"));
    let sort = Sort {
        noun: "instance type",
        nouns: "instance types",
        meant: whole_families.chain(types.iter().map(|name| (*name).to_owned())).collect(),
        known: types,
        may_come: may_be_type,
    };
    sort.spelled(pattern)
}

/// How a region or a pattern of regions is spelled. A whole name in the form of a
/// region's may be newer than the catalog.
pub fn spelled_region(pattern: &str) -> Spelling {
    let mut regions = bundled_regions(None);
    regions.retain(|name| is_region(name));
    let meant: BTreeSet<String> = regions
        .iter()
        .map(|name| match name.rsplit_once('-') {
            Some((place, _)) if pattern.contains(['*', '?']) => format!("{place}-*"),
            _ => (*name).to_owned(),
        })
        .collect();
    let sort = Sort {
        noun: "region",
        nouns: "regions",
        meant: meant.into_iter().collect(),
        known: regions,
        may_come: is_region,
    };
    sort.spelled(pattern)
}

/// One sort of names.
struct Sort {
    noun: &'static str,
    nouns: &'static str,
    known: Vec<&'static str>,
    /// What may have been meant by what matches nothing.
    meant: Vec<String>,
    /// Whether AWS may come to have a name.
    may_come: fn(&str) -> bool,
}

impl Sort {
    fn spelled(&self, pattern: &str) -> Spelling {
        if self.matches(pattern) {
            return Spelling::Known;
        }
        let plain = pattern.trim().to_lowercase();
        let nearest = if self.matches(&plain) {
            Some(plain.clone())
        } else {
            nearest_names(&plain, self.meant.iter().map(String::as_str)).into_iter().next()
        };
        if plain == pattern && (self.may_come)(pattern) {
            return Spelling::Unlisted(nearest);
        }
        let why = if plain == pattern {
            String::new()
        } else {
            format!(": {} are lowercase", self.nouns)
        };
        let meant = nearest.map_or(String::new(), |name| format!("; did you mean {name}?"));
        let noun = self.noun;
        Spelling::Wrong(format!("`{pattern}` matches no {noun}{why}{meant}"))
    }

    fn matches(&self, pattern: &str) -> bool {
        let glob = Glob::new(pattern);
        self.known.iter().any(|name| glob.matches(name))
    }
}

fn family(instance_type: &str) -> Option<&str> {
    Some(instance_type.split_once('.')?.0)
}

/// Whether a pattern has the form of a type's name, or of all types of a family:
/// `p9.48xlarge`, `p9.*`, `p9*` or `p9?.48xlarge`.
fn may_be_type(pattern: &str) -> bool {
    let filled = pattern.replace('?', "9");
    let family = filled.strip_suffix('*');
    let family = family.map(|family| family.strip_suffix('.').unwrap_or(family));
    let name = family.map_or(filled.clone(), |family| format!("{family}.large"));
    has_form_of_type(&name.replace('*', ""))
}

fn is_region(name: &str) -> bool {
    leading_region(name) == Some(name)
}

/// Denied names that the catalog does not know and that nothing here has: each is
/// shown, because it may be an error.
pub(super) fn unlisted(
    policy: &GatePolicy,
    types: &BTreeSet<&str>,
    regions: &BTreeSet<&str>,
) -> Vec<Violation> {
    let of_types = of_sort(policy, &policy.types, "instance type", spelled_type, types);
    let of_regions = of_sort(policy, &policy.regions, "region", spelled_region, regions);
    of_types.into_iter().chain(of_regions).collect()
}

fn of_sort(
    policy: &GatePolicy,
    allowance: &Allowance,
    noun: &str,
    spelled: fn(&str) -> Spelling,
    used: &BTreeSet<&str>,
) -> Vec<Violation> {
    let unused = |glob: &Glob| !used.iter().any(|name| denies(glob, name));
    let denied = allowance.denied.iter().filter(|(glob, _)| unused(glob));
    let notice = |(glob, line): &(Glob, usize)| {
        let name = glob.to_string();
        let Spelling::Unlisted(nearest) = spelled(&name) else { return None };
        let meant = nearest.map_or(String::new(), |name| format!("; did you mean {name}?"));
        let words = Words {
            title: format!("{name} is denied, but no {noun} with that name is known{meant}"),
            observed: "unknown".to_owned(),
            limit: format!("not {name}"),
            steps: vec![
                "correct the name if it is a typo; types and regions newer than this version \
                 are still denied"
                    .to_owned(),
            ],
            ..Words::default()
        };
        let place = place(policy, *line);
        Some(words.violation(policy_rule::UNLISTED_NAME, Severity::Warning, &name, place))
    };
    denied.filter_map(notice).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(message: &str) -> Spelling {
        Spelling::Wrong(message.to_owned())
    }

    #[test]
    fn types_that_are_sold_are_known() {
        for pattern in ["g6e.12xlarge", "p4d.*", "p5*", "*", "g?.xlarge", "*.metal"] {
            assert_eq!(spelled_type(pattern), Spelling::Known, "{pattern}");
        }
    }

    #[test]
    fn types_that_cannot_be_are_wrong() {
        for (pattern, message) in [
            (
                "G6E.12XLARGE",
                "`G6E.12XLARGE` matches no instance type: instance types are lowercase; did you \
                 mean g6e.12xlarge?",
            ),
            (
                "P4D.*",
                "`P4D.*` matches no instance type: instance types are lowercase; did you mean p4d.*?",
            ),
            ("g6e.12xlarg", "`g6e.12xlarg` matches no instance type; did you mean g6e.12xlarge?"),
            ("g6e-12xlarge", "`g6e-12xlarge` matches no instance type; did you mean g6e.12xlarge?"),
            ("g5", "`g5` matches no instance type; did you mean g5.*?"),
            ("H100", "`H100` matches no instance type: instance types are lowercase"),
        ] {
            assert_eq!(spelled_type(pattern), wrong(message));
        }
    }

    #[test]
    fn types_that_may_come_are_unlisted() {
        for pattern in ["p9.*", "p9*", "p9.48xlarge", "g6e.96xlarge", "x9-b400.metal-96xl"] {
            let spelling = spelled_type(pattern);
            assert!(matches!(spelling, Spelling::Unlisted(_)), "{pattern}");
        }
    }

    #[test]
    fn regions() {
        for pattern in ["us-east-1", "eu-*", "cn-*", "us-gov-west-1", "*-1", "*"] {
            assert_eq!(spelled_region(pattern), Spelling::Known, "{pattern}");
        }
        // Regions that AWS has and whose prices the catalog lacks.
        for pattern in ["cn-northwest-1", "us-isob-east-1", "eusc-de-east-1", "us-east-3"] {
            let spelling = spelled_region(pattern);
            assert!(matches!(spelling, Spelling::Unlisted(_)), "{pattern}");
        }
        for (pattern, message) in [
            ("us-esat-1", "`us-esat-1` matches no region; did you mean us-east-1?"),
            (
                "US-EAST-1",
                "`US-EAST-1` matches no region: regions are lowercase; did you mean us-east-1?",
            ),
            ("us-esat-*", "`us-esat-*` matches no region; did you mean us-east-*?"),
            ("mars-*", "`mars-*` matches no region"),
        ] {
            assert_eq!(spelled_region(pattern), wrong(message));
        }
        // A local zone is not a region.
        assert!(matches!(spelled_region("us-east-1-atl-1"), Spelling::Wrong(_)));
    }
}
