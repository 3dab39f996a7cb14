import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApiDocument } from '../../src/core/openapi.ts'
import type { CleanUp } from '../support/databases.ts'
import { allRoutes } from '../support/conformance.ts'
import { accessibilityIssues, launchBrowser, screens, skipReason, visit } from './browser.ts'
import { startServer, type TestServer } from './server.ts'

describe.skipIf(skipReason !== undefined)(`in Chromium${skipReason ? ` (skipped: ${skipReason})` : ''}`, () => {
  const cleanUps: Parameters<CleanUp>[0][] = []
  let server: TestServer
  let browser: Browser

  beforeAll(async () => {
    browser = await launchBrowser()
    cleanUps.push(() => browser.close())
    server = await startServer({ cleanUp: (work) => cleanUps.push(work) })
  })
  afterAll(async () => {
    for (const cleanUp of cleanUps.reverse()) await cleanUp()
  })

  async function openDocs(options: Parameters<typeof visit>[1] = {}) {
    const visited = await visit(browser, options)
    const hosts = new Set<string>()
    visited.page.on('request', (request) => hosts.add(new URL(request.url()).host))
    await visited.page.goto(`${server.url}/docs`)
    await visited.page.locator('.opblock').first().waitFor()
    return { ...visited, hosts }
  }

  test('the reference shows every operation and every error code, within its own policy and from this server alone', async () => {
    const { page, incidents, hosts } = await openDocs({ viewport: screens.desktop })
    const shown = await page.locator('.opblock-summary').allInnerTexts()
    const inContract = allRoutes.map(({ route }) => `${route.method} ${route.path}`)
    const operations = shown.map((text) => text.replaceAll(/[\u200b\s]+/g, ' ').split(' ').slice(0, 2).join(' '))
    expect(operations.sort()).toEqual(inContract.sort())
    const description = await page.locator('.information-container').innerText()
    for (const code of ['PASS_ALREADY_VOIDED', 'JOB_FAILED']) expect(description).toContain(code)
    for (const tag of openApiDocument().tags) expect(await page.locator('body').innerText()).toContain(tag.description.split('`')[0])
    for (const operation of ['passes.create', 'passes.list', 'scans.create', 'webhooks.create']) {
      await page.locator(`[id$="-${operation}"] .opblock-summary-control`).click()
    }
    await page.getByText('order-1815-1').first().waitFor()
    expect(incidents).toEqual([])
    expect([...hosts]).toEqual([new URL(server.url).host])
  })

  test('a request can be tried from the page, with a token', async () => {
    const { page, incidents } = await openDocs({ viewport: screens.desktop })
    await page.getByRole('button', { name: 'Authorize' }).first().click()
    await page.locator('.modal-ux input').first().fill(server.token)
    await page.locator('.modal-ux button.authorize').first().click()
    await page.locator('.modal-ux button.btn-done').first().click()
    const operation = page.locator('[id$="-tokens.current"]')
    await operation.locator('.opblock-summary-control').click()
    await operation.getByRole('button', { name: 'Try it out' }).click()
    await operation.getByRole('button', { name: 'Execute' }).click()
    await operation.getByText('"first owner"').first().waitFor()
    expect(incidents).toEqual([])
  })

  test('the page is readable by day and by night', async () => {
    for (const colorScheme of ['light', 'dark'] as const) {
      const { page } = await openDocs({ viewport: screens.desktop, colorScheme })
      console.log(colorScheme, await accessibilityIssues(page))
      await page.screenshot({ path: `/tmp/docs-${colorScheme}.png` })
    }
  })
})
