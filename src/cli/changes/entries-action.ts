import pLimit, { type LimitFunction } from 'p-limit'
import { BalanceEntryCreate } from '../../core/contract/balances.ts'
import { type Pass, PassCreate } from '../../core/contract/passes.ts'
import { BalanceName } from '../../core/contract/schemas/balances.ts'
import {
  checkRows,
  idColumn,
  namedColumn,
  type PlannedColumns,
  planHeader,
  type RowCheck,
  rowErrors,
} from '../bulk/check-rows.ts'
import { FAILED, type RowAction } from '../bulk/row-action.ts'
import { changeEach } from './change-passes.ts'

export interface EntriesOptions {
  externalIdColumn: string
  /** The balance for rows that do not name a balance. */
  balance: string | undefined
  dryRun: boolean
  concurrency: number
}

interface Entry {
  externalPassId: string
  name: string
  body: BalanceEntryCreate
}

type EntryOutcome = 'added' | 'present' | 'failed'

const REF_COLUMN = 'externalRef'

/** Adds a balance entry for each row. The server adds one entry per `externalRef`, so that a run can be repeated. */
export function entriesAction({ dryRun, concurrency, ...options }: EntriesOptions): RowAction<Entry, EntryOutcome> {
  const { externalIdColumn, balance } = options
  const inOrder = createOrder()
  return {
    command: 'balances import',
    settings: { '--external-id-column': externalIdColumn, ...(balance !== undefined && { '--balance': balance }) },
    // Send one batch at a time. Otherwise, the entries of a pass could be added out of order.
    batchesInFlight: 1,
    resultColumns: [],
    async plan(_, header) {
      const columns = planEntryColumns(header, options)
      const check = compileEntryRow(columns, balance)
      const keyOf = ({ externalPassId, name, body }: Entry) => JSON.stringify([externalPassId, name, body.externalRef])
      return {
        columns,
        outcomes: [
          { name: 'added', title: dryRun ? 'Would add' : 'Added', again: 'present' },
          { name: 'present', title: 'Present' },
          FAILED,
        ],
        check: (rows) => checkRows(rows, REF_COLUMN, check, undefined, keyOf),
      }
    },
    send: changeEach({
      concurrency,
      change: (pass, { name, body }, { client, signal }) =>
        inOrder(pass, async () => {
          if (dryRun) return 'added'
          let isNew = false
          const call = { params: { id: pass.id, name }, body }
          const onResponse = ({ status }: { status: number }) => {
            isNew = status === 201
          }
          await client.balances.createEntry(call, { signal, onResponse })
          return isNew ? 'added' : 'present'
        }),
    }),
  }
}

/** Returns a function that runs the tasks of a pass one after the other. The rows of a batch share the pass objects. */
function createOrder() {
  const turns = new WeakMap<Pass, LimitFunction>()
  return <T>(pass: Pass, task: () => Promise<T>): Promise<T> => {
    const turn = turns.get(pass) ?? pLimit(1)
    turns.set(pass, turn)
    return turn(task)
  }
}

type EntryColumns = PlannedColumns<'externalId' | 'balance' | 'delta' | 'externalRef' | 'reason'>

function planEntryColumns(
  header: string[],
  { externalIdColumn, balance }: Pick<EntriesOptions, 'externalIdColumn' | 'balance'>,
): EntryColumns {
  const own = {
    externalId: idColumn(externalIdColumn),
    balance: namedColumn(undefined, 'balance', 'the balance', '--balance'),
    delta: { name: 'delta' },
    externalRef: { name: REF_COLUMN },
    reason: { name: 'reason' },
  }
  return planHeader(header, own, {
    ignoresOthers: true,
    problemsOf: (columns) => [
      ...(columns.delta < 0 ? ['Column delta not found for the change of the balance'] : []),
      ...(columns.externalRef < 0 ? [`Column ${REF_COLUMN} not found for the key of the entry`] : []),
      ...(columns.balance < 0 && balance === undefined ? ['Column balance not found, and --balance is not set'] : []),
    ],
  })
}

function compileEntryRow(columns: EntryColumns, usual: string | undefined): RowCheck<Entry> {
  return (cells) => {
    const externalPassId = PassCreate.shape.externalPassId.safeParse(cells[columns.externalId])
    const name = BalanceName.safeParse(cells[columns.balance] || usual)
    const delta = cells[columns.delta] ?? ''
    const body = BalanceEntryCreate.safeParse({
      delta: /^[+-]?\d+$/.test(delta) ? Number(delta) : delta,
      externalRef: cells[columns.externalRef] ?? '',
      ...(cells[columns.reason] && { reason: cells[columns.reason] }),
    })
    const errors = [
      ...rowErrors(externalPassId.error?.issues, columns, { undefined: columns.externalId }),
      ...rowErrors(name.error?.issues, columns, { undefined: columns.balance }),
      ...rowErrors(body.error?.issues, columns, columns as unknown as Record<string, number>),
    ]
    if (errors.length > 0) return { errors }
    return { item: { externalPassId: externalPassId.data!, name: name.data!, body: body.data! } }
  }
}
