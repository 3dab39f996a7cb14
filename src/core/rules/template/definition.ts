import {
  type Definition,
  fieldGroups,
  type ImageRole,
  type VariableFormat,
  type WrittenDefinition,
} from '../../contract/schemas/definition.ts'
import { type Issue, listIssues } from '../../errors.ts'
import { mapStrings, valueAt } from '../../json.ts'
import { balanceNamed, balancePlaceholder, balanceTexts } from '../balances/balances.ts'
import { checkBalances } from '../balances/check-balances.ts'
import { estimateWidth } from '../display/apple-front.ts'
import { checkDoor } from '../display/door-view.ts'
import { checkNfc } from '../pass/nfc.ts'
import { barcodeSamples, checkBarcode } from './barcode.ts'
import { checkClassTexts } from './class-key.ts'
import {
  checkLanguages,
  inLanguage,
  languageOf,
  languagesOf,
  translatedPart,
  writtenOf,
} from './definition-languages.ts'
import { checkFacts, factSamples } from './fact-rules.ts'
import { checkFieldTypes, typedSamples } from './field-types.ts'
import { checkImages, isByLanguage } from './image-choice.ts'
import { checkLinks } from './link-schemes.ts'
import {
  literalPart,
  placeholdersIn,
  type Scope,
  type SystemVariable,
  stringsDeep,
  systemVariables,
} from './placeholder.ts'
import { checkRenderWork } from './render-work.ts'
import { checkSizes } from './rendered-size.ts'
import { resolveExpiry, resolveRedemption } from './resolve.ts'
import { policyTexts } from './variable-uses.ts'
import { checkDeclarations } from './variables.ts'

/** Returns all issues that prevent publishing a definition. Paths start below `definition`. */
export function checkDefinition(definition: Definition | WrittenDefinition): Issue[] {
  return listIssues(findIssues(writtenOf(definition)))
}

function* findIssues(written: WrittenDefinition): Generator<Issue> {
  // Check the amount of work first. Otherwise, the other checks could take very long.
  const excess = checkRenderWork(written)
  yield* excess
  if (excess.length > 0) return
  const inItsLanguage = inLanguage(written)
  yield* checkLanguages(written)
  yield* checkImages(written)
  for (const issue of findIssuesIn(inItsLanguage)) {
    yield { ...issue, path: imagePlace(written, issue.path, written.languages?.default) ?? issue.path }
  }
  const found = new Set<string>()
  for (const language of languagesOf(written)) {
    if (language === languageOf(inItsLanguage)) continue
    // Omit the parts that are the same in each language, because the check of the first language covered them.
    const { apple: _, redemption: __, google, ...translated } = translatedPart(written, language)
    const definition = { ...translated, google: { classKey: google?.classKey } }
    for (const issue of [...findTextIssues(definition), ...checkClassTexts(definition)]) {
      const isText = typeof valueAt(written, issue.path) === 'object' && issue.path[1] !== 'images'
      const path = isText ? [...issue.path, language] : imagePlace(written, issue.path, language)
      // Skip an issue outside translations, and an issue that another translation has, too: both are already reported.
      if (!path || found.has(JSON.stringify(issue))) continue
      found.add(JSON.stringify(issue))
      yield { ...issue, path }
    }
  }
}

/**
 * Maps the path of an issue in an image to the written definition, in which the image has a value per language. Returns
 * `undefined` for any other path, and if the image has no value for the language.
 */
function imagePlace(
  { design }: WrittenDefinition,
  path: Issue['path'],
  language: string | undefined,
): Issue['path'] | undefined {
  const [first, second, role, ...rest] = path
  const image = first === 'design' && second === 'images' ? design.images[role as ImageRole] : undefined
  if (!isByLanguage(image) || language === undefined || image[language] === undefined) return undefined
  return ['design', 'images', role!, language, ...rest]
}

function* findIssuesIn(definition: Definition): Generator<Issue> {
  yield* checkDeclarations(definition)
  yield* checkFieldKeys(definition)
  yield* checkBalances(definition)
  yield* checkBalancePlaces(definition)
  yield* findTextIssues(definition)
  yield* checkPolicies(definition)
  yield* checkPolicyTexts(definition)
  yield* checkClassTexts(definition)
  yield* checkBarcode(definition)
  yield* checkNfc(definition)
  yield* checkLinks(definition)
  yield* checkGoogleKeys(definition)
  yield* checkSizes(definition)
}

function* checkGoogleKeys({ google }: Definition): Generator<Issue> {
  for (const role of ['class', 'object'] as const) {
    // Reject keys that make Google notify the holder, because the service could not count these notifications.
    for (const key of ['messages', 'notifyPreference'] as const) {
      if (google?.[role]?.[key] === undefined) continue
      yield {
        path: ['google', role, key],
        message: 'Cannot be set in a definition: to notify holders, send a notification',
      }
    }
  }
  const rotating = google?.object?.rotatingBarcode
  if (rotating === undefined || rotating === null) return
  yield {
    path: ['google', 'object', 'rotatingBarcode'],
    message:
      'Doors cannot read a rotating barcode, so every holder would be rejected: remove it, and use design.barcode',
  }
}

function* findTextIssues(definition: Definition): Generator<Issue> {
  yield* checkFieldTypes(definition)
  yield* checkFacts(definition)
  yield* checkDoor(definition)
  yield* checkPlaceholders(definition)
}

const SYSTEM_SAMPLES: Record<SystemVariable, string> = {
  'pass.id': '0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27',
  'pass.externalPassId': 'SAMPLE-1',
  'pass.label': 'Ada Lovelace',
  'pass.scanCode': 'SAMPLESAMPLESAMPLESAMPLE22',
  'pass.expiresAt': '2030-01-31T23:59:59.999Z',
  'template.name': 'Sample template',
  'project.name': 'Sample project',
}

const SAMPLES: Record<VariableFormat, string> = {
  text: 'Text',
  date: '2030-01-31',
  'date-time': '2030-01-31T18:00:00Z',
  number: '1',
  url: 'https://example.com/',
  email: 'ada@example.com',
  // Leave the sample image empty, because no image ID is valid in every workspace.
  image: '',
}

/** Returns sample values for a definition: its examples, else its defaults, else text in the format of the variable. */
export function sampleScope(definition: Definition): Scope {
  const { variables } = definition
  const typed = samplesOfUses(definition)
  return new Map([
    ...Object.entries(SYSTEM_SAMPLES),
    ...variables.map((variable) => {
      const sample = typed.get(variable.name) ?? SAMPLES[variable.format ?? 'text']
      const fallback = variable.default ?? sample.slice(0, variable.maxLength)
      return [variable.name, variable.example ?? fallback] as const
    }),
    ...balanceTexts(definition, null),
  ])
}

function samplesOfUses(definition: Definition): Map<string, string> {
  return new Map([...barcodeSamples(definition), ...factSamples(definition), ...typedSamples(definition)])
}

/** Returns long sample values: the longer of example and default, else text of `maxLength` characters. */
export function longScope(definition: Definition): Scope {
  const typed = samplesOfUses(definition)
  const long = definition.variables.map(({ name, example, default: fallback, format = 'text', maxLength }) => {
    const [longest] = [example, fallback]
      .filter((value) => value !== undefined)
      .toSorted((a, b) => estimateWidth(b) - estimateWidth(a))
    const isText = format === 'text' && !typed.has(name)
    return [name, longest ?? (isText && maxLength ? LONG_TEXT.slice(0, maxLength) : undefined)] as const
  })
  return new Map([
    ...sampleScope(definition),
    ...long.flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
  ])
}

/** The longest sample value. The front of a pass has no space for longer text. */
const LONG_TEXT = 'The longest value '.repeat(12)

/** Whether a text has a text variable with neither example nor default. Checks of such a text prove nothing. */
export function standsForAnything(definition: Definition, path: Issue['path']): boolean {
  const text = valueAt(definition, path)
  if (typeof text !== 'string') return false
  const names = new Set(placeholdersIn(text))
  return definition.variables.some(
    ({ name, format = 'text', example, default: fallback }) =>
      names.has(name) && format === 'text' && (example ?? fallback) === undefined,
  )
}

function* checkFieldKeys({ design }: Definition): Generator<Issue> {
  const seen = new Set<string>()
  for (const group of fieldGroups) {
    for (const [index, { key }] of design.fields[group].entries()) {
      const path = ['design', 'fields', group, index, 'key']
      if (seen.has(key)) yield { path, message: `Duplicate field key ${key}. Keys must be unique across the pass` }
      seen.add(key)
    }
  }
}

function* checkPlaceholders(definition: Definition): Generator<Issue> {
  const { variables, balances, ...rendered } = definition
  const placed = Object.keys(balances ?? {}).map(balancePlaceholder)
  const known = new Set<string>([...systemVariables, ...variables.map((variable) => variable.name), ...placed])
  for (const { text, path } of stringsDeep(rendered)) {
    for (const name of placeholdersIn(text)) {
      if (!known.has(name)) yield { path, message: `Unknown placeholder {{${name}}}: ${KNOWN_PLACEHOLDERS}` }
      const circular: SystemVariable = 'pass.expiresAt'
      if (name === circular && path[0] === 'expiresAt') {
        yield { path, message: `{{${circular}}} is not allowed in the expiry itself` }
      }
    }
    // Report braces outside placeholders: they are probably a typo, and the pass would show them.
    if (/\{\{|\}\}/.test(literalPart(text)))
      yield { path, message: 'Contains {{ or }} that is not part of a placeholder: write {{name}}' }
  }
}

/**
 * Rejects placeholders of balances in parts of a pass that must not change with the balance: its code, expiry, policy,
 * and group, and the parts that several passes share.
 */
function* checkBalancePlaces({ balances = {}, ...definition }: Definition): Generator<Issue> {
  const { design, expiresAt, redemption, group, event, trip, nfc, google } = definition
  const fixed = {
    design: { barcode: { message: design.barcode?.message } },
    expiresAt,
    redemption,
    group,
    event,
    trip,
    nfc,
    google: { classKey: google?.classKey, linkedPasses: google?.linkedPasses, class: google?.class },
  }
  for (const { text, path } of stringsDeep(fixed)) {
    for (const name of placeholdersIn(text)) {
      const balance = balanceNamed(name)
      if (balance === undefined || !Object.hasOwn(balances, balance)) continue
      yield {
        path,
        message: `{{${balancePlaceholder(balance)}}} is not allowed here, because it changes with each entry`,
      }
    }
  }
}

const KNOWN_PLACEHOLDERS = `declare the variable, or use one of ${systemVariables.join(', ')}`

/** Checks that the variables schema can express a rule for each placeholder in the expiry and the policy. */
function* checkPolicyTexts(definition: Definition): Generator<Issue> {
  const declared = new Set(definition.variables.map(({ name }) => name))
  for (const { path, text, uses } of policyTexts(definition)) {
    if (path[0] === 'expiresAt' && text.includes('pass.expiresAt')) continue
    if (placeholdersIn(text).includes('pass.expiresAt') && definition.expiresAt === null) {
      yield {
        path,
        message: 'The definition has no expiry for {{pass.expiresAt}}: set expiresAt, or remove the placeholder',
      }
    } else if (
      uses === undefined &&
      placeholdersIn(text).every((name) => declared.has(name) || name === 'pass.expiresAt')
    ) {
      yield { path, message: describeTexts(path) }
    }
  }
}

function describeTexts(path: Issue['path']): string {
  const key = String(path.at(-1))
  if (key === 'timezone') return 'A timezone can have the placeholder of one variable only'
  return !['start', 'end', 'expiresAt'].includes(key)
    ? 'Must be a whole number or the placeholder of a variable'
    : 'Is not a date-time: use a placeholder for the whole date-time, or for its date, time, or offset, such as ' +
        '{{date}}T{{time}}Z'
}

/** Checks the parts of expiry and policy that contain no placeholder, because they are the same in every pass. */
function checkPolicies({ expiresAt, timeZone, redemption }: Definition): Issue[] {
  const expiry = expiresAt?.includes('{{') ? undefined : resolveExpiry({ expiresAt, timeZone }, new Map())
  const fixed = mapStrings(redemption, withoutPlaceholder) as typeof redemption
  const policy = resolveRedemption({ redemption: fixed }, new Map())
  return [expiry, policy].flatMap((result) => (result && 'issues' in result ? result.issues : []))
}

/** Returns a text of a policy. Replaces a text with a placeholder by a valid value, or omits a bound of a window. */
function withoutPlaceholder(text: string, path: Issue['path']): string | number | undefined {
  const key = path.at(-1)
  if (!text.includes('{{')) return text
  if (key === 'timezone') return 'UTC'
  return key === 'start' || key === 'end' ? undefined : 1
}
