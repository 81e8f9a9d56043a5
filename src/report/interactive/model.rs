//! The state of the interactive audit, and what each key makes of it.

use super::actions::{self, Switch, Switches};
use super::hours::Hours;
use crate::analysis::{Audit, AuditedWorkload, Choices};
use crate::domain::{Action, ActionKind, Money, RejectedAction};
use crate::report::shared::view::{RowFacts, SortKey, View};
use crate::savings::UnusedCommitment;
use crate::usage::Estate;
use ratatui::crossterm::event::KeyCode as Key;
use std::cmp::Reverse;

/// Rows that a page key moves by.
const PAGE: usize = 10;
/// Characters of a workload that the filter searches.
const MOST_SEARCHED: usize = 4_000;

/// What a key asks of the world outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    Nothing,
    /// To write this policy.
    Export(String),
    Quit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Screen {
    Workloads,
    Plan,
    /// One workload, opened from one of the other two.
    Workload {
        from_plan: bool,
    },
}

/// What the rows of both lists are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Groups {
    Nothing,
    Account,
    Team,
}

/// An action of the list of all: its workload, by its place in the audit, and its kind.
pub(super) type Entry = (usize, ActionKind);

/// All of the state.
pub struct Model<'a> {
    /// With the chosen plan.
    pub audit: Audit,
    pub(super) switches: Switches,
    estate: &'a Estate,
    pub(super) facts: Vec<RowFacts>,
    /// What the filter searches, of each workload.
    searched: Vec<String>,
    pub(super) view: View,
    groups: Groups,
    pub(super) filter: String,
    pub(super) is_typing: bool,
    pub(super) screen: Screen,
    pub(super) is_help_shown: bool,
    /// Places of the workloads that are shown, in order.
    pub(super) shown: Vec<usize>,
    pub(super) cursor: usize,
    /// The actions of the workloads that are shown, the largest saving first.
    pub(super) entries: Vec<Entry>,
    pub(super) plan_cursor: usize,
    /// The workload that is open, and the action in it that the cursor is on.
    pub(super) open: usize,
    pub(super) action_cursor: usize,
    pub(super) hours: Hours,
    pub(super) message: Option<String>,
    is_unsaved: bool,
    is_leaving: bool,
    pub(super) color: bool,
    pub(super) ascii: bool,
}

impl<'a> Model<'a> {
    /// The first screen of an audit of an estate. What a policy rejects is off; `view` chooses
    /// and sorts workloads before anything is typed.
    pub fn new(
        (mut audit, choices): (Audit, Choices),
        estate: &'a Estate,
        rejected: &[RejectedAction],
        view: View,
        (color, ascii): (bool, bool),
    ) -> Self {
        let mut model = Self {
            switches: Switches::of(&mut audit, choices, rejected),
            estate,
            facts: audit.workloads.iter().map(RowFacts::of).collect(),
            searched: audit.workloads.iter().map(searched).collect(),
            audit,
            view,
            groups: Groups::Nothing,
            filter: String::new(),
            is_typing: false,
            screen: Screen::Workloads,
            is_help_shown: false,
            shown: Vec::new(),
            cursor: 0,
            entries: Vec::new(),
            plan_cursor: 0,
            open: 0,
            action_cursor: 0,
            hours: Hours::default(),
            message: None,
            is_unsaved: false,
            is_leaving: false,
            color,
            ascii,
        };
        model.list();
        model
    }

    /// Says something until the next key.
    pub fn say(&mut self, message: String) {
        self.message = Some(message);
    }

    /// Notes that the choice was written to a file.
    pub fn exported(&mut self, file: &str) {
        self.is_unsaved = false;
        self.say(format!("wrote {file}"));
    }

    /// What the chosen actions save per month.
    pub fn monthly_savings(&self) -> Option<Money> {
        self.audit.totals.monthly_savings()
    }

    /// What a key makes of it.
    pub fn update(&mut self, key: Key) -> Effect {
        self.message = None;
        let was_leaving = std::mem::take(&mut self.is_leaving);
        if self.is_help_shown {
            self.is_help_shown = false;
            return Effect::Nothing;
        }
        if self.is_typing {
            self.type_filter(key);
            return Effect::Nothing;
        }
        match key {
            Key::Char('q' | 'Q') => return self.leave(was_leaving),
            Key::Char('?') => self.is_help_shown = true,
            Key::Char('w' | 'W') => {
                return Effect::Export(actions::policy(&self.audit, &self.switches.policy()));
            }
            _ => match self.screen {
                Screen::Workloads => self.in_list(key, false),
                Screen::Plan => self.in_list(key, true),
                Screen::Workload { from_plan } => self.in_workload(key, from_plan),
            },
        }
        Effect::Nothing
    }

    fn leave(&mut self, was_leaving: bool) -> Effect {
        if !self.is_unsaved || was_leaving {
            return Effect::Quit;
        }
        self.is_leaving = true;
        self.say("the choice is not exported: w exports it, q again leaves without it".to_owned());
        Effect::Nothing
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter | Key::Tab | Key::Up | Key::Down => self.is_typing = false,
            Key::Esc => {
                self.is_typing = false;
                self.filter.clear();
            }
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Char(c) => self.filter.push(c),
            _ => {}
        }
        self.list_from_the_top();
    }

    fn in_list(&mut self, key: Key, is_plan: bool) {
        let entry = if is_plan { self.entries.get(self.plan_cursor).copied() } else { None };
        let place = match is_plan {
            true => entry.map(|(place, _)| place),
            false => self.shown.get(self.cursor).copied(),
        };
        match (key, entry, place) {
            (Key::Char('/'), ..) => self.is_typing = true,
            (Key::Char('s' | 'S'), ..) if !is_plan => self.sort(),
            (Key::Char('b' | 'B'), ..) => self.group(),
            (Key::Tab, ..) if !is_plan => self.screen = Screen::Plan,
            (Key::Esc, ..) if !self.filter.is_empty() => self.clear_filter(),
            (Key::Tab | Key::Esc, ..) => self.screen = Screen::Workloads,
            (Key::Char(' '), Some((place, kind)), _) => self.toggle(place, kind),
            (Key::Enter | Key::Right, entry, Some(place)) => {
                self.open_workload(place, entry.map(|(_, kind)| kind), is_plan);
            }
            _ if is_plan => self.plan_cursor = moved(self.plan_cursor, self.entries.len(), key),
            _ => self.cursor = moved(self.cursor, self.shown.len(), key),
        }
    }

    fn in_workload(&mut self, key: Key, from_plan: bool) {
        let kinds: Vec<ActionKind> =
            self.open_switches().iter().map(|switch| switch.kind).collect();
        match key {
            Key::Esc | Key::Tab | Key::Backspace => {
                self.screen = if from_plan { Screen::Plan } else { Screen::Workloads };
            }
            Key::Char(' ') => {
                if let Some(kind) = kinds.get(self.action_cursor) {
                    self.toggle(self.open, *kind);
                }
            }
            Key::Left => self.turn(false),
            Key::Right => self.turn(true),
            Key::PageUp => self.hours.scroll(true),
            Key::PageDown => self.hours.scroll(false),
            _ => self.action_cursor = moved(self.action_cursor, kinds.len(), key),
        }
    }

    /// What the plan does about capacity that nothing runs in: it is in the totals, and no
    /// filter is about it.
    pub(super) fn released(&self) -> Vec<(&UnusedCommitment, &Action)> {
        let released = self.audit.unused.iter().flat_map(|commitment| {
            commitment.actions.iter().map(move |action| (commitment, action))
        });
        released.collect()
    }

    /// The workload that is open.
    pub(super) fn opened(&self) -> Option<&AuditedWorkload> {
        self.audit.workloads.get(self.open)
    }

    /// Its actions.
    pub(super) fn open_switches(&self) -> Vec<Switch<'_>> {
        self.opened().map_or_else(Vec::new, |workload| self.switches.of_workload(workload))
    }

    fn open_workload(&mut self, place: usize, kind: Option<ActionKind>, from_plan: bool) {
        (self.open, self.screen) = (place, Screen::Workload { from_plan });
        let of_kind = self.open_switches().iter().position(|switch| Some(switch.kind) == kind);
        self.action_cursor = of_kind.unwrap_or(0);
        self.hours = match self.audit.workloads.get(place) {
            Some(workload) => Hours::of(self.estate, &workload.workload, 0),
            None => Hours::default(),
        };
    }

    fn turn(&mut self, is_next: bool) {
        if let Some(workload) = self.audit.workloads.get(self.open) {
            self.hours.turn(self.estate, &workload.workload, is_next);
        }
    }

    fn toggle(&mut self, place: usize, kind: ActionKind) {
        let Some(workload) = self.audit.workloads.get(place) else { return };
        let (id, before) = (workload.workload.id(), self.monthly_savings());
        self.switches.toggle(&mut self.audit, &id, kind);
        self.is_unsaved = true;
        for (facts, audited) in self.facts.iter_mut().zip(&self.audit.workloads) {
            facts.monthly_savings = audited.planned_monthly_savings();
        }
        // The list of workloads keeps its order, so that nothing moves below the cursor.
        self.list_actions();
        let entry = self.entries.iter().position(|entry| *entry == (place, kind));
        self.plan_cursor = entry.unwrap_or(self.plan_cursor);
        self.action_cursor = self.action_cursor.min(self.open_switches().len().saturating_sub(1));
        let change = self.monthly_savings().zip(before);
        if let Some(change) = change.and_then(|(now, before)| now.checked_sub(before).ok()) {
            let sign = if change.amount().is_sign_negative() { "" } else { "+" };
            self.say(format!("savings {sign}{change} per month"));
        }
    }

    fn sort(&mut self) {
        let keys = SortKey::ALL;
        let at = self.view.sort.and_then(|own| keys.iter().position(|key| *key == own));
        // Without a key, they are by cost, which is the first.
        let next = at.unwrap_or(0) + 1;
        self.view.sort = keys.get(next % keys.len()).copied();
        self.cursor = 0;
        self.list();
    }

    /// By account, by team, and by nothing again.
    fn group(&mut self) {
        self.groups = match self.groups {
            Groups::Nothing => Groups::Account,
            Groups::Account => Groups::Team,
            Groups::Team => Groups::Nothing,
        };
        self.list_from_the_top();
    }

    /// The group of a workload; absent where rows are not grouped.
    pub(super) fn group_of(&self, place: usize) -> Option<String> {
        let account = || Some(&self.audit.workloads.get(place)?.workload.key.account);
        match self.groups {
            Groups::Nothing => None,
            Groups::Account => Some(match account() {
                Some(id) if !id.is_empty() => format!("account {id}"),
                _ => "no account".to_owned(),
            }),
            Groups::Team => {
                let team = self.facts.get(place).and_then(|facts| facts.team.as_ref());
                Some(team.map_or("no team".to_owned(), |team| format!("team {team}")))
            }
        }
    }

    /// The filter, to stand after the title of a list; empty without any.
    pub(super) fn filter_words(&self) -> String {
        match self.filter.as_str() {
            "" => String::new(),
            filter => format!(" · filter `{filter}`"),
        }
    }

    fn clear_filter(&mut self) {
        self.filter.clear();
        self.list_from_the_top();
    }

    fn list_from_the_top(&mut self) {
        (self.cursor, self.plan_cursor) = (0, 0);
        self.list();
    }

    /// Chooses and sorts what is shown.
    fn list(&mut self) {
        let words = self.filter.to_lowercase();
        let words: Vec<&str> = words.split_whitespace().collect();
        let (mut shown, _) = self.view.order(&self.facts);
        shown.retain(|place| {
            let text = self.searched.get(*place);
            text.is_some_and(|text| words.iter().all(|word| text.contains(word)))
        });
        // A stable sort keeps the order of the list in each group.
        shown.sort_by_cached_key(|place| self.group_of(*place));
        self.shown = shown;
        self.cursor = self.cursor.min(self.shown.len().saturating_sub(1));
        self.list_actions();
    }

    fn list_actions(&mut self) {
        let mut entries = Vec::new();
        for place in &self.shown {
            let Some(audited) = self.audit.workloads.get(*place) else { continue };
            for switch in self.switches.of_workload(audited) {
                let saved = switch.action.map(|action| action.monthly_savings().amount());
                entries.push((self.group_of(*place), Reverse(saved), *place, switch.kind));
            }
        }
        entries.sort();
        self.entries = entries.into_iter().map(|(.., place, kind)| (place, kind)).collect();
        self.plan_cursor = self.plan_cursor.min(self.entries.len().saturating_sub(1));
    }
}

/// Where a key moves the cursor of a list.
fn moved(cursor: usize, rows: usize, key: Key) -> usize {
    let to = match key {
        Key::Up | Key::Char('k') => cursor.saturating_sub(1),
        Key::Down | Key::Char('j') => cursor + 1,
        Key::PageUp => cursor.saturating_sub(PAGE),
        Key::PageDown => cursor + PAGE,
        Key::Home | Key::Char('g') => 0,
        Key::End | Key::Char('G') => rows,
        _ => cursor,
    };
    to.min(rows.saturating_sub(1))
}

/// Everything of a workload that the filter finds, in small letters.
fn searched(audited: &AuditedWorkload) -> String {
    let workload = &audited.workload;
    let facts = RowFacts::of(audited);
    let mut words = vec![
        workload.key.account.clone(),
        facts.instance_type,
        facts.region,
        facts.class.to_owned(),
        workload.kind.to_string(),
    ];
    words.extend(facts.names);
    words.extend(workload.tags.iter().map(|(key, value)| format!("{key}={value}")));
    words.join("\n").to_lowercase().chars().take(MOST_SEARCHED).collect()
}
