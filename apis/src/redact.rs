//! Sentences of a hub's backends and of the clouds behind them, fit to be read by whoever may read the claim: short, on one line, and
//! without what may be a secret. They may quote logs and answers of clouds.

/// Replacement of redacted text.
const REDACTED: &str = "[…]";
/// Words after which a secret is likely to come.
const TELLING: [&str; 6] = ["password", "passwd", "secret", "token", "credential", "accesskey"];
/// Minimum length of a word that counts as a key: characters of a key's alphabet, digits among them.
const KEY: usize = 20;

/// Effect of the preceding words on the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum After {
    /// Nothing.
    Anything,
    /// It is a secret if an equals sign or a colon comes first.
    Telling,
    /// It is a secret.
    Sign,
}

/// Redacts a sentence and cuts it to `most` characters.
pub fn redact_text(text: &str, most: usize) -> String {
    // Everything after a PEM header is dropped: no context is worth the risk.
    let text = text.split("-----BEGIN").next().unwrap_or_default();
    let mut shown_words: Vec<String> = Vec::new();
    let mut after = After::Anything;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()) {
        let (shown, then) = redact_word(word, after);
        after = then;
        shown_words.push(shown);
    }
    let joined = shown_words.join(" ");
    if joined.chars().count() <= most {
        return joined;
    }
    let cut: String = joined.chars().take(most.saturating_sub(1)).collect();
    format!("{cut}…")
}

/// Redacts a word, and returns its effect on the next one.
fn redact_word(word: &str, after: After) -> (String, After) {
    if matches!(word, "=" | ":") {
        return (word.into(), if after == After::Anything { After::Anything } else { After::Sign });
    }
    if after == After::Sign {
        return (REDACTED.into(), After::Anything);
    }
    let lower: String = word.to_ascii_lowercase().chars().filter(|c| !matches!(c, '-' | '_')).collect();
    let telling = TELLING.iter().any(|telling| lower.contains(telling));
    match word.split_once(['=', ':']) {
        Some((_, "")) if telling => return (word.into(), After::Sign),
        Some((name, _)) if telling => return (format!("{name}={REDACTED}"), After::Anything),
        Some(_) | None => {}
    }
    let login = word.split_once("://").is_some_and(|(_, rest)| rest.contains('@'));
    if login || looks_like_a_key(word) {
        return (REDACTED.into(), After::Anything);
    }
    let next = match lower.as_str() {
        "bearer" | "basic" => After::Sign,
        _ if telling => After::Telling,
        _ => After::Anything,
    };
    (word.into(), next)
}

fn looks_like_a_key(word: &str) -> bool {
    let of_a_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '=' | '_');
    word.split(|c| !of_a_key(c)).any(|part| {
        let digits = part.bytes().any(|b| b.is_ascii_digit());
        let letters = part.bytes().any(|b| b.is_ascii_alphabetic());
        part.len() >= KEY && digits && letters
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_stay_what_they_are() {
        for text in [
            "The maximum number of VPCs has been reached. (region us-east-1, limit 5)",
            "error creating machine i-0a1b2c3d4e5f6a7b8: quota vcpu-m6i exceeded",
            "platform secret not found",
            "token bucket is empty",
        ] {
            assert_eq!(redact_text(text, 512), text);
        }
        assert_eq!(redact_text("two\nlines\tand \u{7}more", 512), "two lines and more");
    }

    #[test]
    fn possible_secrets_are_left_out() {
        for (text, shown) in [
            ("login with password: hunter2 failed", "login with password: […] failed"),
            ("password = hunter2 failed", "password = […] failed"),
            ("aws_secret_access_key=hunter2, then", "aws_secret_access_key=[…] then"),
            ("GET https://admin:hunter2@registry.example/v2", "GET […]"),
            ("Authorization: Bearer hunter2", "Authorization: Bearer […]"),
            ("key AKIAIOSFODNN7EXAMPLE was refused", "key […] was refused"),
            ("x -----BEGIN RSA PRIVATE KEY----- hunter2", "x"),
        ] {
            let said = redact_text(text, 512);
            assert_eq!(said, shown);
            assert!(!said.contains("hunter2") && !said.contains("AKIA"), "{said}");
        }
    }

    #[test]
    fn redacted_text_is_bounded() {
        assert_eq!(redact_text(&"ä ".repeat(10_000), 64).chars().count(), 64);
    }
}
