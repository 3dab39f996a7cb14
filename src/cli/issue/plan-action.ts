import type { PassCreate } from '../../core/contract/passes.ts'
import type { CheckedRow, RowAction, RowResult } from '../bulk/row-action.ts'
import { findPasses } from '../changes/find-passes.ts'
import type { IssueColumns } from './columns.ts'
import { type IssueOptions, planIssue } from './issue-action.ts'
import { checkedOutcomes, type IssueOutcome, issueOutcomes, resultOfExisting, wantedBy } from './outcomes.ts'

/** A row, and whether one before it asks for the very same: then that one makes the pass. */
interface PlannedRow {
  pass: PassCreate
  isRepeat: boolean
}

/** Asks the server what issuing each row would come to: reads alone, and the checks of a run. */
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
        const result = resultOfExisting(pass, wantedBy(item, columns), { existing, labelColumn })
        if (result.outcome !== 'differs' || existing !== 'update') return result
        return { outcome: isRepeat ? 'present' : 'updated' }
      })
    },
  }
}

const ONLY_CHECKED =
  'The token may not read passes (passes:read): rows are held against the template, and not against the passes that are there'

async function* withRepeats(rows: AsyncIterable<CheckedRow<PassCreate>>): AsyncGenerator<CheckedRow<PlannedRow>> {
  for await (const row of rows) {
    yield 'item' in row ? { ...row, item: { pass: row.item, isRepeat: row.isRepeat === true } } : row
  }
}
