// Queries, prepared statements, transactions, several results, large rows, errors.
'use strict';

const mysql = require('mysql2');
const promises = require('mysql2/promise');
const { options, refused, same } = require('./check');

const rows = async (connection, text, values) => (await connection.query({ sql: text, values, rowsAsArray: true }))[0];
const executed = async (connection, text, values) => (await connection.execute({ sql: text, values, rowsAsArray: true }))[0];
const count = async (connection) => (await rows(connection, 'SELECT COUNT(*) FROM node_items'))[0][0];

async function prepared(connection) {
  await rows(connection, 'DROP TABLE IF EXISTS node_items');
  await rows(connection, 'CREATE TABLE node_items (id INT AUTO_INCREMENT PRIMARY KEY, v BIGINT, b LONGBLOB)');
  for (let value = 0; value < 200; value++) {
    const [done] = await connection.execute('INSERT INTO node_items (v) VALUES (?)', [value]);
    same('insert', [done.insertId, done.affectedRows], [value + 1, 1]);
  }
  for (let value = 0; value < 200; value++) {
    same('by a prepared statement', await executed(connection, 'SELECT id FROM node_items WHERE v = ?', [value]), [[value + 1]]);
  }
  const all = 'SELECT * FROM node_items WHERE id = ?';
  same('before DDL', (await connection.execute(all, [1]))[0], [{ id: 1, v: '0', b: null }]);
  await rows(connection, "ALTER TABLE node_items ADD COLUMN name VARCHAR(20) DEFAULT 'new' AFTER id");
  same('after DDL', (await connection.execute(all, [1]))[0], [{ id: 1, name: 'new', v: '0', b: null }]);
  const statement = await connection.prepare('SELECT CONCAT(?, 1) AS a, ? AS b');
  same('prepared by hand', (await statement.execute(['2', 'x']))[0], [{ a: '21', b: 'x' }]);
  await statement.close();
  connection.unprepare(all);
  same('prepared again', (await connection.execute(all, [2]))[0][0].name, 'new');
  const small = await promises.createConnection({ ...options, maxPreparedStatements: 5, namedPlaceholders: true });
  for (let round = 0; round < 50; round++) {
    same('one of many texts', (await small.execute(`SELECT CONCAT(${round}, :more) AS a`, { more: 'x' }))[0], [{ a: `${round}x` }]);
  }
  same('named, by text', (await small.query('SELECT :b AS b, :a AS a', { a: "it's", b: null }))[0], [{ b: null, a: "it's" }]);
  await small.end();
}

async function transactions(connection) {
  const other = await promises.createConnection(options);
  await connection.beginTransaction();
  await rows(connection, 'DELETE FROM node_items WHERE id <= 10');
  same('seen inside, not outside', [await count(connection), await count(other)], ['190', '200']);
  await rows(connection, 'SAVEPOINT here');
  await executed(connection, 'DELETE FROM node_items');
  await rows(connection, 'ROLLBACK TO here');
  same('after the savepoint', await count(connection), '190');
  await connection.commit();
  same('committed', await count(other), '190');
  await connection.beginTransaction();
  await rows(connection, 'DELETE FROM node_items');
  await connection.rollback();
  same('rolled back', await count(connection), '190');
  for (const [level, seen] of [['REPEATABLE READ', '190'], ['READ COMMITTED', '191']]) {
    await rows(connection, `SET TRANSACTION ISOLATION LEVEL ${level}`);
    await connection.beginTransaction();
    same(level, await count(connection), '190');
    await rows(other, 'INSERT INTO node_items (id) VALUES (1)');
    same(level, await count(connection), seen);
    await connection.rollback();
    await rows(other, 'DELETE FROM node_items WHERE id = 1');
  }
  await rows(connection, 'START TRANSACTION READ ONLY');
  await refused('a write in a read-only transaction', () => rows(connection, 'DELETE FROM node_items'), 1792, '25006');
  await connection.rollback();
  await other.end();
}

async function severalResults() {
  const connection = await promises.createConnection({ ...options, multipleStatements: true });
  const [results] = await connection.query("SELECT 'x' AS a; UPDATE node_items SET v = 7 WHERE id = 11; SELECT 'y' AS b");
  same('several statements', [results[0], results[1].affectedRows, results[2]], [[{ a: 'x' }], 1, [{ b: 'y' }]]);
  await rows(connection, 'DROP PROCEDURE IF EXISTS node_both');
  await rows(connection, "CREATE PROCEDURE node_both(a INT) BEGIN SELECT a; SELECT CONCAT(a, 'x') AS b; END");
  for (const way of ['query', 'execute']) {
    const [sets] = await connection[way]('CALL node_both(?)', [5]);
    same(`a procedure by ${way}`, [sets[0], sets[1], sets[2].affectedRows], [[{ a: 5 }], [{ b: '5x' }], 0]);
  }
  await connection.end();
}

async function large(connection) {
  const blob = Buffer.alloc(20_000_000, Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)));
  await connection.execute('INSERT INTO node_items (id, b) VALUES (1000, ?)', [blob]);
  await connection.query('INSERT INTO node_items (id, b) VALUES (1001, ?)', [blob]);
  for (const [id, read] of [[1000, rows], [1001, executed]]) {
    const [[back]] = await read(connection, 'SELECT b FROM node_items WHERE id = ?', [id]);
    same('a blob of 20 MB there and back', Buffer.compare(back, blob), 0);
  }
  await rows(connection, 'DELETE FROM node_items WHERE id >= 1000');
}

/** Rows one by one, with pauses; a stream that is given up takes its connection with it. */
async function streams() {
  const text = 'SELECT a.id, REPEAT("x", 500) AS x FROM node_items a, node_items b WHERE b.id <= 60';
  const connection = mysql.createConnection(options);
  let seen = 0;
  for await (const row of connection.query(text).stream({ highWaterMark: 5 })) {
    seen++;
    if (row.x.length !== 500) same('a streamed row', row.x.length, 500);
  }
  same('streamed rows', seen, 190 * 50);
  for await (const row of connection.execute('SELECT id FROM node_items WHERE id > ? ORDER BY id', [50]).stream()) {
    same('the first row of a prepared stream', row.id, 51);
    break;
  }
  connection.destroy();
}

async function errors(connection) {
  const wrong = [
    ['INSERT INTO node_items (id) VALUES (11)', 1062, '23000'],
    ['SELEC 1', 1064, '42000'],
    ['SELECT * FROM node_nowhere', 1146, '42S02'],
  ];
  for (const [text, errno, sqlState] of wrong) {
    await refused(text, () => connection.query(text), errno, sqlState);
    await refused(text, () => connection.execute(text), errno, sqlState);
  }
  await connection.ping();
}

module.exports = { errors, executed, large, prepared, rows, severalResults, streams, transactions };
