//! An audit of now in the form of an earlier one, and what two audits are both about.

mod audit;
mod common_scope;

pub use self::common_scope::CommonScope;
