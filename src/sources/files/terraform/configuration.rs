//! What the configuration behind a plan says: where providers work, and which
//! resource an expression refers to.

use super::address::Address;
use super::document::Document;
use super::sieve::{NOTHING, Node};
use crate::domain::{Missing, Planned};
use std::collections::{BTreeMap, BTreeSet};

/// The configuration of a plan.
#[derive(Debug, Clone, Copy)]
pub(super) struct Configuration<'a> {
    resources: &'a Written<'a>,
    providers: &'a Node,
    variables: &'a Node,
}

/// What is written about each resource, by [`place`].
pub(super) type Written<'a> = BTreeMap<String, &'a Node>;

/// The names of the modules that lead to a resource, and its type and name.
fn place(modules: &[impl AsRef<str>], base: &str) -> String {
    modules.iter().map(AsRef::as_ref).chain([base]).collect::<Vec<_>>().join("\n")
}

/// What a plan has about resources.
pub(super) fn written(document: &Document) -> Written<'_> {
    let mut written = Written::new();
    let mut modules = vec![(Vec::new(), document.configuration.get("root_module"))];
    while let Some((names, module)) = modules.pop() {
        for resource in module.get("resources").elements() {
            if let Some(base) = resource.get("address").text() {
                written.entry(place(&names, base)).or_insert(resource);
            }
        }
        modules.extend(
            module
                .get("module_calls")
                .entries()
                .map(|(name, call)| ([&names[..], &[name.as_str()]].concat(), call.get("module"))),
        );
    }
    written
}

impl<'a> Configuration<'a> {
    pub(super) fn of(document: &'a Document, resources: &'a Written<'a>) -> Self {
        Self {
            resources,
            providers: document.configuration.get("provider_config"),
            variables: &document.variables,
        }
    }

    /// What is written about a resource; nothing where that is not known.
    fn resource(&self, address: &Address) -> &'a Node {
        let place = place(&address.modules, &address.base);
        self.resources.get(&place).copied().unwrap_or(&NOTHING)
    }

    /// The expressions of a resource; absent where they are not known.
    pub(super) fn expressions(&self, address: &Address) -> Option<&'a Node> {
        let expressions = self.resource(address).get("expressions");
        matches!(expressions, Node::Map(_)).then_some(expressions)
    }

    /// The region in which the provider of a resource works, as far as the
    /// configuration says; `None` where it says nothing, so that the environment
    /// decides.
    pub(super) fn region(&self, address: &Address) -> Planned<Option<String>> {
        let key = self.resource(address).get("provider_config_key").text();
        // Keys of modules that inherit a provider name the module.
        let own = key.map(|key| self.providers.get(key).get("expressions").get("region"));
        if let Some(expression) = own.filter(|expression| !expression.is_empty()) {
            return self.value(expression).map(Some);
        }
        let alias = key.map(|key| key.rsplit(':').next().unwrap_or(key));
        let inherited = alias.map(|key| self.providers.get(key).get("expressions").get("region"));
        let may_be_another = key.is_some_and(|key| key.contains(':')) && self.regions().len() > 1;
        match inherited.filter(|expression| !expression.is_empty()) {
            Some(_) if may_be_another => Err(Missing::elsewhere(
                "several providers are configured, and the plan does not specify which one \
                 its module uses",
            )),
            Some(expression) => self.value(expression).map(Some),
            None if key.is_some() => Ok(None),
            None => self.only_region(),
        }
    }

    /// Without a word about the resource, the region that all providers share.
    fn only_region(&self) -> Planned<Option<String>> {
        let mut regions = self.regions().into_iter();
        match (regions.next(), regions.next()) {
            (Some(region), None) => Ok(Some(region)),
            (None, _) => Ok(None),
            (Some(_), Some(_)) => Err(Missing::elsewhere(
                "several providers are configured, and the plan does not specify which one \
                 it uses",
            )),
        }
    }

    fn regions(&self) -> BTreeSet<String> {
        let of_aws = self.providers.entries().filter(|(key, provider)| {
            let name = provider.get("name").text().unwrap_or(key);
            name == "aws"
        });
        of_aws
            .filter_map(|(_, provider)| self.value(provider.get("expressions").get("region")).ok())
            .collect()
    }

    /// The text of an expression: a constant, or a variable of the root module.
    fn value(&self, expression: &Node) -> Planned<String> {
        if let Some(constant) = expression.get("constant_value").text() {
            return Ok(constant.to_owned());
        }
        let references = expression.get("references").elements();
        let mut variables =
            references.iter().filter_map(|reference| reference.text()?.strip_prefix("var."));
        match (variables.next(), references) {
            (Some(name), [_]) => {
                let value = self.variables.get(name).get("value").text();
                let named = || Missing::Elsewhere(format!("the variable {name} has no value"));
                value.map(str::to_owned).ok_or_else(named)
            }
            _ => Err(Missing::elsewhere("its provider region is computed")),
        }
    }
}
