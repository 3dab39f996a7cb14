/** @jsxImportSource preact */
import type { BalanceEntry, PassBalance } from '../../core/contract/balances.ts'
import type { Pass } from '../../core/contract/passes.ts'
import { balanceText } from '../../core/rules/balances/balances.ts'
import { ActionButton, useCanAct } from './action-dialog.tsx'
import { useDesk } from './desk-context.ts'
import { Foreign, Moment, Table } from './parts.tsx'

interface ShownBalances {
  items: PassBalance[]
  /** The latest entries of all balances, newest first. */
  entries: ShownEntry[]
  pass: Pass | undefined
}

type ShownEntry = BalanceEntry & Pick<PassBalance, 'currency'>

export function Balances({ items, entries, pass }: ShownBalances) {
  const { words } = useDesk().language
  const canAct = useCanAct()
  const canChange = pass && pass.status !== 'VOID' && canAct('changeBalance', pass.projectId)
  return (
    <>
      <Table
        label={words.balances}
        keyOf={({ name }) => name}
        columns={{
          [words.name]: ({ name }) => <Foreign>{name}</Foreign>,
          [words.amount]: (balance) => (
            <bdi>
              {balanceText(balance, balance.value)} {balance.currency}
            </bdi>
          ),
          [words.updated]: ({ updatedAt }) => <Moment at={updatedAt} />,
          [words.commands]:
            canChange &&
            ((balance) => (
              <ActionButton
                name="changeBalance"
                target={{ ...balance, passId: pass.id }}
                of={balance.name}
                projectId={pass.projectId}
              />
            )),
        }}
        rows={items}
      />
      {entries.length > 0 && <Entries entries={entries} />}
    </>
  )
}

function Entries({ entries }: { entries: ShownEntry[] }) {
  const { words } = useDesk().language
  return (
    <Table
      label={words.balanceEntries}
      keyOf={({ id }) => id}
      columns={{
        [words.time]: ({ createdAt }) => <Moment at={createdAt} />,
        [words.name]: ({ name }) => <Foreign>{name}</Foreign>,
        [words.amount]: (entry) => <bdi>{balanceText(entry, entry.delta)}</bdi>,
        [words.reason]: ({ reason }) => <Foreign>{reason ?? '–'}</Foreign>,
      }}
      rows={entries}
    />
  )
}
