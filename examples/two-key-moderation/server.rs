//! Moderation as an MCP server. It knows nothing of keys: whatever reaches it, is done.

use std::sync::{Mutex, PoisonError};

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::CallToolResult;
use rmcp::schemars::{self, JsonSchema};
use rmcp::{tool, tool_router};
use serde::Deserialize;
use serde_json::{Value, json};
use yesgate_examples::Journal;

#[derive(Debug)]
struct Chat {
    posts: Mutex<Vec<Post>>,
    journal: Journal,
}

#[derive(Debug)]
struct Post {
    id: u64,
    by: &'static str,
    text: &'static str,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Ban {
    /// Who is banned.
    user: String,
    /// Why, for the log of the chat.
    reason: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Deletion {
    /// The number of the post.
    id: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Notice {
    /// The address of the hook.
    url: String,
    /// The secret of the hook.
    token: String,
    /// What everybody is told.
    text: String,
}

#[tool_router(server_handler)]
impl Chat {
    #[tool(description = "Lists the posts.", annotations(read_only_hint = true))]
    fn list_posts(&self) -> CallToolResult {
        let posts = self.posts.lock().unwrap_or_else(PoisonError::into_inner);
        let post = |post: &Post| json!({"id": post.id, "by": post.by, "text": post.text});
        let posts: Vec<Value> = posts.iter().map(post).collect();
        CallToolResult::structured(json!({ "posts": posts }))
    }

    #[tool(description = "Bans a user for good.")]
    fn ban_user(&self, Parameters(Ban { user, reason }): Parameters<Ban>) -> CallToolResult {
        self.journal.write(&format!("banned {user}: {reason}"));
        CallToolResult::structured(json!({"banned": user}))
    }

    #[tool(description = "Deletes a post for good.")]
    fn delete_post(&self, Parameters(Deletion { id }): Parameters<Deletion>) -> CallToolResult {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner).retain(|post| post.id != id);
        self.journal.write(&format!("deleted post {id}"));
        CallToolResult::structured(json!({"deleted": id}))
    }

    #[tool(description = "Tells everybody something through a hook.")]
    fn run_hook(&self, Parameters(Notice { url, token, text }): Parameters<Notice>) -> CallToolResult {
        if token.is_empty() {
            return CallToolResult::structured_error(json!({"error": "the hook wants its secret"}));
        }
        self.journal.write(&format!("told everybody at {url}: {text}"));
        CallToolResult::structured(json!({"told": text}))
    }
}

/// Serves one client over stdio until it goes.
pub(crate) async fn serve(journal: Journal) -> anyhow::Result<()> {
    let posts = vec![
        Post { id: 41, by: "ann", text: "hello" },
        Post { id: 42, by: "spammer77", text: "cheap pills" },
    ];
    let chat = Chat { posts: Mutex::new(posts), journal };
    rmcp::serve_server(chat, rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
