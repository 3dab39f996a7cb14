import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { pushTemplate } from '../../../src/cli/template/template-push.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { accessibilityIssues, launchBrowser, screens, skipReason, visit } from '../support/browser.ts'
import { run } from '../support/program.ts'
import { startServer, type TestServer } from '../support/server.ts'

const templates = ['conference', 'loyalty', 'coupon', 'boarding', 'member']
const boarding = {
  organizationName: 'Nordic Rail',
  description: 'Seat reservation',
  logoText: 'Nordic Rail',
  colors: { background: '#12355b' },
  fields: {
    primary: [
      { key: 'from', label: 'HAMBURG', value: 'HAM' },
      { key: 'to', label: 'STOCKHOLM', value: 'STO' },
    ],
    auxiliary: [{ key: 'seat', label: 'SEAT', value: '43A' }],
  },
  barcode: { format: 'aztec' as const },
}

/** What stands over a picture is as easy to read as the picture lets it: only people can judge that. */
const overPictures = /^undecided color-contrast:/

describe.skipIf(skipReason !== undefined)(`in Chromium${skipReason ? ` (skipped: ${skipReason})` : ''}`, () => {
  const cleanUp = cleanUpAfterAll()
  let server: TestServer
  let browser: Browser
  let folder: string
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    browser = await launchBrowser()
    cleanUp(() => browser.close())
    server = await startServer({ cleanUp })
    folder = temporaryFolder(cleanUp)
    for (const name of ['conference', 'loyalty', 'coupon']) {
      const path = join(import.meta.dirname, '../../../examples', name, 'template.json')
      ids[name] = (await pushTemplate(server.client, path, { publish: true })).templateId
    }
    ids.boarding = await draft('boardingPass', boarding)
    ids.member = await draft('generic', { organizationName: 'Library', description: 'Card' })
    for (const name of templates) {
      const written = await run(['template', 'preview', ids[name]!, '--html', `${name}.html`], server, { cwd: folder })
      expect(written.exitCode, written.stderr).toBe(0)
    }
  })

  async function draft(passType: 'boardingPass' | 'generic', design: typeof boarding | Partial<typeof boarding>) {
    const { id } = await server.client.templates.create({ body: { name: passType, passType } })
    const definition = { design: design as typeof boarding }
    await server.client.templates.createVersion({ params: { id }, body: { definition } })
    return id
  }

  const open = (page: Page, name: string) =>
    page.goto(pathToFileURL(join(folder, `${name}.html`)).href, { waitUntil: 'networkidle' })

  test.each(templates)(
    'the file of %s shows both phones, by day and by night, and has no accessibility issue',
    async (name) => {
      for (const viewport of Object.values(screens)) {
        for (const colorScheme of ['light', 'dark'] as const) {
          const { page, incidents } = await visit(browser, { viewport, colorScheme })
          await open(page, name)
          for (const more of await page.locator('summary').all()) await more.click()
          const issues = (await accessibilityIssues(page)).filter((issue) => !overPictures.test(issue))
          expect(issues, `${viewport.width} ${colorScheme}`).toEqual([])
          expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width)
          const [apple, google] = await Promise.all(
            ['Apple Wallet', 'Google Wallet'].map((phone) => page.getByRole('region', { name: phone }).boundingBox()),
          )
          // Side by side where there is room, one above the other where there is none.
          if (viewport.width > 1000) expect(google!.x).toBeGreaterThan(apple!.x + apple!.width)
          else expect(google!.y).toBeGreaterThan(apple!.y + apple!.height)
          expect(incidents).toEqual([])
        }
      }
    },
  )

  test('the file loads nothing: its images are in it', async () => {
    const { page } = await visit(browser)
    const requests: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith('data:')) requests.push(request.url())
    })
    await open(page, 'conference')
    const widths = await page.evaluate('Array.from(document.images, ({ naturalWidth }) => naturalWidth)')
    expect(widths).toEqual([480, 1125, 114, 1032])
    expect(requests).toHaveLength(1)
  })

  test('an iPhone writes the primary field over the strip, and Android the hero under the code', async () => {
    const { page } = await visit(browser)
    await open(page, 'conference')
    const box = async (selector: string) => (await page.locator(selector).boundingBox())!
    const [strip, primary] = [await box('.iphone .strip'), await box('.iphone .primary')]
    expect(primary.y).toBeGreaterThanOrEqual(strip.y)
    expect(primary.y + primary.height).toBeLessThanOrEqual(strip.y + strip.height + 1)
    const [code, hero] = [await box('.android .barcode'), await box('.google-hero')]
    expect(hero.y).toBeGreaterThan(code.y + code.height)
  })

  test('a pass is shown as its holder has it, served under a policy that lets nothing in', async () => {
    const body = {
      templateId: ids.loyalty!,
      externalPassId: 'M-1',
      label: '歐陽秀英',
      variables: { points: '77', memberSince: '2024-12-21' },
    }
    const { id } = await server.client.passes.create({ body })
    const { page, incidents } = await visit(browser, { extraHTTPHeaders: { authorization: `Bearer ${server.token}` } })
    await page.goto(`${server.url}/v1/passes/${id}/preview?format=html`, { waitUntil: 'networkidle' })
    for (const phone of ['Apple Wallet', 'Google Wallet']) {
      const text = await page.getByRole('region', { name: phone }).innerText()
      expect(text).toContain('歐陽秀英')
      expect(text).toContain('77')
    }
    expect(await page.evaluate('Array.from(document.images).every(({ naturalWidth }) => naturalWidth > 0)')).toBe(true)
    expect(incidents).toEqual([])
    const written = await run(['pass', 'preview', 'M-1', '--external', '--html', 'pass.html', '--json'], server, {
      cwd: folder,
    })
    expect(JSON.parse(written.stdout)).toMatchObject({ id, file: 'pass.html' })
    expect(existsSync(join(folder, 'pass.html')) && readFileSync(join(folder, 'pass.html'), 'utf8')).toContain(
      '歐陽秀英',
    )
  })
})
