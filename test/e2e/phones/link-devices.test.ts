import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { readTemplateFile } from '../../../src/cli/template/template-file.ts'
import { pushTemplate } from '../../../src/cli/template/template-push.ts'
import type { Pass } from '../../../src/core/contract/passes.ts'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { launchBrowser, screens, skipReason, visit } from '../support/browser.ts'
import { hostServer } from '../support/server.ts'

const agents = {
  iphone:
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1',
  mac: 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Safari/605.1.15',
  android:
    'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Mobile Safari/537.36',
  windows:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/136.0.0.0 Safari/537.36',
}
const SAVE = 'https://pay.google.com/gp/v/save/'
const VARY = 'User-Agent, Sec-CH-UA-Platform, Accept-Language'

describe.skipIf(skipReason !== undefined)(`in Chromium${skipReason ? ` (skipped: ${skipReason})` : ''}`, () => {
  const cleanUp = cleanUpAfterAll()
  let browser: Browser
  let links: { smart: string; apple: string; google: string }

  beforeAll(async () => {
    browser = await launchBrowser()
    cleanUp(() => browser.close())
    const server = await hostServer({ cleanUp })
    const path = join(import.meta.dirname, '../../../examples/coupon/template.json')
    const { templateId } = await pushTemplate(server.client, await readTemplateFile(path), { publish: true })
    const variables = { percentage: '15', validUntil: '2099-09-30' }
    const body = { templateId, externalPassId: 'V-1', label: 'Ada Lovelace', variables }
    links = (await server.client.passes.create({ body })).hostedLinks as Required<Pass['hostedLinks']> & typeof links
  })

  /**
   * Opens a page as a visitor, and records every response to a link. The addresses of Google that links redirect to are never
   * called.
   */
  async function visitor(userAgent: string) {
    const { page, context, incidents } = await visit(browser, { userAgent, viewport: screens.phone })
    const answers: { url: string; status: number; headers: Record<string, string> }[] = []
    page.on('response', (response) => {
      if (response.url().includes('/l/')) {
        answers.push({ url: response.url(), status: response.status(), headers: response.headers() })
      }
    })
    const savesAt = () => page.waitForRequest((request) => request.url().startsWith(SAVE))
    return { page, context, incidents, answers, savesAt }
  }

  test('redirects an iPhone to its pass, which downloads with its media type', async () => {
    const { page, answers } = await visitor(agents.iphone)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.goto(links.smart).catch((error: Error) => error),
    ])
    expect(download.suggestedFilename()).toMatch(/\.pkpass$/)
    expect(answers[0]).toMatchObject({
      url: links.smart,
      status: 302,
      headers: { vary: VARY, 'cache-control': 'no-store' },
    })
    expect(answers[1]?.headers).toMatchObject({
      'content-type': 'application/vnd.apple.pkpass',
      'cache-control': 'private, no-cache',
    })
  })

  test("redirects an Android phone to Google's save link, uncached", async () => {
    const { page, answers, savesAt } = await visitor(agents.android)
    const [saved] = await Promise.all([savesAt(), page.goto(links.smart).catch((error: Error) => error)])
    expect(saved.url().slice(SAVE.length).split('.')).toHaveLength(3)
    expect(answers.map(({ status }) => status)).toEqual([302, 302])
    expect(answers[0]?.headers).toMatchObject({ vary: VARY, 'cache-control': 'no-store' })
    expect(answers[1]?.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
  })

  test.each(['mac', 'windows'] as const)('a computer (%s) gets the page, and both links work by hand', async (name) => {
    const { page, answers, savesAt, incidents } = await visitor(agents[name])
    await page.goto(links.smart, { waitUntil: 'networkidle' })
    expect(answers).toEqual([
      expect.objectContaining({
        status: 200,
        headers: expect.objectContaining({ vary: VARY, 'cache-control': 'no-store' }),
      }),
    ])
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Add to Apple Wallet' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/\.pkpass$/)
    expect(incidents).toEqual([])
    await Promise.all([savesAt(), page.getByRole('link', { name: 'Add to Google Wallet' }).click()])
  })

  test('redirects an iPad that identifies as a Macintosh to its pass, and keeps the page', async () => {
    const { page, context, answers } = await visitor(agents.mac)
    const session = await context.newCDPSession(page)
    await session.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 5 })
    const [download] = await Promise.all([page.waitForEvent('download'), page.goto(links.smart)])
    expect(download.suggestedFilename()).toMatch(/\.pkpass$/)
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect(await page.getByRole('link', { name: 'Add to Google Wallet' }).isVisible()).toBe(true)
  })

  test('a phone that requests the choice gets the page', async () => {
    const { page } = await visitor(agents.iphone)
    await page.goto(`${links.smart}?choose`)
    expect(await page.getByText('SANDBOX - not a real pass: no phone accepts it').isVisible()).toBe(true)
    expect(await page.getByRole('link', { name: 'Add to' }).allInnerTexts()).toEqual([
      'Add to Apple Wallet',
      'Add to Google Wallet',
    ])
  })

  test('HEAD gets the response of GET without the body', async () => {
    const ask = async (method: string, url: string, userAgent = agents.windows) => {
      const answer = await fetch(url, { method, headers: { 'user-agent': userAgent }, redirect: 'manual' })
      const headers = ['content-type', 'cache-control', 'vary', 'content-security-policy'].map((name) =>
        answer.headers.get(name),
      )
      const isSentOn = answer.headers.has('location')
      return { seen: [answer.status, isSentOn, ...headers], body: await answer.text() }
    }
    for (const [url, userAgent] of [
      [links.smart, agents.windows],
      [links.smart, agents.iphone],
      [links.apple, agents.iphone],
      [links.google, agents.android],
      [`${links.smart}x`, agents.iphone],
    ] as const) {
      const [head, get] = [await ask('HEAD', url, userAgent), await ask('GET', url, userAgent)]
      expect([head.seen, head.body], url).toEqual([get.seen, ''])
    }
    const refused = await fetch(links.smart, { method: 'POST' })
    expect([refused.status, refused.headers.get('allow')]).toEqual([405, 'GET, HEAD'])
  })
})
