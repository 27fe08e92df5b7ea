//! Text that other people wrote, made fit to be shown.

/// At most `max` bytes, cut between characters, control characters replaced by spaces.
pub fn bounded(text: &str, max: usize) -> String {
    // As nearly all are.
    if text.len() <= max && text.bytes().all(|b| matches!(b, b' '..=b'~')) {
        return text.to_owned();
    }
    let cut = if text.len() <= max {
        text.len()
    } else {
        text.floor_char_boundary(max.saturating_sub('…'.len_utf8()))
    };
    let mut out: String = text[..cut].chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if cut < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_cut_between_characters_and_on_one_line() {
        assert_eq!(bounded("a\nb\u{0}c", 10), "a b c");
        assert_eq!(bounded("ääää", 6), "ä…");
        assert_eq!(bounded("", 0), "");
        assert!(bounded(&"x".repeat(65536), 512).len() <= 512);
    }
}
