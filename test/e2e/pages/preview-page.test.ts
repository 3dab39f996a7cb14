import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { readTemplateFile } from '../../../src/cli/template/template-file.ts'
import { pushTemplate } from '../../../src/cli/template/template-push.ts'
import type { DefinitionInput, PassType } from '../../../src/core/contract/definition.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { accessibilityIssues, launchBrowser, overPictures, screens, skipReason, visit } from '../support/browser.ts'
import { run } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'

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

describe.skipIf(skipReason !== undefined)(`in Chromium${skipReason ? ` (skipped: ${skipReason})` : ''}`, () => {
  const cleanUp = cleanUpAfterAll()
  let server: TestServer
  let browser: Browser
  let folder: string
  const ids: Record<string, string> = {}

  beforeAll(async () => {
    browser = await launchBrowser()
    cleanUp(() => browser.close())
    server = await hostServer({ cleanUp })
    folder = temporaryFolder(cleanUp)
    for (const name of ['conference', 'loyalty', 'coupon']) {
      const path = join(import.meta.dirname, '../../../examples', name, 'template.json')
      ids[name] = (await pushTemplate(server.client, await readTemplateFile(path), { publish: true })).templateId
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

  const field = (key: string, value = 'B7') => ({ key, label: key.toUpperCase(), value })

  /** The preview of a design, and the page of a pass of it, each with what is drawn of the front. */
  async function drawn(passType: PassType, design: Partial<DefinitionInput['design']>, apple = {}) {
    const { templates, templateVersions, passes } = server.client
    const template = await templates.create({ body: { name: passType, passType } })
    const definition = {
      apple,
      design: { organizationName: 'Harbour', description: 'Ticket', barcode: CODE, ...design },
    }
    const draft = await templates.createVersion({ params: { id: template.id }, body: { definition } })
    await templateVersions.publish({ params: { id: draft.id } })
    const body = { templateId: template.id, externalPassId: `drawn-${template.id}`, label: 'Ada Lovelace' }
    const { hostedLinks } = await passes.create({ body })
    const extraHTTPHeaders = { authorization: `Bearer ${server.token}` }
    const preview = await visit(browser, { viewport: screens.desktop, extraHTTPHeaders })
    await preview.page.goto(`${server.url}/v1/template-versions/${draft.id}/preview?format=html`)
    const page = await visit(browser, { viewport: screens.desktop })
    await page.page.goto(hostedLinks.smart!)
    expect([...preview.incidents, ...page.incidents]).toEqual([])
    return { preview: preview.page, page: page.page }
  }
  const CODE = { format: 'pdf417' as const, message: 'TICKET-1' }
  const inCard = (page: Page, script: string) =>
    page.evaluate(`(() => { const card = document.querySelector('.card'); ${script} })()`)

  test('white on white stays white, in the preview and on the page of the pass, which draw one card', async () => {
    const white = { background: '#ffffff', foreground: '#ffffff', label: '#ffffff' }
    const { preview, page } = await drawn('generic', { colors: white, fields: { primary: [field('name')] } })
    for (const shown of [preview, page]) {
      const colors = await inCard(
        shown,
        `return [card, ...card.querySelectorAll('dt, dd')].map((part) => getComputedStyle(part).color)`,
      )
      expect(new Set(colors as string[])).toEqual(new Set(['rgb(255, 255, 255)']))
      expect(await inCard(shown, 'return getComputedStyle(card).backgroundColor')).toBe('rgb(255, 255, 255)')
    }
    expect(await inCard(preview, 'return card.outerHTML')).toBe(await inCard(page, 'return card.outerHTML'))
  })

  test('fields beyond those of the style are faded and marked in the preview, and stand under the card of the page', async () => {
    const secondary = ['one', 'two', 'three', 'four', 'five', 'six'].map((key) => field(key))
    const { preview, page } = await drawn('coupon', { fields: { secondary } })
    const surplus = preview.locator('.iphone .surplus')
    expect(await surplus.innerText()).toMatch(/Not shown on an iPhone:\s+FIVE\s+B7\s+SIX\s+B7/)
    expect(await preview.evaluate(`getComputedStyle(document.querySelector('.surplus')).opacity`)).toBe('0.5')
    expect(await preview.locator('.iphone .secondary > div').count()).toBe(4)
    expect(await preview.locator('.warnings').innerText()).toContain('fields-over')
    expect(await page.locator('.card').innerText()).not.toContain('FIVE')
    await page.locator('summary').click()
    expect(await page.locator('details').innerText()).toMatch(/FIVE\s+B7\s+SIX\s+B7/)
  })

  test('a text that is wider than what its row leaves is cut on one line, and its neighbours are whole', async () => {
    const secondary = [field('shop', 'Mercado da Ribeira, stall 12, behind the flowers'), field('seat'), field('row')]
    const { preview, page } = await drawn('eventTicket', { fields: { secondary } })
    for (const shown of [preview, page]) {
      const cut = await inCard(
        shown,
        `return [...card.querySelectorAll('.secondary dd')].map((text) => {
          const { textOverflow, lineHeight } = getComputedStyle(text)
          return [text.scrollWidth > text.clientWidth, Math.round(text.clientHeight / parseFloat(lineHeight)), textOverflow]
        })`,
      )
      expect(cut).toEqual([true, false, false].map((isCut) => [isCut, 1, 'ellipsis']))
    }
  })

  test('a boarding pass shows auxiliary above secondary fields, and the sign of its transport between the places', async () => {
    const fields = {
      primary: [field('from', 'HAM'), field('to', 'STO')],
      secondary: [field('name')],
      auxiliary: [field('seat')],
    }
    const { preview, page } = await drawn('boardingPass', { fields }, { transitType: 'PKTransitTypeTrain' })
    for (const shown of [preview, page]) {
      const card = shown.locator('.card')
      const box = async (part: ReturnType<typeof card.locator>) => (await part.boundingBox())!
      expect((await box(card.locator('.auxiliary'))).y).toBeLessThan((await box(card.locator('.secondary'))).y)
      const [from, sign, to] = [
        await box(card.getByText('HAM')),
        await box(card.getByRole('img', { name: 'Train' })),
        await box(card.getByText('STO')),
      ]
      expect(sign.x).toBeGreaterThanOrEqual(from.x + from.width)
      expect(to.x).toBeGreaterThanOrEqual(sign.x + sign.width)
      expect(sign.height).toBeGreaterThan(16)
    }
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
