import { type Definition, fieldGroups, PassType } from '../../../core/contract/schemas/definition.ts'
import type { Issue } from '../../../core/errors.ts'
import { parseAs } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/json.ts'
import { isPosterType } from '../../../core/rules/display/card.ts'
import { sampleScope } from '../../../core/rules/template/definition.ts'
import {
  fillDeep,
  placeholdersDeep,
  placeholdersIn,
  type Scope,
  stringsDeep,
} from '../../../core/rules/template/placeholder.ts'
import { pathOfValue } from '../../../core/rules/template/rendered-size.ts'
import { applyOverrides, groupNames, nfcKeys, pathInAppleOverrides, posterFields } from '../pass-json.ts'
import type { JsonObject } from './overrides.ts'
import { Overrides, unknownKeys } from './pass-json-schema.ts'

/**
 * Returns the overrides that Apple would reject or ignore, with their paths in the definition. A value whose
 * placeholder has neither an example nor a default is checked only in each pass.
 */
export function checkOverrides(definition: Definition, passType: PassType): Issue[] {
  if (!definition.apple) return []
  return [...findUselessKeys(definition.apple, passType), ...checkValues(definition, passType)]
}

/** Finds keys that no phone reads. Only publishing reports them, so that older versions keep working. */
function* findUselessKeys(apple: JsonObject, passType: PassType): Generator<Issue> {
  const { poster: _, transitType: __, ...keys } = apple
  for (const { path, message } of unknownKeys(keys)) yield { path: ['apple', ...path], message }
  for (const other of PassType.options) {
    if (other === passType || keys[other] === undefined) continue
    yield { path: ['apple', other], message: `A pass of this template is a ${passType}: use apple.${passType}` }
  }
}

function checkValues(definition: Definition, passType: PassType): Issue[] {
  const sample = sampleScope(definition)
  const known = new Set(sample.keys())
  for (const { name, example, default: fallback, format = 'text' } of definition.variables) {
    if (example === undefined && fallback === undefined && format === 'text') known.delete(name)
  }
  return findIssues(definition, passType, sample).filter(({ path }) =>
    textsAt(definition, path).every((text) => placeholdersIn(text).every((name) => known.has(name))),
  )
}

export function compileOverrides(definition: Definition, passType: PassType): ((scope: Scope) => Issue[]) | undefined {
  const [first] = placeholdersDeep(definition.apple)
  if (!first) return undefined
  return (scope) =>
    findIssues(definition, passType, scope).flatMap(({ path, message }) => {
      const [cause] = [textsAt(definition, path), textsAt(definition, path.slice(0, -1))]
        .flatMap((texts) => texts.flatMap(placeholdersIn))
        .map(pathOfValue)
        .filter((place) => place.length > 0)
      return cause ? [{ path: cause, message: `${message}: ${path.join('.')} depends on it` }] : []
    })
}

function findIssues(definition: Definition, passType: PassType, scope: Scope): Issue[] {
  // Report values that are not objects. Otherwise, they would be silently left out of pass.json.
  for (const name of [passType, 'posterGeneric', ...(definition.nfc ? ['nfc'] : [])]) {
    const style = definition.apple?.[name]
    if (style !== undefined && !isJsonObject(style)) return [{ path: ['apple', name], message: 'Must be an object' }]
  }
  const { poster, ...overrides } = definition.apple ?? {}
  const fields = keysOf(definition)
  const base = {
    [passType]: fields,
    ...nfcKeys(definition),
    ...(poster === true && isPosterType(passType) && { posterGeneric: posterFields(fields) }),
  }
  const filled = fillDeep(overrides, scope)
  const shown = applyOverrides(base, filled, passType)
  const result = parseAs(Overrides, shown)
  if (!('issues' in result)) return []
  return result.issues
    .filter(({ path }) => isOverridden(path, overrides, definition))
    .map(({ path, message }) => ({
      path: pathInDefinition(pathInAppleOverrides(filled, shown, path), definition),
      message,
    }))
}

/**
 * Whether an issue is about the overrides. Issues of the design's fields and of the NFC message are reported by
 * `checkPoster` and `checkNfc`.
 */
function isOverridden(
  [style, group, ...rest]: Issue['path'],
  { posterGeneric, nfc }: JsonObject,
  definition: Definition,
): boolean {
  if (style === 'nfc' && definition.nfc) return isJsonObject(nfc) && group !== undefined && group in nfc
  if (style !== 'posterGeneric') return true
  return isJsonObject(posterGeneric) && (rest.at(-1) === 'key' || (group !== undefined && group in posterGeneric))
}

/** Returns the design's fields, reduced to their keys, to find keys that the overrides duplicate. */
function keysOf({ design }: Definition): JsonObject {
  return Object.fromEntries(
    fieldGroups.map((group) => [groupNames[group], design.fields[group].map(({ key }) => ({ key, value: '' }))]),
  )
}

/** Converts a path in pass.json to a path in the definition, where `transitType` can be at the top of the overrides. */
function pathInDefinition(path: Issue['path'], { apple }: Definition): Issue['path'] {
  return path[1] === 'transitType' && apple?.transitType !== undefined ? ['apple', 'transitType'] : ['apple', ...path]
}

/** Returns the texts of the definition at and below a path, or an empty list if the path does not exist. */
function textsAt(definition: Definition, path: Issue['path']): string[] {
  let part: unknown = definition
  for (const key of path) {
    const next = (part as Record<string | number, unknown>)[key]
    if (next === undefined || next === null) return []
    part = next
    if (typeof part === 'string') return [part]
  }
  return [...stringsDeep(part)].map(({ text }) => text)
}
