//! Documents agree with the code: every reason and alert is in the runbook, every proof that the security page and
//! the tables of requirements name exists, and references lead somewhere. The code also declares what it touches.

// Clippy knows test functions, but not their helpers.

mod architecture;
mod backends;
mod border;
mod bump;
mod commands;
mod conformance;
mod costs;
mod fields;
mod imports;
mod layers;
mod legibility;
mod links;
mod messages;
mod pages;
mod reference;
mod requirements;
mod runbook;
mod security;
mod text;
mod version;
mod words;
mod workflows;
