//! Clusters of Ballista: the same statements, planned by a scheduler and run by executors.

use crate::failure::{Failure, Result};
use crate::progress::Progress;
use datafusion::prelude::SessionContext;

/// The version of the client, which the cluster must have.
#[cfg(feature = "ballista")]
const BALLISTA: &str = "55.0.0";

/// A context whose statements run on a cluster, in as many parts as its executors have cores
/// unless `parts` says how many.
///
/// # Errors
/// When the address is none, or the cluster is of another version, has no executor or is not
/// there.
#[cfg(feature = "ballista")]
pub async fn context(
    address: &str,
    parts: Option<usize>,
    progress: &Progress,
) -> Result<SessionContext> {
    use ballista::prelude::{SessionConfigExt, SessionContextExt};
    use datafusion::execution::SessionStateBuilder;
    use datafusion::prelude::SessionConfig;

    let host = host(address)?.to_owned();
    let asked = host.clone();
    let checked = tokio::task::spawn_blocking(move || {
        let state = crate::state::of(&asked)?;
        check(&asked, &state)?;
        Ok::<_, Failure>((state, crate::state::cores(&asked)?))
    });
    let (state, cores) = checked.await.map_err(|error| {
        Failure::unexpected("the check of the cluster ended").caused_by(&error)
    })??;
    if cores == 0 {
        return Err(Failure::unexpected(format!("the cluster at {host} has no executor"))
            .with_hint(
                "start `ballista-executor` with `--scheduler-host`, or wait until it is registered",
            ));
    }
    progress.say(&format!(
        "cluster at {host}: Ballista {}, DataFusion {}, {cores} cores",
        state.ballista, state.datafusion
    ));
    let config = SessionConfig::new_with_ballista()
        .with_target_partitions(parts.unwrap_or(cores))
        .with_collect_statistics(false);
    let local = SessionStateBuilder::new().with_config(config).with_default_features().build();
    Ok(SessionContext::remote_with_state(&format!("df://{host}"), local).await?)
}

/// # Errors
/// When plans of this client would mean something else to the cluster.
#[cfg(feature = "ballista")]
fn check(host: &str, state: &crate::state::State) -> Result<()> {
    let major = |version: &str| version.split('.').next().map(str::to_owned);
    let own = datafusion::DATAFUSION_VERSION;
    if state.ballista == BALLISTA && major(&state.datafusion) == major(own) {
        return Ok(());
    }
    Err(Failure::input(format!(
        "the cluster at {host} is Ballista {} with DataFusion {}, and gpucost-engine is Ballista \
         {BALLISTA} with DataFusion {own}",
        state.ballista, state.datafusion
    ))
    .with_hint(format!(
        "install the scheduler and the executors with `cargo install --locked \
         ballista-scheduler@{BALLISTA}` and `cargo install --locked ballista-executor@{BALLISTA}`"
    )))
}

/// # Errors
/// Always: this program was built without the client.
#[cfg(not(feature = "ballista"))]
pub async fn context(address: &str, _: Option<usize>, _: &Progress) -> Result<SessionContext> {
    host(address)?;
    Err(Failure::input("this gpucost-engine was built without Ballista").with_hint(
        "run `cargo install --locked --path engine --features ballista` in a checkout of gpucost",
    ))
}

/// The host and the port of `ballista://HOST:PORT`.
fn host(address: &str) -> Result<&str> {
    let host = address.strip_prefix("ballista://");
    let is_host = |host: &&str| {
        let port = host.rsplit_once(':').map(|(name, port)| (name, port.parse::<u16>()));
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-_:[]".contains(c);
        matches!(port, Some((name, Ok(_))) if !name.is_empty()) && host.chars().all(plain)
    };
    host.map(|host| host.trim_end_matches('/')).filter(is_host).ok_or_else(|| {
        Failure::input(format!("`--engine {address}` is not an engine")).with_hint(
            "use `embedded`, or `ballista://HOST:PORT`, such as `ballista://127.0.0.1:50050`",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_host_and_a_port() {
        assert_eq!(host("ballista://127.0.0.1:50050").ok(), Some("127.0.0.1:50050"));
        assert_eq!(host("ballista://[::1]:50050/").ok(), Some("[::1]:50050"));
        for address in [
            "ballista", "ballista://", "ballista://host", "ballista://:50050",
            "ballista://host:port", "ballista://user@host:1", "df://host:1",
        ] {
            assert!(host(address).is_err(), "{address}");
        }
    }

    #[cfg(feature = "ballista")]
    #[test]
    fn another_version_is_refused_with_both_named() {
        let state = |ballista: &str, datafusion: &str| crate::state::State {
            ballista: ballista.to_owned(),
            datafusion: datafusion.to_owned(),
        };
        assert!(check("h:1", &state("55.0.0", "55.1.0")).is_ok());
        for (ballista, datafusion) in
            [("54.1.0", "54.0.0"), ("55.0.1", "55.1.0"), ("55.0.0", "56.0.0")]
        {
            let refused = check("h:1", &state(ballista, datafusion));
            let text = refused.expect_err("another version").text();
            assert!(text.contains(ballista) && text.contains("55.0.0"), "{text}");
        }
    }
}
