//! What a condition may say of money and of places: exact amounts, what was spent, the time in a time zone.
//!
//! INVARIANT: whatever stands in a comparison with an amount is an amount before the condition is ever
//! evaluated; budgets and time zones are written out, so that they are known before any call comes.

use cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue, SelectExpr};
use jiff::tz::TimeZoneDatabase;

use super::super::super::reader::shown;
use super::super::world::SPENT;
use super::super::{CompileError, Measures, Root};
use super::{Checker, DEEPEST_TREE};
use crate::amount::Amount;
use crate::id::BudgetName;

impl Checker<'_> {
    /// A comparison with a decimal has decimals on both sides; a number written there becomes one as it
    /// is written, so that no limit goes through floating point.
    pub(super) fn comparison(&mut self, call: &mut CallExpr, depth: usize) -> Result<(), CompileError> {
        if !call.args.iter().any(is_exact) {
            return self.operands(call, depth);
        }
        self.measures = Measures::Amounts;
        call.args.iter_mut().try_for_each(|side| self.exact(side, depth + 1))
    }

    /// One side of such a comparison: a number, `decimal(…)`, `spent(…)`, or a sum of these.
    fn exact(&mut self, side: &mut IdedExpr, depth: usize) -> Result<(), CompileError> {
        if depth > DEEPEST_TREE {
            return Err(CompileError::plain("the condition is nested too deeply"));
        }
        match &mut side.expr {
            Expr::Literal(number) => {
                let number = number.clone();
                let amount = self.written_amount(side, &number)?;
                side.expr = decimal_of(amount);
                Ok(())
            }
            Expr::Call(inner) if inner.func_name == "decimal" => self.decimal(side, depth),
            Expr::Call(inner) if inner.func_name == "spent" => {
                let name = self.budget(inner)?;
                side.expr = under(SPENT, name);
                Ok(())
            }
            Expr::Call(inner) if inner.func_name == "_+_" => {
                inner.args.iter_mut().try_for_each(|side| self.exact(side, depth + 1))
            }
            Expr::Call(inner) if inner.func_name == "_-_" => Err(CompileError::hinting(
                "amounts are added and never taken away",
                "write `a + b > c` in place of `a > c - b`",
            )),
            Expr::Call(_)
            | Expr::Unspecified
            | Expr::Comprehension(_)
            | Expr::Ident(_)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::Select(_)
            | Expr::Struct(_) => Err(CompileError::hinting(
                "`decimal(…)` is compared with a number or another `decimal(…)`",
                "put `decimal(…)` around both sides",
            )),
        }
    }

    /// The budget that `spent("name")` speaks of.
    fn budget(&mut self, call: &CallExpr) -> Result<String, CompileError> {
        let name = written_out(call)
            .and_then(|name| name.parse::<BudgetName>().ok())
            .filter(|_| call.target.is_none())
            .ok_or_else(|| {
                CompileError::hinting(
                    "`spent(…)` takes the name of a budget, in quotes",
                    "write `spent(\"daily\")`",
                )
            })?;
        let text = name.to_string();
        if !self.budgets.contains(&name) {
            self.budgets.push(name);
        }
        Ok(text)
    }

    /// The time zone that `time.at("zone")` speaks of.
    pub(super) fn zone(&mut self, call: &CallExpr) -> Result<String, CompileError> {
        let wrong = |message: String| {
            CompileError::hinting(
                message,
                "write `time.at(\"Europe/Berlin\").hour`, with a name of the IANA list",
            )
        };
        let on_time = call.target.as_ref().is_some_and(|target| match &target.expr {
            Expr::Ident(name) => name == Root::Time.name(),
            Expr::Call(_)
            | Expr::Unspecified
            | Expr::Comprehension(_)
            | Expr::Literal(_)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::Select(_)
            | Expr::Struct(_) => false,
        });
        let Some(name) = written_out(call).filter(|_| on_time) else {
            return Err(wrong("`time.at(…)` takes the name of a time zone, in quotes".to_owned()));
        };
        let zone = TimeZoneDatabase::bundled()
            .get(name)
            .map_err(|_| wrong(format!("there is no time zone `{}`", shown(name))))?;
        // The list is not particular about case; what is looked up is.
        let name = zone.iana_name().unwrap_or(name).to_owned();
        self.read(Root::Time);
        if !self.zones.contains(&zone) {
            self.zones.push(zone);
        }
        Ok(name)
    }

    fn decimal(&mut self, side: &mut IdedExpr, depth: usize) -> Result<(), CompileError> {
        let Expr::Call(call) = &mut side.expr else { return Ok(()) };
        let ([argument], None) = (call.args.as_mut_slice(), &call.target) else {
            return Err(CompileError::plain("`decimal(…)` takes one argument"));
        };
        if let Expr::Literal(number) = &argument.expr {
            let amount = self.written_amount(argument, number)?;
            side.expr = decimal_of(amount);
            return Ok(());
        }
        self.visit(argument, depth + 1)
    }

    /// The exact amount that a literal in the condition stands for.
    fn written_amount(&self, node: &IdedExpr, literal: &LiteralValue) -> Result<Amount, CompileError> {
        let text = match literal {
            LiteralValue::String(text) => text.inner().to_owned(),
            LiteralValue::Int(number) => number.inner().to_string(),
            LiteralValue::UInt(number) => number.inner().to_string(),
            LiteralValue::Double(number) => {
                let sign = if number.inner().is_sign_negative() { "-" } else { "" };
                format!("{sign}{}", (self.literal)(node).unwrap_or_default())
            }
            LiteralValue::Boolean(_) | LiteralValue::Bytes(_) | LiteralValue::Null => String::new(),
        };
        text.parse().map_err(|error| {
            CompileError::plain(format!("`{}` cannot be compared with a decimal: {error}", shown(&text)))
        })
    }
}

/// Whether a part of a condition is an exact amount.
pub(super) fn is_exact(node: &IdedExpr) -> bool {
    match &node.expr {
        Expr::Call(call) => match call.func_name.as_str() {
            "decimal" | "spent" => true,
            "_+_" | "_-_" => call.args.iter().any(is_exact),
            _ => false,
        },
        Expr::Unspecified
        | Expr::Comprehension(_)
        | Expr::Ident(_)
        | Expr::List(_)
        | Expr::Literal(_)
        | Expr::Map(_)
        | Expr::Select(_)
        | Expr::Struct(_) => false,
    }
}

pub(super) fn only_compared(name: &str) -> CompileError {
    let (message, hint) = match name {
        "spent" => ("`spent(…)` can only be added and compared", "write `spent(\"daily\") > 5.00`"),
        _ => ("`decimal(…)` can only be added and compared", "write `decimal(args.amount) > 5.00`"),
    };
    CompileError::hinting(message, hint)
}

/// The one argument of a call, if it is a text in quotes.
fn written_out(call: &CallExpr) -> Option<&str> {
    match call.args.as_slice() {
        [IdedExpr { expr: Expr::Literal(LiteralValue::String(text)), .. }] => Some(text.inner()),
        [] | [..] => None,
    }
}

/// What stands under a name of ours.
pub(super) fn under(root: &str, key: String) -> Expr {
    let operand = Box::new(IdedExpr { id: 0, expr: Expr::Ident(root.to_owned()) });
    Expr::Select(SelectExpr { operand, field: key, test: false })
}

fn decimal_of(amount: Amount) -> Expr {
    let text = IdedExpr { id: 0, expr: Expr::Literal(LiteralValue::String(amount.to_string().into())) };
    Expr::Call(CallExpr { func_name: "decimal".to_owned(), target: None, args: vec![text] })
}
