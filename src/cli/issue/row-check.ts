import type { z } from 'zod'
import { type VariableDefinition, VariableFormat } from '../../core/contract/definition.ts'
import { PassCreate } from '../../core/contract/passes.ts'
import type { VariablesSchema } from '../../core/contract/templates.ts'
import { compileVariables, formatPatterns, MAX_VARIABLES_BYTES, variablesTooLarge } from '../../core/rules/variables.ts'
import type { RowCheck } from '../bulk/check-rows.ts'
import type { IssueColumns } from './columns.ts'

/** The declarations behind a published schema, so that rows are checked by the very rules of the server. */
export function declaredVariables({ schema }: z.output<typeof VariablesSchema>): VariableDefinition[] {
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    label: property.title,
    required: schema.required.includes(name),
    // Another pattern says what an expiry or a policy is made of, or comes from a newer server: that judges the value.
    format: VariableFormat.exclude(['text']).options.find(
      (format) => formatPatterns[format].pattern === property.pattern,
    ),
    ...(typeof property.maxLength === 'number' && { maxLength: property.maxLength }),
  }))
}

/** Checks a row as the server would; what fails is not sent. An empty cell means not given. */
export function compileRow(
  columns: IssueColumns,
  template: { id: string; variables: readonly VariableDefinition[] },
): RowCheck<PassCreate> {
  const checkVariables = compileVariables(template)
  return (cells) => {
    const given = columns.variables.filter(({ index }) => cells[index] !== '')
    const item = {
      externalPassId: cells[columns.externalId]!,
      label: cells[columns.label]!,
      templateId: template.id,
      variables: Object.fromEntries(given.map(({ name, index }) => [name, cells[index]!])),
    }
    const parsed = PassCreate.safeParse(item)
    const errors = [
      ...(parsed.error?.issues ?? []).map(({ path, message }) => `${nameOf(columns, String(path[0]))}: ${message}`),
      ...checkVariables(item.variables).map(({ path, message }) => `${path.slice(1).join('.')}: ${message}`),
      ...(variablesTooLarge(item.variables) ? [`The variables have more than ${MAX_VARIABLES_BYTES} bytes`] : []),
    ]
    return errors.length > 0 ? { errors } : { item }
  }
}

function nameOf(columns: IssueColumns, property: string): string {
  return columns.header[property === 'label' ? columns.label : columns.externalId]!
}
