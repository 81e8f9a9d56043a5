//! `gpucost bill` in words: what was really paid.

mod answer;
mod cents;
mod comparison;
mod figures;
mod notes;
mod origin;
mod own_prices;
mod sheets;

pub use answer::bill_answer;
pub use origin::{BillAudit, BillOrigin};
pub use own_prices::{negotiated_rates, price_file};
