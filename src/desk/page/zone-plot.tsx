/** @jsxImportSource preact */
import { scaleLinear } from 'd3-scale'
import { curveStepAfter, line } from 'd3-shape'
import type { Zone } from '../../core/contract/scans/zones.ts'
import { type Minute, stretchesOf, type ZoneCurve } from '../live/zone-curves.ts'
import { useDesk } from './desk-context.ts'
import { Key, useSize } from './plots.tsx'

type Scale = ReturnType<typeof scaleLinear<number, number>>

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** The time that a bar covers, in milliseconds. */
const BAR_MS = 1_800_000

/** The share of the plot's height for the bars of entries and exits. */
const FLOWS_SHARE = 0.3

/**
 * A plot of a day in a zone: the people inside, compared with the capacity. Below, bars count entries upwards and exits
 * downwards. The accessible name contains the sums of entries and exits.
 */
export function ZonePlot({ zone, curve: { minutes, entries, exits } }: { zone: Zone; curve: ZoneCurve }) {
  const { isWall, language } = useDesk()
  const { words, number, short, time } = language
  const { ref, width, height, em } = useSize()
  const start = Date.parse(minutes[0]!.at)
  const end = start + minutes.length * MINUTE_MS
  const left = 4 * em
  const bottom = height - 1.75 * em
  const flowsTop = bottom - Math.max(0, bottom - 1.75 * em) * FLOWS_SHARE
  const x = scaleLinear([start, end], [left, width])

  const values = [...minutes.map(({ inside }) => inside), zone.inside]
  const highest = Math.max(1, zone.capacity ?? 0, ...values)
  const y = scaleLinear([Math.min(0, ...values), highest * 1.05], [flowsTop - em, 0.75 * em])
  const points = pointsOf(minutes, { end, inside: zone.inside })
  const stepped = line<(typeof points)[number]>(
    ([at]) => x(at),
    ([, inside]) => y(inside),
  ).curve(curveStepAfter)
  const curve = stepped(points) ?? ''

  const bars = stretchesOf(minutes, (at) => Math.floor(at.getTime() / BAR_MS))
  const most = Math.max(1, ...bars.flatMap((bar) => [bar.entries, bar.exits]))
  const flow = scaleLinear([-most, most], [bottom, flowsTop])
  const spoken = [
    `${words.inside}: ${number(zone.inside)}`,
    ...(zone.capacity === null ? [] : [`${words.capacity}: ${number(zone.capacity)}`]),
    `${words.entries}: ${number(entries)}`,
    `${words.exits}: ${number(exits)}`,
  ]
  return (
    <figure class="plot">
      {!isWall && <PlotLegend hasCapacity={zone.capacity !== null} />}
      <svg ref={ref} class="drawing" role="img" aria-label={`${zone.name}. ${spoken.join(', ')}`} direction="ltr">
        {ticksOf(y, highest, 1.5 * em).map((tick) => (
          <g key={tick} class="tick">
            <line x1={left} x2={width} y1={y(tick)} y2={y(tick)} />
            <text x={left - em / 2} y={y(tick)} dy="0.32em" text-anchor="end">
              {short(tick)}
            </text>
          </g>
        ))}
        {hoursOf(start, end, (5.5 * em * (end - start)) / (width - left))
          .filter((at) => x(at) > left + 2 * em && x(at) < width - 2 * em)
          .map((at) => (
            <g key={at} class="tick">
              <line x1={x(at)} x2={x(at)} y1={0.75 * em} y2={bottom} />
              <text x={x(at)} y={height - em / 2} text-anchor="middle">
                {time(new Date(at).toISOString())}
              </text>
            </g>
          ))}
        {(bottom - flowsTop > 2 * em ? [most, -most] : []).map((value) => (
          <text key={value} x={left - em / 2} y={flow(value)} dy="0.32em" text-anchor="end">
            {short(most)}
          </text>
        ))}
        {bars.map(({ at, entries, exits }, index) => {
          const from = x(Date.parse(at))
          const to = x(index + 1 < bars.length ? Date.parse(bars[index + 1]!.at) : end)
          const size = { x: from, width: Math.max(0, (to - from) * 0.8) }
          return (
            <g key={at}>
              <rect class="entries" {...size} y={flow(entries)} height={flow(0) - flow(entries)} />
              <rect class="exits" {...size} y={flow(0)} height={flow(-exits) - flow(0)} />
            </g>
          )
        })}
        <line class="base" x1={left} x2={width} y1={flow(0)} y2={flow(0)} />
        <path class="occupied" d={`${curve}V${y(0)}H${x(start)}Z`} />
        {zone.capacity !== null && (
          <line class="capacity" x1={left} x2={width} y1={y(zone.capacity)} y2={y(zone.capacity)} />
        )}
        <path class="occupants" d={curve} />
      </svg>
    </figure>
  )
}

/** The meaning of the lines and bars of the plots. A wall screen shows it once for all plots. */
export function PlotLegend({ hasCapacity }: { hasCapacity: boolean }) {
  const { words } = useDesk().language
  const middle = <line x1="0" x2="20" y1="4" y2="4" />
  return (
    <p class="legend">
      <Key name={words.inside} look="occupants">
        {middle}
      </Key>
      {hasCapacity && (
        <Key name={words.capacity} look="capacity">
          {middle}
        </Key>
      )}
      <Key name={words.entries} look="entries">
        <rect x="6" y="1" width="8" height="5" />
        <line class="base" x1="0" x2="20" y1="6" y2="6" />
      </Key>
      <Key name={words.exits} look="exits">
        <rect x="6" y="2" width="8" height="5" />
        <line class="base" x1="0" x2="20" y1="2" y2="2" />
      </Key>
    </p>
  )
}

/**
 * Returns the times at which the number of people changes, each with the new number, and at the end the current number.
 */
function pointsOf(minutes: readonly Minute[], last: { end: number; inside: number }): [at: number, inside: number][] {
  const changes = minutes.filter(({ inside }, n) => inside !== minutes[n - 1]?.inside)
  return [
    ...changes.map(({ at, inside }): [number, number] => [Date.parse(at), inside]),
    [last.end, minutes.at(-1)!.inside],
    [last.end, last.inside],
  ]
}

/**
 * Returns two to four whole numbers that label the axis, at least `distance` pixels apart. If the space is too small,
 * returns 0 and the highest number, or only 0.
 */
function ticksOf(y: Scale, highest: number, distance: number): number[] {
  const isApart = (tick: number, n: number, ticks: number[]) => n === 0 || y(ticks[n - 1]!) - y(tick) >= distance
  const choices = [...[3, 2, 1].map((count) => y.ticks(count).filter(Number.isInteger)), [0, highest]]
  return choices.find((ticks) => [2, 3, 4].includes(ticks.length) && ticks.every(isApart)) ?? [0]
}

/**
 * Returns the full hours from `start` to before `end` that are multiples of a step, in the time zone of the browser.
 * The step is the shortest of 1, 3, 6, and 12 hours that is at least `minMs`; if all are shorter, 24 hours.
 */
function hoursOf(start: number, end: number, minMs: number): number[] {
  const step = [1, 3, 6, 12].find((hours) => hours * HOUR_MS >= minMs) ?? 24
  const hours: number[] = []
  const first = new Date(start)
  first.setMinutes(0, 0, 0)
  for (let at = first.getTime(); at < end; at += HOUR_MS) {
    if (at >= start && new Date(at).getHours() % step === 0) hours.push(at)
  }
  return hours
}
