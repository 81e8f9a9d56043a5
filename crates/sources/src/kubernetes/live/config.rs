//! Which API server is asked, and with which credentials: the kubeconfig, or the service
//! account of a pod.

use super::super::KubernetesOptions;
use super::super::failure::OpenError;
use super::plugin::is_sendable;
use super::refusal::words_of;
use crate::domain::shown;
use crate::secrets::Secrets;
use crate::tls::is_loopback;
use hyper_util::client::proxy::matcher::Matcher;
use kube::Config;
use kube::config::{AuthInfo, ExecInteractiveMode, Kubeconfig, KubeconfigError};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

const CONNECT_WITHIN: Duration = Duration::from_secs(10);
/// Bytes of a file with a certificate, a key or a token: many times those of a long one.
const MOST_BYTES_OF_FILE: u64 = 1 << 20;
/// What a kubeconfig says of a user that no message may hold.
const SECRET_KEYS: [&str; 3] = ["token", "password", "client-key-data"];
/// The variable that says that this is a pod.
const POD: &str = "KUBERNETES_SERVICE_HOST";

/// An API server, and who asks it.
pub(super) struct Target {
    pub config: Config,
    pub secrets: Secrets,
}

impl Target {
    /// # Errors
    /// When a kubeconfig is missing, or what it says cannot be used.
    pub(super) fn of(options: &KubernetesOptions) -> Result<Self, OpenError> {
        let mut config = match kubeconfig(&options.kubeconfig)? {
            Some(kubeconfig) => of_context(kubeconfig, options.context.as_deref())?,
            None if options.context.is_none() && std::env::var_os(POD).is_some() => {
                Config::incluster()
                    .map_err(|error| OpenError::ServiceAccount { why: error.to_string() })?
            }
            None => {
                return Err(OpenError::NoKubeconfig { searched: options.kubeconfig.clone() });
            }
        };
        // Tries are counted and bounded in one place.
        config.default_retry = false;
        config.connect_timeout = Some(CONNECT_WITHIN);
        if config.cluster_url.scheme_str() == Some("http") && config.root_cert.is_none() {
            // Without TLS there is nothing to verify, and reading the system's authorities
            // takes time.
            config.root_cert = Some(Vec::new());
        }
        let secrets = secrets(&config.auth_info);
        if let Some(plugin) = config.auth_info.exec.as_mut()
            && !options.is_interactive
        {
            plugin.interactive_mode = Some(ExecInteractiveMode::Never);
        }
        Ok(Self { config, secrets })
    }
}

/// The address to which a token or a password goes with every call; `None` where none is
/// sent.
pub(super) fn address_of_credentials(config: &Config) -> Option<String> {
    let user = &config.auth_info;
    let is_known = user.token.is_some()
        || user.token_file.is_some()
        || user.username.is_some()
        || user.exec.is_some()
        || user.auth_provider.is_some();
    let (scheme, host) = (config.cluster_url.scheme_str()?, config.cluster_url.host()?);
    is_known.then(|| format!("{scheme}://{host}"))
}

/// All files as one, the first of which wins; `None` where none exists.
fn kubeconfig(files: &[impl AsRef<Path>]) -> Result<Option<Kubeconfig>, OpenError> {
    let mut merged: Option<Kubeconfig> = None;
    for file in files {
        let path = file.as_ref();
        let malformed = |_| OpenError::Malformed { path: path.to_owned() };
        let next = match Kubeconfig::read_from(path) {
            Ok(next) => next,
            Err(KubeconfigError::ReadConfig(source, _)) if source.kind() == ErrorKind::NotFound => {
                continue;
            }
            Err(KubeconfigError::ReadConfig(source, _)) => {
                return Err(OpenError::Io { path: path.to_owned(), source });
            }
            Err(error) => return Err(malformed(error)),
        };
        merged = Some(match merged {
            Some(all) => all.merge(next).map_err(malformed)?,
            None => next,
        });
    }
    Ok(merged)
}

fn of_context(mut kubeconfig: Kubeconfig, wanted: Option<&str>) -> Result<Config, OpenError> {
    let known = || {
        let names = kubeconfig.contexts.iter().map(|context| context.name.clone());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    };
    let name = wanted.or(kubeconfig.current_context.as_deref()).filter(|name| !name.is_empty());
    let Some(name) = name.map(str::to_owned) else {
        return Err(OpenError::NoContext { known: known() });
    };
    let context = kubeconfig.contexts.iter().find(|named| named.name == name);
    let Some(context) = context.and_then(|named| named.context.as_ref()) else {
        return Err(OpenError::UnknownContext { name, known: known() });
    };
    let cluster = kubeconfig.clusters.iter().find(|named| named.name == context.cluster);
    let cluster = cluster.and_then(|named| named.cluster.as_ref());
    let proxy = cluster.and_then(|settings| settings.proxy_url.as_ref());
    let has_own_proxy = proxy.is_some_and(|url| !url.is_empty());
    let authority = cluster.and_then(|settings| settings.certificate_authority.clone());
    let user = context.user.clone().unwrap_or_default();
    let own = kubeconfig.auth_infos.iter().find(|named| named.name == user);
    let files = own
        .and_then(|named| named.auth_info.as_ref())
        .map(|own| [&own.client_certificate, &own.client_key, &own.token_file].map(Clone::clone));
    let files: Vec<String> = files.into_iter().flatten().chain([authority]).flatten().collect();
    kubeconfig.current_context = Some(name.clone());
    let unusable = |why| OpenError::Unusable { context: name.clone(), why };
    if let Some(file) = files.iter().find(|file| is_endless(Path::new(file))) {
        return Err(unusable(format!("{} is not a file of at most 1 MiB", shown(Path::new(file)))));
    }
    let config = Config::try_from(kubeconfig);
    let mut config = config.map_err(|error| unusable(words_of(&error)))?;
    check(&config.auth_info, &user).map_err(unusable)?;
    if !has_own_proxy && !needs_proxy(&config.cluster_url) {
        config.proxy_url = None;
    }
    Ok(config)
}

/// Whether a file of credentials may have no end, such as a device.
fn is_endless(file: &Path) -> bool {
    let metadata = std::fs::metadata(file);
    metadata.is_ok_and(|metadata| !metadata.is_file() || metadata.len() > MOST_BYTES_OF_FILE)
}

/// # Errors
/// When a user has credentials that the client of kube would end the process over, or runs a
/// program without an end to what it prints.
fn check(user: &AuthInfo, name: &str) -> Result<(), String> {
    let written = serde_json::to_value(user).unwrap_or_default();
    let provider = &written["auth-provider"]["config"];
    let tokens = [&written["token"], &provider["id-token"], &provider["access-token"]];
    let mut tokens = tokens.into_iter().filter_map(|token| token.as_str());
    if !tokens.all(is_sendable) {
        return Err(format!(
            "the token of its user `{name}` has characters that no HTTP header can hold, such as \
             a line feed"
        ));
    }
    if provider["cmd-path"].is_string() {
        return Err(format!(
            "its user `{name}` runs a program of `auth-provider`, which Kubernetes replaced by \
             credential plugins"
        ));
    }
    Ok(())
}

/// Whether the environment sends requests for an address to a proxy. The client of kube
/// asks this of the proxy's own address instead.
fn needs_proxy(address: &http::Uri) -> bool {
    let host = address.host().unwrap_or_default();
    !is_loopback(host) && Matcher::from_env().intercept(address).is_some()
}

/// What proves who asks, as far as the kubeconfig states it.
fn secrets(user: &AuthInfo) -> Secrets {
    let mut secrets = Secrets::default();
    let written = serde_json::to_value(user).unwrap_or_default();
    for key in SECRET_KEYS {
        if let Some(value) = written[key].as_str() {
            secrets.add(value);
        }
    }
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const CONFIG: &str = "apiVersion: v1\n\
        kind: Config\n\
        current-context: lab\n\
        clusters:\n\
        - {name: lab, cluster: {server: 'http://127.0.0.1:1'}}\n\
        - {name: odd, cluster: {server: 'http://a b'}}\n\
        users:\n\
        - {name: me, user: {token: hunter2-hunter2}}\n\
        contexts:\n\
        - {name: lab, context: {cluster: lab, user: me}}\n\
        - {name: odd, context: {cluster: odd, user: me}}\n\
        - {name: gone, context: {cluster: nowhere}}\n";

    fn target(text: &str, context: Option<&str>) -> Result<Target, OpenError> {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("config");
        std::fs::write(&file, text).expect("writable");
        Target::of(&KubernetesOptions {
            context: context.map(str::to_owned),
            kubeconfig: vec![folder.path().join("absent"), file],
            ..KubernetesOptions::default()
        })
    }

    #[test]
    fn the_current_context_or_the_named_one_is_used() {
        let target = target(CONFIG, None).expect("usable");
        assert_eq!(target.config.cluster_url.port_u16(), Some(1));
        assert!(!target.config.default_retry);
        assert_eq!(target.config.proxy_url, None);
        let said = target.secrets.blank("token hunter2-hunter2");
        assert_eq!(said, "token (not shown)");
    }

    #[test]
    fn credentials_go_to_the_server_where_there_are_any() {
        let address = |user: &str| {
            let text = CONFIG.replace("{token: hunter2-hunter2}", user);
            let target = target(&text, None).expect("usable");
            address_of_credentials(&target.config)
        };
        for user in [
            "{token: hunter2}",
            "{tokenFile: /run/token}",
            "{username: a, password: b}",
            "{exec: {command: aws, apiVersion: client.authentication.k8s.io/v1}}",
        ] {
            assert_eq!(address(user).as_deref(), Some("http://127.0.0.1"), "{user}");
        }
        assert_eq!(address("{}"), None);
    }

    #[test]
    fn files_of_credentials_have_an_end() {
        for user in
            ["{tokenFile: /dev/zero}", "{client-certificate: /dev/zero, client-key: /dev/zero}"]
        {
            let error = target(&CONFIG.replace("{token: hunter2-hunter2}", user), None).err();
            let said = error.map(|error| error.to_string()).unwrap_or_default();
            assert!(said.contains("/dev/zero is not a file"), "{said}");
        }
        let text = CONFIG.replace("1'}", "1', certificate-authority: /dev/zero}");
        assert!(target(&text, None).is_err());
    }

    #[test]
    fn a_token_that_no_header_can_hold_names_its_user() {
        for user in [
            r#"{token: "hunter2\nX-Other: 1"}"#,
            r#"{token: "hunter2\u0001"}"#,
            r#"{auth-provider: {name: oidc, config: {id-token: "hunter2\r"}}}"#,
            "{auth-provider: {name: gcp, config: {cmd-path: hunter2}}}",
        ] {
            let text = CONFIG.replace("{token: hunter2-hunter2}", user);
            let error = target(&text, None).err().expect("not usable");
            let said = error.to_string();
            assert!(
                said.starts_with("the context `lab` of the kubeconfig cannot be used: ")
                    && said.contains("its user `me` "),
                "{said}"
            );
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_named_without_what_the_file_says() {
        let refusal = |text: &str, context: Option<&str>| {
            let error = target(text, context).err().expect("not usable");
            error.to_string()
        };
        assert_eq!(refusal(CONFIG, Some("prod")), "the kubeconfig has no context `prod`");
        let odd = refusal(CONFIG, Some("odd"));
        assert!(odd.starts_with("the context `odd` of the kubeconfig cannot be used: "), "{odd}");
        assert!(refusal(CONFIG, Some("gone")).contains("nowhere"));
        let without = CONFIG.replace("current-context: lab\n", "");
        assert_eq!(refusal(&without, None), "the kubeconfig has no current context");
        for text in ["users: hunter2", "{", "users: [{name: a, user: {token: [hunter2]}}]"] {
            let said = refusal(text, None);
            assert!(said.ends_with(" is not a valid kubeconfig"), "{said}");
            assert!(!said.contains("hunter2"), "{said}");
        }
    }

    #[test]
    fn a_folder_and_a_missing_file_are_two_errors() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |files: Vec<PathBuf>| {
            Target::of(&KubernetesOptions {
                // Without a service account, wherever this runs.
                context: Some("lab".to_owned()),
                kubeconfig: files,
                ..KubernetesOptions::default()
            })
        };
        let error = of(vec![folder.path().to_owned()]).err();
        assert!(matches!(error, Some(OpenError::Io { .. })), "{error:?}");
        let error = of(vec![folder.path().join("absent")]).err();
        assert!(matches!(error, Some(OpenError::NoKubeconfig { .. })), "{error:?}");
    }
}
