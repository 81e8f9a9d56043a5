//! `gpucost kpi` on an estate: its key figures, those of its workloads, and its jobs.

use crate::analysis::{Audit, AuditedWorkload, GpuUse, JobCost, waits_for_work};
use crate::domain::{Currency, Kpi, KpiValue, Money, Policy, UnitCost};
use crate::report::doc::{Doc, Given, Head, Missing, Table, Value, column, detail};
use crate::report::shared::kpis::{per, title};
use crate::report::shared::text::{counted, minute, percent, unit_price};
use rust_decimal::prelude::ToPrimitive;

/// Columns of the first sheet, on an estate and of a run.
pub(super) const OF_KPIS: [Head; 4] = [
    column("kpi", "KPI"),
    column("about", "about"),
    column("value", "value"),
    column("unit", "unit"),
];
const OF_WORKLOADS: [Head; 10] = [
    column("workload", "workload"),
    detail("id", "id"),
    column("monthly_cost", "month"),
    column("gpu_hours_monthly", "GPU hours"),
    column("useful_gpu_hours_monthly", "useful"),
    column("idle_gpu_hours_monthly", "idle"),
    column("unmeasured_gpu_hours_monthly", "unmeasured"),
    column("utilization_percent", "use"),
    column("cost_per_useful_gpu_hour", "useful hour"),
    detail("time_to_first_work_hours", "first work h"),
];
const OF_JOBS: [Head; 5] = [
    column("training_job", "training job"),
    detail("account", "account"),
    column("region", "region"),
    column("status", "status"),
    column("cost", "cost"),
];

/// The key figures of an audit; `flags` are those that lead to the same estate, each with a
/// blank before it, and `units` the one that counted its work.
pub fn kpi_answer(audit: &Audit, policy: &Policy, flags: &str, units: &str) -> Doc {
    let currency = audit.totals.currency;
    let mut rows: Vec<Vec<Value>> = Kpi::ALL
        .iter()
        .map(|kpi| kpi_row(*kpi, audit.kpis.get(*kpi), currency))
        .collect();
    rows.extend(audit.kpis.unit_costs.iter().map(unit_row));
    let sheet = |key, title: &str, noun, columns: &[Head], rows| Table {
        key,
        title: title.to_owned(),
        noun,
        columns: columns.to_vec(),
        rows,
        ..Table::default()
    };
    let running = audit.workloads.iter();
    let workloads = running.filter_map(|one| workload_row(one, policy));
    let mut sheets = vec![
        sheet("kpis", "KEY FIGURES", ("row", "rows"), &OF_KPIS, rows),
        sheet(
            "workloads",
            "WORKLOADS  per month, at today's running time",
            ("workload", "workloads"),
            &OF_WORKLOADS,
            workloads.collect(),
        ),
    ];
    if !audit.kpis.jobs.is_empty() {
        let rows = audit.kpis.jobs.iter().map(job_row).collect();
        let title = "TRAINING JOBS  that ended, with their warm pools";
        let noun = ("job", "jobs");
        sheets.push(sheet("training_jobs", title, noun, &OF_JOBS, rows));
    }
    Doc {
        name: "kpi",
        headline: headline(audit),
        given: given(audit, policy),
        tables: sheets,
        caveats: vec![
            "useful is GPU hours times mean utilization; idle is hours in which a GPU did \
             nothing; in the other measured hours it worked in part"
                .to_owned(),
            "a figure of a month is of a month like the window".to_owned(),
        ],
        missing: missing(audit, flags),
        next: vec![
            format!("gpucost kpi{flags}{units} --format csv"),
            format!("gpucost audit{flags}{units} --format json"),
        ],
        ..Doc::default()
    }
}

fn headline(audit: &Audit) -> String {
    let useful = audit.kpis.get(Kpi::CostPerUsefulGpuHour);
    let by_cost = audit.kpis.get(Kpi::UtilizationByCost);
    match (useful, by_cost) {
        (Some(KpiValue::Money(cost)), Some(KpiValue::Measured(used))) => format!(
            "A useful GPU hour costs {}; of what measured GPUs cost, {} is used",
            unit_price(cost),
            percent(used)
        ),
        _ => "What a useful GPU hour costs is unknown".to_owned(),
    }
}

fn given(audit: &Audit, policy: &Policy) -> Vec<Given> {
    let (start, end) = (minute(audit.window.start), minute(audit.window.end));
    let hours = policy.hours_per_month.to_f64();
    vec![
        Given {
            key: "window",
            name: "window",
            value: Value::text(format!("{start} to {end}")),
            source: audit.source.name().to_owned(),
        },
        Given {
            key: "hours_per_month",
            name: "hours per month",
            value: Value::of(hours, |hours| Value::Number(hours, 0)),
            source: "policy".to_owned(),
        },
    ]
}

/// The row of a key figure.
fn kpi_row(kpi: Kpi, value: Option<KpiValue>, currency: Currency) -> Vec<Value> {
    let figure = Value::of(value, |value| match value {
        KpiValue::Money(amount) => Value::Price(amount),
        KpiValue::Measured(value) => match kpi {
            Kpi::Utilization | Kpi::UtilizationByCost => Value::Percent(value),
            Kpi::TrainingJobs => Value::Number(value, 0),
            Kpi::TimeToFirstWork => Value::Number(value, 2),
            _ => Value::Number(value, 1),
        },
    });
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
    vec![
        Value::text(title(kpi)),
        Value::text("fleet"),
        figure,
        Value::text(unit),
    ]
}

/// The row of units of work.
pub(super) fn unit_row(one: &UnitCost) -> Vec<Value> {
    let per = per(one.per(), &one.unit);
    let unit = match one.cost.map(Money::currency) {
        Some(currency) => format!("{currency} per {per}"),
        None => format!("per {per}"),
    };
    vec![
        Value::text("cost per unit"),
        Value::text(&one.name),
        Value::of(one.price(), Value::Price),
        Value::text(unit),
    ]
}

/// Of a workload with GPUs that runs.
fn workload_row(one: &AuditedWorkload, policy: &Policy) -> Option<Vec<Value>> {
    let workload = &one.workload;
    let cost = workload.monthly_cost();
    let mut used = GpuUse::new(cost.map_or(Currency::Usd, Money::currency));
    used.add(workload, policy);
    let hours = used.hours()?;
    let number = |value: f64| Value::Number(value, 1);
    let utilization = used.utilization_percent();
    // Without a measured instance neither use nor rest is known.
    let known = |value: f64| Value::of(utilization.map(|_| value), number);
    let waits = waits_for_work(workload).map(|wait| wait.as_secs_f64() / 3_600.0);
    let longest = waits.reduce(f64::max);
    Some(vec![
        Value::text(&workload.name),
        Value::text(workload.id()),
        Value::of(cost, Value::Money),
        number(hours.all),
        known(hours.useful),
        known(hours.idle),
        number(hours.unmeasured),
        Value::of(utilization, Value::Percent),
        Value::of(used.cost_per_useful_gpu_hour(), |cost| {
            Value::Price(Money::new(cost.amount().round_dp(4), cost.currency()))
        }),
        Value::of(longest, |hours| Value::Number(hours, 2)),
    ])
}

fn job_row(job: &JobCost) -> Vec<Value> {
    vec![
        Value::text(&job.name),
        Value::text(&job.account),
        Value::text(&job.region),
        Value::text(job.status.name()),
        Value::of(job.cost, Value::Money),
    ]
}

fn missing(audit: &Audit, flags: &str) -> Vec<Missing> {
    let mut missing = Vec::new();
    let mut add = |what: String, remedy: String| missing.push(Missing { what, remedy });
    if audit.funnel.unmeasured_gpus > 0 {
        let number = audit.funnel.unmeasured_gpus;
        add(
            format!("use of {}", counted(number, "GPU", "GPUs")),
            format!("`gpucost metrics setup{flags}` prints the agent configuration"),
        );
    }
    let unpriced = audit.kpis.jobs.iter().filter(|job| job.cost.is_none());
    let unpriced = unpriced.count() as u64;
    if unpriced > 0 {
        let jobs = counted(unpriced, "training job", "training jobs");
        add(
            format!("cost of {jobs}"),
            "`prices.file` in gpucost.toml adds prices; what a training plan paid for has none"
                .to_owned(),
        );
    }
    if audit.kpis.jobs.is_empty() {
        add(
            "training jobs".to_owned(),
            "with `--services ec2,sagemaker`, jobs of the window are read".to_owned(),
        );
    }
    if audit.kpis.get(Kpi::TimeToFirstWork).is_none() {
        add(
            "hours from launch to first GPU work".to_owned(),
            "an instance shows them that was launched in the window and whose GPU worked in it"
                .to_owned(),
        );
    }
    if audit.kpis.unit_costs.is_empty() {
        add(
            "units of work".to_owned(),
            "`--units FILE` says how many inferences, tokens, steps or epochs were done".to_owned(),
        );
    }
    missing
}
