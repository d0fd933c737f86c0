//! The inbox of `wrap` in a browser: opened as `yesgate open` does it, and alive while gates come and go.

use serde_json::json;
use yesgate_testkit::{Browser, Device, structured};

use super::{assert_sound, read};
use crate::support::{legacy, legacy_named, stage};

/// X9: the gate that serves the inbox is killed under an open tab. The tab comes back by itself at the next gate, shows
/// what is asked meanwhile, and decides it: nobody signs in again, nobody loads a page anew.
#[test]
fn an_open_tab_outlives_the_gate_that_served_it() {
    let rule = "[[rules]]\ntool = \"mock/delete_note\"\nthen = \"ask\"\nchannel = \"web\"\n";
    let stage = stage().config(rule);
    let (mut first, mut second) = (legacy(&stage), legacy_named(&stage, "second"));
    let browser = Browser::start();
    let context = browser.context(Device::desktop());
    let tab = context.page();
    let link = stage.yesgate(&["open", "--json"]).ok().json()["link"].as_str().unwrap().to_owned();
    tab.goto(&link);
    tab.click("button", "Sign in");
    tab.wait_for_path("/");
    tab.wait_for_text("Nothing waits for you");
    assert_sound(&tab);
    tab.evaluate("window.same = true");

    first.kill9();
    let request = second.call_async("delete_note", json!({"id": "a"}));
    let intent = stage.wait_for_question()["intent_id"].as_str().unwrap().to_owned();
    tab.wait_for(&format!("a[href='/approve/{intent}']"));
    assert_eq!(tab.evaluate("window.same"), true, "it was not loaded again");
    tab.click_on(&format!("a[href='/approve/{intent}']"));
    tab.wait_for_path(&format!("/approve/{intent}"));
    read(&tab);
    tab.click("button", "Approve");
    assert_eq!(structured(&second.answer_to(request))["deleted"], "a");
    browser.close();
    assert!(second.close().success());
    assert_eq!(stage.check_history().gated, 1);
}
