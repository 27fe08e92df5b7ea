//! Common input of all commands: kubectl, a clock, and output streams.

use std::{
    ffi::OsString,
    io::{self, Write},
};

use jiff::Timestamp;
use testplatform_apis::output::ignore_broken_pipe;

use super::{
    claim::{Claim, Flavour, GROUP},
    command_context::CommandContext,
    events::ClaimEvent,
    exit::{Exit, Stop},
    facts::{Facts, Lookup, composed_objects, composite_name},
    kubectl::Kubectl,
    observed_secret::{KEYS, ObservedSecret},
    style::Paint,
    trouble::Trouble,
};

/// Where the program is: the clock, the environment, the terminal. Given by `main`, which alone reads them.
#[derive(Clone, Copy)]
pub struct Surroundings {
    /// Version and commit of the program.
    pub version: &'static str,
    /// The clock.
    pub now: fn() -> Timestamp,
    /// A variable of the environment.
    pub variable: fn(&str) -> Option<OsString>,
    /// stderr is a terminal, on which a line can be written over.
    pub terminal: bool,
    /// stdout is a terminal that shows colours, and the environment does not forbid them.
    pub colors: bool,
    /// Width of the terminal to which stdout goes; none if it goes elsewhere.
    pub columns: Option<usize>,
    /// Returns `true` if somebody pressed Ctrl-C. After the first call, Ctrl-C no longer ends the program by itself.
    pub interrupted: fn() -> bool,
}

/// A command at work.
pub struct Session<'a> {
    /// kubectl, with the flags of this command line.
    pub kubectl: Kubectl,
    /// Where it is.
    pub around: Surroundings,
    /// Requested output.
    pub out: &'a mut dyn Write,
    /// Progress output.
    pub err: &'a mut dyn Write,
    /// How this command line gets to the claim.
    pub way: CommandContext,
    /// Colours of the requested output.
    pub paint: Paint,
    /// The reader of the output has closed its pipe, so a watch ends.
    pub is_unread: bool,
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        Self::error(format!("cannot write the output: {error}"))
    }
}

impl Session<'_> {
    /// The clock.
    pub fn now(&self) -> Timestamp {
        (self.around.now)()
    }

    /// A line of the answer.
    pub fn print_line(&mut self, line: &str) -> Result<(), Stop> {
        self.print(&format!("{line}\n"))
    }

    /// A text of the answer. A reader that has seen enough (`get -A | head`) is no error.
    pub fn print(&mut self, text: &str) -> Result<(), Stop> {
        let written = self.out.write_all(text.as_bytes());
        self.is_unread |= written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        Ok(written.or_else(ignore_broken_pipe)?)
    }

    /// Hands on what was printed so far: a reader of a watch sees each change at once.
    pub fn flush(&mut self) -> Result<(), Stop> {
        Ok(self.out.flush().or_else(ignore_broken_pipe)?)
    }

    /// A line beside the answer. It is no matter whether anybody reads it.
    pub fn note(&mut self, line: &str) {
        let _ = writeln!(self.err, "{line}");
    }

    /// A command of this plugin about a claim, to be typed next.
    pub fn next(&self, command: &str, claim: &Claim) -> String {
        self.way.about(command, claim)
    }

    /// The flavours that the cluster serves, at least one.
    pub fn served_kinds(&self) -> Result<Vec<Flavour>, Stop> {
        let found = self.find_served_kinds()?;
        if found.is_empty() {
            return Err(Stop::new(
                Exit::Error,
                "this cluster serves neither testplatformclusters nor testclusters of ci.openshift.org",
                "Is it the right one? `kubectl config current-context` shows its name; --context selects another.",
            ));
        }
        Ok(found)
    }

    /// The flavours that the cluster serves; empty if it serves none.
    pub fn find_served_kinds(&self) -> Result<Vec<Flavour>, Stop> {
        let group = format!("--api-group={GROUP}");
        let (printed, trouble) = self.kubectl.run_with_output(&["api-resources", &group, "-oname"], None)?;
        let served = |f: &Flavour| printed.lines().any(|line| line.trim() == f.resource());
        let found: Vec<Flavour> = Flavour::ALL.into_iter().filter(served).collect();
        match trouble {
            // A group of others that is down, as that of metrics, fails the whole question and is no matter here.
            _ if !found.is_empty() => Ok(found),
            Some(trouble) => Err(trouble.into()),
            None => Ok(found),
        }
    }

    /// Error for an unknown kind before the slash of a name.
    pub fn no_kind(word: &str) -> Stop {
        let message = format!("{word} is not a kind of claim");
        Stop::new(Exit::Usage, message, "Use testplatformcluster/NAME or testcluster/NAME.")
    }

    /// Stays in the cluster that is the current one now, whatever somebody calls the current context while this command runs.
    pub fn stay(&mut self) {
        if self.way.context.is_some() {
            return;
        }
        // From within a cluster there is none, and nothing that could change.
        let Ok(context) = self.kubectl.run(&["config", "current-context"], None) else { return };
        if !context.trim().is_empty() {
            self.kubectl.flags.push(format!("--context={}", context.trim()));
        }
    }

    /// Stays in the namespace in which a claim is, whatever namespace the context has.
    pub fn stay_with(&mut self, claim: &Claim) {
        if self.way.namespace.is_none() && !claim.namespace().is_empty() {
            self.kubectl.flags.push(format!("--namespace={}", claim.namespace()));
        }
    }

    /// The claim of a name; none if there is none.
    pub fn get_claim(&self, flavour: Flavour, name: &str) -> Result<Option<Claim>, Trouble> {
        self.get_claim_with(flavour, name, &[])
    }

    /// The same, with who set what in it.
    pub fn get_full_claim(&self, flavour: Flavour, name: &str) -> Result<Option<Claim>, Trouble> {
        self.get_claim_with(flavour, name, &["--show-managed-fields"])
    }

    fn get_claim_with(&self, flavour: Flavour, name: &str, more: &[&str]) -> Result<Option<Claim>, Trouble> {
        let get = ["get", flavour.resource(), name, "-ojson"];
        // Without --ignore-not-found, which takes any 404 for that, those of a proxy and of a kind that is not served among them.
        match self.kubectl.json(&[get.as_slice(), more].concat()) {
            Ok(found) => Ok(found.and_then(Claim::read)),
            Err(Trouble::NotFound(_)) => Ok(None),
            Err(trouble) => Err(trouble),
        }
    }

    /// The current state of a claim. A claim that was recreated under its name is another one.
    pub fn reload_claim(&self, claim: &Claim) -> Result<Claim, Trouble> {
        let what = match self.get_claim(claim.flavour, claim.name())? {
            Some(now) if now.uid() == claim.uid() => return Ok(now),
            Some(_) => ", and another has its name",
            None => "",
        };
        Err(Trouble::NotFound(format!("{} was deleted meanwhile{what}", claim.label())))
    }

    /// A claim, by a name that may say which kind is meant.
    pub fn find_claim(&mut self, name: &str) -> Result<Claim, Stop> {
        self.way.kind = name.contains('/');
        let (wanted, name) = match name.split_once('/') {
            None => (None, name),
            Some((kind, name)) => (Some(Flavour::parse(kind).ok_or_else(|| Self::no_kind(kind))?), name),
        };
        let served = self.served_kinds()?;
        if let Some(wanted) = wanted.filter(|wanted| !served.contains(wanted)) {
            let words = format!("this cluster does not serve {}", wanted.resource());
            return Err(Trouble::NoKind(words).into());
        }
        let kinds: Vec<Flavour> = served.into_iter().filter(|f| wanted.is_none_or(|w| w == *f)).collect();
        let answers = Self::query_kinds(&kinds, |flavour| self.get_claim(flavour, name))?;
        // The message does not mention a kind that the caller may not read.
        let what = match answers[..] {
            [(flavour, _)] if kinds.len() > 1 => flavour.word(),
            _ => "claim",
        };
        let mut found: Vec<Claim> = answers.into_iter().filter_map(|(_, claim)| claim).collect();
        match (found.pop(), found.is_empty()) {
            (Some(claim), true) => {
                self.stay_with(&claim);
                Ok(claim)
            }
            (Some(_), false) => {
                let advice = format!("Name one: testplatformcluster/{name} or testcluster/{name}.");
                Err(Stop::new(Exit::Usage, format!("there are claims of both kinds named {name}"), advice))
            }
            (None, _) => {
                let place = self.way.namespace.as_ref().map_or_else(
                    || "in the namespace of your context".to_owned(),
                    |namespace| format!("in namespace {namespace}"),
                );
                let advice = "`kubectl testplatform get -A` lists those of all namespaces.";
                Err(Stop::new(Exit::NotFound, format!("there is no {what} {name} {place}"), advice))
            }
        }
    }

    /// Runs a query for each kind of claim. A kind that the caller may not read, or that the cluster no longer serves, is skipped.
    ///
    /// # Errors
    /// If none of them can be read, or if a query fails for another cause.
    pub fn query_kinds<T>(
        kinds: &[Flavour],
        query: impl Fn(Flavour) -> Result<T, Trouble>,
    ) -> Result<Vec<(Flavour, T)>, Trouble> {
        let (mut answers, mut refusals) = (vec![], vec![]);
        for flavour in kinds.iter().copied() {
            match query(flavour) {
                Ok(answer) => answers.push((flavour, answer)),
                Err(trouble) if trouble.is_of_kind() => refusals.push(trouble),
                Err(trouble) => return Err(trouble),
            }
        }
        match Trouble::from_kinds(refusals).filter(|_| answers.is_empty()) {
            Some(trouble) => Err(trouble),
            None => Ok(answers),
        }
    }

    /// The Secret that a claim names.
    pub fn read_secret(&self, claim: &Claim) -> Result<Lookup<ObservedSecret>, Trouble> {
        if claim.secret().is_empty() {
            return Ok(Lookup::NotAsked);
        }
        match self.kubectl.run(&["get", "secret", &claim.secret(), "-o", KEYS], None) {
            Ok(printed) => Ok(Lookup::Found(ObservedSecret::parse_output(&printed))),
            Err(Trouble::NotFound(_)) => Ok(Lookup::Missing),
            Err(Trouble::Forbidden(_)) => Ok(Lookup::Forbidden),
            Err(trouble) => Err(trouble),
        }
    }

    /// All dependents of a claim, as far as they may be read. A forbidden one is reported as such and stops nothing.
    pub fn collect_facts(&mut self, claim: Claim) -> Result<Facts, Stop> {
        let mut facts = Facts::new(claim);
        let name = composite_name(&facts.claim).to_owned();
        if facts.claim.flavour == Flavour::Claim && !name.is_empty() {
            let found =
                self.kubectl.json(&["get", "xtestplatformclusters.ci.openshift.org", &name, "-ojson"]);
            facts.composite = self.accept_lookup(found.map(Option::unwrap_or_default))?;
        }
        if let Lookup::Found(composite) = &facts.composite {
            let composed = composed_objects(composite);
            facts.objects = match composed.first() {
                None => Lookup::Found(vec![]),
                Some((resource, _)) => {
                    let mut arguments = vec!["get", resource];
                    arguments.extend(
                        composed.iter().filter(|(r, _)| r == resource).map(|(_, name)| name.as_str()),
                    );
                    arguments.extend(["-ojson", "--ignore-not-found"]);
                    let found = self.kubectl.items(&arguments);
                    self.accept_lookup(found)?
                }
            };
        }
        let found = self.read_secret(&facts.claim);
        facts.secret = match found {
            Ok(look) => look,
            Err(trouble) => self.accept_lookup(Err(trouble))?,
        };
        facts.events = self.claim_events(&facts.claim);
        Ok(facts)
    }

    fn accept_lookup<T>(&mut self, found: Result<T, Trouble>) -> Result<Lookup<T>, Stop> {
        Ok(match found {
            Ok(it) => Lookup::Found(it),
            Err(Trouble::NotFound(_)) => Lookup::Missing,
            Err(Trouble::Forbidden(_)) => Lookup::Forbidden,
            Err(Trouble::NotRun(words)) => return Err(Trouble::NotRun(words).into()),
            Err(trouble) => {
                self.note(&format!("note: {}", trouble.words()));
                Lookup::NotAsked
            }
        })
    }

    /// The events of a claim, those that are no warnings too, as they tell what is over. Not everybody may read them.
    fn claim_events(&self, claim: &Claim) -> Vec<ClaimEvent> {
        let of_claim = format!("--field-selector=involvedObject.uid={}", claim.uid());
        let events = self.kubectl.items(&["get", "events", &of_claim, "-ojson"]);
        ClaimEvent::of_claim(claim, &events.unwrap_or_default())
    }
}
