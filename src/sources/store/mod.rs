//! Where a history lies: a directory, or a bucket of S3. Both list, read and create
//! files by name, and nothing else; a file that is there is never replaced or removed.

#[cfg(feature = "s3")]
mod bucket;
mod folder;
#[cfg(feature = "s3")]
mod keys;
mod object;
mod place;
#[cfg(feature = "s3")]
mod transport;

pub(in crate::sources) use folder::Folder;
pub(in crate::sources) use object::{Created, Listed, Store, invalid};
pub use place::{BucketAccess, BucketPlace, Place};

use std::io;
use std::rc::Rc;

/// Opens a place. A directory that is not there is not an error before it is used.
///
/// # Errors
/// When a bucket cannot be reached.
pub(in crate::sources) async fn connect(
    place: &Place,
    access: &BucketAccess,
) -> io::Result<Rc<dyn Store>> {
    match place {
        Place::Folder(folder) => Ok(Rc::new(Folder::new(folder.clone()))),
        Place::Bucket(bucket) => in_bucket(bucket, access).await,
    }
}

#[cfg(feature = "s3")]
async fn in_bucket(place: &BucketPlace, access: &BucketAccess) -> io::Result<Rc<dyn Store>> {
    Ok(Rc::new(bucket::Bucket::connect(place, access).await?))
}

#[cfg(not(feature = "s3"))]
async fn in_bucket(_: &BucketPlace, _: &BucketAccess) -> io::Result<Rc<dyn Store>> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "this program was built without the feature `s3`",
    ))
}
