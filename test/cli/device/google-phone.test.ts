import { expect, test } from 'vitest'
import type { GoogleDevice } from '../../../src/cli/device/phone-store.ts'
import { deviceFor, phoneOf } from '../../../src/cli/device/phones.ts'
import { temporaryFolder } from '../../support/databases.ts'
import {
  authorized,
  genericClass,
  genericObject,
  issuerId,
  message,
  receiver,
  saveJwt,
  startGoogle,
} from '../../wallets/sandbox/google-support.ts'
import { startLinks } from './google-links.ts'

const objectId = `${issuerId}.pass-1`
const path = `/genericObject/${objectId}`
const full = saveJwt({ genericClasses: [genericClass()], genericObjects: [genericObject()] })

function newPhone() {
  const file = deviceFor(temporaryFolder(), 'google')
  return { ...phoneOf(file), device: () => file.read() as GoogleDevice }
}

async function installed() {
  const callbacks = await receiver()
  const google = await startGoogle({ callbackUrl: callbacks.url })
  const phone = newPhone()
  expect(await phone.install(await startLinks(google, full))).toBe(objectId)
  return { google, phone, callbacks, rest: await authorized(google) }
}

test('a pass is saved through the smart link without a call of Google itself, and the save is reported', async () => {
  const { phone, callbacks } = await installed()
  expect(phone.device().passes).toMatchObject([{ objectId, kind: 'generic', object: { state: 'active' } }])
  expect((await callbacks.received(1))[0]).toContain(objectId)
})

test('fetches only changed passes', async () => {
  const { phone, rest } = await installed()
  expect(await phone.check()).toEqual({ changes: [], problems: [] })
  await rest('PATCH', path, { state: 'INACTIVE' })
  expect((await phone.check()).changes).toMatchObject([{ pass: objectId, banners: [] }])
  expect(phone.device().passes[0]?.object.state).toBe('inactive')
  await rest('PATCH', path, { state: 'INACTIVE' })
  expect((await phone.check()).changes).toEqual([])
})

test('messages that notify are banners, once each; others are not', async () => {
  const { phone, rest } = await installed()
  await rest('POST', `${path}/addMessage`, message(1))
  await rest('POST', `${path}/addMessage`, message(2, 'TEXT'))
  await rest('POST', `${path}/addMessage`, message(3))
  expect((await phone.check()).changes).toMatchObject([{ banners: ['News: Number 1', 'News: Number 3'] }])
  await rest('POST', `${path}/addMessage`, message(4))
  expect((await phone.check()).changes).toMatchObject([{ banners: ['News: Number 4'] }])
})

test('a removed pass is reported as deleted', async () => {
  const { phone, callbacks } = await installed()
  await phone.remove(objectId)
  expect(phone.device().passes).toEqual([])
  const [, deleted] = await callbacks.received(2)
  expect(deleted).toContain('\\"eventType\\":\\"del\\"')
})

test('a link to an unknown object at Google installs nothing and reports the reason', async () => {
  const reference = saveJwt({ genericObjects: [{ id: objectId, classId: `${issuerId}.template-1` }] })
  const phone = newPhone()
  const link = await startLinks(await startGoogle(), reference)
  await expect(phone.install(link)).rejects.toThrow(`The object ${objectId} does not exist`)
  expect(phone.device().passes).toEqual([])
})

test('rejects a server with the real Google for a virtual phone', async () => {
  const link = await startLinks(null, full)
  await expect(newPhone().install(link)).rejects.toMatchObject({ code: 'NOT_SANDBOXED' })
})
