//! `figures`: how much was asked in the last days, how it was decided, and how fast.

use serde_json::{Value, json};
use yesgate_core::id::OrgId;
use yesgate_core::render::Sanitized;
use yesgate_ledger::{Figures, Pondered};

use crate::output::{self, Done};
use crate::settings::Settings;

pub(super) async fn run(settings: &Settings, org: &OrgId, as_json: bool) -> anyhow::Result<Done> {
    let (ledger, _) = settings.ledger().await?;
    let figures = ledger.figures(org).await?;
    if as_json {
        output::json(&told(org, &figures))?;
    } else {
        print(&figures);
    }
    Ok(Done::Ok)
}

fn told(org: &OrgId, figures: &Figures) -> Value {
    let days = figures.days.iter().map(|day| {
        json!({
            "date": day.date,
            "asked": day.asked,
            "approved": day.approved,
            "denied": day.denied,
            "expired": day.expired,
        })
    });
    let people = figures.people.iter().map(|person| {
        let mut told = pondered(&person.pondered);
        if let Some(members) = told.as_object_mut() {
            members.insert("who".to_owned(), person.who.clone().into());
        }
        told
    });
    json!({
        "org": org,
        "days": days.collect::<Vec<_>>(),
        "together": pondered(&figures.together),
        "people": people.collect::<Vec<_>>(),
    })
}

fn pondered(pondered: &Pondered) -> Value {
    json!({
        "decided": pondered.decided,
        "under_2_seconds": pondered.hasty,
        "median_seconds": pondered.median.map(|median| median.as_secs_f64()),
        "is_habit": pondered.is_habit(),
    })
}

fn print(figures: &Figures) {
    let rows: Vec<Vec<String>> = figures
        .days
        .iter()
        .filter(|day| day.asked + day.approved + day.denied + day.expired > 0)
        .map(|day| {
            let counts = [day.asked, day.approved, day.denied, day.expired].map(|count| count.to_string());
            [vec![day.date.to_string()], counts.to_vec()].concat()
        })
        .collect();
    if rows.is_empty() {
        output::line("Nothing was asked in the last 30 days.");
        return;
    }
    output::table(&["DAY", "ASKED", "APPROVED", "DENIED", "EXPIRED"], &rows);
    if figures.people.is_empty() {
        return;
    }
    output::line("");
    let row = |who: String, pondered: &Pondered| {
        let median =
            pondered.median.map(|median| format!("{:.1}s", median.as_secs_f64())).unwrap_or_default();
        vec![who, pondered.decided.to_string(), median, format!("{} %", pondered.percent_hasty())]
    };
    let people = figures.people.iter().map(|one| row(Sanitized::line(&one.who).to_string(), &one.pondered));
    let all: Vec<Vec<String>> = people.chain([row("all".to_owned(), &figures.together)]).collect();
    output::table(&["WHO", "DECISIONS", "HALF WITHIN", "UNDER 2s"], &all);
    if figures.together.is_habit() || figures.people.iter().any(|one| one.pondered.is_habit()) {
        output::line("");
        output::line("The yes may have become a habit: nobody reads a call in under 2 seconds.");
        output::line("Let rules run what is harmless, or remember a yes for a while.");
    }
}
