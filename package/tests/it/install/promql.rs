//! Evaluation of the expressions of alerts on series, as Prometheus evaluates them: the part of `PromQL` that the alerts use.
//!
//! Series have the notation of `promtool test rules`. An expression with another part of the language panics, so no alert is evaluated wrongly.

use std::collections::{BTreeMap, BTreeSet};

use promql_parser::parser::{
    self, AggregateExpr, BinaryExpr, Call, Expr, LabelModifier, MatrixSelector, VectorSelector,
};

/// Age at which an instant selector ignores a sample.
const LOOKBACK: f64 = 300.0;
/// Interval of samples and of evaluations.
const INTERVAL: f64 = 60.0;
const NAME: &str = "__name__";

/// Labels of a series or an alert.
pub type Labels = BTreeMap<String, String>;

/// Values of one series, one each minute from 0 on. None: no sample.
pub struct Series {
    labels: Labels,
    samples: Vec<Option<f64>>,
}

/// Function of the samples in a range, and of its length.
type Reduce<'f> = &'f dyn Fn(&[(f64, f64)], f64) -> Option<f64>;

/// Result of an expression.
#[derive(Clone, Debug)]
enum Value {
    Scalar(f64),
    Vector(Vec<(Labels, f64)>),
}

impl Series {
    /// A series in promtool's notation: `name{label="value"}` and values such as `0+1x10 _x5 7`.
    pub fn parse(series: &str, values: &str) -> Self {
        let Expr::VectorSelector(selector) = parser::parse(series).unwrap() else { panic!("{series}") };
        let mut labels: Labels = selector.matchers.matchers.into_iter().map(|m| (m.name, m.value)).collect();
        labels.insert(NAME.to_owned(), selector.name.unwrap());
        Self { labels, samples: values.split(' ').flat_map(parse_values).collect() }
    }

    /// Samples after `from`, up to and including `to`.
    fn between(&self, from: f64, to: f64) -> Vec<(f64, f64)> {
        let timed =
            self.samples.iter().zip(0_u32..).map(|(sample, minute)| (f64::from(minute) * INTERVAL, *sample));
        timed.filter_map(|(at, value)| Some((at, value?))).filter(|(at, _)| *at > from && *at <= to).collect()
    }
}

/// `7`, `7x3` (four times 7), `0+1x3` (0 1 2 3), `_`, `_x3` (three gaps).
fn parse_values(text: &str) -> Vec<Option<f64>> {
    let (start, times) = text.split_once('x').unwrap_or((text, "0"));
    let times: u32 = times.parse().unwrap();
    if start == "_" {
        return vec![None; times.max(1) as usize];
    }
    let (first, step) = start.split_once('+').unwrap_or((start, "0"));
    let [first, step] = [first, step].map(|number| number.parse::<f64>().unwrap());
    (0..=times).map(|number| Some(first + step * f64::from(number))).collect()
}

/// Labels in the notation of promtool: `{name="value"}`.
pub fn parse_labels(text: &str) -> Labels {
    if text == "{}" {
        return Labels::new();
    }
    let Expr::VectorSelector(selector) = parser::parse(text).unwrap() else { panic!("{text}") };
    selector.matchers.matchers.into_iter().map(|matcher| (matcher.name, matcher.value)).collect()
}

/// Labels of the alerts that fire at a minute, if the expression is evaluated every minute and has to hold for `lasts` seconds.
pub fn firing(expression: &str, lasts: f64, series: &[Series], minute: u32) -> BTreeSet<Labels> {
    let expr = parser::parse(expression).unwrap();
    let mut since: BTreeMap<Labels, f64> = BTreeMap::new();
    let mut now = 0.0;
    for number in 0..=minute {
        now = f64::from(number) * INTERVAL;
        let Value::Vector(active) = evaluate(&expr, series, now) else { panic!("{expression} is no vector") };
        let active: BTreeSet<Labels> = active.into_iter().map(|(labels, _)| without_name(labels)).collect();
        since.retain(|labels, _| active.contains(labels));
        for labels in active {
            since.entry(labels).or_insert(now);
        }
    }
    since.into_iter().filter(|(_, start)| now - start >= lasts).map(|(labels, _)| labels).collect()
}

fn evaluate(expr: &Expr, series: &[Series], now: f64) -> Value {
    match expr {
        Expr::NumberLiteral(number) => Value::Scalar(number.val),
        Expr::Paren(paren) => evaluate(&paren.expr, series, now),
        Expr::VectorSelector(selector) => Value::Vector(select_instant(selector, series, now)),
        Expr::Aggregate(aggregate) => Value::Vector(aggregate_groups(aggregate, series, now)),
        Expr::Binary(binary) => combine(binary, series, now),
        Expr::Call(call) => call_function(call, series, now),
        other => panic!("not supported here: {other}"),
    }
}

fn vector(expr: &Expr, series: &[Series], now: f64) -> Vec<(Labels, f64)> {
    match evaluate(expr, series, now) {
        Value::Vector(vector) => vector,
        Value::Scalar(_) => panic!("{expr} is no vector"),
    }
}

fn matches(selector: &VectorSelector, series: &Series) -> bool {
    let label = |name: &str| series.labels.get(name).map(String::as_str).unwrap_or_default();
    selector.name.as_deref().is_none_or(|name| name == label(NAME))
        && selector.matchers.matchers.iter().all(|matcher| matcher.is_match(label(&matcher.name)))
}

fn select_instant(selector: &VectorSelector, series: &[Series], now: f64) -> Vec<(Labels, f64)> {
    assert!(selector.offset.is_none() && selector.at.is_none(), "not supported here: {selector}");
    let selected = series.iter().filter(|series| matches(selector, series));
    let last = |series: &Series| Some((series.labels.clone(), series.between(now - LOOKBACK, now).last()?.1));
    selected.filter_map(last).collect()
}

fn call_function(call: &Call, series: &[Series], now: f64) -> Value {
    let argument = || &*call.args.args[0];
    let over_range = |reduce: Reduce<'_>| {
        let Expr::MatrixSelector(MatrixSelector { vs, range }) = argument() else { panic!("{}", argument()) };
        let range = range.as_secs_f64();
        let selected = series.iter().filter(|series| matches(vs, series));
        let reduced = selected.filter_map(|series| {
            let value = reduce(&series.between(now - range, now), range)?;
            Some((without_name(series.labels.clone()), value))
        });
        Value::Vector(reduced.collect())
    };
    match call.func.name {
        "time" => Value::Scalar(now),
        "absent" => {
            let Expr::VectorSelector(selector) = argument() else { panic!("{}", argument()) };
            let found = !select_instant(selector, series, now).is_empty();
            // Labels of equality matchers would be in the result; no alert has one in `absent`.
            assert!(!selector.matchers.matchers.iter().any(|m| m.op == promql_parser::label::MatchOp::Equal));
            Value::Vector(if found { Vec::new() } else { vec![(Labels::new(), 1.0)] })
        }
        "increase" => over_range(&|samples, range| increase(samples, now - range, now)),
        "rate" => over_range(&|samples, range| Some(increase(samples, now - range, now)? / range)),
        "changes" => over_range(&|samples, _| {
            let count = samples.windows(2).filter(|pair| pair[0].1.total_cmp(&pair[1].1).is_ne()).count();
            (!samples.is_empty()).then_some(u32::try_from(count).map_or(f64::INFINITY, f64::from))
        }),
        "max_over_time" => over_range(&|samples, _| samples.iter().map(|(_, value)| *value).reduce(f64::max)),
        other => panic!("not supported here: {other}"),
    }
}

/// Increase of a counter, extrapolated to the limits of the range as Prometheus does.
fn increase(samples: &[(f64, f64)], start: f64, end: f64) -> Option<f64> {
    let [(first_at, first), .., (last_at, last)] = samples else { return None };
    let resets: f64 = samples.windows(2).filter(|pair| pair[1].1 < pair[0].1).map(|pair| pair[0].1).sum();
    let increase = last - first + resets;
    let duration = last_at - first_at;
    #[expect(clippy::cast_precision_loss, reason = "few samples")]
    let average = duration / (samples.len() - 1) as f64;
    let limit = average * 1.1;
    let mut to_start = first_at - start;
    if to_start >= limit {
        to_start = average / 2.0;
    }
    if increase > 0.0 && *first >= 0.0 {
        // A counter is never negative, so it is not extrapolated below zero.
        to_start = to_start.min(duration * first / increase);
    }
    let mut to_end = end - last_at;
    if to_end >= limit {
        to_end = average / 2.0;
    }
    Some(increase * (duration + to_start + to_end) / duration)
}

fn aggregate_groups(aggregate: &AggregateExpr, series: &[Series], now: f64) -> Vec<(Labels, f64)> {
    let mut groups: BTreeMap<Labels, Vec<f64>> = BTreeMap::new();
    for (labels, value) in vector(&aggregate.expr, series, now) {
        let group = match &aggregate.modifier {
            None => Labels::new(),
            Some(LabelModifier::Include(by)) => keep(&labels, &by.labels),
            Some(LabelModifier::Exclude(_)) => panic!("not supported here: {aggregate}"),
        };
        groups.entry(group).or_default().push(value);
    }
    #[expect(clippy::cast_precision_loss, reason = "few series")]
    let reduce = |values: Vec<f64>| match aggregate.op.to_string().as_str() {
        "sum" => values.iter().sum(),
        "count" => values.len() as f64,
        "max" => values.into_iter().fold(f64::NEG_INFINITY, f64::max),
        "min" => values.into_iter().fold(f64::INFINITY, f64::min),
        other => panic!("not supported here: {other}"),
    };
    groups.into_iter().map(|(labels, values)| (labels, reduce(values))).collect()
}

fn combine(binary: &BinaryExpr, series: &[Series], now: f64) -> Value {
    let [left, right] = [&binary.lhs, &binary.rhs].map(|side| evaluate(side, series, now));
    let op = binary.op.to_string();
    let on = match binary.modifier.as_ref().and_then(|modifier| modifier.matching.as_ref()) {
        None => None,
        Some(LabelModifier::Include(on)) => Some(&on.labels),
        Some(LabelModifier::Exclude(_)) => panic!("not supported here: {binary}"),
    };
    let key = |labels: &Labels| match on {
        Some(on) => keep(labels, on),
        None => without_name(labels.clone()),
    };
    // A comparison filters and keeps its left value; arithmetic makes another, which has no name.
    let one = |left: f64, right: f64| operate(&op, left, right);
    let filters = matches!(op.as_str(), ">" | "<" | "==");
    let labels_of = |labels: Labels| if filters { labels } else { without_name(labels) };
    match (left, right) {
        (Value::Scalar(left), Value::Scalar(right)) => Value::Scalar(one(left, right).unwrap()),
        (Value::Vector(left), Value::Scalar(right)) => {
            let kept = left.into_iter().filter_map(|(of, left)| Some((labels_of(of), one(left, right)?)));
            Value::Vector(kept.collect())
        }
        (Value::Scalar(left), Value::Vector(right)) => {
            assert!(!filters, "not supported here: {binary}");
            let made = right.into_iter().filter_map(|(of, right)| Some((labels_of(of), one(left, right)?)));
            Value::Vector(made.collect())
        }
        (Value::Vector(left), Value::Vector(right)) => {
            let has = |all: &[(Labels, f64)], of: &Labels| all.iter().any(|(other, _)| key(other) == key(of));
            match op.as_str() {
                "and" => Value::Vector(left.into_iter().filter(|(of, _)| has(&right, of)).collect()),
                "or" => {
                    let added: Vec<_> = right.into_iter().filter(|(of, _)| !has(&left, of)).collect();
                    Value::Vector(left.into_iter().chain(added).collect())
                }
                _ => panic!("not supported here: {binary}"),
            }
        }
    }
}

/// The value of an operation. None: a comparison that is false.
fn operate(op: &str, left: f64, right: f64) -> Option<f64> {
    match op {
        "+" => Some(left + right),
        "-" => Some(left - right),
        "*" => Some(left * right),
        "/" => Some(left / right),
        ">" => (left > right).then_some(left),
        "<" => (left < right).then_some(left),
        #[expect(clippy::float_cmp, reason = "as Prometheus compares")]
        "==" => (left == right).then_some(left),
        other => panic!("not supported here: {other}"),
    }
}

fn keep(labels: &Labels, names: &[String]) -> Labels {
    labels
        .iter()
        .filter(|(name, _)| names.contains(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn without_name(mut labels: Labels) -> Labels {
    labels.remove(NAME);
    labels
}

/// Values that Prometheus' own tests of these functions have.
#[test]
fn functions_have_the_values_of_prometheus() {
    let series =
        [Series::parse(r#"calls{path="/foo"}"#, "0+10x10 0+10x9"), Series::parse("gauge", "1 5 2 _x6")];
    let value = |expression: &str, minute: u32| {
        let at = f64::from(minute) * INTERVAL;
        match evaluate(&parser::parse(expression).unwrap(), &series, at) {
            Value::Vector(vector) => vector.first().map(|(_, value)| (value * 1e6).round() / 1e6),
            Value::Scalar(scalar) => Some(scalar),
        }
    };
    // A counter that restarts: 0 to 100 and 0 to 90.
    assert_eq!(value("increase(calls[10m])", 10), Some(100.0));
    assert_eq!(value("rate(calls[10m])", 10), Some(0.166_667));
    assert_eq!(value("increase(calls[20m])", 20), Some(189.473_684));
    assert_eq!(value("max_over_time(gauge[3m])", 2), Some(5.0));
    assert_eq!(value("gauge", 6), Some(2.0));
    assert_eq!(value("gauge", 7), None);
    assert_eq!(value("absent(gauge)", 7), Some(1.0));
    assert_eq!(value("time() - gauge > 100", 2), Some(118.0));
    assert_eq!(value("time() - gauge > 120", 2), None);
    assert_eq!(value("gauge == 2 and on (path) calls", 2), None);
    assert_eq!(value("sum(gauge) > 1 or sum(calls) > 1", 2), Some(2.0));
    assert_eq!(value("count by (path) (calls) * 3 + 1", 2), Some(4.0));
}
