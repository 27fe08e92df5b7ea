//! Checks of single files: names in kustomizations, and hygiene.

use serde_json::Value;

use super::{CheckContext, Finding, Tree, text};
use crate::bump::kustomize::absent_problem;
use crate::bump::pin::is_remote;
use crate::bump::tree::{KUSTOMIZATIONS, resolve_path};

/// B09: components and patch files in kustomizations exist, also in kustomizations that no overlay references.
pub fn check_names(tree: &Tree, context: &CheckContext, findings: &mut Vec<Finding>) {
    for (path, document) in tree.documents_under(&format!("components/{}", context.component)) {
        let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
        if !KUSTOMIZATIONS.contains(&name) {
            continue;
        }
        let components = text::items_at(&document, &["components"]).filter_map(Value::as_str);
        let files =
            text::items_at(&document, &["patches"]).filter_map(|patch| text::str_at(patch, &["path"]));
        for named in components.chain(files).filter(|named| !is_remote(named)) {
            let exists = resolve_path(directory, named)
                .is_some_and(|path| tree.get(&path).is_some() || tree.find_kustomization(&path).is_some());
            if !exists {
                let line = text::find_line(tree.get(path).unwrap_or_default(), named);
                findings.push(Finding::error("B09", absent_problem(named)).in_file(path).at_line(line));
            }
        }
    }
}

/// B15: violations of yamllint's relaxed rules, and invalid YAML.
pub fn check_hygiene(tree: &Tree, context: &CheckContext, findings: &mut Vec<Finding>) {
    for (path, bytes) in tree.files_under(&format!("components/{}", context.component)) {
        let error = |message: &str, line| Finding::error("B15", message).in_file(path).at_line(line);
        if let Err(problem) = text::parse_documents(path, bytes) {
            findings.push(error(&problem.what, problem.line));
            continue;
        }
        let Ok(text) = text::utf8(path, bytes) else { continue };
        let mut last = None;
        for line in text::split_lines(text) {
            if line.end == "\r\n" && last.is_none() {
                findings.push(error("lines end in CR LF", Some(line.number)));
            }
            if line.text.ends_with([' ', '\t']) {
                findings.push(error("spaces at the end of the line", Some(line.number)));
            }
            if line.text.contains('\t') {
                findings.push(error("a tab", Some(line.number)));
            }
            last = Some(line);
        }
        if let Some(line) = last.filter(|line| line.end.is_empty()) {
            findings.push(error("no new line at the end of the file", Some(line.number)));
        }
    }
}
