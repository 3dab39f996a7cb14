import { isDeepStrictEqual } from 'node:util'
import { type Client, paginate } from '../../client/client.ts'
import { ApiError } from '../../client/client-errors.ts'
import type { WrittenDefinition } from '../../core/contract/schemas/definition.ts'
import type { Warning } from '../../core/contract/schemas/warnings.ts'
import type { TemplateVersion } from '../../core/contract/templates/template-versions.ts'
import type { Template } from '../../core/contract/templates/templates.ts'
import { contentId } from '../../core/ids.ts'
import { CliError } from '../command/cli-error.ts'
import { printable } from '../command/output.ts'
import { requirePublishable, type TemplateFile } from './template-file.ts'

export interface PushOptions {
  /** The template to change. By default, the template with the file's key, which is created if it is missing. */
  templateId?: string | undefined
  /** The project to assign; `null` for none. By default, the project in the file, if the file has one. */
  projectId?: string | null | undefined
  /** Whether the version is published, irreversibly. Otherwise it stays a draft. */
  publish: boolean
  /** Called before publishing, with the differences from the published version. Throws if the user declines. */
  confirmPublish?: (changes: Change[]) => Promise<void>
  /** Called as soon as a template is created, before anything else can fail. */
  onMade?: (template: Template) => void
}

export interface Pushed {
  templateId: string
  key: string | null
  outcome: 'created' | 'updated' | 'unchanged'
  version: number
  versionId: string
  stage: 'draft' | 'published'
  /** The number of images in the file, including images that the server already has. */
  images: number
  warnings: Warning[]
}

/** The maximum number of attempts: the template, the draft, and the publication can each conflict with another push. */
const MAX_ATTEMPTS = 5

/**
 * Uploads a template file: images, template, draft version, and with `publish` its publication. Concurrent pushes of
 * the same template do not create duplicates. If the file has a key or `templateId` is set, a push that conflicts with
 * another push retries immediately, with at most MAX_ATTEMPTS attempts.
 */
export async function pushTemplate(client: Client, file: TemplateFile, options: PushOptions): Promise<Pushed> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await pushOnce(client, file, options)
    } catch (error) {
      const isRace = error instanceof ApiError && error.code === 'CONFLICT' && error.details.limit === undefined
      const isFound = file.key !== undefined || options.templateId !== undefined
      if (!isRace || !isFound || attempt === MAX_ATTEMPTS) throw error
    }
  }
}

async function pushOnce(client: Client, file: TemplateFile, options: PushOptions): Promise<Pushed> {
  // Check a version for publication before any part of it is stored. A draft needs no check, because it can be
  // incomplete.
  if (options.publish) await requirePublishable(file)
  const stored = await findStored(client, file, options.templateId)
  const definition = file.withImages(await uploadImages(client, file))
  const isEqual = stored?.newest !== undefined && isDeepStrictEqual(stored.newest.definition, definition)
  const publishes = options.publish && !(isEqual && stored.newest?.stage === 'published')
  if (publishes) {
    await options.confirmPublish?.(changesTo(stored, stored?.published, file, definition))
  }
  const projectId = options.projectId === undefined ? await projectIdOf(client, file) : options.projectId
  const { template, isChanged } = await saveTemplate(client, file, stored?.template, { ...options, projectId })
  const newest = isEqual ? stored.newest! : await saveDraft(client, template.id, stored, definition)
  const version = publishes ? await client.templateVersions.publish({ params: { id: newest.id } }) : newest
  return {
    templateId: template.id,
    key: template.key,
    outcome: !stored ? 'created' : isChanged || !isEqual || publishes ? 'updated' : 'unchanged',
    version: version.version,
    versionId: version.id,
    stage: version.stage,
    images: file.images.length,
    warnings: version.warnings,
  }
}

/** Existing images are not duplicated, because the id of an image depends only on its bytes. */
async function uploadImages(client: Client, { images }: TemplateFile) {
  const ids = new Map<string, string>()
  for (const { name, path, bytes, contentType } of images) {
    const image = await client.images.create({ body: bytes, contentType }).catch((error: unknown) => {
      // Keep the error, because it has the correlation ID of the request.
      if (error instanceof ApiError && error.code === 'INVALID_INPUT')
        error.message = `The server rejects ${path}: ${error.message}`
      throw error
    })
    ids.set(name, image.id)
  }
  return ids
}

async function saveTemplate(
  client: Client,
  { key, name, description, passType }: TemplateFile,
  current: Template | undefined,
  { projectId, onMade }: PushOptions,
): Promise<{ template: Template; isChanged: boolean }> {
  const wanted = { key, name, description, passType, projectId }
  if (!current) {
    const template = await client.templates.create({ body: wanted })
    onMade?.(template)
    return { template, isChanged: true }
  }
  if (changesIn(current, wanted).length === 0) return { template: current, isChanged: false }
  return { template: await client.templates.update({ params: { id: current.id }, body: wanted }), isChanged: true }
}

/** @throws CliError if the project of a file is not found or its name is not unique */
async function projectIdOf(client: Client, { path, project }: TemplateFile): Promise<string | null | undefined> {
  if (project === undefined || project === null) return project
  const found: string[] = []
  for await (const { id, name } of paginate((call) => client.projects.list(call), {}))
    if (name === project) found.push(id)
  if (found.length === 1) return found[0]!
  throw new CliError(
    `${path} belongs to the project ${project}, but the server has ${found.length || 'none'} of that name`,
    {
      code: 'NOT_FOUND',
      details: { file: path, project, ids: found },
      hint: 'to list the projects, run "passes project list"; to create one, run "passes project create".',
    },
  )
}

/** Replaces the newest version if it is a draft; otherwise creates a new draft. */
async function saveDraft(
  client: Client,
  templateId: string,
  stored: StoredTemplate | undefined,
  definition: WrittenDefinition,
) {
  return stored?.newest?.stage === 'draft'
    ? client.templateVersions.update({ params: { id: stored.newest.id }, body: { definition } })
    : client.templates.createVersion({
        params: { id: templateId },
        body: { definition, after: stored?.newest?.version ?? 0 },
      })
}

export type StoredVersion = Awaited<ReturnType<Client['templateVersions']['get']>>

interface StoredTemplate {
  template: Template
  /** The name of the template's project, `null` for none; `undefined` if the file does not specify a project. */
  project: string | null | undefined
  newest: StoredVersion | undefined
  published: StoredVersion | undefined
}

/** Finds the template of a file: by the given id, or else by the file's key. Returns `undefined` if there is none. */
export async function findStored(
  client: Client,
  file: Pick<TemplateFile, 'key' | 'project'>,
  templateId?: string,
): Promise<StoredTemplate | undefined> {
  const template = templateId
    ? await client.templates.get({ params: { id: templateId } })
    : file.key && (await client.templates.list({ query: { key: file.key, limit: 1 } })).items[0]
  if (!template) return undefined
  const versions = await client.templateVersions.list({ query: { templateId: template.id } })
  const read = (version: TemplateVersion | undefined) =>
    version && client.templateVersions.get({ params: { id: version.id } })
  const [first] = versions
  const newest = await read(first)
  const published =
    first?.stage === 'published' ? newest : await read(versions.find(({ stage }) => stage === 'published'))
  return { template, project: await projectOf(client, file, template), newest, published }
}

async function projectOf(client: Client, file: Pick<TemplateFile, 'project'>, { projectId }: Template) {
  if (file.project === undefined) return undefined
  return projectId && (await client.projects.get({ params: { id: projectId } })).name
}

/** Returns differences between a file and a version of its template. Ignores what the file does not specify. */
export function changesTo(
  stored: StoredTemplate | undefined,
  version: StoredVersion | undefined,
  file: TemplateFile,
  definition: WrittenDefinition,
): Change[] {
  const { key, name, description, project, passType } = file
  const found = { ...stored?.template, project: stored?.project }
  return [
    ...changesIn(found, { key, name, description, project, passType }),
    ...findChanges(version?.definition ?? {}, definition, 'definition'),
  ]
}

/** Returns differences in the fields that a file sets. Omitted fields are not compared. */
export function changesIn(stored: object, wanted: object): Change[] {
  const given = Object.entries(wanted).filter(([, value]) => value !== undefined)
  const there = new Map(Object.entries(stored))
  return findChanges(Object.fromEntries(given.map(([name]) => [name, there.get(name)])), Object.fromEntries(given))
}

/** Returns the definition of a file with the ids that its images have on the server, whether or not they are uploaded. */
export async function withImageIds(client: Client, file: TemplateFile): Promise<WrittenDefinition> {
  if (file.images.length === 0) return file.withImages(new Map())
  const { workspaceId } = await client.tokens.current()
  return file.withImages(new Map(file.images.map(({ name, bytes }) => [name, contentId(workspaceId, bytes)])))
}

/** A value that differs, with its path. `before` or `after` is missing if that side has no value. */
export interface Change {
  path: string
  before?: unknown
  after?: unknown
}

/** Returns all differences of two JSON values. Matches list items by key or name, and other items by index. */
export function findChanges(before: unknown, after: unknown, path = ''): Change[] {
  if (isDeepStrictEqual(before, after)) return []
  const [old, wanted] = [membersOf(before), membersOf(after)]
  if (!old || !wanted || Array.isArray(before) !== Array.isArray(after)) {
    return [{ path, ...(before !== undefined && { before }), ...(after !== undefined && { after }) }]
  }
  const names = [...new Set([...old.keys(), ...wanted.keys()])]
  const changes = names.flatMap((name) =>
    findChanges(old.get(name), wanted.get(name), path === '' ? name : `${path}.${name}`),
  )
  // If all items are equal, only their order differs: show both orders.
  return changes.length > 0 ? changes : [{ path, before: [...old.keys()], after: [...wanted.keys()] }]
}

/** Formats changes: a line with - for each old value, and a line with + for each new value. */
export function showChanges(changes: readonly Change[]): string {
  return changes
    .flatMap(({ path, before, after }) => [
      ...(before === undefined ? [] : [`- ${path}: ${textOf(before)}`]),
      ...(after === undefined ? [] : [`+ ${path}: ${textOf(after)}`]),
    ])
    .join('\n')
}

function textOf(value: unknown): string {
  return printable(JSON.stringify(value))
}

function membersOf(value: unknown): Map<string, unknown> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  if (!Array.isArray(value)) return new Map(Object.entries(value).filter(([, part]) => part !== undefined))
  const names = value.map((item, index) => String(item?.key ?? item?.name ?? index))
  const areUnique = new Set(names).size === names.length
  return new Map(value.map((item, index) => [areUnique ? names[index]! : String(index), item]))
}
