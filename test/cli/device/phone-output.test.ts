import { expect, test } from 'vitest'
import { PassJson } from '../../../src/cli/device/apple-pass-json.ts'
import { bannerLines, describeDevice, drawDevice } from '../../../src/cli/device/phone-output.ts'
import type { AppleDevice, GoogleDevice } from '../../../src/cli/device/phone-store.ts'
import { type ApplePass, buildPassJson } from '../../../src/wallets/apple/pass-json.ts'
import { createGoogleWallet } from '../../../src/wallets/google/google-wallet.ts'
import { passTypeIdentifier, type TestPass, teamIdentifier, testPass } from '../../wallets/apple/fixtures.ts'
import { pass as googlePass, identity, publicUrl } from '../../wallets/google/samples.ts'
import { serial, ticket } from './service.ts'

const plain = { width: undefined, colorDepth: 1 } as const
const times = { installedAt: '2026-07-01T12:00:00.000Z', updatedAt: '2026-07-01T12:00:00.000Z' }

function iphone(variables: Record<string, string>, more: TestPass = {}): AppleDevice {
  return phoneWith(ticket(variables, more))
}

function phoneWith(held: ApplePass): AppleDevice {
  const json = buildPassJson(held, { passTypeIdentifier, teamIdentifier }, 'https://passes.example.com/apple')
  const content = PassJson.parse(JSON.parse(JSON.stringify(json)))
  const pass = { content, strings: {}, lastModified: null, ...times }
  return { platform: 'apple', name: 'iphone', language: 'en', ios: 27, accounts: [], passes: [pass] }
}

function android(state: string): GoogleDevice {
  const wallet = createGoogleWallet({ identity, publicUrl })
  const sample = googlePass()
  const messages = [{ id: 'm', header: 'News', body: 'Doors at 9' }]
  const object = { ...wallet.objectOf(sample, new Date()), messages, state }
  const kept = { directory: 'd', kind: 'generic', objectId: object.id, version: 1, ...times }
  const passes = [{ ...kept, object, class: wallet.classOf(sample) }]
  return { platform: 'google', name: 'android', language: 'en', deviceId: 'd', passes }
}

test('draws an Apple pass with its fields, barcode, and back', async () => {
  const drawn = await drawDevice(iphone({ seat: '12A', news: 'Doors at 9' }), plain)
  for (const text of ['Fair', 'Ada Lovelace', '12A', 'Doors at 9', '▄▄▄▄▄']) expect(drawn).toContain(text)
  expect(drawn).not.toContain('***')
})

test('an iPhone shows the first barcode that its version of iOS supports', async () => {
  const device = iphone({ seat: '12A' })
  const [pass] = device.passes
  const message = '4006381333931'
  const draw = (ios: 26 | 27, formats: string[]) => {
    const barcodes = formats.map((format) => ({
      format: `PKBarcodeFormat${format}`,
      message,
      messageEncoding: 'utf-8',
    }))
    const content = PassJson.parse({ ...pass!.content, barcodes })
    return drawDevice({ ...device, ios, passes: [{ ...pass!, content }] }, plain)
  }
  const [bars, squares] = [/▌ ?▐/, /[▀▄]/]
  expect(await draw(27, ['EAN13', 'QR'])).toMatch(bars)
  expect(await draw(27, ['EAN13', 'QR'])).not.toMatch(squares)
  expect(await draw(26, ['EAN13', 'QR'])).toMatch(squares)
  expect(await draw(26, ['Code39', 'Aztec', 'QR'])).toBe(await draw(26, ['Aztec']))
  expect(await draw(27, ['QR', 'EAN13'])).toMatch(squares)
  expect(await draw(26, ['EAN13'])).not.toMatch(/[▌▐▀▄]/)
})

test('draws a poster ticket for newer and for older iPhones', async () => {
  const semantics = { eventName: 'Night music', venueName: 'Hall', seats: [{ seatRow: 'F', seatNumber: '12' }] }
  const nfc = { message: 'm', encryptionPublicKey: 'key', requiresAuthentication: true }
  const poster = { preferredStyleSchemes: ['posterEventTicket', 'eventTicket'], semantics, nfc }
  const device = iphone({ seat: '12A' })
  const [pass] = device.passes
  const { generic, ...content } = pass!.content
  const ticket = PassJson.parse({ ...content, ...poster, eventTicket: { primaryFields: [{ key: 'k', value: 'Old' }] } })
  const [newer, older] = (await drawDevice({ ...device, passes: [{ ...pass!, content: ticket }] }, plain)).split(
    'Before iOS 18:',
  )
  for (const text of ['Night music', 'Hall', 'Row', '12']) expect(newer).toContain(text)
  expect(newer).not.toContain('▄▄▄▄▄')
  expect(older).toContain('▄▄▄▄▄')
})

test('draws a poster ticket without NFC with its barcode, for iOS 27', async () => {
  const semantics = { eventName: 'Night music', venueName: 'Hall' }
  const definition = { event: { name: 'Night music', venue: { name: 'Hall' } }, apple: { poster: true, semantics } }
  const device = phoneWith(testPass({ passType: 'eventTicket', definition }))
  const [newer, older] = (await drawDevice(device, plain)).split('Before iOS 27:')
  for (const text of ['Night music', '▄▄▄▄▄']) expect(newer).toContain(text)
  expect(older).toContain('▄▄▄▄▄')
})

test('draws an approximation of the layout of iOS 26 for a flight, and the classic style', async () => {
  const trip = {
    mode: 'air' as const,
    carrier: { code: 'GN' },
    number: '664',
    from: { code: 'LIS', city: 'Lisboa', timeZone: 'Europe/Lisbon' },
    to: { code: 'AMS', city: 'Amsterdam', timeZone: 'Europe/Amsterdam' },
    boardsAt: '2027-05-19T06:20:00+01:00',
    departsAt: '2027-05-19T07:00:00+01:00',
    arrivesAt: '2027-05-19T11:05:00+02:00',
    passenger: 'Ada Lovelace',
  }
  const device = phoneWith(testPass({ passType: 'boardingPass', definition: { trip } }))
  const [newer, older] = (await drawDevice(device, plain)).split('Before iOS 26:')
  for (const text of ['Since iOS 26 (approximation):', 'GN664', 'Lisboa', 'Boarding']) expect(newer).toContain(text)
  expect(older).not.toContain('GN664')
})

test('draws the poster of a membership for iOS 27, with all of its fields and the code', async () => {
  const field = (key: string) => ({ key, label: key, value: `value of ${key}` })
  const fields = {
    header: [field('guest')],
    primary: [field('name')],
    secondary: ['type', 'since', 'desk'].map(field),
    auxiliary: [field('until')],
    back: [field('terms')],
  }
  const definition = { design: { fields }, apple: { poster: true } }
  const device = phoneWith(testPass({ passType: 'storeCard', definition }))
  const [newer, older] = (await drawDevice(device, plain)).split('Before iOS 27:')
  for (const key of ['guest', 'name', 'type', 'since', 'desk', 'until', 'terms']) {
    expect(newer).toContain(`value of ${key}`)
    expect(older).toContain(`value of ${key}`)
  }
  expect(newer).toContain('▄▄▄▄▄')
})

test('draws a Google pass with the rows of its class, its messages, and its links', async () => {
  const drawn = await drawDevice(android('active'), plain)
  const texts = [
    'EXAMPLE',
    'Ada Lovelace',
    'value of gate',
    'value of row',
    'Doors at 9',
    'https://example.com/',
    '▄▄▄▄▄',
  ]
  for (const text of texts) expect(drawn).toContain(text)
  expect(drawn).not.toContain('***')
})

test('marks void, expired, and inactive passes', async () => {
  expect(await drawDevice(iphone({ seat: '1' }, { voided: true }), plain)).toContain('*** VOID ***')
  const expired = { expiresAt: new Date('2020-01-01T00:00:00Z') }
  expect(await drawDevice(iphone({ seat: '1' }, expired), plain)).toContain('*** EXPIRED ***')
  expect(await drawDevice(android('inactive'), plain)).toContain('*** INACTIVE ***')
})

test('draws only the named passes, and reports a phone without any', async () => {
  expect(await drawDevice(iphone({ seat: '1' }), plain, new Set(['another']))).toBe('iphone holds no pass.')
  expect(await drawDevice(iphone({ seat: '1' }), plain, new Set([serial]))).toContain('Ada Lovelace')
})

test('a banner appears below the organization name and cannot control the terminal', () => {
  const change = { pass: serial, banners: ['Your seat is now \u001B[2JB-7.', 'News'], at: times.updatedAt }
  const lines = bannerLines(iphone({ seat: 'B-7' }), change).split('\n')
  expect(lines).toEqual(['▌ Fair', '▌ Your seat is now \uFFFD[2JB-7.', '▌ News'])
  expect(bannerLines(iphone({ seat: 'B-7' }), { ...change, banners: [] })).toContain('(updated silently)')
})

test('JSON output contains the passes of a phone without their authentication tokens', () => {
  const described = describeDevice(iphone({ seat: '1' }))
  expect(described).toMatchObject({ name: 'iphone', passes: [{ pass: serial, content: { organizationName: 'Fair' } }] })
  expect(JSON.stringify(described)).not.toContain('token-of-at-least-16-characters')
  expect(describeDevice(android('active'))).toMatchObject({ passes: [{ version: 1, object: { state: 'active' } }] })
})
