//! A strict reader of HTML, for tests: whatever a browser would have to guess at
//! is an error.

const VOID: &[&str] = &["br", "input", "meta", "path", "rect"];

/// One element as it was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
}

/// The elements of a page in order; panics where it is not well formed.
pub fn parse(page: &str) -> Vec<Element> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a doctype");
    let mut open: Vec<String> = Vec::new();
    let mut elements = Vec::new();
    while let Some((text, markup)) = rest.split_once('<') {
        assert!(!text.contains('>'), "a stray > in {text:?}");
        let (tag, after) = tag_of(markup);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "before {:.80}", rest);
            continue;
        }
        let element = element(tag.trim_end_matches('/'));
        if element.name == "script" || element.name == "style" {
            let end = format!("</{}>", element.name);
            rest = rest.split_once(&end).expect("it ends").1;
        } else if !VOID.contains(&element.name.as_str()) {
            open.push(element.name.clone());
        }
        elements.push(element);
    }
    assert!(open.is_empty(), "still open: {open:?}");
    elements
}

/// A tag to its end, which a quoted attribute may not hide, and what follows.
fn tag_of(markup: &str) -> (&str, &str) {
    let mut quoted = false;
    for (at, c) in markup.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '>' if !quoted => return (&markup[..at], &markup[at + 1..]),
            _ => {}
        }
    }
    panic!("a tag does not end: {markup:.80}");
}

fn element(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    assert!(
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()),
        "{tag:?} is no tag"
    );
    let mut attributes = Vec::new();
    while !rest.trim_start().is_empty() {
        rest = rest.trim_start();
        let end = rest.find([' ', '=']).unwrap_or(rest.len());
        let name = &rest[..end];
        let is_name = |c: char| c.is_ascii_alphabetic() || c == '-';
        assert!(name.chars().all(is_name), "{name:?} in {tag:?}");
        rest = &rest[end..];
        let mut value = "";
        if let Some(quoted) = rest.strip_prefix("=\"") {
            (value, rest) = quoted.split_once('"').expect("the quote ends");
        }
        assert!(!value.contains('<'), "{value:?} in {tag:?}");
        attributes.push((name.to_owned(), value.to_owned()));
    }
    Element { name: name.to_owned(), attributes }
}

/// What a reader sees of some markup, on one line.
pub fn text_of(markup: &str) -> String {
    let mut text = String::new();
    let mut rest = markup;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        rest = tag_of(tag).1;
    }
    text.push_str(rest);
    let text = text
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&#96;", "`")
        .replace("&amp;", "&");
    text.trim().to_owned()
}

#[test]
fn what_is_broken_is_seen() {
    let elements = parse("<!DOCTYPE html><p id=\"a\" hidden>x &lt; y<br></p>");
    assert_eq!(elements.len(), 2);
    assert_eq!(elements[0].attributes[0], ("id".to_owned(), "a".to_owned()));
    for broken in ["<p>", "<p></b>", "<p id=\"a>", "<p x'=\"1\"></p>", "a > b<br>", "<>"] {
        let page = format!("<!DOCTYPE html>{broken}");
        assert!(std::panic::catch_unwind(|| parse(&page)).is_err(), "{broken}");
    }
}

/// Cells of the rows of the body of a table, each as text.
pub fn rows(table: &str) -> Vec<Vec<String>> {
    let (_, body) = table.split_once("<tbody>").expect("a body");
    let (body, _) = body.split_once("</tbody>").expect("its end");
    body.split("<tr")
        .skip(1)
        .map(|row| {
            let (_, row) = row.split_once('>').expect("the tag ends");
            row.replace("</th>", "</td>")
                .split("</td>")
                .filter(|cell| cell.contains("<t"))
                .map(text_of)
                .collect()
        })
        .collect()
}

/// A section by its id.
pub fn section<'a>(page: &'a str, id: &str) -> &'a str {
    let start = format!("<section id=\"{id}\">");
    let (_, rest) = page.split_once(&start).unwrap_or_else(|| panic!("no {id}"));
    rest.split_once("</section>").expect("it ends").0
}
