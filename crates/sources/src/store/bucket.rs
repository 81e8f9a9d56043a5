//! A bucket of S3.
//!
//! Objects are created on the condition that none of their name is there, so that of two
//! writers one succeeds. What is read is kept in a scratch folder as long as the bucket is open:
//! objects do not change.

use super::place::{
    Between, BucketAccess, BucketPlace, Created, IoAnswer, Listed, Room, Store, invalid, is_between,
};
use super::transport::{BYTES_A_SECOND, Keys, Signed, Transport};
use crate::aws::Access;
use crate::domain::safe;
use crate::tls::aws_connector;
use aws_smithy_runtime_api::client::http::SharedHttpConnector;
use futures_util::{FutureExt, Stream, StreamExt};
use object_store::aws::{AmazonS3, AmazonS3Builder, Checksum};
use object_store::client::{HttpRequestBody, HttpService};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::{Error as PathError, Path};
use object_store::{
    Error, GetOptions, ObjectStore, ObjectStoreExt, PutMode, PutPayload, RetryConfig,
};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::fs::File;
use std::io::{self, ErrorKind, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tempfile::{NamedTempFile, TempDir};
use tokio::time::{Instant, timeout_at};

/// For a connection.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// For the next bytes of an object, and what all of it may take besides a second for each of
/// [`BYTES_A_SECOND`].
const READ_WITHIN: Duration = Duration::from_secs(60);
/// Tries of a request after the first one.
const RETRIES: usize = 4;
/// After this, a request is not tried again.
const RETRY_WITHIN: Duration = Duration::from_secs(90);
/// Tries to create an object while others create it, and fail.
const TRIES_OF_CREATION: usize = 3;
/// Objects on a page, which is the most that S3 gives.
const MOST_ON_A_PAGE: usize = 1_000;
/// Objects of other people, whose names the client does not read, that a listing passes.
const MOST_UNREADABLE: usize = 100;
/// How the client begins what it says of a refusal.
const STATUS: &str = "Server returned non-2xx status code: ";

/// A bucket, below a prefix.
#[derive(Debug)]
pub(super) struct Bucket {
    store: AmazonS3,
    place: BucketPlace,
    scratch: TempDir,
    /// Objects that were read, by name, in the scratch folder.
    read: RefCell<BTreeMap<String, PathBuf>>,
}

impl Bucket {
    /// Reads the credentials, and finds out the region of the bucket.
    ///
    /// # Errors
    /// When there are no credentials, and when there is no such bucket.
    pub(super) async fn connect(place: &BucketPlace, access: &BucketAccess) -> io::Result<Self> {
        let (profile, url) = (access.profile.as_deref(), access.endpoint_url.as_deref());
        let access = Access::of(profile, url).await.map_err(io::Error::other)?;
        let signed = Signed::default();
        let connector = SharedHttpConnector::new(aws_connector(CONNECT_WITHIN));
        let transport = Transport::new(connector, signed.clone());
        let (region, endpoint) = match access.endpoint_url() {
            Some(url) => (access.region().to_owned(), url.to_owned()),
            None => {
                let suffix = access.dns_suffix();
                let home = format!("https://s3.{}.{suffix}", access.region());
                let region = region_of(&home, &place.bucket, &transport).await?;
                let region = region.unwrap_or_else(|| access.region().to_owned());
                let endpoint = format!("https://s3.{region}.{suffix}");
                (region, endpoint)
            }
        };
        let retries = RetryConfig {
            max_retries: RETRIES,
            retry_timeout: RETRY_WITHIN,
            ..RetryConfig::default()
        };
        let store = AmazonS3Builder::new()
            .with_bucket_name(&place.bucket)
            .with_region(region)
            .with_endpoint(endpoint)
            .with_credentials(Arc::new(Keys::new(access, signed)))
            .with_retry(retries)
            // A bucket whose objects are locked takes none without.
            .with_checksum_algorithm(Checksum::SHA256)
            .with_disable_bulk_delete(true)
            .with_http_connector(transport)
            .build()
            .map_err(failed)?;
        Ok(Self {
            store,
            place: place.clone(),
            scratch: tempfile::tempdir()?,
            read: RefCell::default(),
        })
    }

    fn path(&self, name: &str) -> io::Result<Path> {
        Path::parse(format!("{}{name}", self.place.prefix))
            .map_err(|error| failed(Error::from(error)))
    }

    async fn listed(&self, folder: &str, between: Between<'_>) -> io::Result<Vec<Listed>> {
        // All of the place has no folder.
        let inside = match folder {
            "" => String::new(),
            folder => format!("{folder}/"),
        };
        let prefix = format!("{}{inside}", self.place.prefix);
        let mut pages = Pages {
            offset: between.map(|(first, _)| format!("{prefix}{first}")),
            token: None,
            followed: BTreeSet::new(),
            most: MOST_ON_A_PAGE,
            unreadable: 0,
        };
        let mut objects = Vec::new();
        let mut room = Room::default();
        loop {
            let page = match self.store.list_paginated(Some(&prefix), pages.next()).await {
                Ok(page) => page,
                Err(Error::InvalidPath { source }) => {
                    pages.pass(&source)?;
                    continue;
                }
                Err(error) => return Err(failed(error)),
            };
            let mut is_past = false;
            for object in page.result.objects {
                let Some(below) = object.location.as_ref().strip_prefix(&prefix) else { continue };
                is_past |=
                    between.is_some_and(|(_, last)| below > last) && !is_between(below, between);
                if is_between(below, between) {
                    let name = format!("{inside}{below}");
                    room.take(&name)?;
                    objects.push(Listed { name, bytes: object.size, is_regular: true });
                }
            }
            match page.page_token {
                Some(token) if !is_past => {
                    room.take(&token)?;
                    pages.follow(token)?;
                }
                _ => break,
            }
        }
        objects.sort();
        objects.dedup();
        Ok(objects)
    }

    async fn opened(&self, name: &str, most_bytes: u64) -> io::Result<File> {
        let kept = self.read.borrow().get(name).cloned();
        if let Some(path) = kept {
            let file = File::open(path)?;
            return check_size(file.metadata()?.len(), most_bytes).map(|()| file);
        }
        let path = self.path(name)?;
        let answer = self.store.get_opts(&path, GetOptions::default()).await.map_err(failed)?;
        let bytes = answer.meta.size;
        check_size(bytes, most_bytes)?;
        let mut file = NamedTempFile::new_in(self.scratch.path())?;
        write_parts(answer.into_stream(), bytes, Instant::now() + longest(bytes), &mut file)
            .await?;
        let (mut file, path) = file.keep().map_err(|error| error.error)?;
        file.rewind()?;
        self.read.borrow_mut().insert(name.to_owned(), path);
        Ok(file)
    }

    async fn created(&self, name: &str, bytes: &[u8]) -> io::Result<Created> {
        let path = self.path(name)?;
        for _ in 0..TRIES_OF_CREATION {
            let payload = PutPayload::from(bytes.to_vec());
            match self.store.put_opts(&path, payload, PutMode::Create.into()).await {
                Ok(_) => return Ok(Created::Now),
                Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
            // S3 says the same of an object that is there and of one that somebody else
            // creates now, which may fail.
            match self.store.head(&path).await {
                Ok(_) => return Ok(Created::Before),
                Err(Error::NotFound { .. }) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(io::Error::other("others create it again and again"))
    }
}

impl Store for Bucket {
    fn prepare<'a>(&'a self, _: &'a str) -> IoAnswer<'a, ()> {
        std::future::ready(Ok(())).boxed_local()
    }

    fn list<'a>(&'a self, folder: &'a str, between: Between<'a>) -> IoAnswer<'a, Vec<Listed>> {
        self.listed(folder, between).boxed_local()
    }

    fn open<'a>(&'a self, name: &'a str, most_bytes: u64) -> IoAnswer<'a, File> {
        self.opened(name, most_bytes).boxed_local()
    }

    fn forget(&self, name: &str) {
        if let Some(path) = self.read.borrow_mut().remove(name) {
            // The folder goes with all that is left.
            let _ = std::fs::remove_file(path);
        }
    }

    fn create<'a>(&'a self, name: &'a str, bytes: &'a [u8]) -> IoAnswer<'a, Created> {
        self.created(name, bytes).boxed_local()
    }

    fn place(&self, name: &str) -> String {
        let BucketPlace { bucket, prefix } = &self.place;
        safe(&format!("s3://{bucket}/{prefix}{name}"))
    }
}

/// Where a listing is.
#[derive(Debug)]
struct Pages {
    /// The name after which it begins.
    offset: Option<String>,
    /// Where it goes on.
    token: Option<String>,
    /// Where it went on so far.
    followed: BTreeSet<String>,
    /// Objects on a page.
    most: usize,
    /// Objects that were passed.
    unreadable: usize,
}

impl Pages {
    fn next(&self) -> PaginatedListOptions {
        PaginatedListOptions {
            // One that goes on has begun.
            offset: self.offset.clone().filter(|_| self.token.is_none()),
            max_keys: Some(self.most),
            page_token: self.token.clone(),
            ..PaginatedListOptions::default()
        }
    }

    /// Goes on at the next page.
    ///
    /// # Errors
    /// When it went on there before: the listing would not end.
    fn follow(&mut self, token: String) -> io::Result<()> {
        if !self.followed.insert(token.clone()) {
            return Err(invalid("its listing goes back to a page that was read"));
        }
        self.token = Some(token);
        Ok(())
    }

    /// Gets past an object whose name the client does not read, and for which it refuses the
    /// whole page: by smaller pages up to it, and a new listing after it.
    ///
    /// # Errors
    /// When the name does not say where to go on, and when there are many of its kind.
    fn pass(&mut self, why: &PathError) -> io::Result<()> {
        if self.most > 1 {
            self.most /= 2;
            return Ok(());
        }
        self.unreadable += 1;
        let name = match why {
            PathError::EmptySegment { path } | PathError::BadSegment { path, .. } => Some(path),
            _ => None,
        };
        let name = name.filter(|_| self.unreadable <= MOST_UNREADABLE).ok_or_else(|| {
            invalid("it has objects with empty parts, `..` or control characters in their names")
        })?;
        self.offset = Some(name.clone());
        self.token = None;
        self.most = MOST_ON_A_PAGE;
        Ok(())
    }
}

/// Writes the parts of an object of so many bytes, which must all arrive by a time.
async fn write_parts(
    mut parts: impl Stream<Item = object_store::Result<impl AsRef<[u8]>>> + Unpin,
    bytes: u64,
    until: Instant,
    out: &mut impl Write,
) -> io::Result<()> {
    let mut left = bytes;
    let late = |_| io::Error::from(ErrorKind::TimedOut);
    while let Some(part) =
        timeout_at(until.min(Instant::now() + READ_WITHIN), parts.next()).await.map_err(late)?
    {
        let part = part.map_err(failed)?;
        let taken = left.checked_sub(part.as_ref().len() as u64);
        left = taken.ok_or_else(|| invalid("it is longer than its server says"))?;
        out.write_all(part.as_ref())?;
    }
    if left > 0 {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// How long an object of so many bytes may take.
fn longest(bytes: u64) -> Duration {
    READ_WITHIN.saturating_add(Duration::from_secs(bytes / BYTES_A_SECOND as u64))
}

fn check_size(bytes: u64, most_bytes: u64) -> io::Result<()> {
    if bytes > most_bytes {
        return Err(invalid("it is larger than what was written"));
    }
    Ok(())
}

/// The region of a bucket, as S3 answers in any region of its partition to whoever asks.
/// `None` where it does not say.
///
/// # Errors
/// When S3 does not answer, or knows no such bucket.
async fn region_of(home: &str, bucket: &str, transport: &Transport) -> io::Result<Option<String>> {
    let request = http::Request::head(format!("{home}/{bucket}")).body(HttpRequestBody::empty());
    let answer = transport
        .call(request.map_err(io::Error::other)?)
        .await
        .map_err(|error| failed(Error::Generic { store: "S3", source: Box::new(error) }))?;
    if answer.status() == http::StatusCode::NOT_FOUND {
        return Err(io::Error::new(ErrorKind::NotFound, "there is no such bucket"));
    }
    let region = answer.headers().get("x-amz-bucket-region");
    let region = region.and_then(|region| region.to_str().ok());
    let is_region = |region: &&str| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (1..=32).contains(&region.len()) && region.chars().all(is_plain)
    };
    Ok(region.filter(is_region).map(str::to_owned))
}

/// An error in the fewest words: its innermost cause.
fn failed(error: Error) -> io::Error {
    let kind = match &error {
        Error::NotFound { .. } => ErrorKind::NotFound,
        Error::AlreadyExists { .. } => ErrorKind::AlreadyExists,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => {
            ErrorKind::PermissionDenied
        }
        _ => ErrorKind::Other,
    };
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        words = inner.to_string();
        cause = inner.source();
    }
    let words = words.strip_prefix(STATUS).unwrap_or(&words);
    io::Error::new(kind, words.trim_end_matches([':', ' ']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    fn path_error(path: &str) -> PathError {
        Path::parse(path).expect_err("it is not read")
    }

    #[test]
    fn an_object_that_the_client_does_not_read_is_passed_by_smaller_pages() {
        let mut pages = Pages {
            offset: None,
            token: Some("token".to_owned()),
            followed: BTreeSet::new(),
            most: MOST_ON_A_PAGE,
            unreadable: 0,
        };
        let error = path_error("v1/../a");
        // 1000, 500, 250, 125, 62, 31, 15, 7, 3, 1.
        for most in [500, 250, 125, 62, 31, 15, 7, 3, 1] {
            pages.pass(&error).expect("it goes on");
            assert_eq!((pages.most, pages.token.as_deref()), (most, Some("token")));
        }
        pages.pass(&error).expect("it goes on");
        let next = pages.next();
        assert_eq!(next.offset.as_deref(), Some("v1/../a"));
        assert_eq!((next.page_token, next.max_keys), (None, Some(1_000)));
        for _ in 1..MOST_UNREADABLE {
            pages.most = 1;
            pages.pass(&path_error("v1//a")).expect("it goes on");
        }
        pages.most = 1;
        assert!(pages.pass(&error).is_err(), "there are too many");
    }

    #[test]
    fn a_listing_does_not_go_back() {
        let mut pages = Pages {
            offset: None,
            token: None,
            followed: BTreeSet::new(),
            most: MOST_ON_A_PAGE,
            unreadable: 0,
        };
        for token in ["a", "b"] {
            pages.follow(token.to_owned()).expect("it goes on");
            assert_eq!(pages.next().page_token.as_deref(), Some(token));
        }
        assert!(pages.follow("a".to_owned()).is_err());
    }

    /// Every listing of it goes on where it went on before.
    const SAME_PAGE: &str = "<ListBucketResult><IsTruncated>true</IsTruncated>\
        <NextContinuationToken>again</NextContinuationToken><Contents><Key>p/v1/a</Key>\
        <LastModified>2026-11-01T00:00:00.000Z</LastModified><ETag>1</ETag><Size>1</Size>\
        </Contents></ListBucketResult>";

    #[tokio::test]
    async fn a_listing_that_repeats_its_token_ends_with_an_error() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let served = async {
            let mut pages = 0;
            loop {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                let mut request = [0; 4_096];
                let length = stream.read(&mut request).await.expect("a request");
                assert!(request[..length].starts_with(b"GET "), "{pages}");
                pages += 1;
                let length = SAME_PAGE.len();
                let answer = format!(
                    "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n\
                     {SAME_PAGE}"
                );
                let sent = stream.write_all(answer.as_bytes()).await;
                sent.expect("it is read");
                if pages > 2 {
                    return;
                }
            }
        };
        let connector = SharedHttpConnector::new(aws_connector(CONNECT_WITHIN));
        let store = AmazonS3Builder::new()
            .with_bucket_name("b")
            .with_region("us-east-1")
            .with_endpoint(format!("http://{address}"))
            .with_access_key_id("a")
            .with_secret_access_key("b")
            .with_allow_http(true)
            .with_http_connector(Transport::new(connector, Signed::default()));
        let bucket = Bucket {
            store: store.build().expect("a store"),
            place: BucketPlace { bucket: "b".to_owned(), prefix: "p/".to_owned() },
            scratch: tempfile::tempdir().expect("a scratch folder"),
            read: RefCell::default(),
        };
        tokio::select! {
            () = served => panic!("it went on after the second page"),
            listed = bucket.listed("v1", None) => {
                let error = listed.expect_err("it does not end");
                assert!(error.to_string().contains("goes back to a page"), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn an_object_that_trickles_has_an_end() {
        // A byte every ten milliseconds, for ever.
        let parts = || {
            let byte = |()| async {
                tokio::time::sleep(Duration::from_millis(10)).await;
                Some((Ok::<_, Error>(b"x"), ()))
            };
            Box::pin(futures_util::stream::unfold((), byte))
        };
        let mut out = Vec::new();
        let until = Instant::now() + Duration::from_millis(200);
        let late = write_parts(parts(), 1_000_000, until, &mut out).await;
        let late = late.expect_err("it trickles");
        assert_eq!(late.kind(), ErrorKind::TimedOut);
        assert!(!out.is_empty() && out.len() <= 21, "{}", out.len());
        let whole = parts().take(3);
        let until = Instant::now() + Duration::from_secs(60);
        let mut out = Vec::new();
        let whole = write_parts(Box::pin(whole), 3, until, &mut out).await;
        whole.expect("all of it");
        assert_eq!(out, b"xxx");
        // 100 MiB at 256 KiB a second are 400 seconds.
        assert_eq!(longest(104_857_600), Duration::from_secs(460));
    }

    #[test]
    fn an_error_is_its_innermost_cause() {
        let cause = io::Error::other(format!("{STATUS}403 Forbidden: AccessDenied: no"));
        let error =
            failed(Error::PermissionDenied { path: "a".to_owned(), source: Box::new(cause) });
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert_eq!(error.to_string(), "403 Forbidden: AccessDenied: no");
        let bare = io::Error::other(format!("{STATUS}404 Not Found: "));
        let error = failed(Error::NotFound { path: "a".to_owned(), source: Box::new(bare) });
        assert_eq!(error.to_string(), "404 Not Found");
    }
}
