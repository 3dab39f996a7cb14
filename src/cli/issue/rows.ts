import type { Client } from '../../client/client.ts'
import { PassCreate } from '../../core/contract/passes.ts'
import { type Definition, type VariableDefinition, VariableFormat } from '../../core/contract/schemas/definition.ts'
import { compilePass } from '../../core/rules/pass/pass-rules.ts'
import { inLanguage } from '../../core/rules/template/definition-languages.ts'
import { variablesSchema } from '../../core/rules/template/variables.ts'
import { NIL_UUID } from '../../core/uuid.ts'
import {
  GROUP_COLUMN,
  idColumn,
  namedColumn,
  type PlannedColumns,
  planHeader,
  type RowCheck,
  rowErrors,
} from '../bulk/check-rows.ts'
import { CliError } from '../command/cli-error.ts'

export interface ColumnOptions {
  externalIdColumn: string
  labelColumn: string
  /** The column of the group key. By default, the column `groupKey`, unless it is a variable of the template. */
  groupColumn?: string | undefined
}

export type IssueColumns = PlannedColumns<'externalId' | 'label' | 'group'>

/** @throws CliError that lists every problem of the header */
export function planColumns(
  header: string[],
  declared: readonly VariableDefinition[],
  { externalIdColumn, labelColumn, groupColumn }: ColumnOptions,
): IssueColumns {
  const known = declared.map(({ name }) => name)
  const ofGroup = known.includes(GROUP_COLUMN) ? undefined : GROUP_COLUMN
  const own = {
    externalId: idColumn(externalIdColumn),
    label: { name: labelColumn, required: ['the label', '--label-column'] },
    group: namedColumn(groupColumn, ofGroup, 'the group', '--group-column'),
  } as const
  return planHeader(header, own, {
    declared: known,
    errorColumn: known.includes('error') ? 'issue_error' : 'error',
    problemsOf: ({ variables }) =>
      declared
        .filter((variable) => variable.required && !variables.some(({ name }) => name === variable.name))
        .map(({ name, label }) => `Column ${name} (${label}) not found, but the template requires it`),
    message: 'The header of the file does not match the template',
    hint: 'to see every variable, run "passes template schema TEMPLATE".',
  })
}

export interface IssuedTemplate {
  id: string
  name: string
  /** The definition of the published version, which new passes use. */
  definition: Definition
}

/**
 * Reads the published version, so that rows are checked by all of the server's rules, including rules that the
 * version's variables schema cannot express.
 * @throws ApiError; CliError for a template that was never published
 */
export async function readIssuedTemplate(client: Client, id: string): Promise<IssuedTemplate> {
  const { name, latestPublishedVersion } = await client.templates.get({ params: { id } })
  const versions = await client.templateVersions.list({ query: { templateId: id } })
  const version = versions.find((one) => one.stage === 'published' && one.version === latestPublishedVersion)
  if (!version) {
    const message = `The template ${name} has no published version`
    throw new CliError(message, { code: 'TEMPLATE_NOT_FOUND', hint: 'publish one with "passes template publish".' })
  }
  const { definition } = await client.templateVersions.get({ params: { id: version.id } })
  return { id, name, definition: asEvaluated(inLanguage(definition)) }
}

/**
 * Returns the definition with `required` set for each variable that the server requires. Removes unknown formats, which
 * only a newer server can check.
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
    const places = { externalPassId: columns.externalId, label: columns.label, groupKey: columns.group }
    const errors = [
      ...rowErrors(parsed.error?.issues, columns, places),
      ...rowErrors('issues' in checked ? checked.issues : [], columns, places),
    ]
    return errors.length > 0 ? { errors } : { item }
  }
}

/** Placeholders for values that the server generates, with the final length. */
export const NOT_YET_KNOWN = { id: NIL_UUID, scanCode: 'x'.repeat(26), projectName: null }
