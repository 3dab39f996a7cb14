import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { openDatabase } from '../../../src/storage/db/database.ts'
import { type AppleChain, appleFlags, makeAppleChain, passType, team } from '../../support/apple-chain.ts'
import { type CleanUp, dialects, migratedDatabase, temporaryFolder } from '../../support/databases.ts'
import { run } from '../support/program.ts'
import { hostServer, sharedServer } from '../support/server.ts'

interface Check {
  group: string
  name: string
  status: string
  message: string
  fix?: string
}

const SERVER_KEY = 'e2e-'.repeat(11)

/** Runs doctor on a database; resolves to its checks by `group: name`. */
async function doctor(database: string, args: string[] = [], env: Record<string, string> = {}) {
  const { exitCode, stdout, stderr } = await run(['doctor', '--json', ...args], undefined, {
    env: {
      PASSES_DATABASE_URL: database,
      ...(database.startsWith('postgres') && { PASSES_SERVER_KEY: SERVER_KEY }),
      ...env,
    },
  })
  expect(stderr).toBe('')
  const report = JSON.parse(String(stdout)) as { passed: number; failed: number; skipped: number; checks: Check[] }
  for (const { status, fix } of report.checks) expect(typeof fix).toBe(status === 'FAILED' ? 'string' : 'undefined')
  expect(exitCode).toBe(report.failed > 0 ? 1 : 0)
  const failures = report.checks.filter(({ status }) => status === 'FAILED')
  return {
    ...report,
    failures: failures.map(({ group, name }) => `${group}: ${name}`),
    find: (title: string) => report.checks.find(({ group, name }) => `${group}: ${name}` === title)!,
  }
}

describe.each(dialects)('on %s', (dialect) => {
  const shared = sharedServer({ dialect })

  test('a healthy server passes all checks, also at its public URL', async () => {
    const server = await shared()
    const report = await doctor(server.database, ['--public-url', server.url, '--write'])
    expect(report.failures).toEqual([])
    const titles = ['Database: Migrations', 'Database: Writable', 'Database: Clock', 'Server key: Fingerprint']
    // Next to a SQLite file, doctor finds the sandbox of the server automatically. Otherwise it needs the path.
    const ofSandbox = dialect === 'sqlite' ? ['Google: Class'] : []
    for (const title of [...titles, ...ofSandbox, 'Public URL: Reachable', 'Work: Jobs', 'Work: Webhooks']) {
      expect(report.find(title)).toMatchObject({ status: 'PASSED' })
    }
    for (const title of ['Apple: Certificates', 'Google: Permission']) {
      expect(report.find(title)).toMatchObject({ status: 'SKIPPED', message: expect.stringContaining('sandbox') })
    }
  })

  test('pending migrations are counted and not run', async () => {
    const database = await migratedDatabase(dialect)
    const opened = open(database)
    await opened.writer('migrations').where({ name: '0001-baseline' }).delete()
    const report = await doctor(database)
    const pending = { status: 'FAILED', message: '1 pending: 0001-baseline', fix: 'passes migrate' }
    expect(report.find('Database: Migrations')).toMatchObject(pending)
    expect(report.find('Work: Jobs').status).toBe('SKIPPED')
    expect(await opened.reader('migrations').where({ name: '0001-baseline' })).toEqual([])
  })

  test('a server key of another database fails, and no part of either key is shown', async () => {
    const server = await shared()
    const foreign = 'foreign-'.repeat(6)
    const report = await doctor(server.database, [], { PASSES_SERVER_KEY: foreign })
    expect(report.failures).toEqual(['Server key: Fingerprint'])
    expect(report.find('Server key: Fingerprint').fix).toContain('PASSES_SERVER_KEY')
    expect(JSON.stringify(report)).not.toContain(foreign)
    const rotated = { PASSES_SERVER_KEY: foreign, PASSES_PREVIOUS_SERVER_KEYS: SERVER_KEY }
    if (dialect === 'postgres') expect((await doctor(server.database, [], rotated)).failures).toEqual([])
  })

  test('shows waiting and discarded jobs and failing endpoints, with the command that fixes them', async () => {
    const server = await hostServer({ dialect, args: ['--role', 'api', '--allow-insecure-webhooks'] })
    const { client, database } = server
    const webhook = await client.webhooks.create({ body: { url: 'http://127.0.0.1:9/', events: ['pass.issued'] } })
    const { writer } = open(database)
    const [{ id: workspaceId }] = await writer('workspaces').select('id')
    const long = Date.now() - 3_600_000
    const job = {
      workspace_id: workspaceId,
      queue: 'issuing',
      priority: 'interactive',
      attempts: 0,
      run_at: long,
      created_at: long,
    }
    await writer('jobs').insert([
      { ...job, id: newId(new Date()), kind: 'issue-pass', subject: newId(new Date()) },
      {
        ...job,
        id: newId(new Date()),
        kind: 'issue-pass',
        subject: newId(new Date()),
        failed_at: long,
        last_error: 'x',
      },
    ])
    await writer('webhooks').where({ id: webhook.id }).update({ failing_since: long })
    const report = await doctor(database)
    expect(report.failures).toEqual(['Work: Jobs', 'Work: Discarded jobs', 'Work: Webhooks'])
    expect(report.find('Work: Jobs')).toMatchObject({
      message: expect.stringMatching(/1 in issuing \(interactive\), the oldest for 36\d\d s/),
      fix: expect.stringContaining('passes serve --role worker'),
    })
    expect(report.find('Work: Discarded jobs')).toMatchObject({ message: 'Discarded: 1 issue-pass.' })
    expect(report.find('Work: Webhooks')).toMatchObject({
      message: expect.stringContaining(`${webhook.id} of default`),
      fix: expect.stringContaining(`passes webhook deliveries --webhook ${webhook.id}`),
    })
  })
})

test('an unreachable database fails, and checks that need it are skipped', async () => {
  const missing = `sqlite:${join(temporaryFolder(), 'passes.db')}`
  const report = await doctor(missing)
  expect(report.failures).toEqual(['Database: Reachable'])
  expect(report.find('Work: Jobs').status).toBe('SKIPPED')
  // The check created no database.
  expect((await doctor(missing)).failures).toEqual(['Database: Reachable'])

  const unreachable = await doctor('postgres://someone:planted-password@127.0.0.1:9/passes')
  expect(unreachable.failures).toEqual(['Database: Reachable'])
  expect(JSON.stringify(unreachable)).not.toContain('planted')

  const damaged = join(temporaryFolder(), 'damaged.db')
  writeFileSync(damaged, 'This is no database.'.repeat(1000))
  expect((await doctor(`sqlite:${damaged}`)).failures).toContain('Database: Reachable')
})

test('in production the sandbox, plain http and a missing public URL fail', async () => {
  const database = await migratedDatabase('sqlite')
  const bare = await doctor(database, ['--production', '--allow-insecure-webhooks'])
  const configuration = ['Configuration: Platforms', 'Configuration: Settings']
  expect(bare.failures).toEqual([...configuration, 'Public URL: Address'])
  const plain = await doctor(database, ['--production', '--public-url', 'http://127.0.0.1:9'])
  expect(plain.failures).toContain('Public URL: Address')
  expect(plain.failures).toContain('Public URL: Reachable')
})

describe("Apple's chain", () => {
  const cleanUps: Parameters<CleanUp>[0][] = []
  let database: string
  let good: AppleChain
  let other: AppleChain
  let ending: AppleChain
  const noPlatform = ['--platforms', 'apple', '--public-url', 'https://passes.example.com']

  beforeAll(async () => {
    const folder = temporaryFolder((work) => cleanUps.push(work))
    database = await migratedDatabase('sqlite', (work) => cleanUps.push(work))
    good = await makeAppleChain(folder)
    other = await makeAppleChain(folder, { wwdrUnit: 'G3' })
    ending = await makeAppleChain(folder, { days: 20 })
    return async () => {
      for (const cleanUp of cleanUps) await cleanUp()
    }
  })

  const failures = async (chain: AppleChain, ...args: string[]) => {
    const report = await doctor(database, [...appleFlags(chain), ...noPlatform, ...args])
    // This test ignores whether the machine reaches Apple.
    return {
      ...report,
      failures: report.failures.filter((title) => title.startsWith('Apple') && !title.includes('APNs')),
    }
  }

  test('passes if key, pass type, team, issuer, and dates are valid', async () => {
    const report = await failures(good, '--apple-pass-type', passType, '--apple-team', team)
    expect(report.failures).toEqual([])
    expect(report.find('Apple: Pass type and team').message).toBe(`${passType}, team ${team}`)
    expect(report.find('Apple: Pass certificate').message).toMatch(/^36[45] days left/)
  })

  test('fails for another key, pass type, team, or issuer, and names it', async () => {
    expect((await failures({ ...good, key: other.key })).failures).toEqual(['Apple: Key'])
    expect((await failures(good, '--apple-pass-type', 'pass.other')).failures).toEqual(['Apple: Pass type and team'])
    expect((await failures(good, '--apple-team', 'OTHER')).failures).toEqual(['Apple: Pass type and team'])
    expect((await failures({ ...good, wwdr: other.wwdr })).failures).toEqual(['Apple: WWDR'])
    expect((await failures({ ...good, key: '/nowhere.key' })).failures).toEqual(['Apple: Files'])
  })

  test('fails for a WWDR that is not G4, and from 30 days before the end', async () => {
    expect((await failures(other)).failures).toEqual(['Apple: WWDR'])
    const report = await failures(ending)
    expect(report.failures).toEqual(['Apple: Pass certificate'])
    expect(report.find('Apple: Pass certificate').message).toMatch(/^Only (19|20) days left/)
  })
})

test('an invalid Google key fails only its own check', async () => {
  const database = await migratedDatabase('sqlite')
  const args = [
    '--platforms',
    'google',
    '--google-issuer-id',
    '3388000000012345678',
    '--public-url',
    'https://p.example',
  ]
  const report = await doctor(database, ['--google-key', '{"client_email": "planted-account"}', ...args])
  expect(report.find('Google: Key').status).toBe('FAILED')
  expect(report.find('Google: Permission').status).toBe('SKIPPED')
})

test('people see a line for each check and the command below what failed', async () => {
  const { exitCode, stdout } = await run(['doctor', '--database', `sqlite:${temporaryFolder()}/none.db`])
  expect(exitCode).toBe(1)
  expect(stdout).toMatch(
    /^FAILED {3}Database: Reachable .*\n {9}Next: correct the path, or create the file with "passes migrate"/m,
  )
  expect(stdout).toMatch(/^\d+ passed, 1 failed, \d+ skipped\.$/m)
})

function open(url: string) {
  const database = openDatabase(url)
  onTestFinished(() => database.close())
  return database
}
