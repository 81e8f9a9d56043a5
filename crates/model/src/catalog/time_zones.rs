//! Time zones by name, so that an hour of the week means the same everywhere:
//! the rules in force of the IANA time zone database, release 2025b, without its
//! history. Zones whose clocks follow no yearly rule (Morocco, Western Sahara,
//! Palestine) are not among them.

use jiff::tz::TimeZone;

/// A rule as POSIX writes it in `TZ`, a tab, and the zones that follow it.
const TIME_ZONES: &str = include_str!("time_zones.tsv");

/// A time zone such as `Europe/Berlin`, compared without regard to case; `None`
/// for a name that is not known.
pub fn time_zone(name: &str) -> Option<TimeZone> {
    let name = name.trim();
    TIME_ZONES.lines().find_map(|line| {
        let (rule, zones) = line.split_once('\t')?;
        let is_named = zones.split(' ').any(|zone| zone.eq_ignore_ascii_case(name));
        is_named.then(|| TimeZone::posix(rule).ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    fn local(zone: &str, instant: &str) -> String {
        let instant: Timestamp = instant.parse().expect("a time stamp");
        let zone = time_zone(zone).expect("a zone");
        zone.to_datetime(instant).to_string()
    }

    #[test]
    fn every_rule_is_read_and_no_zone_stands_twice() {
        let mut names = Vec::new();
        for line in TIME_ZONES.lines() {
            let (rule, zones) = line.split_once('\t').expect("two columns");
            assert!(TimeZone::posix(rule).is_ok(), "{rule}");
            names.extend(zones.split(' '));
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(count > 500, "{count}");
    }

    #[test]
    fn clocks_change_where_and_when_they_do() {
        // Central Europe on 29 March and 25 October 2026, at 01:00 UTC.
        assert_eq!(local("Europe/Berlin", "2026-03-29T00:59:00Z"), "2026-03-29T01:59:00");
        assert_eq!(local("Europe/Berlin", "2026-03-29T01:00:00Z"), "2026-03-29T03:00:00");
        assert_eq!(local("Europe/Berlin", "2026-10-25T01:00:00Z"), "2026-10-25T02:00:00");
        // New York on 1 November 2026, at 06:00 UTC.
        assert_eq!(local("america/new_york", "2026-11-01T05:59:00Z"), "2026-11-01T01:59:00");
        assert_eq!(local("America/New_York", "2026-11-01T06:00:00Z"), "2026-11-01T01:00:00");
        assert_eq!(local("Asia/Kolkata", "2026-01-01T00:00:00Z"), "2026-01-01T05:30:00");
        assert_eq!(local("UTC", "2026-01-01T00:00:00Z"), "2026-01-01T00:00:00");
        // South of the equator summer is in January; 4 April 2026 is the last
        // Saturday of it.
        assert_eq!(local("Australia/Sydney", "2026-01-01T00:00:00Z"), "2026-01-01T11:00:00");
        assert_eq!(local("Australia/Sydney", "2026-04-05T00:00:00Z"), "2026-04-05T10:00:00");
    }

    #[test]
    fn an_unknown_zone_is_none() {
        assert!(time_zone("Europe/Bielefeld").is_none());
        assert!(time_zone("").is_none());
        assert!(time_zone("Africa/Casablanca").is_none());
    }
}
