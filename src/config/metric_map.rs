//! The table `[prometheus]`: metrics of exporters that this program does not know.

use super::reader::Reader;
use crate::sources::prometheus::{Exporter, MappedMetric, Quantity};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const KEYS: &[&str] = &["metric_map"];
const METRIC_KEYS: &[&str] = &["quantity", "scale", "index", "uuid"];
/// From femto- to peta-, which is more than any unit needs.
const LEAST_SCALE: f64 = 1e-15;
const MOST_SCALE: f64 = 1e15;
/// MiB, watts and degrees Celsius are taken as they are.
const USUAL_SCALE: f64 = 1.0;

impl Reader<'_> {
    /// Own metrics by name.
    pub(super) fn prometheus(&mut self, table: &DeTable<'_>) -> Vec<MappedMetric> {
        let mut all = Vec::new();
        for (key, value) in table {
            let name: &str = key.get_ref().as_ref();
            match (name, value.get_ref()) {
                ("metric_map", DeValue::Table(metrics)) => {
                    for (name, value) in metrics {
                        all.extend(self.metric(name, value));
                    }
                }
                ("metric_map", _) => {
                    self.problem(value.span(), "`metric_map` must be a table".to_owned());
                }
                (unknown, _) => self.unknown(key.span(), unknown, KEYS),
            }
        }
        all
    }

    fn metric(
        &mut self,
        key: &Spanned<impl AsRef<str>>,
        value: &Spanned<DeValue<'_>>,
    ) -> Option<MappedMetric> {
        let name: &str = key.get_ref().as_ref();
        let DeValue::Table(table) = value.get_ref() else {
            let message = format!("`{name}` must be a table with a `quantity`");
            self.problem(value.span(), message);
            return None;
        };
        let mut quantity = None;
        let (mut scale, mut index_label, mut uuid_label) = (None, None, None);
        for (key, value) in table {
            match key.get_ref().as_ref() {
                "quantity" => quantity = Some(self.quantity(value)),
                "scale" => scale = Some(self.number(value, LEAST_SCALE, MOST_SCALE)),
                "index" => index_label = self.string(value),
                "uuid" => uuid_label = self.string(value),
                unknown => self.unknown(key.span(), unknown, METRIC_KEYS),
            }
        }
        if quantity.is_none() {
            self.problem(key.span(), format!("`{name}` has no `quantity`"));
        }
        let quantity = quantity.flatten()?;
        // A share of one that is taken for a percentage makes a busy GPU idle.
        if scale.is_none() && quantity.metric().is_percent() {
            let message =
                format!("`{name}` has no `scale`: 100 for a share of one, 1 for a percentage");
            self.problem(key.span(), message);
        }
        Some(MappedMetric {
            name: name.to_owned(),
            quantity,
            scale: scale.flatten().unwrap_or(USUAL_SCALE),
            exporter: Exporter::Other,
            index_label,
            uuid_label,
        })
    }

    fn quantity(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Quantity> {
        let name = self.string(value)?;
        let known = Quantity::from_name(&name);
        if known.is_none() {
            let names: Vec<&str> = Quantity::ALL.iter().map(|one| one.name()).collect();
            let message = format!("`{name}` is not one of {}", names.join(", "));
            self.problem(value.span(), message);
        }
        known
    }
}
