// mysql2, unmodified: queries and prepared statements, column types, transactions, several results, large rows, streams,
// errors, pools, reconnecting. All with TLS or all without, as it is told. Checks its answers itself; a wrong one ends the
// program with a message.
'use strict';

const promises = require('mysql2/promise');
const { options } = require('./check');
const pools = require('./pools');
const queries = require('./queries');
const { types } = require('./types');

async function main() {
  const connection = await promises.createConnection(options);
  await queries.prepared(connection);
  await queries.transactions(connection);
  await queries.severalResults();
  await queries.large(connection);
  await queries.streams();
  await queries.errors(connection);
  await types(connection);
  await connection.end();
  await pools.concurrent();
  await pools.killed();
  await pools.changeUser();
  await pools.otherWays();
  await pools.refusedLogins();
}

main().catch((error) => {
  console.error(`mysql2_client: ${error.stack}`);
  process.exit(1);
});
