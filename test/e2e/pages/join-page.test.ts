import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { passIdsOf, phoneOf } from '../../../src/cli/device/phones.ts'
import { readTemplateFile } from '../../../src/cli/template/template-file.ts'
import { pushTemplate } from '../../../src/cli/template/template-push.ts'
import { Definition, type DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { cleanUpAfterAll, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { linkIn, Mailbox } from '../../support/mailbox.ts'
import {
  accessibilityIssues,
  launchBrowser,
  looks,
  overPictures,
  picture,
  skipReason,
  visit,
} from '../support/browser.ts'
import { run } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'
import { cardOn, installOnBoth } from '../support/watched-phones.ts'

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

/** A small phone at night. */
const night = { viewport: { width: 320, height: 640 }, colorScheme: 'dark' as const }

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
    await tab.getByLabel('First name').fill('=Ada <b>Lovelace</b>')
    await tab.getByRole('button', { name: 'Get the pass' }).click()
    // The browser itself asks for the consent.
    expect(await passesOf('coffee-card')).toEqual([])
    await tab.getByRole('checkbox').check()
    await tab.getByRole('button', { name: 'Get the pass' }).click()
    await tab.waitForURL(/\/l\/[\w-]{80}\?choose$/)
    expect(await tab.getByRole('heading', { name: '=Ada <b>Lovelace</b>' }).isVisible()).toBe(true)
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
    // A spreadsheet must not run the name as a formula.
    expect(csv.stdout).toContain(",'=Ada <b>Lovelace</b>,")
  })

  test('wrong entries are next to their fields, announced, and kept, in Arabic at 320 px by night', async () => {
    const url = await joinPage('coffee-errors')
    const tab = await open(url, 'ar', night)
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

  interface Holder {
    language: 'en' | 'ar'
    name: string
    email: string
    /** The labels of the inputs of the form. */
    inputs: [name: string, email: string]
    /** The heading of the page after the form. */
    sent: string
    /** The labels of the two fields on the front of the card. */
    labels: [stamps: string, member: string]
    /** Returns the text on the lock screen of an iPhone. */
    banner(stamps: string): string
    /** The heading of the page of a holder who left. */
    ended: string
  }

  const holders: Holder[] = [
    {
      language: 'en',
      name: 'Ada',
      email: 'ada@example.com',
      inputs: ['First name', 'Email'],
      sent: 'Check your email',
      labels: ['STAMPS OF TEN', 'MEMBER'],
      banner: (stamps) => `You now have ${stamps} of ten stamps.`,
      ended: 'This link was withdrawn',
    },
    {
      language: 'ar',
      name: 'أمل',
      email: 'amal@example.com',
      inputs: ['الاسم الأول', 'البريد الإلكتروني'],
      sent: 'تحقق من بريدك الإلكتروني',
      labels: ['الأختام من عشرة', 'العضو'],
      banner: (stamps) => `لديك الآن ${stamps} من عشرة أختام.`,
      ended: 'تم سحب هذا الرابط',
    },
  ]

  test('holders join by email, collect ten stamps, redeem them, and leave, in English and Arabic', async () => {
    const url = await coffeeCard()
    const tabs = await Promise.all([open(url, 'en', looks[0]!), open(url, 'ar', night)])
    await Promise.all(holders.map((holder, n) => play(tabs[n]!, holder)))
    // The address of a holder who left is free.
    const [tab, holder] = [tabs[0]!, holders[0]!]
    await tab.goto(url)
    await joinByEmail(tab, holder)
    expect(await tab.locator('.card .fields > div').first().innerText()).toBe(`${holder.labels[0]}\n0`)
  })

  /** Publishes the example, with a page that gives each email address one card. Resolves to the address of the page. */
  async function coffeeCard(): Promise<string> {
    const folder = join(import.meta.dirname, '../../../examples/coffee-card')
    const file = await readTemplateFile(join(folder, 'template.json'))
    const withImages: typeof file.withImages = (ids) => {
      const { variables, ...definition } = file.withImages(ids)
      return { ...definition, variables: [...variables, Definition.shape.variables.parse([content.variables![1]])[0]!] }
    }
    const { templateId } = await pushTemplate(server.client, { ...file, withImages }, { publish: true, projectId })
    const settings = JSON.parse(await readFile(join(folder, 'join.json'), 'utf8'))
    const body = { ...settings, fields: [...settings.fields, page.fields[1]], identity: 'email' }
    return (await server.client.joinPages.set({ params: { id: templateId }, body })).url
  }

  /** Sends the form, and opens the link of the email. */
  async function joinByEmail(tab: Page, { language, name, email, inputs, sent }: Holder): Promise<void> {
    const mailed = mailbox.received.length
    await tab.getByLabel(inputs[0]).fill(name)
    await tab.getByLabel(inputs[1]).fill(email)
    await tab.getByRole('checkbox').check()
    await isReadable(tab, language)
    await tab.getByRole('button').click()
    await tab.getByRole('heading', { name: sent }).waitFor()
    await isReadable(tab, language)
    const mail = await eventually(() => {
      const own = mailbox.received.slice(mailed).filter(({ to }) => to[0] === email)
      expect(own).toHaveLength(1)
      return own[0]!
    })
    await tab.goto(`${linkIn(mail)}?choose`)
  }

  async function isReadable(tab: Page, language: Holder['language']): Promise<void> {
    const issues = await accessibilityIssues(tab)
    expect(issues.filter((issue) => !overPictures.test(issue))).toEqual([])
    const [direction, overflow] = await tab.evaluate(() => [
      document.dir,
      document.documentElement.scrollWidth - document.documentElement.clientWidth,
    ])
    expect([direction, overflow]).toEqual([language === 'ar' ? 'rtl' : 'ltr', 0])
  }

  async function play(tab: Page, holder: Holder): Promise<void> {
    const { passes, scans } = server.client
    const { language, name, labels, banner, ended } = holder
    await joinByEmail(tab, holder)
    const [pass] = (await passesOf('grao-folha')).filter(({ label }) => label === name)
    const linkOf = async (platform: string) => (await tab.locator(`[data-platform=${platform}]`).getAttribute('href'))!
    const { files, banners } = await installOnBoth(linkOf, language)
    const shown = () => files.map((file) => cardOn(file.read()))

    const frontWith = (stamps: number) => [
      [labels[0], `${stamps}`],
      [labels[1], name],
    ]

    /** Waits until both phones have the stamps. */
    const phonesShow = (stamps: number) =>
      eventually(() => {
        const front = frontWith(stamps)
        for (const { isValid, fields } of shown()) expect([isValid, fields.slice(0, 2)]).toEqual([true, front])
      })

    /** Waits until both phones have the stamps, and compares the page. */
    async function shows(stamps: number): Promise<void> {
      await phonesShow(stamps)
      await tab.reload()
      const front = frontWith(stamps).map((field) => field.join('\n'))
      expect(await tab.locator('.card .fields > div').allInnerTexts()).toEqual(front)
    }
    const command = async (...args: string[]) => {
      const { exitCode, stdout, stderr } = await run([...args, '--json'], server)
      expect(exitCode, stderr).toBe(0)
      return JSON.parse(stdout)
    }

    await shows(0)
    let scanId = ''
    for (let stamps = 1; stamps <= 10; stamps += 1) {
      // The card is accepted once in ten minutes.
      const scannedAt = new Date(Date.now() - (10 - stamps) * 600_000).toISOString()
      const made = await scans.create({ body: { qrPayload: shown()[stamps % 2]!.code, scannedAt } })
      expect([made.result, made.pass!.door!.fields]).toEqual([
        'accepted',
        [{ label: 'Stamps', value: `${stamps} of 10` }],
      ])
      scanId = made.scan.id
      await phonesShow(stamps)
    }
    await shows(10)
    await eventually(() => expect(banners).toEqual(Array.from({ length: 10 }, (_, n) => banner(`${n + 1}`))))
    await isReadable(tab, language)
    const { entry } = await command('pass', 'balance', 'add', pass!.id, 'stamps', '-10', '--ref', 'receipt-1')
    await shows(0)
    await command('pass', 'balance', 'reverse', pass!.id, 'stamps', entry.id)
    await shows(10)
    await command('scans', 'reverse', scanId, '--yes')
    await shows(9)

    const erased = await run(['pass', 'erase', pass!.id, '--yes', '--database', server.database])
    expect(erased.exitCode, erased.stderr).toBe(0)
    await eventually(() => {
      for (const { isValid, fields } of shown()) {
        expect([isValid, fields[1]]).toEqual([false, [labels[1], 'Erased']])
        expect(JSON.stringify(fields)).not.toContain(name)
      }
    })
    await tab.reload()
    expect(await tab.getByRole('heading', { name: ended }).isVisible()).toBe(true)
    await isReadable(tab, language)
    for (const file of files) await phoneOf(file).remove(passIdsOf(file.read())[0]!)
    const { apple } = await passes.wallets({ params: { id: pass!.id } })
    expect(apple).toEqual([])
  }

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
    const inArabic = ['template', 'join', 'coffee-poster', '--poster', pdf, '--language', 'ar', '--force']
    const arabic = await run(inArabic, server)
    expect([arabic.exitCode, arabic.stderr]).toEqual([2, expect.stringContaining('.svg')])
    const deleted = await run(['template', 'join', 'delete', 'coffee-poster', '--yes', '--json'], server)
    expect(deleted.exitCode).toBe(0)
    expect((await fetch(url)).status).toBe(404)
  })
})
