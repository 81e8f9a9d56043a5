//! `gpucost inventory` for people.

use super::jobs::jobs_section;
use super::managed::{hosts_section, plans_section};
use super::{addresses, idle_storage_monthly, volume_gib};
use crate::analysis::{ListedInstance, ListedNode, Listing};
use crate::domain::{ClaimState, InstanceShape, Node, Scheduler};
use crate::report::shared::gaps::gap_section;
use crate::report::shared::plain_table::PlainTable;
use crate::report::shared::style::TableStyle;
use crate::report::shared::text::{ABSENT, counted, devices_or_absent, fit, money_or_absent};

/// The inventory for a terminal: what matters first, the name last, because it
/// gives way where the columns end; then what could not be seen. `shown` are the places of
/// the instances to list, in order.
pub fn inventory_table(listing: &Listing<'_>, shown: &[usize], style: TableStyle) -> String {
    let mut header = vec!["ID", "$/HOUR", "BOUGHT AS", "TYPE", "GPU", "REGION"];
    if style.wide {
        header.extend([
            "ACCOUNT",
            "ZONE",
            "OS",
            "LAUNCHED",
            "GROUP",
            "VOLUMES",
            "ADDRESSES",
            "IDLE $/MONTH",
            "PRICE DATE",
        ]);
    }
    header.push("NAME");
    let mut table = PlainTable::new(&header, if style.wide { vec![1, 13] } else { vec![1] });
    let all = &listing.instances;
    let most = style.shown(shown.len(), usize::MAX);
    let listed = shown.iter().take(most);
    for listed in listed.filter_map(|place| all.get(*place)) {
        let mut row = table_row(listed);
        if style.wide {
            row.extend(wide_cells(listed));
        }
        row.push(fit(listed.instance.name().unwrap_or(ABSENT), 48));
        table.row(row);
    }
    let mut out = table.text(style);
    let hidden = all.len().saturating_sub(most) as u64;
    if hidden > 0 {
        let instances = counted(hidden, "more instance", "more instances");
        out.push_str(&format!("… and {instances} not shown\n\n"));
    }
    if !listing.nodes.is_empty() {
        out.push_str(&nodes_section(listing, style));
    }
    if !listing.hosts.is_empty() {
        out.push_str(&hosts_section(&listing.hosts, style));
    }
    let plans = &listing.estate.managed.plans;
    if !plans.is_empty() {
        out.push_str(&plans_section(plans, style));
    }
    if !listing.jobs.is_empty() {
        out.push_str(&jobs_section(&listing.jobs, style));
    }
    // Writing to a string cannot fail.
    let _ = gap_section(&listing.gaps, style, &mut out);
    out.push_str(&format!(
        "{} in {}\n",
        counted(listing.instances.len() as u64, "instance", "instances"),
        counted(listing.estate.regions.len() as u64, "region", "regions"),
    ));
    out
}

/// How far the GPUs of each node are given away.
fn nodes_section(listing: &Listing<'_>, style: TableStyle) -> String {
    let claims = listing.claims.iter();
    let waiting = claims.filter(|claim| claim.state == ClaimState::Pending);
    let title = format!(
        "NODES  {}, {} by {}, {} waiting",
        counted(listing.nodes.len() as u64, "node", "nodes"),
        counted(listing.claims.len() as u64, "claim", "claims"),
        holders(listing),
        waiting.count()
    );
    let header = [
        "NODE",
        "GPUS",
        "ALLOCATABLE",
        "REQUESTED",
        "FREE",
        "STATE",
        "POOL",
    ];
    let mut table = PlainTable::new(&header, 1..=4);
    for ListedNode { node, devices } in &listing.nodes {
        table.row(vec![
            fit(&node.name, 30),
            devices_or_absent(devices.physical),
            devices_or_absent(Some(devices.allocatable)),
            devices_or_absent(devices.requested),
            devices_or_absent(devices.free()),
            state(node).to_owned(),
            fit(node.pool.as_deref().unwrap_or(ABSENT), 24),
        ]);
    }
    format!("{}\n{}", style.heading(&title), table.text(style))
}

/// Who claims devices of the nodes.
fn holders(listing: &Listing<'_>) -> &'static str {
    let has = |scheduler| {
        let mut nodes = listing.nodes.iter();
        nodes.any(|one| one.node.scheduler == scheduler)
    };
    match (has(Scheduler::Kubernetes), has(Scheduler::Ecs)) {
        (true, true) => "pods and tasks",
        (false, true) => "tasks",
        (_, false) => "pods",
    }
}

fn state(node: &Node) -> &'static str {
    match (node.scheduler, node.is_ready, node.is_cordoned) {
        (Scheduler::Kubernetes, Some(false), true) => "not ready, cordoned",
        (Scheduler::Kubernetes, Some(false), false) => "not ready",
        (Scheduler::Kubernetes, _, true) => "cordoned",
        (Scheduler::Ecs, Some(false), true) => "agent not connected, draining",
        (Scheduler::Ecs, Some(false), false) => "agent not connected",
        (Scheduler::Ecs, _, true) => "draining",
        (_, Some(true), false) => "ready",
        (_, None, false) => ABSENT,
    }
}

fn table_row(listed: &ListedInstance<'_>) -> Vec<String> {
    let instance = listed.instance;
    let is_running = instance.state.is_running();
    let price = match listed.hourly {
        Some(rate) => format!(
            "{}{}",
            rate.currency().sign(),
            rate.amount().round_dp(6).normalize()
        ),
        None if is_running => "unpriced".to_owned(),
        None => ABSENT.to_owned(),
    };
    vec![
        fit(instance.id.native(), 19),
        price,
        if is_running {
            listed.purchase_option.to_string()
        } else {
            instance.state.to_string()
        },
        fit(&instance.instance_type, 18),
        fit(&gpu(listed.shape), 20),
        fit(&instance.region, 16),
    ]
}

fn wide_cells(listed: &ListedInstance<'_>) -> [String; 9] {
    let instance = listed.instance;
    let text = |value: Option<&str>, width| fit(value.unwrap_or(ABSENT), width);
    let addresses = addresses(instance).filter(|ids| !ids.is_empty());
    [
        fit(&instance.account, 16),
        text(instance.zone.as_deref(), 18),
        instance.operating_system.to_string(),
        instance.launch_time.strftime("%Y-%m-%d %H:%M").to_string(),
        text(instance.auto_scaling_group.as_deref(), 24),
        volume_gib(instance).map_or(ABSENT.to_owned(), |gib| format!("{gib} GiB")),
        text(addresses.as_deref(), 40),
        money_or_absent(idle_storage_monthly(listed.idle_storage.as_ref())),
        listed.quote.as_ref().map_or(ABSENT.to_owned(), |quote| {
            format!("{} ({})", quote.effective_date, quote.origin)
        }),
    ]
}

fn gpu(shape: Option<&InstanceShape>) -> String {
    let Some(shape) = shape else {
        return "unknown type".to_owned();
    };
    match &shape.gpu {
        Some(offer) => format!("{} × {}", offer.share, offer.model),
        None => shape.accelerator.name().to_owned(),
    }
}
