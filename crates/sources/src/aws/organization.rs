//! The accounts of an organization, each read through a role in it.

use super::account::connected;
use super::answers::{PASCAL_CASE, Paging, answers};
use super::policy::is_account_id;
use super::role::Role;
use super::service::{Protocol, Service};
use super::session::{AwsOptions, Session};
use crate::domain::{ApiUsage, Cause, CauseKind, Gap, GapSubject, Gathered, partition};
use crate::{Account, Outcome};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// Accounts that are connected to side by side.
const ACCOUNTS_AT_ONCE: usize = 8;
const ACTIVE: &str = "ACTIVE";
/// The other states and statuses of accounts, in which they are not in use.
const NOT_ACTIVE: [&str; 4] = ["PENDING_ACTIVATION", "SUSPENDED", "PENDING_CLOSURE", "CLOSED"];
/// Characters that are shown of another state.
const SHOWN_OF_A_STATE: usize = 40;
const BAD_ID: &str = "the ID of an account is not 12 digits";

pub(super) const ORGANIZATIONS: Service = Service {
    signing_name: "organizations",
    sdk_id: "Organizations",
    host: "organizations.{region}",
    protocol: Protocol::Json("AWSOrganizationsV20161128"),
    id: "organizations",
    paging: Paging { size: 20, may_omit_list: true, ..PASCAL_CASE },
};

/// The region that answers for the organizations of a region's partition.
pub(super) fn organizations_region(region: &str) -> &'static str {
    match partition(region) {
        "aws-cn" => "cn-northwest-1",
        "aws-us-gov" => "us-gov-west-1",
        "aws-iso" => "us-iso-east-1",
        "aws-iso-b" => "us-isob-east-1",
        "aws-iso-e" => "eu-isoe-west-1",
        "aws-iso-f" => "us-isof-south-1",
        "aws-eusc" => "eusc-de-east-1",
        _ => "us-east-1",
    }
}

/// Which accounts are read, and how.
#[derive(Debug, Clone, Default)]
pub struct Organization {
    /// Whether the organization is asked which accounts it has.
    pub is_listed: bool,
    /// The accounts to read, of the organization where it is asked; empty for all of it.
    pub accounts: Vec<String>,
    pub role: Role,
    /// What the role's trust asks the caller for.
    pub external_id: Option<String>,
}

/// Connects to the accounts of an organization. The caller's own account is read with the
/// caller's credentials, because the management account has no such role. An account
/// that cannot be read is a gap.
///
/// # Errors
/// When there are no usable credentials, the accounts cannot be listed, or none of them
/// can be read.
pub async fn connect_organization(
    options: &AwsOptions,
    asked: &Organization,
    regions: Option<&[String]>,
    agent_namespace: &str,
    progress: &dyn Fn(&str),
) -> Outcome<Gathered<Vec<Account>>> {
    let session = Session::connect(options).await?;
    let own = session.account().await?;
    let Gathered { value: ids, mut gaps } =
        wanted_accounts(&session, asked, &own, progress).await?;
    let answers: Vec<_> = stream::iter(&ids)
        .map(|id| {
            let (session, own) = (&session, &own);
            async move {
                let session = if id == own {
                    session.clone()
                } else {
                    let arn = asked.role.arn(partition(session.home_region()), id);
                    session.assume(&arn, asked.external_id.as_deref()).await?
                };
                connected(options, session, id.clone(), regions, agent_namespace).await
            }
        })
        .buffered(ACCOUNTS_AT_ONCE)
        .collect()
        .await;
    let mut accounts = Vec::with_capacity(ids.len());
    let mut first_error = None;
    for (id, answer) in ids.iter().zip(answers) {
        match answer {
            Ok(found) => {
                accounts.push(found.value);
                gaps.extend(found.gaps.into_iter().map(|gap| Gap { place: id.clone(), ..gap }));
            }
            Err(error) => {
                gaps.push(error.gap(GapSubject::Account, id, "it is omitted"));
                first_error.get_or_insert(error);
            }
        }
    }
    match (first_error, accounts.first_mut()) {
        (Some(first), None) => return Err(first),
        // The calls that found the accounts were made whether the caller's is read or not.
        (_, Some(first)) if !ids.contains(&own) => count_with(first, session),
        _ => {}
    }
    Ok(Gathered { value: accounts, gaps })
}

/// Has an account report the calls of a session with its own.
fn count_with(account: &mut Account, session: Session) {
    let own = std::mem::replace(&mut account.meter, Box::new(ApiUsage::default));
    account.meter = Box::new(move || {
        let mut usage = own();
        usage.add(session.usage());
        usage
    });
}

/// The accounts to read, ascending, each once.
async fn wanted_accounts(
    session: &Session,
    asked: &Organization,
    own: &str,
    progress: &dyn Fn(&str),
) -> Outcome<Gathered<Vec<String>>> {
    let named: BTreeSet<String> = asked.accounts.iter().cloned().collect();
    if !asked.is_listed {
        return Ok(Gathered::whole(named.into_iter().collect()));
    }
    progress("accounts of the organization");
    let (accounts, skipped) = chosen(&listed_accounts(session).await?, &named, own);
    progress(&format!(
        "{} accounts of the organization, {skipped} not active",
        accounts.value.len()
    ));
    Ok(accounts)
}

answers! { "PascalCase":
    /// An account as its organization lists it.
    struct Listed {
        id: String,
        state: Option<String>,
        /// What came before the state, and ends with it.
        status: Option<String>,
    }
}

/// Every account of the organization; pages may be empty before the last.
async fn listed_accounts(session: &Session) -> Outcome<Vec<Listed>> {
    let clients = session.in_region(organizations_region(session.home_region()));
    let listed: Vec<Listed> =
        clients.ask_list(&ORGANIZATIONS, "ListAccounts", "Accounts", json!({})).await?;
    if listed.iter().all(|account| is_account_id(&account.id)) {
        return Ok(listed);
    }
    Err(session.unreadable("organizations:ListAccounts", BAD_ID))
}

/// The active accounts among those that are named, all where none is; and how many are not
/// active. One that is named and not there is a gap, and so is one whose state says nothing.
/// An organization has the caller's own account, so that a list of all accounts without it
/// is not whole.
fn chosen(
    listed: &[Listed],
    named: &BTreeSet<String>,
    own: &str,
) -> (Gathered<Vec<String>>, usize) {
    let is_wanted = |id: &str| named.is_empty() || named.contains(id);
    let mut active: BTreeSet<&str> = BTreeSet::new();
    let mut unclear: BTreeMap<&str, &str> = BTreeMap::new();
    for account in listed {
        match account.state.as_deref().or(account.status.as_deref()) {
            Some(ACTIVE) => {
                active.insert(&account.id);
            }
            Some(state) if NOT_ACTIVE.contains(&state) => {}
            state => {
                unclear.insert(&account.id, state.unwrap_or_default());
            }
        }
    }
    unclear.retain(|id, _| is_wanted(id) && !active.contains(id));
    let gap = |id: &str, cause| Gap::of(GapSubject::Account, id, cause);
    let mut gaps: Vec<Gap> = unclear
        .iter()
        .map(|(id, state)| {
            let state: String = state.chars().take(SHOWN_OF_A_STATE).collect();
            gap(id, Cause::of(CauseKind::AccountStateUnknown, [&state]))
        })
        .collect();
    let is_there = |id: &str| active.contains(id) || unclear.contains_key(id);
    let missing = named.iter().filter(|id| !is_there(id));
    gaps.extend(missing.map(|id| gap(id, Cause::of(CauseKind::AccountNotListed, []))));
    if named.is_empty() && !is_there(own) {
        gaps.push(gap(own, Cause::of(CauseKind::OwnAccountNotListed, [])));
    }
    let skipped = listed.len() - active.len();
    let value = active.into_iter().filter(|id| is_wanted(id)).map(str::to_owned).collect();
    (Gathered { value, gaps }, skipped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::aws::access::dns_suffix;
    use crate::aws::answers::{Part, part};
    use crate::domain::Hidden;

    fn page(text: &str) -> Part<Listed> {
        let page = serde_json::from_str(text).expect("JSON");
        part(("organizations:ListAccounts", "Accounts"), &ORGANIZATIONS.paging, page)
            .expect("a page")
    }

    fn names(ids: &[&str]) -> BTreeSet<String> {
        ids.iter().map(|id| (*id).to_owned()).collect()
    }

    fn causes(accounts: &Gathered<Vec<String>>) -> Vec<(&str, &str)> {
        assert!(accounts.gaps.iter().all(|gap| gap.hides() == Hidden::Instances));
        let gaps = accounts.gaps.iter();
        gaps.map(|gap| (gap.place.as_str(), gap.reason.as_str())).collect()
    }

    #[test]
    fn the_state_decides_and_the_status_where_there_is_none() {
        let (listed, next) = page(
            r#"{"Accounts": [
                {"Id": "1", "State": "ACTIVE", "Status": "SUSPENDED", "Name": "a"},
                {"Id": "2", "State": "PENDING_CLOSURE", "Status": "ACTIVE"},
                {"Id": "3", "Status": "ACTIVE", "JoinedTimestamp": 1.5},
                {"Id": "4", "State": "SUSPENDED"},
                {"Id": "5", "State": "PENDING_ACTIVATION"},
                {"Id": "6", "State": "CLOSED"}
            ]}"#,
        );
        assert_eq!(next, None);
        let (accounts, skipped) = chosen(&listed, &BTreeSet::new(), "1");
        assert_eq!(accounts.value, ["1", "3"]);
        assert_eq!(skipped, 4);
        assert_eq!(accounts.gaps, []);
        let (some, _) = chosen(&listed, &names(&["3", "4"]), "1");
        assert_eq!(some.value, ["3"]);
        let missing = "the organization has no active account with this ID; it is omitted";
        assert_eq!(causes(&some), [("4", missing)]);
    }

    #[test]
    fn an_account_whose_state_says_nothing_is_a_gap() {
        let (listed, _) = page(
            r#"{"Accounts": [
                {"Id": "1", "State": "ACTIVE"},
                {"Id": "2", "State": "ACTIVE_LIMITED"},
                {"Id": "3"}
            ]}"#,
        );
        let (accounts, skipped) = chosen(&listed, &BTreeSet::new(), "1");
        assert_eq!(accounts.value, ["1"]);
        assert_eq!(skipped, 2);
        let limited = "its state is unknown: ACTIVE_LIMITED; it is omitted";
        let none = "its state is unknown; it is omitted";
        assert_eq!(causes(&accounts), [("2", limited), ("3", none)]);
        let (some, _) = chosen(&listed, &names(&["1", "3"]), "1");
        assert_eq!(some.value, ["1"]);
        assert_eq!(causes(&some), [("3", none)]);
    }

    #[test]
    fn a_list_without_the_callers_account_is_not_whole() {
        let (listed, _) = page(r#"{"Accounts": [{"Id": "2", "State": "ACTIVE"}]}"#);
        let own = "the organization does not list this account, which is the caller's own, as \
                   active, so that others may be missing too";
        let (empty, _) = chosen(&[], &BTreeSet::new(), "1");
        assert_eq!((empty.value.len(), causes(&empty)), (0, vec![("1", own)]));
        let (accounts, _) = chosen(&listed, &BTreeSet::new(), "1");
        assert_eq!(accounts.value, ["2"]);
        assert_eq!(causes(&accounts), [("1", own)]);
        // Whoever is named is there.
        let (some, _) = chosen(&listed, &names(&["2"]), "1");
        assert_eq!(some.gaps, []);
    }

    #[test]
    fn a_page_may_be_empty() {
        let (listed, next) = page(r#"{"Accounts": [], "NextToken": "t"}"#);
        assert!(listed.is_empty());
        assert_eq!(next.as_deref(), Some("t"));
        assert_eq!(page("{}"), (Vec::new(), None));
    }

    // As `partitions.json` and `endpoints.json` of botocore 1.43.11 have them.
    #[test]
    fn each_partition_has_its_hosts_and_its_organizations() {
        for (region, name, suffix, organizations) in [
            ("eu-west-1", "aws", "amazonaws.com", "us-east-1"),
            ("cn-north-1", "aws-cn", "amazonaws.com.cn", "cn-northwest-1"),
            ("us-gov-east-1", "aws-us-gov", "amazonaws.com", "us-gov-west-1"),
            ("us-iso-west-1", "aws-iso", "c2s.ic.gov", "us-iso-east-1"),
            ("us-isob-east-1", "aws-iso-b", "sc2s.sgov.gov", "us-isob-east-1"),
            ("eu-isoe-west-1", "aws-iso-e", "cloud.adc-e.uk", "eu-isoe-west-1"),
            ("us-isof-east-1", "aws-iso-f", "csp.hci.ic.gov", "us-isof-south-1"),
            ("eusc-de-east-1", "aws-eusc", "amazonaws.eu", "eusc-de-east-1"),
        ] {
            assert_eq!(partition(region), name);
            assert_eq!(dns_suffix(region), suffix);
            assert_eq!(organizations_region(region), organizations);
        }
    }
}
