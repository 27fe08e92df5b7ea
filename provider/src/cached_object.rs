//! Shared shape of all cached objects.

/// Declares one: its metadata, and parts of its spec and status, each read as far as it can be. The rest is dropped, because there may
/// be thousands.
macro_rules! cached_object {
    ($(#[$doc:meta])* $name:ident, $spec:ty, $status:ty) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default)]
        pub struct $name {
            /// Metadata, without managedFields.
            pub metadata: ::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            /// Parts of the spec.
            pub spec: ::testplatform_apis::foreign::meta::Lenient<$spec>,
            /// Parts of the status.
            pub status: ::testplatform_apis::foreign::meta::Lenient<$status>,
        }

        impl $name {
            /// Its name; empty on what is no object of an API server.
            pub fn name(&self) -> &str {
                self.metadata.name.as_deref().unwrap_or_default()
            }

            /// Its namespace; empty on what is no object of an API server.
            pub fn namespace(&self) -> &str {
                self.metadata.namespace.as_deref().unwrap_or_default()
            }

            /// Its uid; empty on what is no object of an API server.
            pub fn uid(&self) -> &str {
                self.metadata.uid.as_deref().unwrap_or_default()
            }

            /// Whether it is being deleted.
            pub fn is_deleted(&self) -> bool {
                self.metadata.deletion_timestamp.is_some()
            }

            /// The value of an annotation.
            pub fn annotation(&self, key: &str) -> Option<&str> {
                self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
            }
        }

        impl<'de> ::serde::Deserialize<'de> for $name {
            fn deserialize<D: ::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                #[derive(::serde::Deserialize)]
                struct Fields {
                    metadata: ::k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
                    #[serde(default)]
                    spec: ::testplatform_apis::foreign::meta::Lenient<$spec>,
                    #[serde(default)]
                    status: ::testplatform_apis::foreign::meta::Lenient<$status>,
                }
                let Fields { mut metadata, spec, status } = <Fields as ::serde::Deserialize>::deserialize(deserializer)?;
                metadata.managed_fields = None;
                Ok(Self { metadata, spec, status })
            }
        }
    };
}

pub(crate) use cached_object;
