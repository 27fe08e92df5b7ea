//! The registry of cluster profiles as it is on disk now: somebody keeps the file in step with the step registry.

use std::{
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::config::{EphemeralClusters, profiles::Profiles};

/// How long writing a registry may take.
const SETTLES: Duration = Duration::from_secs(10);

/// Where the profiles come from, and what they were.
pub struct ProfileRegistry {
    config: EphemeralClusters,
    last: Mutex<Option<(Option<String>, Arc<Profiles>)>>,
}

impl ProfileRegistry {
    /// As configured.
    pub fn new(config: EphemeralClusters) -> Self {
        Self { config, last: Mutex::default() }
    }

    /// Profiles. The file is read only when a job is created, and parsed only when it changed.
    ///
    /// An unreadable file neither admits nor refuses anybody: requests that need it wait. A refusal by a file that was written in the last
    /// [`SETTLES`] waits too: the file may be truncated and still parse.
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
            return settled(profiles, file);
        }
        let failed = read.is_err();
        let profiles = Arc::new(Profiles::of(&self.config, |_| read));
        if let Err(error) = profiles.get("") {
            tracing::error!(error, "cluster profiles unusable");
        }
        *last = (!failed).then(|| (content, Arc::clone(&profiles)));
        settled(&profiles, file)
    }
}

/// Profiles of a file that is not being written any more; otherwise the same profiles, marked as unsettled.
fn settled(profiles: &Arc<Profiles>, file: Option<&PathBuf>) -> Arc<Profiles> {
    let written = file.and_then(|file| fs::metadata(file).ok()?.modified().ok());
    // A time in the future is from another clock, and is ignored.
    let is_new = written.and_then(|at| at.elapsed().ok()).is_some_and(|age| age < SETTLES);
    if is_new { Arc::new(Profiles::clone(profiles).unsettled()) } else { Arc::clone(profiles) }
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
        let registry = ProfileRegistry::new(EphemeralClusters {
            cluster_profiles: Some(profiles),
            ..EphemeralClusters::default()
        });
        let known = || registry.profiles().get("aws").map(|profile| profile.is_some()).map_err(str::to_owned);
        assert!(known().is_err(), "there is no file yet");
        fs::write(&file, "cluster_profiles: [{name: aws, cluster_type: aws}]").unwrap();
        assert_eq!(known(), Ok(true));
        assert!(!registry.profiles().is_settled(), "it may not be complete");
        let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        fs::File::options().write(true).open(&file).unwrap().set_modified(long_ago).unwrap();
        assert!(registry.profiles().is_settled());
        assert!(Arc::ptr_eq(&registry.profiles(), &registry.profiles()), "it did not change");
        fs::write(&file, "cluster_profiles: [{name: gcp, cluster_type: gcp}]").unwrap();
        assert_eq!(known(), Ok(false));
        fs::write(&file, "cluster_profiles: [").unwrap();
        assert!(known().is_err());
        for cut in ["", "{}", "cluster_profiles: []"] {
            fs::write(&file, cut).unwrap();
            assert!(known().is_err(), "{cut}");
        }
    }
}
