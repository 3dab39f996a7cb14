import type { Client } from '../../client/client.ts'
import { type BatchResult, PassImport } from '../../core/contract/passes.ts'
import { importedFields } from '../../core/contract/schemas/pass-import.ts'
import { type CheckPass, compilePass } from '../../core/rules/pass/pass-rules.ts'
import { type Candidate, collect, findCandidate, listCandidates } from '../arguments/named.ts'
import {
  checkRows,
  GROUP_COLUMN,
  idColumn,
  type OwnColumn,
  type PlannedColumns,
  planHeader,
  type RowCheck,
  rowErrors,
} from '../bulk/check-rows.ts'
import { errorLine, FAILED, failure, type Outcome, type RowAction, type RowResult } from '../bulk/row-action.ts'
import { CliError } from '../command/cli-error.ts'
import { type IssuedTemplate, NOT_YET_KNOWN, readIssuedTemplate } from '../issue/rows.ts'

interface ImportOptions {
  /** The template for rows that do not name a template. */
  templateId: string | undefined
  identityId: string | undefined
  externalIdColumn: string
  labelColumn: string
  dryRun: boolean
  concurrency: number
}

type ImportOutcome = 'created' | 'present' | 'differs' | 'failed'

const outcomes: readonly Outcome<ImportOutcome>[] = [
  { name: 'created', title: 'Created', again: 'present' },
  { name: 'present', title: 'Present' },
  { name: 'differs', title: 'Differs' },
  FAILED,
]

interface ImportRow {
  externalPassId: string
  templateId: string
  pass: PassImport
}

/** Imports the pass of each row, 100 per request. Repeating a row changes nothing. */
export function importAction({ dryRun, concurrency, ...options }: ImportOptions): RowAction<ImportRow, ImportOutcome> {
  const { templateId, identityId, externalIdColumn, labelColumn } = options
  return {
    command: 'import',
    settings: {
      ...(templateId && { '--template': templateId }),
      ...(identityId && { '--identity': identityId }),
      '--external-id-column': externalIdColumn,
      '--label-column': labelColumn,
    },
    batchesInFlight: concurrency,
    resultColumns: ['passId'],
    async plan(client, header) {
      const templates = openTemplates(client)
      const template = templateId === undefined ? undefined : await templates.get(templateId)
      const columns = planImportColumns(header, options, template)
      // Serial numbers and object IDs must be unique within an identity. Without --identity, compare only rows of the
      // same template, because these rows use the same identity.
      const namesOf = ({ templateId: ofRow, pass }: ImportRow) => {
        const names = (['serialNumber', 'googleObjectId'] as const).map((name) => {
          const value = pass[name]
          return [header[columns[name]] ?? name, value && `${identityId ?? ofRow} ${value}`]
        })
        return Object.fromEntries(names)
      }
      const check = compileImportRow(columns, (cell) => (cell === '' ? template! : templates.named(cell)))
      return { columns, outcomes, check: (rows) => checkRows(rows, externalIdColumn, check, namesOf) }
    },
    async send(rows, { client }) {
      const results = new Map<ImportRow, RowResult<ImportOutcome>>()
      for (const id of new Set(rows.map((row) => row.templateId))) {
        const some = rows.filter((row) => row.templateId === id)
        const body = { templateId: id, ...(identityId && { identityId }), passes: some.map(({ pass }) => pass) }
        const answer = await client.passes.import({ body, query: { dryRun } })
        for (const [n, row] of some.entries()) results.set(row, resultOf(answer.results[n]))
      }
      return rows.map((row) => results.get(row)!)
    },
  }
}

function resultOf(result: BatchResult | undefined): RowResult<ImportOutcome> {
  const { success, created, pass, error } = result ?? { success: false }
  if (success) return { outcome: created ? 'created' : 'present', cells: [pass?.id ?? null] }
  const line = errorLine(error)
  return error?.details?.isOtherContent ? { outcome: 'differs', error: line } : failure(line)
}

interface ImportTemplate {
  id: string
  name: string
  checkPass: CheckPass
  variables: IssuedTemplate['definition']['variables']
}

function openTemplates(client: Client) {
  const read = new Map<string, Promise<ImportTemplate>>()
  let listed: Promise<Candidate[]> | undefined
  const get = (id: string) => {
    const known = read.get(id) ?? readTemplate(client, id)
    read.set(id, known)
    return known
  }
  return {
    get,
    /** @throws CliError if no template matches, UsageError if several match */
    async named(text: string): Promise<ImportTemplate> {
      listed ??= collect(listCandidates('template', client))
      return get(findCandidate(await listed, 'template', text))
    },
  }
}

async function readTemplate(client: Client, id: string): Promise<ImportTemplate> {
  const { definition, name } = await readIssuedTemplate(client, id)
  return { id, name, checkPass: compilePass(definition), variables: definition.variables }
}

/** Columns for data of the previous provider, with the names of the API fields. */
const OWN = Object.keys(importedFields) as (keyof typeof importedFields)[]
const TEMPLATE_COLUMN = 'template'

type Own = (typeof OWN)[number]
type ImportColumns = PlannedColumns<'externalId' | 'label' | 'group' | 'template' | Own>

/** @throws CliError that lists every problem of the header */
function planImportColumns(
  header: string[],
  { externalIdColumn, labelColumn }: Pick<ImportOptions, 'externalIdColumn' | 'labelColumn'>,
  template: Pick<ImportTemplate, 'variables'> | undefined,
): ImportColumns {
  const own = {
    externalId: idColumn(externalIdColumn),
    label: { name: labelColumn, required: ['the label', '--label-column'] },
    group: { name: GROUP_COLUMN },
    template: { name: TEMPLATE_COLUMN },
    ...(Object.fromEntries(OWN.map((name) => [name, { name }])) as Record<Own, OwnColumn>),
  } as const
  const declared = template?.variables.map(({ name }) => name)
  const columns: ImportColumns = planHeader(header, own, {
    declared,
    problemsOf: (found) => [
      ...(Math.max(found.serialNumber, found.googleObjectId, found.scanPayload) >= 0
        ? []
        : [
            'None of the columns serialNumber, googleObjectId, and scanPayload exists, so there is nothing to ' +
              'import (to create new passes, run "passes issue")',
          ]),
      ...(template || found.template >= 0
        ? []
        : ['Column template not found; --template sets one template for all rows']),
    ],
    hint: 'to see the columns, run "passes import --help".',
  })
  for (const [role, { name }] of Object.entries<OwnColumn>(own)) {
    if (!name || !declared?.includes(name) || columns[role as Own] < 0) continue
    columns.warnings.push(`The column ${name} sets a value of the pass, not the variable ${name} of the template`)
  }
  return columns
}

/** Checks a row with the server's rules, before it is sent. An empty cell means no value. */
function compileImportRow(
  columns: ImportColumns,
  templateOf: (cell: string) => ImportTemplate | Promise<ImportTemplate>,
): RowCheck<ImportRow> {
  return async (cells) => {
    const at = (index: number) => cells[index] ?? ''
    const template = await findTemplate(at(columns.template), templateOf)
    if ('errors' in template) return template
    const given = OWN.filter((name) => at(columns[name]) !== '')
    const values = Object.fromEntries(given.map((name) => [name, at(columns[name])]))
    const { devices, status, ...names } = values
    const parsed = PassImport.safeParse({
      externalPassId: at(columns.externalId),
      label: at(columns.label),
      variables: Object.fromEntries(
        columns.variables.filter(({ index }) => at(index) !== '').map(({ name, index }) => [name, at(index)]),
      ),
      ...(at(columns.group) !== '' && { groupKey: at(columns.group) }),
      ...names,
      ...(status !== undefined && { status: status.toUpperCase() }),
      ...(devices !== undefined && { devices: devicesIn(devices) }),
    })
    const own = Object.fromEntries(OWN.map((name) => [name, columns[name]]))
    const places = { ...own, externalPassId: columns.externalId, label: columns.label, groupKey: columns.group }
    const failed = (issues: Parameters<typeof rowErrors>[0]) => ({ errors: rowErrors(issues, columns, places) })
    if (!parsed.success) return failed(parsed.error.issues)
    const pass = parsed.data
    const { scanPayload = null } = pass
    const checked = template.checkPass({ ...pass, ...NOT_YET_KNOWN, scanPayload, templateName: template.name })
    if ('issues' in checked) return failed(checked.issues)
    return { item: { externalPassId: pass.externalPassId, templateId: template.id, pass } }
  }
}

async function findTemplate(
  cell: string,
  templateOf: Parameters<typeof compileImportRow>[1],
): Promise<ImportTemplate | { errors: string[] }> {
  try {
    return (await templateOf(cell)) ?? { errors: [`${TEMPLATE_COLUMN}: Is empty, and --template is not set`] }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return { errors: [`${TEMPLATE_COLUMN}: ${error.message}`] }
  }
}

/** Parses `deviceLibraryIdentifier:pushToken` pairs, separated by whitespace. */
function devicesIn(cell: string) {
  return cell.split(/\s+/).map((device) => {
    const colon = device.lastIndexOf(':')
    if (colon === -1) return { deviceLibraryIdentifier: device, pushToken: '' }
    return { deviceLibraryIdentifier: device.slice(0, colon), pushToken: device.slice(colon + 1) }
  })
}
