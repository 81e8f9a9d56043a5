//! Reading with an end, however a text is packed: how much a document may hold before it is
//! refused, so that no file, however it was made, fills the memory.

pub(crate) use crate::domain::AtMost;
use crate::domain::{BegunWork, WORK, WorkUnit};
use flate2::read::MultiGzDecoder;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

/// Bytes of text in any document, unpacked: an estate of 10,000 instances has half.
const MOST_BYTES: u64 = 4 << 30;
/// Bytes of a report that is read as a whole.
pub(in crate::files) const MOST_REPORT_BYTES: u64 = 256 << 20;
/// Bytes of a file that somebody writes by hand.
const MOST_WRITTEN_BYTES: u64 = 64 << 20;

/// An input with more than is read.
pub(in crate::files) fn too_large(
    what: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// A text whose bytes are checked as they are read.
struct Checked<R, F> {
    inner: R,
    check: F,
}

impl<R: Read, F: FnMut(&[u8]) -> io::Result<()>> Read for Checked<R, F> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let bytes = self.inner.read(out)?;
        (self.check)(&out[..bytes])?;
        Ok(bytes)
    }
}

pub(super) fn checked<R: Read>(inner: R, check: impl FnMut(&[u8]) -> io::Result<()>) -> impl Read {
    Checked { inner, check }
}

/// A text of at most so many bytes, which ends with an error where it is longer.
pub(crate) fn bounded<R: Read>(inner: R, most: u64) -> impl Read {
    let mut read = 0;
    checked(inner, move |bytes| {
        read += bytes.len() as u64;
        if read > most {
            return Err(too_large(format!("it is larger than {}", size(most))));
        }
        Ok(())
    })
}

fn size(bytes: u64) -> String {
    const GIB: u64 = 1 << 30;
    if bytes >= GIB { format!("{} GiB", bytes / GIB) } else { format!("{} MiB", bytes >> 20) }
}

/// All of a file that somebody writes by hand: settings, a policy, prices.
///
/// # Errors
/// When it cannot be read, or is larger than any such file.
pub(crate) fn read_written(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bounded(File::open(path)?, MOST_WRITTEN_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The same as text.
///
/// # Errors
/// Also when it is not UTF-8.
pub fn read_written_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read_written(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// What is read at once; documents are read as streams.
pub(in crate::files) const BUFFER_BYTES: usize = 1 << 16;
/// What Windows puts before a text in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The text of a file, as [`plain_text`] gives it.
pub(in crate::files) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = File::open(path)?;
    let bytes = file.metadata().ok().map(|about| about.len());
    let name = path.file_name().unwrap_or(path.as_os_str());
    let what = format!("reading {}", name.to_string_lossy());
    plain_text(Counted { file, _begun: WORK.begin(what, bytes, WorkUnit::Bytes) })
}

/// A file of which is counted what is read.
struct Counted {
    file: File,
    /// Lasts as long as the file is read.
    _begun: BegunWork<'static>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        WORK.advance(read as u64);
        Ok(read)
    }
}

/// A text as it is or, when it is gzip-compressed, as it was; without a byte order
/// mark. What is wrong with a compressed text is reported to whoever reads it.
pub(in crate::files) fn plain_text<'a>(input: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut text = unpacked(input)?;
    let is_marked = match text.fill_buf() {
        Ok(start) => start.starts_with(MARK),
        Err(error) => return Ok(Box::new(BufReader::new(Broken(Some(error))))),
    };
    text.consume(if is_marked { MARK.len() } else { 0 });
    Ok(text)
}

/// Bytes as they are or, when they are gzip-compressed, as they were.
pub(in crate::files) fn unpacked<'a>(input: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, input);
    let text: Box<dyn Read + 'a> = if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        Box::new(MultiGzDecoder::new(reader))
    } else {
        Box::new(reader)
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, bounded(text, MOST_BYTES))))
}

/// A text of which nothing can be read, and why.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Bytes of a row. Those of real files have a few thousand.
const MOST_ROW_BYTES: usize = 8 << 20;

/// Where rows end, which only their reader knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct RowEnd(Rc<Cell<usize>>);

impl RowEnd {
    /// A whole row was read.
    pub(crate) fn passed(&self) {
        self.0.set(0);
    }
}

/// A text of which no row is longer than a row may be.
pub(crate) fn short_rows<R: Read>(inner: R) -> (impl Read, RowEnd) {
    let end = RowEnd::default();
    let since_row = end.clone();
    let text = checked(inner, move |bytes| {
        since_row.0.set(since_row.0.get() + bytes.len());
        if since_row.0.get() > MOST_ROW_BYTES {
            let most = MOST_ROW_BYTES >> 20;
            return Err(too_large(format!("a row of it is longer than {most} MiB")));
        }
        Ok(())
    });
    (text, end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).expect("room");
        encoder.finish().expect("room")
    }

    fn read(input: &[u8]) -> io::Result<String> {
        let mut text = String::new();
        plain_text(input)?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn a_text_is_read_however_it_is_packed() {
        let parts = [packed("\u{feff}a"), packed("b")].concat();
        for input in ["ab".as_bytes(), "\u{feff}ab".as_bytes(), &parts] {
            assert_eq!(read(input).expect("a text"), "ab");
        }
        let half = &packed("ab")[..12];
        assert!(plain_text(half).is_ok() && read(half).is_err());
    }

    #[test]
    fn an_input_without_an_end_ends() {
        let endless = std::io::repeat(b' ');
        let error =
            bounded(endless, 1 << 20).read_to_end(&mut Vec::new()).expect_err("it has no end");
        assert_eq!(error.to_string(), "it is larger than 1 MiB");
        let mut whole = Vec::new();
        let exact: &[u8] = &[b'x'; 8];
        assert_eq!(bounded(exact, 8).read_to_end(&mut whole).ok(), Some(8));
    }
}
