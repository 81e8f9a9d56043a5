//! Generates the demo estates: fleets whose waste is known beforehand, so that
//! every figure of an audit of them can be checked by hand.
//!
//! Deterministic: the same source gives the same documents on every machine.
//! There is no clock, no dependency for chance, and no function beyond basic
//! arithmetic (`sin` and its like differ between platforms in the last digit).
//!
//! `cargo run --example generate_demo` writes them into `fixtures/demo/`.

mod behaviour;
mod cards;
mod chance;
mod fleet;
mod recording;
pub mod scenarios;

use flate2::{Compression, GzBuilder};
use gpucost::sources::files::{write_estate, write_whole};
use std::path::Path;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/demo");
    for scenario in scenarios::SCENARIOS {
        write_whole(&folder.join(scenario.file()), |out| {
            // Neither time nor file name: both would change bytes without a change.
            let mut gzip = GzBuilder::new().mtime(0).write(out, Compression::best());
            write_estate(&(scenario.estate)(), &mut gzip)?;
            gzip.finish().map(|_| ())
        })?;
    }
    Ok(())
}
