import { ApiError } from '../../core/errors.ts'

/** How many may be inside, and how they share it. */
export interface FairGateOptions {
  /** How many may be inside of each room at once. */
  places: number
  /** Where a party wants to be. All in one room by default. */
  roomOf?(party: string): string
  /** How many of one party may, as it stands at the moment. */
  shareOf(party: string): number
  /**
   * How many of one owner may, in all rooms together and if that is fewer, while a neighbour who used less was here within
   * BESIDE_MS. As many by default.
   */
  shareBesideNeighbours?: number
  /** Whether an owner is a neighbour of others. Each is by default. */
  isNeighbour?(owner: string): boolean
  /** What a party's time inside counts for, where others want the place: half as much at 2. 1 by default. */
  weightOf?(party: string): number
  /** Who is behind a party: those of one owner share its turns. Each party its own by default. */
  ownerOf?(party: string): string
  /** So much time, as it counts, whoever used less than others may save up: it goes first until that is used. 0 by default. */
  savingsMs?: number
}

/** So long somebody who came in counts as being there. */
const BESIDE_MS = 1_000

/** So many parties and owners are remembered; with more, who used how much is forgotten once nobody is inside. */
const MAX_REMEMBERED = 1_000

interface Waiting {
  enter(): void
}

/**
 * Lets parties take turns at a few places. None holds more than its share, and a place that becomes free goes to the party
 * that has the fewest, of those to the one whose owner's parties were inside for the shortest time, and of an owner's to
 * the one that itself was: whoever asks for much, for much at once, or in several ways, waits for itself. This is start-time
 * fair queueing (Goyal, Vin and Cheng, 1996), of owners and then of the parties of each. But that nobody waits ends nothing:
 * who had the last turn stays behind who had none. And who used less than others may save some of it up.
 */
export class FairGate {
  private readonly options: Required<FairGateOptions>
  /** The neighbours that came in last: the last one, and the last other one. */
  private lastCame: { owner: string; at: number }[] = []
  /** By room. */
  private readonly inside = new Map<string, number>()
  /** By party, when each that is inside came in. */
  private readonly insideOf = new Map<string, number[]>()
  private readonly owners: UsedTime
  /** By owner, that of its parties. */
  private readonly parties = new Map<string, UsedTime>()
  /** In the order in which parties had their last turn. */
  private readonly waiting = new Map<string, Set<Waiting>>()

  constructor(options: FairGateOptions) {
    this.options = {
      weightOf: () => 1,
      ownerOf: (party) => party,
      roomOf: () => '',
      shareBesideNeighbours: Number.POSITIVE_INFINITY,
      isNeighbour: () => true,
      savingsMs: 0,
      ...options,
    }
    this.owners = new UsedTime(this.options.savingsMs)
  }

  /**
   * Whoever enters must leave.
   * @param patienceMs how long it waits before it is refused; forever by default
   * @throws ApiError SERVICE_UNAVAILABLE after too long a wait
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

  /** Ends one stay of a party, and lets in who is next. */
  leave(party: string): void {
    const inside = this.insideOf.get(party)!
    const cameIn = inside.shift()!
    if (inside.length === 0) this.insideOf.delete(party)
    const room = this.options.roomOf(party)
    this.inside.set(room, this.inside.get(room)! - 1)
    const counted = (performance.now() - cameIn) / this.options.weightOf(party)
    const owner = this.options.ownerOf(party)
    this.owners.add(owner, counted)
    this.parties.get(owner)!.add(party, counted)
    this.letIn()
    if (this.insideOf.size === 0 && this.owners.size > MAX_REMEMBERED) this.forgetUse()
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
    const room = this.options.roomOf(party)
    this.inside.set(room, (this.inside.get(room) ?? 0) + 1)
    const owner = this.options.ownerOf(party)
    this.owners.begin(owner)
    if (this.options.isNeighbour(owner)) this.noteNeighbour(owner)
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

  private mayEnter(party: string): boolean {
    const { places, roomOf, shareOf, shareBesideNeighbours } = this.options
    if ((this.inside.get(roomOf(party)) ?? 0) >= places || this.countInside(party) >= shareOf(party)) return false
    const owner = this.options.ownerOf(party)
    return !this.isBesideNeighbour(owner) || this.staysOf(owner).length < shareBesideNeighbours
  }

  /** Since when each of an owner's parties that is inside has been. */
  private staysOf(owner: string): number[] {
    const stays: number[] = []
    for (const [party, cameIn] of this.insideOf) if (this.options.ownerOf(party) === owner) stays.push(...cameIn)
    return stays
  }

  private noteNeighbour(owner: string): void {
    const now = { owner, at: performance.now() }
    const [last] = this.lastCame
    if (last === undefined || last.owner === owner) this.lastCame[0] = now
    else this.lastCame = [now, last]
  }

  private isBesideNeighbour(owner: string): boolean {
    const other = this.lastCame.find((one) => one.owner !== owner)
    if (!other || performance.now() - other.at > BESIDE_MS) return false
    return this.usedWith(other.owner) < this.usedWith(owner)
  }

  /** What an owner used, and what its parties that are inside have not been counted for yet. */
  private usedWith(owner: string): number {
    const now = performance.now()
    return this.staysOf(owner).reduce((sum, cameIn) => sum + now - cameIn, this.owners.counted(owner))
  }

  private findNext(): string | undefined {
    let next: string | undefined
    let least: number[] = []
    for (const party of this.waiting.keys()) {
      if (!this.mayEnter(party)) continue
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

/** For how long each was inside, by its weight and in milliseconds, from a start that the others caught up with. */
class UsedTime {
  private readonly used = new Map<string, number>()
  private readonly savings: number
  /**
   * The most that any had used that came in. Who used less by more than may be saved up counts as having used less by just
   * that: else whoever was away for long would keep all others waiting.
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

  /** As it stood when the one came in or left last. */
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
