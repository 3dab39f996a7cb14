import { Pool } from 'undici'
import { z } from 'zod'
import { parseJson } from '../../../core/json.ts'
import { CliError } from '../../command/errors.ts'

/** The PassKit web service as a fleet calls it: over few connections, and without reading the packages. */
export interface PassKit {
  /** Whether the registration is new. */
  register(deviceId: string, pushToken: string, pass: PassSecret): Promise<boolean>
  unregister(deviceId: string, pass: PassSecret): Promise<void>
  /** What changed since the tag; undefined where nothing did. */
  listChanged(deviceId: string, tag: string | null): Promise<Changed | undefined>
  /** Fetches the pass unless it is as the phone has it. */
  fetch(pass: PassSecret, since: string | null): Promise<Fetched>
  /** Whether there is something newer, which the service does not take for a fetch. */
  isNewer(pass: PassSecret, since: string | null): Promise<boolean>
  close(): Promise<void>
}

/** What a phone shows the service of a pass. */
export interface PassSecret {
  serialNumber: string
  authenticationToken: string
}

const Changed = z.object({ serialNumbers: z.array(z.string()), lastUpdated: z.string() })
type Changed = z.output<typeof Changed>

/** What became of a fetch: `gone` is a pass that the service does not know any more. */
export type Fetched = { outcome: 'changed'; lastModified: string } | { outcome: 'unchanged' | 'gone' }

/** The service has no time: the phone should come again. */
export class BusyError extends Error {
  override readonly name = 'BusyError'
  readonly afterSeconds: number

  constructor(afterSeconds: number, options?: ErrorOptions) {
    super('The web service is busy', options)
    this.afterSeconds = afterSeconds
  }
}

/** Where the phones of a fleet find their passes. */
interface PassKitOptions {
  webServiceURL: string
  passTypeIdentifier: string
  /** Requests at once. */
  connections: number
}

const TIMEOUT_MS = 30_000
/** Where the service does not say when to come again. */
const RETRY_SECONDS = 2

/** Calls throw BusyError where they are to be made again, and CliError WEB_SERVICE_FAILED for answers that PassKit does not know. */
export function createPassKit({ webServiceURL, passTypeIdentifier, connections }: PassKitOptions): PassKit {
  const { origin, pathname } = new URL(webServiceURL)
  const base = `${pathname.replace(/\/$/, '')}/v1`
  const type = encodeURIComponent(passTypeIdentifier)
  const pool = new Pool(origin, { connections, pipelining: 1, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS })

  async function call(method: 'GET' | 'HEAD' | 'POST' | 'DELETE', path: string, options: CallOptions, taken: number[]) {
    const { pass, since, json } = options
    const headers = {
      ...(pass && { authorization: `ApplePass ${pass.authenticationToken}` }),
      ...(since && { 'if-modified-since': since }),
      ...(json && { 'content-type': 'application/json' }),
    }
    const body = json ? JSON.stringify(json) : null
    const answer = await pool.request({ method, path: base + path, headers, body }).catch((cause: unknown) => {
      throw new BusyError(RETRY_SECONDS, { cause })
    })
    const { statusCode, headers: answered } = answer
    if (taken.includes(statusCode)) return answer
    await answer.body.dump()
    if (statusCode === 429 || statusCode >= 500) throw new BusyError(Number(answered['retry-after']) || RETRY_SECONDS)
    throw new CliError(`The web service answered ${statusCode} to ${method} ${path.split('/')[1]} of a phone`, {
      code: 'WEB_SERVICE_FAILED',
      details: { status: statusCode, correlationId: answered['x-correlation-id'] ?? null },
    })
  }

  const registration = (deviceId: string, { serialNumber }: PassSecret) =>
    `/devices/${deviceId}/registrations/${type}/${encodeURIComponent(serialNumber)}`
  const packageOf = ({ serialNumber }: PassSecret) => `/passes/${type}/${encodeURIComponent(serialNumber)}`

  return {
    async register(deviceId, pushToken, pass) {
      const options = { pass, json: { pushToken } }
      const { statusCode, body } = await call('POST', registration(deviceId, pass), options, [200, 201])
      await body.dump()
      return statusCode === 201
    },
    async unregister(deviceId, pass) {
      const { body } = await call('DELETE', registration(deviceId, pass), { pass }, [200, 401])
      await body.dump()
    },
    async listChanged(deviceId, tag) {
      const query = tag === null ? '' : `?passesUpdatedSince=${encodeURIComponent(tag)}`
      const path = `/devices/${deviceId}/registrations/${type}${query}`
      // 404: the service does not know the device, which happens where all of its passes are gone.
      const { statusCode, body } = await call('GET', path, {}, [200, 204, 404])
      const text = await body.text()
      return statusCode === 200 ? Changed.parse(parseJson(text)) : undefined
    },
    async fetch(pass, since) {
      const { statusCode, headers, body } = await call('GET', packageOf(pass), { pass, since }, [200, 304, 401])
      await body.dump({ limit: Number.MAX_SAFE_INTEGER })
      if (statusCode === 401) return { outcome: 'gone' }
      return statusCode === 304
        ? { outcome: 'unchanged' }
        : { outcome: 'changed', lastModified: String(headers['last-modified']) }
    },
    async isNewer(pass, since) {
      const { statusCode, body } = await call('HEAD', packageOf(pass), { pass, since }, [200, 304, 401])
      await body.dump()
      return statusCode === 200
    },
    close: () => pool.destroy(),
  }
}

interface CallOptions {
  pass?: PassSecret
  since?: string | null
  json?: object
}
