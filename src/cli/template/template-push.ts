import { isDeepStrictEqual } from 'node:util'
import { type Client, walk } from '../../client/client.ts'
import { ApiError } from '../../client/errors.ts'
import type { Definition, Warning } from '../../core/contract/definition.ts'
import type { Template } from '../../core/contract/templates.ts'
import { CliError } from '../command/errors.ts'
import type { Change } from './compare.ts'
import { changesTo, findStored, type StoredTemplate } from './stored-template.ts'
import { requirePublishable, type TemplateFile } from './template-file.ts'

export interface PushOptions {
  /** The template to change; without it the one with the key of the file, and a new one where there is none. */
  templateId?: string | undefined
  /** The project that it goes to; null for none. Without it that of the file, where it says one. */
  projectId?: string | null | undefined
  publish: boolean
  /** Asked before anything that publishes, with what would change for new passes; throws where the answer is no. */
  confirmPublish?: (changes: Change[]) => Promise<void>
  /** Told as soon as a template is made, before anything else can fail. */
  onMade?: (template: Template) => void
}

export interface Pushed {
  templateId: string
  key: string | null
  outcome: 'created' | 'updated' | 'unchanged'
  version: number
  versionId: string
  stage: 'draft' | 'published'
  images: number
  /** What to look at before holders do. */
  warnings: Warning[]
}

/** As often at most a push begins again: another may come between at the template, the draft and its publication. */
const MAX_ATTEMPTS = 5

/**
 * Brings a template file to the server: images, template, draft version, and with `publish` its publication. Of two that
 * push the same at once, one finds what the other made.
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
  // A draft may be unfinished. What is to be published is checked here, before half of it stands on the server.
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

/** The same bytes always have the same id: what the server has already stays as it is. */
async function uploadImages(client: Client, { images }: TemplateFile) {
  const ids = new Map<TemplateFile['images'][number]['role'], string>()
  for (const { role, bytes, contentType } of images) {
    ids.set(role, (await client.images.create({ body: bytes, contentType })).id)
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
  const isCurrent = Object.entries(wanted).every(
    ([field, value]) => value === undefined || value === current[field as keyof typeof wanted],
  )
  if (isCurrent) return { template: current, isChanged: false }
  return { template: await client.templates.update({ params: { id: current.id }, body: wanted }), isChanged: true }
}

/** @throws CliError where the project that a file names is not there, or not the only one of its name */
async function projectIdOf(client: Client, { path, project }: TemplateFile): Promise<string | null | undefined> {
  if (project === undefined || project === null) return project
  const found: string[] = []
  for await (const { id, name } of walk((call) => client.projects.list(call), {})) if (name === project) found.push(id)
  if (found.length === 1) return found[0]!
  throw new CliError(`${path} belongs to the project ${project}, of which the server has ${found.length || 'none'}`, {
    code: 'NOT_FOUND',
    details: { file: path, project, ids: found },
    hint: 'passes project list shows what there is; passes project create makes one.',
  })
}

/** A draft that is the newest version is replaced; otherwise a new one is made. */
async function saveDraft(
  client: Client,
  templateId: string,
  stored: StoredTemplate | undefined,
  definition: Definition,
) {
  return stored?.newest?.stage === 'draft'
    ? client.templateVersions.update({ params: { id: stored.newest.id }, body: { definition } })
    : client.templates.createVersion({
        params: { id: templateId },
        body: { definition, after: stored?.newest?.version ?? 0 },
      })
}
