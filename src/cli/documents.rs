//! How documents are printed.

use super::args::{DocFormat, OutputArgs};
use super::exit::{ExitCode, Failure, Outcome};
use super::{Io, output};
use crate::report::{
    Doc, TableStyle, doc_csv, doc_html, doc_json, doc_markdown, doc_table, doc_xlsx,
};
use std::path::Path;

/// Fails where an answer would take the place of a file that it rests on.
pub(super) fn check_output(read: &[(&str, Option<&Path>)], out: &OutputArgs) -> Outcome<()> {
    let written = ("--output", out.output.as_deref());
    output::check_distinct(read.iter().copied().chain([written])).map(drop)
}

/// Prints a document with so many rows of each table at most; `None` for as many as are usual.
pub(super) fn print_rows(
    doc: &Doc,
    format: DocFormat,
    limit: Option<usize>,
    out: &OutputArgs,
    io: &mut Io<'_>,
) -> Outcome {
    let style = TableStyle { limit, ..output::style(format == DocFormat::Wide, out, io) };
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
        output::refuse_binary(out, io)?;
        output::bytes(&doc_xlsx(doc, io.now).map_err(Failure::unexpected)?, out, io)?;
    } else {
        output::document(&text(doc, format, style)?, out, io)?;
    }
    Ok(ExitCode::Done)
}

/// A document as text; a workbook as its table.
pub(super) fn text(doc: &Doc, format: DocFormat, style: TableStyle) -> Outcome<String> {
    Ok(match format {
        DocFormat::Table | DocFormat::Wide | DocFormat::Xlsx => doc_table(doc, style),
        DocFormat::Json => doc_json(doc).map_err(Failure::unexpected)?,
        DocFormat::Csv => doc_csv(doc).map_err(Failure::unexpected)?,
        DocFormat::Markdown => doc_markdown(doc),
        DocFormat::Html => doc_html(doc),
    })
}
