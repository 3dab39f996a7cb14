import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { cleanUpAfterAll, oneDialect, temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { run } from '../support/program.ts'
import { hostServer, type TestServer } from '../support/server.ts'

const variables = {
  ticketType: 'Speaker',
  email: 'ines@example.org',
  hall: 'Sala Tejo',
  seat: 'A-17',
  validUntil: '2027-05-21T22:00:00+01:00',
  paid: '1234.5',
  discount: '12.5',
}

/** A value with a type, which is added to the definition of the conference. */
const typed = {
  variables: [
    { name: 'paid', label: 'Paid', format: 'number' },
    { name: 'discount', label: 'Discount', format: 'number' },
  ],
  fields: [
    {
      key: 'paid',
      label: { en: 'Paid', pt: 'Pago', de: 'Bezahlt', ar: 'المدفوع', ja: 'お支払い' },
      value: '{{paid}}',
      as: 'currency',
      currency: 'EUR',
    },
    {
      key: 'discount',
      label: { en: 'Discount', pt: 'Desconto', de: 'Nachlass', ar: 'الخصم', ja: '割引' },
      value: '{{discount}}',
      as: 'percent',
    },
  ],
}

interface Reading {
  labels: string[]
  /** Texts and values that are the same after the update. */
  kept: string[]
  price: { before: string; after: string }
  /** The text on the lock screen. */
  banner: string
}

/** The texts that a guest reads in each language, without direction marks. */
const readings: Record<string, Reading> = {
  de: {
    labels: ['TICKET', 'TEILNAHME', 'SAAL', 'PLATZ', 'LISSABON', 'Einlass ab', 'Gut zu wissen', 'Bezahlt', 'Nachlass'],
    kept: ['20.–21. Mai 2027', '20.05.27, 08:00', 'Dieses Ticket ist persönlich:', '12,5 %', 'Programm', 'Hilfe'],
    price: { before: '1.234,50 €', after: '9,99 €' },
    banner: 'Ihr Saal ist jetzt: Sala Sado',
  },
  ar: {
    labels: [
      'التذكرة',
      'المشارك',
      'القاعة',
      'المقعد',
      'لشبونة',
      'فتح الأبواب',
      'من المفيد أن تعرف',
      'المدفوع',
      'الخصم',
    ],
    kept: ['20–21 مايو 2027', '20/5/2027، 8:00 ص', 'هذه التذكرة شخصية:', '12.5%', 'البرنامج', 'المساعدة'],
    price: { before: '1,234.50 €', after: '9.99 €' },
    banner: 'قاعتك الآن: Sala Sado',
  },
  ja: {
    labels: ['券種', '参加者', '会場', '座席', 'リスボン', '開場', 'ご案内', 'お支払い', '割引'],
    kept: [
      '2027年5月20–21日',
      '2027/05/20 8:00',
      'このチケットはご本人専用です。',
      '12.5%',
      'プログラム',
      'ヘルプデスク',
    ],
    price: { before: '€1,234.50', after: '€9.99' },
    banner: '会場がSala Sadoに変わりました。',
  },
}
const languages = Object.keys(readings)

type Platform = 'apple' | 'google'
const phones = (['apple', 'google'] as const).flatMap((platform) =>
  languages.map((language): [Platform, string, name: string] => [platform, language, `${platform}-${language}`]),
)

describe.each(oneDialect)('on %s', (dialect) => {
  const cleanUp = cleanUpAfterAll()
  const folder = temporaryFolder(cleanUp)
  let server: TestServer
  /** The output of each phone, by its name. */
  const installed = new Map<string, string>()
  const opened = new Map<string, string>()

  beforeAll(async () => {
    server = await hostServer({ dialect, cleanUp })
    const { passes } = server.client
    const templateId = await pushConference(server, folder)
    const body = { templateId, externalPassId: 'T-1', label: 'Inês Åström', variables }
    const { id, hostedLinks } = await passes.create({ body })
    await eventually(async () => expect((await passes.get({ params: { id } })).status).toBe('ISSUED'))
    for (const [platform, language, name] of phones) {
      const what = ['--platform', platform, '--device', name, '--language', language]
      installed.set(name, await device(server, ['install', hostedLinks[platform]!, ...what], folder))
    }
    await passes.update({ params: { id }, body: { variables: { hall: 'Sala Sado', paid: '9.99' } } })
    await eventually(async () => {
      const { apple, google } = await passes.wallets({ params: { id } })
      expect([apple.map(({ pushedVersion }) => pushedVersion), google?.sentVersion]).toEqual([[2, 2, 2], 2])
    })
    for (const [, , name] of phones) opened.set(name, await device(server, ['open', name], folder))
  })

  test.each(phones)('a phone of %s in %s shows each text and value in it when it is installed', (_, language, name) => {
    const { labels, kept, price } = readings[language]!
    const shown = installed.get(name)!
    for (const text of [...labels, ...kept, price.before, 'Sala Tejo']) expect(shown).toContain(text)
    expectNoOther(shown, language)
  })

  test.each(phones)('a phone of %s in %s shows an update in it', (platform, language, name) => {
    const { labels, kept, price, banner } = readings[language]!
    const shown = opened.get(name)!
    for (const text of [...labels, ...kept, price.after, 'Sala Sado']) expect(shown).toContain(text)
    for (const text of [price.before, 'Sala Tejo']) expect(shown).not.toContain(text)
    // Google shows only messages.
    if (platform === 'apple') expect(shown).toContain(banner)
    expectNoOther(shown, language)
  })
})

/** Expects neither texts of the default language nor those of other phones. */
function expectNoOther(shown: string, language: string): void {
  const others = languages.filter((other) => other !== language).flatMap((other) => readings[other]!.labels)
  for (const text of [...others, 'ATTENDEE', 'HALL', 'Doors open', 'Good to know', 'Paid', 'Help desk']) {
    if (!readings[language]!.labels.includes(text)) expect(shown).not.toContain(text)
  }
}

async function pushConference(server: TestServer, folder: string): Promise<string> {
  const example = join(folder, 'conference')
  cpSync(new URL('../../../examples/conference', import.meta.url).pathname, example, { recursive: true })
  const path = join(example, 'template.json')
  const file = JSON.parse(readFileSync(path, 'utf8'))
  file.definition.variables.push(...typed.variables)
  file.definition.design.fields.back.push(...typed.fields)
  writeFileSync(path, JSON.stringify(file))
  const { exitCode, stdout, stderr } = await run(['template', 'push', path, '--publish', '--json'], server)
  expect(exitCode, stderr).toBe(0)
  return JSON.parse(stdout).templateId
}

/** Returns the output of a phone as text, without direction marks and with normal spaces. */
async function device(server: TestServer, args: string[], folder: string): Promise<string> {
  const { exitCode, stdout, stderr } = await run(['device', ...args, '--data-dir', folder], server)
  expect(exitCode, stderr).toBe(0)
  return stdout.replaceAll(/[\u200e\u200f\u061c]/g, '').replaceAll(/[\u00a0\u202f]/g, ' ')
}
