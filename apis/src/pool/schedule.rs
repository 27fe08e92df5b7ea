//! Other sizes at other times of the week.

use std::fmt;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Refusal of what is no time of the day.
pub const TIME_OF_DAY_RULE: &str =
    "must be a time of the day, 00:00 to 23:59, such as 07:30; end may be 24:00";
/// Refusal of a window that may be nothing or a whole day.
pub const TIMES_DIFFER: &str = "start and end must differ; for a whole day use 00:00 and 24:00";

/// Sizes of the pool by time of the week. Exactly one sizing applies at every moment: that of its window, else the default.
#[derive(JsonSchema, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Schedule {
    /// The time zone in which days, starts and ends are meant, by its name in the IANA database, such as Europe/Prague or UTC.
    #[schemars(length(min = 1, max = 64))]
    pub time_zone: String,
    /// Sizing outside all windows. If not set, the pool's own size, runningCount and maxSize.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Sizing>,
    /// Parts of the week. They must not overlap.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub windows: Vec<Window>,
}

/// Size of the pool.
#[derive(JsonSchema, Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sizing {
    /// In place of the pool's size.
    #[schemars(range(min = 0, max = 1000))]
    pub size: i32,
    /// In place of the pool's runningCount, if set; never more than size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub running_count: Option<i32>,
    /// In place of the pool's maxSize, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_size: Option<i32>,
}

/// A part of the week.
#[derive(KubeSchema, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.start != self.end").message(TIMES_DIFFER))]
pub struct Window {
    /// A name for status and messages.
    #[schemars(length(min = 1, max = 63))]
    pub name: String,
    /// The days on which it starts. If there are none, every day.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 7))]
    pub days: Vec<Day>,
    /// When it starts, as hours and minutes. A time that a change of the clocks skips is the moment of the change; of one that comes twice the
    /// first counts.
    #[schemars(length(max = 5))]
    #[x_kube(validation = Rule::new("self.matches('^([01][0-9]|2[0-3]):[0-5][0-9]$')").message(TIME_OF_DAY_RULE))]
    pub start: String,
    /// End. An end that is not later than start is on the next day.
    #[schemars(length(max = 5))]
    #[x_kube(validation = Rule::new("self.matches('^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$')").message(TIME_OF_DAY_RULE))]
    pub end: String,
    /// In place of the pool's size.
    #[schemars(range(min = 0, max = 1000))]
    pub size: i32,
    /// In place of the pool's runningCount, if set; never more than size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 1000))]
    pub running_count: Option<i32>,
    /// In place of the pool's maxSize, if set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 10000))]
    pub max_size: Option<i32>,
}

impl Window {
    /// Size of the pool in this window.
    pub fn sizing(&self) -> Sizing {
        Sizing { size: self.size, running_count: self.running_count, max_size: self.max_size }
    }
}

/// A day of the week.
#[derive(JsonSchema, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Day {
    /// Monday.
    Mon,
    /// Tuesday.
    Tue,
    /// Wednesday.
    Wed,
    /// Thursday.
    Thu,
    /// Friday.
    Fri,
    /// Saturday.
    Sat,
    /// Sunday.
    Sun,
}

impl Day {
    /// All, from Monday on.
    pub const ALL: [Self; 7] = [Self::Mon, Self::Tue, Self::Wed, Self::Thu, Self::Fri, Self::Sat, Self::Sun];

    /// Days since Monday.
    pub const fn week_index(self) -> i64 {
        self as i64
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}
