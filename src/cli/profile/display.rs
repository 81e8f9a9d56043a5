//! What is shown while a run goes on: nothing, one line, or the full screen, which is left as it
//! was found whatever happens.

use super::args::ProfileArgs;
use super::command::CommandLog;
use super::endpoint::Endpoint;
use super::guard::Note;
use crate::cli::terminal::Guard;
use crate::cli::{Failure, Io, Outcome, output};
use crate::domain::{Classification, HourlyRate, RunFacts, Sample, safe};
use crate::profiling::{Profiler, RunStatus};
use crate::report::{LiveView, alert_line, draw_live_view, live_openmetrics, status_line};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::terminal::size;
use std::ffi::OsString;
use std::io::{self, BufWriter, Stderr, Write};
use std::time::{Duration, Instant};

/// A run so far, where the user wants to see it.
pub(super) struct Display<'a> {
    view: LiveView,
    place: Place,
    stderr: &'a mut dyn Write,
    /// Whether only what went wrong is said of the guard of a command.
    is_quiet: bool,
    /// Answers with the view, where a person may ask.
    endpoint: Option<Endpoint>,
    /// What the command writes, where it cannot write to the terminal.
    command_log: Option<CommandLog>,
    /// What the guard said while the screen was taken.
    said: Vec<String>,
}

/// Where a run so far is shown.
enum Place {
    /// A command has the terminal, or there is none.
    Nowhere,
    /// One line that is written over.
    Line(StatusLine),
    /// All of it.
    Screen(Box<Screen>),
}

impl<'a> Display<'a> {
    /// A command has the terminal to itself, unless the live view is wanted beside it. An
    /// endpoint answers at once and after each sample.
    ///
    /// # Errors
    /// When the terminal refuses the live view.
    pub(super) fn of(
        args: &ProfileArgs,
        facts: &RunFacts,
        hourly_price: Option<HourlyRate>,
        endpoint: Option<Endpoint>,
        io: &'a mut Io<'_>,
    ) -> Outcome<Self> {
        let color = args.live && output::color(&args.out, io);
        let (is_quiet, shows) = (args.out.quiet, io.stderr_is_terminal && args.command.is_empty());
        let place = if args.live {
            Place::Screen(Box::new(Screen::enter().map_err(Failure::unexpected)?))
        } else if shows && !is_quiet {
            Place::Line(StatusLine::default())
        } else {
            Place::Nowhere
        };
        let view = LiveView {
            hourly_price,
            duration_seconds: args.duration.map(|length| length.as_secs_f64()),
            ..LiveView::new(facts, color)
        };
        let display = Self {
            view,
            place,
            stderr: io.stderr,
            is_quiet,
            endpoint,
            command_log: None,
            said: Vec::new(),
        };
        display.publish();
        Ok(display)
    }

    /// Shows a command, and the end of what it writes.
    pub(super) fn beside(&mut self, command: &[OsString], log: CommandLog) {
        let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
        self.view.command = Some(words.join(" "));
        self.view.output_file = Some(log.name());
        self.command_log = Some(log);
    }

    fn publish(&self) {
        if let Some(endpoint) = &self.endpoint {
            endpoint.publish(live_openmetrics(&self.view));
        }
    }

    /// Shows a note about the sampling itself.
    pub(super) fn note(&mut self, note: String) {
        self.view.notes.push(note);
    }

    /// Says what the guard of a command found. Reasons come from outside.
    pub(super) fn say(&mut self, note: &Note) {
        let line = format!("spot guard: {}", note.text);
        if matches!(self.place, Place::Screen(_)) {
            self.said.push(line.clone());
            self.view.notes.push(line);
            return;
        }
        let text = match note.hint {
            None if self.is_quiet => return,
            None => format!("{}\n", safe(&line)),
            Some(hint) => format!("error: {}\nhint: {hint}\n", safe(&note.text)),
        };
        // Who closed stderr reads no notes; the command runs on.
        let _ = self.stderr.write_all(text.as_bytes());
    }

    /// Whether keys are read, so that waiting should not take long.
    pub(super) fn reads_keys(&self) -> bool {
        matches!(self.place, Place::Screen(_))
    }

    /// Takes a sample in and shows it. A terminal that is gone ends nothing.
    pub(super) fn sample(&mut self, profiler: &Profiler, sample: &Sample, missed: u64) {
        if matches!(self.place, Place::Nowhere) && self.endpoint.is_none() {
            return;
        }
        self.view.sample(sample);
        self.view.missed_samples = missed;
        self.stand(&profiler.now());
        self.publish();
        self.draw();
    }

    /// What the user asks for.
    pub(super) fn asked(&mut self) -> Option<ScreenRequest> {
        let Place::Screen(screen) = &mut self.place else { return None };
        let asked = screen.asked();
        self.draw();
        asked
    }

    /// Gives the terminal back while the run goes on.
    pub(super) fn leave(&mut self) {
        self.give_back();
        if let Some(file) = &self.view.output_file {
            let _ = writeln!(self.stderr, "the command runs on; it writes to {file}");
        }
        self.is_quiet = false;
    }

    fn draw(&mut self) {
        match &mut self.place {
            Place::Nowhere => {}
            Place::Line(line) => {
                line.show(&status_line(&self.view, StatusLine::columns()), self.stderr);
            }
            Place::Screen(screen) => {
                if let Some(log) = &mut self.command_log {
                    self.view.output = log.last_lines().to_vec();
                }
                let _ = screen.draw(&self.view);
            }
        }
    }

    fn stand(&mut self, status: &RunStatus) {
        let view = &mut self.view;
        view.mean_percent = status.utilization_mean_percent;
        for (gpu, status) in view.gpus.iter_mut().zip(&status.gpus) {
            gpu.mean_percent = status.utilization_mean_percent;
            gpu.sm_mean_percent = status.sm_mean_percent;
        }
        let is_early = status.verdict.classification == Classification::InsufficientData;
        view.verdict = (!is_early).then(|| status.verdict.clone());
        let diagnosis = &status.diagnosis;
        view.diagnosis =
            diagnosis.confidence.map(|_| format!("{}: {}", diagnosis.bottleneck, diagnosis.reason));
        let alerts = status.alerts.iter().map(|alert| {
            let gpu = alert.gpu.and_then(|place| view.gpus.get(place));
            alert_line(alert, gpu.map(|gpu| gpu.number.as_str()))
        });
        view.alerts = alerts.collect();
    }

    /// Gives the terminal back, and says what the guard said while it was taken.
    fn give_back(&mut self) {
        match std::mem::replace(&mut self.place, Place::Nowhere) {
            Place::Nowhere => {}
            Place::Line(mut line) => line.clear(self.stderr),
            Place::Screen(screen) => {
                drop(screen);
                for note in &self.said {
                    // Who closed stderr reads no notes.
                    let _ = writeln!(self.stderr, "{}", safe(note));
                }
            }
        }
    }

    /// Gives the terminal back, and answers no more.
    pub(super) fn close(mut self) {
        self.give_back();
    }
}

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
