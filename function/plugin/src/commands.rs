//! Commands of the plugin, one module for each.

pub mod completion;
pub mod doctor;
pub mod down;
pub mod extend;
pub mod fleet;
pub mod get;
pub mod kubeconfig;
pub mod offers;
pub mod open;
pub mod up;
pub mod wait;
pub mod why;

use testplatform_apis::condition::{ConditionType, Request};

use super::{
    args::Subcommand,
    claim::{Claim, ClaimState, ReportedCondition},
    exit::{Exit, Stop},
    facts::Facts,
    session::Session,
    wait::find_pending_step,
};

/// Does what was asked for.
pub fn run(ask: &Subcommand, session: &mut Session<'_>) -> Result<(), Stop> {
    match ask {
        Subcommand::Up { file, name, timeout, force, merge } => {
            up::run(session, file, name.as_deref(), *timeout, *force, *merge)
        }
        Subcommand::Get(request) => get::run(session, request),
        Subcommand::Offers { offer, output, claim, name, from } => {
            let request = offers::OffersRequest {
                offer: offer.as_deref(),
                output: output.as_deref(),
                claim: *claim,
                name: name.as_deref(),
                from,
            };
            offers::run(session, &request)
        }
        Subcommand::Why { name, format, watch } => why::run(session, name, *format, *watch),
        Subcommand::Wait { name, target, timeout } => wait::run(session, name, target, *timeout),
        Subcommand::Logs { name } => open::print_logs_url(session, name),
        Subcommand::Open { name, page } => open::run(session, name, *page),
        Subcommand::Fleet(request) => fleet::run(session, request),
        Subcommand::Doctor { format } => doctor::run(session, *format),
        Subcommand::Completion { shell } => completion::print_script(session, shell),
        Subcommand::Kubeconfig { name, out, merge } => kubeconfig::run(session, name, out.as_deref(), *merge),
        Subcommand::Extend { name, span } => extend::run(session, name, *span),
        Subcommand::Down { name, wait, delete, timeout } => {
            down::run(session, name, *wait, *delete, *timeout)
        }
    }
}

/// Message about a claim whose cluster belongs to another one now.
pub(super) fn handed_over(claim: &Claim) -> Option<ReportedCondition<'_>> {
    claim
        .condition(ConditionType::RequestAccepted)
        .filter(|condition| condition.holds() && condition.reason() == Request::HandedOver.as_str())
}

/// Why a claim has no cluster to use; none if it has one.
fn without_cluster(session: &Session<'_>, claim: &Claim) -> Option<Stop> {
    let exit = match claim.state() {
        ClaimState::Ready => return None,
        ClaimState::Waiting => Exit::NotYet,
        ClaimState::Failed => Exit::Failed,
        ClaimState::Ended => Exit::Over,
    };
    let waits = find_pending_step(&Facts::new(claim.clone()), &session.way, session.now());
    let message = match exit {
        Exit::NotYet => format!("{} is not ready; it waits for {}", claim.label(), waits.what),
        _ => format!("{} is {}: {}", claim.label(), claim.phase_word(), claim.message()),
    };
    let more = session.next("why", claim);
    Some(Stop::new(exit, message, format!("To do: {}\nMore:  {more}", waits.todo)))
}
