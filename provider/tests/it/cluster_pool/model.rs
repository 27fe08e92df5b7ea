//! A pool, its clusters, and who acts on them.

use jiff::{SignedDuration, Timestamp};
use provider_testplatform::controllers::cluster_pool::{
    clusters::{PoolCluster, PoolClusters},
    plan::{PoolPlan, plan},
    pool::Pool,
};
use testplatform_apis::{
    pool::RotationMode,
    pool_report::{CredentialsRequest, PoolRequest, PoolStatus, RefreshPhase, RefreshRequest, RotationPhase},
};

pub const OLD: &str = "aws-1";
pub const NEW: &str = "aws-2";

/// A pool, Hive and the function.
#[derive(Clone, Debug)]
pub struct Model {
    pub now: Timestamp,
    pub pool: Pool,
    pub world: PoolClusters,
    pub made: usize,
    pub usual: i64,
    pub running: i64,
    /// The credentials that Git names, and which each cluster was made with.
    pub asked: String,
    pub made_with: Vec<(String, String)>,
    /// The most clusters that were ever missing.
    pub missing: i64,
    pub events: Vec<String>,
    /// How far the provider's clock is ahead of the hub's.
    pub skew: SignedDuration,
    /// Between two looks.
    pub pace: SignedDuration,
}

impl Model {
    pub fn new(size: i64, running: i64) -> Self {
        let credentials = Some(CredentialsRequest { name: OLD.into(), mode: RotationMode::Replace });
        let mut model = Self {
            now: "2026-11-23T10:00:00Z".parse().unwrap(),
            pool: Pool {
                name: "aws-420".into(),
                namespace: "cluster-pools".into(),
                size,
                running_count: running,
                credentials: Some(OLD.into()),
                image_set: "ocp-4.20".into(),
                request: PoolRequest { size: Some(size), credentials, ..PoolRequest::default() },
                ..Pool::default()
            },
            world: PoolClusters { release_image: Some("r1".into()), ..PoolClusters::default() },
            made: 0,
            usual: size,
            running,
            asked: OLD.into(),
            made_with: vec![],
            missing: 0,
            events: vec![],
            skew: SignedDuration::ZERO,
            pace: SignedDuration::from_mins(2),
        };
        model.run(60);
        assert_eq!(model.free(), size);
        model.missing = 0;
        model
    }

    pub fn free(&self) -> i64 {
        self.world.clusters.iter().filter(|c| c.is_free()).count() as i64
    }

    pub fn known(&self) -> PoolStatus {
        self.pool.known.clone().unwrap_or_default()
    }

    pub fn refresh_phase(&self) -> RefreshPhase {
        self.known().refresh.unwrap().phase
    }

    /// The provider looks; a crash loses nothing but what it had not written.
    pub fn look(&mut self) -> PoolPlan {
        let now = self.now + self.skew;
        let step = plan(&self.pool, &self.world, now);
        assert_eq!(step, plan(&self.pool, &self.world, now));
        if let Some(status) = &step.status {
            // As it travels: written, read.
            self.pool.known = Some(PoolStatus::from_annotation(&status.to_annotation().unwrap()).unwrap());
            let again = plan(&self.pool, &self.world, now);
            assert_eq!(again.status, None, "what was written is what was meant");
            assert_eq!(again.events, vec![]);
        }
        self.events.extend(step.events.iter().map(|e| e.reason.clone()));
        step
    }

    /// The function renders what the schedule says and the ceiling leaves, and takes up credentials.
    pub fn function(&mut self) {
        let known = self.known();
        let ceiling = known.ceiling;
        self.pool.size = self.usual.min(ceiling.map_or(self.usual, |c| c.size));
        let running = ceiling.and_then(|c| c.running_count).unwrap_or(self.running);
        self.pool.running_count = if self.pool.always_runs {
            self.pool.size
        } else {
            self.running.min(running).min(self.pool.size)
        };
        let request = self.pool.request.credentials.as_mut().unwrap();
        request.name.clone_from(&self.asked);
        let may = known.rotation.is_some_and(|r| r.name == self.asked && r.phase == RotationPhase::Switching);
        if request.mode == RotationMode::Replace || may {
            self.pool.credentials = Some(self.asked.clone());
        }
    }

    /// Hive: installs what is missing, removes what is too much in its order, and lets the oldest run.
    pub fn hive(&mut self) {
        self.world.clusters.retain(|c| !c.is_deleted);
        let wanted = self.pool.size + self.world.waiting as i64;
        let room = self.pool.most.unwrap_or(i64::MAX);
        while self.free() < wanted && (self.world.clusters.len() as i64) < room {
            self.made += 1;
            let name = format!("aws-420-{:05}", self.made);
            let credentials = self.pool.credentials.clone().unwrap();
            let spec_hash = Some(format!("of {credentials}"));
            self.made_with.push((name.clone(), credentials));
            self.world.clusters.push(PoolCluster {
                name,
                created: self.now,
                spec_hash,
                ..PoolCluster::default()
            });
        }
        while self.free() > wanted {
            let rank = |c: &PoolCluster| match (c.installed, c.running) {
                (false, _) => (0, SignedDuration::ZERO.saturating_sub(c.created.as_duration())),
                (true, false) => (1, c.created.as_duration()),
                (true, true) => (2, c.created.as_duration()),
            };
            let first =
                self.world.clusters.iter_mut().filter(|c| c.is_free()).min_by_key(|c| rank(c)).unwrap();
            first.is_deleted = true;
        }
        let (now, running, always) = (self.now, self.pool.running_count, self.pool.always_runs);
        let mut left = running;
        for cluster in self.world.clusters.iter_mut().filter(|c| c.is_free()) {
            cluster.installed |= now.duration_since(cluster.created) >= SignedDuration::from_mins(40);
            if cluster.installed {
                cluster.running = always || left > 0;
                left -= 1;
            }
        }
    }

    pub fn tick(&mut self) {
        self.now += self.pace;
        self.look();
        self.function();
        self.hive();
        self.missing = self.missing.max(
            self.usual - self.world.clusters.iter().filter(|c| c.is_free() && c.installed).count() as i64,
        );
    }

    pub fn run(&mut self, ticks: usize) {
        for _ in 0..ticks {
            self.tick();
        }
    }

    pub fn claim(&mut self) -> String {
        let cluster = self.world.clusters.iter_mut().find(|c| c.is_free()).unwrap();
        cluster.claimed = true;
        cluster.name.clone()
    }

    pub fn names(&self) -> Vec<String> {
        self.world.clusters.iter().map(|c| c.name.clone()).collect()
    }

    pub fn ask(&mut self, nonce: &str, max_unavailable: Option<i64>) {
        self.pool.request.refresh = Some(RefreshRequest { nonce: nonce.into(), max_unavailable });
    }
}
