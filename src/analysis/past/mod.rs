//! Earlier audits as their JSON keeps them, and what two audits are both about.

mod audit;
mod common_scope;

pub use self::audit::{PastAudit, PastFinding, PastGap, PastTotals, PastUnused, PastWorkload};
pub use self::common_scope::CommonScope;

pub(super) use self::audit::Unread;
