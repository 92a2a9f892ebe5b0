// Each column type of `types.json`: read by text and by prepared statements, written back through parameters.
'use strict';

const { flavor, same } = require('./check');
const { rows } = require('./queries');

const columns = require('../types.json').columns.filter((column) => (column.only ?? flavor) === flavor);

/** mysql2 makes points of geometries, and arrays of vectors: their bytes can be asked for. */
const typeCast = (field, next) => (['GEOMETRY', 'VECTOR'].includes(field.type) ? field.buffer() : next());

/** What mysql2 must give for a column, as a user would write it. */
function expected({ type, expected: both, expected_hex: hex, [flavor]: own }) {
  const text = own ?? both;
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  if (/^(TINYINT|BOOL|SMALLINT|MEDIUMINT|INT|YEAR|FLOAT|DOUBLE)\b/.test(type)) return Number(text);
  return text;
}

/** What text and binary rows agree on: FLOAT has 32 bits, and mysql2 leaves a fraction of 0 away in binary times. */
function rounded(value, { type }) {
  if (type === 'FLOAT') return Math.fround(value);
  return /^(DATETIME|TIMESTAMP|TIME)/.test(type) ? value.replace(/\.0+$/, '') : value;
}

async function types(connection) {
  await rows(connection, "SET time_zone = '+00:00'");
  await rows(connection, 'DROP TABLE IF EXISTS node_types');
  const definitions = columns.map((column) => `\`${column.name}\` ${column.type} NULL`);
  await rows(connection, `CREATE TABLE node_types (id INT PRIMARY KEY, ${definitions})`);
  await rows(connection, `INSERT INTO node_types VALUES (1, ${columns.map((column) => column.literal)})`);
  await rows(connection, 'INSERT INTO node_types (id) VALUES (2)');
  let id = 3;
  for (const way of ['query', 'execute']) {
    const select = { sql: 'SELECT * FROM node_types WHERE id <= 2 ORDER BY id', rowsAsArray: true, typeCast };
    const [[values, nulls]] = await connection[way](select);
    columns.forEach((column, index) => {
      same(`${column.name} by ${way}`, rounded(values[index + 1], column), rounded(expected(column), column));
      same(`NULL of ${column.name} by ${way}`, nulls[index + 1], null);
    });
    for (const row of [values, nulls]) await write(connection, way, id++, row.slice(1));
  }
}

/** Inserts what was read through parameters; the server compares. */
async function write(connection, way, id, values) {
  await connection[way](`INSERT INTO node_types VALUES (${id}, ${columns.map(() => '?')})`, values);
  const compared = columns.map(({ name }) => `a.\`${name}\` <=> b.\`${name}\``);
  const [agree] = await rows(connection, `SELECT ${compared} FROM node_types a, node_types b WHERE a.id = ${id % 2 === 1 ? 1 : 2} AND b.id = ${id}`);
  columns.forEach(({ name }, index) => same(`${name} as a parameter of ${way}`, String(agree[index]), '1'));
}

module.exports = { types };
