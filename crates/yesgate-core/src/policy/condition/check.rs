//! What a condition may say: refuses at load whatever could only fail, or run long, later.

mod exact;

use cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue};
use cel::parser::Expression;
use jiff::tz::TimeZone;

use self::exact::{is_exact, only_compared, under};
use super::super::error::{hint_for, listed};
use super::super::reader::shown;
use super::world::ZONES;
use super::{CompileError, LONGEST_CONDITION, Loops, Measures, Root, functions};
use crate::id::BudgetName;

/// A condition that may be evaluated.
pub(super) struct Checked {
    pub(super) expression: Expression,
    pub(super) reads: Vec<Root>,
    pub(super) budgets: Vec<BudgetName>,
    pub(super) zones: Vec<TimeZone>,
    pub(super) loops: Loops,
    pub(super) measures: Measures,
}

pub(super) fn parse(source: &str) -> Result<Checked, CompileError> {
    if source.trim().is_empty() {
        return Err(CompileError::plain("the condition is empty"));
    }
    if source.len() > LONGEST_CONDITION {
        return Err(CompileError::plain(format!("the condition is longer than {LONGEST_CONDITION} bytes")));
    }
    // A chain of operators is as deep for the parser as it is long.
    let operators = source.bytes().filter(|byte| b"+-*/%<>=!.[({?".contains(byte)).count();
    if operators > MOST_OPERATORS {
        return Err(CompileError::plain("the condition has too many operators"));
    }
    let parser = functions::environment()?.parser().max_recursion_depth(DEEPEST_NESTING);
    let (mut expression, spans) = parser.parse_with_source_info(source).map_err(|errors| {
        let first = errors.errors.first();
        let words = first.map_or("it cannot be read", |error| error.msg.as_str());
        let words = if words.contains("ecursion") {
            "it is nested too deeply"
        } else if words.contains("<EOF>") {
            "it ends too early"
        } else {
            words.split(" expecting").next().unwrap_or(words).trim_start_matches("Syntax error: ")
        };
        let (line, character) = first.map_or((1, 1), |error| (error.pos.0.max(1), error.pos.1.max(1)));
        let place = if source.contains('\n') {
            format!("line {line}, character {character}")
        } else {
            format!("character {character}")
        };
        CompileError::plain(format!("cannot read the condition at {place}: {}", shown(words)))
    })?;
    let literal = |node: &IdedExpr| {
        let (start, last) = spans.offset_for(node.id)?;
        source.get(usize::try_from(start).ok()?..=usize::try_from(last).ok()?)
    };
    let mut checker = Checker {
        literal: &literal,
        loop_variables: Vec::new(),
        reads: Vec::new(),
        budgets: Vec::new(),
        zones: Vec::new(),
        loops: Loops::Never,
        measures: Measures::Nothing,
    };
    checker.visit(&mut expression, 0)?;
    let Checker { reads, budgets, zones, loops, measures, .. } = checker;
    Ok(Checked { expression, reads, budgets, zones, loops, measures })
}

struct Checker<'s> {
    /// The text of a literal as it was written.
    literal: &'s dyn Fn(&IdedExpr) -> Option<&'s str>,
    loop_variables: Vec<String>,
    reads: Vec<Root>,
    budgets: Vec<BudgetName>,
    zones: Vec<TimeZone>,
    loops: Loops,
    measures: Measures,
}

impl Checker<'_> {
    fn visit(&mut self, node: &mut IdedExpr, depth: usize) -> Result<(), CompileError> {
        if depth > DEEPEST_TREE {
            return Err(CompileError::plain("the condition is nested too deeply"));
        }
        match &mut node.expr {
            Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                if let Expr::Call(call) = &select.operand.expr
                    && call.func_name == "at"
                {
                    let zone = self.zone(call)?;
                    select.operand.expr = under(ZONES, zone);
                    return field_of(Root::Time, &select.field);
                }
                if let Expr::Ident(root) = &select.operand.expr
                    && !self.loop_variables.contains(root)
                    && let Some(root) = Root::named(root)
                    && root.fields().is_some()
                {
                    self.read(root);
                    return field_of(root, &select.field);
                }
                self.visit(&mut select.operand, depth + 1)
            }
            Expr::Call(call) => self.call(call, depth),
            Expr::List(list) => list.elements.iter_mut().try_for_each(|item| self.visit(item, depth + 1)),
            Expr::Map(map) => map.entries.iter_mut().try_for_each(|entry| self.map_entry(entry, depth)),
            Expr::Comprehension(comprehension) => self.comprehension(comprehension, depth),
            Expr::Struct(_) => Err(CompileError::plain("a condition has no types of its own")),
            Expr::Unspecified => Err(CompileError::plain("a part of the condition is missing")),
        }
    }

    fn name(&mut self, name: &str) -> Result<(), CompileError> {
        if name.starts_with('@') || self.loop_variables.iter().any(|variable| variable == name) {
            return Ok(());
        }
        let Some(root) = Root::named(name) else {
            let roots = Root::ALL.map(Root::name);
            return Err(CompileError::hinting(
                format!("unknown name `{}`", shown(name)),
                hint_for(name, &roots),
            ));
        };
        match root.fields() {
            None => {
                self.read(root);
                Ok(())
            }
            Some(fields) => {
                let message = format!("`{name}` needs a field: {}", listed(fields));
                let first = fields.first().copied().unwrap_or_default();
                Err(CompileError::hinting(message, format!("write `{name}.{first}`")))
            }
        }
    }

    fn read(&mut self, root: Root) {
        if !self.reads.contains(&root) {
            self.reads.push(root);
        }
    }

    fn call(&mut self, call: &mut CallExpr, depth: usize) -> Result<(), CompileError> {
        let name = call.func_name.as_str();
        let is_operator = OPERATORS.contains(&name);
        if !is_operator && !functions::NAMES.contains(&name) {
            let message = format!("unknown function `{}`", shown(name));
            return Err(CompileError::hinting(message, hint_for(name, &functions::NAMES)));
        }
        if COMPARISONS.contains(&name) {
            return self.comparison(call, depth);
        }
        match name {
            "decimal" | "spent" => return Err(only_compared(name)),
            "_+_" | "_-_" | "_*_" | "_/_" | "_%_" if call.args.iter().any(is_exact) => {
                return Err(only_compared("decimal"));
            }
            "at" => {
                return Err(CompileError::hinting(
                    "`time.at(…)` needs a field",
                    "write `time.at(\"Europe/Berlin\").hour`",
                ));
            }
            "matches" => check_pattern(call)?,
            "under" => check_root(call)?,
            _ => {}
        }
        self.operands(call, depth)
    }

    fn operands(&mut self, call: &mut CallExpr, depth: usize) -> Result<(), CompileError> {
        if let Some(target) = &mut call.target {
            self.visit(target, depth + 1)?;
        }
        call.args.iter_mut().try_for_each(|argument| self.visit(argument, depth + 1))
    }

    fn map_entry(&mut self, entry: &mut IdedEntryExpr, depth: usize) -> Result<(), CompileError> {
        match &mut entry.expr {
            EntryExpr::MapEntry(entry) => {
                self.visit(&mut entry.key, depth + 1)?;
                self.visit(&mut entry.value, depth + 1)
            }
            EntryExpr::StructField(_) => Err(CompileError::plain("a condition has no types of its own")),
        }
    }

    fn comprehension(&mut self, loops: &mut ComprehensionExpr, depth: usize) -> Result<(), CompileError> {
        if !self.loop_variables.is_empty() || holds_comprehension(&loops.iter_range) {
            return Err(CompileError::hinting(
                "a loop inside a loop can take very long",
                "use `all`, `exists`, `filter` and `map` beside each other, not within each other",
            ));
        }
        for variable in std::iter::once(&loops.iter_var).chain(&loops.iter_var2) {
            if Root::named(variable).is_some() {
                return Err(CompileError::plain(format!(
                    "`{variable}` already has a meaning; choose another name"
                )));
            }
        }
        self.loops = Loops::Once;
        self.visit(&mut loops.iter_range, depth + 1)?;
        self.visit(&mut loops.accu_init, depth + 1)?;
        self.loop_variables.push(loops.iter_var.clone());
        self.loop_variables.extend(loops.iter_var2.clone());
        self.visit(&mut loops.loop_cond, depth + 1)?;
        self.visit(&mut loops.loop_step, depth + 1)?;
        self.visit(&mut loops.result, depth + 1)?;
        self.loop_variables.clear();
        Ok(())
    }
}

fn field_of(root: Root, field: &str) -> Result<(), CompileError> {
    let fields = root.fields().unwrap_or_default();
    if fields.contains(&field) {
        return Ok(());
    }
    let message = format!("`{}` has no `{}`", root.name(), shown(field));
    Err(CompileError::hinting(message, hint_for(field, fields)))
}

fn holds_comprehension(node: &IdedExpr) -> bool {
    match &node.expr {
        Expr::Comprehension(_) => true,
        Expr::Call(call) => call.target.iter().map(AsRef::as_ref).chain(&call.args).any(holds_comprehension),
        Expr::Select(select) => holds_comprehension(&select.operand),
        Expr::List(list) => list.elements.iter().any(holds_comprehension),
        Expr::Map(_) | Expr::Struct(_) | Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => false,
    }
}

/// A pattern must be written out, so that it is known to be one before any call comes.
fn check_pattern(call: &CallExpr) -> Result<(), CompileError> {
    match call.args.last().map(|pattern| &pattern.expr) {
        Some(Expr::Literal(LiteralValue::String(pattern))) => functions::check_pattern(pattern),
        Some(_) | None => Err(CompileError::plain("the pattern of `matches` must be written out in quotes")),
    }
}

fn check_root(call: &CallExpr) -> Result<(), CompileError> {
    match call.args.last().map(|root| &root.expr) {
        Some(Expr::Literal(LiteralValue::String(root))) => functions::check_root(root),
        Some(_) | None => Err(CompileError::plain("the root of `under` must be written out in quotes")),
    }
}

const COMPARISONS: [&str; 6] = ["_==_", "_!=_", "_<_", "_<=_", "_>_", "_>=_"];

/// The operators, and one that loops are made of.
const OPERATORS: [&str; 19] = [
    "_==_",
    "_!=_",
    "_<_",
    "_<=_",
    "_>_",
    "_>=_",
    "_&&_",
    "_||_",
    "!_",
    "_?_:_",
    "_+_",
    "_-_",
    "_*_",
    "_/_",
    "_%_",
    "-_",
    "_[_]",
    "@in",
    "@not_strictly_false",
];

const DEEPEST_NESTING: u16 = 8;
const DEEPEST_TREE: usize = 32;
const MOST_OPERATORS: usize = 1000;
