//! What is going on, on stderr.

use std::io::Write;
use std::time::Instant;

/// Says what was done, each with its time.
#[derive(Debug)]
pub struct Progress {
    is_quiet: bool,
    since: Instant,
}

impl Progress {
    pub fn new(is_quiet: bool) -> Self {
        Self { is_quiet, since: Instant::now() }
    }

    pub fn say(&self, text: &str) {
        if !self.is_quiet {
            let seconds = self.since.elapsed().as_secs_f64();
            // A closed stderr changes nothing.
            let _ = writeln!(std::io::stderr(), "[{seconds:8.1} s] {text}");
        }
    }
}

/// A whole number with thousands separators.
pub fn separated(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn digits_stand_in_threes() {
        let of = super::separated;
        assert_eq!([of(0), of(999), of(1_000)], ["0", "999", "1,000"]);
        assert_eq!(of(10_080_000_000), "10,080,000,000");
    }
}
