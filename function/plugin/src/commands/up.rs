//! `up`: applies a claim, and waits until its cluster can be used.

mod manifest;

use std::{fs, path::PathBuf, thread, time::Duration};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use testplatform_apis::{condition::Credentials, text::bounded};

use self::manifest::read_manifest;
use super::super::{
    advice::{self, with_entry},
    claim::{Claim, ClaimState, Flavour, text},
    estimate::{Estimate, extend_history},
    existing::{MANAGER, describe_existing, find_refusal, is_of_now},
    exit::{Exit, Stop},
    facts::Lookup,
    follow::{Follower, Observation},
    observed_secret::{describe_occupant, foreign_owner},
    screen::{Screen, acceptance_note},
    session::Session,
    span::human,
    trouble::Trouble,
};
use super::{extend::SOON, kubeconfig};

/// How long Crossplane may take to write the Secret of a cluster that is ready.
const WRITTEN: SignedDuration = SignedDuration::from_mins(1);
const GLANCE: Duration = Duration::from_millis(500);

/// Runs it.
pub fn run(
    session: &mut Session<'_>,
    file: &str,
    name: Option<&str>,
    timeout: Option<SignedDuration>,
    force: bool,
    merge: bool,
) -> Result<(), Stop> {
    let manifest = read_manifest(file, name)?;
    session.stay();
    print_placement(session, &manifest);
    let beside = session.kubectl.items(&["get", manifest.flavour.resource(), "-ojson"]).unwrap_or_default();
    let before = find_existing(session, &manifest, &beside)?;
    let claim = apply(session, &manifest, force)?;
    session.stay_with(&claim);
    if (session.around.interrupted)() {
        return Err(explain_interruption(session, &claim));
    }
    let history = history_path(session);
    let past = history.as_ref().and_then(|path| fs::read_to_string(path).ok()).unwrap_or_default();
    let begun = session.now();
    let mut screen = Screen::default();
    let estimate = |claim: &Claim| Estimate::of(claim, &beside, &past);
    let ended = wait_for_ready(session, &mut screen, &claim, before.as_ref(), estimate, timeout);
    screen.clear(session);
    let claim = ended?;
    if let (Some(path), Some(text)) = (history, extend_history(&past, &claim)) {
        // Nobody's cluster is the worse for it.
        let _ = path.parent().map(fs::create_dir_all);
        let _ = fs::write(path, text);
    }
    let claim = wait_for_secret(session, claim)?;
    report_ready(session, &claim, begun, merge)?;
    if merge { kubeconfig::merge_into_own(session, &claim) } else { Ok(()) }
}

/// Where the manifest says it is, every command from here on has to say too.
fn print_placement(session: &mut Session<'_>, manifest: &Claim) {
    // It may take over the cluster of a claim that has its name.
    session.way.kind = manifest.flavour == Flavour::Cluster;
    let namespace = manifest.namespace();
    if session.way.namespace.is_none() && !namespace.is_empty() {
        session.kubectl.flags.push(format!("--namespace={namespace}"));
        session.way.namespace = Some(namespace.to_owned());
    }
}

/// Finds the existing claim of that name and reports it. A change that would end its cluster is not applied.
fn find_existing(
    session: &mut Session<'_>,
    manifest: &Claim,
    beside: &[Value],
) -> Result<Option<Claim>, Stop> {
    let existing = session.get_full_claim(manifest.flavour, manifest.name())?;
    if !warn_of_secret(session, manifest, existing.as_ref()) {
        warn_of_sharing(session, manifest, beside);
    }
    let Some(there) = existing else { return Ok(None) };
    session.note(&describe_existing(&there));
    find_refusal(&there, manifest, session.now()).map_or(Ok(Some(there)), Err)
}

/// A cluster is paid for, too, whose kubeconfig cannot be written. A Secret that cannot be read stops nothing. Returns whether there was
/// something to say.
fn warn_of_secret(session: &mut Session<'_>, manifest: &Claim, existing: Option<&Claim>) -> bool {
    let Ok(look) = session.read_secret(manifest) else { return false };
    let whose = match existing.filter(|claim| claim.secret() == manifest.secret()) {
        Some(claim) => foreign_owner(claim, &look),
        None => describe_occupant(manifest, &look),
    };
    if let Some(whose) = &whose {
        let todo = with_entry(advice::foreign_secret(manifest.flavour), Credentials::SecretTaken.as_str());
        let secret = manifest.secret().into_owned();
        session.note(&format!("note: Secret {secret} {whose}, so the kubeconfig cannot be written: {todo}"));
    }
    whose.is_some()
}

/// Of claims that name one Secret the first that is ready gets it. Until then the Secret itself shows nothing.
fn warn_of_sharing(session: &mut Session<'_>, manifest: &Claim, beside: &[Value]) {
    let claims = beside.iter().filter_map(|object| Claim::read(object.clone()));
    let mut others = claims.filter(|claim| claim.name() != manifest.name());
    let Some(other) = others.find(|claim| claim.secret() == manifest.secret()) else { return };
    let (secret, other) = (manifest.secret(), other.label());
    let todo =
        with_entry("name another in spec.writeConnectionSecretToRef", Credentials::SecretTaken.as_str());
    session.note(&format!(
        "note: {other} names Secret {secret} too, and only one of both can have its kubeconfig there: {todo}"
    ));
}

fn apply(session: &Session<'_>, manifest: &Claim, force: bool) -> Result<Claim, Stop> {
    let manager = format!("--field-manager={MANAGER}");
    let mut arguments = vec!["apply", "--server-side", manager.as_str(), "-f-", "-ojson"];
    arguments.extend(force.then_some("--force-conflicts"));
    // From here on Ctrl-C does not end the program before it has said what goes on.
    let _ = (session.around.interrupted)();
    let applied = match session.kubectl.run(&arguments, Some(&manifest.object.to_string())) {
        Ok(applied) => applied,
        // It met kubectl too, and how far that had come nobody knows.
        Err(_) if (session.around.interrupted)() => {
            return Err(stop_waiting(session, manifest, "may have been applied, and then continues"));
        }
        Err(trouble @ Trouble::Conflict(_)) => {
            let advice = "Another writer, for example `extend`, has set it since. Remove it from the manifest, or overwrite it with \
                --force-conflicts.";
            return Err(Stop::new(Exit::Error, trouble.words(), advice));
        }
        Err(trouble) => return Err(trouble.into()),
    };
    let claim = serde_json::from_str(&applied).ok().and_then(Claim::read);
    claim.ok_or_else(|| Stop::error("kubectl applied the claim and did not print it"))
}

fn wait_for_ready(
    session: &mut Session<'_>,
    screen: &mut Screen,
    claim: &Claim,
    before: Option<&Claim>,
    estimate: impl Fn(&Claim) -> Option<Estimate>,
    timeout: Option<SignedDuration>,
) -> Result<Claim, Stop> {
    let begun = session.now();
    let kubectl = session.kubectl.clone();
    let mut follower = Follower::new(&kubectl, session.around, claim, timeout);
    let mut last = claim.clone();
    let (mut last_note, mut reported, mut silent) = (None, false, false);
    loop {
        match follower.next(session.now()) {
            Ok(Observation::Changed(now)) => last = now,
            Ok(Observation::Unchanged) => {}
            Ok(Observation::Output(words)) => screen.note(session, &words),
            Err(stop) if stop.exit == Exit::NotYet => {
                let stop =
                    super::without_cluster(session, &last).unwrap_or_else(|| explain_unseen(session, &last));
                return Err(Stop { message: format!("not in time: {}", stop.message), ..stop });
            }
            Err(stop) if stop.exit == Exit::Interrupted => return Err(explain_interruption(session, &last)),
            Err(stop) => return Err(stop),
        }
        let note = acceptance_note(&last);
        if note != last_note {
            if let Some(note) = &note {
                screen.note(session, note);
            }
            last_note = note;
        }
        let late = session.now().duration_since(begun) > SOON;
        match last.state() {
            ClaimState::Ready if is_of_now(&last, before, late) => return Ok(last),
            ClaimState::Ready if late && !reported => {
                reported = true;
                let message = explain_unseen(session, &last).message;
                screen.note(session, &format!("note: {message}"));
            }
            ClaimState::Failed | ClaimState::Ended => {
                screen.clear(session);
                return super::without_cluster(session, &last).map_or(Ok(last), Err);
            }
            ClaimState::Ready | ClaimState::Waiting => {}
        }
        if !silent && let Some(age) = last.unprocessed_for(session.now()) {
            silent = true;
            screen.note(session, &describe_unprocessed(age));
        }
        let estimate = (last.state() == ClaimState::Waiting).then(|| estimate(&last)).flatten();
        screen.show(session, &last, last.started().unwrap_or(begun), estimate.as_ref());
    }
}

fn describe_unprocessed(age: SignedDuration) -> String {
    format!(
        "note: Crossplane has not processed it for {}: ask the administrators whether Crossplane and the function run",
        human(age)
    )
}

/// Its message predates the change.
fn explain_unseen(session: &Session<'_>, claim: &Claim) -> Stop {
    let message = format!("{} was changed, and the change is not processed yet", claim.label());
    Stop::new(Exit::NotYet, message, format!("More: {}", session.next("why", claim)))
}

/// A user who stops waiting may not want the cluster any more, and it costs money.
fn explain_interruption(session: &Session<'_>, claim: &Claim) -> Stop {
    stop_waiting(session, claim, &format!("is {} and continues", claim.phase_word()))
}

fn stop_waiting(session: &Session<'_>, claim: &Claim, how: &str) -> Stop {
    let message = format!("interrupted; {} {how}", claim.label());
    let down = session.next("down", claim);
    let why = session.next("why", claim);
    Stop::new(Exit::Interrupted, message, format!("End it: {down}\nMore:   {why}"))
}

/// `ClusterReady` means that the kubeconfig is there; Crossplane writes it into the claim's Secret a moment later. An API server that
/// cannot be reached for a moment is no end of that. Nor is a Secret that is another's: that may go, or the claim name another.
fn wait_for_secret(session: &mut Session<'_>, mut claim: Claim) -> Result<Claim, Stop> {
    let begun = session.now();
    let mut reported = None;
    loop {
        let look = session.read_secret(&claim);
        let whose = look.as_ref().ok().and_then(|look| foreign_owner(&claim, look));
        let another = whose.map(|whose| format!("Secret {} {whose}", claim.secret()));
        match (&look, &another) {
            (Ok(Lookup::Found(held)), _) if held.delivers(&claim) => return Ok(claim),
            (Ok(Lookup::Forbidden), None) => {
                let secret = claim.secret();
                session.note(&format!(
                    "note: Secret {secret} cannot be read with your permissions, so it was not checked"
                ));
                return Ok(claim);
            }
            (Ok(Lookup::NotAsked), None) => return Ok(claim),
            (Ok(Lookup::Found(_) | Lookup::Missing), None) | (Ok(_), Some(_)) | (Err(_), _) => {}
        }
        let todo = with_entry(advice::foreign_secret(claim.flavour), Credentials::SecretTaken.as_str());
        if let Some(words) = another.as_ref().filter(|_| reported != another) {
            session.note(&format!("note: {words}: {todo}"));
            reported.clone_from(&another);
        }
        if (session.around.interrupted)() {
            return Err(explain_interruption(session, &claim));
        }
        if session.now().duration_since(begun) > WRITTEN {
            look?;
            let label = claim.label();
            let why = session.next("why", &claim);
            return Err(if let Some(words) = another {
                let message = format!("{label} is ready, and {words}");
                Stop::new(Exit::NotYet, message, format!("To do: {todo}\nMore:  {why}"))
            } else {
                let message = format!("{label} is ready, and Secret {} has no kubeconfig", claim.secret());
                Stop::new(Exit::NotYet, message, why)
            });
        }
        thread::sleep(GLANCE);
        // The claim reports more about a Secret of another owner, and it may name another one by now.
        if matches!(look, Ok(Lookup::Found(_) | Lookup::Forbidden)) {
            claim = match session.reload_claim(&claim) {
                Ok(now) => now,
                Err(trouble @ Trouble::NotFound(_)) => return Err(trouble.into()),
                Err(_) => claim,
            };
            if matches!(claim.state(), ClaimState::Ended | ClaimState::Failed)
                && let Some(stop) = super::without_cluster(session, &claim)
            {
                return Err(stop);
            }
        }
    }
}

fn report_ready(session: &mut Session<'_>, claim: &Claim, begun: Timestamp, merge: bool) -> Result<(), Stop> {
    let now = session.now();
    let took = claim.started().unwrap_or(begun);
    let took = human(claim.ready_at().unwrap_or(now).duration_since(took));
    let version = match text(&claim.object, "/status/version") {
        "" => String::new(),
        version => format!(", version {}", bounded(version, 63)),
    };
    session.print_line(&format!("{} is ready after {took}{version}", claim.label()))?;
    match claim.expires_at() {
        Some(end) => {
            let remaining = human(end.duration_since(now));
            let more = session.next("extend", claim);
            session.print_line(&format!(
                "  it ends in {remaining}, at {end}\n  extend it:     {more} --by 2h"
            ))?;
        }
        None => session.print_line("  it runs until you end it")?,
    }
    if !merge {
        let use_it = session.next("kubeconfig", claim);
        session.print_line(&format!("  use it:        {use_it} --merge"))?;
    }
    let end_it = session.next("down", claim);
    session.print_line(&format!("  end it:        {end_it}"))?;
    for (what, at) in [("console", "/status/consoleURL"), ("job", "/status/prowJob/url")] {
        let url = text(&claim.object, at);
        if !url.is_empty() {
            session.print_line(&format!("  {:<13}  {}", format!("{what}:"), bounded(url, 600)))?;
        }
    }
    Ok(())
}

/// Where past runs are remembered.
fn history_path(session: &Session<'_>) -> Option<PathBuf> {
    let set = |name: &str| (session.around.variable)(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let state = set("XDG_STATE_HOME").or_else(|| Some(set("HOME")?.join(".local/state")))?;
    Some(state.join("testplatform").join("history"))
}
