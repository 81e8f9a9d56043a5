//! Creating files that are the same however often they are created.

use crate::sources::store::{Created, Store};
use std::io::{self, ErrorKind, Read};

/// Creates a file, or finds that it is there as it would be written.
///
/// # Errors
/// When it cannot be written, and when one of its name holds something else.
pub(super) async fn keep(store: &dyn Store, name: &str, bytes: &[u8]) -> io::Result<Created> {
    let created = store.create(name, bytes).await?;
    if created == Created::Before {
        let mut there = Vec::new();
        let is_same = match store.open(name, bytes.len() as u64).await {
            Ok(mut file) => file.read_to_end(&mut there).map(|_| there == bytes)?,
            // It is larger.
            Err(why) if why.kind() == ErrorKind::InvalidData => false,
            Err(why) => return Err(why),
        };
        if !is_same {
            let why = "it is there, and holds something else";
            return Err(io::Error::new(ErrorKind::AlreadyExists, why));
        }
    }
    Ok(created)
}
