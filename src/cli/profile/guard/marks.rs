//! Marks of finished checkpoints: the time of a file that the command writes last, or lines
//! of a log that it appends to. Read on a thread of its own, because a file system may hang.

use crate::cli::profile::event::{MarksSeen, News};
use jiff::{SignedDuration, Timestamp};
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often marks are read, and so how exactly the time of a line is known.
const EVERY: Duration = Duration::from_millis(500);
/// Times of a file that are closer together are of one checkpoint that is being written.
const WRITING: SignedDuration = SignedDuration::from_secs(1);
/// How long the end of a run waits for the last marks.
const LAST_WITHIN: Duration = Duration::from_secs(1);
/// Bytes of a log that one reading takes; the rest is left to the next.
const MOST_BYTES: u64 = 16 << 20;
/// Bytes of a line that are searched.
const LONGEST_LINE: usize = 64 << 10;

/// Where checkpoints show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkPlace {
    /// The time of a file.
    File(PathBuf),
    /// Lines of a log with a text at the end and, if named, the beginning of a checkpoint.
    Log {
        path: PathBuf,
        done: String,
        begin: Option<String>,
    },
}

/// Reads marks as long as this lives.
#[derive(Debug)]
pub(super) struct Marks(Sender<Sender<MarksSeen>>);

impl Marks {
    /// Reads marks from now on.
    pub(super) fn watch(place: MarkPlace, events: Sender<News>) -> Self {
        let (sender, asked) = channel::<Sender<MarksSeen>>();
        let mut reader = Reader::new(place);
        thread::spawn(move || {
            loop {
                let asker = match asked.recv_timeout(EVERY) {
                    Ok(asker) => Some(asker),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                let before = reader.seen;
                // What cannot be read now may be written later.
                let _ = reader.read();
                // Sending fails once the run is over.
                if let Some(asker) = asker {
                    let _ = asker.send(reader.seen);
                } else if reader.seen != before {
                    let _ = events.send(News::Marked(reader.seen));
                }
            }
        });
        Self(sender)
    }

    /// Reads once more; `None` where that takes too long.
    pub(super) fn last(&self) -> Option<MarksSeen> {
        let (sender, answer) = channel();
        self.0.send(sender).ok()?;
        answer.recv_timeout(LAST_WITHIN).ok()
    }
}

#[derive(Debug)]
struct Reader {
    place: MarkPlace,
    seen: MarksSeen,
    /// The file's time when it was read last.
    changed: Option<Timestamp>,
    /// Bytes of the log that are read.
    offset: u64,
    /// A line of the log that is not complete yet.
    line: Vec<u8>,
    /// When the checkpoint that is not done yet began.
    begun: Option<Instant>,
}

impl Reader {
    /// What is marked already is of an earlier run.
    fn new(place: MarkPlace) -> Self {
        let mut reader = Self {
            place,
            seen: MarksSeen::default(),
            changed: None,
            offset: 0,
            line: Vec::new(),
            begun: None,
        };
        match &reader.place {
            MarkPlace::File(path) => reader.changed = changed(path).ok(),
            MarkPlace::Log { path, .. } => {
                reader.offset = fs::metadata(path).map_or(0, |data| data.len());
            }
        }
        reader
    }

    fn read(&mut self) -> io::Result<()> {
        match &self.place {
            MarkPlace::File(path) => {
                let changed = changed(path)?;
                if self.changed != Some(changed) {
                    self.changed = Some(changed);
                    self.written(changed);
                }
            }
            MarkPlace::Log { path, .. } => {
                let bytes = appended(path, &mut self.offset)?;
                for byte in bytes {
                    match byte {
                        b'\n' => {
                            let line = std::mem::take(&mut self.line);
                            self.read_line(&String::from_utf8_lossy(&line));
                        }
                        _ if self.line.len() < LONGEST_LINE => self.line.push(byte),
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn read_line(&mut self, line: &str) {
        let MarkPlace::Log { done, begin, .. } = &self.place else {
            return;
        };
        if line.contains(done.as_str()) {
            if let Some(begun) = self.begun.take() {
                self.seen.timed += 1;
                // Both lines of a short one may be found by one reading.
                self.seen.timed_seconds += begun.elapsed().max(EVERY).as_secs_f64();
            }
            self.done(Timestamp::now());
        } else if begin.as_deref().is_some_and(|begin| line.contains(begin)) {
            self.begun = Some(Instant::now());
        }
    }

    /// The file has another time: of a new checkpoint, or of the one that is being written.
    fn written(&mut self, at: Timestamp) {
        let last = self.seen.last;
        if last.is_some_and(|last| at.duration_since(last).abs() < WRITING) {
            if self.seen.done == 1 {
                self.seen.first = Some(at);
            }
            self.seen.last = Some(at);
        } else {
            self.done(at);
        }
    }

    fn done(&mut self, at: Timestamp) {
        self.seen.done += 1;
        self.seen.first.get_or_insert(at);
        self.seen.last = Some(at);
    }
}

fn changed(path: &Path) -> io::Result<Timestamp> {
    let time = fs::metadata(path)?.modified()?;
    Timestamp::try_from(time).map_err(io::Error::other)
}

/// What was appended to a log since the offset; all of it where the log is shorter now.
fn appended(path: &Path, offset: &mut u64) -> io::Result<Vec<u8>> {
    let data = fs::metadata(path)?;
    // A pipe has no end to read to.
    if !data.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    if data.len() < *offset {
        *offset = 0;
    }
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(*offset))?;
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES).read_to_end(&mut bytes)?;
    *offset += read as u64;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::time::SystemTime;

    fn append(path: &Path, text: &str) {
        let file = File::options().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .expect("written");
    }

    #[test]
    fn every_new_time_of_a_file_is_a_checkpoint() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("mark");
        let set = |milliseconds: u64| {
            append(&path, "");
            let file = File::options().append(true).open(&path).expect("there");
            let time = SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds);
            file.set_modified(time).expect("set");
        };
        set(1_000_000);
        let mut reader = Reader::new(MarkPlace::File(path.clone()));
        reader.read().expect("there");
        assert_eq!(reader.seen, MarksSeen::default());
        // The second one takes a second to write.
        for milliseconds in [2_000_000, 3_000_000, 3_000_500, 3_001_000] {
            set(milliseconds);
            for _ in 0..2 {
                reader.read().expect("there");
            }
        }
        let at = |second| Timestamp::from_second(second).ok();
        let seen = MarksSeen {
            done: 2,
            first: at(2_000),
            last: at(3_001),
            ..MarksSeen::default()
        };
        assert_eq!(reader.seen, seen);
        fs::remove_file(&path).expect("there");
        assert!(reader.read().is_err());
        assert_eq!(reader.seen, seen);
    }

    #[test]
    fn lines_of_a_log_begin_and_end_checkpoints() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("log");
        append(&path, "saved step 1\n");
        let mut reader = Reader::new(MarkPlace::Log {
            path: path.clone(),
            done: "saved step".to_owned(),
            begin: Some("saving step".to_owned()),
        });
        let mut read = |text: &str| {
            append(&path, text);
            reader.read().expect("a log");
            (reader.seen.done, reader.seen.timed)
        };
        // Of an earlier run.
        assert_eq!(read(""), (0, 0));
        assert_eq!(read("epoch 1\nsaving step 2\nsaved st"), (0, 0));
        assert_eq!(read("ep 2\n"), (1, 1));
        // Its beginning was not logged.
        assert_eq!(read("saved step 3\n\u{fffd}\nsav"), (2, 1));
        // A log that is written anew.
        fs::write(&path, "saved step 4\n").expect("written");
        assert_eq!(read(""), (3, 1));
        // Both lines in one reading: no less than the time between two readings.
        assert!(reader.seen.timed_seconds >= 0.5);
    }

    #[test]
    fn what_is_no_log_is_not_read() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        assert!(appended(folder.path(), &mut 0).is_err());
        assert!(appended(&folder.path().join("none"), &mut 0).is_err());
    }
}
