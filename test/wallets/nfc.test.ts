import { generateKeyPairSync } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Definition, DefinitionInput, PassType } from '../../src/core/contract/schemas/definition.ts'
import { renderCard, showsScanCode } from '../../src/core/rules/display/card.ts'
import { compilePass } from '../../src/core/rules/pass/pass-rules.ts'
import { checkDefinition } from '../../src/core/rules/template/definition.ts'
import { checkOverrides } from '../../src/wallets/apple/overrides/override-check.ts'
import { checkPoster } from '../../src/wallets/apple/overrides/poster-check.ts'
import { buildPassJson } from '../../src/wallets/apple/pass-json.ts'
import { buildClass } from '../../src/wallets/google/classes.ts'
import { buildObject, withCleared } from '../../src/wallets/google/objects.ts'
import { parseDefinition } from '../support/definitions.ts'

const keyOf = (namedCurve: string) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve })
  return publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
}
const publicKey = keyOf('P-256')
const nfc = { message: 'member {{number}}', publicKey, requiresAuthentication: true }
const at = new Date('2026-11-28T12:00:00Z')
const issuer = { issuerId: '3388', publicUrl: 'https://passes.example.com' }

function define(parts: Partial<DefinitionInput> = {}): Definition {
  const variables = [{ name: 'number', label: 'Number' }]
  return parseDefinition({ variables, design: { organizationName: 'Museum', description: 'Card' }, nfc, ...parts })
}

function passOf(definition: Definition, { number = '17', passType = 'storeCard' as PassType } = {}) {
  const cardOf = (scope: Map<string, string>) =>
    renderCard({ passType, definition, scope, expiresAt: null, voided: false })
  const id = '018f2f5e-7c1a-7000-bfff-ba9876543210'
  const pass = {
    id,
    templateId: id,
    templateVersion: 1,
    authenticationToken: 'token-of-at-least-16',
    card: cardOf(new Map([['number', number]])),
    templateCard: cardOf(new Map()),
  }
  const names = { passTypeIdentifier: 'pass.com.example', teamIdentifier: 'A1B2C3D4E5' }
  return {
    json: buildPassJson(pass, names, 'https://passes.example.com/apple'),
    object: buildObject(issuer, pass, at),
    ofClass: buildClass(issuer, pass),
  }
}

const reasonsOf = (definition: Definition) =>
  checkDefinition(definition).map(({ path, message }) => `${path.join('.')}: ${message}`)

test('sends one message to the readers of both wallets', () => {
  const { json, object, ofClass } = passOf(define())
  expect(json.nfc).toEqual({ message: 'member 17', encryptionPublicKey: publicKey, requiresAuthentication: true })
  expect(object.smartTapRedemptionValue).toBe('member 17')
  expect(ofClass).toMatchObject({ enableSmartTap: true, redemptionIssuers: ['3388'] })
})

test('passes without nfc or with an empty message have none of its keys', () => {
  const plain = passOf(define({ nfc: undefined }))
  expect(plain.json).not.toHaveProperty('nfc')
  expect(plain.object).not.toHaveProperty('smartTapRedemptionValue')
  expect(plain.ofClass).not.toHaveProperty('enableSmartTap')
  expect(withCleared('loyalty', plain.object).smartTapRedemptionValue).toBeNull()
  const empty = passOf(define({ nfc: { message: '{{number}}', publicKey } }), { number: '' })
  expect(empty.json).not.toHaveProperty('nfc')
  expect(passOf(define({ nfc: { message: ' ', publicKey } })).json).not.toHaveProperty('nfc')
  expect(empty.object).not.toHaveProperty('smartTapRedemptionValue')
  expect(empty.ofClass.enableSmartTap).toBe(true)
})

test('overrides of a platform take precedence over nfc', () => {
  const definition = define({
    apple: { nfc: { message: 'apple {{number}}' } },
    google: { object: { smartTapRedemptionValue: 'google' }, class: { redemptionIssuers: ['99'] } },
  })
  expect(checkOverrides(definition, 'storeCard')).toEqual([])
  const { json, object, ofClass } = passOf(definition)
  expect(json.nfc).toEqual({ message: 'apple 17', encryptionPublicKey: publicKey, requiresAuthentication: true })
  expect(object.smartTapRedemptionValue).toBe('google')
  expect(ofClass.redemptionIssuers).toEqual(['99'])
  const pathsOf = (override: unknown) =>
    checkOverrides(define({ apple: { nfc: override } }), 'storeCard').map(({ path }) => path.join('.'))
  expect(pathsOf({ message: 'x'.repeat(65) })).toEqual(['apple.nfc.message'])
  expect(pathsOf('no object')).toEqual(['apple.nfc'])
})

test('publishing rejects a message or a key that readers cannot use', () => {
  expect(reasonsOf(define())).toEqual([])
  expect(reasonsOf(define({ nfc: { message: 'x'.repeat(65), publicKey } }))).toEqual([
    'nfc.message: Cannot be sent to a reader: the message has 65 bytes, and at most 64 are allowed',
  ])
  expect(reasonsOf(define({ nfc: { message: `${'x'.repeat(65)}{{number}}`, publicKey } }))).toHaveLength(1)
  expect(reasonsOf(define({ nfc: { message: 'Zoë', publicKey } }))).toEqual([
    'nfc.message: Cannot be sent to a reader: the message has characters that are not printable ASCII, and some wallets do not send such characters',
  ])
  for (const wrong of [
    'no key',
    keyOf('P-384'),
    '{{number}}',
    ` ${publicKey}`,
    `${publicKey}AAAA`,
    publicKey.replace(/=*$/, '!'),
  ]) {
    expect(reasonsOf(define({ nfc: { message: 'x', publicKey: wrong } }))).toEqual([
      expect.stringContaining('nfc.publicKey: Must be the public key of the readers'),
    ])
  }
})

test('creating a pass rejects a value that does not fit, with its variable', () => {
  const check = compilePass(define({ nfc: { message: '{{number}} {{pass.scanCode}}', publicKey } }))
  const facts = { id: 'i', externalPassId: 'e', label: 'l', scanCode: 'S', templateName: 't', projectName: null }
  const issuesOf = (number: string, scanPayload?: string) => {
    const checked = check({ ...facts, variables: { number }, ...(scanPayload !== undefined && { scanPayload }) })
    return 'issues' in checked ? checked.issues : []
  }
  expect(issuesOf('7'.repeat(62))).toEqual([])
  expect(issuesOf('7'.repeat(63))).toEqual([
    { path: ['variables', 'number'], message: expect.stringContaining('65 bytes, and at most 64') },
  ])
  expect(issuesOf('é')).toEqual([{ path: ['variables', 'number'], message: expect.stringContaining('ASCII') }])
  expect(issuesOf('7', '8'.repeat(70))).toEqual([{ path: ['scanPayload'], message: expect.stringContaining('bytes') }])
})

test('a new scan code changes a pass whose NFC message has the code', () => {
  const barcode = { message: 'fixed' }
  const design = { organizationName: 'Museum', description: 'Card', barcode }
  expect(showsScanCode(define({ design }))).toBe(false)
  expect(showsScanCode(define({ design, nfc: { message: '{{pass.scanCode}}', publicKey } }))).toBe(true)
})

test('a poster ticket is read by nfc with requiresAuthentication', () => {
  const id = '00000000-0000-8000-8000-000000000001'
  const design = { organizationName: 'Hall', description: 'Ticket', images: { artwork: id } }
  const event = { name: 'Night music', venue: { name: 'Hall' } }
  const pathsOf = (own: DefinitionInput['nfc']) =>
    [...checkPoster(define({ design, event, apple: { poster: true }, nfc: own }), 'eventTicket')].map(({ path }) =>
      path.join('.'),
    )
  expect(pathsOf(nfc)).toEqual([])
  expect(pathsOf({ message: 'm', publicKey })).toEqual(['nfc.requiresAuthentication'])
})

test('publishing rejects notifications of Google that the service does not count', () => {
  for (const role of ['class', 'object'] as const) {
    const messages = [{ header: 'Doors', body: 'Open', messageType: 'TEXT_AND_NOTIFY' }]
    const definition = define({ google: { [role]: { messages, notifyPreference: 'NOTIFY_ON_UPDATE' } } })
    expect(reasonsOf(definition)).toEqual([
      `google.${role}.messages: Cannot be set in a definition: to notify holders, send a notification`,
      `google.${role}.notifyPreference: Cannot be set in a definition: to notify holders, send a notification`,
    ])
    const { object, ofClass } = passOf(definition)
    expect({ ...object, ...ofClass }).not.toHaveProperty('notifyPreference')
    expect({ ...object, ...ofClass }).not.toHaveProperty('messages')
  }
})
