//! The accounts of an organization, each read through a role in it.

use super::account::connected;
use super::pages::Pages;
use super::partition::{organizations_region, partition};
use super::role::Role;
use super::session::{AwsOptions, Session};
use super::signed::{Protocol, Service};
use crate::domain::{ApiUsage, Cause, CauseKind, Gap, GapSubject, Gathered};
use crate::sources::{Account, SourceError};
use futures_util::{StreamExt, stream};
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeSet;

/// Accounts that are connected to side by side.
const ACCOUNTS_AT_ONCE: usize = 8;
/// Accounts on a page, the most that the interface gives.
const ACCOUNTS_ON_A_PAGE: usize = 20;
const LIST: &str = "organizations:ListAccounts";
const ACTIVE: &str = "ACTIVE";

const ORGANIZATIONS: Service = Service {
    signing_name: "organizations",
    host_prefix: "organizations",
    protocol: Protocol::Json("AWSOrganizationsV20161128"),
    id: "organizations",
};

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
) -> Result<Gathered<Vec<Account>>, SourceError> {
    let session = Session::connect(options).await?;
    let own = session.identity().await?.account;
    let Gathered {
        value: ids,
        mut gaps,
    } = wanted_accounts(&session, asked, progress).await?;
    let answers: Vec<_> = stream::iter(&ids)
        .map(|id| {
            let session = (&session, (own.as_str(), id.as_str()));
            reached(options, session, asked, regions, agent_namespace)
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
                gaps.extend(found.gaps.into_iter().map(|gap| Gap {
                    place: id.clone(),
                    ..gap
                }));
            }
            Err(error) => {
                let cause = error.cause_of(CauseKind::CallFailed, "it is omitted");
                gaps.push(Gap::of(GapSubject::Account, id, cause));
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
    Ok(Gathered {
        value: accounts,
        gaps,
    })
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

/// One account with its regions.
async fn reached(
    options: &AwsOptions,
    (session, (own, id)): (&Session, (&str, &str)),
    asked: &Organization,
    regions: Option<&[String]>,
    agent_namespace: &str,
) -> Result<Gathered<Account>, SourceError> {
    let session = if id == own {
        session.clone()
    } else {
        let arn = asked.role.arn(partition(session.home_region()), id);
        session.assume(&arn, asked.external_id.as_deref()).await?
    };
    connected(options, session, id.to_owned(), regions, agent_namespace).await
}

/// The accounts to read, ascending, each once.
async fn wanted_accounts(
    session: &Session,
    asked: &Organization,
    progress: &dyn Fn(&str),
) -> Result<Gathered<Vec<String>>, SourceError> {
    let named: BTreeSet<String> = asked.accounts.iter().cloned().collect();
    if !asked.is_listed {
        return Ok(Gathered::whole(named.into_iter().collect()));
    }
    progress("accounts of the organization");
    let listed = listed_accounts(session).await?;
    let (found, skipped) = chosen(listed, &named);
    progress(&format!(
        "{} accounts of the organization, {skipped} not active",
        found.value.len()
    ));
    Ok(found)
}

/// An account as its organization lists it.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Listed {
    id: String,
    state: Option<String>,
    /// What came before the state, and ends with it.
    status: Option<String>,
}

impl Listed {
    fn is_active(&self) -> bool {
        let state = self.state.as_ref().or(self.status.as_ref());
        state.is_some_and(|state| state == ACTIVE)
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Page {
    #[serde(default)]
    accounts: Vec<Listed>,
    next_token: Option<String>,
}

/// Every account of the organization; pages may be empty before the last.
async fn listed_accounts(session: &Session) -> Result<Vec<Listed>, SourceError> {
    let region = organizations_region(session.home_region());
    let mut all = Vec::new();
    let mut pages = Pages::of(LIST);
    loop {
        let mut body = json!({ "MaxResults": ACCOUNTS_ON_A_PAGE });
        if let Some(token) = pages.token() {
            body["NextToken"] = token.into();
        }
        let page: Page = session
            .ask(&ORGANIZATIONS, region, "ListAccounts", &body)
            .await?;
        all.extend(page.accounts);
        if !pages.follow(page.next_token.as_deref())? {
            return Ok(all);
        }
    }
}

/// The active accounts among those that are named, all where none is; and how many are not
/// active. One that is named and not there is a gap.
fn chosen(listed: Vec<Listed>, named: &BTreeSet<String>) -> (Gathered<Vec<String>>, usize) {
    let all = listed.len();
    let active: BTreeSet<String> = listed
        .into_iter()
        .filter(Listed::is_active)
        .map(|one| one.id)
        .collect();
    let skipped = all - active.len();
    let missing = named.iter().filter(|id| !active.contains(*id));
    let gaps = missing.map(|id| {
        let cause = Cause::of(CauseKind::AccountNotListed, []);
        Gap::of(GapSubject::Account, id, cause)
    });
    let gaps = gaps.collect();
    let is_wanted = |id: &String| named.is_empty() || named.contains(id);
    let value = active.into_iter().filter(is_wanted).collect();
    (Gathered { value, gaps }, skipped)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &str) -> Page {
        serde_json::from_str(text).expect("a page")
    }

    #[test]
    fn the_state_decides_and_the_status_where_there_is_none() {
        let page = page(
            r#"{"Accounts": [
                {"Id": "1", "State": "ACTIVE", "Status": "SUSPENDED", "Name": "a"},
                {"Id": "2", "State": "PENDING_CLOSURE", "Status": "ACTIVE"},
                {"Id": "3", "Status": "ACTIVE", "JoinedTimestamp": 1.5},
                {"Id": "4", "State": "SUSPENDED"},
                {"Id": "5"}
            ]}"#,
        );
        assert_eq!(page.next_token, None);
        let (all, skipped) = chosen(page.accounts.clone(), &BTreeSet::new());
        assert_eq!(
            (all.value, skipped),
            (vec!["1".to_owned(), "3".to_owned()], 3)
        );
        assert_eq!(all.gaps, []);
        let named = BTreeSet::from(["3".to_owned(), "4".to_owned()]);
        let (some, _) = chosen(page.accounts, &named);
        assert_eq!(some.value, ["3"]);
        let [gap] = some.gaps.as_slice() else {
            panic!("{:?}", some.gaps);
        };
        assert_eq!((gap.place.as_str(), gap.hides_instances()), ("4", true));
    }

    #[test]
    fn a_page_may_be_empty() {
        let page = page(r#"{"Accounts": [], "NextToken": "t"}"#);
        assert!(page.accounts.is_empty());
        assert_eq!(page.next_token.as_deref(), Some("t"));
        assert!(serde_json::from_str::<Page>("{}").is_ok());
    }
}
