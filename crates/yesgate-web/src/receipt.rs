//! The receipt of a question that is over, to be kept elsewhere.

use crate::answer::{self, Answer};
use crate::site::{Site, Trouble, Visit};
use crate::visit::Visitor;

impl Site {
    pub(crate) async fn receipt(&self, visit: &Visit, visitor: &Visitor) -> Result<Answer, Trouble> {
        let intent = self.find(visit, visitor).await?;
        let receipt = intent.receipt().ok_or(Trouble::NotFound)?;
        let signed = self.receipts().sign(receipt).and_then(|signed| signed.text()).map_err(|error| {
            tracing::error!(intent.id = %intent.id(), %error, "a receipt could not be made: {error}");
            Trouble::Nonsense("the receipt cannot be written down")
        })?;
        Ok(answer::download(&format!("{}.receipt.json", intent.id()), format!("{signed}\n")))
    }
}
