import { type Client, walk } from '../../client/client.ts'
import { Uuid } from '../../core/ids.ts'
import { CliError, UsageError } from '../command/errors.ts'

/** What may be named by its key, its exact name or the beginning of its id, wherever an id is expected. */
export type NamedKind = 'project' | 'template' | 'webhook'

interface Mark {
  kind: NamedKind
  /** The word none (null in the interface) stands for nothing of this kind. */
  mayBeNone: boolean
}

/** Marks an argument or flag whose text names a row: the command gets the id. */
export function named<T extends object>(kind: NamedKind, input: T, { mayBeNone = false } = {}): T {
  return Object.assign(input, { named: { kind, mayBeNone } satisfies Mark })
}

/** Replaces what names a row by its id, in the values of the inputs that are marked. */
export async function resolveNames(
  inputs: Readonly<Record<string, object>>,
  values: Record<string, unknown>,
  connect: () => Client,
): Promise<void> {
  const listed = new Map<NamedKind, Promise<Candidate[]>>()
  const list = (kind: NamedKind) => {
    const known = listed.get(kind) ?? readAll(candidates[kind](connect()))
    listed.set(kind, known)
    return known
  }
  for (const [name, input] of Object.entries(inputs)) {
    const value = values[name]
    if (!('named' in input) || value === undefined) continue
    const { kind, mayBeNone } = input.named as Mark
    const idOf = async (text: string) => {
      if ((mayBeNone && (text === 'none' || text === 'null')) || Uuid.safeParse(text).success) return text
      return findId(await list(kind), kind, text)
    }
    values[name] = Array.isArray(value) ? await Promise.all(value.map(idOf)) : await idOf(String(value))
  }
}

interface Candidate {
  id: string
  key: string | null
  names: readonly string[]
}

const candidates: Record<NamedKind, (client: Client) => AsyncGenerator<Candidate>> = {
  async *project({ projects }) {
    for await (const { id, name } of walk((call) => projects.list(call), {})) yield { id, key: null, names: [name] }
  },
  async *template({ templates }) {
    for await (const { id, key, name } of walk((call) => templates.list(call), {})) yield { id, key, names: [name] }
  },
  async *webhook({ webhooks }) {
    for await (const { id, url, description } of walk((call) => webhooks.list(call), {})) {
      yield { id, key: null, names: [url, description] }
    }
  },
}

async function readAll<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** Fewer letters of an id are taken for a mistyped name. */
const SHORTEST_PREFIX = 4

/** @throws CliError where nothing is called so, UsageError with a list where several are */
function findId(listed: readonly Candidate[], kind: NamedKind, text: string): string {
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
      hint: `passes ${kind} list shows what there is.`,
    })
  }
  if (found.length === 1) return found[0]!.id
  const list = found.map(({ id, key, names }) => [id, key ?? names[0]].join('  '))
  throw new UsageError([`${text} may be any of ${found.length} ${kind}s:`, ...list].join('\n'), {
    hint: 'give the id, or more of it.',
    details: { [kind]: text, ids: found.map(({ id }) => id) },
  })
}
