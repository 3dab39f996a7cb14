import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import type { CallOptions, Client } from '../../../client/client.ts'
import { Uuid } from '../../../core/ids.ts'
import { makePrivateFolder, replacePrivateSync } from '../../../files/private-file.ts'
import { collect, findCandidate, listCandidates } from '../../arguments/named.ts'
import { CliError } from '../../command/errors.ts'
import { ask } from '../connection.ts'

/** The place of a console: learned from the server once, and remembered for a start without it. */
const Place = z.strictObject({
  workspaceId: z.string(),
  workspaceName: z.string(),
  projectId: z.string().optional(),
  projectName: z.string().nullable(),
})
export type Place = z.output<typeof Place>

/** The door that a console stands at. */
export interface Entrance {
  place: Place
  /** Whether the server answered. */
  isReached: boolean
  /** Where this door keeps its list and its logs: one for each server, workspace and project. */
  folder: string
}

/** Which door a console is to stand at: of a server, by a token, for one project or all. */
export interface EntranceOptions {
  client: Client
  url: string
  token: string
  /** Name or id; undefined for all projects of the workspace. */
  project: string | undefined
  /** Holds the doors of this machine. */
  folder: string
}

/**
 * Finds out which door this is.
 * @throws ApiError if the server rejects the token or the project; CliError if there is no such project, or if the server does
 * not respond and this machine has not been at that door before.
 */
export async function enter(options: EntranceOptions): Promise<Entrance> {
  const { client, url, token, project, folder } = options
  makePrivateFolder(folder)
  // The digest of a token says nothing about it.
  const memory = join(folder, `${digest(url, token, project ?? '')}.json`)
  const learned = await ask(async (callOptions): Promise<Place> => {
    const { workspaceId, workspaceName } = await client.tokens.current({}, callOptions)
    const projectId = await findProject(client, project, callOptions)
    return { workspaceId, workspaceName, projectId, projectName: await projectName(client, projectId) }
  })
  if (learned.kind === 'rejection') throw learned.error
  const place = learned.kind === 'answer' ? learned.value : remembered(memory, project)
  if (!place) {
    throw new CliError(`No answer from ${url}, and this machine has no list of that door to go on with`, {
      code: 'CONNECTION_FAILED',
      hint: 'start the console once while the server is there; from then on it works without it.',
    })
  }
  if (learned.kind === 'answer') remember(memory, place)
  return {
    place,
    isReached: learned.kind === 'answer',
    folder: join(folder, digest(url, place.workspaceId, place.projectId ?? '')),
  }
}

/** @throws CliError if no project is called so, UsageError if several are */
async function findProject(
  client: Client,
  text: string | undefined,
  { signal }: CallOptions,
): Promise<string | undefined> {
  if (text === undefined || Uuid.safeParse(text).success) return text
  return findCandidate(await collect(listCandidates('project', client, signal)), 'project', text)
}

/** Null where there is none, or the token may scan but not look at projects. */
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

function remembered(path: string, project: string | undefined): Place | undefined {
  try {
    // Older versions stored a place only by the id of its project.
    return Place.safeParse({ projectId: project, ...JSON.parse(readFileSync(path, 'utf8')) }).data
  } catch (error) {
    // Never written, or not to its end.
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function remember(path: string, place: Place): void {
  replacePrivateSync(path, `${JSON.stringify(place)}\n`)
}
