import type { Client } from '../../client/client.ts'
import { type Definition, type VariableDefinition, VariableFormat } from '../../core/contract/definition.ts'
import { PassCreate } from '../../core/contract/passes.ts'
import type { Issue } from '../../core/errors.ts'
import { compilePass } from '../../core/rules/pass/pass-rules.ts'
import { inLanguage } from '../../core/rules/template/definition-languages.ts'
import { variablesSchema } from '../../core/rules/template/variables.ts'
import { NIL_UUID } from '../../core/uuid.ts'
import {
  badHeader,
  GROUP_COLUMN,
  type HeaderColumn,
  headerProblems,
  matchHeader,
  missingColumn,
  namelessWarning,
  type RowCheck,
  unknownWarning,
  variableColumns,
} from '../bulk/check-rows.ts'
import type { Columns } from '../bulk/row-action.ts'
import { CliError } from '../command/cli-error.ts'

export interface ColumnOptions {
  externalIdColumn: string
  labelColumn: string
  /** If undefined, the column `groupKey` is used, unless it is a variable of the template. */
  groupColumn?: string | undefined
}

export interface IssueColumns extends Columns {
  label: number
  /** -1 if the file has no group column. */
  group: number
  variables: HeaderColumn[]
}

/**
 * Matches the header with the variables of the template.
 * @throws CliError that lists every problem of the header
 */
export function planColumns(
  header: string[],
  declared: readonly VariableDefinition[],
  { externalIdColumn, labelColumn, groupColumn }: ColumnOptions,
): IssueColumns {
  const known = new Set(declared.map((variable) => variable.name))
  const errorColumn = known.has('error') ? 'issue_error' : 'error'
  const ofGroup = groupColumn ?? (known.has(GROUP_COLUMN) ? '' : GROUP_COLUMN)
  const own = [externalIdColumn, labelColumn, ...(ofGroup === '' ? [] : [ofGroup])]
  const { names, notes, ...matched } = matchHeader(header, [...own, ...known])
  const variables = variableColumns(names, [...own, errorColumn])
  const problems = [
    ...matched.problems,
    ...missingColumn(names, externalIdColumn, 'the external ID', '--external-id-column'),
    ...missingColumn(names, labelColumn, 'the label', '--label-column'),
    ...(groupColumn ? missingColumn(names, groupColumn, 'the group', '--group-column') : []),
    ...declared
      .filter((variable) => variable.required && !variables.some(({ name }) => name === variable.name))
      .map(({ name, label }) => `Column ${name} (${label}) not found, but the template requires it`),
    ...headerProblems(header, variables),
  ]
  const unknown = [...new Set(variables.map(({ name }) => name))].filter((name) => !known.has(name))
  if (problems.length > 0) {
    if (unknown.length > 0) problems.push(`Columns without a variable in the template: ${unknown.join(', ')}`)
    const hint = 'passes template schema TEMPLATE shows every variable.'
    throw badHeader('The header of the file does not match the template', problems, header, hint)
  }
  return {
    header,
    externalId: names.indexOf(externalIdColumn),
    label: names.indexOf(labelColumn),
    group: ofGroup === '' ? -1 : names.indexOf(ofGroup),
    variables,
    errorColumn,
    notes,
    warnings: [...unknownWarning(unknown), ...namelessWarning(header)],
  }
}

export interface IssuedTemplate {
  id: string
  name: string
  /** The definition of the published version, which new passes use. */
  definition: Definition
}

/**
 * Reads the published version, so that rows are checked by all of the server's rules, including those that its
 * variables schema cannot express.
 * @throws ApiError; CliError for a template that was never published
 */
export async function readIssuedTemplate(client: Client, id: string): Promise<IssuedTemplate> {
  const { name, latestPublishedVersion } = await client.templates.get({ params: { id } })
  const versions = await client.templateVersions.list({ query: { templateId: id } })
  const version = versions.find((one) => one.stage === 'published' && one.version === latestPublishedVersion)
  if (!version) {
    const message = `The template ${name} has no published version`
    throw new CliError(message, { code: 'TEMPLATE_NOT_FOUND', hint: 'publish one: passes template publish.' })
  }
  const { definition } = await client.templateVersions.get({ params: { id: version.id } })
  return { id, name, definition: asEvaluated(inLanguage(definition)) }
}

/**
 * Returns the definition with variables marked as required if passes need them. Removes unknown formats, which only a
 * newer server can check.
 */
export function asEvaluated(definition: Definition): Definition {
  const known = definition.variables.map(({ format, ...variable }) =>
    VariableFormat.safeParse(format).success ? { ...variable, format } : variable,
  )
  const { required } = variablesSchema({ ...definition, variables: known })
  const variables = known.map((variable) => ({ ...variable, required: required.includes(variable.name) }))
  return { ...definition, variables }
}

/** Checks a row with the server's rules, before it is sent. An empty cell means no value. */
export function compileRow(columns: IssueColumns, template: IssuedTemplate): RowCheck<PassCreate> {
  const check = compilePass(template.definition)
  return (cells) => {
    const given = columns.variables.filter(({ index }) => cells[index] !== '')
    const item = {
      externalPassId: cells[columns.externalId]!,
      label: cells[columns.label]!,
      templateId: template.id,
      variables: Object.fromEntries(given.map(({ name, index }) => [name, cells[index]!])),
      ...(cells[columns.group] && { groupKey: cells[columns.group] }),
    }
    const parsed = PassCreate.safeParse(item)
    const checked = check({ ...item, ...NOT_YET_KNOWN, templateName: template.name })
    const errors = [
      ...(parsed.error?.issues ?? []).map(({ path, message }) => `${nameOf(columns, String(path[0]))}: ${message}`),
      ...('issues' in checked ? checked.issues.map((issue) => describe(issue, columns)) : []),
    ]
    return errors.length > 0 ? { errors } : { item }
  }
}

/** Placeholders for values that the server generates, with the final length. */
export const NOT_YET_KNOWN = { id: NIL_UUID, scanCode: 'x'.repeat(26), projectName: null }

function describe({ path: [part, ...rest], message }: Issue, columns: IssueColumns): string {
  if (part === 'label' || part === 'externalPassId') return `${nameOf(columns, part)}: ${message}`
  const place = part === 'variables' && rest.length > 0 ? rest : [part ?? 'variables', ...rest]
  return `${place.join('.')}: ${message}`
}

function nameOf(columns: IssueColumns, property: string): string {
  const places: Record<string, number> = { label: columns.label, groupKey: columns.group }
  return columns.header[places[property] ?? columns.externalId]!
}
