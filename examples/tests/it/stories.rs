//! What each story tells: what ran at the server and how often, what was refused and how, and what is left.

use crate::example::{CUSTOM, HANDSHAKE, MODES, SPEND, TWO_KEY, journal, refusals};

/// H1, H2, H4, H5, H6, H7, H9: one upgrade for one yes; another plan, an earlier token and a used one are refused; what
/// would change nothing is answered at once; a human's no reaches the agent.
#[test]
fn the_handshake_bills_one_upgrade_for_one_yes() {
    let story = HANDSHAKE.tell();
    assert_eq!(journal(&story), ["changed the plan from Pro to Scale"]);
    assert_eq!(
        refusals(&story),
        ["consent_token_mismatch", "consent_token_invalid", "consent_token_invalid", "denied"]
    );
    insta::assert_snapshot!(story);
}

/// K1, K2, K3, K4, K5, K6, K7: with one key, or a misspelt one, nothing runs; with both it runs once, and a user at the
/// host's dialog stands in for the second.
#[test]
fn two_keys_moderate_and_one_only_shows() {
    let story = TWO_KEY.tell();
    assert_eq!(journal(&story), ["banned spammer77: cheap pills", "deleted post 42"]);
    let mut expected = vec!["DRY_RUN_PREVIEW"; 6];
    expected.push("policy_denied");
    assert_eq!(refusals(&story), expected);
    assert!(story.contains("assurance=asserted by=\"both keys\""), "{story}");
    assert!(story.contains("assurance=client by=\"the user, at the client\""), "{story}");
    // The scripted agent's own line is the only one that has the secret.
    assert_eq!(story.matches("s3cr3t").count(), 1, "{story}");
    insta::assert_snapshot!(story);
}

/// I1, I2, I3, I5, I6: each tier does what the policy says, each yes pays once, and what is left is exact.
#[test]
fn the_wallet_pays_what_was_agreed_and_budgets_hold() {
    let story = SPEND.tell();
    let paid = [
        "paid 0.05 USDC to weather.example",
        "paid 2.50 USDC to weather.example",
        "paid 5.80 USDC to gpu.example",
    ];
    assert_eq!(journal(&story), paid);
    assert_eq!(
        refusals(&story),
        [
            "consent_token_invalid",
            "assurance_too_low",
            "policy_denied",
            "budget_exceeded",
            "policy_denied",
            "policy_denied"
        ]
    );
    assert!(story.contains("8.35 USDC 20 USDC 11.65 USDC"), "{story}");
    assert!(story.contains("details.left      3.45"), "{story}");
    insta::assert_snapshot!(story);
}

/// M1, M2, M3, M4, M5, M6: the same wishes are explained, previewed and carried out; raising the mode is asked, a changed
/// preview voids the yes, and a name is typed.
#[test]
fn the_same_wish_means_something_else_in_each_mode() {
    let story = MODES.tell();
    assert_eq!(
        journal(&story),
        ["merged hotfix-9 into shop", "deployed shop with main, checkout-2, hotfix-9", "discarded shop-old"]
    );
    assert_eq!(refusals(&story), ["mode_forbids", "mode_forbids", "consent_token_mismatch", "mode_forbids"]);
    insta::assert_snapshot!(story);
}

/// H10, I5: a server that asks by itself does nothing but what somebody agreed to, once, whichever way the yes came.
#[test]
fn a_server_gates_its_own_tools_with_the_library() {
    let story = CUSTOM.tell();
    assert_eq!(
        journal(&story),
        [r#"sent "Spring news" to 1240 subscribers"#, r#"deleted the list "readers""#]
    );
    assert_eq!(refusals(&story), ["consent_token_mismatch", "consent_token_invalid", "denied"]);
    insta::assert_snapshot!(story);
}
