//! What the flags say of the steps of a run.

use super::args::ProfileArgs;
use crate::analysis::{STEPS, StepFacts};
use crate::cli::exit::Failure;
use crate::planners::model::Dtype;

/// The facts of a step.
///
/// # Errors
/// When something is missing that others rest on.
pub(super) fn step_facts(args: &ProfileArgs) -> Result<StepFacts, Failure> {
    let names_model = args.model.model.is_some() || !args.model.passed().is_empty();
    let flops = match (args.flops_per_step, args.tokens_per_step, args.sequence_length) {
        (Some(flops), ..) => Some(flops),
        (None, Some(tokens), Some(sequence)) => {
            let model = args.model.model()?;
            Some(model.training_flops_per_token(sequence) * tokens as f64)
        }
        (None, ..) if names_model || args.sequence_length.is_some() => {
            return Err(Failure::input(
                "the operations of a step need a model, its tokens and their sequences",
            )
            .with_hint(
                "pass `--model NAME`, `--tokens-per-step N` and `--sequence-length N`, or \
                 `--flops-per-step`",
            ));
        }
        (None, ..) => None,
    };
    let rests_on_steps = flops.is_some() || args.tokens_per_step.is_some();
    let counts_steps = args.log_unit.iter().any(|(unit, _)| unit == STEPS);
    // A log may have counted them.
    if rests_on_steps && !counts_steps && args.read.is_none() {
        return Err(Failure::input(format!("the number of `{STEPS}` is not counted")).with_hint(
            "pass `--log FILE --log-unit steps=TEXT` with a text that the log has once a step",
        ));
    }
    Ok(StepFacts { tokens: args.tokens_per_step, flops, dtype: args.dtype.unwrap_or(Dtype::Bf16) })
}
