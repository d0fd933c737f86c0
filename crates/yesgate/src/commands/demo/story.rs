//! The story of the demo, in the order in which it is told. Each part stands on what really came back.

use std::time::Duration;

use anyhow::{Context as _, bail};
use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use super::agent::{Agent, Answer, Held, Ran, Refused, ToolUse};
use super::human::{Question, Yesgate};
use super::screen::{Mark, Screen, Who};

/// Who plays the human.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Human {
    /// A person, in another terminal.
    Person,
    /// The demo itself.
    Played,
}

/// How the story ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Ending {
    /// It was told to the end.
    Told,
    /// Nobody answered the question.
    NobodyAnswered,
}

/// Everybody on the stage.
#[derive(Debug)]
pub(super) struct Story<'a> {
    pub(super) agent: &'a mut Agent,
    pub(super) yesgate: &'a Yesgate,
    pub(super) screen: &'a Screen,
    pub(super) human: Human,
}

impl Story<'_> {
    pub(super) async fn tell(&mut self) -> anyhow::Result<Ending> {
        self.introduce().await?;
        self.read_passes().await?;
        match self.human_decides().await? {
            Ending::Told => {}
            Ending::NobodyAnswered => return Ok(Ending::NobodyAnswered),
        }
        self.token_is_for_one_call().await?;
        self.rule_rejects().await?;
        self.books_agree().await?;
        Ok(Ending::Told)
    }

    async fn introduce(&mut self) -> anyhow::Result<()> {
        let tools = self.agent.greet().await?;
        let version = env!("CARGO_PKG_VERSION");
        self.screen.prose(&format!(
            "Yesgate {version}: a scripted agent, a mock server with {tools} tools, and the real gate between \
             them. Nothing is really bought, paid or deployed."
        ))?;
        let home = self.yesgate.home().display();
        self.screen.unbroken(&format!("Ledger and policy, removed at the end: {home}"))
    }

    async fn read_passes(&mut self) -> anyhow::Result<()> {
        self.screen.heading("1. A read passes")?;
        let call = ToolUse { tool: "get_plan", arguments: json!({}) };
        self.screen.says(Who::Agent, call.words())?;
        let ran = ran(self.agent.call(&call).await?)?;
        self.screen.marked(Who::Gate, Mark::Passed, "it on: the server says that this tool only reads")?;
        self.screen.says(Who::Server, ran.words)
    }

    /// A call that waits until a human answers elsewhere: the agent is not in the path of the yes.
    async fn human_decides(&mut self) -> anyhow::Result<Ending> {
        self.screen.heading("2. A dangerous call waits for a human, away from the agent")?;
        let call = ToolUse { tool: "upgrade_plan", arguments: json!({"to": "scale"}) };
        self.screen.says(Who::Agent, call.words())?;
        let (agent, yesgate, screen, human) = (&mut *self.agent, self.yesgate, self.screen, self.human);
        let answer = answer_of(agent, &call);
        tokio::pin!(answer);
        let question = tokio::select! {
            question = asked(yesgate) => question?,
            answer = &mut answer => bail!("the call was not held: {:?}", answer?),
        };
        screen.marked(Who::Gate, Mark::Held, "it back: the server has not seen it. The question to you:")?;
        let details = format!("match code {}, question {}", question.match_code, question.id);
        screen.question(&question.summary, details)?;
        let answer = match human {
            Human::Person => {
                ask_person(screen, yesgate, &question)?;
                let answer = wait_for(screen, answer.as_mut()).await;
                screen.waited()?;
                answer?
            }
            Human::Played => {
                let both = async { tokio::try_join!(answer, say_yes(screen, yesgate, &question)) };
                let answered = timeout(HURRY, both).await;
                let (answer, ()) =
                    answered.context("the call was approved, and the gate does not answer")??;
                Some(answer)
            }
        };
        match answer {
            Some(Answer::Ran(ran)) => {
                if human == Human::Person {
                    screen.says(Who::You, "yes")?;
                }
                show_run(screen, &ran)?;
                screen.says(Who::Agent, "gets this as the answer to the call it made")?;
                Ok(Ending::Told)
            }
            Some(answer @ (Answer::Held(_) | Answer::Refused(_))) => {
                let denied = refused(answer, "denied")?;
                screen.says(Who::You, "no")?;
                show_refusal(screen, &denied)?;
                Ok(Ending::Told)
            }
            None => Ok(Ending::NobodyAnswered),
        }
    }

    /// A yes in the conversation: the agent relays it with a token that fits one call, once.
    async fn token_is_for_one_call(&mut self) -> anyhow::Result<()> {
        let screen = self.screen;
        screen.heading("3. A yes in the chat: its token fits one call, once")?;
        let pay = |amount: &str| ToolUse {
            tool: "pay",
            arguments: json!({"amount": amount, "currency": "EUR", "to": "Ann"}),
        };
        let (asked, other) = (pay("12.50"), pay("1250.00"));
        screen.says(Who::Agent, asked.words())?;
        let held = held(self.agent.call(&asked).await?)?;
        let token = held.token.context("the gate gave the agent no token")?;
        screen.marked(Who::Gate, Mark::Held, "it back: the agent gets a token, and is to show you this:")?;
        let details =
            format!("match code {}, to be confirmed within {} s", held.match_code, held.ttl_seconds);
        screen.question(&held.summary, details)?;
        screen.says(Who::You, "yes, in the chat (scripted)")?;

        screen.says(Who::Agent, format_args!("{} with the token", other.words()))?;
        let mismatch = refused(self.agent.confirm(&other, &token).await?, "consent_token_mismatch")?;
        show_refusal(screen, &mismatch)?;

        screen.says(Who::Agent, format_args!("{} with the token", asked.words()))?;
        let ran = ran(self.agent.confirm(&asked, &token).await?)?;
        screen.marked(
            Who::Gate,
            Mark::Passed,
            "it on: this is the call that was shown; the token is spent",
        )?;
        show_run(screen, &ran)?;

        screen.says(Who::Agent, "the same once more, with the same token")?;
        let replay = refused(self.agent.confirm(&asked, &token).await?, "consent_token_invalid")?;
        show_refusal(screen, &replay)
    }

    async fn rule_rejects(&mut self) -> anyhow::Result<()> {
        self.screen.heading("4. What a rule rejects, nobody is asked about")?;
        let arguments = json!({"service": "shop", "environment": "production"});
        let call = ToolUse { tool: "deploy", arguments };
        self.screen.says(Who::Agent, call.words())?;
        let refused = refused(self.agent.call(&call).await?, "policy_denied")?;
        show_refusal(self.screen, &refused)
    }

    /// What the server saw, and whether the ledger is whole.
    async fn books_agree(&mut self) -> anyhow::Result<()> {
        let screen = self.screen;
        screen.heading("5. What the server saw, and what the gate wrote down")?;
        let call = ToolUse { tool: "call_counts", arguments: json!({}) };
        let counts = ran(self.agent.call(&call).await?)?;
        screen.says(Who::Server, format_args!("counted its runs: {}", counts.words))?;
        let words = ["audit", "verify"];
        screen.says(Who::You, "verify the chain of the ledger:")?;
        screen.command(&self.yesgate.shell_command(&words))?;
        let printed = self.yesgate.run(&words).await?;
        for line in &printed.lines {
            screen.more(line)?;
        }
        anyhow::ensure!(printed.code == Some(0), "the audit trail of the demo is not sound");
        Ok(())
    }
}

/// Makes a call and waits for as long as it takes: a call that was held long enough is made again, and
/// finds the same question.
async fn answer_of(agent: &mut Agent, call: &ToolUse) -> anyhow::Result<Answer> {
    loop {
        match agent.call(call).await? {
            Answer::Held(_) => {}
            answer @ (Answer::Ran(_) | Answer::Refused(_)) => return Ok(answer),
        }
    }
}

/// The question, as soon as the gate has put it.
async fn asked(yesgate: &Yesgate) -> anyhow::Result<Question> {
    let look = async {
        loop {
            if let Some(question) = yesgate.pending().await? {
                return Ok(question);
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(HURRY, look).await.context("the gate asked nobody")?
}

fn ask_person(screen: &Screen, yesgate: &Yesgate, question: &Question) -> anyhow::Result<()> {
    screen.says(Who::You, "approve it in another terminal:")?;
    screen.command(&yesgate.shell_command(&["approve", question.id.as_str()]))?;
    screen.more("It shows the same code, and asks. To say no, write `deny` instead.")
}

async fn say_yes(screen: &Screen, yesgate: &Yesgate, question: &Question) -> anyhow::Result<()> {
    let words = ["approve", question.id.as_str(), "--yes"];
    screen.says(Who::You, "approve it (the demo plays your part, in another process):")?;
    screen.command(&yesgate.shell_command(&words))?;
    let printed = yesgate.run(&words).await?;
    for line in &printed.lines {
        screen.more(line)?;
    }
    anyhow::ensure!(printed.code == Some(0), "the approval failed");
    Ok(())
}

/// Waits for the answer to the call, and shows that. None: it did not come in time.
async fn wait_for(
    screen: &Screen,
    mut answer: impl Future<Output = anyhow::Result<Answer>> + Unpin,
) -> anyhow::Result<Option<Answer>> {
    screen.starts_waiting("your answer", PATIENCE)?;
    let start = Instant::now();
    let mut seconds = interval(Duration::from_secs(1));
    seconds.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            answer = &mut answer => return Ok(Some(answer?)),
            now = seconds.tick() => {
                let since = now.saturating_duration_since(start);
                if since >= PATIENCE {
                    return Ok(None);
                }
                screen.waiting("your answer", since, PATIENCE)?;
            }
        }
    }
}

fn show_run(screen: &Screen, ran: &Ran) -> anyhow::Result<()> {
    let run = ran.run.context("the server did not count the call")?;
    anyhow::ensure!(run == 1, "the server ran a call {run} times");
    screen.marked(Who::Server, Mark::Ran, format_args!("it once: {}", ran.words))
}

fn show_refusal(screen: &Screen, refused: &Refused) -> anyhow::Result<()> {
    // The first words say what happened; what follows tells the agent what to do next.
    let words = match refused.message.as_str().split_once(NOTHING_RAN) {
        Some((what, _)) => format!("{what}{NOTHING_RAN}"),
        None => refused.message.to_string(),
    };
    screen.marked(Who::Gate, Mark::Refused, format_args!("it ({}). {words}", refused.code))
}

fn ran(answer: Answer) -> anyhow::Result<Ran> {
    match answer {
        Answer::Ran(ran) => Ok(ran),
        Answer::Held(_) | Answer::Refused(_) => bail!("a call that should have run did not: {answer:?}"),
    }
}

fn held(answer: Answer) -> anyhow::Result<Held> {
    match answer {
        Answer::Held(held) => Ok(held),
        Answer::Ran(_) | Answer::Refused(_) => bail!("a call that should have been held was not: {answer:?}"),
    }
}

fn refused(answer: Answer, code: &str) -> anyhow::Result<Refused> {
    match answer {
        Answer::Refused(refused) if refused.code.as_str() == code => Ok(refused),
        Answer::Refused(_) | Answer::Ran(_) | Answer::Held(_) => {
            bail!("a call should have been refused with `{code}` and was not: {answer:?}")
        }
    }
}

const NOTHING_RAN: &str = "Nothing ran.";

/// How long anything may take that waits for no person.
const HURRY: Duration = Duration::from_secs(60);

/// How long a person has to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(5 * 60);
