//! What was spent in each budget, what is left, and when it is free again.

use askama::Template;
use http::StatusCode;

use crate::answer::{self, Answer};
use crate::desk::BudgetLine;
use crate::site::{Site, Trouble};
use crate::view::{Frame, Tab, moment};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "budgets.html")]
struct Page {
    frame: Frame,
    /// Each budget, and when it is free again.
    budgets: Vec<(BudgetLine, Option<String>)>,
}

impl Site {
    pub(crate) async fn budgets(&self, visitor: &Visitor) -> Result<Answer, Trouble> {
        let budgets = self.desk.budgets(&visitor.person.org).await?;
        let budgets = budgets.into_iter().map(|budget| {
            let frees = budget.frees_at.map(moment);
            (budget, frees)
        });
        let budgets = budgets.collect();
        let frame = self.frame(visitor, Tab::Budgets, "Budgets").await?;
        Ok(answer::page(StatusCode::OK, &Page { frame, budgets }))
    }
}
