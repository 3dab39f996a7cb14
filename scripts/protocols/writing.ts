import { wrapText } from '../../src/cli/command/output.ts'
import { unzip } from '../../src/cli/device/apple-package.ts'
import type { Exchange } from './recording.ts'

/** The two parties of an exchange, by path. Exchanges with other paths are omitted. */
const conversations: [path: RegExp, who: string][] = [
  [/^\/l\//, 'phone → passes'],
  [/^\/apple\//, 'phone → passes'],
  [/^\/3\/device\//, 'passes → APNs (HTTP/2)'],
  [/^\/token$/, 'passes → Google'],
  [/^\/walletobjects\//, 'passes → Google'],
  [/^\/google\/callbacks$/, 'Google → passes'],
  [/^\/issuer\/keys$/, 'passes → Google'],
]

const shownHeaders = new Set([
  'authorization',
  'if-modified-since',
  'apns-topic',
  'apns-push-type',
  'apns-id',
  'content-type',
  'last-modified',
  'location',
  'cache-control',
  'vary',
])

const MAX_LINES = 24
const WIDTH = 110

/** Formats a step as a section: its title, its explanation, and its exchanges. */
export function writeStep(title: string, text: string, exchanges: Exchange[]): string {
  return [`## ${title}\n`, `${wrapText(text, WIDTH).join('\n')}\n`, ...exchanges.flatMap(writeExchange)].join('\n')
}

function writeExchange(exchange: Exchange): string[] {
  const who = conversations.find(([path]) => path.test(exchange.path))?.[1]
  if (!who) return []
  const request = [
    `${exchange.method} ${short(exchange.path)}`,
    ...headerLines(exchange.headers),
    ...bodyLines(exchange.body, String(exchange.headers['content-type'] ?? '')),
  ]
  const answer = [
    String(exchange.status),
    ...headerLines(exchange.answerHeaders),
    ...bodyLines(exchange.answer, String(exchange.answerHeaders['content-type'] ?? '')),
  ]
  return [`**${who}**\n`, '```http', ...request, '', ...answer, '```\n']
}

function headerLines(headers: Record<string, unknown>): string[] {
  return Object.entries(headers)
    .filter(([name]) => shownHeaders.has(name))
    .flatMap(([name, value]) => [`${name}: ${short(String(value))}`, ...claimsLines(String(value))])
}

/** Returns the claims of a Google save link. */
function claimsLines(value: string): string[] {
  const [, claims] = /^https:\/\/pay\.google\.com\/gp\/v\/save\/[^.]+\.([^.]+)\./.exec(value) ?? []
  if (claims === undefined) return []
  return [`(the claims of the JWT: ${format(JSON.parse(Buffer.from(claims, 'base64url').toString('utf8')))})`]
}

/** Formats JSON. A value that fits on a line is written on one line. */
function format(value: unknown, indent = ''): string {
  const line = JSON.stringify(value) ?? 'undefined'
  if (indent.length + line.length <= WIDTH || typeof value !== 'object' || value === null) return line
  const inner = `${indent}  `
  const isList = Array.isArray(value)
  const items = isList
    ? value.map((item) => inner + format(item, inner))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([key, item]) => `${inner}${JSON.stringify(key)}: ${format(item, inner)}`)
  return [isList ? '[' : '{', items.join(',\n'), indent + (isList ? ']' : '}')].join('\n')
}

function bodyLines(body: Buffer, contentType: string): string[] {
  if (body.length === 0) return []
  if (contentType.startsWith('application/vnd.apple.pkpass')) return ['', ...packageLines(body)]
  const text = body.toString('utf8')
  let lines = [short(text)]
  try {
    lines = format(shortDeep(JSON.parse(text))).split('\n')
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  const rest = lines.length - MAX_LINES
  return ['', ...(rest > 5 ? [...lines.slice(0, MAX_LINES), `… ${rest} more lines`] : lines)]
}

/** Lists the files of a package, and the parts of pass.json that change. */
function packageLines(archive: Buffer): string[] {
  const files = unzip(archive)
  const { serialNumber, webServiceURL, authenticationToken, storeCard, voided } = JSON.parse(
    files.get('pass.json')!.toString('utf8'),
  )
  const shown = { serialNumber, webServiceURL, authenticationToken, primary: storeCard.primaryFields, voided }
  return [
    `(${archive.length} bytes: ${[...files.keys()].join(', ')})`,
    `pass.json, in part: ${format(shortDeep(shown))}`,
  ]
}

function shortDeep(value: unknown): unknown {
  if (typeof value === 'string') return short(value)
  if (Array.isArray(value)) return value.map(shortDeep)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shortDeep(item)]))
}

const SECRETS = /(?<=ApplePass )\S+|ya29\.[\w.-]+|(?<=\/l\/)[\w-]+|[A-Za-z0-9_+=/-]{44,}|\b[A-Fa-f0-9]{32,}\b/g
const ID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/

/** Cuts off everything after the beginning of tokens, keys, and signatures. IDs stay complete. */
function short(text: string): string {
  return text.replaceAll(SECRETS, (run) => run.split('/').map(shortPart).join('/'))
}

function shortPart(part: string): string {
  return part.length < 24 || ID.test(part) ? part : `${part.slice(0, 8)}…`
}
