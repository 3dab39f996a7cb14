import { type Definition, fieldGroups, type PassType } from '../../../core/contract/definition.ts'
import { type Issue, parseAs } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/json.ts'
import { sampleScope } from '../../../core/rules/template/definition.ts'
import {
  fillDeep,
  placeholdersDeep,
  placeholdersIn,
  type Scope,
  stringsDeep,
} from '../../../core/rules/template/placeholder.ts'
import { pathOfValue } from '../../../core/rules/template/rendered-size.ts'
import { applyOverrides, groupNames } from '../pass-json.ts'
import type { JsonObject } from './overrides.ts'
import { Overrides } from './pass-json-schema.ts'

/**
 * What Apple would refuse of a definition's overrides, with paths below the definition. Values that nothing is known of
 * (no example, no default, no format) are left to the check of each pass.
 */
export function checkOverrides(definition: Definition, passType: PassType): Issue[] {
  if (!definition.apple) return []
  const sample = sampleScope(definition)
  const known = new Set(sample.keys())
  for (const { name, example, default: fallback, format = 'text' } of definition.variables) {
    if (example === undefined && fallback === undefined && format === 'text') known.delete(name)
  }
  return findIssues(definition, passType, sample).filter(({ path }) =>
    textsAt(definition, path).every((text) => placeholdersIn(text).every((name) => known.has(name))),
  )
}

/** The check of a pass's values; undefined where the overrides hold none. */
export function compileOverrides(definition: Definition, passType: PassType): ((scope: Scope) => Issue[]) | undefined {
  const [first] = placeholdersDeep(definition.apple)
  if (!first) return undefined
  return (scope) =>
    findIssues(definition, passType, scope).flatMap(({ path, message }) => {
      const [name] = textsAt(definition, path).flatMap(placeholdersIn)
      if (name === undefined) return []
      return [{ path: pathOfValue(name), message: `${message}: ${path.join('.')} is made of it` }]
    })
}

function findIssues(definition: Definition, passType: PassType, scope: Scope): Issue[] {
  const ofStyle = definition.apple?.[passType]
  // Rendering would leave it out without a word.
  if (ofStyle !== undefined && !isJsonObject(ofStyle))
    return [{ path: ['apple', passType], message: 'Must be an object' }]
  const shown = applyOverrides({ [passType]: keysOf(definition) }, fillDeep(definition.apple ?? {}, scope), passType)
  const result = parseAs(Overrides, shown)
  if (!('issues' in result)) return []
  return result.issues.map(({ path, message }) => ({ path: pathInDefinition(path, definition), message }))
}

/** The fields that overrides may replace, so that a key which one of them repeats is found. */
function keysOf({ design }: Definition): JsonObject {
  return Object.fromEntries(
    fieldGroups.map((group) => [groupNames[group], design.fields[group].map(({ key }) => ({ key, value: '' }))]),
  )
}

/** transitType may stand beside the style as well as in it. */
function pathInDefinition(path: Issue['path'], { apple }: Definition): Issue['path'] {
  return path[1] === 'transitType' && apple?.transitType !== undefined ? ['apple', 'transitType'] : ['apple', ...path]
}

/** The texts of the definition at and below a path; none where nothing is there. */
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
