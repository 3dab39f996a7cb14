import { promisify } from 'node:util'
import { constants, gunzip, gzip } from 'node:zlib'

/** Whether If-None-Match (`condition`) contains one of the unquoted tags, by weak comparison (RFC 9110, 13.1.2). */
export function namesTag(condition: string, tags: string[]): boolean {
  return condition.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '')
    return tag === '*' || tags.some((known) => tag === `"${known}"`)
  })
}

const run = promisify(gzip)
const undo = promisify(gunzip)

/** Compresses JSON off the main thread, at the fastest level: JSON becomes much smaller at any level. */
export async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await run(text, { level: constants.Z_BEST_SPEED }))
}

/** A JSON body that is serialized and compressed once, and sent in many responses. */
export class EncodedBody<Body> {
  /** The type of the body, for the compiler only. */
  declare readonly shape: Body
  readonly gzip: Buffer

  constructor(gzip: Buffer) {
    this.gzip = gzip
  }

  async plain(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await undo(this.gzip))
  }
}

export async function encodeBody<Body>(body: Body): Promise<EncodedBody<Body>> {
  return new EncodedBody(Buffer.from(await compress(JSON.stringify(body))))
}

const encodings = ['br', 'gzip'] as const

/**
 * Returns the supported encodings that the client accepts (RFC 9110, 12.5.3), best compression first. A weight of 0
 * excludes an encoding.
 */
export function acceptedEncodings(headers: Headers): (typeof encodings)[number][] {
  const weights = new Map<string, number>()
  for (const item of (headers.get('accept-encoding') ?? '').toLowerCase().split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return encodings.filter((coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0)
}

export function acceptsGzip(headers: Headers): boolean {
  return acceptedEncodings(headers).includes('gzip')
}
