import { ApiError, type Client } from '../client/client.ts'
import { count, cut, duration, localTime, printable, table } from './command/output.ts'
import { call } from './device/http.ts'
import { mayComeBack } from './list/follow.ts'

/** The life of a server at one moment. What nobody could be asked for is null, and `missing` says why. */
export interface Look {
  at: string
  /** Milliseconds to the answer of a small request; null where there was none. */
  answeredInMs: number | null
  /** A second, since the look before: null at the first. Latencies are upper bounds, in seconds; null without a request. */
  requests: { rate: number; errorRate: number; p50: number | null; p95: number | null } | null
  queues: { queue: string; due: number; running: number; later: number; oldestDueSeconds: number }[] | null
  /** Jobs that gave up and wait for an operator. */
  setAside: number | null
  /** Of the workspace, in all. */
  deliveries: { pending: number; failed: number } | null
  /** Of the workspace, within the last 15 minutes; doors are named by their device. */
  scans: {
    total: number
    denied: number
    doors: { device: string; scans: number; denied: number; last: string }[]
  } | null
  missing: string[]
}

/** What the numbers of a look come from: the API of a workspace, and the metrics of the processes that serve it. */
export interface Source {
  client: Client
  /** Addresses of /metrics, one a process. Without any a look has neither requests nor queues. */
  metrics: readonly string[]
  /** Ends the requests under way, as Ctrl-C does. */
  signal: AbortSignal
}

/** A server that is away is something to see, and may come back. */
async function timeResponse({ tokens }: Client, signal: AbortSignal, missing: string[]): Promise<number | null> {
  const startedAt = performance.now()
  try {
    await tokens.current({}, { signal })
    return Math.round(performance.now() - startedAt)
  } catch (error) {
    if (signal.aborted || !mayComeBack(error)) throw error
    missing.push(`Server: ${error.message}`)
    return null
  }
}

const WINDOW_MS = 15 * 60_000

/** Makes what looks at the server, again and again: rates are of what changed since the look before. */
export function createLook({ client, metrics, signal }: Source): () => Promise<Look> {
  let before: Samples | undefined
  return async () => {
    const missing: string[] = []
    const answeredInMs = await timeResponse(client, signal, missing)
    const now = await readMetrics(metrics, signal, missing)
    const [deliveries, scans] = await Promise.all([
      orMissing(missing, 'Deliveries: the token may not read webhooks (webhooks:read)', () =>
        readDeliveries(client, signal),
      ),
      orMissing(missing, 'Scans: the token may not read scans (scans:read)', () => readScans(client, signal)),
    ])
    const look = {
      at: new Date().toISOString(),
      answeredInMs,
      requests: now && before ? requestsOf(now, before) : null,
      queues: now ? queuesOf(now) : null,
      setAside: now ? sumOf(now, 'passes_jobs_set_aside') : null,
      deliveries,
      scans,
      missing,
    }
    before = now ?? before
    return look
  }
}

async function readMetrics(
  urls: readonly string[],
  signal: AbortSignal,
  missing: string[],
): Promise<Samples | undefined> {
  if (urls.length === 0) missing.push(NO_METRICS)
  const texts: string[] = []
  for (const url of urls) {
    try {
      const { status, bytes } = await call(url, { signal })
      if (status === 200) texts.push(bytes.toString('utf8'))
      else missing.push(`Metrics: ${url} answered ${status}`)
    } catch (error) {
      if (signal.aborted) throw error
      missing.push(`Metrics: ${(error as Error).message}`)
    }
  }
  // Of a part of the processes, counters would seem to fall.
  return urls.length > 0 && texts.length === urls.length ? parseMetrics(texts, Date.now()) : undefined
}

const NO_METRICS =
  'Requests, latency and queues: start the server with --metrics-port 9464, and add --metrics http://127.0.0.1:9464/metrics'

async function orMissing<T>(missing: string[], why: string, read: () => Promise<T>): Promise<T | null> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof ApiError && error.status === 403) missing.push(why)
    else if (!mayComeBack(error)) throw error
    return null
  }
}

function requestsOf(now: Samples, before: Samples): NonNullable<Look['requests']> {
  const [counted, timed] = ['passes_http_requests_total', 'passes_http_request_duration_seconds']
  return {
    rate: rateOf(now, before, counted),
    errorRate: rateOf(now, before, counted, ({ status = '' }) => status.startsWith('5')),
    p50: quantileOf(now, before, timed, 0.5),
    p95: quantileOf(now, before, timed, 0.95),
  }
}

function queuesOf(now: Samples): NonNullable<Look['queues']> {
  const names = new Set((now.values.get('passes_jobs') ?? []).map(({ labels }) => labels.queue ?? ''))
  return [...names].map((queue) => {
    const jobs = (state: string) =>
      sumOf(now, 'passes_jobs', (labels) => labels.queue === queue && labels.state === state)
    const oldest = sumOf(now, 'passes_jobs_oldest_due_age_seconds', (labels) => labels.queue === queue)
    return {
      queue,
      due: jobs('due'),
      running: jobs('running'),
      later: jobs('later'),
      oldestDueSeconds: Math.round(oldest),
    }
  })
}

async function readDeliveries({ deliveries }: Client, signal: AbortSignal) {
  const total = async (status: 'PENDING' | 'FAILED') =>
    (await deliveries.list({ query: { status: [status], limit: 1 } }, { signal })).total
  const [pending, failed] = await Promise.all([total('PENDING'), total('FAILED')])
  return { pending, failed }
}

/** Doors are those of the newest hundred scans. */
async function readScans({ scans }: Client, signal: AbortSignal): Promise<NonNullable<Look['scans']>> {
  const scannedSince = new Date(Date.now() - WINDOW_MS).toISOString()
  const [page, denied] = await Promise.all([
    scans.list({ query: { scannedSince, limit: 100 } }, { signal }),
    scans.list({ query: { scannedSince, resultGroup: ['denied'], limit: 1 } }, { signal }),
  ])
  const doors = new Map<string, { device: string; scans: number; denied: number; last: string }>()
  for (const { deviceId, result, scannedAt } of page.items) {
    const device = deviceId ?? 'unnamed'
    const door = doors.get(device) ?? { device, scans: 0, denied: 0, last: scannedAt }
    door.scans += 1
    if (result === 'denied') door.denied += 1
    doors.set(device, door)
  }
  return { total: page.total, denied: denied.total, doors: [...doors.values()] }
}

/** What a server's /metrics said at one moment; of several processes the counters add up, and the gauges are the same. */
interface Samples {
  at: number
  values: Map<string, Sample[]>
}

/** One line of /metrics: the value of a metric under its labels. */
export interface Sample {
  labels: Record<string, string>
  value: number
}

/** Reads the text format of Prometheus, as far as it is numbers: comments and what is no line of it are left out. */
export function parseMetrics(texts: readonly string[], at: number): Samples {
  const found = new Map<string, Map<string, Sample>>()
  for (const text of texts) {
    for (const [, name = '', labels = '', number = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)) {
      const value = Number(number)
      if (!name.startsWith('passes_') || Number.isNaN(value)) continue
      const samples = found.get(name) ?? new Map<string, Sample>()
      const before = samples.get(labels)?.value ?? 0
      const isCounted = /_(?:total|bucket|sum|count)$/.test(name)
      samples.set(labels, { labels: labelsOf(labels), value: isCounted ? before + value : Math.max(before, value) })
      found.set(name, samples)
    }
  }
  return { at, values: new Map([...found].map(([name, samples]) => [name, [...samples.values()]])) }
}

function labelsOf(text: string): Record<string, string> {
  return Object.fromEntries([...text.matchAll(/\b(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]))
}

type Matches = (labels: Record<string, string>) => boolean

/** The sum of what matches. */
export function sumOf({ values }: Samples, name: string, matches: Matches = () => true): number {
  return (values.get(name) ?? []).reduce((sum, { labels, value }) => sum + (matches(labels) ? value : 0), 0)
}

/** How much a counter rose a second; 0 where a process began anew in between. */
export function rateOf(now: Samples, before: Samples, name: string, matches?: Matches): number {
  const seconds = (now.at - before.at) / 1000
  const rise = sumOf(now, name, matches) - sumOf(before, name, matches)
  return seconds > 0 ? Math.max(0, rise) / seconds : 0
}

/** The bound, in seconds, below which that share of what a histogram counted in between lies; null where it counted nothing. */
export function quantileOf(now: Samples, before: Samples, name: string, share: number): number | null {
  const bounds = new Set((now.values.get(`${name}_bucket`) ?? []).map(({ labels }) => labels.le ?? ''))
  const risen = [...bounds]
    .map((le) => {
      const isBound: Matches = (labels) => labels.le === le
      const rise = sumOf(now, `${name}_bucket`, isBound) - sumOf(before, `${name}_bucket`, isBound)
      return { bound: le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), rise }
    })
    .toSorted((a, b) => a.bound - b.bound)
  const all = risen.at(-1)?.rise ?? 0
  return all > 0 ? risen.find(({ rise }) => rise >= share * all)!.bound : null
}

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
