import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { eventTypes } from '../../../src/core/events.ts'
import { openApiDocument } from '../../../src/core/openapi/document.ts'
import { allRoutes } from '../../support/conformance.ts'
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

  /** Swagger UI takes seconds to draw all operations, and draws them again after each click and input. */
  const tried = ['tokens.current', 'passes.list', 'passes.create']

  function withoutOthers() {
    const { paths, webhooks: _, ...document } = openApiDocument()
    const isTried = (path: object) =>
      Object.values(path).some(({ operationId }: { operationId?: string }) => tried.includes(operationId ?? ''))
    return { ...document, paths: Object.fromEntries(Object.entries(paths).filter(([, path]) => isTried(path))) }
  }

  async function openDocs(options: Parameters<typeof visit>[1], { isWhole = isLong } = {}) {
    const visited = await visit(browser, options)
    const hosts = new Set<string>()
    visited.page.on('request', (request) => hosts.add(new URL(request.url()).host))
    if (!isWhole) await visited.page.route('**/openapi.json', (route) => route.fulfill({ json: withoutOthers() }))
    await visited.page.goto(`${server.url}/docs/try`)
    await visited.page.locator('.opblock').first().waitFor()
    return { ...visited, hosts }
  }

  test('the docs page shows every operation and error code, under its policy, from this server', async () => {
    const { page, incidents, hosts } = await openDocs({ viewport: screens.desktop }, { isWhole: true })
    const shown = await page.locator('.opblock-summary').allInnerTexts()
    const inContract = allRoutes.map(({ route }) => `${route.method} ${route.path}`)
    const operations = shown.map((text) =>
      text
        .replaceAll(/[\u200b\s]+/g, ' ')
        .split(' ')
        .slice(0, 2)
        .join(' '),
    )
    const events = eventTypes.map((type) => `POST ${type}`)
    expect(operations.sort()).toEqual([...inContract, ...events].sort())
    const description = await page.locator('.information-container').innerText()
    for (const code of ['PASS_ALREADY_VOIDED', 'JOB_FAILED']) expect(description).toContain(code)
    const text = await page.locator('body').innerText()
    for (const tag of openApiDocument().tags) expect(text).toContain(tag.description.replaceAll('`', ''))
    expect(incidents).toEqual([])
    expect([...hosts]).toEqual([new URL(server.url).host])
  })

  test('operations of the docs page are accessible, and open and can be tried under its policy', async () => {
    const { page, incidents, hosts } = await openDocs({ viewport: screens.desktop })
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    await page.locator('.modal-ux input').first().fill(server.token)
    await page.locator('.modal-ux button.authorize').first().click()
    await page.locator('.modal-ux button.btn-done').first().click()
    const [operation, ...others] = tried.map((id) => page.locator(idOf(id))) as [Locator, ...Locator[]]
    await operation.locator('.opblock-summary-control').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.getByRole('button', { name: 'Execute' }).click()
    await operation.getByText('"first owner"').first().waitFor()
    for (const other of others) await other.locator('.opblock-summary-control').click()
    await page.getByText('order-1815-1').first().waitFor()
    // Swagger UI looks for a separate input component for each format before it uses that of the type.
    expect(incidents.filter((text) => !text.includes('Could not find component: JsonSchema_string_'))).toEqual([])
    expect([...hosts]).toEqual([new URL(server.url).host])
  })

  test('the reference reaches an endpoint within two screens, without accessibility issues, light and dark', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page, incidents } = await visit(browser, { viewport: screens.desktop, colorScheme })
      // The style sheet of both pages contains the dark colors.
      for (const path of colorScheme === 'light' || isLong ? ['/docs', '/docs/errors'] : ['/docs']) {
        await page.goto(server.url + path)
        const isOnlyColors = colorScheme === 'dark' && !isLong
        // Every endpoint has the same colors.
        if (isOnlyColors) await page.evaluate(KEEP_SOME_ARTICLES)
        const issues = await accessibilityIssues(page, isOnlyColors ? ['color-contrast'] : undefined)
        expect(issues, `${path} ${colorScheme}`).toEqual([])
        const top = (await page.locator('article').first().boundingBox())!.y
        expect(top, path).toBeLessThan(screens.desktop.height)
      }
      expect(incidents).toEqual([])
      if (colorScheme === 'dark' && !isLong) continue
      await page.setViewportSize(screens.phone)
      await page.goto(`${server.url}/docs`)
      expect((await page.locator('article').first().boundingBox())!.y).toBeLessThan(2 * screens.phone.height)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(screens.phone.width)
      expect(incidents).toEqual([])
    }
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
      const { page } = await visit(browser)
      await page.goto(origin)
      results.push(await page.evaluate(call(server.token)), await page.evaluate(call('psk_wrong')))
    }
    const blocked = 'Failed to fetch'
    expect(results).toEqual([[201, 400, true], [401, 401, true], blocked, blocked])
    const { items } = await server.client.projects.list()
    expect(items).toHaveLength(1)
  })

  // Dark mode changes only the contrast, which Swagger UI decides.
  test.runIf(isLong)('the page to try requests has no accessibility issue in dark mode', async () => {
    const { page } = await openDocs({ viewport: screens.desktop, colorScheme: 'dark' })
    await expectAccessible(page)
  })
})

/** Serves an empty page at another origin than the API. */
async function servePage(cleanUp: CleanUp): Promise<string> {
  const page = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<title>App</title>'))
  page.listen(0, '127.0.0.1')
  await once(page, 'listening')
  cleanUp(() => void page.close())
  return `http://127.0.0.1:${(page.address() as AddressInfo).port}`
}

const KEEP_SOME_ARTICLES = `document.querySelectorAll('article').forEach((part, n) => n >= 20 && part.remove())`

/** Ignores the issues of Swagger UI itself. */
async function expectAccessible(page: Page): Promise<void> {
  const issues = await accessibilityIssues(page)
  expect(issues.filter((issue) => !THEIRS.test(issue)).map((issue) => issue.slice(0, 300))).toEqual([])
}

/**
 * Issues of the elements that Swagger UI draws: pale badges and methods (light scheme), a link in each button that
 * opens an operation, the hidden server selection without a label, the content before its `main`, names of parts
 * without a role, and the heading of webhooks.
 */
const THEIRS =
  /^(undecided )?(color-contrast|nested-interactive|select-name|region|aria-prohibited-attr|heading-order):/

/** Returns the element ID of an operation, in which Swagger UI escapes the dot with a backslash. */
function idOf(operation: string): string {
  return `[id$="-${operation.replace('.', '\\\\.')}"]`
}
