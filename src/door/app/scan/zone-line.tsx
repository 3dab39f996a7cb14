/** @jsxImportSource preact */
import { type Fullness, fullnessOf } from '../../../core/rules/zones/capacity.ts'
import type { Direction } from '../../../core/rules/zones/presence.ts'
import { useDoor, useEngineState } from '../door-context.ts'
import { type AppLanguage, say } from '../language.ts'

interface ZoneLineProps {
  direction: Direction
  zone: { name: string; inside: number; capacity: number | null } | null | undefined
  /** The time at which the number of people inside was correct; set only if the number is not current. */
  asOf?: string | null | undefined
}

/**
 * The direction, the zone, and the number of people inside. Words and signs show the same state as the colors, so that
 * color is not needed to read it.
 */
export function ZoneLine({ direction, zone, asOf }: ZoneLineProps) {
  const { words, number, clock } = useDoor().language
  const fullness = zone ? fullnessOf(zone) : 'free'
  return (
    <p class={`zone ${fullness}`}>
      <b class={`way ${direction}`}>{words.zones[direction]}</b>
      {zone && (
        <>
          <bdi class="zone-name">{zone.name}</bdi>
          {/* One item of the line, so that the number and its level stay together on a small phone. */}
          <b>
            <b class="inside">
              <span class="unseen">{words.zones.inside}</span>
              {/* Isolate the numbers, so that they keep their order in texts from right to left. */}
              <bdi>
                {number(zone.inside)}
                {zone.capacity !== null && ` / ${number(zone.capacity)}`}
              </bdi>
            </b>{' '}
            {fullness !== 'free' && fullnessText(fullness, words)}
          </b>
          {asOf && <small>{say(words.zones.asOf, { time: clock(asOf) })}</small>}
        </>
      )}
    </p>
  )
}

export function OwnZoneLine() {
  const { door, zone, connection } = useEngineState()
  if (!door?.movement) return null
  return (
    <ZoneLine
      direction={door.movement.direction}
      zone={zone}
      asOf={connection === 'online' || connection === 'unknown' ? null : zone?.at}
    />
  )
}

/**
 * Announces politely to screen readers that the direction changed, or that the zone is almost full or full. Does not
 * announce each scan.
 */
export function ZoneAnnouncement() {
  const { words } = useDoor().language
  const { door, zone } = useEngineState()
  if (!door?.movement) return null
  const fullness = zone ? fullnessOf(zone) : 'free'
  return (
    <div class="unseen" role="status" aria-live="polite">
      <p>{words.zones[door.movement.direction]}</p>
      <p>{zone && fullness !== 'free' && `${zone.name}: ${fullnessText(fullness, words)}`}</p>
    </div>
  )
}

function fullnessText(fullness: Exclude<Fullness, 'free'>, { zones }: AppLanguage['words']): string {
  return fullness === 'full' ? zones.full : zones.almostFull
}
