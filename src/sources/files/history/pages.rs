//! Pages of a column that are bounded, whoever wrote them: the sizes that a page states are
//! what a decoder takes memory for.

use crate::sources::files::shared::parquet_pages::CheckedPages;
use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::errors::ParquetError;

/// Bytes of a column in a group of rows, unpacked: a group of the longest texts has 17 MB.
pub(super) const MOST_BYTES: usize = 32 << 20;
/// The same, packed: page by page, gzip unpacks to at most about a thousand times as much.
pub(super) const MOST_PACKED_BYTES: usize = 4 << 20;

/// Pages of a column of some rows. One is refused that is larger than any that is written here,
/// or of an encoding that is not written here and has lengths of its own.
pub(super) fn bounded(inner: Box<dyn PageReader>, rows: usize) -> Box<dyn PageReader> {
    // Bytes that may still come.
    let mut room = MOST_BYTES;
    Box::new(CheckedPages::new(inner, move |page: Page| {
        let is_known = matches!(
            page.encoding(),
            Encoding::PLAIN | Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY
        );
        let values = usize::try_from(page.num_values()).unwrap_or(usize::MAX);
        let left = room.checked_sub(page.buffer().len());
        room = left.filter(|_| is_known && values <= rows).ok_or_else(|| {
            ParquetError::General("it has a page that gpucost does not write".to_owned())
        })?;
        Ok(page)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::column::page::PageMetadata;
    use parquet::errors::Result;

    struct Given(std::vec::IntoIter<Page>);

    impl Iterator for Given {
        type Item = Result<Page>;

        fn next(&mut self) -> Option<Result<Page>> {
            self.0.next().map(Ok)
        }
    }

    impl PageReader for Given {
        fn get_next_page(&mut self) -> Result<Option<Page>> {
            Ok(self.0.next())
        }

        fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
            Ok(None)
        }

        fn skip_next_page(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn dictionary(bytes: usize, num_values: u32, encoding: Encoding) -> Page {
        Page::DictionaryPage { buf: vec![0; bytes].into(), num_values, encoding, is_sorted: false }
    }

    /// How many pages of a column of ten rows are read until one is refused.
    fn read(pages: Vec<Page>) -> usize {
        let pages = bounded(Box::new(Given(pages.into_iter())), 10);
        pages.take_while(|page| page.is_ok()).count()
    }

    #[test]
    fn a_page_of_more_values_than_rows_is_refused() {
        let of = |values| read(vec![dictionary(8, values, Encoding::PLAIN)]);
        assert_eq!((of(10), of(11), of(u32::MAX)), (1, 0, 0));
    }

    #[test]
    fn an_encoding_with_lengths_of_its_own_is_refused() {
        let of = |encoding| read(vec![dictionary(8, 1, encoding)]);
        assert_eq!(of(Encoding::PLAIN_DICTIONARY), 1);
        assert_eq!(of(Encoding::DELTA_LENGTH_BYTE_ARRAY), 0);
    }

    #[test]
    fn pages_of_a_column_are_bounded_together() {
        let of = |sizes: &[usize]| {
            let pages = sizes.iter().map(|size| dictionary(*size, 1, Encoding::PLAIN));
            read(pages.collect())
        };
        // 16 MiB + 16 MiB are the 32 MiB of a column.
        assert_eq!(of(&[16 << 20, 16 << 20]), 2);
        assert_eq!(of(&[16 << 20, 16 << 20, 1]), 2);
        assert_eq!(of(&[(32 << 20) + 1]), 0);
    }
}
