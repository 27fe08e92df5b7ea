//! Addresses that others report: which of them may be handed to a program or put into a page.

/// The longest address that is accepted, in bytes.
const MAX_LENGTH: usize = 2048;

/// Whether a text is a plain address of the web. Everything else, such as an address of a script, stays text.
pub fn is_web_address(url: &str) -> bool {
    let is_web = ["https://", "http://"].iter().any(|scheme| url.starts_with(scheme));
    is_web && url.len() <= MAX_LENGTH && url.chars().all(|c| !c.is_control() && !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_addresses_of_the_web_are_accepted() {
        assert!(is_web_address("https://prow.example/view/1?x=y"));
        for wrong in ["", "javascript:alert(1)", "file:///etc/passwd", "https://a b", "https://a\nb"] {
            assert!(!is_web_address(wrong), "{wrong}");
        }
        assert!(!is_web_address(&format!("https://{}", "a".repeat(MAX_LENGTH))));
    }
}
