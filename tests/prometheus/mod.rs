//! Prometheus and VictoriaMetrics, as Debian packs them, with real GPU loads as DCGM
//! exporters tell them: an audit by either says what an audit by the samples' own averages
//! says, and what a server refuses or does not know is a gap and never a figure.
//!
//! The loads are those of public containers where these are at hand, else made up. The
//! machines are those of the loopback AWS endpoint. Where a server or moto is not
//! installed, the tests that need them are skipped, saying so; `tests/run` installs them.

mod bad_days;
mod cards;
mod counts;
mod expected;
mod figures;
mod fleet;
mod gate;
mod large;
mod places;
mod pods;
mod proof;
pub mod scrape;
pub mod servers;
mod traces;
