import { type FieldGroup, fieldGroups, PassType } from '../../../core/contract/schemas/definition.ts'
import { isJsonObject } from '../../../core/json.ts'
import { posterPlaces } from '../../../core/rules/display/poster.ts'
import { CliError } from '../../command/cli-error.ts'
import { appleField, type DesignField, type FieldContext, listFields, readGroup, type SourceField } from './fields.ts'
import type { JsonObject } from './report.ts'
import { readValue } from './values.ts'

const POSTER = 'posterGeneric'

/** The groups of a classic style, with the maximum number of fields that a design allows. */
const classicGroups = {
  header: { name: 'headerFields', max: 3 },
  primary: { name: 'primaryFields', max: 3 },
  secondary: { name: 'secondaryFields', max: 8 },
  auxiliary: { name: 'auxiliaryFields', max: 8 },
  back: { name: 'backFields', max: 50 },
} as const satisfies Record<FieldGroup, { name: string; max: number }>

export interface ReadStyles {
  passType: PassType
  transitType: unknown
  hasPoster: boolean
  fields: Partial<Record<FieldGroup, DesignField[]>>
  /** The field groups that `apple` overrides, by style. */
  overrides: Record<string, JsonObject>
}

/**
 * Reads the fields of all styles. If a template has only the poster of iOS 27, derives the classic style from it.
 * @throws CliError if there is no style
 */
export function readStyles(pass: JsonObject, context: FieldContext): ReadStyles {
  const { report } = context
  const [passType, ...others] = PassType.options.filter((name) => isJsonObject(pass[name]))
  for (const name of others)
    report.unmapped.push({ path: name, reason: `A template file has one style, and the import uses ${passType}` })
  const poster = isJsonObject(pass[POSTER]) ? pass[POSTER] : undefined
  if (passType === undefined) {
    if (!poster) throw new CliError('The template has no style, such as generic or eventTicket')
    return { passType: 'generic', transitType: undefined, hasPoster: true, ...readPosterOnly(poster, context) }
  }
  const classic = pass[passType] as JsonObject
  const isPair = poster !== undefined && (passType === 'generic' || passType === 'storeCard' || passType === 'coupon')
  if (poster && !isPair) report.unmapped.push({ path: POSTER, reason: `A ${passType} cannot have this style` })
  const other = isPair ? otherPosterGroups(poster, classic) : []
  const { fields, overrides } = readClassic(passType, classic, context, other.length > 0)
  return {
    passType,
    transitType: classic.transitType,
    hasPoster: isPair,
    fields,
    overrides: { ...overrides, ...(isPair && { [POSTER]: readPosterGroups(poster, other, context) }) },
  }
}

function readClassic(style: string, classic: JsonObject, context: FieldContext, inApple: boolean) {
  const { report } = context
  const fields: ReadStyles['fields'] = {}
  const override: JsonObject = {}
  for (const group of fieldGroups) {
    const { name, max } = classicGroups[group]
    const sources = listFields(classic, style, name, report).map((found) => ({ ...found, group }))
    for (const { path } of sources.slice(max)) {
      report.unmapped.push({ path, reason: `A design has at most ${max} ${group} fields` })
    }
    const read = readGroup(sources.slice(0, max), context, inApple && sources.length > 0)
    if (read.fields.length > 0) fields[group] = read.fields
    if (read.override && read.lost.length > 0) {
      override[name] = read.override
      report.kept.push({ path: `${style}.${name}`, reason: `A design has no ${read.lost.join(', ')}` })
    }
  }
  for (const name of ['additionalInfoFields', 'footerFields']) {
    const group = readOwnGroup(classic, style, name, context)
    if (group) override[name] = group
  }
  return { fields, overrides: Object.keys(override).length > 0 ? { [style]: override } : {} }
}

/** Reads a group that a design does not have, as an override for `apple`. Returns `undefined` if the group is empty. */
function readOwnGroup(style: JsonObject, styleName: string, name: string, context: FieldContext) {
  const sources = listFields(style, styleName, name, context.report)
  if (sources.length === 0) return undefined
  context.report.kept.push({ path: `${styleName}.${name}`, reason: 'A design does not have this group' })
  return readGroup(
    sources.map((found) => ({ ...found, group: 'back' as const })),
    context,
    true,
  ).override
}

/**
 * Reads a template that has only a poster. The classic style has one primary field: the first one of the poster. The
 * other primary fields of the poster become secondary fields.
 */
function readPosterOnly(poster: JsonObject, context: FieldContext): Pick<ReadStyles, 'fields' | 'overrides'> {
  const { report } = context
  const override: JsonObject = {}
  const read = ({ group: name, max }: { group: string; max: number }, groupOf: (index: number) => FieldGroup) => {
    const found = listFields(poster, POSTER, name, report)
    for (const { path } of found.slice(max)) {
      report.unmapped.push({ path, reason: `A poster shows at most ${max} of these fields` })
    }
    const sources: SourceField[] = found.slice(0, max).map((one, index) => ({ ...one, group: groupOf(index) }))
    const group = readGroup(sources, context)
    if (group.override) {
      override[name] = group.override
      report.kept.push({ path: `${POSTER}.${name}`, reason: `A design has no ${group.lost.join(', ')}` })
    }
    return group.fields
  }
  const [headerPlace, primaryPlace, footerPlace] = posterPlaces
  const header = read(headerPlace, () => 'header')
  const primary = read(primaryPlace, (index) => (index === 0 ? 'primary' : 'secondary'))
  const groups = {
    header,
    primary: primary.slice(0, 1),
    secondary: primary.slice(1),
    auxiliary: read(footerPlace, () => 'auxiliary'),
    back: read({ group: 'backFields', max: classicGroups.back.max }, () => 'back'),
  }
  const more = readOwnGroup(poster, POSTER, 'additionalInfoFields', context)
  if (more) override.additionalInfoFields = more
  return {
    fields: Object.fromEntries(Object.entries(groups).filter(([, fields]) => fields.length > 0)),
    overrides: Object.keys(override).length > 0 ? { [POSTER]: override } : {},
  }
}

/** Maps each group of a poster to the classic groups from which the service copies its fields. */
const posterSources: Record<string, string[]> = {
  headerFields: ['headerFields'],
  primaryFields: ['primaryFields', 'secondaryFields'],
  footerFields: ['auxiliaryFields'],
  backFields: ['backFields'],
}

/** Returns the poster groups that the service would not derive from the classic style. */
function otherPosterGroups(poster: JsonObject, classic: JsonObject): string[] {
  const plain = (style: JsonObject, groups: string[]) =>
    JSON.stringify(
      groups
        .flatMap((group) => (Array.isArray(style[group]) ? (style[group] as unknown[]) : []))
        .map((field) => {
          if (!isJsonObject(field)) return field
          const { _id, id, textAlignment, ...rest } = field
          return Object.entries(rest).toSorted(([one], [two]) => (one < two ? -1 : 1))
        }),
    )
  return Object.entries(posterSources).flatMap(([group, sources]) =>
    plain(poster, [group]) === plain(classic, sources) ? [] : [group],
  )
}

function readPosterGroups(poster: JsonObject, groups: readonly string[], context: FieldContext): JsonObject {
  const override: JsonObject = {}
  for (const group of groups) {
    const sources = listFields(poster, POSTER, group, context.report)
    override[group] = sources.map(({ source }) => samePlaceholder(source, context))
    context.report.kept.push({ path: `${POSTER}.${group}`, reason: 'Has other fields than the classic style' })
  }
  const more = readOwnGroup(poster, POSTER, 'additionalInfoFields', context)
  return more ? { ...override, additionalInfoFields: more } : override
}

/**
 * Converts a field of the poster. If the classic style has a field with the same key and value, both fields share its
 * variable.
 */
function samePlaceholder(source: JsonObject, { texts, variables, fieldsByValue }: FieldContext): JsonObject {
  const { text, format } = readValue(source, true)
  if (texts.isTranslated(text)) return appleField(source, { value: texts.inDefault(text) }, texts)
  const key = String(source.key)
  const same = fieldsByValue.get(text)?.find((field) => field.key === key)
  const value = same?.placeholder ?? variables.add({ key, format, ...(text !== '' && { example: text }) })
  return appleField(source, { value }, texts)
}
