//! Asks the metadata service for notices, on a thread of its own.

use crate::cli::profile::event::News;
use crate::sources::aws::{SpotNotices, SpotState};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

/// As often as AWS recommends.
const EVERY: Duration = Duration::from_secs(5);

/// Asks until the run is over. Each answer is an event.
pub(super) fn watch(endpoint: Option<String>, events: Sender<News>) {
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(ask_again(endpoint.as_deref(), &events)),
            Err(error) => {
                let _ = events.send(News::Spot(Err(error.to_string())));
            }
        }
    });
}

async fn ask_again(endpoint: Option<&str>, events: &Sender<News>) {
    let mut service = None;
    loop {
        let answer = ask(&mut service, endpoint).await;
        if events.send(News::Spot(answer)).is_err() {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Asks once. After a failure, the next connection and token are new ones.
async fn ask(
    service: &mut Option<SpotNotices>,
    endpoint: Option<&str>,
) -> Result<SpotState, String> {
    let notices = match service.take() {
        Some(notices) => notices,
        None => SpotNotices::new(endpoint)?,
    };
    let answer = notices.ask().await?;
    *service = Some(notices);
    Ok(answer)
}
