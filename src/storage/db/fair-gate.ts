import { ApiError } from '../../core/errors.ts'

export interface FairGateOptions {
  /** How many may be inside at once. */
  places: number
  /** How many of one party may, as it stands at the moment. */
  shareOf(party: string): number
  /** What a party's time inside counts for, where others want the place: half as much at 2. 1 by default. */
  weightOf?(party: string): number
}

interface Waiting {
  enter(): void
}

/**
 * Lets parties take turns at a few places. None holds more than its share, and a place that becomes free goes to the party
 * that has the fewest, and of those to the one that was inside for the shortest time: whoever asks for much, or for much
 * at once, waits for itself. This is start-time fair queueing (Goyal, Vin and Cheng, 1996): who comes after it used nothing
 * for a while counts as having used as much as the one that was served last, so that nobody saves up.
 */
export class FairGate {
  private readonly options: Required<FairGateOptions>
  private inside = 0
  /** By party, when each that is inside came in. */
  private readonly insideOf = new Map<string, number[]>()
  /** By party, for how long it was inside, by its weight and in milliseconds, from a start that the others caught up with. */
  private readonly used = new Map<string, number>()
  /** What the one that came in last had used. */
  private usedOfLast = 0
  /** In the order in which parties had their last turn. */
  private readonly waiting = new Map<string, Set<Waiting>>()

  constructor(options: FairGateOptions) {
    this.options = { weightOf: () => 1, ...options }
  }

  /**
   * Whoever enters must leave.
   * @param patienceMs how long it waits before it is refused; for ever by default
   * @throws Problem SERVICE_UNAVAILABLE after too long a wait
   */
  enter(party: string, patienceMs?: number): Promise<void> {
    if (this.mayEnter(party)) {
      this.take(party)
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const queue = this.waiting.get(party) ?? new Set()
      this.waiting.set(party, queue)
      const turn = {
        enter: () => {
          clearTimeout(timer)
          this.forget(party, turn)
          resolve()
        },
      }
      const refuse = () => {
        this.forget(party, turn)
        reject(tooMany())
      }
      const timer = patienceMs === undefined ? undefined : setTimeout(refuse, patienceMs)
      queue.add(turn)
    })
  }

  leave(party: string): void {
    const [cameIn, ...others] = this.insideOf.get(party)!
    if (others.length === 0) this.insideOf.delete(party)
    else this.insideOf.set(party, others)
    this.inside -= 1
    const took = performance.now() - cameIn!
    this.used.set(party, this.used.get(party)! + took / this.options.weightOf(party))
    this.letIn()
    if (this.inside === 0) this.forgetUse()
  }

  /** Lets in whoever may enter by now: a place became free, or shares are larger than they were. */
  letIn(): void {
    for (let next = this.findNext(); next !== undefined; next = this.findNext()) {
      const queue = this.waiting.get(next)!
      // It goes behind the others.
      this.waiting.delete(next)
      this.waiting.set(next, queue)
      this.take(next)
      const [turn] = queue
      turn!.enter()
    }
  }

  private take(party: string): void {
    this.inside += 1
    this.usedOfLast = this.usedBy(party)
    this.used.set(party, this.usedOfLast)
    this.insideOf.set(party, [...(this.insideOf.get(party) ?? []), performance.now()])
  }

  private usedBy(party: string): number {
    return Math.max(this.used.get(party) ?? 0, this.usedOfLast)
  }

  private countInside(party: string): number {
    return this.insideOf.get(party)?.length ?? 0
  }

  /** Nobody waits for anybody. */
  private forgetUse(): void {
    this.used.clear()
    this.usedOfLast = 0
  }

  private mayEnter(party: string): boolean {
    return this.inside < this.options.places && this.countInside(party) < this.options.shareOf(party)
  }

  private findNext(): string | undefined {
    let next: string | undefined
    let [fewest, least] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    for (const party of this.waiting.keys()) {
      const [inside, used] = [this.countInside(party), this.usedBy(party)]
      const isBefore = inside < fewest || (inside === fewest && used < least)
      if (!isBefore || !this.mayEnter(party)) continue
      next = party
      fewest = inside
      least = used
    }
    return next
  }

  private forget(party: string, turn: Waiting): void {
    const queue = this.waiting.get(party)
    queue?.delete(turn)
    if (queue?.size === 0) this.waiting.delete(party)
  }
}

function tooMany(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', {
    message: 'Too many requests of this workspace wait for their turn; send fewer at once.',
    headers: { 'retry-after': '1' },
  })
}
