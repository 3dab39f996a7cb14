/** @jsxImportSource preact */
import { scaleBand, scaleLinear } from 'd3-scale'
import { line, stack } from 'd3-shape'
import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useDesk } from './desk-context.ts'

/** A series of a plot; color and dash depend on its index. */
export interface Series {
  name: string
  values: number[]
}

interface PlotProps {
  title: string
  /** The start of each bucket. */
  at: string[]
  series: Series[]
  /** The form of the plot: lines or stacked bars. */
  as: 'lines' | 'bars'
}

/** The size of a plot in pixels; `em` is the font size of its labels and of the page's other text. */
interface Size {
  width: number
  height: number
  em: number
}

/** Returns a ref, and the layout size of the element that has this ref. */
export function useSize() {
  const ref = useRef<SVGSVGElement>(null)
  const [size, setSize] = useState<Size>({ width: 480, height: 160, em: 12 })
  useLayoutEffect(() => {
    const element = ref.current!
    const watch = new ResizeObserver(() => {
      const em = Number.parseFloat(getComputedStyle(element).fontSize)
      setSize({ width: element.clientWidth, height: element.clientHeight, em })
    })
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  return { ref, ...size }
}

/** A plot of numbers over time. Its accessible name contains the sum of each series. */
export function Plot({ title, at, series, as }: PlotProps) {
  const { number, short, time } = useDesk().language
  const { ref, width, height, em } = useSize()
  const buckets = at.map((_, index) => index)
  const left = 3.25 * em
  const x = scaleBand(buckets, [left, width]).padding(0.2)
  const heights =
    as === 'bars'
      ? buckets.map((index) => series.reduce((sum, { values }) => sum + (values[index] ?? 0), 0))
      : series.flatMap(({ values }) => values)
  const y = scaleLinear([0, Math.max(1, ...heights)], [height - 1.75 * em, 0.75 * em]).nice(3)
  const ticks = y.ticks(3).filter(Number.isInteger)
  const spoken = series.map(({ name, values }) => `${name}: ${number(values.reduce((sum, value) => sum + value, 0))}`)
  return (
    <figure class="plot">
      <figcaption>
        {series.map(({ name }, place) => (
          <Key key={name} name={name} look={`series-${place}`}>
            {as === 'bars' ? <rect width="20" height="8" /> : <line x1="0" x2="20" y1="4" y2="4" />}
          </Key>
        ))}
      </figcaption>
      <svg ref={ref} class="drawing" role="img" aria-label={`${title}. ${spoken.join(', ')}`} direction="ltr">
        {ticks.map((tick) => (
          <g key={tick} class="tick">
            <line x1={left} x2={width} y1={y(tick)} y2={y(tick)} />
            <text x={left - em / 2} y={y(tick)} dy="0.32em" text-anchor="end">
              {short(tick)}
            </text>
          </g>
        ))}
        {buckets
          .filter((index) => index % (x.step() * 6 < 6 * em ? 12 : 6) === 0)
          .map((index) => (
            <text key={index} class="hour" x={x(index)} y={height - em / 2}>
              {time(at[index]!)}
            </text>
          ))}
        {as === 'bars' ? <Bars series={series} buckets={buckets} x={x} y={y} /> : <Lines series={series} x={x} y={y} />}
      </svg>
    </figure>
  )
}

/** A name in the legend of a plot, and a sample of its lines or bars. */
export function Key({ name, look, children }: { name: string; look: string; children: ComponentChildren }) {
  return (
    <span class={`key ${look}`}>
      <svg viewBox="0 0 20 8" aria-hidden="true">
        {children}
      </svg>
      {name}
    </span>
  )
}

interface Scales {
  series: Series[]
  x: ReturnType<typeof scaleBand<number>>
  y: ReturnType<typeof scaleLinear<number, number>>
}

function Lines({ series, x, y }: Scales) {
  const middle = (index: number) => x(index)! + x.bandwidth() / 2
  const path = line<number>(
    (_, index) => middle(index),
    (value) => y(value),
  )
  return (
    <>
      {series.map(({ name, values }, place) => (
        <path key={name} class={`line series-${place}`} d={path(values) ?? ''} />
      ))}
    </>
  )
}

function Bars({ series, buckets, x, y }: Scales & { buckets: number[] }) {
  const stacked = stack<unknown, number, number>()
    .keys(series.map((_, place) => place))
    .value((index, place) => series[place]!.values[index] ?? 0)(buckets)
  return (
    <>
      {stacked.map((bars) => (
        <g key={bars.key} class={`bar series-${bars.key}`}>
          {bars.map(([from, to], index) => (
            <rect key={x(index)} x={x(index)} width={x.bandwidth()} y={y(to)} height={y(from) - y(to)} />
          ))}
        </g>
      ))}
    </>
  )
}
