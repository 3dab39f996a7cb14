import { describe, expect, test } from 'vitest'
import type { PassType } from '../../../src/core/contract/schemas/definition.ts'
import { checkFields } from '../../../src/wallets/google/check-fields.ts'
import { typeOf } from '../../../src/wallets/google/fields.ts'
import { createGoogleWallet } from '../../../src/wallets/google/google-wallet.ts'
import { checkResource } from '../../../src/wallets/sandbox/google/google-store.ts'
import { fullOverrides, fullRecord, mistakesIn, withMistake } from './field-samples.ts'
import { allKinds, at, googleOf, identity, pass, publicUrl } from './samples.ts'

const wallet = createGoogleWallet({ identity, publicUrl })
const styles: PassType[] = ['generic', 'eventTicket', 'storeCard', 'coupon', 'boardingPass']
const roles = ['Class', 'Object'] as const

describe.each(allKinds)('of the kind %s', (kind) => {
  test.each(roles)('accepts a valid %s with every field, and rejects each mistake with its path', (role) => {
    const type = typeOf(kind, role)
    const issuesOf = (resource: object) => [...checkFields(type, resource, { needsLogos: true })]
    expect(issuesOf(fullRecord(type))).toEqual([])
    const mistakes = [...mistakesIn(type)]
    const missed = mistakes.filter((mistake) => {
      const issues = issuesOf(withMistake(type, mistake))
      return !issues.some(({ path }) => path.slice(0, mistake.path.length).join() === mistake.path.join())
    })
    expect(missed).toEqual([])
    expect(mistakes.length).toBeGreaterThan(100)
  })

  test.each(roles)('the emulator accepts the same %s and rejects the same mistakes', (role) => {
    const type = typeOf(kind, role)
    // A server that receives callbacks also serves images, so logos are required.
    const callbackOptions = { url: `${publicUrl}/google/callbacks` }
    const answer = (body: object) =>
      checkResource(kind, role, role === 'Class' ? { callbackOptions, ...body } : body, '3388')
    expect(answer(fullRecord(type))).toMatchObject({ ok: true })
    expect([...mistakesIn(type)].filter((mistake) => answer(withMistake(type, mistake)).ok)).toEqual([])
  })

  test.each(styles)('accepts a %s without overrides and with every field overridden', async (passType) => {
    for (const google of [googleOf(kind), fullOverrides(kind, typeOf)]) {
      await expect(wallet.check(pass({ passType, google }), at)).resolves.toBeUndefined()
    }
  })

  test.each(styles)('rejects a %s with mistakes in its overrides, with their paths', async (passType) => {
    const { object, ...rest } = fullOverrides(kind, typeOf)
    const google = { ...rest, object: { ...object, barcode: { type: 'QR', value: 'x' }, extra: 1 } }
    await expect(wallet.check(pass({ passType, google }), at)).rejects.toMatchObject({
      details: { issues: [{ path: ['object', 'barcode', 'type'] }, { path: ['object', 'extra'] }] },
    })
  })
})

test.each([
  ['storeCard', 'programLogo'],
  ['boardingPass', 'logo'],
] as const)('a %s requires a logo or icon under https, and none under http', async (passType, field) => {
  const bare = pass({ passType, design: { images: {} } })
  await expect(wallet.check(bare, at)).rejects.toMatchObject({
    details: { issues: [{ path: ['class', field], message: expect.stringContaining('an icon or a logo') }] },
  })
  const icon = '00000000-0000-8000-8000-000000000003'
  await expect(wallet.check(pass({ passType, design: { images: { icon } } }), at)).resolves.toBeUndefined()
  const local = createGoogleWallet({ identity, publicUrl: 'http://127.0.0.1:3000' })
  await expect(local.check(bare, at)).resolves.toBeUndefined()
})

test('suggests the name of a field in another case', () => {
  const [issue] = checkFields(typeOf('loyalty', 'Class'), { programname: 'x' }, { needsLogos: false })
  expect(issue).toEqual({
    path: ['programname'],
    message: "Unknown field: Google's LoyaltyClass has no such field; did you mean programName?",
  })
})
