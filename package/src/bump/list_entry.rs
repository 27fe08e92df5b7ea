//! One line of a list in a kustomization that can contain pins.

/// A list of a kustomization that can contain pins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// `resources`
    Resources,
    /// `components`. A directory of kind Component is valid only here.
    Components,
}

impl Section {
    pub(super) const ALL: [Self; 2] = [Self::Resources, Self::Components];

    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Resources => "resources",
            Self::Components => "components",
        }
    }
}

/// One line of such a list.
#[derive(Clone, Debug)]
pub struct ListEntry {
    /// The list.
    pub section: Section,
    /// The line, from 1.
    pub line: usize,
    /// Value of the entry.
    pub value: String,
    /// Whether the file has the value literally: neither quoted nor followed by a comment.
    pub verbatim: bool,
    /// Offset of the value in the file.
    pub value_start: usize,
    /// Text before the value: indentation, dash, space.
    pub(super) dash: String,
    /// Offset of the line.
    pub(super) start: usize,
    /// Offset after the line.
    pub(super) after: usize,
    /// The line's end.
    pub(super) end: String,
}
