import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { readTemplateFile } from '../../../src/cli/template/template-file.ts'
import { pushTemplate } from '../../../src/cli/template/template-push.ts'
import type { DefinitionInput, PassType } from '../../../src/core/contract/schemas/definition.ts'
import { cleanUpAfterAll } from '../../support/databases.ts'
import { isLong } from '../../support/long.ts'
import {
  accessibilityIssues,
  launchBrowser,
  looks,
  looksOf,
  overPictures,
  picture,
  screens,
  skipReason,
  type Visit,
  visit,
} from '../support/browser.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const mac = 'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5'
const instagram =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 309.0.0'
const wideWord = 'W'.repeat(255)
const hostile = [
  '<img src=x onerror=alert(1)>',
  '</style><script>alert(2)</script>',
  `"><svg onload=alert(3)>' onfocus='alert(4)`,
  '\u202Egnp.exe',
  '👩🏽‍🚀🎟️'.repeat(30),
  wideWord,
]

const examples = {
  conference: {
    label: 'Inês Åström',
    variables: {
      ticketType: 'Speaker',
      email: 'ines@example.org',
      hall: 'Sala Tejo',
      seat: 'A-17',
      validUntil: '2027-05-21T22:00:00+01:00',
    },
  },
  loyalty: {
    label: '歐陽秀英',
    variables: { points: '2044', tier: 'Silver', memberSince: '2024-12-21', stamps: '4', photo: 'photos/2.png' },
  },
  coupon: { label: 'נועם כהן', variables: { percentage: '15', validUntil: '2027-09-30' } },
  'boarding-pass': {
    label: 'Núria Lefèvre',
    variables: {
      flight: '664',
      from: 'LIS',
      to: 'AMS',
      fromCity: 'Lisboa',
      fromZone: 'Europe/Lisbon',
      toCity: 'Amsterdam',
      toZone: 'Europe/Amsterdam',
      boards: '2027-05-19T06:20:00+01:00',
      departs: '2027-05-19T07:00:00+01:00',
      arrives: '2027-05-19T11:05:00+02:00',
      gate: '14',
      seat: '7C',
      group: '2',
      reservation: 'QX7RT2',
    },
  },
}

describe.skipIf(skipReason !== undefined)(`in Chromium${skipReason ? ` (skipped: ${skipReason})` : ''}`, () => {
  const cleanUp = cleanUpAfterAll()
  let server: TestServer
  let browser: Browser
  /** Smart links by the page that they lead to. */
  const links: Record<string, string> = {}

  let conferenceId: string

  /** The tab for tests that only read, because a new tab costs as much CPU as such a test. */
  let reader: Visit

  async function read(link: string, language = 'en') {
    reader.incidents.length = 0
    await reader.page.setExtraHTTPHeaders({ 'accept-language': language })
    return { ...reader, response: await reader.page.goto(link) }
  }

  beforeAll(async () => {
    browser = await launchBrowser()
    cleanUp(() => browser.close())
    reader = await visit(browser, {}, cleanUp)
    server = await hostServer({ cleanUp })
    for (const [name, { label, variables }] of Object.entries(examples)) {
      const folder = join(import.meta.dirname, '../../../examples', name)
      const file = await readTemplateFile(join(folder, 'template.json'))
      const { templateId } = await pushTemplate(server.client, file, { publish: true })
      links[name] = await issue(templateId, label, await withPhotos(variables, folder))
      if (name === 'conference') conferenceId = templateId
    }
    links.hostile = await issue(await hostileTemplate(), `${hostile.slice(0, 4).join('')}`)
    links.arabic = await issue(await arabicTemplate(), 'أمل حداد')
    const long = {
      externalPassId: 'LONG',
      label: 'Hubert Blaine Wolfeschlegelsteinhausen, of the Harbour Committee',
      groupKey: 'order-7',
    }
    const { hostedLinks } = await server.client.passes.create({
      body: { templateId: conferenceId, ...long, variables: examples.conference.variables },
    })
    Object.assign(links, { long: hostedLinks.smart, longGroup: hostedLinks.group })
    Object.assign(links, await endedLinks())
  })

  /** The language in which each page is read, by the name of the example. Others are read in the default language. */
  const languages: Record<string, string> = { loyalty: 'de', coupon: 'uk', 'boarding-pass': 'he', arabic: 'ar' }
  const pages = ['coupon', 'hostile', 'arabic']
  test.each(pages)(
    'the page of the %s pass has no accessibility issue, by day and by night, on a phone and a desktop',
    async (name) => {
      for (const { viewport, colorScheme } of looksOf(pages.indexOf(name))) {
        const { page, incidents } = await visit(browser, { viewport, colorScheme })
        await page.setExtraHTTPHeaders({ 'accept-language': languages[name] ?? 'en' })
        await page.goto(links[name]!)
        expect(await page.evaluate('document.documentElement.lang')).toBe(languages[name] ?? 'en')
        for (const more of await page.locator('summary').all()) await more.click()
        const issues = (await accessibilityIssues(page)).filter((issue) => !overPictures.test(issue))
        expect(issues, `${viewport.width} ${colorScheme}`).toEqual([])
        expect(await page.locator('figure svg').count()).toBeGreaterThan(0)
        expect(incidents).toEqual([])
      }
    },
  )

  /** Texts to find on each page: those of the definition if it has the language, otherwise only those of the page itself. */
  const spoken: [name: keyof typeof examples, language: string, texts: string[]][] = [
    ['conference', 'en', ['Ticket to Polyglot 2027', 'HALL', 'Add to calendar']],
    ['conference', 'ar', ['تذكرة مؤتمر بوليغلوت 2027', 'القاعة', 'أضف إلى التقويم']],
    ['conference', 'ja', ['Polyglot 2027 入場券', '会場', 'カレンダーに追加']],
    ['loyalty', 'en', ['More about this pass']],
    ['loyalty', 'he', ['עוד על הכרטיס הזה']],
    ['loyalty', 'de', ['Mehr zu diesem Pass']],
    ['boarding-pass', 'en', ['Boarding pass of Gannet Air', 'SEAT', 'Add to calendar']],
    ['boarding-pass', 'he', ['כרטיס עלייה למטוס של Gannet Air', 'מושב', 'הוספה ליומן']],
    ['boarding-pass', 'pt', ['Cartão de embarque da Gannet Air', 'LUGAR', 'Adicionar ao calendário']],
  ]

  /** The color schemes by width: light when narrow and dark when wide. The long form checks both schemes at both widths. */
  const looksAt: Record<number, ('light' | 'dark')[]> = isLong
    ? { 320: ['light', 'dark'], 1280: ['light', 'dark'] }
    : { 320: ['light'], 1280: ['dark'] }

  test.each(spoken)(
    'the page of the %s pass in %s has no accessibility issue, light and dark, from 320 to 1280 pixels',
    async (name, language, texts) => {
      const { page, incidents } = await read(links[name]!, language)
      for (const text of texts) expect(await page.getByText(text, { exact: true }).isVisible(), text).toBe(true)
      const isRightToLeft = /^(?:ar|he)$/.test(language)
      expect(await page.evaluate('[document.documentElement.lang, document.documentElement.dir]')).toEqual([
        language,
        isRightToLeft ? 'rtl' : 'ltr',
      ])
      expect(await page.locator('figure svg').count()).toBeGreaterThan(0)
      for (const more of await page.locator('summary').all()) await more.click()
      // The languages of a page share its style sheet.
      const looked = isLong || language === 'en' ? [320, 1280] : [isRightToLeft ? 320 : 1280]
      for (const width of [320, 768, 1280]) {
        await page.setViewportSize({ width, height: 640 })
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${width}`).toBe(width)
        for (const colorScheme of looked.includes(width) ? looksAt[width]! : []) {
          await page.emulateMedia({ colorScheme })
          await picture(page, `${name}-${language}-${width}-${colorScheme}`)
          const issues = (await accessibilityIssues(page)).filter((issue) => !overPictures.test(issue))
          expect(issues, `${width} ${colorScheme}`).toEqual([])
        }
      }
      expect(incidents).toEqual([])
    },
  )

  test('a long title in another script starts on each line where the page does', async () => {
    const { page } = await visit(browser, { viewport: { width: 320, height: 640 } })
    await page.setExtraHTTPHeaders({ 'accept-language': 'ar' })
    for (const link of [links.long!, links.longGroup!]) {
      await page.goto(link)
      const lines = (await page.evaluate(`(() => {
        const range = document.createRange()
        range.selectNodeContents([...document.querySelectorAll('h1, strong')].find((part) => part.textContent.includes('Wolfeschlegel')))
        const { left, right } = document.querySelector('main').getBoundingClientRect()
        return Array.from(range.getClientRects(), (line) => [line.left - left, right - line.right])
      })()`)) as [left: number, right: number][]
      expect(lines.length, link).toBeGreaterThan(1)
      // The page is right-to-left, so all lines begin at the right.
      for (const [, right] of lines) expect(right).toBeCloseTo(lines[0]![1], 0)
    }
  })

  test.each([
    ['malformed', 404, 'This link is not complete'],
    ['tampered', 404, 'This link is not valid'],
    ['revoked', 410, 'This link was withdrawn'],
    ['void', 410, 'This pass was canceled'],
    ['failed', 410, 'This pass could not be made'],
  ] as const)(
    'the page of a link that is %s shows it, without an accessibility issue',
    async (name, status, heading) => {
      const { page, response } = await read(links[name]!)
      expect(response!.status()).toBe(status)
      expect([await page.locator('h1').innerText(), await page.title()]).toEqual([heading, heading])
      // The pages differ only in their texts.
      await picture(page, `ended-${name}`)
      for (const { viewport, colorScheme } of name === 'void' || isLong ? looks : []) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        expect(await accessibilityIssues(page), colorScheme).toEqual([])
      }
    },
  )

  test('the code of a pass is whole on a small phone with text of twice the size', async () => {
    const { page } = await read(links.conference!)
    await page.setViewportSize({ width: 320, height: 640 })
    await page.evaluate('document.documentElement.style.fontSize = "200%"')
    const [card, code] = await Promise.all(
      ['.card', '.card .barcode .symbol'].map((part) => page.locator(part).first().boundingBox()),
    )
    expect(code!.x).toBeGreaterThan(card!.x)
    expect(code!.x + code!.width).toBeLessThan(card!.x + card!.width)
  })

  test('the images of a pass are shown, within the page’s own policy', async () => {
    const { page, incidents } = await visit(browser)
    await page.goto(links.conference!, { waitUntil: 'networkidle' })
    const widths = await widthsOfImages(page)
    expect(widths).toEqual([480, 1125])
    expect(incidents).toEqual([])
  })

  test('shows hostile texts unchanged, without running them or breaking the layout', async () => {
    const { page, incidents } = await visit(browser)
    for (const width of [320, 390, 1280]) {
      await page.setViewportSize({ width, height: 844 })
      await page.goto(links.hostile!, { waitUntil: 'networkidle' })
      await page.locator('summary').click()
      const shown = (await page.locator('body').innerText()).replaceAll('\n', '')
      for (const text of hostile) expect(shown).toContain(text)
      expect(await page.locator('iframe, base, [onerror], [onload], [onfocus]').count()).toBe(0)
      // The script of the page redirects tablets.
      const scripts = await page.locator('script').evaluateAll((all) => all.map((one) => one.outerHTML))
      expect(scripts).toEqual([
        expect.stringMatching(/^<script src="[./]*assets\/tablet\.\w+\.js" defer=""><\/script>$/),
      ])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      expect(incidents).toEqual([])
    }
  })

  const brands = {
    short: 'Polyglot',
    latin: 'The Royal Society for the Advancement of Remarkably Long Names of Societies',
    word: 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft',
    cjk: '東京国際フォーラム多言語会議実行委員会東京国際フォーラム多言語会議実行委員会',
    arabic: 'المؤتمر الدولي السنوي للغات والترجمة والحوسبة في مدينة لشبونة الجميلة',
  }

  test.each(Object.entries(brands))('a logo text stays on one line, and is cut: %s', async (name, brand) => {
    const { id, link } = await branded(brand)
    const headers = { authorization: `Bearer ${server.token}` }
    const { page } = await visit(browser, { extraHTTPHeaders: headers })
    for (const address of [link, `${server.url}/v1/passes/${id}/preview?format=html`]) {
      await page.goto(address)
      for (const width of [320, 390, 1280]) {
        await page.setViewportSize({ width, height: 844 })
        const text = (await page.evaluate(BRAND_TEXT)) as BrandText
        await picture(page, `brand-${name}-${width}-${address === link ? 'page' : 'preview'}`)
        expect(text).toMatchObject({ lines: 1, overflow: 'ellipsis', isBesideLogo: true })
        // Some of the text must be readable, even next to a wide logo and two header fields.
        expect(text.width, `at ${width}`).toBeGreaterThanOrEqual(Math.min(text.fullWidth, 40))
        if (name !== 'short') expect(text.fullWidth).toBeGreaterThan(text.width)
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      }
    }
  })

  test('the keyboard reaches both wallets, and the focus is visible', async () => {
    const { page } = await visit(browser)
    for (const viewport of Object.values(screens)) {
      await page.setViewportSize(viewport)
      await page.goto(links.hostile!)
      for (const name of ['Add to Apple Wallet', 'Add to Google Wallet']) {
        await page.keyboard.press('Tab')
        const button = page.getByRole('link', { name })
        expect(await page.evaluate('document.activeElement.textContent')).toBe(name)
        expect(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')).toBe('solid')
        const { y, height } = (await button.boundingBox())!
        expect(y).toBeGreaterThanOrEqual(0)
        expect(y + height).toBeLessThanOrEqual(viewport.height)
      }
    }
  })

  test('a phone in landscape shows both wallet buttons without scrolling', async () => {
    const { page } = await visit(browser)
    await page.setViewportSize({ width: 844, height: 390 })
    await page.goto(links.conference!)
    for (const name of ['Add to Apple Wallet', 'Add to Google Wallet', 'Add to calendar']) {
      const { y, height } = (await page.getByRole('link', { name }).boundingBox())!
      expect(y + height, name).toBeLessThanOrEqual(390)
      // At least as high as a fingertip.
      expect(height, name).toBeGreaterThanOrEqual(44)
    }
    await picture(page, 'conference-across')
  })

  test('the page is complete without JavaScript', async () => {
    const { page } = await visit(browser, { javaScriptEnabled: false })
    await page.goto(links.conference!)
    for (const text of ['Sala Tejo', 'Continue on your phone', 'Valid until']) {
      expect(await page.getByText(text).first().isVisible()).toBe(true)
    }
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Add to Apple Wallet' }).click(),
    ])
    expect(download.suggestedFilename()).toMatch(/\.pkpass$/)
    await page.getByText('More about this pass').click()
    expect(await page.getByText('This ticket is personal').isVisible()).toBe(true)
  })

  test('an iPad that calls itself a Macintosh gets the Apple pass once, and the page stays', async () => {
    const { page, context } = await visit(browser, { userAgent: mac })
    const session = await context.newCDPSession(page)
    onTestFinished(() => session.detach())
    await session.send('Emulation.setTouchEmulationEnabled', { enabled: true, maxTouchPoints: 5 })
    const opened: string[] = []
    page.on('request', (request) => {
      if (request.url().includes('/l/')) opened.push(request.url())
    })
    const [download] = await Promise.all([page.waitForEvent('download'), page.goto(links.coupon!)])
    const buttons = page.getByRole('link', { name: 'Add to' })
    expect(await buttons.count()).toBe(2)
    expect(download.url()).toBe(await buttons.first().getAttribute('href'))
    await page.reload({ waitUntil: 'networkidle' })
    expect(await buttons.count()).toBe(2)
    expect(opened).toEqual([links.coupon, download.url(), links.coupon])
  })

  test('a computer stays on the page, a Macintosh too', async () => {
    for (const userAgent of [mac, undefined]) {
      const { page, incidents } = await visit(browser, userAgent ? { userAgent } : {})
      const opened: string[] = []
      page.on('request', (request) => {
        if (request.url().includes('/l/')) opened.push(request.url())
      })
      await page.goto(links.coupon!, { waitUntil: 'networkidle' })
      expect(opened).toEqual([links.coupon])
      expect(await page.getByText('Continue on your phone').isVisible()).toBe(true)
      expect(incidents).toEqual([])
    }
  })

  test('a small phone shows the code above the buttons, and nothing wider than the screen', async () => {
    const { page } = await visit(browser, { viewport: screens.phone })
    await page.setViewportSize({ width: 360, height: 640 })
    for (const name of [...Object.keys(examples), 'arabic']) {
      await page.setExtraHTTPHeaders({ 'accept-language': languages[name] ?? 'en' })
      await page.goto(links[name]!)
      await picture(page, `small-${name}`)
      const { code, buttons } = (await page.evaluate(PLACES)) as Places
      expect(code.top, name).toBeGreaterThanOrEqual(0)
      expect(code.bottom, name).toBeLessThanOrEqual(buttons.top)
      for (const [width, size] of [
        [320, '100%'],
        [360, '200%'],
        [1280, '100%'],
      ] as const) {
        await page.setViewportSize({ width, height: 640 })
        await page.evaluate(`document.documentElement.style.fontSize = '${size}'`)
        expect(await page.evaluate('document.documentElement.scrollWidth'), `${name} ${width}`).toBe(width)
      }
      await page.setViewportSize({ width: 360, height: 640 })
    }
  })

  test('inside another app, a button copies the link, and the code is above the other buttons', async () => {
    const { page, context, incidents } = await visit(browser, { viewport: screens.phone, userAgent: instagram })
    await context.grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.setViewportSize({ width: 360, height: 640 })
    await page.goto(links.conference!)
    await picture(page, 'in-app')
    const { code, buttons } = (await page.evaluate(PLACES)) as Places
    expect(code.bottom).toBeLessThanOrEqual(buttons.top)
    expect((await accessibilityIssues(page)).filter((issue) => !overPictures.test(issue))).toEqual([])
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.getByText('Link copied.').waitFor()
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(await page.locator('.address').inputValue())
    expect(incidents).toEqual([])
  })

  test('the print has a large code and black texts on white, without buttons', async () => {
    const { page } = await visit(browser, { viewport: screens.desktop, colorScheme: 'dark' })
    await page.goto(links.conference!)
    await page.emulateMedia({ media: 'print' })
    await picture(page, 'print')
    for (const part of ['.actions', '.phone']) expect(await page.locator(part).isVisible(), part).toBe(false)
    expect((await page.locator('.card .symbol').boundingBox())!.width).toBeGreaterThan(300)
    const colors = `[document.body, document.querySelector('.card dd')].map((part) => getComputedStyle(part).color)`
    expect(await page.evaluate(colors)).toEqual(['rgb(0, 0, 0)', 'rgb(0, 0, 0)'])
    expect(await page.getByText('This ticket is personal').isVisible()).toBe(true)
    await page.emulateMedia({ media: 'screen' })
  })

  test('lays out a card in a right-to-left script from the right', async () => {
    const { page } = await visit(browser, { viewport: screens.phone })
    await page.goto(links.arabic!)
    const left = async (text: string) => (await page.locator('.card').getByText(text, { exact: true }).boundingBox())!.x
    expect(await left('مكتبة النهضة')).toBeGreaterThan(await left('رقم'))
    expect(await left('منذ')).toBeGreaterThan(await left('الفرع'))
  })

  let issued = 0

  /** Issues a pass and resolves to its smart link. */
  async function issue(templateId: string, label: string, variables: Record<string, string> = {}): Promise<string> {
    issued += 1
    const body = { templateId, externalPassId: `PASS-${issued}`, label, variables }
    return (await server.client.passes.create({ body })).hostedLinks.smart!
  }

  /** Replaces photo files in the variables with their IDs. */
  async function withPhotos(variables: Record<string, string>, folder: string): Promise<Record<string, string>> {
    const { photo } = variables
    if (photo === undefined) return variables
    const body = readFileSync(join(folder, photo))
    return { ...variables, photo: (await server.client.images.create({ body, contentType: 'image/png' })).id }
  }

  let logoId: string | undefined

  /** Creates a pass with a logo twice as wide as high, the given text next to it, and two header fields. */
  async function branded(text: string): Promise<{ id: string; link: string }> {
    const path = join(import.meta.dirname, '../../../examples/conference/images/logo.png')
    logoId ??= (await server.client.images.create({ body: readFileSync(path), contentType: 'image/png' })).id
    const design = {
      organizationName: text,
      description: 'Ticket',
      logoText: text,
      images: { logo: logoId },
      fields: {
        header: [
          { key: 'gate', label: 'GATE', value: 'B42' },
          { key: 'time', label: 'DOORS OPEN', value: '18:30' },
        ],
      },
    }
    issued += 1
    const body = { templateId: await publish('generic', { design }), externalPassId: `PASS-${issued}`, label: 'Ada' }
    const { id, hostedLinks } = await server.client.passes.create({ body })
    return { id, link: hostedLinks.smart! }
  }

  async function publish(passType: PassType, definition: DefinitionInput, name = 'Ticket'): Promise<string> {
    const { id } = await server.client.templates.create({ body: { name, passType } })
    const draft = await server.client.templates.createVersion({ params: { id }, body: { definition } })
    await server.client.templateVersions.publish({ params: { id: draft.id } })
    return id
  }

  function hostileTemplate(): Promise<string> {
    const fields = (group: string, texts = hostile) =>
      texts.map((text, n) => ({ key: `${group}-${n}`, label: text, value: text }))
    const design = {
      organizationName: hostile[0]!,
      description: hostile[1]!,
      logoText: hostile[2]!,
      colors: { background: '#777777', foreground: '#000000', label: '#000000' },
      fields: {
        header: fields('header', hostile.slice(0, 3)),
        primary: fields('primary', hostile.slice(3)),
        secondary: fields('secondary'),
        auxiliary: fields('auxiliary'),
        back: fields('back'),
      },
      barcode: { format: 'code128' as const, message: 'PASS', altText: hostile[1]! },
      links: [{ label: hostile[0]!, url: `https://example.org/${wideWord}` }],
    }
    return publish('coupon', { design }, hostile[1]!)
  }

  function arabicTemplate(): Promise<string> {
    const field = (key: string, label: string, value: string) => ({ key, label, value })
    const design = {
      organizationName: 'مكتبة النهضة',
      logoText: 'مكتبة النهضة',
      description: 'بطاقة عضوية المكتبة',
      colors: { background: '#0f5f5c' },
      fields: {
        header: [field('number', 'رقم', '١٢٣٤')],
        primary: [field('member', 'العضو', '{{pass.label}}')],
        secondary: [field('since', 'منذ', '٢٠٢٣'), field('branch', 'الفرع', 'المكتبة المركزية')],
      },
      barcode: { format: 'aztec' as const },
    }
    return publish('generic', { design })
  }

  async function endedLinks(): Promise<Record<string, string>> {
    const { passes } = server.client
    const links = [{ label: 'Box office', url: 'tel:+351210000000' }]
    const design = { organizationName: 'Harbour Cinema', description: 'Ticket', links }
    const templateId = await publish('generic', { design })
    const make = async (externalPassId: string) => {
      const { id, hostedLinks } = await passes.create({ body: { templateId, externalPassId, label: 'Ada' } })
      return { params: { id }, link: hostedLinks.smart! }
    }
    const [revoked, voided] = [await make('revoked'), await make('void')]
    await passes.revokeLinks({ params: revoked.params })
    await passes.void({ params: voided.params, body: {} })
    // Phones reject passes without a description.
    const variables = [{ name: 'about', label: 'About', default: 'A ticket' }]
    const unsound = await publish('generic', { variables, design, apple: { description: '{{about}}' } })
    return {
      revoked: revoked.link,
      void: voided.link,
      failed: await issue(unsound, 'Ada', { about: '' }),
      malformed: revoked.link.slice(0, -1),
      tampered: revoked.link.slice(0, -3) + (revoked.link.endsWith('AAA') ? 'BBB' : 'AAA'),
    }
  }
})

interface Places {
  code: { top: number; bottom: number }
  buttons: { top: number }
}

const PLACES = `(() => {
  const place = (part) => document.querySelector(part).getBoundingClientRect().toJSON()
  return { code: place('.barcode .symbol'), buttons: place('.actions') }
})()`

interface BrandText {
  lines: number
  width: number
  /** The width of the complete text. */
  fullWidth: number
  overflow: string
  isBesideLogo: boolean
}

const BRAND_TEXT = `(() => {
  const text = document.querySelector('.brand span')
  const logo = document.querySelector('.brand .logo').getBoundingClientRect()
  const { left, right, top, bottom, width, height } = text.getBoundingClientRect()
  const { textOverflow, lineHeight } = getComputedStyle(text)
  const range = document.createRange()
  range.selectNodeContents(text)
  return {
    lines: Math.round(height / parseFloat(lineHeight)),
    width,
    fullWidth: range.getBoundingClientRect().width,
    overflow: textOverflow,
    isBesideLogo: (left >= logo.right || right <= logo.left) && top < logo.bottom && bottom > logo.top,
  }
})()`

/** Returns the widths of the decoded images in pixels. An image that the browser did not load has the width 0. */
function widthsOfImages(page: Page): Promise<number[]> {
  return page.locator('img').evaluateAll((images) => (images as unknown as Image[]).map((image) => image.naturalWidth))
}

interface Image {
  naturalWidth: number
}
