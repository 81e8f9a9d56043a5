//! The files of a bill one after the other, on this host and in buckets: listed by their names, and
//! fetched one at a time into a scratch file, which goes when it was read.

use super::folder::{
    Files, Tree, check_number, check_twice, files_in, is_file_name, is_of_period, is_read, latest,
    path_of,
};
use super::parquet_table::read_parquet;
use super::table::{BillOptions, Charge, Each, read_csv};
use super::{BillError, Problem};
use crate::domain::{BillFile, BillFiles, BillForm, BillLine, LineKind};
use crate::files::shared::bounded::bounded;
use crate::files::shared::parquet_pages::MARK;
use crate::store::{BucketAccess, BucketPlace, Place, Store, connect};
use flate2::read::MultiGzDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Read, Seek};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Bytes of a file in a bucket, packed or not.
const MOST_FILE_BYTES: u64 = 64 << 30;
/// Bytes of a manifest.
const MOST_MANIFEST_BYTES: u64 = 64 << 20;
/// Bytes of text of a file, unpacked.
const MOST_TEXT_BYTES: u64 = 64 << 30;
/// What Windows puts before a text in UTF-8.
const TEXT_MARK: &[u8] = "\u{feff}".as_bytes();
const GZIP_MARK: &[u8] = &[0x1f, 0x8b];
const ZIP_MARK: &[u8] = b"PK\x03\x04";
const ZSTD_MARK: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Fewer lines of two files may be the same by chance.
const LEAST_LINES: u64 = 10;
/// Hours of instances of a file that are kept to be found in others: those with the smallest
/// numbers, so that two files keep the same ones.
const MOST_HOURS: usize = 512;
/// As many of them in two files are a bill that counts twice.
const LEAST_HOURS: usize = 10;

/// Takes a line; breaks when it has enough.
type Take<'a> = &'a mut dyn FnMut(BillLine) -> ControlFlow<()>;

/// Reads a bill: files and folders, which together are one. `each` gets every line until it
/// has enough.
///
/// # Errors
/// When a file cannot be read, is not a bill, has an invalid row, or has the same lines or hours
/// of instances as another one; when a folder has several readings of a billing period, and nothing
/// says which is the latest.
pub fn read_bill(
    paths: &[PathBuf],
    options: &BillOptions,
    each: Take<'_>,
) -> Result<BillFiles, BillError> {
    let mut files = Files::default();
    for path in paths {
        files.add(files_in(path)?);
    }
    let mut reader = Reader::new(options, each, &files)?;
    for path in files.read {
        let file = File::open(&path);
        if reader.take(path, file)?.is_break() {
            break;
        }
    }
    Ok(reader.finish())
}

/// Buckets that were opened, by name.
type Open = BTreeMap<String, Rc<dyn Store>>;

/// Reads a bill of which some files are in buckets: objects, or all that an export writes below
/// a prefix. `each` gets every line until it has enough; `progress` gets the name of what is
/// fetched.
///
/// # Errors
/// As of [`read_bill`], and when a bucket cannot be reached.
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
    let mut reader = Reader::new(options, each, &files)?;
    for path in files.read {
        let of_bucket = open.iter().find_map(|(bucket, store)| {
            let key = path.to_str()?.strip_prefix(&root_of(bucket))?.strip_prefix('/')?;
            Some((store, key.to_owned()))
        });
        let next = match of_bucket {
            Some((store, key)) => {
                progress(&key);
                let next = reader.take(path, store.open(&key, MOST_FILE_BYTES).await)?;
                store.forget(&key);
                next
            }
            None => {
                let file = File::open(&path);
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
    let names = listed.into_iter().map(|object| object.name);
    let names: Vec<String> = names.filter(|name| is_read(name, parts)).collect();
    check_number(names.len()).map_err(failed)?;
    let mut manifests = Vec::new();
    for name in names.iter().filter(|name| is_of_period(name)) {
        let bytes = fetched(store, name).await;
        let bytes = bytes.map_err(|source| unread(&path_of(&root, name), source))?;
        manifests.push((name.clone(), bytes));
    }
    latest(Tree { given, root, names, manifests })
}

async fn fetched(store: &dyn Store, key: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    store.open(key, MOST_MANIFEST_BYTES).await?.read_to_end(&mut bytes)?;
    store.forget(key);
    Ok(bytes)
}

fn unread(path: &Path, source: io::Error) -> BillError {
    BillError::Io { path: path.to_owned(), source }
}

/// Reads the files of a bill one after the other.
struct Reader<'a> {
    options: &'a BillOptions,
    each: Take<'a>,
    read: BillFiles,
    forms_of: BTreeMap<String, BTreeSet<BillForm>>,
    seen: Seen,
}

impl<'a> Reader<'a> {
    /// # Errors
    /// When a file is among the others twice.
    fn new(options: &'a BillOptions, each: Take<'a>, files: &Files) -> Result<Self, BillError> {
        check_twice(&files.read)?;
        Ok(Self {
            options,
            each,
            read: BillFiles { superseded: files.superseded, ..BillFiles::default() },
            forms_of: BTreeMap::new(),
            seen: Seen::default(),
        })
    }

    /// Reads a file. Breaks when there are enough lines.
    fn take(
        &mut self,
        path: PathBuf,
        file: io::Result<File>,
    ) -> Result<ControlFlow<()>, BillError> {
        let file = file.map_err(|source| unread(&path, source))?;
        let mut of_file = BTreeSet::new();
        let mut lines = Lines::default();
        let mut flow = ControlFlow::Continue(());
        let (each, read) = (&mut self.each, &mut self.read);
        let mut take = |charge: Charge| match charge {
            Charge::Line { line, is_timed, is_estimate } => {
                read.untimed += u64::from(!is_timed);
                read.estimates += u64::from(is_estimate);
                if let Some(payer) = &line.payer
                    && !of_file.contains(payer)
                {
                    of_file.insert(payer.clone());
                }
                lines.add(&line);
                let next = each(*line);
                if next.is_break() {
                    flow = next;
                }
                next
            }
            Charge::OtherCurrency(code) => {
                *read.other_currencies.entry(code).or_insert(0) += 1;
                ControlFlow::Continue(())
            }
        };
        let (form, rows) =
            read_file(file, self.options, &mut take).map_err(|problem| problem.at(&path))?;
        self.seen.add(&path, form, lines)?;
        for payer in of_file {
            self.forms_of.entry(payer).or_default().insert(form);
        }
        self.read.files.push(BillFile { path, form, rows });
        Ok(flow)
    }

    fn finish(mut self) -> BillFiles {
        let several = self.forms_of.into_iter().filter(|(_, forms)| forms.len() > 1);
        self.read.in_two_forms = several.map(|(payer, _)| payer).collect();
        self.read
    }
}

fn read_file(
    file: File,
    options: &BillOptions,
    each: Each<'_>,
) -> Result<(BillForm, u64), Problem> {
    let mut file = BufReader::with_capacity(1 << 16, file);
    let start = file.fill_buf()?;
    if start.starts_with(&MARK) {
        let mut file = file.into_inner();
        file.rewind()?;
        return read_parquet(file, options, each);
    }
    let unfit = [
        (ZIP_MARK, "it is a ZIP archive; unpack it"),
        (ZSTD_MARK, "it is packed with Zstandard; unpack it, or pack it with gzip"),
    ];
    if let Some((_, message)) = unfit.into_iter().find(|(mark, _)| start.starts_with(mark)) {
        return Err(Problem::Form(message.to_owned()));
    }
    let text: Box<dyn Read> = if start.starts_with(GZIP_MARK) {
        Box::new(MultiGzDecoder::new(file))
    } else {
        Box::new(file)
    };
    let mut text = BufReader::with_capacity(1 << 16, bounded(text, MOST_TEXT_BYTES));
    let is_marked = text.fill_buf()?.starts_with(TEXT_MARK);
    text.consume(if is_marked { TEXT_MARK.len() } else { 0 });
    read_csv(text, options, each)
}

/// The lines of a file, in order, as one number, and its hours of instances.
#[derive(Debug, Default)]
struct Lines {
    hasher: DefaultHasher,
    count: u64,
    hours: BTreeSet<u64>,
}

impl Lines {
    fn add(&mut self, line: &BillLine) {
        self.count += 1;
        let times = line.period.map(|period| (period.start, period.end));
        let costs = &line.costs;
        let what = (&line.account, &line.resource, &line.instance_type, line.kind);
        let parts = (what, times, (line.hours, costs.list, costs.effective, costs.billed));
        parts.hash(&mut self.hasher);
        let is_hour = line.kind == LineKind::Instance && line.resource.is_some();
        if is_hour && times.is_some() && line.hours.is_some() {
            let mut hour = DefaultHasher::new();
            parts.hash(&mut hour);
            self.hours.insert(hour.finish());
            if self.hours.len() > MOST_HOURS {
                self.hours.pop_last();
            }
        }
    }
}

/// Files that were read, by their lines.
#[derive(Debug, Default)]
struct Seen {
    whole: BTreeMap<(u64, u64), PathBuf>,
    files: Vec<(PathBuf, BTreeSet<u64>)>,
    /// The first file of each hour, by its place.
    hours: BTreeMap<(BillForm, u64), usize>,
}

impl Seen {
    /// # Errors
    /// When an earlier file has the same lines, or one of the same format the same hours of
    /// instances at the same costs.
    fn add(&mut self, path: &Path, form: BillForm, lines: Lines) -> Result<(), BillError> {
        let key = (lines.count, lines.hasher.finish());
        if lines.count >= LEAST_LINES
            && let Some(earlier) = self.whole.insert(key, path.to_owned())
        {
            return Err(BillError::Alike { path: path.to_owned(), earlier });
        }
        let of_others = lines.hours.iter();
        let others: BTreeSet<usize> =
            of_others.filter_map(|hour| self.hours.get(&(form, *hour)).copied()).collect();
        for (earlier, hours) in others.iter().filter_map(|place| self.files.get(*place)) {
            if is_twice(hours, &lines.hours) {
                return Err(BillError::Overlap { path: path.to_owned(), earlier: earlier.clone() });
            }
        }
        let place = self.files.len();
        for hour in &lines.hours {
            self.hours.entry((form, *hour)).or_insert(place);
        }
        self.files.push((path.to_owned(), lines.hours));
        Ok(())
    }
}

/// Whether two files have many of the same hours, or one has all of the other: of those that
/// both would have kept.
fn is_twice(left: &BTreeSet<u64>, right: &BTreeSet<u64>) -> bool {
    let reach = |hours: &BTreeSet<u64>| {
        hours.last().copied().filter(|_| hours.len() >= MOST_HOURS).unwrap_or(u64::MAX)
    };
    let reach = reach(left).min(reach(right));
    let kept = |hours: &BTreeSet<u64>| hours.range(..=reach).count();
    let both = left.range(..=reach).filter(|hour| right.contains(hour)).count();
    both >= LEAST_HOURS || (both > 0 && both == kept(left).min(kept(right)))
}
