//! What an hour of work costs on the spot market.

use super::page::{Page, figure, price, share};
use super::plan::PlanState;
use crate::savings::SpotFigures;

impl Page {
    /// The spot market of the type that the actions before led to.
    pub(super) fn spot(&mut self, state: &mut PlanState<'_>) {
        let markets = state.audited.proposals.spot();
        let Some(offer) = markets.and_then(|markets| markets.get(&state.instance_type)) else {
            return;
        };
        let figures = &offer.figures;
        self.market(figures);
        let (effective, on_demand) = (offer.effective.amount(), figures.on_demand.amount());
        let before = state.monthly;
        state.monthly = before * effective / on_demand;
        self.note(&format!(
            "{} × {} / {} = {} per month",
            figure(before, 6),
            effective.normalize(),
            on_demand.normalize(),
            figure(state.monthly, 6)
        ));
    }

    fn market(&mut self, figures: &SpotFigures) {
        let spot = figures.spot.rate.amount().normalize();
        self.note(&format!("spot {spot}/h: {}", figures.spot.basis));
        for (key, quote) in &figures.spot.quotes {
            self.note(&format!(
                "{}/h {}",
                quote.rate.amount().normalize(),
                price(key, quote)
            ));
        }
        let hazard = figures.interruptions;
        let band = hazard.band_per_node_hour.map_or_else(
            || "no interruption band".to_owned(),
            |band| format!("λ of the band −ln(1 − p)/730 = {band:.6}"),
        );
        let basis = if hazard.is_prudence {
            "prudence"
        } else {
            "the band"
        };
        self.note(&format!(
            "{band} per node-hour; {} × {:.6} by {basis}: λ = {:.6} per hour",
            figures.nodes,
            hazard.per_hour / f64::from(figures.nodes),
            hazard.per_hour
        ));
        let (cost, restart) = (figures.checkpointing.cost, figures.checkpointing.restart);
        let interval = figures.checkpoint_interval.as_secs();
        if figures.is_best_interval {
            self.note(&format!(
                "τ* = sqrt(2 × {} s × 3600 / λ) = {interval} s, at most 3600 s",
                cost.as_secs()
            ));
        }
        self.note(&format!(
            "overhead o = {} / {interval} + λ × ({interval} / 2 + {}) / 3600 = {} (checkpoints alone \
             {})",
            cost.as_secs(),
            restart.as_secs(),
            figure(figures.overhead, 6),
            share(figures.checkpoint_share)
        ));
        if let (Some(effective), Some(saved)) =
            (figures.effective, figures.effective_savings_percent())
        {
            self.note(&format!(
                "effective {spot} / (1 − {}) = {}/h, {}% below {}/h; the price alone is {}% below",
                figure(figures.overhead, 6),
                figure(effective.amount(), 6),
                figure(saved, 2),
                figures.on_demand.amount().normalize(),
                figure(figures.naive_savings_percent(), 2)
            ));
        }
        if let Some(hazard) = figures.break_even_per_hour {
            self.note(&format!(
                "spot costs as much as on-demand at λ = {hazard:.4} per hour"
            ));
        }
    }
}
