//! A log of `nvidia-smi -q -x`, one sample of a time. Its documents are cut out of it one at a
//! time: its loop mode writes one after the other.

use super::super::samples::{Input, Lines, Log, OpenLog, ReadOptions, SamplesError, Told, place};
use super::figure::{Cell, Figure, Figures, cell, is_enabled, serial, throttle_bit, uuid, words};
use super::samples::{Entry, Gpu, MOST_GPUS, Roster, Tally, clock, clock_gaps, facts, sample};
use super::time::{LogClock, LogTime};
use crate::domain::{Gap, GpuIdentity, GpuProcess, GpuReading, GpuSample, MigSlot, Sample};
use roxmltree::Node;
use std::str::FromStr;

struct XmlLog {
    input: Input,
    documents: Documents,
    roster: Roster,
    clock: LogClock,
}

pub(in crate::files) fn open(input: Input, options: &ReadOptions) -> Result<OpenLog, SamplesError> {
    let mut documents = Documents::of(&input)?;
    let mut roster = Roster::default();
    let mut driver_version = None;
    let mut first = None;
    while let Some((line, sample)) = next_sample(&mut documents)? {
        let invalid = |message: &str| SamplesError::line(input.path(), line, message);
        if sample.time.is_none() && options.interval.is_none() {
            let message = "the document has no timestamp such as `Fri Aug  4 11:44:30 2023`";
            return Err(invalid(message));
        }
        for entry in &sample.entries {
            roster.add(&entry.gpu).map_err(|message| invalid(&message))?;
        }
        driver_version = driver_version.or(sample.driver_version);
        first.get_or_insert(sample.time);
    }
    let (Some(first), 1..) = (first, roster.len()) else {
        return Err(SamplesError::empty(input.path(), documents.tally.first_junk()));
    };
    roster.sort();
    let facts = facts(clock(options).at(first).1, None, driver_version, &roster);
    let documents = Documents::of(&input)?;
    let log = XmlLog { documents, clock: clock(options), input, roster };
    Ok((facts, Box::new(log)))
}

/// The next document that can be read and has a GPU, and the line that it begins
/// on.
fn next_sample(documents: &mut Documents) -> Result<Option<(u64, MeterReading)>, SamplesError> {
    while let Some(document) = documents.next_document()? {
        match read_document(&document.text, &mut documents.tally) {
            Ok(sample) if !sample.entries.is_empty() => return Ok(Some((document.line, sample))),
            Ok(_) => documents.tally.add_junk(document.line, "a document without GPUs"),
            Err(message) => documents.tally.add_junk(document.line, &message),
        }
    }
    Ok(None)
}

impl Log for XmlLog {
    fn next_sample(&mut self) -> Result<Option<Sample>, SamplesError> {
        let Some((_, document)) = next_sample(&mut self.documents)? else { return Ok(None) };
        let at = self.clock.at(document.time);
        let mut slots = vec![None; self.roster.len()];
        for entry in document.entries {
            // One that the first reading did not see came since.
            if let Some(position) = self.roster.position(&entry.gpu) {
                slots[position] = Some(entry.sample);
            }
        }
        Ok(Some(sample(slots, at)))
    }

    fn may_tell(&self, figure: Told) -> bool {
        !matches!(figure, Told::Energy | Told::Activity)
    }

    fn gaps(&self) -> Vec<Gap> {
        let place = place(self.input.path());
        let mut gaps = clock_gaps(&self.clock, &place);
        gaps.extend(self.documents.tally.gaps(&place));
        gaps
    }
}

const START: &str = "<nvidia_smi_log";
const END: &str = "</nvidia_smi_log>";
/// Bytes that one document may have.
const MOST_BYTES: usize = 64 << 20;

/// Whether a line shows that a log is XML.
pub(in crate::files) fn is_xml(line: &str) -> bool {
    line.contains(START) || line.contains("<!DOCTYPE nvidia_smi_log")
}

/// One document, and the line that it begins on.
struct Document {
    line: u64,
    text: String,
}

/// The documents of a log.
struct Documents {
    lines: Lines,
    rest: String,
    last_line: u64,
    tally: Tally,
}

impl Documents {
    fn of(input: &Input) -> Result<Self, SamplesError> {
        Ok(Self {
            lines: input.lines()?,
            rest: String::new(),
            last_line: 0,
            tally: Tally::default(),
        })
    }

    /// What is left of a line, or the next one.
    fn next_text(&mut self) -> Result<Option<String>, SamplesError> {
        if !self.rest.is_empty() {
            return Ok(Some(std::mem::take(&mut self.rest)));
        }
        Ok(self.lines.next_line()?.map(|line| {
            self.last_line = line.number;
            line.text
        }))
    }

    /// The next whole document. What lies between is counted, unless it is what
    /// XML begins with; so is a document that another one cuts short.
    fn next_document(&mut self) -> Result<Option<Document>, SamplesError> {
        let mut open: Option<Document> = None;
        loop {
            let Some(text) = self.next_text()? else {
                if let Some(document) = open {
                    self.tally.set_torn(document.line);
                } else if self.lines.is_cut {
                    self.tally.set_torn(self.last_line.max(1));
                }
                return Ok(None);
            };
            if let Some(at) = text.find(START) {
                if let Some(cut) = open.take() {
                    self.tally.add_junk(cut.line, &cut.text);
                }
                self.skip(&text[..at]);
                open = Some(Document { line: self.last_line, text: String::new() });
                self.grow(&mut open, &text[at..])?;
            } else if open.is_some() {
                self.grow(&mut open, &text)?;
            } else {
                self.skip(&text);
            }
            if let Some(document) = open.take_if(|document| document.text.ends_with(END)) {
                return Ok(Some(document));
            }
        }
    }

    /// Adds to a document up to its end; the rest is for the next one. The list
    /// of clocks that a GPU could run at is most of a document, and not needed.
    fn grow(&mut self, open: &mut Option<Document>, text: &str) -> Result<(), SamplesError> {
        let Some(document) = open else { return Ok(()) };
        let own = match text.find(END) {
            Some(at) => {
                let (own, rest) = text.split_at(at + END.len());
                rest.clone_into(&mut self.rest);
                own
            }
            None => text,
        };
        let trimmed = own.trim();
        let is_list = trimmed.starts_with("<supported_graphics_clock>")
            && trimmed.ends_with("</supported_graphics_clock>");
        if !is_list {
            document.text.push_str(own);
        }
        if own.len() == text.len() && !own.ends_with(END) {
            document.text.push('\n');
        }
        if document.text.len() > MOST_BYTES {
            let message = "a document larger than 64 MiB begins here";
            return Err(self.lines.invalid(document.line, message));
        }
        Ok(())
    }

    fn skip(&mut self, text: &str) {
        let text = text.trim();
        let is_of_xml = text.starts_with("<?xml") || text.starts_with("<!");
        if !text.is_empty() && !is_of_xml {
            self.tally.add_junk(self.last_line.max(1), text);
        }
    }
}

/// Elements that make one document; the largest hosts have some ten thousand.
const MOST_NODES: u32 = 4_000_000;

/// One sample of all GPUs.
struct MeterReading {
    time: Option<LogTime>,
    driver_version: Option<String>,
    entries: Vec<Entry>,
}

/// Reads a document.
///
/// # Errors
/// With what is wrong, when it is not XML or of too many GPUs.
fn read_document(text: &str, tally: &mut Tally) -> Result<MeterReading, String> {
    let options = roxmltree::ParsingOptions {
        allow_dtd: true,
        nodes_limit: MOST_NODES,
        ..roxmltree::ParsingOptions::default()
    };
    let document = roxmltree::Document::parse_with_options(text, options)
        .map_err(|error| error.to_string())?;
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
