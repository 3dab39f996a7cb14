import { createPublicKey } from 'node:crypto'
import { join } from 'node:path'
import type { ApplePush, ApplePushOptions, RenewablePush } from '../../wallets/apple/push.ts'
import { createGoogleApi, type GoogleApi } from '../../wallets/google/api/api.ts'
import { type CallbackVerifier, createCallbackVerifier, createRootKeys } from '../../wallets/google/callbacks.ts'
import { startSandboxApns } from '../../wallets/sandbox/apple/apns-server.ts'
import { createFaults, type Faults, parseFaults } from '../../wallets/sandbox/faults.ts'
import { startSandboxGoogle } from '../../wallets/sandbox/google/google-server.ts'
import { type Emulator, type SandboxDirectory, shareEmulator } from '../../wallets/sandbox/sharing.ts'
import type { ProviderCall } from '../../wallets/wallet.ts'
import { type Config, sandboxFolder } from './config.ts'
import type { Logger } from './log.ts'
import { loadSandboxApple, loadSandboxGoogle } from './sandbox.ts'
import type { Identities } from './wallets.ts'

/** The connections to Apple and Google, or to their local emulators: only addresses, keys and trust roots differ. */
export interface Providers {
  push?: ApplePush
  /** The same push, where its certificate is a real one, which ends and is renewed. */
  renewable?: RenewablePush
  googleApi?: GoogleApi
  callbacks?: CallbackVerifier
  /** Where virtual phones find the emulators at this moment; null where every platform is real. */
  readonly sandbox: SandboxDirectory | null
  close(): Promise<void>
}

/** What the connections to Apple and Google are opened with. */
export interface ProvidersOptions {
  config: Config
  identities: Identities
  /** Where this process listens, for callbacks of the emulator; empty for one that only works. */
  url: string
  clock: () => Date
  log: Logger
  onCall?: ((call: ProviderCall) => void) | undefined
}

/**
 * Of processes that share a sandbox folder one emulates each platform, and another takes over when it ends. One that only
 * works never does: the emulator for Google could not call it back.
 */
export async function startProviders(options: ProvidersOptions): Promise<Providers> {
  const { identities, config } = options
  const faults = createFaults(parseFaults(config.faults))
  const apple = identities.apple && (await startApple(options, faults))
  const google = identities.google && (await startGoogle(options, faults))
  const isSandboxed = identities.sandboxed.length > 0
  return {
    ...(apple && { push: apple.push }),
    ...(apple?.renewable && { renewable: apple.renewable }),
    ...(google && { googleApi: google.api, callbacks: google.callbacks }),
    get sandbox() {
      return isSandboxed ? { apple: apple?.sandbox() ?? null, google: google?.sandbox() ?? null } : null
    },
    async close() {
      await apple?.close()
      await google?.close()
    },
  }
}

async function startApple(options: ProvidersOptions, faults: Faults) {
  const { config, identities, clock, onCall } = options
  const identity = identities.apple!
  if (!identities.sandboxed.includes('apple')) {
    const push = await openPush({ identity, onCall })
    return { push, renewable: push, sandbox: () => null, close: () => push.close() }
  }
  const { rootPem, wwdrPem, serverCertificatePem, serverKeyPem } = await loadSandboxApple(config, clock())
  const emulator = await share(options, 'apple', async () => {
    const { close, address, port, control } = await startSandboxApns({
      serverCertificate: serverCertificatePem,
      serverKey: serverKeyPem,
      clientRoot: rootPem + wwdrPem,
      faults,
      stateFile: join(sandboxFolder(config), 'device-tokens'),
      clock,
    })
    return { addresses: { address, port, control }, close }
  })
  const push = createMovingPush(emulator.find, (server) =>
    openPush({ identity, server: { ...server, ca: rootPem }, onCall }),
  )
  return {
    push,
    sandbox() {
      const found = emulator.find()
      return found ? { control: found.control, rootPem } : null
    },
    async close() {
      await push.close()
      await emulator.close()
    },
  }
}

async function startGoogle(options: ProvidersOptions, faults: Faults) {
  const { config, identities, url, clock, onCall } = options
  const identity = identities.google!
  const { issuerId, clientEmail } = identity
  if (!identities.sandboxed.includes('google')) {
    const callbacks = createCallbackVerifier(issuerId, createRootKeys({ clock }))
    return { api: createGoogleApi({ identity, onCall }), callbacks, sandbox: () => null, close: async () => undefined }
  }
  const emulator = await share(options, 'google', async () => {
    const { close, ...addresses } = await startSandboxGoogle({
      clientEmail,
      publicKey: createPublicKey((await loadSandboxGoogle(config)).privateKey),
      issuerId,
      callbackUrl: `${url}/google/callbacks`,
      faults,
      stateFile: join(sandboxFolder(config), 'google-wallet'),
      clock,
    })
    return { addresses, close }
  })
  const endpoints = {
    get api() {
      return emulator.find()?.apiUrl ?? NOWHERE
    },
    get token() {
      return emulator.find()?.tokenUrl ?? NOWHERE
    },
  }
  const rootKeys = createRootKeys({
    get url() {
      return emulator.find()?.keysUrl ?? NOWHERE
    },
    clock,
  })
  return {
    api: createGoogleApi({ identity, endpoints, onCall }),
    callbacks: createCallbackVerifier(issuerId, rootKeys),
    sandbox() {
      const found = emulator.find()
      return found ? { url: found.url } : null
    },
    close: () => emulator.close(),
  }
}

/** Asked while nobody emulates a platform: nobody listens there, as when the real one is down. */
const NOWHERE = 'http://127.0.0.1:9'

function share<Addresses extends object>(
  { config, url, log }: ProvidersOptions,
  name: string,
  start: () => Promise<Emulator<Addresses>>,
) {
  return shareEmulator({
    folder: sandboxFolder(config),
    name,
    start: url === '' ? undefined : start,
    onError: (error) => log.error({ err: error, platform: name }, 'could not take over an emulator of the sandbox'),
  })
}

type PushServer = Pick<Awaited<ReturnType<typeof startSandboxApns>>, 'address' | 'port'>

/** Loads the client of APNs, which is a tenth of the start of a server, where there is something to push to. */
async function openPush(options: ApplePushOptions): Promise<RenewablePush> {
  const { createApplePush } = await import('../../wallets/apple/push.ts')
  return createApplePush(options)
}

/** Pushes to wherever APNs is at the moment. */
function createMovingPush(
  find: () => PushServer | undefined,
  open: (server: PushServer) => Promise<ApplePush>,
): ApplePush {
  let latest: { port: number; push: Promise<ApplePush> } | undefined
  return {
    async send(pushTokens) {
      const server = find()
      if (!server) {
        return pushTokens.map((pushToken) => ({ pushToken, outcome: 'failed', reason: 'No APNs emulator is running.' }))
      }
      if (latest?.port !== server.port) {
        const former = latest
        latest = { port: server.port, push: open(server) }
        await (await former?.push)?.close()
      }
      return (await latest.push).send(pushTokens)
    },
    close: async () => (await latest?.push)?.close(),
  }
}
