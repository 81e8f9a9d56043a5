//! `gpucost capacity`: GPUs for a rate of requests, or servers for requests in batches, and what
//! they cost.

use crate::domain::{Provider, shell_word};
use crate::planners::Today;
use crate::planners::batching::CurvePoint;
use crate::planners::batching::{BatchChoice, Batching};
use crate::planners::capacity::{
    Candidate, Capacity, Demand, Fits, Fleet, Load, ServiceTimes, ThroughputBasis,
};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, columns, rows};
use crate::report::planners::{current, decimal, decimals_of, not_launched};
use crate::report::shared::text::{count, counted, unit_price};
use crate::savings::{Ratio, RatioBasis};
use rust_decimal::Decimal;

columns! {
    /// Of a type that serves the load; of none for GPUs of a kind alone.
    fn fleets<'a>(row: (Option<&'a Candidate>, Fits)) {
        opt text "instance_type", "type", Narrow(0), row.0.map(|candidate| candidate.shape.instance_type.clone());
        opt text "gpu_model", "GPU", Wide, row.0.and_then(|candidate| candidate.shape.gpu.as_ref()).map(|gpu| gpu.model.name().to_owned());
        count "gpus_per_instance", "GPUs each", Wide, row.1.fleet.gpus_per_instance;
        word[&["derived", "given"]] "throughput", "throughput", Wide, if row.1.is_derived() { "derived" } else { "given" };
        number[2] "per_gpu_per_second", "per GPU/s", Narrow(0), row.1.per_gpu_per_second, "Requests.";
        count "gpus_needed", "needed", Narrow(0), row.1.need.gpus;
        percent "utilization_percent", "busy", Wide, row.1.need.utilization_percent;
        opt number[3] "latency_seconds", "latency s", Narrow(0), row.1.need.latency.map(|latency| latency.seconds), "At the percentile of the objective.";
        count "instances", "instances", Narrow(0), row.1.fleet.instances;
        count "gpus", "GPUs", Narrow(0), row.1.fleet.gpus;
        opt price "hourly_cost", "hour", Wide, row.1.cost.map(|cost| cost.hourly);
        opt money "monthly_cost", "month", Narrow(0), row.1.cost.map(|cost| cost.monthly);
        opt price "cost_per_million_requests", "1M requests", Narrow(0), row.1.cost.and_then(|cost| cost.per_million_requests);
        opt price "cost_per_million_tokens", "1M tokens", Narrow(0), row.1.cost.and_then(|cost| cost.per_million_tokens);
    }

    fn refused<'a>(row: (&'a str, &'a String)) {
        text "instance_type", "type", Narrow(0), row.0.to_owned();
        text "reason", "reason", Narrow(0), row.1.clone();
    }
}

pub fn capacity_answer(plan: &Capacity<'_>) -> Doc {
    Doc {
        name: "capacity",
        headline: headline(plan),
        given: given(plan),
        steps: steps(plan),
        tables: tables(plan),
        caveats: caveats(plan),
        missing: missing_data(plan),
        next: next(plan),
        ..Doc::default()
    }
}

/// A number with up to six decimals, and no zeros behind the last.
fn plain(value: f64) -> String {
    format!("{}", (value * 1e6).round() / 1e6)
}

fn fits<'a>(plan: &'a Capacity<'_>) -> impl Iterator<Item = (&'a Candidate, &'a Fits)> {
    plan.candidates.iter().filter_map(|candidate| Some((candidate, candidate.fits.as_ref().ok()?)))
}

fn headline(plan: &Capacity<'_>) -> String {
    let service = &plan.question.service;
    let (load, zones) = (&service.load, service.zones);
    let gpus = |gpus: u64| counted(gpus, "GPU", "GPUs");
    let over = match (zones.count, zones.survive) {
        (0 | 1, _) => String::new(),
        (count, survive) => format!(" over {count} zones, of which {survive} may be lost"),
    };
    let rented = match fits(plan).next() {
        Some((candidate, Fits { fleet, cost, .. })) => {
            let mark = if fits(plan).count() > 1 { "cheapest: " } else { "" };
            let cost =
                cost.map_or("unpriced".to_owned(), |cost| format!("{} per month", cost.monthly));
            let (instances, name) = (fleet.instances, &candidate.shape.instance_type);
            format!("; {mark}{instances} × {name} with {}{over}, {cost}", gpus(fleet.gpus))
        }
        None if over.is_empty() => over,
        None => format!("; {}{over}", gpus(plan.fleet.gpus)),
    };
    let parts: Vec<String> = rows! {
        format!("{} {} {} requests per second", gpus(plan.need.gpus), if plan.need.gpus == 1 { "serves" } else { "serve" }, plain(load.per_second));
        if load.headroom_percent > 0.0 => format!(" with {}% headroom", plain(load.headroom_percent));
        for objective in load.objective => format!(", p{} within {} s", plain(objective.percentile), plain(objective.seconds));
        rented;
    };
    parts.concat()
}

fn given(plan: &Capacity<'_>) -> Vec<Given> {
    let question = &plan.question;
    let (service, load, counts) = (&question.service, &question.service.load, question.counts);
    let tokens = match load.demand {
        Demand::Recorded(record) if record.mean_tokens.is_some() => "mean of the recorded requests",
        _ => "--tokens-per-request",
    };
    rows! {
        Given::new("rate_per_second", "requests per second", Value::Number(load.per_second, 3), rate_source(plan));
        for counts in counts => Given::new("mean_per_second", "requests per second, mean", Value::Number(counts.mean_per_second, 3), "over the periods with a count");
        for counts in counts => Given::new("max_per_second", "requests per second, largest period", Value::Number(counts.max_per_second, 3), "the same");
        Given::new("headroom_percent", "headroom", Value::Percent(load.headroom_percent), "--headroom");
        Given::new("target_percent", "how busy a GPU may be", Value::Percent(load.target_percent), if question.is_target_stated { "--target" } else { "serving_target_percent of the policy" });
        Given::new("per_gpu_per_second", "requests per second of a GPU", Value::Number(load.gpu.per_second(), 3), throughput_source(&question.basis));
        Given::new("batch", "requests at the same time on a GPU", Value::make_count(load.gpu.batch), "--batch");
        Given::new("service_seconds", "seconds of a request on a GPU, mean", Value::Number(load.gpu.service_seconds, 6), "batch / requests per second of a GPU");
        for objective in load.objective => Given::new("objective_seconds", "objective, seconds", Value::Number(objective.seconds, 3), "--objective");
        for objective in load.objective => Given::new("objective_percentile", "percentile of the objective", Value::Number(objective.percentile, 2), "--percentile");
        for mean in service.tokens_per_request => Given::new("tokens_per_request", "tokens of a request", Value::Number(mean, 1), tokens);
        for types in &question.types => Given::new("measured_type", "instance type", Value::text(&types.measured.instance_type), format!("where the throughput is known; prices of {}", types.key.region));
    }
}

fn rate_source(plan: &Capacity<'_>) -> String {
    let question = &plan.question;
    let load = &question.service.load;
    if let Some(counts) = question.counts {
        let periods = counted(counts.periods, "period", "periods");
        let seconds = plain(counts.period_seconds);
        return format!("{}: {} of {periods} of {seconds} s", counts.name, counts.peak);
    }
    let (Demand::Recorded(recording), Some(file)) = (load.demand, &question.arrivals_file) else {
        return "--rate".to_owned();
    };
    let seconds = plain(recording.lasted_seconds());
    let recorded = format!("{file}: {} requests in {seconds} s", count(recording.count() as u64));
    let is_own = (recording.per_second - load.per_second).abs() < f64::EPSILON;
    if is_own { recorded } else { format!("--rate; {recorded}, replayed at it") }
}

fn throughput_source(basis: &ThroughputBasis) -> String {
    match basis {
        ThroughputBasis::Stated => "--per-gpu".to_owned(),
        ThroughputBasis::Latency => "--batch / --latency".to_owned(),
        ThroughputBasis::Recorded => "recorded service times".to_owned(),
        ThroughputBasis::Tokens { per_second, prompt_per_second: None } => {
            format!("{} tokens per second, --tokens-per-second", plain(*per_second))
        }
        ThroughputBasis::Tokens { per_second, prompt_per_second: Some(prompt) } => {
            let (generated, prompt) = (plain(*per_second), plain(*prompt));
            format!("{generated} generated and {prompt} prompt tokens per second")
        }
        ThroughputBasis::Utilization { measured, served_per_second } => {
            let (name, served, mean) =
                (&measured.name, plain(*served_per_second), measured.mean_percent);
            let gpus = counted(plain(measured.gpus), "GPU", "GPUs");
            let samples = counted(measured.samples, "sample", "samples");
            format!("{name}: {served} per second on {gpus} at {mean:.1}% ({samples})")
        }
    }
}

fn steps(plan: &Capacity<'_>) -> Vec<Step> {
    let (service, load, need) = (&plan.question.service, &plan.question.service.load, &plan.need);
    let (planned, per_gpu) = (load.planned_per_second(), load.gpu.per_second());
    let (rate, headroom) = (plain(load.per_second), plain(load.headroom_percent));
    let (gpus, batch, zones, fleet) = (need.gpus, load.gpu.batch, service.zones, plan.fleet);
    let latency = load.objective.zip(need.latency);
    let late = |percentile: f64| plain((100.0 - percentile) / 100.0);
    let fewest = |percentile: f64, seconds: String| match load.demand {
        Demand::Random => {
            let late = late(percentile);
            format!("fewest with P(T > {seconds} s) ≤ {late} in M/M/c, c = {gpus} × {batch}")
        }
        Demand::Recorded(_) => format!(
            "fewest with at most {} of the requests over {seconds} s, replayed on {gpus} × {batch}",
            late(percentile)
        ),
    };
    let rented = fits(plan).next();
    let instances = |fleet: Fleet| {
        let each = format!("{} / {}, rounded up", fleet.gpus_per_zone, fleet.gpus_per_instance);
        if zones.count > 1 { format!("{} × ({each})", zones.count) } else { each }
    };
    let priced = rented
        .and_then(|(_, fits)| Some((fits.fleet.instances, fits.quote.as_ref()?.rate, fits.cost?)));
    rows! {
        Step::new("planned requests per second", format!("{rate} × (1 + {headroom} / 100)"), Value::Number(planned, 3));
        Step::new("GPUs for the rate", format!("{} / ({} × {}%) = {}, rounded up", plain(planned), plain(per_gpu), plain(load.target_percent), plain(planned / load.usable_per_second(load.gpu))), Value::Count(need.gpus_by_rate));
        for (objective, _) in latency => Step::new("GPUs for the objective", fewest(objective.percentile, plain(objective.seconds)), Value::Count(gpus));
        for (objective, latency) in latency => Step::new(format!("p{} on a GPU alone, seconds", plain(objective.percentile)), "no number of GPUs is faster", Value::Number(latency.floor_seconds, 3));
        for (objective, latency) in latency => Step::new(format!("p{} with these GPUs, seconds", plain(objective.percentile)), "from arrival to end", Value::Number(latency.seconds, 3));
        for (_, latency) in latency => Step::new("requests that wait", "all GPUs work on as many as they can", Value::Percent(latency.waiting_share * 100.0));
        Step::new("how busy they are", format!("{} / ({gpus} × {})", plain(planned), plain(per_gpu)), Value::Percent(need.utilization_percent));
        if zones.count > 1 => Step::new("GPUs per zone", format!("{gpus} / ({} − {}) = {}, rounded up", zones.count, zones.survive, plain(gpus as f64 / f64::from(zones.left()))), Value::Count(fleet.gpus_per_zone));
        if zones.count > 1 => Step::new("GPUs in all zones", format!("{} × {}", zones.count, fleet.gpus_per_zone), Value::Count(fleet.gpus));
        for (candidate, fits) in rented => Step::new(format!("instances of {}", candidate.shape.instance_type), instances(fits.fleet), Value::Count(fits.fleet.instances));
        for (_, fits) in rented => Step::new("GPUs rented", format!("{} × {}", fits.fleet.instances, fits.fleet.gpus_per_instance), Value::Count(fits.fleet.gpus));
        for (instances, rate, cost) in priced => Step::new("per month", format!("{instances} × {} × {}", unit_price(rate.an_hour()), service.hours_per_month.normalize()), Value::Money(cost.monthly));
    }
}

fn tables(plan: &Capacity<'_>) -> Vec<Table> {
    let ratio = Ratio { value: 1.0, basis: RatioBasis::SameGpu };
    let per_gpu_per_second = plan.question.service.load.gpu.per_second();
    let (need, fleet) = (plan.need, plan.fleet);
    let alone = Fits { ratio, per_gpu_per_second, need, fleet, quote: None, cost: None };
    let alone = plan.candidates.is_empty().then_some((None, alone));
    let fits = fits(plan).map(|(candidate, fits)| (Some(candidate), fits.clone()));
    let noun = ("type", "types");
    let reasons = plan.candidates.iter().filter_map(|candidate| {
        Some((candidate.shape.instance_type.as_str(), candidate.fits.as_ref().err()?))
    });
    let refused = Table::of("refused", "REFUSED", noun, refused(), reasons);
    rows! {
        Table::of("fleets", "FLEETS", noun, fleets(), fits.chain(alone));
        if !refused.rows.is_empty() => refused;
    }
}

fn caveats(plan: &Capacity<'_>) -> Vec<String> {
    let question = &plan.question;
    let (load, counts) = (&question.service.load, question.counts);
    let quotes = fits(plan).filter_map(|(_, fits)| fits.quote.as_ref());
    let oldest = quotes.min_by_key(|quote| quote.effective_date);
    let rate = if counts.is_some() { "mean rate" } else { "rate without headroom" };
    rows! {
        if load.objective.is_none() => "without `--objective` waits are not bounded: close to 100% busy, requests queue".to_owned();
        if matches!(question.basis, ThroughputBasis::Utilization { .. }) => "assumed: twice the requests keep a GPU busy for twice the time; larger batches may serve more".to_owned();
        if load.objective.is_some() => latency_basis(load);
        if load.gpu.batch > 1 => "assumed: a request takes as long in a smaller batch, and a free place in a batch is taken at once (continuous batching)".to_owned();
        if fits(plan).any(|(_, fits)| fits.is_derived()) => "derived: throughput and time on another GPU follow from specifications (memory bandwidth, dense FP16; the worse ratio where `--bound` is unknown); measure before you buy".to_owned();
        if fits(plan).any(|(_, fits)| fits.fleet.gpus_per_instance > 1) => "assumed: each GPU runs a replica of its own".to_owned();
        for counts in counts => format!("the counts span {} h in periods of {} s: shorter bursts and other hours may be busier", plain(counts.lasted_hours()), plain(counts.period_seconds));
        for counts in counts.filter(|counts| counts.max_per_second > counts.peak_per_second) => format!("the busiest period has {} requests per second, {} times the peak that is planned for: `--request-peak max`", plain(counts.max_per_second), plain(counts.max_per_second / counts.peak_per_second));
        for missing in counts.map(|counts| counts.missing).filter(|missing| *missing > 0) => format!("{} no count, which is not taken for zero: the mean is that of the others", counted(missing, "period has", "periods have"));
        for quote in oldest => format!("on-demand prices, the oldest dated {} ({}); cost per million at the {rate}", quote.effective_date, quote.origin);
    }
}

/// What a latency rests on.
fn latency_basis(load: &Load<'_>) -> String {
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
        (Demand::Recorded(recording), _) => {
            let seconds = plain(recording.lasted_seconds());
            format!("the recording lasts {seconds} s; other hours may be busier")
        }
    }
}

fn missing_data(plan: &Capacity<'_>) -> Vec<Missing> {
    let question = &plan.question;
    let measured = match (&question.basis, question.counts) {
        (ThroughputBasis::Utilization { measured, .. }, None) => Some(&measured.name),
        _ => None,
    };
    rows! {
        for name in measured => Missing::new(format!("requests per second of {name}"), "neither an estate nor samples hold them; read RequestCount of the load balancer from CloudWatch, or sum(increase(…)) of the server's request counter from Prometheus, and pass the answer as `--request-counts`, or the rate as `--served-rate`");
        for (candidate, _) in fits(plan).filter(|(_, fits)| fits.quote.is_none()) => Missing::new(format!("price of {}", candidate.shape.instance_type), "unpriced; `gpucost pricing refresh` reads it where it is sold");
    }
}

fn next(plan: &Capacity<'_>) -> Vec<String> {
    let Some(((candidate, _), types)) = fits(plan).next().zip(plan.question.types.as_ref()) else {
        return vec!["gpucost pricing".to_owned()];
    };
    let name = shell_word(&candidate.shape.instance_type);
    let region = shell_word(&types.key.region);
    rows! {
        if types.key.provider == Provider::Aws => format!("gpucost pricing {name} --region {region}");
    }
}

/// What each limit on batches leads to, and the cheapest that holds the objective.
/// `curve_source` is where the throughput is from, `server` what has it, `today` what serves
/// the requests now.
pub fn batching_answer(
    batching: &Batching,
    curve_source: &str,
    server: (&str, &str),
    today: Option<&Today>,
) -> Doc {
    let best = &batching.choices[batching.best];
    let named = batching.request.machine.instance_type.as_ref();
    let choices = batching.choices.iter().map(|choice| (choice, batching));
    Doc {
        name: "capacity",
        headline: batching_headline(batching, best, server),
        given: batching_given(batching, curve_source, today),
        steps: batching_steps(batching, best, today),
        tables: rows! {
            Table::of("choices", "LIMITS ON BATCHES", ("limit", "limits"), of_choices(), choices);
            Table::of("curve", "THROUGHPUT of a server", ("point", "points"), of_curve(), batching.request.curve.points());
        },
        caveats: batching_caveats(batching, today),
        missing: rows! {
            if named.is_none() => Missing::new("cost of a server", "pass its instance type with `--type`");
        },
        next: rows! {
            for name in named => format!("gpucost pricing {} --region all", shell_word(name));
        },
        ..Doc::default()
    }
}

fn batching_headline(
    batching: &Batching,
    best: &BatchChoice,
    (singular, many): (&str, &str),
) -> String {
    let machine = &batching.request.machine;
    let servers = counted(best.servers, singular, many);
    let (rate, limit) = (per_second(batching), best.limit);
    let longest = decimal(best.longest_seconds() * 1e3, 1);
    let answer = format!(
        "{rate} requests per second in batches of up to {limit} need {servers}, and take at most \
         {longest} ms if they arrive evenly"
    );
    let (Some(name), Some(month)) = (&machine.instance_type, batching.monthly(best)) else {
        return answer;
    };
    let with = match u64::from(best.machines) * u64::from(machine.servers) {
        rented if rented == u64::from(best.servers) => String::new(),
        rented => format!(" with {}", counted(rented, singular, many)),
    };
    format!("{answer}: {} × {name}{with} for {month} per month", best.machines)
}

/// All requests.
fn per_second(batching: &Batching) -> String {
    let rate = batching.request.requests_per_second;
    decimal(rate, decimals_of(rate))
}

fn batching_given(batching: &Batching, curve_source: &str, today: Option<&Today>) -> Vec<Given> {
    let request = &batching.request;
    let rate = Value::Number(request.requests_per_second, decimals_of(request.requests_per_second));
    rows! {
        Given::new("requests_per_second", "requests per second", rate, "--rate");
        Given::new("curve_points", "points of the curve", Value::make_count(request.curve.points().len()), curve_source);
        Given::new("max_wait_ms", "longest wait for a batch, ms", Value::Number(request.max_wait_seconds * 1e3, 1), "--max-wait");
        Given::new("target_percent", "load at most", Value::Percent(request.target * 100.0), "--target, or serving_target_percent of the policy");
        Given::new("objective_ms", "objective, ms", Value::make_number(request.objective_seconds.map(|seconds| seconds * 1e3), 1), "--objective");
        Given::new("servers_per_instance", "servers on an instance", Value::Count(request.machine.servers.into()), "--type");
        ..today.into_iter().flat_map(current);
    }
}

fn batching_steps(batching: &Batching, best: &BatchChoice, today: Option<&Today>) -> Vec<Step> {
    let request = &batching.request;
    let rate = request.requests_per_second / f64::from(best.servers);
    let total_rate = per_second(batching);
    let rate_decimals = decimals_of(rate).max(2);
    let (wait, service) = (best.wait_seconds * 1e3, best.service_seconds * 1e3);
    let most = decimal(request.curve.items_per_second(f64::from(best.limit)), 2);
    let hours = request.hours_per_month;
    let paid = today.and_then(|today| Some((Decimal::from(today.instances), today.rate?)));
    let of_machines = request.machine.rate.map_or("no price is known".to_owned(), |price| {
        let (machines, price) = (best.machines, unit_price(price.an_hour()));
        format!("{machines} × {price} / ({total_rate} × 3,600) × 10⁶")
    });
    rows! {
        Step::new("requests per second of a server", format!("{total_rate} / {}", best.servers), Value::Number(rate, rate_decimals));
        Step::new("load", format!("{} / {most} at batch {}", decimal(rate, rate_decimals), best.limit), Value::Percent(best.load * 100.0));
        Step::new("batch", batch_of(batching, best, rate), Value::Number(best.batch, 2));
        Step::new("time of a batch, ms", format!("the curve at {}", decimal(best.batch, 2)), Value::Number(service, 2));
        Step::new("longest time, ms", format!("{} + {}", decimal(wait, 2), decimal(service, 2)), Value::Number(best.longest_seconds() * 1e3, 2));
        Step::new("a million requests", of_machines, Value::make_price(batching.per_million(best)));
        for (instances, rate) in paid => Step::new("a month of today's instances", format!("{instances} × {} × {} h", unit_price(rate.an_hour()), hours.normalize()), Value::Money(rate.times_hours(instances * hours).rounded()));
    }
}

/// How a batch comes about.
fn batch_of(batching: &Batching, best: &BatchChoice, rate: f64) -> String {
    let arriving = |seconds: f64| {
        let (rate, ms) = (decimal(rate, decimals_of(rate).max(2)), decimal(seconds * 1e3, 2));
        format!("{rate} × {ms} ms, from 1 to {}", best.limit)
    };
    let max_wait = batching.request.max_wait_seconds;
    if best.wait_seconds > max_wait {
        format!("{}, while a batch runs", arriving(best.service_seconds))
    } else {
        arriving(max_wait)
    }
}

columns! {
    fn of_choices<'a>(row: (&'a BatchChoice, &'a Batching)) {
        count "batch_limit", "limit", Narrow(0), row.0.limit;
        number "mean_batch", "batch", Narrow(0), row.0.batch;
        number "wait_ms", "wait ms", Wide, row.0.wait_seconds * 1e3;
        number "service_ms", "batch ms", Wide, row.0.service_seconds * 1e3;
        number "mean_ms", "mean ms", Narrow(0), row.0.mean_seconds() * 1e3;
        number "longest_ms", "longest ms", Narrow(0), row.0.longest_seconds() * 1e3;
        flag "holds_objective", "holds", Narrow(0), row.0.longest_seconds() <= row.1.request.objective_seconds.unwrap_or(f64::INFINITY);
        percent "load_percent", "load", Narrow(0), row.0.load * 100.0;
        count "servers", "servers", Narrow(0), row.0.servers;
        count "instances", "instances", Narrow(0), row.0.machines;
        opt money "cost_monthly", "month", Narrow(0), row.1.monthly(row.0);
        opt price "cost_per_million_requests", "1M requests", Narrow(0), row.1.per_million(row.0);
    }

    fn of_curve<'a>(row: &'a CurvePoint) {
        count "batch", "batch", Narrow(0), row.batch;
        cell "items_per_second", "items/s", Narrow(0), Value::Number(row.items_per_second, decimals_of(row.items_per_second));
        number "batch_ms", "batch ms", Narrow(0), f64::from(row.batch) / row.items_per_second * 1e3;
    }
}

fn batching_caveats(batching: &Batching, today: Option<&Today>) -> Vec<String> {
    let named = batching.request.machine.instance_type.as_deref();
    rows! {
        ..named.and_then(not_launched);
        for today in today.filter(|today| today.is_committed) => format!("Commitments pay of {}, and cost as much with fewer instances: they save nothing until the commitments end.", today.name);
        "Requests arrive evenly here. At random arrivals, some wait longer, the more the higher the load. Where the rate changes from minute to minute, pass that of the busiest.".to_owned();
        "Between two points of the curve, the time of a batch grows evenly. A batch below the first point takes as long as the first.".to_owned();
    }
}
