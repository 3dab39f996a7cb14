import { setTimeout as sleep } from 'node:timers/promises'
import { Args, Flags } from '@oclif/core'
import { ApiError, type CallOptions, type Client, ConnectionError, paginate } from '../../client/client.ts'
import { Uuid } from '../../core/ids.ts'
import { CliError, UsageError } from '../command/cli-error.ts'
import { printable } from '../command/output.ts'

/** The kinds of rows that commands accept by key, exact name, or id prefix, in place of an id. */
export type NamedKind = 'project' | 'template' | 'webhook' | 'door' | 'zone' | 'identity'

interface Mark {
  kind: NamedKind
  /**
   * If set, the program asks for a missing value on a terminal, except if the input named `unless` has a value. If
   * `orNone` is set, the value is optional: `orNone` is the label of the first choice, which selects no row.
   */
  ask?: { orNone?: string; unless?: string }
  /** Whether the word `none` (`null` in the API) is accepted. */
  mayBeNone: boolean
  /** Whether the command receives the text and finds the row itself, as a command that works offline does. */
  isFoundByCommand: boolean
}

/** Marks an argument or flag as the key, name, or id of a row. The command receives the id. */
export function named<T extends object>(
  kind: NamedKind,
  input: T,
  { mayBeNone = false, isFoundByCommand = false, ask }: Partial<Omit<Mark, 'kind'>> = {},
): T {
  return Object.assign(input, { named: { kind, mayBeNone, isFoundByCommand, ...(ask && { ask }) } satisfies Mark })
}

/** Makes an input optional if a prompt can ask for its value, so that oclif accepts a call without the input. */
export function askable<T extends Readonly<Record<string, object>>>(inputs: T): T {
  const relaxed = Object.entries(inputs).map(([name, input]) => {
    return [name, markOf(input)?.ask ? { ...input, required: false } : input] as const
  })
  return Object.fromEntries(relaxed) as T
}

export async function askForNames(
  inputs: Readonly<Record<string, object>>,
  values: Record<string, unknown>,
  connect: () => Client,
): Promise<void> {
  for (const [name, input] of Object.entries(inputs)) {
    const mark = markOf(input)
    if (!mark?.ask || values[name] !== undefined) continue
    const { kind, ask } = mark
    const { orNone, unless } = ask
    if (unless !== undefined && values[unless] !== undefined) continue
    const reading = collect(listCandidates(kind, connect()))
    const listed = await (orNone === undefined ? reading : withoutWaiting(reading))
    if (listed.length === 0 && orNone !== undefined) continue
    if (listed.length === 0) {
      throw new CliError(`No ${kind} exists yet`, {
        code: 'NOT_FOUND',
        hint: `create one with "passes ${kind} create".`,
      })
    }
    const choices = listed.map(({ id, key, names }) => {
      const title = [names.find(Boolean), key && `(${key})`, id.slice(0, 13)]
      return { name: printable(title.filter(Boolean).join('  ')), value: id as string | undefined }
    })
    if (orNone !== undefined) choices.unshift({ name: orNone, value: undefined })
    const { choose } = await import('../command/prompt.ts')
    const chosen = await choose(`Which ${kind}?`, choices)
    if (chosen !== undefined) values[name] = chosen
  }
}

/**
 * Returns no candidates if the server is slow or unreachable, or if permission is missing. The prompt is then skipped,
 * because its value is optional.
 */
async function withoutWaiting(reading: Promise<Candidate[]>): Promise<Candidate[]> {
  try {
    return await Promise.race([reading, sleep(TIMEOUT_MS, [], { ref: false })])
  } catch (error) {
    if (error instanceof ConnectionError || (error instanceof ApiError && error.status === 403)) return []
    throw error
  } finally {
    reading.catch(() => undefined)
  }
}

const TIMEOUT_MS = 3_000

export function namedKindOf(input: object): NamedKind | undefined {
  return markOf(input)?.kind
}

function markOf(input: object): Mark | undefined {
  return 'named' in input ? (input.named as Mark) : undefined
}

export async function resolveNames(
  inputs: Readonly<Record<string, object>>,
  values: Record<string, unknown>,
  connect: () => Client,
): Promise<void> {
  const given = Object.entries(inputs).filter(([name, input]) => {
    const mark = markOf(input)
    return mark && !mark.isFoundByCommand && values[name] !== undefined
  })
  if (given.length === 0) return
  const listed = new Map<NamedKind, Promise<Candidate[]>>()
  const list = (kind: NamedKind) => {
    const known = listed.get(kind) ?? collect(listCandidates(kind, connect()))
    listed.set(kind, known)
    return known
  }
  for (const [name, input] of given) {
    const value = values[name]
    const { kind, mayBeNone } = markOf(input)!
    const idOf = async (text: string) => {
      if ((mayBeNone && (text === 'none' || text === 'null')) || Uuid.safeParse(text).success) return text
      return findCandidate(await list(kind), kind, text)
    }
    values[name] = Array.isArray(value) ? await Promise.all(value.map(idOf)) : await idOf(String(value))
  }
}

export interface Candidate {
  id: string
  key: string | null
  names: readonly string[]
}

export function listCandidates(kind: NamedKind, client: Client, signal?: AbortSignal): AsyncGenerator<Candidate> {
  return candidates[kind](client, signal && { signal })
}

const candidates: Record<NamedKind, (client: Client, options?: CallOptions) => AsyncGenerator<Candidate>> = {
  project: ({ projects }, options) => byName(paginate((call) => projects.list(call, options), {})),
  zone: ({ zones }, options) => byName(paginate((call) => zones.list(call, options), {})),
  door: ({ doors }, options) => byName(paginate((call) => doors.list(call, options), { revoked: false })),
  async *template({ templates }, options) {
    for await (const { id, key, name } of paginate((call) => templates.list(call, options), {}))
      yield { id, key, names: [name] }
  },
  async *webhook({ webhooks }, options) {
    for await (const { id, url, description } of paginate((call) => webhooks.list(call, options), {})) {
      yield { id, key: null, names: [url, description] }
    }
  },
  async *identity({ identities }, options) {
    for await (const { id, name, passTypeIdentifier, issuerId } of paginate(
      (call) => identities.list(call, options),
      {},
    ))
      yield { id, key: name, names: [passTypeIdentifier ?? issuerId ?? ''] }
  },
}

async function* byName(rows: AsyncIterable<{ id: string; name: string }>): AsyncGenerator<Candidate> {
  for await (const { id, name } of rows) yield { id, key: null, names: [name] }
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** The minimum length of an id prefix, so that a short mistyped name is not taken for an id. */
export const SHORTEST_PREFIX = 4
const MAX_LISTED = 10

/** @throws CliError if no row matches, UsageError that lists the rows if several match */
export function findCandidate(listed: readonly Candidate[], kind: NamedKind, text: string): string {
  const prefix = new RegExp(`^[0-9a-f-]{${SHORTEST_PREFIX},}$`, 'i').test(text) ? text.toLowerCase() : undefined
  const [byKey, byName, byId]: Candidate[][] = [[], [], []]
  for (const candidate of listed) {
    if (candidate.key === text) byKey!.push(candidate)
    else if (candidate.names.includes(text)) byName!.push(candidate)
    else if (prefix !== undefined && candidate.id.startsWith(prefix)) byId!.push(candidate)
  }
  const found = [byKey!, byName!, byId!].find(({ length }) => length > 0)
  if (!found) {
    throw new CliError(`No ${kind} is called ${text}`, {
      code: 'NOT_FOUND',
      details: { [kind]: text },
      // Do not suggest "identity list": it lists the identities of all workspaces, so only the operator can run it.
      hint:
        kind === 'identity'
          ? 'to list the identities of this workspace, run "passes api GET /v1/identities"; to add one, run "passes identity use" on the server.'
          : `to list every ${kind}, run "passes ${kind} list".`,
    })
  }
  if (found.length === 1) return found[0]!.id
  throw ambiguousName(text, {
    what: kind,
    total: found.length,
    found: found.map(({ id, key, names }) => ({ id, name: key ?? names[0] })),
  })
}

/** Returns the error for a name or an id prefix that matches several rows. Lists the first ten. */
export function ambiguousName(
  text: string,
  { what, total, found }: { what: string; total: number; found: readonly { id: string; name: string | undefined }[] },
): UsageError {
  const listed = found.slice(0, MAX_LISTED)
  const lines = listed.map(({ id, name }) => [id, name].join('  '))
  const more = total > listed.length ? [`and ${total - listed.length} more`] : []
  const plural = what === 'pass' ? 'passes' : `${what.replace(/y$/, 'ie')}s`
  return new UsageError([`${text} can mean any of ${total} ${plural}:`, ...lines, ...more].join('\n'), {
    hint: 'give the full ID, or more of its start.',
    details: { [what]: text, ids: listed.map(({ id }) => id) },
  })
}

/** Maps `none` (and `null`, the word of the API) to `null`. */
export function noneToNull<T extends string | number | undefined>(value: T): Exclude<T, 'none'> | null {
  return value === 'none' || value === 'null' ? null : (value as Exclude<T, 'none'>)
}

export function idArg(what: string) {
  return Args.string({ description: `ID of the ${what}.`, required: true, parse: idOf(what) })
}

const wordings: Record<NamedKind, string> = {
  project: 'Name or ID of the project',
  template: 'Key, name, or ID of the template',
  door: 'Name or ID of the door',
  zone: 'Name or ID of the zone',
  webhook: 'Address, description, or ID of the webhook',
  identity: 'Name or ID of the identity',
}

export function namedArg(kind: NamedKind) {
  return named(kind, Args.string({ description: `${wordings[kind]}.`, required: true }))
}

export function optionalNamedArg(kind: NamedKind) {
  return named(kind, Args.string({ description: `${wordings[kind]}.` }))
}

export function namedFlag(kind: NamedKind, what = '', options: Parameters<typeof named>[2] = {}) {
  return named(kind, Flags.string({ summary: `${wordings[kind]}${what}.` }), options)
}

/** Creates a required flag. If it is missing on a terminal, the user chooses from a list. */
export function requiredFlag(kind: NamedKind, what = '') {
  return named(kind, Flags.string({ summary: `${wordings[kind]}${what}.`, required: true }), { ask: {} })
}

/** Returns a parser that accepts only ids, so that no other value reaches the server. */
export function idOf(what: string): (text: string) => Promise<string> {
  return async (text) => {
    if (Uuid.safeParse(text).success) return text
    throw new UsageError(`${text} is not the ID of ${/^[aeiou]/.test(what) ? 'an' : 'a'} ${what}`)
  }
}
