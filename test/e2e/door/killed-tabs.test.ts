import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import { toNodeHandler } from 'h3/node'
import type { Browser, BrowserContext, Page, Route } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { contract } from '../../../src/core/contract/contract.ts'
import type { DoorEngine } from '../../../src/door/engine/engine.ts'
import { answerFile } from '../../../src/server/pages/assets.ts'
import { bundleFromSource, doorFiles } from '../../../src/server/pages/door/door-page.ts'
import { scannablePass } from '../../server/api/scans/scan-support.ts'
import { makeProject } from '../../server/fixtures.ts'
import { type Api, useApi } from '../../support/api.ts'
import { type CleanUp, cleanUpAfterAll } from '../../support/databases.ts'
import { isLong, times } from '../../support/long.ts'
import { launchBrowser, skipReason } from '../support/browser.ts'

declare const door: DoorEngine

/** Every second tab dies when its upload stands in the ledger and no answer has come yet; 500 in the long form. */
const KILLS = times(10, 500)

/** The API, and beside it the engine of the page without a screen. */
async function serve(api: Api, cleanUp: CleanUp): Promise<string> {
  const files = await doorFiles(await bundleFromSource(new URL('./bare-door.ts', import.meta.url).pathname))
  const answerApi = toNodeHandler(api.app) as RequestListener
  const server = createServer((request, response) => {
    const file = files.get(new URL(request.url!, 'http://127.0.0.1').pathname)
    if (!file) return answerApi(request, response)
    const answer = answerFile(file, new Headers(request.headers as Record<string, string>))
    response.writeHead(answer.status ?? 200, Object.fromEntries(answer.headers))
    response.end((answer.body as Uint8Array | null) ?? undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanUp(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as { port: number }).port}/door`
}

// In the long form alone: among all other tests it once hung behind a tab that had crashed, which is not understood yet.
const reason = skipReason ?? (isLong ? undefined : 'long form')

describe.skipIf(reason !== undefined)(`tabs${reason ? ` (skipped: ${reason})` : ''}`, () => {
  const api = useApi('sqlite')
  const cleanUp = cleanUpAfterAll()
  let browser: Browser
  let url: string

  beforeAll(async () => {
    // Browsers have no other clock than that of the machine.
    api.now = new Date()
    browser = await launchBrowser()
    cleanUp(() => browser.close())
    url = await serve(api, cleanUp)
  })

  test(`of ${KILLS} tabs that are killed between verdict and upload none loses one, and none uploads one twice`, async () => {
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
      const verdict = await page.evaluate((payload) => door.scan({ payload, method: 'camera' }), pass.code)
      expect(verdict).toMatchObject({ result: 'accepted', verified: 'offline', failure: null })
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
  })
})

async function open(context: BrowserContext, url: string): Promise<Page> {
  const page = await context.newPage()
  await page.goto(url)
  await page.waitForFunction(() => 'door' in globalThis)
  return page
}

/** Ends the process of a tab, as a phone does that needs its memory. */
async function kill(context: BrowserContext, page: Page): Promise<void> {
  const crashed = page.waitForEvent('crash')
  const session = await context.newCDPSession(page)
  session.send('Page.crash').catch(() => undefined)
  await crashed
  await page.close()
}
