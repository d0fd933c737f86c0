//! The functions of conditions, and the exact decimals they compare.

use std::any::Any;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use cel::common::traits::{Adder, Comparer};
use cel::common::types::{CelBool, CelDouble, CelInt, CelString, CelUInt, DYN_TYPE, STRING_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::{Context, DeclarationError, Env, ExecutionError};

use super::super::glob::Glob;
use super::CompileError;
use super::world::CelValue;
use crate::amount::Amount;

/// What can be called in a condition.
pub(super) const NAMES: [&str; 15] = [
    "at",
    "contains",
    "decimal",
    "double",
    "endsWith",
    "glob",
    "int",
    "lower",
    "matches",
    "size",
    "spent",
    "startsWith",
    "string",
    "uint",
    "under",
];

/// Those of them that are ours: their errors hold no values.
pub(super) const OURS: [&str; 4] = ["decimal", "glob", "lower", "under"];

/// The environment that all conditions share; it never changes.
pub(super) fn environment() -> Result<&'static Arc<Env>, CompileError> {
    static ENVIRONMENT: LazyLock<Result<Arc<Env>, DeclarationError>> = LazyLock::new(|| {
        let mut env = Env::stdlib().with_optional_support(false);
        env.add_overload("decimal", "decimal_dyn", vec![DYN_TYPE], |arguments| decimal(&arguments))?;
        env.add_overload("lower", "lower_string", vec![STRING_TYPE], |arguments| lower(&arguments))?;
        let two_strings = || vec![STRING_TYPE, STRING_TYPE];
        env.add_overload("glob", "glob_string_string", two_strings(), |arguments| glob(&arguments))?;
        env.add_overload("under", "under_string_string", two_strings(), |arguments| under(&arguments))?;
        Ok(Arc::new(env))
    });
    ENVIRONMENT.as_ref().map_err(|error| CompileError::plain(error.to_string()))
}

/// A context in which only literals have a value.
pub(super) fn bare_context() -> Result<Context<'static, 'static>, CompileError> {
    Ok(Context::with_env(Arc::clone(environment()?)))
}

/// Says whether a regular expression is one, in the engine that will run it.
pub(super) fn check_pattern(pattern: &str) -> Result<(), CompileError> {
    let wrong = |words: &str| {
        CompileError::plain(format!("the pattern of `matches` is no regular expression: {words}"))
    };
    let arguments = [CowVal::owned(CelString::from("")), CowVal::owned(CelString::from(pattern))];
    let matches =
        environment()?.find_overload("matches", &arguments).ok_or_else(|| wrong("there are none here"))?;
    match matches(arguments.into()) {
        Ok(_) => Ok(()),
        Err(ExecutionError::FunctionError { message, .. }) => {
            Err(wrong(message.lines().last().unwrap_or_default().trim_start_matches("error: ")))
        }
        Err(error) => Err(wrong(&error.to_string())),
    }
}

pub(super) fn check_root(root: &str) -> Result<(), CompileError> {
    segments(root).map(|_| ()).map_err(|words| CompileError::plain(format!("the root of `under`: {words}")))
}

type Answer<'b, 'v> = Result<CowVal<'b, 'v>, ExecutionError>;

/// `decimal(x)`: the exact amount that a number or a string stands for.
fn decimal<'b, 'v>(arguments: &[CowVal<'_, '_>]) -> Answer<'b, 'v> {
    let failed = |words: String| ExecutionError::function_error("decimal", words);
    let Some(argument) = arguments.first() else { return Err(failed("it takes one argument".to_owned())) };
    let argument = argument.as_ref();
    let amount = if let Some(text) = argument.downcast_ref::<CelString<'_>>() {
        text.inner().parse()
    } else if let Some(number) = argument.downcast_ref::<CelInt>() {
        number.inner().to_string().parse()
    } else if let Some(number) = argument.downcast_ref::<CelUInt>() {
        number.inner().to_string().parse()
    } else if let Some(number) = argument.downcast_ref::<CelDouble>() {
        Amount::of_f64(*number.inner())
    } else {
        return Err(failed(format!("{} is no amount", argument.get_type().name())));
    };
    match amount {
        Ok(amount) => Ok(CowVal::owned(Decimal(amount))),
        Err(error) => Err(failed(format!("this is no amount: {error}"))),
    }
}

/// `lower(text)`: for comparing without regard to case.
fn lower<'b, 'v>(arguments: &[CowVal<'_, '_>]) -> Answer<'b, 'v> {
    let [text] = texts("lower", arguments)?;
    Ok(CowVal::owned(CelString::from(text.to_lowercase())))
}

/// `glob(text, pattern)`: whether the whole text matches, `*` standing for any characters.
fn glob<'b, 'v>(arguments: &[CowVal<'_, '_>]) -> Answer<'b, 'v> {
    let [text, pattern] = texts("glob", arguments)?;
    Ok(CowVal::owned(CelBool::from(Glob::new(pattern).matches(text))))
}

/// `under(path, root)`: whether a path is the root or lies below it, once `.` and `..` are gone.
fn under<'b, 'v>(arguments: &[CowVal<'_, '_>]) -> Answer<'b, 'v> {
    let [path, root] = texts("under", arguments)?;
    let read = |text| segments(text).map_err(|words| ExecutionError::function_error("under", words));
    Ok(CowVal::owned(CelBool::from(read(path)?.starts_with(&read(root)?))))
}

/// The names along an absolute path. What two readers could take for two places is an error.
fn segments(path: &str) -> Result<Vec<&str>, &'static str> {
    let Some(below) = path.strip_prefix('/') else {
        return Err("only a path that begins with `/` can be placed");
    };
    if path.contains(['\\', '\0']) {
        return Err("a path with a backslash or a zero byte can be read in two ways");
    }
    let mut names = Vec::new();
    for name in below.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                if names.pop().is_none() {
                    return Err("the path climbs above `/`");
                }
            }
            _ => names.push(name),
        }
    }
    Ok(names)
}

fn texts<'a, const N: usize>(
    function: &str,
    arguments: &'a [CowVal<'_, '_>],
) -> Result<[&'a str; N], ExecutionError> {
    let texts: Option<Vec<&str>> = arguments
        .iter()
        .map(|argument| argument.as_ref().downcast_ref::<CelString<'_>>().map(CelString::inner))
        .collect();
    texts
        .and_then(|texts| texts.try_into().ok())
        .ok_or_else(|| ExecutionError::function_error(function, "it takes strings"))
}

/// An exact amount as a value.
pub(super) fn exact(amount: Amount) -> CelValue {
    Box::new(Decimal(amount))
}

/// An exact amount as a value of a condition: it has an order and sums, and nothing else.
#[derive(Clone, Copy, Debug)]
struct Decimal(Amount);

static DECIMAL_TYPE: Type = Type::new_unspecified_type("decimal");

impl Val for Decimal {
    fn get_type(&self) -> &Type {
        &DECIMAL_TYPE
    }

    fn cel_type() -> &'static Type {
        &DECIMAL_TYPE
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        Some(self)
    }

    fn as_adder<'b, 'v>(&'b self) -> Option<&'b (dyn Adder + 'v)>
    where
        Self: 'v,
    {
        Some(self)
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other.downcast_ref::<Self>().is_some_and(|other| self.0 == other.0)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(*self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Decimal {}

impl Comparer for Decimal {
    fn compare(&self, other: &dyn Val) -> Result<Ordering, ExecutionError> {
        other
            .downcast_ref::<Self>()
            .map(|other| self.0.cmp(&other.0))
            .ok_or_else(|| ExecutionError::function_error("decimal", "only two decimals can be compared"))
    }
}

impl Adder for Decimal {
    fn add<'b, 'v>(&'b self, other: &(dyn Val + 'v)) -> Answer<'b, 'v>
    where
        Self: 'v,
    {
        let failed = |words: &str| ExecutionError::function_error("decimal", words);
        let other = other.downcast_ref::<Self>().ok_or_else(|| failed("only two decimals can be added"))?;
        let sum = self.0.checked_add(other.0).ok_or_else(|| failed("the sum is too large"))?;
        Ok(CowVal::owned(Self(sum)))
    }
}
