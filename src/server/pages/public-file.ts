import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { HTTPResponse } from 'h3'
import { acceptedEncodings } from '../http/compress.ts'

/** A file that anybody may ask for: one buffer for each way to send it, however many are sent at once. */
export interface PublicFile {
  contentType: string
  cacheControl: string
  content: Uint8Array<ArrayBuffer>
  /** The same in fewer bytes, where that is worth it. */
  compressed?: { br: Uint8Array<ArrayBuffer>; gzip: Uint8Array<ArrayBuffer> }
  /** Names the content. */
  digest: string
  headers?: Record<string, string>
}

export type PublicFileParts = Pick<PublicFile, 'contentType' | 'cacheControl' | 'headers'> & {
  content: string | Uint8Array
}

/** The path says which content it is, so browsers may keep the file. */
export const IMMUTABLE = 'public, max-age=31536000, immutable'

/** Browsers keep the file, and ask each time whether it is still the one. */
export const REVALIDATED = 'no-cache'

export function publicFile({ content, ...parts }: PublicFileParts): PublicFile {
  const bytes = (typeof content === 'string' ? Buffer.from(content) : content) as Uint8Array<ArrayBuffer>
  return { ...parts, content: bytes, digest: createHash('sha256').update(bytes).digest('hex').slice(0, 16) }
}

/** The same file, ready to be sent compressed. Off the main thread, and once: it is worth some time. */
export async function precompress(file: PublicFile): Promise<PublicFile> {
  const [br, zipped] = await Promise.all([
    promisify(brotliCompress)(file.content, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
    promisify(gzip)(file.content),
  ])
  return { ...file, compressed: { br, gzip: zipped } }
}

/** Smaller than any gzip, and as quick to make: the best quality takes fifty times as long for a tenth less. */
const BROTLI_QUALITY = 6

/** Sends a file as whoever asks takes it, or 304 where he has it. */
export function answerFile(file: PublicFile, request: Headers): HTTPResponse {
  const coding = file.compressed && acceptedEncodings(request)[0]
  const headers: Record<string, string> = {
    'cache-control': file.cacheControl,
    etag: coding ? `"${file.digest}-${coding}"` : `"${file.digest}"`,
    ...(file.compressed && { vary: 'Accept-Encoding' }),
    ...file.headers,
  }
  const condition = request.get('if-none-match')
  const { digest } = file
  // However it was compressed.
  const isKnown = condition !== null && namesTag(condition, [digest, `${digest}-br`, `${digest}-gzip`])
  if (isKnown) return new HTTPResponse(null, { status: 304, headers })
  const body = coding ? file.compressed![coding] : file.content
  return new HTTPResponse(body, {
    headers: {
      ...headers,
      'content-type': file.contentType,
      'content-length': String(body.length),
      ...(coding && { 'content-encoding': coding }),
    },
  })
}

/** Whether If-None-Match names one of these tags, given without quotes: by weak comparison (RFC 9110, 13.1.2). */
export function namesTag(condition: string, tags: string[]): boolean {
  return condition.split(',').some((part) => {
    const tag = part.trim().replace(/^W\//, '')
    return tag === '*' || tags.some((known) => tag === `"${known}"`)
  })
}
