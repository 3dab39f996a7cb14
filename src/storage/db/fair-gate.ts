import { ApiError } from '../../core/errors.ts'

/**
 * A group of calls that competes with others for turns: the requests of a workspace, visits of its passes and pages
 * without a token, its jobs, or work of the server (maintenance, and claims of a queue). The requests, visits, and jobs
 * of a workspace have the same `name`.
 */
export interface Party {
  name: string
  work: 'requests' | 'visits' | 'jobs' | 'server'
}

type Kind = 'requests' | 'background'

/** A person or a client waits for requests and visits, but not for jobs and work of the server. */
const kindOf = ({ work }: Party): Kind => (work === 'requests' || work === 'visits' ? 'requests' : 'background')

export interface FairGateOptions {
  /** The maximum number of concurrent turns. */
  places: number
  /** Whether `places` limits requests and other work separately. By default, it limits both together. */
  separatesRequests?: boolean
  /** The maximum number of concurrent turns of a party. The requests and visits of a workspace share this number. */
  share: number
  /**
   * The maximum number of concurrent turns of a workspace (requests and jobs together) while another workspace that
   * used less time is active (see ACTIVE_MS). Unlimited by default.
   */
  shareWithNeighbors?: number
  /**
   * The maximum time, in milliseconds, that a workspace can save while it uses less time than others. The workspace
   * goes first until it has used the saved time. 0 by default.
   */
  savingsMs?: number
}

/**
 * The time, in milliseconds, for which a workspace (or a server of a fleet) counts as active after its last turn. While
 * it is active, other workspaces (or servers) are limited to their share.
 */
export const ACTIVE_MS = 1_000

/** The maximum number of workspaces or other keys whose used time is kept. */
export const MAX_NAMES = 1_000

/** The divisor of a party's used time. Requests count half of their time, because a person waits for them. */
const weightOf = (party: Party) => (kindOf(party) === 'requests' ? 2 : 1)

/** The weighted time of a workspace at the time `at`, which decays by half in ACTIVE_MS. */
interface Use {
  at: number
  milliseconds: number
}

function recentUse(use: Use | undefined, now: number): number {
  return use ? use.milliseconds * 2 ** ((use.at - now) / ACTIVE_MS) : 0
}

interface Waiting {
  enter(): void
}

/**
 * Limits concurrent turns, and shares them fairly among parties. No party has more concurrent turns than its share. A
 * free place goes to the party with the fewest turns. If several parties have the fewest, the kind of work (requests,
 * or background work) with the least used time goes first, of this kind the workspace with the least used time, and of
 * this workspace the party with the least used time. A workspace with many requests therefore delays mostly itself, and
 * its requests do not wait because its jobs used time. This is start-time fair queueing (Goyal, Vin, and Cheng, 1996)
 * on three levels. Unlike in that algorithm, the used time is kept while the gate is idle: a party that had the last
 * turn stays behind parties that had none. A workspace that used less time than others can save part of the difference
 * (decisions/0003).
 */
export class FairGate {
  private readonly options: Required<FairGateOptions>
  /** The use of each active workspace. The first has been inactive for the longest time. */
  private readonly active = new Map<string, Use>()
  private readonly turns: { party: Party; startedAt: number }[] = []
  /** The used time of the members of each group (see levelsOf). */
  private readonly used = new Map<string, UsedTime>()
  /** The waiting calls by party. A party moves to the end when it is admitted. */
  private readonly waiting = new Map<string, { party: Party; calls: Set<Waiting> }>()

  constructor(options: FairGateOptions) {
    this.options = { separatesRequests: false, shareWithNeighbors: Number.POSITIVE_INFINITY, savingsMs: 0, ...options }
  }

  /**
   * Waits for a turn. Call `leave` at the end of the turn.
   * @param timeoutMs unlimited by default
   * @throws ApiError SERVICE_UNAVAILABLE on timeout
   */
  enter(party: Party, timeoutMs?: number): Promise<void> {
    if (this.canEnter(party)) {
      this.take(party)
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const { calls } = this.waiting.get(keyOf(party)) ?? { calls: new Set() }
      this.waiting.set(keyOf(party), { party, calls })
      const forget = () => {
        calls.delete(call)
        if (calls.size === 0) this.waiting.delete(keyOf(party))
      }
      const call = {
        enter: () => {
          clearTimeout(timer)
          forget()
          resolve()
        },
      }
      const rejectTimedOut = () => {
        forget()
        reject(tooMany())
      }
      const timer = timeoutMs === undefined ? undefined : setTimeout(rejectTimedOut, timeoutMs)
      calls.add(call)
    })
  }

  /** Ends one turn of a party, and admits the next parties. */
  leave(party: Party): void {
    const [turn] = this.turns.splice(
      this.turns.findIndex((one) => isSame(one.party, party)),
      1,
    )
    const time = weightedTime(turn!)
    for (const [group, member] of levelsOf(party)) this.usedIn(group).add(member, time)
    if (party.work !== 'server') this.noteUse(party.name, time)
    this.admitNext()
    if (this.turns.length === 0 && this.used.size > MAX_NAMES) this.used.clear()
  }

  private admitNext(): void {
    for (let next = this.findNext(); next !== undefined; next = this.findNext()) {
      // Move the party behind the other waiting parties, so that parties with equal use take turns.
      this.waiting.delete(keyOf(next.party))
      this.waiting.set(keyOf(next.party), next)
      this.take(next.party)
      const [call] = next.calls
      call!.enter()
    }
  }

  private take(party: Party): void {
    for (const [group, member] of levelsOf(party)) this.usedIn(group).begin(member)
    if (party.work !== 'server') this.noteUse(party.name, 0)
    this.turns.push({ party, startedAt: performance.now() })
  }

  private canEnter(party: Party): boolean {
    const { places, separatesRequests, share, shareWithNeighbors } = this.options
    const isSameKind = (one: Party) => kindOf(one) === kindOf(party)
    const sharesPlaces = (one: Party) => !separatesRequests || isSameKind(one)
    const sharesTurns = (one: Party) => one.name === party.name && isSameKind(one)
    if (this.countTurns(sharesPlaces) >= places || this.countTurns(sharesTurns) >= share) return false
    const ofWorkspace = this.countTurns(({ name }) => name === party.name)
    return ofWorkspace < shareWithNeighbors || !this.hasNeighbor(party.name)
  }

  private countTurns(matches: (party: Party) => boolean): number {
    return this.turns.reduce((count, { party }) => count + (matches(party) ? 1 : 0), 0)
  }

  private noteUse(name: string, milliseconds: number): void {
    const now = performance.now()
    const use = recentUse(this.active.get(name), now) + milliseconds
    this.active.delete(name)
    this.active.set(name, { at: now, milliseconds: use })
    for (const [oldest, { at }] of this.active) {
      if (now - at <= ACTIVE_MS) break
      this.active.delete(oldest)
    }
  }

  /** Whether another workspace that used less time recently is active. */
  private hasNeighbor(name: string): boolean {
    const now = performance.now()
    const used = this.recentlyUsed(name, now)
    for (const [other, { at }] of this.active) {
      if (other !== name && now - at <= ACTIVE_MS && this.recentlyUsed(other, now) < used) return true
    }
    return false
  }

  /** Returns the time that a workspace used recently, including its current turns. */
  private recentlyUsed(name: string, now: number): number {
    const current = this.turns.filter(({ party }) => party.name === name)
    return current.reduce((sum, turn) => sum + weightedTime(turn), recentUse(this.active.get(name), now))
  }

  private usedIn(group: string): UsedTime {
    const used = this.used.get(group) ?? new UsedTime(this.options.savingsMs)
    this.used.set(group, used)
    return used
  }

  private findNext(): { party: Party; calls: Set<Waiting> } | undefined {
    let next: { party: Party; calls: Set<Waiting> } | undefined
    let least: number[] = []
    for (const waiting of this.waiting.values()) {
      const { party } = waiting
      if (!this.canEnter(party)) continue
      const turns = this.countTurns((one) => isSame(one, party))
      const rank = [turns, ...levelsOf(party).map(([group, member]) => this.usedIn(group).of(member))]
      if (next !== undefined && !isBefore(rank, least)) continue
      next = waiting
      least = rank
    }
    return next
  }
}

const keyOf = ({ name, work }: Party) => `${work} ${name}`

/** Returns the three levels at which a party shares time, as names of a group and of its member. */
function levelsOf(party: Party): [group: string, member: string][] {
  const kind = kindOf(party)
  return [
    ['all', kind],
    [kind, party.name],
    [`${kind} ${party.name}`, party.work],
  ]
}

const isSame = (one: Party, other: Party) => one.name === other.name && one.work === other.work

function weightedTime({ party, startedAt }: { party: Party; startedAt: number }): number {
  return (performance.now() - startedAt) / weightOf(party)
}

function isBefore(rank: number[], other: number[]): boolean {
  const place = rank.findIndex((value, index) => value !== other[index])
  return place >= 0 && rank[place]! < other[place]!
}

/** The weighted time of turns, in milliseconds, of each member of a group, by its name. */
class UsedTime {
  private readonly used = new Map<string, number>()
  private readonly savings: number
  /**
   * The largest used time that a name had at the start of a turn. `of` raises each used time to at least
   * `most - savings`, so that a workspace that was idle for long does not block all others.
   */
  private most = 0

  constructor(savings: number) {
    this.savings = savings
  }

  of(name: string): number {
    return Math.max(this.used.get(name) ?? 0, this.most - this.savings)
  }

  begin(name: string): void {
    const used = this.of(name)
    this.used.set(name, used)
    this.most = Math.max(this.most, used)
  }

  add(name: string, milliseconds: number): void {
    this.used.set(name, this.used.get(name)! + milliseconds)
  }
}

/** Returns the error for a request of a workspace that waited too long for its turn. */
export function tooMany(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', {
    message: 'Too many requests of this workspace are waiting. Send fewer concurrently.',
    headers: { 'retry-after': '1' },
  })
}
