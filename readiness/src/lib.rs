//! Readiness of an object, decided by a CEL expression. Pure. Evaluation may be slow, so the caller runs it off the async threads.
//!
//! The expression belongs to a template, and so to an administrator. The object belongs to a cluster, and may be anyone's. Their combined
//! work is therefore bounded before evaluation: an expression of limited depth over an object of limited size.

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

/// Maximum length of an expression, in bytes.
pub const MAX_EXPRESSION_BYTES: usize = 4096;
/// Maximum number of steps: the values in an object, to the power of the nesting depth of macros.
pub const MAX_STEPS: usize = 5_000_000;
/// Maximum number of values in an object.
pub const MAX_VALUES: usize = 50_000;
/// Maximum nesting of brackets.
const MAX_NESTING: usize = 32;

/// Result of an expression over an object. No message quotes the object, because it may be a Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is ready.
    Ready,
    /// It is not ready; a message.
    NotReady(&'static str),
    /// It will never be ready with this expression; a message.
    Invalid(&'static str),
    /// The object is too large to evaluate; a message.
    TooLarge(&'static str),
}

const FALSE: Verdict = Verdict::NotReady("the expression is false");
const MISSING_FIELD: Verdict = Verdict::NotReady("a field that the expression reads does not exist");
/// Result of a failed evaluation.
pub const EVALUATION_FAILED: Verdict =
    Verdict::NotReady("the expression cannot be evaluated: a value has the wrong type");
const NOT_BOOLEAN: Verdict = Verdict::Invalid("the result of the expression is neither true nor false");
const UNKNOWN_NAME: Verdict =
    Verdict::Invalid("the expression names a variable other than object, or an unknown function");
const OVERSIZED: Verdict = Verdict::TooLarge("the object is too large to evaluate the expression");
/// Result of an evaluation that exceeded its timeout.
pub const TIMED_OUT: Verdict = Verdict::TooLarge("the expression took too long");
const PARSE_ERROR: &str = "the expression cannot be parsed";

/// A parsed expression.
struct Expression {
    program: Program,
    /// Nesting depth of macros.
    depth: u32,
}

/// Checks that an expression can be parsed.
///
/// # Errors
/// If it cannot be parsed, or is too long or too deep: a message.
pub fn validate_expression(expression: &str) -> Result<(), &'static str> {
    parse_expression(expression).map(drop)
}

fn parse_expression(text: &str) -> Result<Expression, &'static str> {
    if text.len() > MAX_EXPRESSION_BYTES {
        return Err("the expression is longer than 4096 bytes");
    }
    let mut open = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MAX_NESTING {
            return Err("the expression is nested too deeply");
        }
    }
    // A panic of the parser is treated like an invalid expression.
    let parsed = catch_unwind(|| Program::compile(text).map_err(|_| PARSE_ERROR)).unwrap_or(Err(PARSE_ERROR));
    let program = parsed?;
    let depth = macro_depth(program.expression())?;
    Ok(Expression { program, depth })
}

/// Nesting depth of macros.
///
/// # Errors
/// If the evaluator does not support a part of it.
fn macro_depth(of: &IdedExpr) -> Result<u32, &'static str> {
    match &of.expr {
        Expr::Unspecified | Expr::Struct(_) => Err(PARSE_ERROR),
        Expr::Ident(_) | Expr::Literal(_) => Ok(0),
        Expr::Select(select) => macro_depth(&select.operand),
        Expr::Call(call) => max_depth(call.args.iter().chain(call.target.as_deref())),
        Expr::List(list) => max_depth(list.elements.iter()),
        Expr::Map(map) => {
            let mut parts = Vec::new();
            for entry in &map.entries {
                match &entry.expr {
                    EntryExpr::MapEntry(entry) => parts.extend([&entry.key, &entry.value]),
                    EntryExpr::StructField(_) => return Err(PARSE_ERROR),
                }
            }
            max_depth(parts.into_iter())
        }
        Expr::Comprehension(each) => {
            let parts = [&each.loop_cond, &each.loop_step, &each.result, &each.accu_init];
            let inner = max_depth(parts.into_iter())?;
            // The list of a macro may be as long as the number of its steps.
            Ok(1 + inner.max(macro_depth(&each.iter_range)?))
        }
    }
}

fn max_depth<'a>(mut parts: impl Iterator<Item = &'a IdedExpr>) -> Result<u32, &'static str> {
    parts.try_fold(0, |most: u32, part| macro_depth(part).map(|depth| most.max(depth)))
}

/// Evaluates an expression over an object. It may be slow.
pub fn evaluate(expression: &str, object: &Value) -> Verdict {
    let expression = match parse_expression(expression) {
        Ok(expression) => expression,
        Err(why) => return Verdict::Invalid(why),
    };
    let mut values = 0;
    let Some(object) = to_cel_value(object, &mut values) else { return OVERSIZED };
    let steps = values.max(2).checked_pow(expression.depth);
    if steps.is_none_or(|steps| steps > MAX_STEPS) {
        return OVERSIZED;
    }
    let evaluated = catch_unwind(AssertUnwindSafe(|| {
        let mut context = Context::default();
        context.add_variable_from_value("object", object);
        expression.program.execute(&context)
    }));
    match evaluated {
        Ok(Ok(Cel::Bool(true))) => Verdict::Ready,
        Ok(Ok(Cel::Bool(false))) => FALSE,
        // A missing field or null is not ready yet.
        Ok(Ok(Cel::Null) | Err(ExecutionError::NoSuchKey(_) | ExecutionError::IndexOutOfBounds(_))) => {
            MISSING_FIELD
        }
        Ok(Ok(_)) => NOT_BOOLEAN,
        Ok(Err(
            ExecutionError::UndeclaredReference(_)
            | ExecutionError::InvalidArgumentCount { .. }
            | ExecutionError::MissingArgumentOrTarget,
        )) => UNKNOWN_NAME,
        Ok(Err(_)) | Err(_) => EVALUATION_FAILED,
    }
}

/// Converts a value for CEL and counts its parts in `values`. None: there are too many. Integers are signed, as in Kubernetes fields.
fn to_cel_value(of: &Value, values: &mut usize) -> Option<Cel> {
    *values += 1;
    if *values > MAX_VALUES {
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
            let all: Option<Vec<Cel>> = items.iter().map(|item| to_cel_value(item, values)).collect();
            Cel::List(Arc::new(all?))
        }
        Value::Object(entries) => {
            let mut map = HashMap::with_capacity(entries.len());
            for (key, entry) in entries {
                map.insert(Key::String(Arc::new(key.clone())), to_cel_value(entry, values)?);
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
    fn expressions_of_templates_are_evaluated() {
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
            assert_eq!(evaluate(yes, &ready), Verdict::Ready, "{yes}");
        }
        assert_eq!(evaluate("object.status.phase == 'Failed'", &ready), FALSE);
        assert_eq!(evaluate("object.status.conditions.all(c, c.status == 'True')", &ready), FALSE);
    }

    #[test]
    fn missing_fields_are_not_ready() {
        let fresh =
            json!({ "metadata": { "name": "x" }, "spec": { "replicas": "3" }, "status": null, "list": [] });
        for absent in ["object.nothing == 1", "object.metadata.labels.a == 'b'", "object.list[0] == 1"] {
            assert!(
                matches!(evaluate(absent, &fresh), Verdict::NotReady(_)),
                "{absent}: {:?}",
                evaluate(absent, &fresh)
            );
        }
        for not in [
            "object.status.ready",
            "object.spec.replicas > 1",
            "object.status",
            "object.status.conditions.exists(c, c == 1)",
        ] {
            assert!(
                matches!(evaluate(not, &fresh), Verdict::NotReady(_)),
                "{not}: {:?}",
                evaluate(not, &fresh)
            );
        }
    }

    #[test]
    fn invalid_expressions_are_reported() {
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
                matches!(evaluate(text, &object), Verdict::Invalid(_)),
                "{text}: {:?}",
                evaluate(text, &object)
            );
        }
        assert!(validate_expression(&format!("{}true{}", "(".repeat(2000), ")".repeat(2000))).is_err());
        assert!(validate_expression(&format!("true{}", " || true".repeat(1000))).is_err());
        assert!(validate_expression("object.status.ready").is_ok());
    }

    #[test]
    fn evaluation_is_bounded() {
        let wide = json!({ "l": vec![1; 40_000] });
        assert!(matches!(evaluate("object.l.all(a, a == 1)", &wide), Verdict::Ready));
        assert_eq!(evaluate("object.l.all(a, object.l.all(b, a == b))", &wide), OVERSIZED);
        let wide = json!({ "l": vec![1; 60_000] });
        assert_eq!(evaluate("object.l.all(a, a == 1)", &wide), OVERSIZED);
        let many = "object.l.all(a, object.l.all(b, object.l.all(c, object.l.all(d, a + b + c + d == 4))))";
        assert_eq!(evaluate(many, &json!({ "l": vec![1; 100] })), OVERSIZED);
        assert_eq!(evaluate(many, &json!({ "l": vec![1; 10] })), Verdict::Ready);
    }
}
