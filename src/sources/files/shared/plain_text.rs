//! The text of a document, however it is packed.

use super::bounded::{JsonError, MOST_BYTES, bounded, read_json};
use crate::domain::{BegunWork, WORK, WorkUnit};
use flate2::read::MultiGzDecoder;
use serde::de::DeserializeSeed;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// What is read at once; documents are read as streams.
const BUFFER_BYTES: usize = 1 << 16;
/// What Windows puts before a text in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The text of a file, as [`plain_text`] gives it.
pub(in crate::sources::files) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
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
pub(in crate::sources::files) fn plain_text<'a>(
    input: impl Read + 'a,
) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut text = unpacked(input)?;
    let is_marked = match text.fill_buf() {
        Ok(start) => start.starts_with(MARK),
        Err(error) => return Ok(Box::new(BufReader::new(Broken(Some(error))))),
    };
    text.consume(if is_marked { MARK.len() } else { 0 });
    Ok(text)
}

/// Bytes as they are or, when they are gzip-compressed, as they were.
pub(in crate::sources::files) fn unpacked<'a>(
    input: impl Read + 'a,
) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, input);
    let text: Box<dyn Read + 'a> = if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        Box::new(MultiGzDecoder::new(reader))
    } else {
        Box::new(reader)
    };
    Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, bounded(text, MOST_BYTES))))
}

/// Reads a JSON file, plain or gzip-compressed.
///
/// # Errors
/// Those of the file within those of JSON.
pub(in crate::sources) fn read_json_file<'de, S: DeserializeSeed<'de>>(
    path: &Path,
    longest: usize,
    seed: S,
) -> io::Result<Result<S::Value, JsonError>> {
    Ok(read_json(open(path)?, longest, seed))
}

/// A text of which nothing can be read, and why.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
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
}
