//! Templates: values come in at the moment of use, and nothing that is printed shows them.

use proptest::prelude::{any, proptest};
use secrecy::ExposeSecret as _;

use super::{MissingVariable, Template, TemplateError};

fn expand(text: &str) -> Result<String, MissingVariable> {
    let template: Template = text.parse().unwrap();
    let secret = template.expand(|name| match name {
        "TOKEN" => Some("s3cret".to_owned()),
        "NESTED" => Some("${TOKEN} $$".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    })?;
    assert!(!format!("{template:?} {secret:?}").contains("s3cret"));
    Ok(secret.expose_secret().to_owned())
}

#[test]
fn a_variable_is_put_in_where_its_name_stands() {
    assert_eq!(expand("Bearer ${TOKEN}").as_deref(), Ok("Bearer s3cret"));
    assert_eq!(expand("${TOKEN}${TOKEN}-").as_deref(), Ok("s3crets3cret-"));
    assert_eq!(expand("plain").as_deref(), Ok("plain"));
    assert_eq!(expand("").as_deref(), Ok(""));
    assert_eq!(expand("5 $$, $${TOKEN}, {TOKEN}").as_deref(), Ok("5 $, ${TOKEN}, {TOKEN}"));
    assert_eq!(expand("$$$${TOKEN}").as_deref(), Ok("$${TOKEN}"));
    assert_eq!(expand("$$${TOKEN}").as_deref(), Ok("$s3cret"));
}

/// What a variable holds is never read as a template again.
#[test]
fn what_a_variable_holds_is_taken_as_it_is() {
    assert_eq!(expand("<${NESTED}>").as_deref(), Ok("<${TOKEN} $$>"));
}

#[test]
fn a_variable_that_is_not_set_or_empty_is_named_and_nothing_else_is() {
    for name in ["ABSENT", "EMPTY"] {
        let missing = expand(&format!("Bearer ${{TOKEN}} ${{{name}}}")).unwrap_err();
        assert_eq!(missing.to_string(), format!("the environment variable `{name}` is not set or is empty"));
    }
}

#[test]
fn what_is_no_template_says_why() {
    let error = |text: &str| text.parse::<Template>().unwrap_err();
    for text in ["$", "$TOKEN", "a$", "$ {A}", "$$$"] {
        assert_eq!(error(text), TemplateError::Dollar, "{text}");
    }
    for text in ["${", "${A", "${A}${B"] {
        assert_eq!(error(text), TemplateError::Unclosed, "{text}");
    }
    for text in ["${}", "${1A}", "${A B}", "${A:-b}", "${A-b}", "${${A}}", "${ü}"] {
        assert_eq!(error(text), TemplateError::Name, "{text}");
    }
    assert_eq!(error(&format!("${{{}}}", "A".repeat(129))), TemplateError::Name);
}

/// The key that unlocks what the gateway keeps is given to nobody.
#[test]
fn the_gateways_own_variables_are_given_to_nobody() {
    let error = "${YESGATE_SECRET_KEY}".parse::<Template>().unwrap_err();
    assert_eq!(error, TemplateError::Own("YESGATE_SECRET_KEY".to_owned()));
}

proptest! {
    #[test]
    fn a_text_with_doubled_dollars_is_that_text(text in any::<String>()) {
        let template: Template = text.replace('$', "$$").parse().unwrap();
        let found = template.expand(|_| None).unwrap();
        assert_eq!(found.expose_secret(), text);
    }

    #[test]
    fn no_text_is_too_strange_to_be_judged(text in any::<String>()) {
        if let Ok(template) = text.parse::<Template>() {
            assert_eq!(template.unexpanded(), text);
        }
    }
}
