//! `gpucost history verify`.

use super::places::{Opening, check};
use crate::cli::args::{OutputArgs, place};
use crate::cli::aws_args::BucketArgs;
use crate::cli::{ExitCode, Io, Outcome, estate, flags, output, refusal};
use crate::domain::shell_word;
use crate::report::verified_text;
use crate::sources::files::Records;
use crate::sources::store::Place;
use clap::ValueHint;

flags! {
    /// `gpucost history verify`.
    pub(in crate::cli) struct VerifyArgs {
        /// Directory, or s3://BUCKET/PREFIX [default: `history`]
        place: Option<Place> = arg(value_name = "DIR|URL", value_parser = place(), value_hint = ValueHint::DirPath);
        bucket: BucketArgs = command(flatten);
        out: OutputArgs = command(flatten);
        /// Exit with code 3 for half-written files and files of others, too
        strict: bool = arg(long, help_heading = "Output");
    }
}

pub(super) fn run(args: &VerifyArgs, io: &mut Io<'_>) -> Outcome {
    let aws = args.bucket.options(&estate::settings(&args.out, io)?, io);
    let history = Opening::of(&args.place, &aws, io);
    check(&history.place)?;
    let verified = history.run(&args.out, io, async |records: Records| records.verify().await)?;
    let place = history.place.to_string();
    if verified.files == 0 {
        return Err(refusal!("{place} has no file of a history";
            "pass the directory or URL that `gpucost history record` or `gpucost bill FILE \
             --record DIR` wrote to"));
    }
    output::document(&verified_text(&place, &verified), &args.out, io)?;
    if verified.has_lost() {
        let hint = format!(
            "restore the files from a copy; or remove those that are damaged, and record again \
             with `gpucost history record {word}` while the metrics of their days are kept, or \
             with `gpucost bill FILE --record {word}`",
            word = shell_word(&history.place.word())
        );
        let error = "files of the history are damaged or missing";
        return Ok(output::complain(error, &hint, ExitCode::Incomplete, io));
    }
    if args.strict && !verified.found.is_empty() {
        let hint = "the list says what each is, and what removes it";
        let error = "the history has files that do not count";
        return Ok(output::complain(error, hint, ExitCode::Incomplete, io));
    }
    Ok(ExitCode::Done)
}
