//! Where the host is: what the flags say, else what the metadata service says.

use super::args::ProfileArgs;
use crate::cli::Io;
use crate::cli::live::runtime;
use crate::domain::{Cause, CauseKind, Gap, GapSubject};
use crate::sources::aws::{InstancePlace, instance_place};

/// The SDKs' own variable for the address of the service.
const ENDPOINT: &str = "AWS_EC2_METADATA_SERVICE_ENDPOINT";

/// Finds the host's place; what cannot be found out is a gap.
pub(super) fn find(args: &ProfileArgs, io: &Io<'_>, gaps: &mut Vec<Gap>) -> InstancePlace {
    let named = InstancePlace {
        instance_type: args.instance_type.as_deref().map(str::to_lowercase),
        region: args.region.clone(),
        ..InstancePlace::default()
    };
    if args.no_imds || is_switched_off(io) {
        return named;
    }
    let endpoint = io.variable(ENDPOINT).map(String::as_str);
    let runtime = runtime().map_err(|error| error.to_string());
    match runtime.and_then(|runtime| runtime.block_on(instance_place(endpoint))) {
        Ok(place) => InstancePlace {
            instance_type: named.instance_type.or(place.instance_type),
            region: named.region.or(place.region),
            ..place
        },
        // Whoever says where the host is need not be on EC2.
        Err(_) if named.instance_type.is_some() => named,
        Err(reason) => {
            let cause = Cause::of(CauseKind::MetadataNotRead, [&reason]);
            gaps.push(Gap::of(GapSubject::InstanceType, "instance metadata", cause));
            named
        }
    }
}

/// Where the metadata service is asked for notices: its usual address where none is named.
///
/// # Errors
/// Why it is not to be asked.
pub(super) fn notices(io: &Io<'_>) -> Result<Option<String>, &'static str> {
    if is_switched_off(io) {
        return Err("AWS_EC2_METADATA_DISABLED is set");
    }
    Ok(io.variable(ENDPOINT).cloned())
}

/// The SDKs' own switch.
fn is_switched_off(io: &Io<'_>) -> bool {
    io.variable("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"))
}
