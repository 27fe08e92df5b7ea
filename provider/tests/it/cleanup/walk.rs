//! Walks of claims whose runs come and go, are read or not, and whose notes somebody forges.

use jiff::{SignedDuration, Timestamp};
use proptest::{prelude::*, test_runner::RngSeed};
use provider_testplatform::controllers::cleanup::plan::{Claim, CleanupPlan, Fate, Run, RunKind, plan};
use testplatform_apis::{cleanup::format_since, duration::GoDuration};

use crate::cleanup::at;

/// The world as it is, beside what is known of it.
#[derive(Clone, Debug)]
struct World {
    now: Timestamp,
    runs: Vec<(Option<Timestamp>, Presence)>,
    failed: Option<Timestamp>,
    retention: i64,
    no: bool,
    note: Option<String>,
    down: bool,
    /// Since when somebody lies in the note.
    forged: bool,
    readable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Presence {
    There,
    Gone,
    /// Gone, and so is the reference to it.
    Collected,
}

#[derive(Clone, Debug)]
enum Happens {
    Wait(i64),
    Complete(usize),
    /// Deleted, completed or not.
    Goes(usize),
    /// Kubernetes takes away the references to what is gone.
    Collect,
    Another,
    Fails,
    Keep(i64),
    No(bool),
    Forge(i64),
    Readable(bool),
    Look,
}

impl World {
    fn claim(&self) -> Claim {
        let run = |n: usize| Run {
            kind: RunKind::TaskRun,
            namespace: "a".into(),
            name: n.to_string(),
            uid: n.to_string(),
        };
        Claim {
            retention: Some(GoDuration::from_secs(self.retention)),
            namespace: "a".into(),
            runs: (0..self.runs.len()).filter(|n| self.runs[*n].1 != Presence::Collected).map(run).collect(),
            tear_down: if self.down { Some(true) } else { self.no.then_some(false) },
            failed: self.failed.map(Some),
            ends: false,
            note: self.note.clone(),
        }
    }

    fn fates(&self) -> Vec<Fate> {
        let fate = |run: &Run| match &self.runs[run.name.parse::<usize>().unwrap()] {
            _ if !self.readable => Fate::Forbidden,
            (_, Presence::Gone | Presence::Collected) => Fate::Gone,
            (Some(at), Presence::There) => Fate::Over(Some(*at)),
            (None, Presence::There) => Fate::Runs,
        };
        self.claim().runs_to_read().iter().map(fate).collect()
    }

    /// Since when it is really not needed.
    fn needless(&self) -> Option<Timestamp> {
        let runs: Option<Vec<Timestamp>> = self.runs.iter().map(|(over, _)| *over).collect();
        let runs = runs.and_then(|ends| ends.into_iter().max());
        [runs, self.failed].into_iter().flatten().min()
    }

    fn look(&mut self) -> Result<(), TestCaseError> {
        let step = plan(&self.claim(), &self.fates(), self.now);
        if let Some(written) = step.note {
            self.note = written;
        }
        if step.tear_down {
            let since = self.needless();
            prop_assert!(since.is_some(), "torn down while it is needed: {self:?}");
            let unread = !self.readable && !self.claim().runs_to_read().is_empty();
            prop_assert!(!self.no && !unread && !self.down, "{self:?}");
            let early = since.unwrap() + SignedDuration::from_secs(self.retention) > self.now;
            prop_assert!(self.forged || !early, "torn down too early: {self:?}");
            self.down = true;
        }
        Ok(())
    }

    fn happens(&mut self, what: &Happens) -> Result<(), TestCaseError> {
        let count = self.runs.len();
        match *what {
            Happens::Wait(seconds) => self.now += SignedDuration::from_secs(seconds),
            Happens::Complete(n) if count > 0 => {
                self.runs[n % count].0.get_or_insert(self.now);
            }
            Happens::Goes(n) if count > 0 => {
                let run = &mut self.runs[n % count];
                run.0.get_or_insert(self.now);
                if run.1 == Presence::There {
                    run.1 = Presence::Gone;
                }
            }
            Happens::Collect => {
                for run in self.runs.iter_mut().filter(|run| run.1 == Presence::Gone) {
                    run.1 = Presence::Collected;
                }
            }
            // An owner that comes is seen before it goes, or a note of before would count for it.
            Happens::Another if count < 3 => {
                self.runs.push((None, Presence::There));
                self.look()?;
            }
            Happens::Fails => {
                self.failed.get_or_insert(self.now);
            }
            Happens::Keep(seconds) => self.retention = seconds,
            Happens::No(no) => self.no = no,
            Happens::Forge(ago) => {
                self.forged = true;
                self.note = Some(format_since(self.now - SignedDuration::from_secs(ago)));
            }
            Happens::Readable(readable) => self.readable = readable,
            Happens::Look => self.look()?,
            Happens::Complete(_) | Happens::Goes(_) | Happens::Another => {}
        }
        Ok(())
    }
}

fn happenings() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => (1..4000i64).prop_map(Happens::Wait),
        3 => (0..3usize).prop_map(Happens::Complete),
        1 => (0..3usize).prop_map(Happens::Goes),
        1 => Just(Happens::Collect),
        1 => Just(Happens::Another),
        1 => Just(Happens::Fails),
        1 => (0..7200i64).prop_map(Happens::Keep),
        1 => any::<bool>().prop_map(Happens::No),
        1 => (-5000..50000i64).prop_map(Happens::Forge),
        1 => any::<bool>().prop_map(Happens::Readable),
        8 => Just(Happens::Look),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// Whatever happens, and whoever looks: never while a run goes on, never before its time, never against a no; and in the end, once
    /// nobody needs it and nothing is in the way.
    #[test]
    fn claim_is_torn_down_once_unneeded_and_not_before(
        first in 1..3usize,
        course in prop::collection::vec(happenings(), 1..40),
    ) {
        let mut world = World {
            now: at("12:00:00"), runs: vec![(None, Presence::There); first], failed: None, retention: 1800, no: false,
            note: None, down: false, forged: false, readable: true,
        };
        world.look()?;
        for what in &course {
            world.happens(what)?;
            if world.down {
                return Ok(());
            }
        }
        // Who lies in the note, and has taken every run away, has a cluster that is torn down at the end of its lifetime.
        if world.forged && world.runs.iter().all(|run| run.1 == Presence::Collected) {
            return Ok(());
        }
        for n in 0..world.runs.len() {
            world.happens(&Happens::Complete(n))?;
        }
        world.happens(&Happens::No(false))?;
        world.happens(&Happens::Readable(true))?;
        world.look()?;
        world.happens(&Happens::Wait(world.retention))?;
        world.look()?;
        prop_assert!(world.down, "{world:?}");
        // Nothing more is done about one that is told to end.
        prop_assert_eq!(plan(&world.claim(), &world.fates(), world.now), CleanupPlan::default());
    }
}
