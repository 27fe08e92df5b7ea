use proptest::{prelude::*, test_runner::TestCaseError};
use rstest::rstest;

use super::*;

fn window(name: &str, days: &[Day], start: &str, end: &str, size: i32) -> Window {
    Window {
        name: name.into(),
        days: days.to_vec(),
        start: start.into(),
        end: end.into(),
        size,
        running_count: None,
        max_size: None,
    }
}

fn schedule(zone: &str, windows: Vec<Window>) -> Schedule {
    let default = Some(Sizing { size: 1, ..Sizing::default() });
    Schedule { time_zone: zone.into(), default, windows }
}

/// Name of the window, or nothing, and when that changes.
fn state_at(schedule: &Schedule, now: &str) -> (String, String) {
    let moment = schedule_at(schedule, now.parse().unwrap()).unwrap();
    (moment.window.unwrap_or_default(), moment.next.map(|n| n.to_string()).unwrap_or_default())
}

fn is(schedule: &Schedule, now: &str, window: &str, next: &str) {
    assert_eq!(state_at(schedule, now), (window.to_owned(), next.to_owned()), "at {now}");
}

const WORKDAYS: [Day; 5] = [Day::Mon, Day::Tue, Day::Wed, Day::Thu, Day::Fri];

#[test]
fn a_window_holds_from_its_start_to_before_its_end() {
    // Monday, 2 March 2026; Prague is an hour ahead of UTC.
    let schedule = schedule("Europe/Prague", vec![window("work", &WORKDAYS, "07:00", "18:00", 8)]);
    is(&schedule, "2026-03-02T05:59:59.999Z", "", "2026-03-02T06:00:00Z");
    is(&schedule, "2026-03-02T06:00:00Z", "work", "2026-03-02T17:00:00Z");
    is(&schedule, "2026-03-02T16:59:59Z", "work", "2026-03-02T17:00:00Z");
    is(&schedule, "2026-03-02T17:00:00Z", "", "2026-03-03T06:00:00Z");
    // Over the weekend.
    is(&schedule, "2026-03-06T17:00:00Z", "", "2026-03-09T06:00:00Z");
    let moment = schedule_at(&schedule, "2026-03-02T12:00:00Z".parse().unwrap()).unwrap();
    assert_eq!(moment.sizing, Some(Sizing { size: 8, ..Sizing::default() }));
    let outside = schedule_at(&schedule, "2026-03-01T12:00:00Z".parse().unwrap()).unwrap();
    assert_eq!(outside.sizing, schedule.default);
}

#[test]
fn a_window_may_go_past_midnight_and_past_the_week() {
    let schedule = schedule("UTC", vec![window("night", &[Day::Sun], "22:00", "06:00", 0)]);
    is(&schedule, "2026-03-01T23:00:00Z", "night", "2026-03-02T06:00:00Z");
    is(&schedule, "2026-03-02T05:00:00Z", "night", "2026-03-02T06:00:00Z");
    is(&schedule, "2026-03-02T06:00:00Z", "", "2026-03-08T22:00:00Z");
}

#[test]
fn a_full_day_ends_where_the_next_begins() {
    let days = vec![
        window("sat", &[Day::Sat], "00:00", "24:00", 0),
        window("sun", &[Day::Sun], "00:00", "24:00", 2),
    ];
    let schedule = schedule("UTC", days);
    is(&schedule, "2026-03-07T23:59:59Z", "sat", "2026-03-08T00:00:00Z");
    is(&schedule, "2026-03-08T00:00:00Z", "sun", "2026-03-09T00:00:00Z");
}

/// 29 March 2026, 02:00 to 03:00 do not come in Prague.
#[test]
fn skipped_local_time_is_the_moment_of_the_change() {
    let change = "2026-03-29T01:00:00Z";
    let begins = schedule("Europe/Prague", vec![window("w", &[Day::Sun], "02:30", "05:00", 8)]);
    is(&begins, "2026-03-29T00:59:59Z", "", change);
    is(&begins, change, "w", "2026-03-29T03:00:00Z");
    let ends = schedule("Europe/Prague", vec![window("w", &[Day::Sun], "00:00", "02:30", 8)]);
    is(&ends, "2026-03-29T00:59:59Z", "w", change);
    is(&ends, change, "", "2026-04-04T22:00:00Z");
    // Nothing of it comes; the next one does.
    let swallowed = schedule("Europe/Prague", vec![window("w", &[Day::Sun], "02:10", "02:50", 8)]);
    is(&swallowed, change, "", "2026-04-05T00:10:00Z");
}

/// 25 October 2026, 02:00 to 03:00 come twice in Prague.
#[test]
fn repeated_local_time_counts_once() {
    let first = "2026-10-25T00:30:00Z";
    let two = schedule(
        "Europe/Prague",
        vec![
            window("early", &[Day::Sun], "00:00", "02:30", 1),
            window("late", &[Day::Sun], "02:30", "04:00", 2),
        ],
    );
    is(&two, "2026-10-25T00:29:59Z", "early", first);
    is(&two, first, "late", "2026-10-25T03:00:00Z");
    // The second 02:15 is later than the first 02:30.
    is(&two, "2026-10-25T01:15:00Z", "late", "2026-10-25T03:00:00Z");
}

#[test]
fn a_missed_boundary_is_none() {
    // Nothing ran for a month: what holds now is what counts.
    let schedule = schedule("UTC", vec![window("work", &WORKDAYS, "07:00", "18:00", 8)]);
    is(&schedule, "2026-04-07T09:00:00Z", "work", "2026-04-07T18:00:00Z");
}

#[test]
fn without_windows_nothing_changes() {
    is(&schedule("UTC", vec![]), "2026-03-02T12:00:00Z", "", "");
}

#[rstest]
#[case(&[("a", "08:00", "12:00"), ("b", "11:59", "13:00")], "windows a and b overlap, on Mon at 11:59")]
#[case(&[("night", "22:00", "06:00"), ("early", "05:00", "07:00")], "windows night and early overlap, on Tue at 05:00")]
fn overlapping_windows_are_named(#[case] times: &[(&str, &str, &str)], #[case] message: &str) {
    let days = |name: &str| if name == "early" { vec![Day::Tue] } else { vec![Day::Mon] };
    let windows = times.iter().map(|(name, start, end)| window(name, &days(name), start, end, 1)).collect();
    let trouble = schedule_at(&schedule("UTC", windows), Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!(trouble, ScheduleError { reason: PoolRequested::WindowsOverlap, message: message.into() });
}

#[test]
fn the_end_of_the_week_overlaps_with_its_beginning() {
    let windows =
        vec![window("a", &[Day::Sun], "23:00", "02:00", 1), window("b", &[Day::Mon], "01:00", "03:00", 1)];
    let trouble = schedule_at(&schedule("UTC", windows), Timestamp::UNIX_EPOCH).unwrap_err();
    assert_eq!(trouble.message, "windows a and b overlap, on Mon at 01:00");
    let touching =
        vec![window("a", &[Day::Sun], "23:00", "01:00", 1), window("b", &[Day::Mon], "01:00", "03:00", 1)];
    assert!(schedule_at(&schedule("UTC", touching), Timestamp::UNIX_EPOCH).is_ok());
}

#[rstest]
#[case("Europe/Nowhere", "07:00", "08:00", "spec.schedule.timeZone")]
#[case("UTC", "7:00", "08:00", "spec.schedule.windows[0].start")]
#[case("UTC", "07:00", "25:00", "spec.schedule.windows[0].end")]
#[case("UTC", "07:60", "08:00", "spec.schedule.windows[0].start")]
#[case("UTC", "07:00", "07:00", "spec.schedule.windows[0] (w)")]
#[case("UTC", "24:00", "07:00", "spec.schedule.windows[0] (w)")]
fn an_invalid_schedule_names_its_field(
    #[case] zone: &str,
    #[case] start: &str,
    #[case] end: &str,
    #[case] field: &str,
) {
    let trouble = schedule_at(&schedule(zone, vec![window("w", &[], start, end, 1)]), Timestamp::UNIX_EPOCH)
        .unwrap_err();
    assert_eq!(trouble.reason, PoolRequested::ScheduleInvalid);
    assert!(trouble.message.starts_with(field), "{}", trouble.message);
}

proptest! {
    /// In every zone, through every change of the clocks: until the next boundary nothing changes, and it always comes.
    #[test]
    fn size_is_constant_between_boundaries(
        zone in prop::sample::select(vec!["UTC", "Europe/Prague", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "Asia/Kathmandu"]),
        cuts in prop::collection::btree_set(0_i64..1440, 2..6),
        second in 1_293_840_000_i64..2_000_000_000,
        part in 0_i64..1000,
    ) {
        let text = |minute: i64| format!("{:02}:{:02}", minute / 60, minute % 60);
        let cuts: Vec<i64> = cuts.into_iter().collect();
        let windows = cuts.windows(2).enumerate().map(|(i, c)| window(&format!("w{i}"), &[], &text(c[0]), &text(c[1]), 2)).collect();
        let schedule = schedule(zone, windows);
        let now = Timestamp::from_second(second).unwrap();
        let moment = schedule_at(&schedule, now).map_err(|t| TestCaseError::fail(t.message))?;
        let next = moment.next.unwrap();
        prop_assert!(next > now);
        // A day may be missing altogether, as in Apia in 2011.
        prop_assert!(next.duration_since(now) < SignedDuration::from_hours(3 * 24));
        let within = now + SignedDuration::from_secs(next.duration_since(now).as_secs() * part / 1000);
        prop_assert_eq!(schedule_at(&schedule, within).unwrap(), moment);
    }
}
