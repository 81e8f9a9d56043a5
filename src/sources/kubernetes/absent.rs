//! A build without the feature `kubernetes`, which has no client of it.

use super::KubernetesOptions;
use super::Reading;
use super::failure::OpenError;
use crate::sources::Outcome;

/// A cluster that can be asked; cannot be had in this build.
#[derive(Debug)]
pub enum LiveCluster {}

impl LiveCluster {
    /// Always [`OpenError::NotBuilt`].
    pub fn open(_options: KubernetesOptions) -> Result<Self, OpenError> {
        Err(OpenError::NotBuilt)
    }

    pub fn credentials_url(&self) -> Option<String> {
        match *self {}
    }

    pub async fn permissions(self) -> Outcome<Vec<(&'static str, Outcome<()>)>> {
        match self {}
    }

    pub async fn read(self, _progress: &dyn Fn(&str)) -> Outcome<Reading> {
        match self {}
    }
}
