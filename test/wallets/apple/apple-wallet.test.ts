import { createHash, randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { beforeAll, expect, test } from 'vitest'
import { PassType } from '../../../src/core/contract/schemas/definition.ts'
import { ApiError } from '../../../src/core/errors.ts'
import { ImageFault } from '../../../src/core/rules/template/image.ts'
import { makeFiles } from '../../../src/server/images/make-files.ts'
import { createAppleWallet } from '../../../src/wallets/apple/apple-wallet.ts'
import type { LoadImageFiles, WalletPass } from '../../../src/wallets/wallet.ts'
import {
  at,
  buildPackage,
  createTestIdentity,
  flipped,
  picture,
  type TestIdentity,
  testPass,
  unpack,
  verifySignature,
  webServiceUrl,
} from './fixtures.ts'

const logoId = '01982f3e-0000-8000-8000-00000000000a'
const brokenId = '01982f3e-0000-8000-8000-00000000000b'
const missingId = '01982f3e-0000-8000-8000-00000000000c'

let chain: TestIdentity
let images: Map<string, Buffer>
beforeAll(async () => {
  chain = await createTestIdentity()
  images = new Map([
    [logoId, await picture(320, 100, 'jpeg')],
    [brokenId, Buffer.from('no picture')],
  ])
})

const loadImageFiles: LoadImageFiles = async (id, sizes) => {
  const bytes = images.get(id)
  if (!bytes) throw new ApiError('NOT_FOUND')
  if (id === brokenId) throw new ImageFault('is neither PNG nor JPEG')
  return (await makeFiles(bytes, sizes)).files
}

const createWallet = () => createAppleWallet({ identity: chain.identity, webServiceUrl, loadImageFiles })
const withLogo = (id: string, apple = {}) => testPass({ definition: { design: { images: { logo: id } }, apple } })

/** Runs the checks that a phone makes before it shows a package. */
async function assertAccepted(folder: string): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as Record<string, string>
  const signed = readdirSync(folder).filter((name) => name !== 'manifest.json' && name !== 'signature')
  expect(Object.keys(manifest).toSorted()).toEqual(signed.toSorted())
  for (const name of signed) {
    const digest = createHash('sha1')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
    expect(manifest[name], name).toBe(digest)
  }
  await verifySignature(folder, chain.rootPem)
}

test.each(PassType.options)('unzip, the manifest, and openssl accept the package of a %s', async (passType) => {
  const pass = testPass({ passType, definition: { design: { images: { logo: logoId } } } })
  const wallet = createWallet()
  const folder = await unpack(await buildPackage(wallet, pass, at))
  await assertAccepted(folder)
  expect(readdirSync(folder).toSorted()).toEqual([
    'icon.png',
    'icon@2x.png',
    'icon@3x.png',
    'logo.png',
    'logo@2x.png',
    'manifest.json',
    'pass.json',
    'signature',
  ])
  expect(JSON.parse(readFileSync(join(folder, 'pass.json'), 'utf8'))).toEqual(
    JSON.parse(JSON.stringify(wallet.passJson(pass))),
  )
})

test('detects one changed byte in any file of a package', async () => {
  const folder = await unpack(await buildPackage(createWallet(), withLogo(logoId), at))
  for (const name of readdirSync(folder)) {
    const path = join(folder, name)
    const bytes = readFileSync(path)
    for (const position of [0, bytes.length >> 1, bytes.length - 1]) {
      writeFileSync(path, flipped(bytes, position))
      await expect(assertAccepted(folder), `${name} at ${position}`).rejects.toThrow()
    }
    writeFileSync(path, bytes)
  }
  await assertAccepted(folder)
})

test('equal passes have equal packages, and a later signing time changes the package', async () => {
  const pass = withLogo(logoId)
  const first = await buildPackage(createWallet(), pass, at)
  expect((await buildPackage(createWallet(), pass, at)).equals(first)).toBe(true)
  expect((await buildPackage(createWallet(), pass, new Date(at.getTime() + 1000))).equals(first)).toBe(false)
})

test('sixty packages built concurrently each contain their own pass', async () => {
  const wallet = createWallet()
  const passes = Array.from({ length: 60 }, (_, n) => ({ ...withLogo(logoId), id: `pass-${n}` }))
  const archives = await Promise.all(passes.map((pass) => buildPackage(wallet, pass, at)))
  for (const n of [0, 31, 59]) {
    const folder = await unpack(archives[n]!)
    await assertAccepted(folder)
    expect(JSON.parse(readFileSync(join(folder, 'pass.json'), 'utf8')).serialNumber).toBe(`pass-${n}`)
  }
  expect(new Set(archives.map((archive) => archive.toString('base64'))).size).toBe(60)
})

test('writes non-ASCII text unchanged', async () => {
  const pass = testPass({ definition: { design: { description: 'Grüße 👋 שלום' } } })
  const folder = await unpack(await buildPackage(createWallet(), pass, at))
  expect(JSON.parse(readFileSync(join(folder, 'pass.json'), 'utf8')).description).toBe('Grüße 👋 שלום')
})

test('shrinks an image of many megapixels to the size that phones show', async () => {
  const raw = { width: 2400, height: 1600, channels: 3 as const }
  images.set(
    logoId,
    await sharp(randomBytes(2400 * 1600 * 3), { raw })
      .png({ compressionLevel: 0 })
      .toBuffer(),
  )
  const archive = await buildPackage(createWallet(), withLogo(logoId), at)
  expect(archive.length).toBeLessThan(300_000)
})

async function rejection(pass: WalletPass, moment = at): Promise<ApiError> {
  const error = await createWallet()
    .check(pass, moment)
    .then(
      () => undefined,
      (reason: unknown) => reason,
    )
  expect(error).toBeInstanceOf(ApiError)
  return error as ApiError
}

test('rejects images that are too large together, regardless of their languages', async () => {
  const original = withLogo(logoId)
  const pass = {
    ...original,
    card: { ...original.card, language: 'en' },
    translations: ['de', 'ja', 'ar'].map((language) => {
      const id = `logo in ${language}`
      images.set(id, images.get(logoId)!)
      return { ...original.card, language, images: { logo: id } }
    }),
  }
  const walletOf = (maxImageBytes: number) =>
    createAppleWallet({ identity: chain.identity, webServiceUrl, loadImageFiles, maxImageBytes })
  const { length } = await buildPackage(walletOf(Number.POSITIVE_INFINITY), pass, at)
  await expect(walletOf(length).check(pass, at)).resolves.toBeUndefined()
  const message = expect.stringContaining('exceed 20 MiB')
  await expect(walletOf(length / 2).check(pass, at)).rejects.toMatchObject({ code: 'PASS_ISSUING_FAILED', message })
})

test('check accepts a valid pass', async () => {
  await expect(createWallet().check(withLogo(logoId), at)).resolves.toBeUndefined()
})

test('check rejects an image that cannot be read, and names it', async () => {
  const problem = await rejection(withLogo(brokenId))
  expect(problem).toMatchObject({ code: 'PASS_ISSUING_FAILED', details: { imageId: brokenId, role: 'logo' } })
  expect(problem.message).toContain(`The image ${brokenId} (logo) cannot be read`)
  expect(await rejection(withLogo(missingId))).toMatchObject({ code: 'NOT_FOUND' })
})

test.each([
  ['maxDistance', { maxDistance: 'far' }],
  ['userInfo', { userInfo: 'text' }],
  ['generic.backFields.0.value', { generic: { backFields: [{ key: 'a', value: {} }] } }],
  [
    'Two fields have the key "a"',
    {
      generic: {
        backFields: [
          { key: 'a', value: 1 },
          { key: 'a', value: 2 },
        ],
      },
    },
  ],
  ['organizationName', { organizationName: null }],
])('check rejects overrides that phones would reject silently: %s', async (where, apple) => {
  const problem = await rejection(withLogo(logoId, apple))
  expect(problem.code).toBe('PASS_ISSUING_FAILED')
  expect(problem.message).toMatch(/^Phones would reject pass\.json: /)
  expect(problem.message).toContain(where)
})

test('an expired certificate signs no pass, and check rejects every pass', async () => {
  const later = new Date('2040-01-01T00:00:00Z')
  expect(await rejection(withLogo(logoId), later)).toMatchObject({ code: 'APPLE_SIGNING_FAILED' })
  await expect(buildPackage(createWallet(), withLogo(logoId), later)).rejects.toMatchObject({
    code: 'APPLE_SIGNING_FAILED',
  })
})
