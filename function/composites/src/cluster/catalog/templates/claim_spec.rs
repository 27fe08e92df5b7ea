//! Spec of a claim, field by field: a wrong field hides no other.

use serde::de::DeserializeOwned;
use serde_json::Value;
use testplatform_apis::{
    byoc::ClaimBlock,
    claim::VERSION_OR_IMAGE,
    duration::GoDuration,
    template::companions::{
        AUTOSCALE_RULE, COUNT_OR_AUTOSCALE, ControlPlane, FORCE_RULE, HubChoice, Network, NodeGroup,
        TIMEOUTS_RULE, Timeouts, Values,
    },
    text::bounded,
};

use crate::{
    cluster::{
        catalog::tenant_credentials::check_tenant_credentials,
        request::size::{companions_problem, is_within},
    },
    sdk::{
        composite::{FieldProblem, UNREADABLE},
        wire,
    },
};

/// Fields of a claim besides `template`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClaimSpec {
    /// `parameters`, without those that are null.
    pub parameters: Values,
    /// `version`.
    pub version: Option<String>,
    /// `releaseImage`.
    pub release_image: Option<String>,
    /// `controlPlane`.
    pub control_plane: ControlPlane,
    /// `nodeGroups`; an empty list means none.
    pub node_groups: Option<Vec<NodeGroup>>,
    /// `network`.
    pub network: Network,
    /// `hub`.
    pub hub: Option<HubChoice>,
    /// `timeouts`.
    pub timeouts: Timeouts,
    /// `byoc`.
    pub byoc: Option<Value>,
}

impl ClaimSpec {
    /// Reads them. The rules are those of the schema, which a composite that an administrator made has passed too, and a file has
    /// not.
    pub fn read(spec: &Value, tenant: Option<&str>) -> Result<Self, Vec<FieldProblem>> {
        let mut problems = Vec::new();
        if !spec["template"].is_string() {
            problems
                .push(FieldProblem { field: "spec.template".into(), sentence: "must be a string".into() });
        }
        let mut words = Self {
            parameters: read_field(spec, "parameters", &mut problems).unwrap_or_default(),
            version: read_field(spec, "version", &mut problems),
            release_image: read_field(spec, "releaseImage", &mut problems),
            control_plane: read_field(spec, "controlPlane", &mut problems).unwrap_or_default(),
            node_groups: read_field(spec, "nodeGroups", &mut problems),
            network: read_field(spec, "network", &mut problems).unwrap_or_default(),
            hub: read_field(spec, "hub", &mut problems),
            timeouts: read_field(spec, "timeouts", &mut problems).unwrap_or_default(),
            byoc: Some(spec["byoc"].clone()).filter(|byoc| !byoc.is_null()),
        };
        if let Some(byoc) = &words.byoc {
            check_tenant_credentials(byoc, ClaimBlock::Template, tenant, &mut problems);
        }
        check_depths(spec, &mut problems);
        problems.extend(companions_problem(spec));
        words.parameters.0.retain(|_, value| !value.is_null());
        for group in words.node_groups.iter_mut().flatten() {
            group.parameters.0.retain(|_, value| !value.is_null());
        }
        words.check_rules(&mut problems);
        if problems.is_empty() { Ok(words) } else { Err(problems) }
    }

    fn check_rules(&self, problems: &mut Vec<FieldProblem>) {
        let mut problem = |field: String, sentence: &str| {
            problems.push(FieldProblem { field, sentence: sentence.to_owned() });
        };
        if self.version.is_some() && self.release_image.is_some() {
            problem("spec".into(), VERSION_OR_IMAGE);
        }
        let minute = GoDuration::from_mins(1);
        for (name, span) in [("provision", self.timeouts.provision), ("teardown", self.timeouts.teardown)] {
            if span.is_some_and(|span| span < minute) {
                problem(format!("spec.timeouts.{name}"), TIMEOUTS_RULE);
            }
        }
        if self.hub.as_ref().is_some_and(|hub| hub.force == Some(true) && hub.name.is_none()) {
            problem("spec.hub".into(), FORCE_RULE);
        }
        for (i, group) in self.node_groups.iter().flatten().enumerate() {
            if group.count.is_some() == group.autoscale.is_some() {
                problem(format!("spec.nodeGroups[{i}]"), COUNT_OR_AUTOSCALE);
            }
            if group.autoscale.is_some_and(|a| a.min > a.max) {
                problem(format!("spec.nodeGroups[{i}].autoscale"), AUTOSCALE_RULE);
            }
        }
    }
}

/// The depth that parameters may have. Within what is made of them they are deeper still, and what nobody can read would end nothing.
const MAX_DEPTH: usize = 32;

/// Parameters that are nested too deep, those of node groups too.
fn check_depths(spec: &Value, problems: &mut Vec<FieldProblem>) {
    let groups = spec["nodeGroups"].as_array().into_iter().flatten().enumerate();
    let groups = groups.map(|(i, group)| (format!("spec.nodeGroups[{i}].parameters"), &group["parameters"]));
    let all = [("spec.parameters".to_owned(), &spec["parameters"])].into_iter().chain(groups);
    problems.extend(all.filter(|(_, value)| !is_within(value, MAX_DEPTH)).map(|(field, _)| FieldProblem {
        field,
        sentence: format!("is nested deeper than {MAX_DEPTH} levels"),
    }));
}

/// A field of the claim, with the path of what is wrong in it.
fn read_field<T: DeserializeOwned>(spec: &Value, name: &str, problems: &mut Vec<FieldProblem>) -> Option<T> {
    let value = &spec[name];
    if value.is_null() {
        return None;
    }
    if *value == UNREADABLE {
        let sentence = format!("is nested deeper than {MAX_DEPTH} levels");
        problems.push(FieldProblem { field: format!("spec.{name}"), sentence });
        return None;
    }
    // The reader of the wire knows where an error is, and quotes no value.
    match wire::from_member(name, value) {
        Ok(read) => Some(read),
        Err(error) => {
            problems.push(FieldProblem {
                field: bounded(&format!("spec.{}", error.path()), 256),
                sentence: bounded(error.message(), 256),
            });
            None
        }
    }
}
