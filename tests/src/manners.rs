//! Manners, as data: what Prow, ci-operator and those beside them do to a job, in an order that they choose.

use serde_json::json;
use testplatform_apis::names::ci_operator;

use crate::{prow::Job, tenant::KUBECONFIG, tenant::PASSWORD};

/// Something that is done to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// For a while nothing, although it is somebody's turn.
    Nothing,
    /// The dispatcher chooses a build cluster.
    Schedule,
    /// The pod runs.
    Run,
    /// ci-operator makes its namespace, and says whose it is.
    TakeNamespace,
    /// ci-operator makes its namespace, and does not say yet whose it is.
    TakeNamespaceSilently,
    /// ci-operator says whose its namespace is.
    NameNamespace,
    /// Steps leave credentials, or what is to become some.
    Leave(Left),
    /// The job ends in a state, and its namespace goes.
    End(&'static str),
    /// Somebody deletes the job. Its pods go on.
    Delete,
}

/// Content of the Secret that steps leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Both keys, without values.
    Empty,
    /// A kubeconfig that is being uploaded.
    Unfinished,
    /// The password, before the kubeconfig.
    Password,
    /// The kubeconfig, and no password.
    Kubeconfig,
    /// All of it.
    All,
}

/// How long nothing is done.
const WHILE: std::time::Duration = std::time::Duration::from_secs(2);

impl Job {
    /// Does something to it.
    pub async fn suffer(&self, deed: Deed) -> anyhow::Result<()> {
        match deed {
            Deed::Nothing => {
                tokio::time::sleep(WHILE).await;
                Ok(())
            }
            Deed::Schedule => self.schedule().await,
            Deed::Run => self.run().await,
            Deed::TakeNamespace | Deed::NameNamespace => self.take_namespace().await,
            Deed::TakeNamespaceSilently => self.namespace_labelled(&json!({})).await,
            Deed::Leave(left) => self.secret(ci_operator::TEST, left.data()).await,
            Deed::End(state) => self.end(state).await,
            Deed::Delete => self.delete().await,
        }
    }
}

impl Left {
    fn data(self) -> serde_json::Value {
        use crate::prow::encoded;
        let (kubeconfig, password) = ("kubeconfig", "kubeadmin-password");
        match self {
            Self::Empty => json!({ kubeconfig: "", password: "" }),
            Self::Unfinished => json!({ kubeconfig: encoded(&KUBECONFIG[..KUBECONFIG.len() / 3]) }),
            Self::Password => json!({ password: encoded(PASSWORD) }),
            Self::Kubeconfig => json!({ kubeconfig: encoded(KUBECONFIG) }),
            Self::All => json!({ kubeconfig: encoded(KUBECONFIG), password: encoded(PASSWORD) }),
        }
    }
}
