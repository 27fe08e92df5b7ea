//! The hub-side reconciler will live here: `next(object, world, now) -> Step`, pure, and its border.
