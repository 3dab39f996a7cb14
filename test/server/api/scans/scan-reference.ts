import type { RedemptionPolicy } from '../../../../src/core/contract/schemas/redemption.ts'

/**
 * Decides scans of one pass by reading its whole history each time. It implements the specification independently of
 * the service, and shares only its types.
 */
export class ReferencePass {
  readonly accepted: {
    id: string
    at: number
    context: string | undefined
    date: string | undefined
    window: number | null
  }[] = []
  isVoid = false
  private readonly policy: RedemptionPolicy
  private readonly expiresAt: number | null

  constructor(policy: RedemptionPolicy | null, expiresAt: Date | null) {
    this.policy = policy ?? {}
    this.expiresAt = expiresAt?.getTime() ?? null
  }

  /** Returns the reason of a scan at an operational time. `date` is the validity date, and `now` the clock. */
  evaluate(at: number, context: string | undefined, date: string | undefined, now: number): string {
    const { windows, maxUses, perPeriod, minIntervalMinutes, activation } = this.policy
    if (this.isVoid) return 'revoked'
    if (this.expiresAt !== null) {
      const lastDate = dateOfPolicy(this.expiresAt, this.policy)
      if (now >= this.expiresAt || (date === undefined ? at >= this.expiresAt : lastDate < date)) return 'expired'
    }
    // A decision for a date is the same at every time of that day.
    const asOf = date === undefined ? at : this.startOf(date, context)
    const first = Math.min(...this.accepted.map((scan) => scan.at))
    if (activation && asOf >= first + activation.validForHours * 3_600_000) return 'expired'
    const selected = this.selectedWindow(date, context)
    if (date !== undefined && windows && selected === -1) return 'not_valid_context'
    const candidates = this.windowsAt(at, date, context)
    if (windows && candidates.length === 0) return 'out_of_window'
    if (maxUses !== undefined && this.accepted.length >= maxUses) return 'quota_exhausted'
    if (windows && candidates.every((index) => this.isFull(index))) return 'quota_exhausted'
    if (perPeriod) {
      const period = periodKey(asOf, perPeriod)
      const within = this.accepted.filter((scan) => periodKey(scan.at, perPeriod) === period)
      if (within.length >= perPeriod.count) return 'quota_exhausted'
    }
    const interval = (minIntervalMinutes ?? 0) * 60_000
    const timed = date === undefined ? this.accepted.filter((scan) => scan.date === undefined) : []
    if (timed.some((scan) => Math.abs(scan.at - at) < interval)) return 'cooldown'
    if (this.isLimited()) return 'valid'
    const isUsed =
      windows && context === undefined
        ? candidates.every((index) => this.isTaken(index))
        : this.accepted.some((scan) => scan.context === context)
    return isUsed ? 'already_scanned' : 'valid'
  }

  accept(id: string, at: number, context: string | undefined, date: string | undefined, realTime: number): void {
    const window = this.windowsAt(at, date, context).find((index) => this.hasRoom(index, context)) ?? null
    this.accepted.push({ id, at, context, date, window })
    if (!this.policy.autoVoidOnExhaustion) return
    const { windows = [], maxUses = Number.POSITIVE_INFINITY } = this.policy
    const notOver = windows
      .map((_, index) => index)
      .filter((index) => this.end(index) > Math.min(at, realTime) && this.start(index) < this.end(index))
    const areFull = notOver.length > 0 && notOver.every((index) => this.isFull(index))
    if (this.accepted.length >= maxUses || areFull) this.isVoid = true
  }

  reverse(id: string): void {
    const index = this.accepted.findIndex((scan) => scan.id === id)
    this.accepted.splice(index, 1)
  }

  /** Returns the operational time of a validity date if windows decide it. Otherwise the caller uses its own date. */
  operationalTime(realTime: number, date: string, context: string | undefined): number | undefined {
    const selected = this.selectedWindow(date, context)
    if (selected === -1) return undefined
    const offset = offsetMinutes(this.policy.windows![selected]!.start!) * 60_000
    const timeOfDay = (((realTime + offset) % DAY) + DAY) % DAY
    const time = Date.parse(`${date}T00:00:00Z`) + timeOfDay - offset
    return Math.max(this.start(selected), Math.min(time, this.end(selected) - 1))
  }

  /** Returns the start of the window that a date selects, or of the day if there is none. */
  private startOf(date: string, context: string | undefined): number {
    const selected = this.selectedWindow(date, context)
    if (selected !== -1) return this.start(selected)
    const zone = this.policy.perPeriod?.timezone ?? 'UTC'
    let time = Date.parse(`${date}T00:00:00Z`) - 15 * 3_600_000
    while (localDate(time, zone) < date) time += 15 * 60_000
    return time
  }

  /**
   * Returns the first window with capacity of those that start on a date, or the last one. Returns -1 if there is none.
   */
  private selectedWindow(date: string | undefined, context: string | undefined): number {
    if (date === undefined) return -1
    const ofDate = this.byStart(this.all().filter((index) => this.policy.windows![index]!.start?.startsWith(date)))
    return ofDate.find((index) => this.hasRoom(index, context)) ?? ofDate.at(-1) ?? -1
  }

  /** Returns the windows by start. */
  private windowsAt(at: number, date: string | undefined, context: string | undefined): number[] {
    const open = this.all().filter((index) => this.start(index) <= at && at < this.end(index))
    if (date !== undefined) return open.filter((index) => index === this.selectedWindow(date, context))
    return this.byStart(open)
  }

  private all(): number[] {
    return (this.policy.windows ?? []).map((_, index) => index)
  }

  private byStart(windows: number[]): number[] {
    return windows.sort((a, b) => (this.start(a) === this.start(b) ? a - b : this.start(a) - this.start(b)))
  }

  /** Whether the policy limits the number of uses, the interval between them, or their duration. */
  private isLimited(): boolean {
    const { windows = [], maxUses, perPeriod, minIntervalMinutes, activation } = this.policy
    return Boolean(maxUses ?? perPeriod ?? minIntervalMinutes ?? activation ?? windows.find((window) => window.maxUses))
  }

  private hasRoom(index: number, context: string | undefined): boolean {
    return this.isLimited() || context !== undefined ? !this.isFull(index) : !this.isTaken(index)
  }

  /** Whether a scan without a context used the window, if windows are contexts. */
  private isTaken(index: number): boolean {
    return this.accepted.some((scan) => scan.window === index && scan.context === undefined)
  }

  private isFull(index: number): boolean {
    const uses = this.accepted.filter((scan) => scan.window === index).length
    return uses >= (this.policy.windows![index]!.maxUses ?? Number.POSITIVE_INFINITY)
  }

  private start(index: number): number {
    return Date.parse(this.policy.windows![index]!.start ?? '-100000-01-01T00:00:00Z')
  }

  private end(index: number): number {
    return Date.parse(this.policy.windows![index]!.end ?? '+100000-01-01T00:00:00Z')
  }
}

const DAY = 86_400_000

/** Returns the same text for two times if and only if they are in the same day, week, or month of the zone. */
function periodKey(at: number, { unit, timezone }: NonNullable<RedemptionPolicy['perPeriod']>): string {
  const date = localDate(at, timezone)
  if (unit === 'day') return date
  if (unit === 'month') return date.slice(0, 7)
  const midnight = Date.parse(`${date}T00:00:00Z`)
  const daysSinceMonday = (new Date(midnight).getUTCDay() + 6) % 7
  return new Date(midnight - daysSinceMonday * DAY).toISOString().slice(0, 10)
}

/** Returns the date (YYYY-MM-DD) in the zone of the policy: that of its periods, or of its first window, or UTC. */
export function dateOfPolicy(at: number, { perPeriod, windows = [] }: RedemptionPolicy): string {
  if (perPeriod) return localDate(at, perPeriod.timezone)
  const start = windows.flatMap((window) => window.start ?? [])[0] ?? 'Z'
  return new Date(at + offsetMinutes(start) * 60_000).toISOString().slice(0, 10)
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns the date (YYYY-MM-DD) in a time zone. */
export function localDate(at: number, timeZone: string): string {
  return localTime(at, timeZone).slice(0, 10)
}

/** Returns the local time (YYYY-MM-DDTHH:MM) in a time zone. */
export function localTime(at: number, timeZone: string): string {
  const fields = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const
  const format = formats.get(timeZone) ?? new Intl.DateTimeFormat('en-GB', { timeZone, ...fields, hourCycle: 'h23' })
  formats.set(timeZone, format)
  const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, value]))
  return `${parts.get('year')}-${parts.get('month')}-${parts.get('day')}T${parts.get('hour')}:${parts.get('minute')}`
}

function offsetMinutes(text: string): number {
  const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)$/.exec(text) ?? ['', '+', '0', '0']
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}
