//! Generates the demo estate: a fleet whose waste is known beforehand, so that
//! every figure of an audit of it can be checked by hand.
//!
//! Deterministic: the same source gives the same document on every machine.
//! There is no clock, no dependency for chance, and no function beyond basic
//! arithmetic (`sin` and its like differ between platforms in the last digit).
//!
//! `cargo run --example generate_demo` writes `fixtures/demo/estate.json.gz`.

mod behaviour;
mod chance;
mod fleet;
mod recording;

use flate2::{Compression, GzBuilder};
use gpucost::domain::{ApiUsage, Commitments, Estate, EstateSource, PriceBook, Window};
use gpucost::sources::files::{write_estate, write_whole};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::path::Path;

/// The instant that the demo describes; a Sunday, so that the fortnight before
/// it holds two whole weeks.
const AS_OF: &str = "2026-11-01T00:00:00Z";

/// The demo estate. It records neither prices nor shapes: the bundled book
/// knows both, and the demo follows the book.
pub fn demo() -> Estate {
    let as_of: Timestamp = AS_OF.parse().expect("a constant in RFC 3339");
    let fortnight = SignedDuration::from_hours(14 * 24);
    let window = Window::before(as_of, fortnight, recording::PERIOD_SECONDS)
        .expect("a fortnight before a constant date");
    let (instances, metrics) = fleet::fleet(window);
    Estate {
        as_of,
        window,
        source: EstateSource::Demo,
        accounts: vec![fleet::ACCOUNT.to_owned()],
        regions: vec![fleet::REGION.to_owned()],
        period_seconds: recording::PERIOD_SECONDS,
        instances,
        out_of_scope: Vec::new(),
        shapes: BTreeMap::new(),
        metrics,
        profiles: Vec::new(),
        prices: PriceBook::default(),
        commitments: Commitments::default(),
        gaps: Vec::new(),
        api: ApiUsage::default(),
    }
}

fn main() -> std::io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo/estate.json.gz");
    write_whole(&path, |out| {
        // Neither time nor file name: both would change bytes without a change.
        let mut gzip = GzBuilder::new().mtime(0).write(out, Compression::best());
        write_estate(&demo(), &mut gzip)?;
        gzip.finish().map(|_| ())
    })
}
