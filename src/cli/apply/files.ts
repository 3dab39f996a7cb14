import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { z } from 'zod'
import { projects } from '../../core/contract/projects.ts'
import { Webhook, webhooks } from '../../core/contract/webhooks/webhooks.ts'
import { limitNames, MAX_LIMIT } from '../../core/rules/pass/workspace-limits.ts'
import { type FileLock, lockFile } from '../../files/file-lock.ts'
import { exists, ifMissing, replacePrivateSync } from '../../files/private-file.ts'
import { CliError, UsageError, withName } from '../command/cli-error.ts'
import { type JsonFile, readAll, readJsonFile } from '../template/json-file.ts'
import {
  listJsonFiles,
  readTemplateFile,
  requireDistinct,
  requireKeys,
  type TemplateFile,
} from '../template/template-file.ts'

const $schema = z.string().optional()

const project = projects.create.body.shape
const ProjectContent = z.strictObject({
  $schema,
  name: project.name,
  description: project.description.optional(),
  color: project.color.removeDefault().optional(),
})

const webhook = webhooks.create.body.shape
const WebhookContent = z.strictObject({
  $schema,
  url: webhook.url,
  events: webhook.events,
  description: webhook.description.removeDefault().optional(),
  status: Webhook.shape.status.optional(),
})

const limit = z.int().min(0).max(MAX_LIMIT).optional()
const LimitsContent = z.strictObject({ $schema, ...mapNames(limitNames, limit) })

export type ProjectFile = JsonFile<z.output<typeof ProjectContent>>
export type WebhookFile = JsonFile<z.output<typeof WebhookContent>>
/** The `limits.json` file: the limits of the workspace. Omitted limits are not changed. */
export type LimitsFile = JsonFile<z.output<typeof LimitsContent>>

/**
 * The desired state, read from a folder. If the folder or file of a kind (such as webhooks/) is missing, the objects of
 * this kind stay unchanged.
 */
export interface DesiredState {
  projects?: ProjectFile[] | undefined
  templates?: TemplateFile[] | undefined
  webhooks?: WebhookFile[] | undefined
  limits?: LimitsFile | undefined
  /** Files that look like input but are not read, and folders of such files. */
  ignored: string[]
}

const KINDS = ['projects', 'templates', 'webhooks']

/**
 * Reads and validates every file of a folder, without calling a server.
 * @throws CliError with the problems of each file, by line and column
 */
export async function readDesiredState(folder: string): Promise<DesiredState> {
  if (!(await withName(folder, () => stat(folder))).isDirectory()) throw new UsageError(`${folder} is not a folder`)
  const [projects, templates, webhooks, limits] = await readAll([
    readFolder(join(folder, 'projects'), (path) => readJsonFile(path, ProjectContent, 'the file of a project')),
    readFolder(join(folder, 'templates'), readTemplateFile),
    readFolder(join(folder, 'webhooks'), (path) => readJsonFile(path, WebhookContent, 'the file of a webhook')),
    readLimits(join(folder, 'limits.json')),
  ])
  const ignored = await findIgnored(folder)
  if (!projects && !templates && !webhooks && !limits) {
    throw new UsageError(`${folder} contains none of projects/, templates/, webhooks/, and limits.json`, {
      ...(ignored.length > 0 && { hint: `check the names: ${ignored.join(', ')}.` }),
    })
  }
  requireDistinct(projects ?? [], 'name', ({ value }) => value.name)
  requireDistinct(webhooks ?? [], 'url', ({ value }) => value.url)
  requireKeys(templates ?? [])
  return { projects, templates, webhooks, limits, ignored }
}

async function findIgnored(folder: string): Promise<string[]> {
  const isRead = new Set(['limits.json', 'webhook-secrets.json', ...KINDS])
  const above = (await findInputs(folder)).filter((path) => !isRead.has(basename(path)))
  const inKinds = await Promise.all(KINDS.map((kind) => findInputs(join(folder, kind))))
  return [...above, ...inKinds.flat().filter((path) => !path.endsWith('.json'))]
}

/** Returns the JSON and YAML files of a folder, and the folders in it that contain such files. */
async function findInputs(folder: string): Promise<string[]> {
  const isInput = (name: string) => /\.(?:json|ya?ml)$/i.test(name)
  const entries = (await exists(folder)) ? await readdir(folder, { withFileTypes: true }) : []
  const found = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name)
      if (entry.name.startsWith('.')) return []
      if (!entry.isDirectory()) return isInput(entry.name) ? [path] : []
      // A folder of someone else, such as lost+found, contains no input.
      const names = await readdir(path).catch(() => [])
      return names.some(isInput) ? [path] : []
    }),
  )
  return found.flat()
}

/** Reads the JSON files of a folder. Returns `undefined` if the folder does not exist. */
async function readFolder<T>(folder: string, read: (path: string) => Promise<T>): Promise<T[] | undefined> {
  if (!(await exists(folder))) return undefined
  return readAll((await withName(folder, () => listJsonFiles(folder))).map(read))
}

async function readLimits(path: string): Promise<LimitsFile | undefined> {
  return (await exists(path)) ? readJsonFile(path, LimitsContent, 'a file of limits') : undefined
}

function mapNames<N extends string, T>(names: readonly N[], value: T): Record<N, T> {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<N, T>
}

const Content = z.record(z.string(), z.string().nullable())

/**
 * A file that keeps the signing secrets of new webhooks, by URL, because the server returns each secret only once. Only
 * the owner of the file can read the file (0600). `null` marks a webhook whose creation has started.
 */
export class SecretsFile {
  readonly path: string
  /** The number of secrets written by this run. */
  written = 0
  readonly #note: (message: string) => void
  #content: Record<string, string | null>
  #lock: FileLock | undefined

  private constructor(path: string, content: Record<string, string | null>, note: (message: string) => void) {
    this.path = path
    this.#content = content
    this.#note = note
  }

  static async open(path: string, note: (message: string) => void): Promise<SecretsFile> {
    return new SecretsFile(path, await readContent(path), note)
  }

  /** Whether the creation of a webhook has started, but the secret of the webhook is not known. */
  isPending(url: string): boolean {
    return Object.hasOwn(this.#content, url) && this.#content[url] === null
  }

  /** Stores the secret of a webhook, or `null` before the webhook is created. Flushes the file to disk. */
  async set(url: string, secret: string | null): Promise<void> {
    await this.#change((content) => ({ ...content, [url]: secret }))
    if (secret !== null) this.written += 1
  }

  async delete(url: string): Promise<void> {
    await this.#change((content) => Object.fromEntries(Object.entries(content).filter(([other]) => other !== url)))
  }

  async close(): Promise<void> {
    await this.#lock?.release()
  }

  /** @throws CliError if another run holds the lock */
  async #change(change: (content: Record<string, string | null>) => Record<string, string | null>): Promise<void> {
    if (!this.#lock) {
      this.#lock = await lockFile(this.path, this.#note)
      this.#content = await readContent(this.path)
    }
    this.#lock.assertHeld()
    this.#content = change(this.#content)
    replacePrivateSync(this.path, `${JSON.stringify(this.#content, undefined, 2)}\n`)
  }
}

async function readContent(path: string): Promise<Record<string, string | null>> {
  const text = await readFile(path, 'utf8').catch(ifMissing('{}'))
  try {
    return Content.parse(JSON.parse(text))
  } catch (error) {
    throw new CliError(`${path} is not a file of secrets`, {
      hint: 'choose another file with --secrets, or move this one.',
      cause: error,
    })
  }
}
