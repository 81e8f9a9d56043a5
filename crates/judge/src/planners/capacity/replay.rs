//! Recorded requests, replayed on a number of GPUs.

use super::Objective;
use crate::domain::{RecordedRequest, RecordedWork};
use crate::planners::NoResult;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Times that differ by less are the same: recordings are not finer, in seconds.
const SAME_SECONDS: f64 = 1e-6;

/// One request, with the time that a GPU works on it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Arrival {
    at_seconds: f64,
    service_seconds: f64,
}

/// Recorded requests in order of their arrival.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    arrivals: Vec<Arrival>,
    /// Requests a second, from the first to the last.
    pub per_second: f64,
    /// Mean time that a GPU works on one, in seconds.
    pub mean_service_seconds: f64,
    /// Mean tokens of one, prompt and generated; absent where they are not recorded.
    pub mean_tokens: Option<f64>,
}

/// How long a GPU works on a recorded request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WorkOf {
    /// As long on each, in seconds.
    Each(f64),
    /// As the recording states.
    Recorded,
    /// By its tokens, at the rates of a GPU that works on `batch` requests at a time.
    Tokens {
        per_second: f64,
        /// Rate of the tokens of a prompt; as of the others where absent.
        prompt_per_second: Option<f64>,
        batch: u32,
    },
}

impl WorkOf {
    fn seconds(self, work: RecordedWork) -> Option<f64> {
        match (self, work) {
            (Self::Each(seconds), _) => Some(seconds),
            (Self::Recorded, RecordedWork::Seconds(seconds)) => Some(seconds),
            (
                Self::Tokens { per_second, prompt_per_second, batch },
                RecordedWork::Tokens { prompt, generated },
            ) => {
                let prompt_per_second = prompt_per_second.unwrap_or(per_second);
                let alone = generated / per_second + prompt / prompt_per_second;
                Some(alone * f64::from(batch))
            }
            _ => None,
        }
    }
}

impl Recording {
    /// Recorded requests with the time that a GPU works on each.
    ///
    /// # Errors
    /// When they are fewer than two or all at one instant, so that they have no rate, or
    /// when one does not state the work that its time follows from.
    pub fn new(requests: &[RecordedRequest], work: WorkOf) -> Result<Self, NoResult> {
        let times = requests.first().zip(requests.last());
        let (first, last) =
            times.map_or((0.0, 0.0), |(first, last)| (first.at_seconds, last.at_seconds));
        refuse! {
            last <= first => "the recorded requests are at one instant, so that they have no rate"; "record requests over some time, or pass `--rate` without `--arrivals`";
        }
        let arrival = |request: &RecordedRequest| {
            Some(Arrival {
                at_seconds: request.at_seconds - first,
                service_seconds: work.seconds(request.work)?,
            })
        };
        let arrivals: Option<Vec<Arrival>> = requests.iter().map(arrival).collect();
        let arrivals = arrivals.ok_or_else(|| {
            no_result! {
                "a recorded request does not state the work that its time follows from";
                "add the column to every line, or pass `--per-gpu` or `--latency`"
            }
        })?;
        let number = requests.len() as f64;
        let seconds: f64 = arrivals.iter().map(|recorded| recorded.service_seconds).sum();
        let tokens = |request: &RecordedRequest| match request.work {
            RecordedWork::Tokens { prompt, generated } => Some(prompt + generated),
            _ => None,
        };
        let tokens: Option<f64> = requests.iter().map(tokens).sum();
        Ok(Self {
            arrivals,
            per_second: (number - 1.0) / (last - first),
            mean_service_seconds: seconds / number,
            mean_tokens: tokens.map(|tokens| tokens / number),
        })
    }

    /// Requests.
    pub fn count(&self) -> usize {
        self.arrivals.len()
    }

    /// From the first to the last, in seconds.
    pub fn lasted_seconds(&self) -> f64 {
        self.arrivals.last().map_or(0.0, |last| last.at_seconds)
    }
}

/// GPUs between which an answer is known to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Between {
    pub least: u64,
    /// As many hold the objective; absent where none are known to.
    pub most: Option<u64>,
}

impl Between {
    /// Nothing is known.
    pub(super) const ANY: Self = Self { least: 1, most: None };
}

/// A recording at another speed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Replay<'a> {
    pub recording: &'a Recording,
    /// What times of arrival are multiplied by.
    pub stretch: f64,
    /// What times on a GPU are multiplied by.
    pub slowdown: f64,
}

impl Replay<'_> {
    fn arrivals(&self) -> impl Iterator<Item = Arrival> {
        self.recording.arrivals.iter().map(move |arrival| Arrival {
            at_seconds: arrival.at_seconds * self.stretch,
            service_seconds: arrival.service_seconds * self.slowdown,
        })
    }

    /// From its arrival to its end, of each request: first come, first served, each by the
    /// server that is free first.
    fn sojourns(&self, servers: usize) -> impl Iterator<Item = f64> {
        // When each server in use is free. The bits of numbers from zero on are in the
        // order of the numbers.
        let mut free: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        self.arrivals().map(move |arrival| {
            let earliest = if free.len() < servers {
                0.0
            } else {
                free.pop().map_or(0.0, |Reverse(bits)| f64::from_bits(bits))
            };
            let ends = arrival.at_seconds.max(earliest) + arrival.service_seconds;
            free.push(Reverse(ends.to_bits()));
            ends - arrival.at_seconds
        })
    }

    /// Requests that were served at the same time where none waited, at most.
    fn most_at_once(&self) -> usize {
        let mut ends: BinaryHeap<Reverse<u64>> = BinaryHeap::new();
        let mut most = 0;
        for arrival in self.arrivals() {
            while ends
                .peek()
                .is_some_and(|Reverse(bits)| f64::from_bits(*bits) <= arrival.at_seconds)
            {
                ends.pop();
            }
            let end = arrival.at_seconds + arrival.service_seconds;
            ends.push(Reverse(end.to_bits()));
            most = most.max(ends.len());
        }
        most
    }

    /// Requests that may take longer than an objective.
    fn allowed(&self, objective: Objective) -> usize {
        let number = self.recording.count() as f64;
        // A percentile cannot be finer than this.
        self.recording.count() - (number * objective.percentile / 100.0 - 1e-6).ceil() as usize
    }

    /// Whether few enough requests take longer than an objective.
    fn holds(&self, servers: usize, objective: Objective) -> bool {
        let most = objective.seconds + SAME_SECONDS;
        let late = self.sojourns(servers).filter(|seconds| *seconds > most);
        let allowed = self.allowed(objective);
        late.take(allowed + 1).count() <= allowed
    }

    /// The percentile by nearest rank, which is the smallest time that so many requests do
    /// not exceed, in seconds, and the share of the requests that wait, 0–1.
    pub(super) fn latency(&self, servers: usize, objective: Objective) -> (f64, f64) {
        let mut waited = 0_usize;
        let mut sojourns = Vec::with_capacity(self.recording.count());
        for (took, arrival) in self.sojourns(servers).zip(self.arrivals()) {
            waited += usize::from(took > arrival.service_seconds + SAME_SECONDS);
            sojourns.push(took);
        }
        (self.nearest_rank(sojourns, objective), waited as f64 / self.recording.count() as f64)
    }

    /// The percentile of the time on a GPU alone, in seconds.
    pub(super) fn floor_seconds(&self, objective: Objective) -> f64 {
        let service = self.arrivals().map(|arrival| arrival.service_seconds).collect();
        self.nearest_rank(service, objective)
    }

    fn nearest_rank(&self, mut seconds: Vec<f64>, objective: Objective) -> f64 {
        let rank = seconds.len() - self.allowed(objective);
        let place = rank.saturating_sub(1);
        if place >= seconds.len() {
            return 0.0;
        }
        *seconds.select_nth_unstable_by(place, f64::total_cmp).1
    }

    /// The fewest GPUs within bounds that hold an objective; `None` where none do. One more
    /// server delays no request, so that the search can halve what is left.
    pub(super) fn fewest(&self, within: Between, batch: u64, objective: Objective) -> Option<u64> {
        let servers = |gpus: u64| usize::try_from(gpus * batch).unwrap_or(usize::MAX);
        let mut low = within.least;
        let mut high = match within.most {
            Some(most) => most.max(low),
            None => {
                let without_wait = (self.most_at_once() as u64).div_ceil(batch).max(low);
                if !self.holds(servers(without_wait), objective) {
                    return None;
                }
                without_wait
            }
        };
        while low < high {
            let middle = low + (high - low) / 2;
            if self.holds(servers(middle), objective) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Some(high)
    }
}
