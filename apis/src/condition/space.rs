//! The condition of spaces, and its reasons.

use std::fmt;

/// The condition of a space: whether it exists, with its credentials.
pub const SPACE_READY: &str = "SpaceReady";

words! {
    /// Reasons of `SpaceReady`.
    SpaceReady {
        /// True: the space is there, and so are its credentials.
        SpaceAvailable,
        /// The composite's name makes no name of a namespace.
        SpaceNameInvalid,
        /// The hub has not made the namespace yet.
        SpaceNamespacePending,
        /// The namespace is there, and what limits it is not all there yet.
        SpaceContentPending,
        /// Everything is there, and the credentials have not arrived yet.
        SpaceCredentialsPending,
        /// The hub refuses a part of the space.
        SpaceRefused,
        /// The hub cannot be reached, or does not let us in.
        SpaceHubUnreachable,
        /// Somebody paused an Object of the space.
        SpacePaused,
        /// The namespace is being deleted on the hub.
        SpaceTerminating,
    }
}
