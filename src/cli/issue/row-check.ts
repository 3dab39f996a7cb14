import type { z } from 'zod'
import { type VariableDefinition, VariableFormat } from '../../core/contract/definition.ts'
import { PassCreate } from '../../core/contract/passes.ts'
import type { VariablesSchema } from '../../core/contract/templates.ts'
import { compileVariables, formatPatterns, MAX_VARIABLES_BYTES, variablesTooLarge } from '../../core/rules/variables.ts'
import type { Columns } from './columns.ts'
import type { CsvRow } from './csv.ts'
import { DuplicateIds } from './duplicates.ts'

/** A row of the file that can be sent, or what is wrong with it. */
export type CheckedRow = CsvRow & ({ item: PassCreate; size: number } | { error: string })

/** The declarations behind a published schema, so that rows are checked by the very rules of the server. */
export function declaredVariables({ schema }: z.output<typeof VariablesSchema>): VariableDefinition[] {
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    label: property.title,
    required: schema.required.includes(name),
    // A pattern that is none of ours comes from a newer server, which will judge the value itself.
    format: VariableFormat.exclude(['text']).options.find(
      (format) => formatPatterns[format].pattern === property.pattern,
    ),
    ...(typeof property.maxLength === 'number' && { maxLength: property.maxLength }),
  }))
}

/** Checks every row as the server would; what fails is not sent. An empty cell means not given. */
export async function* checkRows(
  rows: AsyncIterable<CsvRow>,
  columns: Columns,
  template: { id: string; variables: readonly VariableDefinition[] },
): AsyncGenerator<CheckedRow> {
  const check = compileRow(columns, template)
  const ids = new DuplicateIds()
  for await (const row of rows) {
    if (row.problem) {
      yield { ...row, error: row.problem }
      continue
    }
    const checked = check(row)
    if ('error' in checked) {
      yield checked
      continue
    }
    const content = JSON.stringify(checked.item)
    const earlier = ids.add(checked.item.externalPassId, content, row.line)
    yield earlier === undefined
      ? { ...checked, size: Buffer.byteLength(content) }
      : { ...row, error: `${nameOf(columns, 'externalPassId')}: Stands in line ${earlier} already, with other content` }
  }
}

function compileRow(columns: Columns, template: { id: string; variables: readonly VariableDefinition[] }) {
  const checkVariables = compileVariables(template.variables)
  return (row: CsvRow): CheckedRow => {
    const { cells } = row
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
    return errors.length > 0 ? { ...row, error: errors.join('; ') } : { ...row, item, size: 0 }
  }
}

function nameOf(columns: Columns, property: string): string {
  return columns.header[property === 'label' ? columns.label : columns.externalId]!
}
