import type { RequestListener } from 'node:http'
import { toNodeHandler } from 'h3/node'
import type { Browser, BrowserContext, Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { DoorEngine } from '../../../src/door/engine/engine.ts'
import { scannablePass } from '../../server/api/scans/scan-support.ts'
import { makeProject } from '../../server/fixtures.ts'
import { useApi } from '../../support/api.ts'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { times } from '../../support/long.ts'
import { launchBrowser, skipReason } from '../support/browser.ts'
import { serveDoor } from './door-server.ts'

declare const door: DoorEngine

/**
 * The number of killed tabs: 500 in the long form. Every second tab is killed after the ledger has its upload and
 * before the response arrives.
 */
const KILLS = times(4, 500)
/** On a busy machine a tab takes a second or two. */
const PATIENCE_MS = 60_000 + KILLS * 4_000

describe.skipIf(skipReason !== undefined)(`tabs${skipReason ? ` (skipped: ${skipReason})` : ''}`, () => {
  const api = useApi('sqlite')
  const cleanUp = cleanUpAfterAll()
  let browser: Browser
  let url: string

  beforeAll(async () => {
    // The clock of a browser cannot be changed, so set that of the server.
    api.now = new Date()
    browser = await launchBrowser()
    cleanUp(() => browser.close())
    // The engine of the page without a screen, next to the API.
    url = await serveDoor('./bare-door.ts', toNodeHandler(api.app) as RequestListener, cleanUp)
  })

  test(
    `none of ${KILLS} tabs killed between decision and upload loses a scan or uploads one twice`,
    async () => {
      const workspace = await api.workspace()
      const { id: projectId } = await makeProject(workspace)
      const passes: { id: string; code: string }[] = []
      for (let n = 0; n < KILLS; n += 1) passes.push(await scannablePass(workspace, { projectId }))
      const context = await browser.newContext()
      let answer: (route: Route) => Promise<unknown> = (route) => route.continue()
      await context.route('**/v1/**', (route) => answer(route).catch(() => undefined))

      let page = await open(context, url)
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
      const { code } = await workspace.ok(contract.doors.invite, { body: { projectId, gate: 'North', expiresAt } })
      expect(await page.evaluate((text) => door.claim(text, 'phone'), code)).toBe(null)
      await page.waitForFunction((size) => door.state.list?.size === size, KILLS)

      for (const [n, pass] of passes.entries()) {
        api.now = new Date()
        answer = (route) => route.abort()
        const decision = await page.evaluate((payload) => door.scan({ payload, method: 'camera' }), pass.code)
        expect(decision).toMatchObject({ result: 'accepted', verified: 'offline', failure: null })
        if (n % 2 === 1) {
          let recorded: () => void = () => undefined
          const isRecorded = new Promise<void>((resolve) => {
            recorded = resolve
          })
          answer = async (route) => {
            if (!route.request().url().endsWith('/v1/scans/offline')) return route.continue()
            await route.fetch()
            recorded()
          }
          await page.evaluate(() => door.retry())
          await isRecorded
          // Abort the request, so that the next tab does not wait for its response.
          answer = (route) => route.abort()
        }
        await kill(context, page)
        page = await open(context, url)
      }

      answer = (route) => route.continue()
      await page.evaluate(() => door.retry())
      await page.waitForFunction(() => door.state.connection === 'online' && door.state.pending === 0)
      expect(await page.evaluate(() => [door.state.problems, door.state.conflicts])).toEqual([[], []])
      for (const { id } of passes) {
        const { items } = await workspace.ok(contract.scans.list, { query: { passId: id } })
        expect(items.map(({ result, verified }) => [result, verified])).toEqual([['accepted', 'offline']])
      }
      await context.close()
    },
    PATIENCE_MS,
  )
})

async function open(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(url)
  // Before that, `door` is the element with this ID.
  await page.waitForFunction(() => 'scan' in door)
  return page
}

/** Kills the process of a tab, like a phone that needs memory. */
async function kill(context: BrowserContext, page: Page): Promise<void> {
  const crashed = page.waitForEvent('crash')
  const session = await context.newCDPSession(page)
  session.send('Page.crash').catch(() => undefined)
  await crashed
  await page.close()
}
