//! Types that are read of more than one kind: which it is, is known only at run time.

/// Implements kube's `Resource` for a type with a field `metadata`; the caller names the kind with an `ApiResource`.
#[macro_export]
macro_rules! any_kind {
    ($type:ty) => {
        impl kube::Resource for $type {
            type DynamicType = kube::core::ApiResource;
            type Scope = kube::core::DynamicResourceScope;

            fn kind(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
                resource.kind.as_str().into()
            }

            fn group(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
                resource.group.as_str().into()
            }

            fn version(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
                resource.version.as_str().into()
            }

            fn api_version(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
                resource.api_version.as_str().into()
            }

            fn plural(resource: &Self::DynamicType) -> std::borrow::Cow<'_, str> {
                resource.plural.as_str().into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
