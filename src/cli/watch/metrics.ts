/** What a server's /metrics said at one moment; of several processes the counters add up, and the gauges are the same. */
export interface Samples {
  at: number
  values: Map<string, Sample[]>
}

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
