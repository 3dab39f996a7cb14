import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { exists, makePrivateFolder, replacePrivateSync, writePrivate } from '../../files/private-file.ts'
import { type AppleIdentity, parseAppleIdentity } from '../../wallets/apple/apple-identity.ts'
import { type GoogleIdentity, parseGoogleIdentity } from '../../wallets/google/google-identity.ts'
import { createSandboxGoogle, type ServiceAccount } from '../../wallets/sandbox/google/google-token.ts'
import { CredentialError } from '../../wallets/wallet.ts'
import { type Config, sandboxFolder } from '../config.ts'

/** The first start creates the credentials of the sandbox in `sandboxFolder`. Only the owner can read these files. */

/** The pass type of the sandbox. No real phone holds a pass of this type. */
export const SANDBOX_PASS_TYPE = 'pass.test.passes.sandbox'

const APPLE = { passTypeIdentifier: SANDBOX_PASS_TYPE, teamIdentifier: 'SANDBOX001' }

export interface AppleSandbox {
  identity: AppleIdentity
  rootPem: string
  wwdrPem: string
  serverCertificatePem: string
  serverKeyPem: string
  /** The key that signs additional pass certificates; undefined if an older version created the sandbox. */
  wwdrKeyPem: string | undefined
}

/** Returns the Apple certificates of the sandbox. Creates them if they are missing, damaged, or expired. */
export function loadSandboxApple(config: Config, at: Date): Promise<AppleSandbox> {
  return loadOrCreate(
    join(sandboxFolder(config), 'apple'),
    async () => {
      // Only the first start needs this module.
      const { createSandboxApple } = await import('../../wallets/sandbox/apple/certificates.ts')
      const made = await createSandboxApple({ ...APPLE, at })
      return {
        'root.pem': made.rootPem,
        'wwdr.pem': made.wwdrPem,
        'wwdr.key': made.wwdrKeyPem,
        'pass.pem': made.certificatePem,
        'pass.key': made.keyPem,
        'apns.pem': made.serverCertificatePem,
        'apns.key': made.serverKeyPem,
      }
    },
    async (folder) => {
      const read = async (name: string) => ({ source: join(folder, name), pem: await readFile(join(folder, name)) })
      const identity = parseAppleIdentity(
        { certificate: await read('pass.pem'), key: await read('pass.key'), wwdr: await read('wwdr.pem'), ...APPLE },
        at,
      )
      const text = async (name: string) => (await read(name)).pem.toString()
      const sandbox = {
        identity,
        rootPem: await text('root.pem'),
        wwdrPem: await text('wwdr.pem'),
        serverCertificatePem: await text('apns.pem'),
        serverKeyPem: await text('apns.key'),
        wwdrKeyPem: await text('wwdr.key').catch(() => undefined),
      }
      if (!isChainSound(sandbox, at)) {
        throw new CredentialError(
          `The certificates in ${folder} are not valid. Move the folder, so that a new sandbox is created.`,
        )
      }
      return sandbox
    },
  )
}

export function loadSandboxGoogle(config: Config): Promise<GoogleIdentity> {
  return loadOrCreate(
    join(sandboxFolder(config), 'google'),
    async () => {
      const made = await createSandboxGoogle()
      return { 'service-account.json': made.serviceAccountJson, 'issuer-id': made.issuerId }
    },
    async (folder) => {
      const source = join(folder, 'service-account.json')
      const issuerId = await readFile(join(folder, 'issuer-id'), 'utf8')
      return parseGoogleIdentity({ source, json: await readFile(source, 'utf8') }, issuerId.trim())
    },
  )
}

/** Creates another pass certificate, which the emulator and virtual phones trust. @throws CredentialError */
export async function makeSandboxPass(
  config: Config,
  subject: Pick<AppleIdentity, 'passTypeIdentifier' | 'teamIdentifier'>,
  at: Date,
): Promise<{ certificate: string; key: string; wwdr: string }> {
  const { wwdrPem, wwdrKeyPem } = await loadSandboxApple(config, at)
  if (wwdrKeyPem === undefined) {
    const folder = join(sandboxFolder(config), 'apple')
    throw new CredentialError(
      `The sandbox in ${folder} was created by an older version and cannot sign another certificate. Move the folder, so that a new sandbox is created.`,
    )
  }
  const { createSandboxPass } = await import('../../wallets/sandbox/apple/certificates.ts')
  const made = await createSandboxPass({ ...subject, at, wwdrKeyPem })
  return { certificate: made.certificatePem, key: made.keyPem, wwdr: wwdrPem }
}

/** The folder with the keys of additional issuers, one file per key. The Google emulator accepts these keys. */
const issuersFolder = (config: Pick<Config, 'databaseUrl' | 'sandboxFolder'>) =>
  join(sandboxFolder(config), 'google-issuers')

/**
 * Creates a key for the service account of an additional issuer, and returns its key file. The Google emulator accepts
 * the new key immediately, and still accepts previous keys of the issuer, as Google does.
 */
export async function makeSandboxIssuer(config: Config, issuerId: string): Promise<string> {
  const { serviceAccountJson } = await createSandboxGoogle(`sandbox-${issuerId}`)
  const { client_email: clientEmail, private_key: key, private_key_id: keyId } = JSON.parse(serviceAccountJson)
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'pem' })
  const folder = issuersFolder(config)
  makePrivateFolder(folder)
  const file = join(folder, `${issuerId}-${keyId}.json`)
  replacePrivateSync(file, JSON.stringify({ clientEmail, publicKey, issuerId }))
  return serviceAccountJson
}

export function sandboxIssuers(config: Pick<Config, 'databaseUrl' | 'sandboxFolder'>): ServiceAccount[] {
  const folder = issuersFolder(config)
  if (!existsSync(folder)) return []
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .map((name) => {
      const { publicKey, ...account } = JSON.parse(readFileSync(join(folder, name), 'utf8'))
      return { ...account, publicKey: createPublicKey(publicKey) }
    })
}

/** Whether the certificates except the signing identity are valid. The signing identity is checked when it is read. */
function isChainSound({ rootPem, wwdrPem, serverCertificatePem, serverKeyPem }: AppleSandbox, at: Date): boolean {
  try {
    const [root, wwdr, server] = [rootPem, wwdrPem, serverCertificatePem].map((pem) => new X509Certificate(pem))
    return (
      [root!, server!].every(({ validFrom, validTo }) => at >= new Date(validFrom) && at <= new Date(validTo)) &&
      [wwdr!, server!].every((certificate) => certificate.verify(root!.publicKey)) &&
      server!.checkPrivateKey(createPrivateKey(serverKeyPem))
    )
  } catch {
    // A certificate that cannot be read counts as invalid.
    return false
  }
}

/**
 * Reads a folder of credentials, and creates the folder if it does not exist. If a file is missing, damaged, or
 * expired, continues with the next folder (`apple`, `apple-2`, `apple-3`). Creates a folder atomically: if several
 * servers start at the same time, all of them use the folder that was created first.
 */
async function loadOrCreate<T>(
  base: string,
  make: () => Promise<Record<string, string>>,
  read: (folder: string) => Promise<T>,
): Promise<T> {
  for (let number = 1; ; number += 1) {
    const folder = number === 1 ? base : `${base}-${number}`
    const isThere = await exists(folder)
    if (!isThere) await create(folder, make)
    try {
      return await read(folder)
    } catch (error) {
      if (!isThere || !isDamaged(error)) throw error
    }
  }
}

function isDamaged(error: unknown): boolean {
  return error instanceof CredentialError || (error as NodeJS.ErrnoException).code === 'ENOENT'
}

async function create(folder: string, make: () => Promise<Record<string, string>>): Promise<void> {
  makePrivateFolder(dirname(folder))
  const draft = await mkdtemp(`${folder}.draft-`)
  try {
    for (const [name, content] of Object.entries(await make())) {
      await writePrivate(join(draft, name), content)
    }
    await rename(draft, folder)
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    if (!(await exists(folder))) throw error
  }
}
