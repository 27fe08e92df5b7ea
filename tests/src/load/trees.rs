//! Requests and answers as they are where nobody edited the descriptors: each `google.protobuf.Struct` is a tree of messages.
//!
//! The function's generated types have them as bytes. To read and write them here costs the same as in messages that have them as
//! trees, but for one more copy of the answer.

use prost::{DecodeError, Message as _, bytes::Bytes};
use prost_types::Struct;
use testplatform_composites::sdk::proto::{
    Resource, Resources, RunFunctionRequest, RunFunctionResponse, State,
};

/// Every Struct of a request.
pub(super) fn read(request: &RunFunctionRequest) -> Result<Vec<Struct>, DecodeError> {
    let mut all = Vec::new();
    for state in [&request.observed, &request.desired].into_iter().flatten() {
        for bytes in state.resources.values() {
            all.push(Struct::decode(Resource::decode(bytes.clone())?.resource)?);
        }
    }
    let states = [&request.observed, &request.desired].into_iter().flatten();
    let composites = states.filter_map(|state| Some(&state.composite.as_ref()?.resource));
    let fetched = request.required_resources.values().chain(request.extra_resources.values());
    let items = fetched.flat_map(|Resources { items }| items).map(|item| &item.resource);
    for bytes in composites.chain(items).chain(&request.input).chain(&request.context) {
        all.push(Struct::decode(bytes.clone())?);
    }
    Ok(all)
}

/// An answer without its Structs, and these as trees.
pub(super) struct Trees {
    without: RunFunctionResponse,
    composite: Option<Struct>,
    resources: Vec<(String, Resource, Struct)>,
    context: Option<Struct>,
}

impl Trees {
    /// Of an answer.
    pub fn of(mut answer: RunFunctionResponse) -> Result<Self, DecodeError> {
        let tree = |bytes: Bytes| Struct::decode(bytes);
        let mut resources = Vec::new();
        let mut composite = None;
        if let Some(State { composite: own, resources: all }) = &mut answer.desired {
            for (name, bytes) in std::mem::take(all) {
                let mut resource = Resource::decode(bytes)?;
                let object = tree(std::mem::take(&mut resource.resource))?;
                resources.push((name, resource, object));
            }
            composite = own.as_mut().map(|own| tree(std::mem::take(&mut own.resource))).transpose()?;
        }
        let context = answer.context.take().map(tree).transpose()?;
        Ok(Self { without: answer, composite, resources, context })
    }

    /// The answer. Each tree is made anew, as whoever answers makes it.
    pub fn write(&self) -> RunFunctionResponse {
        let message = |tree: &Struct| Bytes::from(tree.clone().encode_to_vec());
        let mut answer = self.without.clone();
        if let Some(State { composite, resources }) = &mut answer.desired {
            for (name, resource, tree) in &self.resources {
                let resource = Resource { resource: message(tree), ..resource.clone() };
                resources.insert(name.clone(), resource.encode_to_vec().into());
            }
            if let Some((own, tree)) = composite.as_mut().zip(self.composite.as_ref()) {
                own.resource = message(tree);
            }
        }
        answer.context = self.context.as_ref().map(message);
        answer
    }
}

#[cfg(test)]
mod tests {
    use testplatform_composites::{Options, run};

    use super::{super::requests, *};

    #[test]
    fn trees_read_the_request_and_write_the_same_answer() {
        let now = "2026-11-21T10:30:00Z".parse().unwrap();
        let asked = requests::named("ready", false, now).unwrap();
        let request = RunFunctionRequest::decode(asked.bytes).unwrap();
        let read = read(&request).unwrap();
        let of_trees: usize = read.iter().map(Struct::encoded_len).sum();
        assert!(of_trees * 10 > request.encoded_len() * 9, "{of_trees} of {}", request.encoded_len());
        let answer = run(&request, &Options::default(), now);
        let written = Trees::of(answer.clone()).unwrap().write();
        assert!(!answer.desired.as_ref().unwrap().resources.is_empty());
        assert_eq!(written, answer);
    }
}
