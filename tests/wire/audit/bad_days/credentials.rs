//! Without credentials that hold there is nothing to audit: an error that says
//! what to do, and nothing on stdout.

use super::super::command::{ACCESS_KEY, Gpucost};
use super::super::days::Days;
use super::{Office, VIRGINIA};
use crate::wire::loopback::{Fault, Loopback, Target, Times};

#[test]
fn none_at_all() {
    let loopback = Loopback::start(None);
    let run = Gpucost::audit(Days::ahead()).at(&loopback.url()).run();
    let error = run.error(1);
    assert!(error.starts_with("error: no AWS credentials were found\n  caused by: "), "{error}");
    let hint = "\nhint: set AWS_PROFILE or pass `--profile NAME`; `gpucost audit --demo` needs \
                no credentials\n";
    assert!(error.ends_with(hint), "{error}");
    assert_eq!(loopback.call_counts().len(), 0, "nobody was asked");
}

#[test]
fn a_profile_that_does_not_exist() {
    let loopback = Loopback::start(None);
    let run =
        Gpucost::audit(Days::ahead()).at(&loopback.url()).args(&["--profile", "nobody"]).run();
    let error = run.error(1);
    assert!(
        error.starts_with("error: no AWS credentials were found in profile `nobody`\n"),
        "{error}"
    );
    assert!(error.contains("\nhint: "), "{error}");
    assert_eq!(loopback.call_counts().len(), 0, "nobody was asked");
}

/// Profiles with keys, and with a role of an account that these keys may take.
fn profiles(account: &str) -> String {
    format!(
        "[profile keys]\n\
         aws_access_key_id = AKIAGPUCOSTPROFILE00\n\
         aws_secret_access_key = anotherSecret\n\
         [profile role]\n\
         role_arn = arn:aws:iam::{account}:role/audit\n\
         source_profile = keys\n"
    )
}

#[test]
fn a_profile_asked_for_outranks_the_environment() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    // Whoever comes with the keys of the environment is turned away.
    let loopback = &office.account.loopback;
    for service in ["sts", "ec2", "cloudwatch", "pricing"] {
        let environment = Target::service(service).for_access_key(ACCESS_KEY);
        loopback.inject(environment, Fault::AuthFailure, Times::Always);
    }
    office.audit().run().error(1);
    for profile in ["keys", "role"] {
        let mut command = office.audit().args(&["--profile", profile]);
        let folder = command.folder().join(".aws");
        std::fs::create_dir(&folder).expect("our own folder");
        let text = profiles(&office.account.number);
        std::fs::write(folder.join("config"), text).expect("our own folder");
        let report = command.run().json(0);
        assert_eq!(report["summary"]["instances"], 1, "{profile}");
    }
    assert_ne!(loopback.calls("sts", "AssumeRole"), 0, "the role was taken");
}

#[test]
fn expired_before_the_first_call() {
    let loopback = Loopback::start(None);
    loopback.inject(Target::service("sts"), Fault::ExpiredToken, Times::Always);
    let run = Gpucost::audit(Days::ahead()).at(&loopback.url()).with_credentials().run();
    assert_eq!(
        run.error(1),
        "error: sts:GetCallerIdentity: ExpiredToken: The security token included in the request \
         is expired\n\
         hint: sign in again (`aws sso login`, or refresh the session token)\n"
    );
    assert_eq!(loopback.calls("sts", "GetCallerIdentity"), 1, "tried once");
}

#[test]
fn expired_after_the_first_call() {
    let Some(office) = Office::open(&[VIRGINIA]) else { return };
    let loopback = &office.account.loopback;
    loopback.inject(Target::service("ec2"), Fault::ExpiredToken, Times::Always);
    let run = office.audit().run();
    let error = run.error(1);
    assert!(error.starts_with("error: no region could be read (2 tried)\n"), "{error}");
    assert!(error.contains("  caused by: ec2:DescribeInstances: RequestExpired: "), "{error}");
    assert!(error.contains("\nhint: sign in again"), "{error}");
}

#[test]
fn refused() {
    let loopback = Loopback::start(None);
    loopback.inject(Target::service("sts"), Fault::AuthFailure, Times::Always);
    let run = Gpucost::audit(Days::ahead()).at(&loopback.url()).with_credentials().run();
    let error = run.error(1);
    assert!(error.starts_with("error: sts:GetCallerIdentity: InvalidClientTokenId: "), "{error}");
    assert!(error.contains("\nhint: check the access keys"), "{error}");
}
