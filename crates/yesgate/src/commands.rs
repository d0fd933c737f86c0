//! One file per command.

mod accept;
mod approve;
mod audit;
mod budgets;
mod clients;
mod connect;
mod demo;
mod doctor;
mod edit;
mod figures;
mod grants;
mod help;
mod keys;
mod mail;
mod marking;
mod notices;
mod open;
mod outlook;
mod pages;
mod people;
mod policy;
mod provider;
mod purge;
mod questions;
mod receipt;
mod regime;
mod review;
mod serve;
mod shadow;
mod sign;
mod tools;
mod watch;
mod wrap;

use std::process::ExitCode;

use crate::cli::audit::AuditCommand;
use crate::cli::{Cli, Command, ToolsCommand};
use crate::output::{self, Done};
use crate::settings::Settings;

/// Runs one command and says how it ended.
pub(crate) fn run(cli: Cli) -> ExitCode {
    if let Command::Guard(guard) = &cli.command {
        // Before anything else: a guard needs no runtime, no configuration and no ledger.
        let Some((program, args)) = guard.command.split_first() else { return ExitCode::from(2) };
        return yesgate_gateway::child::guard::run(program, args);
    }
    match run_async(cli) {
        Ok(done) => done.into(),
        Err(error) => {
            output::error(&error);
            ExitCode::FAILURE
        }
    }
}

fn run_async(cli: Cli) -> anyhow::Result<Done> {
    // Connections of clients have threads of their own.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(dispatch(cli));
    // A host that keeps our stdin open must not keep us alive.
    runtime.shutdown_background();
    done
}

async fn dispatch(cli: Cli) -> anyhow::Result<Done> {
    let load = || Settings::load(cli.home.clone(), cli.config.clone());
    match cli.command {
        Command::Wrap(args) => wrap::run(load()?, args).await,
        Command::Serve(args) => serve::run(load()?, args).await,
        Command::Open(args) => open::run(load()?, &args, cli.json).await,
        Command::Pending => questions::pending(&load()?, cli.json).await,
        Command::Watch => watch::run(&load()?, cli.json).await,
        Command::Show(args) => questions::show(&load()?, &args.id, cli.json).await,
        Command::Approve(args) => approve::approve(&load()?, &args, cli.json).await,
        Command::Deny(args) => approve::deny(&load()?, &args, cli.json).await,
        Command::Respond(args) => approve::respond(&load()?, &args, cli.json).await,
        Command::Resolve(args) => approve::resolve(&load()?, &args, cli.json).await,
        Command::Grants(command) => grants::run(&load()?, &command, cli.json).await,
        Command::Freeze(args) => regime::freeze(&load()?, &args, cli.json).await,
        Command::Thaw(args) => regime::thaw(&load()?, &args, cli.json).await,
        Command::Panic(args) => regime::panic(&load()?, &args, cli.json).await,
        Command::Tools(args) => match args.review {
            Some(ToolsCommand::Review(review)) => review::run(&load()?, &review, cli.json).await,
            Some(ToolsCommand::Accept(accept)) => accept::run(&load()?, &accept, cli.json).await,
            None => tools::run(&load()?, args.server.as_deref(), &args.command, cli.json).await,
        },
        Command::Connect(args) => connect::run(&load()?, &args, cli.json).await,
        Command::Disconnect(args) => connect::disconnect(&load()?, &args.server, cli.json).await,
        Command::People(command) => people::run(&load()?, command, cli.json).await,
        Command::Clients(command) => clients::run(&load()?, command, cli.json).await,
        Command::RevokeAll(args) => clients::revoke_all(&load()?, &args, cli.json).await,
        Command::Keys(command) => keys::run(&load()?, command, cli.json).await,
        Command::Budgets => budgets::run(&load()?, cli.json).await,
        Command::Policy(command) => policy::run(&load()?, &command, cli.json).await,
        Command::Audit(AuditCommand::Verify(args)) => audit::verify(&load()?, &args, cli.json).await,
        Command::Audit(AuditCommand::Checkpoint(args)) => audit::checkpoint(&load()?, &args).await,
        Command::Audit(AuditCommand::Export(args)) => audit::export(&load()?, &args, cli.json).await,
        Command::Audit(AuditCommand::Prune(args)) => audit::prune(&load()?, &args, cli.json).await,
        Command::Audit(AuditCommand::List(args)) => audit::list(&load()?, args.last, cli.json).await,
        Command::Figures(args) => figures::run(&load()?, &args.org, cli.json).await,
        Command::Receipt(command) => receipt::run(&load, &command, cli.json).await,
        Command::Purge(args) => purge::run(&load()?, &args, cli.json).await,
        Command::Doctor(args) => match args.oauth {
            Some(url) => {
                let account = args.user.map(|user| (args.org, user));
                doctor::oauth::run(&load()?, url, account, cli.json).await
            }
            None => doctor::run(&load()?, cli.json).await,
        },
        Command::Demo(args) => demo::run(args.yes).await,
        Command::DemoServer => demo::serve(),
        Command::MarkdownHelp => help::markdown(),
        Command::Openapi => help::openapi(),
        Command::Guard(_) => Ok(Done::Ok),
    }
}

/// Who is at the command line, as far as that can be told.
fn by_this_account() -> String {
    format!("account {} at the command line", rustix::process::getuid().as_raw())
}
