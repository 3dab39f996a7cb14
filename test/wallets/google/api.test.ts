import { afterEach, beforeEach, expect, test } from 'vitest'
import { buildObject } from '../../../src/wallets/google/objects.ts'
import { apiOf, classResource, failureOf, message, object } from './api-samples.ts'
import { type GoogleServer, rejection, startGoogleServer } from './google-server.ts'
import { allKinds, at, type CardOptions, googleOf, identity, pass, publicKey, publicUrl } from './samples.ts'

let google: GoogleServer

beforeEach(async () => {
  google = await startGoogleServer(publicKey)
})
afterEach(() => google.close())

const steps = () => google.requests.map(({ method, path }) => `${method} ${path}`)
const bareDesign: CardOptions['design'] = {
  colors: {},
  images: {},
  fields: { header: [], primary: [], secondary: [], auxiliary: [], back: [] },
  barcode: { format: 'qr', message: 'CODE-2' },
  locations: [],
  links: [],
}
const stored = (path: string) => google.resources.get(path)

test('creates a class, or replaces an existing one completely', async () => {
  const api = apiOf(google)
  await api.upsertClass('eventTicket', { ...classResource, hexBackgroundColor: '#102030' })
  await api.upsertClass('eventTicket', { ...classResource, issuerName: 'Other Arts' })
  expect(steps()).toEqual(['POST /eventTicketClass', 'POST /eventTicketClass', 'PUT /eventTicketClass/3388.template-1'])
  expect(stored('/eventTicketClass/3388.template-1')).toEqual({ ...classResource, issuerName: 'Other Arts' })
})

test('a replaced class keeps the messages of broadcasts', async () => {
  const sent = Array.from({ length: 10 }, (_, n) => ({ ...message, id: `01985f0c-7a10-7c3e-9d61-2f5b8e4a7c${10 + n}` }))
  const path = '/eventTicketClass/3388.template-1'
  google.resources.set(path, { ...classResource, messages: sent })
  await apiOf(google).upsertClass('eventTicket', classResource, { keepsMessages: true })
  expect((stored(path)!.messages as { id: string }[]).map(({ id }) => id)).toEqual(sent.map(({ id }) => id))
})

test('creates an object, or updates an existing one', async () => {
  const api = apiOf(google)
  await api.upsertClass('eventTicket', classResource)
  await api.upsertObject('eventTicket', object)
  await api.upsertObject('eventTicket', { ...object, state: 'INACTIVE' })
  expect(steps().slice(1)).toEqual([
    'POST /eventTicketObject',
    'POST /eventTicketObject',
    'PATCH /eventTicketObject/3388.1',
  ])
  expect(stored('/eventTicketObject/3388.1')).toEqual({ ...object, state: 'INACTIVE' })
})

test('an update of a missing object creates it', async () => {
  const api = apiOf(google)
  await api.upsertClass('generic', classResource)
  await api.updateObject('generic', object)
  await api.updateObject('generic', { ...object, state: 'EXPIRED' })
  expect(steps().slice(1)).toEqual([
    'PATCH /genericObject/3388.1',
    'POST /genericObject',
    'PATCH /genericObject/3388.1',
  ])
  expect(stored('/genericObject/3388.1')).toEqual({ ...object, state: 'EXPIRED' })
})

test('an update whose object was created concurrently still updates it', async () => {
  google.answerNext(rejection(404, 'resourceNotFound'), rejection(409, 'existingResource'))
  google.resources.set('/genericObject/3388.1', { id: '3388.1', state: 'INACTIVE' })
  await apiOf(google).updateObject('generic', object)
  expect(stored('/genericObject/3388.1')).toEqual(object)
})

test('writing an object without a class fails as missing, in a create and an update', async () => {
  const api = apiOf(google)
  expect(await failureOf(api.upsertObject('generic', object))).toMatchObject({ kind: 'missing' })
  expect(await failureOf(api.updateObject('generic', object))).toMatchObject({ kind: 'missing' })
})

test.each(allKinds)('an update of a %s object removes what the new one lacks, but no message', async (kind) => {
  const options: CardOptions = { passType: kind === 'transit' ? 'boardingPass' : 'generic', google: googleOf(kind) }
  const issuer = { issuerId: identity.issuerId, publicUrl }
  const before = buildObject(issuer, pass({ ...options, expiresAt: new Date('2026-12-31T23:59:59Z') }), at)
  const after = buildObject(issuer, pass({ ...options, design: bareDesign }), at)
  expect(Object.keys(before).length).toBeGreaterThan(Object.keys(after).length)
  google.resources.set(`/${kind}Object/${before.id}`, { ...before, messages: [message] })

  await apiOf(google).updateObject(kind, after)
  expect(stored(`/${kind}Object/${before.id}`)).toEqual({ ...after, messages: [message] })
})

test('an update also removes missing parts within a key', async () => {
  const before = {
    ...object,
    barcode: { type: 'QR_CODE', value: 'A', alternateText: 'a' },
    validTimeInterval: { start: { date: '2026-01-01T00:00:00Z' } },
    ticketLeg: { originName: 'A', departureDateTime: '2026-01-01T00:00:00Z' },
  }
  const after = {
    ...object,
    barcode: { type: 'QR_CODE', value: 'A' },
    validTimeInterval: { end: { date: '2026-02-01T00:00:00Z' } },
    ticketLeg: { originName: 'A' },
  }
  google.resources.set('/transitObject/3388.1', before)
  await apiOf(google).updateObject('transit', after)
  expect(stored('/transitObject/3388.1')).toEqual(after)
})

test('an update removes overrides that a later template version dropped, but no messages', async () => {
  const overrides = {
    passConstraints: { nfcConstraint: ['BLOCK_PAYMENT'] },
    groupingInfo: { groupingId: 'a', sortIndex: 1 },
  }
  const older = { appLinkData: { webAppLinkInfo: {} }, messages: [], id: 'forged', state: 'INACTIVE' }
  const before = { ...object, ...overrides, appLinkData: older.appLinkData, messages: [message] }
  const after = { ...object, groupingInfo: { groupingId: 'b' } }
  google.resources.set('/genericObject/3388.1', before)
  await apiOf(google).updateObject('generic', after, [older, overrides])
  expect(stored('/genericObject/3388.1')).toEqual({ ...after, messages: [message] })
})

test('insertClass creates a missing class and leaves an existing one unchanged', async () => {
  const api = apiOf(google)
  await api.insertClass('eventTicket', classResource)
  await api.insertClass('eventTicket', { ...classResource, issuerName: 'Other Arts' })
  expect(stored('/eventTicketClass/3388.template-1')).toEqual(classResource)
})

test('a message is sent with a notification', async () => {
  google.resources.set('/genericObject/3388.1', object)
  await apiOf(google).addMessage('generic', '3388.1', message)
  expect(google.requests).toMatchObject([
    {
      method: 'POST',
      path: '/genericObject/3388.1/addMessage',
      body: { message: { ...message, messageType: 'TEXT_AND_NOTIFY' } },
    },
  ])
})

test('reads an object unchanged, except for its state in upper case', async () => {
  google.resources.set('/genericObject/3388.1', { ...object, state: 'inactive', hasUsers: true })
  expect(await apiOf(google).getObject('generic', '3388.1')).toEqual({ ...object, state: 'INACTIVE', hasUsers: true })
})

test('an ID cannot lead to another path', async () => {
  await failureOf(apiOf(google).getObject('generic', '../genericClass/3388.1?x=y'))
  expect(google.requests).toMatchObject([{ path: '/genericObject/../genericClass/3388.1?x=y' }])
})
