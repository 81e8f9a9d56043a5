//! Recorded estates as JSON: reading, writing, and the demos, which are estates too.
//! Commitments are a key of an estate, and a file of their own as well.

mod cells;
mod commitments;
mod entries;
mod prices;
mod read;
mod stream;
mod write;

pub use self::commitments::{CommitmentsError, commitments_schema, read_commitments};
pub use self::read::{EstateError, Keep, estate_schema, parse_estate, read_estate};
pub use self::write::{
    Recorder, Recording, RecordingError, Replaced, write_estate, write_recorded,
};

use self::read::read_bundled;
use crate::domain::named_enum;
use crate::usage::Estate;

named_enum! {
    /// An estate that ships inside the binary, made by `examples/generate_demo/`.
    Demo {
        /// One situation of each kind, and what to do about it.
        Starter = "starter",
        /// A fleet that uses a quarter of its GPUs, and can do without most of them.
        QuarterUsed = "quarter-used",
        /// A fleet of all sorts that is mostly best left as it is.
        MixedFleet = "mixed-fleet",
    }
}

impl Demo {
    fn document(self) -> &'static [u8] {
        match self {
            Self::Starter => include_bytes!("../../../../../fixtures/demo/estate.json.gz"),
            Self::QuarterUsed => {
                include_bytes!("../../../../../fixtures/demo/quarter-used.json.gz")
            }
            Self::MixedFleet => include_bytes!("../../../../../fixtures/demo/mixed-fleet.json.gz"),
        }
    }

    /// The estate.
    ///
    /// # Errors
    /// Never in a released program; a test reads each.
    pub fn estate(self) -> Result<Estate, EstateError> {
        read_bundled(self.document())
    }
}

/// The estate of `--demo` without a name.
///
/// # Errors
/// Never in a released program.
pub fn demo_estate() -> Result<Estate, EstateError> {
    Demo::Starter.estate()
}
