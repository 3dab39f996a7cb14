import { randomUUID } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, inject, onTestFinished, TestRunner, test } from 'vitest'
import { isLong } from './long.ts'
import { onServer } from './migrated.ts'

export type TestDialect = 'sqlite' | 'postgres'

/** Set by `npm run test:quick`, which starts no PostgreSQL and skips the tests that need it. */
const isSqliteOnly = process.env.PASSES_TEST_DATABASES === 'sqlite'

/** The databases for tests of storage: `describe.each(dialects)`. Every guarantee is tested on both. */
export const dialects: readonly TestDialect[] = isSqliteOnly ? ['sqlite'] : ['sqlite', 'postgres']

/** The databases for tests whose SQL other tests run on both databases: one database, or both in the long form. */
export const oneDialect: readonly TestDialect[] = isLong ? dialects : ['sqlite']

/** Returns `test` for a rule outside SQL, or whose SQL other tests run on both databases: it runs only on `oneDialect`. */
export const testOn = (dialect: TestDialect) => test.runIf(oneDialect.includes(dialect))

/** Receives the work to do when a resource is no longer needed. By default, the work is done at the end of the test. */
export type CleanUp = (work: () => void | Promise<void>) => void

/**
 * Returns a `CleanUp` for resources of several tests: runs the work after the last test of the file or block, in
 * reverse order.
 */
export function cleanUpAfterAll(): CleanUp {
  const works: Parameters<CleanUp>[0][] = []
  afterAll(async () => {
    for (const work of works.reverse()) await work()
  })
  return (work) => void works.push(work)
}

/** Creates an empty database without tables. It is deleted after the test. */
export async function emptyDatabase(dialect: TestDialect, cleanUp: CleanUp = onTestFinished): Promise<string> {
  if (dialect === 'sqlite') return `sqlite:${join(temporaryFolder(cleanUp), 'passes.db')}`
  return createOnServer('', cleanUp)
}

/**
 * Creates a database with every table and no rows. It is deleted after the test. It is a copy, because migrating takes
 * longer than most tests.
 */
export async function migratedDatabase(dialect: TestDialect, cleanUp: CleanUp = onTestFinished): Promise<string> {
  const { sqliteFile, postgresName } = inject('migrated')
  if (dialect === 'postgres') return createOnServer(`template ${postgresName} ${inject('copyStrategy')}`, cleanUp)
  const file = join(temporaryFolder(cleanUp), 'passes.db')
  copyFileSync(sqliteFile, file)
  return `sqlite:${file}`
}

async function createOnServer(options: string, cleanUp: CleanUp): Promise<string> {
  if (isSqliteOnly) TestRunner.getCurrentTest()?.context.skip('it needs PostgreSQL')
  const name = `passes_${randomUUID().replaceAll('-', '')}`
  await onServer(inject('postgresUrl'), `create database ${name} ${options}`)
  cleanUp(() => onServer(inject('postgresUrl'), `drop database ${name} with (force)`))
  return `${inject('postgresUrl')}${name}`
}

/** Returns the address of a database over TCP, for proxies, if it is the Unix socket of the server of the run. */
export function overTcp(databaseUrl: string): string {
  return databaseUrl.replace('@%2Ftmp:', '@127.0.0.1:')
}

/** Creates a folder. It is deleted after the test. */
export function temporaryFolder(cleanUp: CleanUp = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'passes-test-'))
  cleanUp(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
