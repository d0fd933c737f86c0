//! What names, words and arguments give away.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use proptest::collection::vec;
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::prop_oneof;
use proptest::sample::select;
use serde_json::{Value, json};

use super::words::{LOUD, VERBS, WARNINGS, verb};
use super::{Suggestion, Sureness, contradicts_read_only, suggest};
use crate::class::Class;

/// One line of the table that a reviewer sees.
fn line(name: &str, suggestion: &Suggestion) -> String {
    let doubt = match suggestion.sure {
        Sureness::Clear => ' ',
        Sureness::Guess => '?',
    };
    format!("{name:<24} {:<10} {doubt} {}", suggestion.class, suggestion.why)
}

/// The table for tools that are given as name and description.
fn table(tools: &[(&str, &str)]) -> String {
    tools.iter().fold(String::new(), |mut table, (name, description)| {
        writeln!(table, "{}", line(name, &suggest(name, Some(description), None))).unwrap();
        table
    })
}

#[test]
fn the_name_says_what_a_tool_does() {
    let tools = [
        ("get_parcel", "Gets a parcel by its number."),
        ("parcels_list", "Lists parcels."),
        ("postbox_search_letters", "Full-text search."),
        ("vehicleSearch", "Vehicles by plate."),
        ("start_scan", "Starts a scan."),
        ("get_create_options", "The options for a new parcel."),
        ("create_parcel", "Creates a parcel."),
        ("find_and_replace_text", "Finds and replaces text."),
        ("archive_list", "Archives a list."),
        ("PARCEL-UPDATE", "Updates a parcel."),
        ("deleteHTTPRoute", "Deletes a route."),
        ("task_list_delete", "Deletes a task list."),
        ("list_and_purge_letters", "Lists letters, then purges them."),
        ("run_fetch_job", "Runs the job."),
        ("query_run", "A saved query."),
        ("download_run_log", "The log of a run."),
        ("order_status", "How far an order is."),
        ("manage_parcels", "Everything about parcels."),
    ];
    insta::assert_snapshot!(table(&tools), @"
    get_parcel               read-only    verb `get`
    parcels_list             read-only    verb `list`
    postbox_search_letters   read-only  ? verb `search`
    vehicleSearch            read-only    verb `search`
    start_scan               read-only    verb `scan`
    get_create_options       read-only    verb `get`
    create_parcel            safe-write   verb `create`
    find_and_replace_text    safe-write   verb `replace`
    archive_list             safe-write   verb `archive`
    PARCEL-UPDATE            safe-write   verb `update`
    deleteHTTPRoute          dangerous    verb `delete`
    task_list_delete         dangerous    verb `delete`
    list_and_purge_letters   dangerous    verb `purge`
    run_fetch_job            dangerous    verb `run`
    query_run                dangerous  ? verb `run`
    download_run_log         read-only    verb `download`
    order_status             dangerous  ? verb `order`
    manage_parcels           dangerous    verb `manage`
    ");
}

#[test]
fn what_a_write_is_done_to_can_make_it_dangerous() {
    let tools = [
        ("update_parcel", "Updates a parcel."),
        ("update_user_role", "Updates a role."),
        ("add_webhook", "Adds a webhook."),
        ("create_payment_plan", "Creates a plan."),
        ("set_api_key", "Sets the key."),
        ("reply_to_comment", "Replies below a comment."),
        ("reply_to_thread", "Replies in a channel."),
        ("create_folder", "Creates a folder."),
        ("write_file", "Writes a file."),
        ("get_user_role", "Reads a role."),
    ];
    insta::assert_snapshot!(table(&tools), @"
    update_parcel            safe-write   verb `update`
    update_user_role         dangerous    changes `role`
    add_webhook              dangerous    changes `webhook`
    create_payment_plan      dangerous    changes `payment`
    set_api_key              dangerous    changes `api key`
    reply_to_comment         safe-write   verb `reply`
    reply_to_thread          dangerous    verb `reply` with `thread`
    create_folder            safe-write   verb `create`
    write_file               dangerous    verb `write` with `file`
    get_user_role            read-only    verb `get`
    ");
}

#[test]
fn the_description_speaks_where_the_name_is_silent_and_where_it_is_worse() {
    let tools = [
        ("parcelsize", "Returns the size of a parcel."),
        ("hfrob", "This tool will delete a field."),
        ("frob", "Frobs the disk and returns its size."),
        ("frob_search_index", "Frobs the search index."),
        ("fetch_parcel", "Fetches a parcel and removes it from the queue."),
        ("save_draft", "Saves the draft. This can't be undone."),
        ("save_note", "Saves the note. This is not destructive."),
        ("update_page", "Updates a page; will overwrite\n    what was there."),
        ("get_settings", "Returns all environment variables."),
        ("read_secret", "Reads from the vault."),
        ("zzz", ""),
    ];
    insta::assert_snapshot!(table(&tools), @"
    parcelsize               read-only  ? described by `return`
    hfrob                    dangerous  ? described by `delete`
    frob                     dangerous  ? no known verb
    frob_search_index        read-only  ? verb `search`
    fetch_parcel             dangerous  ? described by `remove`
    save_draft               dangerous  ? warning `cant be undone`
    save_note                safe-write   verb `save`
    update_page              dangerous  ? warning `overwrite`
    get_settings             safe-write ? hands out `environment variable`
    read_secret              safe-write   hands out `secret`
    zzz                      dangerous  ? no known verb
    ");
}

#[test]
fn arguments_that_are_run_or_that_choose_raise_the_class() {
    let text = json!({"type": "string"});
    let tools = [
        ("get_rows", json!({"properties": {"sql": text}})),
        ("depot", json!({"properties": {"command": text, "parameters": {"type": "object"}}})),
        ("get_report", json!({"properties": {"params": {"properties": {"script": text}}}})),
        ("get_country", json!({"properties": {"code": {"type": "string", "enum": ["at", "pt"]}}})),
        ("get_sum", json!({"properties": {"expression": text}})),
        ("parcel_write", json!({"properties": {"method": {"enum": ["create", "delete_parcel"]}}})),
        ("parcel_read", json!({"properties": {"method": {"enum": ["get", "get_history"]}}})),
        (
            "find_depot",
            json!({"anyOf": [
                {"properties": {"action": {"const": "find"}}},
                {"properties": {"action": {"const": "rename"}}},
            ]}),
        ),
        ("update_depot", json!({"properties": {"action": text}})),
        ("find_parcels", json!({"properties": {"action": text}})),
        ("find_routes", json!({"properties": {"outputDir": text}})),
        ("find_queue", json!({"properties": {"command": {"type": "array", "items": text}}})),
        ("find_colour", json!({"properties": {"\u{1b}cmd\u{7}": {"type": ["string", "null"]}}})),
    ];
    let table = tools.iter().fold(String::new(), |mut table, (name, schema)| {
        writeln!(table, "{}", line(name, &suggest(name, None, Some(schema)))).unwrap();
        table
    });
    insta::assert_snapshot!(table, @"
    get_rows                 dangerous    free-form `sql` argument
    depot                    dangerous    free-form `command` argument
    get_report               dangerous    free-form `script` argument
    get_country              read-only    verb `get`
    get_sum                  read-only    verb `get`
    parcel_write             dangerous    verb `delete` among `method`
    parcel_read              read-only    verb `read`
    find_depot               safe-write   verb `rename` among `action`
    update_depot             dangerous  ? free-form `action` argument
    find_parcels             read-only    verb `find`
    find_routes              safe-write ? writes to `output dir`
    find_queue               dangerous    free-form `command` argument
    find_colour              dangerous    free-form `cmd` argument
    ");
}

/// B5: a server that lies in its annotations is caught where its own naming gives it away.
#[test]
fn a_loud_name_contradicts_the_claim_to_only_read() {
    for (name, word) in [
        ("delete_repo", "delete"),
        ("parcels_delete", "delete"),
        ("drop_table", "drop"),
        ("execute_sql", "execute"),
        ("mail.sendMessage", "send"),
        ("send_email", "send"),
        ("refund_payment", "refund"),
        ("start_deploy", "deploy"),
        ("search_and_delete", "delete"),
        ("drop_schema", "drop"),
    ] {
        assert_eq!(contradicts_read_only(name), Some(word), "{name}");
    }
}

#[test]
fn a_loud_word_that_names_a_thing_contradicts_nothing() {
    for name in [
        "get_delete_policy",
        "list_deleted_items",
        "refund_status",
        "refund_policy",
        "deploy-history-reader",
        "transfer_search",
        "merge_conflicts",
        "create_parcel",
        "undelete",
        "",
    ] {
        assert_eq!(contradicts_read_only(name), None, "{name}");
    }
}

#[test]
fn every_verb_stands_in_one_list_and_no_loud_word_is_a_read() {
    let mut lists: BTreeMap<&str, usize> = BTreeMap::new();
    for word in VERBS.iter().flat_map(|(words, _, _)| words.entries()) {
        *lists.entry(word).or_default() += 1;
    }
    assert_eq!(lists.into_iter().find(|(_, count)| *count > 1), None);
    for loud in LOUD.entries() {
        assert!(verb(loud).is_some_and(|verb| verb.class > Class::ReadOnly), "{loud}");
    }
}

#[test]
fn a_schema_too_deep_to_look_into_is_not_taken_for_harmless() {
    let nested = |levels| (0..levels).fold(json!({}), |inner, _| json!({"properties": {"parcel": inner}}));
    assert_eq!(suggest("get_parcel", None, Some(&nested(20))).class, Class::ReadOnly);
    assert_eq!(suggest("get_parcel", None, Some(&nested(200))).why, "schema too deep");
}

/// Names and texts in which our words turn up often enough to matter.
fn words() -> impl Strategy<Value = String> {
    let known = one_of("get list run delete start and not secret file write tool irreversible . ,");
    vec(prop_oneof![known, "\\PC{0,3}"], 0..12)
        .prop_flat_map(|words| select(vec![" ", "_", ""]).prop_map(move |by| words.join(by)))
}

/// One of the words in `list`.
fn one_of(list: &'static str) -> impl Strategy<Value = String> + Clone {
    select(list.split(' ').map(str::to_owned).collect::<Vec<_>>())
}

/// Schemas, well-formed and not.
fn schemas() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::Null), any::<i32>().prop_map(Value::from), words().prop_map(Value::from)];
    let keys = one_of("properties enum const anyOf items type action command outputDir parcel");
    leaf.prop_recursive(6, 48, 4, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((keys.clone(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    /// INV14: the suggestion is total, and says why in our words, not in the server's.
    #[test]
    fn anything_gets_a_suggestion_in_our_own_words(name in words(), text in words(), schema in schemas()) {
        let suggestion = suggest(&name, Some(&text), Some(&schema));
        prop_assert!(suggestion.why.len() < 60);
        prop_assert!(suggestion.why.chars().all(|char| char.is_ascii_lowercase() || " `-8".contains(char)));
        contradicts_read_only(&name);
    }

    /// INV14: a server that says more of the danger is not asked about less.
    #[test]
    fn a_warning_never_lowers_the_class(
        name in words(),
        text in words(),
        warning in select(WARNINGS.entries().collect::<Vec<_>>()),
        more in words(),
    ) {
        let warned = format!("{text}. Mind: {warning}. {more}");
        let (before, after) = (suggest(&name, Some(&text), None), suggest(&name, Some(&warned), None));
        prop_assert!(after.class >= before.class);
        prop_assert_eq!(after.class, Class::Dangerous);
    }

    /// INV14: arguments only ever raise.
    #[test]
    fn a_schema_never_lowers_the_class(name in words(), text in words(), schema in schemas()) {
        let without = suggest(&name, Some(&text), None).class;
        prop_assert!(suggest(&name, Some(&text), Some(&schema)).class >= without);
    }

    /// B5: a name that contradicts a hint is never itself suggested as a read.
    #[test]
    fn what_contradicts_a_read_is_not_suggested_as_one(name in words()) {
        if contradicts_read_only(&name).is_some() {
            prop_assert!(suggest(&name, None, None).class > Class::ReadOnly);
        }
    }
}
