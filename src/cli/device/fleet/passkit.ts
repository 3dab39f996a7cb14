import { Pool } from 'undici'
import { parseJson } from '../../../core/json.ts'
import { type Changed, type PassKitRequest, type PassSecret, readChanged, requestsOf, unexpected } from '../passkit.ts'

/** A PassKit web service client for a fleet: uses few connections and does not read packages. */
export interface PassKit {
  /** Registers for a pass; resolves to whether the registration is new. */
  register(deviceId: string, pushToken: string, pass: PassSecret): Promise<boolean>
  unregister(deviceId: string, pass: PassSecret): Promise<void>
  /** Returns changes since the tag; `undefined` if there are none. */
  listChanged(deviceId: string, tag: string | null): Promise<Changed | undefined>
  /** Fetches the pass unless the phone has the newest version. */
  fetch(pass: PassSecret, since: string | null): Promise<Fetched>
  /** Returns whether there is a newer version. The service does not count this as a fetch. */
  isNewer(pass: PassSecret, since: string | null): Promise<boolean>
  close(): Promise<void>
}

/** The result of a fetch; `gone` means that the service no longer has the pass. */
export type Fetched = { outcome: 'changed'; lastModified: string } | { outcome: 'unchanged' | 'gone' }

/** The service is overloaded or unreachable: the phone should retry. */
export class BusyError extends Error {
  override readonly name = 'BusyError'
  readonly afterSeconds: number

  constructor(afterSeconds: number, options?: ErrorOptions) {
    super('The web service is busy', options)
    this.afterSeconds = afterSeconds
  }
}

interface PassKitOptions {
  webServiceURL: string
  passTypeIdentifier: string
  /** The maximum number of concurrent requests. */
  connections: number
}

const TIMEOUT_MS = 30_000
/** The retry delay if the service does not specify one. */
const RETRY_SECONDS = 2

/**
 * Creates the client. Its calls throw `BusyError` if they should be retried, and CliError WEB_SERVICE_FAILED for
 * responses outside the PassKit protocol.
 */
export function createPassKit({ webServiceURL, passTypeIdentifier, connections }: PassKitOptions): PassKit {
  const { origin, pathname } = new URL(webServiceURL)
  const base = pathname.replace(/\/$/, '')
  const requests = requestsOf(passTypeIdentifier)
  const pool = new Pool(origin, { connections, pipelining: 1, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS })

  async function call(request: PassKitRequest) {
    const { method, path, json } = request
    const headers = json ? { ...request.headers, 'content-type': 'application/json' } : request.headers
    const body = json ? JSON.stringify(json) : null
    const answer = await pool.request({ method, path: base + path, headers, body }).catch((cause: unknown) => {
      throw new BusyError(RETRY_SECONDS, { cause })
    })
    const { statusCode, headers: answered } = answer
    if (request.known.includes(statusCode)) return answer
    await answer.body.dump()
    if (statusCode === 429 || statusCode >= 500) throw new BusyError(Number(answered['retry-after']) || RETRY_SECONDS)
    throw unexpected(request, statusCode, answered['x-correlation-id'])
  }

  return {
    async register(deviceId, pushToken, pass) {
      const { statusCode, body } = await call(requests.register(deviceId, pushToken, pass))
      await body.dump()
      return statusCode === 201
    },
    async unregister(deviceId, pass) {
      const { body } = await call(requests.unregister(deviceId, pass))
      await body.dump()
    },
    async listChanged(deviceId, tag) {
      const request = requests.listChanged(deviceId, tag)
      // 404: the service does not know the device, which happens after all of its passes are deleted.
      const { statusCode, body } = await call({ ...request, known: [...request.known, 404] })
      const text = await body.text()
      return statusCode === 200 ? readChanged(parseJson(text)) : undefined
    },
    async fetch(pass, since) {
      const { statusCode, headers, body } = await call(requests.fetch(pass, since))
      await body.dump({ limit: Number.MAX_SAFE_INTEGER })
      if (statusCode === 401) return { outcome: 'gone' }
      return statusCode === 304
        ? { outcome: 'unchanged' }
        : { outcome: 'changed', lastModified: String(headers['last-modified']) }
    },
    async isNewer(pass, since) {
      const { statusCode, body } = await call({ ...requests.fetch(pass, since), method: 'HEAD' })
      await body.dump()
      return statusCode === 200
    },
    close: () => pool.destroy(),
  }
}
