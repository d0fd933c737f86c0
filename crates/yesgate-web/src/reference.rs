//! The reference of the API, for people to read: the description that programs read, in another form.
//!
//! INVARIANT: it is made from that description alone. What is not described stands on no page, and the other way round.

use askama::Template;
use http::StatusCode;
use serde_json::Value;
use yesgate_core::render::Sanitized;

use crate::answer::{self, Answer};
use crate::site::{Site, Trouble};
use crate::view::{Frame, Tab};
use crate::visit::Visitor;

#[derive(Template)]
#[template(path = "reference.html")]
struct Page {
    frame: Frame,
    version: Sanitized,
    about: Words,
    groups: Vec<Group>,
    shapes: Vec<Shape>,
    problems: Vec<(Sanitized, Sanitized)>,
}

/// Operations that are for the same callers.
struct Group {
    name: Sanitized,
    about: Words,
    operations: Vec<Operation>,
}

struct Operation {
    id: Sanitized,
    method: String,
    path: Sanitized,
    summary: Words,
    about: Words,
    /// What must be shown, one of these.
    needs: Vec<Sanitized>,
    parameters: Vec<Member>,
    body: Vec<Member>,
    answers: Vec<Reply>,
}

struct Shape {
    name: Sanitized,
    members: Vec<Member>,
}

/// A parameter, or a part of an object.
struct Member {
    name: Sanitized,
    kind: Sanitized,
    /// Whether it has to be there.
    required: bool,
    about: Words,
}

struct Reply {
    status: Sanitized,
    about: Words,
    /// The name of its shape, where it has one.
    shapes: Vec<Sanitized>,
}

/// A text, in which some words are code.
struct Words(Vec<Word>);

struct Word {
    text: String,
    is_code: bool,
}

impl Site {
    pub(crate) async fn reference(&self, visitor: &Visitor) -> Result<Answer, Trouble> {
        let document = self.desk.document();
        let frame = self.frame(visitor, Tab::Reference, "API").await?;
        Ok(answer::page(StatusCode::OK, &Page::of(frame, &document)))
    }
}

impl Page {
    fn of(frame: Frame, document: &Value) -> Self {
        let info = |key: &str| document.pointer(&format!("/info/{key}")).unwrap_or(&Value::Null);
        let groups = list(document, "/tags").iter().map(|tag| Group::of(tag, document)).collect();
        let shapes = members(document, "/components/schemas");
        let problems = list(document, "/x-problems").iter();
        Self {
            frame,
            version: line(info("version")),
            about: Words::of(info("description")),
            groups,
            shapes: shapes
                .map(|(name, schema)| Shape { name: Sanitized::line(name), members: parts(schema) })
                .collect(),
            problems: problems
                .map(|problem| (line(at(problem, "code")), line(at(problem, "title"))))
                .collect(),
        }
    }
}

impl Group {
    fn of(tag: &Value, document: &Value) -> Self {
        let name = at(tag, "name");
        let mut operations = Vec::new();
        for (path, item) in members(document, "/paths") {
            for (method, operation) in members(item, "") {
                if list(operation, "/tags").contains(name) {
                    operations.push(Operation::of(method, path, operation, document));
                }
            }
        }
        Self { name: line(name), about: Words::of(at(tag, "description")), operations }
    }
}

impl Operation {
    fn of(method: &str, path: &str, operation: &Value, document: &Value) -> Self {
        let security = operation.get("security").or_else(|| document.get("security"));
        let needs = security.and_then(Value::as_array).into_iter().flatten().map(|way| {
            let names: Vec<&str> = members(way, "").map(|(name, _)| name.as_str()).collect();
            Sanitized::line(&names.join(" and "))
        });
        let parameters = list(operation, "/parameters").iter().map(|parameter| {
            let place = at(parameter, "in").as_str().unwrap_or_default();
            Member {
                name: line(at(parameter, "name")),
                kind: Sanitized::line(&format!("{} in the {place}", kind(at(parameter, "schema")))),
                required: at(parameter, "required") == &Value::Bool(true),
                about: Words::of(at(parameter, "description")),
            }
        });
        let body = operation.pointer("/requestBody/content/application~1json/schema").unwrap_or(&Value::Null);
        let answers =
            members(operation, "/responses").map(|(status, answer)| Reply::of(status, answer, document));
        Self {
            id: line(at(operation, "operationId")),
            method: method.to_uppercase(),
            path: Sanitized::line(path),
            summary: Words::of(at(operation, "summary")),
            about: Words::of(at(operation, "description")),
            needs: needs.collect(),
            parameters: parameters.collect(),
            body: parts(resolved(body, document)),
            answers: answers.collect(),
        }
    }
}

impl Reply {
    fn of(status: &str, answer: &Value, document: &Value) -> Self {
        let answer = resolved(answer, document);
        let mut shapes = Vec::new();
        for (_, content) in members(answer, "/content") {
            let schema = at(content, "schema");
            let all = [schema].into_iter().chain(list(schema, "/anyOf"));
            shapes.extend(all.filter_map(named).map(Sanitized::line));
        }
        Self { status: Sanitized::line(status), about: Words::of(at(answer, "description")), shapes }
    }
}

impl Words {
    fn of(text: &Value) -> Self {
        // Made safe whole: a piece of it has spaces at its ends, which alone would look like something to hide.
        let text = line(text);
        let words = text.as_str().split('`').enumerate().filter(|(_, piece)| !piece.is_empty());
        Self(words.map(|(at, piece)| Word { text: piece.to_owned(), is_code: at % 2 == 1 }).collect())
    }
}

/// What an object has.
fn parts(schema: &Value) -> Vec<Member> {
    let required = list(schema, "/required");
    members(schema, "/properties")
        .map(|(name, part)| Member {
            name: Sanitized::line(name),
            kind: Sanitized::line(&kind(part)),
            required: required.iter().any(|required| required == name),
            about: Words::of(at(part, "description")),
        })
        .collect()
}

/// What a value may be, in a few words.
fn kind(schema: &Value) -> String {
    if let Some(name) = named(schema) {
        return name.to_owned();
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" | ");
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    let types = match at(schema, "type") {
        Value::String(one) => one.clone(),
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => "any".to_owned(),
    };
    let inner: Vec<&str> = members(schema, "/properties").map(|(name, _)| name.as_str()).collect();
    match (types.as_str(), schema.get("items")) {
        (_, Some(items)) => format!("{types} of {}", kind(items)),
        ("object", None) if !inner.is_empty() => format!("object of {}", inner.join(", ")),
        (_, None) => types,
    }
}

/// The shape that a schema refers to.
fn named(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix("#/components/schemas/")
}

/// What a reference leads to; anything else is itself.
fn resolved<'a>(value: &'a Value, document: &'a Value) -> &'a Value {
    let target = value.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix('#'));
    target.and_then(|path| document.pointer(path)).unwrap_or(value)
}

fn at<'a>(value: &'a Value, key: &str) -> &'a Value {
    value.get(key).unwrap_or(&Value::Null)
}

fn list<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn members<'a>(value: &'a Value, pointer: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    value.pointer(pointer).and_then(Value::as_object).into_iter().flatten()
}

fn line(value: &Value) -> Sanitized {
    Sanitized::line(value.as_str().unwrap_or_default())
}
