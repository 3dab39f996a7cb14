import { createPublicKey, verify } from 'node:crypto'
import { copyFile, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Client, createClient } from '../../client/client.ts'
import type { Broadcast, BroadcastStats } from '../../core/contract/messages/broadcasts.ts'
import type { PictureOptions } from '../card-picture.ts'
import { CliError } from '../command/cli-error.ts'
import { count, duration } from '../command/output.ts'
import { call } from '../device/http.ts'
import { verifyPackage } from '../device/openssl.ts'
import { bannerLines, drawDevice } from '../device/phone-output.ts'
import { deviceFor, phoneOf } from '../device/phones.ts'
import { showCoffeeCard } from './coffee-card.ts'
import {
  describeEvent,
  installOnPhones,
  receiveVoid,
  runCommand,
  type Stage,
  showDoor,
  startServer,
  untilIssued,
  watchChange,
} from './scenes.ts'

export interface Step {
  title: string
  result: string
  seconds: number
}

export interface StoryOptions {
  /** An empty folder for the server's database, its keys, and the links. */
  folder: string
  onStep: (step: Step) => void
  onPicture: (picture: string) => void
  drawing: PictureOptions
}

const example = fileURLToPath(new URL('../../../examples/conference/', import.meta.url))
const SAMPLE = 20

/** Runs the whole demo against a new server. @throws the error of the first step that fails */
export async function runDemo({ folder, onStep, onPicture, drawing }: StoryOptions): Promise<Step[]> {
  const steps: Step[] = []
  const step = async <T>(title: string, work: () => Promise<T>, describe: (value: T) => string): Promise<T> => {
    const startedAt = performance.now()
    const value = await work()
    const done = { title, result: describe(value), seconds: (performance.now() - startedAt) / 1000 }
    steps.push(done)
    onStep(done)
    return value
  }

  // Copy the file, because a run writes a journal next to its input file.
  await copyFile(join(example, 'attendees.csv'), join(folder, 'attendees.csv'))
  const server = await step(
    'Start a server with its own database',
    () => startServer(folder),
    ({ url }) => url,
  )
  const client = createClient(server)
  const stage: Stage = { step, server, client, folder }
  try {
    const project = await step(
      'Make a project',
      () => runCommand<{ id: string; name: string }>(['project', 'create', '--name', 'Polyglot 2027'], stage),
      ({ name }) => name,
    )
    const template = await step(
      'Push and publish the conference ticket, with its images',
      () => runCommand<PushedTemplate>(pushArgs(project.id), stage),
      ({ version }) => `version ${version}`,
    )
    await step(
      'Issue a ticket for each row of attendees.csv',
      () => runCommand<{ created: number; failed: number }>(issueArgs(template.templateId), stage),
      ({ created }) => `${count(created)} passes`,
    )
    const rows = await readLinks(folder)
    await step(
      'Wait until the last one is issued',
      () => untilIssued(rows.at(-1)!.passId, stage),
      ({ label }) => `${label} has a ticket`,
    )
    const sample = Array.from({ length: SAMPLE }, (_, index) => rows[Math.floor((index * rows.length) / SAMPLE)]!)
    await step(
      'Download Apple passes and check them with openssl',
      () => checkApple(sample, folder),
      (serials) => `${serials.length} signatures and manifests are valid`,
    )
    await step(
      'Open Google save links and check their signatures',
      () => checkGoogle(sample, folder),
      (objects) => `${objects.length} tokens are valid`,
    )
    await step(
      'Open a smart link as an iPhone and as an Android phone',
      () => checkSmart(sample[0]!),
      (targets) => targets.join(', '),
    )
    const phones = await step(
      `Install the ticket of ${sample[0]!.label} on an iPhone and on an Android phone`,
      () => installOnPhones(sample[0]!, stage),
      (files) => `on the phones ${files.map(({ name }) => name).join(' and ')}`,
    )
    const [onIphone] = await step(
      `Move ${sample[0]!.label} to another hall, with both phones awake`,
      () => watchChange(phones, () => moveToHall(sample[0]!, client)),
      (arrivals) =>
        arrivals.map(({ file, seconds }) => `${file.name} has the change after ${duration(seconds)}`).join(', '),
    )
    const device = onIphone!.file.read()
    onPicture(`${bannerLines(device, onIphone!.change)}\n\n${await drawDevice(device, drawing)}`)
    await step(
      'Notify all holders, with one ticket on a virtual iPhone',
      () => sendBroadcast(sample[0]!.appleLink, project.id, stage),
      ({ passCount, banner }) => `${count(passCount)} passes, and the phone shows "${banner}"`,
    )
    await showDoor(stage, project.id)
    await showCoffeeCard(stage, project.id)
    await step('Void a pass and receive the event', () => receiveVoid(rows.at(-1)!.passId, stage), describeEvent)
  } finally {
    try {
      await client.close()
    } finally {
      await server.stop()
    }
  }
  return steps
}

interface PushedTemplate {
  templateId: string
  version: number
}

interface LinkRow {
  passId: string
  label: string
  appleLink: string
  googleLink: string
  smartLink: string
}

function pushArgs(projectId: string): string[] {
  return ['template', 'push', join(example, 'template.json'), '--project', projectId, '--publish']
}

function issueArgs(templateId: string): string[] {
  return ['issue', 'attendees.csv', '--template', templateId, '--out', 'links.csv']
}

async function readLinks(folder: string): Promise<LinkRow[]> {
  const { parse } = await import('csv-parse/sync')
  return parse(await readFile(join(folder, 'links.csv')), { columns: true })
}

function moveToHall({ passId: id }: LinkRow, { passes }: Client): Promise<unknown> {
  return passes.update({ params: { id }, body: { variables: { hall: 'Sala do Mar' } } })
}

function checkApple(sample: LinkRow[], folder: string): Promise<unknown[]> {
  const rootPem = join(folder, 'passes.db.sandbox', 'apple', 'root.pem')
  return Promise.all(
    sample.map(async (row) => {
      const { status, bytes } = await call(row.appleLink)
      if (status !== 200) throw new CliError(`The Apple link of ${row.label} responded with ${status}`)
      const { content: pass } = await verifyPackage(bytes, rootPem, folder)
      if (pass.serialNumber !== row.passId) throw new CliError(`The Apple link of ${row.label} returned another pass`)
      return pass.serialNumber
    }),
  )
}

async function checkGoogle(sample: LinkRow[], folder: string): Promise<string[]> {
  const account = await readFile(join(folder, 'passes.db.sandbox', 'google', 'service-account.json'), 'utf8')
  const key = createPublicKey((JSON.parse(account) as { private_key: string }).private_key)
  return Promise.all(
    sample.map(async (row) => {
      const location = await locationOf(row.googleLink)
      const [, jwt = ''] = /^https:\/\/pay\.google\.com\/gp\/v\/save\/(.+)$/.exec(location) ?? []
      const [header, claims, signature] = jwt.split('.')
      const isSound =
        signature !== undefined &&
        verify('RSA-SHA256', Buffer.from(`${header}.${claims}`), key, Buffer.from(signature, 'base64url'))
      if (!isSound) throw new CliError(`The save link of ${row.label} is not signed by our key`)
      return jwt
    }),
  )
}

async function checkSmart(row: LinkRow): Promise<string[]> {
  const devices = {
    iPhone: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15',
    Android: 'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 Chrome/130.0 Mobile',
  }
  const targets = await Promise.all(Object.values(devices).map((userAgent) => locationOf(row.smartLink, userAgent)))
  if (new Set(targets).size !== targets.length)
    throw new CliError('The smart link leads both phones to the same address')
  return Object.keys(devices).map((device) => `${device} to its own wallet`)
}

async function locationOf(link: string, userAgent = 'passes demo'): Promise<string> {
  const { status, header } = await call(link, { headers: { 'user-agent': userAgent } })
  if (status !== 302) throw new CliError(`${link} responded with ${status}, not with a redirect`)
  return String(header('location'))
}

const TEXT = 'Doors open at 8:30, keynote at 10.'

/**
 * Installs a ticket on a virtual iPhone and sends a broadcast. Returns the number of passes that the broadcast targets,
 * and the text that the phone shows.
 * @throws CliError if the broadcast does not reach the phone
 */
async function sendBroadcast(
  appleLink: string,
  projectId: string,
  stage: Stage,
): Promise<{ passCount: number; banner: string }> {
  const phone = phoneOf(deviceFor(join(stage.folder, 'phones'), 'apple'))
  await phone.install(appleLink)
  const args = ['broadcast', 'send', projectId, '--message', TEXT, '--platform', 'apple', '--watch', '--yes']
  const { passCount, stats } = await runCommand<Broadcast & { stats: BroadcastStats }>(args, stage)
  const { changes } = await phone.check()
  const banner = changes.flatMap(({ banners }) => banners).find((text) => text.includes(TEXT))
  if (!banner || stats.sent !== 1) throw new CliError('The broadcast did not reach the phone that holds a ticket')
  return { passCount: passCount!, banner: TEXT }
}
