import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { contract } from '../../../src/core/contract/contract.ts'
import type { Adjustment, Decision, DoorEngine, DoorMovement, EngineState } from '../../../src/door/engine/engine.ts'
import type { TestWorkspace } from '../../support/api.ts'
import { type CleanUp, temporaryFolder } from '../../support/databases.ts'
import { launchBrowser } from '../support/browser.ts'

declare const door: DoorEngine
declare let skewMs: number

/** A tab or a process that runs the engine on a store. */
export interface Runner {
  scan(payload: string): Promise<Decision>
  undo(decision: Decision): Promise<Decision>
  setMovement(movement: DoorMovement | null): Promise<void>
  adjust(delta: 1 | -1): Promise<Adjustment | null>
  undoAdjustment(adjustment: Adjustment): Promise<boolean>
  state(): Promise<EngineState>
  retry(): Promise<void>
  /** Sets the clock, in milliseconds ahead of the clock of the machine. */
  setClock(ms: number): Promise<void>
  /** Stops all timers, so that no request times out. */
  stopTimers(): Promise<void>
  /** Kills the tab or process. */
  kill(): Promise<void>
}

/** A door whose store outlives its runners. */
export interface DoorRig {
  open(options?: { skewMs?: number }): Promise<Runner>
}

/** The tools that a rig needs to make its first runner a door. */
export interface Place {
  workspace: TestWorkspace
  projectId: string
}

/** Creates doors on one kind of store. */
export type CreateRig = (place: Place) => Promise<DoorRig>

async function invite({ workspace, projectId }: Place): Promise<string> {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
  return (await workspace.ok(contract.doors.invite, { body: { projectId, gate: 'North', expiresAt } })).code
}

/** Creates doors on IndexedDB. They are tabs of Chromium, whose processes the tests crash. */
export async function createTabs(url: string, cleanUp: CleanUp): Promise<CreateRig> {
  const browser: Browser = await launchBrowser()
  cleanUp(() => browser.close())
  return async (place) => {
    const context = await browser.newContext()
    // Doors at one place spread their requests at random.
    await context.addInitScript(() => {
      Math.random = () => 0
    })
    let isDoor = false
    return {
      async open({ skewMs: ahead = 0 } = {}) {
        const page = await context.newPage()
        await page.addInitScript((ms) => {
          const now = Date.now.bind(Date)
          Object.assign(globalThis, { skewMs: ms })
          Date.now = () => now() + skewMs
        }, ahead)
        await page.goto(url)
        // Before that, `door` is the element with this ID.
        await page.waitForFunction(() => 'scan' in door)
        if (!isDoor) await page.evaluate((code) => door.claim(code, 'phone'), await invite(place))
        isDoor = true
        return tab(context, page)
      },
    }
  }
}

function tab(context: BrowserContext, page: Page): Runner {
  return {
    scan: (code) => page.evaluate((payload) => door.scan({ payload, method: 'scanner' }), code),
    undo: (decision) => page.evaluate((shown) => door.undo(shown), decision),
    setMovement: (movement) => page.evaluate((next) => door.setMovement(next), movement),
    adjust: (delta) => page.evaluate((by) => door.adjust(by), delta),
    undoAdjustment: (adjustment) => page.evaluate((one) => door.undoAdjustment(one), adjustment),
    state: () => page.evaluate(() => door.state),
    retry: () => page.evaluate(() => door.retry()),
    setClock: (ahead) =>
      page.evaluate((ms) => {
        skewMs = ms
      }, ahead),
    stopTimers: () =>
      page.evaluate(() => {
        const start = setTimeout
        Object.assign(globalThis, { setTimeout: (_: () => void, ms: number) => start(() => undefined, ms) })
      }),
    async kill() {
      const crashed = page.waitForEvent('crash')
      const session = await context.newCDPSession(page)
      session.send('Page.crash').catch(() => undefined)
      await crashed
      await page.close()
    },
  }
}

/** Creates doors on files. They are processes, which the tests kill. */
export async function createProcesses(url: string, cleanUp: CleanUp): Promise<CreateRig> {
  const root = new URL('../../..', import.meta.url).pathname
  const folder = join(root, 'node_modules/.cache/passes-door')
  mkdirSync(folder, { recursive: true })
  const script = join(folder, `console-${process.pid}.mjs`)
  await build({
    entryPoints: [join(root, 'test/e2e/door/console-door.ts')],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    // Bundle the packages too, because Node.js takes longer to load their files. SQLite loads a binary next to its file.
    external: ['sqlite3'],
    banner: {
      js: "import { createRequire as requireOf } from 'node:module'\nconst require = requireOf(import.meta.url)",
    },
    logLevel: 'silent',
  })
  return async (place) => {
    const body = { code: await invite(place), name: 'console' }
    const { token, door } = await place.workspace.ok(contract.doors.claim, { body })
    const given = { url, token, folder: temporaryFolder(cleanUp), projectId: place.projectId, deviceId: door.id }
    return {
      async open({ skewMs = 0 } = {}) {
        // Without the modules that the worker of the tests requires.
        const child = fork(script, [JSON.stringify({ ...given, skewMs })], { execArgv: [] })
        cleanUp(() => void child.kill('SIGKILL'))
        await once(child, 'message')
        return processOf(child)
      },
    }
  }
}

function processOf(child: ChildProcess): Runner {
  let calls = 0
  const call = <T>(method: string, ...args: unknown[]): Promise<T> => {
    calls += 1
    const id = calls
    return new Promise((resolve) => {
      child.on('message', function receive(message: { id: number; value: T }) {
        if (message.id !== id) return
        child.off('message', receive)
        resolve(message.value)
      })
      child.send({ id, method, args })
    })
  }
  return {
    scan: (payload) => call('scan', { payload, method: 'scanner' }),
    undo: (decision) => call('undo', decision),
    setMovement: (movement) => call('setMovement', movement),
    adjust: (delta) => call('adjust', delta),
    undoAdjustment: (adjustment) => call('undoAdjustment', adjustment),
    state: () => call('state'),
    retry: () => call('retry'),
    setClock: (ms) => call('setClock', ms),
    stopTimers: () => call('stopTimers'),
    async kill() {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}
