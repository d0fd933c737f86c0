//! The stage's own promises that need no gateway.

use super::*;

#[test]
fn the_address_is_read_off_the_whole_line_that_names_it() {
    assert_eq!(address_in("starting\nlistening on http://127.0.0.1:4711\n"), Some("http://127.0.0.1:4711"));
    let logged = "2026-11-16T00:00:00Z  INFO yesgate: listening on http://127.0.0.1:4711/ (3 servers)\n";
    assert_eq!(address_in(logged), Some("http://127.0.0.1:4711"));
    assert_eq!(address_in("listening on http://127.0.0.1:4"), None);
    assert_eq!(address_in("not listening on anything\n"), None);
    assert_eq!(address_in("starting\n"), None);
}
