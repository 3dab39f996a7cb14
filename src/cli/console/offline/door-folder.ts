import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { CallOptions, Client } from '../../../client/client.ts'
import { paginate } from '../../../client/paginate.ts'
import type { Zone } from '../../../core/contract/scans/zones.ts'
import { Uuid } from '../../../core/ids.ts'
import { ifMissing, makePrivateFolder, replacePrivateSync } from '../../../files/private-file.ts'
import { collect, findCandidate, listCandidates } from '../../arguments/named.ts'
import { CliError } from '../../command/cli-error.ts'
import { ask } from '../environment.ts'

/** The workspace, project, and zone of a console, read from the server and stored for offline starts. */
const Place = z.strictObject({
  workspaceId: z.string(),
  workspaceName: z.string(),
  projectId: z.string().optional(),
  projectName: z.string().nullable(),
  zone: z.strictObject({ id: z.string(), name: z.string() }).optional(),
})
export type Place = z.output<typeof Place>

export interface Entrance {
  place: Place
  isReached: boolean
  /** The folder of the door's database: one for each server, workspace, and project. */
  folder: string
}

export interface EntranceOptions {
  client: Client
  url: string
  token: string
  /** The project's name or id; `undefined` for all projects of the workspace. */
  project: string | undefined
  /** The zone's name or id; `undefined` for scans without a zone. */
  zone?: string | undefined
  /** The folder that holds the doors of this machine. */
  folder: string
}

/**
 * Finds the workspace, project, and zone of a console, on the server or, if the server does not respond, in the file
 * that an earlier start stored.
 * @throws ApiError if the server rejects the token, the project, or the zone
 * @throws CliError if the project or the zone does not exist, or if the server does not respond and this machine has
 * not used the door before
 */
export async function enter(options: EntranceOptions): Promise<Entrance> {
  const { client, url, token, project, zone, folder } = options
  makePrivateFolder(folder)
  // Use a digest as the file name. Otherwise, the name would reveal the token.
  const memory = join(folder, `${digest(url, token, project ?? '', ...(zone === undefined ? [] : [zone]))}.json`)
  const learned = await ask(async (callOptions): Promise<Place> => {
    const { workspaceId, workspaceName } = await client.tokens.current({}, callOptions)
    const wanted = await findProject(client, project, callOptions)
    const found = zone === undefined ? undefined : await findZone(client, zone, wanted, callOptions)
    const projectId = wanted ?? found?.projectId
    return {
      workspaceId,
      workspaceName,
      projectId,
      projectName: await projectName(client, projectId),
      ...(found && { zone: { id: found.id, name: found.name } }),
    }
  })
  if (learned.kind === 'rejection') throw learned.error
  const place = learned.kind === 'answer' ? learned.value : readPlace(memory, project)
  if (!place) {
    throw new CliError(`No response from ${url}, and this machine has no downloaded pass list for this door`, {
      code: 'CONNECTION_FAILED',
      hint: 'start the console once while the server is reachable; after that, it works offline.',
    })
  }
  if (learned.kind === 'answer') writePlace(memory, place)
  return {
    place,
    isReached: learned.kind === 'answer',
    folder: join(folder, digest(url, place.workspaceId, place.projectId ?? '')),
  }
}

/** @throws CliError if no project has the name, UsageError if several do */
async function findProject(
  client: Client,
  text: string | undefined,
  { signal }: CallOptions,
): Promise<string | undefined> {
  if (text === undefined || Uuid.safeParse(text).success) return text
  return findCandidate(await collect(listCandidates('project', client, signal)), 'project', text)
}

/** @throws CliError if no zone has the name or ID, UsageError if several zones have the name */
async function findZone(
  { zones }: Client,
  text: string,
  projectId: string | undefined,
  { signal }: CallOptions,
): Promise<Zone> {
  const listed = await collect(paginate((call) => zones.list(call, { signal }), projectId ? { projectId } : {}))
  const candidates = listed.map(({ id, name }) => ({ id, key: null, names: [name] }))
  const id = findCandidate(candidates, 'zone', text)
  return listed.find((zone) => zone.id === id)!
}

/** Returns the name of a project; `null` without a project, or if the token cannot read projects. */
async function projectName(client: Client, id: string | undefined): Promise<string | null> {
  if (id === undefined) return null
  const reply = await ask((callOptions) => client.projects.get({ params: { id } }, callOptions))
  if (reply.kind === 'answer') return reply.value.name
  if (reply.kind === 'rejection' && reply.error.status !== 403) throw reply.error
  return null
}

function digest(...parts: string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 32)
}

function readPlace(path: string, project: string | undefined): Place | undefined {
  try {
    // Use the given project if the file has none, because older versions did not store the project.
    return Place.safeParse({ projectId: project, ...JSON.parse(readFileSync(path, 'utf8')) }).data
  } catch (error) {
    // Treat an incomplete file, which a crash can leave, like a missing file.
    return error instanceof SyntaxError ? undefined : ifMissing(undefined)(error)
  }
}

function writePlace(path: string, place: Place): void {
  replacePrivateSync(path, `${JSON.stringify(place)}\n`)
}
