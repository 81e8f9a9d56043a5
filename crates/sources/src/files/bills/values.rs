//! Numbers, times, units and usage types as bills write them: `USW2-BoxUsage:p4d.24xlarge` is an
//! hour of an instance.

use crate::catalog::has_form_of_type;
use crate::domain::{LineKind, OperatingSystem, Tenancy};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use rust_decimal::Decimal;

/// Larger numbers are no amounts of a line: 10^10.
const MOST: Decimal = Decimal::from_parts(0x540B_E400, 2, 0, false, 0);
/// Decimals that are kept. Sums below 79 billion are exact with them.
const DECIMALS: u32 = 18;

/// A number as text, plain or scientific; `None` for what is none, or is larger than 10^10.
pub(super) fn number(text: &str) -> Option<Decimal> {
    if text.contains('_') {
        return None;
    }
    if text.contains(['e', 'E']) {
        return of_double(text.parse().ok()?);
    }
    within(text.parse().ok()?)
}

/// A double by its shortest decimal text, which is what was meant by it: 0.1 and not
/// 0.1000000000000000055. `None` for what is not finite, or is larger than 10^10.
pub(super) fn of_double(value: f64) -> Option<Decimal> {
    within(value.to_string().parse().ok()?)
}

pub(super) fn within(number: Decimal) -> Option<Decimal> {
    (number.abs() <= MOST).then(|| number.round_dp(DECIMALS).normalize())
}

/// A time with its zone, or in UTC without one; a date is its midnight.
pub(super) fn instant(text: &str) -> Option<Timestamp> {
    let text = text.strip_suffix(" UTC").unwrap_or(text);
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let midnight = |date: Date| date.at(0, 0, 0, 0);
    let local: DateTime = match text.parse() {
        Ok(local) => local,
        Err(_) => midnight(text.parse().ok()?),
    };
    Some(local.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// How usage types name hours of instances, beside those on spot.
const INSTANCE_HOURS: [&str; 3] = ["BoxUsage", "DedicatedUsage", "HostBoxUsage"];
/// Hours of machines of SageMaker, such as `USE1-Host:ml.g5.xlarge`.
const SAGEMAKER_HOURS: [&str; 9] = [
    "Host:", "Train:", "Notebk:", "Studio:", "Processing:", "Tsform:", "BatchTransform:",
    "Cluster:", "SpotTrain:",
];

/// What a usage type is for. `Other` where it is none of what an audit knows.
pub(super) fn kind_of(usage_type: &str) -> LineKind {
    let has = |part: &str| usage_type.contains(part);
    let is_machine = INSTANCE_HOURS.iter().any(|part| has(part));
    let is_managed = has(":ml.") && SAGEMAKER_HOURS.iter().any(|part| has(part));
    if has("UnusedBox") || has("UnusedDed") {
        LineKind::UnusedReservation
    } else if is_machine || is_managed || is_spot(usage_type) {
        LineKind::Instance
    } else if has("EBS:Volume") {
        LineKind::Volume
    } else if has("PublicIPv4") || has("ElasticIP") {
        LineKind::Address
    } else if has("DataTransfer-") || has("-In-Bytes") || has("-Out-Bytes") {
        LineKind::Transfer
    } else {
        LineKind::Other
    }
}

pub(super) fn is_spot(usage_type: &str) -> bool {
    usage_type.contains("SpotUsage") || usage_type.contains("SpotTrain:")
}

/// The instance type that a usage type ends with.
pub(super) fn type_of(usage_type: &str) -> Option<&str> {
    let (_, name) = usage_type.rsplit_once(':')?;
    is_type(name).then_some(name)
}

/// Whether a name has the form of an instance type, of EC2 or of SageMaker.
pub(super) fn is_type(name: &str) -> bool {
    has_form_of_type(name.strip_prefix("ml.").unwrap_or(name))
}

/// The instance type in a description, such as `$1.624 per On Demand Linux g5.4xlarge
/// Instance Hour`.
pub(super) fn type_in(description: &str) -> Option<&str> {
    let words = description.split(|c: char| c.is_whitespace() || matches!(c, ',' | '(' | ')'));
    words.map(|word| word.trim_end_matches(['.', ';'])).find(|word| is_type(word))
}

pub(super) fn tenancy_of(usage_type: &str) -> Tenancy {
    if usage_type.contains("HostBoxUsage") {
        Tenancy::Host
    } else if usage_type.contains("DedicatedUsage") || usage_type.contains("UnusedDed") {
        Tenancy::Dedicated
    } else {
        Tenancy::Shared
    }
}

/// Words of descriptions, and the operating system that they stand for; the first counts.
const SYSTEMS: [(&str, OperatingSystem); 11] = [
    ("SQL", OperatingSystem::OtherLicensed),
    ("Oracle", OperatingSystem::OtherLicensed),
    ("Windows BYOL", OperatingSystem::Linux),
    ("Windows", OperatingSystem::Windows),
    ("RHEL with", OperatingSystem::OtherLicensed),
    ("Red Hat Enterprise Linux with", OperatingSystem::OtherLicensed),
    ("RHEL", OperatingSystem::Rhel),
    ("Red Hat", OperatingSystem::Rhel),
    ("SUSE", OperatingSystem::Sles),
    ("Ubuntu Pro", OperatingSystem::UbuntuPro),
    ("Linux", OperatingSystem::Linux),
];

/// The operating system that the description of an hour names; absent where it names none.
pub(super) fn system_in(description: &str) -> Option<OperatingSystem> {
    SYSTEMS.iter().find(|(words, _)| description.contains(words)).map(|(_, system)| *system)
}

pub(super) fn is_hours(unit: &str) -> bool {
    let known = ["h", "hr", "hrs", "hour", "hours"];
    known.iter().any(|known| unit.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(text: &str) -> Option<String> {
        number(text).map(|number| number.to_string())
    }

    #[test]
    fn numbers_are_what_their_text_says() {
        for (text, value) in [
            ("0.00000080000", "0.0000008"),
            ("10.203682944", "10.203682944"),
            ("-32.773", "-32.773"),
            ("1.2E-7", "0.00000012"),
            ("3e2", "300"),
            ("0", "0"),
            ("10000000000", "10000000000"),
            // 19 decimals become 18, half to even.
            ("0.0011832124335427654", "0.001183212433542765"),
            ("1e-300", "0"),
        ] {
            assert_eq!(exact(text).as_deref(), Some(value), "{text}");
        }
        for text in ["", "NaN", "inf", "1e11", "10000000001", "1_000", "1,000", "east"] {
            assert_eq!(exact(text), None, "{text}");
        }
    }

    #[test]
    fn a_double_is_its_shortest_text() {
        let exact = |value: f64| of_double(value).map(|number| number.to_string());
        assert_eq!(exact(0.1).as_deref(), Some("0.1"));
        // The sum of the doubles is 0.30000000000000004.
        let sum = of_double(0.1).zip(of_double(0.2)).map(|(a, b)| a + b);
        assert_eq!(sum.map(|sum| sum.to_string()).as_deref(), Some("0.3"));
        assert_eq!(exact(-32.7726).as_deref(), Some("-32.7726"));
        assert_eq!(exact(f64::NAN), None);
        assert_eq!(exact(1e300), None);
    }

    #[test]
    fn times_are_read_as_exports_write_them() {
        let at = |text: &str| instant(text).map(|at| at.to_string());
        let hour = Some("2024-09-18T23:00:00Z".to_owned());
        for text in [
            "2024-09-18T23:00:00Z", "2024-09-18 23:00:00", "2024-09-18 23:00:00+00:00",
            "2024-09-18 23:00:00 UTC", "2024-09-19T01:00:00+02:00", "2024-09-18T23:00:00.000Z",
        ] {
            assert_eq!(at(text), hour, "{text}");
        }
        assert_eq!(at("2024-09-18").as_deref(), Some("2024-09-18T00:00:00Z"));
        for text in ["", "NULL", "2023-02-01T30:00:00Z", "yesterday"] {
            assert_eq!(at(text), None, "{text}");
        }
    }

    #[test]
    fn a_usage_type_names_its_kind() {
        for (usage_type, kind) in [
            ("BoxUsage:p4d.24xlarge", LineKind::Instance),
            ("USW2-BoxUsage:g5.xlarge", LineKind::Instance),
            ("EUC1-DedicatedUsage:g5.xlarge", LineKind::Instance),
            ("USW2-SpotUsage:g5.xlarge", LineKind::Instance),
            ("USE1-Host:ml.g5.xlarge", LineKind::Instance),
            ("USW2-UnusedBox:p4d.24xlarge", LineKind::UnusedReservation),
            // The reservation itself is free: what runs in it is billed.
            ("USW2-Reservation:p4d.24xlarge", LineKind::Other),
            ("EBS:VolumeUsage.gp3", LineKind::Volume),
            ("USW2-EBS:VolumeP-IOPS.gp3", LineKind::Volume),
            ("USW2-EBS:SnapshotUsage", LineKind::Other),
            ("PublicIPv4:InUseAddress", LineKind::Address),
            ("USW2-ElasticIP:IdleAddress", LineKind::Address),
            ("USW2-DataTransfer-Regional-Bytes", LineKind::Transfer),
            ("USW2-USE1-AWS-Out-Bytes", LineKind::Transfer),
            ("TimedStorage-ByteHrs", LineKind::Other),
            ("EBSOptimized:g4dn.xlarge", LineKind::Other),
        ] {
            assert_eq!(kind_of(usage_type), kind, "{usage_type}");
        }
    }

    #[test]
    fn a_type_stands_at_the_end_or_in_the_description() {
        assert_eq!(type_of("USW2-BoxUsage:p4d.24xlarge"), Some("p4d.24xlarge"));
        assert_eq!(type_of("USE1-Host:ml.g5.xlarge"), Some("ml.g5.xlarge"));
        assert_eq!(type_of("BoxUsage"), None);
        assert_eq!(type_of("PublicIPv4:InUseAddress"), None);
        let of = |text| type_in(text);
        assert_eq!(of("$1.624 per On Demand Linux g5.4xlarge Instance Hour"), Some("g5.4xlarge"));
        assert_eq!(
            of("g5.2xlarge Linux/UNIX Spot Instance-hour in US West (Oregon) in VPC Zone #3"),
            Some("g5.2xlarge")
        );
        assert_eq!(of("$0.40 per million requests"), None);
    }

    #[test]
    fn the_system_decides_the_price() {
        for (text, system) in [
            ("$1.6 per On Demand Linux g5.4xlarge Instance Hour", Some(OperatingSystem::Linux)),
            ("$2.3 per On Demand Windows g5.4xlarge Instance Hour", Some(OperatingSystem::Windows)),
            ("$1 per On Demand RHEL g5.4xlarge Instance Hour", Some(OperatingSystem::Rhel)),
            (
                "$1 per On Demand Windows with SQL Std g5.4xlarge",
                Some(OperatingSystem::OtherLicensed),
            ),
            ("hours", None),
        ] {
            assert_eq!(system_in(text), system, "{text}");
        }
    }
}
