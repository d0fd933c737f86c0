//! Values as PostgreSQL takes and gives them.

use std::error::Error;

use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::engine::value::{Row, Value};

impl ToSql for Value<'_> {
    fn to_sql(&self, as_type: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        match self {
            Self::Null => Ok(IsNull::Yes),
            Self::Int(number) if *as_type == Type::INT4 => i32::try_from(*number)?.to_sql(as_type, out),
            Self::Int(number) => number.to_sql(as_type, out),
            Self::Text(text) => text.as_ref().to_sql(as_type, out),
            Self::Blob(bytes) => bytes.as_ref().to_sql(as_type, out),
        }
    }

    fn accepts(_as_type: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// Reads a row. Of types that we never store, nothing is read.
pub(super) fn read(row: &tokio_postgres::Row) -> Result<Row, tokio_postgres::Error> {
    let value = |(index, column): (usize, &tokio_postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => row.try_get::<_, Option<i64>>(index)?.into(),
            Type::INT4 => row.try_get::<_, Option<i32>>(index)?.map(i64::from).into(),
            Type::BOOL => row.try_get::<_, Option<bool>>(index)?.into(),
            Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(index)?.into(),
            Type::TEXT | Type::VARCHAR | Type::NAME => row.try_get::<_, Option<String>>(index)?.into(),
            _ => Value::Null,
        })
    };
    row.columns().iter().enumerate().map(value).collect::<Result<_, _>>().map(Row::new)
}
