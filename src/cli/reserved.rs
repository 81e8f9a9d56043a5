//! `gpucost reserved`: commitments against on-demand, for the fleet or for one
//! type.

use super::args::{DocFormat, EstateArgs, RISKS, hourly_price, hours_of_a_month, place};
use super::choices::within;
use super::history::read_recorded;
use super::planning::Planning;
use super::scope::invocation;
use super::view_args::LimitArgs;
use super::{
    ExitCode, Failure, Io, Outcome, audit, choices, estate, flags, known_prices, output, parsers,
    refusal, refuse_if, refused,
};
use crate::analysis::{
    Offer, Question, assess_commitments, audit as audited, compare, planned_commitments,
};
use crate::catalog::family;
use crate::config::SettingsFile;
use crate::domain::{
    CommitmentTerm, Currency, HourlyRate, Instalments, MOST_PER_HOUR, PaymentOption, PriceOption,
    PriceQuote, Risk, counted,
};
use crate::report::growth_answer;
use crate::report::{reserved_doc, reserved_fleet_doc};
use crate::savings::{
    CommitmentFigures, MOST_GROWTH, PricedCommitment, ReservedReport, SteadyUse, instalments,
};
use crate::sources::store::Place;
use crate::trend::{Ledger, MonthlyGrowth, monthly_growth};
use clap::ValueHint;
use rust_decimal::Decimal;
use std::collections::BTreeMap;

flags! {
    /// `gpucost reserved`.
    pub(super) struct ReservedArgs {
        /// Evaluate one instance type without calling a cloud; `--region` sets its region
        instance_type: Option<String> = arg(long = "type", value_name = "TYPE", help_heading = "One type", conflicts_with_all = ["demo", "from", "from_kubectl", "prometheus_url", "history", "save", "commitments", "redact", "tag", "exclude_tag", "as_of", "lookback", "strict", "allow_empty", "limit", "all"]);
        /// Size on today's usage instead of what the plan of the audit leaves, and advise nothing
        today: bool = arg(long, conflicts_with_all = ["instance_type", "risk"]);
        /// Maximum accepted risk level of the plan [default: medium]
        risk: Option<Risk> = arg(long, value_parser = RISKS, conflicts_with = "instance_type");
        /// What to buy now if usage grows by this much every month, such as `3%/month`, or `trend`
        /// for that of `--recorded-audits`, and what that loses if it does not
        growth: Option<Growth> = arg(long, value_name = "RATE", value_parser = growth, allow_hyphen_values = true, conflicts_with_all = ["instance_type", "limit", "all"]);
        /// Recorded audits for `--growth trend`: a directory or s3://BUCKET/PREFIX [default: that of
        /// --history]
        recorded_audits: Option<Place> = arg(long, value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath, conflicts_with = "instance_type");
        /// Number of instances
        count: u32 = arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1_000_000), requires = "instance_type", conflicts_with_all = ["demo", "from"], help_heading = "One type");
        /// Hours per month that each instance runs [default: hours_per_month of the policy, 730]
        hours_per_month: Option<Decimal> = arg(long, value_name = "HOURS", value_parser = hours_of_a_month, allow_negative_numbers = true, requires = "instance_type", conflicts_with_all = ["demo", "from"], help_heading = "One type");
        /// Payment option of the reserved instances
        payment: PaymentOption = arg(long, value_parser = PAYMENTS, value_name = "PAYMENT", default_value = "no-upfront", requires = "instance_type", conflicts_with_all = ["demo", "from"], help_heading = "One type");
        /// Operating system
        os: String = arg(long, value_name = "OS", default_value = "linux", requires = "instance_type", conflicts_with_all = ["demo", "from"], help_heading = "One type");
        /// On-demand price per hour, instead of the known price
        on_demand_hourly: Option<Decimal> = arg(long, value_name = "PRICE", value_parser = hourly_price, allow_negative_numbers = true, requires = "instance_type", conflicts_with_all = ["demo", "from"], help_heading = "Custom prices");
        /// Hourly part of the 1-year price, instead of the known price
        reserved_1yr_hourly: Option<Decimal> = arg(long, value_name = "PRICE", value_parser = instalment, allow_negative_numbers = true, requires = "instance_type", conflicts_with_all = ["demo", "from"], help_heading = "Custom prices");
        /// Upfront part of the 1-year price, per instance [default: 0]
        reserved_1yr_upfront: Option<Decimal> = arg(long, value_name = "AMOUNT", value_parser = instalment, allow_negative_numbers = true, requires = "reserved_1yr_hourly", conflicts_with_all = ["demo", "from"], help_heading = "Custom prices");
        /// Hourly part of the 3-year price, instead of the known price
        reserved_3yr_hourly: Option<Decimal> = arg(long, value_name = "PRICE", value_parser = instalment, allow_negative_numbers = true, requires = "instance_type", conflicts_with_all = ["demo", "from"], help_heading = "Custom prices");
        /// Upfront part of the 3-year price, per instance [default: 0]
        reserved_3yr_upfront: Option<Decimal> = arg(long, value_name = "AMOUNT", value_parser = instalment, allow_negative_numbers = true, requires = "reserved_3yr_hourly", conflicts_with_all = ["demo", "from"], help_heading = "Custom prices");
        /// Output format [default: table]
        format: Option<DocFormat> = arg(long, value_enum, help_heading = "Output");
        limits: LimitArgs = command(flatten);
        estate: EstateArgs = command(flatten);
    }
}

parsers! {
    /// An hourly part or an upfront of a commitment; either may be zero, not both.
    fn instalment(text) -> Decimal = within(text, Decimal::ZERO..=MOST_PER_HOUR * Decimal::ONE_THOUSAND), "expected an amount of zero or more";
}

choices! {
    PAYMENTS: PaymentOption {
        "no-upfront" = NoUpfront, "No upfront payment";
        "partial-upfront" = PartialUpfront, "Half of the cost upfront";
        "all-upfront" = AllUpfront, "Full cost upfront";
    }
}

/// How much more runs every month.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Growth {
    /// A share, such as 0.03 of `3%/month`.
    Stated(Decimal),
    /// As the recorded days say.
    Trend,
}

/// A growth per month.
fn growth(text: &str) -> Result<Growth, String> {
    if text == "trend" {
        return Ok(Growth::Trend);
    }
    let share: Option<Decimal> = text
        .strip_suffix("/month")
        .unwrap_or(text)
        .trim_end()
        .strip_suffix('%')
        .and_then(|number| number.trim_end().parse().ok())
        .and_then(|number: Decimal| number.checked_div(Decimal::ONE_HUNDRED));
    share.filter(|share| share.abs() <= MOST_GROWTH).map(Growth::Stated).ok_or_else(|| {
        "expected a growth from -50%/month to 50%/month, such as 3%/month, or trend".to_owned()
    })
}

pub(super) fn run(args: &ReservedArgs, io: &mut Io<'_>) -> Outcome {
    let planning = Planning::of_estate(&args.estate, args.format, &[], io)?;
    match &args.instance_type {
        Some(name) => one_type(name, args, &planning, io),
        None => fleet(args, &planning, io),
    }
}

fn fleet(args: &ReservedArgs, planning: &Planning<'_>, io: &mut Io<'_>) -> Outcome {
    planning.check_rows(|format| args.limits.refuse(format))?;
    let settings = &planning.settings;
    let estate = estate::read(&args.estate, settings, io)?;
    let policy = &settings.policy;
    let commitments = if args.today {
        assess_commitments(&estate, policy)
    } else {
        let accepted = audit::risk(args.risk, settings, io)?;
        planned_commitments(&audited(&estate, policy, accepted), &estate, policy)
    };
    let doc = match args.growth {
        Some(growth) => {
            let (growth, source) = monthly_share(growth, args, settings, io)?;
            let flags = invocation(&args.estate, None).estate_flags();
            growth_answer(&commitments, growth, &source, &flags)
        }
        None => reserved_fleet_doc(&commitments),
    };
    let priced = (commitments.oldest_seen_on(), estate.window.end);
    planning.print(&doc, args.limits.most(), priced, io)?;
    Ok(output::close("analyzed", (commitments.instances, 0), &commitments.gaps, &args.estate, io))
}

/// A growth as a share per month, and where it is from.
fn monthly_share(
    growth: Growth,
    args: &ReservedArgs,
    settings: &SettingsFile,
    io: &mut Io<'_>,
) -> Outcome<(Decimal, String)> {
    let share = match growth {
        Growth::Stated(share) => return Ok((share, "--growth".to_owned())),
        Growth::Trend => args.recorded_audits.as_ref().or(args.estate.history.as_ref()),
    };
    let place = share.ok_or_else(refused!("`--growth trend` needs recorded days";
        "pass their place with `--recorded-audits`, or a growth such as `--growth 3%/month`"))?;
    let access = args.estate.aws.access(settings, io);
    let recorded = read_recorded(Some(place), access, &args.estate.out, io)?;
    let ledger = Ledger::of(recorded.rows, &recorded.runs, io.now);
    let growth = monthly_growth(&ledger).ok_or_else(refused!(
        "the history is too short for a growth";
        "it takes 20 whole days in each of the last two months; pass a growth such as `--growth \
         3%/month`"))?;
    let MonthlyGrowth { share, before, after } = growth;
    refuse_if!(share.abs() > MOST_GROWTH;
        "the history grew by more than 50% in a month";
        "pass a growth such as `--growth 3%/month`");
    let source =
        format!("{} to {} against {} to {}", after.first, after.last, before.first, before.last);
    Ok((share, source))
}

fn one_type(name: &str, args: &ReservedArgs, planning: &Planning<'_>, io: &mut Io<'_>) -> Outcome {
    let settings = &planning.settings;
    let question = question(name, args, settings, io)?;
    let book = planning.book(None, args.estate.offline, io)?;
    let prices = planning.prices(&book);
    known_prices::refuse_unknown(&question, &prices)?;
    let offer = compare(&question, &prices).into_iter().next();
    let report = report(name, args, &question, offer.as_ref(), settings)?;
    let oldest = report.quotes().map(|quote| quote.seen_on).min();
    planning.print(&reserved_doc(&report), None, (oldest, io.now), io)?;
    let compared = counted(report.commitments.len(), "commitment", "commitments");
    planning.say(&format!("compared {compared}"), io);
    Ok(ExitCode::Done)
}

fn question(
    name: &str,
    args: &ReservedArgs,
    settings: &SettingsFile,
    io: &Io<'_>,
) -> Outcome<Question> {
    let region = match &args.estate.aws.region {
        Some(named) if known_prices::is_several(named) => {
            return Err(refusal!(
            "`--region {named}` is more than one region: a commitment applies to one";
            "`gpucost pricing --region all TYPE` compares regions"));
        }
        Some(named) => named.trim().to_owned(),
        None => known_prices::home_region(settings, io),
    };
    Ok(Question {
        operating_system: known_prices::operating_system(&args.os)?,
        ..Question::of_aws(vec![name.to_ascii_lowercase()], vec![region])
    })
}

fn report(
    name: &str,
    args: &ReservedArgs,
    question: &Question,
    offer: Option<&Offer>,
    settings: &SettingsFile,
) -> Outcome<ReservedReport> {
    let name = name.to_ascii_lowercase();
    let place = format!("{name} in {} ({})", question.home_region, question.operating_system);
    let listed = offer.and_then(|offer| offer.on_demand.as_ref());
    let (rate, on_demand) = match (args.on_demand_hourly, listed) {
        (Some(own), _) => (HourlyRate::new(own, Currency::of_region(&question.home_region)), None),
        (None, listed) => (listed.map(|quote| quote.rate), listed.cloned()),
    };
    let rate = rate.ok_or_else(refused!("no on-demand price for {place}";
        "pass one with `--on-demand-hourly`"))?;
    let used = SteadyUse {
        on_demand: rate,
        count: args.count,
        hours_per_month: args.hours_per_month.unwrap_or(settings.policy.hours_per_month),
    };
    let mut commitments = listed_commitments(&used, offer);
    let payment = args.payment;
    let mut chosen = [1, 3].map(|years| {
        commitments.get(&PriceOption::Reserved(CommitmentTerm { years, payment })).cloned()
    });
    for (place, own) in own_commitments(args, &used)?.into_iter().enumerate() {
        if let Some(own) = own {
            commitments.insert(own.option, own.clone());
            chosen[place] = Some(own);
        }
    }
    if commitments.is_empty() {
        return Err(none_sold(&name, &place));
    }
    let [one_year, three_years] = chosen;
    Ok(ReservedReport {
        instance_type: name,
        region: question.home_region.clone(),
        operating_system: question.operating_system,
        used,
        on_demand,
        payment,
        one_year,
        three_years,
        commitments: commitments.into_values().collect(),
        capacity_block: offer
            .and_then(|offer| offer.capacity_block.clone())
            .filter(|quote| quote.rate.currency() == rate.currency()),
    })
}

/// Every reserved instance and savings plan that the known prices have, in the
/// currency of the use: amounts in two cannot be compared.
fn listed_commitments(
    used: &SteadyUse,
    offer: Option<&Offer>,
) -> BTreeMap<PriceOption, PricedCommitment> {
    let Some(offer) = offer else { return BTreeMap::new() };
    let reserved =
        offer.reserved.iter().map(|(term, quote)| (PriceOption::Reserved(*term), *term, quote));
    let plans = offer.savings_plans.iter().filter_map(|(option, quote)| match option {
        PriceOption::Ec2InstanceSavingsPlan(term) | PriceOption::ComputeSavingsPlan(term) => {
            Some((*option, *term, quote))
        }
        _ => None,
    });
    let comparable = |quote: &PriceQuote| quote.rate.currency() == used.on_demand.currency();
    reserved
        .chain(plans)
        .filter(|(_, _, quote)| comparable(quote))
        .map(|(option, term, quote)| {
            let priced = PricedCommitment {
                option,
                quote: Some(quote.clone()),
                figures: CommitmentFigures::of(used, term, instalments(quote, term)),
            };
            (option, priced)
        })
        .collect()
}

/// The commitments that flags state, of one year and of three.
fn own_commitments(
    args: &ReservedArgs,
    used: &SteadyUse,
) -> Outcome<[Option<PricedCommitment>; 2]> {
    let own = |years: u8, hourly: Option<Decimal>, upfront: Option<Decimal>| {
        let Some(hourly) = hourly else { return Ok(None) };
        let paid = Instalments { upfront: upfront.unwrap_or_default(), hourly };
        let payment = match (paid.upfront.is_zero(), paid.hourly.is_zero()) {
            (true, true) => {
                return Err(refusal!(
                "`--reserved-{years}yr-hourly 0` without `--reserved-{years}yr-upfront` is not \
                 a price";
                "with all upfront payment, the upfront amount is the price"));
            }
            (true, false) => PaymentOption::NoUpfront,
            (false, true) => PaymentOption::AllUpfront,
            (false, false) => PaymentOption::PartialUpfront,
        };
        let term = CommitmentTerm { years, payment };
        Ok(Some(PricedCommitment {
            option: PriceOption::Reserved(term),
            quote: None,
            figures: CommitmentFigures::of(used, term, paid),
        }))
    };
    Ok([
        own(1, args.reserved_1yr_hourly, args.reserved_1yr_upfront)?,
        own(3, args.reserved_3yr_hourly, args.reserved_3yr_upfront)?,
    ])
}

fn none_sold(name: &str, place: &str) -> Failure {
    let family_name = name.split('.').next().unwrap_or(name);
    let sells_none = family(family_name)
        .is_some_and(|facts| [facts.reserved_1yr, facts.reserved_3yr] == [Some(false); 2]);
    let why = sells_none.then(|| format!(": the {family_name} family has no reserved instances"));
    refusal!("no reserved price for {place}{}", why.unwrap_or_default();
        "set custom prices with `--reserved-1yr-hourly` and `--reserved-3yr-hourly`")
}
