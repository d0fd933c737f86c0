//! Amounts are read exactly or not at all.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Amount, AmountError};

fn amount(text: &str) -> Amount {
    text.parse().unwrap()
}

/// I6: JSON numbers and strict decimal strings are amounts.
#[test]
fn numbers_and_strict_decimal_strings_are_amounts() {
    for (value, shown) in [
        (json!(5), "5"),
        (json!(0), "0"),
        (json!(5.0), "5"),
        (json!(0.1), "0.1"),
        (json!(1234.56), "1234.56"),
        (json!(1e-7), "0.0000001"),
        (json!(100_000_000_000_000_000_u64), "100000000000000000"),
        (json!("5"), "5"),
        (json!("5.00"), "5"),
        (json!("0.10"), "0.1"),
        (json!("999999999999999999.999999999999999999"), "999999999999999999.999999999999999999"),
    ] {
        assert_eq!(Amount::of_json(&value).unwrap().to_string(), shown, "{value}");
    }
}

/// I6: anything else fails loudly, so no limit is dropped.
#[test]
fn what_is_no_amount_is_an_error_and_never_a_guess() {
    for (value, error) in [
        (json!(null), AmountError::Type("null")),
        (json!(true), AmountError::Type("a boolean")),
        (json!([5]), AmountError::Type("a list")),
        (json!({"amount": 5}), AmountError::Type("an object")),
        (json!(-1), AmountError::Negative),
        (json!(-0.01), AmountError::Negative),
        (json!("-1"), AmountError::Negative),
        (json!("-1.50"), AmountError::Negative),
        (json!(1e30), AmountError::TooLong),
        (json!(1e-30), AmountError::TooLong),
        (json!("1000000000000000000"), AmountError::TooLong),
        (json!("0.0000000000000000001"), AmountError::TooLong),
    ] {
        assert_eq!(Amount::of_json(&value), Err(error), "{value}");
    }
    for text in [
        "", " ", "1usd", "USD 1", "1,50", "1.000,50", "1_000", "1e3", "1E3", "NaN", "nan", "inf", "Infinity",
        "+1", ".5", "5.", "007", "00", " 1", "1 ", "1\n", "0x10", "--1", "-", "1.2.3", "1.-2", "١", "１",
        "½", "-1usd",
    ] {
        assert_eq!(Amount::of_json(&json!(text)), Err(AmountError::Malformed), "{text:?}");
    }
}

/// I6: the order is exact across scales, where floating point is not.
#[test]
fn the_order_is_exact_across_scales() {
    assert_eq!(amount("0.1"), amount("0.10"));
    assert!(amount("0.1") < amount("0.100000000000000001"));
    assert!(amount("9007199254740993") > amount("9007199254740992"));
    assert!(amount("2") < amount("10"));
    assert!(amount("5.00") >= amount("5"));
}

proptest! {
    /// I6: an amount is shown as it was meant, and read back the same.
    #[test]
    fn shown_and_read_back_an_amount_is_the_same(whole in 0..1_000_000_000_000_000_000_u64, fraction in "[0-9]{0,18}") {
        let text = if fraction.is_empty() { whole.to_string() } else { format!("{whole}.{fraction}") };
        let read = amount(&text);
        prop_assert_eq!(amount(&read.to_string()), read);
    }

    /// I6: a JSON number and its own text are the same amount.
    #[test]
    fn a_number_and_its_text_are_the_same_amount(cents in 0..1_000_000_000_u64) {
        let text = format!("{}.{:02}", cents / 100, cents % 100);
        let number: Value = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(Amount::of_json(&number), Ok(amount(&text)));
    }

    #[test]
    fn no_text_makes_reading_panic(text in "\\PC{0,40}") {
        let _read: Result<Amount, AmountError> = text.parse();
    }
}
