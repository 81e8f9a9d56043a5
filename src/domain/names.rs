//! Names from outside, made harmless for a terminal or a spreadsheet.

use std::path::Path;

/// Whether a character may not reach a terminal as it is: controls of both
/// sets, line and paragraph separators, marks that turn the direction of
/// text around, fillers, and tags, which people do not see and a model reads.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' |
            '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' |
            // Fillers without a shape, and what is to be ignored (Unicode, Default_Ignorable).
            '\u{034f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' |
            '\u{180b}'..='\u{180f}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}' |
            '\u{e0000}'..='\u{e0fff}')
}

/// A name as it may be shown: unsafe characters are written as `\u{…}`.
pub fn safe(name: &str) -> String {
    let mut shown = String::with_capacity(name.len());
    for c in name.chars() {
        if is_unsafe(c) {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// The path of a file as it may be shown.
pub fn shown(path: &Path) -> String {
    safe(&path.to_string_lossy())
}

/// A text cell that a spreadsheet does not run: one that begins like a formula
/// gets an apostrophe in front.
pub fn spreadsheet_safe(cell: &str) -> String {
    let shown = safe(cell);
    let runs = cell.starts_with(['=', '+', '-', '@', '\t', '\r'])
        || shown.trim_start().starts_with(['=', '+', '-', '@']);
    if runs { format!("'{shown}") } else { shown }
}

/// A word that a POSIX shell reads back as it was, and that cannot hurt the
/// terminal it is shown on. What `safe` would escape is written in octal inside
/// `$'…'`, which bash, zsh and ksh know.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    if !word.chars().any(is_unsafe) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut quoted = String::from("$'");
    for c in word.chars() {
        if is_unsafe(c) {
            let mut bytes = [0; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                quoted.push_str(&format!("\\{byte:03o}"));
            }
        } else {
            if matches!(c, '\'' | '\\') {
                quoted.push('\\');
            }
            quoted.push(c);
        }
    }
    quoted.push('\'');
    quoted
}
