//! Whether an object is ready, by an expression in CEL. Pure; but an expression takes its time, so it is evaluated where nobody waits for it.
//!
//! The expression is a template's, and so an administrator's; the object is a cluster's, which may be anybody's. So how much work the two make
//! together is known before it is begun: an expression of a certain depth over an object of a certain size.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use cel::{
    Context, ExecutionError, Program, Value as Cel,
    common::ast::{EntryExpr, Expr, IdedExpr},
    objects::{Key, Map},
};
use serde_json::Value;

/// The longest expression, in bytes.
pub const LONGEST: usize = 4096;
/// How often a step of an expression may be repeated: the values in an object, for each macro that stands in another.
pub const MOST_STEPS: usize = 5_000_000;
/// The most values in an object.
pub const MOST_VALUES: usize = 50_000;
/// How deep brackets may stand in brackets.
const DEEPEST: usize = 32;

/// What an expression says of an object. No sentence quotes the object: it may be a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is ready.
    Ready,
    /// It is not; a sentence.
    Not(&'static str),
    /// It will never be, by this expression; a sentence.
    Invalid(&'static str),
    /// There is too much of it to say; a sentence.
    TooLarge(&'static str),
}

const FALSE: Verdict = Verdict::Not("the expression is false");
const ABSENT: Verdict = Verdict::Not("a field that the expression reads is not there");
/// Of an evaluation that failed.
pub const OTHERWISE: Verdict = Verdict::Not(
    "the expression cannot be evaluated: a value that it reads is not of the kind that it needs",
);
const NO_BOOL: Verdict = Verdict::Invalid("the expression gives something else than true or false");
const UNKNOWN: Verdict =
    Verdict::Invalid("the expression names a variable other than object, or a function that there is not");
const MANY: Verdict = Verdict::TooLarge("there is too much in the object to evaluate the expression");
/// Of an evaluation that nobody waits for any longer.
pub const SLOW: Verdict = Verdict::TooLarge("the expression took too long");
const UNPARSED: &str = "the expression cannot be parsed";

/// An expression that was understood.
struct Expression {
    program: Program,
    /// How many macros stand in each other.
    depth: u32,
}

/// Whether an expression is one.
///
/// # Errors
/// If it cannot be parsed, or is longer or deeper than any that makes sense: a sentence.
pub fn check(expression: &str) -> Result<(), &'static str> {
    parse(expression).map(drop)
}

fn parse(text: &str) -> Result<Expression, &'static str> {
    if text.len() > LONGEST {
        return Err("the expression is longer than 4096 bytes");
    }
    let mut open = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > DEEPEST {
            return Err("the expression has too many brackets in brackets");
        }
    }
    // Of a parser that panics nothing else is to be expected than of an expression that is none.
    let parsed = catch_unwind(|| Program::compile(text).map_err(|_| UNPARSED)).unwrap_or(Err(UNPARSED));
    let program = parsed?;
    let depth = depth(program.expression())?;
    Ok(Expression { program, depth })
}

/// How many macros stand in each other.
///
/// # Errors
/// If something is in it that the evaluator cannot do.
fn depth(of: &IdedExpr) -> Result<u32, &'static str> {
    match &of.expr {
        Expr::Unspecified | Expr::Struct(_) => Err(UNPARSED),
        Expr::Ident(_) | Expr::Literal(_) => Ok(0),
        Expr::Select(select) => depth(&select.operand),
        Expr::Call(call) => deepest(call.args.iter().chain(call.target.as_deref())),
        Expr::List(list) => deepest(list.elements.iter()),
        Expr::Map(map) => {
            let mut parts = Vec::new();
            for entry in &map.entries {
                match &entry.expr {
                    EntryExpr::MapEntry(entry) => parts.extend([&entry.key, &entry.value]),
                    EntryExpr::StructField(_) => return Err(UNPARSED),
                }
            }
            deepest(parts.into_iter())
        }
        Expr::Comprehension(each) => {
            let parts = [&each.loop_cond, &each.loop_step, &each.result, &each.accu_init];
            let inner = deepest(parts.into_iter())?;
            // A list that a macro makes may be as long as all of its steps.
            Ok(1 + inner.max(depth(&each.iter_range)?))
        }
    }
}

fn deepest<'a>(mut parts: impl Iterator<Item = &'a IdedExpr>) -> Result<u32, &'static str> {
    parts.try_fold(0, |most: u32, part| depth(part).map(|depth| most.max(depth)))
}

/// What an expression says of an object. It may take a while.
pub fn judge(expression: &str, object: &Value) -> Verdict {
    let expression = match parse(expression) {
        Ok(expression) => expression,
        Err(why) => return Verdict::Invalid(why),
    };
    let mut values = 0;
    let Some(object) = value(object, &mut values) else { return MANY };
    let steps = values.max(2).checked_pow(expression.depth);
    if steps.is_none_or(|steps| steps > MOST_STEPS) {
        return MANY;
    }
    let evaluated = catch_unwind(AssertUnwindSafe(|| {
        let mut context = Context::default();
        context.add_variable_from_value("object", object);
        expression.program.execute(&context)
    }));
    match evaluated {
        Ok(Ok(Cel::Bool(true))) => Verdict::Ready,
        Ok(Ok(Cel::Bool(false))) => FALSE,
        // What is not there, and so nothing, is not ready yet.
        Ok(Ok(Cel::Null) | Err(ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_))) => ABSENT,
        Ok(Ok(_)) => NO_BOOL,
        Ok(Err(
            ExecutionError::UndeclaredReference(_)
            | ExecutionError::InvalidArgumentCount { .. }
            | ExecutionError::MissingArgumentOrTarget,
        )) => UNKNOWN,
        Ok(Err(_)) | Err(_) => OTHERWISE,
    }
}

/// A value as expressions have it, with what was counted of it so far. None: there are too many. Whole numbers are signed, as those of the
/// fields of Kubernetes are.
fn value(of: &Value, values: &mut usize) -> Option<Cel> {
    *values += 1;
    if *values > MOST_VALUES {
        return None;
    }
    Some(match of {
        Value::Null => Cel::Null,
        Value::Bool(bool) => Cel::Bool(*bool),
        Value::Number(number) => number.as_i64().map_or_else(
            || number.as_u64().map_or_else(|| Cel::Float(number.as_f64().unwrap_or(f64::NAN)), Cel::UInt),
            Cel::Int,
        ),
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => {
            let all: Option<Vec<Cel>> = items.iter().map(|item| value(item, values)).collect();
            Cel::List(Arc::new(all?))
        }
        Value::Object(entries) => {
            let mut map = HashMap::with_capacity(entries.len());
            for (key, entry) in entries {
                map.insert(Key::String(Arc::new(key.clone())), value(entry, values)?);
            }
            Cel::Map(Map { map: Arc::new(map) })
        }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_templates_ask_is_answered() {
        let ready = json!({
            "spec": { "replicas": 3 },
            "status": {
                "readyReplicas": 3, "phase": "Active",
                "conditions": [{ "type": "Available", "status": "True" }, { "type": "Other", "status": "False" }],
            },
        });
        for yes in [
            "true",
            "object.status.readyReplicas == object.spec.replicas",
            "object.status.readyReplicas >= 3",
            "object.status.conditions.exists(c, c.type == 'Available' && c.status == 'True')",
            "size(object.status.conditions) == 2",
            "has(object.status.phase) && object.status.phase in ['Active', 'Ready']",
            "object.status.phase.matches('^Act')",
            "object.status.conditions.filter(c, c.status == 'True').size() > 0",
        ] {
            assert_eq!(judge(yes, &ready), Verdict::Ready, "{yes}");
        }
        assert_eq!(judge("object.status.phase == 'Failed'", &ready), FALSE);
        assert_eq!(judge("object.status.conditions.all(c, c.status == 'True')", &ready), FALSE);
    }

    #[test]
    fn what_is_not_there_yet_is_not_ready() {
        let fresh =
            json!({ "metadata": { "name": "x" }, "spec": { "replicas": "3" }, "status": null, "list": [] });
        for absent in ["object.nothing == 1", "object.metadata.labels.a == 'b'", "object.list[0] == 1"] {
            assert!(
                matches!(judge(absent, &fresh), Verdict::Not(_)),
                "{absent}: {:?}",
                judge(absent, &fresh)
            );
        }
        for not in [
            "object.status.ready",
            "object.spec.replicas > 1",
            "object.status",
            "object.status.conditions.exists(c, c == 1)",
        ] {
            assert!(matches!(judge(not, &fresh), Verdict::Not(_)), "{not}: {:?}", judge(not, &fresh));
        }
    }

    #[test]
    fn what_is_no_expression_is_said_to_be_none() {
        let object = json!({ "a": 1 });
        for text in [
            "",
            "object.",
            "object.a ==",
            "object.a = 1",
            "((",
            "self.a == 1",
            "nothing(object)",
            "object.a",
            "'x'",
            "T{a: 1}",
            "size()",
        ] {
            assert!(
                matches!(judge(text, &object), Verdict::Invalid(_)),
                "{text}: {:?}",
                judge(text, &object)
            );
        }
        assert!(check(&format!("{}true{}", "(".repeat(2000), ")".repeat(2000))).is_err());
        assert!(check(&format!("true{}", " || true".repeat(1000))).is_err());
        assert!(check("object.status.ready").is_ok());
    }

    #[test]
    fn nothing_takes_long() {
        let wide = json!({ "l": vec![1; 40_000] });
        assert!(matches!(judge("object.l.all(a, a == 1)", &wide), Verdict::Ready));
        assert_eq!(judge("object.l.all(a, object.l.all(b, a == b))", &wide), MANY);
        let wide = json!({ "l": vec![1; 60_000] });
        assert_eq!(judge("object.l.all(a, a == 1)", &wide), MANY);
        let many = "object.l.all(a, object.l.all(b, object.l.all(c, object.l.all(d, a + b + c + d == 4))))";
        assert_eq!(judge(many, &json!({ "l": vec![1; 100] })), MANY);
        assert_eq!(judge(many, &json!({ "l": vec![1; 10] })), Verdict::Ready);
    }
}
