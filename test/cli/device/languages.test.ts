import { beforeAll, expect, test } from 'vitest'
import { parseStrings, passIn } from '../../../src/cli/device/apple-strings.ts'
import { drawDevice } from '../../../src/cli/device/phone-output.ts'
import { Device, type DeviceFile, type DevicePlatform } from '../../../src/cli/device/phone-store.ts'
import { deviceFor, phoneOf } from '../../../src/cli/device/phones.ts'
import type { DefinitionInput } from '../../../src/core/contract/schemas/definition.ts'
import { sampleInLanguages } from '../../../src/server/pages/card/card-preview.ts'
import { buildClass } from '../../../src/wallets/google/classes.ts'
import { buildObject } from '../../../src/wallets/google/objects.ts'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import type { WalletPass } from '../../../src/wallets/wallet.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { parseDefinition } from '../../support/definitions.ts'
import { authorized, issuerId, saveJwt, startGoogle } from '../../wallets/sandbox/google-support.ts'
import { startLinks } from './google-links.ts'
import { createChain, serial, startService } from './service.ts'

const at = new Date('2026-07-01T12:00:00Z')

/** Creates a card in Portuguese, English, and Arabic. Its terms are not translated to Arabic. */
async function card(points: string, images: DefinitionInput['design']['images'] = {}): Promise<WalletPass> {
  const definition = parseDefinition({
    languages: { default: 'pt-BR', others: ['en', 'ar'] },
    variables: [{ name: 'points', label: 'Points' }],
    design: {
      organizationName: { 'pt-BR': 'Porto', en: 'Harbour "Club"', ar: 'ميناء' },
      description: { 'pt-BR': 'Cartão', en: 'Card', ar: 'بطاقة' },
      images,
      fields: {
        primary: [
          {
            key: 'points',
            label: { 'pt-BR': 'Pontos', en: 'Points', ar: 'نقاط' },
            value: '{{points}}',
            as: 'number',
            changeMessage: { 'pt-BR': 'Agora %@', en: 'Now %@', ar: 'الآن %@' },
          },
        ],
        secondary: [
          {
            key: 'level',
            label: { 'pt-BR': 'Nível', en: 'Level', ar: 'مستوى' },
            value: { 'pt-BR': 'Ouro {{points}}', en: 'Gold {{points}}', ar: 'ذهبي {{points}}' },
          },
        ],
        back: [
          {
            key: 'terms',
            label: { 'pt-BR': 'Condições', en: 'Terms' },
            value: { 'pt-BR': 'Sem troco', en: 'No change given' },
          },
        ],
      },
    },
  })
  const pass = await sampleInLanguages(definition, 'storeCard', new Map([['points', points]]))
  return { ...pass, id: serial, authenticationToken: 'token-of-at-least-16-characters' }
}

const number = (language: string, value: number) => new Intl.NumberFormat(language).format(value)

/** The expected language on phones: ar has its own text, en-GB uses en, and ja uses the default. */
const phones = [
  { language: 'ar', texts: ['ميناء', 'نقاط', 'مستوى', 'ذهبي', 'Condições', 'Sem troco'], hides: ['Porto', 'Level'] },
  {
    language: 'en-GB',
    texts: ['Harbour "Club"', 'Points', 'Level', 'Gold', 'Terms', 'No change given'],
    hides: ['Porto'],
  },
  { language: 'ja', texts: ['Porto', 'Pontos', 'Nível', 'Ouro', 'Condições'], hides: ['Harbour', 'ميناء'] },
]

async function speaking(platform: DevicePlatform, language: string): Promise<DeviceFile> {
  const file = deviceFor(temporaryFolder(), platform)
  await file.update((device) => ({ ...device, language }))
  return file
}

const drawn = (file: DeviceFile) => drawDevice(file.read(), { width: undefined, colorDepth: 1 })

let chain: SandboxApple
beforeAll(async () => {
  chain = await createChain()
})

test.each(phones)('an iPhone in $language shows its texts after install and after an update', async (phone) => {
  const { language, texts, hides } = phone
  const service = await startService(chain)
  service.state.pass = await card('1250')
  const file = await speaking('apple', language)
  const iphone = phoneOf(file)
  await iphone.install(`${service.url}/l/apple`)
  await iphone.check()
  for (const text of [...texts, number(language, 1250)]) expect(await drawn(file)).toContain(text)
  for (const text of hides) expect(await drawn(file)).not.toContain(text)

  service.state.pass = await card('98760')
  service.state.version += 1
  const { changes } = await iphone.check()
  const said = { ar: 'الآن', 'en-GB': 'Now', ja: 'Agora' }[language]
  expect(changes).toMatchObject([{ banners: [`${said} ${number(language, 98_760)}`] }])
  for (const text of [...texts, number(language, 98_760), '98760']) expect(await drawn(file)).toContain(text)
})

test('a change of only a translation is an update', async () => {
  const service = await startService(chain)
  service.state.pass = await card('1')
  const file = await speaking('apple', 'ar')
  const iphone = phoneOf(file)
  await iphone.install(`${service.url}/l/apple`)
  await iphone.check()
  const pass = await card('1')
  const translations = pass.translations!.map((other) => ({ ...other, organizationName: 'مرفأ' }))
  service.state.pass = { ...pass, translations }
  service.state.version += 1
  expect((await iphone.check()).changes).toMatchObject([{ pass: serial, banners: [] }])
  expect(await drawn(file)).toContain('مرفأ')
})

test.each(phones)('an Android phone in $language shows its texts after install and after an update', async (phone) => {
  const { language, texts, hides } = phone
  const issuer = { issuerId, publicUrl: 'https://passes.example' }
  const resources = async (points: string) => {
    const pass = await card(points, { icon: serial })
    return [buildClass(issuer, pass), buildObject(issuer, pass, at)] as const
  }
  const [ofClass, object] = await resources('1250')
  const google = await startGoogle()
  const file = await speaking('google', language)
  const android = phoneOf(file)
  const jwt = saveJwt({ loyaltyClasses: [ofClass], loyaltyObjects: [object] })
  await android.install(await startLinks(google, jwt))
  for (const text of texts) expect(await drawn(file)).toContain(text)
  for (const text of hides) expect(await drawn(file)).not.toContain(text)

  const rest = await authorized(google)
  await rest('PUT', `/loyaltyObject/${object.id}`, (await resources('98760'))[1])
  expect((await android.check()).changes).toHaveLength(1)
  for (const text of [...texts, '98760']) expect(await drawn(file)).toContain(text)
  const message = {
    header: 'Notícia',
    body: 'Aberto',
    localizedBody: {
      defaultValue: { language: 'pt-BR', value: 'Aberto' },
      translatedValues: [
        { language: 'en', value: 'Open' },
        { language: 'ar', value: 'مفتوح' },
      ],
    },
    messageType: 'TEXT_AND_NOTIFY',
    id: 'm1',
  }
  await rest('POST', `/loyaltyObject/${object.id}/addMessage`, { message })
  const body = { ar: 'مفتوح', 'en-GB': 'Open', ja: 'Aberto' }[language]
  expect((await android.check()).changes).toMatchObject([{ banners: [`Notícia: ${body}`] }])
})

test('a stored phone without a language uses English', () => {
  const before = { platform: 'google', name: 'pixel', deviceId: 'd', passes: [] }
  expect(Device.parse(before).language).toBe('en')
})

test('reads a strings file with escapes in either encoding, and reports other files', () => {
  const text = '"a \\"b\\"\\n" = "\\\\ é";\n\n"c"="d" ;'
  const read = { 'a "b"\n': '\\ é', c: 'd' }
  expect(parseStrings(Buffer.from(text))).toEqual(read)
  expect(parseStrings(Buffer.from(`\uFEFF${text}`, 'utf16le'))).toEqual(read)
  expect(parseStrings(Buffer.alloc(0))).toEqual({})
  for (const broken of ['"a" = "b"', '"a" "b";', '"a', 'a = b;', '"a" = "b;']) {
    expect(parseStrings(Buffer.from(broken)), broken).toBeUndefined()
  }
})

test('selects Chinese by its script', () => {
  const content = { logoText: 'Default' } as Parameters<typeof passIn>[0]['content']
  const strings = { 'zh-Hans': { Default: '简体' }, 'zh-Hant': { Default: '繁體' } }
  expect(['zh-CN', 'zh-TW', 'zh-Hant-HK', 'de'].map((tag) => passIn({ content, strings }, tag).logoText)).toEqual([
    '简体',
    '繁體',
    '繁體',
    'Default',
  ])
})

test('translates the semantic tags that posters show', () => {
  const content = { semantics: { eventName: 'Gala', seats: [{ seatRow: 'Gala' }] } }
  const strings = { pt: { Gala: 'Gala anual' } }
  const translated = { semantics: { eventName: 'Gala anual', seats: [{ seatRow: 'Gala' }] } }
  expect(passIn({ content: content as unknown as Parameters<typeof passIn>[0]['content'], strings }, 'pt')).toEqual(
    translated,
  )
})
