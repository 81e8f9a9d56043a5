//! `gpucost profile` without a GPU: on a library that plays traces.

mod gpus;
mod losses;
mod opening;
mod stub;
