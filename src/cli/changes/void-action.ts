import { ApiError } from '../../client/client-errors.ts'
import { PassCreate, passes as routes } from '../../core/contract/passes.ts'
import { checkRows, idColumn, namedColumn, planHeader, type RowCheck, rowErrors } from '../bulk/check-rows.ts'
import { type Columns, FAILED, type RowAction } from '../bulk/row-action.ts'
import { changeEach } from './change-passes.ts'

export interface VoidOptions {
  externalIdColumn: string
  /** The column of the reason. By default, the column `reason` is used if the file has one. */
  reasonColumn: string | undefined
  reason: string | undefined
  dryRun: boolean
  concurrency: number
}

interface Void {
  externalPassId: string
  reason: string | undefined
}

/** Voids the pass of each row. Passes that are already void count as done, so that a run can be repeated. */
export function voidAction({ dryRun, concurrency, ...options }: VoidOptions): RowAction<Void, 'voided' | 'failed'> {
  const { externalIdColumn } = options
  const outcomes = [{ name: 'voided' as const, title: dryRun ? 'Would void' : 'Voided' }, FAILED]
  return {
    command: 'void',
    settings: {
      '--external-id-column': externalIdColumn,
      '--reason-column': options.reasonColumn ?? 'reason',
      ...(options.reason !== undefined && { '--reason': options.reason }),
    },
    batchesInFlight: 2,
    resultColumns: [],
    async plan(_, header) {
      const columns = planVoidColumns(header, options)
      const check = compileVoidRow(columns, options.reason)
      return { columns, outcomes, check: (rows) => checkRows(rows, externalIdColumn, check) }
    },
    send: changeEach({
      concurrency,
      async change(pass, { reason }, { client, signal }) {
        if (dryRun || pass.status === 'VOID') return 'voided'
        try {
          await client.passes.void({ params: { id: pass.id }, body: { reason } }, { signal, idempotent: true })
        } catch (error) {
          if (!(error instanceof ApiError && error.code === 'PASS_ALREADY_VOIDED')) throw error
        }
        return 'voided'
      },
    }),
  }
}

const Reason = routes.void.body.unwrap().shape.reason

type VoidColumns = Columns & Record<'externalId' | 'reason', number>

function planVoidColumns(
  header: string[],
  { externalIdColumn, reasonColumn }: Pick<VoidOptions, 'externalIdColumn' | 'reasonColumn'>,
): VoidColumns {
  return planHeader(
    header,
    {
      externalId: idColumn(externalIdColumn),
      reason: namedColumn(reasonColumn, 'reason', 'the reason', '--reason-column'),
    },
    // Accept other columns. Otherwise, users would have to edit a guest list before they can use it.
    { ignoresOthers: true },
  )
}

function compileVoidRow(columns: VoidColumns, reasonForAll: string | undefined): RowCheck<Void> {
  return (cells) => {
    const externalPassId = PassCreate.shape.externalPassId.safeParse(cells[columns.externalId])
    const reason = Reason.safeParse(cells[columns.reason] || reasonForAll)
    const errors = [
      ...rowErrors(externalPassId.error?.issues, columns, { undefined: columns.externalId }),
      ...(reason.error?.issues ?? []).map(
        ({ message }) => `${columns.header[columns.reason] ?? '--reason'}: ${message}`,
      ),
    ]
    if (errors.length > 0) return { errors }
    return { item: { externalPassId: externalPassId.data!, reason: reason.data } }
  }
}
