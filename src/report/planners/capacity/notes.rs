//! What somebody who acts on an answer must know.

use crate::domain::{Provider, shell_word};
use crate::planners::capacity::{
    Capacity, Demand, Fits, Load, RequestCounts, ServiceTimes, ThroughputBasis,
};
use crate::report::Missing;
use crate::report::shared::text::counted;

/// How many decimals figures have in words, at most.
const DECIMALS: f64 = 1e6;

/// A number without zeros behind its last decimal.
pub(super) fn plain(value: f64) -> String {
    let rounded = (value * DECIMALS).round() / DECIMALS;
    format!("{rounded}")
}

pub(super) fn caveats(found: &Capacity<'_>) -> Vec<String> {
    let question = &found.question;
    let load = &question.service.load;
    let mut caveats = Vec::new();
    if load.objective.is_none() {
        caveats.push(
            "without `--objective` waits are not bounded: close to 100% busy, requests queue"
                .to_owned(),
        );
    }
    if let ThroughputBasis::Utilization { .. } = question.basis {
        caveats.push(
            "assumed: twice the requests keep a GPU busy for twice the time; larger batches may \
             serve more"
                .to_owned(),
        );
    }
    if load.objective.is_some() {
        caveats.push(assumed(load));
    }
    if load.gpu.batch > 1 {
        caveats.push(
            "assumed: a request takes as long in a smaller batch, and a free place in a batch is \
             taken at once (continuous batching)"
                .to_owned(),
        );
    }
    let fits = found.candidates.iter();
    let fits: Vec<&Fits> = fits.filter_map(|one| one.fits.as_ref().ok()).collect();
    if fits.iter().any(|fits| fits.is_derived()) {
        caveats.push(
            "derived: throughput and time on another GPU follow from specifications (memory \
             bandwidth, dense FP16; the worse ratio where `--bound` is unknown); measure before \
             you buy"
                .to_owned(),
        );
    }
    if fits.iter().any(|fits| fits.fleet.gpus_per_instance > 1) {
        caveats.push("assumed: each GPU runs a replica of its own".to_owned());
    }
    caveats.extend(question.counts.map(of_counts).unwrap_or_default());
    caveats.extend(price_dates(&fits, question.counts.is_some()));
    caveats
}

/// What counts by period do not show.
fn of_counts(counts: &RequestCounts) -> Vec<String> {
    let mut caveats = vec![format!(
        "the counts span {} h in periods of {} s: shorter bursts and other hours may be busier",
        plain(counts.lasted_hours()),
        plain(counts.period_seconds)
    )];
    if counts.max_per_second > counts.peak_per_second {
        caveats.push(format!(
            "the busiest period has {} requests per second, {} times the peak that is planned \
             for: `--request-peak max`",
            plain(counts.max_per_second),
            plain(counts.max_per_second / counts.peak_per_second)
        ));
    }
    if counts.missing > 0 {
        let missing = counted(counts.missing, "period has", "periods have");
        caveats.push(format!(
            "{missing} no count, which is not taken for zero: the mean is that of the others"
        ));
    }
    caveats
}

/// What a latency rests on.
fn assumed(load: &Load<'_>) -> String {
    match (load.demand, load.service_times) {
        (Demand::Random, ServiceTimes::Exponential) => {
            "assumed: requests arrive independently at a steady rate, and their times on a GPU \
             are exponentially distributed; bursts need more"
                .to_owned()
        }
        (Demand::Random, ServiceTimes::Fixed) => {
            "assumed: requests arrive independently at a steady rate and all take as long; \
             waits are those of exponential times, which are longer; bursts need more"
                .to_owned()
        }
        (Demand::Recorded(recording), _) => format!(
            "the recording lasts {} s; other hours may be busier",
            plain(recording.lasted_seconds())
        ),
    }
}

/// Since when the prices hold, and where they are from.
fn price_dates(fits: &[&Fits], is_mean: bool) -> Option<String> {
    let quotes = fits.iter().filter_map(|fits| fits.quote.as_ref());
    let oldest = quotes.min_by_key(|quote| quote.effective_date)?;
    let rate = if is_mean {
        "mean rate"
    } else {
        "rate without headroom"
    };
    Some(format!(
        "on-demand prices, the oldest dated {} ({}); cost per million at the {rate}",
        oldest.effective_date, oldest.origin
    ))
}

pub(super) fn missing(found: &Capacity<'_>) -> Vec<Missing> {
    let question = &found.question;
    let mut missing = Vec::new();
    if let (ThroughputBasis::Utilization { measured, .. }, None) =
        (&question.basis, question.counts)
    {
        missing.push(Missing {
            what: format!("requests per second of {}", measured.name),
            remedy: "neither an estate nor samples hold them; read RequestCount of the load \
                     balancer from CloudWatch, or sum(increase(…)) of the server's request \
                     counter from Prometheus, and pass the answer as `--request-counts`, or the \
                     rate as `--served-rate`"
                .to_owned(),
        });
    }
    let unpriced = found.candidates.iter().filter(|one| {
        let fits = one.fits.as_ref();
        fits.is_ok_and(|fits| fits.quote.is_none())
    });
    missing.extend(unpriced.map(|one| Missing {
        what: format!("price of {}", one.shape.instance_type),
        remedy: "unpriced; `gpucost pricing refresh` reads it where it is sold".to_owned(),
    }));
    missing
}

pub(super) fn next(found: &Capacity<'_>) -> Vec<String> {
    let cheapest = found.candidates.first().filter(|one| one.fits.is_ok());
    let Some((cheapest, types)) = cheapest.zip(found.question.types.as_ref()) else {
        return vec!["gpucost pricing".to_owned()];
    };
    if types.key.provider != Provider::Aws {
        return Vec::new();
    }
    vec![format!(
        "gpucost pricing {} --region {}",
        shell_word(&cheapest.shape.instance_type),
        shell_word(&types.key.region)
    )]
}
