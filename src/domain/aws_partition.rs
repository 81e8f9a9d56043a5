//! The partitions of AWS, which share neither accounts nor endpoints.

/// The partition of a region, as ARNs name it.
pub fn partition(region: &str) -> &'static str {
    match region {
        _ if region.starts_with("cn-") => "aws-cn",
        _ if region.starts_with("us-gov-") => "aws-us-gov",
        _ if region.starts_with("us-isob-") => "aws-iso-b",
        _ if region.starts_with("us-isof-") => "aws-iso-f",
        _ if region.starts_with("us-iso-") => "aws-iso",
        _ if region.starts_with("eu-isoe-") => "aws-iso-e",
        _ if region.starts_with("eusc-") => "aws-eusc",
        _ => "aws",
    }
}
