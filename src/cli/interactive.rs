//! `gpucost audit --interactive`.

use super::args::AuditArgs;
use super::known_prices::PriceAge;
use super::terminal::Guard;
use super::view_args::check_known;
use super::{Failure, Io, Outcome, audit as audit_command, estate, output, refuse_if};
use crate::analysis::audit_to_choose;
use crate::config::with_choice;
use crate::domain::shown;
use crate::report::text::money;
use crate::report::{CHOICE_TITLE, Effect, Key, Model, RowFacts, draw_model};
use crate::sources::files::{read_written_text, write_whole};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::io::{self, BufWriter, Stderr};
use std::path::{Path, PathBuf};

/// The file that a choice is written to where `--output` names none.
const CHOICE: &str = "gpucost-choice.toml";

pub(super) fn run(args: &AuditArgs, io: &mut Io<'_>) -> Outcome {
    let mut settings = estate::settings(&args.estate.out, io)?;
    settings.policy.rejected = audit_command::rejected_actions(args, &settings)?;
    let settings = &settings;
    refuse_if!(!io.stdout_is_terminal || !io.stderr_is_terminal;
        "`--interactive` needs a terminal";
        "omit it: `gpucost audit` prints the same fleet as tables");
    let out = &args.estate.out;
    let view = args.rows.view(Some(&args.verdicts), &args.of.types);
    let accepted = audit_command::risk(args.plan.risk, settings, io)?;
    let age = PriceAge::of_estate(&args.estate, settings)?;
    let estate = estate::read(&args.estate, settings, io)?;
    let (audit, choices) = audit_to_choose(&estate, &settings.policy, accepted);
    let warning = age.check(audit.prices.oldest_seen_on(), audit.window.end)?;
    let rows: Vec<RowFacts> = audit.workloads.iter().map(RowFacts::of).collect();
    check_known(&view, &rows)?;
    let seen = audit_command::seen(&audit);
    if audit.workloads.is_empty() {
        output::warn(warning, out, io);
        return Ok(output::close("audited", seen, &audit.gaps, &args.estate, io));
    }
    let mut file = ChoiceFile::of(out.output.as_deref(), &io.folder);
    let style = output::style(true, out, io);
    let mut model = Model::new(
        (audit, choices),
        &estate,
        &settings.policy.rejected,
        view,
        // `--output`, the file of the choice, has no say in it.
        (output::is_colored(out.color, true, io), style.ascii),
    );
    show(&mut model, &mut file)
        .map_err(|error| Failure::unexpected(error).with_hint("try another terminal"))?;
    if let Some(savings) = model.monthly_savings() {
        output::say(&format!("the chosen plan saves {} per month", money(savings)), out, io);
    }
    if file.is_written {
        output::say(&format!("wrote {}", file.name()), out, io);
    }
    output::warn(warning, out, io);
    Ok(output::close("audited", seen, &model.audit.gaps, &args.estate, io))
}

/// Where the choice is written.
struct ChoiceFile {
    path: PathBuf,
    /// Whether something else that is there may be replaced.
    is_named: bool,
    is_written: bool,
}

impl ChoiceFile {
    fn of(named: Option<&Path>, folder: &Path) -> Self {
        Self {
            path: named.map_or_else(|| folder.join(CHOICE), Path::to_path_buf),
            is_named: named.is_some(),
            is_written: false,
        }
    }

    /// What messages call it.
    fn name(&self) -> String {
        if self.is_named { shown(&self.path) } else { CHOICE.to_owned() }
    }

    /// Writes the choice. Rules of a policy that is there stay.
    ///
    /// # Errors
    /// With why it was not written, in words.
    fn write(&mut self, choice: &str) -> Result<(), String> {
        let name = self.name();
        if !self.is_named && !self.is_written && self.path.exists() {
            return Err(format!("{name} exists: start with `--output FILE` to replace it"));
        }
        // What cannot be read as text is not a policy.
        let there = read_written_text(&self.path).unwrap_or_default();
        let text = with_choice(&there, choice, CHOICE_TITLE).ok_or_else(|| {
            format!("the rules of {name} cannot be kept: start with `--output` and another file")
        })?;
        write_whole(&self.path, |out| out.write_all(text.as_bytes()))
            .map_err(|error| format!("cannot write {name}: {error}"))?;
        self.is_written = true;
        Ok(())
    }
}

/// Draws and reads keys until the user quits.
fn show(model: &mut Model<'_>, file: &mut ChoiceFile) -> io::Result<()> {
    let _guard = Guard::enter()?;
    let backend = CrosstermBackend::new(BufWriter::new(io::stderr()));
    let mut terminal: Terminal<CrosstermBackend<BufWriter<Stderr>>> = Terminal::new(backend)?;
    loop {
        terminal.draw(|frame| draw_model(frame, model))?;
        let Event::Key(pressed) = event::read()? else {
            // Another size, for example.
            continue;
        };
        if pressed.kind == KeyEventKind::Release {
            continue;
        }
        match asked(pressed) {
            Some(KeyRequest::Quit) => return Ok(()),
            Some(KeyRequest::Redraw) => terminal.clear()?,
            Some(KeyRequest::Key(key)) => match model.update(key) {
                Effect::Nothing => {}
                Effect::Quit => return Ok(()),
                Effect::Export(text) => match file.write(&text) {
                    Ok(()) => model.exported(&file.name()),
                    Err(problem) => model.say(problem),
                },
            },
            None => {}
        }
    }
}

/// What a key of the terminal asks for.
#[derive(Debug, PartialEq, Eq)]
enum KeyRequest {
    Quit,
    Redraw,
    Key(Key),
}

fn asked(pressed: KeyEvent) -> Option<KeyRequest> {
    let has_control = pressed.modifiers.contains(KeyModifiers::CONTROL);
    match pressed.code {
        // In raw mode it sends no signal.
        KeyCode::Char('c') if has_control => return Some(KeyRequest::Quit),
        KeyCode::Char('l') if has_control => return Some(KeyRequest::Redraw),
        KeyCode::Char(_) if has_control => return None,
        KeyCode::Char(_) | KeyCode::Tab | KeyCode::Enter | KeyCode::Esc | KeyCode::Backspace => {}
        KeyCode::Up | KeyCode::Down | KeyCode::Left | KeyCode::Right | KeyCode::Home => {}
        KeyCode::End | KeyCode::PageUp | KeyCode::PageDown => {}
        _ => return None,
    }
    Some(KeyRequest::Key(pressed.code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_a_terminal_are_keys_of_the_model() {
        let pressed = |code, modifiers| asked(KeyEvent::new(code, modifiers));
        let (plain, control) = (KeyModifiers::NONE, KeyModifiers::CONTROL);
        assert_eq!(pressed(KeyCode::Char('c'), control), Some(KeyRequest::Quit));
        assert_eq!(pressed(KeyCode::Char('w'), control), None);
        let letter = Some(KeyRequest::Key(Key::Char('c')));
        assert_eq!(pressed(KeyCode::Char('c'), plain), letter);
        assert_eq!(pressed(KeyCode::F(1), plain), None);
        let up = Some(KeyRequest::Key(Key::Up));
        assert_eq!(pressed(KeyCode::Up, plain), up);
    }

    #[test]
    fn a_file_that_was_not_named_is_not_replaced() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let mut file = ChoiceFile::of(None, folder.path());
        file.write("first").expect("it was not there");
        file.write("second").expect("it is its own");
        let written = std::fs::read_to_string(folder.path().join(CHOICE));
        assert_eq!(written.expect("a file"), "second");
        let mut other = ChoiceFile::of(None, folder.path());
        assert!(other.write("third").is_err_and(|why| why.contains("exists")));
        let named = folder.path().join(CHOICE);
        let mut named = ChoiceFile::of(Some(&named), folder.path());
        named.write("fourth").expect("it was named");
    }

    #[test]
    fn rules_of_a_policy_stay_beside_a_choice() {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let path = folder.path().join("gpucost-policy.toml");
        let rule = "[waste]\npercent_limit = 10\n";
        std::fs::write(&path, rule).expect("written");
        let mut file = ChoiceFile::of(Some(&path), folder.path());
        for choice in ["# first\n", "# second\n"] {
            let choice = format!("{CHOICE_TITLE}\n{choice}");
            file.write(&choice).expect("it was named");
            let written = std::fs::read_to_string(&path).expect("a file");
            assert_eq!(written, format!("{rule}\n{choice}"));
        }
        // A rule in a form that is not understood is not lost either.
        let odd = format!("reject = []\n{rule}");
        std::fs::write(&path, &odd).expect("written");
        let refused = file.write("third");
        assert!(refused.is_err_and(|why| why.contains("cannot be kept")));
        assert_eq!(std::fs::read_to_string(&path).expect("a file"), odd);
    }
}
