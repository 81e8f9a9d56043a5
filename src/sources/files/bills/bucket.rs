//! Bills in buckets: listed by their names, and fetched one file at a time into a scratch file,
//! which goes when it was read.

use super::error::BillError;
use super::folder::{
    Files, Names, Tree, check_twice, files_in, is_file_name, is_of_period, latest, names_of,
    path_of,
};
use super::{BillOptions, Reader, Take, unread};
use crate::domain::BillFiles;
use crate::sources::store::{BucketAccess, BucketPlace, Place, Store, connect};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bytes of a file, packed or not.
const MOST_FILE_BYTES: u64 = 64 << 30;
/// Bytes of a manifest.
const MOST_MANIFEST_BYTES: u64 = 64 << 20;

/// Buckets that were opened, by name.
type Open = BTreeMap<String, Rc<dyn Store>>;

/// Reads a bill of which some files are in buckets: objects, or all that an export writes below
/// a prefix. `each` gets every line until it has enough; `progress` gets the name of what is fetched.
///
/// # Errors
/// As of [`super::read_bill`], and when a bucket cannot be reached.
pub async fn read_bill_of(
    places: &[Place],
    access: &BucketAccess,
    options: &BillOptions,
    each: Take<'_>,
    progress: &dyn Fn(&str),
) -> Result<BillFiles, BillError> {
    let mut open = Open::new();
    let mut files = Files::default();
    for place in places {
        files.add(match place {
            Place::Folder(path) => files_in(path)?,
            Place::Bucket(bucket) => {
                progress(&place.to_string());
                let store = opened(&mut open, bucket, access).await?;
                files_below(&*store, bucket, Path::new(&place.to_string())).await?
            }
        });
    }
    check_twice(&files.read)?;
    let mut reader = Reader::new(options, each, files.superseded);
    for path in files.read {
        let of_bucket = open.iter().find_map(|(bucket, store)| {
            let key = path.to_str()?.strip_prefix(&root_of(bucket))?.strip_prefix('/')?;
            Some((store, key.to_owned()))
        });
        let next = match of_bucket {
            Some((store, key)) => {
                progress(&key);
                let fetched = store.open(&key, MOST_FILE_BYTES).await;
                let file = fetched.map_err(|source| unread(&path, source))?;
                let next = reader.take(path, file)?;
                store.forget(&key);
                next
            }
            None => {
                let file = File::open(&path).map_err(|source| unread(&path, source))?;
                reader.take(path, file)?
            }
        };
        if next.is_break() {
            break;
        }
    }
    Ok(reader.finish())
}

fn root_of(bucket: &str) -> String {
    format!("s3://{bucket}")
}

/// A bucket, of which names are whole keys.
async fn opened(
    open: &mut Open,
    place: &BucketPlace,
    access: &BucketAccess,
) -> Result<Rc<dyn Store>, BillError> {
    if let Some(store) = open.get(&place.bucket) {
        return Ok(Rc::clone(store));
    }
    let whole = Place::Bucket(BucketPlace { bucket: place.bucket.clone(), prefix: String::new() });
    let store = connect(&whole, access).await;
    let store = store.map_err(|source| unread(Path::new(&whole.to_string()), source))?;
    open.insert(place.bucket.clone(), Rc::clone(&store));
    Ok(store)
}

/// The object of a name, or what counts below a prefix.
async fn files_below(
    store: &dyn Store,
    place: &BucketPlace,
    given: &Path,
) -> Result<Files, BillError> {
    let root = PathBuf::from(root_of(&place.bucket));
    let below = place.prefix.trim_end_matches('/');
    if is_file_name(below) {
        return Ok(Files { read: vec![given.to_owned()], superseded: 0 });
    }
    let failed = |source| unread(given, source);
    let listed = store.list(below, None).await.map_err(failed)?;
    let parts = below.split('/').filter(|part| !part.is_empty()).count();
    let objects = listed.into_iter().map(|object| object.name);
    let names = names_of(objects, parts).map_err(failed)?;
    let mut manifests: BTreeMap<Names, Vec<u8>> = BTreeMap::new();
    for names in names.iter().filter(|names| is_of_period(names)) {
        let bytes = fetched(store, &names.join("/")).await;
        let bytes = bytes.map_err(|source| unread(&path_of(&root, names), source))?;
        manifests.insert(names.clone(), bytes);
    }
    let tree = Tree { given, root: &root, names };
    latest(tree, &|names| manifests.get(names).cloned().ok_or_else(|| ErrorKind::NotFound.into()))
}

async fn fetched(store: &dyn Store, key: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    store.open(key, MOST_MANIFEST_BYTES).await?.read_to_end(&mut bytes)?;
    store.forget(key);
    Ok(bytes)
}
