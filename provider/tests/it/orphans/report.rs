//! The report: a table for people, and the memory of the next process.

use provider_testplatform::{
    config::OrphanMode,
    controllers::orphans::{
        plan::{OrphanPlan, UnownedRecords, plan},
        remote::RemoteObject,
        report::{MAX_ROWS, OrphanReport},
    },
};

use super::{NAME, at, hub, identity, konflux, reconcile, remote, settings};

fn planned() -> OrphanPlan {
    let mut foreign = remote("second");
    foreign.konflux_cluster_uid = None;
    let remotes = ["a", "b", "c"].map(remote).into_iter().chain([remote("lost"), foreign]);
    reconcile(&[0, 60], &konflux(&["a", "b", "c"]), &hub(remotes.collect()), &settings(OrphanMode::Teardown))
}

#[test]
fn a_table_shows_each_object_and_what_happens_next() {
    let mut planned = planned();
    planned.records.get_mut(&identity("lost")).unwrap().requested = Some(at(60));
    let report = OrphanReport::new(&planned, Some(NAME), at(60));
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(OrphanReport::parse(&text).as_ref(), Some(&report));
    let table = report.render_table(at(62));
    let expected = snapbox::str![[r"
HUB  KIND              NAMESPACE/NAME            TENANT    AGE  UNOWNED  STATE     UID         MESSAGE
hub  EphemeralCluster  ephemeral-cluster/lost    tenant-a  2h   62m      Teardown  uid-lost    it is ended
hub  EphemeralCluster  ephemeral-cluster/second  tenant-a  2h   62m      Refused   uid-second  not ended: no owner was ever recorded on it; add the uid to orphans.confirmedUids
hub: 5 marked, 2 unowned.
Konflux cluster stone-prd, written 2m ago.

"]];
    snapbox::assert_data_eq!(table, expected);
    assert!(OrphanReport::default().render_table(at(0)).starts_with("No orphans.\n"));
    assert_eq!(OrphanReport::parse("{\"orphans\": 1}"), None);
}

#[test]
fn next_process_continues_with_a_fresh_report_only() {
    let planned = planned();
    let report = OrphanReport::new(&planned, Some(NAME), at(60));
    let records = report.clone().into_records(at(65));
    assert_eq!(records.len(), 2);
    for (identity, record) in &records {
        let before = &planned.records[identity];
        // Two complete listings are needed anew.
        assert_eq!((record.since, record.listings, &record.remote), (before.since, 0, &before.remote));
    }
    // It does not find them again.
    let next = plan(&records, &Err("timeout".into()), &[hub(vec![])], &settings(OrphanMode::Report), at(65));
    assert_eq!(next.new_orphans(&records).count(), 0);
    // A restore brings one that is old, and a clock that was set back one of the future.
    for minutes in [81, 59] {
        assert_eq!(report.clone().into_records(at(minutes)), UnownedRecords::new(), "{minutes}");
    }
}

#[test]
fn a_report_fits_into_a_config_map() {
    let names: Vec<String> = (0..2000).map(|index| format!("{}-{index}", "n".repeat(240))).collect();
    // Annotations are whatever anybody wrote who may write such objects on the hub.
    let long = || Some("n".repeat(100_000));
    let annotated =
        |name: &String| RemoteObject { tenant: long(), konflux_cluster_uid: long(), ..remote(name) };
    let remotes = names.iter().map(annotated).collect();
    let mut planned = reconcile(&[0, 60], &konflux(&["a"]), &hub(remotes), &settings(OrphanMode::Teardown));
    planned.hubs[0].error = long();
    let report = OrphanReport::new(&planned, Some(NAME), at(60));
    assert_eq!((report.orphans.len(), report.omitted), (MAX_ROWS, 1500));
    assert!(serde_json::to_string_pretty(&report).unwrap().len() < 1 << 20);
    assert!(report.render_table(at(60)).contains("1500 more are not listed."));
}
