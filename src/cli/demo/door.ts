import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Client, createClient } from '../../client/client.ts'
import type { ScanItem } from '../../core/contract/scan-shapes.ts'
import { CliError } from '../command/errors.ts'
import { count } from '../command/output.ts'
import { type DemoServer, runCommand } from './program.ts'
import { untilIssued } from './until-issued.ts'

type TakeStep = <T>(title: string, work: () => Promise<T>, describe: (value: T) => string) => Promise<T>

/** The door chapter of the demo: one ticket let in, refused, taken back and let in again, then the ledger in a file. */
export async function tellDoor(step: TakeStep, folder: string, server: DemoServer): Promise<void> {
  const client = createClient(server)
  let passId: string
  try {
    passId = await step(
      'Issue a ticket for the guest list',
      () => issueGuest(client, server),
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
      'Take the first scan back',
      () => runCommand<{ message: string }>(['scans', 'reverse', first.scan.id, '--yes'], folder, server),
      ({ message }) => message,
    )
    await step(
      'Scan it once more',
      () => scan(client, passId, 'accepted'),
      ({ message }) => message,
    )
  } finally {
    await client.close()
  }
  await step(
    'Export the ledger',
    () => exportLedger(passId, folder, server),
    (scans) => `${count(scans.length)} scans in ledger.jsonl`,
  )
}

/** A ticket without a policy: it lets its holder in once in each scan context. */
async function issueGuest(client: Client, server: DemoServer): Promise<string> {
  const { id } = await client.templates.create({ body: { name: 'Guest list', passType: 'eventTicket' } })
  const definition = { design: { organizationName: 'Polyglot', description: 'Guest list' } }
  const version = await client.templates.createVersion({ params: { id }, body: { definition } })
  await client.templateVersions.publish({ params: { id: version.id } })
  const body = { externalPassId: 'guest-1', label: 'Joan Clarke', templateId: id }
  const pass = await client.passes.create({ body })
  await untilIssued(pass.id, server)
  return pass.id
}

async function scan(client: Client, passId: string, expected: ScanItem['result'] | 'duplicate') {
  const answer = await client.scans.create({
    body: { passId, scanContextKey: 'opening night', deviceId: 'demo', context: { gate: 'North' } },
  })
  if (answer.result === expected) return answer
  throw new CliError(`The scan was ${answer.result} (${answer.message}) and should have been ${expected}`)
}

const TOLD = ['accepted', 'reversal', 'denied', 'accepted']

async function exportLedger(passId: string, folder: string, server: DemoServer): Promise<ScanItem[]> {
  await runCommand(
    ['scans', 'export', '--pass', passId, '--format', 'jsonl', '--output', 'ledger.jsonl'],
    folder,
    server,
  )
  const scans: ScanItem[] = []
  for await (const line of createInterface({ input: createReadStream(join(folder, 'ledger.jsonl')) })) {
    scans.push(JSON.parse(line))
  }
  const isWhole = scans.every((item, index) => item.passId === passId && item.result === TOLD[index])
  if (scans.length !== TOLD.length || !isWhole) throw new CliError('The ledger does not tell what was done at the door')
  return scans
}
