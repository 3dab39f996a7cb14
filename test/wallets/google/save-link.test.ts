import { verify } from 'node:crypto'
import { expect, test } from 'vitest'
import { createGoogleWallet } from '../../../src/wallets/google/google-wallet.ts'
import { placeOf } from '../../../src/wallets/google/resource.ts'
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

test('a save link names the service account and is signed with its key', async () => {
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

test.each(allKinds)('a save link of a %s object has at most 1,800 characters', async (kind) => {
  const url = await wallet.saveUrl([placeOf(pass({ google: googleOf(kind) }))], at)
  expect(url.length).toBeLessThan(1800)
})

test('a changed claim breaks the signature', async () => {
  const url = await wallet.saveUrl([placeOf(pass())], at)
  const [header, claims, signature] = url.slice(PREFIX.length).split('.') as [string, string, string]
  const forged = Buffer.from(Buffer.from(claims, 'base64url').toString().replace('018f', '118f')).toString('base64url')
  expect(decode(`${PREFIX}${header}.${forged}.${signature}`).genuine).toBe(false)
})

test('reports a key that cannot sign as GOOGLE_JWT_FAILED', async () => {
  const broken = createGoogleWallet({ identity: { ...identity, privateKey: publicKey }, publicUrl })
  await expect(broken.saveUrl([placeOf(pass())], at)).rejects.toMatchObject({
    name: 'ApiError',
    code: 'GOOGLE_JWT_FAILED',
  })
})

const SHORT_ACCOUNT = 'wallet@conference.iam.gserviceaccount.com'
const mixedKinds = ['eventTicket', 'transit', 'loyalty', 'generic', 'eventTicket', 'generic'] as const
const tickets = mixedKinds.map(() => 'eventTicket' as const)

// Google recommends at most 1,800 characters for the signed text, regardless of the part before it.
test.each([
  ['of a class, by an account with a short name', SHORT_ACCOUNT, tickets, undefined, 5, 1_789],
  ['of shared classes, by an account with a short name', SHORT_ACCOUNT, tickets, '0'.repeat(32), 5, 1_682],
  ['of a class, by an account with a long name', identity.clientEmail, tickets, undefined, 4, 1_606],
  ['of shared classes, by an account with a long name', identity.clientEmail, tickets, '0'.repeat(32), 5, 1_728],
  ['of all kinds, by an account with a long name', identity.clientEmail, mixedKinds, undefined, 4, 1_650],
  ['of all kinds and shared classes', identity.clientEmail, mixedKinds, '0'.repeat(32), 5, 1_772],
])(
  'a save link of several passes %s contains as many as its length allows',
  async (_, account, kinds, classDigest, count, length) => {
    const ofAccount = createGoogleWallet({ identity: { ...identity, clientEmail: account }, publicUrl })
    const places = kinds.map((kind) =>
      placeOf({ ...pass({ google: googleOf(kind) }), ...(classDigest && { classDigest }) }),
    )
    expect(ofAccount.countFitting(places)).toBe(count)
    const signed = async (fitting: number) => {
      const url = await ofAccount.saveUrl(places.slice(0, fitting), at)
      return url.slice(PREFIX.length)
    }
    const fitting = await signed(count)
    expect(fitting.length).toBe(length)
    const { claims, genuine } = decode(PREFIX + fitting)
    expect([genuine, Object.values(claims.payload).flat().length]).toEqual([true, count])
    if (count < 5) expect((await signed(count + 1)).length).toBeGreaterThan(1_800)
  },
)
