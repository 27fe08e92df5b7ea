//! Why the answer is what it is: one line per decision, read from what was decided and not decided again.

use crate::{Judged, proto::RunFunctionResponse};

/// The reasons behind a response.
pub fn explain(_judged: &Judged, _response: &RunFunctionResponse) -> Vec<String> {
    vec![]
}
