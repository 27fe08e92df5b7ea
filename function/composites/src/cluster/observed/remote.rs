//! Remote objects of primary Objects, one kind for each way to make a cluster.

use serde::de::DeserializeOwned;
use serde_json::Value;
use testplatform_apis::{
    foreign::{
        cluster_claim::ClusterClaim, ephemeral_cluster::EphemeralCluster, meta::Metadata, object::Object,
    },
    template::{
        Backend,
        kind::{self, BackendDefinition},
    },
};

use crate::sdk::{
    request::{UnusableRequest, unreadable_resource},
    wire,
};

/// Decodes an Object around a remote object.
pub(super) fn decode_object<R: Default + DeserializeOwned>(
    name: &str,
    bytes: &[u8],
    remote: fn(R) -> Remote,
) -> Result<Object<Remote>, UnusableRequest> {
    let object: Object<R> = wire::from_struct(bytes).map_err(|e| unreadable_resource(name, e))?;
    Ok(object.map_remote(remote))
}

/// A backend, by the type of its part of a catalogue entry.
pub trait ObservedBackend: BackendDefinition {
    /// Object of the cluster, if a primary Object carries one of this backend.
    fn select_object(remote: &Remote) -> Option<&Self::Object>;
}

macro_rules! define_remote {
    ($($backend:ident),*) => {
        /// Remote object of a primary Object, as far as it is read.
        #[derive(Clone, Debug)]
        pub enum Remote {
            /// Of `ec`.
            EphemeralCluster(Box<EphemeralCluster>),
            /// Of `claim`.
            ClusterClaim(Box<ClusterClaim>),
            $(
                #[doc = concat!("Of a cluster by [`", stringify!($backend), "`](kind::", stringify!($backend), ").")]
                $backend(Box<<kind::$backend as BackendDefinition>::Object>),
            )*
        }

        impl Remote {
            /// Its metadata.
            pub fn metadata(&self) -> &Metadata {
                match self {
                    Self::EphemeralCluster(remote) => &remote.metadata,
                    Self::ClusterClaim(remote) => &remote.metadata,
                    $(Self::$backend(remote) => &remote.metadata,)*
                }
            }

            /// Its spec, of a cluster by template.
            pub(super) fn template_spec(&self) -> Option<&Value> {
                match self {
                    Self::EphemeralCluster(_) | Self::ClusterClaim(_) => None,
                    $(Self::$backend(remote) => Some(&remote.spec),)*
                }
            }
        }

        /// Decodes the primary Object of a cluster by template.
        pub(super) fn decode_template_object(
            backend: Backend,
            bytes: &[u8],
        ) -> Result<Object<Remote>, UnusableRequest> {
            let name = backend.descriptor().primary_resource;
            match backend {
                $(Backend::$backend => decode_object(name, bytes, |r| Remote::$backend(Box::new(r))),)*
            }
        }

        $(
            impl ObservedBackend for kind::$backend {
                fn select_object(remote: &Remote) -> Option<&Self::Object> {
                    if let Remote::$backend(remote) = remote { Some(remote) } else { None }
                }
            }
        )*
    };
}

testplatform_apis::for_each_backend!(define_remote);
