import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { InterruptedError } from '../../../src/cli/command/errors.ts'
import { playDrill } from '../../../src/cli/drill/drill.ts'
import { emptyDatabase, migratedDatabase, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { isLong } from '../../support/long.ts'
import { run, spawnProgram } from '../support/program.ts'

const nothing = { phonesLost: 0, reinstalled: 0, packagesRefused: 0, updatesMissed: 0, scansRefusedWrongly: 0 }

/** Each server and command is a process of its own: the ordinary run plays what goes through two servers. */
test('phones that are taken over and handed over under load lose nothing', async () => {
  const phones = isLong ? 1_000 : 20
  const chosen = isLong ? ['--postgres', await emptyDatabase('postgres')] : ['--stage', 'hand-over']
  const { stdout, stderr, exitCode } = await spawnProgram(['drill', '--phones', String(phones), ...chosen, '--json'])
  expect(exitCode, `${stdout}\n${stderr}`).toBe(0)
  const { stages, all, leftOut } = JSON.parse(stdout) as {
    stages: { stage: string; updates: number; scans: number; packagesChecked: number }[]
    all: object
    leftOut: object[]
  }
  expect(all).toMatchObject(nothing)
  expect(stages.length + leftOut.length).toBe(8)
  expect(leftOut).toHaveLength(isLong ? 0 : 4)
  const [installed, ...underLoad] = stages
  expect(installed).toMatchObject({ ...nothing, packages: phones })
  for (const stage of underLoad) {
    expect(stage).toMatchObject(nothing)
    expect(Math.min(stage.updates, stage.scans, stage.packagesChecked), stage.stage).toBeGreaterThan(0)
  }
}, 1_200_000)

test.each(['SIGINT', 'SIGTERM'] as const)('%s ends a drill with all that it started', async (signal) => {
  const folder = temporaryFolder()
  const drill = spawnProgram(['drill', '--phones', '5', '--dir', folder, '--no-color'])
  const owner = await eventually(() => {
    const file = readdirSync(join(folder, 'sandbox')).find((name) => name.startsWith('apple-owner-'))
    return JSON.parse(readFileSync(join(folder, 'sandbox', file!), 'utf8')) as { pid: number }
  })
  expect(process.kill(owner.pid, 0)).toBe(true)
  drill.kill(signal)
  const { exitCode, stderr } = await drill
  expect(exitCode, String(stderr)).toBe(130)
  expect(() => process.kill(owner.pid, 0)).toThrow('ESRCH')
})

test('reports a drill that is stopped before it started', async () => {
  const options = { folder: temporaryFolder(), phones: 1, postgres: undefined, only: [], note: () => undefined }
  const startProvider = () => expect.fail('nothing is started')
  const signal = AbortSignal.abort(new InterruptedError('The drill was stopped.'))
  await expect(playDrill({ ...options, startProvider, signal })).rejects.toThrow(InterruptedError)
})

test.each([
  ['a stage without its database', ['--stage', 'postgres'], 'needs --postgres'],
  ['a database of another kind', ['--postgres', 'sqlite:./drill.db'], 'must begin with postgres://'],
  ['a file for a folder', ['--dir', import.meta.filename], 'a file stands there'],
  ['a folder below a file', ['--dir', join(import.meta.filename, 'drill')], 'a file stands there'],
  ['a folder that nobody can make', ['--dir', '/proc/drill'], 'cannot be made'],
])('%s is refused before anything is started', async (_, flags, reason) => {
  const { exitCode, stderr } = await run(['drill', ...flags])
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining(reason)])
})

test('a database that holds something, or does not answer, is refused before anything is started', async () => {
  const full = await run(['drill', '--postgres', await migratedDatabase('postgres')])
  expect([full.exitCode, full.stderr]).toEqual([1, expect.stringContaining('name an empty database')])
  const away = await run(['drill', '--postgres', 'postgres://drill@127.0.0.1:9/drill'])
  expect([away.exitCode, away.stderr]).toEqual([1, expect.stringContaining('cannot be used')])
})
