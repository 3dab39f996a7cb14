import { createPublicKey, type KeyObject } from 'node:crypto'
import { isJsonObject } from '../../../core/json.ts'
import { type Faults, slowDown, switchFaults } from '../faults.ts'
import { createChannels, type LocalCall, type LocalReply, serveLocally } from '../local-server.ts'
import { createCallbacks, KEYS_MAX_AGE_SECONDS } from './google-callbacks.ts'
import { createPhones } from './google-phones.ts'
import { createRest, rejection } from './google-rest.ts'
import { openGoogleStore, type StoredResource } from './google-store.ts'
import { createAccessTokens, type FindAccount, type ServiceAccount } from './google-token.ts'

export interface SandboxGoogleOptions {
  /** The service account that can call the API: its address and its public key. */
  clientEmail: string
  publicKey: KeyObject | string
  issuerId: string
  others?: () => ServiceAccount[]
  /** The URL at which saves and removals are reported. */
  callbackUrl: string
  faults: Faults
  /** The file that keeps classes, objects, and their holders across restarts. Without it, they are lost. */
  stateFile?: string
  clock?: () => Date
}

export interface SandboxGoogleServer {
  /** For phones: `{url}/save`, `/remove`, `/objects/{kind}/{id}`, `/devices/{device}/changes`. */
  url: string
  tokenUrl: string
  /** The base URL of the REST API, including the version. */
  apiUrl: string
  /** The URL of the root keys of callbacks. */
  keysUrl: string
  close(): Promise<void>
}

/** Starts the token endpoint, the REST API, signed callbacks, and the interface for phones. */
export async function startSandboxGoogle(options: SandboxGoogleOptions): Promise<SandboxGoogleServer> {
  const { clientEmail, issuerId, callbackUrl, faults, stateFile, clock = () => new Date() } = options
  const publicKey = typeof options.publicKey === 'string' ? createPublicKey(options.publicKey) : options.publicKey
  const own = { clientEmail, publicKey, issuerId }
  const find: FindAccount = (fits) => (fits(own) ? own : options.others?.().find(fits))
  const store = openGoogleStore(stateFile)
  const channels = createChannels()
  const tokens = createAccessTokens(find, clock)
  const callbacks = createCallbacks({ callbackUrl, rootKey: store.rootKey, clock })
  const rest = createRest({ store, faults, clock, onChange: notifyPhones })
  const phones = createPhones({ find, store, rest, callbacks })

  function notifyPhones({ kind, role, resource }: StoredResource): void {
    const objects = role === 'Class' ? store.listOfClass(kind, resource.id) : [store.find(kind, role, resource.id)!]
    const devices = new Set(objects.flatMap((object) => object.devices))
    for (const device of devices) channels.send(device, { changed: resource.id })
  }

  async function answerRest(call: LocalCall): Promise<LocalReply> {
    await slowDown(faults, 'google-slow')
    if (faults.has('google-429')) return rejection(429, 'rateLimitExceeded', 'Too many requests.')
    if (faults.has('google-500')) return rejection(500, 'backendError', 'Internal error.')
    if (faults.has('google-503')) return rejection(503, 'backendError', 'The service is currently unavailable.')
    const account = tokens.accountOf(call.headers.authorization)
    if (!account) {
      return rejection(401, 'authError', 'Request had invalid authentication credentials.')
    }
    if (faults.has('google-400') && call.method !== 'GET') return rejection(400, 'invalid', 'Invalid value.')
    if (faults.has('google-locations') && isJsonObject(call.json) && Array.isArray(call.json.merchantLocations)) {
      return rejection(400, 'invalid', 'Issuer not allowlisted for Merchant Locations. Please contact support.')
    }
    return rest.answer(call, account.issuerId)
  }

  const server = await serveLocally((call) => {
    const { method, path, json, response } = call
    if (path.startsWith('/walletobjects/')) return answerRest(call)
    const [, kind, id] = /^\/objects\/([^/]+)\/([^/]+)$/.exec(path) ?? []
    if (method === 'GET' && kind && id) return phones.read(kind, decodeURIComponent(id))
    const [, device] = /^\/devices\/([^/]+)\/changes$/.exec(path) ?? []
    if (method === 'GET' && device) return channels.listen(decodeURIComponent(device), response) as undefined
    switch (`${method} ${path}`) {
      case 'POST /token':
        return tokens.answer(call)
      case 'GET /issuer/keys':
        return {
          status: 200,
          json: callbacks.keys(),
          headers: { 'cache-control': `public, max-age=${KEYS_MAX_AGE_SECONDS}` },
        }
      case 'POST /save':
        return phones.save(json)
      case 'POST /remove':
        return phones.remove(json)
      case 'POST /faults':
        return switchFaults(faults, json)
      default:
        return { status: 404, json: { error: 'There is nothing here.' } }
    }
  })

  return {
    url: server.url,
    tokenUrl: `${server.url}/token`,
    apiUrl: `${server.url}/walletobjects/v1`,
    keysUrl: `${server.url}/issuer/keys`,
    async close() {
      await server.close()
      await callbacks.close()
      store.close()
    },
  }
}
