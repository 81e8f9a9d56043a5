//! Recorded estates as JSON: reading, writing, and the demos, which are estates too.
//! Commitments are a key of an estate, and a file of their own as well.

mod commitments;
mod demo;
mod error;
mod fields;
mod read;
mod recording;
mod wire;
mod write;

pub use self::commitments::{CommitmentsError, commitments_schema, read_commitments};
pub use self::demo::{Demo, demo_estate};
pub use self::error::EstateError;
pub use self::read::{Keep, estate_schema, parse_estate, read_estate};
pub use self::recording::{Recorder, Recording, RecordingError, Replaced};
pub use self::write::{write_estate, write_recorded};
