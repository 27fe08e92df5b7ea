//! Where a kubeconfig is to be found: in which Secrets, and whether anywhere else.

use std::{collections::BTreeSet, time::Duration};

use anyhow::Context as _;
use kube::config::Kubeconfig;
use tokio::time::{Instant, sleep};

use crate::{
    crossplane::Engine,
    search::{Marks, Place, places},
};

/// Copies that the search found, without those in etcd's files on disk.
#[derive(Debug, Default)]
pub struct Copies {
    /// Secrets, which is where it belongs.
    pub secrets: Vec<String>,
    /// Anything else.
    pub elsewhere: Vec<String>,
}

/// Looks everywhere for what is secret in a kubeconfig.
pub async fn find(engine: &Engine, kubeconfig: &str) -> anyhow::Result<Copies> {
    let found = places::find(engine, &marks(kubeconfig)?).await?;
    let mut copies = Copies::default();
    for place in found.into_values().flatten().collect::<BTreeSet<Place>>() {
        match place {
            Place::Secret { .. } => copies.secrets.push(place.to_string()),
            Place::Elsewhere(words) => copies.elsewhere.push(words),
            Place::Etcd(_) => {}
        }
    }
    Ok(copies)
}

/// Waits until there is none any more. Returns the remaining ones.
pub async fn until_none(engine: &Engine, kubeconfig: &str, within: Duration) -> anyhow::Result<Copies> {
    let end = Instant::now() + within;
    loop {
        let copies = find(engine, kubeconfig).await?;
        if copies.secrets.is_empty() || Instant::now() > end {
            return Ok(copies);
        }
        sleep(Duration::from_secs(1)).await;
    }
}

impl Copies {
    /// All of them, in words.
    pub fn words(&self) -> Vec<String> {
        self.secrets.iter().chain(&self.elsewhere).cloned().collect()
    }
}

/// The signature of the token: its claims are no secret, and nobody can sign them again.
fn marks(kubeconfig: &str) -> anyhow::Result<Marks> {
    let users = Kubeconfig::from_yaml(kubeconfig).map(|k| k.auth_infos).unwrap_or_default();
    let users = serde_json::to_value(users)?;
    let token = users[0]["user"]["token"].as_str().context("the kubeconfig has no token to look for")?;
    let signature = token.rsplit('.').next().unwrap_or_default();
    Marks::new([("the kubeconfig", signature.to_owned())])
}

#[cfg(test)]
mod tests {
    use super::*;

    const KUBECONFIG: &str = "apiVersion: v1\nkind: Config\nusers:\n- name: x\n  user:\n    token: ";

    #[test]
    fn the_signature_is_looked_for() {
        let signature = "AbC-dEf_0123456789-signature";
        let marks = marks(&format!("{KUBECONFIG}head.body.{signature}\n")).unwrap();
        assert!(!marks.within(format!("used head.body.{signature}").as_bytes()).is_empty());
        assert!(marks.within(b"head.body.").is_empty());
    }

    #[test]
    fn without_a_token_there_is_nothing_to_look_for() {
        assert!(marks("apiVersion: v1\nkind: Config\n").is_err());
    }
}
