import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parse } from 'csv-parse/sync'
import { stringify } from 'csv-stringify/sync'
import { execa } from 'execa'
import { expect } from 'vitest'
import type { Client } from '../../../src/client/client.ts'
import { temporaryFolder } from '../../support/databases.ts'
import { eventually } from '../../support/eventually.ts'
import { startHeldProxy } from './held-proxy.ts'
import { program, run } from './program.ts'
import { hostServer, type ServerOptions, sharedServer, type TestServer } from './server.ts'

/** A server with a template, and a folder to work in. */
export interface Setup {
  server: TestServer
  folder: string
  projectId: string
  templateId: string
}

/** The options of a server without a worker, because passes that are never issued cost a tenth. */
export const onlyAnswers: ServerOptions = { args: ['--role', 'api'] }

/** Returns a function that creates setups on one shared server, or on a separate one if they request it. */
export function sharedSetUp(sharedOptions?: ServerOptions): (options?: ServerOptions) => Promise<Setup> {
  const shared = sharedServer(sharedOptions)
  return async (options) => {
    return setUpOn(options ? await hostServer(options) : await shared())
  }
}

export async function setUpOn(server: TestServer): Promise<Setup> {
  const { id: projectId } = await server.client.projects.create({ body: { name: 'Fair' } })
  return { server, folder: temporaryFolder(), projectId, templateId: await publishTicket(server.client, projectId) }
}

/** Publishes a template with a required variable `seat` and an optional variable `day`. */
export async function publishTicket(client: Client, projectId: string): Promise<string> {
  const template = await client.templates.create({ body: { name: 'Ticket', passType: 'eventTicket', projectId } })
  await publishVersion(client, template.id)
  return template.id
}

/** Publishes the next version of the template of publishTicket(). */
export async function publishVersion(client: Client, templateId: string): Promise<void> {
  const { id } = await client.templates.createVersion({
    params: { id: templateId },
    body: {
      definition: {
        variables: [
          { name: 'seat', label: 'Seat', required: true },
          { name: 'day', label: 'Day', format: 'date' },
        ],
        design: { organizationName: 'Fair', description: 'Ticket' },
      },
    },
  })
  await client.templateVersions.publish({ params: { id } })
}

/** Returns the environment of a user without profiles. */
export function environment({ server, folder }: Setup) {
  return { PASSES_URL: server.url, PASSES_TOKEN: server.token, XDG_CONFIG_HOME: folder }
}

/**
 * The number of requests that get a response before one is held. The first 100 rows are recorded by then: updates and
 * voids send the rows of two batches in any order.
 */
const ANSWERED = {
  issue: { kind: 'POST /v1/passes/batch', requests: 2 },
  update: { kind: 'PATCH /v1/passes/', requests: 201 },
  void: { kind: 'POST /v1/passes/', requests: 201 },
  import: { kind: 'POST /v1/passes/import?dryRun=false', requests: 2 },
} as const

/**
 * Starts a run, and waits until it has recorded its first rows and the server holds its next request. `release`
 * continues that request, after the run or the server was stopped. `through` is the setup with the address that its
 * journal contains.
 */
export async function startRun(setup: Setup, args: string[]) {
  const { kind, requests } = ANSWERED[args[0] as keyof typeof ANSWERED]
  const proxy = await startHeldProxy(setup.server.url, kind)
  const held = proxy.answer(requests)
  const through = { ...setup, server: { ...setup.server, url: proxy.url } }
  const child = execa('node', [program, ...args], { cwd: setup.folder, env: environment(through), reject: false })
  await held
  const journal = join(setup.folder, `${args[1]}.journal`)
  await eventually(() => expect(existsSync(journal) && readFileSync(journal, 'utf8')).toMatch(/"rows":\d+00,/))
  // Wrap the process in an object, because `await` on a child process waits for its end.
  return { child, release: proxy.release, through }
}

/** Runs the resume command that a stopped run printed, split into words like a shell does. */
export async function resume(setup: Setup, stderr: string) {
  const command = /resume with: (.+)$/m.exec(stderr)?.[1]
  if (!command) throw new Error(`No command is printed: ${stderr}`)
  const { stdout } = await execa(`printf '%s\\0' ${command}`, { shell: true })
  const [node, called, ...args] = stdout.split('\0').slice(0, -1)
  expect([node, resolve(setup.folder, called!)]).toEqual(['node', program])
  return run(args, undefined, { cwd: setup.folder, env: environment(setup) })
}

export function writeRows({ folder }: Setup, name: string, rows: string[][]): void {
  writeFileSync(join(folder, name), rows.map((cells) => `${cells.join(',')}\n`).join(''))
}

/** Keeps the header and the first rows of a CSV file. */
export function keepRows(path: string, count: number): void {
  const rows: string[][] = parse(readFileSync(path))
  writeFileSync(path, stringify(rows.slice(0, count + 1)))
}

export function readRows({ folder }: Setup, name: string): Record<string, string>[] {
  return parse(readFileSync(join(folder, name)), { columns: true, bom: true })
}
