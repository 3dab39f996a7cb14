import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { linkIn, Mailbox } from '../../support/mailbox.ts'
import { accessibilityIssues, launchBrowser, looks, picture, skipReason, visit } from '../support/browser.ts'
import { run } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const content: DefinitionInput = {
  languages: { default: 'en', others: ['ar'] },
  variables: [
    { name: 'first', label: 'First name', required: true, maxLength: 40 },
    { name: 'email', label: 'Email', format: 'email' },
    { name: 'born', label: 'Birthday', format: 'date' },
    { name: 'visits', label: 'Visits a week', format: 'number', example: '3' },
  ],
  design: {
    organizationName: { en: 'Harbour Coffee', ar: 'قهوة الميناء' } as never,
    description: { en: 'Coffee card', ar: 'بطاقة القهوة' } as never,
    colors: { background: '#7a3e1d', foreground: '#ffffff' },
    fields: { primary: [{ key: 'name', label: '', value: '{{pass.label}}' }] },
  },
}

const page = {
  title: { en: 'Your tenth coffee is on us', ar: 'قهوتك العاشرة علينا' },
  intro: { en: 'Collect a stamp with every cup.', ar: 'اجمع ختمًا مع كل كوب.' },
  fields: [
    { variable: 'first', label: { en: 'First name', ar: 'الاسم الأول' } },
    { variable: 'email', label: { en: 'Email', ar: 'البريد الإلكتروني' } },
    { variable: 'born', label: { en: 'Birthday', ar: 'تاريخ الميلاد' } },
    { variable: 'visits', label: { en: 'Visits a week', ar: 'زيارات في الأسبوع' } },
  ],
  labelFrom: ['{{first}}'],
  consent: {
    text: { en: 'I agree to https://coffee.example/terms.', ar: 'أوافق على https://coffee.example/terms.' },
    version: '2027-01',
    required: true,
  },
}

describe.skipIf(skipReason !== undefined)(`in Chromium${skipReason ? ` (skipped: ${skipReason})` : ''}`, () => {
  const cleanUp = cleanUpAfterAll()
  const mailbox = new Mailbox()
  let server: TestServer
  let browser: Browser
  let projectId: string

  beforeAll(async () => {
    browser = await launchBrowser()
    cleanUp(() => browser.close())
    const port = await mailbox.start()
    cleanUp(() => mailbox.stop())
    server = await hostServer({ cleanUp, args: ['--smtp-url', `smtp://127.0.0.1:${port}`] })
    projectId = (await server.client.projects.create({ body: { name: 'Coffee' } })).id
  })

  /** Creates a template with a join page through the command line, as an operator does. */
  async function joinPage(slug: string, parts: object = {}): Promise<string> {
    const { templates, templateVersions } = server.client
    const template = await templates.create({
      body: { name: 'Coffee card', key: slug, passType: 'storeCard', projectId },
    })
    const params = { id: template.id }
    const draft = await templates.createVersion({ params, body: { definition: content } })
    await templateVersions.publish({ params: { id: draft.id } })
    const file = join(temporaryFolder(), 'join.json')
    await writeFile(file, JSON.stringify({ slug, ...page, ...parts }))
    const set = await run(['template', 'join', 'set', slug, '--file', file, '--json'], server)
    expect(set.exitCode, set.stderr).toBe(0)
    return JSON.parse(set.stdout).url
  }

  /** Opens a page in a tab. Without scripts, axe cannot check it. */
  async function open(url: string, language: string, options: object): Promise<Page> {
    const { page: tab } = await visit(browser, options)
    await tab.setExtraHTTPHeaders({ 'accept-language': language })
    await tab.goto(url)
    return tab
  }

  const passesOf = async (slug: string) => (await server.client.passes.list({ query: { joinSlug: slug } })).items

  test('a visitor without scripts joins, and reloading or going back creates nothing', async () => {
    const url = await joinPage('coffee-card')
    const tab = await open(`${url}?source=window`, 'en', { ...looks[0]!, javaScriptEnabled: false })
    await tab.getByLabel('First name').fill('Ada <b>Lovelace</b>')
    await tab.getByRole('button', { name: 'Get the pass' }).click()
    // The browser itself asks for the consent.
    expect(await passesOf('coffee-card')).toEqual([])
    await tab.getByRole('checkbox').check()
    await tab.getByRole('button', { name: 'Get the pass' }).click()
    await tab.waitForURL(/\/l\/[\w-]{80}\?choose$/)
    expect(await tab.getByRole('heading', { name: 'Ada <b>Lovelace</b>' }).isVisible()).toBe(true)
    await tab.reload()
    // Going back requests a new form, which creates nothing until it is sent.
    await tab.goBack()
    expect(await tab.getByLabel('First name').isVisible()).toBe(true)
    const [pass, ...others] = await passesOf('coffee-card')
    expect(others).toEqual([])
    expect(pass!.join).toMatchObject({ slug: 'coffee-card', source: 'window', consentVersion: '2027-01' })

    const env = { PASSES_URL: server.url, PASSES_TOKEN: server.token, XDG_DATA_HOME: temporaryFolder() }
    for (const platform of ['apple', 'google']) {
      const link = pass!.hostedLinks[platform as 'apple']!
      const installed = await run(['device', 'install', link, '--platform', platform], undefined, { env })
      expect(installed.exitCode, installed.stderr).toBe(0)
    }
    const from = new Date(Date.now() - 3_600_000).toISOString()
    await eventually(async () => {
      const { items } = await server.client.projects.figures({
        params: { id: projectId },
        query: { from, by: 'month' },
      })
      expect(items.at(-1)!.joined!.window).toMatchObject({ submitted: 1, installed: 1 })
      expect(items.at(-1)!.joined!.window!.seen).toBeGreaterThan(0)
    })
    const csv = await run(['pass', 'list', '--join-slug', 'coffee-card', '--csv'], server)
    expect(csv.stdout).toMatch(/joinSlug.*joinSource.*consentVersion.*consentedAt/)
    expect(csv.stdout).toContain(',coffee-card,window,2027-01,')
  })

  test('wrong entries are next to their fields, announced, and kept, in Arabic at 320 px by night', async () => {
    const url = await joinPage('coffee-errors')
    const tab = await open(url, 'ar', { viewport: { width: 320, height: 640 }, colorScheme: 'dark' })
    await tab.locator('form').evaluate((form: HTMLFormElement) => {
      form.noValidate = true
    })
    await tab.locator('#field-email').fill('ada@')
    await tab.getByRole('button').click()
    await tab.locator('.errors').waitFor()
    expect(await tab.evaluate('document.activeElement.className')).toBe('errors')
    expect(await tab.locator('#field-email').getAttribute('aria-describedby')).toBe('error-email')
    expect(await tab.locator('#field-email').inputValue()).toBe('ada@')
    expect(await tab.evaluate('document.documentElement.scrollWidth')).toBe(320)
    expect(await tab.evaluate('document.dir')).toBe('rtl')
    expect(await accessibilityIssues(tab)).toEqual([])
    await picture(tab, 'join-errors-ar', { fullPage: true })
  })

  test.each(looks)('the page has no accessibility issue at $viewport.width px, $colorScheme', async (look) => {
    const url = await joinPage(`coffee-${look.colorScheme}`, { open: true })
    const tab = await open(url, 'en', look)
    expect(await accessibilityIssues(tab)).toEqual([])
    await picture(tab, `join-${look.viewport.width}-${look.colorScheme}`, { fullPage: true })
    await tab.goto(url.replace('/join/', '/join/not-'))
    expect(await tab.getByRole('heading', { name: 'This page does not exist' }).isVisible()).toBe(true)
    expect(await accessibilityIssues(tab)).toEqual([])
  })

  test('with an identity, the page says that an email was sent, and the email leads to the pass', async () => {
    const fields = page.fields.map((field) => ({ ...field, required: field.variable === 'email' }))
    const url = await joinPage('coffee-mail', { identity: 'email', fields })
    const tab = await open(url, 'ar', looks[0]!)
    await tab.getByLabel('الاسم الأول').fill('أمل')
    await tab.getByLabel('البريد الإلكتروني').fill('amal@example.com')
    await tab.getByRole('checkbox').check()
    await tab.getByRole('button').click()
    expect(await tab.getByRole('heading', { name: 'تحقق من بريدك الإلكتروني' }).isVisible()).toBe(true)
    expect(await accessibilityIssues(tab)).toEqual([])
    const mail = await eventually(async () => {
      expect(mailbox.received).toHaveLength(1)
      return mailbox.received[0]!
    })
    await tab.goto(`${linkIn(mail)}?choose`)
    expect(await tab.getByRole('heading', { name: 'أمل' }).isVisible()).toBe(true)
  })

  test('the command line shows the page, draws its poster, and deletes it', async () => {
    const url = await joinPage('coffee-poster')
    const folder = temporaryFolder()
    const [svg, pdf] = [join(folder, 'window.svg'), join(folder, 'window.pdf')]
    const shown = await run(['template', 'join', 'coffee-poster'], server)
    expect(shown.stdout).toContain(url)
    for (const file of [svg, pdf]) {
      const drawn = await run(['template', 'join', 'coffee-poster', '--poster', file, '--source', 'window'], server)
      expect(drawn.stdout, drawn.stderr).toBe(`Wrote ${file}.`)
    }
    const drawing = await readFile(svg, 'utf8')
    expect(drawing).toContain('>Your tenth coffee is<')
    expect(drawing).toContain(`${url.replace('http://', '')}?source=window`)
    expect((await readFile(pdf, 'latin1')).slice(0, 8)).toBe('%PDF-1.4')
    const arabic = await run(['template', 'join', 'coffee-poster', '--poster', pdf, '--language', 'ar'], server)
    expect([arabic.exitCode, arabic.stderr]).toEqual([2, expect.stringContaining('.svg')])
    const deleted = await run(['template', 'join', 'delete', 'coffee-poster', '--yes', '--json'], server)
    expect(deleted.exitCode).toBe(0)
    expect((await fetch(url)).status).toBe(404)
  })
})
