//! Gathering: which calls for which scope, and running them with bounded
//! concurrency. Partial truth travels with its gaps.

mod history;
mod machines;
mod measured;
mod prices;
mod quotes;
mod refresh;
mod run;

pub use history::{OtherPeriods, add_rollups};
pub use machines::add_cluster;
pub use measured::Refine;
pub use refresh::{PublicRefresh, RefreshOptions, refresh_prices, refresh_public_prices};
pub use run::{GatherError, GatherOptions, gather};

use crate::domain::Gap;
use crate::{Account, Connection};
use std::collections::BTreeSet;

/// Regions of accounts that are read side by side.
const PLACES_AT_ONCE: usize = 32;

/// Where an account's own gaps are, in the words of its source.
const ACCOUNT: &str = "account";

/// One region of one account.
struct Place<'a> {
    pub connection: &'a Connection,
    /// The region, and before it the account where there are several.
    pub name: String,
}

impl Place<'_> {
    /// Gaps of the region, with its account where there are several.
    fn named(&self, gaps: Vec<Gap>) -> Vec<Gap> {
        renamed(gaps, &self.connection.region, &self.name)
    }
}

/// Every region of every account, in order.
fn places(accounts: &[Account]) -> Vec<Place<'_>> {
    let several = are_several(accounts);
    let places = accounts.iter().flat_map(|account| {
        account.connections.iter().map(move |connection| Place {
            connection,
            name: if several && !account.id.is_empty() {
                format!("{}/{}", account.id, connection.region)
            } else {
                connection.region.clone()
            },
        })
    });
    places.collect()
}

/// Gaps of an account as a whole, with its id where there are several.
fn of_account(account: &Account, accounts: &[Account], gaps: Vec<Gap>) -> Vec<Gap> {
    if are_several(accounts) { renamed(gaps, ACCOUNT, &account.id) } else { gaps }
}

fn renamed(mut gaps: Vec<Gap>, from: &str, to: &str) -> Vec<Gap> {
    for gap in gaps.iter_mut().filter(|gap| gap.place == from) {
        to.clone_into(&mut gap.place);
    }
    gaps
}

/// Whether the accounts are more than one. A cluster has no account of its own.
fn are_several(accounts: &[Account]) -> bool {
    let ids = accounts.iter().map(|account| account.id.as_str());
    ids.filter(|id| !id.is_empty()).collect::<BTreeSet<&str>>().len() > 1
}
