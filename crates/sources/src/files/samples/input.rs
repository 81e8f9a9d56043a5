//! A log of samples, whoever wrote it, and its lines: plain or gzip-compressed, in UTF-8 or in
//! the UTF-16 of a redirection in PowerShell, ended by LF or CR LF.

use super::error::SamplesError;
use super::unread::Told;
use crate::domain::{Cause, CauseKind, Gap, GapSubject, RunEnd, RunFacts, Sample};
use crate::files::shared::bounded::{too_large, unpacked};
use jiff::tz::TimeZone;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufRead, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Bytes that one line may have.
const MOST_LINE_BYTES: usize = 8 << 20;
/// Bytes of what cannot be read twice, such as a pipe.
const MOST_PIPED_BYTES: u64 = 256 << 20;

/// How two bytes are a unit of UTF-16.
type Unit = fn([u8; 2]) -> u16;
const LITTLE: Option<Unit> = Some(u16::from_le_bytes);
const BIG: Option<Unit> = Some(u16::from_be_bytes);

/// A log that can be read from its start as often as needed.
#[derive(Debug, Clone)]
pub(in crate::files) struct Input {
    path: PathBuf,
    piped: Option<Arc<[u8]>>,
}

impl Input {
    /// A file, or what a pipe holds; `-` is what comes over stdin.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self { path: "stdin".into(), piped: Some(whole(io::stdin().lock())?) });
        }
        let is_file = std::fs::metadata(path)?.is_file();
        let piped = if is_file { None } else { Some(whole(File::open(path)?)?) };
        Ok(Self { path: path.to_owned(), piped })
    }

    #[cfg(test)]
    pub(in crate::files) fn of_bytes(name: &str, bytes: &[u8]) -> Self {
        Self { path: name.into(), piped: Some(bytes.into()) }
    }

    /// Where it is, for messages.
    pub(in crate::files) fn path(&self) -> &Path {
        &self.path
    }

    pub(in crate::files) fn lines(&self) -> Result<Lines, SamplesError> {
        let lines = match &self.piped {
            Some(bytes) => Lines::of(&self.path, Cursor::new(Arc::clone(bytes))),
            None => File::open(&self.path).and_then(|file| Lines::of(&self.path, file)),
        };
        lines.map_err(|source| SamplesError::io(&self.path, source))
    }
}

/// All that a pipe holds.
fn whole(pipe: impl Read) -> io::Result<Arc<[u8]>> {
    let mut bytes = Vec::new();
    pipe.take(MOST_PIPED_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_PIPED_BYTES {
        return Err(too_large("more than 256 MiB through a pipe"));
    }
    Ok(bytes.into())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::files) struct Line {
    /// Counted from one.
    pub number: u64,
    /// Without its line end; what is not text became U+FFFD.
    pub text: String,
    /// Whether a line end followed: a last line without one may be torn.
    pub is_whole: bool,
}

/// The lines of a log, one at a time.
pub(in crate::files) struct Lines {
    /// Where they are, for messages.
    pub path: PathBuf,
    reader: Box<dyn BufRead>,
    /// Absent of UTF-8.
    wide: Option<Unit>,
    number: u64,
    /// Whether the compressed log ended before its end.
    pub is_cut: bool,
    /// The last line, where the writer was killed while it wrote that.
    pub torn_line: Option<u64>,
    is_done: bool,
}

impl Lines {
    fn of(path: &Path, source: impl Read + 'static) -> io::Result<Self> {
        let mut reader = unpacked(source)?;
        let mut is_cut = false;
        let start = match reader.fill_buf() {
            Ok(start) => start,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                is_cut = true;
                &[]
            }
            Err(error) => return Err(error),
        };
        let (wide, mark) = match start {
            [0xef, 0xbb, 0xbf, ..] => (None, 3),
            [0xff, 0xfe, ..] => (LITTLE, 2),
            [0xfe, 0xff, ..] => (BIG, 2),
            [1..=255, 0, 1..=255, 0, ..] => (LITTLE, 0),
            [0, 1..=255, 0, 1..=255, ..] => (BIG, 0),
            _ => (None, 0),
        };
        reader.consume(mark);
        let path = path.to_owned();
        Ok(Self { path, reader, wide, number: 0, is_cut, torn_line: None, is_done: is_cut })
    }

    /// The next line; `None` after the last.
    pub(in crate::files) fn next_line(&mut self) -> Result<Option<Line>, SamplesError> {
        self.read_line().map_err(|source| SamplesError::io(&self.path, source))
    }

    /// The next line that is not blank.
    pub(super) fn next_text_line(&mut self) -> Result<Option<Line>, SamplesError> {
        loop {
            match self.next_line()? {
                Some(line) if line.text.trim().is_empty() => {}
                line => return Ok(line),
            }
        }
    }

    /// A line is not as it must be: what was found, and what was expected.
    pub(in crate::files) fn invalid(&self, line: u64, message: impl Display) -> SamplesError {
        SamplesError::line(&self.path, line, message)
    }

    /// The gap of a file that stops in the middle of a line.
    pub(super) fn torn_gap(&self) -> Option<Gap> {
        let cause = match self.torn_line {
            Some(line) => Cause::of(CauseKind::LineTruncated, [&line.to_string()]),
            None if self.is_cut => Cause::of(CauseKind::FileTruncated, []),
            None => return None,
        };
        Some(Gap::of(GapSubject::LastSample, place(&self.path), cause))
    }

    fn read_line(&mut self) -> io::Result<Option<Line>> {
        if self.is_done {
            return Ok(None);
        }
        let (mut text, is_whole) = match self.wide {
            None => {
                let mut bytes = Vec::new();
                let is_whole = self.fill(&mut bytes)?;
                let text = String::from_utf8(bytes)
                    .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
                (text, is_whole)
            }
            Some(unit) => {
                let mut units = Vec::new();
                let is_whole = self.fill_wide(&mut units, unit)?;
                (String::from_utf16_lossy(&units), is_whole)
            }
        };
        if text.is_empty() && !is_whole {
            return Ok(None);
        }
        if text.ends_with('\r') {
            text.pop();
        }
        self.number += 1;
        Ok(Some(Line { number: self.number, text, is_whole }))
    }

    /// Bytes up to a line end; whether there was one.
    fn fill(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool> {
        let most = MOST_LINE_BYTES as u64 + 1;
        match self.reader.by_ref().take(most).read_until(b'\n', bytes) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                self.is_cut = true;
                self.is_done = true;
            }
            Err(error) => return Err(error),
        }
        if bytes.len() > MOST_LINE_BYTES {
            return Err(too_large("a line of more than 8 MiB"));
        }
        let is_whole = bytes.last() == Some(&b'\n');
        if is_whole {
            bytes.pop();
        }
        Ok(is_whole)
    }

    fn fill_wide(&mut self, units: &mut Vec<u16>, unit: Unit) -> io::Result<bool> {
        let mut pair = [0; 2];
        loop {
            match self.reader.read_exact(&mut pair) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    self.is_done = true;
                    return Ok(false);
                }
                Err(error) => return Err(error),
            }
            let unit = unit(pair);
            if unit == u16::from(b'\n') {
                return Ok(true);
            }
            units.push(unit);
            if units.len() > MOST_LINE_BYTES {
                return Err(too_large("a line of more than 8 MiB"));
            }
        }
    }
}

/// What a log of another program may leave unsaid. Our own files need nothing.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// The zone of times that name none; without it they are read as UTC, and a
    /// gap says so.
    pub zone: Option<TimeZone>,
    /// Names of the columns of a log, as given to `--query-gpu`. They outrank a
    /// header in the log.
    pub columns: Option<Vec<String>>,
    /// How far the samples of a log without timestamps are apart.
    pub interval: Option<Duration>,
}

/// A log that was opened, and what it says of its run.
pub(in crate::files) type OpenLog = (RunFacts, Box<dyn Log>);

/// A log that is read one sample of a time, in constant memory.
pub(in crate::files) trait Log {
    /// The next sample; after an error there is none.
    fn next_sample(&mut self) -> Result<Option<Sample>, SamplesError>;
    /// How the run ended, once the last sample was read, where the log says it.
    fn end(&self) -> Option<&RunEnd> {
        None
    }
    /// Whether a figure would be in it, if the driver had told.
    fn may_tell(&self, _figure: Told) -> bool {
        true
    }
    /// What it does not say or what could not be read, as far as it was read.
    fn gaps(&self) -> Vec<Gap>;
}

/// A file as gaps name it.
pub(in crate::files) fn place(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The cells of one line of CSV, without the quotes around them.
pub(in crate::files) fn cells(line: &str) -> Vec<String> {
    let mut cells = Vec::new();
    let mut cell = String::new();
    let mut characters = line.chars().peekable();
    let mut is_quoted = false;
    while let Some(c) = characters.next() {
        match c {
            '"' if is_quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if is_quoted => is_quoted = false,
            '"' if cell.trim().is_empty() => {
                cell.clear();
                is_quoted = true;
            }
            ',' if !is_quoted => cells.push(std::mem::take(&mut cell)),
            c => cell.push(c),
        }
    }
    cells.push(cell);
    cells
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn lines(bytes: &[u8]) -> Vec<(u64, String, bool)> {
        let mut lines = Input::of_bytes("log", bytes).lines().expect("opens");
        let mut read = Vec::new();
        while let Some(line) = lines.next_line().expect("reads") {
            read.push((line.number, line.text, line.is_whole));
        }
        read
    }

    fn expected() -> Vec<(u64, String, bool)> {
        vec![(1, "a, 1%".into(), true), (2, String::new(), true), (3, "Grüße".into(), false)]
    }

    #[test]
    fn every_encoding_gives_the_same_lines() {
        let text = "a, 1%\r\n\r\nGrüße";
        assert_eq!(lines(text.as_bytes()), expected());
        assert_eq!(lines(format!("\u{feff}{text}").as_bytes()), expected());
        let marked = format!("\u{feff}{text}");
        for text in [text, &marked] {
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            assert_eq!(lines(&little), expected());
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            assert_eq!(lines(&big), expected());
        }
    }

    #[test]
    fn a_compressed_log_that_was_cut_is_read_as_far_as_it_goes() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
        encoder.write_all(b"one\ntwo\nthree\n").expect("in memory");
        let whole = encoder.finish().expect("in memory");
        assert_eq!(lines(&whole).len(), 3);
        let rows = lines(&whole[..whole.len() - 12]);
        assert_eq!(rows.first(), Some(&(1, "one".into(), true)));
        // Two compressed logs, one after the other.
        assert_eq!(lines(&[whole.clone(), whole].concat()).len(), 6);
    }

    #[test]
    fn cells_are_split_at_commas_outside_of_quotes() {
        assert_eq!(cells("a, b,"), ["a", " b", ""]);
        assert_eq!(cells(r#"1,"x, ""y""",2"#), ["1", r#"x, "y""#, "2"]);
    }
}
