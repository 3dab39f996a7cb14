import type { Definition, PassType } from '../../../core/contract/schemas/definition.ts'
import { fieldGroups } from '../../../core/contract/schemas/definition.ts'
import type { Issue } from '../../../core/errors.ts'
import { parseAs } from '../../../core/errors.ts'
import { isJsonObject } from '../../../core/json.ts'
import { appleOf, mergeUnder } from '../../../core/rules/display/about.ts'
import { semanticTags } from '../../../core/rules/display/flight.ts'
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
 * Returns the overrides that Apple would reject, with their paths in the definition. Values without an example or a
 * default are only checked for each pass.
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

export function compileOverrides(definition: Definition, passType: PassType): ((scope: Scope) => Issue[]) | undefined {
  const [first] = placeholdersDeep(definition.apple)
  if (!first) return undefined
  return (scope) =>
    findIssues(definition, passType, scope).flatMap(({ path, message }) => {
      const [name] = textsAt(definition, path).flatMap(placeholdersIn)
      if (name === undefined) return []
      return [{ path: pathOfValue(name), message: `${message}: ${path.join('.')} uses it` }]
    })
}

function findIssues(definition: Definition, passType: PassType, scope: Scope): Issue[] {
  const ofStyle = definition.apple?.[passType]
  // Report a value of the wrong type here, because the creation of pass.json would silently omit it.
  if (ofStyle !== undefined && !isJsonObject(ofStyle))
    return [{ path: ['apple', passType], message: 'Must be an object' }]
  const shown = applyOverrides({ [passType]: keysOf(definition) }, fillDeep(definition.apple ?? {}, scope), passType)
  const result = parseAs(Overrides, shown)
  if (!('issues' in result)) return []
  return result.issues.map(({ path, message }) => ({ path: pathInDefinition(path, definition), message }))
}

/** Returns the fields that overrides can replace, to find duplicate keys. */
function keysOf({ design }: Definition): JsonObject {
  return Object.fromEntries(
    fieldGroups.map((group) => [groupNames[group], design.fields[group].map(({ key }) => ({ key, value: '' }))]),
  )
}

/** Returns the path in the definition. `transitType` can be at the top of the overrides or in the style. */
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

/**
 * Checks the rules of Apple's pass-builder for poster tickets. If a ticket breaks one, phones silently show the older
 * style.
 */
export function* checkPoster(definition: Definition, passType: PassType): Generator<Issue> {
  const { apple = {}, design, event } = definition
  if (apple.poster !== true) return
  if (passType !== 'eventTicket') yield { path: ['apple', 'poster'], message: 'Only an eventTicket can be a poster' }
  const tags = semanticTags(mergeUnder(appleOf({ event }), apple))
  if (!tags.text('eventName')) yield { path: ['event', 'name'], message: 'A poster ticket needs the name of the event' }
  if (!tags.text('venueName')) {
    yield { path: ['event', 'venue', 'name'], message: 'A poster ticket needs the name of the venue' }
  }
  if (design.images.artwork === undefined && design.images.background === undefined) {
    yield { path: ['design', 'images', 'artwork'], message: 'A poster ticket needs an artwork or a background' }
  }
  const nfc = apple.nfc as { requiresAuthentication?: unknown } | undefined
  if (!nfc) {
    yield { path: ['apple', 'nfc'], message: 'A poster ticket is read by NFC: give nfc, with requiresAuthentication' }
  } else if (nfc.requiresAuthentication !== true) {
    yield { path: ['apple', 'nfc', 'requiresAuthentication'], message: 'Must be true on a poster ticket' }
  }
}
