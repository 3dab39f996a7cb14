import { ApiError } from '../../core/errors.ts'
import { PRESENT_MS } from './constants.ts'

/** The turns of a fair queue, and how flows share them. */
export interface FairQueueOptions {
  /** The number of turns at a time. */
  places: number
  /** The number of turns of one flow at a time. As many as there are places by default. */
  perFlow?: number
  /**
   * The number of turns of one flow at a time while another one, which has used less, is present: was served within
   * PRESENT_MS. Places share processors, so a place that is free for the other one is not enough. As `perFlow` by default.
   */
  perFlowShared?: number
  /** The number of turns that run or wait, of all flows and of one. More are rejected. No limit by default. */
  max?: number
  maxPerFlow?: number
  /** The time after which the caller stops waiting, in milliseconds. Forever by default. */
  timeoutMs?: number
  /** The time by which a flow that used less goes first, until it is used up. 0 by default. */
  savingsMs?: number
  /** Creates the error for a turn that does not start. 503 by default. */
  reject?: (reason: Rejection) => Error
  /** A clock that never goes back, in milliseconds. */
  now?: () => number
}

/** The reason why a turn does not start: the flow or the queue is full, or the caller waited for too long. */
export type Rejection = 'flow-full' | 'full' | 'timeout'

/** Options of one turn. */
export interface TurnOptions {
  /** The share of the flow: with 2, a turn counts for half of its time. 1 by default. */
  weight?: number
  /** As that of the queue by default. */
  timeoutMs?: number
}

/** Ends a turn. */
export type Leave = () => void

/** The number of flows without a turn that a queue remembers, so that made-up names do not fill the memory. */
const MAX_IDLE_FLOWS = 1_000

interface Flow {
  /** The virtual time at which the flow has had the turns that it finished. */
  finish: number
  running: Set<Turn>
  /** In the order of arrival. */
  waiting: Set<Waiter>
}

interface Turn {
  startedAt: number
  weight: number
}

interface Waiter {
  start(): void
}

/**
 * Shares a few places among flows, such as workspaces, by start-time fair queueing (Goyal, Vin, and Cheng, 1996). A turn
 * costs the time that it takes, which is known when it ends. A free place goes to the flow with the smallest start tag:
 * the virtual time at which it has had its turns, and at least that of the turn that started last, less the savings.
 * Therefore each flow with a backlog gets its share of the time, no matter how many or how long turns another one wants.
 * Turns of a flow start in the order of arrival.
 */
export class FairQueue {
  private readonly options: Required<FairQueueOptions>
  /** The flows with a turn that runs or waits, and those that used more than a new one. The one served last comes last. */
  private readonly flows = new Map<string, Flow>()
  private running = 0
  private waiting = 0
  /** The two flows that were served last, the last one first. */
  private lastServed: { name: string; at: number }[] = []
  /** The largest start tag of a turn that started. */
  private virtualTime = 0

  constructor({ places, ...options }: FairQueueOptions) {
    const { perFlow = places, perFlowShared = perFlow } = options
    const none = Number.POSITIVE_INFINITY
    const defaults = { max: none, maxPerFlow: none, timeoutMs: none, savingsMs: 0, reject: tooMany }
    this.options = { ...defaults, now: () => performance.now(), ...options, places, perFlow, perFlowShared }
  }

  /** The number of flows that the queue remembers. */
  get size(): number {
    return this.flows.size
  }

  /**
   * Waits for a turn. End it once its work is done or has failed.
   * @throws the error of `reject`
   */
  enter(name: string, { weight = 1, timeoutMs = this.options.timeoutMs }: TurnOptions = {}): Promise<Leave> {
    const flow = this.flows.get(name) ?? { finish: 0, running: new Set(), waiting: new Set() }
    const { max, maxPerFlow, reject } = this.options
    if (flow.running.size + flow.waiting.size >= maxPerFlow) return Promise.reject(reject('flow-full'))
    if (this.running + this.waiting >= max) return Promise.reject(reject('full'))
    this.flows.set(name, flow)
    if (this.mayStart(name, flow)) return Promise.resolve(this.start(name, flow, weight))
    return new Promise((resolve, onRejection) => {
      const stopWaiting = () => {
        clearTimeout(timer)
        flow.waiting.delete(waiter)
        this.waiting -= 1
      }
      const waiter: Waiter = {
        start: () => {
          stopWaiting()
          resolve(this.start(name, flow, weight))
        },
      }
      const giveUp = () => {
        stopWaiting()
        this.forget(name, flow)
        onRejection(reject('timeout'))
      }
      const timer = timeoutMs < Number.POSITIVE_INFINITY ? setTimeout(giveUp, timeoutMs) : undefined
      flow.waiting.add(waiter)
      this.waiting += 1
    })
  }

  /** Runs work in a turn of a flow. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const leave = await this.enter(name)
    try {
      return await work()
    } finally {
      leave()
    }
  }

  private mayStart(name: string, flow: Flow): boolean {
    const { places, perFlow, perFlowShared } = this.options
    if (this.running >= places || flow.running.size >= perFlow) return false
    return flow.running.size < perFlowShared || !this.isAheadOfAnother(name, flow)
  }

  private isAheadOfAnother(name: string, flow: Flow): boolean {
    const other = this.lastServed.find((one) => one.name !== name)
    if (!other || this.options.now() - other.at > PRESENT_MS) return false
    return this.startTag(this.flows.get(other.name)) < this.startTag(flow)
  }

  private start(name: string, flow: Flow, weight: number): Leave {
    const turn: Turn = { startedAt: this.options.now(), weight }
    flow.finish = Math.max(flow.finish, this.least())
    this.virtualTime = Math.max(this.virtualTime, flow.finish)
    flow.running.add(turn)
    this.running += 1
    const others = this.lastServed.filter((one) => one.name !== name)
    this.lastServed = [{ name, at: turn.startedAt }, ...others.slice(0, 1)]
    // Move the flow to the end, so that it comes last among flows with the same tag.
    this.flows.delete(name)
    this.flows.set(name, flow)
    return () => {
      if (!flow.running.delete(turn)) return
      this.running -= 1
      flow.finish += this.costOf(turn)
      this.startNext()
      this.forget(name, flow)
    }
  }

  private startNext(): void {
    while (this.waiting > 0 && this.running < this.options.places) {
      let next: Flow | undefined
      let least = Number.POSITIVE_INFINITY
      for (const [name, flow] of this.flows) {
        if (flow.waiting.size === 0 || !this.mayStart(name, flow)) continue
        const tag = this.startTag(flow)
        if (tag >= least) continue
        next = flow
        least = tag
      }
      if (!next) return
      const [waiter] = next.waiting
      waiter!.start()
    }
  }

  /** Turns that run count with the time that they have taken so far. A flow that is not remembered is like a new one. */
  private startTag(flow: Flow | undefined): number {
    let tag = Math.max(flow?.finish ?? 0, this.least())
    for (const turn of flow?.running ?? []) tag += this.costOf(turn)
    return tag
  }

  /** The start tag of a new flow. */
  private least(): number {
    return this.virtualTime - this.options.savingsMs
  }

  private costOf({ startedAt, weight }: Turn): number {
    return (this.options.now() - startedAt) / weight
  }

  /** Forgets a flow that is like a new one, or one that used more if there are too many. */
  private forget(name: string, flow: Flow): void {
    if (flow.running.size > 0 || flow.waiting.size > 0) return
    if (flow.finish <= this.least() || this.flows.size > MAX_IDLE_FLOWS) this.flows.delete(name)
  }
}

function tooMany(): ApiError {
  return new ApiError('SERVICE_UNAVAILABLE', {
    message: 'Too many requests of this workspace are waiting. Send fewer at a time.',
    headers: { 'retry-after': '1' },
  })
}
