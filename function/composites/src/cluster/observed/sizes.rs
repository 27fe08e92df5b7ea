//! Sizes of fetched objects, as far as they are read.

use crate::sdk::wire::Keep;

/// No name, moment, duration or reason is longer: a name has at most 253 characters, which are at most four bytes each.
pub(super) const TEXT: Keep = Keep::Whole((1 << 10) + 16);
