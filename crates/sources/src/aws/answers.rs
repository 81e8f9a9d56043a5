//! Answers of services: pages of one call, which are bounded, because a service that hands out the
//! same page token again would be asked for ever; and the XML of the protocols that AWS calls
//! `awsQuery` and `ec2Query`, of which a document type is refused, so that no entity is expanded.

use super::error::{REPEATED, TOO_MANY, TOO_MUCH, UNREADABLE};
use crate::domain::FailureKind;
use crate::secrets::Secrets;
use crate::{Outcome, SourceError};
use roxmltree::{Document, Node, ParsingOptions};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::str::FromStr;

/// Parts of answers of services, by how these write the names of fields.
macro_rules! answers {
    ($case:literal: $($item:item)*) => {$(
        #[derive(Debug, Clone, PartialEq, Deserialize)]
        #[serde(rename_all = $case)]
        $item
    )*};
}
pub(super) use answers;

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
    /// Whether a page without results may omit their list.
    pub may_omit_list: bool,
}

/// Pages in the names of fields that begin in small letters.
pub(super) const CAMEL_CASE: Paging = Paging {
    size_key: "maxResults",
    size: 100,
    token_key: "nextToken",
    most: usize::MAX,
    may_omit_list: false,
};
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
    let endless = |words| SourceError::own(action, FailureKind::Other, words, String::new());
    let (mut items, mut token) = (Vec::new(), None);
    // Hashes of the tokens that were handed out: a token may be long.
    let mut seen = BTreeSet::new();
    loop {
        let (own, next) = ask(token).await?;
        if own.len() > most - items.len() {
            return Err(endless(TOO_MUCH));
        }
        items.extend(own);
        let Some(next) = next.filter(|token| !token.is_empty()) else { return Ok(items) };
        let mut hasher = DefaultHasher::new();
        next.hash(&mut hasher);
        if !seen.insert(hasher.finish()) {
            return Err(endless(REPEATED));
        }
        if seen.len() >= MOST_PAGES {
            return Err(endless(TOO_MANY));
        }
        token = Some(next);
    }
}

/// Everything in the list of an action, which its pages have under a key: `ask` sends the body
/// of a request.
///
/// # Errors
/// When a page cannot be asked for or read, or there is more than can be.
pub(super) async fn listed<T: DeserializeOwned>(
    (action, key): (&'static str, &str),
    paging: &Paging,
    mut body: Value,
    ask: impl AsyncFn(Value) -> Outcome<Value>,
) -> Outcome<Vec<T>> {
    body[paging.size_key] = paging.size.into();
    all_pages(action, paging.most, async |token| {
        if let Some(token) = token {
            body[paging.token_key] = token.into();
        }
        part((action, key), paging, ask(body.clone()).await?)
    })
    .await
}

/// What a page has under a key, and the token of the page after it.
///
/// # Errors
/// When that is not a list, which says nothing about what exists, when an item cannot be read,
/// or when it is not known whether another page follows.
pub(super) fn part<T: DeserializeOwned>(
    (action, key): (&'static str, &str),
    paging: &Paging,
    mut page: Value,
) -> Outcome<Part<T>> {
    let unreadable = |why: String| {
        let why = Secrets::default().blank(&why);
        SourceError::own(action, FailureKind::Unsupported, UNREADABLE, why)
    };
    let rows = match page.get_mut(key).map(Value::take) {
        Some(Value::Array(rows)) => rows,
        None if paging.may_omit_list => Vec::new(),
        _ => return Err(unreadable(format!("{key} is not a list"))),
    };
    let next = match page.get_mut(paging.token_key).map(Value::take) {
        None | Some(Value::Null) => None,
        Some(Value::String(token)) => Some(token),
        Some(_) => return Err(unreadable(format!("{} is not a text", paging.token_key))),
    };
    let rows = rows.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
    Ok((rows.map_err(|error| unreadable(format!("{key}: {error}")))?, next))
}

/// Elements of an answer, far beyond a page of a hundred results.
const MOST_NODES: u32 = 4_000_000;

/// A document that is read.
///
/// # Errors
/// When it is not XML, with the reason.
pub(super) fn parsed(text: &str) -> Result<Document<'_>, String> {
    let options = ParsingOptions { nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options).map_err(|error| error.to_string())
}

/// The result in the answer of an operation, which EC2 has without an element around it.
/// `None` of the answer of something else.
pub(super) fn result<'a, 'input>(
    document: &'a Document<'input>,
    operation: &str,
) -> Option<Node<'a, 'input>> {
    let root = document.root_element();
    let is_own = root.tag_name().name().strip_prefix(operation) == Some("Response");
    let mut inside = root.children();
    let inside =
        inside.find(|node| node.tag_name().name().strip_prefix(operation) == Some("Result"));
    is_own.then(|| inside.unwrap_or(root))
}

/// The element at the end of a path of names.
pub(super) fn at<'a, 'input>(
    node: Node<'a, 'input>,
    path: &[&'static str],
) -> Option<Node<'a, 'input>> {
    path.iter()
        .try_fold(node, |node, name| node.children().find(|child| child.tag_name().name() == *name))
}

/// The text at the end of a path of names; absent where it is empty.
pub(super) fn text<'a>(node: Node<'a, '_>, path: &[&'static str]) -> Option<&'a str> {
    let text = at(node, path)?.text()?.trim();
    (!text.is_empty()).then_some(text)
}

/// A number, a time or a truth value at the end of a path.
pub(super) fn value<T: FromStr>(node: Node<'_, '_>, path: &[&'static str]) -> Option<T> {
    text(node, path)?.parse().ok()
}

/// The same as a text of its own.
pub(super) fn owned(node: Node<'_, '_>, path: &[&'static str]) -> Option<String> {
    text(node, path).map(str::to_owned)
}

/// The members of the list at the end of a path of names, which EC2 calls items; none without
/// a list.
pub(super) fn members<'a, 'input>(
    node: Node<'a, 'input>,
    path: &[&'static str],
) -> impl Iterator<Item = Node<'a, 'input>> {
    let list = at(node, path);
    let is_member = |node: &Node<'_, '_>| matches!(node.tag_name().name(), "item" | "member");
    list.into_iter().flat_map(|list| list.children()).filter(is_member)
}

/// The code of a refusal and its words; absent for what is not one.
pub(super) fn xml_refusal(body: &[u8]) -> Option<(String, Option<String>)> {
    let document = parsed(std::str::from_utf8(body).ok()?).ok()?;
    let root = document.root_element();
    let error = at(root, &["Error"]).or_else(|| at(root, &["Errors", "Error"]))?;
    Some((text(error, &["Code"])?.to_owned(), text(error, &["Message"]).map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ACTION: &str = "ec2:DescribeInstances";

    /// What comes of pages with so many results and these tokens, and the tokens that were asked
    /// with.
    async fn read(
        most: usize,
        pages: impl IntoIterator<Item = (usize, Option<String>)>,
    ) -> (Outcome<Vec<()>>, Vec<Option<String>>) {
        let (mut pages, mut asked) = (pages.into_iter(), Vec::new());
        let answer = all_pages(ACTION, most, async |token| {
            asked.push(token);
            let (results, next) = pages.next().expect("no page is asked for beyond the last");
            Ok((vec![(); results], next))
        });
        (answer.await, asked)
    }

    fn token(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[tokio::test]
    async fn pages_end_with_no_token_or_an_empty_one() {
        for last in [None, token("")] {
            let pages = [(1, token("a")), (0, token("b")), (2, last)];
            let (answer, asked) = read(usize::MAX, pages).await;
            assert_eq!(answer.map(|results| results.len()), Ok(3));
            assert_eq!(asked, [None, token("a"), token("b")]);
        }
    }

    #[tokio::test]
    async fn a_token_that_came_before_ends_the_call() {
        let pages = ["a", "b", "c", "b"].map(|text| (0, token(text)));
        let error = read(usize::MAX, pages).await.0.expect_err("it came before");
        assert!(error.to_string().contains("repeated a page token"), "{error}");
        assert_eq!(error.action, Some(ACTION));
    }

    #[tokio::test]
    async fn more_results_than_there_can_be_end_the_call() {
        let pages = |last| [(4, token("a")), (6, token("b")), (0, token("c")), (last, None)];
        assert!(read(10, pages(0)).await.0.is_ok());
        let error = read(10, pages(1)).await.0.expect_err("an eleventh");
        assert!(error.to_string().contains("more results"), "{error}");
    }

    #[tokio::test]
    async fn tokens_that_never_end_end() {
        let pages = (0..2 * MOST_PAGES).map(|page| (0, token(&page.to_string())));
        let (answer, asked) = read(usize::MAX, pages).await;
        assert!(answer.expect_err("too many").to_string().contains("more than 10000 pages"));
        assert_eq!(asked.len(), MOST_PAGES);
    }

    #[test]
    fn a_list_is_empty_only_if_it_says_so() {
        let of = |page: Value| part::<String>((ACTION, "clusterArns"), &CAMEL_CASE, page);
        assert_eq!(of(json!({ "clusterArns": [] })), Ok((Vec::new(), None)));
        let page = json!({ "clusterArns": ["a", "b"], "nextToken": "t" });
        let names = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(of(page), Ok((names, token("t"))));
        let page = json!({ "clusterArns": [], "nextToken": null });
        assert_eq!(of(page), Ok((Vec::new(), None)));
        for (page, why) in [
            (json!({}), "clusterArns is not a list"),
            (json!([]), "clusterArns is not a list"),
            (json!({ "clusterArns": null }), "clusterArns is not a list"),
            (
                json!({ "clusterArns": ["a", 1] }),
                "clusterArns: invalid type: integer `1`, expected a string",
            ),
            (json!({ "clusterArns": [], "nextToken": 1 }), "nextToken is not a text"),
        ] {
            let error = of(page.clone()).expect_err("it is not a list of texts");
            assert_eq!((error.code.as_str(), error.said.as_str()), (UNREADABLE, why), "{page}");
        }
    }

    #[test]
    fn a_refusal_has_a_code_and_words() {
        let body = "<ErrorResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\">\
                    <Error><Type>Sender</Type><Code>AccessDenied</Code>\
                    <Message>not &lt;allowed&gt;</Message></Error>\
                    <RequestId>r-1</RequestId></ErrorResponse>";
        let parts = xml_refusal(body.as_bytes());
        let expected = ("AccessDenied".to_owned(), Some("not <allowed>".to_owned()));
        assert_eq!(parts, Some(expected));
        let of_ec2 = "<Response><Errors><Error><Code>DryRunOperation</Code><Message>yes</Message>\
                      </Error></Errors><RequestID>r-1</RequestID></Response>";
        let expected = ("DryRunOperation".to_owned(), Some("yes".to_owned()));
        assert_eq!(xml_refusal(of_ec2.as_bytes()), Some(expected));
        for other in [
            "",
            "{}",
            "<html><p>down</p></html>",
            "<ErrorResponse><Error/></ErrorResponse>",
            "<ErrorResponse><Error><Code>A</Code>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a><Error><Code>&b;</Code></Error></a>",
        ] {
            assert_eq!(xml_refusal(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn lists_are_members_and_may_be_absent() {
        let answer = "<a><b> <member>1</member> <other>2</other> <item>3</item> </b></a>";
        let document = parsed(answer).expect("XML");
        let root = document.root_element();
        let texts_of = |path: &[&'static str]| -> Vec<String> {
            let texts = members(root, path).filter_map(|member| text(member, &[]));
            texts.map(str::to_owned).collect()
        };
        assert_eq!(texts_of(&["b"]), ["1", "3"]);
        assert_eq!(texts_of(&["c", "d"]), Vec::<String>::new());
    }

    #[test]
    fn a_result_is_that_of_its_operation() {
        let of = |answer: &str| {
            let document = parsed(answer).expect("XML");
            result(&document, "AssumeRole").map(|node| node.tag_name().name().to_owned())
        };
        let wrapped = "<AssumeRoleResponse xmlns=\"u\"><AssumeRoleResult/></AssumeRoleResponse>";
        assert_eq!(of(wrapped), Some("AssumeRoleResult".to_owned()));
        assert_eq!(of("<AssumeRoleResponse/>"), Some("AssumeRoleResponse".to_owned()));
        for other in ["<html/>", "<AssumeRoleResponses/>", "<AssumeRoleResult/>"] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
