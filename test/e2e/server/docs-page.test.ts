import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { type CleanUp, cleanUpAfterAll } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'
import { accessibilityIssues, launchBrowser, screens, skipReason, visit } from '../support/browser.ts'
import { hostServer, type TestServer } from '../support/server.ts'

describe.skipIf(skipReason !== undefined)(`in Chromium${skipReason ? ` (skipped: ${skipReason})` : ''}`, () => {
  const cleanUp = cleanUpAfterAll()
  let server: TestServer
  let browser: Browser
  /** The origins of two pages. Only the first can call the API. */
  let apps: [string, string]

  beforeAll(async () => {
    browser = await launchBrowser()
    cleanUp(() => browser.close())
    apps = await Promise.all([servePage(cleanUp), servePage(cleanUp)])
    server = await hostServer({ args: ['--cors-origin', apps[0]], cleanUp })
  })

  test('the reference reaches an endpoint within two screens, without accessibility issues, light and dark', async () => {
    const { page, incidents } = await visit(browser, desktop)
    for (const path of ['/docs', '/docs/objects', '/docs/errors']) {
      await page.goto(server.url + path)
      const top = (await page.locator('article').first().boundingBox())!.y
      expect(top, path).toBeLessThan(screens.desktop.height)
      expect(await accessibilityIssues(page, { without: isLong ? [] : COLORS }), path).toEqual([])
      // Every endpoint has the same colors, and the check of colors takes longest.
      if (!isLong) await page.evaluate(KEEP_SOME_ARTICLES)
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        const rules = isLong ? undefined : COLORS
        expect(await accessibilityIssues(page, rules), `${path} ${colorScheme}`).toEqual([])
        // The pages share one style sheet.
        if (path !== '/docs' && !isLong) break
      }
      await page.emulateMedia({ colorScheme: 'light' })
    }
    await page.setViewportSize(screens.phone)
    await page.goto(`${server.url}/docs`)
    expect((await page.locator('article').first().boundingBox())!.y).toBeLessThan(2 * screens.phone.height)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screens.phone.width)
    expect(incidents).toEqual([])
  })

  test('the page of an allowed origin calls the API with a token, and the page of another origin cannot', async () => {
    const call = (token: string) => `(async () => {
      const url = '${server.url}/v1/projects'
      const headers = { authorization: 'Bearer ${token}', 'content-type': 'application/json' }
      const created = await fetch(url, { method: 'POST', headers, body: '{"name":"Polyglot"}' })
      const patched = created.ok && (await fetch(url + '/' + (await created.json()).id, { method: 'PATCH', headers, body: '{}' }))
      const last = patched || created
      return [created.status, last.status, last.headers.get('x-correlation-id') !== null]
    })().catch((error) => error.message)`
    const results = []
    for (const origin of apps) {
      const { page } = await visit(browser, desktop)
      await page.goto(origin)
      results.push(await page.evaluate(call(server.token)), await page.evaluate(call('psk_wrong')))
    }
    const blocked = 'Failed to fetch'
    expect(results).toEqual([[201, 400, true], [401, 401, true], blocked, blocked])
    const { items } = await server.client.projects.list()
    expect(items).toHaveLength(1)
  })

  test('the search finds tasks, endpoints, errors, and parameters, by keyboard', async () => {
    const { page, incidents } = await visit(browser, desktop)
    await page.goto(`${server.url}/docs`)
    const search = page.getByRole('searchbox', { name: 'Search' })
    const results = page.getByRole('search').getByRole('link')
    for (const [text, first] of [
      ['create pass', 'Create a pass'],
      ['filter', 'List passes with a filter'],
      ['verify webhook', 'Verify a webhook'],
      ['POST /v1/scans', 'Scan a pass'],
      ['PASS_ALREADY_VOIDED', 'PASS_ALREADY_VOIDED'],
      ['ProjectFigures', 'ProjectFigures'],
    ] as const) {
      await search.fill(text)
      expect(await results.first().innerText(), text).toBe(first)
    }
    await search.fill('seat:A-17')
    expect(await results.allInnerTexts()).toContain('List passes')
    // Checks take long on all articles.
    await page.evaluate(KEEP_SOME_ARTICLES)
    expect(await accessibilityIssues(page, ['color-contrast', 'label', 'region'])).toEqual([])
    await search.fill('words that are not there')
    expect(await page.getByRole('status').innerText()).toBe('0 results')
    await search.fill('verify webhook')
    await search.press('Enter')
    expect(new URL(page.url()).hash).toBe('#verify-webhook')
    expect(await page.getByText('PASSES_WEBHOOK_SECRET is').isVisible()).toBe(true)
    expect([await search.inputValue(), await results.count()]).toEqual(['', 0])
    await page.locator('#verify-webhook > summary').click()
    await page.getByRole('navigation').getByRole('link', { name: 'Verify a webhook' }).click()
    expect(await page.getByText('PASSES_WEBHOOK_SECRET is').isVisible()).toBe(true)
    await search.fill('scan')
    await search.press('Escape')
    expect(await results.count()).toBe(0)
    expect(incidents).toEqual([])
  })

  test('the reference fits a screen of 320 pixels, and needs no script', async () => {
    const { page } = await visit(browser, { viewport: { width: 320, height: 640 }, javaScriptEnabled: false })
    for (const path of ['/docs', '/docs/objects', '/docs/errors']) {
      await page.goto(server.url + path)
      expect(await page.evaluate('document.documentElement.scrollWidth'), path).toBe(320)
    }
    await page.goto(`${server.url}/docs`)
    expect(await page.getByRole('search').count()).toBe(0)
    await page.getByText('List passes with a filter').first().click()
    await page.getByText('Python', { exact: true }).nth(1).click()
    expect(await page.getByText('urllib.parse.urlencode(query)').isVisible()).toBe(true)
  })
})

/** The look of most visits, which share a context. */
const desktop = { viewport: screens.desktop, colorScheme: 'light' } as const

const COLORS = ['color-contrast']

/** Serves an empty page at another origin than the API. */
async function servePage(cleanUp: CleanUp): Promise<string> {
  const page = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<title>App</title>'))
  page.listen(0, '127.0.0.1')
  await once(page, 'listening')
  cleanUp(() => void page.close())
  return `http://127.0.0.1:${(page.address() as AddressInfo).port}`
}

const KEEP_SOME_ARTICLES = `document.querySelectorAll('article').forEach((part, n) => n >= 20 && part.remove())`
