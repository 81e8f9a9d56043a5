//! Pages of one call, bounded: a service that hands out the same page token again would
//! be asked for ever.

use super::error::{REPEATED, TOO_MANY, TOO_MUCH};
use crate::domain::FailureKind;
use crate::sources::{Outcome, SourceError};
use serde_json::Value;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Pages that one call may have: 10,000 pages of 100 products are 20 times the price list
/// of EC2 in a region.
const MOST_PAGES: usize = 10_000;

/// How a service divides lists into pages.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paging {
    /// The field of a request with the results of a page.
    pub size_key: &'static str,
    /// The most that the lists in use give.
    pub size: u32,
    /// The field of a request with the token of a page.
    pub token_key: &'static str,
    /// Results of a list that are read.
    pub most: usize,
}

/// Pages in the names of fields that begin in small letters.
pub(super) const CAMEL_CASE: Paging =
    Paging { size_key: "maxResults", size: 100, token_key: "nextToken", most: usize::MAX };
/// Pages in the names of fields that begin in capital letters.
pub(super) const PASCAL_CASE: Paging =
    Paging { size_key: "MaxResults", token_key: "NextToken", ..CAMEL_CASE };

/// The results of a page, and the token of the page after it.
pub(super) type Part<T> = (Vec<T>, Option<String>);

/// Everything on the pages of an action, of at most so many results: `ask` gets the token of a
/// page, and answers its results with the token of the page after it.
///
/// # Errors
/// When a page cannot be asked for or read, or there is more than can be.
pub(super) async fn all_pages<T>(
    action: &'static str,
    most: usize,
    mut ask: impl AsyncFnMut(Option<String>) -> Outcome<Part<T>>,
) -> Outcome<Vec<T>> {
    let (mut pages, mut items) = (Pages::of(action).with_room(most), Vec::new());
    loop {
        let (own, next) = ask(pages.token()).await?;
        pages.take(own.len())?;
        items.extend(own);
        if !pages.follow(next.as_deref())? {
            return Ok(items);
        }
    }
}

/// Everything in the list of an action, page by page: `ask` sends the body of a request, and
/// `read` takes a page apart.
///
/// # Errors
/// When a page cannot be asked for or read, or there is more than can be.
pub(super) async fn listed<P, T>(
    action: &'static str,
    paging: &Paging,
    mut body: Value,
    ask: impl AsyncFn(Value) -> Outcome<P>,
    read: impl Fn(&'static str, P) -> Outcome<Part<T>>,
) -> Outcome<Vec<T>> {
    body[paging.size_key] = paging.size.into();
    all_pages(action, paging.most, async |token| {
        if let Some(token) = token {
            body[paging.token_key] = token.into();
        }
        read(action, ask(body.clone()).await?)
    })
    .await
}

/// The pages of one call.
#[derive(Debug)]
pub(super) struct Pages {
    action: &'static str,
    /// Results that may still come.
    room: usize,
    token: Option<String>,
    /// Hashes of the tokens that were handed out: a token may be long.
    seen: BTreeSet<u64>,
}

impl Pages {
    /// None asked for yet.
    pub(super) fn of(action: &'static str) -> Self {
        Self { action, room: usize::MAX, token: None, seen: BTreeSet::new() }
    }

    /// With at most so many results on all of them: an answer to a bounded question is
    /// bounded.
    pub(super) fn with_room(mut self, results: usize) -> Self {
        self.room = results;
        self
    }

    /// Takes so many results.
    ///
    /// # Errors
    /// When more come than there can be.
    pub(super) fn take(&mut self, results: usize) -> Outcome<()> {
        self.room = self.room.checked_sub(results).ok_or_else(|| self.endless(TOO_MUCH))?;
        Ok(())
    }

    /// The token to ask for the next page with; `None` for the first.
    pub(super) fn token(&self) -> Option<String> {
        self.token.clone()
    }

    /// Whether another page follows one that came with a token.
    ///
    /// # Errors
    /// When the token came before, or there are too many pages.
    pub(super) fn follow(&mut self, next: Option<&str>) -> Outcome<bool> {
        self.token = next.filter(|token| !token.is_empty()).map(str::to_owned);
        let Some(token) = &self.token else { return Ok(false) };
        let mut hasher = DefaultHasher::new();
        token.hash(&mut hasher);
        if !self.seen.insert(hasher.finish()) {
            return Err(self.endless(REPEATED));
        }
        if self.seen.len() >= MOST_PAGES {
            return Err(self.endless(TOO_MANY));
        }
        Ok(true)
    }

    fn endless(&self, words: &str) -> SourceError {
        SourceError::own(self.action, FailureKind::Other, words, String::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_end_with_no_token_or_an_empty_one() {
        for last in [None, Some("")] {
            let mut pages = Pages::of("ec2:DescribeInstances");
            assert_eq!(pages.token(), None);
            assert!(pages.follow(Some("a")).expect("new"));
            assert_eq!(pages.token().as_deref(), Some("a"));
            assert!(pages.follow(Some("b")).expect("new"));
            assert!(!pages.follow(last).expect("the end"));
            assert_eq!(pages.token(), None);
        }
    }

    #[test]
    fn a_token_that_came_before_ends_the_call() {
        let mut pages = Pages::of("ec2:DescribeInstances");
        for token in ["a", "b", "c"] {
            assert!(pages.follow(Some(token)).expect("new"));
        }
        let error = pages.follow(Some("b")).expect_err("it came before");
        assert!(error.to_string().contains("repeated a page token"), "{error}");
        assert_eq!(error.action, Some("ec2:DescribeInstances"));
    }

    #[test]
    fn more_results_than_there_can_be_end_the_call() {
        let mut pages = Pages::of("cloudwatch:GetMetricData").with_room(10);
        assert!(pages.take(4).is_ok() && pages.take(6).is_ok() && pages.take(0).is_ok());
        let error = pages.take(1).expect_err("an eleventh");
        assert!(error.to_string().contains("more results"), "{error}");
    }

    #[test]
    fn tokens_that_never_end_end() {
        let mut pages = Pages::of("pricing:GetProducts");
        let followed = (0..2 * MOST_PAGES)
            .take_while(|page| pages.follow(Some(&page.to_string())).is_ok())
            .count();
        assert_eq!(followed, MOST_PAGES - 1);
    }
}
