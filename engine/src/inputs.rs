//! The files of an archive: which they are, what their footers say, and how they become a
//! table.

use crate::failure::{Failure, Result};
use crate::footer::{self, Footer};
use datafusion::arrow::csv::reader::Format as CsvHeader;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::arrow::ArrowFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::prelude::SessionContext;
use futures_util::TryStreamExt;
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use url::Url;

/// Bytes of the header of a CSV file.
const MOST_HEADER_BYTES: u64 = 1 << 20;

/// How files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Parquet,
    Csv,
    GzipCsv,
    Arrow,
}

impl Format {
    fn of(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|end| name.ends_with(end));
        if ends(&[".parquet", ".pq"]) {
            Some(Self::Parquet)
        } else if ends(&[".csv"]) {
            Some(Self::Csv)
        } else if ends(&[".csv.gz"]) {
            Some(Self::GzipCsv)
        } else if ends(&[".arrow", ".ipc", ".feather"]) {
            Some(Self::Arrow)
        } else {
            None
        }
    }

    pub fn is_csv(self) -> bool {
        matches!(self, Self::Csv | Self::GzipCsv)
    }

    fn reader(self) -> Arc<dyn FileFormat> {
        let csv = |compression| {
            let csv = CsvFormat::default()
                .with_has_header(true)
                .with_newlines_in_values(true)
                .with_file_compression_type(compression);
            Arc::new(csv)
        };
        match self {
            Self::Parquet => Arc::new(ParquetFormat::default()),
            Self::Csv => csv(FileCompressionType::UNCOMPRESSED),
            Self::GzipCsv => csv(FileCompressionType::GZIP),
            Self::Arrow => Arc::new(ArrowFormat),
        }
    }
}

/// A file of an archive.
#[derive(Debug, Clone)]
pub struct InputFile {
    pub url: Url,
    pub store: Arc<dyn ObjectStore>,
    pub location: ObjectPath,
    pub size: u64,
    /// Absent where the format has none.
    footer: Option<Footer>,
}

/// The files of an archive, all of one format and with the same columns.
#[derive(Debug, Clone)]
pub struct Inputs {
    pub format: Format,
    files: Vec<InputFile>,
    /// The columns of the first file.
    pub schema: SchemaRef,
}

impl Inputs {
    /// Finds the files and reads their footers, and what these say of a column of times.
    ///
    /// # Errors
    /// When a file cannot be read, is not whole, or has other columns than the first one.
    pub async fn find(
        named: &[String],
        context: &SessionContext,
        time: Option<&str>,
    ) -> Result<Self> {
        let mut found: BTreeMap<String, (Format, InputFile)> = BTreeMap::new();
        for name in named {
            for (format, file) in list(name).await? {
                found.insert(file.url.to_string(), (format, file));
            }
        }
        let mut formats = found.values().map(|(format, _)| *format);
        let Some(format) = formats.next() else {
            return Err(Failure::input(
                "the input has no file that ends with .parquet, .csv, .csv.gz or .arrow",
            )
            .with_hint("name a file, or a folder with such files, with `--input`"));
        };
        if formats.any(|other| other != format) {
            return Err(Failure::input("the input has files of several formats")
                .with_hint("name the files of one format with `--input`"));
        }
        let mut files: Vec<InputFile> = found.into_values().map(|(_, file)| file).collect();
        for file in &files {
            context.register_object_store(&root_of(&file.url), Arc::clone(&file.store));
        }
        let schema = match format {
            Format::Parquet => {
                let (schemas, footers): (Vec<SchemaRef>, Vec<Footer>) =
                    footer::read(&files, time).await?.into_iter().unzip();
                let schema = same(&files, schemas.into_iter())?;
                for (file, footer) in files.iter_mut().zip(footers) {
                    file.footer = Some(footer);
                }
                schema
            }
            Format::Csv | Format::GzipCsv => headers(&files, format).await?,
            Format::Arrow => arrow_schema(&files, context).await?,
        };
        Ok(Self { format, files, schema })
    }

    /// Those of the files that may have such times, in the unit of their column: an engine that
    /// gets all of them gives each thread as many bytes, and those of a day may be the bytes of
    /// one thread.
    pub fn within(&self, times: &Range<i64>) -> Self {
        let may_have = |file: &&InputFile| match file.footer.and_then(|footer| footer.times) {
            Some((first, last)) => first < times.end && last >= times.start,
            None => true,
        };
        Self {
            format: self.format,
            files: self.files.iter().filter(may_have).cloned().collect(),
            schema: Arc::clone(&self.schema),
        }
    }

    /// The first and the last time of all files, in the unit of their column.
    pub fn times(&self) -> Option<(i64, i64)> {
        let times = self.files.iter().filter_map(|file| file.footer?.times);
        times.reduce(|all, own| (all.0.min(own.0), all.1.max(own.1)))
    }

    /// Rows of all files by their footers; absent where a format has none.
    pub fn rows(&self) -> Option<u64> {
        let rows = self.files.iter().map(|file| Some(file.footer?.rows));
        rows.sum()
    }

    pub fn count(&self) -> usize {
        self.files.len()
    }

    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }

    /// Names of the columns, for messages.
    pub fn column_names(&self) -> Vec<&str> {
        let fields = self.schema.fields().iter();
        fields.map(|field| field.name().as_str()).collect()
    }

    /// Makes the files a table with some of their columns.
    ///
    /// # Errors
    /// When the engine refuses them.
    pub fn register(&self, context: &SessionContext, name: &str, columns: &[Field]) -> Result<()> {
        let urls = self.files.iter().map(|file| ListingTableUrl::parse(&file.url));
        let urls = urls.collect::<std::result::Result<Vec<ListingTableUrl>, _>>()?;
        for file in &self.files {
            context.register_object_store(&root_of(&file.url), Arc::clone(&file.store));
        }
        register(context, name, urls, self.format, Arc::new(Schema::new(columns.to_vec())))
    }
}

/// Makes files a table.
fn register(
    context: &SessionContext,
    name: &str,
    urls: Vec<ListingTableUrl>,
    format: Format,
    schema: SchemaRef,
) -> Result<()> {
    // Files are named one by one, whatever they end with.
    let options = ListingOptions::new(format.reader()).with_file_extension("");
    let config = ListingTableConfig::new_with_multi_paths(urls)
        .with_listing_options(options)
        .with_schema(schema);
    context.register_table(name, Arc::new(ListingTable::try_new(config)?))?;
    Ok(())
}

/// Makes Parquet files of this process a table, with the columns of the first.
///
/// # Errors
/// When the engine refuses them.
pub fn register_own(
    context: &SessionContext,
    name: &str,
    paths: &[impl AsRef<Path>],
) -> Result<()> {
    let mut urls = Vec::new();
    for path in paths {
        urls.push(ListingTableUrl::parse(url_of(path.as_ref())?)?);
    }
    let first = paths.first().map(AsRef::as_ref).unwrap_or(Path::new(""));
    let file =
        std::fs::File::open(first).map_err(|error| unread(&first.display().to_string(), &error))?;
    let read = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new())?;
    register(context, name, urls, Format::Parquet, Arc::clone(read.schema()))
}

/// The files of a path, each with its format.
async fn list(name: &str) -> Result<Vec<(Format, InputFile)>> {
    if name.starts_with("s3://") {
        return in_bucket(name).await;
    }
    if name.contains("://") {
        return Err(Failure::input(format!(
            "`--input {name}` is neither a path nor a bucket of S3"
        ))
        .with_hint("use a path, or `s3://BUCKET/PREFIX`"));
    }
    let path = std::fs::canonicalize(name).map_err(|error| unread(name, &error))?;
    let mut paths = Vec::new();
    if path.is_dir() {
        walk(&path, &mut paths)?;
    } else {
        paths.push(path);
    }
    let store: Arc<dyn ObjectStore> = Arc::new(LocalFileSystem::new());
    let mut found = Vec::new();
    for path in paths {
        let shown = path.display().to_string();
        let Some(format) = Format::of(&shown) else { continue };
        let size = std::fs::metadata(&path).map_err(|error| unread(&shown, &error))?;
        let location = ObjectPath::from_absolute_path(&path)
            .map_err(|error| Failure::input(format!("cannot name {shown}")).caused_by(&error))?;
        let file = InputFile {
            url: url_of(&path)?,
            store: Arc::clone(&store),
            location,
            size: size.len(),
            footer: None,
        };
        found.push((format, file));
    }
    Ok(found)
}

/// Files below a folder, without those that engines hide: names with `_` or `.` in front.
fn walk(folder: &Path, found: &mut Vec<std::path::PathBuf>) -> Result<()> {
    let failed = |error: std::io::Error| unread(&folder.display().to_string(), &error);
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(['_', '.']) {
            continue;
        }
        let path = entry.path();
        if path.is_dir() {
            walk(&path, found)?;
        } else {
            found.push(path);
        }
    }
    Ok(())
}

async fn in_bucket(name: &str) -> Result<Vec<(Format, InputFile)>> {
    let failed = |error: object_store::Error| {
        Failure::unexpected(format!("cannot list {name}"))
            .caused_by(&error)
            .with_hint("the keys, the region and the endpoint are those of AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL")
    };
    let rest = name.strip_prefix("s3://").unwrap_or(name);
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
    let store: Arc<dyn ObjectStore> = Arc::new(builder.build().map_err(failed)?);
    let prefix = ObjectPath::from(prefix.trim_end_matches('/'));
    let mut objects: Vec<object_store::ObjectMeta> =
        store.list(Some(&prefix)).try_collect().await.map_err(failed)?;
    if objects.is_empty() && !prefix.as_ref().is_empty() {
        objects.push(store.head(&prefix).await.map_err(failed)?);
    }
    let mut found = Vec::new();
    for object in objects {
        let hidden = |part: &str| part.starts_with(['_', '.']);
        let key = object.location.as_ref();
        let inside = key.strip_prefix(prefix.as_ref()).unwrap_or(key);
        let Some(format) = Format::of(key).filter(|_| !inside.split('/').any(hidden)) else {
            continue;
        };
        let mut url = Url::parse(&format!("s3://{bucket}/"))
            .map_err(|error| Failure::input(format!("cannot name {name}")).caused_by(&error))?;
        if let Ok(mut parts) = url.path_segments_mut() {
            parts.clear().extend(key.split('/'));
        }
        found.push((
            format,
            InputFile {
                url,
                store: Arc::clone(&store),
                size: object.size,
                location: object.location.clone(),
                footer: None,
            },
        ));
    }
    Ok(found)
}

fn url_of(path: &Path) -> Result<Url> {
    Url::from_file_path(path)
        .map_err(|()| Failure::unexpected(format!("{} is not an absolute path", path.display())))
}

/// The store that a file is in, as the engine finds it.
fn root_of(url: &Url) -> Url {
    let mut root = url.clone();
    root.set_path("/");
    root
}

/// The columns of all files, which are those of the first one by name and type, in any order.
fn same(files: &[InputFile], schemas: impl Iterator<Item = SchemaRef>) -> Result<SchemaRef> {
    let mut first: Option<SchemaRef> = None;
    for (file, schema) in files.iter().zip(schemas) {
        let Some(known) = &first else {
            first = Some(schema);
            continue;
        };
        for field in known.fields() {
            let own = schema.field_with_name(field.name()).ok();
            if own.is_none_or(|own| own.data_type() != field.data_type()) {
                let what = match own {
                    None => format!("no column `{}`", field.name()),
                    Some(own) => format!("a column `{}` of {}", field.name(), own.data_type()),
                };
                return Err(Failure::input(format!(
                    "{} has {what}, unlike {}",
                    file.url,
                    files.first().map_or("", |file| file.url.as_str())
                ))
                .with_hint("name files with the same columns with `--input`"));
            }
        }
    }
    first.ok_or_else(|| Failure::unexpected("no file was read"))
}

/// The names in the first row of CSV files, which must be the same in all, in order.
async fn headers(files: &[InputFile], format: Format) -> Result<SchemaRef> {
    let mut first: Option<Vec<String>> = None;
    for file in files {
        let names = header(file, format).await?;
        match &first {
            Some(known) if *known != names => {
                return Err(Failure::input(format!(
                    "{} has another header than the files before it",
                    file.url
                ))
                .with_hint("name files with the same columns with `--input`"));
            }
            Some(_) => {}
            None => first = Some(names),
        }
    }
    let names = first.unwrap_or_default();
    let fields = names.iter().map(|name| Field::new(name, DataType::Utf8, true));
    Ok(Arc::new(Schema::new(fields.collect::<Vec<Field>>())))
}

async fn header(file: &InputFile, format: Format) -> Result<Vec<String>> {
    let failed = |error: &dyn std::error::Error| {
        Failure::input(format!("{} has no header", file.url)).caused_by(error)
    };
    let range = 0..file.size.min(MOST_HEADER_BYTES);
    let bytes = file.store.get_range(&file.location, range).await;
    let bytes = bytes.map_err(|error| failed(&error))?;
    let mut text = Vec::new();
    if format == Format::GzipCsv {
        let mut unpacked = flate2::read::MultiGzDecoder::new(&bytes[..]);
        let mut part = [0; 1 << 12];
        // The beginning of a file ends in the middle of its data.
        while !text.contains(&b'\n') && (text.len() as u64) < MOST_HEADER_BYTES {
            match unpacked.read(&mut part) {
                Ok(0) => break,
                Ok(length) => text.extend_from_slice(&part[..length]),
                Err(error) => return Err(failed(&error)),
            }
        }
    } else {
        text.extend_from_slice(&bytes);
    }
    // The first line alone: what follows it may be cut.
    let end = text.iter().position(|byte| *byte == b'\n');
    text.truncate(end.unwrap_or(text.len()));
    let (schema, _) = CsvHeader::default()
        .with_header(true)
        .infer_schema(text.as_slice(), Some(0))
        .map_err(|error| failed(&error))?;
    let names: Vec<String> = schema.fields().iter().map(|one| one.name().clone()).collect();
    if names.iter().all(String::is_empty) {
        return Err(Failure::input(format!("{} is empty", file.url)));
    }
    Ok(names)
}

async fn arrow_schema(files: &[InputFile], context: &SessionContext) -> Result<SchemaRef> {
    let options = ListingOptions::new(Format::Arrow.reader()).with_file_extension("");
    let mut schemas = Vec::new();
    for file in files {
        let url = ListingTableUrl::parse(&file.url)?;
        let schema = options.infer_schema(&context.state(), &url).await;
        schemas.push(schema.map_err(|error| {
            Failure::input(format!("{} is not a whole Arrow file", file.url))
                .caused_by(&error)
                .with_hint("it is damaged or still being written; leave it out, or wait")
        })?);
    }
    same(files, schemas.into_iter())
}

fn unread(name: &str, error: &std::io::Error) -> Failure {
    Failure::input(format!("cannot read {name}"))
        .caused_by(error)
        .with_hint("name a file or a folder that is there with `--input`")
}
