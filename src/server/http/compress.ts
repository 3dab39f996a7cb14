import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'

const run = promisify(gzip)

/** Off the main thread, and fast rather than small: JSON shrinks to a fraction at any level. */
export async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await run(text, { level: constants.Z_BEST_SPEED }))
}

const encodings = ['br', 'gzip'] as const

/** Which encodings of ours are taken (RFC 9110, section 12.5.3), the smaller first; a weight of 0 refuses one. */
export function acceptedEncodings(headers: Headers): (typeof encodings)[number][] {
  const weights = new Map<string, number>()
  for (const item of (headers.get('accept-encoding') ?? '').toLowerCase().split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(coding === 'x-gzip' ? 'gzip' : coding, weight === undefined ? 1 : Number(weight.slice(2)))
  }
  return encodings.filter((coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0)
}

/** True where a client takes gzip, with a weight above 0. */
export function acceptsGzip(headers: Headers): boolean {
  return acceptedEncodings(headers).includes('gzip')
}
