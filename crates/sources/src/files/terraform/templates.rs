//! Launch templates and launch configurations, which groups launch, and what resources say of their
//! instances: types, number and market, before place and system are known.

use super::address::referred;
use super::document::{Change, LAUNCH_CONFIGURATION, LAUNCH_TEMPLATE};
use super::sieve::Node;
use super::view::{Configuration, View};
use crate::catalog::{has_form_of_type, is_accelerated};
use crate::domain::{Missing, Planned, PlannedCount, Tenancy};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

/// Which end of a plan is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

/// Everything that a resource may launch from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Templates<'a> {
    pub(super) index: &'a Index<'a>,
    pub(super) configuration: &'a Configuration<'a>,
    pub(super) side: Side,
    /// Addresses of what something launches from, each with how often on this side.
    pub(super) used: &'a RefCell<BTreeMap<String, u64>>,
}

/// The changes of a plan by what refers to them.
#[derive(Debug, Default)]
pub(super) struct Index<'a> {
    /// By name and by ID, on either side: a name that stays is known today too.
    named: BTreeMap<&'a str, Vec<(&'static str, &'a Change)>>,
    /// By type and name.
    placed: BTreeMap<&'a str, Vec<&'a Change>>,
}

impl<'a> Index<'a> {
    pub(super) fn of(changes: &'a [Change]) -> Self {
        let mut index = Self::default();
        for change in changes {
            index.placed.entry(&change.parts.base).or_default().push(change);
            for attribute in ["name", "id"] {
                let sides = ["before", "after"].map(|side| change.change.get(side));
                let values: BTreeSet<&str> =
                    sides.into_iter().filter_map(|side| side.get(attribute).text()).collect();
                for value in values {
                    index.named.entry(value).or_default().push((attribute, change));
                }
            }
        }
        index
    }
}

/// What a template or a resource says about each instance.
#[derive(Debug, Clone)]
pub(super) struct Launched {
    pub(super) instance_type: Planned<Option<String>>,
    /// Spot, or a Capacity Block.
    pub(super) market: Planned<Option<String>>,
    pub(super) tenancy: Planned<Option<Tenancy>>,
    pub(super) tags: BTreeMap<String, Option<String>>,
    pub(super) more_tags: bool,
    /// Why market and tenancy may be others than the usual ones all the same.
    pub(super) assumed: Option<Missing>,
}

impl Default for Launched {
    /// What says nothing.
    fn default() -> Self {
        Self {
            instance_type: Ok(None),
            market: Ok(None),
            tenancy: Ok(None),
            tags: BTreeMap::new(),
            more_tags: false,
            assumed: None,
        }
    }
}

impl Launched {
    /// Of a template that cannot be seen. It may say anything; but market and
    /// tenancy are seldom written.
    pub(super) fn unseen(missing: &Missing) -> Self {
        Self {
            instance_type: Err(missing.clone()),
            more_tags: true,
            assumed: Some(missing.clone()),
            ..Self::default()
        }
    }

    /// What is written on a resource goes before what its template says.
    pub(super) fn over(self, template: Self) -> Self {
        let mut tags = template.tags;
        tags.extend(self.tags);
        Self {
            instance_type: or(self.instance_type, template.instance_type),
            market: or(self.market, template.market),
            tenancy: or(self.tenancy, template.tenancy),
            tags,
            more_tags: self.more_tags || template.more_tags,
            assumed: self.assumed.or(template.assumed),
        }
    }
}

/// What is said first; what is unknown is said.
pub(super) fn or<T>(own: Planned<Option<T>>, other: Planned<Option<T>>) -> Planned<Option<T>> {
    match own {
        Ok(None) => other,
        said => said,
    }
}

impl<'a> Templates<'a> {
    /// The view of a change on the side that is evaluated.
    pub(super) fn view(&self, change: &'a Change) -> Option<View<'a>> {
        let expressions = self.configuration.expressions(&change.parts);
        match self.side {
            Side::Before => View::before(change, expressions),
            Side::After => View::after(change, expressions),
        }
    }

    /// The same of what something launches from.
    fn template_view(&self, change: &'a Change) -> Option<View<'a>> {
        *self.used.borrow_mut().entry(change.address.clone()).or_default() += 1;
        self.view(change)
    }

    /// What the template in a block of a resource says; absent without such a
    /// block.
    pub(super) fn of_block(
        &self,
        owner: &Change,
        view: &View<'a>,
        block: &str,
    ) -> Option<Launched> {
        let read = || {
            let Some(block) = view.block(block)? else { return Ok(None) };
            let template = self.template(owner, &block)?;
            check_version(&block, &template)?;
            Ok(Some(launched(&template)))
        };
        read().unwrap_or_else(|missing| Some(Launched::unseen(&missing)))
    }

    fn template(&self, owner: &Change, block: &View<'a>) -> Planned<View<'a>> {
        let keys = ["id", "launch_template_id", "name", "launch_template_name"];
        let mut missing = Missing::AfterApply;
        for key in keys {
            if let Ok(Some(wanted)) = block.text(key) {
                let attribute = if key.ends_with("id") { "id" } else { "name" };
                if let Some(found) = self.known(LAUNCH_TEMPLATE, attribute, wanted) {
                    return Ok(found);
                }
                missing =
                    Missing::Elsewhere(format!("its launch template {wanted} is not in the plan"));
            }
        }
        for key in keys {
            if let Some(found) = self.referred(owner, LAUNCH_TEMPLATE, block.references(key))? {
                return Ok(found);
            }
        }
        Err(missing)
    }

    /// What the launch configuration of a group says; nothing without one.
    pub(super) fn of_configuration(&self, owner: &Change, view: &View<'a>) -> Launched {
        match self.linked(owner, view, "launch_configuration", LAUNCH_CONFIGURATION) {
            Ok(linked) => linked.map_or_else(Launched::default, |view| launched(&view)),
            Err(missing) => Launched::unseen(&missing),
        }
    }

    /// The resource of a type that an attribute names or refers to; absent where it is not
    /// set.
    pub(super) fn linked(
        &self,
        owner: &Change,
        view: &View<'a>,
        key: &str,
        resource_type: &str,
    ) -> Planned<Option<View<'a>>> {
        let named = view.text(key);
        if let Ok(Some(name)) = named {
            let linked = ["name", "id"]
                .into_iter()
                .find_map(|attribute| self.known(resource_type, attribute, name));
            if linked.is_some() {
                return Ok(linked);
            }
        }
        if let Some(linked) = self.referred(owner, resource_type, view.references(key))? {
            return Ok(Some(linked));
        }
        match named? {
            Some(name) => Err(Missing::Elsewhere(format!(
                "its {} {name} is not in the plan",
                key.replace('_', " ")
            ))),
            None => Ok(None),
        }
    }

    /// A template with an attribute that is known.
    fn known(&self, resource_type: &str, attribute: &str, wanted: &str) -> Option<View<'a>> {
        let named = self.index.named.get(wanted).into_iter().flatten();
        let of_type = named
            .filter(|(name, change)| *name == attribute && change.resource_type == resource_type);
        of_type.copied().find_map(|(_, change)| self.template_view(change))
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
            let placed = self.index.placed.get(base.as_str()).into_iter().flatten().copied();
            let changes: Vec<&Change> = placed
                .filter(|change| change.parts.module_path == owner.parts.module_path)
                .collect();
            let of_index = |wanted: &Option<String>| {
                changes.iter().find(|change: &&&'a Change| change.parts.index == *wanted).copied()
            };
            let chosen = match changes.as_slice() {
                [change] => Some(*change),
                _ => of_index(&index).or_else(|| of_index(&owner.parts.index)),
            };
            if let Some(view) = chosen.and_then(|change| self.template_view(change)) {
                return Ok(Some(view));
            }
            return Err(Missing::unspecified(format_args!("which {base} it launches from")));
        }
        Ok(None)
    }
}

/// A plan shows the latest version of a template only. Without a version, its default launches.
fn check_version(block: &View<'_>, template: &View<'_>) -> Planned<()> {
    let of_template = |key: &str| template.values.get(key);
    let Ok(version) = block.get("version") else { return Ok(()) };
    let wanted = match version {
        Some(version) if version.text() == Some("$Latest") => return Ok(()),
        Some(version) => version.whole(),
        None => None,
    };
    let is_default = wanted.is_none();
    let Some(wanted) = wanted.or(of_template("default_version").whole()) else { return Ok(()) };
    let shown = match of_template("latest_version").whole() {
        Some(latest) if latest == wanted => return Ok(()),
        Some(latest) => format!("version {latest}"),
        // The first version is the one that the plan makes.
        None if wanted == 1 && of_template("id").text().is_none() && !is_default => return Ok(()),
        None if template.is_unknown("latest_version") => "one that it makes".to_owned(),
        None => return Ok(()),
    };
    let default = if is_default { ", the default" } else { "" };
    Err(Missing::Elsewhere(format!(
        "it launches version {wanted}{default} of a template, but the plan shows {shown}"
    )))
}

/// What the attributes of a template, or of a resource like it, say: what is not
/// known of one of them leaves the others as they are.
pub(super) fn launched(view: &View<'_>) -> Launched {
    let mut launched = Launched {
        instance_type: instance_type(view),
        market: market(view),
        tenancy: tenancy(view),
        assumed: view.assumed(),
        ..Launched::default()
    };
    let Ok(specifications) = view.blocks("tag_specifications") else {
        launched.more_tags = true;
        return launched;
    };
    for specification in specifications {
        match specification.text("resource_type") {
            Ok(Some("instance")) => {
                specification.tags(&mut launched.tags);
                launched.more_tags |= specification.has_open_tags();
            }
            Ok(_) => {}
            Err(_) => launched.more_tags = true,
        }
    }
    launched
}

/// A type by name; one that requirements choose is none, and what cannot be a name, such as
/// a masked value, may stand for any.
pub(super) fn instance_type(view: &View<'_>) -> Planned<Option<String>> {
    let named = view.text("instance_type")?;
    if named.is_none() && view.get("instance_requirements")?.is_some() {
        return Err(Missing::elsewhere(
            "its instance type is selected at launch by instance requirements",
        ));
    }
    let is_name = |name: &str| has_form_of_type(name) || is_accelerated(name);
    if named.is_some_and(|name| !is_name(name)) {
        return Err(Missing::elsewhere("its instance type is not the name of one"));
    }
    Ok(named.map(str::to_owned))
}

fn market(view: &View<'_>) -> Planned<Option<String>> {
    let named = match view.block("instance_market_options")? {
        Some(options) => options.text("market_type")?,
        None => view.get("spot_price")?.map(|_| "spot"),
    };
    Ok(named.map(str::to_owned))
}

pub(super) fn tenancy(view: &View<'_>) -> Planned<Option<Tenancy>> {
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
        Some(other) => Err(Missing::Elsewhere(format!("its tenancy {other} is unknown"))),
    }
}

/// Tags as an Auto Scaling group writes them: those that instances get.
pub(super) fn propagated_tags(
    view: &View<'_>,
    tags: &mut BTreeMap<String, Option<String>>,
) -> Planned<()> {
    let mut outcome = Ok(());
    for tag in view.blocks("tag")?.into_iter().chain(view.blocks("tags")?) {
        let key = match tag.text("key") {
            Ok(Some(key)) => key,
            Ok(None) => continue,
            Err(missing) => {
                outcome = Err(missing);
                continue;
            }
        };
        let propagates = match tag.get("propagate_at_launch") {
            Ok(Some(Node::Bool(propagates))) => *propagates,
            Ok(Some(Node::Text(text))) => text == "true",
            Ok(_) => false,
            Err(_) => {
                tags.entry(key.to_owned()).or_insert(None);
                continue;
            }
        };
        if propagates {
            let value = match tag.values.get("value") {
                Node::Text(value) => Some(value.clone()),
                _ => None,
            };
            tags.insert(key.to_owned(), value);
        }
    }
    outcome
}

/// What a resource of some sort says, before place and system are known.
pub(super) struct Found {
    pub(super) types: Types,
    pub(super) count: Planned<u64>,
    pub(super) payment: Planned<PlannedCount>,
    pub(super) most: Option<u64>,
    pub(super) each: Launched,
    /// What a service bills at prices of its own; see [`crate::domain::PlannedInstances`].
    pub(super) service: Option<&'static str>,
}

/// The types that a resource may run, and why there may be more.
pub(super) struct Types {
    pub(super) names: Vec<String>,
    pub(super) more: Option<Missing>,
}

impl Types {
    /// Those that are named, each once; one must be.
    pub(super) fn of(named: impl IntoIterator<Item = Planned<Option<String>>>) -> Self {
        let (mut names, mut more) = (Vec::new(), None);
        for name in named {
            match name {
                Ok(Some(name)) if !names.contains(&name) => names.push(name),
                Ok(_) => {}
                Err(missing) => more = more.or(Some(missing)),
            }
        }
        if names.is_empty() && more.is_none() {
            more = Some(Missing::unspecified("an instance type"));
        }
        Self { names, more }
    }
}

/// So many instances, all bought in one market.
fn all_bought(market: Planned<Option<String>>, count: &Planned<u64>) -> Planned<PlannedCount> {
    Ok(bought(market?.as_deref(), count.clone()?))
}

pub(super) fn bought(market: Option<&str>, count: u64) -> PlannedCount {
    let none = PlannedCount::default();
    match market {
        Some("spot") => PlannedCount { spot: count, ..none },
        Some("capacity-block") => PlannedCount { capacity_block: count, ..none },
        _ => PlannedCount { on_demand: count, ..none },
    }
}

impl Found {
    /// So many of what a template says, bought in the market that it says.
    pub(super) fn of(each: Launched, count: Planned<u64>, most: Option<u64>) -> Self {
        Self {
            types: Types::of([each.instance_type.clone()]),
            payment: all_bought(each.market.clone(), &count),
            count,
            most,
            each,
            service: None,
        }
    }

    /// Some of a type that cannot be seen.
    pub(super) fn unseen(missing: Missing, most: Option<u64>) -> Self {
        Self::of(Launched::unseen(&missing), Err(missing), most)
    }
}

/// A type that a group may launch, and how much of its capacity one counts for.
pub(super) struct Override {
    pub(super) instance_type: Planned<Option<String>>,
    pub(super) weight: Planned<Option<u64>>,
}

/// The overrides in blocks of a name; where these are not known, one of which
/// nothing is.
pub(super) fn overrides(view: &View<'_>, key: &str) -> Vec<Override> {
    let read = |block: View<'_>| Override {
        instance_type: instance_type(&block),
        weight: block.whole("weighted_capacity"),
    };
    match view.blocks(key) {
        Ok(blocks) => blocks.into_iter().map(read).collect(),
        Err(missing) => {
            vec![Override { instance_type: Err(missing.clone()), weight: Err(missing) }]
        }
    }
}

/// The types of overrides; where one names none, that of the template.
pub(super) fn types_of(overrides: &[Override], template: &Planned<Option<String>>) -> Types {
    let own = overrides.iter().map(|entry| &entry.instance_type);
    let of_template = overrides.is_empty().then(|| template.clone());
    Types::of(own.map(|name| or(name.clone(), template.clone())).chain(of_template))
}

/// How many instances make up a capacity.
pub(super) fn instances_for(capacity: u64, overrides: &[Override]) -> Planned<u64> {
    let mut first = None;
    for entry in overrides {
        let weight = entry.weight.clone()?.unwrap_or(1).max(1);
        if *first.get_or_insert(weight) != weight {
            return Err(Missing::elsewhere("its instance types have different capacity weights"));
        }
    }
    Ok(capacity.div_ceil(first.unwrap_or(1)))
}
