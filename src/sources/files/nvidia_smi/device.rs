//! What one document of `nvidia-smi -q -x` says.

use super::figure::{Cell, Figure, Figures, cell, is_enabled, serial, throttle_bit, uuid, words};
use super::samples::{Entry, Gpu, MOST_GPUS};
use super::tally::Tally;
use super::time::LogTime;
use crate::domain::{GpuIdentity, GpuProcess, GpuReading, GpuSample, MigSlot};
use roxmltree::{Document, Node};
use std::str::FromStr;

/// Elements that make one document; the largest hosts have some ten thousand.
const MOST_NODES: u32 = 4_000_000;

/// One sample of all GPUs.
pub(super) struct MeterReading {
    pub time: Option<LogTime>,
    pub driver_version: Option<String>,
    pub entries: Vec<Entry>,
}

/// Reads a document.
///
/// # Errors
/// With what is wrong, when it is not XML or of too many GPUs.
pub(super) fn sample(text: &str, tally: &mut Tally) -> Result<MeterReading, String> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        nodes_limit: MOST_NODES,
        ..roxmltree::ParsingOptions::default()
    };
    let document =
        Document::parse_with_options(text, options).map_err(|error| error.to_string())?;
    let root = document.root_element();
    let mut entries = Vec::new();
    for gpu in children(root, "gpu") {
        entries.extend(entries_of(gpu, tally));
        if entries.len() > MOST_GPUS {
            return Err(format!("more than {MOST_GPUS} GPUs"));
        }
    }
    Ok(MeterReading {
        time: text_of(root, &["timestamp"]).and_then(LogTime::read),
        driver_version: owned(root, "driver_version"),
        entries,
    })
}

/// A GPU and its slices.
fn entries_of(node: Node<'_, '_>, tally: &mut Tally) -> Vec<Entry> {
    let figures = figures(node);
    tally.add_figures(&figures);
    let bus_id = node
        .attribute("id")
        .or_else(|| text_of(node, &["pci", "pci_bus_id"]))
        .and_then(words)
        .map(str::to_ascii_lowercase);
    let mut identity = GpuIdentity {
        uuid: text_of(node, &["uuid"]).and_then(uuid),
        name: owned(node, "product_name"),
        is_mig_enabled: text_of(node, &["mig_mode", "current_mig"]).and_then(is_enabled),
        ..GpuIdentity::default()
    };
    figures.put_limits(&mut identity);
    let serial = text_of(node, &["serial"]).and_then(serial);
    let gpu = Gpu { bus_id, serial, identity, ..Gpu::default() };
    let lost = figures.lost().or_else(|| match text_of(node, &["product_name"]).map(cell) {
        Some(Cell::Lost(reason)) => Some(crate::domain::safe(reason)),
        _ => None,
    });
    let processes = processes(node);
    let of_slice = |slot: Option<&MigSlot>| {
        let wanted = slot.and_then(|slot| slot.gpu_instance);
        let own = processes.as_ref()?.iter().filter(|(slice, _)| *slice == wanted);
        Some(own.map(|(_, process)| process.clone()).collect())
    };
    let read = |figures: &Figures, slot: Option<&MigSlot>| {
        let processes = of_slice(slot);
        GpuSample::Read(Box::new(GpuReading { processes, ..figures.reading() }))
    };
    let sample = lost.map_or_else(|| read(&figures, None), GpuSample::lost);
    let slices = children(node, "mig_devices").flat_map(|list| children(list, "mig_device"));
    let slice = |(place, node): (usize, Node<'_, '_>)| {
        let figures = figures_of_slice(node);
        let slot = MigSlot {
            index: number(node, "index").or(u16::try_from(place).ok())?,
            gpu_instance: number(node, "gpu_instance_id"),
            compute_instance: number(node, "compute_instance_id"),
            profile: owned(node, "profile"),
        };
        let sample = read(&figures, Some(&slot));
        let identity = GpuIdentity {
            uuid: text_of(node, &["uuid"]).and_then(uuid),
            vram_total_mib: figures.get(Figure::VramTotal),
            mig: Some(slot),
            name: gpu.identity.name.clone(),
            is_mig_enabled: gpu.identity.is_mig_enabled,
            ..GpuIdentity::default()
        };
        Some(Entry { gpu: Gpu { identity, ..gpu.clone() }, sample })
    };
    let slices: Vec<Entry> = slices.enumerate().filter_map(slice).collect();
    let mut entries = vec![Entry { gpu, sample }];
    entries.extend(slices);
    entries
}

fn figures(node: Node<'_, '_>) -> Figures {
    let mut figures = figures_of_slice(node);
    // The module of a superchip has its own, which is not the GPU's.
    for group in ["gpu_power_readings", "power_readings"] {
        for (path, figure) in Figure::elements(true) {
            if let Some(text) = text_of(node, &[&[group][..], path].concat()) {
                figures.put(figure, "", text);
            }
        }
    }
    for group in ["clocks_event_reasons", "clocks_throttle_reasons"] {
        let reasons = children(node, group).flat_map(|list| list.children());
        for reason in reasons.filter(Node::is_element) {
            let name = reason.tag_name().name();
            let end = ["clocks_event_reason_", "clocks_throttle_reason_"]
                .iter()
                .find_map(|start| name.strip_prefix(start));
            if let Some(bit) = end.and_then(throttle_bit) {
                figures.put_throttle_bit(bit, reason.text().unwrap_or_default());
            }
        }
    }
    figures
}

fn figures_of_slice(node: Node<'_, '_>) -> Figures {
    let mut figures = Figures::default();
    for (path, figure) in Figure::elements(false) {
        if let Some(text) = text_of(node, path) {
            figures.put(figure, "", text);
        }
    }
    figures
}

/// Who holds a GPU, with the slice they are on; `None` where it does not tell.
fn processes(node: Node<'_, '_>) -> Option<Vec<(Option<u32>, GpuProcess)>> {
    let list = children(node, "processes").next()?;
    let infos: Vec<Node<'_, '_>> = children(list, "process_info").collect();
    let says = list.text().map_or("", str::trim);
    if infos.is_empty() && !says.is_empty() {
        return None;
    }
    let mut processes: Vec<(Option<u32>, GpuProcess)> = Vec::new();
    for info in infos {
        let Some(pid) = number(info, "pid") else { continue };
        let slice = number(info, "gpu_instance_id");
        // One that computes and draws is a duplicate.
        if processes.iter().any(|(on, process)| process.pid == pid && *on == slice) {
            continue;
        }
        let vram = text_of(info, &["used_memory"]).map(cell);
        let process = GpuProcess {
            pid,
            name: owned(info, "process_name"),
            vram_mib: match vram {
                Some(Cell::Number(mib, "MiB")) if mib >= 0.0 => Some(mib as u64),
                _ => None,
            },
            sm_percent: None,
            is_of_command: false,
        };
        processes.push((slice, process));
    }
    Some(processes)
}

fn children<'a, 'input>(
    node: Node<'a, 'input>,
    name: &'static str,
) -> impl Iterator<Item = Node<'a, 'input>> {
    node.children().filter(move |child| child.has_tag_name(name))
}

/// The text at the end of a path of elements.
fn text_of<'a>(node: Node<'a, '_>, path: &[&str]) -> Option<&'a str> {
    let mut node = node;
    for name in path {
        node = node.children().find(|child| child.has_tag_name(*name))?;
    }
    node.text().map(str::trim)
}

fn owned(node: Node<'_, '_>, name: &str) -> Option<String> {
    text_of(node, &[name]).and_then(words).map(str::to_owned)
}

fn number<T: FromStr>(node: Node<'_, '_>, name: &str) -> Option<T> {
    text_of(node, &[name])?.parse().ok()
}
