import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished, test } from 'vitest'
import { createRandom } from '../../../bench/support/random.ts'
import { emptyDatabase, temporaryFolder } from '../../support/databases.ts'
import { type Arena, openArena } from '../../torture/arena.ts'
import { playDrill } from '../../torture/scenes/drill.ts'
import { run } from '../support/program.ts'
import { hostServer } from '../support/server.ts'

/** The servers and commands run in this process; `npm run drill` starts each of them as a process. */
test('phones that are taken over, moved, copied, and handed over under load lose nothing', async () => {
  const findings = { done: new Map(), longest: new Map(), most: new Map(), broken: [] }
  const random = createRandom('drill')
  const { arena, close } = openArena({
    dialect: 'postgres',
    random,
    databases: { create: emptyDatabase, postgres: undefined, stop: async () => undefined },
    findings,
    isLong: false,
    isOver: () => false,
  })
  onTestFinished(close)
  const folder: Arena['folder'] = () => {
    const made = temporaryFolder(arena.cleanUp)
    cpSync(inject('sandboxFolder'), join(made, 'sandbox'), { recursive: true })
    return made
  }
  const size: Arena['size'] = (short) => short / 10
  const start = (options: object) => hostServer({ ...options, cleanUp: arena.cleanUp })
  await playDrill({ ...arena, folder, size, start }, (args, options) => run(args, undefined, options))
  expect(findings.broken).toEqual([])
  const { packages, updates, scans } = Object.fromEntries(findings.done)
  expect(Math.min(packages, updates, scans)).toBeGreaterThan(10)
})
