//! Clusters that nobody needs: when that is so, what follows, and everything that keeps them.

mod reading;
mod walk;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use provider_testplatform::controllers::cleanup::{
    observe,
    plan::{Claim, CleanupPlan, Fate, MOST_RUNS, Remark, Run, plan},
};
use serde_json::{Value, json};
use testplatform_apis::{cleanup::format_since, duration::GoDuration};

/// The note of a claim whose run goes on.
const OWNED: &str = "PipelineRun/p/uid-p";

fn at(text: &str) -> Timestamp {
    format!("2026-03-02T{text}Z").parse().unwrap()
}

fn owner(kind: &str, name: &str) -> OwnerReference {
    OwnerReference {
        api_version: "tekton.dev/v1".into(),
        kind: kind.into(),
        name: name.into(),
        uid: format!("uid-{name}"),
        ..OwnerReference::default()
    }
}

fn metadata() -> ObjectMeta {
    ObjectMeta {
        namespace: Some("tenant-a".into()),
        name: Some("demo".into()),
        owner_references: Some(vec![owner("PipelineRun", "p")]),
        ..ObjectMeta::default()
    }
}

fn body() -> Value {
    json!({
        "spec": { "ciOperator": {}, "cleanup": { "onOwnerCompletion": true, "keepForDebug": "30m" } },
        "status": { "phase": "Ready" },
    })
}

fn claim() -> Claim {
    observe::read_claim(&metadata(), &body()).unwrap()
}

fn run() -> Run {
    claim().runs.remove(0)
}

/// Each of them is a call, and whoever writes a claim writes its owners and its note.
#[test]
fn number_of_read_runs_is_bounded() {
    let owned_by = |count: usize| {
        let owners = (0..count).map(|n| owner("TaskRun", &n.to_string())).collect();
        observe::read_claim(&ObjectMeta { owner_references: Some(owners), ..metadata() }, &body()).unwrap()
    };
    assert_eq!((owned_by(MOST_RUNS).retention.is_some(), owned_by(MOST_RUNS).runs.len()), (true, MOST_RUNS));
    let many = owned_by(MOST_RUNS + 1);
    assert_eq!((many.retention, many.runs.len()), (None, MOST_RUNS));
    let fates = vec![Fate::Over(Some(at("11:00:00"))); MOST_RUNS];
    let step = plan(&many, &fates, at("13:00:00"));
    assert_eq!((step.tear_down, step.remark), (false, Some(Remark::Unreadable)));
    let note = (0..1000).map(|n| format!("TaskRun/n{n}/u{n}")).collect::<Vec<_>>().join(",");
    let noted = Claim { note: Some(note), ..owned_by(MOST_RUNS) };
    assert_eq!(noted.runs_to_read().len(), 2 * MOST_RUNS);
}

#[test]
fn ending_claim_is_left_alone() {
    let ends = |change: fn(&mut Value)| {
        let mut body = body();
        change(&mut body);
        observe::read_claim(&metadata(), &body).unwrap().ends
    };
    assert!(!ends(|_| {}));
    assert!(ends(|b| b["status"]["phase"] = "Deprovisioning".into()));
    assert!(ends(|b| b["status"]["phase"] = "Deprovisioned".into()));
    assert!(!ends(|b| b["status"]["phase"] = "Failed".into()), "something may be left");
    let over = json!({ "phase": "Failed", "conditions": [{ "type": "ProwJobCompleted", "status": "True" }] });
    assert!(
        observe::read_claim(&metadata(), &json!({ "spec": body()["spec"], "status": over })).unwrap().ends
    );
    let deleted = ObjectMeta { deletion_timestamp: Some(Time(at("12:00:00"))), ..metadata() };
    let deleted = observe::read_claim(&deleted, &body()).unwrap();
    let asked = Claim { tear_down: Some(true), ..claim() };
    for claim in [deleted, asked] {
        assert_eq!(plan(&claim, &[Fate::Over(Some(at("11:00:00")))], at("13:00:00")), CleanupPlan::default());
    }
}

#[test]
fn claim_is_annotated_then_kept_then_torn_down() {
    let over = [Fate::Over(Some(at("12:00:00")))];
    let mut claim = claim();
    let noted = CleanupPlan { note: Some(Some(OWNED.into())), follow: true, ..CleanupPlan::default() };
    assert_eq!(plan(&claim, &[Fate::Runs], at("12:00:01")), noted);
    claim.note = Some(OWNED.into());
    assert_eq!(plan(&claim, &[Fate::Runs], at("12:00:01")), CleanupPlan { note: None, ..noted });
    let planned = CleanupPlan {
        note: Some(Some(format_since(at("12:00:00")))),
        remark: Some(Remark::Planned(at("12:30:00"))),
        due: Some(at("12:30:00")),
        follow: true,
        ..CleanupPlan::default()
    };
    assert_eq!(plan(&claim, &over, at("12:00:01")), planned);
    claim.note = Some("2026-03-02T12:00:00Z".into());
    assert_eq!(plan(&claim, &over, at("12:29:59")), CleanupPlan { note: None, ..planned });
    let step = plan(&claim, &over, at("12:30:00"));
    assert_eq!(
        (step.note, step.tear_down, step.remark, step.due),
        (None, true, Some(Remark::TornDown), None)
    );
    // A longer time is heeded, and so is a shorter one.
    claim.retention = Some(GoDuration::from_hours(1));
    assert_eq!(plan(&claim, &over, at("12:30:00")).due, Some(at("13:00:00")));
    claim.retention = Some(GoDuration::ZERO);
    assert!(plan(&claim, &over, at("12:00:00")).tear_down);
}

/// The last of them counts, and one that goes on keeps it.
#[test]
fn all_runs_have_to_be_over() {
    let run = |n: u8| Run { name: format!("r{n}"), uid: format!("u{n}"), ..run() };
    let listed = "PipelineRun/r0/u0,PipelineRun/r1/u1,PipelineRun/r2/u2".to_owned();
    let claim = Claim { runs: (0..3).map(run).collect(), note: Some(listed), ..claim() };
    assert_eq!(claim.runs_to_read(), claim.runs);
    let fates = |last: Fate| [Fate::Over(Some(at("11:00:00"))), Fate::Over(Some(at("12:00:00"))), last];
    assert_eq!(
        plan(&claim, &fates(Fate::Over(Some(at("11:30:00")))), at("12:10:00")).due,
        Some(at("12:30:00"))
    );
    assert_eq!(
        plan(&claim, &fates(Fate::Runs), at("14:00:00")),
        CleanupPlan { follow: true, ..CleanupPlan::default() }
    );
}

/// When one went is known only by who saw it, and noted for who comes after.
#[test]
fn completion_time_of_a_deleted_run_is_kept_in_the_annotation() {
    let mut claim = claim();
    let gone = [Fate::Gone, Fate::Over(Some(at("11:00:00")))];
    assert_eq!(plan(&claim, &gone, at("12:00:00")).note, Some(Some(format_since(at("12:00:00")))));
    claim.note = Some(format_since(at("12:00:00")));
    let step = plan(&claim, &gone, at("12:20:00"));
    assert_eq!((step.note, step.due), (None, Some(at("12:30:00"))));
    // A value that is no time, or lies in the future, proves nothing.
    for wrong in
        ["2026-03-02T13:00:00Z", "yesterday", "2026-03-02T12:00:00+00:00", "2026-03-02T11:00:00.5Z", ""]
    {
        claim.note = Some(wrong.into());
        assert_eq!(
            plan(&claim, &gone, at("12:20:00")).note,
            Some(Some(format_since(at("12:20:00")))),
            "{wrong}"
        );
    }
}

/// Kubernetes takes the reference to a run that is gone out of a claim which something else owns.
#[test]
fn a_run_that_went_with_its_reference_is_remembered() {
    let mut left = Claim { runs: vec![], note: Some(OWNED.into()), ..claim() };
    assert_eq!(left.runs_to_read(), claim().runs);
    let step = plan(&left, &[Fate::Gone], at("12:00:00"));
    assert_eq!((step.note, step.due), (Some(Some(format_since(at("12:00:00")))), Some(at("12:30:00"))));
    // From one that is still there somebody has taken the claim away.
    for fate in [Fate::Runs, Fate::Over(Some(at("11:00:00")))] {
        let step = plan(&left, &[fate], at("12:00:00"));
        assert_eq!((step.note, step.remark, step.due), (Some(None), Some(Remark::NoOwner), None));
    }
    let step = plan(&left, &[Fate::Forbidden], at("12:00:00"));
    assert_eq!((step.note, step.remark), (None, Some(Remark::Forbidden)), "it is not forgotten");
    left.note = Some(format_since(at("12:00:00")));
    assert_eq!(left.runs_to_read(), []);
    assert!(plan(&left, &[], at("12:30:00")).tear_down);
    for nonsense in [
        "PipelineRun",
        "PipelineRun/p",
        "PipelineRun//u",
        "Pod/p/u",
        "TaskRun/../u",
        "TaskRun/a?b/u",
        ",,/",
        "",
    ] {
        left.note = Some(nonsense.into());
        assert_eq!(left.runs_to_read(), [], "{nonsense}");
        assert_eq!(plan(&left, &[], at("12:00:00")).note, Some(None));
    }
}

#[test]
fn wrong_annotation_is_removed() {
    let mut claim = claim();
    claim.note = Some(format_since(at("11:00:00")));
    let step = plan(&claim, &[Fate::Runs], at("12:00:00"));
    assert_eq!((step.note, step.tear_down), (Some(Some(OWNED.into())), false));
    // An earlier one than Tekton says is put right, and nothing is torn down by it.
    let step = plan(&claim, &[Fate::Over(Some(at("11:50:00")))], at("12:00:00"));
    assert_eq!((step.note, step.tear_down), (Some(Some(format_since(at("11:50:00")))), false));
}

#[test]
fn failed_claim_counts_whatever_its_runs_do() {
    let mut body = body();
    body["status"] = json!({ "phase": "Failed", "conditions": [
        { "type": "ClusterReady", "status": "False", "lastTransitionTime": "2026-03-02T12:00:00Z" },
        { "type": "ProwJobCompleted", "status": "False" },
    ] });
    let mut claim = observe::read_claim(&metadata(), &body).unwrap();
    assert_eq!(claim.failed, Some(Some(at("12:00:00"))));
    assert_eq!(plan(&claim, &[Fate::Runs], at("12:10:00")).due, Some(at("12:30:00")));
    // Where the status does not say when, it is when that was seen.
    claim.failed = Some(None);
    claim.note = Some(format_since(at("12:00:00")));
    assert!(plan(&claim, &[Fate::Runs], at("12:30:00")).tear_down);
    claim.note = None;
    claim.runs.clear();
    assert_eq!(plan(&claim, &[], at("12:30:00")).due, Some(at("13:00:00")));
}

#[test]
fn forbidden_read_or_veto_prevents_teardown() {
    let over = Fate::Over(Some(at("12:00:00")));
    let step = plan(&claim(), &[over.clone(), Fate::Forbidden], at("14:00:00"));
    let forbidden = CleanupPlan { remark: Some(Remark::Forbidden), follow: true, ..CleanupPlan::default() };
    assert_eq!(step, CleanupPlan { note: Some(Some(OWNED.into())), ..forbidden });
    let noted = Claim { note: Some(format_since(at("12:00:00"))), ..claim() };
    let step = plan(&noted, &[Fate::Forbidden], at("14:00:00"));
    let remembers = format!("{OWNED},since/2026-03-02T12:00:00Z");
    assert_eq!(step.note, Some(Some(remembers)), "nothing is planned then");
    let held = Claim { tear_down: Some(false), ..claim() };
    let step = plan(&held, std::slice::from_ref(&over), at("14:00:00"));
    assert_eq!((step.tear_down, step.remark), (false, Some(Remark::Held)));
    let unread = Claim { retention: None, ..claim() };
    let step = plan(&unread, std::slice::from_ref(&over), at("14:00:00"));
    let unreadable = CleanupPlan { remark: Some(Remark::Unreadable), ..CleanupPlan::default() };
    assert_eq!(step, CleanupPlan { note: Some(Some(OWNED.into())), ..unreadable });
    let unowned = Claim { runs: vec![], ..claim() };
    assert_eq!(plan(&unowned, &[], at("14:00:00")).remark, Some(Remark::NoOwner));
    for remark in [Remark::Forbidden, Remark::Held, Remark::Unreadable, Remark::NoOwner] {
        assert!(remark.event().warning && remark.event().reason.starts_with("Cleanup"));
    }
    let forever = Claim { retention: Some("2500000h".parse().unwrap()), ..claim() };
    let step = plan(&forever, &[Fate::Over(Some(Timestamp::MAX))], at("14:00:00"));
    assert_eq!((step.tear_down, step.due), (false, None));
}

/// One run went long after the other was over, and its reference with it; then the right to read went, and came back.
#[test]
fn when_a_run_went_is_remembered_without_the_right_to_read() {
    let noted = Claim { note: Some(format_since(at("12:50:00"))), ..claim() };
    let off = plan(&noted, &[Fate::Forbidden], at("12:51:00"));
    let mut claim = Claim { note: off.note.unwrap(), ..noted };
    assert_eq!(plan(&claim, &[Fate::Forbidden], at("12:52:00")).note, None, "the same stays");
    let over = Fate::Over(Some(at("12:00:00")));
    let step = plan(&claim, &[over], at("12:53:00"));
    assert_eq!((step.due, step.tear_down), (Some(at("13:20:00")), false));
    // It is no time at which one that went later did.
    assert_eq!(plan(&claim, &[Fate::Gone], at("12:53:00")).due, Some(at("13:23:00")));
    // A time in the future is not remembered.
    claim.note = Some(format!("{OWNED},since/2026-03-02T14:00:00Z"));
    assert_eq!(plan(&claim, &[Fate::Forbidden], at("12:54:00")).note, Some(Some(OWNED.into())));
}
