//! One step after the other.

use jiff::Timestamp;
use provider_testplatform::credentials::{
    Published,
    account::{
        fingerprint::TokenFingerprint,
        plan::{
            AccountObject, AccountObjects, AccountState, AccountStep, ObjectState, TokenCheck, TokenDue,
            TokenError, plan, token_due,
        },
    },
};
use rstest::rstest;

const RIGHT: AccountObjects = AccountObjects { has_role: true, things: [ObjectState::Right; 5] };

fn with(thing: usize, found: ObjectState) -> AccountObjects {
    let mut seen = RIGHT;
    seen.things[thing] = found;
    seen
}

#[rstest]
#[case::nothing_is_known(AccountState::default(), AccountStep::Look)]
#[case::no_such_role(seen(AccountObjects { has_role: false, ..RIGHT }), AccountStep::Stop(TokenError::NoRole))]
#[case::no_such_role_in_an_empty_cluster(seen(AccountObjects { has_role: false, things: [ObjectState::Absent; 5] }), AccountStep::Stop(TokenError::NoRole))]
#[case::empty(seen(AccountObjects { has_role: true, things: [ObjectState::Absent; 5] }), AccountStep::Make(AccountObject::Namespace))]
#[case::no_account(seen(with(1, ObjectState::Absent)), AccountStep::Make(AccountObject::Account))]
#[case::a_namespace_that_goes(seen(with(0, ObjectState::Deleting)), AccountStep::Stop(TokenError::Going))]
#[case::an_account_that_goes(seen(with(1, ObjectState::Deleting)), AccountStep::Stop(TokenError::Going))]
#[case::no_right_to_end_itself(seen(with(2, ObjectState::Absent)), AccountStep::Make(AccountObject::Ending))]
#[case::that_right_is_not_its_own(
    seen(with(3, ObjectState::Absent)),
    AccountStep::Make(AccountObject::EndingBinding)
)]
#[case::no_rights(seen(with(4, ObjectState::Absent)), AccountStep::Make(AccountObject::Binding))]
#[case::the_rights_of_another_role(
    seen(with(4, ObjectState::Wrong)),
    AccountStep::Remove(AccountObject::Binding)
)]
#[case::rights_that_go(seen(with(4, ObjectState::Deleting)), AccountStep::Stop(TokenError::Going))]
#[case::all_is_there(seen(RIGHT), AccountStep::Ask)]
#[case::a_token(AccountState { token: true, ..seen(RIGHT) }, AccountStep::Verify)]
#[case::one_that_is_taken(answered(TokenCheck::Taken), AccountStep::Take)]
#[case::one_that_answers_401(answered(TokenCheck::Unknown), AccountStep::Stop(TokenError::Unknown))]
#[case::one_without_rights(answered(TokenCheck::NoRights), AccountStep::Stop(TokenError::NoRights))]
fn steps(#[case] known: AccountState, #[case] step: AccountStep) {
    assert_eq!(plan(&known), step);
}

fn seen(seen: AccountObjects) -> AccountState {
    AccountState { objects: Some(seen), ..AccountState::default() }
}

fn answered(answer: TokenCheck) -> AccountState {
    AccountState { token: true, answer: Some(answer), ..seen(RIGHT) }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn ours(revision: Option<String>) -> Published {
    Published::Ours { revision: "7".into(), source_revision: revision }
}

fn stamped() -> TokenFingerprint {
    TokenFingerprint {
        issued: at("2026-03-02T11:00:00Z"),
        expires: at("2026-03-02T23:00:00Z"),
        generation: 2,
        origin: "o".into(),
        digest: "d".into(),
    }
}

#[rstest]
#[case::nothing_is_published(Published::Absent, TokenDue::Renew)]
#[case::fresh(ours(Some(stamped().to_string())), TokenDue::Keep(at("2026-03-02T19:00:00Z")))]
#[case::another_generation(ours(Some(TokenFingerprint { generation: 1, ..stamped() }.to_string())), TokenDue::Renew)]
#[case::a_generation_of_old(ours(Some(TokenFingerprint { generation: 3, ..stamped() }.to_string())), TokenDue::Renew)]
#[case::of_another_role_or_kubeconfig(ours(Some(TokenFingerprint { origin: "p".into(), ..stamped() }.to_string())), TokenDue::Renew)]
#[case::two_thirds_are_over(ours(Some(TokenFingerprint { issued: at("2026-03-02T04:00:00Z"), expires: at("2026-03-02T16:00:00Z"), ..stamped() }.to_string())), TokenDue::Renew)]
#[case::of_a_clock_ahead(ours(Some(TokenFingerprint { issued: at("2026-03-02T12:00:01Z"), ..stamped() }.to_string())), TokenDue::Renew)]
#[case::the_admins(ours(Some("cluster:admin@7,none".into())), TokenDue::Renew)]
#[case::nobody_knows_of_what(ours(None), TokenDue::Renew)]
fn token_is_issued_when_due(#[case] published: Published, #[case] wanted: TokenDue) {
    assert_eq!(token_due(&published, 2, "o", at("2026-03-02T12:00:00Z")), wanted);
}
