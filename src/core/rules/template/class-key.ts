import { createHash } from 'node:crypto'
import type { Definition, PassType } from '../../contract/schemas/definition.ts'
import type { Issue } from '../../errors.ts'
import { flightVariables } from '../display/flight.ts'
import { fill, placeholdersDeep, placeholdersIn, placeholdersOfOnePass, type Scope } from './placeholder.ts'

/** The Google class that a pass needs. Passes with the same version and digest share the class and its content. */
export interface ClassClaim {
  /** The digest of the filled `google.classKey`, or else of `values`. Also covers an issuer other than the default. */
  keyDigest: string
  values: Record<string, string>
}

/**
 * Returns the class of a pass, or `undefined` if all passes of the version share one. A class belongs to one issuer, so
 * passes of different issuers never share a class.
 * @param issuer `null` for the default issuer of the server
 */
export function claimClass(
  definition: Definition,
  passType: PassType,
  scope: Scope,
  issuer: string | null = null,
): ClassClaim | undefined {
  if (!hasClassKeys(definition, passType)) return undefined
  const values = classVariables(definition, passType).map((name) => [name, scope.get(name) ?? ''] as const)
  const classKey = definition.google?.classKey
  const key = classKey === undefined ? JSON.stringify(values) : fill(classKey, scope)
  const digest = createHash('sha256')
    .update(issuer === null ? key : `${issuer} ${key}`)
    .digest('hex')
  return { keyDigest: digest.slice(0, DIGEST_LENGTH), values: Object.fromEntries(values) }
}

/** Whether passes of a version need different classes, due to `google.classKey` or placeholders in event or trip. */
export function hasClassKeys(definition: Definition, passType: PassType): boolean {
  if (definition.google?.classKey !== undefined) return true
  return factVariables(definition, passType).some((name) => !isShared(name))
}

function factVariables(definition: Definition, passType: PassType): string[] {
  const { event, trip, google } = definition
  const { kind = passType } = google ?? {}
  if (event && kind === 'eventTicket') {
    const { name, venue, doorsAt, startsAt, endsAt } = event
    return namesDeep([name, venue?.name, venue?.address, doorsAt, startsAt, endsAt])
  }
  return trip && passType === 'boardingPass' ? flightVariables(definition) : []
}

/** The length of a key digest in hex digits. Its 128 bits make collisions infeasible. */
const DIGEST_LENGTH = 32

export function differingNames(some: ClassClaim['values'], others: ClassClaim['values']): string[] {
  return Object.keys(others).filter((name) => some[name] !== others[name])
}

/** The variables of a class, cached because each pass needs them and overrides can hold thousands of values. */
const knownVariables = new WeakMap<Definition, { passType: PassType; names: string[] }>()

function classVariables(definition: Definition, passType: PassType): string[] {
  const known = knownVariables.get(definition)
  if (known?.passType === passType) return known.names
  const names = findClassVariables(definition, passType)
  knownVariables.set(definition, { passType, names })
  return names
}

/** Returns the placeholders in the class key and in the content of a class: `google.class`, event, and flight. */
function findClassVariables(definition: Definition, passType: PassType): string[] {
  const { google } = definition
  const names = [
    ...placeholdersIn(google?.classKey ?? ''),
    ...namesDeep(google?.class),
    ...factVariables(definition, passType),
    ...flightVariables(definition),
  ]
  return [...new Set(names)].filter((name) => !isShared(name))
}

function namesDeep(value: unknown): string[] {
  return [...placeholdersDeep(value)].map(({ name }) => name)
}

function isShared(name: string): boolean {
  return name === 'template.name' || name === 'project.name'
}

/**
 * Checks the class key, and the placeholders in the texts of a class, which all holders of its passes see. Without a
 * class key, `google.class` can contain only the names of the template and the project. With a class key, a placeholder
 * whose value is unique for each pass (see `placeholdersOfOnePass`) is allowed only if the key also contains it.
 */
export function* checkClassTexts({ google, event }: Definition): Generator<Issue> {
  const { classKey } = google ?? {}
  const keyNames = classKey === undefined ? [] : placeholdersIn(classKey)
  if (classKey !== undefined && keyNames.every(isShared)) {
    const message = 'Contains no placeholder of a variable, so all passes would have the same key: remove the key'
    yield { path: ['google', 'classKey'], message }
    return
  }
  const { seat: _, ...shared } = event ?? {}
  for (const { name, path } of classKey === undefined ? [] : placeholdersDeep(shared)) {
    if (keyNames.includes(name) || !placeholdersOfOnePass.has(name)) continue
    const message =
      `Passes with the same google.classKey share a class at Google, so {{${name}}} is not allowed here: ` +
      'remove google.classKey, or add the placeholder to it'
    yield { path: ['event', ...path], message }
  }
  for (const { name, path } of placeholdersDeep(google?.class)) {
    if (isShared(name) || keyNames.includes(name)) continue
    if (classKey !== undefined && !placeholdersOfOnePass.has(name)) continue
    const [shared, remedy] =
      classKey === undefined
        ? ['of the version share its class', 'use google.object, or give each value a class with google.classKey']
        : ['with the same google.classKey share a class', `use google.object, or put {{${name}}} into google.classKey`]
    yield {
      path: ['google', 'class', ...path],
      message: `All passes ${shared} at Google, so {{${name}}} is not allowed here: ${remedy}`,
    }
  }
}
