//! The fewest cards for a few tenants, by branch and bound.

/// Tenants up to which the search is exact.
pub(super) const MOST_EXACT: usize = 12;

/// Steps after which a search is given up. Twelve tenants have 4,213,597 divisions into
/// groups (the twelfth Bell number), of which bounds leave a small part.
const MOST_STEPS: u64 = 1_000_000;

/// What the search may ask of the tenants that are packed together.
pub(super) trait Rules {
    /// Whether a tenant fits beside others on one card. Whatever fits also fits without
    /// some of them.
    fn fits(&self, on_card: &[usize], next: usize) -> bool;

    /// Whether two tenants are the same in everything that rules ask.
    fn are_alike(&self, one: usize, other: usize) -> bool;
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fewest {
    /// The fewest cards, with who is on each.
    Cards(Vec<Vec<usize>>),
    /// None that takes fewer than were known.
    NoFewer,
    /// It was given up.
    Unfinished,
}

struct Search<'a, R: Rules> {
    rules: &'a R,
    order: &'a [usize],
    /// No packing takes fewer.
    least: usize,
    best: Option<Vec<Vec<usize>>>,
    /// Packings of so many cards and more are of no use.
    known: usize,
    steps: u64,
}

/// Searches for fewer cards than `known` for tenants in an order, the largest first. No
/// packing takes fewer than `least`.
pub(super) fn fewest_cards<R: Rules>(
    rules: &R,
    order: &[usize],
    (least, known): (usize, usize),
) -> Fewest {
    if known <= least {
        return Fewest::NoFewer;
    }
    let mut search = Search { rules, order, least, best: None, known, steps: 0 };
    // The card of each tenant that was placed, in order.
    let is_finished = search.place(&mut Vec::new(), &mut Vec::new());
    match (search.best, is_finished) {
        (_, false) => Fewest::Unfinished,
        (Some(cards), true) => Fewest::Cards(cards),
        (None, true) => Fewest::NoFewer,
    }
}

impl<R: Rules> Search<'_, R> {
    /// Tries every card for the next tenant; `false` when it took too long.
    fn place(&mut self, cards: &mut Vec<Vec<usize>>, chosen: &mut Vec<usize>) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return false;
        }
        if cards.len() >= self.known {
            return true;
        }
        let depth = chosen.len();
        let Some(next) = self.order.get(depth).copied() else {
            self.known = cards.len();
            self.best = Some(cards.clone());
            return true;
        };
        // Tenants that are alike take cards in ascending order: to swap them changes nothing.
        let before = depth.checked_sub(1).map(|place| self.order[place]);
        let is_alike = before.is_some_and(|before| self.rules.are_alike(before, next));
        let first = match chosen.last() {
            Some(card) if is_alike => *card,
            _ => 0,
        };
        for card in first..=cards.len() {
            if self.known <= self.least {
                return true;
            }
            if card == cards.len() {
                cards.push(Vec::new());
            } else if !self.rules.fits(&cards[card], next) {
                continue;
            }
            cards[card].push(next);
            chosen.push(card);
            let is_finished = self.place(cards, chosen);
            chosen.pop();
            cards[card].pop();
            if cards[card].is_empty() {
                cards.pop();
            }
            if !is_finished {
                return false;
            }
        }
        true
    }
}
