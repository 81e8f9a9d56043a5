//! The flags of the server, and the directories that tools read files from. A client passes on what
//! a model wrote, and a model may pass on what a stranger wrote into a document.

use crate::cli::args::positive;
use crate::cli::{Outcome, flags, refused};
use crate::domain::shown;
use crate::report::text::fit;
use rust_decimal::Decimal;
use std::path::{Path, PathBuf};

flags! {
    /// `gpucost mcp`.
    #[derive(Clone)]
    pub(in crate::cli) struct McpArgs {
        /// Directory that recorded estates are read from (can be repeated) [default: the current
        /// directory]
        root: Vec<PathBuf> = arg(long, value_name = "DIR");
        /// Settings file; `gpucost.toml` in the current directory is not read
        config: Option<PathBuf> = arg(long, value_name = "FILE");
        /// Also read the AWS account, when a tool names no estate; without it, no tool uses the
        /// network
        live: bool = arg(long);
        /// AWS named profile of `--live`
        profile: Option<String> = arg(long, value_name = "NAME", requires = "live", help_heading = "AWS");
        /// Comma-separated regions of `--live`, unless a tool names others
        region: Option<String> = arg(long, value_name = "R[,R…]|all", requires = "live", help_heading = "AWS");
        /// Refuse a call of a tool whose AWS calls would cost more than this amount in USD
        max_api_cost: Decimal = arg(long, value_name = "USD", value_parser = positive, default_value = "1", help_heading = "AWS");
    }
}

/// Columns of a name in a message.
const SHOWN_COLUMNS: usize = 200;

/// Directories with every link followed.
#[derive(Debug)]
pub(super) struct Roots(Vec<PathBuf>);

impl Roots {
    /// The directories that are named, else `folder`.
    ///
    /// # Errors
    /// When one is not a directory that can be read.
    pub(super) fn of(named: &[PathBuf], folder: &Path) -> Outcome<Self> {
        let usual = [folder.to_owned()];
        let named = if named.is_empty() { &usual[..] } else { named };
        let resolved = named.iter().map(|path| {
            folder.join(path).canonicalize().ok().filter(|path| path.is_dir()).ok_or_else(refused!(
                "{} is not a readable directory", shown(path);
                "pass an existing directory with `--root`"))
        });
        resolved.collect::<Result<_, _>>().map(Self)
    }

    /// The file of a name, which is relative to one of the directories or absolute, with every
    /// link followed.
    ///
    /// # Errors
    /// When it is not a file in one of them. Whether a file outside exists makes no difference.
    pub(super) fn file(&self, name: &str) -> Result<PathBuf, String> {
        let is_inside = |path: &Path| self.0.iter().any(|root| path.starts_with(root));
        let mut paths = self.0.iter().filter_map(|root| {
            let path = root.join(name).canonicalize().ok()?;
            (is_inside(&path) && path.is_file()).then_some(path)
        });
        paths.next().ok_or_else(|| {
            let roots: Vec<String> = self.0.iter().map(|root| shown(root)).collect();
            format!(
                "error: {} is not a file in {}\nhint: name a file there, or start the server \
                 with `--root DIR`",
                fit(name, SHOWN_COLUMNS),
                roots.join(" or ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_files_in_the_directories_are_found() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let base = scratch.path().canonicalize().expect("it exists");
        for folder in ["one/deep", "two", "one-more"] {
            fs::create_dir_all(base.join(folder)).expect("a folder");
        }
        for file in ["one/deep/a.json", "two/b.json", "one-more/c.json", "d.json"] {
            fs::write(base.join(file), "{}").expect("a file");
        }
        let roots = Roots::of(&["one".into(), "two".into()], &base).expect("they exist");
        let file = |name: &str| roots.file(name).ok();
        assert_eq!(file("deep/a.json"), Some(base.join("one/deep/a.json")));
        assert_eq!(file("b.json"), Some(base.join("two/b.json")));
        // From one into the other is still inside.
        assert_eq!(file("../two/b.json"), Some(base.join("two/b.json")));
        let absolute = base.join("two/b.json");
        assert_eq!(file(&absolute.to_string_lossy()), Some(absolute.clone()));
        let outside = base.join("one-more/c.json");
        let outside = outside.to_string_lossy().into_owned();
        for bad in [
            "../d.json",
            "../one-more/c.json",
            outside.as_str(),
            "deep/../../d.json",
            "deep",
            ".",
            "",
            "missing.json",
            "../missing.json",
            "/etc/passwd",
            "b.json\0",
        ] {
            let problem = roots.file(bad).expect_err(bad);
            assert!(problem.contains("is not a file in"), "{bad}: {problem}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_nowhere_else() {
        use std::os::unix::fs::symlink;
        let scratch = tempfile::tempdir().expect("a scratch folder");
        let base = scratch.path().canonicalize().expect("it exists");
        fs::create_dir(base.join("in")).expect("a folder");
        fs::create_dir(base.join("out")).expect("a folder");
        fs::write(base.join("out/secret.json"), "{}").expect("a file");
        fs::write(base.join("in/real.json"), "{}").expect("a file");
        symlink("../out/secret.json", base.join("in/file.json")).expect("a link");
        symlink("../out", base.join("in/folder")).expect("a link");
        symlink("real.json", base.join("in/same.json")).expect("a link");
        let roots = Roots::of(&[], &base.join("in")).expect("it exists");
        assert!(roots.file("file.json").is_err());
        assert!(roots.file("folder/secret.json").is_err());
        assert_eq!(roots.file("same.json"), Ok(base.join("in/real.json")));
    }

    #[test]
    fn a_directory_that_is_missing_is_refused() {
        let scratch = tempfile::tempdir().expect("a scratch folder");
        assert!(Roots::of(&["missing".into()], scratch.path()).is_err());
    }
}
