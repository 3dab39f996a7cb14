import { cpSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { DevFiles } from '../../../src/cli/template/dev-files.ts'
import { readTemplateFile } from '../../../src/cli/template/template-file.ts'
import { pushTemplate } from '../../../src/cli/template/template-push.ts'
import type { DefinitionInput, PassType } from '../../../src/core/contract/schemas/definition.ts'
import { startTemplateDev } from '../../../src/server/pages/template-dev/dev-server.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import {
  accessibilityIssues,
  launchBrowser,
  looksOf,
  overPictures,
  screens,
  skipReason,
  visit,
} from '../support/browser.ts'
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
      for (const { viewport, colorScheme } of looksOf(templates.indexOf(name))) {
        const { page, incidents } = await visit(browser, { viewport, colorScheme })
        await open(page, name)
        for (const more of await page.locator('summary').all()) await more.click()
        const issues = (await accessibilityIssues(page)).filter((issue) => !overPictures.test(issue))
        expect(issues, `${viewport.width} ${colorScheme}`).toEqual([])
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(viewport.width)
        const [apple, google] = await Promise.all(
          ['Apple Wallet', 'Google Wallet'].map((phone) => page.getByRole('region', { name: phone }).boundingBox()),
        )
        // The cards are side by side on wide screens, and one above the other on narrow ones.
        if (viewport.width > 1000) expect(google!.x).toBeGreaterThan(apple!.x + apple!.width)
        else expect(google!.y).toBeGreaterThan(apple!.y + apple!.height)
        expect(incidents).toEqual([])
      }
    },
  )

  test('the file contains its images and loads nothing', async () => {
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

  /** Returns the fields of the front that the preview and the pass page show. */
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

  test('fields beyond those of the style are faded and marked in the preview, and below the card of the page', async () => {
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

  test('cuts a text that is too wide for its row to one line, and no other text', async () => {
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

  test('a boarding pass shows auxiliary above secondary fields, and the transport sign between the places', async () => {
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

  test('shows a pass as its holder has it, with a policy that allows no external content', async () => {
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

  /** Starts `template dev` on a template file, and opens its page. */
  async function develop() {
    const source = join(import.meta.dirname, '../../../examples/conference')
    const place = temporaryFolder()
    const file = join(place, 'template.json')
    cpSync(source, place, { recursive: true })
    const rows = join(place, 'rows.csv')
    writeFileSync(rows, 'externalPassId,label,session\nA-1,Grace Hopper,Compilers\nA-2,Radia Perlman,Bridges\n')
    const files = new DevFiles(file, rows)
    const dev = await startTemplateDev({
      file: 'template.json',
      port: 0,
      read: () => files.read(),
      files: () => files.paths(),
      locate: (notes) => files.locate(notes),
    })
    onTestFinished(() => dev.close())
    const template = JSON.parse(readFileSync(file, 'utf8'))
    const withName = (organizationName: string, more = {}) => {
      const { definition } = template
      const design = { ...definition.design, logoText: organizationName, ...more }
      return JSON.stringify({ ...template, definition: { ...definition, design } }, undefined, 2)
    }
    return { place, file, rows, url: dev.url, template, withName }
  }

  test('template dev shows a save at once: half-written, renamed, deleted, and returned files too', async () => {
    const { place, file, rows, url, withName } = await develop()
    const { page, incidents } = await visit(browser, { viewport: screens.desktop })
    await page.goto(url)
    const cards = (text: string) => page.locator('.card', { hasText: text })
    const shown = async (text: string) => {
      await cards(text).nth(1).waitFor()
      expect(await cards(text).count()).toBe(2)
    }
    await shown('Ada Lovelace')
    const paper = await page.evaluate(
      `[...document.querySelectorAll('.panel')].flatMap(({ shadowRoot }) => [...shadowRoot.querySelectorAll('.screen')])
        .map((screen) => getComputedStyle(screen).backgroundColor)`,
    )
    expect(paper).toEqual(['rgb(255, 255, 255)', 'rgb(246, 247, 251)', 'rgb(0, 0, 0)', 'rgb(19, 19, 22)'])
    const issues = (await accessibilityIssues(page)).filter((issue) => !overPictures.test(issue))
    expect(issues).toEqual([])

    await page.getByLabel('Holder').selectOption({ label: 'Radia Perlman' })
    await shown('Radia Perlman')
    await page.locator('summary').first().click()
    await page.evaluate('scrollTo(0, 400)')
    const look = `(() => { const details = document.querySelector('.panel').shadowRoot.querySelector('details')
      return [scrollY, details.open, (window.first ??= details) === details] })()`
    expect(await page.evaluate(look)).toEqual([400, true, true])

    writeFileSync(file, withName('Written in place'))
    await shown('Written in place')
    const whole = withName('Half of it')
    writeFileSync(file, whole.slice(0, whole.indexOf('"logoText"') + 4))
    const line = whole.slice(0, whole.indexOf('"logoText"')).split('\n').length
    const alert = page.getByRole('alert')
    await alert.getByText(`template.json:${line}:`).waitFor()
    await shown('Written in place')
    writeFileSync(join(place, '.template.json.swp'), withName('Put in its place'))
    renameSync(join(place, '.template.json.swp'), file)
    await shown('Put in its place')
    expect(await alert.count()).toBe(0)
    rmSync(file)
    await alert.getByText('does not exist').waitFor()
    await shown('Put in its place')
    writeFileSync(file, withName('Back again'))
    await shown('Back again')
    writeFileSync(rows, 'externalPassId,label,session\nA-1,Grace Hopper,Compilers\nA-2,Barbara Liskov,Types\n')
    await shown('Barbara Liskov')
    // The page was not reloaded, and nothing on it moved.
    expect(await page.evaluate(look)).toEqual([400, true, true])

    const logo = await page.locator('img.logo').first().getAttribute('src')
    cpSync(join(place, 'images/icon.png'), join(place, 'images/logo.png'))
    await page.locator(`img.logo:not([src="${logo}"])`).nth(1).waitFor()

    const noted = page.locator('#outline .is-noted', { hasText: 'long' })
    expect(await noted.count()).toBe(0)
    const primary = [{ key: 'long', label: 'LONG', value: 'W'.repeat(80) }]
    writeFileSync(file, withName('Warned', { fields: { primary } }))
    await noted.getByText('text-cut').waitFor()
    const at = withName('Warned', { fields: { primary } })
      .split('\n')
      .findIndex((text) => text.includes('"long"'))
    expect(await noted.innerText()).toContain(`line ${at}, `)

    writeFileSync(rows, `externalPassId,label,session\nA-1,${'Grace Hopper '.repeat(5)},Compilers\n`)
    await page.locator('option', { hasText: 'Grace Hopper Grace Hopper' }).waitFor({ state: 'attached' })
    await page.setViewportSize({ width: 320, height: 640 })
    await page.evaluate("document.documentElement.style.fontSize = '200%'")
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    expect(incidents).toEqual([])
  })

  test('template dev serves only localhost, and runs and frames only its own pages', async () => {
    const { url } = await develop()
    const { port } = new URL(url)
    const ask = (headers: Record<string, string>, method = 'GET', path = '/') =>
      new Promise<IncomingMessage>((resolve, reject) => {
        request(url, { headers, method, path }, (answer) => resolve(answer.resume()))
          .on('error', reject)
          .end()
      })
    const statuses = []
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `evil.example:${port}`, 'localhost', '127.0.0.1:1']) {
      statuses.push((await ask({ host })).statusCode)
    }
    expect(statuses).toEqual([200, 200, 403, 403, 403])
    expect((await ask({}, 'POST')).statusCode).toBe(405)
    // Any site can request an invalid path.
    expect((await ask({}, 'GET', '//')).statusCode).toBe(404)
    const { headers } = await ask({})
    const policy = String(headers['content-security-policy'])
    expect(policy).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; img-src 'self'; script-src 'self'; connect-src 'self'; /,
    )
    expect(headers['x-frame-options']).toBe('DENY')
  })
})
