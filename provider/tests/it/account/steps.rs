//! One step after the other.

use jiff::Timestamp;
use provider_testplatform::{
    account::{
        next::{Answer, Due, Found, Known, Obstacle, Seen, Step, Thing, due, next},
        stamp::Stamp,
    },
    ephemeral_cluster::credentials::Published,
};
use rstest::rstest;

const RIGHT: Seen = Seen { has_role: true, things: [Found::Right; 5] };

fn with(thing: usize, found: Found) -> Seen {
    let mut seen = RIGHT;
    seen.things[thing] = found;
    seen
}

#[rstest]
#[case::nothing_is_known(Known::default(), Step::Look)]
#[case::no_such_role(seen(Seen { has_role: false, ..RIGHT }), Step::Stop(Obstacle::NoRole))]
#[case::no_such_role_in_an_empty_cluster(seen(Seen { has_role: false, things: [Found::Absent; 5] }), Step::Stop(Obstacle::NoRole))]
#[case::empty(seen(Seen { has_role: true, things: [Found::Absent; 5] }), Step::Make(Thing::Namespace))]
#[case::no_account(seen(with(1, Found::Absent)), Step::Make(Thing::Account))]
#[case::a_namespace_that_goes(seen(with(0, Found::Going)), Step::Stop(Obstacle::Going))]
#[case::an_account_that_goes(seen(with(1, Found::Going)), Step::Stop(Obstacle::Going))]
#[case::no_right_to_end_itself(seen(with(2, Found::Absent)), Step::Make(Thing::Ending))]
#[case::that_right_is_not_its_own(seen(with(3, Found::Absent)), Step::Make(Thing::EndingBinding))]
#[case::no_rights(seen(with(4, Found::Absent)), Step::Make(Thing::Binding))]
#[case::the_rights_of_another_role(seen(with(4, Found::Wrong)), Step::Remove(Thing::Binding))]
#[case::rights_that_go(seen(with(4, Found::Going)), Step::Stop(Obstacle::Going))]
#[case::all_is_there(seen(RIGHT), Step::Ask)]
#[case::a_token(Known { token: true, ..seen(RIGHT) }, Step::Verify)]
#[case::one_that_is_taken(answered(Answer::Taken), Step::Take)]
#[case::one_that_answers_401(answered(Answer::Unknown), Step::Stop(Obstacle::Unknown))]
#[case::one_without_rights(answered(Answer::NoRights), Step::Stop(Obstacle::NoRights))]
fn steps(#[case] known: Known, #[case] step: Step) {
    assert_eq!(next(&known), step);
}

fn seen(seen: Seen) -> Known {
    Known { seen: Some(seen), ..Known::default() }
}

fn answered(answer: Answer) -> Known {
    Known { token: true, answer: Some(answer), ..seen(RIGHT) }
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn ours(revision: Option<String>) -> Published {
    Published::Ours { revision: "7".into(), source_revision: revision }
}

fn stamped() -> Stamp {
    Stamp {
        issued: at("2026-03-02T11:00:00Z"),
        expires: at("2026-03-02T23:00:00Z"),
        generation: 2,
        origin: "o".into(),
        digest: "d".into(),
    }
}

#[rstest]
#[case::nothing_is_published(Published::Absent, Due::Renew)]
#[case::fresh(ours(Some(stamped().to_string())), Due::Keep(at("2026-03-02T19:00:00Z")))]
#[case::another_generation(ours(Some(Stamp { generation: 1, ..stamped() }.to_string())), Due::Renew)]
#[case::a_generation_of_old(ours(Some(Stamp { generation: 3, ..stamped() }.to_string())), Due::Renew)]
#[case::of_another_role_or_kubeconfig(ours(Some(Stamp { origin: "p".into(), ..stamped() }.to_string())), Due::Renew)]
#[case::two_thirds_are_over(ours(Some(Stamp { issued: at("2026-03-02T04:00:00Z"), expires: at("2026-03-02T16:00:00Z"), ..stamped() }.to_string())), Due::Renew)]
#[case::of_a_clock_ahead(ours(Some(Stamp { issued: at("2026-03-02T12:00:01Z"), ..stamped() }.to_string())), Due::Renew)]
#[case::the_admins(ours(Some("cluster:admin@7,none".into())), Due::Renew)]
#[case::nobody_knows_of_what(ours(None), Due::Renew)]
fn a_token_is_made_when_it_is_time(#[case] published: Published, #[case] wanted: Due) {
    assert_eq!(due(&published, 2, "o", at("2026-03-02T12:00:00Z")), wanted);
}
