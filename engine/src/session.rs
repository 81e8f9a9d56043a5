//! Where statements run: in this process, or on a cluster.

use crate::args::CommonArgs;
use crate::failure::{Failure, Result};
use crate::progress::{Progress, separated};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures_util::TryStreamExt;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::fs::File;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// Consumers of memory that a message names.
const NAMED_CONSUMERS: NonZeroUsize = NonZeroUsize::new(5).unwrap();

/// Contexts for statements, and a folder for what is in between.
pub struct Sessions {
    /// For intermediate results, which are on this machine.
    pub own: SessionContext,
    /// For the archive.
    pub archive: SessionContext,
    /// Whether the archive is read by a cluster, which does not see files of this machine.
    pub is_remote: bool,
    folder: TempDir,
    /// How many files were made in it.
    files: AtomicU64,
    most_bytes: u64,
}

impl Sessions {
    /// # Errors
    /// When the work folder cannot be used, or the cluster is another version or is not there.
    pub async fn open(args: &CommonArgs, progress: &Progress) -> Result<Self> {
        let folder = match &args.work_dir {
            Some(folder) => tempfile::Builder::new().prefix("gpucost-").tempdir_in(folder),
            None => tempfile::Builder::new().prefix("gpucost-").tempdir(),
        };
        let folder = folder.map_err(|error| {
            Failure::input("cannot create a work folder")
                .caused_by(&error)
                .with_hint("name a folder that can be written to with `--work-dir`")
        })?;
        let threads = args.threads.map_or_else(cores, usize::from);
        let own = embedded(args, threads, &folder.path().join("spill"))?;
        let (archive, is_remote) = match args.engine.as_str() {
            "embedded" => (own.clone(), false),
            address => (
                crate::cluster::context(address, args.threads.map(usize::from), progress).await?,
                true,
            ),
        };
        Ok(Self {
            own,
            archive,
            is_remote,
            folder,
            files: AtomicU64::new(0),
            most_bytes: args.work_limit,
        })
    }

    /// Runs a statement of the archive, and keeps its result in a file of its own in the work
    /// folder.
    ///
    /// # Errors
    /// When the statement fails, or the result is larger than the folder may be.
    pub async fn stage(&self, text: &str) -> Result<PathBuf> {
        let stream = stream(&self.archive, text).await?;
        let number = self.files.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("{number}.parquet"));
        write(stream, &path, self.most_bytes).await?;
        Ok(path)
    }
}

pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

fn embedded(args: &CommonArgs, threads: usize, spill: &Path) -> Result<SessionContext> {
    let failed = |error: std::io::Error| {
        Failure::input("cannot create a folder for what does not fit into memory").caused_by(&error)
    };
    std::fs::create_dir_all(spill).map_err(failed)?;
    let bytes = usize::try_from(args.memory).unwrap_or(usize::MAX);
    let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), NAMED_CONSUMERS);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(pool))
        .with_temp_file_path(spill)
        .with_max_temp_directory_size(args.work_limit)
        .build_arc()?;
    // Sorting takes this much of each thread from the start.
    let reserved = (bytes / threads / 8).min(10 << 20);
    let config = SessionConfig::new()
        .with_target_partitions(threads)
        .with_collect_statistics(false)
        .set_usize("datafusion.execution.sort_spill_reservation_bytes", reserved);
    Ok(SessionContext::new_with_config_rt(config, runtime))
}

/// Begins a statement.
///
/// # Errors
/// When it cannot be planned.
pub async fn stream(context: &SessionContext, text: &str) -> Result<SendableRecordBatchStream> {
    Ok(context.sql(text).await?.execute_stream().await?)
}

/// All rows of a statement that has few.
///
/// # Errors
/// When it fails.
pub async fn rows(context: &SessionContext, text: &str) -> Result<Vec<RecordBatch>> {
    Ok(stream(context, text).await?.try_collect().await?)
}

async fn write(mut stream: SendableRecordBatchStream, path: &Path, most_bytes: u64) -> Result<()> {
    let file = File::create(path).map_err(|error| {
        Failure::unexpected("cannot write to the work folder").caused_by(&error)
    })?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(file, stream.schema(), Some(properties))?;
    while let Some(batch) = stream.try_next().await? {
        writer.write(&batch)?;
        if writer.bytes_written() as u64 > most_bytes {
            return Err(Failure::unexpected(format!(
                "intermediate results are larger than {} bytes",
                separated(most_bytes)
            ))
            .with_hint("raise `--work-limit`, or add up fewer days at a time with `--days`"));
        }
    }
    writer.close()?;
    Ok(())
}
