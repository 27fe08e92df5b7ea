//! Applies the replacements and variables of kustomizations to rendered objects.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use super::field_path::PathError;
use super::object;
use super::patch::PendingChange;
use super::replacement::ReplacementEntry;
use super::spec::KustomizationSpec;
use super::variable::{self, Variable, VariableField};
use super::{Position, Rendered, UnresolvedReason};
use crate::bump::{Problem, text};

const REPLACEMENTS: &str = "replacements";
const VARIABLES: &str = "vars";
const CONFIGURATIONS: &str = "configurations";

/// Variables of a kustomization and of everything below it.
#[derive(Clone, Debug, Default)]
pub struct VariableSet {
    variables: Vec<(Variable, DeclaredAt)>,
    fields: Vec<VariableField>,
}

/// The kustomization and the line of a variable.
#[derive(Clone, Debug)]
struct DeclaredAt {
    file: String,
    line: usize,
}

impl VariableSet {
    /// Adds those of another directory. kustomize refuses a second variable of a name.
    pub fn append_set(&mut self, other: Self, at: &Position) -> Result<(), Problem> {
        for (variable, declared) in other.variables {
            self.add_variable(variable, declared, at)?;
        }
        self.fields.extend(other.fields);
        Ok(())
    }

    fn add_variable(
        &mut self,
        variable: Variable,
        declared: DeclaredAt,
        at: &Position,
    ) -> Result<(), Problem> {
        if let Some((_, first)) = self.variables.iter().find(|(known, _)| known.name == variable.name) {
            let name = text::quote_excerpt(&variable.name);
            let what = format!("variable {name} is also in {}, which kustomize refuses", first.file);
            return Err(at.report_problem(what, "rename or remove one of the two"));
        }
        self.variables.push((variable, declared));
        Ok(())
    }
}

/// Applies replacements, each with its position.
pub fn apply_replacements(
    entries: &[(ReplacementEntry, Position)],
    spec: &KustomizationSpec,
    rendered: &mut Rendered,
) -> Result<(), Problem> {
    rendered.unread_fields.extend(spec.unread_fields());
    for (entry, at) in entries {
        match apply_replacement(entry, rendered) {
            Ok(()) => {}
            Err(PathError::Refused(what)) => {
                let what = format!("a replacement that kustomize refuses: {what}");
                return Err(at.report_problem(what, "correct source, targets and fieldPaths"));
            }
            Err(PathError::Unknown(why)) => {
                rendered.add_unresolved(at, REPLACEMENTS, UnresolvedReason::Transformer, Some(why));
            }
        }
    }
    Ok(())
}

fn apply_replacement(entry: &ReplacementEntry, rendered: &mut Rendered) -> Result<(), PathError> {
    let value = entry.read_value(&rendered.objects);
    let unread = entry.source_field().filter(|field| rendered.unread_fields.contains(&**field));
    let (value, unknown) = match (value, unread) {
        (Ok(Some(_)), Some(field)) => {
            (None, Some(format!("images or replicas of a kustomization set {field} of its source")))
        }
        (Ok(Some(value)), None) => (Some(value), None),
        (Ok(None), _) if rendered.may_have_more() => {
            (None, Some("its source may be an object that is not read offline".to_owned()))
        }
        (Ok(None), _) => return Err(PathError::Refused("no object is the source".to_owned())),
        (Err(PathError::Unknown(why)), _) => (None, Some(why)),
        (Err(refused), _) => return Err(refused),
    };
    for target in entry.prepare_targets(value.as_ref())? {
        for object in rendered.objects.iter_mut().filter(|object| target.selects(object)) {
            let before = object.value.clone();
            target.write_fields(&mut object.value)?;
            if object.value != before {
                object.patched_by.push(entry.file.clone());
            }
        }
        if rendered.may_have_more() {
            rendered.add_pending(PendingChange::Replacement(target), &entry.file);
        }
    }
    unknown.map_or(Ok(()), |why| Err(PathError::Unknown(why)))
}

/// Adds the variables of a kustomization, and binds them to the objects that are known so far.
pub fn add_variables(
    spec: &KustomizationSpec,
    file: &str,
    bytes: &[u8],
    rendered: &mut Rendered,
) -> Result<(), Problem> {
    for variable in &spec.vars {
        let line = text::find_line(bytes, &format!("name: {}", variable.name)).unwrap_or(1);
        let at = Position { file, line };
        let found = variable.find_objects(&rendered.objects);
        if let [first, second, ..] = found[..] {
            let ids = [first, second].map(|index| rendered.objects[index].id().to_string());
            let what =
                format!("variable {} names {}, which kustomize refuses", variable.name, ids.join(" and "));
            return Err(at.report_problem(what, "set objref.namespace"));
        }
        for index in found {
            rendered.objects[index].variables.push(variable.name.clone());
        }
        let declared = DeclaredAt { file: file.to_owned(), line };
        rendered.variables.add_variable(variable.clone(), declared, &at)?;
    }
    Ok(())
}

/// The `varReference` of a file of `configurations`. Any other section changes transformations that are not configurable here.
pub fn add_configuration(
    bytes: &[u8],
    path: &str,
    at: &Position,
    rendered: &mut Rendered,
) -> Result<(), Problem> {
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct Configuration {
        var_reference: Vec<VariableField>,
    }
    for document in text::parse_documents(path, bytes)? {
        let others = document.as_object().into_iter().flatten().map(|(key, _)| key.as_str());
        let others: BTreeSet<&str> = others.filter(|key| *key != "varReference").collect();
        if !others.is_empty() {
            let why = format!("{path} has {}", Vec::from_iter(others).join(", "));
            rendered.add_unresolved(at, CONFIGURATIONS, UnresolvedReason::Transformer, Some(why));
        }
        let configuration: Configuration = serde_json::from_value(document).map_err(|error| {
            Problem::new(path, format!("varReference is not readable: {error}"), "correct the field")
                .at_line(1)
        })?;
        rendered.variables.fields.extend(configuration.var_reference);
    }
    Ok(())
}

/// Replaces variables, the last step of kustomize.
pub fn resolve_variables(rendered: &mut Rendered) -> Result<(), Problem> {
    let VariableSet { variables, mut fields } = std::mem::take(&mut rendered.variables);
    fields.extend(variable::default_fields());
    let mut values = BTreeMap::new();
    for (variable, declared) in &variables {
        let at = Position { file: &declared.file, line: declared.line };
        match read_variable(variable, rendered) {
            Ok(value) => {
                values.insert(variable.name.clone(), value);
            }
            Err(PathError::Refused(what)) => {
                return Err(at.report_problem(what, "correct objref and fieldref of the variable"));
            }
            Err(PathError::Unknown(why)) => {
                rendered.add_unresolved(&at, VARIABLES, UnresolvedReason::Transformer, Some(why));
            }
        }
    }
    let Some((_, declared)) = variables.first().filter(|_| !values.is_empty()) else { return Ok(()) };
    let at = Position { file: &declared.file, line: declared.line };
    for object in &mut rendered.objects {
        for field in &fields {
            match field.replace_in(&mut object.value, &values) {
                Ok(false) => {}
                Ok(true) => {
                    object::write_annotations_as_text(&mut object.value);
                    object.patched_by.push(declared.file.clone());
                }
                Err(PathError::Refused(what) | PathError::Unknown(what)) => {
                    return Err(at.report_problem(what, "correct the file of configurations"));
                }
            }
        }
    }
    Ok(())
}

fn read_variable(variable: &Variable, rendered: &Rendered) -> Result<Value, PathError> {
    let is_bound = |known: &String| *known == variable.name;
    let Some(object) = rendered.objects.iter().find(|object| object.variables.iter().any(is_bound)) else {
        let name = text::quote_excerpt(&variable.name);
        return Err(if rendered.may_have_more() {
            PathError::Unknown(format!("variable {name} may name an object that is not read offline"))
        } else {
            PathError::Refused(format!("variable {name} names no object, which kustomize refuses"))
        });
    };
    if object.has_hash && variable.is_of_name() {
        let name = text::quote_excerpt(&variable.name);
        return Err(PathError::Unknown(format!("variable {name} contains the hash of a generated object")));
    }
    variable.read_value(object)
}
