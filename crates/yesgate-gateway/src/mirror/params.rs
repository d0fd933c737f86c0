//! The headers that repeat arguments of a call, as the tool's input schema asks for
//! (`x-mcp-header`, SEP-2243).
//!
//! INVARIANT: whatever a schema says, the headers it leads to begin with `Mcp-Param-`, are tokens,
//! and no two are the same (B14). A schema that would break this makes the tool unusable over HTTP.

use std::slice;

use http::{HeaderMap, HeaderName};
use serde_json::{Map, Number, Value};

use super::{Fault, Mismatch, decode, encode, put, single};

/// Which arguments of a tool are repeated in headers.
#[derive(Clone, Debug, Default)]
pub struct ParamHeaders(Vec<ParamHeader>);

#[derive(Clone, Debug)]
struct ParamHeader {
    header: HeaderName,
    /// The names of the properties from the arguments down to the value; at least one.
    path: Vec<String>,
}

/// A tool's input schema asks for headers that cannot be. Such a tool is left out of lists.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum InvalidParamHeader {
    /// The name is not a non-empty token (RFC 9110 §5.6.2).
    #[error("the `x-mcp-header` of `{property}` is not the name of a header")]
    Name {
        /// The property.
        property: String,
    },
    /// Another property has the same name, upper and lower case being one.
    #[error("the `x-mcp-header` of `{property}` is that of another property too")]
    Taken {
        /// The property.
        property: String,
    },
    /// Only a string, an integer or a boolean can be repeated.
    #[error("`{property}` has an `x-mcp-header`, but is neither a string, an integer nor a boolean")]
    Type {
        /// The property.
        property: String,
    },
    /// From the place where it stands nobody can tell which argument is meant.
    #[error("an `x-mcp-header` stands where it does not belong to one property of the arguments")]
    Place,
    /// No server accepts a request with that many headers.
    #[error("there are more than {MOST} properties with an `x-mcp-header`")]
    TooMany,
}

impl ParamHeaders {
    /// Reads which arguments an input schema wants to see repeated.
    ///
    /// # Errors
    /// When an `x-mcp-header` breaks one of the rules, wherever in the schema it stands.
    pub fn parse(input_schema: &Value) -> Result<Self, InvalidParamHeader> {
        let mut headers = Self::default();
        headers.read(input_schema, &mut Place::Property(Vec::new()))?;
        Ok(headers)
    }

    /// Whether no argument is repeated.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Compares the headers of a call with its arguments. A header that the schema does not name
    /// is not looked at.
    ///
    /// # Errors
    /// When a header is missing, is there more than once, or does not say what the arguments say.
    pub fn check(&self, headers: &HeaderMap, arguments: &Value) -> Result<(), Mismatch> {
        for ParamHeader { header, path } in &self.0 {
            let fault = match (single(headers, header)?, argument(arguments, path)) {
                (None, None) => continue,
                (None, Some(_)) => Fault::Missing,
                (Some(_), None) => Fault::Surplus,
                (Some(said), Some(value)) if value.is_said_by(&decode(header, said)?) => continue,
                (Some(_), Some(_)) => Fault::Different,
            };
            return Err(fault.of(header.clone()));
        }
        Ok(())
    }

    /// Writes the headers of a call, in place of what was there. A header that the schema does not
    /// name stays as it is.
    pub fn write(&self, headers: &mut HeaderMap, arguments: &Value) {
        for ParamHeader { header, path } in &self.0 {
            let value = argument(arguments, path).map(|value| encode(&value.text()));
            put(headers, header, value);
        }
    }

    /// Reads a schema, and all schemas in it. It is as deep as the JSON text that it was read
    /// from, which has a limit.
    fn read(&mut self, schema: &Value, place: &mut Place) -> Result<(), InvalidParamHeader> {
        let Value::Object(schema) = schema else { return Ok(()) };
        for (keyword, value) in schema {
            match keyword.as_str() {
                KEYWORD => self.add(schema, value, place)?,
                "properties" => self.read_properties(value, place)?,
                // The keys of these are names, not keywords.
                "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties" => {
                    for schema in value.as_object().into_iter().flat_map(Map::values) {
                        self.read(schema, &mut Place::Elsewhere)?;
                    }
                }
                // Values, in which the keyword means nothing.
                "const" | "default" | "enum" | "examples" => {}
                // One schema, or several of them.
                _ => {
                    for schema in value.as_array().map_or(slice::from_ref(value), Vec::as_slice) {
                        self.read(schema, &mut Place::Elsewhere)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn read_properties(&mut self, properties: &Value, place: &mut Place) -> Result<(), InvalidParamHeader> {
        for (name, schema) in properties.as_object().into_iter().flatten() {
            place.enter(name);
            self.read(schema, place)?;
            place.leave();
        }
        Ok(())
    }

    fn add(
        &mut self,
        schema: &Map<String, Value>,
        name: &Value,
        place: &Place,
    ) -> Result<(), InvalidParamHeader> {
        let path = match place {
            Place::Property(path) if !path.is_empty() => path.clone(),
            Place::Property(_) | Place::Elsewhere => return Err(InvalidParamHeader::Place),
        };
        let property = || path.join(".");
        let Some(header) = name.as_str().filter(|name| !name.is_empty()).and_then(header_name) else {
            return Err(InvalidParamHeader::Name { property: property() });
        };
        let Some("string" | "integer" | "boolean") = schema.get("type").and_then(Value::as_str) else {
            return Err(InvalidParamHeader::Type { property: property() });
        };
        if self.0.iter().any(|other| other.header == header) {
            return Err(InvalidParamHeader::Taken { property: property() });
        }
        if self.0.len() == MOST {
            return Err(InvalidParamHeader::TooMany);
        }
        self.0.push(ParamHeader { header, path });
        Ok(())
    }
}

const KEYWORD: &str = "x-mcp-header";
/// Servers commonly take 100 headers in all.
const MOST: usize = 64;

/// Where in an input schema a schema stands.
enum Place {
    /// It is that of one property, reached by `properties` alone; the root is reached by none.
    Property(Vec<String>),
    /// Under an array, a choice, a definition, or the like.
    Elsewhere,
}

impl Place {
    fn enter(&mut self, name: &str) {
        match self {
            Self::Property(path) => path.push(name.to_owned()),
            Self::Elsewhere => {}
        }
    }

    fn leave(&mut self) {
        match self {
            Self::Property(path) => {
                path.pop();
            }
            Self::Elsewhere => {}
        }
    }
}

fn header_name(name: &str) -> Option<HeaderName> {
    // It takes exactly the tokens of RFC 9110, in lower case from here on.
    HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes()).ok()
}

/// A value that a header can repeat.
enum Scalar<'a> {
    Text(&'a str),
    Number(&'a Number),
    Truth(bool),
}

/// The argument at a path, if there is one that a header can repeat. A `null` counts as none, and
/// so does what no schema for a repeated argument allows.
fn argument<'a>(arguments: &'a Value, path: &[String]) -> Option<Scalar<'a>> {
    match path.iter().try_fold(arguments, |value, name| value.get(name))? {
        Value::String(text) => Some(Scalar::Text(text)),
        Value::Number(number) => Some(Scalar::Number(number)),
        Value::Bool(truth) => Some(Scalar::Truth(*truth)),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

impl Scalar<'_> {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => (*text).to_owned(),
            Self::Number(number) => number.to_string(),
            Self::Truth(truth) => truth.to_string(),
        }
    }

    fn is_said_by(&self, said: &str) -> bool {
        match self {
            Self::Text(text) => *text == said,
            Self::Number(number) => parse_number(said).is_some_and(|said| equal(number, &said)),
            Self::Truth(truth) => said == if *truth { "true" } else { "false" },
        }
    }
}

/// A number as JSON writes it, with nothing around it.
fn parse_number(text: &str) -> Option<Number> {
    let bare = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte));
    if bare { serde_json::from_str(text).ok() } else { None }
}

/// Whether two numbers are the same, however they are written: `42` is `42.0`.
fn equal(a: &Number, b: &Number) -> bool {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => match (a.as_f64(), b.as_f64()) {
            // Beyond this many integers look alike, and two that differ must not pass as one.
            (Some(a), Some(b)) => a.abs() < EXACT && a == b,
            (None, _) | (_, None) => false,
        },
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// The integer that a number certainly is.
fn integer(number: &Number) -> Option<i128> {
    number.as_i128().or_else(|| {
        let float = number.as_f64()?;
        // Exact: there is nothing after the point, and it is small enough.
        (float.fract() == 0.0 && float.abs() < EXACT).then_some(float as i128)
    })
}

/// 2⁵³: all integers below it are exact as floating-point numbers.
const EXACT: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests;
