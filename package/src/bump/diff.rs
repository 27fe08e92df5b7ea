//! Edits as unified diffs.

use similar::TextDiff;

use super::Edit;

/// A unified diff of one file, for `git apply` and `patch -p1`.
pub fn unified_diff(path: &str, edit: &Edit) -> String {
    let before = String::from_utf8_lossy(edit.before.as_deref().unwrap_or_default());
    let after = String::from_utf8_lossy(&edit.after);
    let from = if edit.before.is_some() { format!("a/{path}") } else { "/dev/null".to_owned() };
    TextDiff::from_lines(before.as_ref(), after.as_ref())
        .unified_diff()
        .context_radius(3)
        .header(&from, &format!("b/{path}"))
        .to_string()
}
