//! Lines of CSV files in messages.

/// What is invalid on a line, counted from one.
pub(in crate::sources::files) type InvalidLine = (u64, String);

/// # Errors
/// With the line of the first byte that is not UTF-8.
pub(in crate::sources::files) fn text_of(bytes: &[u8]) -> Result<&str, InvalidLine> {
    std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        (line, "it is not UTF-8 text".to_owned())
    })
}

/// The line of a record as an editor counts. The reader's own count is that of
/// the line end before it, and of empty lines before that.
pub(in crate::sources::files) fn line_at(text: &str, position: Option<&csv::Position>) -> u64 {
    let read = position.and_then(|position| usize::try_from(position.byte()).ok());
    let (before, rest) = text
        .split_at_checked(read.unwrap_or(0))
        .unwrap_or((text, ""));
    let is_line_end = |c: &char| matches!(c, '\r' | '\n');
    let skipped = rest.chars().take_while(is_line_end);
    before.chars().chain(skipped).filter(|c| *c == '\n').count() as u64 + 1
}

/// An error of the reader with its line.
pub(in crate::sources::files) fn invalid(error: &csv::Error, text: &str) -> InvalidLine {
    let line = line_at(text, error.position());
    let message = match error.kind() {
        csv::ErrorKind::UnequalLengths {
            expected_len, len, ..
        } => format!("{len} cells instead of {expected_len}"),
        _ => error.to_string(),
    };
    (line, message)
}
