//! Tables as kubectl prints them, and that of `get`.

use std::fmt::Write as _;

use jiff::Timestamp;
use testplatform_apis::{phase::Phase, text::bounded};

use super::{
    claim::{Claim, text, time},
    span::{ago, human},
    style::Paint,
};

/// Characters between two columns.
const GAP: usize = 3;
/// Phase of a claim that a watch reports as deleted.
const DELETED: &str = "Deleted";

/// Which columns there are beside the usual ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Columns {
    /// The namespace.
    pub namespace: bool,
    /// The kind before the name, as both are there.
    pub kind: bool,
    /// Backend, hub and message.
    pub wide: bool,
}

/// A column of `get`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Namespace,
    Name,
    Phase,
    Backend,
    Version,
    Expires,
    Hub,
    Age,
    Message,
}

/// Columns that a narrow terminal leaves out, the first one first.
const DROPPED: [Column; 3] = [Column::Version, Column::Age, Column::Expires];

impl Column {
    const fn head(self) -> &'static str {
        match self {
            Self::Namespace => "NAMESPACE",
            Self::Name => "NAME",
            Self::Phase => "PHASE",
            Self::Backend => "BACKEND",
            Self::Version => "VERSION",
            Self::Expires => "EXPIRES",
            Self::Hub => "HUB",
            Self::Age => "AGE",
            Self::Message => "MESSAGE",
        }
    }

    /// `true` if the cell changes by time alone.
    const fn is_time(self) -> bool {
        matches!(self, Self::Expires | Self::Age)
    }
}

/// The table of claims: columns, and their widths by the first rows.
#[derive(Clone, Debug)]
pub struct ClaimTable {
    columns: Vec<Column>,
    widths: Vec<usize>,
    kind: bool,
}

impl ClaimTable {
    /// A table for claims. `room`: width of the terminal, for which columns may be left out.
    pub fn new(claims: &[Claim], shown: Columns, room: Option<usize>, now: Timestamp) -> Self {
        use Column as C;
        let mut columns = if shown.wide {
            vec![C::Name, C::Phase, C::Backend, C::Version, C::Expires, C::Hub, C::Age, C::Message]
        } else {
            vec![C::Name, C::Phase, C::Version, C::Expires, C::Age]
        };
        if shown.namespace {
            columns.insert(0, C::Namespace);
        }
        let mut table = Self { columns, widths: vec![], kind: shown.kind };
        table.measure(claims, now);
        for dropped in DROPPED.into_iter().filter(|_| !shown.wide) {
            if room.is_none_or(|room| table.width() <= room) {
                break;
            }
            table.columns.retain(|column| *column != dropped);
            table.measure(claims, now);
        }
        table
    }

    fn measure(&mut self, claims: &[Claim], now: Timestamp) {
        let rows: Vec<Vec<String>> = claims.iter().map(|claim| self.cells(claim, now)).collect();
        let width = |(at, column): (usize, &Column)| {
            let cells = rows.iter().map(|row| row[at].chars().count());
            cells.chain([column.head().len()]).max().unwrap_or_default()
        };
        self.widths = self.columns.iter().enumerate().map(width).collect();
    }

    fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + GAP * self.widths.len().saturating_sub(1)
    }

    /// The line of headings.
    pub fn head_line(&self) -> String {
        let cells: Vec<String> = self.columns.iter().map(|column| column.head().to_owned()).collect();
        self.align(&cells, |_, cell| cell)
    }

    /// The line of a claim.
    pub fn claim_line(&self, claim: &Claim, paint: Paint, now: Timestamp) -> String {
        let phase = claim.phase();
        self.align(&self.cells(claim, now), |column, cell| match column {
            Column::Phase => paint.phase(phase, &cell),
            _ => cell,
        })
    }

    /// The line of a claim that was deleted during a watch.
    pub fn deleted_line(&self, claim: &Claim, paint: Paint, now: Timestamp) -> String {
        let mut cells = self.cells(claim, now);
        for (cell, column) in cells.iter_mut().zip(&self.columns) {
            if *column == Column::Phase {
                DELETED.clone_into(cell);
            }
        }
        self.align(&cells, |column, cell| match column {
            Column::Phase => paint.phase(Some(Phase::Deprovisioned), &cell),
            _ => cell,
        })
    }

    /// The cells of a claim without times: a watch prints a claim again if they change.
    pub fn stable_cells(&self, claim: &Claim, now: Timestamp) -> Vec<String> {
        let cells = self.cells(claim, now).into_iter().zip(&self.columns);
        cells.filter(|(_, column)| !column.is_time()).map(|(cell, _)| cell).collect()
    }

    fn align(&self, cells: &[String], style: impl Fn(Column, String) -> String) -> String {
        let mut line = String::new();
        let last = cells.len().saturating_sub(1);
        for (at, ((cell, width), column)) in cells.iter().zip(&self.widths).zip(&self.columns).enumerate() {
            let padded = if at == last { cell.clone() } else { format!("{cell:width$}") };
            line.push_str(&style(*column, padded));
            if at != last {
                line.push_str(&" ".repeat(GAP));
            }
        }
        line.trim_end().to_owned()
    }

    fn cells(&self, claim: &Claim, now: Timestamp) -> Vec<String> {
        let object = &claim.object;
        let cell = |column: &Column| match column {
            Column::Namespace => claim.namespace().to_owned(),
            Column::Name if self.kind => claim.label(),
            Column::Name => claim.name().to_owned(),
            Column::Phase => claim.phase_word().to_owned(),
            Column::Backend => text(object, "/status/backend/kind").to_owned(),
            Column::Version => text(object, "/status/version").to_owned(),
            Column::Expires => format_expiry(claim, now),
            Column::Hub => text(object, "/status/hub/name").to_owned(),
            Column::Age => ago(time(object, "/metadata/creationTimestamp"), now),
            Column::Message => claim.message(),
        };
        // Any value stays in its cell.
        self.columns.iter().map(|column| bounded(&cell(column), 600)).collect()
    }
}

/// Rows of as many cells each, one below the other.
pub fn align_columns<R: AsRef<[String]>>(rows: &[R]) -> Vec<String> {
    let rows: Vec<&[String]> = rows.iter().map(AsRef::as_ref).collect();
    let columns = rows.first().map_or(0, |row| row.len());
    let width = |at: usize| rows.iter().map(|r| r[at].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let line = |row: &&[String]| {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let _ = write!(line, "{cell:width$}   ");
        }
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// In how long it ends by itself; of one that is gone, nothing.
fn format_expiry(claim: &Claim, now: Timestamp) -> String {
    let lives = !matches!(claim.phase(), Some(Phase::Deprovisioned | Phase::Failed));
    claim.expires_at().filter(|_| lives).map_or_else(String::new, |end| human(end.duration_since(now)))
}
