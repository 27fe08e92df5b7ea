//! Everything that is on the gRPC port, by the name that stands in a request's path.

use std::{convert::Infallible, future::ready, sync::Arc};

use tonic::{
    Status,
    body::Body,
    codegen::{BoxFuture, Context, Poll, Service, http},
    server::NamedService,
};

/// gRPC services under their names.
///
/// A handful of names that are known beforehand needs no router: a call is looked up by comparing its service with each.
#[derive(Clone)]
pub(super) struct Services(Arc<[ServiceName]>);

/// A service and its name.
pub(super) struct ServiceName(&'static str, Box<dyn Answer>);

impl ServiceName {
    pub(super) fn new<S: NamedService + Answer + 'static>(service: S) -> Self {
        Self(S::NAME, Box::new(service))
    }
}

impl<const N: usize> From<[ServiceName; N]> for Services {
    fn from(services: [ServiceName; N]) -> Self {
        Self(Arc::new(services))
    }
}

/// A service that calls can share. Generated ones are always ready.
pub(super) trait Answer: Send + Sync {
    fn answer_call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>, Infallible>;
}

impl<S> Answer for S
where
    S: Service<
            http::Request<Body>,
            Response = http::Response<Body>,
            Error = Infallible,
            Future = BoxFuture<http::Response<Body>, Infallible>,
        > + Clone
        + Send
        + Sync
        + 'static,
{
    fn answer_call(&self, request: http::Request<Body>) -> BoxFuture<http::Response<Body>, Infallible> {
        self.clone().call(request)
    }
}

impl Service<http::Request<Body>> for Services {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        // `/package.Service/Method`
        let requested_service = request.uri().path().split('/').nth(1).unwrap_or_default();
        match self.0.iter().find(|ServiceName(name, _)| *name == requested_service) {
            Some(ServiceName(_, service)) => service.answer_call(request),
            None => Box::pin(ready(Ok(Status::unimplemented("no such service").into_http()))),
        }
    }
}
