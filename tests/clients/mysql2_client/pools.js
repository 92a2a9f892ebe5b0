// mysql2's pool: many tasks over few connections, connections that are killed, logins that are refused.
'use strict';

const promises = require('mysql2/promise');
const { options, refused, same } = require('./check');
const { rows } = require('./queries');

const TASKS = 50;

async function concurrent() {
  const pool = promises.createPool({ ...options, connectionLimit: 10 });
  await pool.query('DROP TABLE IF EXISTS node_tasks');
  await pool.query('CREATE TABLE node_tasks (task INT, round INT)');
  await Promise.all(Array.from({ length: TASKS }, (_, task) => work(pool, task)));
  same('rows of all tasks', await rows(pool, 'SELECT COUNT(DISTINCT task, round) FROM node_tasks'), [[String(TASKS * 4)]]);
  await pool.end();
}

async function work(pool, task) {
  for (let round = 0; round < 4; round++) {
    const connection = await pool.getConnection();
    await connection.query('SET @task = ?', [task]);
    same("a task's session", (await connection.execute('SELECT @task AS task, CAST(? AS SIGNED) AS round', [round]))[0], [
      { task: String(task), round: String(round) },
    ]);
    await connection.execute('INSERT INTO node_tasks VALUES (@task, ?)', [round]);
    connection.release();
  }
}

/** A connection that is killed, while it waits and by itself, fails; the pool notices, and makes another. */
async function killed() {
  const pool = promises.createPool({ ...options, connectionLimit: 1 });
  const id = async (connection) => (await rows(connection, 'SELECT CONNECTION_ID()'))[0][0];
  const other = await promises.createConnection(options);
  const seen = new Set();
  for (const byItself of [false, true]) {
    const connection = await pool.getConnection();
    const closed = new Promise((resolve) => connection.connection.once('error', resolve).once('end', resolve));
    const killed = await id(connection);
    seen.add(killed);
    const killing = (byItself ? connection : other).query(`KILL ${killed}`);
    // Who kills itself may hear an error, or nothing.
    await (byItself ? killing.catch(() => {}) : killing);
    await closed;
    connection.release();
  }
  seen.add(await id(pool));
  same('connections of the pool', seen.size, 3);
  await pool.end();
  await other.end();
}

/** COM_CHANGE_USER begins the session anew. */
async function changeUser() {
  const connection = await promises.createConnection(options);
  await connection.query('SET @kept = 1');
  await connection.changeUser({ database: options.database });
  same('after a change of user', await rows(connection, 'SELECT @kept, DATABASE()'), [[null, options.database]]);
  await connection.end();
}

/** With each option of its connections that changes the protocol. */
async function otherWays() {
  for (const way of [{ compress: true }, { charset: 'latin1' }, { charset: 'UTF8MB4_BIN' }, { flags: ['-FOUND_ROWS'] }]) {
    const connection = await promises.createConnection({ ...options, ...way });
    const long = 'ä'.repeat(50_000);
    same(`with ${JSON.stringify(way)}`, await rows(connection, 'SELECT ?, ?', [long, 'x']), [[long, 'x']]);
    await connection.end();
  }
}

async function refusedLogins() {
  await refused('a wrong password', () => promises.createConnection({ ...options, password: 'wrong' }), 1045, '28000');
  const nowhere = await promises.createConnection({ ...options, database: 't_no_such_database' }).catch((error) => error);
  same('an unknown database', [1044, 1049].includes(nowhere.errno), true);
}

module.exports = { changeUser, concurrent, killed, otherWays, refusedLogins };
