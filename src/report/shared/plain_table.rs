//! A table without lines, as every listing here uses it.

use super::style::TableStyle;
use super::text::{fit, joined, safe, wrap};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};
use unicode_width::UnicodeWidthStr;

/// Blanks around a cell.
const PADDING: usize = 2;
/// Columns that are left of words that give way.
const LEAST_WORDS: usize = 16;
/// Names up to here are left whole where the columns allow it; longer ones are paths.
const LONGEST_WHOLE: usize = 24;

/// Words that a name has at most.
const NAME_WORDS: usize = 3;

/// A borderless table with some columns aligned right.
#[derive(Debug, Clone, Default)]
pub struct PlainTable {
    pub header: Vec<String>,
    /// Cells must be safe for a terminal.
    pub rows: Vec<Vec<String>>,
    /// Columns that are aligned right.
    pub numbers: Vec<usize>,
    /// The column whose words give way where the width ends. Without one no cell is cut: what is
    /// too much goes below its row.
    pub gives: Option<usize>,
    /// Columns to leave out where the width ends, the first one first.
    pub spare: Vec<usize>,
}

impl PlainTable {
    /// The lines of the whole table. Where the columns end, words are wrapped inside their cells,
    /// and numbers are left whole: one that is cut reads as another one. Names are not divided
    /// either: where there is no room for them, columns go below their rows.
    pub fn wrapped(&self, style: TableStyle) -> Vec<String> {
        let lines = self.lines();
        if style.wide || lines.iter().all(|line| line.width() <= style.width) {
            return lines;
        }
        let mut table = drawn(&self.header, &self.rows, &self.numbers);
        let divides = !self.names_fit(&table.column_max_content_widths(), style.width);
        if divides && self.widths().first().is_none_or(|first| *first <= style.width) {
            return self.divided(style.width, None).concat();
        }
        self.wrap_words(&mut table, style.width);
        lines_of(&table)
    }

    /// The width of each column with its names: up to a limit, as paths are longer.
    fn whole_widths(&self) -> Vec<usize> {
        let whole = |(index, title): (usize, &String)| {
            self.longest_name(index).min(LONGEST_WHOLE).max(title.width())
        };
        self.header.iter().enumerate().map(whole).collect()
    }

    /// Whether all columns have room for their names, by the width of the contents of each.
    fn names_fit(&self, contents: &[u16], width: usize) -> bool {
        let whole = self.whole_widths();
        let needed = whole.iter().zip(contents).enumerate().map(|(index, (whole, content))| {
            PADDING + if self.numbers.contains(&index) { usize::from(*content) } else { *whole }
        });
        needed.sum::<usize>() <= width + PADDING
    }

    /// The width of the longest word of the names of a column. A cell of more words is a
    /// sentence, which is wrapped between them.
    fn longest_name(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        let names = cells.filter(|cell| cell.split_whitespace().nth(NAME_WORDS).is_none());
        let words = names.flat_map(|name| name.split_whitespace());
        words.map(UnicodeWidthStr::width).max().unwrap_or(0)
    }

    /// Divides what numbers leave of a width among the other columns, each at least as wide
    /// as its title, and as its names where that is possible.
    fn wrap_words(&self, table: &mut Table, width: usize) {
        let columns = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
        // The blanks at both ends of a line are dropped.
        table.set_width(columns(width + PADDING));
        table.set_content_arrangement(ContentArrangement::Dynamic);
        let least = if self.names_fit(&table.column_max_content_widths(), width) {
            self.whole_widths()
        } else {
            self.header.iter().map(|title| title.width()).collect()
        };
        for (index, least) in least.into_iter().enumerate() {
            let constraint = if self.numbers.contains(&index) {
                ColumnConstraint::ContentWidth
            } else {
                ColumnConstraint::LowerBoundary(Width::Fixed(columns(least + PADDING)))
            };
            if let Some(column) = table.column_mut(index) {
                column.set_constraint(constraint);
            }
        }
    }

    /// The lines, without padding at either end.
    pub fn lines(&self) -> Vec<String> {
        lines_of(&drawn(&self.header, &self.rows, &self.numbers))
    }

    /// The lines for a style. Unless it is wide, they end where its columns end: columns that can
    /// be left out are, then one column gives way, and what is still too much goes below its row,
    /// with its titles.
    pub fn lines_in(&self, style: TableStyle) -> Vec<String> {
        if style.wide { self.lines() } else { self.fitted(style.width).concat() }
    }

    /// The same without the header, after an indent: the lines of each row.
    pub fn rows_in(&self, style: TableStyle, indent: usize) -> Vec<Vec<String>> {
        let width = if style.wide { usize::MAX } else { style.width.saturating_sub(indent) };
        self.fitted(width).into_iter().skip(1).collect()
    }

    /// The titles of the columns that [`Self::lines_in`] leaves out.
    pub fn skipped(&self, style: TableStyle) -> Vec<String> {
        if style.wide {
            return Vec::new();
        }
        let kept = self.kept(&self.widths(), style.width);
        let titles = self.header.iter().enumerate();
        titles.filter(|(index, _)| !kept.contains(index)).map(|(_, title)| title.clone()).collect()
    }

    /// The columns that a width leaves of those that have these widths.
    fn kept(&self, widths: &[usize], width: usize) -> Vec<usize> {
        let mut kept: Vec<usize> = (0..self.header.len()).collect();
        for spare in &self.spare {
            if span(&kept, widths) <= width {
                break;
            }
            kept.retain(|index| index != spare);
        }
        kept
    }

    /// The lines for a width, apart for the header and for each row.
    fn fitted(&self, width: usize) -> Vec<Vec<String>> {
        let cut = |lines: Vec<String>| lines.iter().map(|line| fit(line, width)).collect();
        self.divided(width, self.gives).into_iter().map(cut).collect()
    }

    /// The same, where the words of one column may be cut.
    fn divided(&self, width: usize, gives: Option<usize>) -> Vec<Vec<String>> {
        let mut widths = self.widths();
        let least = |index: usize, width: usize| {
            width.min(self.header.get(index).map_or(0, |title| title.width()).max(LEAST_WORDS))
        };
        let gives = gives.filter(|index| *index < widths.len());
        let can_give = gives.map_or(0, |index| widths[index] - least(index, widths[index]));
        let kept = self.kept(&widths, width);
        let too_wide = span(&kept, &widths).saturating_sub(width);
        if let Some(index) = gives {
            widths[index] -= too_wide.min(can_give);
        }
        let mut beside = kept.clone();
        while beside.len() > 1 && span(&beside, &widths) > width {
            beside.pop();
        }
        let below = &kept[beside.len()..];
        let of = |cells: &[String]| -> Vec<String> {
            let cell = |index: &usize| {
                let cell = cells.get(*index).map_or("", String::as_str);
                if gives == Some(*index) { fit(cell, widths[*index]) } else { cell.to_owned() }
            };
            beside.iter().map(cell).collect()
        };
        let numbers: Vec<usize> =
            (0..beside.len()).filter(|place| self.numbers.contains(&beside[*place])).collect();
        let rows: Vec<Vec<String>> = self.rows.iter().map(|cells| of(cells)).collect();
        let lines = lines_of(&drawn(&of(&self.header), &rows, &numbers));
        let mut blocks: Vec<Vec<String>> = lines.into_iter().map(|line| vec![line]).collect();
        if below.is_empty() {
            return blocks;
        }
        for (lines, cells) in blocks.iter_mut().skip(1).zip(&self.rows) {
            let pairs = below.iter().filter_map(|index| {
                Some(format!("{}: {}", self.header[*index], cells.get(*index)?))
            });
            let words = wrap(&joined(pairs, ", "), width.saturating_sub(4));
            lines.extend(words.iter().map(|line| format!("    {line}")));
        }
        blocks
    }

    /// The width of every column.
    fn widths(&self) -> Vec<usize> {
        let width = |(index, title): (usize, &String)| {
            let cells = self.rows.iter().filter_map(|cells| cells.get(index));
            cells.map(|cell| safe(cell).width()).max().unwrap_or(0).max(title.width())
        };
        self.header.iter().enumerate().map(width).collect()
    }
}

/// Columns that a line takes.
fn span(kept: &[usize], widths: &[usize]) -> usize {
    kept.iter().map(|index| widths[*index]).sum::<usize>() + PADDING * kept.len().saturating_sub(1)
}

fn drawn(header: &[String], rows: &[Vec<String>], numbers: &[usize]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header.to_vec());
    for index in numbers {
        if let Some(column) = table.column_mut(*index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.add_rows(rows.to_vec());
    table
}

fn lines_of(table: &Table) -> Vec<String> {
    let trimmed = |line: String| {
        let line = line.trim_end();
        line.strip_prefix(' ').unwrap_or(line).to_owned()
    };
    table.lines().map(trimmed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn style(width: usize) -> TableStyle {
        TableStyle { width, color: false, wide: false, limit: None, ascii: false }
    }

    fn plain(header: &[&str], numbers: &[usize], rows: &[&[&str]]) -> PlainTable {
        let cells = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect();
        let rows = rows.iter().map(|row| cells(row)).collect();
        PlainTable { header: cells(header), numbers: numbers.to_vec(), rows, ..Default::default() }
    }

    fn table() -> PlainTable {
        let rows = [("a-name-of-twenty-chr", "$1.00"), ("short", "$1,000.00")]
            .map(|(name, cost)| [name, cost, "eu-central-1", "$12,000.00"]);
        let table = plain(&["NAME", "COST", "REGION", "YEAR"], &[1, 3], &[&rows[0], &rows[1]]);
        PlainTable { gives: Some(0), spare: vec![2], ..table }
    }

    #[test]
    fn a_table_that_fits_is_whole() {
        // 20 + 9 + 12 + 10 columns with two blanks between them.
        assert_eq!(
            table().lines_in(style(57)),
            [
                "NAME                       COST  REGION              YEAR",
                "a-name-of-twenty-chr      $1.00  eu-central-1  $12,000.00",
                "short                 $1,000.00  eu-central-1  $12,000.00",
            ]
        );
        assert_eq!(table().lines_in(style(57)), table().lines());
    }

    #[test]
    fn words_give_way_after_columns_that_are_left_out() {
        let lines = table().lines_in(style(56));
        assert!(!lines[0].contains("REGION"), "{lines:?}");
        assert!(lines[1].starts_with("a-name-of-twenty-chr  "), "{lines:?}");
        // Without the region, 20 + 9 + 10 columns and two gaps are 43.
        let lines = table().lines_in(style(42));
        assert!(lines[1].starts_with("a-name-of-twenty-c…  "), "{lines:?}");
    }

    #[test]
    fn what_is_still_too_much_goes_below_its_row() {
        // Without a region and with the shortest name, 16 + 2 + 9 + 2 + 10 are too many.
        let lines = table().lines_in(style(38));
        assert_eq!(
            lines,
            [
                "NAME                   COST", "a-name-of-twent…      $1.00",
                "    YEAR: $12,000.00", "short             $1,000.00", "    YEAR: $12,000.00",
            ]
        );
    }

    #[test]
    fn a_table_that_is_left_whole_cuts_no_cell() {
        let whole = PlainTable { gives: None, ..table() };
        assert_eq!(whole.skipped(style(57)), [""; 0]);
        assert_eq!(whole.skipped(style(56)), ["REGION"]);
        // 20 + 2 + 9 columns, and no room for 2 + 10 more.
        assert_eq!(
            whole.lines_in(style(42)),
            [
                "NAME                       COST", "a-name-of-twenty-chr      $1.00",
                "    YEAR: $12,000.00", "short                 $1,000.00", "    YEAR: $12,000.00",
            ]
        );
    }

    #[test]
    fn names_are_not_divided() {
        let cells = ["a-name-of-twenty-chr", "$1,000.00", "$12,000.00"];
        let table = plain(&["NAME", "COST", "YEAR"], &[1, 2], &[&cells]);
        // 20 + 2 + 9 + 2 + 10 columns.
        assert!(table.wrapped(style(43))[1].ends_with("chr  $1,000.00  $12,000.00"));
        assert_eq!(
            table.wrapped(style(42)),
            [
                "NAME                       COST", "a-name-of-twenty-chr  $1,000.00",
                "    YEAR: $12,000.00",
            ]
        );
    }

    #[test]
    fn a_name_of_two_words_divides_no_other() {
        let sentence = "a sentence that is wrapped between its words";
        let [long, two] =
            ["a-name-of-twenty-chr", "two words"].map(|name| [name, sentence, "$1.00"]);
        let table = plain(&["NAME", "WHY", "COST"], &[2], &[&long, &two]);
        let lines = table.wrapped(style(40));
        let begins = |text: &str| lines.iter().any(|line| line.starts_with(text));
        assert!(begins("a-name-of-twenty-chr  a "), "{lines:?}");
        assert!(begins("two words             a "), "{lines:?}");
    }

    #[test]
    fn no_width_is_passed() {
        for width in 20..80 {
            for line in table().lines_in(style(width)) {
                assert!(line.width() <= width, "{width}: {line}");
            }
        }
    }
}
