//! `gpucost kpi`: the key figures of an estate with those of its workloads and its jobs, or what a
//! run costs with each unit of its work.

use crate::analysis::{Audit, AuditedWorkload, GpuHours, GpuUse, JobCost, RunKpis, waits_for_work};
use crate::domain::{Currency, Kpi, KpiValue, Money, Policy, UnitCost, separated};
use crate::report::doc::{Doc, Given, Missing, Step, Table, Value, columns, rows};
use crate::report::shared::text::{counted, minute, percent, unit_price};

/// A key figure: its name, what it is about, its value and its unit.
struct Figure(String, String, Value, String);

columns! {
    /// On an estate and of a run.
    fn of_kpis(row: Figure) {
        text "kpi", "KPI", Narrow(0), row.0.clone();
        text "about", "about", Narrow(0), row.1.clone();
        opt cell "value", "value", Narrow(0), row.2.clone();
        text "unit", "unit", Narrow(0), row.3.clone();
    }
}

/// A workload with GPUs that runs, and their use and hours.
type UsedWorkload<'a> = (&'a AuditedWorkload, GpuUse, GpuHours);

fn used_workload<'a>(audited: &'a AuditedWorkload, policy: &Policy) -> Option<UsedWorkload<'a>> {
    let workload = &audited.workload;
    let mut used = GpuUse::new(workload.monthly_cost().map_or(Currency::Usd, Money::currency));
    used.add(workload, policy);
    let hours = used.hours()?;
    Some((audited, used, hours))
}

/// The same figure as that of the audit: its rate over the GPUs and their mean utilization.
fn useful_hour((audited, used, _): &UsedWorkload<'_>) -> Option<Money> {
    let cost = used.cost_per_useful_gpu_hour()?;
    Some(Money::new(audited.workload.cost_per_useful_gpu_hour()?, cost.currency()))
}

columns! {
    /// Without a measured instance, neither use nor rest is known.
    fn of_workloads<'a>(row: UsedWorkload<'a>) {
        text "workload", "workload", Narrow(0), row.0.workload.name.clone();
        text "id", "id", Wide, row.0.workload.id();
        opt money "monthly_cost", "month", Narrow(0), row.0.workload.monthly_cost();
        number "gpu_hours_monthly", "GPU hours", Narrow(0), row.2.all;
        opt number "useful_gpu_hours_monthly", "useful", Narrow(0), row.1.utilization_percent().map(|_| row.2.useful);
        opt number "idle_gpu_hours_monthly", "idle", Narrow(0), row.1.utilization_percent().map(|_| row.2.idle);
        number "unmeasured_gpu_hours_monthly", "unmeasured", Narrow(0), row.2.unmeasured;
        opt percent "utilization_percent", "use", Narrow(0), row.1.utilization_percent();
        opt price "cost_per_useful_gpu_hour", "useful hour", Narrow(0), useful_hour(row);
        opt number[2] "time_to_first_work_hours", "first work h", Wide, waits_for_work(&row.0.workload).map(|wait| wait.as_secs_f64() / 3_600.0).reduce(f64::max);
    }

    fn of_jobs<'a>(row: &'a JobCost) {
        text "training_job", "training job", Narrow(0), row.name.clone();
        text "account", "account", Wide, row.account.clone();
        text "region", "region", Narrow(0), row.region.clone();
        text "status", "status", Narrow(0), row.status.name().to_owned();
        opt money "cost", "cost", Narrow(0), row.cost;
    }
}

/// The key figures of an audit; `flags` are those that lead to the same estate, each with a
/// blank before it, and `units` the one that counted its work.
pub fn kpi_answer(audit: &Audit, policy: &Policy, flags: &str, units: &str) -> Doc {
    let fleet = Kpi::ALL.iter().map(|kpi| figure(*kpi, audit));
    let figures = fleet.chain(audit.kpis.unit_costs.iter().map(unit_cost));
    let workloads = audit.workloads.iter().filter_map(|workload| used_workload(workload, policy));
    let jobs = Some(&audit.kpis.jobs).filter(|jobs| !jobs.is_empty());
    let window = format!("{} to {}", minute(audit.window.start), minute(audit.window.end));
    Doc {
        name: "kpi",
        headline: headline(audit),
        given: rows! {
            Given::new("window", "window", Value::Text(window), audit.source.name());
            Given::new("hours_per_month", "hours per month", Value::make_number(policy.hours_per_month, 0), "policy");
        },
        tables: rows! {
            Table::of("kpis", "KEY FIGURES", ("row", "rows"), of_kpis(), figures);
            Table::of("workloads", "WORKLOADS  per month, at today's running time", ("workload", "workloads"), of_workloads(), workloads);
            for jobs in jobs => Table::of("training_jobs", "TRAINING JOBS  that ended, with their warm pools", ("job", "jobs"), of_jobs(), jobs);
        },
        caveats: rows! {
            "useful is GPU hours times mean utilization; idle is hours in which a GPU did nothing; in the other measured hours it worked in part".to_owned();
            "a figure of a month is of a month like the window".to_owned();
        },
        missing: unknown(audit, flags),
        next: rows! {
            format!("gpucost kpi{flags}{units} --format csv");
            format!("gpucost audit{flags}{units} --format json");
        },
        ..Doc::default()
    }
}

fn headline(audit: &Audit) -> String {
    match (audit.kpis.get(Kpi::CostPerUsefulGpuHour), audit.kpis.get(Kpi::UtilizationByCost)) {
        (Some(KpiValue::Money(cost)), Some(KpiValue::Measured(used))) => {
            let (cost, used) = (unit_price(cost), percent(used));
            format!("A useful GPU hour costs {cost}; of what measured GPUs cost, {used} is used")
        }
        _ => "What a useful GPU hour costs is unknown".to_owned(),
    }
}

fn figure(kpi: Kpi, audit: &Audit) -> Figure {
    let currency = audit.totals.currency;
    let unit = match kpi {
        Kpi::GpuHours | Kpi::UsefulGpuHours | Kpi::IdleGpuHours | Kpi::UnmeasuredGpuHours => {
            "GPU hours".to_owned()
        }
        Kpi::Utilization | Kpi::UtilizationByCost => "percent".to_owned(),
        Kpi::CostPerUsefulGpuHour => format!("{currency} per GPU hour"),
        Kpi::TrainingJobs => "jobs".to_owned(),
        Kpi::CostPerTrainingJob | Kpi::CostPerCompletedTrainingJob => {
            format!("{currency} per job")
        }
        Kpi::TimeToFirstWork => "hours, median".to_owned(),
    };
    Figure(title(kpi).to_owned(), "fleet".to_owned(), kpi_value(kpi, audit.kpis.get(kpi)), unit)
}

/// Of units of work.
fn unit_cost(cost: &UnitCost) -> Figure {
    let currency = cost.cost.map_or(String::new(), |cost| format!("{} ", cost.currency()));
    let unit = format!("{currency}per {}", per(cost.per(), &cost.unit));
    Figure("cost per unit".to_owned(), cost.name.clone(), Value::make_price(cost.price()), unit)
}

fn unknown(audit: &Audit, flags: &str) -> Vec<Missing> {
    let kpis = &audit.kpis;
    let unmeasured = audit.funnel.unmeasured_gpus;
    let unpriced = kpis.jobs.iter().filter(|job| job.cost.is_none()).count() as u64;
    rows! {
        if unmeasured > 0 => Missing::new(format!("use of {}", counted(unmeasured, "GPU", "GPUs")), format!("`gpucost setup metrics{flags}` prints the agent configuration"));
        if unpriced > 0 => Missing::new(format!("cost of {}", counted(unpriced, "training job", "training jobs")), "`prices.file` in gpucost.toml adds prices; what a training plan paid for has none");
        if kpis.jobs.is_empty() => Missing::new("training jobs", "with `--services ec2,sagemaker`, jobs of the window are read");
        if kpis.get(Kpi::TimeToFirstWork).is_none() => Missing::new("hours from launch to first GPU work", "an instance shows them that was launched in the window and whose GPU worked in it");
        if kpis.unit_costs.is_empty() => Missing::new("units of work", "`--units FILE` says how many inferences, tokens, steps or epochs were done");
    }
}

/// What units of a run cost; `source` says where its hours and type are from.
pub fn kpi_run_answer(kpis: &RunKpis, source: &str) -> Doc {
    let (about, code) = (kpis.run.key.instance_type.clone(), kpis.cost.currency().code());
    let cost =
        Figure("cost of the run".to_owned(), about, Value::Money(kpis.cost), code.to_owned());
    let figures = std::iter::once(cost).chain(kpis.unit_costs.iter().map(unit_cost));
    Doc {
        name: "kpi",
        headline: headline_of_run(kpis),
        given: given_of_run(kpis, source),
        steps: steps_of_run(kpis),
        tables: rows! {
            Table::of("kpis", "KEY FIGURES", ("row", "rows"), of_kpis(), figures);
        },
        caveats: rows! {
            "the price is that of the instances on demand: storage, network and commitments are not in it".to_owned();
        },
        missing: rows! {
            if kpis.unit_costs.is_empty() => Missing::new("units of work", "pass `--unit NAME=COUNT`, or `--log FILE` with `--log-unit NAME=TEXT`, here or to `gpucost profile`");
        },
        ..Doc::default()
    }
}

fn headline_of_run(kpis: &RunKpis) -> String {
    let first = kpis.unit_costs.first().and_then(|unit_cost| {
        let (price, per) = (unit_cost.price()?, per(unit_cost.per(), &unit_cost.unit));
        Some(format!(": {} per {per}", unit_price(price)))
    });
    format!("The run costs {}{}", kpis.cost, first.unwrap_or_default())
}

fn given_of_run(kpis: &RunKpis, source: &str) -> Vec<Given> {
    let (run, quote) = (&kpis.run, &kpis.quote);
    let dated = format!("{}, {}", quote.origin.name(), quote.effective_date);
    let place = format!("{} in {}", run.key.instance_type, run.key.region);
    rows! {
        Given::new("instance_type", "instance type", Value::Text(place), source);
        Given::new("instances", "instances", Value::Count(run.instances.into()), source);
        Given::new("hours", "hours of each", Value::make_number(run.hours, 4), source);
        Given::new("on_demand_hourly", "price per hour", Value::Price(quote.rate.an_hour()), dated);
    }
}

fn steps_of_run(kpis: &RunKpis) -> Vec<Step> {
    let run = &kpis.run;
    let (hours, rate) = (run.hours.round_dp(6).normalize(), kpis.quote.rate.amount());
    let cost = kpis.cost.amount();
    let times = |per: u32| if per == 1 { String::new() } else { format!(" × {per}") };
    rows! {
        Step::new("cost of the run", format!("{} × {hours} h × {}", run.instances, rate.normalize()), Value::Money(kpis.cost));
        for unit in &kpis.unit_costs => Step::new(format!("per {}", per(unit.per(), &unit.unit)), format!("{cost}{} / {}", times(unit.per()), unit.count.normalize()), Value::make_price(unit.price()));
    }
}

/// What people call a key figure.
pub(in crate::report) fn title(kpi: Kpi) -> &'static str {
    match kpi {
        Kpi::GpuHours => "GPU hours per month",
        Kpi::UsefulGpuHours => "useful GPU hours per month",
        Kpi::IdleGpuHours => "idle GPU hours per month",
        Kpi::UnmeasuredGpuHours => "unmeasured GPU hours per month",
        Kpi::Utilization => "utilization",
        Kpi::UtilizationByCost => "utilization weighted by cost",
        Kpi::CostPerUsefulGpuHour => "cost per useful GPU hour",
        Kpi::TrainingJobs => "training jobs",
        Kpi::CostPerTrainingJob => "cost per training job",
        Kpi::CostPerCompletedTrainingJob => "cost per completed training job",
        Kpi::TimeToFirstWork => "hours from launch to first GPU work",
    }
}

/// How many units a price is for, such as `1,000 inferences` or `1 epoch`.
pub(in crate::report) fn per(number: u32, unit: &str) -> String {
    match number {
        1 => unit.to_owned(),
        number => format!("{} {unit}", separated(&number.to_string())),
    }
}

/// A key figure as its cells show it.
pub(in crate::report) fn kpi_value(kpi: Kpi, value: Option<KpiValue>) -> Value {
    Value::of(value, |value| match (value, kpi) {
        (KpiValue::Money(amount), _) => Value::Price(amount),
        (KpiValue::Measured(value), Kpi::Utilization | Kpi::UtilizationByCost) => {
            Value::Percent(value)
        }
        (KpiValue::Measured(value), Kpi::TrainingJobs) => Value::Number(value, 0),
        (KpiValue::Measured(value), Kpi::TimeToFirstWork) => Value::Number(value, 2),
        (KpiValue::Measured(value), _) => Value::Number(value, 1),
    })
}
