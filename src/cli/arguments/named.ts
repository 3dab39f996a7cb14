import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError, type CallOptions, type Client, ConnectionError, paginate } from '../../client/client.ts'
import { CliError, UsageError } from '../command/errors.ts'
import { printable } from '../command/output.ts'

/** What may be named by its key, its exact name or the beginning of its id, wherever an id is expected. */
export type NamedKind = 'project' | 'template' | 'webhook' | 'door' | 'identity'

interface Mark {
  kind: NamedKind
  /** Where it is left out on a terminal, somebody is asked; `orNone` goes first where it may be left out. */
  ask?: { orNone?: string }
  /** The word none (null in the interface) stands for nothing of this kind. */
  mayBeNone: boolean
  /** The command gets the text and finds the row, such as one that it remembers for when the server is away. */
  isFoundByCommand: boolean
}

/** Marks an argument or flag whose text names a row: the command gets the id. */
export function named<T extends object>(
  kind: NamedKind,
  input: T,
  { mayBeNone = false, isFoundByCommand = false, ask }: Partial<Omit<Mark, 'kind'>> = {},
): T {
  return Object.assign(input, { named: { kind, mayBeNone, isFoundByCommand, ...(ask && { ask }) } satisfies Mark })
}

/** The inputs with none required of which somebody can be asked. */
export function askable<T extends Readonly<Record<string, object>>>(inputs: T): T {
  const relaxed = Object.entries(inputs).map(([name, input]) => {
    return [name, markOf(input)?.ask ? { ...input, required: false } : input] as const
  })
  return Object.fromEntries(relaxed) as T
}

/** Lets somebody choose what was left out: a list that narrows as it is typed in. */
export async function askForNames(
  inputs: Readonly<Record<string, object>>,
  values: Record<string, unknown>,
  connect: () => Client,
): Promise<void> {
  for (const [name, input] of Object.entries(inputs)) {
    const mark = markOf(input)
    if (!mark?.ask || values[name] !== undefined) continue
    const { kind, ask } = mark
    const { orNone } = ask
    const reading = collect(listCandidates(kind, connect()))
    const listed = await (orNone === undefined ? reading : withoutWaiting(reading))
    if (listed.length === 0 && orNone !== undefined) continue
    if (listed.length === 0) {
      throw new CliError(`There is no ${kind} to choose`, {
        code: 'NOT_FOUND',
        hint: `make one: passes ${kind} create.`,
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

/** Where it may be left out, a server that is away or a token that may not look keeps nobody from going on. */
async function withoutWaiting(reading: Promise<Candidate[]>): Promise<Candidate[]> {
  try {
    return await Promise.race([reading, sleep(PATIENCE_MS, [], { ref: false })])
  } catch (error) {
    if (error instanceof ConnectionError || (error instanceof ApiError && error.status === 403)) return []
    throw error
  } finally {
    reading.catch(() => undefined)
  }
}

const PATIENCE_MS = 3_000

/** What an argument or flag names, if anything. */
export function namedKindOf(input: object): NamedKind | undefined {
  return markOf(input)?.kind
}

function markOf(input: object): Mark | undefined {
  return 'named' in input ? (input.named as Mark) : undefined
}

/** Replaces what names a row by its id, in the values of the inputs that are marked. */
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
  const { Uuid } = await import('../../core/ids.ts')
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

/** What a name may stand for. */
export interface Candidate {
  id: string
  key: string | null
  names: readonly string[]
}

/** Everything of a kind that the server has. */
export function listCandidates(kind: NamedKind, client: Client, signal?: AbortSignal): AsyncGenerator<Candidate> {
  return candidates[kind](client, signal && { signal })
}

const candidates: Record<NamedKind, (client: Client, options?: CallOptions) => AsyncGenerator<Candidate>> = {
  async *project({ projects }, options) {
    for await (const { id, name } of paginate((call) => projects.list(call, options), {}))
      yield { id, key: null, names: [name] }
  },
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
  async *door({ doors }, options) {
    for await (const { id, name } of paginate((call) => doors.list(call, options), { revoked: false }))
      yield { id, key: null, names: [name] }
  },
}

/** All of what comes one after the other. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Fewer letters of an id are taken for a mistyped name. */
export const SHORTEST_PREFIX = 4
const MAX_LISTED = 10

/**
 * The id of what is called so.
 * @throws CliError where nothing is called so, UsageError with a list where several are
 */
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
    throw new CliError(`There is no ${kind} called ${text}`, {
      code: 'NOT_FOUND',
      details: { [kind]: text },
      // The list of identities is the operator's, and holds those of other workspaces too.
      hint:
        kind === 'identity'
          ? 'passes api GET /v1/identities shows those of this workspace; on the server passes identity use gives it one.'
          : `passes ${kind} list shows what there is.`,
    })
  }
  if (found.length === 1) return found[0]!.id
  throw ambiguousName(text, {
    what: kind,
    total: found.length,
    found: found.map(({ id, key, names }) => ({ id, name: key ?? names[0] })),
  })
}

/** The error for a name or the start of an id that fits several rows: lists the first ten. */
export function ambiguousName(
  text: string,
  { what, total, found }: { what: string; total: number; found: readonly { id: string; name: string | undefined }[] },
): UsageError {
  const listed = found.slice(0, MAX_LISTED)
  const lines = listed.map(({ id, name }) => [id, name].join('  '))
  const more = total > listed.length ? [`and ${total - listed.length} more`] : []
  const plural = what === 'pass' ? 'passes' : `${what.replace(/y$/, 'ie')}s`
  return new UsageError([`${text} may be any of ${total} ${plural}:`, ...lines, ...more].join('\n'), {
    hint: 'give the id, or more of it.',
    details: { [what]: text, ids: listed.map(({ id }) => id) },
  })
}
