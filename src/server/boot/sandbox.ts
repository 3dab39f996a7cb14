import { createPrivateKey, createPublicKey, X509Certificate } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { exists, makePrivateFolder, replacePrivateSync, writePrivate } from '../../files/private-file.ts'
import { type AppleIdentity, parseAppleIdentity } from '../../wallets/apple/identity.ts'
import { type GoogleIdentity, parseGoogleIdentity } from '../../wallets/google/identity.ts'
import type { OtherProvider, OtherProviderOptions } from '../../wallets/sandbox/apple/other-provider.ts'
import { createSandboxGoogle, type ServiceAccount } from '../../wallets/sandbox/google/google-token.ts'
import { CredentialError } from '../../wallets/wallet.ts'
import { type Config, sandboxFolder } from '../config.ts'

/** Sandbox credentials: made on first start, kept beside the database, readable by their owner only. */

/** No real phone holds a pass of this one. */
export const SANDBOX_PASS_TYPE = 'pass.test.passes.sandbox'

const APPLE = { passTypeIdentifier: SANDBOX_PASS_TYPE, teamIdentifier: 'SANDBOX001' }

/** Who signs in the sandbox, and what the emulator for APNs shows and trusts. */
export interface AppleSandbox {
  identity: AppleIdentity
  rootPem: string
  wwdrPem: string
  serverCertificatePem: string
  serverKeyPem: string
  /** What signs further pass certificates; undefined in a sandbox that an older program made. */
  wwdrKeyPem: string | undefined
}

/** The sandbox's certificates for Apple; made on the first start, and again when they are broken or expired. */
export function loadSandboxApple(config: Config, at: Date): Promise<AppleSandbox> {
  return loadOrCreate(
    join(sandboxFolder(config), 'apple'),
    async () => {
      // Loaded on the first start only: nothing else of a server needs what makes certificates.
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
      if (!isChainSound(sandbox, at)) throw new CredentialError(`The certificates in ${folder} are not sound.`)
      return sandbox
    },
  )
}

/** The sandbox's service account for Google; made on the first start, and again when it is broken. */
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

/**
 * A pass certificate more in the sandbox, for an identity of its own: the emulator and virtual phones trust it as they do the
 * first.
 * @throws CredentialError
 */
export async function makeSandboxPass(
  config: Config,
  subject: Pick<AppleIdentity, 'passTypeIdentifier' | 'teamIdentifier'>,
  at: Date,
): Promise<{ certificate: string; key: string; wwdr: string }> {
  const { wwdrPem, wwdrKeyPem } = await loadSandboxApple(config, at)
  if (wwdrKeyPem === undefined) {
    const folder = join(sandboxFolder(config), 'apple')
    throw new CredentialError(
      `An older program made the sandbox, which cannot sign another certificate: move ${folder} away, and a new one is made.`,
    )
  }
  const { createSandboxPass } = await import('../../wallets/sandbox/apple/certificates.ts')
  const made = await createSandboxPass({ ...subject, at, wwdrKeyPem })
  return { certificate: made.certificatePem, key: made.keyPem, wwdr: wwdrPem }
}

/** Starts another provider of passes, whose certificate hangs on the chain of the sandbox in a folder. */
export async function startSandboxProvider(
  sandboxFolder: string,
  options: Omit<OtherProviderOptions, 'wwdrPem' | 'wwdrKeyPem' | 'at'>,
): Promise<OtherProvider> {
  const { startOtherProvider } = await import('../../wallets/sandbox/apple/other-provider.ts')
  const at = new Date()
  const { wwdrPem, wwdrKeyPem } = await loadSandboxApple({ sandboxFolder } as Config, at)
  return startOtherProvider({ ...options, wwdrPem, wwdrKeyPem: wwdrKeyPem!, at })
}

/** The files of what the emulator for Google knows of further issuers, one a key. */
const issuersFolder = (config: Pick<Config, 'databaseUrl' | 'sandboxFolder'>) =>
  join(sandboxFolder(config), 'google-issuers')

/**
 * A key more of the service account of a further issuer, which the emulator for Google takes at once; as at Google, those of before
 * stay good. Returns its key file.
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

/** The accounts of further issuers with each of their keys, read as they are now. */
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

/** Root and push server; who signs was checked when it was read. */
function isChainSound({ rootPem, wwdrPem, serverCertificatePem, serverKeyPem }: AppleSandbox, at: Date): boolean {
  try {
    const [root, wwdr, server] = [rootPem, wwdrPem, serverCertificatePem].map((pem) => new X509Certificate(pem))
    return (
      [root!, server!].every(({ validFrom, validTo }) => at >= new Date(validFrom) && at <= new Date(validTo)) &&
      [wwdr!, server!].every((certificate) => certificate.verify(root!.publicKey)) &&
      server!.checkPrivateKey(createPrivateKey(serverKeyPem))
    )
  } catch {
    // What cannot be read is not sound.
    return false
  }
}

/**
 * Reads the folder, which is made where it is not there. Where something in it is missing, broken or expired the next one
 * stands in its place (`apple`, `apple-2`, `apple-3`): each appears whole or not at all, and of servers that start
 * together the first one's stands.
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
      if (!isThere || !isUnsound(error)) throw error
    }
  }
}

function isUnsound(error: unknown): boolean {
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
