//! The registry of cluster profiles as it is on disk now: somebody keeps the file in step with the step registry.

use std::{
    fs,
    sync::{Arc, Mutex, PoisonError},
};

use crate::{config::EphemeralClusters, ephemeral_cluster::profiles::Profiles};

/// Where the profiles come from, and what they were.
pub struct Registry {
    config: EphemeralClusters,
    last: Mutex<Option<(Option<String>, Arc<Profiles>)>>,
}

impl Registry {
    /// As configured.
    pub fn new(config: EphemeralClusters) -> Self {
        Self { config, last: Mutex::default() }
    }

    /// The profiles. The file is read each time, which is only when a job is to be made; what it says is understood
    /// anew only when it changed.
    ///
    /// A file that cannot be understood lets nobody in, and turns nobody away: who needs it waits.
    pub fn profiles(&self) -> Arc<Profiles> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let file = self.config.cluster_profiles.as_ref().and_then(|c| c.file.as_ref());
        let text = file.map(fs::read_to_string).transpose();
        let (content, read) = match text {
            Ok(text) => (text.clone(), Ok(text.unwrap_or_default())),
            Err(error) => (None, Err(error)),
        };
        if read.is_ok()
            && let Some((known, profiles)) = &*last
            && *known == content
        {
            return Arc::clone(profiles);
        }
        let failed = read.is_err();
        let profiles = Arc::new(Profiles::of(&self.config, |_| read));
        if let Err(error) = profiles.get("") {
            tracing::error!(error, "the registry of cluster profiles cannot be used");
        }
        *last = (!failed).then(|| (content, Arc::clone(&profiles)));
        profiles
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ClusterProfiles;

    #[test]
    fn the_file_is_followed_and_a_bad_one_lets_nobody_in() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("profiles.yaml");
        let profiles = ClusterProfiles { file: Some(file.clone()), inline: None };
        let registry = Registry::new(EphemeralClusters {
            cluster_profiles: Some(profiles),
            ..EphemeralClusters::default()
        });
        let known = || registry.profiles().get("aws").map(|profile| profile.is_some()).map_err(str::to_owned);
        assert!(known().is_err(), "there is no file yet");
        fs::write(&file, "cluster_profiles: [{name: aws, cluster_type: aws}]").unwrap();
        assert_eq!(known(), Ok(true));
        assert!(Arc::ptr_eq(&registry.profiles(), &registry.profiles()), "it did not change");
        fs::write(&file, "cluster_profiles: [{name: gcp, cluster_type: gcp}]").unwrap();
        assert_eq!(known(), Ok(false));
        fs::write(&file, "cluster_profiles: [").unwrap();
        assert!(known().is_err());
        fs::write(&file, "").unwrap();
        assert!(known().is_err());
    }
}
