import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../bench/support/random.ts'
import { type ServerOptions, type ServerProcess, startServer } from '../e2e/support/server.ts'
import type { TestDialect } from '../support/databases.ts'
import { temporaryFolder } from '../support/databases.ts'
import { freePort } from '../support/ports.ts'
import type { Databases } from './databases.ts'

/** A promise, and a function that attacks it. */
export interface Scene {
  name: string
  /** The number of the promise in the list. */
  promise: number
  promised: string
  /** The databases that the scene applies to. Default: both. */
  only?: TestDialect
  run(arena: Arena): Promise<void>
}

/** The tools of a scene, and the methods that record what it did and measured. */
export interface Arena {
  dialect: TestDialect
  random: Random
  databases: Databases
  /** Returns the first number in a short run, and the second in a long one. */
  size(short: number, long: number): number
  /** Whether the scene must start no more work: the time is over, or the user pressed Ctrl-C. */
  isOver(): boolean
  /** Adds to a count in the table. */
  did(what: string, count?: number): void
  /** Records the longest wait, in seconds, in the table. */
  took(what: string, seconds: number): void
  /** Records the highest value in the table. */
  reached(what: string, value: number): void
  /** Marks the promise as broken if the condition is false. The table shows the first evidence. */
  check(holds: boolean, evidence: string): void
  folder(): string
  emptyDatabase(): Promise<string>
  start(options?: ServerOptions): Promise<ServerProcess>
  /** Resolves to the elapsed seconds. Marks the promise as broken after the given time. */
  waitUntil(what: string, seconds: number, isSo: () => Promise<boolean> | boolean): Promise<number>
  cleanUp(work: () => void | Promise<void>): void
}

/** The results of a scene. Rounds of the same scene add up. */
export interface Findings {
  done: Map<string, number>
  longest: Map<string, number>
  most: Map<string, number>
  broken: string[]
}

export interface ArenaOptions extends Pick<Arena, 'dialect' | 'random' | 'databases' | 'isOver'> {
  isLong: boolean
  findings: Findings
}

/**
 * Opens the environment of one run of a scene. `close` stops its servers and removes everything that the run created.
 * Call it again after an interrupted scene has ended.
 */
export function openArena(options: ArenaOptions): { arena: Arena; close(): Promise<void> } {
  const { findings, databases, dialect, isLong } = options
  const servers: ServerProcess[] = []
  const works: (() => void | Promise<void>)[] = []
  const cleanUp = (work: () => void | Promise<void>) => void works.push(work)
  const sandbox = temporaryFolder(cleanUp)
  let isClosed = false
  const stayOpen = () => {
    if (isClosed) throw new Error('The arena was closed')
  }
  const check = (holds: boolean, evidence: string) => {
    if (!holds) findings.broken.push(evidence)
  }
  const arena: Arena = {
    ...options,
    cleanUp,
    check,
    size: (short, long) => (isLong ? long : short),
    did: (what, count = 1) => void findings.done.set(what, (findings.done.get(what) ?? 0) + count),
    took: (what, seconds) => void findings.longest.set(what, Math.max(findings.longest.get(what) ?? 0, seconds)),
    reached: (what, value) => void findings.most.set(what, Math.max(findings.most.get(what) ?? 0, value)),
    folder: () => temporaryFolder(cleanUp),
    emptyDatabase: () => databases.create(dialect, cleanUp),
    async start(server = {}) {
      stayOpen()
      const started = await startServer({
        port: String(await freePort()),
        makesSandbox: true,
        ...server,
        env: { PASSES_SANDBOX_DIR: sandbox, PASSES_ALLOW_INSECURE_WEBHOOKS: 'true', ...server.env },
        cleanUp,
      })
      servers.push(started)
      return started
    },
    async waitUntil(what, seconds, isSo) {
      const startedAt = performance.now()
      while (!(await isSo())) {
        stayOpen()
        if (performance.now() - startedAt > seconds * 1000) {
          check(false, `not within ${seconds} s: ${what}`)
          break
        }
        await sleep(100)
      }
      return (performance.now() - startedAt) / 1000
    },
  }
  return {
    arena,
    async close() {
      isClosed = true
      await Promise.all(servers.map((server) => server.kill()))
      for (const work of works.splice(0).reverse()) await attempt(work)
    },
  }
}

/** Runs a cleanup. If it fails, the other cleanups still run, because Ctrl-C also ends PostgreSQL. */
async function attempt(work: () => void | Promise<void>): Promise<void> {
  try {
    await work()
  } catch (error) {
    process.stderr.write(`        could not clean up: ${error}\n`)
  }
}
