import type { Client } from '../../client/client.ts'
import type { Definition } from '../../core/contract/definition.ts'
import type { Template } from '../../core/contract/templates.ts'
import type { Warning } from '../../core/contract/warnings.ts'
import { below, listIssues } from '../../core/errors.ts'
import { checkDefinition } from '../../core/rules/template/definition.ts'
import { invalidDocument } from '../command/errors.ts'
import { readTemplateFile, type TemplateFile } from './template-file.ts'

export interface PushOptions {
  /** The template to change; a new one is made where there is none. */
  templateId?: string | undefined
  projectId?: string | undefined
  publish: boolean
  /** Told as soon as the template exists, before anything else can fail. */
  onTemplate?: (template: Template) => void
}

export interface Pushed {
  templateId: string
  version: number
  versionId: string
  stage: 'draft' | 'published'
  images: number
  /** What to look at before holders do. */
  warnings: Warning[]
}

/** Brings a template file to the server: images, template, draft version, and with `publish` its publication. */
export async function pushTemplate(client: Client, path: string, options: PushOptions): Promise<Pushed> {
  const file = await readTemplateFile(path)
  // A draft may be unfinished. What is to be published is checked here, before half of it stands on the server.
  if (options.publish) checkPublishable(path, file)
  const template = await saveTemplate(client, file, options)
  options.onTemplate?.(template)
  const ids = new Map<TemplateFile['images'][number]['role'], string>()
  for (const { role, bytes, contentType } of file.images) {
    ids.set(role, (await client.images.create({ body: bytes, contentType })).id)
  }
  const draft = await saveDraft(client, template.id, file.withImages(ids))
  const version = options.publish ? await client.templateVersions.publish({ params: { id: draft.id } }) : draft
  return {
    templateId: template.id,
    version: version.version,
    versionId: version.id,
    stage: version.stage,
    images: file.images.length,
    warnings: version.warnings,
  }
}

function checkPublishable(path: string, file: TemplateFile): void {
  const issues = checkDefinition(file.definition)
  if (issues.length > 0) {
    throw invalidDocument(`${path} cannot be published`, listIssues(below('definition', issues)))
  }
}

async function saveTemplate(client: Client, file: TemplateFile, options: PushOptions): Promise<Template> {
  const { name, description, passType } = file
  const wanted = { name, description, passType, projectId: options.projectId }
  if (!options.templateId) return client.templates.create({ body: wanted })
  const params = { id: options.templateId }
  const current = await client.templates.get({ params })
  const isCurrent = Object.entries(wanted).every(
    ([key, value]) => value === undefined || value === current[key as keyof typeof wanted],
  )
  return isCurrent ? current : client.templates.update({ params, body: wanted })
}

/** A draft that is the newest version is replaced; otherwise a new one is made. */
async function saveDraft(client: Client, templateId: string, definition: Definition) {
  const [newest] = await client.templateVersions.list({ query: { templateId } })
  return newest?.stage === 'draft'
    ? client.templateVersions.update({ params: { id: newest.id }, body: { definition } })
    : client.templates.createVersion({ params: { id: templateId }, body: { definition } })
}
