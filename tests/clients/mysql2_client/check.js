// How the checks connect, and how they tell what is wrong: the program ends with the first wrong answer.
'use strict';

const { isDeepStrictEqual } = require('node:util');

function fail(message) {
  throw new Error(message);
}

const needed = (name) => process.env[name] ?? fail(`${name} is not set`);

const flavor = needed('WEIR_TEST_FLAVOR');

/** The options for the endpoint that the environment names. mysql2 does not fall back: with `ssl` it is TLS, else not. */
const options = {
  host: needed('WEIR_TEST_HOST'),
  port: Number(needed('WEIR_TEST_PORT')),
  user: needed('WEIR_TEST_USER'),
  password: needed('WEIR_TEST_PASSWORD'),
  database: needed('WEIR_TEST_DATABASE'),
  supportBigNumbers: true,
  bigNumberStrings: true,
  dateStrings: true,
  jsonStrings: true,
  ...(needed('WEIR_TEST_TLS') === '1' && { ssl: { rejectUnauthorized: false } }),
};

function same(what, got, expected) {
  if (!isDeepStrictEqual(got, expected)) fail(`${what}: ${show(expected)} expected, got ${show(got)}`);
}

const show = (value) => String(JSON.stringify(value)).slice(0, 500);

/** Passes if the action fails with this error of the server. */
async function refused(what, action, errno, sqlState) {
  const error = await action().then(() => fail(`${what}: error ${errno} expected`), (error) => error);
  same(what, [error.errno, error.sqlState], [errno, sqlState]);
}

module.exports = { flavor, options, refused, same };
