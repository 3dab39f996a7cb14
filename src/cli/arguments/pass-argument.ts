import { Args, Flags } from '@oclif/core'
import { type Client, paginate } from '../../client/client.ts'
import type { Pass } from '../../core/contract/passes.ts'
import { Uuid } from '../../core/ids.ts'
import type { Variables } from '../../core/rules/template/variables.ts'
import { CliError, UsageError } from '../command/cli-error.ts'
import { repeatable } from './list-flags.ts'
import { ambiguousName, SHORTEST_PREFIX } from './named.ts'

export const passArgs = {
  id: Args.string({ description: 'External ID, ID, or first characters of the ID of the pass.', required: true }),
}

export const passFlags = {
  external: Flags.boolean({ summary: 'Treat the pass argument as an external ID, even if it looks like an ID.' }),
}

export const ifMatchFlag = {
  'if-match': Flags.string({ summary: 'Revision that the pass must have; otherwise, nothing changes.' }),
}

interface PassReference {
  id: string
  external: boolean
}

/**
 * Finds a pass by id, external id, or id prefix.
 * @throws CliError if no pass matches, UsageError if an id prefix matches several
 */
export async function getPass(client: Client, { id, external }: PassReference): Promise<Pass> {
  if (!external && Uuid.safeParse(id).success) return client.passes.get({ params: { id } })
  const { items } = await client.passes.list({ query: { externalPassId: id, limit: 1 } })
  const pass = items[0] ?? (external ? undefined : await findByPrefix(client, id))
  if (pass) return pass
  throw new CliError(`No pass has the external ID ${id}`, {
    code: 'PASS_NOT_FOUND',
    details: { externalPassId: id },
    hint: 'to find passes by a part of their ID or label, run "passes pass list --search TEXT".',
  })
}

/** Returns the id of the pass. Calls the server only if the text is not an id. */
export async function getPassId(client: Client, { id, external }: PassReference): Promise<string> {
  return !external && Uuid.safeParse(id).success ? id : (await getPass(client, { id, external })).id
}

export function passIdOf(
  client: Client,
  { args, flags }: { args: { id: string }; flags: { external: boolean } },
): Promise<string> {
  return getPassId(client, { id: args.id, external: flags.external })
}

/** The number of hexadecimal digits at the start of an id that encode the creation time in milliseconds. */
const TIME_DIGITS = 12

/** Finds the pass whose id starts with a text. Ids start with the creation time, so the server can search by time. */
async function findByPrefix(client: Client, text: string): Promise<Pass | undefined> {
  const digits = text.toLowerCase().replaceAll('-', '')
  if (!/^0[0-9a-f]+$/.test(digits) || digits.length < SHORTEST_PREFIX) return undefined
  const bound = (filler: string) =>
    new Date(Number.parseInt(digits.slice(0, TIME_DIGITS).padEnd(TIME_DIGITS, filler), 16)).toISOString()
  const query = { createdFrom: bound('0'), createdTo: bound('f') }
  if (digits.length <= TIME_DIGITS) {
    const { items, total } = await client.passes.list({ query: { ...query, limit: 10 } })
    return onlyPass(text, items, total)
  }
  const found: Pass[] = []
  for await (const pass of paginate((call) => client.passes.list(call), query)) {
    if (pass.id.replaceAll('-', '').startsWith(digits)) found.push(pass)
  }
  return onlyPass(text, found, found.length)
}

/** @throws UsageError if several passes were found */
function onlyPass(text: string, found: readonly Pass[], total: number): Pass | undefined {
  if (total < 2) return found[0]
  const named = found.map(({ id, label, externalPassId }) => ({ id, name: `${externalPassId}  ${label}` }))
  throw ambiguousName(text, { what: 'pass', total, found: named })
}

export const variableFlag = Flags.string({
  summary: 'Variable as name=value. Repeatable.',
  ...repeatable,
  default: [],
})

export function splitVariable(text: string): [name: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`--var ${text} must be name=value`)
  return [text.slice(0, at), text.slice(at + 1)]
}

export const existingFlag = Flags.option({
  summary: 'Action if the external ID belongs to a pass with other values: keep it, or update it (default: fail).',
  options: ['keep', 'update'] as const,
})()

export const unsetFlag = Flags.string({
  summary: 'Variable to remove; the default of the template then applies. Repeatable.',
  ...repeatable,
  default: [],
})

export const notifyFlag = Flags.boolean({
  summary:
    'Announce changed fields with a changeMessage on Android phones, too, at most 3 times per pass in 24 h. iPhones ' +
    'always announce them.',
  default: false,
})

/** Returns the variables from `--var` and `--unset`; `undefined` if neither is given. */
export function variablesOf({ var: set, unset }: Record<'var' | 'unset', string[]>): Variables | undefined {
  const given = set.map(splitVariable)
  const both = given.find(([name]) => unset.includes(name))
  if (both) throw new UsageError(`--var and --unset both name ${both[0]}: remove one`)
  if (set.length + unset.length === 0) return undefined
  return Object.fromEntries([...given, ...unset.map((name) => [name, null])])
}
