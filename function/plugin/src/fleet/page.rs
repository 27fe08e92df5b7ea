//! Pages of the overview, as HTML without a build step. They show the same without scripts; [`LIVE`] replaces what changed.
//!
//! **Invariant:** whatever a tenant, a hub or an event says is text. Only plain addresses of the web become links.

use jiff::Timestamp;
use maud::{DOCTYPE, Markup, html};
use testplatform_apis::phase::Phase;

use super::{
    super::{
        chain::build_chain,
        claim::{Claim, text},
        command_context::CommandContext,
        facts::Facts,
        span::ago,
        style::Tone,
        wait::find_pending_step,
        web_address::is_web_address,
    },
    Fleet, FleetClaim, FleetHub, HEADS, HubHealth, build_timeline, format_end, name_claim,
};

/// Style of all pages.
pub const STYLE: &str = include_str!("style.css");
/// Script that keeps a page current.
pub const LIVE: &str = include_str!("live.js");

/// Path from the overview to the page of a claim.
pub fn claim_path(claim: &Claim) -> String {
    format!("claims/{}/{}/{}", claim.flavour.word(), claim.namespace(), claim.name())
}

/// The overview. `scope`: which claims it has, in words. `trouble`: why it could not be read again.
pub fn render_overview(fleet: &Fleet, scope: &str, trouble: Option<&str>) -> String {
    let now = fleet.at;
    let (cost, unknown) = fleet.sum_costs();
    let alive = fleet.claims.iter().filter(|claim| claim.is_alive()).count();
    let ready = fleet.claims.iter().filter(|of| of.claim.phase() == Some(Phase::Ready)).count();
    let (queue, concerns) = (fleet.list_queue(), fleet.list_concerns());
    let content = html! {
        h1 { "Test clusters " (scope) }
        (render_time(now, trouble))
        div.cards {
            (render_card(&fleet.claims.len().to_string(), "claims"))
            (render_card(&alive.to_string(), "not over"))
            (render_card(&ready.to_string(), "ready"))
            (render_card(&queue.len().to_string(), "in a queue"))
            (render_card(&concerns.len().to_string(), "need attention"))
            @if cost > 0 {
                (render_card(&cost.to_string(), &if unknown == 0 { "budget units".to_owned() } else { format!("budget units, {unknown} unknown") }))
            }
        }
        @if !concerns.is_empty() {
            h2 { "Need attention" }
            (render_table(&["Claim", "Concern", "Waits for", "To do"], &html! {
                @for (of, concern) in &concerns {
                    tr {
                        td.name { (link_claim(&of.claim, "")) }
                        td.name { span.bad { (concern.words()) } }
                        td { (of.pending.what) }
                        td { (of.pending.todo) }
                    }
                }
            }))
        }
        @if !queue.is_empty() {
            h2 { "Queue" }
            (render_table(&["Claim", "Waits for", "Since"], &html! {
                @for (of, why) in &queue {
                    tr {
                        td.name { (link_claim(&of.claim, "")) }
                        td { (why) }
                        td.time { (ago(of.claim.started(), now)) }
                    }
                }
            }))
        }
        @if !fleet.hubs.is_empty() {
            h2 { "Hubs" }
            (render_table(&HEADS, &html! {
                @for hub in &fleet.hubs { (render_hub(hub)) }
            }))
        }
        h2 { "Phases" }
        (render_table(&["Phase", "Claims", "Oldest"], &html! {
            @for of in fleet.count_phases() {
                tr {
                    td { (render_phase(Some(of.phase))) }
                    td { (of.claims) }
                    td.time { (ago(of.oldest, now)) }
                }
            }
        }))
        h2 { "Claims" }
        (render_table(&["Claim", "Phase", "Version", "Backend", "Hub", "Age", "Ends in", "Cost", "Message"], &html! {
            @for of in &fleet.claims { (render_claim_row(of, now)) }
        }))
    };
    render_layout("Test clusters", "", &content)
}

/// The page of one claim. `root`: path from it to the overview.
pub fn render_claim(facts: &Facts, way: &CommandContext, root: &str, now: Timestamp) -> String {
    let claim = &facts.claim;
    let pending = find_pending_step(facts, &way.in_namespace_of(claim), now);
    let content = html! {
        p { a href=(home_path(root)) { "All claims" } }
        h1 { (name_claim(claim)) " " (render_phase(claim.phase())) }
        (render_time(now, None))
        p { (claim.message()) }
        (render_table(&["Waits for", "To do"], &html! { tr { td { (pending.what) } td { (pending.todo) } } }))
        p {
            (render_address("Job", text(&claim.object, "/status/prowJob/url")))
            " " (render_address("Console", text(&claim.object, "/status/consoleURL")))
        }
        h2 { "From the claim to its kubeconfig" }
        (render_table(&["", "Object", "State", "For"], &html! {
            @for link in build_chain(facts) {
                tr {
                    td { span class=(Tone::of_mark(link.mark).class_name()) title=(link.mark.name()) { (link.mark.sign()) } }
                    td.name { (link.what) }
                    td { (link.state) }
                    td.time { (ago(link.since, now)) }
                }
            }
        }))
        h2 { "Timeline" }
        (render_table(&["Time (UTC)", "Source", ""], &html! {
            @for entry in build_timeline(facts) {
                tr.quiet[entry.at > now] {
                    td.time { (format!("{:.0}", entry.at)) }
                    td.name { @if entry.is_warning { span.bad { (entry.source) } } @else { (entry.source) } }
                    td { (entry.text) }
                }
            }
        }))
    };
    render_layout(&name_claim(claim), root, &content)
}

/// A page with one sentence. `root`: path from it to the overview.
pub fn render_message(message: &str, root: &str) -> String {
    render_layout(
        "Test clusters",
        root,
        &html! { h1 { (message) } p.read { a href=(home_path(root)) { "All claims" } } },
    )
}

fn render_layout(title: &str, root: &str, content: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) }
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(format!("{root}style.css"));
                script defer src=(format!("{root}live.js")) {}
                noscript { meta http-equiv="refresh" content="30"; }
            }
            body data-root=(root) { main { (content) } }
        }
    };
    page.into_string()
}

fn home_path(root: &str) -> &str {
    if root.is_empty() { "./" } else { root }
}

fn render_time(at: Timestamp, trouble: Option<&str>) -> Markup {
    html! {
        p.read { "As of " (format!("{at:.0}")) ". Changes appear within seconds." }
        @if let Some(trouble) = trouble {
            p.trouble { "It could not be read since: " (trouble) }
        }
    }
}

fn render_card(number: &str, what: &str) -> Markup {
    html! { div.card { b { (number) } span { (what) } } }
}

fn render_table(heads: &[&str], rows: &Markup) -> Markup {
    html! {
        div.scroll { table {
            thead { tr { @for head in heads { th { (head) } } } }
            tbody { (rows) }
        } }
    }
}

fn link_claim(claim: &Claim, root: &str) -> Markup {
    html! { a href=(format!("{root}{}", claim_path(claim))) { (name_claim(claim)) } }
}

fn render_claim_row(of: &FleetClaim, now: Timestamp) -> Markup {
    let object = &of.claim.object;
    html! {
        tr {
            td.name { (link_claim(&of.claim, "")) }
            td { (render_phase(of.claim.phase())) }
            td.name { (text(object, "/status/version")) }
            td { (text(object, "/status/backend/kind")) }
            td { (text(object, "/status/hub/name")) }
            td.time { (ago(of.claim.started(), now)) }
            td.time { (format_end(of, now)) }
            td { @if let Some(cost) = of.cost { (cost) } }
            td { (of.claim.message()) }
        }
    }
}

fn render_hub(hub: &FleetHub) -> Markup {
    let tone = match hub.health {
        HubHealth::Ready if hub.problems.is_empty() => Tone::Good,
        HubHealth::Ready | HubHealth::NotReady(_) => Tone::Bad,
        HubHealth::Unknown(_) => Tone::Quiet,
    };
    let [name, claims, clusters, provisioning, free_nodes, state] = hub.format_cells();
    html! {
        tr {
            td.name { (name) }
            td { (claims) }
            td { (clusters) }
            td { (provisioning) }
            td { (free_nodes) }
            td { span class=(tone.class_name()) { (state) } @for problem in &hub.problems { br; (problem) } }
        }
    }
}

fn render_phase(phase: Option<Phase>) -> Markup {
    html! { span class=(Tone::of_phase(phase).class_name()) { (phase.unwrap_or(Phase::Pending).as_str()) } }
}

/// A link where the address is one of the web, else the address as text.
fn render_address(what: &str, url: &str) -> Markup {
    html! {
        @if is_web_address(url) { a href=(url) rel="noreferrer" { (what) } }
        @else if !url.is_empty() { (what) ": " (url) }
    }
}
