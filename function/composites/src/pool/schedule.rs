//! A schedule at a point in time: the active window, and the next change. A pure function of the two.
//!
//! The current time alone decides, so no boundary can be missed. Daylight saving moves wall clocks: a skipped time maps to the moment of
//! the change, and of a repeated time the first one counts. So times of the week and moments have the same order, and windows that do not
//! overlap on the wall clock never overlap.

use std::{collections::BTreeSet, sync::OnceLock};

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, Weekday},
    tz::{AmbiguousOffset, TimeZone, TimeZoneDatabase},
};
use testplatform_apis::{
    collect,
    condition::PoolRequested,
    pool::{Day, Schedule, Sizing, Window},
};

const DAY: i64 = 24 * 60;
const WEEK: i64 = 7 * DAY;

/// Active part of a schedule, and its end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScheduleState {
    /// Name of the window; none outside all windows.
    pub window: Option<String>,
    /// Sizing of the window; none: the pool's own.
    pub sizing: Option<Sizing>,
    /// When another part begins; none if there are no windows.
    pub next: Option<Timestamp>,
}

/// Why a schedule cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleError {
    /// The reason that the condition shows.
    pub reason: PoolRequested,
    /// A sentence without its end.
    pub message: String,
}

fn invalid_schedule(message: String) -> ScheduleError {
    ScheduleError { reason: PoolRequested::ScheduleInvalid, message }
}

/// Evaluates the schedule at `now`.
pub fn schedule_at(schedule: &Schedule, now: Timestamp) -> Result<ScheduleState, ScheduleError> {
    let zone = find_zone(&schedule.time_zone)?;
    let spans = window_spans(&schedule.windows)?;
    check_overlap(&spans)?;
    let today = now.to_zoned(zone.clone()).date();
    let mut moment = ScheduleState { sizing: schedule.default, ..ScheduleState::default() };
    // A window that began two days ago ended yesterday at the latest; in a week from now every one has begun.
    for ahead in -2..=8 {
        let Ok(date) = today.checked_add(SignedDuration::from_hours(24 * ahead)) else { continue };
        for span in spans.iter().filter(|s| s.day == day_of(date.weekday())) {
            let (start, end) = (instant_of(&zone, date, span.start)?, instant_of(&zone, date, span.end)?);
            // The clocks may leave nothing of it.
            if start >= end {
                continue;
            }
            if start <= now && now < end {
                moment.window = Some(span.window.name.clone());
                moment.sizing = Some(span.window.sizing());
            }
            let soonest = [start, end].into_iter().filter(|boundary| *boundary > now);
            moment.next = moment.next.into_iter().chain(soonest).min();
        }
    }
    Ok(moment)
}

/// A window on one day: minutes from that day's midnight.
#[derive(Debug)]
struct Span<'a> {
    window: &'a Window,
    day: Day,
    start: i64,
    end: i64,
}

fn window_spans(windows: &[Window]) -> Result<Vec<Span<'_>>, ScheduleError> {
    let mut names = BTreeSet::new();
    let mut spans = Vec::new();
    for (index, window) in windows.iter().enumerate() {
        if !names.insert(&window.name) {
            return Err(invalid_schedule(format!(
                "spec.schedule.windows[{index}]: there is a second window {:?}",
                window.name
            )));
        }
        let time = |field: &str, text: &str| {
            parse_minutes(text).ok_or_else(|| {
                let path = format!("spec.schedule.windows[{index}].{field}");
                invalid_schedule(format!(
                    "{path}: {:?} is not a time of the day such as 07:30",
                    testplatform_apis::text::bounded(text, 16)
                ))
            })
        };
        let (start, end) = (time("start", &window.start)?, time("end", &window.end)?);
        if start == end || start == DAY {
            return Err(invalid_schedule(format!(
                "spec.schedule.windows[{index}] ({}): starts when it ends, or at 24:00",
                window.name
            )));
        }
        let end = if end < start { end + DAY } else { end };
        let days =
            collect::to_set(if window.days.is_empty() { Day::ALL.to_vec() } else { window.days.clone() });
        spans.extend(days.into_iter().map(|day| Span { window, day, start, end }));
    }
    Ok(spans)
}

/// On the wall; there a week has as many minutes as any other.
fn check_overlap(spans: &[Span<'_>]) -> Result<(), ScheduleError> {
    let within =
        |span: &Span<'_>| (span.day.week_index() * DAY + span.start, span.day.week_index() * DAY + span.end);
    for (index, one) in spans.iter().enumerate() {
        for other in &spans[index + 1..] {
            let ((start, end), (from, to)) = (within(one), within(other));
            let Some(shift) = [-WEEK, 0, WEEK].into_iter().find(|w| start < to + w && from + w < end) else {
                continue;
            };
            let at = (start.max(from + shift)).rem_euclid(WEEK);
            let day = Day::ALL[usize::try_from(at / DAY).unwrap_or_default() % 7];
            let message = format!(
                "windows {} and {} overlap, on {day} at {:02}:{:02}",
                one.window.name,
                other.window.name,
                at % DAY / 60,
                at % 60
            );
            return Err(ScheduleError { reason: PoolRequested::WindowsOverlap, message });
        }
    }
    Ok(())
}

/// `HH:MM`, up to 24:00.
fn parse_minutes(text: &str) -> Option<i64> {
    let (hours, minutes) = text.split_once(':')?;
    let number = |text: &str| {
        (text.len() == 2 && text.bytes().all(|b| b.is_ascii_digit()))
            .then(|| text.parse::<i64>().ok())
            .flatten()
    };
    let total = number(hours)? * 60 + number(minutes).filter(|m| *m < 60)?;
    (total <= DAY).then_some(total)
}

fn day_of(weekday: Weekday) -> Day {
    match weekday {
        Weekday::Monday => Day::Mon,
        Weekday::Tuesday => Day::Tue,
        Weekday::Wednesday => Day::Wed,
        Weekday::Thursday => Day::Thu,
        Weekday::Friday => Day::Fri,
        Weekday::Saturday => Day::Sat,
        Weekday::Sunday => Day::Sun,
    }
}

/// The zones that are compiled in: the same on every machine.
fn find_zone(name: &str) -> Result<TimeZone, ScheduleError> {
    static ZONES: OnceLock<TimeZoneDatabase> = OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled).get(name).map_err(|_| {
        let name = testplatform_apis::text::bounded(name, 64);
        invalid_schedule(format!(
            "spec.schedule.timeZone: {name:?} is not a time zone of the IANA database such as Europe/Prague"
        ))
    })
}

/// The moment at which a wall clock shows so many minutes after the midnight that begins `date`.
fn instant_of(zone: &TimeZone, date: Date, minutes: i64) -> Result<Timestamp, ScheduleError> {
    let beyond = |_| invalid_schedule("spec.schedule: the calendar ends".into());
    let date = date.checked_add(SignedDuration::from_hours(24 * (minutes / DAY))).map_err(beyond)?;
    let wall = date.at(0, 0, 0, 0).checked_add(SignedDuration::from_mins(minutes % DAY)).map_err(beyond)?;
    match zone.to_ambiguous_timestamp(wall).offset() {
        AmbiguousOffset::Unambiguous { offset } | AmbiguousOffset::Fold { before: offset, .. } => {
            offset.to_timestamp(wall).map_err(beyond)
        }
        AmbiguousOffset::Gap { before, after } => {
            let earlier = after.to_timestamp(wall).map_err(beyond)?;
            let change = zone.following(earlier).next().map(|t| t.timestamp());
            change.map_or_else(|| before.to_timestamp(wall).map_err(beyond), Ok)
        }
    }
}

#[cfg(test)]
mod tests;
