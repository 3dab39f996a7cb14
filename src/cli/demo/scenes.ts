import { EventEmitter, once } from 'node:events'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from '../../client/client.ts'
import { verify, type WebhookEvent } from '../../client/webhooks.ts'
import type { Pass } from '../../core/contract/passes.ts'
import type { Door, DoorClaim, DoorInvitation } from '../../core/contract/scans/doors.ts'
import type { ScanItem } from '../../core/contract/schemas/scan-shapes.ts'
import { SIGNATURE_HEADER } from '../../core/rules/crypto/signature.ts'
import { CliError } from '../command/cli-error.ts'
import { count, duration, localTime } from '../command/output.ts'
import { type OwnServer, runOwnProgram, startOwnServer } from '../command/own-program.ts'
import type { PassJson } from '../device/apple-pass-json.ts'
import type { DeviceFile, PassChange } from '../device/phone-store.ts'
import { deviceFor, devicePlatforms, phoneOf, type WatchEvent, watch } from '../device/phones.ts'
import { type Received, startReceiver } from '../webhook/listen.ts'

/** The server of the demo with a client, and the folder of all files. */
export interface Stage {
  step: TakeStep
  server: OwnServer
  client: Client
  folder: string
}

export type TakeStep = <T>(title: string, work: () => Promise<T>, describe: (value: T) => string) => Promise<T>

export function startServer(folder: string): Promise<OwnServer> {
  // Allow private addresses, because the webhook receiver runs on this machine.
  const args = ['--rate-limit', '0', '--log-level', 'warn', '--allow-insecure-webhooks']
  const settings = { PASSES_DATABASE_URL: 'sqlite:./passes.db', PASSES_DRAIN_SECONDS: '0' }
  return startOwnServer(args, { cwd: folder, settings })
}

export function runCommand<T>(args: string[], { server: { url, token }, folder }: Stage): Promise<T> {
  return runOwnProgram(args, { cwd: folder, settings: { PASSES_URL: url, PASSES_TOKEN: token } })
}

const TIMEOUT_SECONDS = 60

export async function untilIssued(id: string, { client }: Stage): Promise<Pass> {
  for (let waited = 0; waited < TIMEOUT_SECONDS; waited += 0.1) {
    const pass = await client.passes.get({ params: { id } })
    if (pass.status === 'ISSUED') return pass
    if (pass.status === 'FAILED') throw new CliError(`The pass of ${pass.label} failed`)
    await sleep(100)
  }
  throw new CliError(`The pass ${id} was not issued within ${duration(TIMEOUT_SECONDS)}`)
}

export async function showDoor(stage: Stage, projectId: string): Promise<void> {
  const { step, client } = stage
  const passId = await step(
    'Issue a ticket for the guest list',
    () => issueGuest(stage, projectId),
    () => 'Joan Clarke has a ticket',
  )
  const first = await step(
    'Scan a ticket at the door',
    () => scan(client, passId, 'accepted'),
    ({ message }) => message,
  )
  await step(
    'Scan it again',
    () => scan(client, passId, 'duplicate'),
    ({ message }) => message,
  )
  await step(
    'Reverse the first scan',
    () => runCommand<{ message: string }>(['scans', 'reverse', first.scan.id, '--yes'], stage),
    ({ message }) => message,
  )
  await step(
    'Scan it again',
    () => scan(client, passId, 'accepted'),
    ({ message }) => message,
  )
  const { code } = await step(
    'Invite a phone to the south gate',
    () => runCommand<DoorInvitation>(['door', 'invite', '--project', projectId, '--gate', 'South'], stage),
    ({ expiresAt }) => `a QR code for one phone, until ${localTime(expiresAt)}`,
  )
  const claimed = await step(
    'Open it with a phone',
    () => client.doors.claim({ body: { code, name: 'Anna’s phone' } }),
    ({ door }) => `${door.name} is a door of ${door.projectName}`,
  )
  await step(
    'Hold the ticket up to the phone',
    () => scanAtDoor(claimed, passId, stage),
    ({ message, scan }) => `${message} At gate ${scan.context?.gate}`,
  )
  await step(
    'List the doors',
    () => runCommand<{ items: Door[] }>(['door', 'list', '--project', projectId], stage),
    ({ items }) => items.map(({ name, gate }) => `${name} at gate ${gate}`).join(', '),
  )
  await step(
    'Export the ledger',
    () => exportLedger(passId, stage),
    (scans) => `${count(scans.length)} scans in ledger.jsonl`,
  )
}

/** Issues a ticket without a policy. Such a ticket is accepted once in each scan context. */
async function issueGuest(stage: Stage, projectId: string): Promise<string> {
  const { client } = stage
  const { id } = await client.templates.create({ body: { name: 'Guest list', passType: 'eventTicket', projectId } })
  const definition = { design: { organizationName: 'Polyglot', description: 'Guest list' } }
  const version = await client.templates.createVersion({ params: { id }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  const body = { externalPassId: 'guest-1', label: 'Joan Clarke', templateId: id }
  const pass = await client.passes.create({ body })
  await untilIssued(pass.id, stage)
  return pass.id
}

async function scan(client: Client, passId: string, expected: ScanItem['result'] | 'duplicate') {
  const answer = await client.scans.create({
    body: { passId, scanContextKey: 'opening night', deviceId: 'demo', context: { gate: 'North' } },
  })
  if (answer.result === expected) return answer
  throw new CliError(`The scan was ${answer.result} (${answer.message}), but ${expected} was expected`)
}

export async function scanAtDoor({ door, token }: DoorClaim, passId: string, { server, client }: Stage) {
  const preview = await client.passes.preview({ params: { id: passId }, query: { platform: 'apple' } })
  const { barcodes } = (preview as unknown as { apple: Pick<PassJson, 'barcodes'> }).apple
  const phone = createClient({ url: server.url, token })
  try {
    const answer = await phone.scans.create({ body: { qrPayload: barcodes![0]!.message } })
    const { deviceId, context } = answer.scan
    if (answer.result !== 'accepted' || deviceId !== door.id || context?.gate !== door.gate) {
      throw new CliError(
        `The phone received ${answer.result} (${answer.message}), but the ticket should have been accepted`,
      )
    }
    return answer
  } finally {
    await phone.close()
  }
}

const EXPECTED_RESULTS = ['accepted', 'accepted', 'reversal', 'denied', 'accepted']

async function exportLedger(passId: string, stage: Stage): Promise<ScanItem[]> {
  await runCommand(['scans', 'export', '--pass', passId, '--format', 'jsonl', '--out', 'ledger.jsonl'], stage)
  const scans: ScanItem[] = []
  for await (const line of createInterface({ input: createReadStream(join(stage.folder, 'ledger.jsonl')) })) {
    scans.push(JSON.parse(line))
  }
  const isWhole = scans.every((item, index) => item.passId === passId && item.result === EXPECTED_RESULTS[index])
  if (scans.length !== EXPECTED_RESULTS.length || !isWhole)
    throw new CliError('The ledger does not contain the scans at the door')
  return scans
}

const TIMEOUT_MS = 30_000

export interface Arrival {
  file: DeviceFile
  change: PassChange
  /** The time from the server's response until the phone has the change. */
  seconds: number
}

export function installOnPhones(
  links: Record<`${(typeof devicePlatforms)[number]}Link`, string>,
  { folder }: Stage,
): Promise<DeviceFile[]> {
  return Promise.all(
    devicePlatforms.map(async (platform) => {
      const file = deviceFor(join(folder, 'phones'), platform)
      await phoneOf(file).install(links[`${platform}Link`])
      return file
    }),
  )
}

/** Resolves when each phone has the change. @throws CliError if a phone does not receive the change in time */
export async function watchChange(files: readonly DeviceFile[], change: () => Promise<unknown>): Promise<Arrival[]> {
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(), TIMEOUT_MS)
  const watches = files.map((file) => startWatch(file, stop.signal))
  try {
    await Promise.all(watches.map(({ ready }) => ready))
    await change()
    const startedAt = performance.now()
    return await Promise.all(
      watches.map(async ({ file, arrived }) => {
        return { file, change: await arrived, seconds: (performance.now() - startedAt) / 1000 }
      }),
    )
  } finally {
    clearTimeout(timer)
    stop.abort()
    await Promise.allSettled(watches.flatMap(({ ready, arrived }) => [ready, arrived]))
  }
}

/** Watches a phone. `ready` resolves when the phone receives pushes, and `arrived` with the phone's first change. */
function startWatch(file: DeviceFile, signal: AbortSignal) {
  const events = new EventEmitter()
  const [listening, changed] = [once(events, 'listening'), once(events, 'change')]
  const onEvent = (event: WatchEvent) => {
    events.emit(event.event, event)
  }
  const missed = watch(phoneOf(file), { signal, onEvent }).then(() => {
    throw new CliError(`The change did not arrive on the phone ${file.name}`)
  })
  return {
    file,
    ready: Promise.race([listening, missed]),
    arrived: Promise.race([changed.then(([change]) => change as PassChange), missed]),
  }
}

const DELIVERY_TIMEOUT_SECONDS = 30

/** @throws WebhookVerificationError if the signature is invalid, CliError if no event arrives */
export async function receiveVoid(passId: string, { client }: Stage): Promise<WebhookEvent> {
  const received: Received[] = []
  const receiver = await startReceiver(async (delivery) => {
    received.push(delivery)
    return 204
  })
  try {
    const { secret } = await client.webhooks.create({ body: { url: receiver.url, events: ['pass.voided'] } })
    await client.passes.void({ params: { id: passId }, body: { reason: 'refunded' } })
    const { rawBody, headers } = await firstOf(received)
    const event = verify(rawBody, headers[SIGNATURE_HEADER.toLowerCase()], secret)
    if (event.type !== 'pass.voided' || event.data.id !== passId) throw new CliError(`Unexpected event ${event.type}`)
    return event
  } finally {
    await receiver.close()
  }
}

export function describeEvent({ id, type }: WebhookEvent): string {
  return `${type} ${id}, its signature is valid`
}

async function firstOf(received: readonly Received[]): Promise<Received> {
  for (let waited = 0; waited < DELIVERY_TIMEOUT_SECONDS; waited += 0.05) {
    if (received[0]) return received[0]
    await sleep(50)
  }
  throw new CliError(`No event arrived within ${duration(DELIVERY_TIMEOUT_SECONDS)}`)
}
