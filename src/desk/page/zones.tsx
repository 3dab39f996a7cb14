/** @jsxImportSource preact */
import { useId } from 'preact/hooks'
import type { Zone } from '../../core/contract/scans/zones.ts'
import { type Fullness, fullnessOf } from '../../core/rules/zones/capacity.ts'
import type { DeskWords } from '../../locales/desk-texts.ts'
import { minuteOf, PACE_MINUTES, paceBeginningOf, zoneSources } from '../live/sources.ts'
import { localHourOf, shareOf, shownZones, stretchesOf, type ZoneCurve } from '../live/zone-curves.ts'
import { type Answers, useAnswers, useDesk } from './desk-context.ts'
import { Foreign, knownValue, More, Numbers, Section, Shown, Table } from './parts.tsx'
import { PlotLegend, ZonePlot } from './zone-plot.tsx'

type ZoneAnswers = Pick<Answers<typeof zoneSources>, keyof typeof zoneSources>

/**
 * The zones of a project with their curves; nothing if the project has no zones. A wall screen with all topics has no
 * space for the curves.
 */
export function Zones({ answers, rows }: { answers: ZoneAnswers; rows: number }) {
  const { isWall, language } = useDesk()
  const { words } = language
  const zones = knownValue(answers.zones)?.items ?? []
  if (zones.length === 0) return null
  const shown = shownZones(zones, rows)
  if (isWall) {
    return (
      <Section title={words.zones}>
        <ZoneTable zones={shown} total={zones.length} answers={answers} />
      </Section>
    )
  }
  return (
    <Section title={`${words.zones} · ${words.lastDay}`} wide>
      <p class="muted">{words.expectedNote}</p>
      <div class="zones">
        {shown.map((zone) => (
          <ZoneTile key={zone.id} zone={zone} answers={answers} />
        ))}
      </div>
      <More shown={shown.length} total={zones.length} />
    </Section>
  )
}

/** A wall screen that shows only zones, so that a control room can read it from a distance. */
export function ZoneWall({ projectId }: { projectId: string }) {
  const { api, clock } = useDesk()
  const answers = useAnswers(zoneSources, projectId, () => ({
    api,
    projectId,
    minute: minuteOf(clock.now()),
    paceFrom: paceBeginningOf(clock.now()),
  }))
  const { words } = useDesk().language
  return (
    <Shown answer={answers.zones}>
      {({ items }) => {
        const shown = shownZones(items)
        if (shown.length === 0) return <p class="muted">{words.nothing}</p>
        return (
          <>
            <div class="board zones">
              {shown.map((zone) => (
                <ZoneTile key={zone.id} zone={zone} answers={answers} />
              ))}
            </div>
            <footer>
              <PlotLegend hasCapacity={shown.some(({ capacity }) => capacity !== null)} />
              <p class="muted">{words.expectedNote}</p>
              <More shown={shown.length} total={items.length} />
            </footer>
          </>
        )
      }}
    </Shown>
  )
}

function ZoneTile({ zone, answers }: { zone: Zone; answers: ZoneAnswers }) {
  const { isWall, language } = useDesk()
  const { words, number, time } = language
  const id = useId()
  const curve = curveOf(zone, answers)
  const expected = knownValue(answers.passTotals)?.livePassCount
  const Heading = isWall ? 'h2' : 'h3'
  // Include the current number of people, which can exceed the peak: the curve ends with the last full minute.
  const peak =
    curve && (zone.inside > curve.peak ? number(zone.inside) : `${number(curve.peak)} · ${time(curve.peakAt)}`)
  const of = (name: string, label: string, value: number | string | undefined) => ({
    name: `zone ${zone.name} ${name}`,
    label,
    value,
  })
  const numbers = [
    of('perMinute', words.entriesPerMinute, entriesPerMinute(zone, answers)),
    of(
      'expected',
      words.insideOfExpected,
      expected === undefined ? undefined : `${number(zone.inside)} / ${number(expected)}`,
    ),
    of('entries', words.entries, curve?.entries),
    of('exits', words.exits, curve?.exits),
    of('peak', words.peak, peak),
  ]
  return (
    <article class={`zone ${fullnessOf(zone)}`} aria-labelledby={id}>
      <div class="head">
        <Heading id={id}>
          <Foreign>{zone.name}</Foreign>
        </Heading>
        <p class="state" role="status">
          <State zone={zone} />
        </p>
        <p class="inside">
          <span class="unseen">{words.inside}: </span>
          <Inside zone={zone} /> <span>{zone.capacity === null ? words.noCapacity : `/ ${number(zone.capacity)}`}</span>
        </p>
        <Gauge zone={zone} />
      </div>
      <Numbers items={isWall ? numbers.slice(0, 2) : numbers} />
      <Shown answer={answers.curves}>
        {() => (curve ? <ZonePlot zone={zone} curve={curve} /> : <p class="muted">{words.loading}</p>)}
      </Shown>
      {curve && !isWall && (
        <details>
          <summary>{words.curveAsTable}</summary>
          <Table
            label={`${words.curveAsTable}: ${zone.name}`}
            keyOf={({ at }) => at}
            columns={{
              [words.time]: ({ at }) => <time dateTime={at}>{time(at)}</time>,
              [words.entries]: ({ entries }) => number(entries),
              [words.exits]: ({ exits }) => number(exits),
              [words.inside]: ({ inside }) => number(inside),
            }}
            rows={stretchesOf(curve.minutes, localHourOf)}
          />
        </details>
      )}
    </article>
  )
}

function Inside({ zone: { name, inside } }: { zone: Zone }) {
  const { number } = useDesk().language
  return <strong data-number={`zone ${name} inside`}>{number(inside)}</strong>
}

/** The symbol of each state, so that the states differ without colors. */
const SYMBOLS: Record<Fullness, string> = { free: '', nearlyFull: '▲', full: '■' }

function State({ zone }: { zone: Zone }) {
  const { words, percent } = useDesk().language
  const share = shareOf(zone)
  const fullness = fullnessOf(zone)
  return (
    <>
      {fullness !== 'free' && (
        <strong>
          <span aria-hidden="true">{SYMBOLS[fullness]}</span> {stateOf(fullness, words)}
        </strong>
      )}{' '}
      {share !== null && <span>{percent(share)}</span>}
    </>
  )
}

function stateOf(fullness: Exclude<Fullness, 'free'>, words: DeskWords): string {
  return fullness === 'full' ? words.full : words.nearlyFull
}

/** A bar that shows the used share of the capacity. Screen readers skip it: the tile shows the share as text. */
function Gauge({ zone }: { zone: Zone }) {
  const share = shareOf(zone)
  // If the zone has no capacity, keep the space of the bar empty, so that the plots of neighboring tiles are at the
  // same height.
  return (
    <svg
      class={share === null ? 'gauge unlimited' : 'gauge'}
      viewBox="0 0 100 1"
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <rect class="rest" width="100" height="1" />
      <rect class="used" width={Math.min(1, share ?? 0) * 100} height="1" />
    </svg>
  )
}

function ZoneTable({ zones, total, answers }: { zones: Zone[]; total: number; answers: ZoneAnswers }) {
  const { words, number } = useDesk().language
  return (
    <Table
      label={words.zones}
      keyOf={({ id }) => id}
      columns={{
        [words.zone]: ({ name }) => <Foreign>{name}</Foreign>,
        [words.inside]: (zone) => (
          <span class="inside-cell">
            <Inside zone={zone} />
            {zone.capacity !== null && ` / ${number(zone.capacity)}`}
          </span>
        ),
        [words.status]: (zone) => (
          <span class={`state ${fullnessOf(zone)}`}>
            <State zone={zone} />
          </span>
        ),
        [words.perMinute]: (zone) => {
          const pace = entriesPerMinute(zone, answers)
          return pace === undefined ? '–' : number(pace)
        },
      }}
      rows={zones}
      total={total}
    />
  )
}

function curveOf({ id }: Zone, answers: ZoneAnswers): ZoneCurve | undefined {
  return knownValue(answers.curves)?.find(({ zoneId }) => zoneId === id)
}

/** Returns the mean number of entries per minute over the last minutes, including the current one. */
function entriesPerMinute({ id }: Zone, answers: ZoneAnswers): number | undefined {
  const entries = knownValue(answers.zonePaces)?.get(id)
  return entries === undefined ? undefined : entries / PACE_MINUTES
}
