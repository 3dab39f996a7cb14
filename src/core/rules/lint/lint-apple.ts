import type { Definition, PassType } from '../../contract/schemas/definition.ts'
import type { Warning } from '../../contract/schemas/warnings.ts'
import { aboutOf, appleKeys, missingSemanticTags, semanticBoardingTags } from '../display/about.ts'
import { type FrontField, type FrontRow, layOutFront, logoTextWidth, roomForLogoText } from '../display/apple-front.ts'
import { isPosterType } from '../display/card.ts'
import { isPosterTicket } from '../display/poster.ts'
import { fill, fillDeep, placeholdersDeep, stringsDeep } from '../template/placeholder.ts'
import { exampleScope } from '../template/resolve.ts'
import { type AppleFacts, pathIn, quote, warn } from './lint-facts.ts'

export function* lintApple(facts: AppleFacts): Generator<Warning> {
  yield* lintFields(facts)
  yield* lintBoarding(facts)
  yield* lintPosterTicket(facts)
}

function* lintFields({ definition, passType, apple, images }: AppleFacts): Generator<Warning> {
  if (!apple) return
  const rows = layOutFront(apple)
  for (const row of rows) {
    if (row.surplus.length > 0) yield surplusWarning(definition, passType, row)
    for (const field of row.fields) {
      if (field.width > field.room) yield cutWarning(definition, passType, field)
    }
  }
  yield* lintPosterGroups(definition, passType)
  const { logo } = images
  const room = roomForLogoText(apple, rows[0]!, logo && logo.width / logo.height)
  const width = logoTextWidth(apple.logoText ?? '')
  if (width > room) {
    yield warn(
      'text-cut',
      definition.apple?.logoText === undefined ? ['design', 'logoText'] : ['apple', 'logoText'],
      `An iPhone cuts ${quote(apple.logoText!)}: it is about ${Math.round(width)} points wide, and the logo ` +
        `and the header leave ${Math.round(room)}. Shorten it, or remove it if the logo contains the name`,
    )
  }
}

/** Warns about groups of fields that only a poster shows, in the classic style of a type whose poster is another style. */
function* lintPosterGroups({ apple }: Definition, passType: PassType): Generator<Warning> {
  if (!isPosterType(passType)) return
  for (const group of ['footerFields', 'additionalInfoFields']) {
    const written: unknown = Object(apple?.[passType])[group]
    if (!Array.isArray(written) || written.length === 0) continue
    const path = ['apple', passType, group]
    yield warn(
      'fields-over',
      path,
      `An iPhone does not show ${path.join('.')}: only a poster has these fields. Move them to the back, or to ` +
        `apple.posterGeneric.${group}`,
    )
  }
}

function surplusWarning(definition: Definition, passType: PassType, { name, max, surplus }: FrontRow): Warning {
  const groups =
    name === 'secondary' && surplus.some(({ group }) => group === 'auxiliary')
      ? 'secondary and auxiliary fields together'
      : `${name} ${max === 1 ? 'field' : 'fields'}`
  const keys = surplus.map(({ key }) => key).join(', ')
  return warn(
    'fields-over',
    pathOf(definition, passType, surplus[0]!),
    `An iPhone shows ${max} ${groups} on this pass, so these are not shown: ${keys}. Move them to the back, ` +
      'or remove them',
  )
}

function cutWarning(definition: Definition, passType: PassType, field: FrontField): Warning {
  const { label, value, width, room } = field
  return warn(
    'text-cut',
    pathOf(definition, passType, field),
    `An iPhone cuts ${quote(value || label)}: ${label && value ? `with its label ${quote(label)} it` : 'it'} ` +
      `is about ${Math.round(width)} points wide, and the row has space for ${Math.round(room)}. Shorten it, show ` +
      'fewer fields in the row, or move it to the back. The width of a variable is that of its example or default ' +
      '(the longer one), or that of maxLength letters if it has neither',
  )
}

/** Warns about missing facts of a trip by air. Assumes that a variable without an example has a valid value. */
function* lintBoarding({ definition, passType, apple }: AppleFacts): Generator<Warning> {
  const { trip } = definition
  if (!apple || passType !== 'boardingPass' || trip?.mode !== 'air') return
  const scope = exampleScope(definition)
  const keys = appleKeys(aboutOf(definition, scope), fillDeep(definition.apple ?? {}, scope))
  for (const tag of missingSemanticTags(keys)) {
    const [fact, part = ''] = semanticBoardingTags[tag]
    const written = trip[fact]
    const text = typeof written === 'object' ? new Map(Object.entries(written)).get(part) : written
    if ([...placeholdersDeep(text)].some(({ name }) => !scope.has(name))) continue
    const path = ['trip', ...semanticBoardingTags[tag]]
    yield warn(
      'semantic-boarding-data-missing',
      path,
      `iPhones show the classic boarding pass instead of the semantic one of iOS 26: add ${path.join('.')}`,
    )
  }
}

/** The tags that Apple requires for a poster ticket in addition to the names of event and venue (decisions/0030). */
const posterTags = ['venueRegionName', 'venueRoom']
const posterTagsOfType: Record<string, string[]> = {
  PKEventTypeLivePerformance: ['performerNames'],
  PKEventTypeSports: ['homeTeamAbbreviation', 'awayTeamAbbreviation'],
}

/** Warns about missing semantic tags of a poster ticket. Assumes that a variable without an example has a value. */
function* lintPosterTicket({ definition, passType, apple }: AppleFacts): Generator<Warning> {
  if (!apple || passType !== 'eventTicket' || !isPosterTicket(definition.apple)) return
  const scope = exampleScope(definition)
  const tags = new Map<string, unknown>(Object.entries(Object(definition.apple?.semantics)))
  const type = fill(String(tags.get('eventType')), scope)
  for (const tag of [...posterTags, ...(posterTagsOfType[type] ?? [])]) {
    const written = tags.get(tag)
    const isSaid = stringsDeep(fillDeep(written, scope)).some(({ text }) => text.trim() !== '')
    if (isSaid || [...placeholdersDeep(written)].some(({ name }) => !scope.has(name))) continue
    yield warn(
      'poster-event-data-missing',
      ['apple', 'semantics', tag],
      `iPhones can show the event ticket instead of the poster: Apple requires apple.semantics.${tag}`,
    )
  }
}

function pathOf(definition: Definition, passType: PassType, { key, group }: FrontField): Warning['path'] {
  return pathIn(definition, key) ?? ['apple', passType, `${group}Fields`]
}
