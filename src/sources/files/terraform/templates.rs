//! Launch templates and launch configurations: what groups launch.

use super::document::{Change, LAUNCH_CONFIGURATION, LAUNCH_TEMPLATE};
use super::sieve::Node;
use super::view::View;
use super::{Side, address::referred, configuration::Configuration};
use crate::domain::{Missing, Planned, Tenancy};
use std::collections::BTreeMap;

/// Everything that a resource may launch from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Templates<'a> {
    pub(super) changes: &'a [Change],
    pub(super) configuration: Configuration<'a>,
    pub(super) side: Side,
}

/// What a template or a resource says about each instance.
#[derive(Debug, Clone, Default)]
pub(super) struct Launched {
    pub(super) instance_type: Option<String>,
    /// Spot, or a Capacity Block.
    pub(super) market: Option<String>,
    pub(super) tenancy: Option<Tenancy>,
    pub(super) tags: BTreeMap<String, Option<String>>,
    pub(super) more_tags: bool,
}

impl<'a> Templates<'a> {
    /// The view of a change on the side that is looked at.
    pub(super) fn view(&self, change: &'a Change) -> Option<View<'a>> {
        let expressions = self.configuration.expressions(&change.parts);
        match self.side {
            Side::Before => View::before(&change.change, expressions),
            Side::After => View::after(&change.change, expressions),
        }
    }

    /// What the template in a block of a resource says; absent without such a
    /// block.
    pub(super) fn of_block(
        &self,
        owner: &Change,
        view: &View<'a>,
        block: &str,
    ) -> Planned<Option<Launched>> {
        let Some(block) = view.block(block)? else {
            return Ok(None);
        };
        let template = self.template(owner, &block)?;
        check_version(&block, &template)?;
        launched(&template).map(Some)
    }

    fn template(&self, owner: &Change, block: &View<'a>) -> Planned<View<'a>> {
        let mut missing = Missing::AfterApply;
        for (key, attribute) in [
            ("id", "id"),
            ("launch_template_id", "id"),
            ("name", "name"),
            ("launch_template_name", "name"),
        ] {
            if let Ok(Some(wanted)) = block.text(key) {
                if let Some(found) = self.known(LAUNCH_TEMPLATE, attribute, wanted) {
                    return Ok(found);
                }
                missing =
                    Missing::Elsewhere(format!("its launch template {wanted} is not in the plan"));
            }
        }
        for key in ["id", "launch_template_id", "name", "launch_template_name"] {
            if let Some(found) = self.referred(owner, LAUNCH_TEMPLATE, block.references(key))? {
                return Ok(found);
            }
        }
        Err(missing)
    }

    /// What the launch configuration of a group says; absent without one.
    pub(super) fn of_configuration(
        &self,
        owner: &Change,
        view: &View<'a>,
    ) -> Planned<Option<Launched>> {
        let key = "launch_configuration";
        let named = view.text(key);
        if let Ok(Some(name)) = named {
            let found = ["name", "id"]
                .into_iter()
                .find_map(|attribute| self.known(LAUNCH_CONFIGURATION, attribute, name));
            if let Some(found) = found {
                return launched(&found).map(Some);
            }
        }
        if let Some(found) = self.referred(owner, LAUNCH_CONFIGURATION, view.references(key))? {
            return launched(&found).map(Some);
        }
        match named? {
            Some(name) => Err(Missing::Elsewhere(format!(
                "its launch configuration {name} is not in the plan"
            ))),
            None => Ok(None),
        }
    }

    /// A template with an attribute that is known.
    fn known(&self, resource_type: &str, attribute: &str, wanted: &str) -> Option<View<'a>> {
        let of_type = self
            .changes
            .iter()
            .filter(|change| change.resource_type == resource_type);
        of_type
            .filter(|change| {
                // A name that stays is known today too.
                ["before", "after"]
                    .iter()
                    .any(|side| change.change.get(side).get(attribute).text() == Some(wanted))
            })
            .find_map(|change| self.view(change))
    }

    /// The template that an expression refers to; with count or for_each the one
    /// of the same index as the owner's.
    fn referred(
        &self,
        owner: &Change,
        resource_type: &str,
        references: impl Iterator<Item = &'a str>,
    ) -> Planned<Option<View<'a>>> {
        for reference in references {
            let (base, index) = referred(reference);
            if !base.starts_with(&format!("{resource_type}.")) {
                continue;
            }
            let found: Vec<&Change> = self
                .changes
                .iter()
                .filter(|change| {
                    change.parts.base == base && change.parts.module_path == owner.parts.module_path
                })
                .collect();
            let of_index = |wanted: &Option<String>| {
                let same = |change: &&&'a Change| change.parts.index == *wanted;
                let mut same = found.iter().filter(same);
                same.next().copied()
            };
            let found = match found.as_slice() {
                [one] => Some(*one),
                _ => of_index(&index).or_else(|| of_index(&owner.parts.index)),
            };
            if let Some(view) = found.and_then(|change| self.view(change)) {
                return Ok(Some(view));
            }
            return Err(Missing::Elsewhere(format!(
                "the plan does not say which {base} it launches from"
            )));
        }
        Ok(None)
    }
}

/// A plan shows the latest version of a template only.
fn check_version(block: &View<'_>, template: &View<'_>) -> Planned<()> {
    let Ok(Some(version)) = block.get("version") else {
        return Ok(());
    };
    let (Some(wanted), Some(latest)) = (
        version.whole(),
        template.values.get("latest_version").whole(),
    ) else {
        return Ok(());
    };
    if wanted == latest {
        return Ok(());
    }
    Err(Missing::Elsewhere(format!(
        "it launches version {wanted} of a template of which the plan shows version {latest}"
    )))
}

/// What the attributes of a template, or of a resource like it, say.
pub(super) fn launched(view: &View<'_>) -> Planned<Launched> {
    let instance_type = view.text("instance_type")?.map(str::to_owned);
    if instance_type.is_none() && view.get("instance_requirements")?.is_some() {
        return Err(Missing::Elsewhere(
            "its type is chosen by requirements while instances start".to_owned(),
        ));
    }
    let market = match view.block("instance_market_options")? {
        Some(options) => options.text("market_type")?.map(str::to_owned),
        None if view.get("spot_price")?.is_some() => Some("spot".to_owned()),
        None => None,
    };
    let mut found = Launched {
        instance_type,
        market,
        tenancy: tenancy(view)?,
        ..Launched::default()
    };
    for specification in view.blocks("tag_specifications")? {
        if specification.text("resource_type")? == Some("instance") {
            specification.tags(&mut found.tags);
            found.more_tags |= specification.has_open_tags();
        }
    }
    Ok(found)
}

fn tenancy(view: &View<'_>) -> Planned<Option<Tenancy>> {
    let placed = match view.block("placement")? {
        Some(placement) => placement.text("tenancy")?,
        None => None,
    };
    let named = match placed {
        Some(named) => Some(named),
        None => view.text("tenancy")?.or(view.text("placement_tenancy")?),
    };
    match named {
        None => Ok(None),
        Some("default") => Ok(Some(Tenancy::Shared)),
        Some("dedicated") => Ok(Some(Tenancy::Dedicated)),
        Some("host") => Ok(Some(Tenancy::Host)),
        Some(other) => Err(Missing::Elsewhere(format!(
            "its tenancy {other} is not known"
        ))),
    }
}

/// Tags as an Auto Scaling group writes them: those that instances get.
pub(super) fn propagated_tags(
    view: &View<'_>,
    tags: &mut BTreeMap<String, Option<String>>,
) -> Planned<()> {
    for tag in view.blocks("tag")?.into_iter().chain(view.blocks("tags")?) {
        let Ok(Some(key)) = tag.text("key") else {
            continue;
        };
        let propagates = match tag.values.get("propagate_at_launch") {
            Node::Bool(propagates) => *propagates,
            Node::Text(text) => text == "true",
            _ => false,
        };
        if propagates {
            let value = match tag.values.get("value") {
                Node::Text(value) => Some(value.clone()),
                _ => None,
            };
            tags.insert(key.to_owned(), value);
        }
    }
    Ok(())
}
