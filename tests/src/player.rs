//! Shared parts of fakes that run on their own.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use testplatform_apis::names::ephemeral_cluster::KONFLUX_TENANT;
use tokio::task::JoinHandle;

use crate::{actors, cluster::condition};

/// How often they look.
const MOMENT: Duration = Duration::from_millis(200);
/// The longest that they rest. They rest for longer than they looked: there are many of them, and looking for half of the time took
/// two fifths of the machine from those who are tried; but somebody waits for each of them.
const REST: Duration = Duration::from_secs(2);
/// How much longer. With 4 they made 18 lists a second between them.
const LONGER: u32 = 10;

/// Somebody who is played all by himself: he looks at everything every moment, and takes whatever steps are due.
pub(crate) trait Player: Send + 'static {
    /// Who it is.
    const WHO: &'static str;

    /// Looks once.
    fn look(&mut self) -> impl Future<Output = anyhow::Result<()>> + Send;
}

/// Somebody plays until this is dropped.
pub(crate) struct Playing(JoinHandle<()>);

impl Drop for Playing {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Begins to play.
pub(crate) fn play(mut player: impl Player) -> Playing {
    Playing(tokio::spawn(async move { play_on(&mut player).await }))
}

/// How somebody who is played behaves: said by whoever tries us, heeded by whoever plays.
#[derive(Default)]
pub(crate) struct Behaves<B>(Arc<Mutex<B>>);

impl<B> Clone for Behaves<B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<B> Behaves<B> {
    /// How it behaves at first.
    pub(crate) fn new(behaviour: B) -> Self {
        Self(Arc::new(Mutex::new(behaviour)))
    }

    /// Otherwise from now on.
    pub(crate) fn change(&self, change: impl FnOnce(&mut B)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Part of the behaviour that is in effect now.
    pub(crate) fn now<T>(&self, of: impl FnOnce(&B) -> T) -> T {
        of(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn play_on<P: Player>(player: &mut P) {
    let mut said = String::new();
    loop {
        let begun = Instant::now();
        // Somebody else may have been quicker; the next look sees. A hub that is away is told of once.
        if let Err(error) = player.look().await {
            let error = format!("{error:#}");
            if error != said {
                eprintln!("{}: {error}", P::WHO);
                said = error;
            }
        }
        tokio::time::sleep((begun.elapsed() * LONGER).clamp(MOMENT, REST)).await;
    }
}

/// Errors of one pass: a failure of one object does not stop those after it.
#[derive(Default)]
pub(crate) struct Troubles(Option<anyhow::Error>);

impl Troubles {
    /// Notes how a step of somebody's went.
    pub(crate) fn note(&mut self, whose: &str, step: anyhow::Result<()>) {
        if let Err(error) = step {
            self.0.get_or_insert(error.context(whose.to_owned()));
        }
    }

    /// The first that went wrong.
    pub(crate) fn told(self) -> anyhow::Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}

/// Since when something is under way, by what and whose.
#[derive(Default)]
pub(crate) struct Since(BTreeMap<(&'static str, String), Instant>);

impl Since {
    /// `true` if something has been under way for so long. The first call starts the clock.
    pub(crate) fn over(&mut self, what: &'static str, whose: &str, time: Duration) -> bool {
        self.0.entry((what, whose.to_owned())).or_insert_with(Instant::now).elapsed() >= time
    }

    /// It is not under way any more.
    pub(crate) fn ended(&mut self, what: &'static str, whose: &str) {
        self.0.remove(&(what, whose.to_owned()));
    }

    /// Nothing of it is.
    pub(crate) fn forget(&mut self, whose: &str) {
        self.0.retain(|(_, of), _| of != whose);
    }
}

/// The tenant for whom something was asked of a hub. Who plays may know that before he knows the name of what is asked for.
pub(crate) fn tenant(object: &Value) -> &str {
    object["metadata"]["annotations"][KONFLUX_TENANT].as_str().unwrap_or_default()
}

/// A condition without its time: type, status, reason, message.
pub(crate) type Said = (&'static str, &'static str, &'static str, String);

/// The status with conditions, and with more; none where all of that is there. A condition's time moves with its status only.
pub(crate) fn told(object: &Value, more: Value, said: &[Said]) -> Option<Value> {
    told_of(object, more, said, None)
}

/// As [`told`], with the generation that each condition judges.
pub(crate) fn told_of(
    object: &Value,
    more: Value,
    said: &[Said],
    generation: Option<&Value>,
) -> Option<Value> {
    let mut conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let before = conditions.clone();
    for (type_, status, reason, message) in said {
        let old = condition(object, type_);
        let since = old.filter(|old| old["status"] == *status).map(|old| old["lastTransitionTime"].clone());
        let mut new = actors::condition(type_, status, reason, message);
        if let Some(since) = since {
            new["lastTransitionTime"] = since;
        }
        if let Some(generation) = generation {
            new["observedGeneration"] = generation.clone();
        }
        match conditions.iter_mut().find(|condition| condition["type"] == *type_) {
            Some(condition) => *condition = new,
            None => conditions.push(new),
        }
    }
    let mut status = more;
    let known = status.as_object().into_iter().flatten().all(|(key, value)| object["status"][key] == *value);
    if known && conditions == before {
        return None;
    }
    status["conditions"] = conditions.into();
    Some(status)
}
