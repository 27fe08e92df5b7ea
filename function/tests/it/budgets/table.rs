//! Tables of budgets: one line for each thing that is measured, one column for each unit.

use std::{env, fmt::Write as _, fs, path::Path};

/// Measurements of one subject.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    pub name: String,
    pub values: Vec<u64>,
}

/// Everything that is measured, or allowed.
pub struct Table {
    columns: Vec<&'static str>,
    pub rows: Vec<Row>,
}

/// How much of a budget may be left unused before it has to be lowered, in percent.
const SLACK: u64 = 20;

impl Table {
    pub fn new<const N: usize>(columns: [&'static str; N], rows: Vec<Row>) -> Self {
        Self { columns: columns.into(), rows }
    }

    /// Holds what is measured to the budgets in `file`; writes them where that is asked for, with `room` percent to spare.
    pub fn hold(&self, file: &str, room: u64) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/budgets").join(file);
        if env::var_os("SNAPSHOTS").is_some_and(|value| value == "overwrite") {
            fs::write(&path, self.text(room)).unwrap();
            return;
        }
        let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let problems = self.compare(&self.read(&text));
        assert!(
            problems.is_empty(),
            "tests/budgets/{file}:\n  {}\nSNAPSHOTS=overwrite writes what is measured now; a higher budget needs a reason",
            problems.join("\n  ")
        );
    }

    /// The table as a file: what is measured with `room` percent on top, in columns for people.
    fn text(&self, room: u64) -> String {
        let names = self.rows.iter().map(|row| row.name.len()).max().unwrap_or_default();
        let mut text = "# The most that each may cost; see tests/it/budgets.rs.\n".to_owned();
        write!(text, "{:names$}", "# name").unwrap();
        for column in &self.columns {
            write!(text, "  {column:>14}").unwrap();
        }
        text.push('\n');
        for row in &self.rows {
            write!(text, "{:names$}", row.name).unwrap();
            for value in &row.values {
                write!(text, "  {:>14}", value + (value * room).div_ceil(100)).unwrap();
            }
            text.push('\n');
        }
        text
    }

    fn read(&self, text: &str) -> Vec<Row> {
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
        lines
            .map(|line| {
                let mut words = line.split_whitespace();
                let name = words.next().unwrap().to_owned();
                let values: Vec<u64> = words.map(|word| word.parse().expect("a number")).collect();
                assert_eq!(values.len(), self.columns.len(), "{name} has another number of columns");
                Row { name, values }
            })
            .collect()
    }

    /// Everything in which what is measured is not as `budgets` has it.
    fn compare(&self, budgets: &[Row]) -> Vec<String> {
        let mut problems = Vec::new();
        for row in &self.rows {
            let Some(budget) = budgets.iter().find(|budget| budget.name == row.name) else {
                problems.push(format!("{} has no budget", row.name));
                continue;
            };
            let pairs = self.columns.iter().zip(&row.values).zip(&budget.values);
            problems.extend(pairs.filter_map(|((column, value), budget)| {
                let place = format!("{}, {column}: {value}", row.name);
                if value > budget {
                    Some(format!("{place} is more than its budget of {budget}"))
                } else if value * 100 < budget * (100 - SLACK) {
                    Some(format!("{place} is far below its budget of {budget}, which is to be lowered"))
                } else {
                    None
                }
            }));
        }
        let gone = budgets.iter().filter(|budget| !self.rows.iter().any(|row| row.name == budget.name));
        problems.extend(gone.map(|budget| format!("{} has a budget and is not there", budget.name)));
        problems
    }
}

#[test]
fn budget_fails_on_both_sides_and_for_missing_rows() {
    let table =
        |value, name: &str| Table::new(["cost"], vec![Row { name: name.to_owned(), values: vec![value] }]);
    let budgets = table(100, "a").read(&table(100, "a").text(0));
    let problems = |value, name| table(value, name).compare(&budgets).join("; ");
    assert_eq!(problems(100, "a"), "");
    assert_eq!(problems(80, "a"), "");
    assert!(problems(101, "a").contains("a, cost: 101 is more than its budget of 100"));
    assert!(problems(79, "a").contains("far below"));
    assert_eq!(problems(100, "b"), "b has no budget; a has a budget and is not there");
    assert!(table(101, "a").text(10).ends_with("112\n"), "rounded up");
}
