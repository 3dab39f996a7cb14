import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import sharp from 'sharp'
import { onTestFinished } from 'vitest'
import type { DefinitionInput, PassType } from '../../../src/core/contract/schemas/definition.ts'
import { renderCard } from '../../../src/core/rules/display/card.ts'
import { type AppleIdentity, parseAppleIdentity } from '../../../src/wallets/apple/apple-identity.ts'
import type { AppleWallet } from '../../../src/wallets/apple/apple-wallet.ts'
import type { ApplePass } from '../../../src/wallets/apple/pass-json.ts'
import type { SandboxApple } from '../../../src/wallets/sandbox/apple/certificates.ts'
import type { WalletPass } from '../../../src/wallets/wallet.ts'
import { sandboxChain } from '../../support/chains.ts'
import { parseDefinition } from '../../support/definitions.ts'

export const at = new Date('2026-07-01T12:34:56.789Z')
export const passTypeIdentifier = 'pass.com.example.tickets'
export const teamIdentifier = 'A1B2C3D4E5'
export const webServiceUrl = 'https://passes.example.com/apple'

export interface TestIdentity extends SandboxApple {
  identity: AppleIdentity
}

const identities = new Map<number, Promise<TestIdentity>>()

/** Returns the nth identity, which all tests of a day share, because creating its keys takes longer than most tests. */
export function createTestIdentity(nth = 0): Promise<TestIdentity> {
  const known = identities.get(nth) ?? makeTestIdentity(nth)
  identities.set(nth, known)
  return known
}

async function makeTestIdentity(nth: number): Promise<TestIdentity> {
  const chain = await sandboxChain({ passTypeIdentifier, teamIdentifier, at, nth })
  const identity = parseAppleIdentity(
    {
      certificate: { source: 'pass.pem', pem: chain.certificatePem },
      key: { source: 'key.pem', pem: chain.keyPem },
      wwdr: { source: 'wwdr.pem', pem: chain.wwdrPem },
    },
    at,
  )
  return { ...chain, identity }
}

/** Returns a package as it is sent to phones. */
export async function buildPackage(wallet: AppleWallet, pass: ApplePass, at: Date): Promise<Buffer> {
  const unsigned = await wallet.preparePackage(pass, at)
  return unsigned.complete(await wallet.signPackage(unsigned, at))
}

export interface TestPass {
  passType?: PassType
  definition?: Omit<DefinitionInput, 'design'> & { design?: Partial<DefinitionInput['design']> }
  variables?: Record<string, string>
  expiresAt?: Date | null
  voided?: boolean
}

/** Returns a rendered pass of a definition that the schema of the contract has parsed. */
export function testPass({
  passType = 'generic',
  definition,
  variables = {},
  expiresAt = null,
  voided = false,
}: TestPass): WalletPass {
  const scope = new Map(Object.entries({ 'pass.scanCode': 'SCANCODE234567', ...variables }))
  const parsed = parseDefinition({
    ...definition,
    design: { organizationName: 'Example', description: 'A pass', ...definition?.design },
  })
  const card = renderCard({ passType, definition: parsed, scope, expiresAt, voided })
  return {
    id: '01982f3e-0000-7000-8000-000000000001',
    templateId: '01982f3e-0000-7000-8000-000000000002',
    templateVersion: 1,
    authenticationToken: 'token-of-at-least-16-characters',
    card,
    templateCard: card,
  }
}

export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'passes-apple-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Unpacks with unzip, which checks every CRC on the way. */
export async function unpack(archive: Buffer): Promise<string> {
  const folder = temporaryFolder()
  writeFileSync(join(folder, 'pass.pkpass'), archive)
  const options = { cwd: folder, env: { LC_ALL: 'C.UTF-8' } }
  await execa('unzip', ['-q', '-t', 'pass.pkpass'], options)
  await execa('unzip', ['-q', 'pass.pkpass', '-d', 'out'], options)
  return join(folder, 'out')
}

/** Has openssl verify the signature of an unpacked package, as of a time. Rejects if it is invalid. */
/** Verifies the signature of an unpacked package at a time with openssl. Rejects if the signature is invalid. */
export function verifySignature(folder: string, rootPem: string, { options = [] as string[], time = at } = {}) {
  const root = join(temporaryFolder(), 'root.pem')
  writeFileSync(root, rootPem)
  const files = ['-in', 'signature', '-content', 'manifest.json', '-CAfile', root]
  const seconds = String(Math.floor(time.getTime() / 1000))
  return execa(
    'openssl',
    ['cms', '-verify', '-inform', 'DER', '-binary', '-purpose', 'any', ...files, '-attime', seconds, ...options],
    {
      cwd: folder,
    },
  )
}

export function flipped(bytes: Buffer, position: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[position]! ^= 0x01
  return copy
}

export function picture(width: number, height: number, format: 'png' | 'jpeg' = 'png'): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: '#336699' } })
    .toFormat(format)
    .toBuffer()
}
