//! What redeem promises, as a model that a machine searches to the end.
//!
//! One question, its token, some nodes that it is presented at, a store that may have a standby, a human, and a server that
//! counts what it receives. Everything that can go wrong between them is a step that can happen at any time: nodes die,
//! acknowledgements and answers get lost, a request arrives after its sender gave up, the store fails over.
//!
//! - [`World`] is everything there is at one moment.
//! - [`Action`] is every step that the world can take, and `step.rs` what it makes of the world.
//! - [`Protocol`] is how the nodes redeem: ours, and the ways that look as good and are not.
//! - `promise.rs` has what must hold in every world that can be reached.
//!
//! INVARIANT: a question moves by [`yesgate_core::intent::State::after`], the function that the gateway itself uses. Only the
//! protocols that are wrong write a state past it.
//!
//! Development only. `docs/decisions/0040-what-was-model-checked.md` says what was found, and what a model cannot say.

mod model;
mod promise;
mod protocol;
mod step;
mod world;

pub use self::model::{Bounds, Redeeming};
pub use self::promise::Promise;
pub use self::protocol::{Protocol, Replication};
pub use self::step::Action;
pub use self::world::{Attempt, Call, Human, Redeem, Row, Stage, Told, World};
