//! The list of regions: where the price list of each is now.

use crate::sources::files::bounded;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{BufReader, Read};

/// Bytes of the list, unpacked.
const MOST_BYTES: u64 = 16 << 20;
/// Before the path of every price list.
const ROOT: &str = "/offers/v1.0/";
/// The same list in the two forms.
const AS_JSON: &str = "/index.json";
const AS_CSV: &str = "/index.csv";

#[derive(Debug, Deserialize)]
pub(super) struct RegionIndex {
    regions: BTreeMap<String, Listed>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Listed {
    current_version_url: String,
}

/// # Errors
/// Why it is not such a list.
pub(super) fn read(text: impl Read) -> Result<RegionIndex, String> {
    let text = BufReader::new(bounded(text, MOST_BYTES));
    serde_json::from_reader(text).map_err(|error| error.to_string())
}

impl RegionIndex {
    /// The path of a region's list as comma-separated values, and its version; `None` where
    /// the region is not listed, or its path is not one of a price list.
    pub(super) fn list(&self, region: &str) -> Option<(String, String)> {
        let path = &self.regions.get(region)?.current_version_url;
        let folder = path.strip_suffix(AS_JSON)?;
        let parts = folder.strip_prefix(ROOT)?;
        let is_plain = |part: &str| {
            let mut characters = part.chars();
            !part.is_empty() && characters.all(|c| c.is_ascii_alphanumeric() || c == '-')
        };
        if !parts.split('/').all(is_plain) {
            return None;
        }
        let mut parts = parts.rsplit('/');
        let (last, version) = (parts.next()?, parts.next()?);
        (last == region).then(|| (format!("{folder}{AS_CSV}"), version.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(url: &str) -> Option<(String, String)> {
        let text = format!(
            r#"{{"formatVersion": "v1.0", "publicationDate": "2026-11-18T20:59:55Z",
            "regions": {{"eu-west-1": {{"regionCode": "eu-west-1", "currentVersionUrl": "{url}"}}}}}}"#
        );
        read(text.as_bytes()).expect("a list").list("eu-west-1")
    }

    #[test]
    fn the_list_of_a_region_is_on_the_same_host() {
        let list = "/offers/v1.0/aws/AmazonEC2/20261118205955/eu-west-1/index";
        assert_eq!(
            path(&format!("{list}.json")),
            Some((format!("{list}.csv"), "20261118205955".to_owned()))
        );
        for elsewhere in [
            "",
            "https://elsewhere.example/offers/v1.0/aws/AmazonEC2/1/eu-west-1/index.json",
            "//elsewhere.example/offers/v1.0/aws/AmazonEC2/1/eu-west-1/index.json",
            "/offers/v1.0/../../eu-west-1/index.json",
            "/offers/v1.0/aws/AmazonEC2/1/us-east-1/index.json",
            "/offers/v1.0/aws/AmazonEC2/1?x=/eu-west-1/index.json",
            "/offers/v1.0/aws/AmazonEC2/1/eu-west-1/index.csv",
        ] {
            assert_eq!(path(elsewhere), None, "{elsewhere}");
        }
    }

    /// A text that unpacks to far more than it has on its way.
    #[test]
    fn a_list_has_an_end() {
        let start: &[u8] = b"{\"regions\": {}, \"more\": \"";
        let error = read(start.chain(std::io::repeat(b'x'))).expect_err("it has no end");
        assert!(error.contains("larger than 16 MiB"), "{error}");
    }

    #[test]
    fn a_page_for_browsers_is_not_a_list() {
        for text in ["", "<html></html>", "[]", "{}", r#"{"regions": []}"#] {
            assert!(read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
