//! Names that have to fit: the beginning of a longer one, and what keeps it apart from others with the same beginning.

use super::ShortName;
use crate::rendezvous::draw_number;

/// `plain`, if it is at most `most` bytes long and `whole` itself; else its beginning and a hash of `whole`. None: not even the hash fits.
pub fn shorten_name(plain: &str, whole: &str, most: usize) -> Option<String> {
    if plain == whole && plain.len() <= most {
        return Some(plain.to_owned());
    }
    let tail = format!("-{:08x}", draw_number(&[whole], 0) >> 32);
    let room = most.checked_sub(tail.len()).filter(|room| *room > 0)?;
    Some(format!("{}{tail}", plain[..plain.floor_char_boundary(room)].trim_end_matches('-')))
}

/// The name that a composite in a namespace has on a hub while nothing is there yet.
pub fn name_within(namespace: &str, name: &str, uid: &str) -> String {
    // There is always room for a hash in it.
    shorten_name(&name.replace('.', "-"), &format!("{namespace}/{name}/{uid}"), ShortName::MAX)
        .unwrap_or_default()
}
