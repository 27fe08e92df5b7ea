//! Deterministic choice among several (rendezvous hashing): each draws a number from the claim's uid and its own name, and the highest
//! wins. An added or removed candidate changes only the choices that it wins or loses.

/// The one with the highest draw; one without a draw is left out. Of equals the first.
pub fn choose_highest<'a, T>(all: &[&'a T], draw: impl Fn(&T) -> Option<u64>) -> Option<&'a T> {
    let mut best: Option<(u64, &T)> = None;
    for one in all {
        if let Some(drawn) = draw(one)
            && best.is_none_or(|(highest, _)| drawn > highest)
        {
            best = Some((drawn, one));
        }
    }
    best.map(|(_, one)| one)
}

/// FNV-1a over the parts, each closed by a byte that no text holds, then the finalizer of `SplitMix64`, which spreads what
/// differs only in the last bytes. In whole numbers, so that every machine draws the same.
pub fn draw_number(parts: &[&str], ticket: u32) -> u64 {
    let bytes = parts.iter().flat_map(|p| p.bytes().chain([0xff])).chain(ticket.to_le_bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A choice must not change with a new version while a claim has no writer yet.
    #[test]
    fn the_draw_is_fixed() {
        assert_eq!(draw_number(&["uid", "hub", "ns", "pool"], 0), 13_167_186_767_945_876_559);
    }

    #[test]
    fn the_first_of_equals_wins_and_one_without_a_draw_never() {
        let (a, b) = ("a", "b");
        assert_eq!(choose_highest(&[&a, &b], |_| Some(1)), Some(&"a"));
        assert_eq!(choose_highest(&[&a, &b], |one| (*one == "b").then_some(0)), Some(&"b"));
        assert_eq!(choose_highest(&[&a], |_| None), None);
    }
}
