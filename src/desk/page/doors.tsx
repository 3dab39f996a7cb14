/** @jsxImportSource preact */
import type { Door } from '../../core/contract/scans/doors.ts'
import { sumOf } from '../live/sources.ts'
import { ActionButton, useCanAct } from './action-dialog.tsx'
import { useDesk } from './desk-context.ts'
import { Foreign, Numbers, Table } from './parts.tsx'

/** The time without requests, in milliseconds, after which a door is silent. Open pages send one every 15 seconds. */
const SILENT_MS = 3_600_000

interface DoorsProps {
  items: Door[]
  total: number
  rows: number
  projectId: string
}

/** The doors of a project, silent ones first. */
export function Doors({ items, total, rows, projectId }: DoorsProps) {
  const { clock, language } = useDesk()
  const { words, number, ago, moment } = language
  const canAct = useCanAct()
  const now = clock.now().getTime()
  const quietMs = ({ lastSeenAt, createdAt }: Door) => now - Date.parse(lastSeenAt ?? createdAt)
  const isSilent = (door: Door) => quietMs(door) >= SILENT_MS
  const silent = items.filter(isSilent)
  const inOrder = [...silent, ...items.filter((door) => !isSilent(door))]
  return (
    <>
      <Numbers
        items={[
          { name: 'doors', label: words.doors, value: total },
          { name: 'silentDoors', label: words.silent, value: silent.length },
          {
            name: 'pendingScans',
            label: words.pendingScans,
            value: sumOf(items, (door) => door.pendingScans ?? 0),
          },
        ]}
      />
      {canAct('inviteDoor', projectId) && (
        <div class="choices">
          <ActionButton
            name="inviteDoor"
            target={{ projectId, now: clock.now }}
            of={words.doors}
            projectId={projectId}
          />
        </div>
      )}
      <Table
        label={words.doors}
        keyOf={({ id }) => id}
        columns={{
          [words.name]: (door) => <Foreign>{door.name}</Foreign>,
          [words.gate]: (door) => <Foreign>{door.gate}</Foreign>,
          [words.lastSeen]: (door) => (
            <>
              {door.lastSeenAt === null ? (
                '–'
              ) : (
                <time dateTime={door.lastSeenAt} title={moment(door.lastSeenAt)}>
                  {ago(quietMs(door))}
                </time>
              )}{' '}
              {isSilent(door) && <strong class="mark">{words.silent}</strong>}
            </>
          ),
          [words.pendingScans]: (door) => number(door.pendingScans ?? 0),
          [words.commands]:
            items.some(({ projectId }) => canAct('revokeDoor', projectId)) &&
            ((door) => <ActionButton name="revokeDoor" target={door} of={door.name} projectId={door.projectId} />),
        }}
        rows={inOrder.slice(0, rows)}
        total={total}
      />
    </>
  )
}
