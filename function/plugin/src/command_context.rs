//! How this command line got to its claim: what a command that is suggested has to repeat, or it would be about another one.

use std::borrow::Cow;

use super::claim::Claim;

/// The flags that say where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandContext {
    /// The namespace, if one was given.
    pub namespace: Option<String>,
    /// The context, if one was given.
    pub context: Option<String>,
    /// The kubeconfig, if one was given.
    pub kubeconfig: Option<String>,
    /// The command line named the kind of the claim, because there may be one of each with its name.
    pub kind: bool,
}

impl CommandContext {
    /// The same, with the namespace of a claim.
    #[must_use]
    pub fn in_namespace_of(&self, claim: &Claim) -> Self {
        Self { namespace: Some(claim.namespace().to_owned()), ..self.clone() }
    }

    /// A command of this plugin about a claim, to be typed next.
    pub fn about(&self, command: &str, claim: &Claim) -> String {
        if self.kind { self.next(command, &claim.label()) } else { self.next(command, claim.name()) }
    }

    /// A command of this plugin, to be typed next.
    pub fn next(&self, command: &str, name: &str) -> String {
        self.kubectl(&format!("testplatform {command} {name}"))
    }

    /// One of kubectl's own.
    pub fn kubectl(&self, command: &str) -> String {
        let flags =
            [("-n", &self.namespace), ("--context", &self.context), ("--kubeconfig", &self.kubeconfig)];
        let given = flags.into_iter().filter_map(|(flag, value)| Some((flag, value.as_deref()?)));
        given.fold(format!("kubectl {command}"), |line, (flag, value)| {
            format!("{line} {flag} {}", word(value))
        })
    }
}

/// As a shell reads it as one word.
pub(super) fn word(text: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@=+,%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into();
    }
    format!("'{}'", text.replace('\'', r"'\''")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggested_command_keeps_the_context_of_this_one() {
        assert_eq!(CommandContext::default().next("why", "demo"), "kubectl testplatform why demo");
        let way = CommandContext {
            namespace: Some("team-a".into()),
            context: Some("staging".into()),
            kubeconfig: Some("/home/o'neil/my config".into()),
            kind: false,
        };
        let suggestion = way.next("down --wait", "demo");
        let flags = r"-n team-a --context staging --kubeconfig '/home/o'\''neil/my config'";
        assert_eq!(suggestion, format!("kubectl testplatform down --wait demo {flags}"));
    }
}
