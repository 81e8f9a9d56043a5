//! `gpucost reserved`: commitments against on-demand, for the fleet or for one
//! type.

use super::args::{Growth, ReservedArgs};
use super::history::read_recorded;
use super::planning::Planning;
use super::scope::invocation;
use super::{
    ExitCode, Failure, Io, Outcome, audit, estate, known_prices, output, refusal, refused,
};
use crate::analysis::{
    Offer, Question, assess_commitments, audit as audited, compare, planned_commitments,
};
use crate::catalog::family;
use crate::config::SettingsFile;
use crate::domain::{
    CommitmentTerm, Currency, HourlyRate, Instalments, PaymentOption, PriceOption, PriceQuote,
    counted,
};
use crate::report::growth_answer;
use crate::report::{reserved_doc, reserved_fleet_doc};
use crate::savings::{
    CommitmentFigures, MOST_GROWTH, PricedCommitment, ReservedReport, SteadyUse, instalments,
};
use crate::trend::{Ledger, MonthlyGrowth, monthly_growth};
use rust_decimal::Decimal;
use std::collections::BTreeMap;

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
    let Some(place) = share else {
        return Err(refusal!("`--growth trend` needs recorded days";
            "pass their place with `--recorded-audits`, or a growth such as `--growth 3%/month`"));
    };
    let aws = estate::aws_options(&args.estate.aws, settings, io);
    let recorded = read_recorded(Some(place), &aws, &args.estate.out, io)?;
    let ledger = Ledger::of(recorded.rows, &recorded.runs, io.now);
    let growth = monthly_growth(&ledger).ok_or_else(refused!(
        "the history is too short for a growth";
        "it takes 20 whole days in each of the last two months; pass a growth such as `--growth \
         3%/month`"))?;
    let MonthlyGrowth { share, before, after } = growth;
    if share.abs() > MOST_GROWTH {
        return Err(refusal!("the history grew by more than 50% in a month";
            "pass a growth such as `--growth 3%/month`"));
    }
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
