//! Names that the catalog does not know and that AWS may have all the same: a list of
//! names is older than the newest of them.

/// Whether a name has the form of an instance type's, such as `p9.48xlarge`.
pub fn has_form_of_type(name: &str) -> bool {
    const SIZES: &[&str] = &["nano", "micro", "small", "medium", "large"];
    let Some((family, size)) = name.split_once('.') else { return false };
    let multiple = size.strip_suffix("xlarge");
    let of_metal = size.strip_prefix("metal");
    let is_size = SIZES.contains(&size)
        || multiple.is_some_and(|times| times.is_empty() || times.parse::<u8>().is_ok())
        || of_metal.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
    is_size && family.contains(|c: char| c.is_ascii_digit()) && family.split('-').all(is_lower_word)
}

/// The region that a name of that form begins with: `us-east-1` of itself and of
/// the local zone `us-east-1-atl-1`.
pub fn leading_region(name: &str) -> Option<&str> {
    const DIRECTIONS: &[&str] = &[
        "central", "east", "north", "northeast", "northwest", "south", "southeast", "southwest",
        "west",
    ];
    let parts: Vec<&str> = name.split('-').collect();
    let direction = parts.iter().position(|part| DIRECTIONS.contains(part))?;
    let is_number = |part: &&str| part.parse::<u8>().is_ok();
    let is_region = direction > 0
        && parts.get(direction + 1).is_some_and(is_number)
        && parts.iter().all(|part| is_lower_word(part));
    let end = parts.get(..direction + 2)?.join("-").len();
    is_region.then_some(&name[..end])
}

fn is_lower_word(text: &str) -> bool {
    let is_lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    !text.is_empty() && text.bytes().all(is_lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_recognized_by_their_form() {
        for name in ["p9.48xlarge", "x9-b400.metal-96xl", "g5g.metal", "t4g.nano"] {
            assert!(has_form_of_type(name), "{name}");
        }
        for name in ["p9", "p9.48xlarg", "P9.48xlarge", "p9-48xlarge", "huge.large"] {
            assert!(!has_form_of_type(name), "{name}");
        }
    }

    #[test]
    fn regions_are_recognized_by_their_form() {
        for (name, region) in [
            ("us-east-1", Some("us-east-1")),
            ("us-east-1-atl-1", Some("us-east-1")),
            ("eusc-de-east-1", Some("eusc-de-east-1")),
            ("us-esat-1", None),
            ("us-east", None),
            ("east-1", None),
            ("US-EAST-1", None),
        ] {
            assert_eq!(leading_region(name), region);
        }
    }
}
