//! An AWS account for one test.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::wire::loopback::{Loopback, Moto};

/// The moto server of the tests that run now; it ends with the last of them.
static SHARED: Mutex<Weak<Moto>> = Mutex::new(Weak::new());
/// Accounts are numbered from here, so that tests do not see each other.
static NEXT_ACCOUNT: AtomicU64 = AtomicU64::new(200_000_000_001);

/// An account that is empty until something is put into its [`Loopback`].
pub struct Account {
    pub number: String,
    pub loopback: Loopback,
    /// Keeps the server alive.
    _moto: Arc<Moto>,
}

impl Account {
    /// Opens an account; `None`, with the reason recorded, without moto.
    pub fn open() -> Option<Self> {
        let moto = moto()?;
        let number = another_number();
        Some(Self {
            loopback: Loopback::start_in_account(moto.url(), &number),
            number,
            _moto: moto,
        })
    }
}

/// The number of an account that no other test uses.
pub fn another_number() -> String {
    NEXT_ACCOUNT.fetch_add(1, Ordering::Relaxed).to_string()
}

/// One server for all: starting one takes longer than most of these tests.
fn moto() -> Option<Arc<Moto>> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = shared.upgrade() {
        return Some(running);
    }
    let started = Arc::new(Moto::start()?);
    *shared = Arc::downgrade(&started);
    Some(started)
}
