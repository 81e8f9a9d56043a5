//! An organization: `ListAccounts`, and `AssumeRole` into its accounts.
//!
//! Imitated: pages of at most 20 accounts, the first of them empty; a role that exists in
//! every account under any name; the external id that its trust asks for. The access key
//! of a session holds the account, which every forwarded call is then made in. Where a test
//! says how long sessions hold, their token says when it ends, and is refused from then on.
//!
//! Not imitated: who may list accounts, roles that do not exist, session policies. Faults
//! stand in for all of them.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::Data;
use super::error::ApiError;
use super::form::{Form, escape_xml};

/// Accounts per page, at most and by default.
const ACCOUNTS_PER_PAGE: usize = 20;

/// What tests have put.
#[derive(Default)]
pub struct Organization {
    /// Accounts with their states.
    pub accounts: Vec<(String, String)>,
    /// What every role asks for.
    pub external_id: Option<String>,
    /// How long sessions in roles hold; absent where they do not end.
    pub sessions: Option<Sessions>,
}

/// How long a session in a role holds.
#[derive(Clone, Copy)]
pub struct Sessions {
    /// Until its token is refused.
    pub hold: SignedDuration,
    /// Until it expires, as STS says.
    pub say: SignedDuration,
}

/// Stands in a token before the millisecond in which it ends.
const UNTIL: &str = "-until-";

/// Whether a token has ended.
pub fn is_expired(token: &str) -> bool {
    let Some((_, until)) = token.rsplit_once(UNTIL) else { return false };
    let until: i64 = until.parse().expect("a millisecond");
    until <= Timestamp::now().as_millisecond()
}

/// The access key of a session in an account.
pub fn access_key_in(account: &str) -> String {
    format!("ASIA{account}TEST")
}

/// The account that an access key is of, where it was given for one.
pub fn account_of(access_key: &str) -> Option<&str> {
    let account = access_key.strip_prefix("ASIA")?.strip_suffix("TEST")?;
    let is_account = account.len() == 12 && account.bytes().all(|byte| byte.is_ascii_digit());
    is_account.then_some(account)
}

/// Answers `ListAccounts`, or refuses it.
pub fn list_accounts(data: &Data, body: &[u8]) -> Result<Vec<u8>, ApiError> {
    let refuse = |words: &str| ApiError::new(400, "InvalidInputException", words);
    let request: Value = serde_json::from_slice(body).map_err(|_| refuse("not JSON"))?;
    let accepted = request["MaxResults"].as_u64().unwrap_or(ACCOUNTS_PER_PAGE as u64);
    if !(1..=ACCOUNTS_PER_PAGE as u64).contains(&accepted) {
        return Err(refuse("MaxResults is not 1 to 20"));
    }
    let page = match request["NextToken"].as_str() {
        None => json!({ "Accounts": [], "NextToken": "0" }),
        Some(token) => {
            let skip: usize = token.parse().map_err(|_| refuse("not a token"))?;
            let accounts = &data.organization.accounts;
            let limit = data.page(accepted as usize);
            let page: Vec<Value> = accounts
                .iter()
                .skip(skip)
                .take(limit)
                .map(|(id, state)| {
                    json!({
                        "Id": id,
                        "Arn": format!("arn:aws:organizations::{id}:account/o-test/{id}"),
                        "Email": format!("{id}@example.com"),
                        "Name": format!("account {id}"),
                        "State": state,
                        "JoinedMethod": "CREATED",
                        "JoinedTimestamp": 1_700_000_000.5,
                    })
                })
                .collect();
            let mut answer = json!({ "Accounts": page });
            if skip + limit < accounts.len() {
                answer["NextToken"] = (skip + limit).to_string().into();
            }
            answer
        }
    };
    Ok(page.to_string().into_bytes())
}

/// Answers `AssumeRole`, or refuses it.
pub fn assume_role(data: &Data, body: &[u8]) -> Result<Vec<u8>, ApiError> {
    let form = Form::parse(body);
    let arn = form.get("RoleArn").unwrap_or_default();
    let account = arn.split(':').nth(4).unwrap_or_default();
    let wanted = data.organization.external_id.as_deref();
    if wanted.is_some() && form.get("ExternalId") != wanted {
        let words = format!("User is not authorized to perform: sts:AssumeRole on {arn}");
        return Err(ApiError::new(403, "AccessDenied", &words));
    }
    let role = arn.rsplit('/').next().unwrap_or_default();
    let session = form.get("RoleSessionName").unwrap_or_default();
    let mut token = format!("a-token-of-{account}");
    let mut expiration = "2099-01-01T00:00:00Z".to_owned();
    if let Some(sessions) = data.organization.sessions {
        let now = Timestamp::now();
        token.push_str(UNTIL);
        token.push_str(&(now + sessions.hold).as_millisecond().to_string());
        expiration = (now + sessions.say).to_string();
    }
    Ok(format!(
        "<AssumeRoleResponse xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">\
         <AssumeRoleResult><AssumedRoleUser>\
         <Arn>arn:aws:sts::{account}:assumed-role/{}/{}</Arn>\
         <AssumedRoleId>AROATEST:{}</AssumedRoleId></AssumedRoleUser><Credentials>\
         <AccessKeyId>{}</AccessKeyId><SecretAccessKey>a-secret</SecretAccessKey>\
         <SessionToken>{token}</SessionToken>\
         <Expiration>{expiration}</Expiration></Credentials></AssumeRoleResult>\
         <ResponseMetadata><RequestId>again</RequestId></ResponseMetadata></AssumeRoleResponse>",
        escape_xml(role),
        escape_xml(session),
        escape_xml(session),
        access_key_in(account),
    )
    .into_bytes())
}
