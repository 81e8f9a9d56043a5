//! `gpucost profile` without a GPU: on a library that plays traces.

mod command;
mod docs;
mod endings;
mod gpus;
mod listen;
mod live;
mod losses;
mod money;
mod opening;
mod spot;
mod stub;
mod work;
