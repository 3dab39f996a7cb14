import { verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { placeOf } from '../../../src/wallets/google/resource.ts'
import { createGoogleWallet } from '../../../src/wallets/google/wallet.ts'
import { allKinds, at, googleOf, identity, pass, publicKey, publicUrl } from './samples.ts'

const wallet = createGoogleWallet({ identity, publicUrl })
const PREFIX = 'https://pay.google.com/gp/v/save/'

function decode(url: string) {
  expect(url.startsWith(PREFIX)).toBe(true)
  const [header, claims, signature] = url.slice(PREFIX.length).split('.') as [string, string, string]
  const parse = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  const genuine = verify('sha256', Buffer.from(`${header}.${claims}`), publicKey, Buffer.from(signature, 'base64url'))
  return { header: parse(header), claims: parse(claims), genuine }
}

test('a save link is signed with the key of the service account, and says so', async () => {
  const { header, claims, genuine } = decode(await wallet.saveUrl([placeOf(pass())], at))
  expect(genuine).toBe(true)
  expect(header).toEqual({ alg: 'RS256', typ: 'JWT', kid: identity.privateKeyId })
  expect(claims).toEqual({
    iss: identity.clientEmail,
    aud: 'google',
    typ: 'savetowallet',
    iat: 1772366400,
    origins: [],
    payload: {
      genericObjects: [
        {
          id: `${identity.issuerId}.018f2f5e-7c1a-7000-bfff-ba9876543210-generic`,
          classId: `${identity.issuerId}.template-018f2f5e-7c1a-7000-8000-0123456789ab-v2-generic`,
        },
      ],
    },
  })
})

test.each(allKinds)('a link that names an object of the kind %s fits into 1,800 characters', async (kind) => {
  const url = await wallet.saveUrl([placeOf(pass({ google: googleOf(kind) }))], at)
  expect(url.length).toBeLessThan(1800)
})

test('a changed claim breaks the signature', async () => {
  const url = await wallet.saveUrl([placeOf(pass())], at)
  const [header, claims, signature] = url.slice(PREFIX.length).split('.') as [string, string, string]
  const forged = Buffer.from(Buffer.from(claims, 'base64url').toString().replace('018f', '118f')).toString('base64url')
  expect(decode(`${PREFIX}${header}.${forged}.${signature}`).genuine).toBe(false)
})

test('a key that cannot sign is GOOGLE_JWT_FAILED', async () => {
  const broken = createGoogleWallet({ identity: { ...identity, privateKey: publicKey }, publicUrl })
  await expect(broken.saveUrl([placeOf(pass())], at)).rejects.toMatchObject({
    name: 'Problem',
    code: 'GOOGLE_JWT_FAILED',
  })
})

test.each([
  ['of one class', '', 4],
  ['of classes that are shared', `-${'0'.repeat(32)}`, 3],
])('a link that saves several passes %s holds as many as its length allows', async (_, digest, count) => {
  const kinds = ['eventTicket', 'transit', 'loyalty', 'generic', 'eventTicket'] as const
  const places = kinds.map((kind) => {
    const place = placeOf(pass({ google: googleOf(kind) }))
    return { ...place, classSuffix: `${place.classSuffix}${digest}` }
  })
  expect(wallet.countFitting(places)).toBe(count)
  const url = await wallet.saveUrl(places.slice(0, count), at)
  expect(url.length).toBeLessThanOrEqual(1_800)
  const { claims, genuine } = decode(url)
  expect([genuine, Object.values(claims.payload).flat().length]).toEqual([true, count])
  expect((await wallet.saveUrl(places.slice(0, count + 1), at)).length).toBeGreaterThan(1_800)
})
