//! Tables: what is refused and in which words, and what every phase shows. Each table says itself when it is not
//! complete any more.

mod phases;
mod requests;
mod templates;

use function_model::world::World;

type Change = fn(&mut World);
