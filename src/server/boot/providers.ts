import { createPublicKey } from 'node:crypto'
import { join } from 'node:path'
import { takeProcessLock } from '../../storage/db/sqlite/process-lock.ts'
import type { AppleIdentity } from '../../wallets/apple/apple-identity.ts'
import type { ApplePush, ApplePushOptions, RenewablePush } from '../../wallets/apple/push.ts'
import { createGoogleApi } from '../../wallets/google/api/google-api.ts'
import { createCallbackVerifier, createRootKeys } from '../../wallets/google/callbacks.ts'
import type { GoogleSigner } from '../../wallets/google/google-identity.ts'
import { startSandboxApns } from '../../wallets/sandbox/apple/apns-server.ts'
import { createFaults, type Faults, parseFaults } from '../../wallets/sandbox/faults.ts'
import { startSandboxGoogle } from '../../wallets/sandbox/google/google-server.ts'
import {
  type Emulator,
  type SandboxDirectory,
  type SharedEmulator,
  shareEmulator,
} from '../../wallets/sandbox/sharing.ts'
import type { ProviderCall } from '../../wallets/wallet.ts'
import type { Sides } from '../../wallets/wallets.ts'
import { type Config, sandboxFolder } from '../config.ts'
import { createLazyPush, type PushServer } from '../identities/lazy-push.ts'
import type { IdentityConnections } from '../identities/registry.ts'
import { loadSandboxApple, loadSandboxGoogle, sandboxIssuers } from '../identities/sandbox.ts'
import type { Logger } from '../log.ts'
import type { ServerIdentities } from './wallets.ts'

/** The connections to Apple and Google, or to their emulators. */
export interface Providers {
  push?: ApplePush
  /** The push client, if the certificate can be renewed; undefined for a certificate of the sandbox. */
  renewable?: RenewablePush
  google?: Omit<Sides['google'], 'wallet'>
  connections: IdentityConnections
  /** The current addresses of the emulators, for virtual phones; null if no platform is emulated. */
  readonly sandbox: SandboxDirectory | null
  close(): Promise<void>
}

export interface ProvidersOptions {
  config: Config
  identities: ServerIdentities
  /** The address of this process, to which Google's emulator sends callbacks; empty for a worker. */
  url: string
  clock: () => Date
  log: Logger
  onCall?: ((call: ProviderCall) => void) | undefined
}

/**
 * Opens the connections. Each emulator runs in one of the processes that share a sandbox folder, but never in a worker,
 * which cannot receive callbacks of Google's emulator.
 */
export async function startProviders(options: ProvidersOptions): Promise<Providers> {
  const { identities, config, clock, log, onCall } = options
  const faults = createFaults(parseFaults(config.faults))
  const shared: Promise<SharedEmulator<object>>[] = []
  const share: Share = (name, start) => {
    const emulator = shareEmulator({
      folder: sandboxFolder(config),
      name,
      takeLock: takeProcessLock,
      start: options.url === '' ? undefined : start,
      onError: (error) => log.error({ err: error, platform: name }, 'could not start an emulator of the sandbox'),
    })
    shared.push(emulator)
    return emulator
  }
  const emulators: Emulators = {
    apple: once(() => startAppleEmulator(options, faults, share)),
    google: once(() => startGoogleEmulator(options, faults, share)),
  }
  const { sandboxed, apple: ofApple, google: ofGoogle } = identities
  const [apple, google] = await Promise.all([
    sandboxed.includes('apple') ? emulators.apple() : undefined,
    sandboxed.includes('google') ? emulators.google() : undefined,
  ])
  const push =
    ofApple &&
    (apple ? createLazyPush(ofApple, apple.find, pushOpener(onCall)) : await openPush({ identity: ofApple, onCall }))
  return {
    ...(push && { push }),
    ...(push && !apple && { renewable: push }),
    ...(ofGoogle && { google: openGoogle(ofGoogle, google, { clock, onCall }) }),
    connections: connect(emulators, options),
    get sandbox() {
      const [atApple, atGoogle] = [apple?.sandbox() ?? null, google?.sandbox() ?? null]
      return sandboxed.length > 0 ? { apple: atApple, google: atGoogle } : null
    },
    async close() {
      await push?.close()
      for (const emulator of await Promise.allSettled(shared)) {
        if (emulator.status === 'fulfilled') await emulator.value.close()
      }
    },
  }
}

function connect(emulators: Emulators, { clock, onCall }: ProvidersOptions): IdentityConnections {
  const counted = (name: string) => onCall && ((call: ProviderCall) => onCall({ ...call, identity: name }))
  return {
    openPush({ name, isSandbox, identity }) {
      return createLazyPush(
        identity,
        // If the emulator cannot start, each push fails with the error of the emulator.
        async () => (isSandbox ? (await emulators.apple()).find() : 'apple'),
        pushOpener(counted(name)),
      )
    },
    async openGoogle({ name, isSandbox, signer }) {
      return openGoogle(signer, isSandbox ? await emulators.google() : undefined, { clock, onCall: counted(name) })
    },
  }
}

interface Emulators {
  apple: () => ReturnType<typeof startAppleEmulator>
  google: () => ReturnType<typeof startGoogleEmulator>
}

function once<T>(start: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | undefined
  return () => {
    started ??= start()
    return started
  }
}

async function startAppleEmulator({ config, clock }: ProvidersOptions, faults: Faults, share: Share) {
  const { rootPem, wwdrPem, serverCertificatePem, serverKeyPem } = await loadSandboxApple(config, clock())
  const emulator = await share('apple', async () => {
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
  return {
    find() {
      const found = emulator.find()
      return found && { address: found.address, port: found.port, ca: rootPem }
    },
    sandbox() {
      const found = emulator.find()
      return found ? { control: found.control, rootPem } : null
    },
  }
}

function pushOpener(onCall: ProvidersOptions['onCall']) {
  return (server: PushServer, identity: AppleIdentity) =>
    openPush({ identity, onCall, ...(server !== 'apple' && { server }) })
}

async function startGoogleEmulator({ config, url, clock }: ProvidersOptions, faults: Faults, share: Share) {
  const { issuerId, clientEmail, privateKey } = await loadSandboxGoogle(config)
  const emulator = await share('google', async () => {
    const { close, ...addresses } = await startSandboxGoogle({
      clientEmail,
      publicKey: createPublicKey(privateKey),
      issuerId,
      others: () => sandboxIssuers(config),
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
    endpoints,
    rootKeys,
    sandbox() {
      const found = emulator.find()
      return found ? { url: found.url } : null
    },
  }
}

function openGoogle(
  identity: GoogleSigner,
  emulator: Pick<Awaited<ReturnType<typeof startGoogleEmulator>>, 'endpoints' | 'rootKeys'> | undefined,
  { clock, onCall }: Pick<ProvidersOptions, 'clock' | 'onCall'>,
) {
  const rootKeys = emulator?.rootKeys ?? createRootKeys({ clock })
  return {
    api: createGoogleApi({ identity, ...(emulator && { endpoints: emulator.endpoints }), onCall }),
    callbacks: createCallbackVerifier(identity.issuerId, rootKeys),
  }
}

/**
 * The address of a platform while no process emulates the platform. Nothing listens at this address, so that calls fail
 * as if the platform were down.
 */
const NOWHERE = 'http://127.0.0.1:9'

type Share = <Addresses extends object>(
  name: string,
  start: () => Promise<Emulator<Addresses>>,
) => Promise<SharedEmulator<Addresses>>

/** Imports the APNs client on demand, because loading it takes a tenth of the start of a server. */
async function openPush(options: ApplePushOptions): Promise<RenewablePush> {
  const { createApplePush } = await import('../../wallets/apple/push.ts')
  return createApplePush(options)
}
