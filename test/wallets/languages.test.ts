import { unzipSync } from 'fflate'
import { beforeAll, expect, test } from 'vitest'
import { type DefinitionInput, GoogleKind } from '../../src/core/contract/schemas/definition.ts'
import { sampleInLanguages } from '../../src/server/pages/card/card-preview.ts'
import { type AppleWallet, createAppleWallet } from '../../src/wallets/apple/apple-wallet.ts'
import { checkFields } from '../../src/wallets/google/check-fields.ts'
import { typeOf } from '../../src/wallets/google/fields.ts'
import { createGoogleWallet } from '../../src/wallets/google/google-wallet.ts'
import { withCleared } from '../../src/wallets/google/objects.ts'
import { mergePatch } from '../../src/wallets/sandbox/google/google-store.ts'
import type { ImageSize } from '../../src/wallets/wallet.ts'
import { parseDefinition } from '../support/definitions.ts'
import { readStrings } from '../support/phone-languages.ts'
import { createTestIdentity, webServiceUrl } from './apple/fixtures.ts'
import { at, identity, publicUrl } from './google/samples.ts'

const google = createGoogleWallet({ identity, publicUrl })
let apple: AppleWallet

beforeAll(async () => {
  const { identity: signer } = await createTestIdentity()
  apple = createAppleWallet({ identity: signer, webServiceUrl, loadImageFiles: async () => [] })
})

const input: DefinitionInput = {
  languages: { default: 'pt-BR', others: ['en', 'ar'] },
  variables: [{ name: 'points', label: 'Points', example: '1250' }],
  design: {
    organizationName: { 'pt-BR': 'Porto', en: 'Harbour "Club"\nLisbon', ar: 'ميناء' },
    description: { 'pt-BR': 'Cartão', en: 'Card' },
    fields: {
      primary: [
        { key: 'points', label: { 'pt-BR': 'Pontos', en: 'Points', ar: 'نقاط' }, value: '{{points}}', as: 'number' },
      ],
      back: [
        {
          key: 'terms',
          label: { 'pt-BR': 'Condições', en: 'Terms' },
          value: { 'pt-BR': 'Sem troco', en: 'No change given' },
          changeMessage: { 'pt-BR': 'Novas: %@', en: 'New: %@' },
        },
      ],
    },
    links: [{ label: { 'pt-BR': 'Mapa', en: 'Map' }, url: 'https://example.com/' }],
  },
  google: { kind: 'loyalty' },
}

test('a package has the texts of each language, keyed by the default ones, and lists every file', async () => {
  const pass = await sampleInLanguages(parseDefinition(input), 'storeCard')
  const unsigned = await apple.preparePackage(pass, new Date())
  const files = unzipSync(unsigned.complete(await apple.signPackage(unsigned, new Date())))
  const text = (name: string) => Buffer.from(files[name]!).toString()
  const names = Object.keys(files).filter((name) => name.endsWith('.strings'))
  expect(names).toEqual(['pt-BR.lproj/pass.strings', 'en.lproj/pass.strings', 'ar.lproj/pass.strings'])
  expect(Object.keys(JSON.parse(text('manifest.json')))).toEqual(expect.arrayContaining(names))
  const json = JSON.parse(text('pass.json'))
  expect([json.organizationName, json.storeCard.primaryFields[0]]).toEqual([
    'Porto',
    { key: 'points', label: 'Pontos', value: 1250, numberStyle: 'PKNumberStyleDecimal' },
  ])
  expect(Object.fromEntries(readStrings(files['en.lproj/pass.strings']!))).toEqual({
    Porto: 'Harbour "Club"\nLisbon',
    Cartão: 'Card',
    Pontos: 'Points',
    Condições: 'Terms',
    'Sem troco': 'No change given',
    'Novas: %@': 'New: %@',
    Mapa: 'Map',
  })
  const arabic = readStrings(files['ar.lproj/pass.strings']!)
  expect([arabic.get('Porto'), arabic.get('Pontos'), arabic.get('Sem troco')]).toEqual(['ميناء', 'نقاط', undefined])
  expect(readStrings(files['pt-BR.lproj/pass.strings']!).get('Pontos')).toBe('Pontos')
})

test('Google gets each text with its translations, under language codes that it supports', async () => {
  const pass = await sampleInLanguages(parseDefinition(input), 'storeCard')
  const [object, ofClass] = [google.objectOf(pass, at), google.classOf(pass)]
  const options = { needsLogos: false }
  expect([...checkFields(typeOf('loyalty', 'Object'), object, options)]).toEqual([])
  expect([...checkFields(typeOf('loyalty', 'Class'), ofClass, options)]).toEqual([])
  const localized = (value: string, ...translated: [string, string][]) => ({
    defaultValue: { language: 'pt-BR', value },
    ...(translated.length > 0 && {
      translatedValues: translated.map(([language, text]) => ({ language, value: text })),
    }),
  })
  expect(object).toMatchObject({
    textModulesData: [
      {
        id: 'terms',
        header: 'Condições',
        localizedHeader: localized('Condições', ['en', 'Terms']),
        localizedBody: localized('Sem troco', ['en', 'No change given']),
      },
    ],
    linksModuleData: { uris: [{ description: 'Mapa', localizedDescription: localized('Mapa', ['en', 'Map']) }] },
  })
  expect(ofClass).toMatchObject({
    issuerName: 'Porto',
    localizedIssuerName: localized('Porto', ['en', 'Harbour "Club"\nLisbon'], ['ar', 'ميناء']),
    localizedProgramName: localized('Cartão', ['en', 'Card']),
  })
})

test('fills a text that all languages share once per sample, for the pass and for its class', async () => {
  const shared = { linksModuleData: { uris: [{ uri: 'https://example.com/{{template.name}}', description: 'Shop' }] } }
  const definition = parseDefinition({ ...input, google: { kind: 'loyalty', class: shared } })
  const { card, translations, templateCard, templateTranslations } = await sampleInLanguages(definition, 'storeCard')
  expect(templateTranslations).toHaveLength(2)
  for (const other of translations!) expect(other.google.class).toBe(card.google.class)
  for (const other of templateTranslations!) expect(other.google.class).toBe(templateCard.google.class)
})

const image = (n: number) => `0b5f2c3e-1111-8222-8333-44445555666${n}`

test('localized images are only in the folders of their languages, not at the top level', async () => {
  const loadImageFiles = async (id: string, sizes: readonly ImageSize[]) => [
    { ...sizes[0]!, bytes: Buffer.from(`picture ${id}`) },
  ]
  const { identity: signer } = await createTestIdentity()
  const wallet = createAppleWallet({ identity: signer, webServiceUrl, loadImageFiles })
  const filesOf = async (images: DefinitionInput['design']['images']) => {
    const pass = await sampleInLanguages(
      parseDefinition({ ...input, design: { ...input.design, images } }),
      'storeCard',
    )
    expect(JSON.stringify(google.objectOf(pass, at))).not.toMatch(new RegExp(`${image(2)}|${image(3)}`))
    const unsigned = await wallet.preparePackage(pass, new Date())
    const files = unzipSync(unsigned.complete(await wallet.signPackage(unsigned, new Date())))
    const pictures = Object.entries(files).filter(([name]) => name.endsWith('.png'))
    const manifest = Object.keys(JSON.parse(Buffer.from(files['manifest.json']!).toString()))
    expect(manifest).toEqual(expect.arrayContaining(pictures.map(([name]) => name)))
    return Object.fromEntries(pictures.map(([name, bytes]) => [name, Buffer.from(bytes).toString().slice(-1)]))
  }
  const strip = { by: '{{points}}', map: { '1250': image(2) }, else: image(1) }
  expect(await filesOf({ icon: image(1), logo: image(1), strip: { 'pt-BR': image(1), en: strip } })).toEqual({
    'icon.png': '1',
    'logo.png': '1',
    'pt-BR.lproj/strip.png': '1',
    'en.lproj/strip.png': '2',
    'ar.lproj/strip.png': '1',
  })
  expect(await filesOf({ icon: { 'pt-BR': image(1), en: image(2), ar: image(3) } })).toEqual({
    'icon.png': '1',
    'pt-BR.lproj/icon.png': '1',
    'en.lproj/icon.png': '2',
    'ar.lproj/icon.png': '3',
  })
  expect(await filesOf({ icon: image(1), logo: { 'pt-BR': image(1), en: image(1) } })).toEqual({
    'icon.png': '1',
    'logo.png': '1',
  })
})

test.each(GoogleKind.options)(
  'an update of a %s object removes each translation that the new one lacks',
  async (kind) => {
    const trip = {
      mode: 'train' as const,
      from: { code: 'LX', name: { 'pt-BR': 'Lisboa', en: 'Lisbon' } },
      to: { code: 'PO', name: { 'pt-BR': 'Porto', en: 'Oporto' } },
    }
    const isTrip = kind === 'transit' || kind === 'flight'
    const about = isTrip ? { trip } : kind === 'eventTicket' ? { event: { name: 'Noite', seat: { row: '7' } } } : {}
    const definition = parseDefinition({ ...input, ...about, google: { kind } })
    const passOf = async (content: typeof definition) => {
      const made = await sampleInLanguages(
        content,
        isTrip ? 'boardingPass' : kind === 'eventTicket' ? 'eventTicket' : 'generic',
      )
      return { ...made, card: { ...made.card, images: { hero: 'x', icon: 'y' } } }
    }
    const { languages: _, ...inOne } = structuredClone(definition)
    const before = google.objectOf(await passOf(definition), at)
    const after = google.objectOf(await passOf(inOne), at)
    expect(JSON.stringify(before)).toMatch(/translatedValues/)
    expect(JSON.stringify(after)).not.toMatch(/translatedValues/)
    const cleared = mergePatch(before, withCleared(kind, after))
    expect(cleared).toEqual(after)
  },
)

test('an event has its name and place in each language', async () => {
  const event = {
    name: { 'pt-BR': 'Noite', en: 'Night' },
    venue: { name: { 'pt-BR': 'Cais {{points}}', en: 'Quay {{points}}' }, address: 'Rua 1' },
    startsAt: '2027-05-31T19:30:00Z',
  }
  const { google: _, ...parts } = input
  const pass = await sampleInLanguages(parseDefinition({ ...parts, event }), 'eventTicket')
  expect(google.classOf(pass)).toMatchObject({
    eventName: {
      defaultValue: { language: 'pt-BR', value: 'Noite' },
      translatedValues: [{ language: 'en', value: 'Night' }],
    },
    venue: {
      name: {
        defaultValue: { language: 'pt-BR', value: 'Cais 1250' },
        translatedValues: [{ language: 'en', value: 'Quay 1250' }],
      },
      address: { defaultValue: { language: 'pt-BR', value: 'Rua 1' } },
    },
  })
  const unsigned = await apple.preparePackage(pass, new Date())
  const files = unzipSync(unsigned.complete(await apple.signPackage(unsigned, new Date())))
  expect(JSON.parse(Buffer.from(files['pass.json']!).toString()).semantics).toMatchObject({
    eventName: 'Noite',
    venueName: 'Cais 1250',
  })
  const english = readStrings(files['en.lproj/pass.strings']!)
  expect([english.get('Noite'), english.get('Cais 1250')]).toEqual(['Night', 'Quay 1250'])
})

test('a flight has the names and cities of its airports in each language', async () => {
  const trip = {
    mode: 'air' as const,
    from: { code: 'LIS', name: 'Humberto Delgado', city: { 'pt-BR': 'Lisboa', en: 'Lisbon' } },
    to: { code: 'MUC', name: { 'pt-BR': 'Aeroporto de Munique', en: 'Munich Airport' }, city: 'München' },
  }
  const { google: _, ...parts } = input
  const pass = await sampleInLanguages(parseDefinition({ ...parts, trip }), 'boardingPass')
  const unsigned = await apple.preparePackage(pass, new Date())
  const files = unzipSync(unsigned.complete(await apple.signPackage(unsigned, new Date())))
  expect(JSON.parse(Buffer.from(files['pass.json']!).toString()).semantics).toMatchObject({
    departureCityName: 'Lisboa',
    destinationCityName: 'München',
    destinationAirportName: 'Aeroporto de Munique',
  })
  const english = readStrings(files['en.lproj/pass.strings']!)
  expect([english.get('Lisboa'), english.get('Aeroporto de Munique')]).toEqual(['Lisbon', 'Munich Airport'])
})

test('phones show localized notifications and typed values in their language', async () => {
  const field = (key: string, value: string) => ({ key, label: { en: key, de: `${key} (de)` }, value })
  const definition = parseDefinition({
    languages: { default: 'en', others: ['de'] },
    design: {
      organizationName: 'Harbour',
      description: 'Card',
      fields: {
        back: [
          { ...field('price', '1234.5'), as: 'currency', currency: 'EUR' },
          { ...field('day', '2027-05-31'), as: 'date', style: 'long' },
          { ...field('share', '2.5'), as: 'percent' },
        ],
      },
    },
  })
  const pass = { ...(await sampleInLanguages(definition, 'generic')), message: { en: 'Rain today', de: 'Heute Regen' } }
  const unsigned = await apple.preparePackage(pass, new Date())
  const files = unzipSync(unsigned.complete(await apple.signPackage(unsigned, new Date())))
  const { backFields } = JSON.parse(Buffer.from(files['pass.json']!).toString()).generic
  expect(backFields).toEqual([
    { key: 'message', label: 'Harbour', value: 'Rain today', changeMessage: '%@' },
    { key: 'price', label: 'price', value: 1234.5, currencyCode: 'EUR' },
    // An iPhone formats both values in its language. It shows no fraction of a percentage, so that value is a text.
    expect.objectContaining({ value: '2027-05-31T00:00:00Z', dateStyle: 'PKDateStyleLong', ignoresTimeZone: true }),
    { key: 'share', label: 'share', value: '2.5%' },
  ])
  const german = readStrings(files['de.lproj/pass.strings']!)
  expect([german.get('Rain today'), german.get('price'), german.get('2.5%')]).toEqual([
    'Heute Regen',
    'price (de)',
    '2,5\u00a0%',
  ])
  const { textModulesData } = google.objectOf(pass, at) as unknown as { textModulesData: { localizedBody: unknown }[] }
  const body = (en: string, de: string) => ({
    localizedBody: {
      defaultValue: { language: 'en', value: en },
      translatedValues: [{ language: 'de', value: de }],
    },
  })
  expect(textModulesData).toMatchObject([
    body('€1,234.50', '1.234,50\u00a0€'),
    body('May 31, 2027', '31. Mai 2027'),
    body('2.5%', '2,5\u00a0%'),
  ])
})
