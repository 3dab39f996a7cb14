import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { emptyDatabase, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { publishTemplate } from '../support/passes.ts'
import { program, run } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

/** Sets a umask that allows everything, until the end of the test. */
function forbidNothing(): void {
  const umask = process.umask(0)
  onTestFinished(() => void process.umask(umask))
}

test('files are private even under an open umask, and doctor names those that are not', async () => {
  const folder = temporaryFolder()
  forbidNothing()
  const server = await hostServer({ makesSandbox: true })
  const database = server.database.replace('sqlite:', '')
  const templateId = await publishTemplate(server.client)
  const input = join(folder, 'guests.csv')
  writeFileSync(input, 'externalPassId,label\nT-1,Ada\n,Eve\n', { mode: 0o644 })
  const at = (name: string) => join(folder, name)
  const profiles = { env: { XDG_CONFIG_HOME: at('config'), PASSES_URL: server.url, PASSES_TOKEN: server.token } }
  const commands: [string[], object?][] = [
    [['issue', input, '--template', templateId, '--out', at('links.csv'), '--failures', at('failed.csv')]],
    [['scans', 'export', '--out', at('ledger.csv')]],
    [['pass', 'preview', 'T-1', '--external', '--out', at('pass.pkpass')]],
    [['backup', at('backup'), '--database', server.database]],
    [['login', '--url', server.url, '--token', server.token], profiles],
  ]
  for (const [command, options] of commands) await run(command, server, options)
  const prove = ['audit', 'prove', '--out', at('audit.jsonl'), '--database', server.database]
  await eventually(async () => expect((await run(prove)).exitCode, 'what was noted is chained').toBe(0))
  const made = ['links.csv', 'failed.csv', 'guests.csv.journal', 'ledger.csv', 'audit.jsonl', 'pass.pkpass', 'backup']
  for (const name of [...made, 'config/passes/profiles.json']) expect([name, modeOf(at(name))]).toEqual([name, '600'])
  for (const path of below(database)) expect([path, modeOf(path)]).toEqual([path, '600'])
  expect(modeOf(input)).toBe('644')

  const doctor = async () => JSON.parse(String((await run(['doctor', '--json', '--database', server.database])).stdout))
  const files = ({ checks }: { checks: { group: string; status: string; fix?: string }[] }) =>
    checks.filter(({ group }) => group === 'Files')
  expect(files(await doctor()).map(({ status }) => status)).toEqual(['PASSED', 'PASSED', 'PASSED'])
  chmodSync(`${database}-wal`, 0o644)
  chmodSync(`${database}.key`, 0o640)
  expect(files(await doctor())).toMatchObject([
    { status: 'FAILED', fix: `chmod go= ${database}-wal` },
    { status: 'FAILED', fix: `chmod go= ${database}.key` },
    { status: 'PASSED' },
  ])
})

test.skipIf(!existsSync('/dev/full'))('if the disk is full, the error of a proof names its file', async () => {
  const { database } = await hostServer()
  const prove = ['audit', 'prove', '--out', '/dev/full', '--database', database]
  // Until the first entry is chained, there is nothing to write.
  await eventually(async () => {
    const { exitCode, stderr } = await run(prove)
    expect([exitCode, stderr]).toEqual([1, expect.stringContaining('/dev/full cannot be written: no space is left')])
  })
})

test('a killed restore leaves no database, and the next restore works', async () => {
  const server = await hostServer()
  await publishTemplate(server.client)
  const folder = temporaryFolder()
  const file = join(folder, 'backup')
  expect((await run(['backup', file, '--database', server.database])).exitCode).toBe(0)
  const target = (await emptyDatabase('sqlite')).replace('sqlite:', '')
  const targetFolder = join(target, '..')
  const command = ['restore', file, '--database', `sqlite:${target}`]
  const child = execa('node', [program, ...command], { reject: false })
  const timer = setInterval(() => {
    if (readdirSync(targetFolder).some((name) => name.endsWith('.part'))) child.kill('SIGKILL')
  }, 1)
  const { signal } = await child
  clearInterval(timer)
  expect(signal).toBe('SIGKILL')
  expect(existsSync(target)).toBe(false)
  const again = await run(command)
  expect(again.exitCode, String(again.stderr)).toBe(0)
})

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8)

/** Returns the files of a database and those next to it. */
function below(database: string): string[] {
  const folder = join(database, '..')
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
