import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import { publishTemplate } from '../../e2e/support/passes.ts'
import { createWorkspace, type ServerProcess } from '../../e2e/support/server.ts'
import type { Arena, Scene } from '../arena.ts'
import type { Damage, Victim } from '../hostile.ts'
import { startTallyReceiver, type TallyReceiver } from '../receiver.ts'

export const neighbours: Scene = {
  name: 'neighbours',
  promise: 21,
  promised:
    'Next to a hostile workspace, another has a p99 of at most 3 times its quiet one, no 503, and under 600 MB of memory',
  run: workBesideAttack,
}

const MAX_RATIO = 3
const MAX_BYTES = 600 * 1024 * 1024

/** The interval between cycles of the working tenant, regardless of their duration. */
const CYCLE_MS = 200

/**
 * Plays several rounds, quiet and attack in turn, each with a new server and database. The p99 of one round is its
 * third worst request: a pause of the machine could hide any attack, or break any promise. The promise is therefore
 * checked against the requests of all rounds.
 */
async function workBesideAttack(arena: Arena): Promise<void> {
  const rounds: Round[] = []
  while (rounds.length < arena.size(3, 5)) rounds.push(await playRound(arena))
  report(arena, rounds)
}

interface Round {
  quiet: Measured
  busy: Measured
  damage: Damage
  most: number
}

/** Runs all attacks of hostile.ts at once, against a server with its default limits. */
async function playRound(arena: Arena): Promise<Round> {
  const receiver = await startTallyReceiver(arena)
  const server = await arena.start({
    database: await arena.emptyDatabase(),
    env: { PASSES_RATE_LIMIT: '100', PASSES_LOG_LEVEL: 'error' },
  })
  const hostile = await createWorkspace(server.database)
  const templateId = await publishTemplate(server.client)
  await server.client.webhooks.create({ body: { url: receiver.url, events: ['pass.issued', 'pass.voided'] } })
  const work = { server, templateId, receiver }
  await measure(work, 3)
  const quiet = await measure(work, arena.size(15, 60))
  const memory = watchMemory(server)
  const attack = startAttack({ url: server.url, token: hostile })
  arena.cleanUp(() => void attack.stop())
  // Wait until every attack has started.
  await sleep(3_000)
  const busy = await measure(work, arena.size(30, 180))
  const damage = await attack.stop()
  const most = memory.stop()
  await server.kill()
  return { quiet, busy, damage, most }
}

interface Work {
  server: ServerProcess
  templateId: string
  receiver: TallyReceiver
}

interface Measured {
  /** The times of creates, reads, scans, and voids. */
  requestsMs: number[]
  /** The times from the response to a void until its event arrives. */
  deliveriesMs: number[]
  failures: string[]
}

/**
 * Plays a tenant at work, which creates a pass, reads it, scans it, voids it, and waits for the event. Returns the
 * times.
 */
async function measure({ server, templateId, receiver }: Work, seconds: number): Promise<Measured> {
  const measured: Measured = { requestsMs: [], deliveriesMs: [], failures: [] }
  const end = performance.now() + seconds * 1000
  const cycles: Promise<void>[] = []
  for (let n = 0; performance.now() < end; n += 1) {
    const next = sleep(CYCLE_MS)
    cycles.push(cycle(`${process.hrtime.bigint()}-${n}`))
    await next
  }
  await Promise.all(cycles)
  return measured

  async function timed<T>(work: Promise<T>): Promise<T> {
    const began = performance.now()
    try {
      return await work
    } finally {
      measured.requestsMs.push(performance.now() - began)
    }
  }

  async function cycle(externalPassId: string): Promise<void> {
    const { client } = server
    try {
      const body = { externalPassId, label: 'Ada', templateId }
      const { id } = await timed(client.passes.create({ body }))
      await timed(client.passes.get({ params: { id } }))
      await timed(client.scans.create({ body: { passId: id } }))
      await timed(client.passes.void({ params: { id }, body: {} }))
      const began = performance.now()
      while (!hasEvent(receiver, id)) {
        if (performance.now() - began > 60_000) throw new Error(`the event of ${id} did not arrive within 60 s`)
        await sleep(5)
      }
      measured.deliveriesMs.push(performance.now() - began)
    } catch (error) {
      measured.failures.push(String(error))
    }
  }
}

function hasEvent({ deliveries }: TallyReceiver, passId: string): boolean {
  for (const { subject, type } of deliveries.values()) if (subject === passId && type === 'pass.voided') return true
  return false
}

/** Starts the attack in a separate process with a low priority, because it simulates other machines. */
function startAttack(victim: Victim) {
  const script = new URL('../hostile.ts', import.meta.url).pathname
  const child = execa('nice', ['-n', '15', 'node', '--import', 'tsx', script, JSON.stringify(victim)], {
    stdin: 'pipe',
    reject: false,
  })
  return {
    async stop(): Promise<Damage> {
      child.stdin.end()
      const { stdout, stderr } = await child
      if (stdout === '') throw new Error(`the attack ended: ${stderr}`)
      return JSON.parse(stdout)
    },
  }
}

/** Watches the maximum memory of the server and its child processes together. */
function watchMemory({ pid }: ServerProcess) {
  let most = 0
  const timer = setInterval(() => {
    most = Math.max(most, bytesOf(pid))
  }, 250)
  return {
    stop(): number {
      clearInterval(timer)
      return most
    },
  }
}

function bytesOf(pid: number): number {
  const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(readOfProcess(pid, 'status'))?.[1] ?? 0)
  const children = readOfProcess(pid, `task/${pid}/children`).trim().split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + bytesOf(Number(child)), kilobytes * 1024)
}

/** Returns an empty text if the process has ended. */
function readOfProcess(pid: number, path: string): string {
  try {
    return readFileSync(`/proc/${pid}/${path}`, 'utf8')
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as { code: string }).code)) return ''
    throw error
  }
}

function report(arena: Arena, rounds: Round[]): void {
  compare(arena, 'a request', rounds, ({ requestsMs }) => requestsMs)
  compare(arena, 'an event delivery', rounds, ({ deliveriesMs }) => deliveriesMs)
  for (const { quiet, busy, damage, most } of rounds) {
    for (const failure of [...quiet.failures, ...busy.failures]) arena.check(false, failure)
    arena.check(most < MAX_BYTES, `the server used ${Math.round(most / 2 ** 20)} MiB`)
    arena.reached('MiB of memory', Math.round(most / 2 ** 20))
    arena.did('requests of the working tenant', busy.requestsMs.length)
    for (const [name, { sent, answers }] of Object.entries(damage)) {
      arena.check(sent > 0, `the attack "${name}" sent nothing`)
      arena.did(`attack: ${name}`, sent)
      for (const [answer, count] of Object.entries(answers)) arena.did(`${name}, responses with ${answer}`, count)
    }
  }
}

function compare(arena: Arena, what: string, rounds: Round[], timesOf: (measured: Measured) => number[]): void {
  const before = p99(rounds.flatMap(({ quiet }) => timesOf(quiet)))
  const during = p99(rounds.flatMap(({ busy }) => timesOf(busy)))
  arena.took(`p99 of ${what} when quiet`, before / 1000)
  arena.took(`p99 of ${what} during the attack`, during / 1000)
  const ratios = rounds.map(({ quiet, busy }) => p99(timesOf(busy)) / p99(timesOf(quiet))).toSorted((a, b) => a - b)
  const spread = `rounds ${ratios.map((ratio) => ratio.toFixed(1)).join(', ')}`
  arena.reached(`p99 of ${what} in percent of the quiet one`, Math.round((100 * during) / before))
  const times = `${(during / before).toFixed(1)} times the quiet ${before.toFixed(0)} ms (${spread})`
  process.stderr.write(`        p99 of ${what}: ${during.toFixed(0)} ms, ${times}\n`)
  arena.check(during <= MAX_RATIO * before, `p99 of ${what} was ${during.toFixed(0)} ms, ${times}`)
}

function p99(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * 0.99) - 1)] ?? Number.POSITIVE_INFINITY
}
