//! The honest way to give an answer.

use std::io;

use serde_json::json;

use super::plan::{Plan, Turn, result_text};
use super::server::Server;
use super::socket::Outgoing;

/// Gives an answer as it was planned.
pub(super) async fn play(server: &Server, plan: Plan, out: &mut Outgoing) -> io::Result<()> {
    match plan {
        Plan::Whole { status, headers, body } => {
            let headers: Vec<(&str, &str)> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            out.whole(status, &headers, body.as_bytes()).await
        }
        Plan::Turns(turns) => {
            out.events(&[]).await?;
            for turn in turns {
                take(server, turn, out).await?;
            }
            out.last_chunk().await
        }
        Plan::Stream { first, mut rest } => {
            out.events(&[]).await?;
            for message in first {
                out.event(&message).await?;
            }
            while let Some(message) = rest.recv().await {
                out.event(&message).await?;
            }
            out.last_chunk().await
        }
    }
}

async fn take(server: &Server, turn: Turn, out: &mut Outgoing) -> io::Result<()> {
    match turn {
        Turn::Say(message) | Turn::Answer(message) => out.event(&message).await,
        Turn::Gate => {
            // The sender lives as long as the server.
            server.gate.subscribe().wait_for(|is_open| *is_open).await.ok();
            Ok(())
        }
        Turn::Ask { question, answer, call } => {
            out.event(&question).await?;
            let Ok(words) = answer.await else { return Ok(()) };
            let content = json!({"content": [{"type": "text", "text": words.to_string()}]});
            out.event(&result_text(&call, &content)).await
        }
    }
}
