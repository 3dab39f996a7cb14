import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/client-errors.ts'
import { type Pass, PassCreate, PassUpdate } from '../../core/contract/passes.ts'
import { imageVariables } from '../../core/rules/template/image-choice.ts'
import {
  checkRows,
  GROUP_COLUMN,
  idColumn,
  namedColumn,
  type PlannedColumns,
  planHeader,
  type RowCheck,
  rowErrors,
} from '../bulk/check-rows.ts'
import { FAILED, type RowAction } from '../bulk/row-action.ts'
import { createRowImages, RowImageError, type RowImages } from '../bulk/row-images.ts'
import { CliError } from '../command/cli-error.ts'
import { readIssuedTemplate } from '../issue/rows.ts'
import { changeEach } from './change-passes.ts'

export interface UpdateOptions {
  file: string
  externalIdColumn: string
  labelColumn: string | undefined
  groupColumn?: string | undefined
  /** The cell content that removes a variable or the group. */
  unsetMarker: string
  templateVersion: PassUpdate['templateVersion']
  dryRun: boolean
  /** Whether Android phones also announce changes of fields with a `changeMessage`, as iPhones do. */
  notify?: boolean
  concurrency: number
}

interface Update {
  externalPassId: string
  body: PassUpdate
}

type UpdateOutcome = 'updated' | 'notified' | 'failed'

/** Changes the pass of each row. Repeating a row does not create another revision. */
export function updateAction({ dryRun, concurrency, ...options }: UpdateOptions): RowAction<Update, UpdateOutcome> {
  const { externalIdColumn, templateVersion } = options
  const outcomes = [
    { name: 'updated' as const, title: dryRun ? 'Would update' : 'Updated' },
    ...(options.notify ? [notifiedOutcome(dryRun)] : []),
    FAILED,
  ]
  let variables: string[] = []
  const resolveImages = createImageResolver(options.file, { dryRun })
  return {
    command: 'update',
    settings: {
      '--external-id-column': externalIdColumn,
      '--label-column': options.labelColumn ?? 'label',
      '--unset-marker': options.unsetMarker,
      ...(options.groupColumn && { '--group-column': options.groupColumn }),
      ...(templateVersion !== undefined && { '--template-version': String(templateVersion) }),
      ...(options.notify && { '--notify': 'true' }),
    },
    batchesInFlight: 2,
    resultColumns: [],
    async plan(_, header) {
      const columns = planUpdateColumns(header, { ...options, changesAll: templateVersion !== undefined })
      variables = columns.variables.map(({ name }) => name)
      const check = compileUpdateRow(columns, options)
      return { columns, outcomes, check: (rows) => checkRows(rows, externalIdColumn, check) }
    },
    send: changeEach({
      concurrency,
      onFound: warnOfUnknown(() => variables),
      async change(pass, { body }, { client, signal }) {
        const resolved = await resolveImages(client, pass, body)
        const call = { params: { id: pass.id }, query: { dryRun, bulk: true }, body: resolved }
        const { notified } = await client.passes.update(call, { signal, idempotent: true })
        return notified ? 'notified' : 'updated'
      },
    }),
  }
}

/**
 * Returns a function that uploads the image files of a change, and returns the change with their ids. In a dry run, the
 * function omits image files from the change. Finds the image variables of each template once, and only if a row changes
 * variables. The template of a row is known only after the pass of the row is found.
 */
function createImageResolver(file: string, { dryRun }: Pick<UpdateOptions, 'dryRun'>) {
  let images: RowImages | undefined
  const names = new Map<string, Promise<string[]>>()

  async function namesOf(client: Client, { templateId }: Pass): Promise<string[]> {
    if (templateId === null) return []
    const known = names.get(templateId) ?? readImageVariables(client, templateId)
    names.set(templateId, known)
    return known
  }

  return async (client: Client, pass: Pass, body: PassUpdate): Promise<PassUpdate> => {
    const variables = new Map(Object.entries(body.variables ?? {}))
    if (variables.size === 0) return body
    for (const name of await namesOf(client, pass)) {
      const cell = variables.get(name)
      if (typeof cell !== 'string') continue
      images ??= createRowImages(file, (await client.tokens.current()).workspaceId)
      const image = await images.resolve(cell).catch((error: unknown) => {
        throw error instanceof RowImageError ? new RowImageError(`${name}: ${error.message}`) : error
      })
      if (!dryRun) await images.upload(client, [image])
      if (dryRun && image.path !== undefined) variables.delete(name)
      else variables.set(name, image.id)
    }
    return { ...body, variables: Object.fromEntries(variables) }
  }
}

async function readImageVariables(client: Client, templateId: string): Promise<string[]> {
  try {
    return imageVariables((await readIssuedTemplate(client, templateId)).definition)
  } catch (error) {
    // If the template was deleted or is not readable, its image variables are unknown, so use the cells unchanged.
    if (error instanceof CliError || (error instanceof ApiError && [403, 404].includes(error.status))) return []
    throw error
  }
}

function notifiedOutcome(dryRun: boolean) {
  const title = dryRun ? '  Would ring on Android' : '  Ringing on Android'
  return { name: 'notified' as const, title, within: 'updated' as const }
}

/** Parses a row. An empty cell means no value. The server validates values against the template. */
export function compileUpdateRow(
  columns: UpdateColumns,
  { unsetMarker, templateVersion, notify }: Pick<UpdateOptions, 'unsetMarker' | 'templateVersion' | 'notify'>,
): RowCheck<Update> {
  return (cells) => {
    const externalPassId = PassCreate.shape.externalPassId.safeParse(cells[columns.externalId])
    const given = columns.variables.filter(({ index }) => cells[index] !== '')
    const label = cells[columns.label] || undefined
    const group = cells[columns.group] || undefined
    const body = PassUpdate.safeParse({
      ...(label !== undefined && { label }),
      ...(group !== undefined && { groupKey: group === unsetMarker ? null : group }),
      ...(given.length > 0 && {
        variables: Object.fromEntries(
          given.map(({ name, index }) => [name, cells[index] === unsetMarker ? null : cells[index]]),
        ),
      }),
      ...(templateVersion !== undefined && { templateVersion }),
      ...(notify && { notify }),
    })
    const errors = [
      ...rowErrors(externalPassId.error?.issues, columns, { undefined: columns.externalId }),
      ...rowErrors(body.error?.issues, columns, { label: columns.label, groupKey: columns.group }),
      ...(label === unsetMarker ? [`${columns.header[columns.label]}: A label cannot be removed`] : []),
    ]
    if (errors.length > 0) return { errors }
    return { item: { externalPassId: externalPassId.data!, body: body.data! } }
  }
}

/**
 * Warns about columns that are not variables: a mistyped name would be stored with every pass and shown on none. Reads
 * the variables of a template when the first pass of the template is found.
 */
function warnOfUnknown(variables: () => string[]) {
  const seen = new Set<string>()
  return async (client: Client, passes: readonly Pass[], note: (message: string) => void): Promise<void> => {
    for (const { templateId } of passes) {
      if (templateId === null || seen.has(templateId) || variables().length === 0) continue
      seen.add(templateId)
      const declared = await declaredBy(client, templateId, note)
      const unknown = declared ? variables().filter((name) => !declared.has(name)) : []
      if (unknown.length > 0) {
        note(
          `Warning: Not variables of template ${templateId}: ${unknown.join(', ')} (stored with each pass, but not shown)`,
        )
      }
    }
  }
}

/** Returns the variables of a template; `undefined` if it was deleted or the token cannot read it. */
async function declaredBy(client: Client, id: string, note: (message: string) => void) {
  try {
    const { schema } = await client.templates.variablesSchema({ params: { id } })
    return new Set(Object.keys(schema.properties))
  } catch (error) {
    if (!(error instanceof ApiError && [403, 404].includes(error.status))) throw error
    note(`Columns are not checked against template ${id}: ${error.message}`)
    return undefined
  }
}

type UpdateColumns = PlannedColumns<'externalId' | 'label' | 'group'>

/**
 * @param options.changesAll whether a flag changes every pass, so that the file needs only ids
 * @throws CliError that lists every problem of the header
 */
export function planUpdateColumns(
  header: string[],
  options: Pick<UpdateOptions, 'externalIdColumn' | 'labelColumn' | 'groupColumn'> & { changesAll: boolean },
): UpdateColumns {
  const { externalIdColumn, labelColumn, groupColumn, changesAll } = options
  const own = {
    externalId: idColumn(externalIdColumn),
    label: namedColumn(labelColumn, 'label', 'the label', '--label-column'),
    group: namedColumn(groupColumn, GROUP_COLUMN, 'the group', '--group-column'),
  }
  return planHeader(header, own, {
    problemsOf: ({ label, group, variables }) =>
      label >= 0 || group >= 0 || variables.length > 0 || changesAll
        ? []
        : ['No column contains changes, and --template-version is not set'],
  })
}
