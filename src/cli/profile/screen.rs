//! The terminal while `profile` runs: the full screen, which is left as it was
//! found whatever happens, and the one line for those who do not want it.

use crate::cli::terminal::Guard;
use crate::report::{LiveView, draw_live_view};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::size;
use std::io::{self, BufWriter, Stderr, Write};
use std::time::{Duration, Instant};

/// Time from one drawing to the next: more often is only work.
const REDRAW_AFTER: Duration = Duration::from_millis(250);
/// Columns of a terminal that does not tell.
const USUAL_COLUMNS: u16 = 80;
/// Back to the start of the line, and away with what stands there.
const ERASE_LINE: &str = "\r\u{1b}[2K";

/// The full screen, on the terminal of stderr. The terminal is given back when
/// this is dropped, also by an error or a panic; a process that ends otherwise
/// (`std::process::exit`) has to drop it first.
pub(super) struct Screen {
    // Dropped before the guard: it shows the cursor.
    terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>>,
    _guard: Guard,
    /// Absent where something happened that should show at once.
    drawn: Option<Instant>,
    scroll: usize,
    hidden: usize,
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// When there is no terminal, or it refuses.
    pub fn enter() -> io::Result<Self> {
        let guard = Guard::enter()?;
        let backend = CrosstermBackend::new(BufWriter::new(io::stderr()));
        Ok(Self {
            terminal: Terminal::new(backend)?,
            _guard: guard,
            drawn: None,
            scroll: 0,
            hidden: 0,
        })
    }

    /// Draws what is going on; does nothing within a quarter of a second of the
    /// last time, unless a key was pressed or the size has changed.
    ///
    /// # Errors
    /// When the terminal cannot be written to.
    pub fn draw(&mut self, view: &LiveView) -> io::Result<()> {
        if self.drawn.is_some_and(|drawn| drawn.elapsed() < REDRAW_AFTER) {
            return Ok(());
        }
        let scroll = self.scroll;
        let mut hidden = 0;
        self.terminal.draw(|frame| hidden = draw_live_view(frame, view, scroll))?;
        self.hidden = hidden;
        self.scroll = scroll.min(hidden);
        self.drawn = Some(Instant::now());
        Ok(())
    }

    /// Takes in the keys pressed since the last call, without waiting. Scrolling
    /// is done here.
    ///
    /// Returns what else is asked for, the most urgent of several.
    pub fn asked(&mut self) -> Option<ScreenRequest> {
        let mut asked: Option<ScreenRequest> = None;
        // A terminal that cannot be read from has no keys; a signal ends the run.
        while event::poll(Duration::ZERO).unwrap_or(false) {
            let Ok(event) = event::read() else { break };
            self.drawn = None;
            match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => match action(key) {
                    Some(Action::Ask(request)) => asked = asked.max(Some(request)),
                    Some(Action::Scroll(rows)) => {
                        self.scroll = self.scroll.saturating_add_signed(rows).min(self.hidden);
                    }
                    // A terminal that refuses fails the next drawing too.
                    Some(Action::Redraw) => drop(self.terminal.clear()),
                    None => {}
                },
                _ => {}
            }
        }
        asked
    }
}

/// What a user asks of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ScreenRequest {
    /// To leave the view: `q` or Esc.
    Leave,
    /// To interrupt: Ctrl-C, which sends no signal while the screen is on.
    Interrupt,
}

/// What a key does.
#[derive(Debug, PartialEq, Eq)]
enum Action {
    Ask(ScreenRequest),
    Scroll(isize),
    Redraw,
}

/// Rows that a page key scrolls.
const PAGE: isize = 8;

fn action(key: KeyEvent) -> Option<Action> {
    let has_control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if has_control => Some(Action::Ask(ScreenRequest::Interrupt)),
        KeyCode::Char('l') if has_control => Some(Action::Redraw),
        KeyCode::Char(_) if has_control => None,
        KeyCode::Char('q' | 'Q') | KeyCode::Esc => Some(Action::Ask(ScreenRequest::Leave)),
        KeyCode::Up | KeyCode::Char('k') => Some(Action::Scroll(-1)),
        KeyCode::Down | KeyCode::Char('j') => Some(Action::Scroll(1)),
        KeyCode::PageUp => Some(Action::Scroll(-PAGE)),
        KeyCode::PageDown => Some(Action::Scroll(PAGE)),
        KeyCode::Home => Some(Action::Scroll(isize::MIN)),
        KeyCode::End => Some(Action::Scroll(isize::MAX)),
        _ => None,
    }
}

/// One line that is written over again and again, for a terminal only.
#[derive(Debug, Default)]
pub(super) struct StatusLine {
    is_shown: bool,
}

impl StatusLine {
    /// Columns that a line may take without wrapping.
    pub fn columns() -> usize {
        let columns = size().map_or(USUAL_COLUMNS, |(columns, _)| columns);
        usize::from(if columns == 0 { USUAL_COLUMNS } else { columns }) - 1
    }

    /// Shows a line in place of the one before.
    pub fn show(&mut self, line: &str, to: &mut dyn Write) {
        // A status that cannot be shown changes nothing about the run.
        let _ = write!(to, "{ERASE_LINE}{line}");
        let _ = to.flush();
        self.is_shown = true;
    }

    /// Takes the line away, so that something else can be written.
    pub fn clear(&mut self, to: &mut dyn Write) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(to, "{ERASE_LINE}");
            let _ = to.flush();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(code: KeyCode, modifiers: KeyModifiers) -> Option<Action> {
        action(KeyEvent::new(code, modifiers))
    }

    #[test]
    fn keys_do_what_the_help_line_says() {
        let plain = KeyModifiers::NONE;
        let control = KeyModifiers::CONTROL;
        for (code, modifiers, asked) in [
            (KeyCode::Char('q'), plain, ScreenRequest::Leave),
            (KeyCode::Esc, plain, ScreenRequest::Leave),
            (KeyCode::Char('c'), control, ScreenRequest::Interrupt),
        ] {
            assert_eq!(pressed(code, modifiers), Some(Action::Ask(asked)), "{code:?}");
        }
        assert_eq!(pressed(KeyCode::Char('c'), plain), None);
        assert_eq!(pressed(KeyCode::Char('q'), control), None);
        assert_eq!(pressed(KeyCode::Up, plain), Some(Action::Scroll(-1)));
        assert_eq!(pressed(KeyCode::Down, plain), Some(Action::Scroll(1)));
    }

    #[test]
    fn a_status_line_is_erased_once() {
        let mut written = Vec::new();
        let mut status = StatusLine::default();
        status.clear(&mut written);
        assert!(written.is_empty());
        status.show("1s", &mut written);
        status.show("2s", &mut written);
        status.clear(&mut written);
        status.clear(&mut written);
        let text = String::from_utf8(written).expect("text");
        assert_eq!(text, "\r\u{1b}[2K1s\r\u{1b}[2K2s\r\u{1b}[2K");
    }
}
