import { createPublicKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ApplePush, createApplePush } from '../wallets/apple/push.ts'
import { createGoogleApi, type GoogleApi } from '../wallets/google/api.ts'
import { createRootKeys } from '../wallets/google/callback-keys.ts'
import { type CallbackVerifier, createCallbackVerifier } from '../wallets/google/callback-verifier.ts'
import { startSandboxApns } from '../wallets/sandbox/apns-server.ts'
import type { SandboxDirectory } from '../wallets/sandbox/directory.ts'
import { createFaults, type Faults, parseFaults } from '../wallets/sandbox/faults.ts'
import { startSandboxGoogle } from '../wallets/sandbox/google-server.ts'
import { type Config, sandboxFolder } from './config.ts'
import type { Identities } from './wallets.ts'

/** The connections to Apple and Google, or to their local stand-ins: only addresses, keys and trust roots differ. */
export interface Providers {
  push?: ApplePush
  googleApi?: GoogleApi
  callbacks?: CallbackVerifier
  /** Where virtual phones find the stand-ins; null where every platform is real. */
  sandbox: SandboxDirectory | null
  close(): Promise<void>
}

export interface ProvidersOptions {
  config: Config
  identities: Identities
  /** Where this process listens, for callbacks of the stand-in. */
  url: string
  clock: () => Date
}

export async function startProviders(options: ProvidersOptions): Promise<Providers> {
  const { identities } = options
  const faults = createFaults(parseFaults(options.config.faults))
  const apple = identities.apple && (await startApple(options, faults))
  const google = identities.google && (await startGoogle(options, faults))
  const isSandboxed = identities.sandboxed.length > 0
  return {
    ...(apple && { push: apple.push }),
    ...(google && { googleApi: google.api, callbacks: google.callbacks }),
    sandbox: isSandboxed ? { apple: apple?.sandbox ?? null, google: google?.sandbox ?? null } : null,
    async close() {
      await apple?.close()
      await google?.close()
    },
  }
}

async function startApple({ config, identities, clock }: ProvidersOptions, faults: Faults) {
  const identity = identities.apple!
  if (!identities.sandboxed.includes('apple')) {
    const push = createApplePush({ identity })
    return { push, sandbox: null, close: () => push.close() }
  }
  const folder = join(sandboxFolder(config), 'apple')
  const read = (name: string) => readFile(join(folder, name), 'utf8')
  const rootPem = await read('root.pem')
  const apns = await startSandboxApns({
    serverCertificate: await read('apns.pem'),
    serverKey: await read('apns.key'),
    clientRoot: rootPem + (await read('wwdr.pem')),
    faults,
    stateFile: join(sandboxFolder(config), 'device-tokens'),
    clock,
  })
  const push = createApplePush({ identity, server: { address: apns.address, port: apns.port, ca: rootPem } })
  return {
    push,
    sandbox: { control: apns.control, rootPem },
    async close() {
      await push.close()
      await apns.close()
    },
  }
}

async function startGoogle({ config, identities, url, clock }: ProvidersOptions, faults: Faults) {
  const identity = identities.google!
  const { issuerId, clientEmail } = identity
  if (!identities.sandboxed.includes('google')) {
    const callbacks = createCallbackVerifier(issuerId, createRootKeys({ clock }))
    return { api: createGoogleApi({ identity }), callbacks, sandbox: null, close: async () => undefined }
  }
  const stand = await startSandboxGoogle({
    clientEmail,
    publicKey: createPublicKey(identity.privateKey),
    issuerId,
    callbackUrl: `${url}/google/callbacks`,
    faults,
    stateFile: join(sandboxFolder(config), 'google-wallet'),
    clock,
  })
  return {
    api: createGoogleApi({ identity, endpoints: { api: stand.apiUrl, token: stand.tokenUrl } }),
    callbacks: createCallbackVerifier(issuerId, createRootKeys({ url: stand.keysUrl, clock })),
    sandbox: { url: stand.url },
    close: () => stand.close(),
  }
}
