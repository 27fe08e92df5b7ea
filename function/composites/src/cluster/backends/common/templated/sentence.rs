//! Words of a message about objects whose names a tenant chose.

/// Characters that surround a word and are not part of it.
const AROUND: [char; 13] = ['[', ']', '(', ')', '{', '}', '<', '>', ',', ';', '"', '\'', '`'];

/// The words of a sentence, in small letters. A name is none of them, nor is an address: a claim may be called `pr-404` or `quota-test`, and
/// all that is made for it is called after it.
pub(in crate::cluster::backends) struct Sentence(String);

impl Sentence {
    /// The words of it.
    pub fn parse(sentence: &str) -> Self {
        let mut message = String::with_capacity(sentence.len());
        for word in sentence.split(|c: char| c.is_whitespace() || AROUND.contains(&c)) {
            let word = word.trim_matches(['.', ':', '!', '?']);
            if word.is_empty() {
                continue;
            }
            if !message.is_empty() {
                message.push(' ');
            }
            // Objects of a claim are named `<claim>-<suffix>`. A placeholder takes the name's place, because otherwise the words before and
            // after it would become one phrase.
            message.push_str(if word.contains(['-', '/']) { "-" } else { word });
        }
        message.make_ascii_lowercase();
        Self(message)
    }

    /// Whether one of these is said, in small letters; a phrase has single spaces.
    pub fn contains_any(&self, any: &[&str]) -> bool {
        any.iter().any(|phrase| self.0.contains(phrase))
    }

    /// Whether this is one of its words, in small letters.
    pub fn has_word(&self, word: &str) -> bool {
        self.0.split(' ').any(|each| each == word)
    }

    /// Whether a number is said that is one of these. It is a word of its own.
    pub fn has_number(&self, which: impl Fn(u16) -> bool) -> bool {
        self.0.split(' ').any(|word| word.parse::<u16>().is_ok_and(&which))
    }

    /// Whether it is said of the way to a server, which heals.
    pub fn is_network_error(&self) -> bool {
        let symptoms = [
            "timeout",
            "timed out",
            "refused",
            "tls",
            "x509",
            "no such host",
            "connection reset",
            "eof",
            "deadline exceeded",
            "connection error",
            "no route to host",
            "network is unreachable",
            "unable to handle the request",
            "internal error occurred",
            "too many requests",
        ];
        self.contains_any(&symptoms)
            || self.has_number(|number| matches!(number, 429 | 500 | 502 | 503 | 504))
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("Get https://10.0.0.1:5000/v3: dial tcp: i/o timeout", true)]
    #[case(
        "Get \"https://demo\": net/http: request canceled (Client.Timeout exceeded while awaiting headers)",
        true
    )]
    #[case("remote error: tls: handshake failure", true)]
    #[case("Expected HTTP response code [200 204], but got 503 instead", true)]
    #[case("status code: 503, request id: 1", true)]
    #[case("HTTP/1.1 502", true)]
    #[case(
        "unable to validate OpenShift Virtualization version due to connection error: the server is currently unable to handle the request",
        true
    )]
    #[case("dial tcp 10.0.0.1:6443: connect: no route to host", true)]
    #[case("the answer was {\"code\":504,\"message\":\"x\"}", true)]
    #[case("it answered 500.", true)]
    #[case("Machine pr-503-x7k2p is not ready", false)]
    #[case("Machine \"tls-timeout-x7k2p\" (500-x) is refused-x", false)]
    #[case("503_a 503.b a/503 503-b x503", false)]
    fn names_say_nothing(#[case] sentence: &str, #[case] of_the_network: bool) {
        assert_eq!(Sentence::parse(sentence).is_network_error(), of_the_network);
    }

    #[test]
    fn what_is_before_and_after_a_name_is_no_phrase() {
        assert!(
            Sentence::parse("Quota  exceeded (for 'cores').").contains_any(&["quota exceeded", "for cores"])
        );
        assert!(!Sentence::parse("the limit pr-1 exceeded").contains_any(&["limit exceeded"]));
    }
}
