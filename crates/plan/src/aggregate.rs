//! Which functions are aggregates.

use weir_sql::ast::Call;

/// Names of the servers' aggregate functions, MariaDB's included. MySQL's ANY_VALUE is none: it is its argument, in each row.
const AGGREGATES: &[&str] = &[
    "AVG",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "COUNT",
    "GROUP_CONCAT",
    "JSON_ARRAYAGG",
    "JSON_OBJECTAGG",
    "MAX",
    "MEDIAN",
    "MIN",
    "PERCENTILE_CONT",
    "PERCENTILE_DISC",
    "STD",
    "STDDEV",
    "STDDEV_POP",
    "STDDEV_SAMP",
    "ST_COLLECT",
    "SUM",
    "VARIANCE",
    "VAR_POP",
    "VAR_SAMP",
];

/// Whether a call makes one value of many rows. A stored aggregate function (MariaDB) can't be told from others, nor a loadable one.
pub(crate) fn is_aggregate(call: &Call<'_>) -> bool {
    call.name.database.is_none() && AGGREGATES.iter().any(|name| call.name.name.is(name))
}
