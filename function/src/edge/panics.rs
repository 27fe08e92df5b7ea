//! Panics are reported by place, never by message: the message may quote a request.

use std::{cell::RefCell, panic};

thread_local! {
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Replaces the default hook, which prints the message, by one that logs only where the panic was.
pub fn install_panic_hook() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", short(at.file()), at.line()));
        tracing::error!(place = place.as_deref().unwrap_or("unknown"), "panic");
        PLACE.with_borrow_mut(|last| *last = place);
    }));
}

/// Where this thread panicked last, once.
pub(super) fn take_place() -> Option<String> {
    PLACE.with_borrow_mut(Option::take)
}

/// The file as the repository knows it; of other code only its name, which does not depend on where it was built.
fn short(file: &str) -> &str {
    if file.starts_with('/') { file.rsplit('/').next().unwrap_or(file) } else { file }
}

#[cfg(test)]
mod tests {
    #[test]
    fn places_do_not_depend_on_the_machine() {
        assert_eq!(super::short("function/src/edge.rs"), "function/src/edge.rs");
        assert_eq!(super::short("/home/me/registry/some-crate-1.0/src/lib.rs"), "lib.rs");
    }
}
