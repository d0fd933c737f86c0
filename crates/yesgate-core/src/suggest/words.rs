//! The words that tools are named with, and what each of them says about risk.
//!
//! Lists, not cleverness: whoever doubts a suggestion finds its word here. A word stands in the
//! list of the worst thing that it commonly means, and in one list of verbs only.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::class::Class;

/// A word that says what a tool does.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Verb {
    /// The word, as it stands in its list.
    pub(super) word: &'static str,
    /// What it does.
    pub(super) class: Class,
    /// Whether it could be the name of a thing as well.
    pub(super) sense: Sense,
}

/// Whether a word can only be a verb.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sense {
    /// `delete`: always something done.
    Verb,
    /// `run`, `deploy`, `search`: something done, or the name of a thing.
    VerbOrNoun,
}

/// A list of words, or of phrases of several words, with commas between them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words(&'static str);

impl Words {
    /// The entries, in order.
    pub(super) fn entries(self) -> impl Iterator<Item = &'static str> {
        self.0.split(',').map(str::trim)
    }

    /// The entry that is `word`.
    pub(super) fn find(self, word: &str) -> Option<&'static str> {
        self.entries().find(|entry| *entry == word)
    }

    /// Whether `word` is an entry.
    pub(super) fn has(self, word: &str) -> bool {
        self.find(word).is_some()
    }

    /// The first entry that `words` mention.
    pub(super) fn mentioned(self, words: &[String]) -> Option<&'static str> {
        self.entries().find(|entry| places(entry, words).next().is_some())
    }
}

/// Where `words` hold `entry`; a plural counts as its singular.
pub(super) fn places(entry: &str, words: &[String]) -> impl Iterator<Item = usize> {
    let parts: Vec<&str> = entry.split(' ').collect();
    words.windows(parts.len()).enumerate().filter_map(move |(at, window)| {
        let same = |(word, part): (&String, &&str)| word == part || word.strip_suffix('s') == Some(part);
        window.iter().zip(&parts).all(same).then_some(at)
    })
}

/// The verb that `word`, in lower case, is.
pub(super) fn verb(word: &str) -> Option<Verb> {
    static BY_WORD: LazyLock<BTreeMap<&str, Verb>> = LazyLock::new(|| {
        let verbs = |(words, class, sense): (Words, Class, Sense)| {
            words.entries().map(move |word| (word, Verb { word, class, sense }))
        };
        VERBS.into_iter().flat_map(verbs).collect()
    });
    BY_WORD.get(word).copied()
}

/// The verb that `word` is in a sentence, where it may end in `s`.
pub(super) fn inflected_verb(word: &str) -> Option<Verb> {
    let stems = [Some(word), word.strip_suffix('s'), word.strip_suffix("es")];
    stems.into_iter().flatten().find_map(verb).or_else(|| verb(&format!("{}y", word.strip_suffix("ies")?)))
}

/// Every verb we know, by class and sense.
pub(super) const VERBS: [(Words, Class, Sense); 6] = [
    (DANGEROUS, Class::Dangerous, Sense::Verb),
    (WRITES, Class::SafeWrite, Sense::Verb),
    (READS, Class::ReadOnly, Sense::Verb),
    (DANGEROUS_OR_NOUN, Class::Dangerous, Sense::VerbOrNoun),
    (WRITES_OR_NOUN, Class::SafeWrite, Sense::VerbOrNoun),
    (READS_OR_NOUN, Class::ReadOnly, Sense::VerbOrNoun),
];

/// What cannot be taken back, reaches people, costs money, stops a service, changes who may do
/// what, or runs what it is given. `manage` is here because it is short for "delete, too".
const DANGEROUS: Words = Words(
    "approve, authorize, ban, buy, cancel, decommission, delete, destroy, disable, discard, donate,
     downgrade, drain, drop, erase, eval, evaluate, exec, execute, expire, finalize, flush, grant,
     impersonate, install, invite, invoke, kill, manage, migrate, mint, overwrite, pause, pay, promote,
     provision, purge, rebase, reboot, redeploy, remove, rerun, restart, revert, revoke, rotate, sell,
     send, shutdown, spawn, suspend, terminate, truncate, unfriend, uninstall, unlock, unpublish, wipe",
);

/// The same, but the word is also the name of a thing.
const DANGEROUS_OR_NOUN: Words = Words(
    "apply, bid, broadcast, call, cast, charge, cleanup, del, deploy, dispatch, email, empty, force,
     launch, merge, notify, order, publish, purchase, push, refund, release, reset, rollback, rollout,
     run, scale, share, sign, stake, swap, trade, transfer, trigger, tweet, upgrade, wire, withdraw",
);

/// What changes something that can be changed back.
const WRITES: Words = Words(
    "activate, add, adjust, append, assign, attach, click, clone, complete, configure, connect, create,
     deactivate, detach, disconnect, dismiss, edit, enable, fill, generate, give, handle, import,
     initialize, insert, interact, make, mark, modify, move, mute, navigate, prepare, reconnect, refresh,
     register, reject, rename, replace, reply, resize, resolve, restore, resume, save, schedule, start,
     stop, store, submit, subscribe, switch, toggle, unarchive, unassign, unlink, unstar, unsubscribe,
     update, updater, upload, upsert, write, writer",
);

/// The same, but the word is also the name of a thing.
const WRITES_OR_NOUN: Words = Words(
    "archive, backup, change, checkout, clear, close, comment, commit, copy, draft, drag, export, follow,
     fork, format, forward, input, label, like, link, lock, login, open, patch, pin, post, press, put,
     react, record, request, review, select, set, star, sync, tag, transition, type, undo, vote, watch",
);

/// What only looks.
const READS: Words = Words(
    "analyse, analyze, analyzer, calculate, cat, compare, compute, describe, detect, discover, display,
     emulate, enumerate, estimate, examine, explain, explore, fetch, find, finder, get, glob, grep,
     identify, inspect, list, lookup, ls, peek, poll, provide, read, reader, recommend, retrieve, return,
     scrape, show, simulate, suggest, summarize, tail, translate, validate, validator, verify, viewer,
     whoami",
);

/// The same, but the word is also the name of a thing.
const READS_OR_NOUN: Words = Words(
    "aggregate, audit, browse, check, count, crawl, debug, diff, download, echo, extract, filter, hover,
     lint, map, measure, monitor, parse, ping, preview, query, render, research, scan, screenshot, search,
     snapshot, view, wait",
);

/// Things that only ever get looked at: `refund_status`.
pub(super) const LOOKED_AT: Words = Words(
    "conflict, detail, fee, guide, health, history, info, limit, log, metric, option, policy, rate,
     schema, screenshot, size, snapshot, stat, statistic, status, summary, template, tree, type, usage,
     version",
);

/// Things that no change to is harmless: who may do what, money, what runs by itself or in
/// production.
pub(super) const HARD_OBJECTS: Words = Words(
    "access, acl, automation, bank, billing, branch protection, certificate, charge, cluster,
     collaborator, config, configuration, cron, deploy, deployment, dispute, dns, domain, firewall, helm,
     iam, infrastructure, instance, k8s, kubectl, kubernetes, member, migration, order, ownership,
     payment, payout, permission, pipeline, pod, policies, policy, privilege, process, processes,
     production, queries, query, refund, restriction, role, rule, script, server, service, setting,
     sharing, shell, sql, stack, subscription, terraform, visibility, wallet, webhook, workflow",
);

/// Verbs that put words in front of people once they have one of the [`MESSAGES`] to do it with.
pub(super) const OUTWARD: Words = Words("comment, create, forward, post, publish, reply, share");

/// What reaches people.
pub(super) const MESSAGES: Words =
    Words("channel, chat, conversation, dm, email, mail, message, sms, story, thread, tweet");

/// Verbs that leave nothing of the old file once they have one of the [`FILES`] to do it to.
pub(super) const OVERWRITING: Words = Words("put, replace, save, update, upload, upsert, write");

/// What is gone once it is written over.
pub(super) const FILES: Words = Words("blob, file");

/// What opens doors: reading it is not harmless.
pub(super) const SECRETS: Words = Words(
    "access key, access token, api key, apikey, auth token, connection string, credential, env,
     environment variable, kubeconfig, password, private key, secret, seed phrase, ssh key",
);

/// Arguments that are run.
pub(super) const CODE_ARGUMENTS: Words =
    Words("cmd, code, command, javascript, js, python, script, shell, sql");

/// Arguments that choose what a tool does, unless the tool only reads anyway.
pub(super) const OPERATION_ARGUMENTS: Words =
    Words("action, expression, function, method, op, operation, subcommand, verb");

/// Arguments that say where on the server's disk the result goes.
pub(super) const OUTPUT_ARGUMENTS: Words =
    Words("local path, output dir, output directory, output file, output path, save path");

/// Words with which a description owns up.
pub(super) const WARNINGS: Words = Words(
    "cannot be recovered, cannot be reversed, cannot be undone, cant be undone, data loss, destructive,
     irreversible, irreversibly, not be undone, overwrite, permanently, real money, will be lost,
     with caution",
);

/// Words that turn a warning around.
pub(super) const NEGATIONS: Words = Words("never, no, non, not, without");

/// Words after which a further verb counts as much as the one before.
pub(super) const JOINTS: Words = Words("and, or, then");

/// Verbs that say how far along another verb is, which then says what is done: `start_scan`.
pub(super) const PHASES: Words = Words("begin, finish, handle, initiate, make, perform, resume, start, stop");

/// Words that a description may begin with before it comes to the point.
pub(super) const FILLERS: Words = Words(
    "a, allows, can, command, function, helps, is, lets, method, that, the, this, to, tool, use, used,
     utility, will, you",
);

/// Verbs that may be the name of a thing unless they start the name: `task_list_delete`.
pub(super) const NOUN_WITHIN: Words = Words("list, show");

/// Words that are loud enough in a name to overrule the server's claim to be harmless.
pub(super) const LOUD: Words = Words(
    "buy, charge, delete, deploy, destroy, drop, erase, exec, execute, kill, merge, overwrite, pay,
     purchase, purge, refund, remove, revoke, send, terminate, transfer, truncate, uninstall, wipe, write",
);
