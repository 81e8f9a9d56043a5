//! How documents are printed and where they go, and what is said beside them.

use super::args::{ColorChoice, DocFormat, EstateArgs, OutputArgs, Rendering};
use super::io::{HOSTS, without_commands};
use super::{ExitCode, Failure, Io, Outcome, refusal};
use crate::config::SettingsFile;
use crate::domain::{Gap, counted, shown};
use crate::report::{Doc, TableStyle, doc_table, doc_xlsx};
use crate::sources::files::{try_writing, write_whole};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Writes a document to `--output` or stdout. Where a code host reads what is printed, no
/// line of it is one of its commands.
pub(super) fn document(text: &str, args: &OutputArgs, io: &mut Io<'_>) -> Outcome<()> {
    if args.output.is_none() && HOSTS.iter().any(|name| io.variable(name).is_some()) {
        return bytes(without_commands(text).as_bytes(), args, io);
    }
    bytes(text.as_bytes(), args, io)
}

/// Writes a document that need not be text, or whose lines are meant to be commands of a code
/// host, to `--output` or stdout. A reader of stdout that has seen enough changes nothing: what is
/// said and how the program ends follow from what was found.
pub(super) fn bytes(document: &[u8], args: &OutputArgs, io: &mut Io<'_>) -> Outcome<()> {
    match &args.output {
        Some(path) => write_whole(path, |out| out.write_all(document))
            .map_err(|error| unwritable(path, error)),
        None => {
            let written = io.stdout.write_all(document);
            match written.and_then(|()| io.stdout.flush()) {
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                written => written.map_err(|error| Failure::write("to stdout", error)),
            }
        }
    }
}

/// Writes what belongs to the program itself to stdout, as it is.
pub(super) fn print(text: &[u8], io: &mut Io<'_>) -> Outcome {
    let written = io.stdout.write_all(text).and_then(|()| io.stdout.flush());
    written.map_err(|error| Failure::write("to stdout", error))?;
    Ok(ExitCode::Done)
}

/// Fails where a document that is not text would go to a terminal.
pub(super) fn refuse_binary(out: &OutputArgs, io: &Io<'_>) -> Outcome<()> {
    if out.output.is_none() && io.stdout_is_terminal {
        let error = "a workbook is binary and cannot be shown on a terminal";
        return Err(refusal!("{error}"; "write it to a file with `--output audit.xlsx`"));
    }
    Ok(())
}

/// A file named by a flag cannot be written.
pub(super) fn unwritable(path: &Path, error: std::io::Error) -> Failure {
    Failure::write(&shown(path), error)
        .with_hint("choose a file in an existing, writable directory")
}

/// Fails before any work is done when a file could not be written at the end,
/// or when one would take the place of another.
pub(super) fn check_files(args: &EstateArgs, settings: &SettingsFile) -> Outcome<()> {
    let named = [
        ("--config", settings.path.as_ref()),
        ("prices.file", settings.prices.file.as_ref()),
        ("--from", args.from.as_ref()),
        ("--commitments", args.commitments.as_ref()),
        ("--save", args.save.as_ref()),
        ("--output", args.out.output.as_ref()),
    ];
    let samples = args.profile_data.iter().map(|path| ("--profile-data", Some(path)));
    let objects = args.kubernetes.from_kubectl.iter().map(|path| ("--from-kubectl", Some(path)));
    let named = check_distinct(samples.chain(objects).chain(named))?;
    let written = ["--save", "--output"];
    for (_, path) in named.iter().filter(|(flag, _)| written.contains(flag)) {
        try_writing(path).map_err(|error| unwritable(path, error))?;
    }
    Ok(())
}

/// The files that flags name. Fails when two name the same: one would take the place of the other.
pub(super) fn check_distinct<'a, P: AsRef<Path> + ?Sized + 'a>(
    flags: impl IntoIterator<Item = (&'a str, Option<&'a P>)>,
) -> Outcome<Vec<(&'a str, &'a Path)>> {
    let named = flags.into_iter();
    let named: Vec<(&str, &Path)> =
        named.filter_map(|(flag, path)| Some((flag, path?.as_ref()))).collect();
    for (index, (flag, path)) in named.iter().enumerate() {
        let same = |other_path: &Path| {
            resolved(path).is_some_and(|place| Some(place) == resolved(other_path))
        };
        if let Some((other_flag, _)) =
            named[..index].iter().find(|(_, other_path)| same(other_path))
        {
            return Err(refusal!("`{other_flag}` and `{flag}` use the same file: {}", shown(path);
                "use a different file for each"));
        }
    }
    Ok(named)
}

/// Where a file is or would be, with every link followed; `None` for what
/// cannot be replaced, such as a device, and where there is no folder.
fn resolved(path: &Path) -> Option<PathBuf> {
    if let Ok(there) = fs::canonicalize(path) {
        return there.is_file().then_some(there);
    }
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    Some(fs::canonicalize(folder).ok()?.join(path.file_name()?))
}

/// Columns of a table where nothing says how many there are.
pub(super) const TABLE_WIDTH: usize = 100;
/// The fewest and the most columns that a table is drawn for.
const LEAST_WIDTH: usize = 80;
const WIDE_WIDTH: usize = 200;

/// How tables are drawn.
pub(super) fn style(wide: bool, args: &OutputArgs, io: &Io<'_>) -> TableStyle {
    TableStyle {
        width: if wide { WIDE_WIDTH } else { width(args, io) },
        color: color(args, io),
        wide,
        limit: None,
        ascii: is_ascii(io),
    }
}

/// The columns of what shows a table: `COLUMNS`, which is the width of the terminal unless it
/// is set. A file is not shown anywhere yet.
fn width(args: &OutputArgs, io: &Io<'_>) -> usize {
    let columns = io.variable("COLUMNS").filter(|_| args.output.is_none());
    let columns: Option<usize> = columns.and_then(|columns| columns.trim().parse().ok());
    let columns = columns.filter(|columns| *columns > 0);
    columns.map_or(TABLE_WIDTH, |columns| columns.clamp(LEAST_WIDTH, WIDE_WIDTH))
}

/// Whether the locale names an encoding other than UTF-8. The first of its variables that is
/// set counts; without any, the text is UTF-8.
fn is_ascii(io: &Io<'_>) -> bool {
    let mut names = ["LC_ALL", "LC_CTYPE", "LANG"].iter();
    let locale = names.find_map(|name| io.variable(name));
    locale.is_some_and(|locale| {
        let locale = locale.to_ascii_lowercase();
        !locale.contains("utf-8") && !locale.contains("utf8")
    })
}

/// Whether tables are coloured.
pub(super) fn color(args: &OutputArgs, io: &Io<'_>) -> bool {
    is_colored(args.color, io.stdout_is_terminal && args.output.is_none(), io)
}

/// Whether what is shown on a terminal, or not, is coloured.
pub(super) fn is_colored(choice: ColorChoice, is_on_terminal: bool, io: &Io<'_>) -> bool {
    match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => is_on_terminal && io.variable("NO_COLOR").is_none(),
    }
}

/// A line on stderr, unless it is quiet.
pub(super) fn say(line: &str, args: &OutputArgs, io: &mut Io<'_>) {
    if !args.quiet {
        // A closed stderr does not change what stdout got.
        let _ = io.stderr.write_all(format!("{line}\n").as_bytes());
    }
}

/// What to be careful with in a document that was printed.
pub(super) fn warn(warning: Option<String>, args: &OutputArgs, io: &mut Io<'_>) {
    if let Some(warning) = warning {
        say(&warning, args, io);
    }
}

/// Says what is wrong with a document that was printed all the same, and gives the code for it.
pub(super) fn complain(error: &str, hint: &str, code: ExitCode, io: &mut Io<'_>) -> ExitCode {
    let _ = io.stderr.write_all(format!("error: {error}\nhint: {hint}\n").as_bytes());
    code
}

/// What was seen, in one line.
pub(super) fn closing_line(
    verb: &str,
    (instances, unmeasured): (usize, usize),
    gaps: &[Gap],
) -> String {
    let total = counted(instances, "instance", "instances");
    let seen =
        if unmeasured > 0 { format!("{} of {total}", instances - unmeasured) } else { total };
    let gaps = counted(gaps.len(), "gap", "gaps");
    format!("{verb} {seen}; {gaps}")
}

/// The closing line on stderr, and the exit code for what was seen: instances, and those of them
/// without any GPU signal.
pub(super) fn close(
    verb: &str,
    (instances, unmeasured): (usize, usize),
    gaps: &[Gap],
    args: &EstateArgs,
    io: &mut Io<'_>,
) -> ExitCode {
    let line = closing_line(verb, (instances, unmeasured), gaps);
    if instances == 0 && gaps.is_empty() && !args.allow_empty {
        say(&line, &args.out, io);
        let hint = "check `--region`, `--tag` and the account, or pass `--allow-empty`";
        return complain("no GPU instances in scope", hint, ExitCode::Nothing, io);
    }
    let code = close_with(&line, gaps, args, io);
    if code == ExitCode::Done && instances == 0 && !args.allow_empty {
        let hint = "the data gaps list what could not be read";
        return complain("no GPU instances found in scope", hint, ExitCode::Nothing, io);
    }
    code
}

/// A closing line on stderr, and the exit code of an answer that has what it is about, whether
/// or not there are instances.
pub(super) fn close_with(line: &str, gaps: &[Gap], args: &EstateArgs, io: &mut Io<'_>) -> ExitCode {
    say(line, &args.out, io);
    if args.strict && !gaps.is_empty() {
        let line =
            format!("error: incomplete: {} under `--strict`\n", counted(gaps.len(), "gap", "gaps"));
        let _ = io.stderr.write_all(line.as_bytes());
        return ExitCode::Incomplete;
    }
    ExitCode::Done
}

/// Fails where an answer would take the place of a file that it rests on.
pub(super) fn check_output(read: &[(&str, Option<&Path>)], out: &OutputArgs) -> Outcome<()> {
    let written = ("--output", out.output.as_deref());
    check_distinct(read.iter().copied().chain([written])).map(drop)
}

/// Prints a document with so many rows of each table at most; `None` for as many as are usual.
pub(super) fn print_rows(
    doc: &Doc,
    format: DocFormat,
    limit: Option<usize>,
    out: &OutputArgs,
    io: &mut Io<'_>,
) -> Outcome {
    let style = TableStyle { limit, ..style(format == DocFormat::Wide, out, io) };
    print_in(doc, format, style, out, io)
}

/// Prints a document; a table is drawn in a style.
pub(super) fn print_in(
    doc: &Doc,
    format: DocFormat,
    style: TableStyle,
    out: &OutputArgs,
    io: &mut Io<'_>,
) -> Outcome {
    if format == DocFormat::Xlsx {
        refuse_binary(out, io)?;
        bytes(&doc_xlsx(doc, io.now).map_err(Failure::unexpected)?, out, io)?;
    } else {
        document(&doc_text(doc, format, style)?, out, io)?;
    }
    Ok(ExitCode::Done)
}

/// A document as text; a workbook as its table.
pub(super) fn doc_text(doc: &Doc, format: DocFormat, style: TableStyle) -> Outcome<String> {
    Ok(match format.rendering() {
        Rendering::Table | Rendering::Workbook => doc_table(doc, style),
        Rendering::Data(write) => write(doc).map_err(Failure::unexpected)?,
        Rendering::Rows(write) => write(doc).map_err(Failure::unexpected)?,
        Rendering::Page(write) => write(doc),
    })
}
