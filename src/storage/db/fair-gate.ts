import { ApiError } from '../../core/errors.ts'

/** The maximum numbers of concurrent turns, in total and per party. */
export interface FairGateOptions {
  /** The maximum number of concurrent turns in each room. */
  places: number
  /** The room of a party. One room for all by default. */
  roomOf?(party: string): string
  /** The maximum number of turns of a party. */
  share: number
  /**
   * The maximum number of turns of an owner in all rooms together while a neighbor with less use was admitted within NEIGHBOR_MS.
   * Unlimited by default.
   */
  shareWithNeighbors?: number
  /** Whether an owner counts as a neighbor of others. All do by default. */
  isNeighbor?(owner: string): boolean
  /** The weight of a party: at 2, its time counts half. 1 by default. */
  weightOf?(party: string): number
  /** The owner of a party. All parties of an owner share its turns. By default, each party is its own owner. */
  ownerOf?(party: string): string
  /**
   * The weighted time that a party with less use can save up. The party goes first until it has used its savings. 0 by
   * default.
   */
  savingsMs?: number
}

/** The time after its admission for which an owner counts as a neighbor. */
const NEIGHBOR_MS = 1_000

/** The maximum number of parties and owners. If there are more, their use is forgotten once all turns have ended. */
const MAX_OWNERS = 1_000

interface Waiting {
  enter(): void
}

/**
 * Admits parties to a few places in turn. No party has more turns than its share. A free place goes to the party with
 * the fewest turns; of those, to the one whose owner used the least time; of an owner's parties, to the one that used
 * the least time. A party with many requests therefore delays mostly itself. This is start-time fair queueing (Goyal,
 * Vin, and Cheng, 1996) of owners, and then of the parties of each. Unlike in that algorithm, an idle gate does not
 * reset the used time: the party with the last turn stays behind those without one. A party that used less time than
 * others can save part of the difference.
 */
export class FairGate {
  private readonly options: Required<FairGateOptions>
  /** The two owners that were admitted last. */
  private lastAdmitted: { owner: string; at: number }[] = []
  /** The number of turns per room. */
  private readonly inside = new Map<string, number>()
  /** The start times of the turns of each party. */
  private readonly insideOf = new Map<string, number[]>()
  private readonly owners: UsedTime
  /** The used time of the parties of each owner. */
  private readonly parties = new Map<string, UsedTime>()
  /** The waiting calls by party, ordered by the last turn of the parties. */
  private readonly waiting = new Map<string, Set<Waiting>>()

  constructor(options: FairGateOptions) {
    this.options = {
      weightOf: () => 1,
      ownerOf: (party) => party,
      roomOf: () => '',
      shareWithNeighbors: Number.POSITIVE_INFINITY,
      isNeighbor: () => true,
      savingsMs: 0,
      ...options,
    }
    this.owners = new UsedTime(this.options.savingsMs)
  }

  /**
   * Waits for a turn. Call `leave` at its end.
   * @param timeoutMs unlimited by default
   * @throws ApiError SERVICE_UNAVAILABLE on timeout
   */
  enter(party: string, timeoutMs?: number): Promise<void> {
    if (this.canEnter(party)) {
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
      const rejectTimedOut = () => {
        this.forget(party, turn)
        reject(tooMany())
      }
      const timer = timeoutMs === undefined ? undefined : setTimeout(rejectTimedOut, timeoutMs)
      queue.add(turn)
    })
  }

  /** Ends one turn of a party, and admits the next one. */
  leave(party: string): void {
    const inside = this.insideOf.get(party)!
    const startedAt = inside.shift()!
    if (inside.length === 0) this.insideOf.delete(party)
    const room = this.options.roomOf(party)
    this.inside.set(room, this.inside.get(room)! - 1)
    const counted = (performance.now() - startedAt) / this.options.weightOf(party)
    const owner = this.options.ownerOf(party)
    this.owners.add(owner, counted)
    this.parties.get(owner)!.add(party, counted)
    this.admitNext()
    if (this.insideOf.size === 0 && this.owners.size > MAX_OWNERS) this.forgetUse()
  }

  /** Admits all parties that can enter now. */
  private admitNext(): void {
    for (let next = this.findNext(); next !== undefined; next = this.findNext()) {
      const queue = this.waiting.get(next)!
      // Queue it behind the others.
      this.waiting.delete(next)
      this.waiting.set(next, queue)
      this.take(next)
      const [turn] = queue
      turn!.enter()
    }
  }

  private take(party: string): void {
    const room = this.options.roomOf(party)
    this.inside.set(room, (this.inside.get(room) ?? 0) + 1)
    const owner = this.options.ownerOf(party)
    this.owners.begin(owner)
    if (this.options.isNeighbor(owner)) this.noteNeighbor(owner)
    const parties = this.parties.get(owner) ?? new UsedTime(this.options.savingsMs)
    this.parties.set(owner, parties)
    parties.begin(party)
    const inside = this.insideOf.get(party)
    if (inside) inside.push(performance.now())
    else this.insideOf.set(party, [performance.now()])
  }

  private countInside(party: string): number {
    return this.insideOf.get(party)?.length ?? 0
  }

  private forgetUse(): void {
    this.owners.clear()
    this.parties.clear()
  }

  private canEnter(party: string): boolean {
    const { places, roomOf, share, shareWithNeighbors } = this.options
    if ((this.inside.get(roomOf(party)) ?? 0) >= places || this.countInside(party) >= share) return false
    const owner = this.options.ownerOf(party)
    return !this.hasNeighbor(owner) || this.staysOf(owner).length < shareWithNeighbors
  }

  /** Returns the start times of the turns of an owner. */
  private staysOf(owner: string): number[] {
    const stays: number[] = []
    for (const [party, startedAt] of this.insideOf) if (this.options.ownerOf(party) === owner) stays.push(...startedAt)
    return stays
  }

  private noteNeighbor(owner: string): void {
    const now = { owner, at: performance.now() }
    const [last] = this.lastAdmitted
    if (last === undefined || last.owner === owner) this.lastAdmitted[0] = now
    else this.lastAdmitted = [now, last]
  }

  private hasNeighbor(owner: string): boolean {
    const other = this.lastAdmitted.find((one) => one.owner !== owner)
    if (!other || performance.now() - other.at > NEIGHBOR_MS) return false
    return this.usedWith(other.owner) < this.usedWith(owner)
  }

  /** Returns the used time of an owner, including its current turns. */
  private usedWith(owner: string): number {
    const now = performance.now()
    return this.staysOf(owner).reduce((sum, startedAt) => sum + now - startedAt, this.owners.counted(owner))
  }

  private findNext(): string | undefined {
    let next: string | undefined
    let least: number[] = []
    for (const party of this.waiting.keys()) {
      if (!this.canEnter(party)) continue
      const owner = this.options.ownerOf(party)
      const rank = [this.countInside(party), this.owners.of(owner), this.parties.get(owner)?.of(party) ?? 0]
      if (next !== undefined && !isBefore(rank, least)) continue
      next = party
      least = rank
    }
    return next
  }

  private forget(party: string, turn: Waiting): void {
    const queue = this.waiting.get(party)
    queue?.delete(turn)
    if (queue?.size === 0) this.waiting.delete(party)
  }
}

function isBefore(rank: number[], other: number[]): boolean {
  const place = rank.findIndex((value, index) => value !== other[index])
  return place >= 0 && rank[place]! < other[place]!
}

/** The weighted time that each name used, in milliseconds. */
class UsedTime {
  private readonly used = new Map<string, number>()
  private readonly savings: number
  /**
   * The largest used time of a name that began a turn. The used time of a name counts as at most its savings less than
   * this. Otherwise, a name that was away for long would block all others.
   */
  private most = 0

  constructor(savings: number) {
    this.savings = savings
  }

  get size(): number {
    return this.used.size
  }

  of(name: string): number {
    return Math.max(this.used.get(name) ?? 0, this.most - this.savings)
  }

  /** Returns the value at the last begin or end of a turn. */
  counted(name: string): number {
    return this.used.get(name) ?? this.most - this.savings
  }

  begin(name: string): void {
    const used = this.of(name)
    this.used.set(name, used)
    this.most = Math.max(this.most, used)
  }

  add(name: string, milliseconds: number): void {
    this.used.set(name, this.used.get(name)! + milliseconds)
  }

  clear(): void {
    this.used.clear()
    this.most = 0
  }
}

function tooMany(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', {
    message: 'Too many requests of this workspace wait for their turn; send fewer at once.',
    headers: { 'retry-after': '1' },
  })
}
