//! Request bytes → response: no panic, the same twice, and nothing of ours dropped.

#[path = "kept.rs"]
pub mod kept;

use jiff::Timestamp;
use prost::Message as _;
use testplatform_composites::{
    Evaluation, Options, run,
    sdk::proto::{RunFunctionRequest, RunFunctionResponse, Severity},
};

/// When every request is looked at: some deadlines of the corpus have passed by then.
const NOW: &str = "2026-11-21T10:30:00Z";
/// What a violated invariant begins with, which no request may bring about.
const VIOLATED: &str = "internal error";
/// But for this one: a kubeconfig or password that reads like something that is in every answer is found in there. The answer is a
/// FATAL, which changes nothing.
const CHANCE: &str = "a secret would leave";

/// Whatever the bytes.
pub fn check(bytes: &[u8]) {
    let _ = applied(bytes);
}

/// The answer to bytes, if they are a request and it is one that core applies.
pub fn applied(bytes: &[u8]) -> Option<RunFunctionResponse> {
    answered(&RunFunctionRequest::decode(bytes).ok()?)
}

/// The answer to a request, if it is one that core applies.
pub fn answered(request: &RunFunctionRequest) -> Option<RunFunctionResponse> {
    let response = run(request, &Options::default(), now());
    let bytes = response.encode_to_vec();
    assert_eq!(
        bytes,
        run(request, &Options::default(), now()).encode_to_vec(),
        "another answer the second time"
    );
    assert_eq!(RunFunctionResponse::decode(&bytes[..]).as_ref(), Ok(&response), "not what was sent");
    judged(request, response)
}

/// An answer that is sound, if it is one that core applies.
pub fn judged(request: &RunFunctionRequest, response: RunFunctionResponse) -> Option<RunFunctionResponse> {
    let fatal = response.results.iter().filter(|result| result.severity == i32::from(Severity::Fatal));
    let mut fatal = fatal.map(|result| result.message.as_str()).peekable();
    let thought = Evaluation::of(request, now());
    if fatal.peek().is_some() {
        let violated = fatal.find(|words| words.starts_with(VIOLATED) && !words.contains(CHANCE));
        let excused = || thought.as_ref().is_ok_and(|thought| kept::garbled(request, thought));
        assert!(violated.is_none() || excused(), "{violated:?}");
        return None;
    }
    let thought = thought.expect("what is answered was understood");
    assert_eq!(thought.find_violation(&response, request), None);
    assert_eq!(kept::dropped(request, &response, &thought), None);
    Some(response)
}

/// The time of every request.
pub fn now() -> Timestamp {
    NOW.parse().expect("a time")
}
