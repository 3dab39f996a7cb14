import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { stripVTControlCharacters, styleText } from 'node:util'
import { Errors } from '@oclif/core'
import {
  ConnectionError,
  ForeignServerError,
  ApiError as RequestError,
  TimeoutError,
} from '../../client/client-errors.ts'
import { ApiError, type Issue, SetupError } from '../../core/errors.ts'
import { FileInUseError } from '../../files/file-lock.ts'
import type { Connection } from '../settings/settings.ts'
import { CliError } from './cli-error.ts'
import { inWords, printable } from './output.ts'

export interface Failure {
  code: string
  message: string
  correlationId: string | null
  details: Record<string, unknown>
  exitCode: number
  reasons: string[]
  hint?: string | undefined
}

export interface FailureContext {
  connection?: Connection | undefined
  flags?: readonly string[]
  argv?: readonly string[]
}

export function describeFailure(error: unknown, context: FailureContext = {}): Failure {
  const { connection, flags = [] } = context
  if (error instanceof RequestError) return describeRequestError(error, context)
  if (error instanceof ConnectionError) return describeConnectionError(error, connection)
  if (error instanceof CliError || error instanceof ApiError) {
    return {
      ...plain(error.code, tidyUsage(error.message)),
      details: error.details,
      reasons: issueLines(error.details),
      ...(error instanceof CliError && { exitCode: error.exitCode, hint: error.hint }),
    }
  }
  if (error instanceof Errors.CLIError) {
    const hint = 'flags' in error ? likelyFlag(error.flags as string[], flags) : undefined
    return { ...plain('USAGE', tidyUsage(error.message)), exitCode: error.oclif.exit ?? 2, hint: hint ?? SEE_HELP }
  }
  if (error instanceof SetupError) {
    const hint = error.fix === undefined ? undefined : `${error.fix}.`
    return { ...plain('SETUP', error.message), exitCode: error.isMalformed ? 2 : 1, hint }
  }
  if (error instanceof FileInUseError) {
    const hint = 'wait until it ends, or stop it with Ctrl-C; then the same command resumes.'
    return { ...plain('JOURNAL_IN_USE', error.message), details: { journal: error.path }, hint }
  }
  if (isSystemError(error)) return { ...plain(error.code, systemMessage(error)), hint: systemHints[error.code] }
  return describeBug(error)
}

export function formatFailure(failure: Failure, options: { color: boolean }): string {
  const [first, ...more] = failure.message.split('\n')
  // Omit the label "Error:" after Ctrl-C, because nothing went wrong.
  const label = failure.code === 'INTERRUPTED' ? '' : `${options.color ? styleText('red', 'Error:') : 'Error:'} `
  return [
    `${label}${printable(first ?? '')}`,
    ...[...more, ...failure.reasons].map((line) => `  ${printable(line)}`),
    ...(failure.hint ? [`  Next: ${failure.hint}`] : []),
    ...(failure.correlationId ? [`  Correlation ID: ${printable(failure.correlationId)}`] : []),
  ].join('\n')
}

/** Returns a failure as `--json` prints it: in the format of API errors, with the next step as `hint`, if one is known. */
export function failureJson({ code, message, correlationId, details, hint }: Failure) {
  return { error: { code, message, correlationId, details, hint } }
}

const SEE_HELP = 'add --help for its usage.'

/** Returns oclif's message without its framing and without flag values, which can be secrets. */
function tidyUsage(message: string): string {
  return stripVTControlCharacters(message)
    .replace(/^Parsing (--\S+) \n\t/, '$1: ')
    .replace(/^The following errors? occurred:\s+/, '')
    .replaceAll(/^(\s*--[\w-]+)=.* cannot also be/gm, '$1 cannot also be')
    .replace(/\nSee more help with --help$/, '')
}

function likelyFlag([typed = '']: readonly string[], flags: readonly string[]): string | undefined {
  const near = flags
    .map((name) => ({ name: `--${name}`, distance: editDistance(typed, `--${name}`) }))
    .filter(({ distance }) => distance <= 2)
    .toSorted((a, b) => a.distance - b.distance)
  return near[0] && `did you mean ${near[0].name}?`
}

function plain(code: string, message: string): Failure {
  return { code, message, correlationId: null, details: {}, exitCode: 1, reasons: [] }
}

function describeRequestError(error: RequestError, { connection, flags = [], argv = [] }: FailureContext): Failure {
  const { method, path } = error.request
  const server = connection?.url.value ?? 'The server'
  const reasons = [`${server} responded to ${method} ${path} with ${error.status} ${error.code}.`]
  if (error.status === 401 && connection?.token) reasons.push(`The token came from ${connection.token.source}.`)
  const words = flags.includes('where') ? argv : []
  const issues = issueLines(error.details, (place) => {
    if (method === 'GET') return whereOf(place, words) ?? flagOf(place, flags)
    return place[0] === 'filter' ? whereOf(place.slice(1), words) : undefined
  })
  // The server's message can repeat the text of an issue. In this case, show the text from `issues` instead, because it
  // can name the flag.
  const message = issues[issueLines(error.details).indexOf(error.message)] ?? error.message
  return {
    ...plain(error.code, message),
    correlationId: error.correlationId || null,
    details: error.details,
    reasons: [...reasons, ...issues.filter((issue) => issue !== message)],
    hint: hintFor(error),
  }
}

function hintFor(error: RequestError): string | undefined {
  if (error.status === 401) {
    return 'give a valid token with --token, PASSES_TOKEN, or "passes login"; to create one, run "passes token create" on the server.'
  }
  if (error.code === 'TENANT_SUSPENDED')
    return 'ask the operator of the server to resume the workspace with "passes workspace resume NAME".'
  if (error.code === 'TENANT_EXPIRED')
    return 'ask the operator of the server to extend the workspace with "passes workspace update NAME --expires 2027-12-31".'
  if (error.status === 403)
    return 'to see the scopes of the token, run "passes whoami"; to create another token, run "passes token create".'
  if (error.code === 'TEMPLATE_NOT_FOUND') {
    return 'to list the templates, run "passes template list"; if the template has no published version, run "passes template publish".'
  }
  if (error.code === 'PRECONDITION_FAILED') return 'to see the current revision, run "passes pass get".'
  // A passes server never returns this code with a 4xx status, so another program sent the response.
  if (error.status === 413 && error.code === 'INTERNAL_ERROR')
    return 'in the proxy in front of the server, allow request bodies of 8 MiB (in nginx, client_max_body_size 8m).'
  if (error.status < 500 && error.code === 'INTERNAL_ERROR')
    return 'check that --url (PASSES_URL) is the address of a passes server.'
  if (error.retryAfterSeconds !== undefined) return `try again in ${error.retryAfterSeconds} s.`
  if (error.status >= 500) {
    const what = error.correlationId ? 'give the correlation ID to' : 'tell'
    return `try again; if it fails again, ${what} the operator of the server.`
  }
  return undefined
}

function describeConnectionError(error: ConnectionError, connection: Connection | undefined): Failure {
  return {
    ...plain('CONNECTION_FAILED', error.message),
    reasons: connection ? [`The address came from ${connection.url.source}.`] : [],
    hint: connectionHint(error),
  }
}

function connectionHint(error: ConnectionError): string {
  if (error instanceof ForeignServerError) {
    return 'correct --url (PASSES_URL), or log in to the network that responds instead.'
  }
  if (error instanceof TimeoutError) {
    const first = error.request.method === 'GET' ? '' : 'check whether the request had an effect, then '
    return `${first}try again; to wait longer, use --timeout SECONDS (PASSES_TIMEOUT); to check the server, run "passes doctor".`
  }
  return 'start a server with "passes serve", or give the address of a running one with --url or PASSES_URL.'
}

const systemHints: Record<string, string> = {
  ENOSPC: 'free space on that disk, then run the command again.',
}

function isSystemError(error: unknown): error is Error & { code: string; path?: string } {
  return error instanceof Error && 'syscall' in error && 'code' in error && typeof error.code === 'string'
}

function systemMessage({ code, path, message }: { code: string; path?: string; message: string }): string {
  if (code === 'ENOENT') {
    const folder = path && dirname(path)
    return folder && !existsSync(folder)
      ? `The folder ${folder} does not exist`
      : `${path ?? 'The file'} does not exist`
  }
  if (code === 'EISDIR') return `${path ?? 'A path'} is a folder, but a file is required`
  if (path && code === 'ENOTDIR') return `${path} leads through a file, but a folder is required`
  if (path && ['EACCES', 'EPERM'].includes(code)) return `This user has no permission to read or write ${path}`
  if (path && code === 'EROFS') return `${path} is on a read-only file system`
  if (code === 'ENOSPC') return `${path ? `${path} cannot be written: no` : 'No'} space is left`
  return message
}

function describeBug(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error)
  const stack = error instanceof Error ? (error.stack ?? '').split('\n').slice(1) : []
  return {
    ...plain('UNEXPECTED', message || 'Unexpected error'),
    reasons: stack.length > 0 ? ['This is probably a bug in passes:', ...stack.map((line) => line.trim())] : [],
  }
}

/** Returns one line for each issue. If the invalid value comes from a flag, the line names the flag. */
function issueLines(
  details: Record<string, unknown>,
  findFlag: (path: Issue['path']) => string | undefined = () => undefined,
): string[] {
  if (!Array.isArray(details.issues)) return []
  const lines = (details.issues as LocatedIssue[]).map(({ path, message, line, column }) => {
    const place = line === undefined ? '' : `${line}:${column} `
    const where = findFlag(path) ?? `${place}${path.join('.')}`.trim()
    return where ? `${where}: ${message}` : message
  })
  return details.omittedIssues === undefined ? lines : [...lines, `and ${details.omittedIssues} more`]
}

/** Returns the flag for a query parameter: `--created-from` for `createdFrom`, and `--template` for `templateId`. */
function flagOf([parameter, ...rest]: Issue['path'], flags: readonly string[]): string | undefined {
  if (typeof parameter !== 'string' || rest.some((part) => typeof part !== 'number')) return undefined
  const name = inWords(parameter, '-')
  const flag = [name, name.replace(/-id$/, '')].find((candidate) => flags.includes(candidate))
  return flag && `--${flag}`
}

/** Returns the filter of an issue as `--where variable=…`, if the command line sets this filter with `--where`. */
function whereOf([filter]: Issue['path'], argv: readonly string[]): string | undefined {
  const isGiven = argv.some((word) => word.replace(/^--where=/, '').startsWith(`${filter}=`))
  return isGiven ? `--where ${filter}=…` : undefined
}

/** Returns the command closest to the mistyped words, which can end with arguments; `undefined` if none is close. */
export function suggestCommand(words: readonly string[], commands: readonly string[]): string | undefined {
  const candidates = commands
    .map((command) => {
      const typed = words.slice(0, command.split(' ').length).join(' ')
      return { command, distance: editDistance(typed, command), most: Math.max(2, command.length / 3) }
    })
    .filter(({ distance, most }) => distance <= most)
  // If distances are equal, prefer the command with more words, because that command uses more of the typed words.
  const wordsIn = ({ command }: { command: string }) => command.split(' ').length
  return candidates.sort((a, b) => a.distance - b.distance || wordsIn(b) - wordsIn(a))[0]?.command
}

export function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1]
    for (const [j, otherLetter] of [...other].entries()) {
      next.push(Math.min(row[j + 1]! + 1, next[j]! + 1, row[j]! + (letter === otherLetter ? 0 : 1)))
    }
    row = next
  }
  return row.at(-1)!
}

/** An issue with its position in the file, if it has one. Line and column start at 1. */
export interface LocatedIssue extends Issue {
  line?: number
  column?: number
}

/** Finds the position of each issue in a JSON text. If a value is missing, this is the position of its parent. */
export async function locateIssues<T extends Issue>(text: string, issues: readonly T[]): Promise<(T & LocatedIssue)[]> {
  const { isNode, LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  // Use the YAML parser, which also reads JSON, and keeps the positions that `JSON.parse` loses.
  const document = parseDocument(text, { lineCounter, uniqueKeys: false, logLevel: 'silent' })
  return issues.map((issue) => {
    for (let length = issue.path.length; length >= 0; length -= 1) {
      const node = length === 0 ? document.contents : document.getIn(issue.path.slice(0, length), true)
      if (!isNode(node) || !node.range) continue
      const { line, col: column } = lineCounter.linePos(node.range[0])
      return { ...issue, line, column }
    }
    return issue
  })
}

export function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: before.at(-1)!.length + 1 }
}
