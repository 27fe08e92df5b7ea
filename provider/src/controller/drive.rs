//! kube's own scheduler, driven by our queue: each object is looked at by one worker at a time, however often it is named.

use std::{convert::Infallible, pin::pin, sync::Arc};

use futures_util::{Stream, StreamExt as _, future::BoxFuture};
use kube::{
    Resource,
    runtime::{
        controller::{self, Action, applier},
        reflector::{ObjectRef, Store},
    },
};

use super::Controller;
use crate::execute::Error;

/// One look, and when the next one is.
type Looking = BoxFuture<'static, Result<Action, Error>>;

/// Looks at objects until there are no more requests.
pub(super) async fn drive<K>(
    controller: &Arc<Controller>,
    store: Store<K>,
    requests: impl Stream<Item = Result<ObjectRef<K>, Infallible>>,
    concurrency: u16,
    look: impl Fn(Arc<K>, Arc<Controller>) -> Looking,
) where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    let config = controller::Config::default().concurrency(concurrency);
    // A look decides itself when the next one is, also after an error.
    let never = |_: Arc<K>, _: &Error, _: Arc<Controller>| Action::await_change();
    let mut looks = pin!(applier(look, never, Arc::clone(controller), store, requests, config));
    while let Some(looked) = looks.next().await {
        if let Err(controller::Error::ObjectNotFound(gone)) = looked {
            controller.queue.forget(&gone.name);
            controller.orphans.forget(&gone.name);
        }
    }
}
