import type { Client } from '../../client/client.ts'
import { ApiError } from '../../client/client-errors.ts'
import type { BatchResult, Pass, PassCreate } from '../../core/contract/passes.ts'
import { platforms } from '../../core/contract/schemas/platform.ts'
import { imageVariables } from '../../core/rules/template/image-choice.ts'
import { checkRows, type HeaderColumn, type RowCheck } from '../bulk/check-rows.ts'
import { type CheckedRow, errorLine, failure, type RowAction, type RowResult } from '../bulk/row-action.ts'
import { createRowImages, type RowImage, RowImageError } from '../bulk/row-images.ts'
import { changeConcurrently, findPasses } from '../changes/change-passes.ts'
import {
  cellsOf,
  changeTo,
  checkedOutcomes,
  type Existing,
  type IssueOutcome,
  issueOutcomes,
  otherTemplate,
  resultOfExisting,
  toRequestedPass,
  voidPass,
  type WantedPass,
} from './outcomes.ts'
import { compileRow, type IssueColumns, planColumns, readIssuedTemplate } from './rows.ts'

interface IssueOptions {
  file: string
  templateId: string
  externalIdColumn: string
  labelColumn: string
  groupColumn?: string | undefined
  existing: Existing | undefined
  concurrency: number
}

/** The maximum number of concurrent updates, across all batches. */
const UPDATES_IN_FLIGHT = 8

/** Creates a pass for each row, 100 per request. Repeating a row does not create a second pass. */
export function issueAction({ concurrency, ...options }: IssueOptions): RowAction<PassCreate, IssueOutcome> {
  const { templateId, existing } = options
  let columns: IssueColumns
  let uploadFor: (client: Client, passes: PassCreate[]) => Promise<void>
  const updateAll = changeConcurrently<{ pass: Pass; wanted: WantedPass }, IssueOutcome>({
    concurrency: UPDATES_IN_FLIGHT,
    change: async ({ pass, wanted }, { client, signal }) => update(client, pass, wanted, signal),
  })
  return {
    command: 'issue',
    settings: {
      '--template': templateId,
      '--external-id-column': options.externalIdColumn,
      '--label-column': options.labelColumn,
      ...(options.groupColumn && { '--group-column': options.groupColumn }),
      ...(existing && { '--existing': existing }),
    },
    batchesInFlight: concurrency,
    resultColumns: ['passId', ...platforms.map((platform) => `${platform}Link`), 'smartLink', 'groupLink'],
    async plan(client, header) {
      const planned = await planIssue(client, header, options)
      columns = planned.columns
      uploadFor = planned.uploadFor
      return { ...planned, outcomes: issueOutcomes }
    },
    async send(passes, { client }) {
      await uploadFor(client, passes)
      const { results } = await client.passes.createBatch({ body: { passes } })
      const { labelColumn } = options
      const outcomes = results.map((result, index) =>
        resultOf(result, toRequestedPass(passes[index]!, columns), { existing, labelColumn }),
      )
      if (existing !== 'update') return outcomes
      const differing = outcomes.flatMap(({ outcome }, index) => (outcome === 'differs' ? [index] : []))
      const updated = await updateAll(
        client,
        differing.map((index) => ({ pass: results[index]!.pass!, wanted: toRequestedPass(passes[index]!, columns) })),
      )
      for (const [at, index] of differing.entries()) outcomes[index] = updated[at]!
      return outcomes
    },
  }
}

async function planIssue(
  client: Client,
  header: string[],
  options: Pick<IssueOptions, 'file' | 'templateId' | 'externalIdColumn' | 'labelColumn' | 'groupColumn'>,
) {
  const { templateId, externalIdColumn } = options
  const template = await readIssuedTemplate(client, templateId)
  const columns = planColumns(header, template.definition.variables, options)
  const imageNames = imageVariables(template.definition)
  const { checkRow, uploadFor } = await withImages(client, compileRow(columns, template), {
    file: options.file,
    columns: columns.variables.filter(({ name }) => imageNames.includes(name)),
  })
  const check = (rows: Parameters<typeof checkRows>[0]) => checkRows(rows, externalIdColumn, checkRow)
  return { columns, check, uploadFor }
}

/** Replaces image files in rows by the ids that the images will have, and checks the rows. */
async function withImages(
  client: Client,
  checkRow: RowCheck<PassCreate>,
  { file, columns }: { file: string; columns: HeaderColumn[] },
) {
  if (columns.length === 0) return { checkRow, uploadFor: async () => undefined }
  const { workspaceId } = await client.tokens.current()
  const images = createRowImages(file, workspaceId)
  const imagesOf = new WeakMap<PassCreate, RowImage[]>()
  return {
    async checkRow(cells: readonly string[]) {
      const resolved = [...cells]
      const found: RowImage[] = []
      for (const { name, index } of columns) {
        const cell = cells[index] ?? ''
        if (cell === '') continue
        try {
          const image = await images.resolve(cell)
          resolved[index] = image.id
          found.push(image)
        } catch (error) {
          if (!(error instanceof RowImageError)) throw error
          return { errors: [`${name}: ${error.message}`] }
        }
      }
      const checked = await checkRow(resolved)
      if ('item' in checked) imagesOf.set(checked.item, found)
      return checked
    },
    async uploadFor(sender: Client, passes: PassCreate[]) {
      await images.upload(
        sender,
        passes.flatMap((pass) => imagesOf.get(pass) ?? []),
      )
    },
  }
}

function resultOf(
  { created, pass, error }: BatchResult,
  wanted: WantedPass,
  options: { existing: Existing | undefined; labelColumn: string },
): RowResult<IssueOutcome> {
  if (error?.code === 'DUPLICATE_PASS') {
    return { outcome: 'otherTemplate', error: otherTemplate(error.details?.passId) }
  }
  if (!pass) return failure(errorLine(error))
  return created ? { outcome: 'created', cells: cellsOf(pass) } : resultOfExisting(pass, wanted, options)
}

/** Updates a pass. A repeated update does not create another revision. */
async function update(
  client: Client,
  pass: Pass,
  wanted: WantedPass,
  signal: AbortSignal,
): Promise<RowResult<IssueOutcome>> {
  try {
    const call = { params: { id: pass.id }, body: changeTo(pass, wanted) }
    return { outcome: 'updated', cells: cellsOf(await client.passes.update(call, { signal, idempotent: true })) }
  } catch (error) {
    // If the pass was voided concurrently, report the row like any other row of a void pass.
    if (!(error instanceof ApiError && error.code === 'PASS_ALREADY_VOIDED')) throw error
    return { outcome: 'void', error: voidPass(pass.id) }
  }
}

/** A row of a plan. `isRepeat` is set if an earlier row already creates the pass. */
interface PlannedRow {
  pass: PassCreate
  isRepeat: boolean
}

/** Predicts the outcome of each row with the same checks as a run. Changes nothing on the server. */
export function planAction({ concurrency, ...options }: IssueOptions): RowAction<PlannedRow, IssueOutcome> {
  const { existing, labelColumn } = options
  let columns: IssueColumns
  let canRead = true
  return {
    command: 'issue',
    settings: {},
    batchesInFlight: concurrency,
    resultColumns: [],
    async plan(client, header) {
      canRead = (await client.tokens.current()).scopes.includes('passes:read')
      const planned = await planIssue(client, header, options)
      columns = planned.columns
      if (!canRead) columns.warnings.push(ONLY_CHECKED)
      return {
        columns,
        outcomes: canRead ? issueOutcomes : checkedOutcomes,
        check: (rows) => withRepeats(planned.check(rows)),
      }
    },
    async send(rows, { client }) {
      if (!canRead) return rows.map(() => ({ outcome: 'valid' }))
      const passes = await findPasses(
        client,
        rows.map(({ pass }) => pass.externalPassId),
      )
      return rows.map(({ pass: item, isRepeat }): RowResult<IssueOutcome> => {
        const pass = passes.get(item.externalPassId)
        if (!pass) return { outcome: isRepeat ? 'present' : 'created' }
        const result = resultOfExisting(pass, toRequestedPass(item, columns), { existing, labelColumn })
        if (result.outcome !== 'differs' || existing !== 'update') return result
        return { outcome: isRepeat ? 'present' : 'updated' }
      })
    },
  }
}

const ONLY_CHECKED =
  'The token cannot read passes (passes:read): rows are compared with the template, not with existing passes'

async function* withRepeats(rows: AsyncIterable<CheckedRow<PassCreate>>): AsyncGenerator<CheckedRow<PlannedRow>> {
  for await (const row of rows) {
    yield 'item' in row ? { ...row, item: { pass: row.item, isRepeat: row.isRepeat === true } } : row
  }
}
