import { expect, test } from 'vitest'
import { checkRows } from '../../../src/cli/bulk/check-rows.ts'
import type { CsvRow } from '../../../src/cli/bulk/csv.ts'
import type { CheckedRow } from '../../../src/cli/bulk/row-action.ts'
import { asEvaluated, type ColumnOptions, compileRow, planColumns } from '../../../src/cli/issue/rows.ts'
import type { PassCreate } from '../../../src/core/contract/passes.ts'
import type { DefinitionInput, VariableDefinition } from '../../../src/core/contract/schemas/definition.ts'
import { parseDefinition } from '../../support/definitions.ts'

type VariableInput = NonNullable<DefinitionInput['variables']>[number]

const templateId = '0198c7a2-70aa-7b1c-8f4e-3d2b9c6a1f27'
const defaults: ColumnOptions = { externalIdColumn: 'externalPassId', labelColumn: 'label' }

const design = { organizationName: 'O', description: 'D' }

/** Returns a definition in the form in which `passes issue` gets it from a server. */
const define = (parts: Partial<DefinitionInput>) => asEvaluated(parseDefinition({ design, ...parts }))
const declare = (...variables: VariableInput[]) => define({ variables }).variables

const seat = { name: 'seat', label: 'Seat', required: true }

async function check(
  header: string[],
  rows: string[][],
  variables: VariableDefinition[],
  definition = { ...define({}), variables },
): Promise<CheckedRow<PassCreate>[]> {
  const source = async function* (): AsyncGenerator<CsvRow> {
    for (const [index, cells] of rows.entries()) yield { cells, line: index + 2, bytes: 0, problem: undefined }
  }
  const checked: CheckedRow<PassCreate>[] = []
  const columns = planColumns(header, variables, defaults)
  const checkRow = compileRow(columns, { id: templateId, name: 'T', definition })
  for await (const row of checkRows(source(), 'externalPassId', checkRow)) checked.push(row)
  return checked
}

const errors = (rows: CheckedRow<PassCreate>[]) => rows.map((row) => ('error' in row ? row.error : undefined))

test('reports all problems of a header at once, with the flags that name other columns', () => {
  const plan = () => planColumns(['id', 'seat.row', 'x', 'x'], declare(seat), defaults)
  expect(plan).toThrow(
    expect.objectContaining({
      details: expect.objectContaining({
        issues: [
          {
            path: [],
            message: 'Column externalPassId not found for the external ID; --external-id-column selects another one',
          },
          { path: [], message: 'Column label not found for the label; --label-column selects another one' },
          { path: [], message: 'Column seat (Seat) not found, but the template requires it' },
          {
            path: [],
            message: 'The column seat.row has a dot in its name: rename it, because such names are reserved',
          },
          { path: [], message: 'Duplicate column x' },
          { path: [], message: 'Columns without a variable in the template: id, seat.row, x' },
        ],
      }),
    }),
  )
})

test('column names match in any case, with spaces or underscores; two that match one are rejected', () => {
  const variables = declare(seat, { name: 'rowNo', label: 'Row' }, { name: 'row_no', label: 'Other row' })
  const header = ['External Pass ID', 'Label', 'SEAT', 'Row No', 'row_no', 'e-mail']
  const columns = planColumns(header, variables, defaults)
  expect(columns).toMatchObject({ header, externalId: 0, label: 1 })
  // A column that matches two variables is used for neither.
  expect(columns.variables.map(({ name }) => name)).toEqual(['seat', 'Row No', 'row_no', 'e-mail'])
  expect(columns.notes).toEqual([
    'The column "External Pass ID" is used as externalPassId',
    'The column "Label" is used as label',
    'The column "SEAT" is used as seat',
  ])
  const twice = () => planColumns(['external_pass_id', 'label', 'LABEL', 'Seat', 'se at'], variables, defaults)
  const problem = (first: string, second: string, column: string) => {
    return { path: [], message: `The columns "${first}" and "${second}" can both be ${column}: rename one` }
  }
  expect(twice).toThrow(
    expect.objectContaining({
      details: expect.objectContaining({
        issues: [problem('label', 'LABEL', 'label'), problem('Seat', 'se at', 'seat')],
      }),
    }),
  )
})

test('columns without a variable cause a warning, and the error column of a failures file is ignored', () => {
  const columns = planColumns(['externalPassId', 'label', 'seat', 'shoeSize', 'error'], declare(seat), defaults)
  expect(columns.variables.map(({ name }) => name)).toEqual(['seat', 'shoeSize'])
  expect(columns.warnings).toEqual([expect.stringContaining('shoeSize')])
})

test('a template with a variable named error keeps it; failures then go to a column of another name', () => {
  const columns = planColumns(
    ['externalPassId', 'label', 'error'],
    declare({ name: 'error', label: 'Error' }),
    defaults,
  )
  expect(columns.variables.map(({ name }) => name)).toEqual(['error'])
  expect(columns.errorColumn).toBe('issue_error')
})

test('other columns may hold the external id and the label', () => {
  const options = { externalIdColumn: 'ticket', labelColumn: 'name' }
  const columns = planColumns(['name', 'ticket', 'seat'], declare(seat), options)
  expect(columns).toMatchObject({ externalId: 1, label: 0, variables: [{ name: 'seat', index: 2 }], warnings: [] })
})

test('an empty cell counts as a missing value', async () => {
  const [row] = await check(['externalPassId', 'label', 'seat', 'hall'], [['T-1', 'Ada', '12', '']], declare(seat))
  expect(row).toMatchObject({ item: { externalPassId: 'T-1', label: 'Ada', templateId, variables: { seat: '12' } } })
  expect(row).not.toHaveProperty('item.variables.hall')
})

test('rejects a row that the server would reject, with every reason', async () => {
  const variables = declare(
    seat,
    { name: 'day', label: 'Day', format: 'date' },
    { name: 'code', label: 'Code', maxLength: 3 },
    { name: 'hall', label: 'Hall', required: true, default: 'A' },
  )
  const rows = await check(
    ['externalPassId', 'label', 'seat', 'day', 'code', 'hall'],
    [
      ['T-1', '', '', 'soon', 'abcd', ''],
      ['T-2', 'Ada', '12', '2027-02-30', '李𠮷祥', ''],
      ['T-3', 'Ada', '12', '2027-02-28', '李𠮷祥', ''],
      ['x'.repeat(256), 'Ada', '12', '', '', ''],
    ],
    variables,
  )
  expect(errors(rows)).toEqual([
    'label: Must not be empty; seat: Is required (Seat); day: Must be of the format date, such as 2027-05-31; ' +
      'code: Must have at most 3 characters',
    'day: Must be of the format date, such as 2027-05-31',
    undefined,
    'externalPassId: Must have at most 255 characters',
  ])
})

test('also checks what a variables schema cannot express: sizes, and the order of a window', async () => {
  const definition = define({
    variables: ['from', 'to', 'about'].map((name) => ({ name, label: name })),
    design: { ...design, description: '{{about}}{{pass.label}}' },
    redemption: { windows: [{ start: '{{from}}T10:00Z', end: '{{to}}T10:00Z' }] },
  })
  const header = ['externalPassId', 'label', 'from', 'to', 'about']
  const rows = [
    ['T-1', 'Ada', '2027-05-31', '2027-06-01', 'x'],
    ['T-2', 'Ada', '2027-05-31', '2027-05-31', 'x'],
    ['T-3', 'Ada', '2027-05-31', '', 'x'],
    ['T-4', 'Ada', '2027-05-31', '2027-06-01', 'x'.repeat(8190)],
    ['T-5', 'Ada', '2027-05-31', '2027-06-01', 'x'.repeat(70_000)],
  ]
  expect(errors(await check(header, rows, definition.variables, definition))).toEqual([
    undefined,
    'to: Must be after the start of the window',
    'to: Is required (to)',
    'about: With this value, design.description has 8193 bytes, and at most 8192 are allowed: shorten it',
    'variables: Must have at most 64 KiB as JSON',
  ])
})

test('leaves an unknown format of a newer server to that server', async () => {
  const { variables } = asEvaluated({ ...define({}), variables: [{ ...seat, format: 'seat' as 'text' }] })
  expect(errors(await check(['externalPassId', 'label', 'seat'], [['T-1', 'Ada', '12']], variables))).toEqual([
    undefined,
  ])
})

test('accepts a repeated row, and rejects a repeated ID with other content, naming the first line', async () => {
  const rows = await check(
    ['externalPassId', 'label', 'seat'],
    [
      ['T-1', 'Ada', '12'],
      ['T-1', 'Ada', '12'],
      ['T-1', 'Grace', '13'],
      ['T-2', 'Joan', ''],
      ['T-2', 'Joan', '14'],
    ],
    declare(seat),
  )
  expect(errors(rows)).toEqual([
    undefined,
    undefined,
    'externalPassId: Is already in line 2, with other content',
    'seat: Is required (Seat)',
    undefined,
  ])
})

test('a duplicate is found among 20,000 ids', async () => {
  const rows = Array.from({ length: 20_000 }, (_, index) => [`T-${index}`, 'Ada', '1'])
  const checked = await check(['externalPassId', 'label', 'seat'], [...rows, ['T-77', 'Grace', '1']], declare(seat))
  expect(errors(checked).filter(Boolean)).toEqual(['externalPassId: Is already in line 79, with other content'])
})
