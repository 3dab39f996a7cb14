import { verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { kindOf, placeOf } from '../../../src/wallets/google/resource.ts'
import { buildSaveJwt, createGoogleWallet } from '../../../src/wallets/google/wallet.ts'
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
  const { header, claims, genuine } = decode(await wallet.saveUrl(placeOf(pass()), at))
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
  const url = await wallet.saveUrl(placeOf(pass({ google: googleOf(kind) })), at)
  expect(url.length).toBeLessThan(1800)
})

test('a changed claim breaks the signature', async () => {
  const url = await wallet.saveUrl(placeOf(pass()), at)
  const [header, claims, signature] = url.slice(PREFIX.length).split('.') as [string, string, string]
  const forged = Buffer.from(Buffer.from(claims, 'base64url').toString().replace('018f', '118f')).toString('base64url')
  expect(decode(`${PREFIX}${header}.${forged}.${signature}`).genuine).toBe(false)
})

test('a key that cannot sign is GOOGLE_JWT_FAILED', async () => {
  const sample = pass()
  const object = { id: 'x', classId: 'y' }
  const broken = { ...identity, privateKey: publicKey }
  await expect(buildSaveJwt(broken, kindOf(sample.card), object, at)).rejects.toMatchObject({
    name: 'Problem',
    code: 'GOOGLE_JWT_FAILED',
  })
})
