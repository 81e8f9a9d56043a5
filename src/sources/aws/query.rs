//! Answers in the XML of the protocol that AWS calls `awsQuery`. A document type is refused,
//! so no entity is expanded.

use roxmltree::{Document, Node, ParsingOptions};

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

/// The elements of a name in another.
fn children<'a, 'input>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.tag_name().name() == name)
}

/// The element at the end of a path of names.
pub(super) fn at<'a, 'input>(
    node: Node<'a, 'input>,
    path: &[&'static str],
) -> Option<Node<'a, 'input>> {
    path.iter().try_fold(node, |node, name| children(node, name).next())
}

/// The text at the end of a path of names; absent where it is empty.
pub(super) fn text<'a>(node: Node<'a, '_>, path: &[&'static str]) -> Option<&'a str> {
    let text = at(node, path)?.text()?.trim();
    (!text.is_empty()).then_some(text)
}

/// The members of the list at the end of a path of names; none without a list.
pub(super) fn members<'a, 'input>(
    node: Node<'a, 'input>,
    path: &[&'static str],
) -> impl Iterator<Item = Node<'a, 'input>> {
    let list = at(node, path);
    list.into_iter().flat_map(|list| children(list, "member"))
}

/// The code of a refusal and its words; absent for what is not one.
pub(super) fn refusal(body: &[u8]) -> Option<(String, Option<String>)> {
    let document = parsed(std::str::from_utf8(body).ok()?).ok()?;
    let error = at(document.root_element(), &["Error"])?;
    Some((text(error, &["Code"])?.to_owned(), text(error, &["Message"]).map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_has_a_code_and_words() {
        let body = "<ErrorResponse xmlns=\"http://autoscaling.amazonaws.com/doc/2011-01-01/\">\
                    <Error><Type>Sender</Type><Code>AccessDenied</Code>\
                    <Message>not &lt;allowed&gt;</Message></Error>\
                    <RequestId>r-1</RequestId></ErrorResponse>";
        let parts = refusal(body.as_bytes());
        let expected = ("AccessDenied".to_owned(), Some("not <allowed>".to_owned()));
        assert_eq!(parts, Some(expected));
        for other in [
            "",
            "{}",
            "<html><p>down</p></html>",
            "<ErrorResponse><Error/></ErrorResponse>",
            "<ErrorResponse><Error><Code>A</Code>",
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a><Error><Code>&b;</Code></Error></a>",
        ] {
            assert_eq!(refusal(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn lists_are_members_and_may_be_absent() {
        let answer = "<a><b> <member>1</member> <other>2</other> <member>3</member> </b></a>";
        let document = parsed(answer).expect("XML");
        let root = document.root_element();
        let texts_of = |path: &[&'static str]| -> Vec<String> {
            let texts = members(root, path).filter_map(|member| text(member, &[]));
            texts.map(str::to_owned).collect()
        };
        assert_eq!(texts_of(&["b"]), ["1", "3"]);
        assert_eq!(texts_of(&["c", "d"]), Vec::<String>::new());
    }
}
