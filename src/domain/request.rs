//! Requests to a service, as they were recorded.

/// What a recording states about the work of a request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RecordedWork {
    /// Nothing.
    Unstated,
    /// How long a GPU worked on it, in seconds, above zero.
    Seconds(f64),
    /// Tokens that it brought and tokens that were generated for it; at least one in all.
    Tokens { prompt: f64, generated: f64 },
}

/// One request of a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedRequest {
    /// Seconds since the first request of the recording.
    pub at_seconds: f64,
    pub work: RecordedWork,
}

/// Requests of one period.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CountedRequests {
    /// Where the period stands, Unix milliseconds: its beginning or its end, for all alike.
    pub at_milliseconds: i64,
    /// Zero or more.
    pub requests: f64,
}
