//! The HTTP front, through the door that a client has.

mod batches;
mod legacy;
mod listening;
mod modern;
mod parking;
mod resuming;
mod strictness;
mod waiting;
