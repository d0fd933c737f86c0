//! The forms for many, as they are sent.

use tokio_postgres::types::Type;

use super::form;

fn check(sql: &str, types: &[Type], expected: Option<&str>) {
    assert_eq!(form(sql, types).as_deref(), expected, "{sql}");
}

#[test]
fn what_is_said_of_one_row_is_said_of_all() {
    check(
        "SELECT a FROM t WHERE b = ?1 AND c > ?2 ORDER BY d",
        &[Type::BYTEA, Type::INT8],
        Some(
            "SELECT found.*, each.place FROM unnest($1::bytea[], $2::bigint[]) WITH ORDINALITY AS each(p1, p2, place) \
             CROSS JOIN LATERAL (SELECT * FROM (SELECT a FROM t WHERE b = each.p1 AND c > each.p2 ORDER BY d) AS one \
             OFFSET 0) AS found",
        ),
    );
    check(
        "INSERT INTO t (a, b) VALUES (?1, coalesce(?2, 0)) ON CONFLICT (a) DO NOTHING",
        &[Type::TEXT, Type::INT8],
        Some(
            "INSERT INTO t (a, b) SELECT each.p1, coalesce(each.p2, 0) FROM unnest($1::text[], $2::bigint[]) AS \
             each(p1, p2) ON CONFLICT (a) DO NOTHING",
        ),
    );
    check(
        "UPDATE t SET a = ?1 WHERE b = ?2",
        &[Type::INT4, Type::TEXT],
        Some(
            "UPDATE t SET a = each.p1 FROM unnest($1::integer[], $2::text[]) AS each(p1, p2) WHERE  b = each.p2",
        ),
    );
    check(
        "DELETE FROM t WHERE b = ?1",
        &[Type::TEXT],
        Some("DELETE FROM t USING unnest($1::text[]) AS each(p1) WHERE  b = each.p1"),
    );
}

#[test]
fn what_is_not_understood_has_no_form_for_many() {
    check("SELECT a FROM t", &[], None);
    check("SELECT a FROM t WHERE b ? 'key'", &[Type::TEXT], None);
    check("SELECT a FROM t WHERE b = ?1", &[Type::JSONB], None);
    check("INSERT INTO t SELECT ?1", &[Type::TEXT], None);
    check("INSERT INTO t (a) VALUES (lower(?1)", &[Type::TEXT], None);
    check("UPDATE t SET a = ?1", &[Type::TEXT], None);
    check("LOCK TABLE t", &[Type::TEXT], None);
}
