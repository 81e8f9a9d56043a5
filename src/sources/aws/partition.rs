//! Hosts of the partitions of AWS, which share neither accounts nor endpoints.

pub(super) use crate::domain::partition;

/// What hosts of a region's partition end with.
pub(super) fn dns_suffix(region: &str) -> &'static str {
    match partition(region) {
        "aws-cn" => "amazonaws.com.cn",
        "aws-iso" => "c2s.ic.gov",
        "aws-iso-b" => "sc2s.sgov.gov",
        "aws-iso-e" => "cloud.adc-e.uk",
        "aws-iso-f" => "csp.hci.ic.gov",
        "aws-eusc" => "amazonaws.eu",
        _ => "amazonaws.com",
    }
}

/// The region that answers for the organizations of a region's partition.
pub(super) fn organizations_region(region: &str) -> &'static str {
    match partition(region) {
        "aws-cn" => "cn-northwest-1",
        "aws-us-gov" => "us-gov-west-1",
        "aws-iso" => "us-iso-east-1",
        "aws-iso-b" => "us-isob-east-1",
        "aws-iso-e" => "eu-isoe-west-1",
        "aws-iso-f" => "us-isof-south-1",
        "aws-eusc" => "eusc-de-east-1",
        _ => "us-east-1",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // As `partitions.json` and `endpoints.json` of botocore 1.43.11 have them.
    #[test]
    fn each_partition_has_its_hosts_and_its_organizations() {
        for (region, name, suffix, organizations) in [
            ("eu-west-1", "aws", "amazonaws.com", "us-east-1"),
            ("cn-north-1", "aws-cn", "amazonaws.com.cn", "cn-northwest-1"),
            ("us-gov-east-1", "aws-us-gov", "amazonaws.com", "us-gov-west-1"),
            ("us-iso-west-1", "aws-iso", "c2s.ic.gov", "us-iso-east-1"),
            ("us-isob-east-1", "aws-iso-b", "sc2s.sgov.gov", "us-isob-east-1"),
            ("eu-isoe-west-1", "aws-iso-e", "cloud.adc-e.uk", "eu-isoe-west-1"),
            ("us-isof-east-1", "aws-iso-f", "csp.hci.ic.gov", "us-isof-south-1"),
            ("eusc-de-east-1", "aws-eusc", "amazonaws.eu", "eusc-de-east-1"),
        ] {
            assert_eq!(partition(region), name);
            assert_eq!(dns_suffix(region), suffix);
            assert_eq!(organizations_region(region), organizations);
        }
    }
}
