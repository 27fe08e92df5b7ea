//! Why: one line per decision, for `render --explain`.
