import type { Direction } from '../../../../src/core/rules/zones/presence.ts'

interface Entry {
  at: number
  /** The order in which the changes were recorded. */
  order: number
}

interface Move extends Entry {
  scanId: string
  passId: string
  direction: Direction
}

interface Adjustment extends Entry {
  delta: number
}

/** A zone whose number inside is computed from all of its changes, as the definition says. */
export class ZoneModel {
  private moves: Move[] = []
  private readonly adjustments: Adjustment[] = []
  private readonly resets: Entry[] = []
  private recorded = 0
  private readonly capacity: number

  constructor(capacity: number) {
    this.capacity = capacity
  }

  move(scanId: string, passId: string, direction: Direction, at: Date): string {
    this.moves.push({ ...this.entry(at), scanId, passId, direction })
    return scanId
  }

  reverse(scanId: string): void {
    this.moves = this.moves.filter((move) => move.scanId !== scanId)
  }

  adjust(delta: number, at: Date): void {
    this.adjustments.push({ ...this.entry(at), delta })
  }

  reset(at: Date): void {
    this.resets.push(this.entry(at))
  }

  /** Whether the zone accepts a movement: the movements of the pass alternate, and a full zone denies entry. */
  accepts(passId: string, direction: Direction, at: Date): boolean {
    const now = { at: at.getTime(), order: Infinity }
    const moves = this.movesOf(passId, this.resets.filter((reset) => isBefore(reset, now)).at(-1))
    const before = moves.filter((move) => isBefore(move, now)).at(-1)
    const after = moves.find((move) => isBefore(now, move))
    if ((before?.direction ?? 'out') === direction || after?.direction === direction) return false
    return direction === 'out' || this.inside() < this.capacity
  }

  inside(until?: Entry): number {
    const isIn = <T extends Entry>(entries: T[]) => entries.filter((one) => !until || isBefore(one, until))
    const reset = isIn(this.resets).at(-1)
    const since = <T extends Entry>(entries: T[]) => isIn(entries).filter((one) => !reset || isBefore(reset, one))
    const last = new Map<string, Direction>()
    for (const { passId, direction } of since(this.moves).sort(byTime)) last.set(passId, direction)
    const passes = [...last.values()].filter((direction) => direction === 'in').length
    return since(this.adjustments).reduce((sum, { delta }) => sum + delta, passes)
  }

  lastDirection(passId: string): Direction | null {
    return this.movesOf(passId, this.resets.at(-1)).at(-1)?.direction ?? null
  }

  /** Returns the number inside just before each time. */
  insideBefore(ends: number[]): number[] {
    return ends.map((end) => this.inside({ at: end, order: -1 }))
  }

  /** Returns the peak between two times, and the changes upwards and downwards of each pass and adjustment. */
  figures(from: Date, to: Date) {
    const [start, end] = [from.getTime(), to.getTime()]
    const changes = [...this.moves, ...this.adjustments, ...this.resets]
      .filter(({ at }) => at >= start && at < end)
      .sort(byTime)
    const isReset = (entry: Entry) => this.resets.includes(entry)
    let [entries, exits, peak] = [0, 0, this.inside({ at: start, order: -1 })]
    for (const [n, change] of changes.entries()) {
      if (isReset(change)) continue
      const delta = this.inside({ at: change.at, order: change.order + 0.5 }) - this.inside(change)
      if (delta > 0) entries += delta
      else exits -= delta
      const next = changes[n + 1]
      const isLast = !next || next.at !== change.at || isReset(next)
      if (isLast) peak = Math.max(peak, this.inside({ at: change.at, order: change.order + 0.5 }))
    }
    return { peak, entries, exits }
  }

  private movesOf(passId: string, reset: Entry | undefined): Move[] {
    // The next reset ends the time in which movements of the pass belong together.
    const next = this.resets[reset ? this.resets.indexOf(reset) + 1 : 0]
    return this.moves
      .filter((move) => move.passId === passId && (!reset || isBefore(reset, move)) && (!next || isBefore(move, next)))
      .sort(byTime)
  }

  private entry(at: Date): Entry {
    this.recorded += 1
    return { at: at.getTime(), order: this.recorded }
  }
}

function isBefore(one: Entry, other: Entry): boolean {
  return byTime(one, other) < 0
}

function byTime(one: Entry, other: Entry): number {
  return one.at - other.at || one.order - other.order
}
