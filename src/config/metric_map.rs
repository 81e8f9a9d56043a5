//! The table `[prometheus]`: metrics of exporters that this program does not know.

use super::reader::Reader;
use crate::sources::prometheus::{Exporter, MappedMetric, Quantity};
use serde_json::{Value as Json, json};

/// From femto- to peta-, which is more than any unit needs.
const LEAST_SCALE: f64 = 1e-15;
const MOST_SCALE: f64 = 1e15;
/// MiB, watts and degrees Celsius are taken as they are.
const USUAL_SCALE: f64 = 1.0;

keys! {
    pub(super) const PROMETHEUS: Vec<MappedMetric> = |reader, metrics, value, entry| {
        map[METRIC, share_needs_scale] "metric_map", metrics.extend(value.into_iter().filter_map(|(name, draft, line)| reader.metric(name, draft, line))), "Metrics of exporters that gpucost does not know, by name.";
    }
}

/// A metric as the file states it.
#[derive(Default)]
struct Draft {
    quantity: Option<Quantity>,
    scale: Option<f64>,
    index_label: Option<String>,
    uuid_label: Option<String>,
}

keys! {
    const METRIC: Draft = |reader, draft, value, entry| {
        need named[Quantity] "quantity", draft.quantity = Some(value), "What the metric measures.";
        number[LEAST_SCALE, MOST_SCALE] "scale", draft.scale = Some(value), "What a value is multiplied by to be a percentage, MiB, watts or degrees Celsius.";
        text "index", draft.index_label = Some(value), "Label with the index of the GPU on its host.";
        text "uuid", draft.uuid_label = Some(value), "Label with the UUID of the GPU.";
    }
}

fn is_percent(quantity: Quantity) -> bool {
    quantity.metric().is_percent()
}

/// A share of one that is taken for a percentage makes a busy GPU idle.
fn share_needs_scale() -> Json {
    let shares = Quantity::ALL.iter().filter(|quantity| is_percent(**quantity));
    let shares: Vec<&str> = shares.map(|quantity| quantity.name()).collect();
    json!({
        "if": { "properties": { "quantity": { "enum": shares } } },
        "then": { "required": ["scale"] },
    })
}

impl Reader<'_> {
    fn metric(&mut self, name: String, draft: Draft, line: usize) -> Option<MappedMetric> {
        let quantity = draft.quantity?;
        if draft.scale.is_none() && is_percent(quantity) {
            let message =
                format!("`{name}` has no `scale`: 100 for a share of one, 1 for a percentage");
            self.at(line, &message);
        }
        Some(MappedMetric {
            name,
            quantity,
            scale: draft.scale.unwrap_or(USUAL_SCALE),
            exporter: Exporter::Other,
            index_label: draft.index_label,
            uuid_label: draft.uuid_label,
        })
    }
}
