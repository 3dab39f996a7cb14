import { Problem } from '../core/errors.ts'

export interface FairGateOptions {
  /** How many may be inside at once. */
  places: number
  /** How many of one party may, as it stands at the moment. */
  shareOf(party: string): number
}

interface Waiting {
  enter(): void
}

/**
 * Lets parties take turns at a few places. None holds more than its share, and a place that becomes free goes to the party
 * that has the fewest: whoever asks for much waits for itself.
 */
export class FairGate {
  private readonly options: FairGateOptions
  private inside = 0
  private readonly insideOf = new Map<string, number>()
  /** In the order in which parties had their last turn. */
  private readonly waiting = new Map<string, Set<Waiting>>()

  constructor(options: FairGateOptions) {
    this.options = options
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
    const left = this.insideOf.get(party)! - 1
    if (left === 0) this.insideOf.delete(party)
    else this.insideOf.set(party, left)
    this.inside -= 1
    this.letIn()
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
    this.insideOf.set(party, (this.insideOf.get(party) ?? 0) + 1)
  }

  private mayEnter(party: string): boolean {
    return this.inside < this.options.places && (this.insideOf.get(party) ?? 0) < this.options.shareOf(party)
  }

  private findNext(): string | undefined {
    let next: string | undefined
    let fewest = Number.POSITIVE_INFINITY
    for (const party of this.waiting.keys()) {
      const inside = this.insideOf.get(party) ?? 0
      if (inside >= fewest || !this.mayEnter(party)) continue
      next = party
      fewest = inside
    }
    return next
  }

  private forget(party: string, turn: Waiting): void {
    const queue = this.waiting.get(party)
    queue?.delete(turn)
    if (queue?.size === 0) this.waiting.delete(party)
  }
}

function tooMany(): Problem {
  return new Problem('SERVICE_UNAVAILABLE', {
    message: 'Too many requests of this workspace wait for their turn; send fewer at once.',
    headers: { 'retry-after': '1' },
  })
}
