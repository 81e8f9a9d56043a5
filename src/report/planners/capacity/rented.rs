//! What is rented for a load: whole instances of the cheapest type that does.

use super::super::figures::{an_hour, step};
use crate::planners::capacity::{Candidate, Capacity, Fits};
use crate::report::shared::text::{counted, money, unit_price};
use crate::report::{Step, Value};

fn cheapest<'a>(found: &'a Capacity<'_>) -> Option<(&'a Candidate, &'a Fits)> {
    let first = found.candidates.first()?;
    Some((first, first.fits.as_ref().ok()?))
}

/// What a headline says of it, after what is needed.
pub(super) fn rented(found: &Capacity<'_>) -> String {
    let zones = found.question.service.zones;
    let over = if zones.count > 1 {
        let (count, survive) = (zones.count, zones.survive);
        format!(" over {count} zones, of which {survive} may be lost")
    } else {
        String::new()
    };
    let Some((one, fits)) = cheapest(found) else {
        if over.is_empty() {
            return over;
        }
        return format!("; {}{over}", counted(found.fleet.gpus, "GPU", "GPUs"));
    };
    let fitting = found.candidates.iter().filter(|one| one.fits.is_ok());
    let which = if fitting.count() > 1 {
        "cheapest: "
    } else {
        ""
    };
    let cost = fits.cost.map_or_else(
        || "unpriced".to_owned(),
        |cost| format!("{} per month", money(cost.monthly)),
    );
    format!(
        "; {which}{} × {} with {}{over}, {cost}",
        fits.fleet.instances,
        one.shape.instance_type,
        counted(fits.fleet.gpus, "GPU", "GPUs"),
    )
}

/// How it follows from the GPUs of a zone.
pub(super) fn rented_steps(found: &Capacity<'_>) -> Vec<Step> {
    let Some((one, fits)) = cheapest(found) else {
        return Vec::new();
    };
    let (fleet, service) = (fits.fleet, &found.question.service);
    let (needed, each) = (fleet.gpus_per_zone, fleet.gpus_per_instance);
    let instances = match service.zones.count {
        0 | 1 => format!("{needed} / {each}, rounded up"),
        zones => format!("{zones} × ({needed} / {each}, rounded up)"),
    };
    let name = format!("instances of {}", one.shape.instance_type);
    let mut steps = vec![
        step(&name, instances, Value::Count(fleet.instances)),
        step(
            "GPUs rented",
            format!("{} × {each}", fleet.instances),
            Value::Count(fleet.gpus),
        ),
    ];
    if let (Some(quote), Some(cost)) = (&fits.quote, fits.cost) {
        let price = unit_price(an_hour(quote.rate));
        let hours = service.hours_per_month.normalize();
        steps.push(step(
            "per month",
            format!("{} × {price} × {hours}", fleet.instances),
            Value::Money(cost.monthly),
        ));
    }
    steps
}
