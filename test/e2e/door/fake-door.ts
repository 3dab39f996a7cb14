import type { Outcome } from '../../../src/core/rules/door/outcome.ts'
import { mountApp } from '../../../src/door/app/app.tsx'
import { takeInvitation } from '../../../src/door/app/claim-screen.tsx'
import { appLanguage } from '../../../src/door/app/language.ts'
import type {
  Adjustment,
  Decision,
  DoorEngine,
  DoorMovement,
  EngineState,
  ScanRequest,
} from '../../../src/door/engine/engine.ts'

/**
 * The page of the door over an engine that decides what a test says, run in the browser. Tests reach it as `fake`: what was
 * scanned is in `scans`, the newest last.
 */

const nothing: EngineState = {
  door: null,
  connection: 'online',
  offlineSince: null,
  list: { size: 100_000, generatedAt: new Date() },
  loading: null,
  listRejection: null,
  uploadRejection: null,
  pending: 0,
  conflicts: [],
  recent: [],
  counts: { accepted: 0, turnedAway: 0, left: 0 },
  zone: null,
  zones: [],
  problems: [],
  isPersistent: true,
}
const door = { id: 'd', name: 'Phone 47', gate: 'North', projectId: 'p', projectName: 'Polyglot 2027' }

let made = 0

function decisionOf(request: ScanRequest, more: Partial<Decision>): Decision {
  made += 1
  const readAt = new Date().toISOString()
  const outcome: Outcome = {
    payload: request.payload ?? null,
    externalRef: `ref-${made}`,
    result: 'unknown',
    reasonCode: 'no_match',
    message: 'Unknown code: no pass has it.',
    verified: 'online',
    scanId: null,
    passId: 'passId' in request ? request.passId : null,
    externalPassId: null,
    label: null,
    templateName: null,
    door: null,
    group: null,
    readAt,
    scannedAt: readAt,
    priorScanCount: null,
    lastAcceptedAt: null,
    candidates: [],
    conflict: null,
  }
  return { ...outcome, failure: null, isUndone: false, isPending: false, ...more }
}

class FakeEngine implements DoorEngine {
  /** The decisions that a test wants, by payload or pass ID. */
  decisions: Record<string, Partial<Decision>> = {}
  scans: { payload: string; method: string; at: number }[] = []
  claims: string[][] = []
  dismissed: string[] = []
  /** Decisions wait until it resolves. */
  gate: Promise<unknown> = Promise.resolve()
  state: EngineState = nothing
  #listeners = new Set<(state: EngineState) => void>()

  /** Changes the state of the engine. */
  set(change: Partial<EngineState>): void {
    this.state = { ...this.state, ...change }
    for (const listener of this.#listeners) listener(this.state)
  }

  subscribe(listener: (state: EngineState) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async claim(code: string, name: string): ReturnType<DoorEngine['claim']> {
    this.claims.push([code, name])
    if (code.startsWith('used-up')) return { code: 'used_up', message: 'This code is used up.' }
    localStorage.setItem('door', 'yes')
    this.set({ door, problems: [] })
    return null
  }

  async moveTo(gate: string): ReturnType<DoorEngine['moveTo']> {
    if (this.state.connection === 'offline') return { code: 'no_answer', message: 'No answer' }
    this.set({ door: { ...door, gate } })
    return null
  }

  async setMovement(movement: DoorMovement | null): Promise<void> {
    this.set({ door: { ...this.state.door!, movement: movement ?? undefined } })
  }

  async adjust(delta: number): ReturnType<DoorEngine['adjust']> {
    const zone = this.state.zone!
    this.set({ zone: { ...zone, inside: zone.inside + delta } })
    return { externalRef: `adjustment-${zone.inside}`, zoneId: zone.id, delta }
  }

  async undoAdjustment({ delta }: Adjustment): Promise<boolean> {
    await this.adjust(-delta)
    return true
  }

  async scan(request: ScanRequest): Promise<Decision> {
    const key = request.payload ?? ('passId' in request ? request.passId : '')
    this.scans.push({ payload: key, method: request.method, at: performance.now() })
    await this.gate
    const chosen = 'passId' in request ? this.decisions[request.passId] : undefined
    const decision = decisionOf(request, chosen ?? this.decisions[key] ?? {})
    const { accepted, turnedAway, left } = this.state.counts
    const isIn = decision.result === 'accepted'
    const counts = { accepted: accepted + (isIn ? 1 : 0), turnedAway: turnedAway + (isIn ? 0 : 1), left }
    this.set({ recent: [decision, ...this.state.recent].slice(0, 20), counts })
    return decision
  }

  scanAll(passIds: readonly string[]): Promise<Decision[]> {
    return Promise.all(passIds.map((passId) => this.scan({ passId, method: 'chosen' })))
  }

  async undo(decision: Decision): Promise<Decision> {
    const isIt = ({ externalRef }: Decision) => externalRef === decision.externalRef
    this.set({ recent: this.state.recent.map((one) => (isIt(one) ? { ...one, isUndone: true } : one)) })
    return { ...decision, externalRef: `${decision.externalRef}-undo`, result: 'reversal', reasonCode: null }
  }

  async search(text: string): ReturnType<DoorEngine['search']> {
    const names = ['Ada Lovelace', 'Grace Hopper', 'Adaeze Okafor']
    return names
      .filter((name) => name.toLowerCase().includes(text.toLowerCase()))
      .map((label) => ({ passId: label, label, externalPassId: 'T-1', templateName: 'Day ticket', standing: '' }))
  }

  async gates() {
    return [
      { gate: 'Norðurhlið við höfnina', accepted: 12_345 },
      { gate: 'W'.repeat(100), accepted: 7 },
      { gate: null, accepted: 1 },
    ]
  }
  async findGroup() {
    return undefined
  }
  retry(): void {
    this.set({ connection: 'online' })
  }
  async dismiss(code: string): Promise<void> {
    this.dismissed.push(code)
    this.set({ problems: this.state.problems.filter((problem) => problem.code !== code) })
  }
  async forget(): Promise<number> {
    localStorage.removeItem('door')
    this.set({ door: null })
    return 0
  }
  async flush(): Promise<void> {
    this.set({ pending: 0 })
  }
  async stop(): Promise<void> {
    this.#listeners.clear()
  }
}

const fake = new FakeEngine()
if (localStorage.getItem('door')) fake.state = { ...nothing, door }
Object.assign(globalThis, { fake })
mountApp(document.querySelector('#door')!, {
  engine: fake,
  language: appLanguage(navigator.languages),
  invitation: takeInvitation(),
})
