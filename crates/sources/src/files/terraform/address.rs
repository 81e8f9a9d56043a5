//! Addresses of resources, such as `module.a["x.y"].aws_instance.b[0]`.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Names of the modules that lead to it, outermost first, without indices.
    pub(super) modules: Vec<String>,
    /// The same as it is written, with indices; empty in the root module.
    pub(super) module_path: String,
    /// Type and name, such as `aws_instance.b`.
    pub(super) base: String,
    /// What stands in its last brackets; absent without.
    pub(super) index: Option<String>,
}

impl Address {
    pub(super) fn new(text: &str) -> Self {
        let mut modules = Vec::new();
        let mut module_path = Vec::new();
        let mut rest = parts(text).into_iter().peekable();
        while rest.next_if_eq(&"module").is_some() {
            let Some(name) = rest.next() else { break };
            modules.push(without_index(name).0.to_owned());
            module_path.push(format!("module.{name}"));
        }
        let own: Vec<&str> = rest.collect();
        let own = own.join(".");
        let (base, index) = without_index(&own);
        Self {
            modules,
            module_path: module_path.join("."),
            base: base.to_owned(),
            index: index.map(str::to_owned),
        }
    }
}

/// The parts between dots that stand outside of brackets.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let (mut in_brackets, mut in_quotes, mut escaped) = (false, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_quotes => escaped = true,
            '"' if in_brackets => in_quotes = !in_quotes,
            '[' if !in_quotes => in_brackets = true,
            ']' if !in_quotes => in_brackets = false,
            '.' if !in_brackets => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// A name, and what stands in brackets behind it.
fn without_index(name: &str) -> (&str, Option<&str>) {
    match name.split_once('[') {
        Some((name, index)) => (name, index.strip_suffix(']')),
        None => (name, None),
    }
}

/// The resource that an expression refers to, such as `aws_launch_template.a` of
/// `aws_launch_template.a[0].id`, with its index.
pub(super) fn referred(reference: &str) -> (String, Option<String>) {
    let mut parts = parts(reference).into_iter();
    let resource_type = parts.next().unwrap_or_default();
    let (name, index) = without_index(parts.next().unwrap_or_default());
    (format!("{resource_type}.{name}"), index.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_fall_into_parts() {
        let address = Address::new(r#"module.a["x.y]"].module.b[0].aws_instance.c["k\"."]"#);
        assert_eq!(address.modules, ["a", "b"]);
        assert_eq!(address.module_path, r#"module.a["x.y]"].module.b[0]"#);
        assert_eq!(address.base, "aws_instance.c");
        assert_eq!(address.index.as_deref(), Some(r#""k\".""#));
        let plain = Address::new("aws_instance.c");
        assert_eq!(plain.modules, Vec::<String>::new());
        assert_eq!((plain.base.as_str(), plain.index), ("aws_instance.c", None));
    }

    #[test]
    fn what_is_no_address_has_parts_all_the_same() {
        for text in ["", ".", "module", "module.", "a[", "a[\"", "]]", "…[…].…"] {
            let address = Address::new(text);
            assert!(address.base.len() <= text.len());
        }
    }

    #[test]
    fn references_name_resources() {
        let template =
            |index: Option<&str>| ("aws_launch_template.a".to_owned(), index.map(str::to_owned));
        assert_eq!(referred("aws_launch_template.a.id"), template(None));
        assert_eq!(referred("aws_launch_template.a[0].id"), template(Some("0")));
        assert_eq!(referred("aws_launch_template.a[each.key]"), template(Some("each.key")));
    }
}
