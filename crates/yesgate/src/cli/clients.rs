//! The words about clients that people connect.

use clap::{Args, Subcommand};
use yesgate_core::id::{OrgId, PrincipalId};

#[derive(Debug, Subcommand)]
pub(crate) enum ClientsCommand {
    /// List what is connected: who allowed which client what, and when it was last used
    List(ClientsListArgs),
    /// Show one connection, or one client
    Show(ConnectionArgs),
    /// Take a connection back, or end a client with all that people have allowed it; effective at once
    Revoke(ConnectionArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ClientsListArgs {
    /// List the clients that are known instead, whether anybody allowed them anything or not
    #[arg(long)]
    pub(crate) registered: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ConnectionArgs {
    /// The id of a connection, or of a client
    pub(crate) id: String,
}

#[derive(Args, Debug)]
pub(crate) struct RevokeAllArgs {
    /// Whose
    #[arg(long, value_name = "NAME")]
    pub(crate) user: PrincipalId,
    /// Their organisation
    #[arg(long, default_value = "local")]
    pub(crate) org: OrgId,
    /// Do not ask whether that is meant
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// Go the way of a client that connects to a running `serve` [default: the one of this home]
    #[arg(long, value_name = "URL", num_args = 0..=1)]
    pub(crate) oauth: Option<Option<String>>,
    /// Go on as this person, who must be of this home, up to a token and a request with it
    #[arg(long = "as", value_name = "USER", requires = "oauth")]
    pub(crate) user: Option<PrincipalId>,
    /// The person's organisation
    #[arg(long, default_value = "local", requires = "user")]
    pub(crate) org: OrgId,
}
