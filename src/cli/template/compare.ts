import { isDeepStrictEqual } from 'node:util'
import { printable } from '../command/output.ts'

/** A value that differs, with its path; undefined where one side has none. */
export interface Change {
  path: string
  before?: unknown
  after?: unknown
}

/** Every difference of two JSON values. Items of lists are matched by their key or name, others by their place. */
export function findChanges(before: unknown, after: unknown, path = ''): Change[] {
  if (isDeepStrictEqual(before, after)) return []
  const [old, wanted] = [membersOf(before), membersOf(after)]
  if (!old || !wanted || Array.isArray(before) !== Array.isArray(after)) {
    return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }]
  }
  const names = [...new Set([...old.keys(), ...wanted.keys()])]
  const changes = names.flatMap((name) =>
    findChanges(old.get(name), wanted.get(name), path === '' ? name : `${path}.${name}`),
  )
  // The same items in another order.
  return changes.length > 0 ? changes : [{ path, before: [...old.keys()], after: [...wanted.keys()] }]
}

/** A line with - for what goes and one with + for what comes. */
export function showChanges(changes: readonly Change[]): string {
  return changes
    .flatMap(({ path, before, after }) => [
      ...(before === undefined ? [] : [`- ${path}: ${textOf(before)}`]),
      ...(after === undefined ? [] : [`+ ${path}: ${textOf(after)}`]),
    ])
    .join('\n')
}

function textOf(value: unknown): string {
  return printable(JSON.stringify(value))
}

/** The parts of an object or a list by name; undefined for anything else. */
function membersOf(value: unknown): Map<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value)) return new Map(Object.entries(value).filter(([, part]) => part !== undefined))
  const names = value.map((item, index) => String(item?.key ?? item?.name ?? index))
  const areUnique = new Set(names).size === names.length
  return new Map(value.map((item, index) => [areUnique ? names[index]! : String(index), item]))
}
