//! The compiled program on generated archives, against programs of a few lines that read the
//! same points one by one.

mod audits;
mod bills;
mod brute;
mod bucket;
mod cluster;
mod containers;
mod faults;
mod generated;
mod outcome;
mod read;
mod rollups;
