/** @jsxImportSource preact */
import { useState } from 'preact/hooks'
import type { Adjustment } from '../../engine/engine.ts'
import { useDoor, useEngineState } from '../door-context.ts'
import { say } from '../language.ts'
import { CountProblems } from '../problems.tsx'
import { Sheet } from './sheets.tsx'
import { OwnZoneLine } from './zone-line.tsx'

/** Asks before the direction changes, so that a single touch cannot change it. */
export function DirectionSheet({ onClose }: { onClose(): void }) {
  const { engine, language } = useDoor()
  const { words } = language
  const movement = useEngineState().door?.movement
  if (!movement) return null
  const { zoneId, direction } = movement
  const isIn = direction === 'in'
  const change = async () => {
    onClose()
    await engine.setMovement({ zoneId, direction: isIn ? 'out' : 'in' })
  }
  return (
    <Sheet title={isIn ? words.zones.toOutQuestion : words.zones.toInQuestion} onClose={onClose}>
      <OwnZoneLine />
      <button type="button" class="main" onClick={change}>
        {isIn ? words.zones.toOut : words.zones.toIn}
      </button>
    </Sheet>
  )
}

/** Moves this door to another zone, and keeps the direction. Needs no server, because each scan reports its zone. */
export function ZoneSheet({ onDone, onClose }: { onDone(): void; onClose(): void }) {
  const { engine, language } = useDoor()
  const { words, number } = language
  const { zones, door } = useEngineState()
  const current = door?.movement?.zoneId ?? null
  const choose = async (zoneId: string | null) => {
    onDone()
    if (zoneId === current) return
    // Keep the direction. Otherwise, an exit would become an entrance and admit the people who leave.
    const direction = door?.movement?.direction ?? 'in'
    await engine.setMovement(zoneId === null ? null : { zoneId, direction })
  }
  return (
    <Sheet title={words.zones.change} onClose={onClose}>
      <ul class="candidates">
        {zones.map(({ id, name, inside, capacity }) => (
          <li key={id}>
            <button type="button" aria-pressed={id === current} onClick={() => choose(id)}>
              <bdi>{name}</bdi>
              <small>
                {words.zones.inside}{' '}
                <bdi>{capacity === null ? number(inside) : `${number(inside)} / ${number(capacity)}`}</bdi>
              </small>
            </button>
          </li>
        ))}
        <li>
          <button type="button" aria-pressed={current === null} onClick={() => choose(null)}>
            {words.zones.none}
          </button>
        </li>
      </ul>
    </Sheet>
  )
}

/** Counts people who pass without a scan. One press counts one person, so the sheet stays open for the next press. */
export function CountSheet({ onClose }: { onClose(): void }) {
  const { engine, language } = useDoor()
  const { words, number } = language
  const { problems, zones, door } = useEngineState()
  const held = problems.find((problem) => problem.code === 'counts_held')?.references ?? []
  const resetAt = zones.find(({ id }) => id === door?.movement?.zoneId)?.resetAt
  const [all, setAll] = useState<readonly { adjustment: Adjustment; resetAt: typeof resetAt }[]>([])
  // Exclude counts made before a reset. The reset emptied the zone, so undoing an entry would count a wrong exit.
  const made = all.filter((one) => one.resetAt === resetAt).map(({ adjustment }) => adjustment)
  const count = async (delta: 1 | -1) => {
    const adjustment = await engine.adjust(delta)
    if (adjustment) setAll((others) => [...others, { adjustment, resetAt }])
  }
  const undo = async () => {
    const last = made.at(-1)
    if (!last) return
    setAll((others) => others.filter(({ adjustment }) => adjustment !== last))
    if (!(await engine.undoAdjustment(last))) setAll((others) => [...others, { adjustment: last, resetAt }])
  }
  const counted = made.filter(({ externalRef }) => !held.includes(externalRef))
  const sumOf = (sign: 1 | -1) => number(counted.filter(({ delta }) => delta === sign).length)
  return (
    <Sheet title={words.zones.countTitle} onClose={onClose}>
      <OwnZoneLine />
      <CountProblems />
      <p role="status">{say(words.zones.counted, { in: sumOf(1), out: sumOf(-1) })}</p>
      <div class="actions counter">
        <button type="button" class="main" onClick={() => count(-1)}>
          {words.zones.oneOut}
        </button>
        <button type="button" class="main" onClick={() => count(1)}>
          {words.zones.oneIn}
        </button>
      </div>
      <button type="button" aria-disabled={made.length === 0} onClick={undo}>
        {words.zones.undoLast}
      </button>
    </Sheet>
  )
}
