import { promisify } from 'node:util'
import { constants, gunzip, gzip } from 'node:zlib'

const run = promisify(gzip)
const undo = promisify(gunzip)

/** Off the main thread, and fast rather than small: JSON shrinks to a fraction at any level. */
export async function compress(text: string): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await run(text, { level: constants.Z_BEST_SPEED }))
}

/** A JSON body that was written and compressed before, for all who are to have the same. */
export class EncodedBody<Body> {
  /** Nothing at run time: of which shape the JSON is. */
  declare readonly shape: Body
  readonly gzip: Buffer

  constructor(gzip: Buffer) {
    this.gzip = gzip
  }

  /** The body as it was before, for a client that does not take gzip. */
  async plain(): Promise<Uint8Array<ArrayBuffer>> {
    return new Uint8Array(await undo(this.gzip))
  }
}

/** Writes a body once, to be sent often. */
export async function encodeBody<Body>(body: Body): Promise<EncodedBody<Body>> {
  return new EncodedBody(Buffer.from(await compress(JSON.stringify(body))))
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
