//! The text of a document, however it is packed.

use flate2::read::GzDecoder;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// What is read at once; documents are read as streams.
const BUFFER_BYTES: usize = 1 << 16;
/// What Windows puts before a text in UTF-8.
const MARK: &[u8] = "\u{feff}".as_bytes();

/// The text of a file, as [`plain_text`] gives it.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    plain_text(File::open(path)?)
}

/// A text as it is or, when it is gzip-compressed, as it was; without a byte order
/// mark. What is wrong with a compressed text is told to whoever reads it.
pub(super) fn plain_text<'a>(input: impl Read + 'a) -> io::Result<Box<dyn BufRead + 'a>> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, input);
    let mut text: Box<dyn BufRead + 'a> = if reader.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        let decoder = GzDecoder::new(reader);
        Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
    } else {
        Box::new(reader)
    };
    let is_marked = match text.fill_buf() {
        Ok(start) => start.starts_with(MARK),
        Err(error) => return Ok(Box::new(BufReader::new(Broken(Some(error))))),
    };
    text.consume(if is_marked { MARK.len() } else { 0 });
    Ok(text)
}

/// A text of which nothing can be read, and why.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}
