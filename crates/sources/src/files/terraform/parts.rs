//! The parts of resources: a resource that launches instances is one, and one that a
//! service runs has one for each block that states machines.

use super::document::Change;
use super::kinds::{Bill, Count, ENDPOINT, ENDPOINT_CONFIGURATION, KINDS, Kind, STUDIO_APP};
use super::sieve::{Node, WRITTEN};
use super::templates::{Found, Launched, Side, Templates, Types, tenancy};
use super::view::View;
use crate::catalog::{is_accelerated, shape};
use crate::domain::{Missing, Planned, Tenancy};

/// A part of a resource that may run or reserve machines.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The whole of a resource that launches instances.
    Whole,
    /// The block of a kind at a place.
    Block(&'static Kind, usize),
    /// An endpoint, whose configuration states the machines.
    Endpoint,
    /// A resource that nobody reads and that names accelerated types, or may.
    Unsupported,
}

impl Part {
    /// All of a resource; none of one that others launch from.
    pub(super) fn all_of(change: &Change, is_running: bool) -> Vec<Self> {
        if is_running {
            return vec![Self::Whole];
        }
        if change.names.iter().any(Option::is_some) || !change.open.is_empty() {
            return vec![Self::Unsupported];
        }
        if change.resource_type == ENDPOINT {
            return vec![Self::Endpoint];
        }
        let kinds = KINDS.iter().filter(|kind| kind.resource_type == change.resource_type);
        let parts = kinds.flat_map(|kind| {
            let blocks =
                ["before", "after"].map(|side| blocks(change.change.get(side), kind.block));
            let most = blocks.into_iter().max().unwrap_or_default();
            // Blocks that are known only after apply are one part of which nothing is known.
            (0..most.max(1)).map(move |place| Self::Block(kind, place))
        });
        parts.collect()
    }

    /// What it adds to the address of a resource that has several.
    pub(super) fn suffix(self) -> String {
        match self {
            Self::Block(kind, 0) => format!(".{}", kind.block),
            Self::Block(kind, place) => format!(".{}[{place}]", kind.block),
            Self::Whole | Self::Endpoint | Self::Unsupported => String::new(),
        }
    }
}

/// How many blocks of a path there are.
fn blocks(side: &Node, path: &str) -> usize {
    let mut blocks = vec![side];
    for key in path.split('.').filter(|key| !key.is_empty()) {
        let inner = blocks.iter().flat_map(|block| block.get(key).elements());
        blocks = inner.filter(|node| matches!(node, Node::Map(_))).collect();
    }
    blocks.len()
}

/// The block of a path at a place; absent where there are fewer.
fn block<'a>(view: &View<'a>, path: &str, place: usize) -> Planned<Option<View<'a>>> {
    let mut views = vec![*view];
    for key in path.split('.').filter(|key| !key.is_empty()) {
        let mut inner = Vec::new();
        for view in &views {
            inner.extend(view.blocks(key)?);
        }
        views = inner;
    }
    Ok(views.into_iter().nth(place))
}

/// The machines of the block of a kind; absent where it states none.
pub(super) fn machines(kind: &Kind, place: usize, resource: &View<'_>) -> Option<Found> {
    let unstated = || {
        let runs_by_default = kind.resource_type == STUDIO_APP
            && resource.text("app_type") != Ok(Some("JupyterServer"));
        let default = Missing::elsewhere("it runs on the default instance type of its domain");
        runs_by_default.then(|| Found::unseen(default, None))
    };
    let block = match block(resource, kind.block, place) {
        Ok(Some(block)) => block,
        Ok(None) => return unstated(),
        Err(missing) => return Some(Found::unseen(missing, None)),
    };
    let Some(types) = types(kind, &block) else { return unstated() };
    let count = count(kind, resource, &block, &types);
    let mut each = Launched {
        market: market(&block),
        tenancy: tenancy(&block),
        assumed: block.assumed(),
        ..Launched::default()
    };
    block.tags(&mut each.tags);
    each.more_tags = block.has_open_tags();
    let mut service = None;
    match kind.bill {
        Bill::Hours => {}
        Bill::Reservation | Bill::Component(_) => each.market = Ok(None),
        Bill::CapacityBlock => each.market = Ok(Some("capacity-block".to_owned())),
        Bill::Host => each.tenancy = Ok(Some(Tenancy::Host)),
        Bill::Fee(fee) => service = Some(fee),
        Bill::Service(prices) => {
            service = Some(prices);
            each.market = Err(Missing::Elsewhere(format!("the {prices} are not in the catalog")));
        }
    }
    Some(Found { types, service, ..Found::of(each, count, None) })
}

/// An endpoint runs what its configuration states, which is a resource of its own; one
/// whose configuration the plan does not have may run anything.
pub(super) fn endpoint(
    change: &Change,
    view: &View<'_>,
    templates: &Templates<'_>,
) -> Option<Found> {
    let linked = templates.linked(change, view, "endpoint_config_name", ENDPOINT_CONFIGURATION);
    Some(Found::unseen(linked.err()?, None))
}

/// A resource of which only the names of types in its attributes are known, or that there
/// will be some.
pub(super) fn unsupported(change: &Change, templates: &Templates<'_>) -> Option<Found> {
    let [before, after] = change.names.clone();
    let names = match templates.side {
        Side::Before => before?,
        Side::After => after.or_else(|| {
            let expressions = templates.configuration.expressions(&change.parts);
            let mut open = change.open.iter();
            let attribute = open.find(|attribute| may_be_written(attribute, expressions))?;
            Some(format!("its {attribute} only after apply"))
        })?,
    };
    let missing = Missing::Elsewhere(format!(
        "{} is not a supported resource type, and names {names}",
        change.resource_type
    ));
    Some(Found::unseen(missing, None))
}

/// Whether somebody may have written an attribute that is known only after apply. What the
/// provider computes is as good as always the usual value.
fn may_be_written(attribute: &str, expressions: Option<&Node>) -> bool {
    let Some(expressions) = expressions else { return true };
    let written = expressions.get(WRITTEN).elements();
    let is_written = |key: &str| written.iter().any(|name| name.text() == Some(key));
    let (block, key) = attribute.split_once('.').unwrap_or(("", attribute));
    // A plan's configuration leaves dynamic blocks out.
    let may_be_dynamic =
        key.starts_with("instance_group") || (!block.is_empty() && !is_written(block));
    is_written(key) || may_be_dynamic
}

/// The types of a block; absent where none is set, because it then runs no machines. A
/// Capacity Block has some, named or not.
fn types(kind: &Kind, block: &View<'_>) -> Option<Types> {
    for key in kind.types {
        match block.get(key) {
            Ok(None) => {}
            Ok(Some(value)) => {
                let name = |node: &Node| {
                    let text = node.text().ok_or(Missing::AfterApply)?;
                    type_name(kind, text).map(Some)
                };
                return Some(Types::of(value.elements().iter().map(name)));
            }
            Err(missing) => return Some(Types::of([Err(missing)])),
        }
    }
    (kind.bill == Bill::CapacityBlock).then(|| Types::of(None))
}

/// A type as price lists name it. A family is none: the provider selects a size of it.
fn type_name(kind: &Kind, text: &str) -> Planned<String> {
    if let Bill::Component(component) = kind.bill {
        return Ok(component.type_name(text.strip_prefix("ml.").unwrap_or(text)));
    }
    let is_family = text.starts_with(|c: char| c.is_ascii_lowercase()) && !text.contains('.');
    if is_family && is_accelerated(text) {
        return Err(Missing::Elsewhere(format!("it may use any type of the family {text}")));
    }
    Ok(text.to_owned())
}

/// Batch and EMR may buy on the spot market.
fn market(block: &View<'_>) -> Planned<Option<String>> {
    let is_spot = block.text("type")? == Some("SPOT") || block.get("bid_price")?.is_some();
    Ok(is_spot.then(|| "spot".to_owned()))
}

fn count(kind: &Kind, resource: &View<'_>, block: &View<'_>, types: &Types) -> Planned<u64> {
    match kind.count {
        Count::One => Ok(1),
        Count::Beside(key) => Ok(block.whole(key)?.unwrap_or(1)),
        Count::In(other, key) => match resource.block(other)? {
            Some(other) => Ok(other.whole(key)?.unwrap_or(1)),
            None => Ok(1),
        },
        Count::Vcpus => for_vcpus(block, types),
    }
}

/// How many instances of a type have the vCPUs that Batch starts with: those that are
/// desired, and never fewer than the minimum.
fn for_vcpus(block: &View<'_>, types: &Types) -> Planned<u64> {
    let minimum = block.whole("min_vcpus")?.unwrap_or(0);
    let vcpus = block.whole("desired_vcpus")?.unwrap_or(0).max(minimum);
    if vcpus == 0 {
        return Ok(0);
    }
    if let Some(missing) = &types.more {
        return Err(missing.clone());
    }
    let mut each = None;
    for name in &types.names {
        let shape = shape(name).ok_or_else(|| {
            Missing::Elsewhere(format!("the catalog does not have the vCPUs of {name}"))
        })?;
        if *each.get_or_insert(shape.vcpu) != shape.vcpu {
            return Err(Missing::elsewhere("its instance types have different numbers of vCPUs"));
        }
    }
    // Types that are all known name one at least.
    let each = each.ok_or(Missing::AfterApply)?;
    Ok(vcpus.div_ceil(u64::from(each.max(1))))
}
