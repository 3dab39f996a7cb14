import { writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { describeFailure } from '../../../src/cli/command/failure.ts'
import { withoutPassword } from '../../../src/server/boot/database-error.ts'
import { withNewStore, withStore } from '../../../src/server/operator/operator.ts'
import { emptyDatabase, temporaryFolder } from '../../support/databases.ts'
import { onServer } from '../../support/migrated.ts'

const look = (url: string) =>
  withNewStore(url, (store) => store.workspaces.list()).then(
    () => undefined,
    (error: unknown) => describeFailure(error),
  )

test.each<[what: string, url: () => string, why: string, fix: string]>([
  ['a missing folder', () => 'sqlite:/no-such-folder/a.db', 'it cannot be opened', 'its folder exists'],
  ['a file of another kind', () => `sqlite:${textFile()}`, 'it is not a SQLite database', 'move that file away'],
  ['no server', () => 'postgres://me:secret@127.0.0.1:1/x', 'no server responds there', 'start PostgreSQL'],
  ['no Unix socket', () => 'postgres://me:secret@%2Fnone/x', 'no server responds there', 'start PostgreSQL'],
  [
    'a server that never responds',
    () => `postgres://me:secret@127.0.0.1:${silentPort()}/x`,
    'did not accept a connection in time',
    'check the host, the port, and the firewall',
  ],
  ['no host', () => 'postgres://me:secret@passes.invalid/x', 'the host name is unknown', 'correct the name'],
  [
    'a server without TLS',
    () => `${inject('postgresUrl')}postgres?sslmode=require`,
    'the connection was closed: The server does not support SSL connections',
    'enable TLS on the server (ssl = on), or remove sslmode',
  ],
  ['no such database', () => `${inject('postgresUrl')}nobody`, 'no database of that name', 'createdb'],
])('describes %s with its address and without password or SQL', async (_, url, why, fix) => {
  const databaseUrl = url()
  const failure = await look(databaseUrl)
  expect(failure).toMatchObject({ code: 'SETUP', message: expect.stringContaining(why), reasons: [] })
  expect(failure?.hint).toContain(fix)
  expect(failure?.message).toContain(databaseUrl.split(/@|sqlite:/).at(-1))
  expect(failure?.message).not.toMatch(/secret|select/)
})

test.each([
  ['LATIN1', "encoding 'LATIN1' template template0 locale 'C'", '', 'has the encoding LATIN1', '--encoding=UTF8'],
  ['read-only', '', 'alter database $db set default_transaction_read_only = on', 'is read-only', 'the primary server'],
  [
    'without a usable pg_trgm',
    '',
    'create schema other; create extension pg_trgm schema other',
    'not in the search path',
    'set search_path = public, other',
  ],
])('a new PostgreSQL database that is %s is rejected before a migration', async (_, options, setUp, why, fix) => {
  const url = await emptyDatabase('postgres')
  const name = new URL(url).pathname.slice(1)
  if (options !== '') {
    await onServer(inject('postgresUrl'), `drop database ${name}`)
    await onServer(inject('postgresUrl'), `create database ${name} ${options}`)
  }
  if (setUp !== '') await onServer(url.replace(/[^/]*$/, ''), setUp.replace('$db', name), name)
  const failure = await look(url)
  expect(failure).toMatchObject({ code: 'SETUP', message: expect.stringContaining(why), reasons: [] })
  expect(failure?.hint).toContain(fix)
})

test('a PostgreSQL user that cannot create tables or pg_trgm sees the statement to run', async () => {
  const url = await emptyDatabase('postgres')
  const { pathname, host } = new URL(url)
  const name = pathname.slice(1)
  await onServer(inject('postgresUrl'), `create role ${name} login password 'a/b#c@d'`)
  onTestFinished(() => onServer(inject('postgresUrl'), `drop owned by ${name}; drop role ${name}`, name))
  const own = `postgres://${name}:a%2Fb%23c%40d@${host}/${name}`
  expect((await look(own))?.hint).toContain(`grant create on schema public to "${name}"`)
  await onServer(inject('postgresUrl'), `grant create on schema public to ${name}`, name)
  expect((await look(own))?.hint).toContain('create extension pg_trgm')
  await onServer(inject('postgresUrl'), 'create extension pg_trgm', name)
  expect(await look(own)).toBeUndefined()
})

test.each(['me:a/b@', 'me:1/b@', 'me:a#b@', 'me:1?b@'])(
  'a PostgreSQL address with the unencoded password of %s is rejected without the password',
  async (user) => {
    const failure = await look(`postgres://${user}localhost/passes`)
    expect(failure).toMatchObject({
      code: 'SETUP',
      message: 'The address of the PostgreSQL database cannot be parsed.',
    })
    expect(failure?.hint).toContain('/ as %2F')
  },
)

test('reports a missing certificate of an address with its path', async () => {
  const failure = await look('postgres://me@localhost/passes?sslmode=verify-full&sslrootcert=/no-such.pem')
  expect(failure).toMatchObject({ code: 'SETUP', message: expect.stringContaining('/no-such.pem') })
})

test.each([
  ['postgres://me:a@b@host/db', 'postgres://me:…@host/db'],
  ['postgres://:secret@host/db', 'postgres://:…@host/db'],
  ['postgres://host/db?user=me&password=secret', 'postgres://host/db?user=me&password=…'],
])('%s is shown without its password', (url, shown) => {
  expect(withoutPassword(url)).toBe(shown)
})

test('a read-only command creates no SQLite file', async () => {
  const file = join(temporaryFolder(), 'passes.db')
  await expect(withStore(`sqlite:${file}`, async () => undefined)).rejects.toThrow(
    `${file} cannot be used: the file does not exist`,
  )
  expect(await withNewStore(`sqlite:${file}`, (store) => store.workspaces.list())).toEqual([])
  expect(await withStore(`sqlite:${file}`, (store) => store.workspaces.list())).toEqual([])
})

function textFile(): string {
  const file = join(temporaryFolder(), 'text.db')
  writeFileSync(file, 'no database at all. '.repeat(100))
  return file
}

/** Returns a port where connections are accepted and never served, as by a suspended server. */
function silentPort(): number {
  const server = createServer().listen(0)
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}
