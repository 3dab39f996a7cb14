import { count, cut, duration, localTime, printable, table } from '../command/output.ts'
import type { Look } from './look.ts'

/** One line for each look, where nothing can be drawn over. */
export function lookLine({ at, ...look }: Look): string {
  return [localTime(at), ...headlines({ at, ...look })].join('  ')
}

/** A screen of so many rows and columns. */
export function lookScreen(look: Look, server: string, { columns, rows }: { columns: number; rows: number }): string[] {
  const queues = look.queues?.filter(({ due, running, later }) => due + running + later > 0) ?? []
  const doors = look.scans?.doors ?? []
  const parts = [
    [`${server}  ${localTime(look.at)}`, ...headlines(look)],
    queues.length > 0 ? table(queues, queueColumns).split('\n') : [],
    doors.length > 0 ? table(doors, doorColumns).split('\n') : [],
    look.missing.map((why) => printable(why)),
  ]
  const lines = parts.filter((part) => part.length > 0).flatMap((part, index) => (index > 0 ? ['', ...part] : part))
  return lines.slice(0, rows - 1).map((line) => cut(line, columns))
}

function headlines({ answeredInMs, requests, queues, setAside, deliveries, scans }: Look): string[] {
  const sum = (state: 'due' | 'running') => count((queues ?? []).reduce((all, queue) => all + queue[state], 0))
  const lines = [answeredInMs === null ? 'no answer' : `answers in ${answeredInMs} ms`]
  if (requests) {
    const { rate, errorRate, p50, p95 } = requests
    const times = p50 === null || p95 === null ? '' : `, half ${bound(p50)}, 95% ${bound(p95)}`
    lines.push(`${rate.toFixed(1)} requests/s, ${errorRate.toFixed(1)} failed/s${times}`)
  }
  if (queues) lines.push(`jobs: ${sum('due')} due, ${sum('running')} running, ${count(setAside ?? 0)} set aside`)
  if (deliveries) lines.push(`deliveries: ${count(deliveries.pending)} pending, ${count(deliveries.failed)} failed`)
  if (scans) lines.push(`scans in 15 min: ${count(scans.total)}, ${count(scans.denied)} denied`)
  return lines
}

/** A bound of a bucket, in seconds. */
function bound(seconds: number): string {
  return Number.isFinite(seconds) ? `under ${Math.round(seconds * 1000)} ms` : 'over 10 s'
}

const queueColumns = [
  { title: 'queue', value: ({ queue }: Queue) => queue },
  { title: 'due', value: ({ due }: Queue) => count(due) },
  { title: 'running', value: ({ running }: Queue) => count(running) },
  { title: 'later', value: ({ later }: Queue) => count(later) },
  { title: 'oldest due', value: ({ due, oldestDueSeconds }: Queue) => (due > 0 ? duration(oldestDueSeconds) : '') },
]

const doorColumns = [
  { title: 'door', value: ({ device }: Door) => device },
  { title: 'scans', value: ({ scans }: Door) => count(scans) },
  { title: 'denied', value: ({ denied }: Door) => count(denied) },
  { title: 'last', value: ({ last }: Door) => localTime(last) },
]

type Queue = NonNullable<Look['queues']>[number]
type Door = NonNullable<Look['scans']>['doors'][number]
