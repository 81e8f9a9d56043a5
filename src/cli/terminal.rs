//! The terminal while a screen is drawn on it: taken over once, and given back whatever
//! happens.

use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};
use std::io::{self, IsTerminal, Write};
use std::panic::PanicHookInfo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the terminal of this process is taken over.
static IS_HELD: AtomicBool = AtomicBool::new(false);

type PanicHook = dyn Fn(&PanicHookInfo<'_>) + Send + Sync;

/// Holds the terminal of stderr in raw mode on its other screen. It is given back when this is
/// dropped, also by an error or a panic; a process that ends otherwise has to call
/// [`give_back`] first.
pub(super) struct Guard {
    /// What reports a panic when the terminal is as it was.
    hook: Arc<PanicHook>,
}

impl Guard {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When there is none, or it refuses.
    pub(super) fn enter() -> io::Result<Self> {
        if !io::stderr().is_terminal() {
            return Err(io::Error::other("stderr is not a terminal"));
        }
        let hook: Arc<PanicHook> = Arc::from(std::panic::take_hook());
        let guard = Self { hook: Arc::clone(&hook) };
        std::panic::set_hook(Box::new(move |panic| {
            give_back(&mut io::stderr());
            hook(panic);
        }));
        enable_raw_mode()?;
        IS_HELD.store(true, Ordering::SeqCst);
        execute!(io::stderr(), EnterAlternateScreen)?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        give_back(&mut io::stderr());
        // The hook of a thread that panics cannot be changed.
        if !std::thread::panicking() {
            let hook = Arc::clone(&self.hook);
            std::panic::set_hook(Box::new(move |panic| hook(panic)));
        }
    }
}

/// Gives the terminal back, if it is held. Nothing can be done when it is gone.
pub(super) fn give_back(to: &mut dyn Write) {
    if IS_HELD.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
        let mut text = Vec::new();
        let _ = queue!(text, LeaveAlternateScreen, Show);
        let _ = to.write_all(&text);
        let _ = to.flush();
    }
}
