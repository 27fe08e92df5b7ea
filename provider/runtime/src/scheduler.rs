//! kube's own scheduler, driven by our queues: one worker reconciles an object at a time, however often it is queued.

use std::{convert::Infallible, fmt::Debug, hash::Hash, pin::pin, sync::Arc};

use futures_util::{Stream, StreamExt as _, future::BoxFuture};
use kube::{
    Resource,
    api::DynamicObject,
    runtime::{
        controller::{self, Action, applier},
        reflector::{ObjectRef, Store},
    },
};
use tokio::sync::watch;

use crate::error::Error;

/// Number of workers of a loop.
pub const WORKERS: u16 = 16;

/// One look, and when the next one is.
type Looking = BoxFuture<'static, Result<Action, Error>>;

/// Reconciles objects until there are no more requests. `gone` receives those that are no longer in the store.
pub async fn run_reconciler<K, C>(
    context: &Arc<C>,
    store: Store<K>,
    requests: impl Stream<Item = Result<ObjectRef<K>, Infallible>>,
    concurrency: u16,
    look: impl Fn(Arc<K>, Arc<C>) -> Looking,
    on_delete: impl Fn(&ObjectRef<DynamicObject>),
) where
    K: Resource + Clone + 'static,
    K::DynamicType: Debug + Eq + Hash + Clone + Unpin,
{
    let config = controller::Config::default().concurrency(concurrency);
    // A look decides itself when the next one is, also after an error.
    let never = |_: Arc<K>, _: &Error, _: Arc<C>| Action::await_change();
    let mut looks = pin!(applier(look, never, Arc::clone(context), store, requests, config));
    while let Some(looked) = looks.next().await {
        if let Err(controller::Error::ObjectNotFound(reference)) = looked {
            on_delete(&reference);
        }
    }
}

/// Works while the caches are fed, until `stop`. Started work is finished, if the caches were filled: the end of the channel tells `work` to
/// stop.
pub async fn work_until<W: Future<Output = ()>>(
    stop: impl Future<Output = ()>,
    feeding: impl Future<Output = ()>,
    has_begun: impl Fn() -> bool,
    work: impl FnOnce(watch::Receiver<()>) -> W,
) {
    let (stopping, stopped) = watch::channel(());
    let ended = async {
        let mut work = pin!(work(stopped));
        tokio::select! {
            () = &mut work => {}
            () = stop => {
                if has_begun() {
                    let _ = stopping.send(());
                    work.await;
                }
            }
        }
    };
    tokio::select! {
        () = ended => {}
        () = feeding => {}
    }
}

/// Completes when no new work may start.
pub async fn until_stopped(mut stopped: watch::Receiver<()>) {
    // An error means that the sender is dropped, which means the same.
    let _ = stopped.changed().await;
}
